"""The provably best composition of up to q types: branch and bound over `MixLaw`.

Windows of total capacity cover all compositions, and `engine.mixing.bounds` gives a lower bound for
each window. The windows with the least bounds are split until these hardly change, and a target is
set a little above. Every composition whose bound is below the target is then enumerated, member by
member (`engine.mixing.search_tree`). A partial composition is pruned as soon as no completion can
be below the target; the count of the last member follows from the window, which leaves one or two
values. If compositions below the target are found, the best of them is optimal. Otherwise the
target is raised, at most to the incumbent, which is at first the best cluster of one type. Few
compositions that are much worse than the best are ever evaluated.
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
from engine.mixing.bound_terms import NO_OWNED_NODES, NodeTerms, OwnedNodes, owned_node_ranges
from engine.mixing.bounds import Windows
from engine.mixing.effort import MAX_BOUNDS, REPRICED_COST, Effort, OutOfEffort
from engine.mixing.market import Market, MixResult, dominated, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.multipliers import (
    MAX_FAILURES,
    NO_MULTIPLIERS,
    Multipliers,
    limit_multipliers,
    reachable_limits,
    spot_multipliers,
)
from engine.mixing.search_tree import SearchTree
from engine.mixing.window_cover import WINDOWS, WindowCover

FIRST_STEP, STEP_GROWTH = 1e-2, 100.0
"""How far the first target lies above the least bound, and the growth of this distance."""

LAST_STEP = 1.0
"""Beyond this step the target is the incumbent at once: often there is nothing to find."""

CLOSE_TO_BOUND = 0.1
"""If the least bound is this close to the incumbent, the incumbent is the target."""

LEAST_TARGET = 1e-6
"""The least first target, as a share of the incumbent: bounds may be zero."""

_MAX_REFINEMENTS = 8

_LEAST_GAIN = 1e-4
"""Multipliers are adopted if they raise the least bound by this share."""

_FILTER_ROUNDS = 3
"""Rounds of splitting windows, after each of which unpromising types are removed."""


@dataclass(eq=False)
class Search:
    """One search for compositions of `most_types` types at most.

    Args:
        value: of the incumbent, at first the best cluster of one type; only better compositions
            are found.
        rows, counts: types and nodes of the incumbent, once a composition is found.
        evaluated: how many compositions were evaluated.
        effort: limits the number of bounds.
    """

    law: MixLaw
    market: Market
    goal: Goal
    most_types: int
    value: float
    rows: tuple[int, ...] | None = None
    counts: tuple[int, ...] = ()
    evaluated: int = 0
    effort: Effort = field(default_factory=lambda: Effort(MAX_BOUNDS))

    def run(self) -> MixResult:
        """The best composition; with a bound on what is left when the effort is exhausted."""
        bound = math.inf
        eligible = np.isfinite(self.market.rates) & (self.market.most > 0)
        eligible &= np.isfinite(self.law.capacity) & (self.law.seconds.min(axis=1) < math.inf)
        eligible &= ~dominated(self.law, self.market, self.goal, eligible)
        node, queues = NodeTerms.of(self.law, self.market, self.most_types), []
        for cores in np.unique(self.law.executor_cores):
            of_shape = eligible & (self.law.executor_cores == cores)
            if of_shape.sum() > (1 if self.market.share is None else 0):
                queues.append(self._queue_of(node, np.flatnonzero(of_shape)))
        # The most promising executor shape goes first: its incumbent prunes most of the others.
        for queue in sorted(queues, key=lambda queue: queue.least_bound):
            for group, windows, lower_bound in queue:
                if self.effort.exhausted:  # the others of the queue are no more promising
                    bound = min(bound, float(lower_bound.min()))
                    break
                bound = min(bound, group.search(windows, lower_bound))
        optimal = bound >= self.cutoff
        return MixResult(
            self.rows, self.counts, self.value, min(bound, self.value), optimal, self.evaluated
        )

    def _queue_of(self, node: NodeTerms, types: IntArray) -> _OwnedNodesQueue:
        """The queue of searches among some types, one for each use of owned nodes."""
        market, node = self.market.take(types), node.take(types)
        owned = np.zeros(len(types), dtype=np.int64)
        if market.owned is not None:
            owned = np.minimum(np.minimum(market.owned, market.most), self.goal.max_nodes)
        rented = replace(market, owned=None, most=market.most - owned)
        group = _SearchGroup(self, types, rented, node, NO_OWNED_NODES)
        return _OwnedNodesQueue(group, owned_node_ranges(owned, self.most_types))

    @property
    def cutoff(self) -> float:
        """Bounds at or above this are pruned: the incumbent, or the budget while there is none."""
        if math.isinf(self.value) and not self.goal.by_time:
            return self.goal.most_usd * (1.0 + TIE)
        return self.value * (1.0 - TIE)

    def update_incumbent(self, types: IntArray, rows: IntArray, counts: IntArray) -> None:
        """Takes the best of some compositions of these types as the incumbent, if it is better."""
        self.evaluated += len(rows)
        used, counts = np.maximum(rows, 0), self._merged_counts(rows, counts)
        used = types[used]
        value = values_of(self.law, self.market, self.goal, used, counts, cutoff=self.cutoff)
        value = np.where((counts <= self.market.most[used]).all(axis=1), value, np.inf)
        best = int(value.argmin())
        if not value[best] < self.cutoff:
            return
        self.value = float(value[best])
        is_member = counts[best] > 0
        self.rows = tuple(used[best][is_member].tolist())
        self.counts = tuple(counts[best][is_member].tolist())

    def _merged_counts(self, rows: IntArray, counts: IntArray) -> IntArray:
        """The counts, with those of a type that occurs twice (owned and paid for) merged into the
        first."""
        if self.market.owned is None:
            return counts
        counts = counts.copy()
        for first, second in combinations(range(rows.shape[1]), 2):
            same = (rows[:, first] == rows[:, second]) & (counts[:, first] > 0)
            counts[same, first] += counts[same, second]
            counts[same, second] = 0
        return counts


@dataclass(frozen=True, eq=False)
class _SearchGroup:
    """A search among types that can be mixed: those with the same number of cores per executor."""

    owner: Search
    types: IntArray
    market: Market
    node: NodeTerms
    owned_nodes: OwnedNodes
    multipliers: Multipliers = NO_MULTIPLIERS

    def edges(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of windows that cover all capacities."""
        capacity, limits = self.node.capacity, self.market.constraints
        most = capacity.max() * self.owner.goal.max_nodes
        if limits is not None:  # such as a quota of vCPUs
            most = min(most, limits.most_of(capacity))
        least = capacity.min() * 0.999
        edges = np.geomspace(least, max(most * 1.001, capacity.min()), WINDOWS + 1)
        return edges[:-1], edges[1:]

    def search(self, windows: Windows, lower_bound: FloatArray) -> float:
        """Searches windows over all capacities with these bounds; returns a lower bound on what was
        not searched."""
        group, cover = self, WindowCover(windows.low, windows.high, lower_bound)
        try:
            for rounds_left in reversed(range(_FILTER_ROUNDS)):
                group, windows, lower_bound = group._with_best_multipliers(
                    windows, lower_bound, limits=not rounds_left
                )
                cover = WindowCover(windows.low, windows.high, lower_bound)
                open_windows = lower_bound < self.owner.cutoff
                if not open_windows.any():
                    return math.inf
                rows = group._promising(windows, open_windows)
                if not len(rows):
                    return math.inf
                group = group._restricted_to(rows)
                self.owner.effort.check()
                windows = group.windows(*cover.split(open_windows))
                lower_bound = windows.lower_bound(windows.root, self.owner.cutoff)
            return group._raise_target(WindowCover(windows.low, windows.high, lower_bound))
        except OutOfEffort:
            return cover.least_bound

    def _raise_target(self, cover: WindowCover) -> float:
        """Raises the target until a composition is found below it, or it reaches the incumbent."""
        proven, step, owner = 0.0, FIRST_STEP, self.owner
        try:
            while True:
                cover = self._refined(cover, proven, step)
                proven = max(proven, cover.least_bound)
                if proven >= owner.cutoff:
                    return math.inf
                target = self._target(proven, step)
                if self._improves_below(cover, target) or target >= owner.cutoff:
                    return math.inf
                proven, step = target, step * STEP_GROWTH
        except OutOfEffort:
            return max(proven, cover.least_bound)

    def _with_best_multipliers(
        self, windows: Windows, lower_bound: FloatArray, *, limits: bool
    ) -> _BoundedGroup:
        """The group with the Lagrange multipliers of the highest bound: for spot nodes and
        limits."""
        market, goal = self.market, self.owner.goal
        best = _BoundedGroup(self, windows, lower_bound)
        for multipliers in spot_multipliers(self.multipliers, market):
            best = self._better_of(best, multipliers)
        rows = (
            reachable_limits(market, goal, self._most_nodes(windows, lower_bound)) if limits else ()
        )
        bound_by_price = not goal.by_time or goal.budget_usd is not None
        for row in rows if bound_by_price else ():
            failed, improved = 0, False
            for multipliers in limit_multipliers(best.group.multipliers, market, goal, row):
                before, best = best, self._better_of(best, multipliers)
                improved |= best is not before
                failed += best is before
                if failed >= (1 if improved else MAX_FAILURES):
                    break
        return best

    def _most_nodes(self, windows: Windows, lower_bound: FloatArray) -> float:
        """The most nodes of one type in any window that may hold something better."""
        open_windows = lower_bound < self.owner.cutoff
        return float(windows.high[open_windows].max(initial=0.0) / self.node.capacity.min())

    def _better_of(self, best: _BoundedGroup, multipliers: Multipliers) -> _BoundedGroup:
        """The group with other multipliers if these raise the least bound, else `best`."""
        self.owner.effort.check()
        self.owner.effort.spend(REPRICED_COST * len(best.windows) * len(self.types))
        node = self.node.with_multipliers(
            self.market, *multipliers.terms(self.market, self.owner.goal)
        )
        windows = best.windows.with_multipliers(node)
        lower_bound = windows.lower_bound(windows.root, self.owner.cutoff)
        if lower_bound.min() <= best.lower_bound.min() * (1.0 + _LEAST_GAIN):
            return best
        return _BoundedGroup(
            replace(self, node=node, multipliers=multipliers), windows, lower_bound
        )

    def _promising(self, windows: Windows, open_windows: BoolArray) -> IntArray:
        """Rows of types of which one node may be part of something better in an open window."""
        rows, window = np.nonzero(np.isfinite(windows.seconds) & open_windows)
        parts = windows.with_one(windows.root.take(window), rows, np.ones_like(rows))
        promising = windows.lower_bound(parts, self.owner.cutoff) < self.owner.cutoff
        return np.unique(
            np.append(rows[promising], np.asarray(self.owned_nodes.rows, dtype=np.int64))
        )

    def _restricted_to(self, rows: IntArray) -> _SearchGroup:
        """The group restricted to some of its types."""
        if len(rows) == len(self.types):
            return self
        return _SearchGroup(
            self.owner,
            self.types[rows],
            self.market.take(rows),
            self.node.take(rows),
            self.owned_nodes.reindexed(rows),
            self.multipliers,
        )

    def _target(self, proven: float, step: float) -> float:
        cutoff = self.owner.cutoff
        if cutoff <= proven * (1.0 + CLOSE_TO_BOUND) or step > LAST_STEP:
            return cutoff
        scale = cutoff if math.isfinite(cutoff) else 1.0
        return min(cutoff, max(proven, LEAST_TARGET * scale) * (1.0 + step))

    def windows(self, low: FloatArray, high: FloatArray) -> Windows:
        """Windows with these ends."""
        self.owner.effort.spend(len(low) * len(self.types))
        return Windows.of(self.market, self.owner.goal, low, high, self.node, self.owned_nodes)

    def _cover(self, low: FloatArray, high: FloatArray) -> WindowCover:
        self.owner.effort.check()
        windows = self.windows(low, high)
        return WindowCover(low, high, windows.lower_bound(windows.root, self.owner.cutoff))

    def _refined(self, cover: WindowCover, proven: float, step: float) -> WindowCover:
        """The cover with the windows of the least bounds split, until the least bound hardly
        moves."""
        before = -math.inf
        for _ in range(_MAX_REFINEMENTS):
            least = max(cover.least_bound, proven)
            open_windows = cover.lower_bound < self._target(least, step)
            moved = least > before * (1.0 + step / 8.0)
            number = int(open_windows.sum())
            if not number or (not moved and number >= WINDOWS / 2) or number > 2 * WINDOWS:
                break
            before = least
            finer = self._cover(*cover.split(open_windows))
            cover = cover.without(open_windows).joined(finer)
        return cover

    def _improves_below(self, cover: WindowCover, target: float) -> bool:
        """Enumerates the compositions whose bound is below the target; whether one improved on
        it."""
        open_windows = cover.lower_bound < target
        if not open_windows.any():
            return False
        windows = self.windows(cover.low[open_windows], cover.high[open_windows])
        tree = SearchTree(
            self.market, self.owner.goal, windows, self.node, target,
            self.owner.effort, self.owner.most_types,
        )  # fmt: skip
        for rows, counts in tree.compositions():
            self.owner.update_incumbent(self.types, rows, counts)
            tree.target = min(target, self.owner.cutoff)
        return self.owner.value < target


