"""Simulation of Spark's block store: the cache misses of a run with less storage memory than it
needs.

Where memory is full, Spark evicts the least recently used blocks, of other RDDs than that of the
block to store (`MemoryStore.evictBlocksToFreeSpace`); a block for which that makes no room is not
stored. So of a single data set the part that fits stays. A loop that reads several in turn
thrashes: the evicted block is the one that is needed next, and a little too little memory loses
nearly all.
Missing blocks are recomputed from the nearest RDDs of their lineage, which may be missing as well:
generations that each come from the one before are recomputed from further and further back.

In: the persisted RDDs of a run, and what each costs to obtain again. Out: task seconds of cache
misses per stage, at shares of the storage memory that is needed. Explained in
docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.memory.cached_rdds import (
    first_complete_stage,
    needed_of,
    part_of,
    sizes_of,
    with_id_per_persist,
)
from engine.profile import Run

BLOCKS = 16
"""Blocks of each RDD on the one executor that stands for all: the resolution of the simulation."""

SHARES = np.asarray([0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 15.0, 16.0]) / BLOCKS
"""Storage memory, as shares of the peak bytes to be cached, at which the cache is simulated: whole
blocks."""

UNROLL_FACTOR = 1.25
"""Memory that a block needs while it is unrolled, over its size: Spark requests it ahead, by up to
half of the size so far (`spark.storage.unrollMemoryGrowthFactor` 1.5)."""

MOST_MISSES = 4_000
"""Cache misses after which a simulation stops; each remaining stage is charged as much as the stage
with most misses."""

MAX_LINEAGE_DEPTH = 200
"""Maximum depth of recomputation along the lineage: Spark's own stack overflows near there."""

ROUNDING = 1e-6
"""Share of a block that may be missing for it: sums of sizes are not exact."""

STORAGE_IMBALANCE = 0.15
"""Relative deviation of the storage memory that an executor has for its blocks from an even
division: blocks are spread unevenly, and the fullest executor evicts while the others do not."""


@dataclass(slots=True)
class _Store:
    """The storage memory of one executor, an LRU cache: blocks (RDD, index) in the order of their
    last use -> bytes."""

    capacity_bytes: float
    blocks: OrderedDict[tuple[int, int], float] = field(default_factory=OrderedDict)
    used_bytes: float = 0.0

    def is_hit(self, block: tuple[int, int]) -> bool:
        """Whether the block is stored, which counts as a use."""
        if block not in self.blocks:
            return False
        self.blocks.move_to_end(block)
        return True

    def put(self, block: tuple[int, int], size_bytes: float) -> None:
        """Stores a block, if evicting older ones of other RDDs makes room."""
        missing_bytes = self.used_bytes + UNROLL_FACTOR * size_bytes - self.capacity_bytes
        evicted = []
        if missing_bytes > ROUNDING * size_bytes:
            for candidate, size in self.blocks.items():
                if candidate[0] != block[0]:
                    evicted.append(candidate)
                    missing_bytes -= size
                    if missing_bytes <= ROUNDING * size_bytes:
                        break
            else:
                return
        for candidate in evicted:
            self.used_bytes -= self.blocks.pop(candidate)
        self.blocks[block] = size_bytes
        self.used_bytes += size_bytes

    def shrink_to(self, remaining_bytes: float) -> None:
        """Evicts the least recently used blocks until they take at most so much."""
        while self.blocks and self.used_bytes > remaining_bytes * (1.0 + ROUNDING):
            _, size = self.blocks.popitem(last=False)
            self.used_bytes -= size

    def drop(self, rdd_id: int) -> None:
        """An RDD was unpersisted."""
        for index in range(BLOCKS):
            self.used_bytes -= self.blocks.pop((rdd_id, index), 0.0)


def _order_of(index: int) -> list[int]:
    """The order in which the tasks of a stage access their blocks on one executor: another
    permutation in each stage, since a task goes to whichever slot falls free. In the same order
    every time, a loop over a little more than fits would miss all of it; measured loops miss about
    as much as with these permutations."""
    return [int(block) for block in np.random.default_rng(index).permutation(BLOCKS)]


