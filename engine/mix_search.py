"""The best composition of up to q unlike types, provably: branch and bound over `MixLaw`.

All compositions are covered by cells (a set of types, a range of total capacity). In a cell the
price per hour and the time are both bounded from below by functions that are linear in the shares
of the work, so their product is log-concave and lowest at a corner of the shares that the goal
leaves. Cells whose bound is no better than the best composition known are never looked into; those
left are enumerated, the most promising first. The search starts from the best cluster of one type,
so that its answer is never worse.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Billing
from engine.cost import billed_seconds
from engine.forecast import FloatArray, student_quantile
from engine.limits import Constraints
from engine.mixes import MixLaw, between
from engine.recommendation import Goal
from engine.sweeps import TIE, IntArray
from engine.units import SECONDS_PER_HOUR

CELLS = 64
"""Ranges of capacity: finer ones bound better and take longer."""

CELLS_AT_ONCE = 256
ENUMERATED_AT_ONCE = 200_000
TIME_LIMIT_SECONDS = 2.0

MOST_SETS = 1_000_000
"""Sets of types in one cell at most; a cell with more stays unseen, and is said to be."""


@dataclass(frozen=True, eq=False)
class Market:
    """What compositions cost and may hold.

    Args:
        rates: (k,) USD per billed hour of a node; inf where it cannot be rented.
        head: USD per billed hour of the master.
        most: (k,) the most nodes of each type.
        constraints: what else binds the counts; None for nothing.
        owned: (k,) nodes of each type that cost nothing; None for none.
    """

    rates: FloatArray
    head: float
    billing: Billing
    most: IntArray
    constraints: Constraints | None = None
    owned: IntArray | None = None

    @classmethod
    def of(
        cls,
        rates: FloatArray,
        head: float,
        billing: Billing,
        most: IntArray,
        constraints: Constraints | None = None,
        owned: IntArray | None = None,
    ) -> Market:
        """A market in which a type without a price serves as far as it is owned."""
        if owned is not None:
            unpriced = ~np.isfinite(rates) & (owned > 0)
            rates = np.where(unpriced, 0.0, rates)
            most = np.where(unpriced, np.minimum(most, owned), most)
        return cls(rates, head, billing, most, constraints, owned)

    def hourly(self, rows: IntArray, counts: IntArray) -> FloatArray:
        """(n,) USD per billed hour of compositions, given as in `values_of`."""
        paid = counts if self.owned is None else np.maximum(counts - self.owned[rows], 0)
        priced = paid * np.where(paid > 0, self.rates[rows], 0.0)
        return np.asarray(priced.sum(axis=1) + self.head)

    @cached_property
    def credit(self) -> FloatArray:
        """(k,) the most that owned nodes take off the hourly price of a composition."""
        if self.owned is None:
            return np.zeros(len(self.rates))
        priced = np.where(np.isfinite(self.rates), self.rates, 0.0)
        return np.asarray(self.owned * priced)


@dataclass(frozen=True, eq=False)
class Found:
    """The best mix: its types and counts, None where no mix beats what was known before.

    `bound` is below every composition that was not looked at; `optimal` says that none of them
    can be better.
    """

    rows: tuple[int, ...] | None
    counts: tuple[int, ...]
    value: float
    bound: float
    optimal: bool
    evaluated: int


def values_of(
    law: MixLaw, market: Market, goal: Goal, rows: IntArray, counts: IntArray
) -> FloatArray:
    """(n,) cost (time, with a budget alone) of compositions; inf where the goal is not met.

    Args:
        rows, counts: (n, q) types and their nodes; a count of 0 is no member.
    """
    forecast = law.forecast(rows, counts)
    hourly, known = market.hourly(rows, counts), np.isfinite(forecast.seconds)
    billed = billed_seconds(np.where(known, forecast.seconds, 0.0), market.billing)
    with np.errstate(invalid="ignore"):  # a type without a price, billed for no time
        costs = hourly * billed / SECONDS_PER_HOUR
    met = known & np.isfinite(costs)
    met &= counts.sum(axis=1) <= goal.max_nodes
    if market.constraints is not None:
        met &= market.constraints.allowed(rows, counts)
    if goal.budget_usd is not None:
        met &= costs <= goal.most_usd
    if goal.deadline_seconds is not None:
        met &= in_time(forecast.seconds, forecast.log_scale, forecast.dof, goal)
    return np.where(met, forecast.seconds if goal.by_time else costs, np.inf)


def in_time(
    seconds: FloatArray, scale: FloatArray, dof: FloatArray, goal: Goal
) -> NDArray[np.bool_]:
    """(n,) whether P(T <= deadline) >= confidence; strictly T < deadline without an interval."""
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    sure = np.log(seconds) + scale * student_quantile(goal.confidence, dof)
    unknown = np.isnan(sure)
    return np.asarray(np.where(unknown, seconds < deadline, sure <= np.log(deadline)))


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower bounds of every type in every cell of capacity.

    Args:
        edges: (j + 1,) ascending capacities; cell i is [edges[i], edges[i + 1]).
        seconds: (k, j) no type is faster in that cell; inf where it holds no composition with it.
        widening: (k, j) the least factor from the time to the deadline that it meets.
    """

    edges: FloatArray
    seconds: FloatArray
    widening: FloatArray

    @classmethod
    def of(cls, law: MixLaw, goal: Goal, edges: FloatArray) -> Bounds:
        """The bounds over cells between the given edges."""
        widening = least_widening(law, goal)
        low = edges[None, :-1] / law.capacity[:, None]
        high = edges[None, 1:] / law.capacity[:, None]
        unknown = np.where(np.isnan(widening), 1.0, widening)
        holds = high >= 1.0
        return cls(
            edges,
            np.where(holds, lowest(law.seconds, low, high), np.inf),
            lowest(unknown, low, high),
        )