class _BoundedGroup(NamedTuple):
    """A group with its multipliers, its windows and their lower bounds."""

    group: _SearchGroup
    windows: Windows
    lower_bound: FloatArray


class _OwnedNodesQueue:
    """A priority queue of uses of owned nodes, the most promising first, with windows over all
    capacities. Ranges of counts are halved down to single counts while effort is left."""

    def __init__(self, group: _SearchGroup, all_ranges: Sequence[OwnedNodes]) -> None:
        self.group, self.order = group, count()
        self.windows = group.windows(*group.edges())
        self.queue = [self._bounded(owned_nodes) for owned_nodes in all_ranges]
        heapify(self.queue)

    @property
    def least_bound(self) -> float:
        """The lower bound on all compositions."""
        return self.queue[0][0] if self.queue else math.inf

    def __iter__(self) -> Iterator[tuple[_SearchGroup, Windows, FloatArray]]:
        owner = self.group.owner
        while self.least_bound < owner.cutoff:
            _, _, windows, lower_bound = heappop(self.queue)
            halves = None if owner.effort.exhausted else windows.owned_nodes.halves()
            if halves is None:
                yield replace(self.group, owned_nodes=windows.owned_nodes), windows, lower_bound
            for half in halves or ():
                heappush(self.queue, self._bounded(half))

    def _bounded(self, owned_nodes: OwnedNodes) -> tuple[float, int, Windows, FloatArray]:
        self.group.owner.effort.spend(len(self.windows))
        windows = self.windows.with_owned_nodes(owned_nodes)
        lower_bound = windows.lower_bound(windows.root, self.group.owner.cutoff)
        return float(lower_bound.min()), next(self.order), windows, lower_bound
