"""Spills: the bytes that stages spill to disk for want of execution memory on other executors, and
the time that this adds.

A task's share of its executor's execution memory is that memory over the number of concurrent tasks
(Spark gives each at least half of that, and all of it where others need less): as many as the
executor's cores hold, fewer where a stage has fewer tasks than the cluster has slots. What a task
needs beyond its share is spilled: written to disk and read again.

In: the replay of a log, and the execution memory of n clusters. Out: spilled bytes, and the seconds
that they add. Explained in docs/models/sparkplan_rules_memory.md#spills.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.distinct import distinct, distinct_rows
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.replay.memory.executor_memory import (
    ExecutorMemory,
    concurrent_tasks_per_executor,
    own_batch,
)
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitions import LARGEST_TASKS
from engine.profile import Run
from engine.stage_run import StageRun, total_of

DISK_BYTES_PER_SECOND = 100e6
"""Prior: rate at which one task reads or writes spill files, for logs that do not show it."""

SLOWEST_DISK, FASTEST_DISK = 20e6, 1e9
"""Plausible disk rates in bytes per second. At a rate outside of these the task waited for
something else as well."""

SPILLED_SIZE = 0.4
"""Prior: bytes on disk per byte spilled from memory (serialised and compressed)."""

MOST_EXPANSION = 8.0
"""Execution memory beyond so many times the bytes that a task reads, or writes where these are more
(it may make many rows of one), was allocated beforehand: it does not grow with the data, and is
given up before anything is spilled."""


@dataclass(frozen=True, eq=False)
class TaskMemory:
    """Execution memory that n clusters have for running tasks.

    Args:
        task_bytes: (n,) execution memory per core when all cores are busy; NaN where unknown.
        slots: (n,) task slots of the cluster.
        cores: (n,) cores of an executor that tasks can hold.
    """

    task_bytes: FloatArray
    slots: FloatArray
    cores: FloatArray

    @classmethod
    def of(cls, run: Run, batch: ClusterBatch) -> TaskMemory:
        """The memory of n clusters under the settings of a run."""
        return cls(ExecutorMemory.of(run).task_bytes(batch), batch.slots, batch.cores_held)

    def bytes_per_task(self, tasks: FloatArray | float, cpus: int) -> FloatArray:
        """(n,) execution memory of each of (n,) tasks that hold `cpus` cores."""
        beside = concurrent_tasks_per_executor(
            tasks, cpus=cpus, slots=self.slots, executor_cores=self.cores
        )
        return np.asarray(self.task_bytes * self.cores / beside)

    def distinct(self) -> tuple[TaskMemory, IntArray, IntArray]:
        """The (u,) distinct clusters among the k whose memory is known, the (k,) indices of these,
        and for each of them the index of its equal among the distinct ones."""
        known = np.flatnonzero(~np.isnan(self.task_bytes))
        columns = [column[known] for column in (self.task_bytes, self.cores, self.slots)]
        first, inverse = distinct_rows(columns)
        task_bytes, cores, slots = (column[first] for column in columns)
        return TaskMemory(task_bytes, slots, cores), known, inverse


@dataclass(frozen=True, slots=True)
class SpillingStage:
    """A stage that may spill.

    Args:
        model: how it grows with the input.
        task_bytes: memory that a task needs for its data at the observed input.
        spilled_bytes: what it spilled in the log, as bytes in memory. Where that is 0, a first
            spill would write all that the task holds, and half of a fill stays in memory at the end
            on average.
        disk_share: bytes on disk per spilled byte.
        disk_bytes_per_second: rate of one task.
        fill_factor: share of a task's memory that it fills before it spills, as observed where it
            spilled: memory grows by doubling, others use it too, and pages are taken as a whole.
            More than 1 where it held more and did not spill: other tasks needed less.
    """

    model: StageModel
    task_bytes: float
    spilled_bytes: float
    disk_share: float
    disk_bytes_per_second: float
    fill_factor: float = 1.0

    def replayed_spill_bytes(self, ratio: float) -> float:
        """Spilled bytes that the task times of a replay at `ratio` times the input already contain:
        those of the log, scaled like its data."""
        return self.spilled_bytes * self.model.data_growth(ratio)

    def seconds(self, spilled: FloatArray) -> FloatArray:
        """(n,) task time to write (n,) spilled bytes to disk and read them again."""
        return np.asarray(2.0 * self.disk_share * spilled / self.disk_bytes_per_second)


def spilling_stages(replay: Replay) -> tuple[SpillingStage, ...]:
    """The stages of a log whose tasks report execution memory or spills."""
    log_memory, stages = _log_task_memory(replay.run), []
    for model in replay.models:
        stage = model.stage
        spilled = stage.memory_spilled_bytes or 0.0
        used = growing_bytes(stage)
        if used + spilled > 0.0:
            share, rate = _disk(stage, spilled)
            available = 0.0
            if log_memory:
                available = float(log_memory.bytes_per_task(stage.tasks, stage.task_cpus)[0])
            if spilled and not used:
                used = available
            filled = used / available if available else 1.0
            fill_factor = filled if spilled else max(1.0, filled)
            need = used + spilled / stage.tasks
            stages.append(SpillingStage(model, need, spilled, share, rate, fill_factor))
    return tuple(stages)


def growing_bytes(stage: StageRun) -> float:
    """Mean execution memory of a stage's tasks that grows with their data: the mean peak, at most
    `MOST_EXPANSION` times the bytes that a task reads or writes."""
    peak = stage.peak_execution_memory_bytes
    moved = max(stage.read_bytes, total_of(stage.shuffle_write_bytes))
    return min(peak.mean or 0.0, MOST_EXPANSION * moved / stage.tasks) if peak else 0.0


def _log_task_memory(run: Run) -> TaskMemory | None:
    """The task memory of the run's own cluster; None where it is not known."""
    batch = own_batch(run)
    memory = None if batch is None else TaskMemory.of(run, batch)
    return memory if memory is not None and memory.task_bytes[0] > 0.0 else None


