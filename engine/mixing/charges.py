"""Charges for what limits allow too little of: they make bounds know of the limits (Lagrange).

Under a limit sum_t w_t n_t <= cap one may charge mu w_t per hour for every node and give mu cap
back: for what keeps the limit the two together are never above nothing, so that no price falls
below the charged one. Which mu bounds best is tried, one limit after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.choosing.recommendation import Goal
from engine.forecast import FloatArray
from engine.mixing.market import Market

SPOT = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of what a spot node saves that are tried as the charge for one too many."""

AT_MOST = (0.3, 0.1, 0.03, 1.0, 3.0)
"""Tried as the charge for a unit too many, in median prices of a unit."""

AT_LEAST = (0.5, 0.9, 0.2)
"""Tried as what a unit is credited with, in the least price of a unit."""

IN_VAIN = 2
"""A limit of which so many charges, the first ones, bound no better is taken not to bind."""


@dataclass(frozen=True, eq=False)
class Limited:
    """All limits on the counts of k types: sum_t weights[c, t] n_t <= caps[c]."""

    weights: FloatArray
    caps: FloatArray

    @classmethod
    def of(cls, market: Market, goal: Goal) -> Limited:
        """Those of a market, and the fewest and most nodes."""
        one = np.ones((1, len(market.rates)))
        weights, caps, fewest = [one], [float(goal.max_nodes)], 1
        if market.constraints is not None:
            weights.append(market.constraints.weights)
            caps += market.constraints.caps.tolist()
            fewest = market.constraints.min_nodes
        if fewest > 1:
            weights.append(-one)
            caps.append(-float(fewest))
        return cls(np.concatenate(weights), np.asarray(caps))


@dataclass(frozen=True)
class Charges:
    """USD per hour: for a spot node more than the share allows, and per unit of every limit."""

    spot: float = 0.0
    limits: tuple[float, ...] = ()

    def of(self, market: Market, goal: Goal) -> tuple[FloatArray, float]:
        """(k,) what is charged for a node of each type, and what is given back."""
        charge, back = np.zeros(len(market.rates)), 0.0
        if market.share is not None and self.spot:
            charge += self.spot * (market.share.spot - market.share.most)
        if any(self.limits):
            limited = Limited.of(market, goal)
            charge += np.asarray(self.limits) @ limited.weights
            back = float(np.asarray(self.limits) @ limited.caps)
        return charge, back


NO_CHARGES = Charges()


def spot_charges(charges: Charges, market: Market) -> Iterator[Charges]:
    """Other charges for spot nodes, where types can be rented both ways."""
    share = market.share
    if share is None or not share.spot.any() or share.spot.all():
        return
    ordinary = dict(zip(share.types[~share.spot], market.rates[~share.spot], strict=True))
    spot = zip(share.types[share.spot], market.rates[share.spot], strict=True)
    saved = np.asarray([ordinary[name] - rate for name, rate in spot if name in ordinary])
    for dual in dict.fromkeys([0.0, *np.quantile(saved, SPOT).tolist()] if len(saved) else [0.0]):
        yield replace(charges, spot=dual)


def limits_in_reach(market: Market, goal: Goal, nodes: float) -> range:
    """Which limits may bind clusters of so many nodes at most: the most nodes come first."""
    return range(0 if nodes > goal.max_nodes else 1, len(Limited.of(market, goal).caps))


def limit_charges(charges: Charges, market: Market, goal: Goal, row: int) -> Iterator[Charges]:
    """Other charges for one limit."""
    limited = Limited.of(market, goal)
    weights = limited.weights[row]
    binds = np.isfinite(market.rates) & (weights != 0.0)
    if not binds.any() or not np.isfinite(limited.caps[row]):
        return
    each = market.rates[binds] / np.abs(weights[binds])
    upper = bool((weights[binds] > 0.0).all())
    unit = float(np.median(each) if upper else each.min())
    held = list(charges.limits or (0.0,) * len(limited.caps))
    for share in AT_MOST if upper else AT_LEAST:
        held[row] = share * unit
        yield replace(charges, limits=tuple(held))
