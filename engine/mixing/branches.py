"""Builds up every composition that may be below a target, member by member.

Members are added in the order of a rank: types of which few nodes fit below the target first, so
that the last member, whose count follows from the window, is the one with many. Adding nodes of a
type never lowers the bound of a part, so the counts that stay below the target are 1 ... n, and n
is found by bisection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.choosing.recommendation import Goal
from engine.choosing.sweeps import TIE
from engine.forecast import BoolArray, IntArray
from engine.mixing.bounds import Windows
from engine.mixing.effort import Effort
from engine.mixing.market import Market
from engine.mixing.nodes import NodeTerms, PartialSums

AT_ONCE = 100_000
"""Pairs of a part and a type that are looked at together."""


@dataclass(frozen=True, eq=False)
class PartialMixes:
    """Parts of compositions with the same number of members.

    Args:
        parts: (n,) their sums.
        rows, counts: (n, q) members in the order of rank and their nodes; of open ones 0.
        nodes: (n,) nodes in all.
        last: (n,) rank of the last member, -1 for none.
        types: (n,) how many types the members are of: one may be rented in two ways.
        depth: how many members.
    """

    parts: PartialSums
    rows: IntArray
    counts: IntArray
    nodes: IntArray
    last: IntArray
    types: IntArray
    depth: int

    def __len__(self) -> int:
        return len(self.nodes)

    def taken(self, places: IntArray | slice) -> PartialMixes:
        index = np.arange(len(self))[places] if isinstance(places, slice) else places
        return PartialMixes(
            self.parts.taken(index), self.rows[index], self.counts[index], self.nodes[index],
            self.last[index], self.types[index], self.depth,
        )  # fmt: skip


@dataclass(eq=False)
class Branches:
    """The search tree under a target, which may be lowered while it is gone through."""

    market: Market
    goal: Goal
    windows: Windows
    node: NodeTerms
    target: float
    effort: Effort
    most_types: int

    def compositions(self) -> Iterator[tuple[IntArray, IntArray]]:
        """(n, q) types and counts whose bound is below the target, in parts; a type of which nodes
        are owned and more are paid for comes twice."""
        for nodes in self.windows.start.exact():
            root = self._root(nodes)
            if len(root) and nodes:
                yield from self._owned_only(root)
            if len(self.ranked) and len(root):
                yield from self._under(root)

    @property
    def _width(self) -> int:
        return self.node.members + len(self.windows.start.rows)

    def _root(self, nodes: tuple[int, ...]) -> PartialMixes:
        """The owned nodes alone, so many of each type, in the windows where that may be below the
        target."""
        windows, fixed = self.windows, self.windows.start.rows
        j = len(windows)
        rows, counts = np.zeros((j, self._width), np.int64), np.zeros((j, self._width), np.int64)
        parts = PartialSums.nothing(j, self.node.head)
        for place, (row, number) in enumerate(zip(fixed, nodes, strict=True)):
            rows[:, place], counts[:, place] = row, number
            parts = windows.with_one(
                parts, rows[:, place], counts[:, place], spare=np.zeros(j, np.int64)
            )
        root = PartialMixes(
            parts, rows, counts, np.full(j, sum(nodes)), np.full(j, -1), np.full(j, len(fixed)),
            len(fixed),
        )  # fmt: skip
        return root.taken(np.flatnonzero(windows.floor(parts, self.target) < self.target))

    def _owned_only(self, root: PartialMixes) -> Iterator[tuple[IntArray, IntArray]]:
        """Compositions that pay for nothing."""
        window, capacity = root.parts.window, root.parts.capacity
        inside = capacity >= self.windows.low[window] * (1.0 - TIE)
        inside &= capacity <= self.windows.high[window] * (1.0 + TIE)
        good = np.flatnonzero(inside & (self.windows.floor_of_whole(root.parts) < self.target))
        if len(good):
            yield root.rows[good], root.counts[good]

    @cached_property
    def _most(self) -> IntArray:
        """(k,) the most nodes of a type."""
        return np.minimum(self.market.most, self.goal.max_nodes)

    @cached_property
    def fits(self) -> IntArray:
        """(k, j) nodes of a type below the target, beside the best of all others."""
        k, j = len(self._most), len(self.windows)
        rows, places = np.divmod(np.arange(k * j), j)
        root = self.windows.root.taken(places)
        found = np.zeros((k, j), dtype=np.int64)
        found[rows, places] = self._room(root, rows, self._most[rows])
        return found

    @cached_property
    def ranked(self) -> IntArray:
        """Types that may take part, those of which few nodes fit first."""
        total = self.fits.sum(axis=1)
        rows = np.flatnonzero(total)
        return np.asarray(rows[np.argsort(total[rows], kind="stable")])

    def _room(self, parts: PartialSums, rows: IntArray, most: IntArray) -> IntArray:
        """(n,) the most nodes of a type with which the bound of a part is below the target."""
        room = np.zeros(len(rows), dtype=np.int64)
        left = (self.windows.high[parts.window] - parts.capacity) / self.node.capacity[rows]
        most = np.minimum(most, np.floor(left * (1.0 + TIE)).astype(np.int64))
        some = np.flatnonzero(most > 0)
        some = some[self._open(parts, rows, np.ones_like(most), some)]
        room[some] = 1
        low, high = room[some], most[some]
        while True:
            wide = np.flatnonzero(low < high)
            if not len(wide):
                break
            middle = (low[wide] + high[wide] + 1) // 2
            counts = np.zeros_like(most)
            counts[some[wide]] = middle
            below = self._open(parts, rows, counts, some[wide])
            low[wide] = np.where(below, middle, low[wide])
            high[wide] = np.where(below, high[wide], middle - 1)
        room[some] = low
        return room

    def _open(
        self, parts: PartialSums, rows: IntArray, counts: IntArray, places: IntArray
    ) -> BoolArray:
        """Whether some parts with so many nodes of a type more are below the target."""
        self.effort.spend(len(places))
        some = parts.taken(places)
        whole = self.windows.with_one(some, rows[places], counts[places])
        return np.asarray(self.windows.floor(whole, self.target) < self.target)

    def _under(self, state: PartialMixes) -> Iterator[tuple[IntArray, IntArray]]:
        """Whole compositions under some states."""
        step = max(1, AT_ONCE // len(self.ranked))
        for start in range(0, len(state), step):
            self.effort.check()
            part = state.taken(slice(start, start + step))
            at, ranks = self._followers(part)
            if not len(at):
                continue
            # Clusters of one row are known, except where one may be rented in two ways.
            if part.depth or self.market.share is not None:
                yield from self._whole(part, at, ranks)
            if part.depth + 1 < self._width:
                for longer in self._longer(part, at, ranks):
                    yield from self._under(longer)

    def _followers(self, state: PartialMixes) -> tuple[IntArray, IntArray]:
        """Pairs of a state and the rank of a type that may follow its last member."""
        ranks = np.arange(len(self.ranked))
        fits = self.fits[self.ranked][:, state.parts.window] > 0
        at, found = np.nonzero((ranks > state.last[:, None]) & fits.T)
        if self._each_once:
            return at, found
        room = (state.types[at] < self.most_types) | self._held(state, at, found)
        return at[room], found[room]

    @property
    def _each_once(self) -> bool:
        """Whether no type comes twice: as spot nodes, or as nodes that are owned."""
        return self.market.share is None and not self.windows.start.rows

    def _held(self, state: PartialMixes, at: IntArray, ranks: IntArray) -> BoolArray:
        """Whether a follower is a type that the state holds already: owned, or rented otherwise."""
        if self._each_once:
            return np.zeros(len(at), dtype=bool)
        share = self.market.share
        types = np.arange(len(self.market.rates)) if share is None else share.types
        held = np.where(state.counts[at] > 0, types[state.rows[at]], -1)
        return np.asarray((held == types[self.ranked[ranks]][:, None]).any(axis=1))

    def _whole(
        self, state: PartialMixes, at: IntArray, ranks: IntArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Compositions that end with one more member, of as many nodes as the window has room
        for."""
        windows, row = self.windows, self.ranked[ranks]
        window, used = state.parts.window[at], state.parts.capacity[at]
        capacity = self.node.capacity[row]
        first = np.ceil((windows.low[window] - used) / capacity * (1.0 - TIE))
        last = np.floor((windows.high[window] - used) / capacity * (1.0 + TIE))
        most = np.minimum(self._most[row], self.goal.max_nodes - state.nodes[at])
        first, last = np.maximum(first, 1.0), np.minimum(last, most)
        number = np.maximum(last - first + 1.0, 0.0).astype(np.int64)
        some = np.flatnonzero(number)
        number, first = number[some], first[some].astype(np.int64)
        index = np.repeat(some, number)
        offset = np.arange(len(index)) - np.repeat(np.cumsum(number) - number, number)
        counts = np.repeat(first, number) + offset
        at, row = at[index], row[index]
        self.effort.spend(len(index))
        parts = windows.with_one(state.parts.taken(at), row, counts)
        good = np.flatnonzero(windows.floor_of_whole(parts) < self.target)
        if len(good):
            rows, numbers = state.rows[at[good]], state.counts[at[good]]
            rows[:, state.depth], numbers[:, state.depth] = row[good], counts[good]
            yield rows, numbers

    def _longer(self, state: PartialMixes, at: IntArray, ranks: IntArray) -> Iterator[PartialMixes]:
        """States with one member more, of every number of nodes that may be below the target; some
        at a time, as there may be millions."""
        more = ranks < len(self.ranked) - 1
        at, ranks = at[more], ranks[more]
        row, new = self.ranked[ranks], ~self._held(state, at, ranks)
        most = np.minimum(self._most[row], self.goal.max_nodes - state.nodes[at])
        if state.depth:
            room = self._room(state.parts.taken(at), row, most)
        else:  # nothing is fixed yet: that is known already
            room = self.fits[row, state.parts.window[at]]
        some = np.flatnonzero(room)
        part = np.cumsum(room[some]) // AT_ONCE
        for places in np.split(some, np.flatnonzero(np.diff(part)) + 1):
            number = room[places]
            index = np.repeat(places, number)
            before = np.repeat(np.cumsum(number) - number, number)
            counts = np.arange(len(index)) - before + 1
            of, members = at[index], row[index]
            self.effort.spend(len(index))
            rows, numbers = state.rows[of], state.counts[of]
            rows[:, state.depth], numbers[:, state.depth] = members, counts
            yield PartialMixes(
                self.windows.with_one(state.parts.taken(of), members, counts),
                rows, numbers, state.nodes[of] + counts, ranks[index],
                state.types[of] + new[index], state.depth + 1,
            )  # fmt: skip
