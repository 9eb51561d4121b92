"""Prices and limits of compositions, and which compositions satisfy a goal."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import Billing
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.cost import billed_seconds
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray, student_quantile, take_rows
from engine.mixing.mix_law import MixLaw
from engine.mixing.promised_time import PromisedTimeGoal
from engine.units import SECONDS_PER_HOUR


@dataclass(frozen=True, eq=False)
class SpotShare:
    """A maximum share of spot nodes among all, where types are rented both ways.

    Args:
        types: (k,) type of each row.
        spot: (k,) whether its nodes are spot nodes.
        largest_share: the largest spot nodes / nodes.
        least_on_demand: the fewest on-demand nodes beside spot nodes.
        owned: (k,) owned nodes of each row, where no more nodes than `least_on_demand` are rented
            on demand; None where any number may be.
    """

    types: IntArray
    spot: BoolArray
    largest_share: float
    least_on_demand: int = 0
    owned: IntArray | None = None

    def allowed(self, rows: IntArray, counts: IntArray) -> BoolArray:
        """(n,) whether compositions keep the share."""
        on_demand_counts = np.where(self.spot[rows], 0, counts)
        nodes, on_demand = counts.sum(axis=1), on_demand_counts.sum(axis=1)
        spot = nodes - on_demand
        allowed = spot <= self.largest_share * nodes * (1.0 + 1e-12)
        allowed &= (spot == 0) | (on_demand >= self.least_on_demand)
        if self.owned is not None:
            allowed &= (on_demand <= self.least_on_demand) | (
                on_demand_counts <= self.owned[rows]
            ).all(axis=1)
        return np.asarray(allowed)

    def take(self, rows: IntArray) -> SpotShare:
        return take_rows(self, rows, "types", "spot", "owned")


@dataclass(frozen=True, eq=False)
class Market:
    """Prices of nodes, and limits on their counts.

    Args:
        rates: (k,) USD per billed hour of a node; inf where it cannot be rented.
        master_rate: USD per billed hour of the master.
        most: (k,) the most nodes of each type.
        constraints: further limits on the counts; None for none.
        owned: (k,) nodes of each type that cost nothing; None for none.
        share: limit on spot nodes where a type may be rented both ways; None for one way.
    """

    rates: FloatArray
    master_rate: float
    billing: Billing
    most: IntArray
    constraints: Constraints | None = None
    owned: IntArray | None = None
    share: SpotShare | None = None

    @classmethod
    def of(
        cls,
        rates: FloatArray,
        master_rate: float,
        billing: Billing,
        most: IntArray,
        constraints: Constraints | None = None,
        owned: IntArray | None = None,
    ) -> Market:
        """A market in which a type without a price is available as far as it is owned."""
        if owned is not None:
            unpriced = ~np.isfinite(rates) & (owned > 0)
            rates = np.where(unpriced, 0.0, rates)
            most = np.where(unpriced, np.minimum(most, owned), most)
        return cls(rates, master_rate, billing, most, constraints, owned)

    def take(self, rows: IntArray) -> Market:
        return take_rows(self, rows, "rates", "most", "constraints", "owned", "share")

    def hourly(self, rows: IntArray, counts: IntArray | FloatArray) -> FloatArray:
        """(n,) USD per billed hour of compositions, given as in `values_of`."""
        paid = counts if self.owned is None else np.maximum(counts - self.owned[rows], 0)
        priced = paid * np.where(paid > 0, self.rates[rows], 0.0)
        return np.asarray(priced.sum(axis=1) + self.master_rate)


def dominated(law: MixLaw, market: Market, goal: Goal, eligible: BoolArray) -> BoolArray:
    """(k,) dominated types, which can be left out of the search.

    A type is dominated by one with the same values in the law that is no dearer and not bound more
    tightly by any limit: replacing its nodes makes no composition worse.

    Args:
        eligible: (k,) types that may take part; the result is False for the others.
    """
    if market.share is not None:  # the spot share binds them beside the limits
        return np.zeros(len(eligible), dtype=bool)
    limits, most = market.constraints, np.full(len(eligible), goal.max_nodes)
    if limits is not None:  # a limit on all nodes holds when one replaces another
        most = np.minimum(most, limits.most(goal.max_nodes))
    sufficient = np.flatnonzero(eligible & (market.most >= most))
    sufficient = sufficient[np.argsort(market.rates[sufficient], kind="stable")]
    groups, cheapest_of_group = np.unique(law.identical_types[sufficient], return_index=True)
    cheapest = np.arange(len(eligible))
    has_cheapest = np.isin(law.identical_types, groups)
    cheapest[has_cheapest] = sufficient[cheapest_of_group][
        np.searchsorted(groups, law.identical_types[has_cheapest])
    ]
    dominated_types = eligible & (cheapest != np.arange(len(eligible)))
    dominated_types &= market.rates[cheapest] <= market.rates
    if market.owned is not None:
        dominated_types &= market.owned == 0
    if limits is not None:
        dominated_types &= (limits.weights[:, cheapest] <= limits.weights).all(axis=0)
    return np.asarray(dominated_types)


@dataclass(frozen=True, eq=False)
class MixResult:
    """The result of a search: types and counts of the best mix, None if none beats the first
    incumbent.

    `bound` is a lower bound on every composition that was not searched; `optimal` says that none
    of them can be better.
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
    cutoff: float = math.inf,
) -> FloatArray:
    """(n,) cost (time, where the fastest wins; promised time, where the least of it does) of
    compositions; inf where the goal is not met.

    Args:
        rows, counts: (n, q) types and their nodes; a count of 0 is no member.
        cutoff: values of at least this may be replaced by inf, which saves their evaluation.
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
    if market.share is not None:
        met &= market.share.allowed(rows, counts)
    if goal.budget_usd is not None:
        met &= costs <= goal.most_usd
    if isinstance(goal, PromisedTimeGoal):
        return _promised_times(forecast, goal, met, cutoff)
    values = forecast.seconds if goal.by_time else costs
    if goal.deadline_seconds is not None:
        if cutoff < math.inf:
            met &= values < cutoff
        undecided = np.flatnonzero(met)
        scale = forecast.scale_at(goal.confidence)[undecided]
        met[undecided] = in_time(forecast.seconds[undecided], scale, forecast.dof[undecided], goal)
    return np.where(met, values, np.inf)


def _promised_times(
    forecast: Forecast, goal: PromisedTimeGoal, met: BoolArray, cutoff: float
) -> FloatArray:
    """(n,) quantile of the times at the goal's confidence; inf where `met` is False, and where it
    is above the deadline or the cutoff: few are below these, and only they need it."""
    latest = cutoff if goal.deadline_seconds is None else min(goal.deadline_seconds, cutoff)
    rows = np.flatnonzero(met)
    scale = forecast.scale_at(goal.confidence)[rows]
    below = replace(goal, deadline_seconds=latest) if math.isfinite(latest) else goal
    rows = rows[in_time(forecast.seconds[rows], scale, forecast.dof[rows], below)]
    values = np.full(len(met), np.inf)
    values[rows] = forecast.take(rows).quantile_or_median(goal.confidence)
    return values


def in_time(seconds: FloatArray, scale: FloatArray, dof: FloatArray, goal: Goal) -> BoolArray:
    """(n,) whether P(T <= deadline) >= confidence; strictly T < deadline without an interval.

    The quantiles at the fewest and the most degrees of freedom bracket all others and decide most
    compositions; only those between need a quantile of their own.
    """
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    unknown = np.isnan(scale) | np.isnan(dof)
    met = np.asarray(seconds < deadline)
    known = np.flatnonzero(~unknown)
    if not len(known):
        return met
    log_seconds, scale, dof = np.log(seconds[known]), scale[known], dof[known]
    quantiles = extreme_quantiles(goal.confidence, dof)
    met[known] = log_seconds + scale * max(quantiles) <= np.log(deadline)
    between = ~met[known] & (log_seconds + scale * min(quantiles) <= np.log(deadline))
    undecided = np.flatnonzero(between)
    if len(undecided):
        log_bound = log_seconds[undecided] + scale[undecided] * student_quantile(
            goal.confidence, dof[undecided]
        )
        met[known[undecided]] = log_bound <= np.log(deadline)
    return met


def extreme_quantiles(confidence: float, dof: FloatArray) -> tuple[float, float]:
    """Student quantiles at the fewest and the most degrees of freedom: between them, the quantile
    is monotone."""
    ends = np.asarray([np.nanmin(dof), np.nanmax(dof)])
    few, many = student_quantile(confidence, ends).tolist()
    return few, many
