"""How much planned training runs narrow the interval of a prediction, before they are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.experiments.belief import Belief, belief_at, forecast_at, with_default_scales
from engine.experiments.design import rank
from engine.experiments.known_runs import known_runs
from engine.experiments.plans import Experiment, Grid, KnownRuns
from engine.experiments.points import Points
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.models.curves.terms import ERNEST_TERMS, columns

MISFIT = 0.12
"""Relative error of Ernest's terms that remains after any number of runs: the mean over its MLlib
applications (6.2)."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The expected effect of planned runs on the interval of one composition.

    Args:
        low, high: the interval now.
        then_low, then_high: the interval after all of the runs, around the same median.
        without: for each run, how much wider that interval is without it, as a share of its width
            in log time; None for a run without which the terms are not identified.
    """

    low: float
    high: float
    then_low: float
    then_high: float
    without: tuple[float | None, ...]


def narrowed(
    fitted: FittedModel,
    *,
    cluster: Cluster,
    runs: Sequence[Experiment],
    workload: Workload | None = None,
    confidence: float = 0.9,
) -> Narrowing:
    """The interval of a composition now, and after planned runs of its type have been fitted.

    The fit predicts its time with the variance x' M^-1 x, M = sum a_i a_i' / (noise t_i)^2 over
    planned and known runs, plus the misfit of the terms. This estimate is taken as independent of
    the current belief, so that precisions add; the noise of the next run remains. The current
    interval is that of the fitted model and narrows in proportion.

    Raises:
        BadInput: for runs without nodes or an expected time, or that do not identify the terms.
    """
    if not runs or any(run.nodes is None or run.seconds is None for run in runs):
        raise BadInput("what runs teach of a composition needs their nodes and expected times")
    planned = workload or fitted.profile.reference_workload
    points = Points.of([cluster], [planned], fitted.profile)
    forecast, belief = forecast_at(fitted, points), belief_at(fitted, points)
    grid = Grid.of(nodes=[cluster.nodes or 1], fractions=[1.0], instances=[runs[0].instance])
    rows = _rows(runs, known_runs(fitted.profile, grid, planned))
    target = columns(ERNEST_TERMS, grid.machines, grid.fraction)[0] / forecast.seconds[0]
    scale_after = _predictive_scale(rows, target, belief)
    if scale_after is None:
        raise BadInput("the planned runs do not tell the terms apart")
    without_each = [np.delete(rows, index, axis=0) for index in range(len(runs))]
    scales_without = [_predictive_scale(others, target, belief) for others in without_each]
    current, width_factor = with_default_scales(forecast), scale_after / float(belief.deviation[0])
    low, high = current.interval(confidence)
    then_low, then_high = current.rescaled(lambda scale: scale * width_factor).interval(confidence)
    return Narrowing(
        low=float(low[0]),
        high=float(high[0]),
        then_low=float(then_low[0]),
        then_high=float(then_high[0]),
        without=tuple(
            None if value is None else value / scale_after - 1.0 for value in scales_without
        ),
    )


def _rows(runs: Sequence[Experiment], known: KnownRuns) -> FloatArray:
    """(r, p) terms of the planned and then of the known runs, divided by their times."""
    machines = np.asarray([float(run.nodes or 1) for run in runs])
    fractions = np.asarray([run.fraction for run in runs])
    times = np.asarray([run.seconds for run in runs], dtype=float)
    planned = columns(ERNEST_TERMS, machines, fractions) / times[:, None]
    earlier = columns(ERNEST_TERMS, known.machines, known.fraction) / known.seconds[:, None]
    return np.concatenate((planned, earlier))


def _predictive_scale(rows: FloatArray, target: FloatArray, belief: Belief) -> float | None:
    """Predictive scale of the next run's log time after a fit to runs; None if these do not
    identify the terms.

    Args:
        rows: (r, p) terms of each run over its time; target: (p,) those of the prediction.
        belief: the current belief about the prediction, one point.
    """
    if rank(rows) < rows.shape[1]:
        return None
    noise_variance = float(belief.noise[0]) ** 2
    current_variance = max(float(belief.covariance[0, 0]), LEAST_VARIANCE)
    fit_variance = (
        noise_variance * float(target @ np.linalg.solve(rows.T @ rows, target)) + MISFIT**2
    )
    return math.sqrt(noise_variance + 1.0 / (1.0 / current_variance + 1.0 / fit_variance))


LEAST_VARIANCE = 1e-12
"""The least current variance of log time: a smaller one counts as none."""
