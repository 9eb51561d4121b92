"""The stages that a log saw at work: when each ran, and which of them reads which."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.sources.distilling.clusters import Span
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage
from engine.sources.logs.session_settings import InForce
from engine.sources.logs.task_summary import TaskSummary
from engine.stage_run import StageInput

FIRST_ROWS = ("take at ", "first at ", "head at ", "show at ", "showString at ", "isEmpty at ")
"""How stages are named whose action, as the program called it, wants the first rows alone."""


EXCHANGE = "Exchange"
"""What plans call a shuffle. It comes first among the operations of a stage that writes one."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A stage that ran, with its times in epoch ms; `failed` when every attempt of it did."""

    stage: Stage
    summary: TaskSummary
    start_ms: int
    end_ms: int
    failed: bool


def executed_stages(application: Application) -> dict[int, Executed]:
    """The stages with at least one finished task, by id."""
    found: dict[int, Executed] = {}
    for stage_id, stage in application.stages.items():
        summary = stage.tasks.summary()
        if summary is None:
            continue
        attempts = stage.attempts.values()
        starts = [a.submitted_ms for a in attempts if a.submitted_ms is not None]
        ends = [a.completed_ms for a in attempts if a.completed_ms is not None and not a.failed]
        start = min(starts, default=summary.first_launch_ms)
        end = max(start, min(ends, default=summary.last_finish_ms))
        failed = bool(attempts) and all(a.failed for a in attempts)
        found[stage_id] = Executed(stage, summary, start, end, failed)
    return found


def start_ms(application: Application, executed: Mapping[int, Executed]) -> int:
    """When the run begins, in epoch ms: with the application, or, where the log has lost the first
    jobs, with the first that it tells. What ran before is no time of the driver's."""
    started = application.started_ms
    if started is not None and not application.jobs_before:
        return started
    if started is None and application.first_ms is not None:
        return application.first_ms
    submitted = [job.submitted_ms for job in application.jobs.values() if job.submitted_ms]
    return min([*submitted, *(entry.start_ms for entry in executed.values())])


def settings_in_force(application: Application, executed: Mapping[int, Executed]) -> InForce:
    """The settings of the application, with what its sessions made of them."""
    spent = (
        (application.jobs_of_stage.get(stage_id, ()), whole.total)
        for stage_id, entry in executed.items()
        if (whole := entry.summary.measures["task_seconds"]) is not None
    )
    return application.session.in_force(application.properties, spent)


@dataclass(frozen=True, slots=True)
class Fruitless:
    """A stage that ran without any task that succeeded: given up, or under way at the end."""

    stage_id: int
    tasks: int
    start_ms: int
    failed: bool


def fruitless_stages(application: Application, executed: Collection[int]) -> dict[int, Fruitless]:
    """Such stages by id. One that completed is none: the log has lost what its tasks did."""
    found: dict[int, Fruitless] = {}
    for stage_id, stage in application.stages.items():
        attempts = stage.attempts.values()
        starts = [a.submitted_ms for a in attempts if a.submitted_ms is not None]
        completed = any(a.succeeded for a in attempts)
        if stage_id in executed or completed or not starts or not stage.tasks.tasks:
            continue
        failed = all(a.failed for a in attempts)
        found[stage_id] = Fruitless(stage_id, stage.tasks.tasks, min(starts), failed)
    return found


def attempt_spans(
    application: Application,
    end_ms: int,
    *,
    of: Collection[int] | None = None,
    cut_off: Collection[int] = (),
) -> list[Span]:
    """From submission to completion of every stage attempt; one of which the log does not tell
    the end ran until its jobs ended, or to the end.

    Args:
        of: the stages that count; None for all.
        cut_off: those whose end the log has lost though it goes on: until the last of their tasks.
    """
    spans: list[Span] = []
    for stage_id in application.stages if of is None else of:
        stage = application.stages.get(stage_id)
        if stage is None:
            continue
        for attempt in stage.attempts.values():
            start = attempt.submitted_ms
            if start is None:
                continue
            stop = attempt.completed_ms
            if stop is None and stage_id in cut_off:
                stop = stage.tasks.last_finish_ms
            elif stop is None:
                stop = _jobs_ended(application, stage_id) or end_ms
            spans.append((start, max(start, stop)))
        if not stage.attempts and stage.tasks.first_launch_ms is not None:
            spans.append((stage.tasks.first_launch_ms, stage.tasks.last_finish_ms))
    return spans


