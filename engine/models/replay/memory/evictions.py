"""Eviction of cached blocks by the execution memory of stages that run between cache reads.

Tasks that sort, join or aggregate may take the memory that cached blocks leave free. For more than
that Spark evicts blocks, whole and least recently used first, down to the share that
`spark.memory.storageFraction` protects. The next stage that reads the cache recomputes and stores
them again, so that each evicting stage costs as much once more. Stages that read the cache
themselves are not meant here: the memory of their tasks is unavailable to blocks as long as they
run (`ReaderMemory`).

In: the replay of a log and its cache. Out: storage memory that is left to blocks on other clusters.
Explained in docs/models/sparkplan_rules_memory.md#what-other-stages-drive-out-of-the-cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.models.replay.memory.cache_replay import CacheReplay
from engine.models.replay.memory.executor_memory import (
    ExecutorMemory,
    concurrent_tasks_per_executor,
)
from engine.models.replay.memory.spilling import SpillingStage, spilling_stages
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel

MOST_PRESSING = 0.5
"""A stage whose tasks take at least this share of the largest execution memory among such stages
evicts as much as that stage; the others evict nothing."""

EMPTY_BLOCKS = 0.5
"""Storage memory of an executor that stays empty, in blocks: blocks are evicted whole, so that half
a block's space is unused on average."""


@dataclass(frozen=True, eq=False)
class EvictingStages:
    """The stages between readers of a cache whose tasks take most execution memory.

    Args:
        indices: their indices in the run, in order.
        stage: the one that takes most.
        imbalance: peak execution memory of its largest task, over the mean of its tasks.
        maker: the stage that computed the largest cached RDD: it has one task per block.
        block_bytes: mean block size at the observed input.
    """

    indices: tuple[int, ...]
    stage: SpillingStage
    imbalance: float
    maker: StageModel
    block_bytes: float

    @classmethod
    def of(cls, replay: Replay, cache: CacheReplay) -> EvictingStages | None:
        """None where the log reports no execution memory of a stage in between."""
        spilling = {id(stage.model): stage for stage in spilling_stages(replay)}
        candidates = {
            index: (spilling[id(model)], _imbalance(model))
            for index in _stages_between_reads(cache.needed)
            if id(model := replay.models[index]) in spilling
        }
        if not candidates:
            return None
        peak_bytes = {
            index: stage.task_bytes * max(imbalance, _concurrent_in_log(stage, replay))
            for index, (stage, imbalance) in candidates.items()
        }
        indices = tuple(
            p for p in candidates if peak_bytes[p] >= MOST_PRESSING * max(peak_bytes.values())
        )
        largest = max(cache.origins, key=lambda rdd: cache.stored_bytes[rdd])
        blocks = sum(replay.run.stages[origin].tasks for origin in cache.origins.values())
        block_bytes = sum(cache.stored_bytes.values()) / blocks
        stage, imbalance = candidates[max(peak_bytes, key=lambda index: peak_bytes[index])]
        return cls(indices, stage, imbalance, replay.models[cache.origins[largest]], block_bytes)

    def storage_left_bytes(
        self,
        memory: ExecutorMemory,
        batch: ClusterBatch,
        ratio: float,
        shuffle_partitions: int | None,
    ) -> FloatArray:
        """(n,) storage memory left to cached blocks, over the whole cluster, while these stages run
        on n clusters at `ratio` times the input; NaN where it is unknown."""
        cores, model = batch.cores_held, self.stage.model
        slots = np.where(batch.slots >= 1.0, batch.slots, 1.0)
        tasks, data = model.largest_task_bytes(ratio, shuffle_partitions, slots)
        cpus = model.stage.task_cpus
        concurrent = concurrent_tasks_per_executor(
            tasks, cpus=cpus, slots=slots, executor_cores=cores
        )
        taken_bytes = self.stage.task_bytes * data * np.maximum(concurrent, self.imbalance)
        return memory.storage_bytes(batch, taken_bytes / cores)

    def fragmentation_bytes(
        self, batch: ClusterBatch, ratio: float, needed: FloatArray
    ) -> FloatArray:
        """(n,) storage memory of the whole cluster that stays empty after evictions, since no whole
        block fits in it.

        Args:
            needed: (n,) bytes of all blocks, over those at the observed input.
        """
        blocks = self.maker.scaled(ratio, None).tasks / self.maker.stage.tasks
        return np.asarray(EMPTY_BLOCKS * self.block_bytes * needed / blocks * batch.executors)


def _stages_between_reads(needed: Sequence[Sequence[int]]) -> list[int]:
    """Indices of the stages between the first and the last that need a cached RDD which need none
    themselves."""
    reading = [index for index, rdds in enumerate(needed) if rdds]
    inside = range(reading[0], reading[-1]) if reading else ()
    return [index for index in inside if not needed[index]]


def _imbalance(model: StageModel) -> float:
    """Largest over mean peak execution memory of a stage's tasks; 1 where it is unknown."""
    peak = model.stage.peak_execution_memory_bytes
    return peak.maximum / peak.mean if peak and peak.mean and peak.maximum else 1.0


def _concurrent_in_log(stage: SpillingStage, replay: Replay) -> float:
    """Tasks of a stage that ran concurrently on one executor of the log."""
    ran = stage.model.stage
    cores = replay.slots / (replay.run.cluster.executors or replay.slots)
    return float(
        concurrent_tasks_per_executor(
            ran.tasks, cpus=ran.task_cpus, slots=replay.slots, executor_cores=cores
        )
    )
