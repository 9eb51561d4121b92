"""What compositions cost, what they may hold, and which of them satisfy a goal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.catalog import Billing
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.cost import billed_seconds
from engine.forecast import BoolArray, FloatArray, IntArray, student_quantile, taken
from engine.mixing.mix_law import MixLaw
from engine.units import SECONDS_PER_HOUR


@dataclass(frozen=True, eq=False)
class SpotShare:
    """A maximum share of spot nodes among all, where types are rented both ways.

    Args:
        types: (k,) the type that each row is; spot: (k,) whether its nodes are spot nodes.
        most: spot nodes / nodes at most.
        beside: other nodes at least, where there are spot nodes.
        owned: (k,) nodes of each row that are owned, where no more others are rented than need be;
            None where any number may be.
    """

    types: IntArray
    spot: BoolArray
    most: float
    beside: int = 0
    owned: IntArray | None = None

    def allowed(self, rows: IntArray, counts: IntArray) -> BoolArray:
        """(n,) whether compositions keep it."""
        others = np.where(self.spot[rows], 0, counts)
        nodes, beside = counts.sum(axis=1), others.sum(axis=1)
        spot = nodes - beside
        kept = spot <= self.most * nodes * (1.0 + 1e-12)
        kept &= (spot == 0) | (beside >= self.beside)
        if self.owned is not None:
            kept &= (beside <= self.beside) | (others <= self.owned[rows]).all(axis=1)
        return np.asarray(kept)

    def taken(self, rows: IntArray) -> SpotShare:
        return taken(self, rows, "types", "spot", "owned")


@dataclass(frozen=True, eq=False)
class Market:
    """What compositions cost and may hold.

    Args:
        rates: (k,) USD per billed hour of a node; inf where it cannot be rented.
        head: USD per billed hour of the master.
        most: (k,) the most nodes of each type.
        constraints: what else binds the counts; None for nothing.
        owned: (k,) nodes of each type that cost nothing; None for none.
        share: binds the spot nodes, where a type may be rented both ways; None for one way.
    """

    rates: FloatArray
    head: float
    billing: Billing
    most: IntArray
    constraints: Constraints | None = None
    owned: IntArray | None = None
    share: SpotShare | None = None

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
        return taken(self, rows, "rates", "most", "constraints", "owned", "share")

    def hourly(self, rows: IntArray, counts: IntArray | FloatArray) -> FloatArray:
        """(n,) USD per billed hour of compositions, given as in `values_of`."""
        paid = counts if self.owned is None else np.maximum(counts - self.owned[rows], 0)
        priced = paid * np.where(paid > 0, self.rates[rows], 0.0)
        return np.asarray(priced.sum(axis=1) + self.head)


def dominated(law: MixLaw, market: Market, goal: Goal, useful: BoolArray) -> BoolArray:
    """(k,) types that can be left out: another one, which is the same to the law, is no dearer, and
    only limits bind its nodes, none of them more. In their place it makes no composition worse.

    Args:
        useful: (k,) types that may take part; others are not told.
    """
    if market.share is not None:  # how many are spot nodes binds them beside the limits
        return np.zeros(len(useful), dtype=bool)
    limits, most = market.constraints, np.full(len(useful), goal.max_nodes)
    if limits is not None:  # what all nodes keep together, they keep in each other's place
        most = np.minimum(most, limits.most(goal.max_nodes))
    able = np.flatnonzero(useful & (market.most >= most))
    able = able[np.argsort(market.rates[able], kind="stable")]
    groups, first = np.unique(law.twins[able], return_index=True)
    cheapest = np.arange(len(useful))
    held = np.isin(law.twins, groups)
    cheapest[held] = able[first][np.searchsorted(groups, law.twins[held])]
    found = useful & (cheapest != np.arange(len(useful)))
    found &= market.rates[cheapest] <= market.rates
    if market.owned is not None:
        found &= market.owned == 0
    if limits is not None:
        found &= (limits.weights[:, cheapest] <= limits.weights).all(axis=0)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class FoundMix:
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
    if market.share is not None:
        met &= market.share.allowed(rows, counts)
    if goal.budget_usd is not None:
        met &= costs <= goal.most_usd
    values = forecast.seconds if goal.by_time else costs
    if goal.deadline_seconds is not None:
        if below < math.inf:
            met &= values < below
        asked = np.flatnonzero(met)
        scale = forecast.scale_at(goal.confidence)[asked]
        met[asked] = in_time(forecast.seconds[asked], scale, forecast.dof[asked], goal)
    return np.where(met, values, np.inf)


def in_time(seconds: FloatArray, scale: FloatArray, dof: FloatArray, goal: Goal) -> BoolArray:
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
