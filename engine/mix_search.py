"""The best composition of up to q unlike types, provably: branch and bound over `MixLaw`.

All capacities are covered with windows, and in each of them `engine.mix_bounds` says what no
composition is better than. The windows with the least bounds are split until that hardly moves; the
target is set a little above. Every composition that may be below the target is then built up,
member by member; a part is dropped as soon as no completion of it can be, and the last member's
count follows from the window, which has room for one or two. If a composition below the target is
found, the best of these is the best of all. Otherwise all are above the target, which is moved up,
at most to the best cluster of one type, with which the search began. So little is ever looked at
that is much worse than the best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import combinations, count

import numpy as np
from numpy.typing import NDArray

from engine.forecast import FloatArray
from engine.market import Found, Market, values_of
from engine.mix_bounds import Windows
from engine.mix_branches import Branches, OutOfTime
from engine.mix_charges import IN_VAIN, NO_CHARGES, Charges, Limited, limit_charges, spot_charges
from engine.mix_nodes import NOTHING_OWNED, Node, Start, starts
from engine.mixes import MixLaw
from engine.recommendation import Goal
from engine.sweeps import TIE, IntArray

WINDOWS = 24
"""Ranges of capacity that are bounded at once."""

FIRST_STEP, STEP_GROWTH = 1e-2, 100.0
"""How far the first target lies above the least bound, and how that grows."""

LEAST_TARGET = 1e-6
"""Share of the best known value that the first target is at least: bounds may be zero."""

_ZOOMS = 8

_GAINED = 1e-4
"""Charges are taken up if they raise the least bound by that share."""

_FILTERED = 3
"""Rounds of splitting windows after which types without promise are left out."""

TIME_LIMIT_SECONDS = 2.0


@dataclass(eq=False)
class Search:
    """One search for compositions of `most_types` types at most.

    Args:
        value: what is known already; only better compositions are found.
    """

    law: MixLaw
    market: Market
    goal: Goal
    most_types: int
    value: float
    rows: tuple[int, ...] | None = None
    counts: tuple[int, ...] = ()
    evaluated: int = 0
    limit_seconds: float = TIME_LIMIT_SECONDS
    started: float = field(default_factory=time.monotonic)

    def run(self) -> Found:
        """The best composition, or how far it may be from it when the time is over."""
        bound = math.inf
        useful = np.isfinite(self.market.rates) & (self.market.most > 0)
        useful &= np.isfinite(self.law.capacity) & (self.law.seconds.min(axis=1) < math.inf)
        node = Node.of(self.law, self.market, self.most_types)
        for cores in np.unique(self.law.executor_cores):
            usable = useful & (self.law.executor_cores == cores)
            if usable.sum() > (1 if self.market.share is None else 0):
                bound = min(bound, self._among(node, np.flatnonzero(usable)))
        optimal = bound >= self.worth
        return Found(
            self.rows, self.counts, self.value, min(bound, self.value), optimal, self.evaluated
        )

    def _among(self, node: Node, types: IntArray) -> float:
        """Looks for the best of some types; returns a bound of what was not looked at."""
        market, node = self.market.taken(types), node.taken(types)
        free = np.zeros(len(types), dtype=np.int64)
        if market.owned is not None:
            free = np.minimum(np.minimum(market.owned, market.most), self.goal.max_nodes)
        paid = replace(market, owned=None, most=market.most - free)
        group = _Group(self, types, paid, node, NOTHING_OWNED)
        bound = math.inf
        try:
            for start, pool in self._started(group, starts(free, self.most_types)):
                bound = min(bound, replace(group, start=start).search(pool))
        except OutOfTime:
            return 0.0
        return bound

    def _started(self, group: _Group, every: Sequence[Start]) -> Iterator[tuple[Start, Pool]]:
        """Exact starts with windows over all capacities that may hold something better, the most
        promising first. Ranges of counts are cut in halves as long as they may."""
        low, high = group.edges()
        windows = group.windows(low, high)

        def bounded(start: Start) -> tuple[float, int, Start, Pool]:
            held = windows.starting(start)
            pool = Pool(low, high, held.floor(held.root, self.worth))
            return pool.least, next(order), start, pool

        order = count()
        queue = [bounded(start) for start in every]
        heapify(queue)
        while queue and queue[0][0] < self.worth:
            _, _, start, pool = heappop(queue)
            halves = None if self.out_of_time else start.halves()
            if halves is None:
                yield start, pool
            for half in halves or ():
                heappush(queue, bounded(half))

    @property
    def worth(self) -> float:
        """A bound must be below this to be worth a look."""
        return self.value * (1.0 - TIE)

    @property
    def out_of_time(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.started + self.limit_seconds

    def check_time(self) -> None:
        """Raises OutOfTime when the time is over."""
        if self.out_of_time:
            raise OutOfTime

    def offer(self, types: IntArray, rows: IntArray, counts: IntArray) -> None:
        """Keeps the best of some compositions of these types, if it is better than what is
        known."""
        self.evaluated += len(rows)
        names, counts = np.maximum(rows, 0), self._at_once(rows, counts)
        value = values_of(self.law, self.market, self.goal, types[names], counts, below=self.worth)
        value = np.where((counts <= self.market.most[types[names]]).all(axis=1), value, np.inf)
        best = int(value.argmin())
        if not value[best] < self.worth:
            return
        self.value = float(value[best])
        members = counts[best] > 0
        self.rows = tuple(types[names[best][members]].tolist())
        self.counts = tuple(counts[best][members].tolist())

    def _at_once(self, rows: IntArray, counts: IntArray) -> IntArray:
        """The counts with those of a type that comes twice added up in the first place."""
        if self.market.owned is None:
            return counts
        counts = counts.copy()
        for first, second in combinations(range(rows.shape[1]), 2):
            same = (rows[:, first] == rows[:, second]) & (counts[:, first] > 0)
            counts[same, first] += counts[same, second]
            counts[same, second] = 0
        return counts


@dataclass(frozen=True, eq=False)
class Pool:
    """Windows that cover all capacities, and their bounds: (j,) each."""

    low: FloatArray
    high: FloatArray
    floor: FloatArray

    @property
    def least(self) -> float:
        """No composition is better."""
        return float(self.floor.min())

    def without(self, places: NDArray[np.bool_]) -> Pool:
        return Pool(self.low[~places], self.high[~places], self.floor[~places])

    def split(self, places: NDArray[np.bool_], pieces: int) -> tuple[FloatArray, FloatArray]:
        """Both ends of some windows, each cut into so many."""
        share = np.arange(pieces + 1) / pieces
        low, high = self.low[places, None], self.high[places, None]
        edges = low * (high / low) ** share
        return edges[:, :-1].ravel(), edges[:, 1:].ravel()


@dataclass(frozen=True, eq=False)
class _Group:
    """Types that can be mixed with each other."""

    owner: Search
    types: IntArray
    market: Market
    node: Node
    start: Start
    charges: Charges = NO_CHARGES

    def edges(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of windows that cover all capacities."""
        capacity, limits = self.node.capacity, self.market.constraints
        most = capacity.max() * self.owner.goal.max_nodes
        if limits is not None:  # such as a quota of vCPUs
            most = min(most, limits.most_of(capacity))
        least = capacity.min() * 0.999
        edges = np.geomspace(least, max(most * 1.001, capacity.min()), WINDOWS + 1)
        return edges[:-1], edges[1:]

    def search(self, pool: Pool) -> float:
        """Looks for the best; returns a bound of what was not looked at."""
        group, low, high = self, pool.low, pool.high
        try:
            for done in range(_FILTERED):
                group, windows = group._priced(low, high, limits=done == _FILTERED - 1)
                pool = Pool(low, high, windows.floor(windows.root, self.owner.worth))
                hot = pool.floor < self.owner.worth
                if not hot.any():
                    return math.inf
                kept = group._promising(windows, hot)
                if not len(kept):
                    return math.inf
                group = group._of(kept)
                low, high = pool.split(hot, max(2, WINDOWS // int(hot.sum())))
            return group._search(group._pool(low, high))
        except OutOfTime:
            return pool.least

    def _search(self, pool: Pool) -> float:
        """Raises the target until something is found below it, or it is what is known already."""
        proven, step, owner = 0.0, FIRST_STEP, self.owner
        try:
            while True:
                pool = self._zoomed(pool, proven, step)
                proven = max(proven, pool.least)
                if proven >= owner.worth:
                    return math.inf
                target = self._target(proven, step)
                if self._below(pool, target) or target >= owner.worth:
                    return math.inf
                proven, step = target, step * STEP_GROWTH
        except OutOfTime:
            return max(proven, pool.least)

    def _priced(self, low: FloatArray, high: FloatArray, *, limits: bool) -> tuple[_Group, Windows]:
        """The group with the charges that bound best: for spot nodes, and for limits as well."""
        windows, market, goal = self.windows(low, high), self.market, self.owner.goal
        best, least = (self, windows), self._least(windows)
        for charges in spot_charges(self.charges, market):
            best, least = self._better(best, least, charges)
        rows = len(Limited.of(market, goal).caps) if limits and self._by_price else 0
        for row in range(rows):
            failed, found = 0, False
            for charges in limit_charges(best[0].charges, market, goal, row):
                before = least
                best, least = self._better(best, least, charges)
                failed = 0 if least > before else failed + 1
                found |= least > before
                if failed >= (1 if found else IN_VAIN):
                    break
        return best

    def _better(
        self, best: tuple[_Group, Windows], least: float, charges: Charges
    ) -> tuple[tuple[_Group, Windows], float]:
        """The better of what is known and other charges."""
        self.owner.check_time()
        node = self.node.charged(self.market, *charges.of(self.market, self.owner.goal))
        windows = best[1].charged(node)
        floor = self._least(windows)
        if floor <= least * (1.0 + _GAINED):
            return best, least
        return (replace(self, node=node, charges=charges), windows), floor

    def _least(self, windows: Windows) -> float:
        return float(windows.floor(windows.root, self.owner.worth).min())

    @property
    def _by_price(self) -> bool:
        """Whether prices bound anything: the fastest at any price is not."""
        goal = self.owner.goal
        return not goal.by_time or goal.budget_usd is not None

    def _promising(self, windows: Windows, hot: NDArray[np.bool_]) -> IntArray:
        """The types of which one node may be part of something better in any of these windows."""
        rows, places = np.nonzero(np.isfinite(windows.seconds) & hot)
        parts = windows.with_one(windows.root.taken(places), rows, np.ones_like(rows))
        good = windows.floor(parts, self.owner.worth) < self.owner.worth
        return np.unique(np.append(rows[good], np.asarray(self.start.rows, dtype=np.int64)))

    def _of(self, rows: IntArray) -> _Group:
        """Some of the types."""
        if len(rows) == len(self.types):
            return self
        return _Group(
            self.owner,
            self.types[rows],
            self.market.taken(rows),
            self.node.taken(rows),
            self.start.moved(rows),
            self.charges,
        )

    def _target(self, proven: float, step: float) -> float:
        worth = self.owner.worth
        scale = worth if math.isfinite(worth) else 1.0
        return min(worth, max(proven, LEAST_TARGET * scale) * (1.0 + step))

    def windows(self, low: FloatArray, high: FloatArray) -> Windows:
        self.owner.check_time()
        return Windows.of(self.market, self.owner.goal, low, high, self.node, self.start)

    def _pool(self, low: FloatArray, high: FloatArray) -> Pool:
        windows = self.windows(low, high)
        return Pool(low, high, windows.floor(windows.root, self.owner.worth))

    def _zoomed(self, pool: Pool, proven: float, step: float) -> Pool:
        """The windows with the least bounds split until that hardly moves the least bound."""
        before = -math.inf
        for _ in range(_ZOOMS):
            least = max(pool.least, proven)
            hot = pool.floor < self._target(least, step)
            moved = least > before * (1.0 + step / 8.0)
            if not hot.any() or (not moved and hot.sum() >= WINDOWS / 2) or hot.sum() > 2 * WINDOWS:
                break
            before = least
            finer = self._pool(*pool.split(hot, max(2, WINDOWS // int(hot.sum()))))
            rest = pool.without(hot)
            pool = Pool(
                np.append(rest.low, finer.low),
                np.append(rest.high, finer.high),
                np.append(rest.floor, finer.floor),
            )
        return pool

    def _below(self, pool: Pool, target: float) -> bool:
        """Looks at every composition that may be below the target; whether there was one."""
        hot = pool.floor < target
        if not hot.any():
            return False
        windows = self.windows(pool.low[hot], pool.high[hot])
        branches = Branches(
            self.market, self.owner.goal, windows, self.node, target,
            self.owner.started + self.owner.limit_seconds, self.owner.most_types,
        )  # fmt: skip
        for rows, counts in branches.compositions():
            self.owner.offer(self.types, rows, counts)
            branches.target = min(target, self.owner.worth)
        return self.owner.value < target
