"""OptEx's own way to a composition (V): real node counts by an interior point, made whole.

OptEx minimises the cost (Eq. 9) over real node counts n_t under T_Est < SLO with an interior-point
method. How the optimum becomes whole nodes is not said: here the counts are rounded up where the
cost is minimised, which gives the printed n of 35 of Table IV's 50 cells (the nearest whole number
gives 25), and down where the time is, so that a budget holds. Whole numbers beside a real optimum
need be neither feasible nor best: `engine.mixing.search` finds the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from engine.choosing.recommendation import Goal
from engine.errors import BadInput
from engine.forecast import FloatArray, Forecast, IntArray
from engine.mixing.central_path import interior_minimum
from engine.mixing.market import Market
from engine.units import SECONDS_PER_HOUR

Times = Callable[[FloatArray], Forecast]
"""(p, q) real node counts of q types -> the forecast (p,) of these compositions."""

LEAST_NODES = 1e-6
"""Nodes of a type that an interior point may come down to."""

WHOLE = 1e-3
"""An interior point stops short of a whole number of nodes by less than this."""

WIDENED = 1e-6
"""Bounds on numbers of nodes are wider by this share, so that a point lies between equal ones."""


class RelaxedOptimum(NamedTuple):
    """The optimum over real node counts.

    Args:
        counts: (q,) nodes of each type.
        seconds: predicted time. usd: cost with the start-up, not rounded to billed units.
    """

    counts: FloatArray
    seconds: float
    usd: float

    def whole(self, goal: Goal) -> IntArray:
        """(q,) whole nodes, at least one of them: rounded up, or down where the time is
        minimised."""
        rounded = np.floor(self.counts + WHOLE) if goal.by_time else np.ceil(self.counts - WHOLE)
        if not rounded.any():
            rounded[int(np.argmax(self.counts))] = 1.0
        return np.asarray(rounded, dtype=np.int64)


def relaxed_optimum(
    times: Times, market: Market, goal: Goal, *, fewest: float = 1.0
) -> RelaxedOptimum | None:
    """The real node counts of least cost (least time where the goal says so) under the goal's
    deadline and budget, by an interior point; None where no point is found that meets them.

    Args:
        times: of q types.
        market: of these types.
        fewest: nodes in all.

    Raises:
        BadInput: for a goal of resource time.
    """
    if goal.by_resource:
        raise BadInput(
            "the interior-point method minimises the cost or the time",
            where="--objective",
            remedy="leave it out, or ask for --method exact",
        )
    point = _Point(times, market, goal, fewest)
    tried = (interior_minimum(point.values, start) for start in point.starts)
    logs = next((found for found in tried if found is not None), None)
    if logs is None:
        return None
    counts = np.exp(logs)[None]
    seconds = times(counts).seconds
    return RelaxedOptimum(counts[0], float(seconds[0]), float(point.usd(counts, seconds)[0]))


class _Point(NamedTuple):
    """Time, cost and limits at real node counts. The search is over their logarithms, in which
    sums of powers of n, such as Eq. 8, are convex."""

    times: Times
    market: Market
    goal: Goal
    fewest: float

    @property
    def log_most(self) -> FloatArray:
        """(q,) logarithms of the most nodes of each type."""
        return np.asarray(np.log(np.maximum(self.market.most.astype(float), 2.0 * LEAST_NODES)))

    @property
    def starts(self) -> Iterator[FloatArray]:
        """(q,) logarithms of counts to start from: few nodes of each type, then most of one type
        alone. The law of unlike nodes is not convex, so that one start may find no way in."""
        q = len(self.log_most)
        few = math.log(math.sqrt(self.fewest * self.goal.max_nodes))
        yield np.minimum(np.full(q, few), self.log_most) - math.log(q)
        for row in range(q if q > 1 else 0):
            alone = np.full(q, math.log(2.0 * LEAST_NODES))
            alone[row] = min(self.log_most[row], math.log(self.goal.max_nodes)) - WIDENED
            yield alone

    def usd(self, counts: FloatArray, seconds: FloatArray) -> FloatArray:
        """(p,) cost of compositions, with the start-up, not rounded to billed units."""
        rows = np.broadcast_to(np.arange(counts.shape[1]), counts.shape)
        billed = seconds + self.market.billing.startup_seconds
        return np.asarray(self.market.hourly(rows, counts) * billed / SECONDS_PER_HOUR)

    def values(self, logs: FloatArray) -> FloatArray:
        """(p, 1 + c) logarithm of what is minimised, and the slacks: of each type's bounds, of the
        nodes in all, of the deadline at the goal's confidence, of the budget."""
        goal = self.goal
        counts = np.exp(np.clip(logs, math.log(LEAST_NODES) - 1.0, self.log_most + 1.0))
        forecast = self.times(counts)
        usd = self.usd(counts, forecast.seconds)
        nodes = np.log(counts.sum(axis=1))
        columns = [
            _log(forecast.seconds if goal.by_time else usd),
            *(self.log_most - logs + WIDENED).T,
            *(logs - math.log(LEAST_NODES)).T,
            math.log(goal.max_nodes) - nodes + WIDENED,
            nodes - math.log(self.fewest) + WIDENED,
        ]
        if goal.deadline_seconds is not None:
            least = forecast.quantile_or_median(goal.confidence)
            columns.append(math.log(goal.deadline_seconds) - _log(least))
        if goal.budget_usd is not None:
            columns.append(math.log(goal.budget_usd) - _log(usd))
        return np.stack(columns, axis=1)


def _log(values: FloatArray) -> FloatArray:
    """Logarithms; of nothing (owned nodes alone cost nothing) that of a very small number."""
    return np.log(np.maximum(values, 1e-300))
