"""An application's time without the stretches in which it stood idle.

A shell that somebody left open, a cluster that waits for its next notebook, a log put together of
two: no job runs for hours or years. Such time is neither the driver's work nor any other, so it
is cut out of the clock of the run, and said so. What is short enough to be work is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.notices import Notice
from engine.sources.distilling.clusters import Span, busy_spans, clipped
from engine.sources.distilling.engines import TAGS
from engine.sources.logs.application import Application
from engine.units import format_count, format_seconds

IDLE_IN_SESSION_MS = 5 * 60_000
"""In an interactive session (a shell, a notebook) a pause this long is not the driver's work."""

IDLE_MS = 60 * 60_000
"""Anywhere else it takes a pause this long, and longer than all other time together."""

PAUSE_MS = 60_000
MOSTLY = 0.5
"""Pauses of a minute are pointed out where they make up half of the counted time, and always in an
interactive session, where shorter ones are too that make up half of it together."""

_SHELLS = re.compile(
    r"(?:spark shell|pysparkshell|sparkr|databricks shell|zeppelin|livy-session)\b", re.IGNORECASE
)
"""The words with which names begin that applications have of Spark or of a platform."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since `start_ms`, idle stretches left out; `idle` are disjoint and in order."""

    start_ms: int
    idle: tuple[Span, ...] = ()

    def seconds(self, time_ms: int) -> float:
        """Seconds from the start to a time; one within an idle stretch counts as its begin."""
        place = bisect_right(self.idle, time_ms, key=lambda span: span[0])
        cut = sum(end - start for start, end in self.idle[:place])
        if place and time_ms < self.idle[place - 1][1]:
            cut -= self.idle[place - 1][1] - time_ms
        return (time_ms - cut - self.start_ms) / 1000.0


def active_spans(application: Application, busy: Sequence[Span], end_ms: int) -> list[Span]:
    """When a stage, a job, an SQL query or an operation of a client ran, disjoint and in order; a
    job that never ended runs until its last stage ended, or to the end where the application's end
    is not known either."""
    spans = [*busy, *application.queries, *application.clients.spans]
    last = busy[-1][1] if busy else end_ms
    open_end = end_ms if application.ended_ms is None else last
    for job in application.jobs.values():
        if job.submitted_ms is not None:
            stop = job.completed_ms if job.completed_ms is not None else open_end
            spans.append((job.submitted_ms, max(job.submitted_ms, stop)))
    return busy_spans(spans)


def pauses(active: Sequence[Span], start_ms: int, end_ms: int) -> list[Span]:
    """The stretches of [start, end] in which nothing was active."""
    within = clipped(active, start_ms, end_ms)
    edges = [(start_ms, start_ms), *within, (end_ms, end_ms)]
    return [(before[1], after[0]) for before, after in pairwise(edges) if after[0] > before[1]]


def idle_stretches(
    found: Sequence[Span], *, total_ms: int, session: bool, asked_ms: float | None = None
) -> tuple[Span, ...]:
    """The pauses that are not counted as time of the run: all of `asked_ms` and more, where
    somebody has said what counts as one."""
    if asked_ms is not None:
        return tuple(span for span in found if _length(span) >= asked_ms)
    if session:
        return tuple(span for span in found if _length(span) >= IDLE_IN_SESSION_MS)
    longest = max(found, key=_length, default=None)
    if longest is None or _length(longest) < IDLE_MS:
        return ()
    # All pauses of that order: two gaps of a year each are no more work than one.
    long = tuple(span for span in found if _length(span) >= IDLE_MS)
    idle = sum(map(_length, long))
    return long if idle > total_ms - idle else ()


def gaps_of(useful: Sequence[Span], busy: Sequence[Span], start_ms: int, end_ms: int) -> list[Span]:
    """The parts of busy spans in which no useful one ran."""
    return [
        gap
        for begin, stop in clipped(busy, start_ms, end_ms)
        for gap in pauses(useful, begin, stop)
    ]


