"""Pauses: long gaps between the jobs of an application, in which it may have waited for somebody or
something outside.

A log does not say what the driver did while no job was in flight. A minute of it may be work (a
commit of many files) or a notebook that waits for its reader: only the application knows. So such
gaps stay driver time, and a warning reports them.

In: runs. Out: lengths of pauses, and a warning. Explained in
docs/models/sparkplan_rules_replay.md#driver-time-and-speed.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.intervals import gaps, united
from engine.notices import Notice
from engine.profile import Run
from engine.units import format_seconds

PAUSE_SECONDS = 60.0
"""Shortest time without any job that is reported."""

IDLE_SECONDS = 30.0
IDLE_SHARE = 0.1
"""A gap between jobs of at least so many seconds and this share of the run is a pause (a person, a
schedule, another program), not work of the driver: it does not grow."""


def least_pause_seconds(run: Run) -> float:
    """Shortest gap between jobs of a run that counts as a pause, unless something explains it."""
    return max(IDLE_SECONDS, IDLE_SHARE * run.seconds)


def long_pauses(run: Run) -> tuple[float, ...]:
    """Lengths in seconds of the gaps of `PAUSE_SECONDS` and more after the first job, in which
    neither a job nor a stage was in flight, including the gap before the end of the application. A
    job whose end the log did not see counts as in flight to the end of the run."""
    spans = [(stage.submitted_seconds, stage.completed_seconds) for stage in run.stages]
    for job in run.jobs:
        ended = run.seconds if job.completed_seconds is None else job.completed_seconds
        spans.append((job.submitted_seconds, ended))
    active = united(spans)
    idle = gaps(active, active[0][0], run.seconds) if active else []
    return tuple(end - start for start, end in idle if end - start >= PAUSE_SECONDS)


def pause_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning for the log that paused for the largest share of its time; None if none did, or
    if reading that log has given it already."""
    worst = max(runs, key=lambda run: sum(long_pauses(run)) / run.seconds)
    pauses = long_pauses(worst)
    if not pauses or any(notice.code == "long-pauses" for notice in worst.notices):
        return None
    total = format_seconds(sum(pauses))
    count = "once" if len(pauses) == 1 else f"{len(pauses)} times"
    return Notice(
        "long-pauses",
        f"{count} no job was in flight for a minute or more, {total} of a run of "
        f"{format_seconds(worst.seconds)}: work of the driver, or a wait for somebody or something "
        "outside; it counts as driver time, which no cluster makes shorter",
        "log a run without such waits, or leave them out: sparkplan profile LOG --pauses 1m -o "
        "FILE, and plan with FILE",
    )
