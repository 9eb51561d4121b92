"""Lower bounds for compositions of unlike nodes, by windows of total capacity.

A composition of capacity C in a window [low, high] whose fixed part has the price P per hour, the
capacity G and the members' sums of work Q = sum n_t g_t omega_t leaves C - G to other types. With
z = 1 / C the hourly price per capacity and the work,

    A = z P + sum_u v_u rho_u,      B = z Q + sum_u v_u omega_u,      sum_u v_u = 1 - z G,

are linear in (v, z), where rho_u is the price of a unit of capacity of type u and omega_u the least
of C (T_u(C) + start-up) in the window. The cost is at least A B. A product of two positive linear
functions is quasi-concave, so over the polytope that the deadline leaves (B <= high (D / widening +
start-up)) it is lowest at a vertex (`engine.mixing.hulls`). Only these are asked.

Where the start-up is long and the deadline near the shortest possible that polytope is too large.
So with a deadline there is a second bound, of the times widened by their spread,

    A = z P + sum_u v_u rho_u,      Y = z W_G sum n_t g_t tau_t + sum_u v_u W_u tau_u <= D,

tau_u being the least time in the window, W_u the least factor from the time to the deadline that is
met, W_G the largest of the fixed members'. As the factor of a mix is its members' largest, Y is no
more than its widened time, and with W the largest factor in the window the cost is at least low A
(Y / W + start-up): a product of the same kind. The larger bound counts.

The fastest within a budget is bounded in the same way: for times between the least of the window
and the best known, the hyperbola price x time = budget lies below its chord, which is linear.
No time being shorter than the bound t, no hourly price is above budget / billed(t): that bounds the
time again, and again while it moves. Where hours are billed this is nearly all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.choosing.recommendation import Goal
from engine.choosing.sweeps import TIE
from engine.cost import billed_seconds
from engine.forecast import FloatArray, IntArray
from engine.mixing.hulls import Corners, Fixed, corners, hull_chains
from engine.mixing.market import Market, extreme_quantiles
from engine.mixing.nodes import NOTHING_OWNED, NodeTerms, PartialSums, Start, TypeSpreads
from engine.units import SECONDS_PER_HOUR

_NARROWED, _MOVED = 4, 1e-3
"""How often a least time within a budget is taken up again, and by how much it must move."""

Line = Callable[[FloatArray, FloatArray], FloatArray]
"""From a price and the other coordinate to what is above 0 beyond the goal."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Bounds of every type in every window.

    Args:
        low, high: (j,) ends of the windows.
        price: (k,) rho, USD per hour and capacity.
        work: (k, j) omega; seconds: (k, j) tau, the least time; inf where the window holds no
            composition with that type.
        widening: (k, j) the least factor from the time to the deadline that is met.
        start: the owned nodes that every composition uses.
    """

    goal: Goal
    market: Market
    low: FloatArray
    high: FloatArray
    node: NodeTerms
    price: FloatArray
    work: FloatArray
    seconds: FloatArray
    widening: FloatArray
    start: Start

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(
        cls, market: Market, goal: Goal, low: FloatArray, high: FloatArray, node: NodeTerms,
        start: Start = NOTHING_OWNED,
    ) -> Windows:  # fmt: skip
        """Windows with the given ends."""
        capacity = node.capacity[:, None]
        first, last = low / capacity, high / capacity
        holds = last >= 1.0
        at_low, at_high = node.seconds.at(first), node.seconds.at(last)
        startup = market.billing.startup_seconds
        inner = node.seconds.least_inside(first, last)
        seconds = np.minimum(np.minimum(at_low, at_high), inner)
        inner = node.work.least_inside(first, last)
        work = np.minimum(np.minimum(low * (at_low + startup), high * (at_high + startup)), inner)
        seconds, work = np.where(holds, seconds, np.inf), np.where(holds, work, np.inf)
        widening = widening_inside(node.spread, goal, first, last)
        price = node.rates / node.capacity
        return cls(goal, market, low, high, node, price, work, seconds, widening, start)

    def starting(self, start: Start) -> Windows:
        """The same windows with other owned nodes."""
        return self._kept(replace(self, start=start), _OF_TIMES + _OF_PRICES)

    def charged(self, node: NodeTerms) -> Windows:
        """The same windows with other prices."""
        price = node.rates / node.capacity
        return self._kept(replace(self, node=node, price=price), _OF_TIMES)

    def _kept(self, other: Windows, names: tuple[str, ...]) -> Windows:
        """Another one with what both would work out alike."""
        other.__dict__.update({name: getattr(self, name) for name in names if name in vars(self)})
        return other

    @cached_property
    def root(self) -> PartialSums:
        """Only the owned nodes fixed, once for each window."""
        parts = PartialSums.nothing(len(self), self.node.head)
        for row, nodes, spare in zip(
            self.start.rows, self.start.nodes, self.start.spare, strict=True
        ):
            every = np.ones(len(self), dtype=np.int64)
            # The bound pays for those that are spare, if it takes them: all are taken off before.
            parts = self.with_one(parts, row * every, nodes * every, spare=spare * every)
        return parts

    def with_one(
        self, parts: PartialSums, row: IntArray, nodes: IntArray, *, spare: IntArray | None = None
    ) -> PartialSums:
        """The parts with so many nodes of a type more.

        Args:
            spare: how many more are owned, as these are; None where these are paid for.
        """
        window, capacity = parts.window, nodes * self.node.capacity[row]
        price = nodes * (self.node.rates if spare is None else self.node.owned)[row]
        if spare is not None:
            price = price - spare * self.node.saved[row]
        return PartialSums(
            window,
            parts.price + price,
            parts.capacity + capacity,
            parts.work + capacity * self.work[row, window],
            parts.seconds + capacity * self.seconds[row, window],
            np.maximum(parts.widening, self.widening[row, window]),
        )

    def floor(self, parts: PartialSums, below: float) -> FloatArray:
        """(n,) no completion of a part that satisfies the goal is better than this; what is not
        below `below` may be inf as well."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if self.goal.by_time:
                value = self._least_time(parts, below)
            else:
                value = self.least_cost(parts)
                if self.goal.deadline_seconds is not None:
                    some = np.flatnonzero(value < below)
                    in_time = self.least_cost_in_time(parts.taken(some))
                    value[some] = np.maximum(value[some], in_time)
                value = np.where(value <= self.goal.most_usd, value, np.inf)
        return np.where(parts.capacity <= self.high[parts.window] * (1.0 + TIE), value, np.inf)

    def _ends(self, parts: PartialSums) -> tuple[FloatArray, FloatArray]:
        low = np.maximum(self.low[parts.window], parts.capacity)
        return low, np.maximum(self.high[parts.window], low)

    def _corners(
        self, parts: PartialSums, used: FloatArray, chain: IntArray, other: FloatArray, over: Line
    ) -> Corners:
        """Corners of what the windows leave to parts that use so much of the other coordinate."""
        rows = chain[parts.window].T
        fixed = Fixed(parts.price, parts.capacity, used)
        price, other = self.price[rows], other[rows, parts.window]
        return corners(fixed, self._ends(parts), price, other, over)

    def _widening(self, parts: PartialSums) -> FloatArray:
        """(n,) the least factor of a whole composition."""
        return np.asarray(np.maximum(parts.widening, self._least_widening[parts.window]))

    @cached_property
    def _least_widening(self) -> FloatArray:
        held = np.where(np.isfinite(self.seconds), self.widening, np.inf).min(axis=0)
        return np.asarray(np.where(np.isfinite(held), held, 1.0))

    @cached_property
    def _most_widening(self) -> FloatArray:
        held = np.where(np.isfinite(self.seconds), self.widening, 0.0).max(axis=0)
        return np.asarray(np.where(held > 0.0, held, 1.0))

    @cached_property
    def _late(self) -> FloatArray:
        """(k, j) the least time, widened."""
        return self.seconds * self.widening

    def _hulls(self, other: FloatArray) -> IntArray:
        """Chains of the types of which nodes can be paid for."""
        return hull_chains(self.price, np.where(self.market.most[:, None] > 0, other, np.inf))

    @cached_property
    def _by_work(self) -> IntArray:
        return self._hulls(self.work)

    @cached_property
    def _by_late(self) -> IntArray:
        return self._hulls(self._late)

    @cached_property
    def _by_seconds(self) -> IntArray:
        return self._hulls(self.seconds)

    def least_cost(self, parts: PartialSums) -> FloatArray:
        """(n,) the least A B."""
        window, startup = parts.window, self.market.billing.startup_seconds
        _, high = self._ends(parts)
        most = np.full(len(window), np.inf)
        if self.goal.deadline_seconds is not None:
            deadline = self.goal.deadline_seconds * (1.0 + TIE) / self._widening(parts)
            most = high * (deadline + startup)
        found = self._corners(parts, parts.work, self._by_work, self.work, lambda _, b: b - most)
        return self._least(found, high, found.other, np.ones(len(window)))

    def least_cost_in_time(self, parts: PartialSums) -> FloatArray:
        """(n,) the least low A (Y / W + start-up)."""
        low, _ = self._ends(parts)
        most = (self.goal.deadline_seconds or np.inf) * (1.0 + TIE)
        startup = self.market.billing.startup_seconds
        top = np.maximum(self._most_widening[parts.window], parts.widening)
        found = self._corners(
            parts, parts.seconds * parts.widening, self._by_late, self._late,
            lambda _, y: y - most,
        )  # fmt: skip
        return self._least(found, np.ones(len(low)), found.other / top + startup, low)

    def _least(
        self, found: Corners, per: FloatArray, work: FloatArray, times: FloatArray
    ) -> FloatArray:
        """(n,) USD: the least of A x work x times over corners, and of what is billed by steps.

        Args:
            work: (c, n) at the corners.
            per: work / per is a time with the start-up that nothing at the corner is shorter than.
        """
        hourly = np.maximum(found.price, 0.0)
        best = _least_inside(found, hourly * work * times)
        billing = self.market.billing
        # What is taken off for owned nodes and charged for others may leave less than the master.
        apart = self._in_steps or self.market.head > self.node.head or bool(self.start.rows)
        apart |= self.market.share is not None
        if apart:
            shortest = _least_inside(found, work / per)
            seconds = np.maximum(shortest - billing.startup_seconds, 0.0)
            hourly = np.maximum(_least_inside(found, hourly * found.size), self.market.head)
            best = np.maximum(best, hourly * _billed(seconds, self.market))
        return best / SECONDS_PER_HOUR

    @property
    def _in_steps(self) -> bool:
        """Whether times of some difference are billed alike."""
        billing = self.market.billing
        steps = billing.granularity_seconds > 1.0
        return steps or billing.minimum_seconds > billing.startup_seconds

    def _least_time(self, parts: PartialSums, below: float) -> FloatArray:
        """(n,) the least time over the corners that the budget's chord leaves."""
        window, startup = parts.window, self.market.billing.startup_seconds
        low, _ = self._ends(parts)
        most = self.goal.most_usd * SECONDS_PER_HOUR
        start = self.seconds.min(axis=0)[window] + startup
        end = below + startup
        found = self._corners(
            parts, parts.seconds, self._by_seconds, self.seconds,
            lambda a, y: a * low * (start / most) + (y + startup - start) / end - 1.0 - TIE,
        )  # fmt: skip
        best = _least_inside(found, found.other)
        if self.goal.budget_usd is not None:
            some = np.flatnonzero(best < below)
            for _ in range(_NARROWED):
                if not len(some):
                    break
                before = best[some]
                best[some] = np.maximum(before, self._least_time_at(parts.taken(some), before))
                longer = best[some] > before * (1.0 + _MOVED)
                some = some[longer & (best[some] < below)]
        if self.goal.deadline_seconds is not None:
            in_time = best * self._widening(parts) <= self.goal.deadline_seconds * (1.0 + TIE)
            best = np.where(in_time, best, np.inf)
        return best

    def _least_time_at(self, parts: PartialSums, least: FloatArray) -> FloatArray:
        """(n,) the least time with an hourly price that the budget pays for as long as is billed
        for (n,) times that nothing is shorter than."""
        low, _ = self._ends(parts)
        hourly = self.goal.most_usd * SECONDS_PER_HOUR / _billed(least, self.market)
        found = self._corners(
            parts, parts.seconds, self._by_seconds, self.seconds,
            lambda a, _: a * low - hourly * (1.0 + TIE),
        )  # fmt: skip
        return _least_inside(found, found.other)

    def floor_of_whole(self, parts: PartialSums) -> FloatArray:
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