def fruitless_notices(gaps: Sequence[Span], stages: int) -> list[Notice]:
    """What to say of the time in which only stages ran of which no task succeeded: it is neither
    the driver's work nor a measure of theirs."""
    if not gaps:
        return []
    what = format_count(stages, "stage")
    return [
        Notice(
            "stage-without-tasks",
            f"no task of {what} succeeded: the {_text(sum(map(_length, gaps)))} in which nothing "
            "else ran are not counted, and what would have followed is not known",
            "give the log of a run that succeeded",
        )
    ]


_SET_FOR_ALL = "spark.repl.local.jars"
"""spark-submit sets it for every application with libraries (`--jars`, `--packages`)."""

_JOB_CLUSTER = re.compile(r"job-\d+-run-\d+")
"""Names that Databricks gives to clusters which it starts for one run of a job."""


def nobody_named(name: str) -> bool:
    """Whether an application has its name of Spark or of a platform, as sessions do."""
    return _SHELLS.match(name) is not None


def is_session(application: Application) -> bool:
    """Whether somebody was typing, or clients asked: a shell or a notebook, to go by its name and
    settings, or a server."""
    properties = application.properties
    if _JOB_CLUSTER.match(properties.get(f"{TAGS}clusterName", "")):
        return False
    if application.clients.sessions or nobody_named(application.name or ""):
        return True
    return any(key.startswith(("spark.repl.", TAGS)) and key != _SET_FOR_ALL for key in properties)


LEFT_OUT_SECONDS = (30, 10, 5, 2, 1)
"""Lengths of pauses that a remedy names, the longest first: more of short ones are the driver's."""


def idle_notices(
    idle: Sequence[Span],
    kept: Sequence[Span],
    *,
    start_ms: int,
    counted_ms: int,
    session: bool,
    came_ms: float = 0.0,
) -> list[Notice]:
    """What to say of the time in which no job ran; the first executor had come at `came_ms`."""
    found = []
    if idle:
        longest = max(idle, key=_length)
        stretches = "1 stretch" if len(idle) == 1 else f"{len(idle)} stretches, the longest"
        begin = format_seconds((longest[0] - start_ms) / 1000.0)
        found.append(
            Notice(
                "idle-time",
                f"no job ran for {_text(sum(map(_length, idle)))} ({stretches} from {begin} after "
                "the start on): that time is not counted",
                "if the driver worked in that time, add it to the predictions",
            )
        )
    long = sum(_length(span) for span in kept if _length(span) >= PAUSE_MS)
    every = sum(map(_length, kept)) if session else long
    mostly = every > MOSTLY * counted_ms
    if mostly or (session and long):
        typed = mostly and session
        remedy = f"if nobody asked for anything in that time, {_way_out(kept, came_ms, counted_ms)}"
        found.append(_long_pauses(every if typed else long, counted_ms, remedy, typed=typed))
    return found


def _long_pauses(paused_ms: int, counted_ms: int, remedy: str, *, typed: bool) -> Notice:
    """The warning of pauses that count; where somebody typed, those of any length are counted."""
    return Notice(
        "long-pauses",
        f"no job ran for {_text(paused_ms)} of {_text(counted_ms)}, in pauses "
        f"{'between queries' if typed else 'of a minute or more'}: counted as work of the driver, "
        "the same on every cluster",
        remedy,
    )


def _way_out(kept: Sequence[Span], came_ms: float, counted_ms: int) -> str:
    """How to plan without pauses: by the longest `--pauses` that ends the warning. What an
    application waited for its first executor is no pause there, and is left out by none."""
    waits = [max(0.0, end - max(begin, came_ms)) for begin, end in kept]
    for seconds in LEFT_OUT_SECONDS:
        left_out = sum(wait for wait in waits if wait >= 1000 * seconds)
        if left_out and sum(waits) - left_out <= MOSTLY * (counted_ms - left_out):
            return (
                f"leave it out: sparkplan profile LOG --pauses {seconds}s -o FILE, "
                "and plan with FILE"
            )
    return "log a run that does not wait"


def _length(span: Span) -> int:
    return span[1] - span[0]


def _text(milliseconds: int) -> str:
    return format_seconds(milliseconds / 1000.0)
