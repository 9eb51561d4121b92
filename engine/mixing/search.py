"""The best composition of up to q unlike types, provably: branch and bound over `MixLaw`.

Windows cover all capacities, and `engine.mixing.bounds` gives a lower bound on all compositions in
each. The windows with the least bounds are split until these hardly change, and a target is set a
little above. Every composition that may be below the target is then built up, member by member. A
part is dropped as soon as no completion can be below the target; the count of the last member
follows from the window, which has room for one or two. If compositions below the target are found,
the best of them is the best of all. Otherwise the target is raised, at most to the best cluster of
one type, with which the search began. Little that is much worse than the best is ever evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import combinations, count
from typing import NamedTuple

import numpy as np

from engine.choosing.recommendation import Goal
from engine.choosing.sweeps import TIE
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.mixing.bounds import Windows
from engine.mixing.branches import Branches
from engine.mixing.charges import (
    IN_VAIN,
    NO_CHARGES,
    Charges,
    limit_charges,
    limits_in_reach,
    spot_charges,
)
from engine.mixing.effort import CHARGED, MOST_BOUNDS, Effort, OutOfEffort
from engine.mixing.market import FoundMix, Market, dominated, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.nodes import NOTHING_OWNED, NodeTerms, Start, starts

WINDOWS = 24
"""Ranges of capacity that are bounded at once."""

FIRST_STEP, STEP_GROWTH = 1e-2, 100.0
"""How far the first target lies above the least bound, and the growth of this distance."""

LAST_STEP = 1.0
"""Beyond twice the least bound everything is searched: often there is nothing to find."""

CLOSE = 0.1
"""If the least bound is this close to the known value, that value is the target."""

LEAST_TARGET = 1e-6
"""The least first target, as a share of the best known value: bounds may be zero."""

_ZOOMS = 8

_GAINED = 1e-4
"""Charges are adopted if they raise the least bound by this share."""

_FILTERED = 3
"""Rounds of splitting windows, after each of which unpromising types are dropped."""


@dataclass(eq=False)
class Search:
    """One search for compositions of `most_types` types at most.

    Args:
        value: what is known already; only better compositions are found.
        effort: how much it looks at.
    """

    law: MixLaw
    market: Market
    goal: Goal
    most_types: int
    value: float
    rows: tuple[int, ...] | None = None
    counts: tuple[int, ...] = ()
    evaluated: int = 0
    effort: Effort = field(default_factory=lambda: Effort(MOST_BOUNDS))

    def run(self) -> FoundMix:
        """The best composition, or how far it may be from it when the effort is spent."""
        bound = math.inf
        useful = np.isfinite(self.market.rates) & (self.market.most > 0)
        useful &= np.isfinite(self.law.capacity) & (self.law.seconds.min(axis=1) < math.inf)
        useful &= ~dominated(self.law, self.market, self.goal, useful)
        node, shapes = NodeTerms.of(self.law, self.market, self.most_types), []
        for cores in np.unique(self.law.executor_cores):
            usable = useful & (self.law.executor_cores == cores)
            if usable.sum() > (1 if self.market.share is None else 0):
                shapes.append(self._started(node, np.flatnonzero(usable)))
        # The most promising shape of executors goes first: what it finds spares most of the others.
        for queue in sorted(shapes, key=lambda queue: queue.least):
            for group, windows, floor in queue:
                if self.effort.over:  # the others of the queue are no more promising
                    bound = min(bound, float(floor.min()))
                    break
                bound = min(bound, group.search(windows, floor))
        optimal = bound >= self.worth
        return FoundMix(
            self.rows, self.counts, self.value, min(bound, self.value), optimal, self.evaluated
        )

    def _started(self, node: NodeTerms, types: IntArray) -> _Starts:
        """What a search among some types begins with."""
        market, node = self.market.taken(types), node.taken(types)
        free = np.zeros(len(types), dtype=np.int64)
        if market.owned is not None:
            free = np.minimum(np.minimum(market.owned, market.most), self.goal.max_nodes)
        paid = replace(market, owned=None, most=market.most - free)
        group = _Group(self, types, paid, node, NOTHING_OWNED)
        return _Starts(group, starts(free, self.most_types))

    @property
    def worth(self) -> float:
        """A bound must be below this to be worth a look: what is known, or all that may be paid."""
        if math.isinf(self.value) and not self.goal.by_time:
            return self.goal.most_usd * (1.0 + TIE)
        return self.value * (1.0 - TIE)

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
class Cover:
    """Windows that cover all capacities, and their bounds: (j,) each."""

    low: FloatArray
    high: FloatArray
    floor: FloatArray

    @property
    def least(self) -> float:
        """No composition is better."""
        return float(self.floor.min())

    def without(self, places: BoolArray) -> Cover:
        """All windows but those at the mask."""
        return Cover(self.low[~places], self.high[~places], self.floor[~places])

    def split(self, places: BoolArray, pieces: int) -> tuple[FloatArray, FloatArray]:
        """(k,) lower and (k,) upper ends of the windows at the mask, each cut into so many."""
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
    node: NodeTerms
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

    def search(self, windows: Windows, floor: FloatArray) -> float:
        """Looks for the best in windows over all capacities with these bounds; returns a bound of
        what was not looked at."""
        group, pool = self, Cover(windows.low, windows.high, floor)
        try:
            for left in reversed(range(_FILTERED)):
                group, windows, floor = group._priced(windows, floor, limits=not left)
                pool = Cover(windows.low, windows.high, floor)
                hot = floor < self.owner.worth
                if not hot.any():
                    return math.inf
                kept = group._promising(windows, hot)
                if not len(kept):
                    return math.inf
                group = group._of(kept)
                self.owner.effort.check()
                windows = group.windows(*pool.split(hot, max(2, WINDOWS // int(hot.sum()))))
                floor = windows.floor(windows.root, self.owner.worth)
            return group._search(Cover(windows.low, windows.high, floor))
        except OutOfEffort:
            return pool.least

    def _search(self, pool: Cover) -> float:
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
        except OutOfEffort:
            return max(proven, pool.least)

    def _priced(self, windows: Windows, floor: FloatArray, *, limits: bool) -> _Priced:
        """With the charges that bound best: for spot nodes, and for limits as well."""
        market, goal = self.market, self.owner.goal
        best = _Priced(self, windows, floor)
        for charges in spot_charges(self.charges, market):
            best = self._better(best, charges)
        rows = limits_in_reach(market, goal, self._most_nodes(windows, floor)) if limits else ()
        bound_by_price = not goal.by_time or goal.budget_usd is not None
        for row in rows if bound_by_price else ():
            failed, found = 0, False
            for charges in limit_charges(best.group.charges, market, goal, row):
                before, best = best, self._better(best, charges)
                found |= best is not before
                failed += best is before
                if failed >= (1 if found else IN_VAIN):
                    break
        return best

    def _most_nodes(self, windows: Windows, floor: FloatArray) -> float:
        """The most nodes of one type that windows hold which may hold something better."""
        hot = floor < self.owner.worth
        return float(windows.high[hot].max(initial=0.0) / self.node.capacity.min())

    def _better(self, best: _Priced, charges: Charges) -> _Priced:
        """The better of what is known and other charges."""
        self.owner.effort.check()
        self.owner.effort.spend(CHARGED * len(best.windows) * len(self.types))
        node = self.node.charged(self.market, *charges.of(self.market, self.owner.goal))
        windows = best.windows.charged(node)
        floor = windows.floor(windows.root, self.owner.worth)
        if floor.min() <= best.floor.min() * (1.0 + _GAINED):
            return best
        return _Priced(replace(self, node=node, charges=charges), windows, floor)

    def _promising(self, windows: Windows, hot: BoolArray) -> IntArray:
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
        if worth <= proven * (1.0 + CLOSE) or step > LAST_STEP:
            return worth
        scale = worth if math.isfinite(worth) else 1.0
        return min(worth, max(proven, LEAST_TARGET * scale) * (1.0 + step))

    def windows(self, low: FloatArray, high: FloatArray) -> Windows:
        """Windows with these ends."""
        self.owner.effort.spend(len(low) * len(self.types))
        return Windows.of(self.market, self.owner.goal, low, high, self.node, self.start)

    def _pool(self, low: FloatArray, high: FloatArray) -> Cover:
        self.owner.effort.check()
        windows = self.windows(low, high)
        return Cover(low, high, windows.floor(windows.root, self.owner.worth))

    def _zoomed(self, pool: Cover, proven: float, step: float) -> Cover:
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
            pool = Cover(
                np.append(rest.low, finer.low),
                np.append(rest.high, finer.high),
                np.append(rest.floor, finer.floor),
            )
        return pool

    def _below(self, pool: Cover, target: float) -> bool:
        """Looks at every composition that may be below the target; whether there was one."""
        hot = pool.floor < target
        if not hot.any():
            return False
        windows = self.windows(pool.low[hot], pool.high[hot])
        branches = Branches(
            self.market, self.owner.goal, windows, self.node, target,
            self.owner.effort, self.owner.most_types,
        )  # fmt: skip
        for rows, counts in branches.compositions():
            self.owner.offer(self.types, rows, counts)
            branches.target = min(target, self.owner.worth)
        return self.owner.value < target


class _Priced(NamedTuple):
    """A group with its charges, its windows, and their bounds."""

    group: _Group
    windows: Windows
    floor: FloatArray


class _Starts:
    """Exact starts that may hold something better, the most promising first, each with windows over
    all capacities and their bounds. Ranges of counts are cut in halves while effort is left."""

    def __init__(self, group: _Group, every: Sequence[Start]) -> None:
        self.group, self.order = group, count()
        self.windows = group.windows(*group.edges())
        self.queue = [self._bounded(start) for start in every]
        heapify(self.queue)

    @property
    def least(self) -> float:
        """No composition is better."""
        return self.queue[0][0] if self.queue else math.inf

    def __iter__(self) -> Iterator[tuple[_Group, Windows, FloatArray]]:
        owner = self.group.owner
        while self.least < owner.worth:
            _, _, windows, floor = heappop(self.queue)
            halves = None if owner.effort.over else windows.start.halves()
            if halves is None:
                yield replace(self.group, start=windows.start), windows, floor
            for half in halves or ():
                heappush(self.queue, self._bounded(half))

    def _bounded(self, start: Start) -> tuple[float, int, Windows, FloatArray]:
        self.group.owner.effort.spend(len(self.windows))
        windows = self.windows.starting(start)
        floor = windows.floor(windows.root, self.group.owner.worth)
        return float(floor.min()), next(self.order), windows, floor
