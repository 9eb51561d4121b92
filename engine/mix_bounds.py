"""Lower bounds for compositions of unlike nodes, by windows of total capacity.

A composition of capacity C in a window [low, high] whose fixed part has the price P per hour, the
capacity G and the members' sums of work Q = sum n_t g_t omega_t leaves C - G to other types. With
z = 1 / C the hourly price per capacity and the work,

    A = z P + sum_u v_u rho_u,      B = z Q + sum_u v_u omega_u,      sum_u v_u = 1 - z G,

are linear in (v, z), where rho_u is the price of a unit of capacity of type u and omega_u the least
of C (T_u(C) + start-up) in the window. The cost is at least A B. A product of two positive linear
functions is quasi-concave, so over the polytope that the deadline leaves (B <= high (D / widening +
start-up)) it is lowest at a vertex: one type u at an end of the window, or a point of the deadline
between two neighbours on the lower left hull of the points (rho_u, omega_u). Only these are asked.

The fastest within a budget is bounded in the same way: for times between the least of the window
and the best known, the hyperbola price x time = budget lies below its chord, which is linear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.cost import billed_seconds
from engine.forecast import FloatArray
from engine.market import Market, extreme_quantiles
from engine.mixes import MixLaw, between
from engine.recommendation import Goal
from engine.sweeps import TIE, IntArray
from engine.units import SECONDS_PER_HOUR


@dataclass(frozen=True, eq=False)
class Curves:
    """(k, m) values on whole counts, and their rows in one long array with inf behind each."""

    values: FloatArray
    padded: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Curves:
        """Of (k, m) values."""
        padded = np.full((len(values), values.shape[1] + 1), np.inf)
        padded[:, :-1] = values
        return cls(padded[:, :-1], padded.ravel())

    def taken(self, rows: IntArray) -> Curves:
        """Some of them."""
        return Curves.of(self.values[rows])

    def least_inside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """(k, j) least value at the whole counts between two real ones; inf where there is
        none."""
        m = self.values.shape[1]
        first = np.maximum(np.ceil(low), 1.0)
        last = np.minimum(np.floor(high), m)
        found = np.full(low.shape, np.inf)
        rows, places = np.nonzero(last >= first)
        if not len(rows):
            return found
        pairs = np.empty((len(rows), 2), dtype=np.int64)
        base = rows * (m + 1)
        pairs[:, 0] = base + first[rows, places].astype(np.int64) - 1
        pairs[:, 1] = base + last[rows, places].astype(np.int64)
        found[rows, places] = np.minimum.reduceat(self.padded, pairs.ravel())[::2]
        return found


@dataclass(frozen=True, eq=False)
class Node:
    """What a node of each type adds.

    Args:
        capacity, rates: (k,) capacity, and USD per hour that no price falls below.
        listed: (k,) USD per hour that a node saves where it is owned.
        owned: (k,) nodes that cost nothing; None for none.
        head: USD per hour of the master.
        credits: the most that owned nodes of other types save, by how many members are open.
        members: rows in a composition at most.
        seconds, work: (k, m) time and C (T + start-up) on whole counts.
    """

    seconds: Curves
    work: Curves
    capacity: FloatArray
    rates: FloatArray
    listed: FloatArray
    owned: IntArray | None
    head: float
    credits: tuple[float, ...]
    members: int

    @classmethod
    def of(cls, law: MixLaw, market: Market, most_types: int, *, dual: float = 0.0) -> Node:
        """Of a market.

        Args:
            dual: USD per hour that a spot node more than the share allows is charged. Where the
                share is kept that adds nothing, so that no price falls below these (Lagrange).
        """
        members, rates, share = most_types, market.rates, market.share
        if share is not None:
            members *= 2
            rates = rates + dual * (share.spot - share.most)
        largest = np.sort(market.credit)[::-1][:members]
        saved = [float(largest[:open_].sum()) for open_ in range(members + 1)]
        counts = np.arange(1, law.seconds.shape[1] + 1)
        work = (law.seconds + market.billing.startup_seconds) * counts * law.capacity[:, None]
        return cls(
            Curves.of(law.seconds), Curves.of(work), law.capacity, rates,
            market.rates, market.owned, market.head, tuple(saved), members,
        )  # fmt: skip

    def taken(self, rows: IntArray) -> Node:
        """Of some types."""
        owned = None if self.owned is None else self.owned[rows]
        return replace(
            self,
            seconds=self.seconds.taken(rows),
            work=self.work.taken(rows),
            capacity=self.capacity[rows],
            rates=self.rates[rows],
            listed=self.listed[rows],
            owned=owned,
        )

    def start(self, open_: int) -> float:
        """USD per hour of a composition beside what its members cost, `open_` of which are to
        come."""
        return self.head - self.credits[open_]

    def price(self, row: IntArray, nodes: IntArray, *, linear: bool = False) -> FloatArray:
        """(n,) USD per hour of so many nodes of a type; `linear`: at most that, and linear in the
        number, as if all that are owned were there."""
        price = np.asarray(nodes * self.rates[row])
        if self.owned is None:
            return price
        free = self.owned[row] if linear else np.minimum(self.owned[row], nodes)
        return np.asarray(price - free * self.listed[row])


@dataclass(frozen=True, eq=False)
class Parts:
    """Compositions of which some members are fixed: (n,) each.

    Args:
        window: the window that the whole composition lies in.
        price: USD per hour of the fixed nodes and the master, less what the others may save.
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
    def nothing(cls, windows: int, price: float) -> Parts:
        """Nothing fixed yet, once for each window."""
        zero = np.zeros(windows)
        return cls(np.arange(windows), zero + price, zero, zero, zero, zero)

    def taken(self, places: IntArray) -> Parts:
        """Some of them, repeated or reordered."""
        return Parts(
            self.window[places],
            self.price[places],
            self.capacity[places],
            self.work[places],
            self.seconds[places],
            self.widening[places],
        )


