"""Builds `Run`s with their stages from the state of an application (`Application`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import BadInput
from engine.intervals import clipped, gaps, united
from engine.notices import Notice, in_order, present
from engine.profile import Run
from engine.sources.distilling.categories import category_of
from engine.sources.distilling.clusters import observe_cluster
from engine.sources.distilling.executed import (
    ExecutedStage,
    StageGraph,
    attempt_spans,
    effective_settings,
    executed_stages,
    infer_job_ends,
    sql_execution_of,
    start_ms,
    unsuccessful_stages,
)
from engine.sources.distilling.idle_time import (
    Clock,
    active_spans,
    idle_notices,
    idle_stretches,
    is_session,
    uncovered_spans,
    unsuccessful_notice,
)
from engine.sources.distilling.log_gaps import mark_cache_readers, truncated_stages, unlogged_spans
from engine.sources.distilling.losses import incomplete_notice
from engine.sources.distilling.other_resources import cores_of_task
from engine.sources.distilling.rdd_groups import with_rdd_groups
from engine.sources.distilling.saved_rdds import with_saved_rdds
from engine.sources.distilling.settings import spark_version
from engine.sources.distilling.settings_notices import settings_notices
from engine.sources.distilling.stage_fields import (
    cache_fields,
    group_fields,
    join_fields,
    task_fields,
)
from engine.sources.distilling.streaming import (
    Window,
    batch_windows,
    cores_in,
    is_more_than_streams,
    jobs_in,
    outside_notice,
    share_outside,
    trigger_intervals,
)
from engine.sources.distilling.uncounted_records import uncounted_notice
from engine.sources.distilling.unfinished import failed_notice, tasks_missing
from engine.sources.logs.cache_stages import source_bytes
from engine.sources.logs.eventlog import EventLog
from engine.sources.logs.file_scans import reads_vectored
from engine.sources.logs.kept_settings import kept_config
from engine.sources.logs.lineage import stage_name
from engine.sources.logs.running import running_seconds
from engine.stage_run import StageRun, Waste, total_of


@dataclass(frozen=True, slots=True)
class DistilledLog:
    """The runs of one log: one, or one per micro-batch; `deadlines` maps the application name of a
    streaming query's runs to its trigger interval [s]; `notices` are on what no run has."""

    runs: tuple[Run, ...]
    category: str
    deadlines: Mapping[str | None, float | None] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def deadline_seconds(self) -> float | None:
        """The common trigger interval; None where they differ or one is unknown."""
        intervals = set(self.deadlines.values())
        return intervals.pop() if len(intervals) == 1 else None


def distil(
    log: EventLog,
    *,
    source: str,
    where: str,
    lost: Sequence[str] = (),
    ran_on: InstanceType | None = None,
    pause_seconds: float | None = None,
) -> DistilledLog:
    """Builds the runs of a log.

    Args:
        source: display name of the log.
        where: its name in error messages.
        lost: descriptions of what is missing (`engine.sources.distilling.losses`).
        ran_on: the instance type of the nodes, if the user named it.
        pause_seconds: pauses of at least this length are left out, if the user set it.

    Raises:
        BadInput: when no task finished.
    """
    application = log.application
    executed = executed_stages(application)
    if not executed:
        _refuse(log, where, lost)
    mark_cache_readers(application, executed)
    start = start_ms(application, executed)
    end = application.ended_ms or max(application.last_ms, *(e.end_ms for e in executed.values()))
    infer_job_ends(application, executed)
    windows = batch_windows(application, {stage: e.end_ms for stage, e in executed.items()})
    spent = {stage: total_of(e.summary.measures["task_seconds"]) for stage, e in executed.items()}
    outside = share_outside(application, windows, spent) if windows else 0.0
    windows = [] if is_more_than_streams(windows, outside) else windows
    context = _Context(
        log, executed, end_ms=end, source=source, lost=tuple(lost), ran_on=ran_on,
        pause_seconds=pause_seconds,
    )  # fmt: skip
    whole = Window(
        start, max(end, start + 1), tuple(application.jobs.values()),
        complete=application.ended_ms is not None,
    )  # fmt: skip
    runs = [context.run(window) for window in windows or [whole]]
    return DistilledLog(
        tuple(run for run in runs if run.stages or not windows) or (context.run(whole),),
        "streaming" if windows else category_of(executed, application),
        context.deadlines(windows),
        in_order([outside_notice(outside) if windows else None]),
    )


def _refuse(log: EventLog, where: str, lost: Sequence[str]) -> None:
    application = log.application
    is_spark = application.stages or application.jobs or application.version
    if application.started_ms is None and not is_spark:
        raise BadInput(
            "not a Spark event log", where=where,
            remedy="give a file that spark.eventLog.enabled wrote",
        )  # fmt: skip
    losses = f": {', '.join(lost)}" if lost else ""
    raise BadInput(
        f"no finished task in this log{losses}", where=where,
        remedy="give the log of an application that ran at least one task to its end",
    )  # fmt: skip


class Ending(NamedTuple):
    """How a run ended: completeness, losses of the log, notices on losses and failed stages."""

    complete: bool
    lost: tuple[str, ...]
    torn: Notice | None
    failed: Notice | None


