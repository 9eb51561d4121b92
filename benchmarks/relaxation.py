"""OptEx's own way to a composition: continuous counts, an interior point, rounding.

OptEx (IV) minimises the cost over real node counts under the deadline with an interior-point method
and rounds the result. The rounded composition may miss the deadline, and where it does not it may
be dearer than the best, which `engine.mixing.search` finds.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from engine.choosing.recommendation import Goal
from engine.forecast import FloatArray, student_quantile
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.units import SECONDS_PER_HOUR

LEAST_NODES = 1e-6
"""Nodes of a type that an interior point may come down to."""


def relaxed_usd(law: MixLaw, market: Market, goal: Goal, *, deadline_seconds: float) -> float:
    """What the composition of all types of a law costs that relaxation and rounding find; inf where
    it misses the deadline.

    Args:
        law: a few types whose executors have one shape.
    """
    rows = np.arange(len(law.slots))[None, :]
    log_deadline = float(np.log(deadline_seconds))

    def cost(nodes: FloatArray) -> float:
        seconds = float(law.forecast(rows, nodes[None, :]).seconds[0])
        hourly = float(market.hourly(rows, nodes[None, :])[0])
        return hourly * (seconds + market.billing.startup_seconds) / SECONDS_PER_HOUR

    def slack(nodes: FloatArray) -> FloatArray:
        forecast = law.forecast(rows, nodes[None, :])
        sure = forecast.scale_at(goal.confidence) * student_quantile(goal.confidence, forecast.dof)
        late = np.log(forecast.seconds[0]) + np.nan_to_num(sure[0]) - log_deadline
        return np.asarray([-late, goal.max_nodes - nodes.sum()])

    k = len(law.slots)
    found = minimize(
        cost,
        np.full(k, goal.max_nodes / (2.0 * k)),
        method="trust-constr",
        bounds=Bounds(LEAST_NODES, np.maximum(market.most.astype(float), 2 * LEAST_NODES)),
        constraints=[NonlinearConstraint(slack, 0.0, np.inf)],
        options={"maxiter": 300},
    )
    counts = np.round(found.x).astype(np.int64)
    if not counts.any():
        return float("inf")
    return float(values_of(law, market, goal, rows, counts[None, :])[0])
