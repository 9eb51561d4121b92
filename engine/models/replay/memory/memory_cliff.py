"""The memory cliff of one log: whether its cached data fits on another cluster, and the cost of
cache misses where it does not.

Cached bytes grow with the input, storage memory with the executors. Of the blocks that do not fit,
those stored nowhere else are recomputed by every stage that reads them (Spark does not evict blocks
of an RDD for others of the same RDD, so that the part that fits stays); blocks backed by disk are
read from there. Spills of task memory are in `spilling.py`.

In: the replay of a log. Out: shares of its cache that fit or survive evictions on n clusters, and
the seconds that misses add. Explained in docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import BoolArray, FloatArray
from engine.models.replay.memory.block_costs import (
    CacheReader,
    all_miss_seconds,
    disk_rate_of,
    miss_seconds_at,
    recompute_costs,
)
from engine.models.replay.memory.cache_readers import (
    ReaderMemory,
    all_on_disk,
    cached_share_in_log,
    hit_all_blocks,
    missed_share,
    sources_of,
)
from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory.cached_rdds import first_complete_stage
from engine.models.replay.memory.evictions import EvictingStages
from engine.models.replay.memory.executor_memory import ExecutorMemory, own_batch
from engine.models.replay.memory.full_cache import with_full_cache
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel

LEAST_READ = 0.05
"""A stage that reads cached data keeps this share of its time when nothing is computed again."""


@dataclass(frozen=True, eq=False)
class MemoryCliff:
    """The cached data of one log, and the costs of not holding it in memory.

    Three shares of the cached data are kept apart: `log_share` was in memory in the log;
    `share_by_rule` fits on the log's cluster by the rule applied to other clusters;
    `surviving_by_rule` survives the evicting stages there.

    Args:
        cached_bytes: bytes to be cached at the observed input.
        inferred: whether `cached_bytes` was inferred from bytes read, for want of block sizes.
        log_share: share of `cached_bytes` that was in memory during the run.
        sources: index of each stage that reads cached data -> index of the stage that computed it.
        cache: the persisted RDDs and which stages need them; None where the log does not tell.
        memory: how its executors divide their heap.
        disk_rate: bytes per second in which a task reads blocks from disk.
        evicting_stages: the stages that evict blocks; None where the log shows none.
        power: exponent of the input with which cached bytes grow.
    """

    replay: Replay
    cached_bytes: float
    inferred: bool
    log_share: float
    sources: Mapping[int, int]
    cache: CacheReplay | None
    memory: ExecutorMemory
    disk_rate: float
    evicting_stages: EvictingStages | None = None
    power: float = 1.0

    @classmethod
    def of(cls, replay: Replay, *, disk_rate: float | None = None) -> MemoryCliff | None:
        """None where no stage reads cached data, or every read missed.

        Args:
            disk_rate: None to estimate it from this log.
        """
        run = replay.run
        sources = sources_of(run.stages)
        if not sources:
            return None
        cache = CacheReplay.of(run)
        cached_bytes, inferred = run.cached_bytes, False
        read = max(run.stages[index].cached_input_bytes or 0.0 for index in sources)
        if not cached_bytes:
            cached_bytes, inferred = max(read, cache.peak_bytes if cache is not None else 0.0), True
        memory, storage = ExecutorMemory.of(run), run.storage_memory_bytes or math.inf
        if all_on_disk(run.stages, sources) or (not inferred and cached_bytes > storage):
            log_share = min(1.0, _storage_by_rule(replay, memory, sources) / cached_bytes)
        else:
            if inferred:
                storage = _storage_by_rule(replay, memory, sources)
            log_share = cached_share_in_log(run, sources, cached_bytes, storage)
            cached_bytes = (storage if inferred and log_share < 1.0 else cached_bytes) / log_share
        if inferred and cache is not None:
            cache = cache.scaled_to(cached_bytes)
        return cls(
            replay,
            cached_bytes,
            inferred,
            log_share,
            sources,
            cache,
            memory,
            disk_rate or disk_rate_of(run.stages),
            None if cache is None else EvictingStages.of(replay, cache),
        )

    @cached_property
    def share_by_rule(self) -> float:
        """Share of the cache that fits on the log's own cluster, by the rule applied to other
        clusters. It is less than `log_share` where the execution memory of tasks evicts blocks:
        what that costs, if anything, is part of the observed stage times."""
        batch = own_batch(self.replay.run)
        return (
            self.log_share
            if batch is None
            else min(self.log_share, float(self.fitting_share(batch, 1.0)[0]))
        )

    @cached_property
    def surviving_by_rule(self) -> float:
        """Share of the cache that survives the evicting stages on the log's own cluster."""
        batch = own_batch(self.replay.run)
        surviving = math.nan if batch is None else float(self._surviving(batch, 1.0, None)[0])
        return 1.0 if math.isnan(surviving) else surviving

    @cached_property
    def origin_unknown(self) -> bool:
        """Whether the log misses a stage that computed cached data: the first stage known to need
        the data already found it, so that the cost of recomputing it is unknown. Data backed by
        disk is read from there and does not count."""
        run = self.replay.run
        if not run.lost:
            return False
        computed = first_complete_stage(run.stages, [stage.cached_rdds for stage in run.stages])
        return any(
            bool(run.stages[index].cached_input_bytes)
            and not set(run.stages[index].cached_rdds) <= set(run.stages[index].disk_backed_rdds)
            and all(computed[rdd] == index for rdd in run.stages[index].cached_rdds)
            for index in set(self.sources.values())
        )

    @cached_property
    def cache_readers(self) -> tuple[CacheReader, ...]:
        """The stages with cache misses where memory is short; the cache is simulated on first
        use."""
        if self.cache is None:
            miss_seconds = {
                index: all_miss_seconds(self.replay, index, source, self.disk_rate) * (1.0 - SHARES)
                for index, source in self.sources.items()
            }
        else:
            cost = recompute_costs(self.replay, self.cache, self.disk_rate)
            miss_seconds = self.cache.miss_seconds(cost, self.cached_bytes)
        evicted = self._evicted_seconds()
        none = np.zeros(len(SHARES))
        return tuple(
            self._reader(index, miss_seconds.get(index, none), evicted.get(index, none))
            for index in sorted(miss_seconds.keys() | evicted.keys())
        )

    def _reader(self, index: int, not_fitting: FloatArray, evicted: FloatArray) -> CacheReader:
        """The costs of one stage, scaled down where its misses in the log would take more than
        `1 - LEAST_READ` of its observed task time.

        Args:
            not_fitting, evicted: (`len(SHARES)`,) task seconds of misses of blocks that do not fit,
                and of evicted ones.
        """
        run = self.replay.run
        in_log = index in self.sources and not hit_all_blocks(run, index, self.sources)
        if not in_log:
            evicted = evicted - np.interp(self.surviving_by_rule, SHARES, evicted)
        in_log_seconds = float(
            miss_seconds_at((not_fitting, evicted), self.log_share, self.surviving_by_rule)
        )
        most = run.stages[index].task_seconds.total * (1.0 - LEAST_READ)
        part = min(1.0, most / in_log_seconds) if in_log_seconds > 0.0 else 1.0
        evicted_in_log = (
            in_log_seconds - float(np.interp(self.log_share, SHARES, not_fitting))
            if in_log
            else 0.0
        )
        missed_seconds = self._missed_seconds(index, float(not_fitting[0]), most) if in_log else 0.0
        crowded_out = missed_seconds - in_log_seconds * part if in_log else 0.0
        return CacheReader(
            index, not_fitting * part, evicted * part, evicted_in_log * part, max(0.0, crowded_out)
        )

    def _missed_seconds(self, index: int, full_miss_seconds: float, most: float) -> float:
        """Task time in the log of a stage's misses in a cache that would fit but for the execution
        memory of its readers; 0 where that leaves enough for all, or the log does not tell.

        Args:
            full_miss_seconds: task time of missing all of the cached data.
            most: upper limit of the result.
        """
        if self.share_by_rule >= self.log_share:
            return 0.0
        missed = missed_share(self.replay.run, index, self.sources[index])
        return min(most, (missed or 0.0) * full_miss_seconds)

    def _evicted_seconds(self) -> dict[int, FloatArray]:
        """Index of a stage -> `CacheReader.evicted_seconds` before any offset."""
        if self.cache is None or self.evicting_stages is None:
            return {}
        cost = recompute_costs(self.replay, self.cache, self.disk_rate)
        return self.cache.eviction_seconds(cost, self.cached_bytes, self.evicting_stages.indices)

    @cached_property
    def full_cache_replay(self) -> Replay:
        """The replay as if all of the cache had been in memory in the log (`full_cache.py`)."""
        misses = {}
        for reader in self.cache_readers:
            seconds = float(np.interp(self.log_share, SHARES, reader.miss_seconds))
            seconds += reader.evicted_in_log + reader.crowded_out_in_log
            if seconds > 0.0:
                missed = min(1.0, seconds / float(reader.miss_seconds[0]))
                misses[reader.stage_index] = seconds, missed
        return with_full_cache(self.replay, misses)

    def recovered_share(self, share: FloatArray, surviving: FloatArray | float = 0.0) -> FloatArray:
        """(n,) share (0 ... 1) of the log's miss time that is saved where such shares of the cache
        fit, and the shares `surviving` survive evictions."""
        if (share <= self.share_by_rule).all() and np.all(surviving <= self.surviving_by_rule):
            return np.zeros(len(share))
        in_log, remaining = 0.0, np.zeros(len(share))
        for reader in self.cache_readers:
            in_log_seconds = (
                float(np.interp(self.log_share, SHARES, reader.miss_seconds))
                + reader.evicted_in_log
            )
            miss_seconds = np.interp(share, SHARES, reader.miss_seconds)
            if reader.evicted_in_log:
                miss_seconds = miss_seconds + reader.eviction_cost(share, surviving)
            in_log += in_log_seconds + reader.crowded_out_in_log
            remaining += np.minimum(in_log_seconds, miss_seconds) + reader.crowded_out_seconds(
                share, self.share_by_rule
            )
        return np.clip(1.0 - remaining / in_log, 0.0, 1.0) if in_log > 0.0 else remaining * 0.0

    def needed_bytes(self, ratio: float, executors: FloatArray | float = math.inf) -> FloatArray:
        """Bytes to be cached at `ratio` times the input on (n,) executors, or a number of them."""
        grown = self.cached_bytes * math.exp(self.power * math.log(ratio))
        if self.cache is None:
            return np.full(np.shape(executors), grown)
        return grown * self.cache.copies_ratio(executors)

    def storage_bytes(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) storage memory of the whole cluster while stages read cached blocks at `ratio` times
        the input; NaN where its memory is unknown."""
        if self.reader_memory is None:
            return self.memory.storage_bytes(batch, 0.0)
        slots = np.where(batch.slots >= 1.0, batch.slots, 1.0)
        task_bytes = self.reader_memory.bytes_per_core(ratio, shuffle_partitions, slots)
        return self.memory.storage_bytes(batch, task_bytes)

    @cached_property
    def reader_memory(self) -> ReaderMemory | None:
        """Execution memory of the tasks that read the cache; None where they take none."""
        return ReaderMemory.of(self.replay, self.sources)

    def fitting_share(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) share of the cached data that fits; as in the log where memory is unknown."""
        needed = self.needed_bytes(ratio, batch.executors)
        share = np.minimum(1.0, self.storage_bytes(batch, ratio, shuffle_partitions) / needed)
        as_there = np.isnan(share) | np.isclose(share, self.log_share, rtol=1e-9, atol=0.0)
        return np.asarray(np.where(as_there, self.log_share, share))

    def surviving_share(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) share of the cached data that survives the evicting stages; as in the log where
        memory is unknown."""
        surviving = self._surviving(batch, ratio, shuffle_partitions)
        as_there = np.isnan(surviving) | np.isclose(
            surviving, self.surviving_by_rule, rtol=1e-9, atol=0.0
        )
        return np.asarray(np.where(as_there, self.surviving_by_rule, surviving))

    def _surviving(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        needed = self.needed_bytes(ratio, batch.executors)
        if self.evicting_stages is None:
            return np.ones(len(batch))
        room = self.evicting_stages.storage_left_bytes(
            self.memory, batch, ratio, shuffle_partitions
        )
        empty = self.evicting_stages.fragmentation_bytes(batch, ratio, needed / self.cached_bytes)
        part = np.clip((room - empty) / needed, 0.0, 1.0)
        return np.asarray(np.where(room >= needed, 1.0, part))

    def evicts(self, surviving: float) -> bool:
        """Whether any stage misses evicted blocks where the share `surviving` of a cache that fits
        survives: possibly no later stage reads it, and the log may show that none missed any."""
        return any(
            reader.eviction_cost(1.0, surviving) > 0.0
            for reader in self.cache_readers
            if reader.evicted_in_log or surviving < self.surviving_by_rule
        )

    def saturated(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> BoolArray:
        """(n,) whether more nodes would hold no more of the cached data: all of it fits, or the
        cluster's memory is unknown."""
        storage = self.storage_bytes(batch, ratio, shuffle_partitions)
        does_not_fit = storage < self.needed_bytes(ratio, batch.executors)
        return np.asarray(
            ~does_not_fit & ~(self._surviving(batch, ratio, shuffle_partitions) < 1.0)
        )

    def added_seconds(
        self,
        slots: FloatArray,
        share: FloatArray,
        ratio: float,
        shuffle_partitions: int | None = None,
        surviving: FloatArray | float = 1.0,
    ) -> FloatArray:
        """(n,) time that further cache misses add to the replay where less of the cache fits than
        on the log's own cluster, whose misses are part of its stage times; 0 where more fits
        (`full_cache_replay` is for that).

        Args:
            share: (n,) share of the cached data that fits.
            shuffle_partitions: number of shuffle partitions, None for the run's own.
            surviving: (n,) share of it that survives evictions.
        """
        total, share = np.zeros(len(slots)), np.minimum(share, self.share_by_rule)
        surviving = np.minimum(surviving, self.surviving_by_rule)
        if (share == self.share_by_rule).all() and np.all(surviving == self.surviving_by_rule):
            return total
        same_slots: dict[tuple[float, int, bool], tuple[StageModel, FloatArray]] = {}
        for reader in self.cache_readers:
            model = self.replay.models[reader.stage_index]
            scaled = model.scaled(ratio, None)
            miss_seconds = np.stack((reader.miss_seconds, reader.evicted_seconds))
            miss_seconds *= scaled.partitions * scaled.work / model.stage.tasks
            if model.depends_on_cluster:
                tasks, _ = model.largest_task_bytes(ratio, shuffle_partitions, slots)
                total += self._added_miss_seconds(
                    miss_seconds, share, surviving
                ) / model.concurrent_tasks(slots, tasks)
            else:
                count = float(model.scaled(ratio, shuffle_partitions).tasks)
                key = count, model.stage.task_cpus, bool(reader.evicted_seconds[0])
                summed = same_slots[key][1] + miss_seconds if key in same_slots else miss_seconds
                same_slots[key] = model, summed
        for (count, *_), (model, miss_seconds) in same_slots.items():
            total += self._added_miss_seconds(
                miss_seconds, share, surviving
            ) / model.concurrent_tasks(slots, count)
        return total

    def _added_miss_seconds(
        self, miss_seconds: FloatArray, share: FloatArray, surviving: FloatArray | float
    ) -> FloatArray:
        """(n,) task time of misses at each share of what fits and survives evictions, less that on
        the log's own cluster.

        Args:
            miss_seconds: (2, `len(SHARES)`) as `CacheReader` has them.
        """
        cluster_seconds = miss_seconds_at(miss_seconds, share, surviving)
        return cluster_seconds - miss_seconds_at(
            miss_seconds, self.share_by_rule, self.surviving_by_rule
        )


def _storage_by_rule(replay: Replay, memory: ExecutorMemory, sources: Mapping[int, int]) -> float:
    """Storage memory of the run's own cluster, by the rule applied to other clusters, so that as
    much fits there as in the log; the storage memory reported in the log where the rule has no
    answer."""
    reported, batch = replay.run.storage_memory_bytes or math.inf, own_batch(replay.run)
    if batch is None or math.isinf(reported):
        return reported
    reader_memory = ReaderMemory.of(replay, sources)
    by_rule = float(
        memory.storage_bytes(batch, reader_memory.peak_bytes if reader_memory else 0.0)[0]
    )
    return by_rule if by_rule > 0.0 else reported
