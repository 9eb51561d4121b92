"""How much planned training runs narrow the interval of a prediction, before they are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.experiments.belief import Belief, Points, believe, forecast_at, with_known_scales
from engine.experiments.design import rank
from engine.experiments.known_runs import known_of
from engine.experiments.plans import Experiment, Grid, Known
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
            in log time; None for a run that the terms need to be told apart.
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
    whole = workload or fitted.profile.reference_workload
    points = Points.of([cluster], [whole], fitted.profile)
    told, now = forecast_at(fitted, points), believe(fitted, points)
    grid = Grid.of(nodes=[cluster.nodes or 1], fractions=[1.0], instances=[runs[0].instance])
    rows = _rows(runs, known_of(fitted.profile, grid, whole))
    target = columns(ERNEST_TERMS, grid.machines, grid.fraction)[0] / told.seconds[0]
    after = _deviation(rows, target, now)
    if after is None:
        raise BadInput("the planned runs do not tell the terms apart")
    left = [np.delete(rows, place, axis=0) for place in range(len(runs))]
    wider = [_deviation(kept, target, now) for kept in left]
    here, by = with_known_scales(told), after / float(now.deviation[0])
    low, high = here.interval(confidence)
    then_low, then_high = here.rescaled(lambda scale: scale * by).interval(confidence)
    return Narrowing(
        low=float(low[0]),
        high=float(high[0]),
        then_low=float(then_low[0]),
        then_high=float(then_high[0]),
        without=tuple(None if value is None else value / after - 1.0 for value in wider),
    )


def _rows(runs: Sequence[Experiment], known: Known) -> FloatArray:
    """(r, p) terms of the planned and then of the known runs, divided by their times."""
    machines = np.asarray([float(run.nodes or 1) for run in runs])
    fractions = np.asarray([run.fraction for run in runs])
    times = np.asarray([run.seconds for run in runs], dtype=float)
    planned = columns(ERNEST_TERMS, machines, fractions) / times[:, None]
    earlier = columns(ERNEST_TERMS, known.machines, known.fraction) / known.seconds[:, None]
    return np.concatenate((planned, earlier))


def _deviation(rows: FloatArray, target: FloatArray, now: Belief) -> float | None:
    """Scale of the next run's log time after runs have been fitted; None if they do not identify
    the terms.

    Args:
        rows: (r, p) terms of each run over its time; target: (p,) those of the prediction.
        now: the current belief about the prediction, one place.
    """
    if rank(rows) < rows.shape[1]:
        return None
    noise, known = float(now.noise[0]) ** 2, max(float(now.covariance[0, 0]), SURE)
    fitted = noise * float(target @ np.linalg.solve(rows.T @ rows, target)) + MISFIT**2
    return math.sqrt(noise + 1.0 / (1.0 / known + 1.0 / fitted))


SURE = 1e-12
"""Variance of log time that counts as none."""
