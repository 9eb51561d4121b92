"""From everything that a log told (`Application`) to `Run`s with their stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import BadInput
from engine.machines.beside_heap import told_beside
from engine.notices import Notice
from engine.profile import Run
from engine.sources.distilling.categories import category_of
from engine.sources.distilling.clusters import busy_spans, clipped, observe
from engine.sources.distilling.engines import other_engine
from engine.sources.distilling.executed import (
    Executed,
    StageGraph,
    attempt_spans,
    executed_stages,
    fruitless_stages,
    settings_in_force,
    sql_execution_of,
    start_ms,
)
from engine.sources.distilling.holes import cut_off, note_found, untold_spans
from engine.sources.distilling.idle_time import (
    Clock,
    active_spans,
    fruitless_notices,
    gaps_of,
    idle_notices,
    idle_stretches,
    is_session,
    pauses,
)
from engine.sources.distilling.losses import incomplete_notice
from engine.sources.distilling.other_resources import cores_of_task, other_resource_notices
from engine.sources.distilling.rdd_groups import with_rdd_groups
from engine.sources.distilling.services import service_notices
from engine.sources.distilling.settings import old_version, spark_version, stated_type
from engine.sources.distilling.streaming import (
    Window,
    batch_windows,
    cores_in,
    jobs_in,
    trigger_intervals,
)
from engine.sources.distilling.uncounted_records import uncounted_notices
from engine.sources.distilling.unfinished import failed_notices, tasks_missing
from engine.sources.logs.cache_stages import source_bytes
from engine.sources.logs.eventlog import EventLog
from engine.sources.logs.file_scans import reads_vectored
from engine.sources.logs.kept_settings import kept_config
from engine.sources.logs.lineage import stage_name
from engine.sources.logs.running import running_seconds
from engine.stage_run import StageRun, Waste


@dataclass(frozen=True, slots=True)
class Distilled:
    """The runs of one log: one, or one per micro-batch; `deadlines` are the trigger intervals of
    its streaming queries in seconds, by the application of their runs."""

    runs: tuple[Run, ...]
    category: str
    deadlines: Mapping[str | None, float | None] = field(default_factory=dict)

    @property
    def deadline_seconds(self) -> float | None:
        """The interval that is that of all of them; None where they differ, or one tells none."""
        told = set(self.deadlines.values())
        return told.pop() if len(told) == 1 else None


def distil(
    log: EventLog,
    *,
    source: str,
    where: str,
    lost: Sequence[str] = (),
    ran_on: InstanceType | None = None,
    pause_seconds: float | None = None,
) -> Distilled:
    """The runs that a log tells.

    Args:
        source: what to call the log.
        where: what errors call it.
        lost: what is missing of it, in words and numbers (`engine.sources.distilling.losses`).
        ran_on: the type of the nodes where the user named it.
        pause_seconds: pauses of this length and more are left out, where the user said so.

    Raises:
        BadInput: when no task finished.
    """
    application = log.application
    executed = executed_stages(application)
    if not executed:
        _refuse(log, where, lost)
    note_found(application, executed)
    start = start_ms(application, executed)
    end = application.ended_ms or max(application.last_ms, *(e.end_ms for e in executed.values()))
    context = _Context(
        log, executed, end_ms=end, source=source, lost=tuple(lost), ran_on=ran_on,
        pause_seconds=pause_seconds,
    )  # fmt: skip
    windows = batch_windows(application, {stage: e.end_ms for stage, e in executed.items()})
    whole = Window(
        start, max(end, start + 1), tuple(application.jobs.values()),
        complete=application.ended_ms is not None,
    )  # fmt: skip
    runs = [context.run(window) for window in windows or [whole]]
    return Distilled(
        tuple(run for run in runs if run.stages or not windows) or (context.run(whole),),
        "streaming" if windows else category_of(executed, application),
        context.deadlines(windows),
    )


def _refuse(log: EventLog, where: str, lost: Sequence[str]) -> None:
    application = log.application
    told = application.stages or application.jobs or application.version
    if application.started_ms is None and not told:
        raise BadInput(
            "not a Spark event log", where=where,
            remedy="give a file that spark.eventLog.enabled wrote",
        )  # fmt: skip
    why = f": {', '.join(lost)}" if lost else ""
    raise BadInput(
        f"no finished task in this log{why}", where=where,
        remedy="give the log of an application that ran at least one task to its end",
    )  # fmt: skip


class Ending(NamedTuple):
    """How a run ended: whether whole, what the log lost of it, and what is said of both."""

    complete: bool
    lost: tuple[str, ...]
    torn: Sequence[Notice]
    failed: Sequence[Notice]


class _Context:
    """What all runs of one log share."""

    def __init__(
        self,
        log: EventLog,
        executed: dict[int, Executed],
        *,
        end_ms: int,
        source: str,
        lost: tuple[str, ...],
        ran_on: InstanceType | None,
        pause_seconds: float | None,
    ) -> None:
        application, broken = log.application, cut_off(log.application)
        self._application = application
        self._executed = executed
        self._source = source
        self._lost = lost
        self._pause_ms = None if pause_seconds is None else 1000.0 * pause_seconds
        self._fruitless = fruitless_stages(application, executed)
        done = application.stages.keys() - self._fruitless
        self._busy = busy_spans(attempt_spans(application, end_ms, cut_off=broken))
        self._useful = busy_spans(attempt_spans(application, end_ms, of=done, cut_off=broken))
        self._observed = observe(
            application, self._busy, end_ms=end_ms, ran_on=ran_on, last_ends_ms=log.last_ends
        )
        self._running = running_seconds(application, log.starts, end_ms=end_ms)
        self._untold = untold_spans(application, self._busy)
        self._queries = sorted({job.query for job in application.jobs.values() if job.query})
        self._graph = StageGraph(application, executed)
        self._settings = settings_in_force(application, executed)
        self._vectored = reads_vectored(application.version, application.properties)
        application.scans.under_way(application.stages)
        # Each task of Spark 1.x says itself where it read from, also when the cache was lost.
        self._says_method = (application.version or "").startswith("1.") or any(
            one.summary.cached_input_bytes for one in executed.values()
        )

    def run(self, window: Window) -> Run:
        """The run of one window of time."""
        application, observed = self._application, self._observed
        clock, idle_said = self._clock(window)
        inferred = application.scans.inferred(
            self._stages(window, clock), application.stages, vectored=self._vectored
        )
        stages = with_rdd_groups(application.writes.linked(inferred.stages))
        seconds = max(0.001, clock.seconds(window.end_ms))
        read = self._external_bytes(stages) if inferred.known else None
        ending = self._ending(window, stages, clock, seconds=seconds, read=read)
        own_start = None if window.of_batch else application.started_ms
        needed = {rdd_id for stage in stages for rdd_id in stage.needed_rdds}
        return Run(
            seconds=seconds,
            cluster=observed.cluster,
            workload=Workload(input_bytes=read),
            source=self._source,
            application=self._name(window.query),
            app_id=application.app_id,
            spark_version=spark_version(application, early=self._says_method),
            started_epoch_seconds=(own_start or window.start_ms) / 1000.0,
            complete=ending.complete,
            lost=ending.lost,
            stages=stages,
            jobs=jobs_in(window, clock),
            cores=cores_in(window, observed.core_steps, clock),
            driver_seconds=max(0.0, round(seconds - self._busy_seconds(window), 3)),
            storage_memory_bytes=observed.storage_memory_bytes,
            cached_bytes=application.blocks.most_bytes if application.blocks.told else None,
            persisted_rdds=tuple(r for r in application.blocks.persisted() if r.rdd_id in needed),
            config=kept_config(self._settings.properties),
            batch_id=window.batch_id,
            notices=(
                *ending.torn, *idle_said, *inferred.notices, *uncounted_notices(stages, read),
                *observed.notices, *ending.failed, *self._of_settings(),
            ),
        )  # fmt: skip

    def _ending(
        self,
        window: Window,
        stages: Sequence[StageRun],
        clock: Clock,
        *,
        seconds: float,
        read: float | None,
    ) -> Ending:
        """How a run of so many seconds, which read so many bytes, ended."""
        fruitless = [] if window.of_batch else list(self._fruitless.values())
        unfinished = tasks_missing(
            self._application, self._executed, stages, fruitless, clock, seconds
        )
        lost = (*self._lost, *unfinished)
        # A stream is always broken off: what that took of its last batch, the others have.
        complete = window.complete and not (unfinished if window.of_batch else lost)
        stopped = window.of_batch and not window.complete
        failed = failed_notices(self._executed, stages, fruitless, stopped=stopped)
        if complete and not lost:
            return Ending(complete, lost, (), failed)
        untold = 0.0 if window.of_batch else sum(b - a for a, b in self._untold) / 1000.0
        torn = incomplete_notice(
            lost, seconds, read, untold_seconds=untold, complete=complete,
            damaged=bool(self._lost), of_batch=window.of_batch,
        )  # fmt: skip
        return Ending(complete, lost, (torn,), failed)

    def _busy_seconds(self, window: Window) -> float:
        """How long stages ran; for a micro-batch its own: those of other queries do nothing for
        it."""
        ran, start, end = self._useful, window.start_ms, window.end_ms
        if window.of_batch:
            ran = busy_spans(attempt_spans(self._application, end, of=window.stage_ids))
        return sum(b - a for a, b in clipped(ran, start, end)) / 1000.0

    def _of_settings(self) -> list[Notice]:
        """What the log's settings, not its tasks, say of machines, services and engine."""
        application, cluster = self._application, self._observed.cluster
        return [
            *stated_type(application, cluster),
            *service_notices(application.properties, cluster),
            *told_beside(cluster),
            *self._settings.notices,
            *other_resource_notices(application, (x.stage for x in self._executed.values())),
            *other_engine(application),
            *application.clients.notices(),
            *old_version(application, early=self._says_method),
        ]

    def _clock(self, window: Window) -> tuple[Clock, list[Notice]]:
        """The clock of a run; micro-batches have no idle time, their windows leave it out."""
        start, end = window.start_ms, window.end_ms
        if window.of_batch:
            return Clock(start), []
        session = is_session(self._application)
        untold = self._untold
        active = busy_spans([*active_spans(self._application, self._busy, end), *untold])
        came = min((at for at, _ in self._observed.core_steps), default=start)
        if self._pause_ms is not None:  # what an application waits for its first executor is none
            active = busy_spans([(start, max(start, came)), *active])
        found = pauses(active, start, end)
        idle = idle_stretches(found, total_ms=end - start, session=session, asked_ms=self._pause_ms)
        in_vain = gaps_of(self._useful, self._busy, start, end) if self._fruitless else []
        clock = Clock(start, tuple(sorted((*idle, *in_vain, *untold))))
        kept = [span for span in found if span not in idle]
        counted = round(1000.0 * clock.seconds(end))
        said = idle_notices(
            idle, kept, start_ms=start, counted_ms=counted, session=session, came_ms=came
        )
        return clock, [*said, *fruitless_notices(in_vain, len(self._fruitless))]

    def deadlines(self, windows: Sequence[Window]) -> dict[str | None, float | None]:
        """The trigger intervals, by the application of the runs that have them."""
        return {self._name(of): seconds for of, seconds in trigger_intervals(windows).items()}

    def _name(self, query: str | None) -> str | None:
        name = self._application.name
        if len(self._queries) < 2 or query is None:
            return name
        return f"{name or 'query'} #{self._queries.index(query) + 1}"

    def _stages(self, window: Window, clock: Clock) -> tuple[StageRun, ...]:
        own = set(self._executed)
        if window.of_batch:
            own &= window.stage_ids
        ordered = sorted(own, key=lambda stage_id: (self._executed[stage_id].start_ms, stage_id))
        return tuple(self._stage(stage_id, own, clock) for stage_id in ordered)

    def _external_bytes(self, stages: Sequence[StageRun]) -> float | None:
        """Bytes read from outside, once each (not for cached blocks, nor again for those that were
        lost, nor for lost output); None when none."""
        total = 0.0
        for run in stages:
            entry = self._executed[run.stage_id]
            if not run.recomputed and not (entry.stage.reads_cache and self._says_method):
                counted, told = entry.summary.measures["input_bytes"], self._application.blocks.told
                total += source_bytes(run, entry.stage, counted, blocks_told=told)
        return total or None

    def _stage(self, stage_id: int, own: set[int], clock: Clock) -> StageRun:
        entry = self._executed[stage_id]
        stage, summary = entry.stage, entry.summary
        tasks, measures = stage.tasks, summary.measures
        failed, killed, wasted = tasks.waste
        maker = self._graph.stored_by(stage_id)
        joined = self._application.joins.of(stage_id, own)
        grouped = self._application.groups.of(stage_id, self._graph.in_part)
        own_cores = self._observed.cluster.executor_cores
        assert measures["task_seconds"] is not None
        return StageRun(
            stage_id=stage_id,
            name=stage_name(stage.name),
            tasks=max(tasks.tasks or 0, tasks.finished),
            submitted_seconds=clock.seconds(entry.start_ms),
            completed_seconds=clock.seconds(entry.end_ms),
            parents=tuple(sorted(self._graph.parents(stage_id) & own)),
            job_ids=tuple(self._application.jobs_of_stage.get(stage_id, ())),
            sql_execution_id=sql_execution_of(self._application, stage_id),
            cached_input_bytes=self._cached_input_bytes(entry),
            cached_disk_bytes=stage.cached_disk_bytes,
            memory_spilled_bytes=summary.memory_spilled_bytes,
            disk_spilled_bytes=summary.disk_spilled_bytes,
            deserialize_seconds=summary.deserialize_seconds,
            deserialize_cpu_seconds=summary.deserialize_cpu_seconds,
            python_start_seconds=stage.python_start_seconds,
            fetched_bytes=summary.fetched_bytes,
            task_cpus=cores_of_task(self._application, stage, own_cores),
            operations=stage.operations,
            operation_counts=stage.operation_counts,
            coalesced=stage.coalesced,
            generated=bool(stage.generated),
            **self._graph.combined(stage_id, own),  # type: ignore[arg-type]
            joined_broadcasts=tuple(one.maker for one in joined),
            joined_records=tuple(one.met for one in joined),
            joined_shuffled_bytes=tuple(one.shuffled_bytes for one in joined),
            joined_output_records=self._application.joins.most_rows(stage_id),
            merged_bytes=self._application.joins.merged_bytes(stage_id),
            ungrouped_rows=grouped.ungrouped if grouped else None,
            grouped_rows=grouped.rows if grouped else None,
            groups=grouped.groups if grouped else None,
            barrier=stage.barrier,
            in_part=self._graph.in_part(stage_id),
            stored_by=maker if maker in own else None,
            cached_rdds=stage.on_heap(stage.cached_rdds),
            disk_backed_rdds=stage.on_heap(stage.disk_backed_rdds),
            needed_rdds=stage.on_heap(rdd_id for rdd_id, _ in stage.needed_rdds),
            warm_up=summary.warm_up,
            running_seconds=self._running.get(stage_id),
            recomputed=self._graph.recomputed(stage_id),
            waste=Waste(failed, killed, max(0, len(stage.attempts) - 1), wasted),
            **summary.records,  # type: ignore[arg-type]
            **measures,  # type: ignore[arg-type]
        )

    def _cached_input_bytes(self, entry: Executed) -> float | None:
        """What a stage read out of the cache; None where its log tells of no input."""
        stage, read = entry.stage, entry.summary.measures["input_bytes"]
        if read is None:
            return None
        if stage.reads_cache and not self._says_method:
            return read.total - (stage.source_read.first_bytes if stage.source_read else 0.0)
        return entry.summary.cached_input_bytes
