"""Task memory: what stages spill to disk on other executors, and what that takes.

A task's share of its executor's memory is that memory over the tasks beside it (Spark gives each at
least half of that, and all of it where others need less): as many as its cores hold, fewer where a
stage has fewer tasks than the cluster has slots. What a task needs beyond its share is written to
disk and read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.distinct import distinct, distinct_rows
from engine.forecast import FloatArray, IntArray
from engine.models.replay.memory.executor_memory import ExecutorMemory, own_batch, tasks_beside
from engine.models.replay.replayed_run import Replay
from engine.models.stages.cutting.partitions import LARGEST_TASKS
from engine.models.stages.durations.task_times import StageShape
from engine.profile import Run
from engine.stage_run import StageRun, total_of

DISK_BYTES_PER_SECOND = 100e6
"""Prior: what one task reads or writes of its own disk, for logs that do not show it."""

SLOWEST_DISK, FASTEST_DISK = 20e6, 1e9
"""A rate outside of these is not that of a disk: the task waited for something else as well."""

SPILLED_SIZE = 0.4
"""Prior: bytes on disk per spilled byte in memory (serialised and compressed)."""

MOST_EXPANSION = 8.0
"""Execution memory beyond so many times the bytes that a task reads, or writes where these are more
(it may make many rows of one), was allocated beforehand: it does not grow with the data, and is
given up before anything is spilled."""


@dataclass(frozen=True, eq=False)
class Offered:
    """What n clusters offer to running tasks.

    Args:
        task_bytes: (n,) memory of each core that tasks hold when all are busy; NaN where unknown.
        slots: (n,) in all.
        cores: (n,) of an executor that tasks can hold.
    """

    task_bytes: FloatArray
    slots: FloatArray
    cores: FloatArray

    @classmethod
    def of(cls, run: Run, batch: ClusterBatch) -> Offered:
        """By the settings of a run."""
        return cls(ExecutorMemory.of(run).task_bytes(batch), batch.slots, batch.cores_held)

    def to_each(self, tasks: FloatArray | float, cpus: int) -> FloatArray:
        """(n,) memory of each of (n,) tasks that hold so many cores."""
        beside = tasks_beside(tasks, cpus=cpus, slots=self.slots, executor_cores=self.cores)
        return np.asarray(self.task_bytes * self.cores / beside)

    def distinct(self) -> tuple[Offered, IntArray, IntArray]:
        """The unlike ones of those whose memory is known, the places of these, and of each of them
        which of the unlike ones it is."""
        known = np.flatnonzero(~np.isnan(self.task_bytes))
        columns = [column[known] for column in (self.task_bytes, self.cores, self.slots)]
        first, alike = distinct_rows(columns)
        task_bytes, cores, slots = (column[first] for column in columns)
        return Offered(task_bytes, slots, cores), known, alike


@dataclass(frozen=True, slots=True)
class SpillingStage:
    """A stage that may spill.

    Args:
        shape: how it grows with the input.
        task_bytes: memory that a task needs for its data at the observed input.
        spilled_bytes: what it spilled when it ran, in memory. Where it spilled nothing it would
            begin with all that it holds, of which half a filling is left in the end on average.
        disk_share: bytes on disk per spilled byte.
        disk_bytes_per_second: of one task.
        fills: share of a task's memory that it fills before it spills, as the log shows where it
            spilled: memory grows by doubling, others use it too, and pages are taken as a whole.
            More than all where it had more and did not spill: others needed less.
    """

    shape: StageShape
    task_bytes: float
    spilled_bytes: float
    disk_share: float
    disk_bytes_per_second: float
    fills: float = 1.0

    def grown_bytes(self, ratio: float) -> float:
        """What a replay at `ratio` times the input already holds of spills: what the log spilled,
        grown like its data."""
        return self.spilled_bytes * self.shape.data(ratio)

    def seconds(self, spilled: FloatArray) -> FloatArray:
        """(n,) task time of writing (n,) bytes in memory to disk and reading them again."""
        return np.asarray(2.0 * self.disk_share * spilled / self.disk_bytes_per_second)


def spilling_stages(replay: Replay) -> tuple[SpillingStage, ...]:
    """The stages of a log whose tasks report execution memory or spills."""
    own, found = _own(replay.run), []
    for shape in replay.shapes:
        stage = shape.stage
        spilled = stage.memory_spilled_bytes or 0.0
        held = growing_bytes(stage)
        if held + spilled > 0.0:
            share, rate = _disk(stage, spilled)
            had = float(own.to_each(stage.tasks, stage.task_cpus)[0]) if own else 0.0
            if spilled and not held:
                held = had
            filled = held / had if had else 1.0
            fills = filled if spilled else max(1.0, filled)
            need = held + spilled / stage.tasks
            found.append(SpillingStage(shape, need, spilled, share, rate, fills))
    return tuple(found)


def growing_bytes(stage: StageRun) -> float:
    """What of the execution memory that a task of a stage held, on average, its data took."""
    peak = stage.peak_execution_memory_bytes
    moved = max(stage.read_bytes, total_of(stage.shuffle_write_bytes))
    return min(peak.mean or 0.0, MOST_EXPANSION * moved / stage.tasks) if peak else 0.0


def _own(run: Run) -> Offered | None:
    """What the run's own cluster offered; None where its memory is not known."""
    batch = own_batch(run)
    own = None if batch is None else Offered.of(run, batch)
    return own if own is not None and own.task_bytes[0] > 0.0 else None


