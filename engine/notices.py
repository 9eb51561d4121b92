"""`Notice`, a message to the user about an answer, and the order in which notices are shown.

The order is the same on screens, in printed text and in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the user: a stable code, one line of text, and a remedy.

    Args:
        subject: the stage, type or thing that the notice is about, for notices whose figures differ
            between clusters; see `worst_of_each`.
        severity: larger is worse, among notices of one code and subject.
    """

    code: str
    text: str
    remedy: str
    subject: str = field(default="", compare=False, kw_only=True)
    severity: float = field(default=0.0, compare=False, kw_only=True)

    def to_dict(self) -> dict[str, str]:
        """Its JSON object."""
        return {"code": self.code, "text": self.text, "remedy": self.remedy}


WRONG = (
    *("needs-other-resources", "fewer-task-cpus", "stage-needs-cores", "barrier-needs-slots"),
    *("executors-do-not-fit", "cluster-not-started"),
    *("not-supported-by-emr", "not-listed-by-dataproc", "mixed-architectures"),
    *("cache-does-not-fit", "cache-driven-out", "disk-does-not-fit"),
    *("memory-spill", "memory-not-proven", "result-too-large"),
    *("broadcast-outgrown", "model-does-not-fit", "rates-too-low"),
    *("different-engine", "mixed-engines"),
    "prices-of-another-service",
    *("code-changed", "data-shape-changed"),
    *("mixed-applications", "session-names"),
    *("shape-contradicts-catalog", "misspelt-type", "wrong-clock"),
    *("failed-stages", "lost-executors", "incomplete-log", "stage-in-part", "stage-without-tasks"),
    *("largest-run-broke-off", "incomplete-runs", "unknown-outcome", "long-pauses", "idle-time"),
    "jobs-outside-batches",
)
"""Codes of notices that may make the answer wrong outright, the worst first: the job does not start
or Spark ends it, executors do not fit the nodes, data does not fit memory or disks, the model does
not describe the job, code or machines differ from those of the runs, joins or work appear that no
run shows, time is not attributable to work."""

USUAL = ("single-run", "prior-interval", "transferred-speed", "no-cpu-score")
"""Codes that most answers have; they come last among warnings, so that they do not hide what is
specific to this job."""

NOTES = (
    *("ran-on-from-log", "prices-of-where-it-ran", "origin-already-named"),
    *("newest-application", "old-log"),
    *("job-profile-kept", "duplicate-runs", "several-attempts", "same-input"),
    "several-parameters",
    *("rates-from-log", "rates-from-catalog", "rates-learnt", "resources-not-used"),
    *("speed-as-given", "calibrated-score", "filled-nodes", "assured-memory", "delegated"),
    "runs-not-used",
    *("retried-work", "slow-start", "late-executors", "micro-batches", "same-structure"),
    *("failed-runs", "ignored-column", "nodes-from-pods", "nodes-left-out", "rounded-optimum"),
)
"""Codes of informational notices on how the evidence was used or the answer found; they seldom
require action."""

COVERED_BY = {"unknown-source-type": frozenset({"no-machine-types", "nodes-not-told"})}
"""Code -> the codes of notices that cover it, with more of the reason and what to do."""


def in_order(notices: Iterable[Notice | None]) -> tuple[Notice, ...]:
    """The distinct notices in display order: those of `WRONG` in its order, then warnings about
    uncertainty (every other code, those of `USUAL` last), then `NOTES`. Equal ranks keep their
    order. None is dropped, and so is a notice that another one covers (`COVERED_BY`)."""
    distinct = dict.fromkeys(present(notices))
    codes = {notice.code for notice in distinct}
    kept = (n for n in distinct if codes.isdisjoint(COVERED_BY.get(n.code, ())))
    return tuple(sorted(kept, key=_rank))


def present(notices: Iterable[Notice | None]) -> tuple[Notice, ...]:
    """Those that there are, in the order given."""
    return tuple(notice for notice in notices if notice is not None)


def worst_of_each(notices: Iterable[Notice]) -> list[Notice]:
    """The worst notice for each code and subject, of several clusters; notices without a subject
    are distinguished by their text."""
    worst: dict[tuple[str, str], Notice] = {}
    for notice in notices:
        key = notice.code, notice.subject or notice.text
        if notice.severity > worst.setdefault(key, notice).severity:
            worst[key] = notice
    return list(worst.values())


def of_one_batch(notices: Iterable[Notice]) -> bool:
    """Whether the answer's times and costs are those of one micro-batch (a `micro-batches` notice),
    which must then be stated next to them."""
    return any(notice.code == "micro-batches" for notice in notices)


def never_ends(notices: Iterable[Notice]) -> bool:
    """Whether Spark starts some stage of the job not at all on the cluster that they are about: it
    refuses it, or waits forever. The time is then that of no run, and no deadline is met.

    Not where the job may fail, or a service may start no cluster, for other reasons
    (`result-too-large`, `cluster-not-started`): their time is that of a run that does not fail.
    """
    return any(notice.code in ("stage-needs-cores", "barrier-needs-slots") for notice in notices)


def _rank(notice: Notice) -> int:
    if notice.code in WRONG:
        return WRONG.index(notice.code)
    return len(WRONG) + (notice.code in USUAL) + 2 * (notice.code in NOTES)
