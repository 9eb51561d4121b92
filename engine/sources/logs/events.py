"""Typed structures of the listener events in a Spark log, with only the fields that are used.

msgspec skips every field not named here without building it, which makes reading fast. The fields
of task events are in the order of the log: msgspec tries the next expected name first. A default
stands for a field that older Spark versions do not write (docs/formats.md lists which version
introduced what); -1 and None mean not logged.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

UNKNOWN = -1
"""A number that is not logged (all real ones are zero or more)."""

Long = Annotated[int, Meta(le=2**63 - 1)]
"""A 64-bit integer as Spark counts; a larger one makes the event undecodable."""


class ShuffleRead(Struct, frozen=True, gc=False):
    """`Shuffle Read Metrics` of a task."""

    fetch_wait_ms: int = field(default=UNKNOWN, name="Fetch Wait Time")
    remote_bytes: int = field(default=UNKNOWN, name="Remote Bytes Read")
    local_bytes: int = field(default=UNKNOWN, name="Local Bytes Read")
    records: int = field(default=UNKNOWN, name="Total Records Read")


class ShuffleWrite(Struct, frozen=True, gc=False):
    """`Shuffle Write Metrics` of a task."""

    bytes_written: int = field(default=UNKNOWN, name="Shuffle Bytes Written")
    records: int = field(default=UNKNOWN, name="Shuffle Records Written")


class Input(Struct, frozen=True, gc=False):
    """`Input Metrics` of a task; `method` (Memory, Disk, Hadoop, Network) only in Spark 1.x."""

    bytes_read: int = field(default=UNKNOWN, name="Bytes Read")
    records: int = field(default=UNKNOWN, name="Records Read")
    method: str | None = field(default=None, name="Data Read Method")


class Output(Struct, frozen=True, gc=False):
    """`Output Metrics` of a task."""

    bytes_written: int = field(default=UNKNOWN, name="Bytes Written")
    records: int = field(default=UNKNOWN, name="Records Written")


class BlockStatus(Struct, frozen=True, gc=False):
    """Size of one block in memory and on disk; zero in both when it was dropped."""

    memory_bytes: Long = field(default=0, name="Memory Size")
    disk_bytes: Long = field(default=0, name="Disk Size")


class UpdatedBlock(Struct, frozen=True, gc=False):
    """An entry of a task's `Updated Blocks`."""

    block: str = field(name="Block ID")
    status: BlockStatus = field(name="Status")


NO_READ, NO_WRITE, NO_INPUT, NO_OUTPUT = ShuffleRead(), ShuffleWrite(), Input(), Output()


class TaskMetrics(Struct, frozen=True, gc=False):
    """`Task Metrics`; CPU time since Spark 2.1, peak execution memory since 3.0."""

    deserialize_ms: int = field(default=UNKNOWN, name="Executor Deserialize Time")
    deserialize_cpu_ns: int = field(default=UNKNOWN, name="Executor Deserialize CPU Time")
    run_ms: int = field(default=UNKNOWN, name="Executor Run Time")
    cpu_ns: int = field(default=UNKNOWN, name="Executor CPU Time")
    peak_memory: int = field(default=UNKNOWN, name="Peak Execution Memory")
    result: int = field(default=UNKNOWN, name="Result Size")
    gc_ms: int = field(default=UNKNOWN, name="JVM GC Time")
    memory_spilled: int = field(default=UNKNOWN, name="Memory Bytes Spilled")
    disk_spilled: int = field(default=UNKNOWN, name="Disk Bytes Spilled")
    read: ShuffleRead = field(default=NO_READ, name="Shuffle Read Metrics")
    write: ShuffleWrite = field(default=NO_WRITE, name="Shuffle Write Metrics")
    input: Input = field(default=NO_INPUT, name="Input Metrics")
    output: Output = field(default=NO_OUTPUT, name="Output Metrics")
    updated_blocks: tuple[UpdatedBlock, ...] | None = field(default=None, name="Updated Blocks")


NO_METRICS = TaskMetrics()


