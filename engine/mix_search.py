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
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from engine.forecast import FloatArray
from engine.market import Found, Market, values_of
from engine.mix_bounds import Windows
from engine.mix_branches import Branches, OutOfTime
from engine.mix_nodes import Node, Start, starts
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

DUALS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of what a spot node saves that are tried as the charge for one too many."""

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
        groups = [_Group(self, types, paid, node, start) for start in starts(free, self.most_types)]
        try:
            pools = [group.first() for group in groups]
        except OutOfTime:
            return 0.0
        bound = math.inf
        for place in sorted(range(len(groups)), key=lambda place: pools[place].least):
            if pools[place].least < self.worth:
                bound = min(bound, groups[place].search(pools[place]))
        return bound

    @property
    def worth(self) -> float:
        """A bound must be below this to be worth a look."""
        return self.value * (1.0 - TIE)

    def check_time(self) -> None:
        """Raises OutOfTime when the time is over."""
        if time.monotonic() > self.started + self.limit_seconds:
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

    def first(self) -> Pool:
        """Windows over all capacities."""
        capacity, limits = self.node.capacity, self.market.constraints
        most = capacity.max() * self.owner.goal.max_nodes
        if limits is not None:  # such as a quota of vCPUs
            most = min(most, limits.most_of(capacity))
        least = capacity.min() * 0.999
        edges = np.geomspace(least, max(most * 1.001, capacity.min()), WINDOWS + 1)
        return self._pool(edges[:-1], edges[1:])

    def search(self, pool: Pool) -> float:
        """Looks for the best; returns a bound of what was not looked at."""
        group, low, high = self, pool.low, pool.high
        try:
            for _ in range(_FILTERED):
                group = group._priced(low, high)
                windows = group._windows(low, high)
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
            return 0.0

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

    def _priced(self, low: FloatArray, high: FloatArray) -> _Group:
        """The group with the charge for spot nodes that bounds best (see `Node.of`)."""
        share, owner = self.market.share, self.owner
        if share is None or not share.spot.any() or share.spot.all():
            return self
        ordinary = dict(zip(share.types[~share.spot], self.market.rates[~share.spot], strict=True))
        spot = zip(share.types[share.spot], self.market.rates[share.spot], strict=True)
        saved = np.asarray([ordinary[name] - rate for name, rate in spot if name in ordinary])
        duals = [0.0, *np.quantile(saved, DUALS).tolist()] if len(saved) else [0.0]
        best, least = self, -math.inf
        for dual in duals:
            group = replace(self, node=self.node.charged(self.market, dual))
            windows = group._windows(low, high)
            floor = float(windows.floor(windows.root, owner.worth).min())
            if floor > least:
                best, least = group, floor
        return best

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
        )

    def _target(self, proven: float, step: float) -> float:
        worth = self.owner.worth
        scale = worth if math.isfinite(worth) else 1.0
        return min(worth, max(proven, LEAST_TARGET * scale) * (1.0 + step))

    def _windows(self, low: FloatArray, high: FloatArray) -> Windows:
        self.owner.check_time()
        return Windows.of(self.market, self.owner.goal, low, high, self.node, self.start)

    def _pool(self, low: FloatArray, high: FloatArray) -> Pool:
        windows = self._windows(low, high)
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
        windows = self._windows(pool.low[hot], pool.high[hot])
        branches = Branches(
            self.market, self.owner.goal, windows, self.node, target,
            self.owner.started + self.owner.limit_seconds, self.owner.most_types,
        )  # fmt: skip
        for rows, counts in branches.compositions():
            self.owner.offer(self.types, rows, counts)
            branches.target = min(target, self.owner.worth)
        return self.owner.value < target
