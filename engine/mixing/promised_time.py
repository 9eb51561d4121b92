"""The goal of the least promised time: what the search for the nearest miss minimises."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.choosing.recommendation import Goal


@dataclass(frozen=True, slots=True)
class PromisedTimeGoal(Goal):
    """The least quantile of the time at the goal's confidence (the median where there is no
    interval), below the deadline and within the budget; the objective has to be "time"."""


def search_limit_seconds(goal: Goal) -> float:
    """The promised time that a search for the least of it has to beat; inf where it minimises
    anything else."""
    if not isinstance(goal, PromisedTimeGoal) or goal.deadline_seconds is None:
        return math.inf
    return goal.deadline_seconds
