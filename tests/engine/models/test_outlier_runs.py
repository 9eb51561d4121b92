"""How much runs count, by the evidence of hypotheses about which something went wrong in."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws import outlier_runs
from engine.models.laws.outlier_runs import (
    LEAST_WEIGHT,
    OUTLIER_LOG_FACTOR,
    OUTLIER_PROBABILITY,
    SUSPECTS,
    _outlier_sets,
    _OutlierHypotheses,
    outlier_posterior,
)
from engine.models.laws.sampling import (
    NOISE_DOF,
    NOISE_SCALE,
    Observations,
    PosteriorDraws,
    log_likelihood,
    posterior,
)
from engine.models.laws.terms import Points
from engine.runs.slow_runs import LEAST

MACHINES = np.asarray([2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0])
HARDER = MACHINES[None] < MACHINES[:, None]
ANY = np.ones(len(MACHINES), dtype=bool)


def evidence(**wrong: float) -> Observations:
    """Runs of one law, those at `m6=2.0` so many times as long."""
    one = np.ones_like(MACHINES)
    times = 40.0 + 900.0 / MACHINES
    for name, factor in wrong.items():
        times[float(name[1:]) == MACHINES] *= factor
    logs = np.log(times)
    at = Points(MACHINES, one, one, one, one)
    return Observations(at, logs - logs.mean(), np.full((len(MACHINES), 1), 3.0))


def test_counts_divide_the_variance_of_noise() -> None:
    """Against the plain definition: residuals' K^-1 residuals with K = diag(1 / counts) + X X'."""
    random = np.random.default_rng(4)
    run_weights = random.uniform(0.1, 1.0, len(MACHINES))
    told = Observations(
        evidence().points,
        np.zeros(len(MACHINES)),
        random.normal(size=(len(MACHINES), 2)),
        run_weights,
    )
    residuals = random.normal(size=(len(MACHINES), 6))
    x = told.effects / NOISE_SCALE
    inverse = np.linalg.inv(np.diag(1.0 / run_weights) + x @ x.T)
    assert told.misfit(residuals) == pytest.approx(
        np.einsum("rd,rs,sd->d", residuals, inverse, residuals)
    )
    assert told.precision == pytest.approx(inverse)
    assert told.runs == pytest.approx(run_weights.sum())
    ridge = (
        np.linalg.solve(x.T @ (run_weights[:, None] * x) + np.eye(2), x.T * run_weights) @ residuals
    )
    assert told.coefficients(residuals) == pytest.approx(ridge / NOISE_SCALE)


def test_a_run_that_counts_for_nothing_is_as_if_it_had_not_been_made() -> None:
    told = evidence(m6=2.0)
    run_weights = np.where(MACHINES == 6.0, 1e-9, 1.0)
    kept = MACHINES != 6.0
    without = Observations(
        Points(*(getattr(told.points, name)[kept] for name in told.points.__dataclass_fields__)),
        told.log_seconds[kept],
        told.effects[kept],
    )
    residuals = np.random.default_rng(5).normal(size=(len(MACHINES), 4))
    less = replace(told, run_weights=run_weights)
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
    told = evidence(m6=2.0, m10=2.5)
    draws = posterior(told)
    one = draws.laws.taken(np.asarray([7]))
    hypotheses = _OutlierHypotheses.of(
        told, told, PosteriorDraws(one, 0.0, lambda: one, ()), HARDER
    )
    residuals = told.log_seconds - one.log_times(told.points)[:, 0]

    def density(places: list[int]) -> float:
        x, r = told.effects[places] / NOISE_SCALE, residuals[places]
        covariance = np.eye(len(places)) + x @ x.T
        dof = NOISE_DOF + len(places) - 1.0
        spread = NOISE_DOF * NOISE_SCALE**2 + r @ np.linalg.solve(covariance, r)
        found = math.lgamma(0.5 * dof) - 0.5 * dof * math.log(spread)
        found -= 0.5 * float(np.linalg.slogdet(covariance)[1])
        return found - 0.5 * len(places) * math.log(math.pi)

    every = list(range(len(MACHINES)))
    others = [place for place in every if place not in wrong]
    expected = density(others) - density(every) + prior
    found = hypotheses.log_evidence(wrong) - hypotheses.log_evidence(())
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_slow_run_that_no_other_was_as_hard_as_may_be_right() -> None:
    """A memory cliff begins at the fewest machines; the next fewest beside them are judged only
    where those are not themselves thought wrong."""
    told = evidence(m2=2.5, m3=2.5, m6=2.5)
    hypotheses = _OutlierHypotheses.of(told, told, posterior(told), HARDER)
    for wrong, asked in (((0,), False), ((0, 3), False), ((0, 1), False), ((1, 3), True)):
        assert (hypotheses.log_evidence(wrong) > -math.inf) is asked


def test_left_out_errors_are_those_of_laws_that_the_other_runs_bear_out() -> None:
    """For two laws, against what a normal distribution with known others says of each run."""
    told = evidence(m6=2.0)
    two = posterior(told).laws.taken(np.asarray([3, 7]))
    hypotheses = _OutlierHypotheses.of(
        told, told, PosteriorDraws(two, 0.0, lambda: two, ()), HARDER
    )
    residuals = told.log_seconds[:, None] - two.log_times(told.points)
    x = told.effects / NOISE_SCALE
    covariance = np.eye(len(MACHINES)) + x @ x.T
    for place, found in enumerate(hypotheses.errors):
        others = np.delete(np.arange(len(MACHINES)), place)
        by_others = np.linalg.solve(covariance[np.ix_(others, others)], residuals[others])
        error = residuals[place] - covariance[place, others] @ by_others
        spread = NOISE_DOF * NOISE_SCALE**2 + np.einsum("rd,rd->d", residuals[others], by_others)
        density = spread ** (-0.5 * (NOISE_DOF + len(others) - 1.0))
        assert found == pytest.approx(error @ density / density.sum())


def test_counts_are_of_the_runs_in_which_something_went_wrong() -> None:
    told, _ = outlier_posterior(evidence(m6=2.0, m12=1.7), ANY, HARDER)
    wrong = np.isin(MACHINES, (6.0, 12.0))
    assert np.all(told.run_weights[wrong] < 0.1)
    assert np.all(told.run_weights[~wrong] == 1.0)


def test_every_hypothesis_is_asked_once() -> None:
    for judged in ([], [4], [4, 1], [4, 1, 6]):
        found = list(_outlier_sets(judged, [0, 2]))
        assert len({frozenset(one) for one in found}) == len(found)
        assert () in found


def test_calm_runs_are_followed_once() -> None:
    calm = evidence()
    told, draws = outlier_posterior(calm, ANY, HARDER)
    assert told is calm
    assert np.array_equal(draws.laws.log_shares, posterior(calm).laws.log_shares)


def test_draws_of_the_prior_serve_runs_that_count_otherwise() -> None:
    """To the last digit: what they say of the runs is the same."""
    calm = evidence(m6=2.0)
    run_weights = np.where(MACHINES == 6.0, 0.3, 1.0)
    doubted = replace(calm, run_weights=run_weights)
    found = posterior(doubted, before=posterior(calm)).laws.parameters
    assert np.array_equal(found, posterior(doubted).laws.parameters)
    assert not np.array_equal(found, posterior(calm).laws.parameters)


def test_doubt_that_goes_to_and_fro_is_followed_once_each_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws: list[Observations] = []

    def noted(of: Observations, before: PosteriorDraws | None = None) -> PosteriorDraws:
        draws.append(of)
        return posterior(of, before=before)

    def to_and_fro(hypotheses: _OutlierHypotheses, may: BoolArray, judged: IntArray) -> FloatArray:
        return np.where(MACHINES == 6.0, 0.0 if judged.size else 0.99, 0.0)

    monkeypatch.setattr(outlier_runs, "posterior", noted)
    monkeypatch.setattr(_OutlierHypotheses, "outlier_probabilities", to_and_fro)
    slow = evidence(m6=2.0)
    told, after = outlier_posterior(slow, ANY, HARDER)
    assert [one.run_weights is None for one in draws] == [True, False]
    assert told is slow  # no more than four times, the last time back
    assert np.array_equal(after.laws.log_shares, posterior(slow).laws.log_shares)


def test_only_runs_that_may_be_wrong_are() -> None:
    told, _ = outlier_posterior(evidence(m6=2.0), MACHINES != 6.0, HARDER)
    assert told.run_weights is None


def test_what_is_known_of_a_run_stays() -> None:
    run_weights = np.where(MACHINES == 4.0, 0.02, 1.0)
    told, _ = outlier_posterior(
        replace(evidence(m4=2.0, m10=2.0), run_weights=run_weights), ANY, HARDER
    )
    assert told.run_weights[MACHINES == 4.0] == 0.02
    assert told.run_weights[MACHINES == 10.0] < 0.05
    assert told.run_weights[MACHINES == 8.0] == 1.0


def test_the_hypotheses_are_those_before_with_one_more_or_less_and_up_to_two_suspects() -> None:
    found = {frozenset(one) for one in _outlier_sets([4, 1], [0, 2, 5])}
    suspects = [set(some) for more in range(3) for some in combinations((0, 2, 5), more)]
    assert found == {
        frozenset({*kept} | some) for kept in ((4, 1), (4,), (1,), ()) for some in suspects
    }


class GivenEvidence(_OutlierHypotheses):
    """One whose evidence is a sum of log odds of the runs, each its number / 10."""

    def log_evidence(self, wrong: tuple[int, ...]) -> float:
        return sum(place / 10.0 for place in wrong)


@pytest.mark.parametrize("judged", [[], [0], [0, 5]])
def test_doubt_is_the_share_of_the_hypotheses_that_hold_a_run(judged: list[int]) -> None:
    """Suspected are the runs that took longest beside the others, those long enough, that may be;
    those judged before are asked about whatever they look like now."""
    errors = np.asarray([0.1, 0.9, 0.3, 0.5, 0.2, 1.0, 0.25, 0.8, 0.6, 0.7, 0.4])
    may = np.arange(len(errors)) != 9
    told = evidence()
    hypotheses = GivenEvidence(
        **{**vars(_OutlierHypotheses.of(told, told, posterior(told), HARDER)), "errors": errors}
    )
    free = [1, 2, 3, 5, 6, 7, 8, 10]
    likely = sorted((n for n in free if n not in judged), key=lambda n: -errors[n])[:SUSPECTS]
    assert all(errors[n] >= math.log(LEAST) for n in likely)
    sets = {frozenset(one) for one in _outlier_sets(judged, likely)}
    weights = {one: math.exp(sum(one) / 10.0) for one in sets}
    expected = np.zeros(len(errors))
    for one, weight in weights.items():
        expected[list(one)] += weight / sum(weights.values())
    assert hypotheses.outlier_probabilities(
        may, np.asarray(judged, dtype=np.int64)
    ) == pytest.approx(expected)
    none = replace(hypotheses, errors=np.full(len(errors), 0.9 * math.log(LEAST)))
    assert not none.outlier_probabilities(may, np.asarray([], dtype=np.int64)).any()


def test_a_run_that_was_faster_than_foretold_is_no_hypothesis() -> None:
    told = evidence(m6=0.5)
    hypotheses = _OutlierHypotheses.of(told, told, posterior(told), HARDER)
    assert hypotheses.log_evidence((3,)) == -math.inf
    assert math.isfinite(hypotheses.log_evidence(()))
    kept, _ = outlier_posterior(told, ANY, HARDER)
    assert kept is told


def test_a_run_that_is_surely_wrong_still_counts_for_the_least() -> None:
    told, _ = outlier_posterior(evidence(m6=3.5), ANY, HARDER)
    assert told.run_weights.min() == LEAST_WEIGHT
    assert told.run_weights[MACHINES == 6.0] == LEAST_WEIGHT


def test_too_few_others_judge_no_run() -> None:
    """Five that agree beside a slow one are enough, four are not."""
    for fewest, judged in ((6, True), (5, False)):
        whole = evidence(m6=3.0)
        kept = np.arange(fewest)
        few = Observations(
            Points(
                *(getattr(whole.points, name)[kept] for name in whole.points.__dataclass_fields__)
            ),
            whole.log_seconds[kept],
            whole.effects[kept],
        )
        told, _ = outlier_posterior(few, ANY[kept], HARDER[np.ix_(kept, kept)])
        assert (told.run_weights is not None) is judged
        assert told.run_weights is None or told.run_weights[3] < 1.0 - OUTLIER_PROBABILITY
