"""Runs at one point together, and draws for other run weights from those that exist."""

from dataclasses import fields, replace

import numpy as np
import pytest

from engine.forecast import FloatArray
from engine.models.laws.observations import Observations
from engine.models.laws.outlier_runs import LEAST_WEIGHT
from engine.models.laws.sampling import PosteriorDraws, posterior
from engine.models.laws.terms import Points

MACHINES = np.asarray([8.0, 2.0, 4.0, 8.0, 2.0, 4.0, 16.0, 3.0, 6.0, 12.0])
WEIGHTS = np.asarray([1.0, 0.2, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, LEAST_WEIGHT, 1.0])


def observed(run_weights: FloatArray | None = None) -> Observations:
    """Runs of two types that differ in their level alone, some at the same point; the one on 6
    machines took twice as long."""
    one = np.ones_like(MACHINES)
    faster = np.arange(len(MACHINES)) < 3
    seconds = (40.0 + 900.0 / MACHINES) * np.where(faster, 0.8, 1.0)
    logs = np.log(seconds * np.where(MACHINES == 6.0, 2.0, 1.0))
    effects = np.column_stack((3.0 * one, 0.2 * faster))
    at = Points(MACHINES, one, one, one, one)
    return Observations(at, logs - logs.mean(), effects, run_weights)


@pytest.mark.parametrize("run_weights", [None, WEIGHTS])
def test_the_misfit_at_distinct_points_is_that_of_all_runs(run_weights: FloatArray | None) -> None:
    observations = observed(run_weights)
    distinct = observations.at_distinct_points
    assert distinct.points.machines.tolist() == [8.0, 2.0, 4.0, 16.0, 3.0, 6.0, 12.0]
    times = np.random.default_rng(1).normal(size=(len(distinct.points), 5))
    of_run = [distinct.points.machines.tolist().index(machines) for machines in MACHINES]
    residuals = observations.log_seconds[:, None] - times[of_run]
    assert distinct.misfit(times) == pytest.approx(observations.misfit(residuals), rel=1e-12)


def test_runs_at_points_of_their_own_stay_as_they_are() -> None:
    whole = observed(WEIGHTS)
    kept = np.asarray([0, 1, 2, 6, 7])
    points = whole.points.take(kept)
    some = Observations(points, whole.log_seconds[kept], whole.effects[kept], WEIGHTS[kept])
    distinct = some.at_distinct_points
    for entry in fields(points):
        assert np.array_equal(getattr(distinct.points, entry.name), getattr(points, entry.name))
    assert np.array_equal(distinct.log_seconds, some.log_seconds)
    assert distinct.scatter == 0.0
    assert not distinct.explained_offset.any()


def test_draws_that_continue_others_reach_the_posterior_of_those_from_the_prior() -> None:
    doubted = observed(np.where(MACHINES == 6.0, 0.6, 1.0))
    before = posterior(observed())
    from_prior = posterior(doubted, before=before)
    continued = posterior(doubted, before=replace(before, may_continue=True))

    def mean_times(draws: PosteriorDraws) -> FloatArray:
        times = draws.laws.log_times(doubted.points)
        return np.asarray((times - times.mean(axis=0)).mean(axis=1))

    assert not np.array_equal(continued.laws.parameters, from_prior.laws.parameters)
    assert mean_times(continued) == pytest.approx(mean_times(from_prior), abs=0.01)
    assert continued.power == from_prior.power == continued.path[-1].power
    assert any(one is other for one in continued.path[1:] for other in before.path)


def test_weights_that_turn_all_round_begin_with_the_prior() -> None:
    doubted = observed(np.where(MACHINES == 6.0, LEAST_WEIGHT, 1.0))
    before = posterior(observed())
    continued = posterior(doubted, before=replace(before, may_continue=True))
    assert np.array_equal(continued.laws.parameters, posterior(doubted).laws.parameters)


def test_draws_for_the_same_weights_continue_the_last_of_them() -> None:
    draws = posterior(observed())
    again = posterior(observed(), before=replace(draws, may_continue=True))
    assert [one.power for one in again.path[:-1]] == [one.power for one in draws.path]
    assert again.path[-1].power == draws.power
