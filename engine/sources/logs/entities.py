"""Records of an application as its log is read: executors, jobs, stages, attempts, batches.

`ConcurrentTasks` counts how many tasks an executor ran at once, which tells its cores where the log
does not state them (Spark 1.2, logs that lack their beginning).

`SourceReads` counts the bytes that stages read from sources to compute persisted RDDs, once per
partition. A stage that takes the first rows computes only some partitions, and stops early in a
partition whose block does not fit in memory; later stages read the rest. The input metric of a task
counts cached blocks and sources alike. The two are told apart by which partitions no stage has
computed before and, where block updates are logged, by which blocks were stored when it began.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from engine.sources.logs.combined_inputs import CombinedInputs
from engine.sources.logs.events import NO_METRICS, TaskEnd
from engine.sources.logs.python_workers import WorkerStarts
from engine.sources.logs.tasks import StageTasks
from engine.stage_run import PYTHON_OPERATIONS


@dataclass(frozen=True, slots=True)
class SourceRead:
    """The source reads of a stage that also reads cached blocks.

    Args:
        bytes: source bytes that no earlier stage had read.
        first_bytes: bytes read for partitions that no earlier stage had computed.
        first_share: those partitions as a share of the stage's partitions.
    """

    bytes: float
    first_bytes: float
    first_share: float


class SourceReads:
    """Tracks, per persisted RDD and partition, the most source bytes that a stage has read."""

    def __init__(self) -> None:
        self._max_bytes: dict[int, dict[int, int]] = {}

    def record_first(self, rdd_id: int, read: Mapping[int, int]) -> None:
        """Records the source bytes per partition of a stage that found no block of the RDD."""
        max_bytes = self._max_bytes.setdefault(rdd_id, {})
        for index, size in read.items():
            max_bytes.setdefault(index, size)

    def read(
        self,
        rdd_id: int,
        read: Mapping[int, int],
        *,
        cached: Collection[int] | None,
        fully_computed: bool,
    ) -> SourceRead:
        """Records the bytes per partition read by a stage after others had computed partitions.

        Args:
            cached: partitions with a stored block; None where unknown, or where all were stored.
            fully_computed: whether all partitions had been computed before.
        """
        max_bytes = self._max_bytes.setdefault(rdd_id, {})
        missing = read.keys() if cached is None else read.keys() - set(cached)
        first = set() if fully_computed else missing - max_bytes.keys()
        reread = set() if cached is None else missing & max_bytes.keys()
        extra_bytes = sum(max(0, read[index] - max_bytes[index]) for index in reread)
        first_bytes = sum(read[index] for index in first)
        for index in (*first, *reread):
            max_bytes[index] = max(read[index], max_bytes.get(index, 0))
        share = len(first) / len(read) if read else 0.0
        return SourceRead(float(first_bytes + extra_bytes), float(first_bytes), share)

    def of(self, rdd_id: int) -> Mapping[int, int]:
        """Partition -> the most source bytes that a stage has read for it."""
        return self._max_bytes.get(rdd_id, {})

    def unpersisted(self, rdd_id: int) -> None:
        """Forgets an RDD: later reads of its sources count anew."""
        self._max_bytes.pop(rdd_id, None)


SPANS_TO_COUNT = 1024
"""Tasks after which the spans so far are counted and dropped, so that memory stays constant."""


class ConcurrentTasks:
    """The most tasks that an executor ran at once.

    Neither the order of events nor their times tell this directly. A slot takes its next task as
    soon as the executor has finished one, while the driver still fetches the result: the next start
    is logged before that end, and mostly launched before that finish time. So a task counts from
    its launch for as long as its executor worked on it, and never together with the next one.

    Args:
        started: tasks that started; they count while no task has ended.
    """

    __slots__ = ("_most", "_spans", "started")

    def __init__(self) -> None:
        self.started = 0
        self._most = 0
        self._spans: list[tuple[int, int]] = []

    def ended(self, event: TaskEnd, cpus_in_run_time: int) -> None:
        """Adds a task that ended.

        Args:
            cpus_in_run_time: factor by which Spark multiplied its run time.
        """
        metrics, launch_ms = event.metrics or NO_METRICS, event.info.launch_ms
        worked_ms = max(0, metrics.deserialize_ms) + max(0, metrics.run_ms)
        until_ms = min(event.info.finish_ms, launch_ms + worked_ms // cpus_in_run_time)
        self._spans.append((launch_ms, max(launch_ms, until_ms)))
        if len(self._spans) >= SPANS_TO_COUNT:
            self._count()

    def _count(self) -> None:
        if self._spans:
            self._most = max(self._most, most_overlapping(self._spans))
            self._spans.clear()

    @property
    def most(self) -> int:
        """The most that ran at once; of tasks none of which ended, all that started."""
        self._count()
        return self._most or self.started


def most_overlapping(spans: list[tuple[int, int]]) -> int:
    """The most of some spans (start, end) that overlap, at least 1; one that begins where another
    ends does not overlap it."""
    changes = sorted(change for start, end in spans for change in ((start, 1), (end, -1)))
    most, current = 1, 0
    for _, change in changes:
        current += change
        most = max(most, current)
    return most


@dataclass(slots=True)
class Executor:
    """One executor.

    `cores` is None where the log does not state it; `concurrent` then counts the tasks that it ran
    at once, a lower bound. `launched_ms` is the launch of its first task, `drained_ms` the end of
    the last task of a decommissioned executor.
    """

    host: str
    added_ms: int | None
    cores: int | None = None
    profile: int = 0
    removed_ms: int | None = None
    removed_reason: str = ""
    drained_ms: int | None = None
    storage_bytes: int | None = None
    concurrent: ConcurrentTasks = field(default_factory=ConcurrentTasks)
    cold_slots: int = 0
    launched_ms: int | None = None

    def take_over(self, same: Executor) -> None:
        """Takes over what events told of it before the one that announced it."""
        self.storage_bytes, self.launched_ms = same.storage_bytes, same.launched_ms
        self.concurrent = same.concurrent

    @property
    def offered_until_ms(self) -> int | None:
        """Until when it could run tasks; None for until the end of the log."""
        return self.removed_ms if self.drained_ms is None else self.drained_ms

    @property
    def ran_tasks(self) -> bool:
        """Whether a task is known to have started on it."""
        return self.launched_ms is not None or self.concurrent.most > 0

    @property
    def ran_before_it_came(self) -> bool:
        """Whether its first task started before its `ExecutorAdded` event."""
        if not self.ran_tasks or self.added_ms is None:
            return False
        return self.launched_ms is None or self.launched_ms < self.added_ms


@dataclass(slots=True)
class Job:
    """One job, with the SQL execution, streaming query, batch and scheduler pool (numbered from 1)
    that its properties name."""

    job_id: int
    submitted_ms: int | None
    stage_ids: tuple[int, ...]
    completed_ms: int | None = None
    sql_execution_id: int | None = None
    query: str | None = None
    batch_id: int | None = None
    dstream_batch_ms: int | None = None
    pool: int | None = None


_CANCELLED = re.compile(r"(?:\[\w{1,80}\] )?Job \d{1,10} cancelled\b")
"""Start of the failure reason of a stage whose job was cancelled (since Spark 4 after an error
class in brackets)."""


@dataclass(slots=True)
class Attempt:
    """One stage attempt, from submission to completion. In the log an attempt that was cancelled
    with its job has failed too."""

    submitted_ms: int | None
    completed_ms: int | None = None
    failed: bool = False
    cancelled: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it completed without a failure."""
        return self.completed_ms is not None and not self.failed

    def ended(self, completed_ms: int | None, failure: str | None) -> None:
        """Records its end; `failure` is Spark's failure reason, None for success."""
        self.completed_ms = completed_ms
        self.failed = failure is not None
        self.cancelled = failure is not None and bool(_CANCELLED.match(failure))


