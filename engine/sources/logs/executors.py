"""The executors of an application as its log announces them, and which tasks ran first on each."""

from __future__ import annotations

import msgspec

from engine.sources.logs import events
from engine.sources.logs.entities import Executor

STARTS_PER_CORE = 64
"""Task starts decoded per core. They are only needed to find each executor's first tasks; the limit
keeps an idle executor from forcing all of them to be decoded."""

MOST_CORES = 1 << 16
"""A larger number of cores per executor is treated as damage."""

MOST_CORES_TO_READ = 4096
"""Cores of one executor for which task starts are decoded."""

MOST_OF_A_REASON = 2000
"""Characters kept of an executor's removal reason; what matters comes first."""


class Executors:
    """The executors so far.

    Attributes:
        by_id: the latest one of each id.
        replaced: those whose id was announced again after they had been removed.
        cold_tasks: ids of the first tasks of each: of those launched before any of them had ended.
        cold_slots: slots that had no first task yet.
        starts_to_read: how many more task starts are worth decoding. They only tell the first tasks
            of each executor, and tasks on executors of unknown cores before any has ended.
        sized: ids of those whose cores the log states.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Executor] = {}
        self.replaced: list[Executor] = []
        self.cold_tasks: set[int] = set()
        self.cold_slots = 0
        self.starts_to_read = 1
        self.sized: set[str] = set()

    def added(self, event: events.ExecutorAdded) -> None:
        cores = event.info.cores if 0 < event.info.cores <= MOST_CORES else None
        known = self.by_id.get(event.executor)
        executor = Executor(event.info.host, event.time_ms, cores, event.info.profile)
        if known is not None and known.removed_ms is None:
            executor.take_over(known)
            self._warm(known)
        elif known is not None:
            self.replaced.append(known)
        executor.cold_slots = cores or 0
        self.cold_slots += executor.cold_slots
        self.by_id[event.executor] = executor
        if cores is None:
            self.sized.discard(event.executor)
        else:
            self.sized.add(event.executor)
        self.starts_to_read += STARTS_PER_CORE * min(cores or 1, MOST_CORES_TO_READ)

    def removed(self, event: events.ExecutorRemoved) -> None:
        executor = self.by_id.get(event.executor)
        if executor is not None and executor.removed_ms is None:
            executor.removed_ms = event.time_ms
            executor.removed_reason = _decoded_text(event.reason)[:MOST_OF_A_REASON]
            self._warm(executor)

    def block_manager_added(self, event: events.BlockManagerAdded) -> None:
        executor = self.by_id.get(event.manager.executor)
        if executor is None:
            executor = Executor(event.manager.host, event.time_ms)
            self.by_id[event.manager.executor] = executor
            self.starts_to_read += 1
        # Cached blocks are on the heap unless their storage level is OFF_HEAP.
        if (event.on_heap_bytes or 0) > 0:
            executor.storage_bytes = event.on_heap_bytes
        elif event.memory_bytes >= 0:
            executor.storage_bytes = event.memory_bytes

    def block_manager_removed(self, event: events.BlockManagerRemoved) -> None:
        executor = self.by_id.get(event.manager.executor)
        if executor is not None and executor.removed_ms is None and executor.cores is None:
            executor.removed_ms = event.time_ms

    def task_started(self, event: events.TaskStart) -> None:
        self.starts_to_read -= 1
        executor = self.of(event.info.executor)
        executor.host = executor.host or event.info.host
        if executor.launched_ms is None:
            executor.launched_ms = event.info.launch_ms
        if executor.cores is None:
            executor.concurrent.started += 1
            self.starts_to_read += 1
        elif executor.cold_slots > 0:
            executor.cold_slots -= 1
            self.cold_slots -= 1
            self.cold_tasks.add(event.info.task_id)
            self._stop_reading_starts()

    def task_ended(self, event: events.TaskEnd, cpus_in_run_time: int) -> None:
        """Counts the task on an executor of unknown cores (Spark 1.2, truncated logs). One of known
        cores is no longer cold: classes are now loaded for all of its slots.

        Args:
            cpus_in_run_time: factor by which Spark multiplied its run time.
        """
        executor = self.of(event.info.executor)
        if executor.cores is None:
            executor.concurrent.ended(event, cpus_in_run_time)
        elif executor.cold_slots and executor.ran_tasks:
            self._warm(executor)
            self._stop_reading_starts()

    def of(self, executor_id: str) -> Executor:
        """The executor with that id; one that was never announced is created without cores, and
        without the host that its tasks name."""
        executor = self.by_id.get(executor_id)
        if executor is None:
            executor = self.by_id[executor_id] = Executor("", None)
            self.starts_to_read += 1
        return executor

    def _warm(self, executor: Executor) -> None:
        """Awaits no more first tasks of the executor."""
        self.cold_slots -= executor.cold_slots
        executor.cold_slots = 0

    def _stop_reading_starts(self) -> None:
        """Stops decoding task starts once every executor has had its first tasks."""
        if self.cold_slots == 0:
            self.starts_to_read = 0


def _decoded_text(raw: msgspec.Raw) -> str:
    """The decoded text; empty where it is missing or damaged."""
    try:
        return msgspec.json.decode(raw, type=str) if bytes(raw) else ""
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
