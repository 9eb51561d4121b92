"""Micro-batches of streaming queries as time windows, and the trigger interval of each query.

Also selects the jobs and the core steps of a log that lie in the window of a run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from engine.intervals import clipped, united
from engine.notices import Notice
from engine.profile import JobRun
from engine.sources.distilling.idle_time import Clock
from engine.sources.distilling.log_gaps import gap_spans
from engine.sources.distilling.triggers import CLOCK_MS, BatchKey, Trigger, Triggers
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job
from engine.units import format_share


@dataclass(frozen=True, slots=True)
class Window:
    """The time window of one run: a micro-batch, or the whole application (`batch_id` None)."""

    start_ms: int
    end_ms: int
    jobs: tuple[Job, ...]
    batch_id: int | None = None
    query: str | None = None
    complete: bool = True

    @property
    def of_batch(self) -> bool:
        """Whether it is a micro-batch."""
        return self.batch_id is not None

    @property
    def stage_ids(self) -> frozenset[int]:
        """The stages of its jobs."""
        return frozenset(stage_id for job in self.jobs for stage_id in job.stage_ids)


def batch_windows(application: Application, ends_ms: Mapping[int, int]) -> list[Window]:
    """One window per micro-batch, in time order; empty where the application does not stream.

    A batch lasts as long as its query reported (`triggerExecution`) and has the jobs that ran in
    that time: it does not wait for one that goes on after it. Else it lasts from the first
    submission to the last completion of its jobs, or of the stages of a job without a known end. An
    unreported batch of a query that reported others is incomplete: the query was stopped in it, or
    is still running. A batch of a DStream begins at its batch time, or when the one before ended.

    Args:
        ends_ms: stage -> when it, or its last task, ended.
    """
    triggers = Triggers.of(application)
    reported: defaultdict[BatchKey, list[Job]] = defaultdict(list)
    others: defaultdict[BatchKey, list[Job]] = defaultdict(list)
    of_dstreams: defaultdict[int, list[Job]] = defaultdict(list)
    for job in application.jobs.values():
        trigger = triggers.of_job(job)
        if job.dstream_batch_ms is not None:
            of_dstreams[job.dstream_batch_ms].append(job)
        elif trigger is not None:
            if not trigger.is_over_by(_last_ms(job, ends_ms)):
                reported[trigger.key].append(job)
        elif job.batch_id is not None:
            others[job.query or "", job.batch_id].append(job)
    windows = [_reported_window(triggers.by_batch[key], jobs) for key, jobs in reported.items()]
    # What else names a batch that was reported is an attempt of it that failed, or no part of it;
    # also where that batch had no jobs (threads of a pool keep the batch that they were made in).
    windows += [
        window
        for (query, batch), jobs in others.items()
        if (query, batch) not in reported
        and not triggers.is_over((query, batch))
        and (window := _window(application, triggers, query, batch, jobs, ends_ms)) is not None
    ]
    windows += _dstream_windows(application, triggers, of_dstreams, ends_ms)
    marked = _with_losses_marked(application, windows)
    return sorted(marked, key=lambda window: (window.start_ms, window.batch_id or 0))


def _last_ms(job: Job, ends_ms: Mapping[int, int]) -> int | None:
    """When a job ended, or the last of its stages if that is unknown; None if that is too."""
    if job.completed_ms is not None:
        return job.completed_ms
    return max((ends_ms[stage] for stage in job.stage_ids if stage in ends_ms), default=None)


def _reported_window(trigger: Trigger, jobs: Sequence[Job]) -> Window:
    start, end = trigger.start_ms, max(trigger.end_ms, trigger.start_ms + 1)
    return Window(start, end, tuple(jobs), trigger.batch, trigger.query or None)


def _dstream_windows(
    application: Application,
    triggers: Triggers,
    batches: Mapping[int, Sequence[Job]],
    ends_ms: Mapping[int, int],
) -> list[Window]:
    """The windows of DStreams' batches, given the jobs of each batch time.

    Batches that come faster than they are processed wait for each other: that is Spark's scheduling
    delay, not its processing time, and another cluster would not repeat it. Batch times before the
    application's own start are of batches that it took over from a checkpoint.
    """
    windows = list[Window]()
    for batch_ms in sorted(batches):
        window = _window(application, triggers, "", batch_ms, batches[batch_ms], ends_ms)
        if window is not None:
            due_ms = max(batch_ms, windows[-1].end_ms if windows else 0)
            due_ms = window.start_ms if due_ms < (application.first_ms or 0) else due_ms
            windows.append(replace(window, start_ms=min(due_ms, window.start_ms)))
    return windows


def _with_losses_marked(application: Application, windows: Sequence[Window]) -> list[Window]:
    """The windows, with batches that lost jobs in a gap of the log marked as incomplete.

    Each batch of a query runs the same program. A batch next to a gap has lost jobs if it has fewer
    than the query's batches away from gaps; without such batches it counts as incomplete too.
    """
    gaps = gap_spans(application)
    near_gap = [bool(clipped(gaps, window.start_ms - 1, window.end_ms + 1)) for window in windows]
    job_counts: defaultdict[str | None, list[int]] = defaultdict(list)
    for window, near in zip(windows, near_gap, strict=True):
        if not near:
            job_counts[window.query].append(len(window.jobs))
    usual = {query: sorted(counts)[len(counts) // 2] for query, counts in job_counts.items()}
    return [
        replace(window, complete=False)
        if near and len(window.jobs) < usual.get(window.query, math.inf)
        else window
        for window, near in zip(windows, near_gap, strict=True)
    ]


def _window(
    application: Application,
    triggers: Triggers,
    query: str,
    batch: int,
    jobs: Sequence[Job],
    ends_ms: Mapping[int, int],
) -> Window | None:
    """The window of a batch in whose trigger, if its query reported one, no job began."""
    starts = [job.submitted_ms for job in jobs if job.submitted_ms is not None]
    ends = [last for job in jobs if (last := _last_ms(job, ends_ms)) is not None]
    if not starts:
        return None
    start, end = min(starts), max(ends, default=application.last_ms)
    ended = all(job.completed_ms is not None for job in jobs)
    untimed = (query, batch) in application.batches and (query, batch) not in triggers.by_batch
    complete = ended and (untimed or query not in application.reporting)
    return Window(start, max(end, start + 1), tuple(jobs), batch, query or None, complete)


ON_SCHEDULE = 0.8
"""Share of the batches that an interval must explain."""

USUAL_INTERVALS_MS = (
    *(100, 200, 250, 500),
    *(1000 * seconds for seconds in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45)),
    *(60_000 * minutes for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 360, 720, 1440)),
)

MOST_OUTSIDE, NOTABLE_OUTSIDE = 0.5, 0.1
"""Shares of the task time in jobs of no micro-batch: beyond the first an application is more than
its streams, and one run; beyond the second a notice says that it is left out."""

LEAST_AT_WORK = 0.5
"""Share of the time of its streams in which some batch is at work: with less an application waits
for data, which as one run would count as work."""


def share_outside(
    application: Application, windows: Sequence[Window], task_seconds: Mapping[int, float]
) -> float:
    """Share of the task time of an application in jobs that are of no micro-batch, nor of a failed
    attempt of one. 0 for DStreams, whose receivers are jobs of no batch that last as long as the
    application.

    Args:
        task_seconds: stage -> seconds of all of its tasks.
    """
    total = sum(task_seconds.values())
    if not total or any(window.query is None for window in windows):
        return 0.0
    inside = frozenset[int]().union(*(window.stage_ids for window in windows))
    of_windows = {job.job_id for window in windows for job in window.jobs}
    triggers = Triggers.of(application)
    outside = {
        stage
        for job in application.jobs.values()
        if job.job_id not in of_windows and not triggers.is_failed_attempt(job)
        for stage in job.stage_ids
        if stage in task_seconds
    }
    return sum(task_seconds[stage] for stage in outside - inside) / total


def is_more_than_streams(windows: Sequence[Window], outside: float) -> bool:
    """Whether an application is one run, of which micro-batches are a small part.

    Args:
        outside: `share_outside` its micro-batches.
    """
    if not windows or outside <= MOST_OUTSIDE:
        return False
    spans = united((window.start_ms, window.end_ms) for window in windows)
    at_work = sum(end - start for start, end in spans)
    return at_work >= LEAST_AT_WORK * (spans[-1][1] - spans[0][0])


def outside_notice(share: float) -> Notice | None:
    """The notice that the runs of a log, its micro-batches, leave out so much of its work."""
    if share < NOTABLE_OUTSIDE:
        return None
    return Notice(
        "jobs-outside-batches",
        f"{format_share(share)} of the task time was in jobs of no micro-batch: these are not in "
        "the runs, nor in any prediction",
        "plan such work with the log of an application that does it alone",
    )


def trigger_intervals(windows: Sequence[Window]) -> dict[str | None, float | None]:
    """The inferred trigger interval [s] of each query; None where it cannot be inferred.

    Args:
        windows: in time order, of one or more concurrent queries.
    """
    of_query: defaultdict[str | None, list[Window]] = defaultdict(list)
    for window in windows:
        of_query[window.query].append(window)
    return {query: _trigger_seconds(of_one) for query, of_one in of_query.items()}


def _trigger_seconds(windows: Sequence[Window]) -> float | None:
    """The trigger interval [s] of one query's micro-batches; None where it cannot be inferred.

    It is not logged but leaves a pattern: the next batch begins at the first multiple of the
    interval after the start of the previous batch, or at once if that time has passed. Candidates
    are common intervals and the median distance of batches. The one that explains the most batches
    wins, the largest among equals. It must explain most of them, and at least one batch must have
    waited: batches without a pause show no interval.
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
    """When the trigger after a batch fires [ms]: the next multiple of the interval."""
    return (before.start_ms // interval_ms + 1) * interval_ms


def _tolerance(interval_ms: int) -> int:
    """How late a batch may begin after its trigger [ms]: a tenth of the interval, 100 to 1000."""
    return min(max(100, interval_ms // 10), 1000)


def _waits(interval_ms: int, before: Window) -> bool:
    return _due(interval_ms, before) > before.end_ms + _tolerance(interval_ms)


def _explains(interval_ms: int, before: Window, after: Window) -> bool:
    """Whether `after` began when a trigger of that interval would have begun it."""
    begin = max(_due(interval_ms, before), before.end_ms)
    return -CLOCK_MS <= after.start_ms - begin <= _tolerance(interval_ms)


def jobs_in(window: Window, clock: Clock) -> tuple[JobRun, ...]:
    """The jobs of a window with a logged submission."""
    return tuple(
        JobRun(
            job.job_id,
            clock.seconds(job.submitted_ms),
            None if job.completed_ms is None else clock.seconds(job.completed_ms),
            job.stage_ids,
            job.sql_execution_id,
            window.batch_id if window.query is not None else job.batch_id,
            job.pool,
        )
        for job in window.jobs
        if job.submitted_ms is not None
    )


def cores_in(
    window: Window, steps: Sequence[tuple[int, int]], clock: Clock
) -> tuple[tuple[float, int], ...]:
    """The step function of cores in the window; earlier cores are at 0."""
    steps_within: list[tuple[float, int]] = []
    for time, cores in steps:
        if time > window.end_ms:
            break
        at = max(0.0, clock.seconds(time))
        if steps_within and steps_within[-1][0] == at:
            steps_within[-1] = (at, cores)
        else:
            steps_within.append((at, cores))
    return tuple(steps_within)
