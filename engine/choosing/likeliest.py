"""The cluster that likeliest keeps a deadline, where none keeps it with the required confidence.

The nearest miss says which deadline can be promised. Often it is a cluster that was measured and is
known to be a little late: its time is the surest. Whoever cannot move the deadline wants another
one, the one with the best chance.
"""

from __future__ import annotations

import numpy as np

from engine.choosing.goal_view import GoalView
from engine.choosing.sweeps import significant


def likeliest_point(view: GoalView) -> int | None:
    """The surface point of the greatest P(T <= deadline) within the budget; of equally likely ones
    the cheapest, then the first.

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
    chances = view.surface.p_within(points, deadline)
    likely = chances > 1.0 - view.goal.confidence
    if not likely.any():
        return None
    points, chances = points[likely], significant(chances[likely])
    costs = significant(view.costs[rows, columns][likely])
    return int(points[np.lexsort((points, costs, -chances))[0]])
