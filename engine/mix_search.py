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
from dataclasses import dataclass, field, replace
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

    def taken(self, rows: IntArray) -> Market:
        """The market of some types."""
        return replace(
            self,
            rates=self.rates[rows],
            most=self.most[rows],
            constraints=None if self.constraints is None else self.constraints.taken(rows),
            owned=None if self.owned is None else self.owned[rows],
        )

    def hourly(self, rows: IntArray, counts: IntArray | FloatArray) -> FloatArray:
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
    law: MixLaw,
    market: Market,
    goal: Goal,
    rows: IntArray,
    counts: IntArray,
    *,
    below: float = math.inf,
) -> FloatArray:
    """(n,) cost (time, where the fastest wins) of compositions; inf where the goal is not met.

    Args:
        rows, counts: (n, q) types and their nodes; a count of 0 is no member.
        below: values that are not below this may be inf as well; it saves looking at them.
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
    values = forecast.seconds if goal.by_time else costs
    if goal.deadline_seconds is not None:
        if below < math.inf:
            met &= values < below
        asked = np.flatnonzero(met)
        seconds, scale = forecast.seconds[asked], forecast.log_scale[asked]
        met[asked] = in_time(seconds, scale, forecast.dof[asked], goal)
    return np.where(met, values, np.inf)


def in_time(
    seconds: FloatArray, scale: FloatArray, dof: FloatArray, goal: Goal
) -> NDArray[np.bool_]:
    """(n,) whether P(T <= deadline) >= confidence; strictly T < deadline without an interval.

    The quantiles at the fewest and the most degrees of freedom bracket all others and settle most;
    only what lies between asks for its own.
    """
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    unknown = np.isnan(scale) | np.isnan(dof)
    met = np.asarray(seconds < deadline)
    places = np.flatnonzero(~unknown)
    if not len(places):
        return met
    log_seconds, scale, dof = np.log(seconds[places]), scale[places], dof[places]
    ends = extreme_quantiles(goal.confidence, dof)
    met[places] = log_seconds + scale * max(ends) <= np.log(deadline)
    between_them = ~met[places] & (log_seconds + scale * min(ends) <= np.log(deadline))
    left = np.flatnonzero(between_them)
    if len(left):
        sure = log_seconds[left] + scale[left] * student_quantile(goal.confidence, dof[left])
        met[places[left]] = sure <= np.log(deadline)
    return met


def extreme_quantiles(confidence: float, dof: FloatArray) -> tuple[float, float]:
    """Student quantiles at the fewest and the most degrees of freedom: between them, the quantile
    is monotone."""
    ends = np.asarray([np.nanmin(dof), np.nanmax(dof)])
    few, many = student_quantile(confidence, ends).tolist()
    return few, many


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
    def of(cls, law: MixLaw, goal: Goal, edges: FloatArray, *, rough: bool = False) -> Bounds:
        """The bounds over cells between the given edges.

        Args:
            rough: one widening per type, that of all its cells: sooner made, and lower.
        """
        widening = least_widening(law, goal)
        low = edges[None, :-1] / law.capacity[:, None]
        high = edges[None, 1:] / law.capacity[:, None]
        holds = high >= 1.0
        seconds = np.where(holds, lowest(law.seconds, low, high), np.inf)
        if rough:
            least = np.asarray(np.fmin.reduce(widening, axis=1), dtype=float)
            least = np.where(np.isnan(widening).any(axis=1), np.fmin(least, 1.0), least)
            return cls(edges, seconds, np.tile(least, (len(edges) - 1, 1)).T)
        unknown = np.where(np.isnan(widening), 1.0, widening)
        return cls(edges, seconds, lowest(unknown, low, high))


def least_widening(law: MixLaw, goal: Goal) -> FloatArray:
    """(k, m) factors that no mix with that member has a smaller one than.

    The spread of a mix is the widest of its members', with that member's degrees of freedom: those
    of any type bound the quantile. Below the median more spread means less, so there the widest of
    all types bounds everything.
    """
    if goal.deadline_seconds is None:
        return np.ones(law.seconds.shape)
    if np.isnan(law.dof).all():
        return np.full(law.seconds.shape, np.nan)
    quantile = min(extreme_quantiles(goal.confidence, law.dof))
    if goal.confidence > 0.5:
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
        bounds = Bounds.of(self.law, self.goal, edges, rough=True)
        cells = np.flatnonzero(self._ideal(types, bounds) < self._worth)
        if not len(cells):
            return np.inf
        promising = [self._promising(types, cell, bounds) for cell in cells.tolist()]
        kept = np.unique(np.concatenate(promising))
        if len(kept) < 2:
            return np.inf
        # Of the types that are left alone: numbered anew, and back again in what is found.
        inner = Search(
            self.law.taken(kept),
            self.market.taken(kept),
            self.goal,
            self.most_types,
            self.value,
            limit_seconds=self.limit_seconds,
            _started=self._started,
        )
        rest = inner._within(edges)
        self.evaluated += inner.evaluated
        if inner.rows is not None:
            self.value, self.counts = inner.value, inner.counts
            self.rows = tuple(int(kept[row]) for row in inner.rows)
        return rest

    def _within(self, edges: FloatArray) -> float:
        """Searches mixes of all types of the law, with finer cells where that may be worth it;
        returns a bound of what was not looked at."""
        types = np.arange(len(self.law.capacity))
        cells = np.flatnonzero(
            self._ideal(types, Bounds.of(self.law, self.goal, edges)) < self._worth
        )
        if not len(cells):
            return np.inf
        finer = np.geomspace(edges[cells[0]], edges[cells[-1] + 1], CELLS + 1)
        return self._cells(types, Bounds.of(self.law, self.goal, finer))

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
        ideal, half = self._ideal(types, bounds), self.limit_seconds / 2.0
        for cell in np.flatnonzero(ideal < self._worth).tolist():
            # Half of the time at most goes into bounds: they are of use if some is left to look.
            if time.monotonic() - self._started > half:
                unseen = min(unseen, float(ideal[cell]))
                continue
            kept = self._promising(types, cell, bounds)
            for size in range(2, min(self.most_types, len(kept)) + 1):
                if math.comb(len(kept), size) > MOST_SETS:
                    unseen = min(unseen, float(ideal[cell]))
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
        value = values_of(self.law, self.market, self.goal, rows, counts, below=self._worth)
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
