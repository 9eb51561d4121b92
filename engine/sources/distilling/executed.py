"""The stages that ran: their times, and the graph of which stage reads the output of which."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.sources.distilling.clusters import Span
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage
from engine.sources.logs.session_settings import EffectiveSettings
from engine.sources.logs.task_summary import TaskSummary
from engine.stage_run import StageInput

FIRST_ROWS = ("take at ", "first at ", "head at ", "show at ", "showString at ", "isEmpty at ")
"""Beginnings of the names of stages whose action needs only the first rows."""

LOCAL_ITERATOR = "toLocalIterator at "
"""Beginning of the names of stages whose action fetches one partition after the other."""

EXCHANGE = "Exchange"
"""Plan node of a shuffle; the first operation of a stage that writes one."""


@dataclass(frozen=True, slots=True)
class ExecutedStage:
    """A stage that ran, with its times in epoch ms; `failed` when every attempt of it did, unless
    its query had no more need of it (`is_dispensable`)."""

    stage: Stage
    summary: TaskSummary
    start_ms: int
    end_ms: int
    failed: bool
    dispensable: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether an attempt of it did."""
        return any(attempt.succeeded for attempt in self.stage.attempts.values())

    @property
    def tasks(self) -> int:
        """Number of its tasks; of a dispensable stage those that ended."""
        tasks = self.stage.tasks
        return tasks.finished if self.dispensable else max(tasks.tasks or 0, tasks.finished)


def executed_stages(application: Application) -> dict[int, ExecutedStage]:
    """The stages with at least one finished task, by id."""
    executed: dict[int, ExecutedStage] = {}
    for stage_id, stage in application.stages.items():
        summary = stage.tasks.summary()
        if summary is None:
            continue
        attempts = stage.attempts.values()
        starts = [a.submitted_ms for a in attempts if a.submitted_ms is not None]
        ends = [a.completed_ms for a in attempts if a.completed_ms is not None and not a.failed]
        start = min(starts, default=summary.first_launch_ms)
        end = max(start, min(ends, default=summary.last_finish_ms))
        dispensable = is_dispensable(application, stage)
        failed = bool(attempts) and all(a.failed for a in attempts) and not dispensable
        executed[stage_id] = ExecutedStage(stage, summary, start, end, failed, dispensable)
    return executed


def is_dispensable(application: Application, stage: Stage) -> bool:
    """Whether a stage was cancelled by a query that succeeded: adaptive execution cancels stages
    whose output a new plan does not read, as of a join with an empty side (SPARK-52024)."""
    execution = sql_execution_of(application, stage.stage_id)
    return stage.cancelled and execution in application.succeeded_sql


def infer_job_ends(application: Application, executed: Mapping[int, ExecutedStage]) -> None:
    """Fills in the end of jobs whose end event is missing though their last stage succeeded: with
    it a job ends. Spark drops events where it has too many, and does not say so in the log."""
    for job in application.jobs.values():
        # The final stage is created after those that it reads, so that it has the highest id.
        final = executed.get(max(job.stage_ids, default=-1))
        if job.completed_ms is None and final is not None and final.succeeded:
            job.completed_ms = max(final.end_ms, job.submitted_ms or 0)


def start_ms(application: Application, executed: Mapping[int, ExecutedStage]) -> int:
    """Start of the run in epoch ms: that of the application or, where the log lost the first jobs,
    the first submission it has. The time of lost jobs is not driver time."""
    started = application.started_ms
    if started is not None and not application.jobs_before_log:
        return started
    if started is None and application.first_ms is not None:
        return application.first_ms
    submitted = [job.submitted_ms for job in application.jobs.values() if job.submitted_ms]
    return min([*submitted, *(entry.start_ms for entry in executed.values())])


def effective_settings(
    application: Application, executed: Mapping[int, ExecutedStage]
) -> EffectiveSettings:
    """The settings of the application, overridden by those of its sessions."""
    spent = (
        (application.jobs_of_stage.get(stage_id, ()), whole.total)
        for stage_id, entry in executed.items()
        if (whole := entry.summary.measures["task_seconds"]) is not None
    )
    return application.session.effective(application.properties, spent)


