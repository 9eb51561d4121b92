"""Memory that executors offer to cached blocks and to running tasks, as a log's settings divide
it.

In: a run, and clusters. Out: bytes of storage and execution memory. Explained in
docs/models/sparkplan_rules_memory.md#memory-of-an-executor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.memory import (
    MEMORY_FRACTION,
    REPORTED_HEAP_SHARE,
    RESERVED_GIB,
    STORAGE_FRACTION,
    unified_memory_gib,
)
from engine.models.stages.partitioning.partitions import spark_version
from engine.profile import Profile, Run
from engine.units import GIB

LEGACY_STORAGE_SHARE = 0.54
LEGACY_TASK_SHARE = 0.16
"""Shares of a heap before Spark 1.6: `spark.storage.memoryFraction` 0.6 of 0.9, and
`spark.shuffle.memoryFraction` 0.2 of 0.8."""

MEMORY_FRACTION_1_6 = 0.75
"""Default of `spark.memory.fraction` in Spark 1.6 (SPARK-15796 lowered it for 2.0)."""


@dataclass(frozen=True, slots=True)
class ExecutorMemory:
    """How a run's executors divide their heap.

    Args:
        heap_gib, cores: of the run's own executors, None where the log does not say.
        fraction: `spark.memory.fraction`.
        protected: `spark.memory.storageFraction`.
        heap_seen: share of the configured heap that the JVM reports.
        legacy_storage: share of the heap for cached blocks before Spark 1.6; None since.
        storage_each_bytes: memory for cached blocks of each executor, as the log tells it.
        off_heap_task_bytes: Spark's off-heap memory for each core (`spark.memory.offHeap`), of a
            run with queries: their tasks have it in place of the heap's. It grows with the cores of
            an executor (`engine.machines.beside_heap`); blocks are on the heap. Else 0.
    """

    heap_gib: float | None
    cores: int | None
    fraction: float
    protected: float
    heap_seen: float
    legacy_storage: float | None
    storage_each_bytes: float | None = None
    off_heap_task_bytes: float = 0.0

    @classmethod
    def of(cls, run: Run) -> ExecutorMemory:
        """What the settings say, and the storage memory that the log tells."""
        usual = MEMORY_FRACTION_1_6 if spark_version(run) == (1, 6) else MEMORY_FRACTION
        fraction = _share(run.config.get("spark.memory.fraction"), usual)
        heap, executors = run.cluster.executor_memory_gib, run.cluster.executors
        storage = run.storage_memory_bytes
        each = storage / executors / GIB if storage and executors else None
        reported, legacy = REPORTED_HEAP_SHARE, LEGACY_STORAGE_SHARE if _is_legacy(run) else None
        if heap and each is not None:
            reported_share = (each / fraction + RESERVED_GIB) / heap
            reported = (
                reported_share if LEAST_SEEN < reported_share < MOST_SEEN else REPORTED_HEAP_SHARE
            )
            legacy = each / heap if legacy is not None else None
        storage_share = run.config.get("spark.memory.storageFraction")
        protected = _share(storage_share, STORAGE_FRACTION, may_be_0=True)
        cores, own_bytes = run.cluster.executor_cores, None if each is None else each * GIB
        beside = run.cluster.beside if _queries(run) else None
        off_heap = (beside.off_heap_gib or 0.0) * GIB / cores if beside and cores else 0.0
        return cls(heap, cores, fraction, protected, reported, legacy, own_bytes, off_heap)

    def heaps_gib(self, batch: ClusterBatch) -> FloatArray:
        """(n,) heap per executor. Executors whose heap nobody said are taken to be the run's own
        if they have as many cores; else NaN."""
        heap = batch.executor_memory_gib
        if self.heap_gib:
            same = batch.executor_cores == (self.cores or 0)
            heap = np.where(np.isnan(heap) & same, self.heap_gib, heap)
        return np.asarray(heap)

    def storage_bytes(self, batch: ClusterBatch, task_bytes: FloatArray | float) -> FloatArray:
        """(n,) memory for cached blocks of the whole cluster; NaN where that is unknown. Executors
        whose heap nobody said, in the log either, have what the log tells of its own if they have
        as many cores.

        Running tasks take `task_bytes` for each core that they hold first, but not below the
        protected share, and nothing where theirs is off the heap.
        """
        heap = self.heaps_gib(batch)
        legacy = self.legacy_storage is not None
        each = heap * (self.legacy_storage or 0.0) * GIB if legacy else self._unified_bytes(heap)
        if self.storage_each_bytes:
            same = np.isnan(heap) & (batch.executor_cores == (self.cores or 0))
            each = np.where(same, self.storage_each_bytes, each)
        if legacy:
            return np.asarray(each * batch.executors)
        busy = 0.0 if self.off_heap_task_bytes else batch.cores_held * task_bytes
        return np.asarray(np.maximum(each * self.protected, each - busy) * batch.executors)

    def task_bytes(self, batch: ClusterBatch) -> FloatArray:
        """(n,) memory for each core that tasks hold when all such of an executor are busy and
        nothing is cached; NaN where the heap is unknown, and theirs."""
        if self.off_heap_task_bytes:
            return np.asarray(self.off_heap_task_bytes * batch.executor_cores / batch.cores_held)
        heap = self.heaps_gib(batch)
        if self.legacy_storage is not None:
            return np.asarray(heap * LEGACY_TASK_SHARE * GIB / batch.cores_held)
        return np.asarray(self._unified_bytes(heap) / batch.cores_held)

    def _unified_bytes(self, heap_gib: FloatArray) -> FloatArray:
        unified = unified_memory_gib(heap_gib, fraction=self.fraction, heap_seen=self.heap_seen)
        return np.asarray(unified * GIB)


LEAST_SEEN, MOST_SEEN = 0.8, 1.05
"""A heap that the log's storage memory would make smaller or larger than this was not the
configured one."""


def _queries(run: Run) -> bool:
    """Whether a run has queries, which take the memory of their tasks from one place alone: off the
    heap if Spark may (`MemoryManager.tungstenMemoryMode`). Sorts and maps of RDDs keep the heap,
    those of a run with queries too: their memory is underestimated here."""
    return any(stage.sql_execution_id is not None for stage in run.stages)


def _is_legacy(run: Run) -> bool:
    """Whether storage memory is a fixed share of the heap: before Spark 1.6, or asked for."""
    before = (1, 0) <= spark_version(run) < (1, 6)
    return before or run.config.get("spark.memory.useLegacyMode", "").lower() == "true"


def _share(text: str | None, default: float, *, may_be_0: bool = False) -> float:
    try:
        value = float(text) if text else default
    except ValueError:
        return default
    return value if 0.0 < value <= 1.0 or (may_be_0 and value == 0.0) else default


def concurrent_tasks_per_executor(
    tasks: FloatArray | float,
    *,
    cpus: int,
    slots: FloatArray | float,
    executor_cores: FloatArray | float,
) -> FloatArray:
    """(n,) of (n,) tasks that hold so many cores, those that run beside each other on one executor.
    Spark launches one on every executor before a second, so that few share one with fewer."""
    most = np.maximum(1.0, executor_cores // cpus)
    return np.asarray(np.clip(tasks * executor_cores / slots, 1.0, most))


def own_batch(run: Run) -> ClusterBatch | None:
    """The cluster that a run had, as a batch of one; None where its log does not tell."""
    if not (run.cluster.executors and run.cluster.executor_cores):
        return None
    return ClusterBatch.of([run.cluster], Profile(run.application or "", (run,)))