def _disk(stage: StageRun, spilled: float) -> tuple[float, float]:
    """Bytes on disk per spilled byte, and the rate of the disk: what a stage that spilled wrote and
    read over the time in which it neither computed nor waited for a shuffle."""
    written = stage.disk_spilled_bytes or 0.0
    if not spilled or not written:
        return SPILLED_SIZE, DISK_BYTES_PER_SECOND
    parts = (stage.cpu_seconds, stage.gc_seconds, stage.fetch_wait_seconds)
    waited = total_of(stage.run_seconds) - sum(map(total_of, parts))
    rate = 2.0 * written / waited if waited > 0.0 else 0.0
    known = SLOWEST_DISK <= rate <= FASTEST_DISK and stage.cpu_seconds is not None
    return min(1.0, written / spilled), rate if known else DISK_BYTES_PER_SECOND


def spill_seconds(
    stages: tuple[SpillingStage, ...],
    offered: Offered,
    ratio: float,
    shuffle_partitions: int | None = None,
) -> FloatArray:
    """(n,) time that spilling adds to a replay at `ratio` times the input; below 0 where more
    memory, or smaller partitions, save what the log spilled.

    Args:
        shuffle_partitions: number of shuffle partitions, None for the run's own.
    """
    added = np.zeros(len(offered.slots))
    unlike, known, alike = offered.distinct()
    if not known.size:
        return added
    least, fewest = float(unlike.task_bytes.min()), float(unlike.slots.min())
    affected = list(_affected(stages, least, fewest, ratio, shuffle_partitions))
    if not affected:
        return added
    found = np.zeros(len(unlike.slots))
    for stage in affected:
        tasks, spilled = _spilled(stage, unlike, ratio, shuffle_partitions)
        at_once = stage.shape.at_once(unlike.slots, tasks)
        found += stage.seconds(spilled - stage.grown_bytes(ratio)) / at_once
    added[known] = found[alike]
    return added


def _spilled(
    stage: SpillingStage, offered: Offered, ratio: float, shuffle_partitions: int | None
) -> tuple[FloatArray, FloatArray]:
    """(n,) tasks of a stage, and (n,) bytes that it spills."""
    tasks, data = _tasks(stage, offered, ratio, shuffle_partitions)
    filled = stage.fills * offered.to_each(tasks, stage.shape.stage.task_cpus)
    need = stage.task_bytes * data
    left = filled if stage.spilled_bytes else filled / 2.0
    return tasks, np.where(need > filled, need - left, 0.0) * tasks


def _tasks(
    stage: SpillingStage, offered: Offered, ratio: float, shuffle_partitions: int | None
) -> tuple[FloatArray, FloatArray]:
    """`StageShape.data_on`, where slots do not matter only once."""
    if not stage.shape.counts_slots:
        return stage.shape.data_on(ratio, shuffle_partitions, offered.slots[:1])
    counted, which = distinct(offered.slots)
    tasks, data = stage.shape.data_on(ratio, shuffle_partitions, counted)
    return tasks[which], data[which]


def _affected(
    stages: Sequence[SpillingStage],
    memory: float,
    slots: float,
    ratio: float,
    shuffle_partitions: int | None,
) -> Iterator[SpillingStage]:
    """Those that spilled in the log, or may spill with so many bytes for a task on so many slots or
    more. Of hundreds of stages few do: the others are told apart by plain numbers."""
    for stage in stages:
        count = stage.shape.partition_count(ratio, shuffle_partitions)
        fewest = max(1.0, min(count.own, count.at(slots), LARGEST_TASKS))
        need = stage.task_bytes * stage.shape.data(ratio) * stage.shape.stage.tasks / fewest
        if stage.spilled_bytes or need > stage.fills * memory:
            yield stage


def spilled_bytes(
    stage: SpillingStage, offered: Offered, ratio: float, shuffle_partitions: int | None = None
) -> float:
    """What a stage spills on the one cluster of `offered`."""
    return float(_spilled(stage, offered, ratio, shuffle_partitions)[1][0])


def memory_of_task(
    stage: SpillingStage, offered: Offered, ratio: float, shuffle_partitions: int | None = None
) -> float:
    """Bytes of memory that a task of the stage has there."""
    tasks, _ = _tasks(stage, offered, ratio, shuffle_partitions)
    return float(offered.to_each(tasks, stage.shape.stage.task_cpus)[0])
