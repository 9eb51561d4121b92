"""Lagrange multipliers of the limits on node counts: they bring limits into the lower bounds.

Under a limit sum_t w_t n_t <= cap the hourly price may be relaxed by mu (sum_t w_t n_t - cap) with
mu >= 0: mu w_t more per node, mu cap less in all. For compositions that keep the limit the relaxed
price is never above the true one, so its bound holds. Several mu are tried, one limit after the
other, and the one with the highest bound is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.choosing.recommendation import Goal
from engine.forecast import FloatArray
from engine.mixing.market import Market

SPOT_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the saving of a spot node that are tried as the multiplier of the spot share."""

UPPER_LIMIT_SHARES = (0.3, 0.1, 0.03, 1.0, 3.0)
"""Multipliers that are tried for upper limits, in median prices of a unit."""

LOWER_LIMIT_SHARES = (0.5, 0.9, 0.2)
"""Multipliers that are tried for lower limits, in the least price of a unit."""

MAX_FAILURES = 2
"""A limit is taken not to bind after this many multipliers without a higher bound."""


@dataclass(frozen=True, eq=False)
class CountLimits:
    """All limits on the counts of k types: sum_t weights[c, t] n_t <= caps[c]."""

    weights: FloatArray
    caps: FloatArray

    @classmethod
    def of(cls, market: Market, goal: Goal) -> CountLimits:
        """The limits of a market, and the fewest and most nodes."""
        all_nodes = np.ones((1, len(market.rates)))
        weights, caps, fewest = [all_nodes], [float(goal.max_nodes)], 1
        if market.constraints is not None:
            weights.append(market.constraints.weights)
            caps += market.constraints.caps.tolist()
            fewest = market.constraints.min_nodes
        if fewest > 1:
            weights.append(-all_nodes)
            caps.append(-float(fewest))
        return cls(np.concatenate(weights), np.asarray(caps))


@dataclass(frozen=True)
class Multipliers:
    """Lagrange multipliers in USD per hour: of the spot share, per spot node, and of every limit,
    per unit."""

    spot: float = 0.0
    limits: tuple[float, ...] = ()

    def terms(self, market: Market, goal: Goal) -> tuple[FloatArray, float]:
        """(k,) USD per hour to add per node of each type, and USD per hour to subtract in all."""
        charge, credit = np.zeros(len(market.rates)), 0.0
        if market.share is not None and self.spot:
            charge += self.spot * (market.share.spot - market.share.largest_share)
        if any(self.limits):
            limits = CountLimits.of(market, goal)
            charge += np.asarray(self.limits) @ limits.weights
            credit = float(np.asarray(self.limits) @ limits.caps)
        return charge, credit


NO_MULTIPLIERS = Multipliers()


def spot_multipliers(multipliers: Multipliers, market: Market) -> Iterator[Multipliers]:
    """Candidate multipliers of the spot share, where types can be rented both ways."""
    share = market.share
    if share is None or not share.spot.any() or share.spot.all():
        return
    on_demand = dict(zip(share.types[~share.spot], market.rates[~share.spot], strict=True))
    spot = zip(share.types[share.spot], market.rates[share.spot], strict=True)
    savings = np.asarray([on_demand[name] - rate for name, rate in spot if name in on_demand])
    for value in dict.fromkeys(
        [0.0, *np.quantile(savings, SPOT_QUANTILES).tolist()] if len(savings) else [0.0]
    ):
        yield replace(multipliers, spot=value)


def reachable_limits(market: Market, goal: Goal, nodes: float) -> range:
    """Rows of limits that may bind clusters of at most `nodes` nodes; row 0 is the most nodes."""
    return range(0 if nodes > goal.max_nodes else 1, len(CountLimits.of(market, goal).caps))


def limit_multipliers(
    multipliers: Multipliers, market: Market, goal: Goal, row: int
) -> Iterator[Multipliers]:
    """Candidate multipliers of one limit."""
    limits = CountLimits.of(market, goal)
    weights = limits.weights[row]
    binds = np.isfinite(market.rates) & (weights != 0.0)
    if not binds.any() or not np.isfinite(limits.caps[row]):
        return
    unit_prices = market.rates[binds] / np.abs(weights[binds])
    upper = bool((weights[binds] > 0.0).all())
    unit = float(np.median(unit_prices) if upper else unit_prices.min())
    values = list(multipliers.limits or (0.0,) * len(limits.caps))
    for share in UPPER_LIMIT_SHARES if upper else LOWER_LIMIT_SHARES:
        values[row] = share * unit
        yield replace(multipliers, limits=tuple(values))
