"""The feasible part of a surface under a goal, ranked by array passes alone: no model is
evaluated."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE, row_blocks, significant
from engine.forecast import FloatArray, IntArray
from engine.models.base import SURFACE_TOLERANCE
from engine.text.reachable import reachable_seconds, reachable_usd


@dataclass(frozen=True, eq=False)
class GoalView:
    """The part of a surface within a goal's candidates and node counts: k' types x m' node counts.

    Args:
        rows: (k',) rows of the surface, in the order of names.
        seconds, costs, resource_time, log_least_deadlines: (k', m'); inf where unknown;
            `resource_time` are vcore-seconds, the times where the goal does not ask for them.
    """

    surface: Surface
    goal: Goal
    billing: Billing
    rows: IntArray
    seconds: FloatArray
    costs: FloatArray
    resource_time: FloatArray
    log_least_deadlines: FloatArray

    @classmethod
    def of(cls, surface: Surface, goal: Goal, billing: Billing, candidates: Candidates) -> GoalView:
        """The part of a surface for a goal and its candidates."""
        m = goal.max_nodes
        if candidates is surface.candidates:
            rows = np.arange(surface.shape[0])
        else:
            rows = np.asarray([surface.rows[name] for name in candidates.names], dtype=np.int64)
        everything = len(rows) == surface.shape[0]

        def part(values: FloatArray) -> FloatArray:
            return values[:, :m] if everything else values[rows, :m]

        return cls(
            surface,
            goal,
            billing,
            rows,
            part(surface.seconds),
            part(surface.costs(billing)),
            part(surface.vcore_seconds if goal.by_resource else surface.seconds),
            part(surface.log_least_deadlines(goal.confidence)),
        )

    def _feasible_values(self, rows: slice | IntArray, values: FloatArray) -> FloatArray:
        """(b, m') `values` of some rows where the points satisfy the goal, inf elsewhere."""
        satisfies = None
        if self.goal.budget_usd is not None or self.goal.minimises != "cost":
            satisfies = self.costs[rows] <= min(self.goal.most_usd, sys.float_info.max)
        if self.goal.deadline_seconds is not None:
            in_time = self.log_least_deadlines[rows] <= np.log(self.goal.deadline_seconds)
            satisfies = in_time if satisfies is None else satisfies & in_time
        return values[rows] if satisfies is None else np.where(satisfies, values[rows], np.inf)

    @property
    def _objective_and_tie_breaker(self) -> tuple[FloatArray, FloatArray]:
        """(k', m') the objective to minimise, and the tie breaker."""
        if self.goal.minimises == "cost":
            return self.costs, self.seconds
        return self.seconds if self.goal.by_time else self.resource_time, self.costs

    def ranked_and_nearest_misses(self) -> tuple[IntArray, IntArray]:
        """Rows of the view that satisfy the goal, best first, and the surface points at which the
        others come closest to it, closest first."""
        values, _ = self._objective_and_tie_breaker
        lowest = np.empty(len(self.rows))
        for rows in row_blocks(*values.shape):
            lowest[rows] = self._feasible_values(rows, values).min(axis=1)
        satisfies = np.isfinite(lowest)
        return self._ranked(np.flatnonzero(satisfies), lowest[satisfies]), self._nearest_misses(
            np.flatnonzero(~satisfies)
        )

    def _ranked(self, rows: IntArray, lowest: FloatArray) -> IntArray:
        """The rows by their lowest value; equal ones by the rule for ties."""
        keys = significant(lowest)
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        tied = np.flatnonzero(counts[inverse] > 1)
        second, column = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
        if len(tied):
            column[tied] = self._columns(rows[tied])
            _, values = self._objective_and_tie_breaker
            second[tied] = significant(values[rows[tied], column[tied]])
        return np.asarray(rows[np.lexsort((rows, column, second, keys))])

    def _columns(self, rows: IntArray) -> IntArray:
        """(b,) the best column of each row: of those with the lowest value the one with the lowest
        second value (time, or cost where the time decides), then the first."""
        objective, tie_breaker = self._objective_and_tie_breaker
        values = self._feasible_values(rows, objective)
        tied = values <= values.min(axis=1, keepdims=True) * (1.0 + TIE)
        return np.asarray(np.where(tied, tie_breaker[rows], np.inf).argmin(axis=1))

    def best_of(self, row: int) -> int:
        """The surface point of a row's best column."""
        return int(self.best_of_each(np.asarray([row]))[0])

    def best_of_each(self, rows: IntArray) -> IntArray:
        """(b,) the surface points of the best columns of rows."""
        columns = np.empty(len(rows), dtype=np.int64)
        for block in row_blocks(len(rows), self.costs.shape[1]):
            columns[block] = self._columns(rows[block])
        return self.flat_indices(rows, columns)

    def nearly_best(self, most: int) -> list[int]:
        """Up to `most` surface points, one per type and the most promising first, that may be
        better than the best within `SURFACE_TOLERANCE`; points that are exact are left out."""
        values, _ = self._objective_and_tie_breaker
        lowest = min(
            self._feasible_values(rows, values).min() for rows in row_blocks(*values.shape)
        )
        near = values <= lowest * (1.0 + SURFACE_TOLERANCE)
        near &= self.costs <= min(self.goal.most_usd, sys.float_info.max) * (
            1.0 + SURFACE_TOLERANCE
        )
        if self.goal.deadline_seconds is not None:
            near &= (
                self.log_least_deadlines <= math.log(self.goal.deadline_seconds) + SURFACE_TOLERANCE
            )
        promising = np.where(near, values, np.inf)
        for point in self.surface.exact:
            row, column = divmod(point, self.surface.max_nodes)
            if column < self.goal.max_nodes:
                promising[self.rows == row, column] = np.inf
        columns = promising.argmin(axis=1)
        best = promising[np.arange(len(columns)), columns]
        rows = np.argsort(best, kind="stable")[:most]
        return [int(p) for p in self.flat_indices(rows, columns[rows])[np.isfinite(best[rows])]]

    def compromises(self) -> list[int]:
        """The surface points of two compromises where a deadline and a budget cannot both be kept:
        the least cost within the deadline, and the least deadline within the budget; one point
        where the first keeps both, as the goals are then the same. Where nothing meets the
        deadline it is replaced by the least that can be met, rounded up, since what is hardly later
        may cost far less; likewise the budget."""
        deadline, budget = self.goal.deadline_seconds, self.goal.budget_usd
        if deadline is None or budget is None:
            return []
        log_deadlines = np.where(np.isfinite(self.costs), self.log_least_deadlines, np.inf)
        costs = np.where(np.isfinite(self.log_least_deadlines), self.costs, np.inf)
        soonest, cheapest = float(log_deadlines.min()), float(costs.min())
        if not math.isfinite(soonest):
            return []
        latest, most = math.log(deadline), self.goal.most_usd
        if soonest > latest:
            latest = math.log(reachable_seconds(math.exp(soonest)))
        if cheapest > most:
            most = reachable_usd(cheapest)
        in_time = np.where(log_deadlines <= latest, costs, np.inf)
        within = np.where(costs <= most, log_deadlines, np.inf)
        best = np.asarray([in_time.argmin(), within.argmin()], dtype=np.int64)
        if in_time.flat[best[0]] <= most:
            best = best[:1]
        rows, columns = np.divmod(best, self.costs.shape[1])
        return list(dict.fromkeys(int(point) for point in self.flat_indices(rows, columns)))

    def _nearest_misses(self, rows: IntArray) -> IntArray:
        """Surface points of the least violation of each row, least first. The violation is the
        ratio of the time at the goal's confidence to the deadline, of the cost to the budget, or
        the larger of the two. Of equal ones the cheapest comes first; where the cost alone is
        limited, the fastest."""
        by_cost = self.goal.deadline_seconds is None
        tie_breaker = self.seconds if by_cost else self.costs
        lowest, column = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        for block in row_blocks(len(rows), self.costs.shape[1]):
            violation = self._violation(rows[block])
            least = lowest[block] = violation.min(axis=1)
            equal = (least * (1.0 + TIE) if by_cost else least + TIE)[:, None]
            second = np.minimum(tie_breaker[rows[block]], sys.float_info.max)
            column[block] = np.where(violation <= equal, second, np.inf).argmin(axis=1)
        flat = self.flat_indices(rows, column)
        unpriced = ~np.isfinite(self.costs[rows, column])
        keys = significant(lowest) if by_cost else np.round(lowest, 9)
        second = significant(tie_breaker[rows, column])
        return np.asarray(flat[np.lexsort((flat, second, keys, unpriced))])

    def _violation(self, rows: IntArray) -> FloatArray:
        deadline, budget = self.goal.deadline_seconds, self.goal.budget_usd
        if deadline is None:
            return self.costs[rows]
        log_lateness = self.log_least_deadlines[rows] - math.log(deadline)
        if budget is None:
            return self._priced_first(log_lateness, self.costs[rows])
        with np.errstate(divide="ignore"):  # owned nodes cost nothing
            log_excess = np.log(self.costs[rows]) - math.log(budget)
        return np.asarray(np.maximum(log_lateness, log_excess))

    def _priced_first(self, violation: FloatArray, costs: FloatArray) -> FloatArray:
        """The violation, with inf where only owned nodes of a type are available and the point has
        more; a type without any price keeps its own."""
        if not self.surface.limits.owned:
            return violation
        priced = np.isfinite(costs)
        return np.where(priced | ~priced.any(axis=1, keepdims=True), violation, np.inf)

    def flat_indices(self, rows: IntArray, columns: IntArray) -> IntArray:
        """(b,) surface points of rows and columns of the view."""
        return np.asarray(self.rows[rows] * self.surface.max_nodes + columns)
