"""The belief about all compositions and possible runs, and what these runs gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.choosing.recommendation import Goal
from engine.cluster import Workload
from engine.experiments.belief import Belief, Points, believe
from engine.experiments.sequential import Decision, Gains, gains
from engine.experiments.weighed import Weighed
from engine.forecast import FloatArray, IntArray
from engine.models.base import FittedModel


class Trials(NamedTuple):
    """m possible runs: their points, and (m,) the composition and share of the input of each."""

    points: Points
    owner: IntArray
    fractions: Sequence[float]


def _trials(fitted: FittedModel, points: Points, fractions: Sequence[float]) -> Trials:
    """Every composition on every share of the input."""
    n = len(points.clusters)
    places = [(place, fraction) for fraction in fractions for place in range(n)]
    of = Points.of(
        [points.clusters[place] for place, _ in places],
        [points.workloads[0].times(fraction) for _, fraction in places],
        fitted.profile,
    )
    return Trials(of, np.asarray([place for place, _ in places]), [f for _, f in places])


class Prospects(NamedTuple):
    """The state before the next run.

    Args:
        points: the n compositions; trials: the m possible runs.
        belief: about the compositions, followed by the places of the runs.
        gains: what each run is expected to save and to change.
        by: what the decision weighs, in words.
    """

    points: Points
    trials: Trials
    belief: Belief
    gains: Gains
    by: str


def prospects_of(
    fitted: FittedModel, found: Weighed, workload: Workload, fractions: Sequence[float], goal: Goal
) -> Prospects:
    """The prospects of compositions for one workload, and of runs on these shares of it."""
    n = len(found.clusters)
    points = Points.of(found.clusters, [workload] * n, fitted.profile)
    trials = _trials(fitted, points, fractions)
    belief = believe(fitted, points.joined(trials.points))
    now = belief.taken(slice(0, n))
    decision = decision_among(found, now.mean, now.dof, goal)
    return Prospects(points, trials, belief, gains(decision, belief, n), decision.weighs)


def decision_among(found: Weighed, mean: FloatArray, dof: FloatArray, goal: Goal) -> Decision:
    """The decision among compositions by their (n,) log times and degrees of freedom."""
    return Decision(
        found.usd_per_second,
        goal.deadline_seconds,
        goal.confidence,
        fixed_usd=found.fixed_usd(np.exp(mean + found.longer)),
        budget_usd=None if goal.budget_usd is None else goal.most_usd,
        least=goal.minimises,
        longer=found.longer,
        spread=found.spread,
        dof=dof,
    )
