"""OptEx's own way to a composition: continuous counts, an interior point, rounding.

OptEx (IV) minimises the cost over real node counts under the deadline with an interior-point method
and rounds the result. It is kept as a named method to compare with: the rounded composition may
miss the deadline, and where it does not it may be dearer than the best (`engine.mixing.search` is
exact).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.choosing.recommendation import Goal
from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray, student_quantile
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.units import SECONDS_PER_HOUR

_LEAST = 1e-6
"""Nodes that an interior point may come down to."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation found.

    Args:
        real: (k,) real node counts; `real_usd` their cost.
        counts: (k,) whole ones; `value` is their cost, inf where they miss the goal.
    """

    real: FloatArray
    real_usd: float
    counts: IntArray
    value: float


def relax(law: MixLaw, market: Market, goal: Goal) -> Relaxed:
    """The cheapest composition of all types of a law under a deadline, by relaxation.

    Args:
        law: a few types whose executors have one shape.

    Raises:
        BadInput: without a deadline: without one the least cluster is the cheapest.
    """
    if goal.deadline_seconds is None:
        raise BadInput("the relaxation needs a deadline", where="goal")
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    k = len(law.slots)
    rows = np.arange(k)[None, :]
    log_deadline = float(np.log(goal.deadline_seconds))

    def cost(nodes: FloatArray) -> float:
        seconds = float(law.forecast(rows, nodes[None, :]).seconds[0])
        hourly = float(market.hourly(rows, nodes[None, :])[0])
        return hourly * (seconds + market.billing.startup_seconds) / SECONDS_PER_HOUR

    def slack(nodes: FloatArray) -> FloatArray:
        forecast = law.forecast(rows, nodes[None, :])
        sure = forecast.scale_at(goal.confidence) * student_quantile(goal.confidence, forecast.dof)
        late = np.log(forecast.seconds[0]) + np.nan_to_num(sure[0]) - log_deadline
        return np.asarray([-late, goal.max_nodes - nodes.sum()])

    found = minimize(
        cost,
        np.full(k, goal.max_nodes / (2.0 * k)),
        method="trust-constr",
        bounds=Bounds(_LEAST, np.maximum(market.most.astype(float), 2 * _LEAST)),
        constraints=[NonlinearConstraint(slack, 0.0, np.inf)],
        options={"maxiter": 300},
    )
    real = np.asarray(found.x, dtype=float)
    counts = np.round(real).astype(np.int64)
    value = (
        float(values_of(law, market, goal, rows, counts[None, :])[0]) if counts.any() else np.inf
    )
    return Relaxed(real, float(found.fun), counts, value)