_OF_TIMES = ("_least_widening", "_most_widening", "_late")
_OF_PRICES = ("_by_work", "_by_late", "_by_seconds")
"""What is worked out once."""


def _least_inside(found: Corners, values: FloatArray) -> FloatArray:
    """(n,) the least of (c, n) values over the corners that are not outside."""
    return np.asarray(np.fmin.reduce(np.where(np.isfinite(found.size), values, np.inf)))


def _billed(seconds: FloatArray, market: Market) -> FloatArray:
    return billed_seconds(np.where(np.isfinite(seconds), seconds, 0.0), market.billing)


def widening_inside(
    spread: TypeSpreads, goal: Goal, low: FloatArray, high: FloatArray
) -> FloatArray:
    """(k, j) factors that no mix with that member has a smaller one than.

    The spread of a mix is at least the widest of its members', with that member's degrees of
    freedom: those of any type bound the quantile. Below the median more spread means less, so there
    the widest of all types bounds everything. An unknown spread widens nothing.
    """
    if goal.deadline_seconds is None or np.isnan(spread.dof_ends).any():
        return np.ones(low.shape)
    quantile = min(extreme_quantiles(goal.confidence, spread.dof_ends))
    if quantile <= 0.0:
        return np.full(low.shape, np.exp(quantile * spread.widest))
    return np.asarray(np.exp(quantile * spread.least(low, high)))
