"""The search tree: every composition whose lower bound is below a target, built member by member.

Members are added in the order of a rank: types of which few nodes fit below the target come first,
so that the last member, whose count follows from the window, is the one with many. The bound of a
partial composition is monotone in the count of each type, so the counts that stay below the target
are 1 ... n, and n is found by bisection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.choosing.recommendation import Goal
from engine.choosing.sweeps import TIE
from engine.forecast import BoolArray, IntArray
from engine.mixing.bound_terms import NodeTerms, PartialSums
from engine.mixing.bounds import Windows
from engine.mixing.effort import Effort
from engine.mixing.market import Market

MAX_PAIRS = 100_000
"""Pairs of a partial composition and a type that are bounded together."""


@dataclass(frozen=True, eq=False)
class PartialMixes:
    """n partial compositions with the same number of members.

    Args:
        parts: (n,) sums over their members.
        rows, counts: (n, q) types and nodes of the members, in the order of rank; 0 where open.
        nodes: (n,) nodes in all.
        last_rank: (n,) rank of the last member, -1 for none.
        types: (n,) number of distinct types: one may be rented both on demand and as spot nodes.
        depth: number of members.
    """

    parts: PartialSums
    rows: IntArray
    counts: IntArray
    nodes: IntArray
    last_rank: IntArray
    types: IntArray
    depth: int

    def __len__(self) -> int:
        return len(self.nodes)

    def take(self, indices: IntArray | slice) -> PartialMixes:
        index = np.arange(len(self))[indices] if isinstance(indices, slice) else indices
        return PartialMixes(
            self.parts.take(index), self.rows[index], self.counts[index], self.nodes[index],
            self.last_rank[index], self.types[index], self.depth,
        )  # fmt: skip


@dataclass(eq=False)
class SearchTree:
    """The search tree below a target, which may be lowered during the traversal."""

    market: Market
    goal: Goal
    windows: Windows
    node: NodeTerms
    target: float
    effort: Effort
    most_types: int

    def compositions(self) -> Iterator[tuple[IntArray, IntArray]]:
        """(n, q) types and counts of compositions whose bound is below the target, in batches. A
        type with owned and paid nodes occurs twice."""
        for nodes in self.windows.owned_nodes.exact_counts():
            root = self._root(nodes)
            if len(root) and nodes:
                yield from self._of_owned_nodes(root)
            if len(self.ranked) and len(root):
                yield from self._descend(root)

    @property
    def _max_members(self) -> int:
        return self.node.members + len(self.windows.owned_nodes.rows)

    def _root(self, nodes: tuple[int, ...]) -> PartialMixes:
        """The owned nodes alone, in the windows where their bound is below the target."""
        windows, fixed = self.windows, self.windows.owned_nodes.rows
        j = len(windows)
        rows, counts = np.zeros((2, j, self._max_members), np.int64)
        parts = PartialSums.nothing(j, self.node.master_rate)
        for index, (row, number) in enumerate(zip(fixed, nodes, strict=True)):
            rows[:, index], counts[:, index] = row, number
            parts = windows.with_one(
                parts, rows[:, index], counts[:, index], spare=np.zeros(j, np.int64)
            )
        root = PartialMixes(
            parts, rows, counts, np.full(j, sum(nodes)), np.full(j, -1), np.full(j, len(fixed)),
            len(fixed),
        )  # fmt: skip
        return root.take(np.flatnonzero(windows.lower_bound(parts, self.target) < self.target))

    def _of_owned_nodes(self, root: PartialMixes) -> Iterator[tuple[IntArray, IntArray]]:
        """Compositions of owned nodes alone."""
        window, capacity = root.parts.window, root.parts.capacity
        inside = capacity >= self.windows.low[window] * (1.0 - TIE)
        inside &= capacity <= self.windows.high[window] * (1.0 + TIE)
        below = np.flatnonzero(
            inside & (self.windows.lower_bound_complete(root.parts) < self.target)
        )
        if len(below):
            yield root.rows[below], root.counts[below]

    @cached_property
    def _max_nodes(self) -> IntArray:
        """(k,) the most nodes of a type."""
        return np.minimum(self.market.most, self.goal.max_nodes)

    @cached_property
    def max_fitting(self) -> IntArray:
        """(k, j) the most nodes of each type below the target, beside the best of all others."""
        k, j = len(self._max_nodes), len(self.windows)
        rows, windows = np.divmod(np.arange(k * j), j)
        root = self.windows.root.take(windows)
        result = np.zeros((k, j), dtype=np.int64)
        result[rows, windows] = self._max_counts(root, rows, self._max_nodes[rows])
        return result

    @cached_property
    def ranked(self) -> IntArray:
        """Types that may take part, in the order of rank: those of which few nodes fit first."""
        total = self.max_fitting.sum(axis=1)
        rows = np.flatnonzero(total)
        return np.asarray(rows[np.argsort(total[rows], kind="stable")])

    @cached_property
    def _fits(self) -> BoolArray:
        """Whether a node of each type fits below the target, as (windows, ranks)."""
        return np.ascontiguousarray(self.max_fitting[self.ranked].T > 0)

    def _max_counts(self, parts: PartialSums, rows: IntArray, most: IntArray) -> IntArray:
        """(n,) the most nodes of a type with which the bound stays below the target, by
        bisection."""
        result = np.zeros(len(rows), dtype=np.int64)
        fitting = (self.windows.high[parts.window] - parts.capacity) / self.node.capacity[rows]
        most = np.minimum(most, np.floor(fitting * (1.0 + TIE)).astype(np.int64))
        possible = np.flatnonzero(most > 0)
        possible = possible[self._is_below_target(parts, rows, np.ones_like(most), possible)]
        result[possible] = 1
        low, high = result[possible], most[possible]
        while True:
            open_ranges = np.flatnonzero(low < high)
            if not len(open_ranges):
                break
            middle = (low[open_ranges] + high[open_ranges] + 1) // 2
            counts = np.zeros_like(most)
            counts[possible[open_ranges]] = middle
            below = self._is_below_target(parts, rows, counts, possible[open_ranges])
            low[open_ranges] = np.where(below, middle, low[open_ranges])
            high[open_ranges] = np.where(below, high[open_ranges], middle - 1)
        result[possible] = low
        return result

    def _is_below_target(
        self, parts: PartialSums, rows: IntArray, counts: IntArray, indices: IntArray
    ) -> BoolArray:
        """Whether partial compositions with `counts` more nodes of a type are below the target."""
        self.effort.spend(len(indices))
        some = parts.take(indices)
        whole = self.windows.with_one(some, rows[indices], counts[indices])
        return np.asarray(self.windows.lower_bound(whole, self.target) < self.target)

    def _descend(self, state: PartialMixes) -> Iterator[tuple[IntArray, IntArray]]:
        """Complete compositions below some partial ones."""
        step = max(1, MAX_PAIRS // len(self.ranked))
        for start in range(0, len(state), step):
            self.effort.check()
            part = state.take(slice(start, start + step))
            parent, ranks = self._extensions(part)
            if not len(parent):
                continue
            # Clusters of one row are known, except where a type may be rented both ways.
            if part.depth or self.market.share is not None:
                yield from self._completed(part, parent, ranks)
            if part.depth + 1 < self._max_members:
                for extended in self._extended(part, parent, ranks):
                    yield from self._descend(extended)

    def _extensions(self, state: PartialMixes) -> tuple[IntArray, IntArray]:
        """Pairs of a partial composition and the rank of a type that may be its next member."""
        ranks = np.arange(len(self.ranked))
        possible = ranks > state.last_rank[:, None]
        possible &= self._fits[state.parts.window]
        if not self._types_are_distinct:
            # No type may be added to the most types, only their nodes that are rented otherwise:
            # few of all pairs, which are not listed one by one for that.
            full = np.flatnonzero(state.types >= self.most_types)
            possible[full] &= self._members(state.take(full))
        parent, rank = np.nonzero(possible)
        return parent, rank

    @property
    def _types_are_distinct(self) -> bool:
        """Whether no type can occur twice, as spot nodes or as owned nodes."""
        return self.market.share is None and not self.windows.owned_nodes.rows

    @cached_property
    def _types(self) -> IntArray:
        """The type of each row."""
        share = self.market.share
        return np.arange(len(self.market.rates)) if share is None else share.types

    def _member_types(self, state: PartialMixes) -> IntArray:
        """The types of the members of partial compositions; -1 for places that are still free."""
        return np.where(state.counts > 0, self._types[state.rows], -1)

    def _members(self, state: PartialMixes) -> BoolArray:
        """Whether each rank is of a type that partial compositions contain, as (compositions,
        ranks)."""
        types_by_rank = self._types[self.ranked]
        found = np.zeros((len(state), len(self.ranked)), dtype=bool)
        for member_types in self._member_types(state).T:
            found |= member_types[:, None] == types_by_rank
        return found

    def _is_member(self, state: PartialMixes, parent: IntArray, ranks: IntArray) -> BoolArray:
        """Whether the next member is of a type that occurs already: owned, or rented otherwise."""
        if self._types_are_distinct:
            return np.zeros(len(parent), dtype=bool)
        added = self._types[self.ranked[ranks]]
        return np.asarray((self._member_types(state)[parent] == added[:, None]).any(axis=1))

    def _completed(
        self, state: PartialMixes, parent: IntArray, ranks: IntArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Compositions completed by one more member, of as many nodes as its window leaves."""
        windows, row = self.windows, self.ranked[ranks]
        window, used = state.parts.window[parent], state.parts.capacity[parent]
        capacity = self.node.capacity[row]
        first = np.ceil((windows.low[window] - used) / capacity * (1.0 - TIE))
        last = np.floor((windows.high[window] - used) / capacity * (1.0 + TIE))
        most = np.minimum(self._max_nodes[row], self.goal.max_nodes - state.nodes[parent])
        first, last = np.maximum(first, 1.0), np.minimum(last, most)
        choices = np.maximum(last - first + 1.0, 0.0).astype(np.int64)
        possible = np.flatnonzero(choices)
        choices, first = choices[possible], first[possible].astype(np.int64)
        index = np.repeat(possible, choices)
        offset = np.arange(len(index)) - np.repeat(np.cumsum(choices) - choices, choices)
        counts = np.repeat(first, choices) + offset
        parent, row = parent[index], row[index]
        self.effort.spend(len(index))
        parts = windows.with_one(state.parts.take(parent), row, counts)
        below = np.flatnonzero(windows.lower_bound_complete(parts) < self.target)
        if len(below):
            rows, numbers = state.rows[parent[below]], state.counts[parent[below]]
            rows[:, state.depth], numbers[:, state.depth] = row[below], counts[below]
            yield rows, numbers

    def _extended(
        self, state: PartialMixes, parent: IntArray, ranks: IntArray
    ) -> Iterator[PartialMixes]:
        """Partial compositions with one more member, for every count that may be below the target;
        in batches, as there may be millions."""
        more = ranks < len(self.ranked) - 1
        parent, ranks = parent[more], ranks[more]
        row, is_new_type = self.ranked[ranks], ~self._is_member(state, parent, ranks)
        most = np.minimum(self._max_nodes[row], self.goal.max_nodes - state.nodes[parent])
        if state.depth:
            most_counts = self._max_counts(state.parts.take(parent), row, most)
        else:  # nothing is fixed yet: that is known already
            most_counts = self.max_fitting[row, state.parts.window[parent]]
        possible = np.flatnonzero(most_counts)
        batch = np.cumsum(most_counts[possible]) // MAX_PAIRS
        for indices in np.split(possible, np.flatnonzero(np.diff(batch)) + 1):
            choices = most_counts[indices]
            index = np.repeat(indices, choices)
            before = np.repeat(np.cumsum(choices) - choices, choices)
            counts = np.arange(len(index)) - before + 1
            parents, types = parent[index], row[index]
            self.effort.spend(len(index))
            rows, new_counts = state.rows[parents], state.counts[parents]
            rows[:, state.depth], new_counts[:, state.depth] = types, counts
            yield PartialMixes(
                self.windows.with_one(state.parts.take(parents), types, counts),
                rows, new_counts, state.nodes[parents] + counts, ranks[index],
                state.types[parents] + is_new_type[index], state.depth + 1,
            )  # fmt: skip
