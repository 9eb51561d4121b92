"""The distribution of left-out errors: recovery, coverage, and the separation of its parts."""

import math
from itertools import product

import numpy as np
import pytest
from depth import DEEP
from scipy import stats

from engine.forecast import FloatArray, student_quantile
from engine.models.laws.error_distribution import (
    DOF_LOG2_SPREAD,
    GRID_REACH,
    GRID_STEP,
    LOG_SCALE_DIFFERENCES,
    RELATIVE_DOF,
    SCALE_CORRELATION,
    SCALE_LOG_SPREAD,
    WITHIN_SHARES,
    ErrorDistribution,
    _bounds,
    _log_posterior,
    _students_with_bounds,
    fit_error_distribution,
    prior_error_distribution,
    with_common_dof,
)
from engine.models.laws.observations import NOISE_DOF

SCATTER, LAWS = (1.0, 0.0), (0.0, 1.0)
"""Variance about a law, and among laws."""


def spread_after(errors: FloatArray, within: float, between: float) -> ErrorDistribution:
    one = np.ones_like(errors)
    return fit_error_distribution(errors, within * one, between * one, dof=4.0)


def law(found: ErrorDistribution, within: float, between: float) -> tuple[float, float]:
    """Scale and degrees of freedom."""
    variance, dof = found.moments(np.asarray([within]), np.asarray([between]))
    return math.sqrt(variance[0]), float(dof[0])


@pytest.mark.parametrize("part", [SCATTER, LAWS])
@pytest.mark.parametrize(("scale", "dof"), [(0.6, 4.0), (1.0, 60.0), (1.8, 8.0)])
def test_studentised_errors_are_recovered(
    scale: float, dof: float, part: tuple[float, float]
) -> None:
    """From 4,000 errors the law comes back, seen in its quantiles at several confidences."""
    errors = scale * np.random.default_rng(1).standard_t(dof, 4000)
    found, freedom = law(spread_after(errors, *part), *part)
    for p in (0.75, 0.9, 0.95):
        quantile = found * student_quantile(p, np.asarray([freedom]))[0]
        assert np.mean(errors <= quantile) == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("part", [SCATTER, LAWS, (0.5, 0.5)])
def test_without_errors_the_prior_stays_and_a_few_move_it_a_little(
    part: tuple[float, float],
) -> None:
    scale, dof = law(spread_after(np.empty(0), *part), *part)
    assert scale == pytest.approx(1.0, rel=0.1)
    assert dof < 4.0, "that the scale is not known makes the tails longer"
    assert 1.0 < law(spread_after(np.asarray([3.0, -3.0]), *part), *part)[0] < 3.0
    assert 0.1 < law(spread_after(np.full(5, 0.01), *part), *part)[0] < 1.0


@pytest.mark.parametrize("count", [3, 7, 15] if DEEP else [3])
def test_an_interval_covers_the_next_error_however_few_there_were(count: int) -> None:
    """Scales and tails differ from job to job as the prior says, and so many errors tell of them,
    whatever they and the next one, here of two kinds, consist of: the likeliest alone would hold
    87 % for 90."""
    random, asked = np.random.default_rng(count), (0.1, 0.9)
    inside = []
    for _ in range(1500):
        freedom = 4.0 * 2.0 ** np.clip(DOF_LOG2_SPREAD * random.normal(), -0.5, 4.0)
        common, *own = SCALE_LOG_SPREAD * random.normal(size=3)
        scales = np.exp(
            math.sqrt(SCALE_CORRELATION) * common
            + math.sqrt(1.0 - SCALE_CORRELATION) * np.asarray(own)
        )
        within = np.append(random.uniform(0.0, 0.4, count), asked)
        parts = np.stack((within, 1.0 - within))
        errors = np.sqrt(scales**2 @ parts) * random.standard_t(freedom, count + len(asked))
        found = fit_error_distribution(errors[:count], *parts[:, :count], dof=4.0)
        variance, dof = found.moments(*parts[:, count:])
        bounds = np.sqrt(variance) * [student_quantile(p, dof) for p in (0.95, 0.995)]
        inside.append(np.abs(errors[count:]) <= bounds)
    ninety, ninety_nine = np.mean(inside, axis=0)
    assert ninety == pytest.approx([0.9, 0.9], abs=0.025)
    assert ninety_nine == pytest.approx([0.99, 0.99], abs=0.01)