@dataclass(frozen=True, eq=False)
class Windows:
    """Bounds of every type in every window.

    Args:
        low, high: (j,) ends of the windows.
        price: (k,) rho, USD per hour and capacity.
        work: (k, j) omega; seconds: (k, j) tau, the least time; inf where the window holds no
            composition with that type.
        widening: (k, j) the least factor from the time to the deadline that is met.
        chain: (j, h) rows of the lower left hull, cheapest first; the last one repeated.
    """

    goal: Goal
    market: Market
    low: FloatArray
    high: FloatArray
    node: Node
    price: FloatArray
    work: FloatArray
    seconds: FloatArray
    widening: FloatArray
    chain: IntArray

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(
        cls, law: MixLaw, market: Market, goal: Goal, low: FloatArray, high: FloatArray, node: Node
    ) -> Windows:  # fmt: skip
        """Windows with the given ends."""
        capacity = law.capacity[:, None]
        first, last = low / capacity, high / capacity
        holds = last >= 1.0
        at_low, at_high = (between(law.seconds, *_grid(at)) for at in (first, last))
        startup = market.billing.startup_seconds
        inner = node.seconds.least_inside(first, last)
        seconds = np.minimum(np.minimum(at_low, at_high), inner)
        inner = node.work.least_inside(first, last)
        work = np.minimum(np.minimum(low * (at_low + startup), high * (at_high + startup)), inner)
        price = node.rates / law.capacity
        seconds, work = np.where(holds, seconds, np.inf), np.where(holds, work, np.inf)
        widening = widening_inside(law, goal, first, last)
        other = seconds if goal.by_time else work
        return cls(
            goal, market, low, high, node, price, work, seconds, widening, hull_chains(price, other)
        )

    @property
    def empty(self) -> Parts:
        """Nothing fixed yet, once for each window."""
        return Parts.nothing(len(self), self.node.start(self.node.members))

    def with_one(
        self, parts: Parts, row: IntArray, nodes: IntArray, *, open_: int, then: int,
        linear: bool = False,
    ) -> Parts:  # fmt: skip
        """The parts with so many nodes of a type more; of `open_` members that were to come `then`
        still are. With `linear` prices the bound never falls with the number of nodes."""
        window, capacity = parts.window, nodes * self.node.capacity[row]
        change = self.node.start(then) - self.node.start(open_)
        return Parts(
            window,
            parts.price + self.node.price(row, nodes, linear=linear) + change,
            parts.capacity + capacity,
            parts.work + capacity * self.work[row, window],
            parts.seconds + capacity * self.seconds[row, window],
            np.maximum(parts.widening, self.widening[row, window]),
        )

    def floor(self, parts: Parts, below: float) -> FloatArray:
        """(n,) no completion of a part that satisfies the goal is better than this; what is not
        below `below` may be inf as well."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if self.goal.by_time:
                value = self._least_time(parts, below)
            else:
                value = self._least_cost(parts)
                value = np.where(value <= self.goal.most_usd, value, np.inf)
        return np.where(parts.capacity <= self.high[parts.window] * (1.0 + TIE), value, np.inf)

    def _ends(self, parts: Parts) -> tuple[FloatArray, FloatArray]:
        low = np.maximum(self.low[parts.window], parts.capacity)
        return low, np.maximum(self.high[parts.window], low)

    def _widening(self, parts: Parts) -> FloatArray:
        """(n,) the least factor of a whole composition."""
        return np.asarray(np.maximum(parts.widening, self._least_widening[parts.window]))

    @cached_property
    def _least_widening(self) -> FloatArray:
        held = np.where(np.isfinite(self.seconds), self.widening, np.inf).min(axis=0)
        return np.asarray(np.where(np.isfinite(held), held, 1.0))

    def _least_cost(self, parts: Parts) -> FloatArray:
        """(n,) the least A B over the vertices, and the least of what is billed by steps."""
        window, billing = parts.window, self.market.billing
        low, high = self._ends(parts)
        most = np.full(len(window), np.inf)
        if self.goal.deadline_seconds is not None:
            deadline = self.goal.deadline_seconds * (1.0 + TIE) / self._widening(parts)
            most = high * (deadline + billing.startup_seconds)
        best = np.full(len(window), np.inf)
        hourly, shortest = best.copy(), best.copy()
        before: list[tuple[FloatArray, FloatArray]] = [(best, best)] * 2
        for place in range(self.chain.shape[1]):
            row = self.chain[window, place]
            price, work = self.price[row], self.work[row, window]
            here: list[tuple[FloatArray, FloatArray]] = []
            for end, size in enumerate((low, high)):
                rest = np.maximum(size - parts.capacity, 0.0)
                a = np.maximum(parts.price + rest * price, 0.0) / size
                b = (parts.work + rest * np.where(rest > 0.0, work, 0.0)) / size
                met = b <= most
                best = np.where(met, np.minimum(best, a * b), best)
                hourly = np.where(met, np.minimum(hourly, a * size), hourly)
                shortest = np.minimum(shortest, b / high)
                if place:
                    a0, b0 = before[end]
                    part = (most - b0) / (b - b0)
                    crosses = met != (b0 <= most)
                    a_there = a0 + part * (a - a0)
                    best = np.where(crosses, np.minimum(best, a_there * most), best)
                    hourly = np.where(crosses, np.minimum(hourly, a_there * size), hourly)
                here.append((a, b))
            (a0, b0), (a1, b1) = here
            crosses = (b0 <= most) != (b1 <= most)
            a_least = np.minimum(a0, a1)
            best = np.where(crosses, np.minimum(best, a_least * np.minimum(most, 1e300)), best)
            hourly = np.where(crosses, np.minimum(hourly, a_least * low), hourly)
            before = here
        if billing.granularity_seconds > 1.0 or billing.minimum_seconds > billing.startup_seconds:
            seconds = np.maximum(shortest - billing.startup_seconds, 0.0)
            best = np.maximum(best, hourly * _billed(seconds, self.market))
        return best / SECONDS_PER_HOUR

    def _least_time(self, parts: Parts, below: float) -> FloatArray:
        """(n,) the least time over the vertices that the budget's chord leaves."""
        window, startup = parts.window, self.market.billing.startup_seconds
        low, high = self._ends(parts)
        most = self.goal.most_usd * SECONDS_PER_HOUR
        start = self.seconds.min(axis=0)[window] + startup
        end = below + startup
        best = np.full(len(window), np.inf)
        before: list[tuple[FloatArray, FloatArray]] = [(best, best)] * 2
        for place in range(self.chain.shape[1]):
            row = self.chain[window, place]
            price, seconds = self.price[row], self.seconds[row, window]
            here: list[tuple[FloatArray, FloatArray]] = []
            x = np.maximum(parts.price + np.maximum(low - parts.capacity, 0.0) * price, 0.0)
            for which, size in enumerate((low, high)):
                rest = np.maximum(size - parts.capacity, 0.0)
                mine = rest * np.where(rest > 0.0, seconds, 0.0)
                y = (parts.seconds + mine) / size + startup
                over = x * (start / most) + (y - start) / end - 1.0
                met = over <= TIE
                best = np.where(met, np.minimum(best, y), best)
                if place:
                    over0, y0 = before[which]
                    crosses = met != (over0 <= TIE)
                    y_there = y0 + (y - y0) * over0 / (over0 - over)
                    best = np.where(crosses, np.minimum(best, y_there), best)
                here.append((over, y))
            crosses = (here[0][0] <= TIE) != (here[1][0] <= TIE)
            best = np.where(crosses, np.minimum(best, np.minimum(here[0][1], here[1][1])), best)
            before = here
        best = best - startup
        if self.goal.deadline_seconds is not None:
            in_time = best * self._widening(parts) <= self.goal.deadline_seconds * (1.0 + TIE)
            best = np.where(in_time, best, np.inf)
        return best

    def floor_of_whole(self, parts: Parts) -> FloatArray:
        """(n,) bound of compositions of which every member is fixed."""
        seconds = parts.seconds / parts.capacity
        with np.errstate(invalid="ignore", over="ignore"):
            cost = parts.price * np.maximum(
                parts.work / parts.capacity**2, _billed(seconds, self.market)
            )
            cost = np.where(np.isfinite(seconds), cost / SECONDS_PER_HOUR, np.inf)
        value = seconds if self.goal.by_time else cost
        met = cost <= self.goal.most_usd
        if self.goal.deadline_seconds is not None:
            met &= seconds * self._widening(parts) <= self.goal.deadline_seconds * (1.0 + TIE)
        return np.where(met, value, np.inf)


