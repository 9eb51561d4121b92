"""The state of one Spark application, built event by event: executors, jobs, stages, blocks.

`Application` has one method per listener event. `eventlog` calls them in the order of the log;
`engine.sources.distilling.distill` turns the final state into runs. Times are epoch milliseconds.
"""

from __future__ import annotations

import msgspec

from engine.sources.logs import events
from engine.sources.logs.broadcast_joins import BroadcastJoins
from engine.sources.logs.cache_stages import describe_cache, stage_computed
from engine.sources.logs.cached_blocks import CachedBlocks
from engine.sources.logs.clients import Clients
from engine.sources.logs.entities import Attempt, Batch, Job, SourceReads, Stage
from engine.sources.logs.executors import Executors
from engine.sources.logs.file_scans import FileScans
from engine.sources.logs.lineage import Lineage
from engine.sources.logs.lost_executors import decommissions
from engine.sources.logs.partial_aggregates import PartialAggregates
from engine.sources.logs.plan_events import SqlPlan, StageAccumulables
from engine.sources.logs.requested_partitions import RequestedPartitions
from engine.sources.logs.row_widths import RowWidths
from engine.sources.logs.session_settings import SessionSettings
from engine.sources.logs.task_rows import LATEST_MS, multiplies_run_time_by_cpus, task_cpus_of
from engine.sources.logs.tasks import StageTasks, summarise
from engine.sources.logs.whole_numbers import whole_number
from engine.sources.logs.written_files import WrittenFiles

MOST_ROLLOVERS = 100_000
"""A larger part number of a rolling log is treated as damage."""

HIGHEST_ID = 1 << 31
"""Spark counts stages and jobs in 32 bits."""

MOST_TASKS = 10_000_000
"""A larger number of tasks per stage is treated as damage."""

DEFAULT_POOL = "default"
"""Spark's name of the scheduler pool of jobs that name none."""

WAITING_BYTES = 4 << 20
"""Task rows of completed stages to collect before they are summarised in one batch."""


class BadEvent(ValueError):
    """An event whose numbers make no sense."""


class OtherApplication(Exception):
    """The log goes on with another application."""