class TaskInfo(Struct, frozen=True, gc=False, kw_only=True):
    """`Task Info`; the partition since Spark 3.3, before that only the index in the attempt."""

    task_id: int = field(name="Task ID")
    index: int = field(name="Index")
    partition: int = field(default=UNKNOWN, name="Partition ID")
    launch_ms: int = field(name="Launch Time")
    executor: str = field(name="Executor ID")
    finish_ms: int = field(default=0, name="Finish Time")
    failed: bool = field(default=False, name="Failed")
    killed: bool = field(default=False, name="Killed")


class EndReason(Struct, frozen=True, gc=False):
    """Why a task ended: `Success`, `TaskKilled`, `Resubmitted`, `FetchFailed`, ..."""

    reason: str = field(default="", name="Reason")


class PlacedTaskInfo(TaskInfo, frozen=True, gc=False, kw_only=True):
    """`Task Info` with the host, which most tasks need not tell: their executor was announced."""

    host: str = field(default="", name="Host")


class TaskStart(Struct, frozen=True, gc=False):
    """`SparkListenerTaskStart`."""

    info: PlacedTaskInfo = field(name="Task Info")
    stage: int = field(default=UNKNOWN, name="Stage ID")


class TaskEnd(Struct, frozen=True, gc=False, kw_only=True):
    """`SparkListenerTaskEnd`; some failed tasks have no metrics."""

    stage: int = field(name="Stage ID")
    attempt: int = field(default=0, name="Stage Attempt ID")
    reason: EndReason = field(name="Task End Reason")
    info: TaskInfo = field(name="Task Info")
    metrics: TaskMetrics | None = field(default=None, name="Task Metrics")


class TaskPlace(Struct, frozen=True, gc=False):
    """`SparkListenerTaskEnd`, where it ran alone."""

    info: PlacedTaskInfo = field(name="Task Info")


class StorageLevel(Struct, frozen=True, gc=False):
    """Where an RDD is persisted, or a block is stored."""

    memory: bool = field(default=False, name="Use Memory")
    disk: bool = field(default=False, name="Use Disk")
    off_heap: bool = field(default=False, name="Use Off Heap")
    copies: int = field(default=1, name="Replication")


class RddInfo(Struct, frozen=True, gc=False):
    """An entry of a stage's `RDD Info`; the first entry is the RDD that the stage computes."""

    rdd_id: int = field(name="RDD ID")
    name: str = field(default="", name="Name")
    scope: str | None = field(default=None, name="Scope")
    parents: tuple[int, ...] = field(default=(), name="Parent IDs")
    partitions: int = field(default=0, name="Number of Partitions")
    level: StorageLevel = field(default=StorageLevel(), name="Storage Level")
    barrier: bool = field(default=False, name="Barrier")


class StageInfo(Struct, frozen=True, gc=False):
    """`Stage Info` of a submitted or completed stage attempt."""

    stage: int = field(name="Stage ID")
    name: str = field(default="", name="Stage Name")
    attempt: int = field(default=0, name="Stage Attempt ID")
    tasks: int = field(default=0, name="Number of Tasks")
    rdds: tuple[RddInfo, ...] = field(default=(), name="RDD Info")
    parents: tuple[int, ...] | None = field(default=None, name="Parent IDs")
    submitted_ms: int | None = field(default=None, name="Submission Time")
    completed_ms: int | None = field(default=None, name="Completion Time")
    failure: str | None = field(default=None, name="Failure Reason")
    profile: int = field(default=0, name="Resource Profile Id")


class RddId(Struct, frozen=True, gc=False):
    """The id of an RDD, all that is used of the RDDs of a skipped stage."""

    rdd_id: int = field(name="RDD ID")


class PlannedStage(Struct, frozen=True, gc=False):
    """An entry of a job's `Stage Infos`: enough to recognise a stage that was skipped."""

    stage: int = field(name="Stage ID")
    rdds: tuple[RddId, ...] = field(default=(), name="RDD Info")
    parents: tuple[int, ...] | None = field(default=None, name="Parent IDs")


