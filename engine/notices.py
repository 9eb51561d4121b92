"""What the user should know beside an answer: `Notice`, and the one order in which notices are
shown, on screens, in printed text and in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know: a stable code, one line of text, and what to do about it.

    Args:
        subject: the stage, type or thing that a notice of several clusters is about, where its
            figures differ between them; see `worst_of_each`.
        severity: larger is worse, among notices of one code and subject.
    """

    code: str
    text: str
    remedy: str
    subject: str = field(default="", compare=False, kw_only=True)
    severity: float = field(default=0.0, compare=False, kw_only=True)

    def to_dict(self) -> dict[str, str]:
        """What is told of it in JSON."""
        return {"code": self.code, "text": self.text, "remedy": self.remedy}


WRONG = (
    *("needs-other-resources", "fewer-task-cpus", "stage-needs-cores", "barrier-needs-slots"),
    *("executors-do-not-fit", "cluster-not-started"),
    *("cache-does-not-fit", "cache-driven-out", "disk-does-not-fit"),
    *("memory-spill", "memory-not-proven", "result-too-large"),
    *("broadcast-outgrown", "model-does-not-fit", "rates-too-low"),
    *("different-engine", "mixed-engines"),
    *("code-changed", "data-shape-changed"),
    *("mixed-applications", "session-names"),
    *("shape-contradicts-catalog", "misspelt-type", "wrong-clock"),
    *("failed-stages", "lost-executors", "incomplete-log", "stage-in-part", "stage-without-tasks"),
    *("largest-run-broke-off", "incomplete-runs", "unknown-outcome", "long-pauses", "idle-time"),
)
"""What may make the answer wrong outright, the worst first: a job that does not start or that
Spark ends, nodes that do not hold the executors, memory and disks that do not hold the data, a
model that does not describe the job, code or machines that are not those of the runs, joins and
work that no run shows, time that belongs to nobody's work."""

USUAL = ("single-run", "prior-interval", "transferred-speed", "no-cpu-score")
"""What is said of most answers: a first line that reads the same for every job hides what is wrong
with this one."""

NOTES = (
    *("ran-on-from-log", "prices-of-where-it-ran", "origin-already-named"),
    *("newest-application", "old-log"),
    *("job-profile-kept", "duplicate-runs", "several-attempts", "same-input"),
    "several-parameters",
    *("rates-from-log", "rates-from-catalog", "rates-learnt", "resources-not-used"),
    *("speed-as-given", "calibrated-score", "filled-nodes", "assured-memory", "delegated"),
    "runs-not-used",
    *("retried-work", "slow-start", "late-executors", "micro-batches", "same-structure"),
    *("failed-runs", "ignored-column", "nodes-from-pods", "nodes-left-out"),
)
"""What was done with the evidence, to be known and seldom to be acted on."""


SAID_BY = {"unknown-source-type": "no-machine-types"}
"""What another notice says too, with more of the reason and the same remedy."""


def in_order(notices: Iterable[Notice | None]) -> tuple[Notice, ...]:
    """Each notice once: those of `WRONG` in its order, then what makes the answer doubtful (every
    other code, those of `USUAL` last), then `NOTES`; among equals the order in which they were
    found. None, which stands for nothing to say, is left out, as is what another notice says
    (`SAID_BY`)."""
    found = dict.fromkeys(notice for notice in notices if notice is not None)
    codes = {notice.code for notice in found}
    kept = (notice for notice in found if SAID_BY.get(notice.code) not in codes)
    return tuple(sorted(kept, key=_rank))


def worst_of_each(notices: Iterable[Notice]) -> list[Notice]:
    """Of the notices of several clusters one for each code and subject, the worst; those without a
    subject are told apart by their text."""
    found: dict[tuple[str, str], Notice] = {}
    for notice in notices:
        key = notice.code, notice.subject or notice.text
        if notice.severity > found.setdefault(key, notice).severity:
            found[key] = notice
    return list(found.values())


def of_one_batch(notices: Iterable[Notice]) -> bool:
    """Whether the times and costs that the notices go with are those of one micro-batch of a
    stream, as `micro-batches` says: whoever shows one says so beside it."""
    return any(notice.code == "micro-batches" for notice in notices)


def _rank(notice: Notice) -> int:
    if notice.code in WRONG:
        return WRONG.index(notice.code)
    return len(WRONG) + (notice.code in USUAL) + 2 * (notice.code in NOTES)
