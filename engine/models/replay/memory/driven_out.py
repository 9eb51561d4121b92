"""Cached blocks that stages in between drive out of memory.

Tasks that sort, join or aggregate may take what cached blocks leave of their executor's memory, and
for more than that Spark drops blocks, whole and the longest unused first, down to the share that
`spark.memory.storageFraction` protects. Whoever reads the cache next computes them again and stores
them again, so that each such stage costs as much once more. Stages that read the cache themselves
are not meant here: what their tasks take is gone for as long as they run (`executor_memory.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.models.replay.memory.cache_replay import CacheReplay
from engine.models.replay.memory.executor_memory import ExecutorMemory, tasks_beside
from engine.models.replay.memory.spilling import SpillingStage, spilling_stages
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageShape

MOST_PRESSING = 0.5
"""Stages whose tasks take at least this share of what those of the one take that takes most drive
out as much as it; the others drive out nothing."""

EMPTY_BLOCKS = 0.5
"""Blocks go whole: of the room that is left on an executor half a block is in the mean."""


@dataclass(frozen=True, eq=False)
class Pressing:
    """The stages between those that read a cache which want most memory for their tasks.

    Args:
        places: theirs in the run, in order.
        stage: the one that takes most.
        uneven: what the task of it that takes most takes, over the mean.
        maker: the stage that computed the largest of the cached RDDs: it has a task for each block.
        block_bytes: mean block at the observed input.
    """

    places: tuple[int, ...]
    stage: SpillingStage
    uneven: float
    maker: StageShape
    block_bytes: float

    @classmethod
    def of(cls, replay: Replay, cache: CacheReplay) -> Pressing | None:
        """None where no stage in between takes memory, as far as the log tells."""
        taking_memory = {id(stage.shape): stage for stage in spilling_stages(replay)}
        taking = {
            place: (taking_memory[id(shape)], _uneven(shape))
            for place in _between(cache.needed)
            if id(shape := replay.shapes[place]) in taking_memory
        }
        if not taking:
            return None
        most = {
            place: stage.task_bytes * max(uneven, _beside(stage, replay))
            for place, (stage, uneven) in taking.items()
        }
        places = tuple(p for p in taking if most[p] >= MOST_PRESSING * max(most.values()))
        largest = max(cache.origins, key=lambda rdd: cache.stored_bytes[rdd])
        blocks = sum(replay.run.stages[origin].tasks for origin in cache.origins.values())
        block_bytes = sum(cache.stored_bytes.values()) / blocks
        stage, uneven = taking[max(most, key=lambda place: most[place])]
        return cls(places, stage, uneven, replay.shapes[cache.origins[largest]], block_bytes)

    def room_bytes(
        self,
        memory: ExecutorMemory,
        batch: ClusterBatch,
        ratio: float,
        shuffle_partitions: int | None,
    ) -> FloatArray:
        """(n,) memory of the whole cluster that is left to cached blocks while these stages run on
        n clusters at `ratio` times the input; NaN where it is unknown."""
        cores, shape = batch.cores_held, self.stage.shape
        slots = np.where(batch.slots >= 1.0, batch.slots, 1.0)
        tasks, data = shape.data_on(ratio, shuffle_partitions, slots)
        cpus = shape.stage.task_cpus
        beside = tasks_beside(tasks, cpus=cpus, slots=slots, executor_cores=cores)
        taken = self.stage.task_bytes * data * np.maximum(beside, self.uneven)
        return memory.storage_bytes(batch, taken / cores)

    def empty_bytes(self, batch: ClusterBatch, ratio: float, needed: FloatArray) -> FloatArray:
        """(n,) room of the whole cluster that no block fits in where some are driven out.

        Args:
            needed: (n,) what all blocks take, over what they take at the observed input.
        """
        blocks = self.maker.scaled(ratio, None).tasks / self.maker.stage.tasks
        return np.asarray(EMPTY_BLOCKS * self.block_bytes * needed / blocks * batch.executors)


def _between(needed: Sequence[Sequence[int]]) -> list[int]:
    """The stages that need none of the cached RDDs, while later ones do and earlier ones did."""
    reading = [place for place, rdds in enumerate(needed) if rdds]
    inside = range(reading[0], reading[-1]) if reading else ()
    return [place for place in inside if not needed[place]]


def _uneven(shape: StageShape) -> float:
    peak = shape.stage.peak_execution_memory_bytes
    return peak.maximum / peak.mean if peak and peak.mean and peak.maximum else 1.0


def _beside(stage: SpillingStage, replay: Replay) -> float:
    """Tasks of a stage that ran beside each other on an executor of the log."""
    ran = stage.shape.stage
    cores = replay.slots / (replay.run.cluster.executors or replay.slots)
    return float(
        tasks_beside(ran.tasks, cpus=ran.task_cpus, slots=replay.slots, executor_cores=cores)
    )
