"""The memory cliff of one log: whether its cached data fits on another cluster, and the cost of
cache misses where it does not.

Cached bytes grow with the input, storage memory with the executors. Of the blocks that do not fit,
those stored nowhere else are recomputed by every stage that reads them (Spark does not evict blocks
of an RDD for others of the same RDD, so that the part that fits stays); blocks backed by disk are
read from there. Spills of task memory are in `spilling.py`.
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
    all_on_disk,
    hit_all_blocks,
    missed_share,
    sources_of,
)
from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory.cached_rdds import first_complete_stage
from engine.models.replay.memory.cached_share import cached_share_in_log
from engine.models.replay.memory.evictions import EvictingStages
from engine.models.replay.memory.executor_memory import ExecutorMemory, own_batch
from engine.models.replay.memory.full_cache import with_full_cache
from engine.models.replay.memory.reader_memory import ReaderMemory
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel

LEAST_READ = 0.05
"""A stage that reads cached data keeps this share of its time when nothing is computed again."""


@dataclass(frozen=True, eq=False)
class MemoryCliff:
    """The cached data of one log, and the costs of not holding it in memory.

    Three shares of the cached data are kept apart: `log_share` was in memory in the log;
    `share_by_rule` fits on the log's cluster by the rule applied to other clusters; `left_by_rule`
    survives the evicting stages there.

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
        kept, inferred = run.cached_bytes, False
        read = max(run.stages[place].cached_input_bytes or 0.0 for place in sources)
        if not kept:
            kept, inferred = max(read, cache.peak_bytes if cache is not None else 0.0), True
        memory, storage = ExecutorMemory.of(run), run.storage_memory_bytes or math.inf
        if all_on_disk(run.stages, sources) or (not inferred and kept > storage):
            fits = min(1.0, _own_storage(replay, memory, sources) / kept)
        else:
            if inferred:
                storage = _own_storage(replay, memory, sources)
            fits = cached_share_in_log(run, sources, kept, storage)
            kept = (storage if inferred and fits < 1.0 else kept) / fits
        if inferred and cache is not None:
            cache = cache.scaled_to(kept)
        return cls(
            replay,
            kept,
            inferred,
            fits,
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
    def left_by_rule(self) -> float:
        """Share of the cache that survives the evicting stages on the log's own cluster."""
        batch = own_batch(self.replay.run)
        own = math.nan if batch is None else float(self._left(batch, 1.0, None)[0])
        return 1.0 if math.isnan(own) else own

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
            bool(run.stages[place].cached_input_bytes)
            and not set(run.stages[place].cached_rdds) <= set(run.stages[place].disk_backed_rdds)
            and all(computed[rdd] == place for rdd in run.stages[place].cached_rdds)
            for place in set(self.sources.values())
        )

    @cached_property
    def cache_readers(self) -> tuple[CacheReader, ...]:
        """The stages with cache misses where memory is short; the cache is simulated on first
        use."""
        if self.cache is None:
            miss_seconds = {
                place: all_miss_seconds(self.replay, place, source, self.disk_rate) * (1.0 - SHARES)
                for place, source in self.sources.items()
            }
        else:
            cost = recompute_costs(self.replay, self.cache, self.disk_rate)
            miss_seconds = self.cache.miss_seconds(cost, self.cached_bytes)
        evicted = self._evicted_seconds()
        none = np.zeros(len(SHARES))
        return tuple(
            self._reader(place, miss_seconds.get(place, none), evicted.get(place, none))
            for place in sorted(miss_seconds.keys() | evicted.keys())
        )

    def _reader(self, place: int, lost: FloatArray, driven: FloatArray) -> CacheReader:
        """The costs of one stage, scaled down where its misses in the log would take more than
        `1 - LEAST_READ` of its observed task time.

        Args:
            lost, driven: (`len(SHARES)`,) task seconds of misses of blocks that do not fit, and of
                evicted ones.
        """
        run = self.replay.run
        in_log = place in self.sources and not hit_all_blocks(run, place, self.sources)
        if not in_log:
            driven = driven - np.interp(self.left_by_rule, SHARES, driven)
        seen = float(miss_seconds_at((lost, driven), self.log_share, self.left_by_rule))
        most = run.stages[place].task_seconds.total * (1.0 - LEAST_READ)
        part = min(1.0, most / seen) if seen > 0.0 else 1.0
        out = seen - float(np.interp(self.log_share, SHARES, lost)) if in_log else 0.0
        missed = self._missed_seconds(place, float(lost[0]), most) if in_log else 0.0
        crowded_out = missed - seen * part if in_log else 0.0
        return CacheReader(place, lost * part, driven * part, out * part, max(0.0, crowded_out))

    def _missed_seconds(self, place: int, all_miss_seconds: float, most: float) -> float:
        """Task time in the log of a stage's misses in a cache that would fit but for the execution
        memory of its readers; 0 where that leaves enough for all, or the log does not tell.

        Args:
            all_miss_seconds: task time of missing all of the cached data.
            most: upper limit of the result.
        """
        if self.share_by_rule >= self.log_share:
            return 0.0
        missed = missed_share(self.replay.run, place, self.sources[place])
        return min(most, (missed or 0.0) * all_miss_seconds)

    def _evicted_seconds(self) -> dict[int, FloatArray]:
        """Index of a stage -> `CacheReader.evicted_seconds` before any offset."""
        if self.cache is None or self.evicting_stages is None:
            return {}
        cost = recompute_costs(self.replay, self.cache, self.disk_rate)
        return self.cache.eviction_seconds(cost, self.cached_bytes, self.evicting_stages.places)

    @cached_property
    def full_cache_replay(self) -> Replay:
        """The replay as if all of the cache had been in memory in the log (`full_cache.py`)."""
        misses = {}
        for reader in self.cache_readers:
            seconds = float(np.interp(self.log_share, SHARES, reader.miss_seconds))
            seconds += reader.evicted_in_log + reader.crowded_out_in_log
            if seconds > 0.0:
                misses[reader.place] = seconds, min(1.0, seconds / float(reader.miss_seconds[0]))
        return with_full_cache(self.replay, misses)

    def recovered_share(self, share: FloatArray, left: FloatArray | float = 0.0) -> FloatArray:
        """(n,) share (0 ... 1) of the log's miss time that is saved where such shares of the cache
        fit, and the shares `left` survive evictions."""
        if (share <= self.share_by_rule).all() and np.all(left <= self.left_by_rule):
            return np.zeros(len(share))
        in_log, here = 0.0, np.zeros(len(share))
        for reader in self.cache_readers:
            seen = (
                float(np.interp(self.log_share, SHARES, reader.miss_seconds))
                + reader.evicted_in_log
            )
            lost = np.interp(share, SHARES, reader.miss_seconds)
            if reader.evicted_in_log:
                lost = lost + reader.eviction_cost(share, left)
            in_log += seen + reader.crowded_out_in_log
            here += np.minimum(seen, lost) + reader.crowded_out_left(share, self.share_by_rule)
        return np.clip(1.0 - here / in_log, 0.0, 1.0) if in_log > 0.0 else here * 0.0

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
        taken = self.reader_memory.bytes_per_core(ratio, shuffle_partitions, slots)
        return self.memory.storage_bytes(batch, taken)

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

    def left_share(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) share of the cached data that survives the evicting stages; as in the log where
        memory is unknown."""
        left = self._left(batch, ratio, shuffle_partitions)
        as_there = np.isnan(left) | np.isclose(left, self.left_by_rule, rtol=1e-9, atol=0.0)
        return np.asarray(np.where(as_there, self.left_by_rule, left))

    def _left(
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

    def evicts(self, left: float) -> bool:
        """Whether any stage misses evicted blocks where the share `left` of a cache that fits
        survives: possibly no later stage reads it, and the log may show that none missed any."""
        return any(
            reader.eviction_cost(1.0, left) > 0.0
            for reader in self.cache_readers
            if reader.evicted_in_log or left < self.left_by_rule
        )

    def saturated(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> BoolArray:
        """(n,) whether more nodes would hold no more of the cached data: all of it fits, or the
        cluster's memory is unknown."""
        room = self.storage_bytes(batch, ratio, shuffle_partitions)
        short = room < self.needed_bytes(ratio, batch.executors)
        return np.asarray(~short & ~(self._left(batch, ratio, shuffle_partitions) < 1.0))

    def added_seconds(
        self,
        slots: FloatArray,
        share: FloatArray,
        ratio: float,
        shuffle_partitions: int | None = None,
        left: FloatArray | float = 1.0,
    ) -> FloatArray:
        """(n,) time that further cache misses add to the replay where less of the cache fits than
        on the log's own cluster, whose misses are part of its stage times; 0 where more fits
        (`full_cache_replay` is for that).

        Args:
            share: (n,) share of the cached data that fits.
            shuffle_partitions: number of shuffle partitions, None for the run's own.
            left: (n,) share of it that survives evictions.
        """
        total, share = np.zeros(len(slots)), np.minimum(share, self.share_by_rule)
        left = np.minimum(left, self.left_by_rule)
        if (share == self.share_by_rule).all() and np.all(left == self.left_by_rule):
            return total
        same_slots: dict[tuple[float, int, bool], tuple[StageModel, FloatArray]] = {}
        for reader in self.cache_readers:
            model = self.replay.models[reader.place]
            scaled = model.scaled(ratio, None)
            lost = np.stack((reader.miss_seconds, reader.evicted_seconds))
            lost *= scaled.partitions * scaled.work / model.stage.tasks
            if model.depends_on_cluster:
                tasks, _ = model.largest_task_bytes(ratio, shuffle_partitions, slots)
                total += self._more_lost(lost, share, left) / model.at_once(slots, tasks)
            else:
                count = float(model.scaled(ratio, shuffle_partitions).tasks)
                key = count, model.stage.task_cpus, bool(reader.evicted_seconds[0])
                summed = same_slots[key][1] + lost if key in same_slots else lost
                same_slots[key] = model, summed
        for (count, *_), (model, lost) in same_slots.items():
            total += self._more_lost(lost, share, left) / model.at_once(slots, count)
        return total

    def _more_lost(
        self, miss_seconds: FloatArray, share: FloatArray, left: FloatArray | float
    ) -> FloatArray:
        """(n,) task time of misses at each share of what fits and survives evictions, less that on
        the log's own cluster.

        Args:
            miss_seconds: (2, `len(SHARES)`) as `CacheReader` has them.
        """
        here = miss_seconds_at(miss_seconds, share, left)
        return here - miss_seconds_at(miss_seconds, self.share_by_rule, self.left_by_rule)


def _own_storage(replay: Replay, memory: ExecutorMemory, sources: Mapping[int, int]) -> float:
    """Storage memory of the run's own cluster, by the rule applied to other clusters, so that as
    much fits there as in the log; the storage memory reported in the log where the rule has no
    answer."""
    reported, batch = replay.run.storage_memory_bytes or math.inf, own_batch(replay.run)
    if batch is None or math.isinf(reported):
        return reported
    reader_memory = ReaderMemory.of(replay, sources)
    own = float(memory.storage_bytes(batch, reader_memory.peak_bytes if reader_memory else 0.0)[0])
    return own if own > 0.0 else reported
