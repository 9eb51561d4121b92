"""The candidates for the next run: the belief about them and all compositions, and their gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.choosing.recommendation import Goal
from engine.cluster import Workload
from engine.experiments.belief import Belief, belief_at
from engine.experiments.knowledge_gradient import Decision, Gains, gains
from engine.experiments.points import Points
from engine.experiments.priced_compositions import PricedCompositions
from engine.forecast import FloatArray, IntArray
from engine.models.base import FittedModel


class CandidateRuns(NamedTuple):
    """m runs that could be made next.

    Args:
        points: of the m runs.
        composition: (m,) index of the composition that each runs on.
        fractions: (m,) share of the input of each.
    """

    points: Points
    composition: IntArray
    fractions: Sequence[float]


def _runs_on(fitted: FittedModel, points: Points, fractions: Sequence[float]) -> CandidateRuns:
    """One run of every composition on every share of the input."""
    n = len(points.clusters)
    pairs = [(index, fraction) for fraction in fractions for index in range(n)]
    run_points = Points.of(
        [points.clusters[index] for index, _ in pairs],
        [points.workloads[0].times(fraction) for _, fraction in pairs],
        fitted.profile,
    )
    return CandidateRuns(
        run_points, np.asarray([index for index, _ in pairs]), [f for _, f in pairs]
    )


class RunAnalysis(NamedTuple):
    """The belief before the next run, and the value of each candidate run.

    Args:
        points: the n compositions.
        runs: the m candidate runs.
        belief: over the compositions, followed by the points of the runs.
        gains: the expected saving of each run, and its probability to change the choice.
        criteria: of the decision, in words.
    """

    points: Points
    runs: CandidateRuns
    belief: Belief
    gains: Gains
    criteria: str


def analyse_runs(
    fitted: FittedModel,
    priced: PricedCompositions,
    workload: Workload,
    fractions: Sequence[float],
    goal: Goal,
) -> RunAnalysis:
    """The gains of runs on these shares of a workload, for the decision among compositions."""
    n = len(priced.clusters)
    points = Points.of(priced.clusters, [workload] * n, fitted.profile)
    runs = _runs_on(fitted, points, fractions)
    belief = belief_at(fitted, points.joined(runs.points))
    current = belief.take(slice(0, n))
    decision = decision_between(priced, current.mean, current.dof, goal)
    return RunAnalysis(points, runs, belief, gains(decision, belief, n), decision.criteria)


def decision_between(
    priced: PricedCompositions, mean: FloatArray, dof: FloatArray, goal: Goal
) -> Decision:
    """The decision problem, from (n,) expected log times and degrees of freedom."""
    return Decision(
        priced.usd_per_second,
        goal.deadline_seconds,
        goal.confidence,
        fixed_usd=priced.fixed_usd(np.exp(mean + priced.log_slowdown)),
        budget_usd=None if goal.budget_usd is None else goal.most_usd,
        minimises=goal.minimises,
        log_slowdown=priced.log_slowdown,
        slowdown_log_scale=priced.slowdown_log_scale,
        dof=dof,
    )
