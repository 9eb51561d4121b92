"""A replay of Spark's block store: which cached blocks a run finds again in less memory than it
wants.

Where memory is full, Spark drops the blocks that were not used for longest, of other RDDs than the
one it stores a block of (`MemoryStore.evictBlocksToFreeSpace`); a block for which that makes no
room is not stored. So of a single data set the part that fits stays. A loop that reads several in
turn is another matter: the block dropped is the very one that is needed next, and a little memory
too few loses nearly all. What was lost is computed again from the nearest RDDs before it, which
may be lost as well; generations that each come from the one before are computed again from
further and further back.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.memory.cached_rdds import (
    by_life,
    first_whole,
    needed_of,
    part_of,
    sizes_of,
)
from engine.profile import Run

BLOCKS = 16
"""Blocks of each RDD on the one executor that stands for all: the replay is that fine."""

SHARES = np.asarray([0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 15.0, 16.0]) / BLOCKS
"""Shares of what is wanted that memory holds, at which the cache is replayed: whole blocks."""

UNROLLED = 1.25
"""Room that a block needs while it is stored, over its size: it is asked for ahead, by up to half
of what there is of the block (`spark.storage.unrollMemoryGrowthFactor` 1.5)."""

MOST_LOST = 4_000
"""Blocks that a replay finds missing before it stops; the stages that are left lose as much as the
one that lost most."""

DEEPEST = 200
"""Generations that a task computes again one from the other, no more: Spark's own stack ends near
there."""

ROUNDING = 1e-6
"""Share of a block that may be missing for it: sums of sizes are not exact."""


UNEVEN = 0.15
"""An executor has so much more or less room for its blocks than its part of all: they are not
spread evenly, and the fullest one loses some while the others do not."""


@dataclass(slots=True)
class _Store:
    """The memory of one executor, blocks in the order of their last use."""

    capacity_bytes: float
    held: OrderedDict[tuple[int, int], float] = field(default_factory=OrderedDict)
    used_bytes: float = 0.0

    def found(self, block: tuple[int, int]) -> bool:
        """Whether it holds the block, which counts as a use."""
        if block not in self.held:
            return False
        self.held.move_to_end(block)
        return True

    def put(self, block: tuple[int, int], size_bytes: float) -> None:
        """Stores a block, if dropping older ones of other RDDs makes room."""
        short = self.used_bytes + UNROLLED * size_bytes - self.capacity_bytes
        dropped = []
        if short > ROUNDING * size_bytes:
            for other, size in self.held.items():
                if other[0] != block[0]:
                    dropped.append(other)
                    short -= size
                    if short <= ROUNDING * size_bytes:
                        break
            else:
                return
        for other in dropped:
            self.used_bytes -= self.held.pop(other)
        self.held[block] = size_bytes
        self.used_bytes += size_bytes

    def press(self, left_bytes: float) -> None:
        """Tasks take memory until blocks have so much left."""
        while self.held and self.used_bytes > left_bytes * (1.0 + ROUNDING):
            _, size = self.held.popitem(last=False)
            self.used_bytes -= size

    def drop(self, rdd_id: int) -> None:
        """An RDD was unpersisted."""
        for index in range(BLOCKS):
            self.used_bytes -= self.held.pop((rdd_id, index), 0.0)


def _order_of(place: int) -> list[int]:
    """The order in which the tasks of a stage come to their blocks on one executor: another in
    each stage, since a task goes to whichever slot falls free (in the same order every time, a loop
    over a little more than fits would lose all of it; measured loops lose about what this does)."""
    return [int(index) for index in np.random.default_rng(place).permutation(BLOCKS)]


@dataclass(frozen=True)
class CacheReplay:
    """The persisted RDDs of one run, and which of them each of its stages needs.

    Args:
        needed: of each stage, nearest first.
        origins: RDD -> the stage that computed it first.
        stored_bytes: RDD -> what it takes.
        on_disk: RDDs whose blocks lie on disk where memory is full.
        drops: stage -> the RDDs unpersisted when it had ended.
        parts: share of the partitions of what it needs that each stage ran.
        copies: RDD -> executors that are to hold each block, of those with more than one.
        executors: of the log, each of which holds one copy at most.
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
        run = by_life(run)
        needed = needed_of(run)
        origins = first_whole(run.stages, needed)
        sizes = sizes_of(run, needed, origins)
        if not origins or sizes is None:
            return None
        places = {stage.stage_id: place for place, stage in enumerate(run.stages)}
        drops: dict[int, tuple[int, ...]] = {}
        for rdd in run.persisted_rdds:
            if rdd.unpersisted_after in places:
                after = places[rdd.unpersisted_after]
                drops[after] = (*drops.get(after, ()), rdd.rdd_id)
        on_disk = frozenset(rdd for stage in run.stages for rdd in stage.disk_backed_rdds)
        parts = tuple(
            part_of(run.stages, place, [origins[rdd_id] for rdd_id in rdds])
            for place, rdds in enumerate(needed)
        )
        copies = {rdd.rdd_id: rdd.copies for rdd in run.persisted_rdds if rdd.copies > 1}
        executors = run.cluster.executors or math.inf
        return cls(needed, origins, sizes, on_disk, drops, parts, copies, executors)

    def copied(self, executors: FloatArray | float) -> FloatArray:
        """What is wanted at once on so many executors, over what is on those of the log: a lone
        executor has nobody to give a second copy to. (n,), or a number for one."""
        if not self.copies:
            return np.ones_like(executors, dtype=float)
        counts = np.minimum(executors, max(self.copies.values()))
        unlike, which = np.unique(counts, return_inverse=True)
        own = self.most_bytes
        times = [replace(self, stored_bytes=self._sizes_on(n)).most_bytes / own for n in unlike]
        return np.asarray(times)[which].reshape(np.shape(counts))

    def _sizes_on(self, executors: float) -> dict[int, float]:
        def times(rdd: int) -> float:
            asked = self.copies.get(rdd, 1)
            return min(asked, executors) / min(asked, self.executors)

        return {rdd: size * times(rdd) for rdd, size in self.stored_bytes.items()}

    @property
    def most_bytes(self) -> float:
        """What is wanted at once: each RDD from the stage that computes it to the last that needs
        it (`engine.sources.logs.cached_blocks` counts blocks alike, where a log tells of them)."""
        last = {rdd: place for place, rdds in enumerate(self.needed) for rdd in rdds}
        return max(
            sum(
                size
                for rdd, size in self.stored_bytes.items()
                if self.origins[rdd] <= place <= last[rdd]
            )
            for place in range(len(self.needed))
        )

    def wanting(self, most_bytes: float) -> CacheReplay:
        """The same with RDDs so much larger that this much is wanted at once: where part of them
        was computed again, stages read less of blocks, and more of what these come from, than they
        take."""
        times = most_bytes / self.most_bytes
        sizes = {rdd: times * size for rdd, size in self.stored_bytes.items()}
        return replace(self, stored_bytes=sizes)

    def lost_seconds(self, cost: Mapping[int, float], wanted_bytes: float) -> dict[int, FloatArray]:
        """Stage -> (`len(SHARES)`,) task seconds for what it does not find, where memory holds
        those shares of what is wanted at once, unevenly; stages that find all in any memory are
        left out. More memory is never more time, and all of it none.
        """
        lost = [self.again_seconds(cost, share * wanted_bytes) for share in SHARES[:-1]]
        table = _never_more_for_more(lost)
        table[:-1] = np.mean([_at(room * SHARES[:-1], table) for room in ROOMS], axis=0)
        return _by_stage(table)

    def driven_out_seconds(
        self, cost: Mapping[int, float], wanted_bytes: float, pressing: Sequence[int]
    ) -> dict[int, FloatArray]:
        """The same for what other stages drove out before it, where memory holds all of the cache
        but for as long as they run, and then those shares of it.

        Args:
            pressing: those stages.
        """
        lost = [
            self.again_seconds(cost, math.inf, dict.fromkeys(pressing, share * wanted_bytes))
            for share in SHARES[:-1]
        ]
        return _by_stage(_never_more_for_more(lost))

    def again_seconds(
        self,
        cost: Mapping[int, float],
        capacity_bytes: float,
        pressed: Mapping[int, float] | None = None,
    ) -> tuple[float, ...]:
        """Task seconds of each stage for what it does not find.

        Args:
            cost: RDD -> task seconds of computing all of it from the RDDs that its stage needed,
                or of reading it from disk.
            capacity_bytes: memory for blocks, of all executors.
            pressed: stages that drive out blocks -> the bytes that they leave.
        """
        walk = _Walk(self, cost, _Store(capacity_bytes))
        found: list[float] = []
        for place, rdds in enumerate(self.needed):
            if pressed and place in pressed:
                walk.store.press(pressed[place])
            if walk.lost < MOST_LOST:
                found.append(walk.stage(place))
            else:
                found.append(max(found) if rdds else 0.0)
            for rdd_id in self.drops.get(place, ()):
                walk.unpersist(rdd_id)
        return tuple(found)


