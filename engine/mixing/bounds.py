"""Lower bounds for compositions of several types, over windows of total capacity.

A composition of capacity C in a window [low, high] whose fixed part has the price P per hour, the
capacity G and the members' sums of work Q = sum n_t g_t omega_t leaves C - G to other types. With
z = 1 / C the hourly price per capacity and the work,

    A = z P + sum_u v_u rho_u,      B = z Q + sum_u v_u omega_u,      sum_u v_u = 1 - z G,

are linear in (v, z), where rho_u is the price of a unit of capacity of type u and omega_u the least
of C (T_u(C) + start-up) in the window. The cost is at least A B. A product of two positive linear
functions is quasi-concave, so over the polytope that the deadline leaves (B <= high (D / widening +
start-up)) it is lowest at a vertex (`engine.mixing.hulls`). Only vertices are evaluated.

Where the start-up is long and the deadline near the shortest possible that polytope is too large.
So with a deadline there is a second bound, of the times widened by their spread,

    A = z P + sum_u v_u rho_u,      Y = z W_G sum n_t g_t tau_t + sum_u v_u W_u tau_u <= D,

tau_u being the least time in the window, W_u the least factor from the time to the deadline that is
met, W_G the largest of the fixed members'. As the factor of a mix is its members' largest, Y is no
more than its widened time, and with W the largest factor in the window the cost is at least low A
(Y / W + start-up): a product of the same kind. The larger bound counts.

The fastest within a budget is bounded in the same way: for times between the least of the window
and the best known, the hyperbola price x time = budget lies below its chord, which is linear.
No time is shorter than the bound t, so no hourly price is above budget / billed(t). That tightens
the bound of the time, and is repeated while it improves. With hourly billing most of the bound
comes from this.
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
from engine.mixing.bound_terms import (
    NO_OWNED_NODES,
    NodeTerms,
    OwnedNodes,
    PartialSums,
    TypeSpreads,
)
from engine.mixing.hulls import FixedPart, Vertices, hull_chains, vertices_of
from engine.mixing.market import Market, extreme_quantiles
from engine.mixing.promised_time import PromisedTimeGoal
from engine.units import SECONDS_PER_HOUR

_MAX_BUDGET_ROUNDS, _LEAST_INCREASE = 4, 1e-3
"""The most rounds of tightening the least time within a budget, and the least relative increase of
a round."""

GoalLine = Callable[[FloatArray, FloatArray], FloatArray]
"""From a price and the other coordinate (work or time) to a value above 0 where the goal is
broken."""


@dataclass(frozen=True, eq=False)
class Windows:
    """j windows of total capacity, with the terms of k types in each.

    Args:
        low, high: (j,) ends of the windows.
        price: (k,) rho, USD per hour and capacity.
        work: (k, j) omega, the least C (T + start-up); inf where the window holds no composition
            with that type.
        seconds: (k, j) tau, the least time; inf as `work`.
        widening: (k, j) the least factor from the time to the deadline that is met.
        owned_nodes: the range of owned nodes that every composition uses.
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
    owned_nodes: OwnedNodes

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(
        cls, market: Market, goal: Goal, low: FloatArray, high: FloatArray, node: NodeTerms,
        owned_nodes: OwnedNodes = NO_OWNED_NODES,
    ) -> Windows:  # fmt: skip
        """Windows with the given ends."""
        capacity = node.capacity[:, None]
        fewest, most = low / capacity, high / capacity
        holds = most >= 1.0
        at_low, at_high = node.seconds.at(fewest), node.seconds.at(most)
        startup = market.billing.startup_seconds
        inner = node.seconds.least_between(fewest, most)
        seconds = np.minimum(np.minimum(at_low, at_high), inner)
        inner = node.work.least_between(fewest, most)
        work = np.minimum(np.minimum(low * (at_low + startup), high * (at_high + startup)), inner)
        seconds, work = np.where(holds, seconds, np.inf), np.where(holds, work, np.inf)
        widening = least_widening(node.spread, goal, fewest, most)
        price = node.rates / node.capacity
        return cls(goal, market, low, high, node, price, work, seconds, widening, owned_nodes)

    def with_owned_nodes(self, owned_nodes: OwnedNodes) -> Windows:
        """The windows with another range of owned nodes."""
        return self._sharing_cache(
            replace(self, owned_nodes=owned_nodes), _CACHED_OF_TIMES + _CACHED_OF_PRICES
        )

    def with_multipliers(self, node: NodeTerms) -> Windows:
        """The windows with the prices of other Lagrange multipliers."""
        price = node.rates / node.capacity
        return self._sharing_cache(replace(self, node=node, price=price), _CACHED_OF_TIMES)

    def _sharing_cache(self, other: Windows, names: tuple[str, ...]) -> Windows:
        """`other`, with cached properties of these names taken over."""
        other.__dict__.update({name: getattr(self, name) for name in names if name in vars(self)})
        return other

    @cached_property
    def root(self) -> PartialSums:
        """(j,) partial compositions with only the owned nodes fixed, one for each window."""
        parts = PartialSums.nothing(len(self), self.node.master_rate)
        for row, nodes, spare in zip(
            self.owned_nodes.rows, self.owned_nodes.nodes, self.owned_nodes.spare, strict=True
        ):
            every = np.ones(len(self), dtype=np.int64)
            # The bound pays for spare nodes where it uses them, so their price is subtracted first.
            parts = self.with_one(parts, row * every, nodes * every, spare=spare * every)
        return parts

    def with_one(
        self, parts: PartialSums, row: IntArray, nodes: IntArray, *, spare: IntArray | None = None
    ) -> PartialSums:
        """The partial compositions with (n,) `nodes` more of types `row`.

        Args:
            spare: (n,) how many more of owned nodes there may be; None for nodes that are paid for.
        """
        window, capacity = parts.window, nodes * self.node.capacity[row]
        price = nodes * (self.node.rates if spare is None else self.node.owned_rates)[row]
        if spare is not None:
            price = price - spare * self.node.owned_savings[row]
        return PartialSums(
            window,
            parts.price + price,
            parts.capacity + capacity,
            parts.work + capacity * self.work[row, window],
            parts.seconds + capacity * self.seconds[row, window],
            np.maximum(parts.widening, self.widening[row, window]),
        )

    def lower_bound(self, parts: PartialSums, cutoff: float) -> FloatArray:
        """(n,) lower bound on the completions that satisfy the goal; values of at least `cutoff`
        may be replaced by inf."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if isinstance(self.goal, PromisedTimeGoal):
                value = self._least_promised_time(parts, cutoff)
            elif self.goal.by_time:
                value = self._least_time(parts, np.full(len(parts.window), cutoff))
            else:
                value = self.least_cost(parts)
                if self.goal.deadline_seconds is not None:
                    undecided = np.flatnonzero(value < cutoff)
                    in_time = self.least_cost_in_time(parts.take(undecided))
                    value[undecided] = np.maximum(value[undecided], in_time)
                value = np.where(value <= self.goal.most_usd, value, np.inf)
        return np.where(parts.capacity <= self.high[parts.window] * (1.0 + TIE), value, np.inf)

    def _ends(self, parts: PartialSums) -> tuple[FloatArray, FloatArray]:
        low = np.maximum(self.low[parts.window], parts.capacity)
        return low, np.maximum(self.high[parts.window], low)

    def _vertices(
        self,
        parts: PartialSums,
        used: FloatArray,
        chain: IntArray,
        other: FloatArray,
        goal_line: GoalLine,
    ) -> Vertices:
        """Vertices of what the windows leave to partial compositions, whose other coordinate is
        `used`."""
        rows = chain[parts.window].T
        fixed = FixedPart(parts.price, parts.capacity, used)
        price, other = self.price[rows], other[rows, parts.window]
        return vertices_of(fixed, self._ends(parts), price, other, goal_line)

    def _widening(self, parts: PartialSums) -> FloatArray:
        """(n,) the least widening factor of a completion."""
        return np.asarray(np.maximum(parts.widening, self._least_widening[parts.window]))

    @cached_property
    def _least_widening(self) -> FloatArray:
        least = np.where(np.isfinite(self.seconds), self.widening, np.inf).min(axis=0)
        return np.asarray(np.where(np.isfinite(least), least, 1.0))

    @cached_property
    def _most_widening(self) -> FloatArray:
        most = np.where(np.isfinite(self.seconds), self.widening, 0.0).max(axis=0)
        return np.asarray(np.where(most > 0.0, most, 1.0))

    @cached_property
    def _widened_seconds(self) -> FloatArray:
        """(k, j) the least time, multiplied by the least factor to the deadline that is met."""
        return self.seconds * self.widening

    def _hulls(self, other: FloatArray) -> IntArray:
        """Hull chains of the types that can be rented."""
        return hull_chains(self.price, np.where(self.market.most[:, None] > 0, other, np.inf))

    @cached_property
    def _hulls_by_work(self) -> IntArray:
        return self._hulls(self.work)

    @cached_property
    def _hulls_by_widened_seconds(self) -> IntArray:
        return self._hulls(self._widened_seconds)

    @cached_property
    def _hulls_by_seconds(self) -> IntArray:
        return self._hulls(self.seconds)

    def least_cost(self, parts: PartialSums) -> FloatArray:
        """(n,) lower bound on the cost in USD, from A B."""
        window, startup = parts.window, self.market.billing.startup_seconds
        _, high = self._ends(parts)
        most = np.full(len(window), np.inf)
        if self.goal.deadline_seconds is not None:
            deadline = self.goal.deadline_seconds * (1.0 + TIE) / self._widening(parts)
            most = high * (deadline + startup)
        vertices = self._vertices(
            parts, parts.work, self._hulls_by_work, self.work, lambda _, b: b - most
        )
        return self._least(vertices, high, vertices.other, np.ones(len(window)))

    def least_cost_in_time(self, parts: PartialSums) -> FloatArray:
        """(n,) lower bound on the cost in USD, from low A (Y / W + start-up)."""
        low, _ = self._ends(parts)
        most = (self.goal.deadline_seconds or np.inf) * (1.0 + TIE)
        startup = self.market.billing.startup_seconds
        top = np.maximum(self._most_widening[parts.window], parts.widening)
        vertices = self._vertices(
            parts, parts.seconds * parts.widening, self._hulls_by_widened_seconds,
            self._widened_seconds, lambda _, y: y - most,
        )  # fmt: skip
        return self._least(vertices, np.ones(len(low)), vertices.other / top + startup, low)

    def _least(
        self, vertices: Vertices, per: FloatArray, work: FloatArray, times: FloatArray
    ) -> FloatArray:
        """(n,) USD: the least of A x work x times over the vertices, or the least hourly price
        times the least billed time where that is more.

        Args:
            work: (c, n) at the vertices.
            per: work / per is a lower bound on the time with start-up at a vertex.
        """
        hourly = np.maximum(vertices.price, 0.0)
        best = _least_feasible(vertices, hourly * work * times)
        billing = self.market.billing
        # Savings of owned nodes and Lagrange multipliers may leave less than the master's price.
        needs_second_bound = (
            self._bills_in_steps
            or self.market.master_rate > self.node.master_rate
            or bool(self.owned_nodes.rows)
        )
        needs_second_bound |= self.market.share is not None
        if needs_second_bound:
            shortest = _least_feasible(vertices, work / per)
            seconds = np.maximum(shortest - billing.startup_seconds, 0.0)
            hourly = np.maximum(
                _least_feasible(vertices, hourly * vertices.capacity), self.market.master_rate
            )
            best = np.maximum(best, hourly * _billed(seconds, self.market))
        return best / SECONDS_PER_HOUR

    @property
    def _bills_in_steps(self) -> bool:
        """Whether different times may be billed the same."""
        billing = self.market.billing
        steps = billing.granularity_seconds > 1.0
        return steps or billing.minimum_seconds > billing.startup_seconds

    def _least_promised_time(self, parts: PartialSums, cutoff: float) -> FloatArray:
        """(n,) lower bound on the promised time: the least time widened, or Y where that is
        more."""
        widening = self._widening(parts)
        seconds = self._least_time(parts, cutoff / widening)
        best, undecided = seconds * widening, np.flatnonzero(seconds * widening < cutoff)
        parts, seconds = parts.take(undecided), seconds[undecided]
        low, _ = self._ends(parts)
        hourly = self.goal.most_usd * SECONDS_PER_HOUR / _billed(seconds, self.market)
        within = self.goal.budget_usd is not None
        vertices = self._vertices(
            parts, parts.seconds * parts.widening, self._hulls_by_widened_seconds,
            self._widened_seconds,
            lambda a, y: a * low - hourly * (1.0 + TIE) if within else y - cutoff * (1.0 + TIE),
        )  # fmt: skip
        best[undecided] = np.maximum(best[undecided], _least_feasible(vertices, vertices.other))
        return best

    def _least_time(self, parts: PartialSums, cutoff: FloatArray) -> FloatArray:
        """(n,) lower bound on the time, over the vertices within the chord of the budget."""
        window, startup = parts.window, self.market.billing.startup_seconds
        low, _ = self._ends(parts)
        most = self.goal.most_usd * SECONDS_PER_HOUR
        start = self.seconds.min(axis=0)[window] + startup
        end = cutoff + startup
        vertices = self._vertices(
            parts, parts.seconds, self._hulls_by_seconds, self.seconds,
            lambda a, y: a * low * (start / most) + (y + startup - start) / end - 1.0 - TIE,
        )  # fmt: skip
        best = _least_feasible(vertices, vertices.other)
        if self.goal.budget_usd is not None:
            undecided = np.flatnonzero(best < cutoff)
            for _ in range(_MAX_BUDGET_ROUNDS):
                if not len(undecided):
                    break
                before = best[undecided]
                best[undecided] = np.maximum(
                    before, self._least_time_at(parts.take(undecided), before)
                )
                longer = best[undecided] > before * (1.0 + _LEAST_INCREASE)
                undecided = undecided[longer & (best[undecided] < cutoff[undecided])]
        if self.goal.deadline_seconds is not None:
            in_time = best * self._widening(parts) <= self.goal.deadline_seconds * (1.0 + TIE)
            best = np.where(in_time, best, np.inf)
        return best

    def _least_time_at(self, parts: PartialSums, least: FloatArray) -> FloatArray:
        """(n,) lower bound on the time with an hourly price that the budget allows, given that no
        time is shorter than (n,) `least`."""
        low, _ = self._ends(parts)
        hourly = self.goal.most_usd * SECONDS_PER_HOUR / _billed(least, self.market)
        vertices = self._vertices(
            parts, parts.seconds, self._hulls_by_seconds, self.seconds,
            lambda a, _: a * low - hourly * (1.0 + TIE),
        )  # fmt: skip
        return _least_feasible(vertices, vertices.other)

    def lower_bound_complete(self, parts: PartialSums) -> FloatArray:
        """(n,) lower bound of complete compositions."""
        seconds = parts.seconds / parts.capacity
        with np.errstate(invalid="ignore", over="ignore"):
            cost = parts.price * np.maximum(
                parts.work / parts.capacity**2, _billed(seconds, self.market)
            )
            cost = np.where(np.isfinite(seconds), cost / SECONDS_PER_HOUR, np.inf)
        value = seconds if self.goal.by_time else cost
        if isinstance(self.goal, PromisedTimeGoal):
            value = seconds * self._widening(parts)
        met = cost <= self.goal.most_usd
        if self.goal.deadline_seconds is not None:
            met &= seconds * self._widening(parts) <= self.goal.deadline_seconds * (1.0 + TIE)
        return np.where(met, value, np.inf)


_CACHED_OF_TIMES = ("_least_widening", "_most_widening", "_widened_seconds")
_CACHED_OF_PRICES = ("_hulls_by_work", "_hulls_by_widened_seconds", "_hulls_by_seconds")
"""Cached properties of `Windows` that depend on times alone, and on times and prices."""


def _least_feasible(vertices: Vertices, values: FloatArray) -> FloatArray:
    """(n,) the least of (c, n) values over the feasible vertices."""
    return np.asarray(np.fmin.reduce(np.where(np.isfinite(vertices.capacity), values, np.inf)))


def _billed(seconds: FloatArray, market: Market) -> FloatArray:
    return billed_seconds(np.where(np.isfinite(seconds), seconds, 0.0), market.billing)


def least_widening(
    spread: TypeSpreads, goal: Goal, low: FloatArray, high: FloatArray
) -> FloatArray:
    """(k, j) lower bound on the factor from the time to the deadline met, of mixes with that
    member.

    The scale of a mix is at least the largest of its members', with that member's degrees of
    freedom; those of any type bound the quantile. Below the median a larger scale means a smaller
    factor, so there the largest scale of all types is the bound. An unknown scale widens nothing.
    """
    if goal.deadline_seconds is None or np.isnan(spread.dof_range).any():
        return np.ones(low.shape)
    quantile = min(extreme_quantiles(goal.confidence, spread.dof_range))
    if quantile <= 0.0:
        return np.full(low.shape, np.exp(quantile * spread.widest))
    return np.asarray(np.exp(quantile * spread.least(low, high)))