class JobProperties(Struct, frozen=True, gc=False):
    """The few job properties that group jobs; the rest (which may hold secrets) is not decoded."""

    sql_execution: str | None = field(default=None, name="spark.sql.execution.id")
    query: str | None = field(default=None, name="sql.streaming.queryId")
    batch: str | None = field(default=None, name="streaming.sql.batchId")
    dstream_batch_ms: str | None = field(default=None, name="spark.streaming.internal.batchTime")
    pool: str | None = field(default=None, name="spark.scheduler.pool")


NO_PROPERTIES = JobProperties()


class JobStart(Struct, frozen=True, gc=False):
    """`SparkListenerJobStart`."""

    job: int = field(name="Job ID")
    submitted_ms: int | None = field(default=None, name="Submission Time")
    stage_ids: tuple[int, ...] = field(default=(), name="Stage IDs")
    planned_stages: tuple[PlannedStage, ...] = field(default=(), name="Stage Infos")
    properties: JobProperties | None = field(default=None, name="Properties")


class JobEnd(Struct, frozen=True, gc=False):
    """`SparkListenerJobEnd`."""

    job: int = field(name="Job ID")
    completed_ms: int | None = field(default=None, name="Completion Time")


class StageEvent(Struct, frozen=True, gc=False):
    """`SparkListenerStageSubmitted`; `SparkListenerStageCompleted` of a stage unknown so far."""

    info: StageInfo = field(name="Stage Info")


class AttemptInfo(Struct, frozen=True, gc=False):
    """The fields that the `Stage Info` of a completed attempt adds to that of the submitted one."""

    stage: int = field(name="Stage ID")
    attempt: int = field(default=0, name="Stage Attempt ID")
    tasks: int = field(default=0, name="Number of Tasks")
    submitted_ms: int | None = field(default=None, name="Submission Time")
    completed_ms: int | None = field(default=None, name="Completion Time")
    failure: str | None = field(default=None, name="Failure Reason")


class StageCompleted(Struct, frozen=True, gc=False):
    """`SparkListenerStageCompleted`."""

    info: AttemptInfo = field(name="Stage Info")


class ExecutorInfo(Struct, frozen=True, gc=False):
    """`Executor Info`; resource profiles since Spark 3.1."""

    cores: int = field(name="Total Cores")
    host: str = field(default="", name="Host")
    profile: int = field(default=0, name="Resource Profile Id")


class ExecutorAdded(Struct, frozen=True, gc=False):
    """`SparkListenerExecutorAdded` (since Spark 1.3)."""

    time_ms: int = field(name="Timestamp")
    executor: str = field(name="Executor ID")
    info: ExecutorInfo = field(name="Executor Info")


class ExecutorRemoved(Struct, frozen=True, gc=False):
    """`SparkListenerExecutorRemoved`; the reason is free text and decoded separately."""

    time_ms: int = field(name="Timestamp")
    executor: str = field(name="Executor ID")
    reason: msgspec.Raw = field(default=msgspec.Raw(), name="Removed Reason")


class BlockManagerId(Struct, frozen=True, gc=False):
    """`Block Manager ID`."""

    executor: str = field(name="Executor ID")
    host: str = field(default="", name="Host")


class BlockManagerAdded(Struct, frozen=True, gc=False):
    """`SparkListenerBlockManagerAdded`: the storage memory of an executor, and (later Sparks) how
    much of it is on the heap."""

    manager: BlockManagerId = field(name="Block Manager ID")
    memory_bytes: Long = field(default=UNKNOWN, name="Maximum Memory")
    on_heap_bytes: Long | None = field(default=None, name="Maximum Onheap Memory")
    time_ms: int | None = field(default=None, name="Timestamp")


class BlockManagerRemoved(Struct, frozen=True, gc=False):
    """`SparkListenerBlockManagerRemoved`."""

    manager: BlockManagerId = field(name="Block Manager ID")
    time_ms: int | None = field(default=None, name="Timestamp")