def test_errors_identify_the_part_that_they_consist_of() -> None:
    """Small errors of runs left out that were nearly all doubt among laws: that doubt was too
    large, which says less of how far runs scatter; a doubt of both parts is in between."""
    found = spread_after(np.full(6, 0.4), 0.05, 0.95)
    scatter, both, laws = (law(found, *part)[0] for part in (SCATTER, (0.5, 0.5), LAWS))
    assert laws < 0.5
    assert laws < both < scatter
    assert 0.6 < scatter < 1.0


def test_what_is_not_known_takes_no_part() -> None:
    errors = np.asarray([0.3, np.nan, -0.2])
    parts = np.asarray([0.1, 0.5, 0.2]), np.asarray([0.2, np.nan, 0.1])
    first = fit_error_distribution(errors, *parts, dof=4.0)
    again = fit_error_distribution(errors[[0, 2]], *(part[[0, 2]] for part in parts), dof=4.0)
    assert first.log_scales == pytest.approx(again.log_scales)
    assert law(prior_error_distribution(4.0), 3.0, 1.0) == pytest.approx((2.0, 4.0))


def test_the_posterior_is_that_of_two_scales_that_are_alike() -> None:
    """On the whole grid, against Student's density with variances that either scale multiplies, and
    the prior of the two: normal logs that correlate."""
    random = np.random.default_rng(3)
    errors, weights = random.normal(size=5), random.uniform(0.2, 1.0, 5)
    within, between = random.uniform(0.1, 2.0, (2, 5))
    found = _log_posterior(errors, within, between, weights, 3.0)
    mean = GRID_STEP * np.arange(-GRID_REACH, GRID_REACH + 1)
    scatter = mean + 0.5 * LOG_SCALE_DIFFERENCES[:, None]
    laws = mean - 0.5 * LOG_SCALE_DIFFERENCES[:, None]
    covariance = SCALE_LOG_SPREAD**2 * np.asarray(
        [[1.0, SCALE_CORRELATION], [SCALE_CORRELATION, 1.0]]
    )
    prior = stats.multivariate_normal(np.zeros(2), covariance).logpdf(np.dstack((scatter, laws)))
    expected = np.repeat(prior[..., None], len(RELATIVE_DOF), axis=-1)
    expected += stats.norm(0.0, DOF_LOG2_SPREAD).logpdf(np.log2(RELATIVE_DOF))
    for error, weight, one, other in zip(errors, weights, within, between, strict=True):
        scale = np.sqrt(np.exp(2.0 * scatter) * one + np.exp(2.0 * laws) * other)
        expected += weight * stats.t.logpdf(error, 3.0 * RELATIVE_DOF, scale=scale[..., None])
    assert found - found.max() == pytest.approx(expected - expected.max(), abs=1e-8)


def test_the_bounds_are_quantiles_of_the_posterior_predictive() -> None:
    """Against the mixture's tail, summed law by law, at any share of the parts."""
    random = np.random.default_rng(4)
    weights = random.uniform(
        size=(len(LOG_SCALE_DIFFERENCES), 2 * GRID_REACH + 1, len(RELATIVE_DOF))
    )
    weights *= np.exp(-0.5 * (GRID_STEP * np.arange(-GRID_REACH, GRID_REACH + 1) / 0.3) ** 2)[
        :, None
    ]
    weights /= weights.sum()
    mean = GRID_STEP * np.arange(-GRID_REACH, GRID_REACH + 1)
    scatter = np.exp(2.0 * mean + LOG_SCALE_DIFFERENCES[:, None])
    laws = np.exp(2.0 * mean - LOG_SCALE_DIFFERENCES[:, None])
    for share, bounds in zip(WITHIN_SHARES, _bounds(weights, 3.0), strict=True):
        scale = np.sqrt(share * scatter + (1.0 - share) * laws)[..., None]
        tails = [(weights * stats.t.sf(b, 3.0 * RELATIVE_DOF, scale=scale)).sum() for b in bounds]
        assert tails == pytest.approx([0.05, 0.005], rel=0.01)