def _billed(seconds: FloatArray, market: Market) -> FloatArray:
    return billed_seconds(np.where(np.isfinite(seconds), seconds, 0.0), market.billing)


def _grid(counts: FloatArray) -> tuple[IntArray, FloatArray]:
    k, j = counts.shape
    return np.broadcast_to(np.arange(k)[:, None], (k, j)), counts


def widening_inside(law: MixLaw, goal: Goal, low: FloatArray, high: FloatArray) -> FloatArray:
    """(k, j) factors that no mix with that member has a smaller one than.

    The spread of a mix is at least the widest of its members', with that member's degrees of
    freedom: those of any type bound the quantile. Below the median more spread means less, so there
    the widest of all types bounds everything. An unknown spread widens nothing.
    """
    if goal.deadline_seconds is None or np.isnan(law.dof_ends).any():
        return np.ones(low.shape)
    quantile = min(extreme_quantiles(goal.confidence, law.dof_ends))
    if quantile <= 0.0:
        return np.full(low.shape, np.exp(quantile * law.widest))
    scale = np.where(np.isnan(law.log_scale), 0.0, law.log_scale)
    if (scale == scale[:, :1]).all():
        return np.exp(quantile * np.broadcast_to(scale[:, :1], low.shape))
    ends = np.minimum(between(scale, *_grid(low)), between(scale, *_grid(high)))
    return np.asarray(np.exp(quantile * np.minimum(ends, Curves.of(scale).least_inside(low, high))))


def hull_chains(price: FloatArray, other: FloatArray) -> IntArray:
    """(j, h) rows on the lower left convex hull of the points (price_u, other_uj), cheapest first;
    shorter chains repeat their last row."""
    order = np.argsort(price, kind="stable")
    ordered = other[order]
    before = np.minimum.accumulate(ordered, axis=0)
    falls = np.ones(ordered.shape, dtype=bool)
    falls[1:] = ordered[1:] < before[:-1]
    falls &= np.isfinite(ordered)
    chains = []
    for column in range(other.shape[1]):
        rows = order[falls[:, column]]
        chains.append(_hull(rows, price[rows].tolist(), other[rows, column].tolist()))
    longest = max(map(len, chains), default=1) or 1
    found = np.zeros((other.shape[1], longest), dtype=np.int64)
    for column, chain in enumerate(chains):
        if chain:
            found[column] = chain + [chain[-1]] * (longest - len(chain))
    return found


def _hull(rows: IntArray, x: list[float], y: list[float]) -> list[int]:
    """Rows of the lower convex hull of points with ascending x and falling y."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        if kept and x[kept[-1]] == x[i]:
            kept.pop()
        kept.append(i)
    return [int(rows[i]) for i in kept]