class BlockUpdate(Struct, frozen=True, gc=False):
    """`Block Updated Info`. For a block evicted from memory, the memory size is the amount freed;
    only the storage level tells where the block is now."""

    block: str = field(name="Block ID")
    manager: BlockManagerId = field(default=BlockManagerId(""), name="Block Manager ID")
    level: StorageLevel | None = field(default=None, name="Storage Level")
    memory_bytes: Long = field(default=0, name="Memory Size")
    disk_bytes: Long = field(default=0, name="Disk Size")


class BlockUpdated(Struct, frozen=True, gc=False):
    """`SparkListenerBlockUpdated` (with `spark.eventLog.logBlockUpdates.enabled`)."""

    info: BlockUpdate = field(name="Block Updated Info")


class UnpersistRdd(Struct, frozen=True, gc=False):
    """`SparkListenerUnpersistRDD`."""

    rdd_id: int = field(name="RDD ID")


class LogStart(Struct, frozen=True, gc=False):
    """`SparkListenerLogStart`, and the Databricks event in its place, which starts each part of a
    rolling log, numbers the parts from 0 and names the Spark context."""

    version: str | None = field(default=None, name="Spark Version")
    rollover: int | None = field(default=None, name="Rollover Number")
    context_id: int | None = field(default=None, name="SparkContext Id")


class ApplicationStart(Struct, frozen=True, gc=False):
    """`SparkListenerApplicationStart`."""

    time_ms: int = field(name="Timestamp")
    name: str = field(default="", name="App Name")
    app_id: str | None = field(default=None, name="App ID")
    attempt: str | None = field(default=None, name="App Attempt ID")


class ApplicationEnd(Struct, frozen=True, gc=False):
    """`SparkListenerApplicationEnd`."""

    time_ms: int = field(name="Timestamp")


class Environment(Struct, frozen=True, gc=False):
    """`SparkListenerEnvironmentUpdate`."""

    properties: dict[str, msgspec.Raw] = field(default_factory=dict, name="Spark Properties")


class Amount(Struct, frozen=True, gc=False):
    """A requested amount of one resource."""

    amount: float = field(default=0.0, name="Amount")


class ResourceProfileAdded(Struct, frozen=True, gc=False):
    """`SparkListenerResourceProfileAdded` (since Spark 3.1); memory is in MiB."""

    profile: int = field(name="Resource Profile Id")
    executor: dict[str, Amount] = field(default_factory=dict, name="Executor Resource Requests")
    task: dict[str, Amount] = field(default_factory=dict, name="Task Resource Requests")


class SqlExecutionStart(Struct, frozen=True, gc=False):
    """`SparkListenerSQLExecutionStart`."""

    execution: int = field(name="executionId")
    time_ms: int = field(name="time")


class SqlExecutionEnd(Struct, frozen=True, gc=False, kw_only=True):
    """`SparkListenerSQLExecutionEnd`; the error since Spark 3.4, empty for a success."""

    execution: int = field(default=UNKNOWN, name="executionId")
    time_ms: int = field(name="time")
    error: msgspec.Raw = field(default=msgspec.Raw(), name="errorMessage")


class TriggerDurations(Struct, frozen=True, gc=False):
    """`durationMs` of a micro-batch."""

    trigger_ms: int | None = field(default=None, name="triggerExecution")


class QueryProgress(Struct, frozen=True, gc=False):
    """`progress` of a `QueryProgressEvent`: one micro-batch of a streaming query."""

    query: str = field(name="id")
    batch: int = field(name="batchId")
    timestamp: str = field(default="", name="timestamp")
    durations: TriggerDurations = field(default=TriggerDurations(), name="durationMs")


class QueryProgressEvent(Struct, frozen=True, gc=False):
    """`StreamingQueryListener$QueryProgressEvent`."""

    progress: QueryProgress = field(name="progress")


class NamedEvent(Struct, frozen=True, gc=False):
    """Any event, for lines whose first key is not the event's name."""

    name: str = field(name="Event")