@dataclass(slots=True)
class _Walk:
    """One replay under way."""

    cache: CacheReplay
    cost: Mapping[int, float]
    store: _Store
    unpersisted: set[int] = field(default_factory=set)
    lost: int = 0
    seconds: float = 0.0

    def stage(self, place: int) -> float:
        """Task seconds that a stage spends on blocks that it does not find. What it is the first to
        need it computes in its own time, after what that comes from."""
        self.seconds = 0.0
        rdds, origins = self.cache.needed[place], self.cache.origins
        part = self.cache.parts[place] * BLOCKS
        for index in _order_of(place):
            if index >= part:
                continue
            for rdd_id in rdds:
                if origins[rdd_id] < place:
                    self._get(rdd_id, index)
            for rdd_id in reversed(rdds):
                if origins[rdd_id] >= place and not self.store.found((rdd_id, index)):
                    self._put(rdd_id, index)
        return self.seconds * part / max(1, math.ceil(part))

    def unpersist(self, rdd_id: int) -> None:
        """An RDD is stored no more; what comes from it may have to compute it again."""
        self.unpersisted.add(rdd_id)
        self.store.drop(rdd_id)

    def _get(self, rdd_id: int, index: int, depth: int = 0) -> None:
        if self.store.found((rdd_id, index)):
            return
        self.lost += 1
        self.seconds += self.cost[rdd_id] / BLOCKS
        if rdd_id not in self.cache.on_disk and depth < DEEPEST and self.lost < 2 * MOST_LOST:
            behind = self.cache.needed[self.cache.origins[rdd_id]]
            for other in behind[behind.index(rdd_id) + 1 :]:
                self._get(other, index, depth + 1)
        self._put(rdd_id, index)

    def _put(self, rdd_id: int, index: int) -> None:
        if rdd_id not in self.unpersisted:
            self.store.put((rdd_id, index), self.cache.stored_bytes[rdd_id] / BLOCKS)


ROOMS = (1.0 - UNEVEN, 1.0, 1.0 + UNEVEN)


def _never_more_for_more(lost: Sequence[Sequence[float]]) -> FloatArray:
    """(`len(SHARES)`, stages) seconds, of which more memory has no more, and all that is wanted
    none.

    Args:
        lost: the same for each of `SHARES` but the last.
    """
    table = np.vstack([*lost, np.zeros(len(lost[0]))])
    return np.asarray(np.maximum.accumulate(table[::-1])[::-1])


def _by_stage(table: FloatArray) -> dict[int, FloatArray]:
    """Stage -> its column, of those that lose anything where there is no memory."""
    return {int(place): table[:, place] for place in np.flatnonzero(table[0])}


def _at(shares: FloatArray, table: FloatArray) -> FloatArray:
    """(n, stages) seconds at other shares than those of the table."""
    return np.stack([np.interp(shares, SHARES, column) for column in table.T], axis=1)
