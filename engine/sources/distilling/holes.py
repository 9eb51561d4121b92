"""Jobs that a log does not tell although it goes on after them, and the time that went with them.

Spark drops events when it is overloaded, a part of a rolling log is gone, files lose what lay
between. Jobs and stages are numbered one after the other. A job's number alone proves nothing,
since some are given up before they begin; a stage that is missing too, or that has no job, does.
Of cached data that later jobs find, the stage that computed it may be lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from engine.sources.distilling.clusters import Span, busy_spans
from engine.sources.distilling.executed import Executed
from engine.sources.distilling.idle_time import pauses
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job
from engine.units import format_count


def missing_jobs(application: Application) -> list[str]:
    """How many jobs are missing between those that are told, in words; nothing for none."""
    jobs, of_stage = application.jobs, application.jobs_of_stage
    missing = max(jobs, default=-1) - min(jobs, default=0) + 1 - len(jobs)
    stages = application.planned.keys() | of_stage.keys() | application.stages.keys()
    unsaid = len(stages) < max(stages, default=-1) - min(stages, default=0) + 1
    if missing < 1 or not (unsaid or any(stage not in of_stage for stage in application.stages)):
        return []
    verb = "is" if missing == 1 else "are"
    return [f"{missing} of {format_count(len(jobs) + missing, 'job')} {verb} missing"]


def _around(application: Application) -> list[tuple[Job, Job]]:
    """The jobs before and after each hole: where stages are missing as well between the last that
    jobs up to the first have and the next that a job brings, or have no job there."""
    found = []
    highest = -1
    for job, after in pairwise(sorted(application.jobs.values(), key=lambda job: job.job_id)):
        highest = max(highest, *job.stage_ids, -1)
        if after.job_id == job.job_id + 1:
            continue
        new = min((stage for stage in after.stage_ids if stage > highest), default=highest + 1)
        if new > highest + 1:
            found.append((job, after))
    return found


def jobs_after_holes(application: Application) -> frozenset[int]:
    """The jobs before which others are missing: all where the first ones are."""
    holes = _around(application)
    first = 0 if application.jobs_before else min((job.job_id for _, job in holes), default=None)
    if first is None:
        return frozenset()
    return frozenset(job for job in application.jobs if job >= first)


def cut_off(application: Application) -> frozenset[int]:
    """The stages whose end is in a hole: the log tells neither theirs nor that of their jobs, and
    goes on with others. What is known of them ends with the last of their tasks."""
    last = max((job.job_id for job, _ in _around(application)), default=-1)
    lost = set()
    for number, job in application.jobs.items():
        if number <= last and job.completed_ms is None:
            lost |= {
                stage_id
                for stage_id in job.stage_ids
                if max(application.jobs_of_stage.get(stage_id, (number,))) <= last
            }
    return frozenset(lost)


def untold_spans(application: Application, busy: Sequence[Span]) -> list[Span]:
    """The time within holes in which nothing that is told ran: whether stages did, and how long,
    nobody knows, so that it is neither the driver's nor a measure of theirs. Disjoint, in order.

    Args:
        busy: when stages ran, disjoint and in order.
    """
    ran = [
        (job.submitted_ms, max(job.submitted_ms, job.completed_ms))
        for job in application.jobs.values()
        if job.submitted_ms is not None and job.completed_ms is not None
    ]
    active = busy_spans([*busy, *ran])
    return [gap for begin, stop in hole_spans(application) for gap in pauses(active, begin, stop)]


def hole_spans(application: Application) -> list[Span]:
    """The times in which jobs may have run that are missing: from the submission of the job before
    a hole to that of the one after it. Disjoint, in order."""
    holes = [
        (before.submitted_ms, after.submitted_ms)
        for before, after in _around(application)
        if before.submitted_ms is not None and after.submitted_ms is not None
    ]
    return busy_spans([span for span in holes if span[0] < span[1]])


SAME_BYTES = 1e-6
"""Blocks are never quite as large as what they were computed from."""


def note_found(application: Application, executed: Mapping[int, Executed]) -> None:
    """Where jobs are missing (a history server compacts a rolling log to what still ran), the first
    stage that is told to need a persisted RDD seems to compute it, and its blocks seem to be input.
    It found them, if a later stage read the same to the byte from them."""
    after = jobs_after_holes(application)
    if not after:
        return
    ordered = sorted(executed.values(), key=lambda entry: entry.start_ms)
    seen: set[int] = set()
    for place, entry in enumerate(ordered):
        stage = entry.stage
        new = set(stage.cached_rdds) - seen
        seen |= new
        if stage.reads_cache or new != set(stage.cached_rdds) or not new:
            continue
        jobs = application.jobs_of_stage.get(stage.stage_id, ())
        if after.issuperset(jobs) and _read_again(entry, ordered[place + 1 :]):
            stage.reads_cache = True


def _read_again(entry: Executed, later: Iterable[Executed]) -> bool:
    """Whether the next stage over the same partitions of these RDDs read as much of their blocks
    as this one read."""
    own = entry.summary.measures["input_bytes"]
    if own is None:
        return False
    for other in later:
        stage, read = other.stage, other.summary.measures["input_bytes"]
        if stage.persisted == entry.stage.persisted and stage.reads_cache and read is not None:
            return stage.source_read is None and (
                own.count == read.count and math.isclose(own.total, read.total, rel_tol=SAME_BYTES)
            )
    return False