@dataclass(frozen=True, slots=True)
class UnsuccessfulStage:
    """A stage without a successful task: failed, or still running at the end."""

    stage_id: int
    tasks: int
    start_ms: int
    failed: bool


def unsuccessful_stages(
    application: Application, executed: Collection[int]
) -> dict[int, UnsuccessfulStage]:
    """The stages without a successful task, by id. A completed stage is not one: the log has lost
    its task ends. Nor is one that its query did not need."""
    unsuccessful: dict[int, UnsuccessfulStage] = {}
    for stage_id, stage in application.stages.items():
        attempts = stage.attempts.values()
        starts = [a.submitted_ms for a in attempts if a.submitted_ms is not None]
        completed = any(a.succeeded for a in attempts) or is_dispensable(application, stage)
        if stage_id in executed or completed or not starts or not stage.tasks.tasks:
            continue
        failed = all(a.failed for a in attempts)
        unsuccessful[stage_id] = UnsuccessfulStage(stage_id, stage.tasks.tasks, min(starts), failed)
    return unsuccessful


def attempt_spans(
    application: Application,
    end_ms: int,
    *,
    of: Collection[int] | None = None,
    truncated: Collection[int] = (),
) -> list[Span]:
    """The span from submission to completion of every stage attempt. An attempt without a logged
    completion lasts until its jobs ended, or to the end.

    Args:
        of: the stages to include; None for all.
        truncated: stages whose end falls into a gap of the log; they last until their last
            task ended.
    """
    spans: list[Span] = []
    for stage_id in application.stages if of is None else of:
        stage = application.stages.get(stage_id)
        if stage is None:
            continue
        if stage_id in truncated:
            end = stage.tasks.last_finish_ms
        else:
            end = _jobs_ended(application, stage_id) or end_ms
        spans += [
            (start, max(start, end if attempt.completed_ms is None else attempt.completed_ms))
            for attempt in stage.attempts.values()
            if (start := attempt.submitted_ms) is not None
        ]
        if not stage.attempts and stage.tasks.first_launch_ms is not None:
            spans.append((stage.tasks.first_launch_ms, stage.tasks.last_finish_ms))
    return spans


def _jobs_ended(application: Application, stage_id: int) -> int | None:
    """When the last job of a stage ended; None where one has no logged end."""
    jobs = application.jobs_of_stage.get(stage_id, ())
    ends = [application.jobs[job].completed_ms for job in jobs if job in application.jobs]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