@pytest.mark.parametrize("corner", [0, -1])
def test_the_bounds_lie_on_the_grid_whatever_the_errors(corner: int) -> None:
    """All weight on the smallest scales or on the largest, of the widest or narrowest tails."""
    mean = (GRID_STEP * np.arange(-GRID_REACH, GRID_REACH + 1))[corner]
    for difference, dof in product((0, -1), (0, -1)):
        weights = np.zeros((len(LOG_SCALE_DIFFERENCES), 2 * GRID_REACH + 1, len(RELATIVE_DOF)))
        weights[difference, corner, dof] = 1.0
        apart = LOG_SCALE_DIFFERENCES[difference]
        for share, bounds in zip(WITHIN_SHARES, _bounds(weights, NOISE_DOF), strict=True):
            scale = np.exp(mean) * np.sqrt(share * np.exp(apart) + (1.0 - share) / np.exp(apart))
            tails = stats.t.sf(bounds / scale, NOISE_DOF * RELATIVE_DOF[dof])
            assert tails == pytest.approx([0.05, 0.005], rel=0.02)


def test_one_student_law_has_the_bounds_that_it_stands_for() -> None:
    dof = np.asarray([1.0, 2.3, 7.0, 60.0, 400.0])
    bounds = 2.0 * np.column_stack([student_quantile(p, dof) for p in (0.95, 0.995)])
    log_scales, found = _students_with_bounds(bounds)
    assert np.exp(log_scales) == pytest.approx(2.0, rel=1e-3)
    assert found == pytest.approx(dof, rel=0.01)


def test_errors_count_by_their_weights() -> None:
    errors, one = np.asarray([0.3, -0.2, 5.0]), np.asarray([0.1, 0.2, 0.3])
    counted = fit_error_distribution(
        errors, one, one, dof=4.0, run_weights=np.asarray([2.0, 1.0, 0.0])
    )
    places = [0, 0, 1]
    again = fit_error_distribution(errors[places], one[places], one[places], dof=4.0)
    assert counted.log_scales == pytest.approx(again.log_scales)
    assert counted.dof == pytest.approx(again.dof)


def test_scales_are_interpolated_in_the_share_within_laws() -> None:
    """Between two shares for which the law is worked out it is read off between them."""
    steps = np.arange(float(len(WITHIN_SHARES)))
    found = ErrorDistribution(0.1 * steps, 1.0 + steps)
    at = (WITHIN_SHARES[2] + WITHIN_SHARES[3]) / 2.0
    scale, dof = law(found, 4.0 * at, 4.0 * (1.0 - at))
    assert scale == pytest.approx(2.0 * math.exp(0.25))
    assert dof == pytest.approx(3.5)


def test_different_degrees_of_freedom_of_two_sides_become_one() -> None:
    """Those above; the lower bound of 90 % stays, and where they are alike nothing changes."""
    scale = np.asarray([[0.1, 0.2], [0.3, 0.2]])
    dof = np.asarray([[3.0, 7.0], [9.0, 7.0]])
    (below, above), freedom = with_common_dof(scale, dof)
    assert freedom.tolist() == [9.0, 7.0]
    assert above.tolist() == [0.3, 0.2]
    assert below[1] == 0.2
    old, new = (student_quantile(0.95, np.asarray([one]))[0] for one in (3.0, 9.0))
    assert below[0] * new == pytest.approx(0.1 * old)
    assert scale[0, 0] == 0.1, "what was given is not changed"
