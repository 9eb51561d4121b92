"""The cluster that likeliest keeps a deadline, where none keeps it with the required confidence.

The nearest miss says which deadline can be promised. Often it is a cluster that was measured and is
known to be a little late: its time is the surest. Whoever cannot move the deadline wants another
one, the one with the best chance.
"""

from __future__ import annotations

import math

import numpy as np

from engine.choosing.goal_view import GoalView
from engine.choosing.surface import Surface
from engine.choosing.sweeps import significant
from engine.forecast import LARGE_DOF, IntArray, student_quantile
from engine.special_functions import stdtr

ALIKE = 0.01
"""Chances that differ by no more are alike: they are told in whole per cents, and a hundredth more
may cost ten times as much."""


def likeliest_point(view: GoalView) -> int | None:
    """The surface point of the greatest P(T <= deadline) within the budget; of those that are as
    likely, within `ALIKE`, the cheapest, then the first.

    None without a deadline or an interval, and where no chance exceeds one less the confidence:
    every cluster then misses the deadline with that confidence, and the greatest chance would be
    that of the vaguest prediction.
    """
    deadline = view.goal.deadline_seconds
    if deadline is None:
        return None
    possible = np.isfinite(view.log_least_deadlines) & np.isfinite(view.costs)
    if view.goal.budget_usd is not None:
        possible &= view.costs <= view.goal.most_usd
    rows, columns = np.nonzero(possible)
    points = view.flat_indices(rows, columns)
    chosen = _may_be_likeliest(view.surface, points, deadline)
    chances = view.surface.p_within(points[chosen], deadline)
    if not (chances > 1.0 - view.goal.confidence).any():
        return None
    alike = chosen[chances >= chances.max() - ALIKE]
    costs = significant(view.costs[rows[alike], columns[alike]])
    return int(points[alike[np.lexsort((points[alike], costs))[0]]])


def _may_be_likeliest(surface: Surface, points: IntArray, deadline: float) -> IntArray:
    """Indices of the points whose chance may be within `ALIKE` of the greatest one: Student's
    distribution is slow, and a slider asks at each step.

    A chance grows with the distance of the deadline, in scales, and for one distance the most and
    the fewest degrees of freedom bound it. So the farthest point has at least a chance p, and any
    point that may be alike has a distance at which the chance can be p - `ALIKE`.
    """
    forecast = surface.interrupted_forecast
    distances = math.log(deadline) - surface.log_seconds.ravel()[points]
    scales = np.where(distances >= 0.0, forecast.log_scale[points], forecast.scale_below[points])
    with np.errstate(divide="ignore", invalid="ignore"):
        standard = distances / scales
    standard[surface.not_started.ravel()[points] | np.isnan(standard)] = -np.inf
    farthest = standard.max(initial=-np.inf)
    if farthest == -np.inf:
        return np.empty(0, dtype=np.int64)
    dof = np.minimum(forecast.dof[points], LARGE_DOF)
    extremes = np.asarray([dof.min(), dof.max()])
    chance = float(stdtr(extremes, farthest).min()) - ALIKE
    nearest = student_quantile(chance, extremes).min() if chance > 0.0 else -np.inf
    return np.flatnonzero((standard >= nearest) & (standard > -np.inf))
