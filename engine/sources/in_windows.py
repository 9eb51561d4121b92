"""What of a log's jobs and cores lies in the window of a run, on the clock of that run."""

from __future__ import annotations

from collections.abc import Sequence

from engine.profile import JobRun
from engine.sources.idle_time import Clock
from engine.sources.streaming import Window


def jobs_in(window: Window, clock: Clock) -> tuple[JobRun, ...]:
    """The jobs of a window of which the log says when they were submitted."""
    return tuple(
        JobRun(
            job.job_id,
            clock.seconds(job.submitted_ms),
            None if job.completed_ms is None else clock.seconds(job.completed_ms),
            job.stage_ids,
            job.sql_execution_id,
            job.batch_id,
        )
        for job in window.jobs
        if job.submitted_ms is not None
    )


def cores_in(
    window: Window, steps: Sequence[tuple[int, int]], clock: Clock
) -> tuple[tuple[float, int], ...]:
    """The step function of cores from the window's start on; what was there before is at 0."""
    found: list[tuple[float, int]] = []
    for time, cores in steps:
        if time > window.end_ms:
            break
        at = max(0.0, clock.seconds(time))
        if found and found[-1][0] == at:
            found[-1] = (at, cores)
        else:
            found.append((at, cores))
    return tuple(found)