def _disk(stage: StageRun, spilled: float) -> tuple[float, float]:
    """Bytes on disk per spilled byte, and the disk rate in bytes per second. The rate is what a
    stage that spilled wrote and read, over its run time outside computing, garbage collection and
    shuffle fetch waits; the priors where the log does not show them."""
    written = stage.disk_spilled_bytes or 0.0
    if not spilled or not written:
        return SPILLED_SIZE, DISK_BYTES_PER_SECOND
    parts = (stage.cpu_seconds, stage.gc_seconds, stage.fetch_wait_seconds)
    waited = total_of(stage.run_seconds) - sum(map(total_of, parts))
    rate = 2.0 * written / waited if waited > 0.0 else 0.0
    known = SLOWEST_DISK <= rate <= FASTEST_DISK and stage.cpu_seconds is not None
    return min(1.0, written / spilled), rate if known else DISK_BYTES_PER_SECOND


@dataclass(frozen=True, eq=False)
class Spills:
    """What stages spill on n clusters at `ratio` times the input of their log.

    Args:
        memory: that the clusters have for their tasks.
        shuffle_partitions: number of shuffle partitions, None for the run's own.
    """

    memory: TaskMemory
    ratio: float
    shuffle_partitions: int | None = None

    def added_seconds(self, stages: Sequence[SpillingStage]) -> FloatArray:
        """(n,) time that spilling adds to a replay; below 0 where more memory, or smaller
        partitions, save what the log spilled."""
        added, affected = np.zeros(len(self.memory.slots)), self._affected(stages)
        if not affected:
            return added
        memory, known, inverse = self.memory.distinct()
        distinct_spills = replace(self, memory=memory)
        seconds = np.zeros(len(memory.slots))
        for stage in affected:
            tasks, spilled = distinct_spills._tasks_and_bytes(stage)
            beyond_log = spilled - stage.replayed_spill_bytes(self.ratio)
            seconds += stage.seconds(beyond_log) / stage.model.concurrent_tasks(memory.slots, tasks)
        added[known] = seconds[inverse]
        return added

    def saturated(self, stages: Sequence[SpillingStage]) -> BoolArray:
        """(n,) whether more nodes would spill as much, on clusters with slots for all tasks at
        once: nothing is spilled there, or no task shares its executor; also where memory is
        unknown."""
        saturated = np.ones(len(self.memory.slots), dtype=bool)
        for stage in self._affected(stages):
            tasks, spilled = self._tasks_and_bytes(stage)
            saturated &= (spilled == 0.0) | (tasks * self.memory.cores <= self.memory.slots)
        return saturated

    def bytes_of(self, stage: SpillingStage) -> FloatArray:
        """(n,) bytes that a stage spills."""
        return self._tasks_and_bytes(stage)[1]

    def _tasks_and_bytes(self, stage: SpillingStage) -> tuple[FloatArray, FloatArray]:
        """(n,) number of tasks of a stage, and (n,) bytes that it spills."""
        tasks, data = self._tasks_and_data(stage)
        filled = stage.fill_factor * self.memory.bytes_per_task(tasks, stage.model.stage.task_cpus)
        need = stage.task_bytes * data
        left = filled if stage.spilled_bytes else filled / 2.0
        return tasks, np.where(need > filled, need - left, 0.0) * tasks

    def memory_of_task(self, stage: SpillingStage) -> FloatArray:
        """(n,) bytes of memory that a task of the stage has."""
        tasks, _ = self._tasks_and_data(stage)
        return self.memory.bytes_per_task(tasks, stage.model.stage.task_cpus)

    def _tasks_and_data(self, stage: SpillingStage) -> tuple[FloatArray, FloatArray]:
        """`StageModel.largest_task_bytes` for (n,) clusters, evaluated once per distinct number of
        slots, and only once where the stage does not depend on it."""
        model, slots, asked = stage.model, self.memory.slots, (self.ratio, self.shuffle_partitions)
        if not model.depends_on_cluster:
            return model.largest_task_bytes(*asked, slots[:1])
        counted, which = distinct(slots)
        tasks, data = model.largest_task_bytes(*asked, counted)
        return tasks[which], data[which]

    def _affected(self, stages: Sequence[SpillingStage]) -> list[SpillingStage]:
        """The stages that spilled in the log, or may spill with the least memory per task and the
        fewest slots of the clusters; none where these are unknown. Of hundreds of stages few do;
        this scalar bound excludes the others cheaply."""
        columns = (self.memory.task_bytes, self.memory.slots)
        task_bytes, slots = (float(np.fmin.reduce(one, initial=np.nan)) for one in columns)
        if math.isnan(task_bytes) or math.isnan(slots):
            return []
        return [
            one for one in stages if one.spilled_bytes or self._may_spill(one, task_bytes, slots)
        ]

    def _may_spill(self, stage: SpillingStage, task_bytes: float, slots: float) -> bool:
        """Whether a stage may spill with `task_bytes` of memory per task on `slots` slots or
        more."""
        model, available = stage.model, stage.fill_factor * task_bytes
        in_one_task = stage.task_bytes * model.data_growth(self.ratio) * model.stage.tasks
        if in_one_task <= available:
            return False
        count = model.partition_count(self.ratio, self.shuffle_partitions)
        return in_one_task / max(1.0, min(count.own, count.at(slots), LARGEST_TASKS)) > available
