"""Run weights, by the evidence of hypotheses about which runs are outliers."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws import outlier_runs
from engine.models.laws.observations import NOISE_DOF, NOISE_SCALE, Observations, log_likelihood
from engine.models.laws.outlier_runs import (
    LEAST_WEIGHT,
    OUTLIER_LOG_FACTOR,
    OUTLIER_THRESHOLD,
    SUSPECTS,
    _outlier_sets,
    _OutlierHypotheses,
    outlier_posterior,
)
from engine.models.laws.sampling import PosteriorDraws, posterior
from engine.models.laws.terms import Points
from engine.runs.slow_runs import LEAST_FACTOR

MACHINES = np.asarray([2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0])
HARDER = MACHINES[None] < MACHINES[:, None]
ANY = np.ones(len(MACHINES), dtype=bool)


def runs_with(machines: FloatArray = MACHINES, **wrong: float) -> Observations:
    """Runs of one law, those at `m6=2.0` so many times as long."""
    one = np.ones_like(machines)
    times = 40.0 + 900.0 / machines
    for name, factor in wrong.items():
        times[float(name[1:]) == machines] *= factor
    logs = np.log(times)
    at = Points(machines, one, one, one, one)
    return Observations(at, logs - logs.mean(), np.full((len(machines), 1), 3.0))


def test_run_weights_divide_the_variance_of_noise() -> None:
    """Against the plain definition: residuals' K^-1 residuals with K = diag(1 / counts) + X X'."""
    random = np.random.default_rng(4)
    run_weights = random.uniform(0.1, 1.0, len(MACHINES))
    observations = Observations(
        runs_with().points,
        np.zeros(len(MACHINES)),
        random.normal(size=(len(MACHINES), 2)),
        run_weights,
    )
    residuals = random.normal(size=(len(MACHINES), 6))
    x = observations.effects / NOISE_SCALE
    inverse = np.linalg.inv(np.diag(1.0 / run_weights) + x @ x.T)
    assert observations.misfit(residuals) == pytest.approx(
        np.einsum("rd,rs,sd->d", residuals, inverse, residuals)
    )
    assert observations.precision == pytest.approx(inverse)
    assert observations.weighted_by_precision(residuals) == pytest.approx(inverse @ residuals)
    assert observations.runs == pytest.approx(run_weights.sum())
    ridge = (
        np.linalg.solve(x.T @ (run_weights[:, None] * x) + np.eye(2), x.T * run_weights) @ residuals
    )
    assert observations.coefficients(residuals) == pytest.approx(ridge / NOISE_SCALE)


def test_a_run_of_no_weight_is_as_if_it_had_not_been_made() -> None:
    observations = runs_with(m6=2.0)
    run_weights = np.where(MACHINES == 6.0, 1e-9, 1.0)
    kept = MACHINES != 6.0
    without = Observations(
        Points(
            *(
                getattr(observations.points, name)[kept]
                for name in observations.points.__dataclass_fields__
            )
        ),
        observations.log_seconds[kept],
        observations.effects[kept],
    )
    residuals = np.random.default_rng(5).normal(size=(len(MACHINES), 4))
    less = replace(observations, run_weights=run_weights)
    assert less.misfit(residuals) == pytest.approx(without.misfit(residuals[kept]), rel=1e-6)
    assert log_likelihood(less.misfit(residuals), less.runs) == pytest.approx(
        log_likelihood(without.misfit(residuals[kept]), 7), rel=1e-6
    )


@pytest.mark.parametrize(
    ("wrong", "prior"),
    [((3,), OUTLIER_LOG_FACTOR), ((3, 5), 2.0 * OUTLIER_LOG_FACTOR)],
    ids=["one", "two"],
)
def test_the_evidence_of_a_hypothesis_is_that_of_the_other_runs(
    wrong: tuple[int, ...], prior: float
) -> None:
    """For one law, against the Student density of the others (Gelman et al., 3.2, with one degree
    of freedom for the level) less that of all."""
    observations = runs_with(m6=2.0, m10=2.5)
    draws = posterior(observations)
    one = draws.laws.take(np.asarray([7]))
    hypotheses = _OutlierHypotheses.of(
        observations, PosteriorDraws(observations, one, 0.0, lambda: one, ()), HARDER
    )
    residuals = observations.log_seconds - one.log_times(observations.points)[:, 0]

    def density(places: list[int]) -> float:
        x, r = observations.effects[places] / NOISE_SCALE, residuals[places]
        covariance = np.eye(len(places)) + x @ x.T
        dof = NOISE_DOF + len(places) - 1.0
        spread = NOISE_DOF * NOISE_SCALE**2 + r @ np.linalg.solve(covariance, r)
        found = math.lgamma(0.5 * dof) - 0.5 * dof * math.log(spread)
        found -= 0.5 * float(np.linalg.slogdet(covariance)[1])
        return found - 0.5 * len(places) * math.log(math.pi)

    every = list(range(len(MACHINES)))
    others = [place for place in every if place not in wrong]
    expected = density(others) - density(every) + prior
    found, of_none = hypotheses.log_evidences([wrong, ()])
    assert found - of_none == pytest.approx(expected, rel=1e-9)


def test_the_hardest_run_is_no_outlier() -> None:
    """A memory cliff begins at the fewest machines; the next fewest beside them are judged only
    where those are not themselves thought wrong."""
    observations = runs_with(m2=2.5, m3=2.5, m6=2.5)
    hypotheses = _OutlierHypotheses.of(observations, posterior(observations), HARDER)
    sets = [(0,), (0, 3), (0, 1), (1, 3)]
    assert (hypotheses.log_evidences(sets) > -math.inf).tolist() == [False, False, False, True]


def test_leave_one_out_errors_are_those_of_the_posterior_without_the_run() -> None:
    """For two laws, against what a normal distribution with known others says of each run."""
    observations = runs_with(m6=2.0)
    two = posterior(observations).laws.take(np.asarray([3, 7]))
    hypotheses = _OutlierHypotheses.of(
        observations, PosteriorDraws(observations, two, 0.0, lambda: two, ()), HARDER
    )
    residuals = observations.log_seconds[:, None] - two.log_times(observations.points)
    x = observations.effects / NOISE_SCALE
    covariance = np.eye(len(MACHINES)) + x @ x.T
    for place, found in enumerate(hypotheses.errors):
        others = np.delete(np.arange(len(MACHINES)), place)
        by_others = np.linalg.solve(covariance[np.ix_(others, others)], residuals[others])
        error = residuals[place] - covariance[place, others] @ by_others
        spread = NOISE_DOF * NOISE_SCALE**2 + np.einsum("rd,rd->d", residuals[others], by_others)
        density = spread ** (-0.5 * (NOISE_DOF + len(others) - 1.0))
        assert found == pytest.approx(error @ density / density.sum())


def test_outliers_are_down_weighted() -> None:
    observations, _ = outlier_posterior(runs_with(m6=2.0, m12=1.7), ANY, HARDER)
    wrong = np.isin(MACHINES, (6.0, 12.0))
    assert np.all(observations.run_weights[wrong] < 0.1)
    assert np.all(observations.run_weights[~wrong] == 1.0)


def test_every_hypothesis_is_tested_once() -> None:
    for judged in ([], [4], [4, 1], [4, 1, 6]):
        found = list(_outlier_sets(judged, [0, 2]))
        assert len({frozenset(one) for one in found}) == len(found)
        assert () in found


def test_runs_without_outliers_are_sampled_once() -> None:
    without_outliers = runs_with()
    observations, draws = outlier_posterior(without_outliers, ANY, HARDER)
    assert observations is without_outliers
    assert np.array_equal(draws.laws.log_shares, posterior(without_outliers).laws.log_shares)


def test_prior_log_times_serve_other_run_weights() -> None:
    """To the last digit: what they say of the runs is the same."""
    initial = runs_with(m6=2.0)
    run_weights = np.where(MACHINES == 6.0, 0.3, 1.0)
    reweighted = replace(initial, run_weights=run_weights)
    found = posterior(reweighted, before=posterior(initial)).laws.parameters
    assert np.array_equal(found, posterior(reweighted).laws.parameters)
    assert not np.array_equal(found, posterior(initial).laws.parameters)


def test_alternating_weights_are_sampled_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws: list[Observations] = []

    def noted(of: Observations, before: PosteriorDraws | None = None) -> PosteriorDraws:
        draws.append(of)
        return posterior(of, before=before)

    def to_and_fro(hypotheses: _OutlierHypotheses, may: BoolArray, judged: IntArray) -> FloatArray:
        return np.where(MACHINES == 6.0, 0.0 if judged.size else 0.99, 0.0)

    monkeypatch.setattr(outlier_runs, "posterior", noted)
    monkeypatch.setattr(_OutlierHypotheses, "searched", to_and_fro)
    slow = runs_with(m6=2.0)
    observations, after = outlier_posterior(slow, ANY, HARDER)
    assert [one.run_weights is None for one in draws] == [True, False]
    assert observations is slow  # no more than four times, the last time back
    assert np.array_equal(after.laws.log_shares, posterior(slow).laws.log_shares)


def test_only_tested_runs_are_outliers() -> None:
    observations, _ = outlier_posterior(runs_with(m6=2.0), MACHINES != 6.0, HARDER)
    assert observations.run_weights is None


def test_a_given_run_weight_stays() -> None:
    run_weights = np.where(MACHINES == 4.0, 0.02, 1.0)
    observations, _ = outlier_posterior(
        replace(runs_with(m4=2.0, m10=2.0), run_weights=run_weights), ANY, HARDER
    )
    assert observations.run_weights[MACHINES == 4.0] == 0.02
    assert observations.run_weights[MACHINES == 10.0] < 0.05
    assert observations.run_weights[MACHINES == 8.0] == 1.0


def test_the_hypotheses_are_those_before_with_one_more_or_less_and_up_to_two_suspects() -> None:
    found = {frozenset(one) for one in _outlier_sets([4, 1], [0, 2, 5])}
    suspects = [set(some) for more in range(3) for some in combinations((0, 2, 5), more)]
    assert found == {
        frozenset({*kept} | some) for kept in ((4, 1), (4,), (1,), ()) for some in suspects
    }


class GivenEvidence(_OutlierHypotheses):
    """One whose evidence is a sum of log odds of the runs, each its number / 10."""

    def log_evidences(self, outlier_sets: Sequence[tuple[int, ...]]) -> FloatArray:
        return np.asarray([sum(places) / 10.0 for places in outlier_sets])


@pytest.mark.parametrize("judged", [[], [0], [0, 5]])
def test_the_outlier_probability_is_the_share_of_hypotheses_with_the_run(judged: list[int]) -> None:
    """Suspected are the runs that took longest beside the others, those long enough, that may be;
    those judged before are asked about whatever they look like now."""
    errors = np.asarray([0.1, 0.9, 0.3, 0.5, 0.2, 1.0, 0.25, 0.8, 0.6, 0.7, 0.4])
    may = np.arange(len(errors)) != 9
    observations = runs_with()
    hypotheses = GivenEvidence(
        **{
            **vars(_OutlierHypotheses.of(observations, posterior(observations), HARDER)),
            "errors": errors,
        }
    )
    free = [1, 2, 3, 5, 6, 7, 8, 10]
    likely = sorted((n for n in free if n not in judged), key=lambda n: -errors[n])[:SUSPECTS]
    assert all(errors[n] >= math.log(LEAST_FACTOR) for n in likely)
    sets = {frozenset(one) for one in _outlier_sets(judged, likely)}
    weights = {one: math.exp(sum(one) / 10.0) for one in sets}
    expected = np.zeros(len(errors))
    for one, weight in weights.items():
        expected[list(one)] += weight / sum(weights.values())
    assert hypotheses.outlier_probabilities(
        may, np.asarray(judged, dtype=np.int64)
    ) == pytest.approx(expected)
    none = replace(hypotheses, errors=np.full(len(errors), 0.9 * math.log(LEAST_FACTOR)))
    assert not none.outlier_probabilities(may, np.asarray([], dtype=np.int64)).any()


def test_the_search_goes_on_from_what_it_found_with_the_draws_that_it_has() -> None:
    """A round of hypotheses adds two of four slow runs; the laws need not be sampled again before
    the other two are found."""
    machines = np.arange(2.0, 22.0)
    observations = runs_with(machines, m6=3.5, m10=3.0, m14=1.7, m18=1.6)
    hypotheses = _OutlierHypotheses.of(
        observations, posterior(observations), machines[None] < machines[:, None]
    )
    may, none = np.ones(len(machines), dtype=bool), np.asarray([], dtype=np.int64)
    in_a_round = hypotheses.outlier_probabilities(may, none) > OUTLIER_THRESHOLD
    assert in_a_round.sum() == 2
    found = hypotheses.searched(may, none) > OUTLIER_THRESHOLD
    assert machines[found].tolist() == [6.0, 10.0, 14.0, 18.0]


def test_a_run_faster_than_predicted_is_no_outlier() -> None:
    observations = runs_with(m6=0.5)
    hypotheses = _OutlierHypotheses.of(observations, posterior(observations), HARDER)
    found, of_none = hypotheses.log_evidences([(3,), ()])
    assert found == -math.inf
    assert math.isfinite(of_none)
    kept, _ = outlier_posterior(observations, ANY, HARDER)
    assert kept is observations


def test_a_certain_outlier_has_the_least_weight() -> None:
    observations, _ = outlier_posterior(runs_with(m6=3.5), ANY, HARDER)
    assert observations.run_weights.min() == LEAST_WEIGHT
    assert observations.run_weights[MACHINES == 6.0] == LEAST_WEIGHT


def test_too_few_configurations_identify_no_outlier() -> None:
    """Five that agree beside a slow one are enough, four are not."""
    for fewest, judged in ((6, True), (5, False)):
        whole = runs_with(m6=3.0)
        kept = np.arange(fewest)
        few = Observations(
            Points(
                *(getattr(whole.points, name)[kept] for name in whole.points.__dataclass_fields__)
            ),
            whole.log_seconds[kept],
            whole.effects[kept],
        )
        observations, _ = outlier_posterior(few, ANY[kept], HARDER[np.ix_(kept, kept)])
        assert (observations.run_weights is not None) is judged
        assert (
            observations.run_weights is None
            or observations.run_weights[3] < 1.0 - OUTLIER_THRESHOLD
        )
