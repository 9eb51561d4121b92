"""Which points of a surface answer a goal, best first: arrays alone, no choice is built.

A search that evaluates some points exactly and ranks again needs the points, and only of the last
ranking their costs in all parts, their reasons and their warnings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.choosing.goal_view import GoalView
from engine.choosing.likeliest import likeliest_point
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.forecast import IntArray


@dataclass(frozen=True, eq=False)
class Ranking:
    """The points of a surface that answer a goal, as flat indices.

    Args:
        rows: (k,) rows of the view that satisfy the goal, best first.
        nearest_misses: (k' - k,) points at which the others come closest to it, closest first.
        nearest, likeliest, compromises: as in `Recommendation`; none where the goal is satisfied.
    """

    view: GoalView
    rows: IntArray
    nearest_misses: IntArray
    nearest: int | None = None
    likeliest: int | None = None
    compromises: tuple[int, ...] = ()

    @classmethod
    def of(cls, surface: Surface, goal: Goal, billing: Billing, candidates: Candidates) -> Ranking:
        """The ranking for a goal and its candidates."""
        view = GoalView.of(surface, goal, billing, candidates)
        rows, misses = view.ranked_and_nearest_misses()
        if len(rows) or not (
            len(misses) and np.isfinite(surface.costs(billing).ravel()[misses[0]])
        ):
            return cls(view, rows, misses)
        nearest, compromises = int(misses[0]), tuple(view.compromises())
        return cls(view, rows, misses, nearest, likeliest_point(view), compromises)

    def best_points(self, most: int) -> list[int]:
        """The best points of up to `most` types that satisfy the goal, best first."""
        return [int(point) for point in self.view.best_of_each(self.rows[:most])]

    def deciding_points(self, most: int, *, precise: bool) -> list[int]:
        """The points that decide an answer: the best of each of up to `most` types, the best of all
        with one node fewer, and if nothing satisfies the goal the nearest miss, the compromises and
        the likeliest. Where the surface is not `precise`, each of these types with one node fewer
        and with one more."""
        points = [*self.best_points(most), *([] if self.nearest is None else [self.nearest])]
        surface = self.view.surface
        beside = [point - 1 for point in points[:1] if point % surface.max_nodes]
        if not precise:
            beside = [
                point + step
                for point in points
                for step in (-1, 1)
                if 0 <= point % surface.max_nodes + step < self.view.goal.max_nodes
            ]
        others = [*self.compromises, *([] if self.likeliest is None else [self.likeliest])]
        return [*points, *beside, *others]
