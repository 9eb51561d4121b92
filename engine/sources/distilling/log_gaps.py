"""Gaps in a log: jobs missing in its middle, the time they took, and cached data they computed.

Spark drops events when it is overloaded, parts of a rolling log go missing, files lose content in
the middle. Job and stage ids are consecutive. A missing job id alone proves nothing, since some
jobs are abandoned before they start; a stage id that is missing too, or a stage without a job,
does. The stage that computed cached data used by later jobs may be lost in a gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from engine.intervals import gaps, united
from engine.sources.distilling.clusters import Span
from engine.sources.distilling.executed import ExecutedStage
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job
from engine.units import format_count


def missing_jobs(application: Application) -> list[str]:
    """How many jobs are missing between those logged, as text; empty for none."""
    jobs, of_stage = application.jobs, application.jobs_of_stage
    missing = max(jobs, default=-1) - min(jobs, default=0) + 1 - len(jobs)
    stages = application.planned_stages.keys() | of_stage.keys() | application.stages.keys()
    stages_missing = len(stages) < max(stages, default=-1) - min(stages, default=0) + 1
    if missing < 1 or not (
        stages_missing or any(stage not in of_stage for stage in application.stages)
    ):
        return []
    verb = "is" if missing == 1 else "are"
    return [f"{missing} of {format_count(len(jobs) + missing, 'job')} {verb} missing"]


def _jobs_around_gaps(application: Application) -> list[tuple[Job, Job]]:
    """The jobs before and after each gap.

    A gap lies between jobs with non-consecutive ids, if stage ids are missing there too: the next
    new stage of the later job does not follow the highest stage of the jobs so far.
    """
    around = []
    highest_stage = -1
    for job, after in pairwise(sorted(application.jobs.values(), key=lambda job: job.job_id)):
        highest_stage = max(highest_stage, *job.stage_ids, -1)
        if after.job_id == job.job_id + 1:
            continue
        new = min(
            (stage for stage in after.stage_ids if stage > highest_stage), default=highest_stage + 1
        )
        if new > highest_stage + 1:
            around.append((job, after))
    return around


def jobs_after_gaps(application: Application) -> frozenset[int]:
    """The jobs after the first gap; all jobs where the first ones are missing."""
    around = _jobs_around_gaps(application)
    first = (
        0 if application.jobs_before_log else min((job.job_id for _, job in around), default=None)
    )
    if first is None:
        return frozenset()
    return frozenset(job for job in application.jobs if job >= first)


def truncated_stages(application: Application) -> frozenset[int]:
    """The stages whose end falls into a gap: neither they nor their jobs have a logged end, and the
    log goes on with other jobs. They are known up to their last task."""
    last = max((job.job_id for job, _ in _jobs_around_gaps(application)), default=-1)
    lost = set()
    for number, job in application.jobs.items():
        if number <= last and job.completed_ms is None:
            lost |= {
                stage_id
                for stage_id in job.stage_ids
                if max(application.jobs_of_stage.get(stage_id, (number,))) <= last
            }
    return frozenset(lost)


def unlogged_spans(application: Application, busy: Sequence[Span]) -> list[Span]:
    """The spans within gaps in which nothing logged ran, disjoint and in order.

    Whether and how long stages ran in them is unknown, so they count neither as driver time nor as
    stage time.

    Args:
        busy: when stages ran, disjoint and in order.
    """
    ran = [
        (job.submitted_ms, max(job.submitted_ms, job.completed_ms))
        for job in application.jobs.values()
        if job.submitted_ms is not None and job.completed_ms is not None
    ]
    active = united([*busy, *ran])
    return [gap for begin, stop in gap_spans(application) for gap in gaps(active, begin, stop)]


def gap_spans(application: Application) -> list[Span]:
    """The spans in which missing jobs may have run: from the submission of the job before a gap to
    that of the job after it. Disjoint, in order."""
    around = [
        (before.submitted_ms, after.submitted_ms)
        for before, after in _jobs_around_gaps(application)
        if before.submitted_ms is not None and after.submitted_ms is not None
    ]
    return united([span for span in around if span[0] < span[1]])


SAME_BYTES = 1e-6
"""Relative tolerance of equal sizes; cached blocks never have exactly the size of their source."""


def mark_cache_readers(application: Application, executed: Mapping[int, ExecutedStage]) -> None:
    """Marks stages after a gap that read cached blocks computed by a stage lost in the gap.

    Where jobs are missing (the history server compacts a rolling log to what is still running), the
    first logged stage that needs a persisted RDD seems to compute it, and the blocks it reads seem
    to be source input. It read cached blocks if a later stage read the same number of bytes from
    them.
    """
    jobs_after = jobs_after_gaps(application)
    if not jobs_after:
        return
    ordered = sorted(executed.values(), key=lambda entry: entry.start_ms)
    seen: set[int] = set()
    for index, entry in enumerate(ordered):
        stage = entry.stage
        new = set(stage.cached_rdds) - seen
        seen |= new
        if stage.reads_cache or new != set(stage.cached_rdds) or not new:
            continue
        jobs = application.jobs_of_stage.get(stage.stage_id, ())
        if jobs_after.issuperset(jobs) and _reread_from_cache(entry, ordered[index + 1 :]):
            stage.reads_cache = True


def _reread_from_cache(entry: ExecutedStage, later: Iterable[ExecutedStage]) -> bool:
    """Whether the next stage that reads the same cached RDDs read as many bytes as this one."""
    first_read = entry.summary.measures["input_bytes"]
    if first_read is None:
        return False
    for other in later:
        stage, read = other.stage, other.summary.measures["input_bytes"]
        if stage.persisted == entry.stage.persisted and stage.reads_cache and read is not None:
            return stage.source_read is None and (
                first_read.count == read.count
                and math.isclose(first_read.total, read.total, rel_tol=SAME_BYTES)
            )
    return False
