"""What a node of each type adds to a composition, and sums over those that are fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from engine.forecast import FloatArray, IntArray, taken
from engine.mixing.columns import Columns
from engine.mixing.market import Market
from engine.mixing.mix_law import MixLaw


@dataclass(frozen=True, eq=False)
class Curves:
    """Values on whole counts, of k types.

    Args:
        table: (r, c) values; rows: (k,) the row of each type; columns: the counts.
    """

    table: FloatArray
    rows: IntArray
    columns: Columns

    @classmethod
    def of(cls, table: FloatArray, columns: Columns) -> Curves:
        return cls(np.ascontiguousarray(table), np.arange(len(table)), columns)

    def taken(self, rows: IntArray) -> Curves:
        return replace(self, rows=self.rows[rows])

    def at(self, counts: FloatArray) -> FloatArray:
        """(k, j) values at real counts (see `Columns.between`)."""
        return self.columns.between(self.table, self.rows[:, None], counts)

    def least_inside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """(k, j) least value in the columns between two real counts; inf where there is none,
        NaN where one of them is."""
        first, last = self.columns.inside(low, high)
        found = np.full(low.shape, np.inf)
        rows, places = np.nonzero(last >= first)
        if not len(rows):
            return found
        flat, base = self.table.ravel(), self.rows[rows] * self.table.shape[1]
        pairs = np.empty((len(rows), 2), dtype=np.int64)
        pairs[:, 0] = base + first[rows, places]
        pairs[:, 1] = base + last[rows, places] + 1
        behind = pairs[:, 1] == flat.size  # reduceat knows no such place: the last value by itself
        pairs[behind, 1] -= 1
        least = np.minimum.reduceat(flat, pairs.ravel())[::2]
        least[behind] = np.minimum(least[behind], flat[-1])
        found[rows, places] = least
        return found


@dataclass(frozen=True, eq=False)
class TypeSpreads:
    """How wide the times of k types are.

    Args:
        scale: of log T; NaN where it is not known.
        dof_ends: the fewest and the most degrees of freedom; NaN where none are known.
        widest: no composition has a larger scale.
    """

    scale: Curves
    dof_ends: FloatArray
    widest: float

    @classmethod
    def of(cls, law: MixLaw) -> TypeSpreads:
        return cls(Curves.of(law.log_scale, law.columns), law.dof_ends, law.widest)

    def taken(self, rows: IntArray) -> TypeSpreads:
        return replace(self, scale=self.scale.taken(rows))

    def least(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """(k, j) the least scale between real counts, 0 where one is not known."""
        ends = np.minimum(self.scale.at(low), self.scale.at(high))
        least = np.minimum(ends, self.scale.least_inside(low, high))
        return np.where(np.isnan(least), 0.0, least)


@dataclass(frozen=True, eq=False)
class NodeTerms:
    """What a node of each type adds.

    Args:
        seconds, work: time and C (T + start-up) on whole counts.
        spread: how wide the times are.
        capacity, rates: (k,) capacity, and USD per hour that no price falls below.
        owned: (k,) the same of a node that is owned; saved: USD per hour that owning one saves.
        head: USD per hour of the master.
        members: rows in a composition at most, beside owned ones.
    """

    seconds: Curves
    work: Curves
    spread: TypeSpreads
    capacity: FloatArray
    rates: FloatArray
    owned: FloatArray
    saved: FloatArray
    head: float
    members: int

    @classmethod
    def of(cls, law: MixLaw, market: Market, most_types: int) -> NodeTerms:
        members = most_types if market.share is None else 2 * most_types
        work = law.seconds + market.billing.startup_seconds
        work *= law.columns.nodes
        work *= law.capacity[:, None]
        return cls(
            Curves.of(law.seconds, law.columns), Curves.of(work, law.columns), TypeSpreads.of(law),
            law.capacity, market.rates, np.zeros(len(market.rates)), market.rates, market.head,
            members,
        )  # fmt: skip

    def charged(self, market: Market, charge: FloatArray, back: float) -> NodeTerms:
        """With so much more per node, and so much less in all (see `engine.mixing.charges`)."""
        return replace(self, rates=market.rates + charge, owned=charge, head=market.head - back)

    def taken(self, rows: IntArray) -> NodeTerms:
        names = ("seconds", "work", "spread", "capacity", "rates", "owned", "saved")
        return taken(self, rows, *names)


@dataclass(frozen=True)
class Start:
    """How many owned nodes a composition uses: they cost nothing, and come before all others.

    Args:
        rows: of the types; nodes: the fewest of each, at least one; spare: how many more at most.
    """

    rows: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()

    def moved(self, kept: IntArray) -> Start:
        """The same, where only some rows (ascending, all of these among them) are left."""
        places = np.searchsorted(kept, np.asarray(self.rows, dtype=np.int64))
        return replace(self, rows=tuple(places.tolist()))

    def halves(self) -> tuple[Start, Start] | None:
        """Two that hold the same uses, the widest range of counts cut; None for exact counts."""
        place = max(range(len(self.spare)), key=self.spare.__getitem__, default=None)
        if place is None or not self.spare[place]:
            return None
        few = self.spare[place] // 2

        def with_range(first: int, spare: int) -> Start:
            nodes, spares = list(self.nodes), list(self.spare)
            nodes[place], spares[place] = first, spare
            return replace(self, nodes=tuple(nodes), spare=tuple(spares))

        first = self.nodes[place]
        return with_range(first, few), with_range(first + few + 1, self.spare[place] - few - 1)

    def exact(self) -> Iterator[tuple[int, ...]]:
        """Every number of nodes of each."""
        pairs = zip(self.nodes, self.spare, strict=True)
        return product(*(range(nodes, nodes + spare + 1) for nodes, spare in pairs))


NOTHING_OWNED = Start()


def starts(owned: IntArray, most_types: int) -> list[Start]:
    """Starts that together hold every use of (k,) owned nodes: in ranges that double, all of a type
    by themselves."""
    rows = np.flatnonzero(owned > 0)
    found = [NOTHING_OWNED]
    for size in range(1, most_types + 1):
        for some in combinations(rows.tolist(), size):
            for ranges in product(*(_doubling(int(owned[row])) for row in some)):
                nodes, spare = zip(*ranges, strict=True)
                found.append(Start(some, nodes, spare))
    return found


def _doubling(most: int) -> list[tuple[int, int]]:
    """(first, how many more) of the ranges 1, 2-3, 4-7, ... and `most`."""
    first, found = 1, []
    while first < most:
        last = min(2 * first, most) - 1
        found.append((first, last - first))
        first = last + 1
    return [*found, (most, 0)]


@dataclass(frozen=True, eq=False)
class PartialSums:
    """Compositions of which some members are fixed: (n,) each.

    Args:
        window: the window that the whole composition lies in.
        price: USD per hour of the fixed nodes and the master.
        capacity, work, seconds: sums over the fixed nodes of their capacity g, g omega and g tau.
        widening: the widest of the fixed members'.
    """

    window: IntArray
    price: FloatArray
    capacity: FloatArray
    work: FloatArray
    seconds: FloatArray
    widening: FloatArray

    @classmethod
    def nothing(cls, windows: int, price: float) -> PartialSums:
        """Nothing fixed yet, once for each window."""
        zero = np.zeros(windows)
        return cls(np.arange(windows), zero + price, zero, zero, zero, zero)

    def taken(self, places: IntArray) -> PartialSums:
        return PartialSums(
            self.window[places],
            self.price[places],
            self.capacity[places],
            self.work[places],
            self.seconds[places],
            self.widening[places],
        )