@dataclass(frozen=True)
class CacheReplay:
    """The persisted RDDs of one run, and which of them each of its stages needs.

    Args:
        needed: RDDs that each stage needs, nearest in the lineage first.
        origins: RDD -> index of the stage that computed it first.
        stored_bytes: RDD -> bytes of all its blocks.
        on_disk: RDDs whose blocks lie on disk where memory is full.
        drops: index of a stage -> the RDDs unpersisted after it.
        parts: share of the partitions of the needed RDDs that each stage ran.
        copies: RDD -> replication factor of its blocks, of those with more than one copy.
        executors: of the log; each holds at most one copy of a block.
    """

    needed: tuple[tuple[int, ...], ...]
    origins: Mapping[int, int]
    stored_bytes: Mapping[int, float]
    on_disk: frozenset[int]
    drops: Mapping[int, tuple[int, ...]]
    parts: tuple[float, ...]
    copies: Mapping[int, int] = field(default_factory=dict)
    executors: float = math.inf

    @classmethod
    def of(cls, run: Run) -> CacheReplay | None:
        """None where the log does not tell what its stages need (no RDD parents before Spark 1.5),
        or how much that takes."""
        if any(s.cached_rdds and s.cached_input_bytes and not s.needed_rdds for s in run.stages):
            return None
        run = with_id_per_persist(run)
        needed = needed_of(run)
        origins = first_complete_stage(run.stages, needed)
        sizes = sizes_of(run, needed, origins)
        if not origins or sizes is None:
            return None
        index_of = {stage.stage_id: index for index, stage in enumerate(run.stages)}
        drops: dict[int, tuple[int, ...]] = {}
        for rdd in run.persisted_rdds:
            if rdd.unpersisted_after in index_of:
                after = index_of[rdd.unpersisted_after]
                drops[after] = (*drops.get(after, ()), rdd.rdd_id)
        on_disk = frozenset(rdd for stage in run.stages for rdd in stage.disk_backed_rdds)
        parts = tuple(
            part_of(run.stages, index, [origins[rdd_id] for rdd_id in rdds])
            for index, rdds in enumerate(needed)
        )
        copies = {rdd.rdd_id: rdd.copies for rdd in run.persisted_rdds if rdd.copies > 1}
        executors = run.cluster.executors or math.inf
        return cls(needed, origins, sizes, on_disk, drops, parts, copies, executors)

    def copies_ratio(self, executors: FloatArray | float) -> FloatArray:
        """Peak bytes to be cached on so many executors, over those on the executors of the log: a
        lone executor stores no second copy. (n,), or a number for one."""
        if not self.copies:
            return np.ones_like(executors, dtype=float)
        counts = np.minimum(executors, max(self.copies.values()))
        distinct_counts, inverse = np.unique(counts, return_inverse=True)
        in_log = self.peak_bytes
        ratios = [
            replace(self, stored_bytes=self._sizes_on(n)).peak_bytes / in_log
            for n in distinct_counts
        ]
        return np.asarray(ratios)[inverse].reshape(np.shape(counts))

    def _sizes_on(self, executors: float) -> dict[int, float]:
        def ratio(rdd: int) -> float:
            copies = self.copies.get(rdd, 1)
            return min(copies, executors) / min(copies, self.executors)

        return {rdd: size * ratio(rdd) for rdd, size in self.stored_bytes.items()}

    @property
    def peak_bytes(self) -> float:
        """Peak bytes to be cached at once: each RDD counts from the stage that computes it to the
        last that needs it (`engine.sources.logs.cached_blocks` counts blocks in the same way, where
        a log reports them)."""
        last = {rdd: index for index, rdds in enumerate(self.needed) for rdd in rdds}
        return max(
            sum(
                size
                for rdd, size in self.stored_bytes.items()
                if self.origins[rdd] <= index <= last[rdd]
            )
            for index in range(len(self.needed))
        )

    def scaled_to(self, peak_bytes: float) -> CacheReplay:
        """The same with all RDD sizes scaled to a peak of `peak_bytes`: where part of them was
        recomputed, stages read less of the blocks, and more of their sources, than they take."""
        factor = peak_bytes / self.peak_bytes
        sizes = {rdd: factor * size for rdd, size in self.stored_bytes.items()}
        return replace(self, stored_bytes=sizes)

    def miss_seconds(self, cost: Mapping[int, float], wanted_bytes: float) -> dict[int, FloatArray]:
        """Index of a stage -> (`len(SHARES)`,) task seconds of its cache misses, where storage
        memory holds those shares of `wanted_bytes`, spread unevenly; stages without misses in any
        memory are left out. Made monotone: more memory never costs more, and all of it nothing.
        """
        seconds = [self.recompute_seconds(cost, share * wanted_bytes) for share in SHARES[:-1]]
        table = _monotone_in_memory(seconds)
        uneven = [_interpolated(factor * SHARES[:-1], table) for factor in CAPACITY_FACTORS]
        table[:-1] = np.mean(uneven, axis=0)
        return _by_stage(table)

    def eviction_seconds(
        self, cost: Mapping[int, float], wanted_bytes: float, evicting_stages: Sequence[int]
    ) -> dict[int, FloatArray]:
        """`miss_seconds` for blocks that other stages evicted, where storage memory holds all of
        the cache, but only those shares of it while the evicting stages run.

        Args:
            evicting_stages: indices of those stages.
        """
        seconds = [
            self.recompute_seconds(
                cost, math.inf, dict.fromkeys(evicting_stages, share * wanted_bytes)
            )
            for share in SHARES[:-1]
        ]
        return _by_stage(_monotone_in_memory(seconds))

    def recompute_seconds(
        self,
        cost: Mapping[int, float],
        capacity_bytes: float,
        remaining_bytes: Mapping[int, float] | None = None,
    ) -> tuple[float, ...]:
        """Task seconds of each stage for its cache misses, by simulation of all stages in order.

        Args:
            cost: RDD -> task seconds of computing all of it from the RDDs that its stage needed,
                or of reading it from disk.
            capacity_bytes: storage memory of all executors.
            remaining_bytes: index of an evicting stage -> bytes of blocks that it leaves.
        """
        simulation = _Simulation(self, cost, _Store(capacity_bytes))
        seconds: list[float] = []
        for index, rdds in enumerate(self.needed):
            if remaining_bytes and index in remaining_bytes:
                simulation.store.shrink_to(remaining_bytes[index])
            if simulation.misses < MOST_MISSES:
                seconds.append(simulation.stage(index))
            else:
                seconds.append(max(seconds) if rdds else 0.0)
            for rdd_id in self.drops.get(index, ()):
                simulation.unpersist(rdd_id)
        return tuple(seconds)