def _jobs_ended(application: Application, stage_id: int) -> int | None:
    """When the last job of a stage ended; None while one has not."""
    jobs = application.jobs_of_stage.get(stage_id, ())
    ends = [application.jobs[job].completed_ms for job in jobs if job in application.jobs]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


class StageGraph:
    """Which stages read the output of which."""

    def __init__(self, application: Application, executed: Mapping[int, Executed]) -> None:
        self._application = application
        self._executed = executed
        self._by_final_rdd: dict[int, list[int]] = {}
        for stage_id, entry in sorted(executed.items(), key=lambda item: item[1].start_ms):
            if entry.stage.final_rdd is not None:
                self._by_final_rdd.setdefault(entry.stage.final_rdd, []).append(stage_id)

    def parents(self, stage_id: int) -> set[int]:
        """The stages that computed what this one reads, skipped ones resolved.

        A skipped stage is another plan of a shuffle that was written before: the stage that
        wrote it computed the same RDD. Where the log has lost that one, its own parents stand
        in.
        """
        planned, parents = self._application.planned, self._executed[stage_id].stage.parents
        if parents is None:
            _, parents = planned.get(stage_id, (None, None))
        if parents is None:
            return self._earlier_writers(stage_id)
        found: set[int] = set()
        pending, visited = list(parents), {stage_id}
        while pending:
            parent = pending.pop()
            if parent in visited:
                continue
            visited.add(parent)
            if parent in self._executed:
                found.add(parent)
                continue
            final, further = planned.get(parent, (None, None))
            twin = self._twin(final, stage_id)
            if twin is not None:
                found.add(twin)
            else:
                pending.extend(further or ())
        return found

    def recomputed(self, stage_id: int) -> bool:
        """Whether a stage wrote again what an earlier one had written, since executors were lost
        with it: it began after a stage that reads it (which the scheduler submits when its input
        is there), or has fewer tasks than its RDD, of which an earlier stage had written all. Where
        one of those was given up, it may as well write the rest of that, for another shuffle. As
        many tasks may write an RDD for another shuffle, but not what a query exchanges: each
        exchange makes an RDD of its own."""
        entry = self._executed[stage_id]
        if entry.summary.measures["shuffle_write_bytes"] is None:
            return False
        if self._first_read.get(stage_id, entry.start_ms) < entry.start_ms:
            return True
        stage = entry.stage
        exchange = stage.operations[:1] == (EXCHANGE,)
        one_shuffle = exchange and sql_execution_of(self._application, stage_id) is not None
        in_part = (stage.tasks.tasks or 0) < stage.partitions
        if stage.final_rdd is None or not (in_part or one_shuffle):
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
        """Whether an action took what it wanted from the first partitions of an RDD (`take`,
        `first`, `show`): all stages of that RDD together ran fewer than it has. All but one is
        `zipWithIndex` too, which counts what stands before the last, and is no query: there it has
        to be one (`limit(100).collect()`), or the action to be named so; all of them, one after
        the other, `toLocalIterator`. Taken to be so of a stage that the log has lost."""
        entry = self._executed.get(stage_id)
        if entry is None:
            return True
        final, partitions = entry.stage.final_rdd, entry.stage.partitions
        if final is None or entry.summary.measures["shuffle_write_bytes"] is not None:
            return False
        ran = (self._executed[other].stage for other in self._by_final_rdd[final])
        left_out = partitions - sum(stage.tasks.tasks or 0 for stage in ran)
        named = entry.stage.name.startswith(FIRST_ROWS)
        query = sql_execution_of(self._application, stage_id) is not None
        return left_out > 1 or (left_out == 1 and (named or query))

    def stored_by(self, stage_id: int) -> int | None:
        """The stage that computed what this one reads of a cache or a checkpoint, partition by
        partition; None where it reads none so, or a source too, or the log has lost that stage."""
        stage = self._executed[stage_id].stage
        makers = (self._maker(stage_id, rdd_id, stage.partitions) for rdd_id in stage.kept_rdds)
        return next((maker for maker in makers if maker is not None), None)

    def combined(self, stage_id: int, own: Container[int]) -> dict[str, tuple[object, ...]]:
        """The `united`, `paired` and `inputs` of a stage, as far as it combines any.

        Args:
            own: the stages of the run.
        """
        stage = self._executed[stage_id].stage
        told = stage.combined
        if told is None or not told.mixed:
            return {"united": stage.generated if len(stage.generated) > 1 else ()}
        makers = [self._maker(stage_id, one.rdd_id, one.partitions) for one in told.inputs]
        inputs = tuple(
            StageInput(one.origin, maker if maker in own else None)
            for one, maker in zip(told.inputs, makers, strict=True)
        )
        return {"paired" if told.paired else "united": told.partitions, "inputs": inputs}

    def _maker(self, stage_id: int, rdd_id: int | None, partitions: int) -> int | None:
        """The stage that computed an RDD of so many partitions which another reads."""
        entry = self._executed[stage_id]
        for other in self._makers.get(rdd_id, ()) if rdd_id is not None else ():
            maker = self._executed[other]
            earlier = maker.start_ms < entry.start_ms and rdd_id not in maker.stage.kept_rdds
            if earlier and maker.stage.tasks.tasks == partitions:
                return other
        return None

    @cached_property
    def _makers(self) -> dict[int, list[int]]:
        """The stages that may have computed an RDD for others, in time order: a checkpoint is the
        last step of a stage of its own, what is persisted any step."""
        found: dict[int, list[int]] = {}
        for stage_id, entry in sorted(self._executed.items(), key=lambda item: item[1].start_ms):
            for rdd_id in {entry.stage.final_rdd, *(rdd for rdd, _ in entry.stage.needed_rdds)}:
                if rdd_id is not None:
                    found.setdefault(rdd_id, []).append(stage_id)
        return found

    @cached_property
    def _first_read(self) -> dict[int, int]:
        """When the first stage that reads each began, in epoch ms."""
        found: dict[int, int] = {}
        for entry in self._executed.values():
            for parent in entry.stage.parents or ():
                found[parent] = min(entry.start_ms, found.get(parent, entry.start_ms))
        return found

    def _earlier_writers(self, stage_id: int) -> set[int]:
        """Before Spark 1.5 no stage names its parents: those that wrote shuffle data for a job of
        this stage, and had ended when it began, stand in; for skipped ones their twins."""
        application, found = self._application, set()
        for job_id in application.jobs_of_stage.get(stage_id, ()):
            job = application.jobs.get(job_id)
            for other in job.stage_ids if job else ():
                final, _ = application.planned.get(other, (None, None))
                writer = other if other in self._executed else self._twin(final, stage_id)
                if writer is not None and self._wrote_before(writer, stage_id):
                    found.add(writer)
        return found

    def _wrote_before(self, writer: int, reader: int) -> bool:
        entry = self._executed[writer]
        wrote = entry.summary.measures["shuffle_write_bytes"] is not None
        return wrote and writer != reader and entry.end_ms <= self._executed[reader].start_ms

    def _twin(self, final_rdd: int | None, before: int) -> int | None:
        """The last stage that computed an RDD before the given stage began."""
        if final_rdd is None:
            return None
        limit = self._executed[before].start_ms
        twins = [
            stage_id
            for stage_id in self._by_final_rdd.get(final_rdd, ())
            if stage_id != before and self._executed[stage_id].start_ms <= limit
        ]
        return twins[-1] if twins else None


def sql_execution_of(application: Application, stage_id: int) -> int | None:
    """The SQL execution that a stage is of; None for a stage of no query."""
    jobs = application.jobs_of_stage.get(stage_id, ())
    found = (application.jobs[job].sql_execution_id for job in jobs if job in application.jobs)
    return next((execution for execution in found if execution is not None), None)