class Application:
    """Collects the events of one application."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.app_id: str | None = None
        self.attempt: str | None = None
        self.version: str | None = None
        self.started_ms: int | None = None
        self.reported_start: tuple[str | None, int] | None = None
        self.ended_ms: int | None = None
        self.first_ms: int | None = None
        self.last_ms = 0
        self.part_first_ms: int | None = None
        self.context_id: int | None = None
        self.rollovers: set[int] = set()
        self.sql_spans: list[tuple[int, int]] = []
        self._open_sql: dict[int, int] = {}
        self.succeeded_sql: set[int] = set()
        self.properties: dict[str, str] = {}
        self.decommissioning = False
        self.resource_profiles: dict[int, events.ResourceProfileAdded] = {}
        self.executors = Executors()
        self.jobs: dict[int, Job] = {}
        self._pools: dict[str, int] = {}
        self.stages: dict[int, Stage] = {}
        self.tasks: dict[int, StageTasks] = {}
        self._completed: list[StageTasks] = []
        self._waiting_bytes = 0
        self.planned_stages: dict[int, tuple[int | None, tuple[int, ...] | None]] = {}
        self.jobs_of_stage: dict[int, list[int]] = {}
        self.batches: dict[tuple[str, int], Batch] = {}
        self.reporting: set[str] = set()
        self.lineage = Lineage()
        self.blocks = CachedBlocks()
        self.sources = SourceReads()
        self.scans, self.joins = FileScans(), BroadcastJoins()
        self.writes = WrittenFiles()
        self.groups = PartialAggregates()
        self.widths, self.requested = RowWidths(), RequestedPartitions()
        self.plan_trackers = (
            self.scans, self.joins, self.writes, self.groups, self.widths, self.requested,
        )  # fmt: skip
        self._waiting_for_plan: dict[int, list[StageAccumulables]] = {}
        self.clients = Clients()
        self.session = SessionSettings()

    def seen(self, time_ms: int | None) -> int | None:
        """Extends the time span that the log covers, and returns the time; None for a damaged one.
        Executor events are left out: they occur while nothing runs, and hosts' clocks differ. If
        the clock was set back to before the start, the next time seen becomes the start."""
        if time_ms is None or not 0 < time_ms < LATEST_MS:
            return None
        if self.started_ms is not None and time_ms < self.started_ms == self.last_ms:
            self.started_ms = self.last_ms = time_ms
        self.last_ms = max(self.last_ms, time_ms)
        if self.part_first_ms is None:
            self.part_first_ms = time_ms
        if self.first_ms is None or time_ms < self.first_ms:
            self.first_ms = time_ms
        return time_ms

    # The application itself

    def log_start(self, event: events.LogStart) -> None:
        if self.ended_ms is not None:  # later events must not change the finished application
            raise OtherApplication
        self.version = event.version or self.version
        if event.context_id is not None:
            if self.context_id not in (None, event.context_id):
                raise OtherApplication
            self.context_id = event.context_id
        if event.rollover is not None and 0 <= event.rollover < MOST_ROLLOVERS:
            self.rollovers.add(event.rollover)

    def application_start(self, event: events.ApplicationStart) -> None:
        start = event.app_id, event.time_ms
        if self.reported_start not in (None, start):
            raise OtherApplication
        self.name, self.app_id, self.attempt = event.name, event.app_id, event.attempt
        if self.reported_start is None:
            self.reported_start, self.started_ms = start, self.seen(event.time_ms)

    def application_end(self, event: events.ApplicationEnd) -> None:
        """An end before the start means that the clock was set back: the end is then unknown."""
        if event.time_ms >= (self.started_ms or 0):
            self.ended_ms = self.seen(event.time_ms)

    def environment(self, event: events.Environment) -> None:
        for key, raw in event.properties.items():
            try:
                self.properties[key] = msgspec.json.decode(raw, type=str)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
        self.decommissioning = decommissions(self.properties)

    def resource_profile(self, event: events.ResourceProfileAdded) -> None:
        self.resource_profiles[event.profile] = event

    # Executors

    def executor_added(self, event: events.ExecutorAdded) -> None:
        self.executors.added(event)

    def executor_removed(self, event: events.ExecutorRemoved) -> None:
        self.blocks.executor_lost(event.executor)
        self.executors.removed(event)

    def block_manager_added(self, event: events.BlockManagerAdded) -> None:
        self.executors.block_manager_added(event)

    def block_manager_removed(self, event: events.BlockManagerRemoved) -> None:
        self.blocks.executor_lost(event.manager.executor)
        self.executors.block_manager_removed(event)

    # Tasks: of most only the rows are kept (`eventlog`), by their stage

    def task_start(self, event: events.TaskStart) -> None:
        self.executors.task_started(event)

    def task_end(self, event: events.TaskEnd) -> None:
        """A task end that may tell of its executor."""
        self.executors.task_ended(event, self.stage_of(event.stage).tasks.cpus_in_run_time)

    # Jobs and stages

    def job_start(self, event: events.JobStart) -> None:
        if not 0 <= event.job < HIGHEST_ID:
            raise BadEvent("no such job")
        properties = event.properties or events.NO_PROPERTIES
        stage_ids = event.stage_ids or tuple(stage.stage for stage in event.planned_stages)
        self.jobs[event.job] = Job(
            event.job,
            self.seen(event.submitted_ms),
            stage_ids,
            sql_execution_id=whole_number(properties.sql_execution),
            query=properties.query,
            batch_id=whole_number(properties.batch),
            dstream_batch_ms=whole_number(properties.dstream_batch_ms),
            pool=self._pool(properties.pool),
        )
        for stage_id in stage_ids:
            self.jobs_of_stage.setdefault(stage_id, []).append(event.job)
        for planned in event.planned_stages:
            final = planned.rdds[0].rdd_id if planned.rdds else None
            self.planned_stages.setdefault(planned.stage, (final, planned.parents))

    def _pool(self, name: str | None) -> int | None:
        """The number of a scheduler pool; None for Spark's default pool."""
        if name is None or name == DEFAULT_POOL:
            return None
        return self._pools.setdefault(name, len(self._pools) + 1)

    def job_end(self, event: events.JobEnd) -> None:
        job, completed_ms = self.jobs.get(event.job), self.seen(event.completed_ms)
        if job is None or completed_ms is None:
            return
        if completed_ms >= (job.submitted_ms or 0):  # else another clock's: as if it were lost
            job.completed_ms = completed_ms

    def stage_submitted(self, event: events.StageEvent, line: bytes) -> None:
        info = event.info
        stage = self.stage_of(info.stage)
        if not stage.attempts:
            self._describe_stage(stage, info, line)
            stage.cached_disk_bytes = self.blocks.stage_began(
                stage.needed_rdds, stage.off_heap_rdds, stage.copies
            )
            # A task that lacks blocks of several RDDs of one lineage reads the source for each.
            may_read_source = stage.reads_cache and not stage.computed_concurrently
            if stage.source_fed_rdd is not None and may_read_source and len(stage.persisted) == 1:
                stage.cached_partitions = self.blocks.cached_partitions(stage.persisted)
        elif info.attempt not in stage.attempts and info.tasks == stage.tasks.tasks:
            # Spark ignores what still comes of a barrier stage's earlier attempts.
            stage.tasks.begin_again(info.attempt, alone=stage.barrier)
        self._attempt(stage, info)

    @property
    def jobs_before_log(self) -> int:
        """How many jobs ran before the first one in the log: its job id, if the smallest stage id
        is above 0 too. A job id alone proves nothing, since some jobs never start."""
        stages = self.planned_stages.keys() | self.jobs_of_stage.keys() | self.stages.keys()
        return min(self.jobs, default=0) if min(stages, default=0) > 0 else 0

    def submission_seen(self, stage_id: int) -> bool:
        """Whether the log has described the stage (its submission was read)."""
        stage = self.stages.get(stage_id)
        return stage is not None and bool(stage.attempts)

    def stage_completed(self, event: events.StageCompleted) -> None:
        info = event.info
        stage = self.stage_of(info.stage)
        attempt = self._attempt(stage, info)
        attempt.ended(self.seen(info.completed_ms), info.failure)
        if not attempt.failed:
            reads = stage_computed(stage, self.lineage, self.sources)
            self._completed.append(stage.tasks)
            self._waiting_bytes += stage.tasks.close()
            if self._waiting_bytes > WAITING_BYTES:
                self.summarise_completed()
            self.blocks.stage_ended(info.stage, stage.needed_rdds, stage.tasks.tasks or 0, reads)
        else:
            self.lineage.computation_failed(stage.cached_rdds)

    def summarise_completed(self) -> None:
        """Summarises the tasks of the completed stages; many at a time is faster."""
        summarise(self._completed)
        self._completed.clear()
        self._waiting_bytes = 0

    def stage_of(self, stage_id: int) -> Stage:
        """The stage with that id, created where the log lost its submission.

        Raises:
            BadEvent: for an id that no stage has.
        """
        stage = self.stages.get(stage_id)
        if stage is None:
            if not 0 <= stage_id < HIGHEST_ID:
                raise BadEvent("no such stage")
            stage = self.stages[stage_id] = Stage(stage_id)
            self.tasks[stage_id] = stage.tasks
        return stage

    def _describe_stage(self, stage: Stage, info: events.StageInfo, line: bytes) -> None:
        """Fills in a stage's description from its first event."""
        stage.name, stage.profile, stage.parents = info.name, info.profile, info.parents
        if multiplies_run_time_by_cpus(self.version):
            task_cpus = task_cpus_of(self.resource_profiles.get(info.profile), self.properties)
            stage.tasks.cpus_in_run_time = task_cpus
        if info.rdds:
            stage.final_rdd, stage.partitions = info.rdds[0].rdd_id, info.rdds[0].partitions
            stage.barrier = info.rdds[0].barrier
        stage.library = self.lineage.library_of(line)
        stage.operations = self.lineage.operations_of(info.rdds)
        stage.operation_counts = self.lineage.operation_counts(info.rdds, stage.operations)
        stage.coalesced = self.lineage.coalesces(info.rdds)
        stage.generated = self.lineage.generated_in(info.rdds)
        stage.combined = self.lineage.combined_in(info.rdds)
        stage.file_scans = self.lineage.file_scans_in(info.rdds)
        describe_cache(stage, info, self.lineage)
        stage.input_rdds = self.lineage.input_rdds_in(info.rdds)

    def _attempt(self, stage: Stage, info: events.StageInfo | events.AttemptInfo) -> Attempt:
        """The stage attempt of an event, created where it is new."""
        if (info.attempt == 0 or stage.tasks.tasks is None) and 0 <= info.tasks <= MOST_TASKS:
            stage.tasks.tasks = max(info.tasks, stage.tasks.tasks or 0)
        submitted_ms = self.seen(info.submitted_ms)
        attempt = stage.attempts.setdefault(info.attempt, Attempt(submitted_ms))
        if attempt.submitted_ms is None:
            attempt.submitted_ms = submitted_ms
        return attempt

    # The cache

    def block_updated(self, event: events.BlockUpdated) -> None:
        info, level = event.info, event.info.level
        stored = level is None or level.memory or level.disk
        self.blocks.update(
            info.block,
            (max(0, info.memory_bytes) or info.disk_bytes) if stored else 0,
            on_disk=not info.memory_bytes if level is None else not level.memory,
            executor=info.manager.executor,
            copies=1 if level is None else level.copies,
        )

    def unpersisted(self, event: events.UnpersistRdd) -> None:
        self.lineage.unpersisted(event.rdd_id)
        self.sources.unpersisted(event.rdd_id)
        self.blocks.unpersisted(event.rdd_id)

    # Streaming and SQL

    def query_progress(self, event: events.QueryProgressEvent) -> None:
        progress = event.progress
        self.batches[progress.query, progress.batch] = Batch(
            progress.timestamp, progress.durations.trigger_ms
        )
        self.reporting.add(progress.query)

    def sql_start(self, event: events.SqlExecutionStart) -> None:
        start_ms = self.seen(event.time_ms)
        if start_ms is not None:
            self._open_sql[event.execution] = start_ms

    def sql_end(self, event: events.SqlExecutionEnd) -> None:
        start_ms, end_ms = self._open_sql.pop(event.execution, None), self.seen(event.time_ms)
        if start_ms is not None and end_ms is not None and start_ms <= end_ms:
            self.sql_spans.append((start_ms, end_ms))
        if bytes(event.error) == b'""':
            self.succeeded_sql.add(event.execution)
        for info in self._waiting_for_plan.pop(event.execution, ()):
            self._track(info)

    def sql_plan(self, event: SqlPlan, *, reads_cache: bool) -> None:
        """Records a query's plan, or that of its next step.

        The plan of a query that fills a cache changes as it runs, and only a later plan of the
        query that reads the cache says so. So the stages of such a query wait until it has ended.
        """
        for tracker in self.plan_trackers:
            tracker.add_plan(event)
        if reads_cache:
            self._waiting_for_plan.setdefault(event.execution, [])

    def stage_metrics(self, info: StageAccumulables) -> None:
        """Finds the plan's nodes that a completed stage ran, now or once all plans are known."""
        jobs = self.jobs_of_stage.get(info.stage, ())
        executions = {self.jobs[job].sql_execution_id for job in jobs if job in self.jobs}
        waiting = self._waiting_for_plan.keys() & executions
        if waiting:
            self._waiting_for_plan[max(waiting)].append(info)
        else:
            self._track(info)

    def log_ended(self) -> None:
        """No plan follows for queries whose end the log does not have."""
        for infos in self._waiting_for_plan.values():
            for info in infos:
                self._track(info)
        self._waiting_for_plan.clear()

    def _track(self, info: StageAccumulables) -> None:
        for tracker in self.plan_trackers:
            if tracker.any_planned:
                tracker.stage_completed(info.stage, info.accumulables)