@dataclass(slots=True)
class Stage:
    """A stage over all its attempts.

    `partitions` is that of the RDD it computes, 0 where the log does not state it. `file_scans` are
    the names of the file scans that its tasks compute. `persisted` are its persisted RDDs with
    their partitions; `source_fed_rdd` is the one through which it reads a source,
    `cached_partitions` the partitions of these with a stored block when the stage began, `copies`
    the replication of those stored more than once. `input_rdds` are the cached or checkpointed RDDs
    of which each task reads one partition. `generated` are the partitions of the program's own
    rows, where the stage reads nothing else. `combined` are the inputs of a union or product.
    """

    stage_id: int
    name: str = ""
    parents: tuple[int, ...] | None = None
    profile: int = 0
    final_rdd: int | None = None
    partitions: int = 0
    persisted: tuple[tuple[int, int], ...] = ()
    disk_backed_rdds: tuple[int, ...] = ()
    off_heap_rdds: frozenset[int] = frozenset()
    copies: dict[int, int] = field(default_factory=dict)
    cached_disk_bytes: float | None = None
    needed_rdds: tuple[tuple[int, int], ...] = ()
    operations: tuple[str, ...] = ()
    operation_counts: tuple[int, ...] = ()
    coalesced: bool = False
    generated: tuple[int, ...] = ()
    combined: CombinedInputs | None = None
    barrier: bool = False
    file_scans: tuple[str, ...] = ()
    reads_cache: bool = False
    computed_concurrently: bool = False
    source_fed_rdd: int | None = None
    input_rdds: tuple[int, ...] = ()
    cached_partitions: frozenset[int] | None = None
    source_read: SourceRead | None = None
    library: str | None = None
    python_start_seconds: float | None = None
    tasks: StageTasks = field(default_factory=StageTasks)
    attempts: dict[int, Attempt] = field(default_factory=dict)

    @property
    def cached_rdds(self) -> tuple[int, ...]:
        """Ids of its persisted RDDs."""
        return tuple(rdd_id for rdd_id, _ in self.persisted)

    @property
    def cancelled(self) -> bool:
        """Whether every attempt was cancelled with its job: the stage itself did not fail."""
        attempts = self.attempts.values()
        return bool(attempts) and all(attempt.cancelled for attempt in attempts)

    def on_heap(self, rdds: Iterable[int]) -> tuple[int, ...]:
        """Those of the persisted RDDs that take heap memory."""
        return tuple(rdd_id for rdd_id in rdds if rdd_id not in self.off_heap_rdds)

    def watch_workers(self) -> None:
        """Starts summing the start times of Python workers, where its operations use Python."""
        if self.tasks.workers is None and self._names_python:
            self.tasks.workers = WorkerStarts()

    @property
    def _names_python(self) -> bool:
        return any(kind in name for name in self.operations for kind in PYTHON_OPERATIONS)

    def ran_python(self, *, starts_reported: bool) -> None:
        """Marks the stage as one that used Python workers, and keeps their summed start time over
        the attempts that count, where logged. Not every operation name shows Python: a data source
        written in Python looks like any other scan."""
        if starts_reported and self.tasks.workers is not None:
            self.python_start_seconds = self.tasks.workers.seconds
        if not self._names_python:
            self.operations = (*self.operations, PYTHON_OPERATIONS[0])
            self.operation_counts = (*self.operation_counts, 1) if self.operation_counts else ()


@dataclass(slots=True)
class Batch:
    """A micro-batch as reported by a `QueryProgressEvent`."""

    started: str
    duration_ms: int | None
