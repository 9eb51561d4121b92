"""Detects idle time of an application and excludes it from the clock of the run.

A shell that was left open, a cluster that waits for its next notebook, or a log concatenated from
two has hours or years without a job. Such time is neither driver work nor any other, so it is cut
out, with a notice. Pauses short enough to be driver work are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from engine.intervals import clipped, gaps, united
from engine.notices import Notice
from engine.sources.distilling.engines import TAGS
from engine.units import format_count, format_seconds

if TYPE_CHECKING:
    from engine.sources.distilling.clusters import Span
    from engine.sources.logs.application import Application

IDLE_IN_SESSION_MS = 5 * 60_000
"""In an interactive session (a shell, a notebook) a pause this long is not driver work."""

IDLE_MS = 60 * 60_000
"""Elsewhere pauses of this length are idle, if together they exceed all other time."""

PAUSE_MS = 60_000
NOTABLE_SHARE = 0.5
"""Pauses of `PAUSE_MS` give a notice where they make up `NOTABLE_SHARE` of the counted time, and
always in an interactive session. There, shorter ones that together make up that share do too."""

_DEFAULT_NAMES = re.compile(
    r"(?:spark shell|pysparkshell|sparkr|databricks shell|zeppelin|livy-session)\b", re.IGNORECASE
)
"""Beginnings of default application names, given by Spark or a platform."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since `start_ms`, idle stretches left out; `idle` are disjoint and in order."""

    start_ms: int
    idle: tuple[Span, ...] = ()
    _idle_before_ms: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sums the stretches up once: a server that ran for weeks has thousands, and of stages."""
        lengths = (end - start for start, end in self.idle)
        object.__setattr__(self, "_idle_before_ms", tuple(accumulate(lengths, initial=0)))

    def seconds(self, time_ms: int) -> float:
        """Seconds from the start to a time: 0 before it, as where a clock was set back. A time
        within an idle stretch counts as its start."""
        index = bisect_right(self.idle, time_ms, key=lambda span: span[0])
        idle_ms = self._idle_before_ms[index]
        if index and time_ms < self.idle[index - 1][1]:
            idle_ms -= self.idle[index - 1][1] - time_ms
        return max(0, time_ms - idle_ms - self.start_ms) / 1000.0


def active_spans(application: Application, busy: Sequence[Span], end_ms: int) -> list[Span]:
    """The spans in which a stage, job, SQL query or client operation ran, disjoint and in order.

    A job without a logged end lasts until the last stage ended, or to the end of the log where the
    application's end is unknown too.
    """
    spans = [*busy, *application.sql_spans, *application.clients.spans]
    last = busy[-1][1] if busy else end_ms
    open_end = end_ms if application.ended_ms is None else last
    for job in application.jobs.values():
        if job.submitted_ms is not None:
            stop = job.completed_ms if job.completed_ms is not None else open_end
            spans.append((job.submitted_ms, max(job.submitted_ms, stop)))
    return united(spans)


def idle_stretches(
    all_pauses: Sequence[Span], *, total_ms: int, session: bool, min_pause_ms: float | None = None
) -> tuple[Span, ...]:
    """The pauses that are excluded from the time of the run; all of at least `min_pause_ms` where
    the user set that."""
    if min_pause_ms is not None:
        return tuple(span for span in all_pauses if _length(span) >= min_pause_ms)
    if session:
        return tuple(span for span in all_pauses if _length(span) >= IDLE_IN_SESSION_MS)
    longest = max(all_pauses, key=_length, default=None)
    if longest is None or _length(longest) < IDLE_MS:
        return ()
    # All long pauses together: two of a year each are no more work than one.
    long = tuple(span for span in all_pauses if _length(span) >= IDLE_MS)
    idle = sum(map(_length, long))
    return long if idle > total_ms - idle else ()


def uncovered_spans(
    useful: Sequence[Span], busy: Sequence[Span], start_ms: int, end_ms: int
) -> list[Span]:
    """The parts of the busy spans that no useful span covers."""
    return [
        gap for begin, stop in clipped(busy, start_ms, end_ms) for gap in gaps(useful, begin, stop)
    ]


def unsuccessful_notice(gaps: Sequence[Span], stages: int) -> Notice | None:
    """The notice about time in which only stages without a successful task ran. It counts neither
    as driver work nor as stage time."""
    if not gaps:
        return None
    what = format_count(stages, "stage")
    return Notice(
        "stage-without-tasks",
        f"no task of {what} succeeded: the {_text(sum(map(_length, gaps)))} in which nothing "
        "else ran are not counted, and what would have followed is not known",
        "give the log of a run that succeeded",
    )


_SET_BY_SUBMIT = "spark.repl.local.jars"
"""A `spark.repl.` setting that does not mean a session: spark-submit sets it for every application
with libraries (`--jars`, `--packages`)."""

_JOB_CLUSTER = re.compile(r"job-\d+-run-\d+")
"""Names of Databricks clusters that are started for one job run."""


def is_default_name(name: str) -> bool:
    """Whether an application has a default name given by Spark or a platform, as sessions do."""
    return _DEFAULT_NAMES.match(name) is not None


def is_session(application: Application) -> bool:
    """Whether the application is interactive: a shell or notebook, by its name and settings, or a
    server with clients."""
    properties = application.properties
    if _JOB_CLUSTER.match(properties.get(f"{TAGS}clusterName", "")):
        return False
    if application.clients.sessions or is_default_name(application.name or ""):
        return True
    return any(
        key.startswith(("spark.repl.", TAGS)) and key != _SET_BY_SUBMIT for key in properties
    )


SUGGESTED_PAUSES_SECONDS = (30, 10, 5, 2, 1)
"""Values of `--pauses` that a remedy may suggest, the longest first: shorter pauses are more likely
driver work."""


def idle_notices(
    idle: Sequence[Span],
    kept: Sequence[Span],
    *,
    start_ms: int,
    counted_ms: int,
    session: bool,
    first_executor_ms: float = 0.0,
) -> list[Notice]:
    """Notices about time without a job.

    Args:
        idle: the excluded stretches.
        kept: the pauses that count.
        counted_ms: time of the run without `idle`.
        first_executor_ms: when the first executor was added.
    """
    notices = []
    if idle:
        longest = max(idle, key=_length)
        stretches = "1 stretch" if len(idle) == 1 else f"{len(idle)} stretches, the longest"
        begin = format_seconds((longest[0] - start_ms) / 1000.0)
        notices.append(
            Notice(
                "idle-time",
                f"no job ran for {_text(sum(map(_length, idle)))} ({stretches} from {begin} after "
                "the start on): that time is not counted",
                "if the driver worked in that time, add it to the predictions",
            )
        )
    long = sum(_length(span) for span in kept if _length(span) >= PAUSE_MS)
    paused = sum(map(_length, kept)) if session else long
    mostly = paused > NOTABLE_SHARE * counted_ms
    if mostly or (session and long):
        interactive = mostly and session
        without_pauses = _pause_remedy(kept, first_executor_ms, counted_ms)
        remedy = f"if nobody asked for anything in that time, {without_pauses}"
        notices.append(
            _long_pauses(
                paused if interactive else long, counted_ms, remedy, interactive=interactive
            )
        )
    return notices


def _long_pauses(paused_ms: int, counted_ms: int, remedy: str, *, interactive: bool) -> Notice:
    """The warning about pauses that count; in an interactive session those of any length."""
    pauses_text = "between queries" if interactive else "of a minute or more"
    return Notice(
        "long-pauses",
        f"no job ran for {_text(paused_ms)} of {_text(counted_ms)}, in pauses {pauses_text}: "
        "counted as work of the driver, the same on every cluster",
        remedy,
    )


def _pause_remedy(kept: Sequence[Span], first_executor_ms: float, counted_ms: int) -> str:
    """The remedy for pauses: the longest `--pauses` value that ends the warning. Waiting for the
    first executor is not a pause there and is never left out."""
    waits = [max(0.0, end - max(begin, first_executor_ms)) for begin, end in kept]
    for seconds in SUGGESTED_PAUSES_SECONDS:
        left_out = sum(wait for wait in waits if wait >= 1000 * seconds)
        if left_out and sum(waits) - left_out <= NOTABLE_SHARE * (counted_ms - left_out):
            return (
                f"leave it out: sparkplan profile LOG --pauses {seconds}s -o FILE, "
                "and plan with FILE"
            )
    return "log a run that does not wait"


def _length(span: Span) -> int:
    return span[1] - span[0]


def _text(milliseconds: int) -> str:
    return format_seconds(milliseconds / 1000.0)
