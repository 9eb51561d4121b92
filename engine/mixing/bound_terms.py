"""The terms of the lower bounds: what a node of each type adds, and sums over fixed members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from engine.forecast import FloatArray, IntArray, take_rows
from engine.mixing.market import Market
from engine.mixing.mix_law import MixLaw
from engine.mixing.node_counts import NodeCounts


@dataclass(frozen=True, eq=False)
class NodeCurves:
    """Curves over node counts, of k types.

    Args:
        table: (r, c) values; rows: (k,) the row of each type; node_counts: the counts.
    """

    table: FloatArray
    rows: IntArray
    node_counts: NodeCounts

    @classmethod
    def of(cls, table: FloatArray, columns: NodeCounts) -> NodeCurves:
        return cls(np.ascontiguousarray(table), np.arange(len(table)), columns)

    def take(self, rows: IntArray) -> NodeCurves:
        return replace(self, rows=self.rows[rows])

    def at(self, counts: FloatArray) -> FloatArray:
        """(k, j) values at real counts (see `NodeCounts.interpolated`)."""
        return self.node_counts.interpolated(self.table, self.rows[:, None], counts)

    def least_between(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """(k, j) least value in the columns between two real counts; inf without a column between
        them, NaN where a value is NaN."""
        first, last = self.node_counts.columns_between(low, high)
        least_values = np.full(low.shape, np.inf)
        rows, windows = np.nonzero(last >= first)
        if not len(rows):
            return least_values
        flat, base = self.table.ravel(), self.rows[rows] * self.table.shape[1]
        pairs = np.empty((len(rows), 2), dtype=np.int64)
        pairs[:, 0] = base + first[rows, windows]
        pairs[:, 1] = base + last[rows, windows] + 1
        at_end = (
            pairs[:, 1] == flat.size
        )  # reduceat takes no index beyond the end: the last value by itself
        pairs[at_end, 1] -= 1
        least = np.minimum.reduceat(flat, pairs.ravel())[::2]
        least[at_end] = np.minimum(least[at_end], flat[-1])
        least_values[rows, windows] = least
        return least_values


@dataclass(frozen=True, eq=False)
class TypeSpreads:
    """Spread of the times of k types.

    Args:
        scale: of log T; NaN where it is not known.
        dof_range: the fewest and the most degrees of freedom; NaN where none are known.
        widest: upper bound on the scale of any composition.
    """

    scale: NodeCurves
    dof_range: FloatArray
    widest: float

    @classmethod
    def of(cls, law: MixLaw) -> TypeSpreads:
        return cls(NodeCurves.of(law.log_scale, law.node_counts), law.dof_range, law.widest)

    def take(self, rows: IntArray) -> TypeSpreads:
        return replace(self, scale=self.scale.take(rows))

    def least(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """(k, j) the least scale between two real counts, 0 where one is unknown."""
        ends = np.minimum(self.scale.at(low), self.scale.at(high))
        least = np.minimum(ends, self.scale.least_between(low, high))
        return np.where(np.isnan(least), 0.0, least)


@dataclass(frozen=True, eq=False)
class NodeTerms:
    """What a node of each type adds to the sums of a bound.

    Args:
        seconds, work: time and C (T + start-up) on whole counts.
        spread: of the times.
        capacity: (k,) of a node.
        rates: (k,) USD per hour of a node, with the Lagrange multipliers of limits.
        owned_rates: (k,) the same of an owned node: the multipliers alone.
        owned_savings: (k,) USD per hour that owning a node saves.
        master_rate: USD per hour of the master.
        members: the most rows in a composition, in addition to owned ones.
    """

    seconds: NodeCurves
    work: NodeCurves
    spread: TypeSpreads
    capacity: FloatArray
    rates: FloatArray
    owned_rates: FloatArray
    owned_savings: FloatArray
    master_rate: float
    members: int

    @classmethod
    def of(cls, law: MixLaw, market: Market, most_types: int) -> NodeTerms:
        members = most_types if market.share is None else 2 * most_types
        work = law.seconds + market.billing.startup_seconds
        work *= law.node_counts.nodes
        work *= law.capacity[:, None]
        return cls(
            NodeCurves.of(law.seconds, law.node_counts), NodeCurves.of(work, law.node_counts),
            TypeSpreads.of(law), law.capacity, market.rates, np.zeros(len(market.rates)),
            market.rates, market.master_rate, members,
        )  # fmt: skip

    def with_multipliers(self, market: Market, charge: FloatArray, credit: float) -> NodeTerms:
        """The terms with (k,) `charge` added per node and `credit` subtracted in all, both in USD
        per hour (see `engine.mixing.multipliers`)."""
        return replace(
            self,
            rates=market.rates + charge,
            owned_rates=charge,
            master_rate=market.master_rate - credit,
        )

    def take(self, rows: IntArray) -> NodeTerms:
        names = ("seconds", "work", "spread", "capacity", "rates", "owned_rates", "owned_savings")
        return take_rows(self, rows, *names)


@dataclass(frozen=True)
class OwnedNodes:
    """A range of counts of owned nodes in a composition. They cost nothing and are fixed first.

    Args:
        rows: of the types.
        nodes: the fewest of each, at least one.
        spare: how many more at most.
    """

    rows: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()

    def reindexed(self, kept: IntArray) -> OwnedNodes:
        """The same among a subset of rows (ascending, with all of these)."""
        rows = np.searchsorted(kept, np.asarray(self.rows, dtype=np.int64))
        return replace(self, rows=tuple(rows.tolist()))

    def halves(self) -> tuple[OwnedNodes, OwnedNodes] | None:
        """Two ranges that together cover this one, the widest range of counts cut in half; None for
        exact counts."""
        widest = max(range(len(self.spare)), key=self.spare.__getitem__, default=None)
        if widest is None or not self.spare[widest]:
            return None
        half = self.spare[widest] // 2

        def with_range(first: int, spare: int) -> OwnedNodes:
            nodes, spares = list(self.nodes), list(self.spare)
            nodes[widest], spares[widest] = first, spare
            return replace(self, nodes=tuple(nodes), spare=tuple(spares))

        first = self.nodes[widest]
        return with_range(first, half), with_range(first + half + 1, self.spare[widest] - half - 1)

    def exact_counts(self) -> Iterator[tuple[int, ...]]:
        """Every combination of node counts in the range."""
        pairs = zip(self.nodes, self.spare, strict=True)
        return product(*(range(nodes, nodes + spare + 1) for nodes, spare in pairs))


NO_OWNED_NODES = OwnedNodes()


def owned_node_ranges(owned: IntArray, most_types: int) -> list[OwnedNodes]:
    """Ranges that together cover every use of (k,) owned nodes: their lengths double, and all nodes
    of a type are a range of their own."""
    rows = np.flatnonzero(owned > 0)
    result = [NO_OWNED_NODES]
    for size in range(1, most_types + 1):
        for types in combinations(rows.tolist(), size):
            for ranges in product(*(_doubling_ranges(int(owned[row])) for row in types)):
                nodes, spare = zip(*ranges, strict=True)
                result.append(OwnedNodes(types, nodes, spare))
    return result


def _doubling_ranges(most: int) -> list[tuple[int, int]]:
    """(first, spare) of the ranges 1, 2-3, 4-7, ... and `most`."""
    first, ranges = 1, []
    while first < most:
        last = min(2 * first, most) - 1
        ranges.append((first, last - first))
        first = last + 1
    return [*ranges, (most, 0)]


@dataclass(frozen=True, eq=False)
class PartialSums:
    """n partial compositions, of which some members are fixed: (n,) sums each.

    Args:
        window: the window that the whole composition lies in.
        price: USD per hour of the fixed nodes and the master.
        capacity, work, seconds: sums over the fixed nodes of their capacity g, g omega and g tau.
        widening: the largest factor of a fixed member from the time to the deadline that is met.
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

    def take(self, indices: IntArray) -> PartialSums:
        return PartialSums(
            self.window[indices],
            self.price[indices],
            self.capacity[indices],
            self.work[indices],
            self.seconds[indices],
            self.widening[indices],
        )
