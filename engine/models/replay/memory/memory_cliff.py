"""Whether what a run keeps in memory still fits on another cluster, and what it costs when not.

Cached bytes grow with the input, storage memory with the executors. Of what does not fit,
partitions that lie nowhere are computed again by every stage that reads them (Spark does not evict
blocks of an RDD for others of the same RDD, so that the part that fits stays), partitions backed by
disk are read from there. Task memory is compared likewise: what a task needs beyond its share is
spilled.
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
    Reread,
    costs_of,
    disk_rate_of,
    lost_where,
    whole_seconds,
)
from engine.models.replay.memory.cache_readers import (
    all_on_disk,
    found_all,
    missed_share,
    sources_of,
)
from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory.cached_rdds import first_whole
from engine.models.replay.memory.driven_out import Pressing
from engine.models.replay.memory.executor_memory import ExecutorMemory, own_batch
from engine.models.replay.memory.fitted_share import share_in_log
from engine.models.replay.memory.found_again import with_all_found
from engine.models.replay.memory.reading_tasks import ReadingTasks
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageShape

LEAST_READ = 0.05
"""A stage that reads cached data keeps this share of its time when nothing is computed again."""


@dataclass(frozen=True, eq=False)
class MemoryCliff:
    """What one log tells of memory.

    Args:
        cached_bytes: what it wants to keep in memory at the observed input.
        inferred: whether that was taken from what stages read, for want of block sizes.
        fits: share of it that fitted when it ran.
        sources: the stages that read it, and the stage that computed what each reads.
        cache: the persisted RDDs and which stages need them; None where the log does not tell.
        memory: how its executors divide their heap.
        disk_rate: bytes per second in which a task reads blocks from disk.
        pressing: the stages that drive out blocks; None where the log tells of none.
        power: of the input with which cached bytes grow.
    """

    replay: Replay
    cached_bytes: float
    inferred: bool
    fits: float
    sources: Mapping[int, int]
    cache: CacheReplay | None
    memory: ExecutorMemory
    disk_rate: float
    pressing: Pressing | None = None
    power: float = 1.0

    @classmethod
    def of(cls, replay: Replay, *, disk_rate: float | None = None) -> MemoryCliff | None:
        """None where no stage reads cached data, or none of it was there.

        Args:
            disk_rate: None for what this log tells of it.
        """
        run = replay.run
        sources = sources_of(run.stages)
        if not sources:
            return None
        cache = CacheReplay.of(run)
        kept, inferred = run.cached_bytes, False
        read = max(run.stages[place].cached_input_bytes or 0.0 for place in sources)
        if not kept:
            kept, inferred = max(read, cache.most_bytes if cache is not None else 0.0), True
        memory, storage = ExecutorMemory.of(run), run.storage_memory_bytes or math.inf
        if all_on_disk(run.stages, sources) or (not inferred and kept > storage):
            fits = min(1.0, _own_storage(replay, memory, sources) / kept)
        else:
            if inferred:
                storage = _own_storage(replay, memory, sources)
            fits = share_in_log(run, sources, kept, storage)
            kept = (storage if inferred and fits < 1.0 else kept) / fits
        if inferred and cache is not None:
            cache = cache.wanting(kept)
        return cls(
            replay,
            kept,
            inferred,
            fits,
            sources,
            cache,
            memory,
            disk_rate or disk_rate_of(run.stages),
            None if cache is None else Pressing.of(replay, cache),
        )

    @cached_property
    def own_share(self) -> float:
        """Share that fits on the log's own cluster by the rule that holds for others. Less than
        fitted in the log where tasks drive out blocks: what that costs there, if anything, is in
        the time of its stages."""
        batch = own_batch(self.replay.run)
        return (
            self.fits if batch is None else min(self.fits, float(self.fitting_share(batch, 1.0)[0]))
        )

    @cached_property
    def own_left(self) -> float:
        """Share that is left on the log's own cluster while other stages press."""
        batch = own_batch(self.replay.run)
        own = math.nan if batch is None else float(self._left(batch, 1.0, None)[0])
        return 1.0 if math.isnan(own) else own

    @cached_property
    def making_lost(self) -> bool:
        """Whether the log has lost a stage that computed what others read: the first that it tells
        found it, so that nobody knows how long computing it takes. What is on disk as well is read
        from there."""
        run = self.replay.run
        if not run.lost:
            return False
        computed = first_whole(run.stages, [stage.cached_rdds for stage in run.stages])
        return any(
            bool(run.stages[place].cached_input_bytes)
            and not set(run.stages[place].cached_rdds) <= set(run.stages[place].disk_backed_rdds)
            and all(computed[rdd] == place for rdd in run.stages[place].cached_rdds)
            for place in set(self.sources.values())
        )

    @cached_property
    def rereads(self) -> tuple[Reread, ...]:
        """The stages that do not find all that they read where memory is short; the cache is
        replayed when that is first asked."""
        if self.cache is None:
            found = {
                place: whole_seconds(self.replay, place, source, self.disk_rate) * (1.0 - SHARES)
                for place, source in self.sources.items()
            }
        else:
            cost = costs_of(self.replay, self.cache, self.disk_rate)
            found = self.cache.lost_seconds(cost, self.cached_bytes)
        driven = self._driven_out()
        none = np.zeros(len(SHARES))
        return tuple(
            self._reread(place, found.get(place, none), driven.get(place, none))
            for place in sorted(found.keys() | driven.keys())
        )

    def _reread(self, place: int, lost: FloatArray, driven: FloatArray) -> Reread:
        """A stage, of which less than its time in the log can have gone to what it did not find."""
        run = self.replay.run
        in_log = place in self.sources and not found_all(run, place, self.sources)
        if not in_log:
            driven = driven - np.interp(self.own_left, SHARES, driven)
        seen = float(lost_where((lost, driven), self.fits, self.own_left))
        most = run.stages[place].task_seconds.total * (1.0 - LEAST_READ)
        part = min(1.0, most / seen) if seen > 0.0 else 1.0
        out = seen - float(np.interp(self.fits, SHARES, lost)) if in_log else 0.0
        own = self._own_lost(place, float(lost[0]), most) - seen * part if in_log else 0.0
        return Reread(place, lost * part, driven * part, out * part, max(0.0, own))

    def _own_lost(self, place: int, whole_seconds: float, most: float) -> float:
        """Task time in the log for what a stage read again of a cache that fits but for the memory
        of those who read it; 0 where that leaves room for all, or the log does not tell.

        Args:
            whole_seconds: for all of it; most: for what it did not find, of its time in the log.
        """
        if self.own_share >= self.fits:
            return 0.0
        missed = missed_share(self.replay.run, place, self.sources[place])
        return min(most, (missed or 0.0) * whole_seconds)

    def _driven_out(self) -> dict[int, FloatArray]:
        """Stage -> `Reread.driven_seconds`."""
        if self.cache is None or self.pressing is None:
            return {}
        cost = costs_of(self.replay, self.cache, self.disk_rate)
        return self.cache.driven_out_seconds(cost, self.cached_bytes, self.pressing.places)

    @cached_property
    def all_found(self) -> Replay:
        """The replay as if all of the cache had fitted in the log."""
        lost = {}
        for reread in self.rereads:
            seconds = float(np.interp(self.fits, SHARES, reread.lost_seconds))
            seconds += reread.driven_in_log + reread.own_in_log
            if seconds > 0.0:
                lost[reread.place] = seconds, min(1.0, seconds / float(reread.lost_seconds[0]))
        return with_all_found(self.replay, lost)

    def found_again(self, share: FloatArray, left: FloatArray | float = 0.0) -> FloatArray:
        """(n,) how much of what the log did not find is found where such shares fit, and are left
        while other stages press (0 ... 1)."""
        if (share <= self.own_share).all() and np.all(left <= self.own_left):
            return np.zeros(len(share))
        own, here = 0.0, np.zeros(len(share))
        for reread in self.rereads:
            seen = float(np.interp(self.fits, SHARES, reread.lost_seconds)) + reread.driven_in_log
            lost = np.interp(share, SHARES, reread.lost_seconds)
            if reread.driven_in_log:
                lost = lost + reread.driven_out(share, left)
            own += seen + reread.own_in_log
            here += np.minimum(seen, lost) + reread.own_left(share, self.own_share)
        return np.clip(1.0 - here / own, 0.0, 1.0) if own > 0.0 else here * 0.0

    def needed_bytes(self, ratio: float, executors: FloatArray | float = math.inf) -> FloatArray:
        """What would be kept at `ratio` times the input on (n,) executors, or a number of them."""
        grown = self.cached_bytes * math.exp(self.power * math.log(ratio))
        if self.cache is None:
            return np.full(np.shape(executors), grown)
        return grown * self.cache.copied(executors)

    def storage_bytes(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) memory for cached blocks of the whole cluster while stages read them at `ratio`
        times the input; NaN where its memory is unknown."""
        if self.reading is None:
            return self.memory.storage_bytes(batch, 0.0)
        slots = np.where(batch.slots >= 1.0, batch.slots, 1.0)
        taken = self.reading.core_bytes(ratio, shuffle_partitions, slots)
        return self.memory.storage_bytes(batch, taken)

    @cached_property
    def reading(self) -> ReadingTasks | None:
        """What the tasks that read it take for themselves; None where they take nothing."""
        return ReadingTasks.of(self.replay, self.sources)

    def fitting_share(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) share of the cached data that fits; as in the log where memory is unknown."""
        needed = self.needed_bytes(ratio, batch.executors)
        share = np.minimum(1.0, self.storage_bytes(batch, ratio, shuffle_partitions) / needed)
        as_there = np.isnan(share) | np.isclose(share, self.fits, rtol=1e-9, atol=0.0)
        return np.asarray(np.where(as_there, self.fits, share))

    def left_share(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> FloatArray:
        """(n,) share of the cached data that is left while other stages press; as in the log where
        memory is unknown."""
        left = self._left(batch, ratio, shuffle_partitions)
        as_there = np.isnan(left) | np.isclose(left, self.own_left, rtol=1e-9, atol=0.0)
        return np.asarray(np.where(as_there, self.own_left, left))

    def _left(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        needed = self.needed_bytes(ratio, batch.executors)
        if self.pressing is None:
            return np.ones(len(batch))
        room = self.pressing.room_bytes(self.memory, batch, ratio, shuffle_partitions)
        empty = self.pressing.empty_bytes(batch, ratio, needed / self.cached_bytes)
        part = np.clip((room - empty) / needed, 0.0, 1.0)
        return np.asarray(np.where(room >= needed, 1.0, part))

    def drives_out(self, left: float) -> bool:
        """Whether a stage does not find all that it reads where so much is left of a cache that
        fits: it may be that none reads on, and the log may show that they found all."""
        return any(
            reread.driven_out(1.0, left) > 0.0
            for reread in self.rereads
            if reread.driven_in_log or left < self.own_left
        )

    def roomy(
        self, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None = None
    ) -> BoolArray:
        """(n,) clusters of which more nodes would hold no more of the cached data: all of it fits,
        or nobody knows their memory."""
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
        """(n,) time by which the run takes longer than its replay when so much of the cache fits,
        and less than on the log's own cluster, whose losses its stages show; 0 where more does
        (`all_found`).

        Args:
            shuffle_partitions: number of shuffle partitions, None for the run's own.
            left: (n,) share that other stages leave of it.
        """
        total, share = np.zeros(len(slots)), np.minimum(share, self.own_share)
        left = np.minimum(left, self.own_left)
        if (share == self.own_share).all() and np.all(left == self.own_left):
            return total
        alike: dict[tuple[float, int, bool], tuple[StageShape, FloatArray]] = {}
        for reread in self.rereads:
            shape = self.replay.shapes[reread.place]
            scaled = shape.scaled(ratio, None)
            lost = np.stack((reread.lost_seconds, reread.driven_seconds))
            lost *= scaled.partitions * scaled.work / shape.stage.tasks
            if shape.counts_slots:
                tasks, _ = shape.data_on(ratio, shuffle_partitions, slots)
                total += self._more_lost(lost, share, left) / shape.at_once(slots, tasks)
            else:
                count = float(shape.scaled(ratio, shuffle_partitions).tasks)
                key = count, shape.stage.task_cpus, bool(reread.driven_seconds[0])
                alike[key] = shape, alike[key][1] + lost if key in alike else lost
        for (count, *_), (shape, lost) in alike.items():
            total += self._more_lost(lost, share, left) / shape.at_once(slots, count)
        return total

    def _more_lost(
        self, lost_seconds: FloatArray, share: FloatArray, left: FloatArray | float
    ) -> FloatArray:
        """(n,) task time at each share of what fits and is left, less that on the log's own
        cluster.

        Args:
            lost_seconds: (2, `len(SHARES)`) as `Reread` has them.
        """
        here = lost_where(lost_seconds, share, left)
        return here - lost_where(lost_seconds, self.own_share, self.own_left)


def _own_storage(replay: Replay, memory: ExecutorMemory, sources: Mapping[int, int]) -> float:
    """Memory for cached blocks of the run's own cluster, by the rule that holds for others, so that
    as much fits there as in the log; what the log tells where that says nothing."""
    told, batch = replay.run.storage_memory_bytes or math.inf, own_batch(replay.run)
    if batch is None or math.isinf(told):
        return told
    reading = ReadingTasks.of(replay, sources)
    own = float(memory.storage_bytes(batch, reading.peak_bytes if reading else 0.0)[0])
    return own if own > 0.0 else told