def least_widening(law: MixLaw, goal: Goal) -> FloatArray:
    """(k, m) factors that no mix with that member has a smaller one than.

    The spread of a mix is the widest of its members', with that member's degrees of freedom: those
    of any type bound the quantile. Below the median more spread means less, so there the widest of
    all types bounds everything.
    """
    if goal.deadline_seconds is None:
        return np.ones(law.seconds.shape)
    quantile = float(np.nanmin(student_quantile(goal.confidence, law.dof), initial=0.0))
    if goal.confidence > 0.5:
        quantile = float(np.nanmin(student_quantile(goal.confidence, law.dof)))
        return np.asarray(np.exp(law.log_scale * quantile))
    widest = float(np.nanmax(law.log_scale, initial=0.0))
    return np.full(law.seconds.shape, np.exp(quantile * widest))


def lowest(curves: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """(k, j) least value of each of (k, m) curves between real counts, ends included.

    Between whole counts a curve is monotone, so only these and the ends matter.
    """
    k, m = curves.shape
    rows = np.broadcast_to(np.arange(k)[:, None], low.shape)
    ends = np.minimum(between(curves, rows, low), between(curves, rows, high))
    first = np.clip(np.ceil(low), 1, m).astype(np.int64)
    last = np.clip(np.floor(high), 1, m).astype(np.int64)
    padded = np.append(curves, np.full((k, 1), np.inf), axis=1).ravel()
    base = rows * (m + 1)
    pairs = np.stack([base + first - 1, base + np.maximum(last, first - 1)], axis=-1).ravel()
    inner = np.minimum.reduceat(padded, np.minimum(pairs, len(padded) - 1))[::2]
    inner = np.where(last >= first, inner.reshape(low.shape), np.inf)
    return np.asarray(np.minimum(ends, inner))


@dataclass(eq=False)
class Search:
    """One search for compositions of `most_types` types at most."""

    law: MixLaw
    market: Market
    goal: Goal
    most_types: int
    value: float
    rows: tuple[int, ...] | None = None
    counts: tuple[int, ...] = ()
    evaluated: int = 0
    limit_seconds: float = TIME_LIMIT_SECONDS
    _started: float = field(default_factory=time.monotonic)

    def run(self) -> Found:
        """The best composition, or how far it may be from it when the time is over."""
        bound = np.inf
        for cores in np.unique(self.law.executor_cores):
            usable = np.isfinite(self.market.rates) & (self.market.most > 0)
            usable &= np.isfinite(self.law.capacity) & (self.law.executor_cores == cores)
            usable &= np.isfinite(self.law.seconds).any(axis=1)
            if usable.sum() > 1:
                bound = min(bound, self._among(np.flatnonzero(usable)))
        optimal = bound >= self.value * (1.0 - TIE)
        return Found(
            self.rows, self.counts, self.value, min(bound, self.value), optimal, self.evaluated
        )

    def _among(self, types: IntArray) -> float:
        """Searches mixes of these types; returns a bound of what was not looked at."""
        capacity = self.law.capacity[types]
        edges = np.geomspace(
            capacity.min(), capacity.max() * self.goal.max_nodes * 1.001, CELLS + 1
        )
        bounds = Bounds.of(self.law, self.goal, edges)
        cells = np.flatnonzero(self._ideal(types, bounds) < self._worth)
        if not len(cells):
            return np.inf
        edges = np.geomspace(edges[cells[0]], edges[cells[-1] + 1], CELLS + 1)
        bounds = Bounds.of(self.law, self.goal, edges)
        return self._cells(types, bounds)

    @property
    def _worth(self) -> float:
        """A bound must be below this to be worth a look."""
        return self.value * (1.0 - TIE)

    def _ideal(self, types: IntArray, bounds: Bounds) -> FloatArray:
        """(j,) bound of all compositions of a cell: the cheapest capacity at the shortest time."""
        per_capacity = (self.market.rates[types] / self.law.capacity[types]).min()
        shortest = bounds.seconds[types].min(axis=0)
        surest = shortest * bounds.widening[types].min(axis=0)
        priced = per_capacity * bounds.edges[:-1] - self.market.credit[types].sum()
        return self._bound(np.maximum(priced, 0.0) + self.market.head, shortest, surest)

    def _bound(self, hourly: FloatArray, seconds: FloatArray, sure: FloatArray) -> FloatArray:
        """Bound of the value from bounds of rate, time and the time that can be promised."""
        known = np.isfinite(seconds)
        billed = billed_seconds(np.where(known, seconds, 0.0), self.market.billing)
        cost = np.where(known, hourly * billed / SECONDS_PER_HOUR, np.inf)
        value = seconds if self.goal.by_time else cost
        if self.goal.budget_usd is not None:
            value = np.where(cost <= self.goal.most_usd, value, np.inf)
        if self.goal.deadline_seconds is not None:
            value = np.where(sure <= self.goal.deadline_seconds * (1.0 + TIE), value, np.inf)
        return np.asarray(value)

    def _cells(self, types: IntArray, bounds: Bounds) -> float:
        """Enumerates every cell that may hold a better composition, the most promising first;
        returns a bound of those that the time did not suffice for."""
        sets, cells, values, unseen = [], [], [], np.inf
        for cell in range(len(bounds.edges) - 1):
            kept = self._promising(types, cell, bounds)
            for size in range(2, min(self.most_types, len(kept)) + 1):
                if math.comb(len(kept), size) > MOST_SETS:
                    unseen = min(unseen, float(self._ideal(types, bounds)[cell]))
                    continue
                members = kept[_subsets(len(kept), size)]
                bound = self._corner_bound(members, cell, bounds)
                good = np.flatnonzero(bound < self._worth)
                padded = np.full((len(good), self.most_types), -1, dtype=np.int64)
                padded[:, :size] = members[good]
                sets.append(padded)
                cells.append(np.full(len(good), cell, dtype=np.int64))
                values.append(bound[good])
        if not sets:
            return unseen
        rows, places, value = np.concatenate(sets), np.concatenate(cells), np.concatenate(values)
        order = np.argsort(value, kind="stable")
        rest = self._enumerate(rows[order], places[order], value[order], bounds)
        return min(unseen, rest)

    def _promising(self, types: IntArray, cell: int, bounds: Bounds) -> IntArray:
        """Types of which one node, beside the cheapest capacity, may make a better composition."""
        low, high = float(bounds.edges[cell]), float(bounds.edges[cell + 1])
        capacity, rates = self.law.capacity[types], self.market.rates[types]
        per_capacity = (rates / capacity).min()
        fits = np.isfinite(bounds.seconds[types, cell]) & (capacity < high)
        priced = rates + np.maximum(low - capacity, 0.0) * per_capacity
        priced = np.maximum(priced - self.market.credit[types].sum(), 0.0)
        mine = np.where(fits, bounds.seconds[types, cell], 0.0)
        shortest = mine[fits].min(initial=np.inf)
        share = np.minimum(capacity / high, 1.0)
        if not fits.any():
            return types[:0]
        own = np.minimum(mine, share * mine + (1.0 - share) * shortest)
        sure = own * bounds.widening[types, cell]
        value = self._bound(priced + self.market.head, own, sure)
        return np.asarray(types[fits & (value < self._worth)])

    def _corner_bound(self, rows: IntArray, cell: int, bounds: Bounds) -> FloatArray:
        """(n,) bound of the compositions of (n, q) types in a cell, at the corners of the shares
        that one node each, and the deadline, leave."""
        low, high = bounds.edges[cell], bounds.edges[cell + 1]
        n, q = rows.shape
        least = self.law.capacity[rows] / high
        room = 1.0 - least.sum(axis=1)
        per_capacity = self.market.rates[rows] / self.law.capacity[rows]
        seconds, widening = bounds.seconds[rows, cell], bounds.widening[rows, cell].max(axis=1)
        base_price, base_time = (least * per_capacity).sum(axis=1), (least * seconds).sum(axis=1)
        price = base_price[:, None] + np.maximum(room, 0.0)[:, None] * per_capacity
        times = base_time[:, None] + np.maximum(room, 0.0)[:, None] * seconds
        credit = self.market.credit[rows].sum(axis=1)[:, None]
        hourly = np.maximum(low * price - credit, 0.0) + self.market.head
        startup = self.market.billing.startup_seconds
        cost = hourly * (times + startup) / SECONDS_PER_HOUR
        met = np.ones((n, q), dtype=bool)
        corners = [np.where(met, cost, np.inf)]
        if self.goal.deadline_seconds is not None:
            most = self.goal.deadline_seconds * (1.0 + TIE) / widening
            met = times <= most[:, None]
            corners = [np.where(met, cost, np.inf)]
            for a, b in combinations(range(q), 2):
                crosses = met[:, a] != met[:, b]
                with np.errstate(divide="ignore", invalid="ignore"):
                    part = (most - times[:, a]) / (times[:, b] - times[:, a])
                part = np.clip(np.where(crosses, part, 0.0), 0.0, 1.0)
                edge = hourly[:, a] + part * (hourly[:, b] - hourly[:, a])
                between_cost = edge * (most + startup) / SECONDS_PER_HOUR
                corners.append(np.where(crosses, between_cost, np.inf)[:, None])
        lowest_cost = np.concatenate(corners, axis=1).min(axis=1)
        shortest = times.min(axis=1)
        stepped = self._bound(hourly.min(axis=1), shortest, shortest * widening)
        lowest_cost = np.where(room >= 0.0, lowest_cost, np.inf)
        if self.goal.by_time:
            return np.where(lowest_cost <= self.goal.most_usd, stepped, np.inf)
        within = lowest_cost <= self.goal.most_usd
        return np.where(within, np.maximum(lowest_cost, stepped), np.inf)

    def _enumerate(
        self, rows: IntArray, cells: IntArray, values: FloatArray, bounds: Bounds
    ) -> float:
        """Evaluates the compositions of cells in ascending order of their bounds."""
        start = 0
        while start < len(values) and values[start] < self._worth:
            if time.monotonic() - self._started > self.limit_seconds:
                return float(values[start])
            part = slice(start, start + CELLS_AT_ONCE)
            for found, counts, cell in self._points(rows[part], cells[part], bounds):
                self._try(found, counts, cell, bounds)
            start += CELLS_AT_ONCE
        return np.inf

    def _points(
        self, rows: IntArray, cells: IntArray, bounds: Bounds
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """All compositions of some cells: (n, q) types and counts, (n,) cells, in parts."""
        member = rows >= 0
        capacity = np.where(member, self.law.capacity[rows], 0.0)
        order = np.argsort(-capacity, axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, axis=1)
        member = np.take_along_axis(member, order, axis=1)
        capacity = np.take_along_axis(capacity, order, axis=1)
        most = np.where(member, np.minimum(self.market.most[rows], self.goal.max_nodes), 0)
        low, high = bounds.edges[cells], bounds.edges[cells + 1]
        item = np.arange(len(rows))
        counts = np.zeros(rows.shape, dtype=np.int64)
        used = np.zeros(len(rows))
        size = member.sum(axis=1)
        for place in range(rows.shape[1]):
            mine, last = capacity[item, place], size[item] == place + 1
            in_use = member[item, place]
            later = np.where(np.arange(rows.shape[1]) > place, capacity[item], 0.0).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                upper = np.floor((high[item] - used - later) / mine)
                lower = np.where(last, np.ceil((low[item] - used) / mine), 1.0)
            upper = np.where(in_use, np.minimum(upper, most[item, place]), 0.0)
            lower = np.where(in_use, np.maximum(lower, 1.0), 0.0)
            number = np.maximum(upper - lower + 1.0, 0.0).astype(np.int64)
            repeated = np.repeat(np.arange(len(item)), number)
            offset = np.arange(len(repeated)) - np.repeat(np.cumsum(number) - number, number)
            counts = counts[repeated]
            counts[:, place] = lower[repeated].astype(np.int64) + offset
            used = used[repeated] + counts[:, place] * capacity[item[repeated], place]
            item = item[repeated]
        for start in range(0, len(item), ENUMERATED_AT_ONCE):
            part = slice(start, start + ENUMERATED_AT_ONCE)
            yield np.maximum(rows[item[part]], 0), counts[part], cells[item[part]]

    def _try(self, rows: IntArray, counts: IntArray, cells: IntArray, bounds: Bounds) -> None:
        """Keeps the best of some compositions, if it is better than what is known."""
        hourly = self.market.hourly(rows, counts)
        share = counts * self.law.capacity[rows]
        weight = share / share.sum(axis=1, keepdims=True)
        times = np.where(counts > 0, bounds.seconds[rows, cells[:, None]], 0.0)
        least = (weight * times).sum(axis=1)
        widening = np.where(counts > 0, bounds.widening[rows, cells[:, None]], 0.0).max(axis=1)
        open_ = self._bound(hourly, least, least * widening) < self._worth
        open_ &= counts.sum(axis=1) <= self.goal.max_nodes
        rows, counts = rows[open_], counts[open_]
        self.evaluated += len(rows)
        if not len(rows):
            return
        value = values_of(self.law, self.market, self.goal, rows, counts)
        best = int(value.argmin())
        if value[best] < self._worth:
            self.value = float(value[best])
            members = counts[best] > 0
            self.rows = tuple(int(row) for row in rows[best][members])
            self.counts = tuple(int(count) for count in counts[best][members])


def _subsets(n: int, size: int) -> IntArray:
    """(N, size) all subsets of 0 ... n - 1."""
    if size == 2:
        return np.stack(np.triu_indices(n, 1), axis=1)
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), dtype=np.int64)
    return flat.reshape(-1, size)
