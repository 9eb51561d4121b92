"""Task memory: what stages spill to disk on other executors, and what that takes.

A task's share of its executor's memory is that memory over the tasks beside it (Spark gives each at
least half of that, and all of it where others need less). What a task needs beyond its share is
written to disk and read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.executor_memory import ExecutorMemory, own_batch
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitions import LARGEST_TASKS
from engine.models.stages.task_times import StageShape
from engine.profile import Run, StageRun

DISK_BYTES_PER_SECOND = 100e6
"""Prior: what one task reads or writes of its own disk, for logs that do not show it."""

SLOWEST_DISK, FASTEST_DISK = 20e6, 1e9
"""A rate outside of these is not that of a disk: the task waited for something else as well."""

SPILLED_SIZE = 0.4
"""Prior: bytes on disk per spilled byte in memory (serialised and compressed)."""

MOST_EXPANSION = 8.0
"""Execution memory beyond so many times the bytes that a task reads was allocated beforehand: it
does not grow with the data, and is given up before anything is spilled."""


@dataclass(frozen=True, slots=True)
class SpillingStage:
    """A stage that may spill.

    Args:
        shape: how it grows with the input.
        task_bytes: memory that a task needs for its data at the observed input.
        spilled_bytes: what it spilled when it ran, in memory.
        disk_share: bytes on disk per spilled byte.
        disk_bytes_per_second: of one task.
        fills: share of a task's memory that it fills before it spills, as the log shows where it
            spilled: memory grows by doubling, others use it too, and pages are taken as a whole.
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
    own, found = _own_bytes(replay.run), []
    for shape in replay.shapes:
        stage = shape.stage
        peak = stage.peak_execution_memory_bytes
        spilled = stage.memory_spilled_bytes or 0.0
        most = MOST_EXPANSION * stage.read_bytes / stage.tasks
        held = min(peak.mean or 0.0, most) if peak else 0.0
        if held + spilled > 0.0:
            share, rate = _disk(stage, spilled)
            if spilled and not held:
                held = own or 0.0
            fills = held / own if spilled and own else 1.0
            need = held + spilled / stage.tasks
            found.append(SpillingStage(shape, need, spilled, share, rate, fills))
    return tuple(found)


def _own_bytes(run: Run) -> float | None:
    """Memory of each running task of the run itself; None where it is not known."""
    batch = own_batch(run)
    own = math.nan if batch is None else float(ExecutorMemory.of(run).task_bytes(batch)[0])
    return own if own > 0.0 else None


def _disk(stage: StageRun, spilled: float) -> tuple[float, float]:
    """Bytes on disk per spilled byte, and the rate of the disk: what a stage that spilled wrote and
    read over the time in which it neither computed nor waited for a shuffle."""
    written = stage.disk_spilled_bytes or 0.0
    if not spilled or not written:
        return SPILLED_SIZE, DISK_BYTES_PER_SECOND
    parts = (stage.cpu_seconds, stage.gc_seconds, stage.fetch_wait_seconds)
    ran = stage.run_seconds.total if stage.run_seconds else 0.0
    waited = ran - sum(part.total for part in parts if part is not None)
    rate = 2.0 * written / waited if waited > 0.0 else 0.0
    known = SLOWEST_DISK <= rate <= FASTEST_DISK and stage.cpu_seconds is not None
    return min(1.0, written / spilled), rate if known else DISK_BYTES_PER_SECOND


def spill_seconds(
    stages: tuple[SpillingStage, ...],
    available: FloatArray,
    slots: FloatArray,
    ratio: float,
    shuffle_partitions: int | None = None,
) -> FloatArray:
    """(n,) time that spilling adds to a replay at `ratio` times the input; below 0 where more
    memory, or smaller partitions, save what the log spilled.

    Args:
        available: (n,) bytes of memory for each running task; NaN where unknown.
        shuffle_partitions: number of shuffle partitions, None for the run's own.
    """
    added = np.zeros(len(slots))
    known = np.flatnonzero(~np.isnan(available))
    if not known.size:
        return added
    least, fewest = float(available[known].min()), float(slots[known].min())
    affected = list(_affected(stages, least, fewest, ratio, shuffle_partitions))
    if not affected:
        return added
    counted, of_slots = np.unique(slots[known], return_inverse=True)
    memory, of_memory = np.unique(available[known], return_inverse=True)
    alike: dict[float, FloatArray] = {}
    for stage in affected:
        asked = counted if stage.shape.counts_slots else counted[:1]
        tasks, data = stage.shape.data_on(ratio, shuffle_partitions, asked)
        grown = stage.grown_bytes(ratio)
        if len(asked) == 1:
            beyond = np.maximum(0.0, stage.task_bytes * data - stage.fills * memory) * tasks
            count = float(tasks[0])
            alike[count] = alike.get(count, 0.0) + stage.seconds(beyond - grown)
            continue
        needed, many = stage.task_bytes * data[of_slots], tasks[of_slots]
        beyond = np.maximum(0.0, needed - stage.fills * memory[of_memory]) * many
        added[known] += stage.seconds(beyond - grown) / np.minimum(slots[known], many)
    for count, seconds in alike.items():
        added[known] += seconds[of_memory] / np.minimum(slots[known], count)
    return added


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
    stage: SpillingStage,
    available: float,
    slots: float,
    ratio: float,
    shuffle_partitions: int | None = None,
) -> float:
    """What a stage spills on so many slots with so many bytes of memory per task."""
    tasks, data = stage.shape.data_on(ratio, shuffle_partitions, np.asarray([slots]))
    return float(max(0.0, stage.task_bytes * data[0] - stage.fills * available) * tasks[0])
