"""Draws of laws: runs at one point together, other run weights, 32-bit numbers."""

import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from law_fits import few_runs
from sparkplan_runs import fit, nodes

from engine.cluster import Workload
from engine.forecast import FloatArray
from engine.models.laws.observations import Observations
from engine.models.laws.observations import log_likelihood as log_likelihood_of
from engine.models.laws.outlier_runs import LEAST_WEIGHT
from engine.models.laws.prior_laws import first_prior_laws
from engine.models.laws.reference_frame import ReferenceFrame
from engine.models.laws.sampling import Likelihood, PosteriorDraws, posterior
from engine.models.laws.terms import Points
from engine.profile import Run

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


SCALED = ((2, 300.0), (4, 310.0), (6, 318.0), (8, 325.0), (12, 333.0), (16, 341.0))
"""Nodes and seconds of a job whose input grew with the nodes."""


@pytest.mark.parametrize("rounded", [0.0, 1e-8, 1e-6])
def test_sizes_that_are_rounded_make_no_cliff_between_the_runs(rounded: float) -> None:
    """The sizes are as much as `rounded` off what would leave each node the same share."""
    parts = (0.0, 0.7, -0.3, 1.0, 0.1, -0.8)
    runs = [
        Run(seconds, nodes(count), Workload(count * 1.2e10 * (1.0 + rounded * part)))
        for (count, seconds), part in zip(SCALED, parts, strict=True)
    ]
    model = fit(*runs)
    assert model.validation.mean_relative_error < 0.03
    found = model.predict(cluster=nodes(10), workload=Workload(1.2e11))
    assert (found.high or 0.0) / found.low < 1.3


@pytest.mark.parametrize("most", [1e6, 1e12])
def test_loops_of_very_unlike_lengths_overflow_nothing(most: float) -> None:
    counts = [(count, loops) for count in (1, 4, 16) for loops in (1.0, 1000.0, most)]
    runs = [
        Run(20.0 + 0.007 * np.log(loops) / count, nodes(count), Workload(1.0, iterations=loops))
        for count, loops in counts
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(*runs).predict(cluster=nodes(4), workload=Workload(1.0, iterations=1000.0))
    assert np.isfinite(found.seconds)


def test_the_likelihood_is_that_of_64_bit_numbers() -> None:
    observations = few_runs(5)
    frame = ReferenceFrame.of(observations.points)
    single = first_prior_laws(frame, 2000, seed=3, single=True).take(np.arange(2000))
    double = single.in_double_precision
    features = frame.features(observations.points)
    found = Likelihood(observations, features.in_single_precision).log_likelihood(single)
    residuals = observations.log_seconds[:, None] - double.log_times(observations.points)
    expected = log_likelihood_of(observations.misfit(residuals), 5)
    assert found == pytest.approx(expected, abs=1e-3)
    assert posterior(observations).laws.parameters.dtype == np.float64