class StageGraph:
    """The graph of stages: shuffle parents, readers of cached RDDs, recomputations."""

    def __init__(self, application: Application, executed: Mapping[int, ExecutedStage]) -> None:
        self._application = application
        self._executed = executed
        self._by_final_rdd: dict[int, list[int]] = {}
        for stage_id, entry in sorted(executed.items(), key=lambda item: item[1].start_ms):
            if entry.stage.final_rdd is not None:
                self._by_final_rdd.setdefault(entry.stage.final_rdd, []).append(stage_id)

    def parents(self, stage_id: int) -> set[int]:
        """The executed stages whose output this one reads, with skipped stages resolved.

        A skipped stage is planned again for a shuffle that was written before, by a stage that
        computed the same RDD. Where the log has lost that stage, its parents replace it.
        """
        planned, parents = self._application.planned_stages, self._executed[stage_id].stage.parents
        if parents is None:
            _, parents = planned.get(stage_id, (None, None))
        if parents is None:
            return self._earlier_writers(stage_id)
        resolved: set[int] = set()
        pending, visited = list(parents), {stage_id}
        while pending:
            parent = pending.pop()
            if parent in visited:
                continue
            visited.add(parent)
            if parent in self._executed:
                resolved.add(parent)
                continue
            final, further = planned.get(parent, (None, None))
            earlier = self._earlier_stage_of_rdd(final, stage_id)
            if earlier is not None:
                resolved.add(earlier)
            else:
                pending.extend(further or ())
        return resolved

    def recomputed(self, stage_id: int) -> bool:
        """Whether a stage rewrote shuffle output of an earlier one that was lost with executors.

        True if it began after a stage that reads it (which the scheduler submits only once its
        input is complete). True as well if an earlier stage had written all partitions of the same
        RDD and this one has fewer tasks than the RDD; not if an earlier writer failed, since this
        stage may then write the rest for another shuffle. With as many tasks it may write the RDD
        for another shuffle, except in a SQL query: there each exchange has its own RDD.
        """
        entry = self._executed[stage_id]
        if entry.summary.measures["shuffle_write_bytes"] is None:
            return False
        if self._first_read.get(stage_id, entry.start_ms) < entry.start_ms:
            return True
        stage = entry.stage
        exchange = stage.operations[:1] == (EXCHANGE,)
        one_shuffle = exchange and sql_execution_of(self._application, stage_id) is not None
        partial = (stage.tasks.tasks or 0) < stage.partitions
        if stage.final_rdd is None or not (partial or one_shuffle):
            return False
        earlier = (self._executed[other] for other in self._by_final_rdd.get(stage.final_rdd, ()))
        writers = [
            other
            for other in earlier
            if other.summary.measures["shuffle_write_bytes"] is not None
            and other is not entry
            and other.end_ms <= entry.start_ms
        ]
        if any(writer.failed for writer in writers):
            return False
        spent = (writer.summary.measures["task_seconds"] for writer in writers)
        return any((times.count if times else 0) >= stage.partitions for times in spent)

    def in_part(self, stage_id: int) -> bool:
        """Whether an action needed only the first partitions of an RDD (`take`, `first`, `show`):
        all stages of that RDD together ran fewer tasks than it has partitions.

        All but one partition is ambiguous: `zipWithIndex` counts the rows of all but the last. That
        case counts only in a SQL query (`limit(100).collect()`) or with such an action's name.
        `toLocalIterator` runs all partitions (`one_by_one`). True for a stage that the log has
        lost.
        """
        entry = self._executed.get(stage_id)
        if entry is None:
            return True
        final, partitions = entry.stage.final_rdd, entry.stage.partitions
        if final is None or entry.summary.measures["shuffle_write_bytes"] is not None:
            return False
        ran, _ = self._tasks_of_final_rdd[final]
        left_out = partitions - ran
        named = entry.stage.name.startswith(FIRST_ROWS)
        query = sql_execution_of(self._application, stage_id) is not None
        return left_out > 1 or (left_out == 1 and (named or query))

    def one_by_one(self, stage_id: int) -> bool:
        """Whether each partition of its RDD ran in a stage of its own, as `toLocalIterator` does.

        `take` may run the second of two partitions so, but never three: it tries four times as many
        as before.
        """
        stage = self._executed[stage_id].stage
        if stage.final_rdd is None or stage.partitions < 2:
            return False
        ran, singly = self._tasks_of_final_rdd[stage.final_rdd]
        named = stage.name.startswith(LOCAL_ITERATOR)
        return singly and ran == stage.partitions and (named or stage.partitions > 2)

    def stored_by(self, stage_id: int) -> int | None:
        """The stage that computed the cached or checkpointed RDD that this one reads partition by
        partition. None without such an RDD, if it reads a source too, or if the log lost that
        stage."""
        stage = self._executed[stage_id].stage
        stages = (
            self._computing_stage(stage_id, rdd_id, stage.partitions) for rdd_id in stage.input_rdds
        )
        return next((stage_of_rdd for stage_of_rdd in stages if stage_of_rdd is not None), None)

    def combined(self, stage_id: int, run_stages: Container[int]) -> dict[str, tuple[object, ...]]:
        """The `united`, `paired` and `inputs` fields of a stage with a union or product."""
        stage = self._executed[stage_id].stage
        combined = stage.combined
        if combined is None or not combined.itemised:
            return {"united": stage.generated if len(stage.generated) > 1 else ()}
        computing = [
            self._computing_stage(stage_id, entry.rdd_id, entry.partitions)
            for entry in combined.inputs
        ]
        inputs = tuple(
            StageInput(entry.origin, computed_by if computed_by in run_stages else None)
            for entry, computed_by in zip(combined.inputs, computing, strict=True)
        )
        return {"paired" if combined.paired else "united": combined.partitions, "inputs": inputs}

    def _computing_stage(self, stage_id: int, rdd_id: int | None, partitions: int) -> int | None:
        """The earlier stage that computed an RDD of `partitions` which the stage reads."""
        entry = self._executed[stage_id]
        for other in self._computing_stages.get(rdd_id, ()) if rdd_id is not None else ():
            candidate = self._executed[other]
            earlier = (
                candidate.start_ms < entry.start_ms and rdd_id not in candidate.stage.input_rdds
            )
            if earlier and candidate.stage.tasks.tasks == partitions:
                return other
        return None

    @cached_property
    def _tasks_of_final_rdd(self) -> dict[int, tuple[int, bool]]:
        """Final RDD -> tasks of all its stages, and whether each stage has a single one."""
        by_rdd: dict[int, tuple[int, bool]] = {}
        for rdd_id, stages in self._by_final_rdd.items():
            ran = [self._executed[one].stage.tasks.tasks or 0 for one in stages]
            by_rdd[rdd_id] = sum(ran), set(ran) == {1}
        return by_rdd

    @cached_property
    def _computing_stages(self) -> dict[int, list[int]]:
        """RDD -> the stages that may have computed it for others, in time order. A checkpointed RDD
        is the final RDD of a stage of its own; a persisted one may be any RDD of a stage."""
        by_rdd: dict[int, list[int]] = {}
        for stage_id, entry in sorted(self._executed.items(), key=lambda item: item[1].start_ms):
            for rdd_id in {entry.stage.final_rdd, *(rdd for rdd, _ in entry.stage.needed_rdds)}:
                if rdd_id is not None:
                    by_rdd.setdefault(rdd_id, []).append(stage_id)
        return by_rdd

    @cached_property
    def _first_read(self) -> dict[int, int]:
        """Stage -> start of the first stage that reads it, in epoch ms."""
        starts: dict[int, int] = {}
        for entry in self._executed.values():
            for parent in entry.stage.parents or ():
                starts[parent] = min(entry.start_ms, starts.get(parent, entry.start_ms))
        return starts

    def _earlier_writers(self, stage_id: int) -> set[int]:
        """Substitute for the parents before Spark 1.5, which logs none: the stages of the same jobs
        that wrote shuffle data and had ended when this stage began. Skipped ones are replaced by
        the stage that computed the same RDD."""
        application, writers = self._application, set()
        reader = self._executed[stage_id]
        for job_id in application.jobs_of_stage.get(stage_id, ()):
            job = application.jobs.get(job_id)
            for other in job.stage_ids if job else ():
                final, _ = application.planned_stages.get(other, (None, None))
                writer = (
                    other
                    if other in self._executed
                    else self._earlier_stage_of_rdd(final, stage_id)
                )
                if writer is None or writer == stage_id:
                    continue
                entry = self._executed[writer]
                wrote = entry.summary.measures["shuffle_write_bytes"] is not None
                if wrote and entry.end_ms <= reader.start_ms:
                    writers.add(writer)
        return writers

    def _earlier_stage_of_rdd(self, final_rdd: int | None, before: int) -> int | None:
        """The last stage that computed an RDD before the given stage began."""
        if final_rdd is None:
            return None
        limit = self._executed[before].start_ms
        earlier = [
            stage_id
            for stage_id in self._by_final_rdd.get(final_rdd, ())
            if stage_id != before and self._executed[stage_id].start_ms <= limit
        ]
        return earlier[-1] if earlier else None


def sql_execution_of(application: Application, stage_id: int) -> int | None:
    """The SQL execution that a stage belongs to; None for a stage outside of SQL."""
    jobs = application.jobs_of_stage.get(stage_id, ())
    executions = (application.jobs[job].sql_execution_id for job in jobs if job in application.jobs)
    return next((execution for execution in executions if execution is not None), None)