class _Context:
    """State shared by all runs of one log."""

    def __init__(
        self,
        log: EventLog,
        executed: dict[int, ExecutedStage],
        *,
        end_ms: int,
        source: str,
        lost: tuple[str, ...],
        ran_on: InstanceType | None,
        pause_seconds: float | None,
    ) -> None:
        application, truncated = log.application, truncated_stages(log.application)
        self._application = application
        self._executed = executed
        self._source = source
        self._lost = lost
        self._pause_ms = None if pause_seconds is None else 1000.0 * pause_seconds
        self._unsuccessful = unsuccessful_stages(application, executed)
        done = application.stages.keys() - self._unsuccessful
        self._busy = united(attempt_spans(application, end_ms, truncated=truncated))
        self._useful = united(attempt_spans(application, end_ms, of=done, truncated=truncated))
        self._observed = observe_cluster(
            application, self._busy, end_ms=end_ms, ran_on=ran_on, last_ends_ms=log.last_ends
        )
        self._running = running_seconds(application, log.starts, end_ms=end_ms)
        self._unlogged = unlogged_spans(application, self._busy)
        self._queries = sorted({job.query for job in application.jobs.values() if job.query})
        self._graph = StageGraph(application, executed)
        self._persisted = application.blocks.persisted()
        self._settings = effective_settings(application, executed)
        self._vectored = reads_vectored(application.version, application.properties)
        application.log_ended()
        application.scans.add_incomplete_stages(application.stages)
        # Tasks of Spark 1.x log their read method, even where cached blocks were lost.
        self._logs_read_method = (application.version or "").startswith("1.") or any(
            entry.summary.cached_input_bytes for entry in executed.values()
        )
        stages, early = (entry.stage for entry in executed.values()), self._logs_read_method
        self._settings_notices = settings_notices(
            application, self._observed.cluster, self._settings, stages, early=early
        )

    def run(self, window: Window) -> Run:
        """The run of one time window."""
        application, observed = self._application, self._observed
        clock, pause_notices = self._clock(window)
        inferred = application.scans.inferred(
            self._stages(window, clock), application.stages, vectored=self._vectored
        )
        stages = with_saved_rdds(application.writes.with_links(inferred.stages))
        stages = with_rdd_groups(stages)
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
            app_id=application.app_id, app_attempt=application.attempt,
            spark_version=spark_version(application, early=self._logs_read_method),
            started_epoch_seconds=(own_start or window.start_ms) / 1000.0,
            complete=ending.complete,
            lost=ending.lost,
            stages=stages,
            jobs=jobs_in(window, clock),
            cores=cores_in(window, observed.core_steps, clock),
            driver_seconds=max(0.0, round(seconds - self._stage_seconds(window), 3)),
            storage_memory_bytes=observed.storage_memory_bytes,
            cached_bytes=application.blocks.peak_bytes if application.blocks.any_reported else None,
            persisted_rdds=tuple(rdd for rdd in self._persisted if rdd.rdd_id in needed),
            config=kept_config(self._settings.properties),
            batch_id=window.batch_id,
            notices=present(
                [ending.torn, *pause_notices, *inferred.notices, uncounted_notice(stages, read),
                *observed.notices, ending.failed, *self._settings_notices]
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
        """How a run ended that took `seconds` and read `read` input bytes."""
        unsuccessful = [] if window.of_batch else list(self._unsuccessful.values())
        unfinished = tasks_missing(
            self._application, self._executed, stages, unsuccessful, clock, seconds
        )
        lost = (*self._lost, *unfinished)
        # A stream's log always breaks off; losses in its last batch do not concern the others.
        complete = window.complete and not (unfinished if window.of_batch else lost)
        stopped = window.of_batch and not window.complete
        failed = failed_notice(self._executed, stages, unsuccessful, stopped=stopped)
        if complete and not lost:
            return Ending(complete, lost, None, failed)
        unlogged = 0.0 if window.of_batch else sum(b - a for a, b in self._unlogged) / 1000.0
        torn = incomplete_notice(
            lost, seconds, read, unlogged_seconds=unlogged, complete=complete,
            damaged=bool(self._lost), of_batch=window.of_batch,
            ended=self._application.ended_ms is not None and not window.of_batch,
        )  # fmt: skip
        return Ending(complete, lost, torn, failed)

    def _stage_seconds(self, window: Window) -> float:
        """Time in which stages ran; of a micro-batch only its own, not those of other queries."""
        spans, start, end = self._useful, window.start_ms, window.end_ms
        if window.of_batch:
            spans = united(attempt_spans(self._application, end, of=window.stage_ids))
        return sum(b - a for a, b in clipped(spans, start, end)) / 1000.0

    def _clock(self, window: Window) -> tuple[Clock, list[Notice | None]]:
        """The clock of a run, and notices on left-out time; windows of batches have none."""
        start, end = window.start_ms, window.end_ms
        if window.of_batch:
            return Clock(start), []
        session = is_session(self._application)
        unlogged = self._unlogged
        active = united([*active_spans(self._application, self._busy, end), *unlogged])
        first_executor_ms = min((at for at, _ in self._observed.core_steps), default=start)
        if self._pause_ms is not None:  # waiting for the first executor is not a pause
            active = united([(start, max(start, first_executor_ms)), *active])
        all_pauses = gaps(active, start, end)
        idle = idle_stretches(
            all_pauses, total_ms=end - start, session=session, min_pause_ms=self._pause_ms
        )
        without_success = (
            uncovered_spans(self._useful, self._busy, start, end) if self._unsuccessful else []
        )
        clock = Clock(start, tuple(sorted((*idle, *without_success, *unlogged))))
        counted_pauses = [span for span in all_pauses if span not in idle]
        counted_ms = round(1000.0 * clock.seconds(end))
        notices = idle_notices(
            idle,
            counted_pauses,
            start_ms=start,
            counted_ms=counted_ms,
            session=session,
            first_executor_ms=first_executor_ms,
        )
        return clock, [*notices, unsuccessful_notice(without_success, len(self._unsuccessful))]

    def deadlines(self, windows: Sequence[Window]) -> dict[str | None, float | None]:
        """Application name of runs -> trigger interval of their query [s]."""
        return {self._name(query): seconds for query, seconds in trigger_intervals(windows).items()}

    def _name(self, query: str | None) -> str | None:
        name = self._application.name
        if len(self._queries) < 2 or query is None:
            return name
        return f"{name or 'query'} #{self._queries.index(query) + 1}"

    def _stages(self, window: Window, clock: Clock) -> tuple[StageRun, ...]:
        # A stream may have ten thousands of batches: only the stages of each are looked at.
        among = window.stage_ids if window.of_batch else self._executed
        stage_ids = {stage_id for stage_id in among if stage_id in self._executed}
        ordered = sorted(
            stage_ids, key=lambda stage_id: (self._executed[stage_id].start_ms, stage_id)
        )
        return tuple(self._stage(stage_id, stage_ids, clock) for stage_id in ordered)

    def _external_bytes(self, stages: Sequence[StageRun]) -> float | None:
        """Input bytes read from sources, each counted once: without cached reads and without
        recomputation of lost blocks or lost output. None when 0."""
        total = 0.0
        for run in stages:
            entry = self._executed[run.stage_id]
            if not run.recomputed and not (entry.stage.reads_cache and self._logs_read_method):
                counted = entry.summary.measures["input_bytes"]
                reported = self._application.blocks.any_reported
                total += source_bytes(run, entry.stage, counted, blocks_reported=reported)
        return total or None

    def _stage(self, stage_id: int, run_stages: set[int], clock: Clock) -> StageRun:
        entry, application = self._executed[stage_id], self._application
        stage, number = entry.stage, entry.tasks
        failed, killed, wasted = stage.tasks.waste
        stored_by = self._graph.stored_by(stage_id)
        grouped = application.groups.of(stage_id, self._graph.in_part)
        assert entry.summary.measures["task_seconds"] is not None
        return StageRun(
            stage_id=stage_id,
            name=stage_name(stage.name),
            tasks=number,
            submitted_seconds=clock.seconds(entry.start_ms),
            completed_seconds=clock.seconds(entry.end_ms),
            parents=tuple(sorted(self._graph.parents(stage_id) & run_stages)),
            job_ids=tuple(application.jobs_of_stage.get(stage_id, ())),
            sql_execution_id=sql_execution_of(application, stage_id),
            cached_input_bytes=self._cached_input_bytes(entry),
            python_start_seconds=stage.python_start_seconds,
            task_cpus=cores_of_task(application, stage, self._observed.cluster.executor_cores),
            operations=stage.operations,
            operation_counts=stage.operation_counts,
            coalesced=stage.coalesced
            or application.requested.has(stage_id, number)
            or self._graph.one_by_one(stage_id),
            rebalanced=application.requested.rebalances(stage_id),
            generated=bool(stage.generated),
            row_shares=application.widths.shares(stage_id),
            barrier=stage.barrier,
            query_settings=self._settings.other_settings(
                application.jobs_of_stage.get(stage_id, ())
            ),
            in_part=self._graph.in_part(stage_id),
            stored_by=stored_by if stored_by in run_stages else None,
            running_seconds=self._running.get(stage_id),
            recomputed=self._graph.recomputed(stage_id),
            waste=Waste(failed, killed, max(0, len(stage.attempts) - 1), wasted),
            **self._graph.combined(stage_id, run_stages),  # type: ignore[arg-type]
            **join_fields(application.joins, stage_id, run_stages),
            **group_fields(grouped),
            **cache_fields(stage),
            **task_fields(entry.summary),
        )

    def _cached_input_bytes(self, entry: ExecutedStage) -> float | None:
        """Bytes that a stage read from cached blocks; None where no input is logged."""
        stage, read = entry.stage, entry.summary.measures["input_bytes"]
        if read is None:
            return None
        if stage.reads_cache and not self._logs_read_method:
            return read.total - (stage.source_read.first_bytes if stage.source_read else 0.0)
        return entry.summary.cached_input_bytes