@dataclass(slots=True)
class _Simulation:
    """The state of one simulation: the store, the misses so far, the current stage's seconds."""

    cache: CacheReplay
    cost: Mapping[int, float]
    store: _Store
    unpersisted: set[int] = field(default_factory=set)
    misses: int = 0
    seconds: float = 0.0

    def stage(self, index: int) -> float:
        """Task seconds that a stage spends on cache misses. RDDs that it is the first to need it
        computes in its own time, after those that they come from."""
        self.seconds = 0.0
        rdds, origins = self.cache.needed[index], self.cache.origins
        part = self.cache.parts[index] * BLOCKS
        for block in _order_of(index):
            if block >= part:
                continue
            for rdd_id in rdds:
                if origins[rdd_id] < index:
                    self._get(rdd_id, block)
            for rdd_id in reversed(rdds):
                if origins[rdd_id] >= index and not self.store.is_hit((rdd_id, block)):
                    self._put(rdd_id, block)
        return self.seconds * part / max(1, math.ceil(part))

    def unpersist(self, rdd_id: int) -> None:
        """Removes an RDD, which is not stored again; RDDs that come from it may recompute it."""
        self.unpersisted.add(rdd_id)
        self.store.drop(rdd_id)

    def _get(self, rdd_id: int, block: int, depth: int = 0) -> None:
        if self.store.is_hit((rdd_id, block)):
            return
        self.misses += 1
        self.seconds += self.cost[rdd_id] / BLOCKS
        if (
            rdd_id not in self.cache.on_disk
            and depth < MAX_LINEAGE_DEPTH
            and self.misses < 2 * MOST_MISSES
        ):
            lineage = self.cache.needed[self.cache.origins[rdd_id]]
            for other in lineage[lineage.index(rdd_id) + 1 :]:
                self._get(other, block, depth + 1)
        self._put(rdd_id, block)

    def _put(self, rdd_id: int, block: int) -> None:
        if rdd_id not in self.unpersisted:
            self.store.put((rdd_id, block), self.cache.stored_bytes[rdd_id] / BLOCKS)


CAPACITY_FACTORS = (1.0 - STORAGE_IMBALANCE, 1.0, 1.0 + STORAGE_IMBALANCE)
"""Storage memory of three executors relative to an even division; costs are their mean."""


def _monotone_in_memory(seconds: Sequence[Sequence[float]]) -> FloatArray:
    """(`len(SHARES)`, stages) seconds made non-increasing in memory by a running maximum from the
    largest memory down; 0 where all fits.

    Args:
        seconds: of each stage, for each of `SHARES` but the last.
    """
    table = np.vstack([*seconds, np.zeros(len(seconds[0]))])
    return np.asarray(np.maximum.accumulate(table[::-1])[::-1])


def _by_stage(table: FloatArray) -> dict[int, FloatArray]:
    """Index of a stage -> its column, of the stages with any misses where there is no memory."""
    return {int(index): table[:, index] for index in np.flatnonzero(table[0])}


def _interpolated(shares: FloatArray, table: FloatArray) -> FloatArray:
    """(n, stages) seconds at other shares than those of the table, by linear interpolation."""
    return np.stack([np.interp(shares, SHARES, column) for column in table.T], axis=1)
