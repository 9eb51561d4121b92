"""Micro-batches: the jobs of each, when it began and ended, and the trigger interval; what of a
log's jobs and cores lies in the window of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from engine.profile import JobRun
from engine.sources.distilling.clusters import clipped
from engine.sources.distilling.holes import hole_spans
from engine.sources.distilling.idle_time import Clock
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job


@dataclass(frozen=True, slots=True)
class Window:
    """A part of an application's time that is one run; None for a batch id means all of it."""

    start_ms: int
    end_ms: int
    jobs: tuple[Job, ...]
    batch_id: int | None = None
    query: str | None = None
    complete: bool = True

    @property
    def of_batch(self) -> bool:
        """Whether it is that of a micro-batch."""
        return self.batch_id is not None

    @property
    def stage_ids(self) -> frozenset[int]:
        """The stages of its jobs."""
        return frozenset(stage_id for job in self.jobs for stage_id in job.stage_ids)


def batch_windows(application: Application, ends_ms: Mapping[int, int]) -> list[Window]:
    """One window per micro-batch, in time order; empty where the application does not stream.

    A batch lasts as long as its query reported (`triggerExecution`), else from the first
    submission to the last completion of its jobs, or of the stages of a job that never ended. One
    that was not reported by a query which reported others is not complete: the query was stopped
    in it, or it goes on.

    Args:
        ends_ms: stage -> when it ended, or when its last task did.
    """
    grouped: defaultdict[tuple[str, int], list[Job]] = defaultdict(list)
    for job in application.jobs.values():
        if job.batch_id is not None:
            grouped[job.query or "", job.batch_id].append(job)
        elif job.dstream_batch_ms is not None:
            grouped["", job.dstream_batch_ms].append(job)
    windows = [
        _window(application, query, batch, jobs, ends_ms)
        for (query, batch), jobs in grouped.items()
    ]
    found = _without_holes(application, [window for window in windows if window is not None])
    return sorted(found, key=lambda window: (window.start_ms, window.batch_id or 0))


def _without_holes(application: Application, windows: Sequence[Window]) -> list[Window]:
    """The windows, of which those are not complete that have lost jobs: a batch beside a hole of
    the log that has fewer jobs than its query's batches away from holes, which run the same program
    each time. Where there are none of these, nobody knows what it has lost."""
    holes = hole_spans(application)
    beside = [bool(clipped(holes, one.start_ms - 1, one.end_ms + 1)) for one in windows]
    usual: defaultdict[str | None, list[int]] = defaultdict(list)
    for window, lies in zip(windows, beside, strict=True):
        if not lies:
            usual[window.query].append(len(window.jobs))
    return [
        replace(window, complete=False)
        if lies and _has_fewer(window, usual[window.query])
        else window
        for window, lies in zip(windows, beside, strict=True)
    ]


def _has_fewer(window: Window, usual: list[int]) -> bool:
    """Whether a batch has fewer jobs than half of others have, in ascending order."""
    return not usual or len(window.jobs) < sorted(usual)[len(usual) // 2]


def _window(
    application: Application,
    query: str,
    batch: int,
    jobs: Sequence[Job],
    ends_ms: Mapping[int, int],
) -> Window | None:
    starts = [job.submitted_ms for job in jobs if job.submitted_ms is not None]
    ends = [job.completed_ms for job in jobs if job.completed_ms is not None]
    unended = [job for job in jobs if job.completed_ms is None]
    seen = [ends_ms[stage] for job in unended for stage in job.stage_ids if stage in ends_ms]
    if not starts:
        return None
    start = jobs[0].dstream_batch_ms or min(starts)
    end = max([*ends, *seen], default=application.last_ms)
    reported = application.batches.get((query, batch))
    complete = not unended and (reported is not None or query not in application.reporting)
    if reported is not None and reported.duration_ms:
        start = epoch_ms(reported.started) or start
        end, complete = start + reported.duration_ms, True
    return Window(start, max(end, start + 1), tuple(jobs), batch, query or None, complete)


def epoch_ms(text: str) -> int | None:
    """Epoch milliseconds of an ISO 8601 time in UTC; None where it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000.0)


CLOCK_MS = 20
"""A batch cannot begin before its trigger fires, but for the rounding of clocks."""

ON_SCHEDULE = 0.8
"""Share of the batches that an interval must explain."""

USUAL_INTERVALS_MS = (
    *(100, 200, 250, 500),
    *(1000 * seconds for seconds in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45)),
    *(60_000 * minutes for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 360, 720, 1440)),
)


def trigger_intervals(windows: Sequence[Window]) -> dict[str | None, float | None]:
    """The trigger interval of each query in seconds, None for one of which none can be told.

    Args:
        windows: in time order, of one or more queries that run beside each other.
    """
    of_query: defaultdict[str | None, list[Window]] = defaultdict(list)
    for window in windows:
        of_query[window.query].append(window)
    return {query: _trigger_seconds(own) for query, own in of_query.items()}


def _trigger_seconds(windows: Sequence[Window]) -> float | None:
    """The trigger interval of one query's micro-batches, None where none can be told.

    Logs do not name it, but it leaves a pattern: after a batch, the next begins at the first
    multiple of the interval that follows the start of the one before, or at once where that time
    has passed. The interval is the usual one (or the median distance of batches) that explains
    the most batches, the largest among equals. It is only given where it explains most of them
    and at least one batch has waited: batches without a pause have no interval.
    """
    pairs = list(pairwise(windows))
    if not pairs:
        return None
    import statistics  # costs some milliseconds, which other logs need not wait for

    distance = round(statistics.median(b.start_ms - a.start_ms for a, b in pairs), -2)
    candidates = {*USUAL_INTERVALS_MS, max(100, int(distance))}
    waited = {
        ms for ms in candidates if any(_waits(ms, a) and _explains(ms, a, b) for a, b in pairs)
    }
    if not waited:
        return None
    explained = {ms: sum(_explains(ms, a, b) for a, b in pairs) for ms in waited}
    best = max(waited, key=lambda ms: (explained[ms], ms))
    return best / 1000.0 if explained[best] >= ON_SCHEDULE * len(pairs) else None


def _due(interval_ms: int, before: Window) -> int:
    """When the trigger after a batch fires: at the next multiple of the interval."""
    return (before.start_ms // interval_ms + 1) * interval_ms


def _tolerance(interval_ms: int) -> int:
    """A trigger that fires this much later is still on time."""
    return min(max(100, interval_ms // 10), 1000)


def _waits(interval_ms: int, before: Window) -> bool:
    return _due(interval_ms, before) > before.end_ms + _tolerance(interval_ms)


def _explains(interval_ms: int, before: Window, after: Window) -> bool:
    """Whether `after` began when a trigger of that interval would have begun it."""
    begin = max(_due(interval_ms, before), before.end_ms)
    return -CLOCK_MS <= after.start_ms - begin <= _tolerance(interval_ms)


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
