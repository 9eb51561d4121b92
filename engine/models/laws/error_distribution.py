"""The distribution of prediction errors, from leave-one-out errors: a Student distribution of
studentised errors, with a scale for each part of the variance.

The predicted variance of an error has two parts: within laws (how far runs scatter about a law) and
between laws (how little the laws of the posterior agree). Either may be wrong for a job, and an
error tells of each part in proportion to that part's share of its variance. With few runs, nearly
all of a left-out run's error is disagreement between laws; the scatter within laws is then hardly
identified, and predictions between the runs, whose variance is mostly scatter, must not become
surer for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import LARGE_DOF, FloatArray, IntArray, student_quantile
from engine.special_functions import stdtr

SCALE_LOG_SPREAD, DOF_LOG2_SPREAD = 0.6, 1.5
"""Prior standard deviations of the log of the scale of either part and of the binary log of the
degrees of freedom. The scale of the errors that fits of seven runs then meet was 0.5, 0.6, 0.6 and
1.3 times the predicted one (geometric mean) on four collections of public tables, and differed by
0.4 to 0.7 of its log among the fits of one: laws are exact to 1 % for one job and to 10 for
another."""

SCALE_CORRELATION = 0.5
"""Prior correlation of the two log scales: a job that no law describes exactly scatters about all
of them, so that half of what either may be off by is common to both."""

MEAN_LOG_SPREAD = SCALE_LOG_SPREAD * math.sqrt(0.5 * (1.0 + SCALE_CORRELATION))
"""Prior standard deviation of the mean of the two log scales, which is independent of their
difference."""

LOG_SCALE_DIFFERENCES = (
    SCALE_LOG_SPREAD * math.sqrt(2.0 * (1.0 - SCALE_CORRELATION)) * np.linspace(-3.0, 3.0, 13)
)
"""Grid of the difference of the log scales, within less between laws: to 3 prior standard
deviations."""

STEPS_PER_DOF = 3
"""Steps of the mean log scale that divide a square by as much as one step of the degrees of
freedom."""

GRID_STEP, GRID_REACH = math.log(2.0) / (4.0 * STEPS_PER_DOF), 36
"""Step of the grid of the mean log scale, and the number of steps to either side."""

TAIL_STEPS = np.arange(-60, 101)
"""Steps of the grid of the log of an error over its predicted scale. With four degrees of freedom
the quantiles lie between -43 and 84 steps, whatever the errors, and shares of the variance shift
the grid by 16 at most."""

RELATIVE_DOF = 2.0 ** np.linspace(-0.5, 4.0, 10)
"""Grid of the degrees of freedom, relative to their prior median: each is sqrt(2) times the one
before."""

WITHIN_SHARES = np.linspace(0.0, 1.0, 9)
"""Shares of the variance within laws in the predicted variance for which the distribution is
computed."""

NEAR_PROBABILITY, FAR_PROBABILITY = 0.95, 0.995
"""Probabilities below the upper bounds of the central 90 and 99 % intervals, at which one Student
distribution is matched to the mixture over scales and degrees of freedom."""


@dataclass(frozen=True, eq=False)
class ErrorDistribution:
    """The Student distribution of an error, by the composition of its variance.

    Args:
        log_scales: (s,) log of its scale over the predicted one, for each of `WITHIN_SHARES`.
        dof: (s,) its degrees of freedom.
    """

    log_scales: FloatArray
    dof: FloatArray

    def moments(
        self, within_laws: FloatArray, between_laws: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(..., n) squared scale of log time and degrees of freedom, for predicted variances (n,)
        within and (..., n) between laws."""
        variance = within_laws + between_laws
        share = within_laws / variance
        scale = np.exp(np.interp(share, WITHIN_SHARES, self.log_scales))
        return variance * scale**2, np.interp(share, WITHIN_SHARES, self.dof)


def with_common_dof(scale: FloatArray, dof: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(2, n) scales below and above and (n,) degrees of freedom, those above, with which the lower
    bound of 90 % is what it was with both (2, n) degrees of freedom."""
    differ = np.flatnonzero(dof[0] != dof[1])
    if differ.size:
        below, above = (student_quantile(NEAR_PROBABILITY, side) for side in dof[:, differ])
        scale = scale.copy()
        scale[0, differ] *= below / above
    return scale, dof[1]


def prior_error_distribution(dof: float) -> ErrorDistribution:
    """The distribution of errors of which none was observed: with the predicted scale."""
    return ErrorDistribution(np.zeros(len(WITHIN_SHARES)), np.full(len(WITHIN_SHARES), dof))


def fit_error_distribution(
    errors: FloatArray,
    within_laws: FloatArray,
    between_laws: FloatArray,
    *,
    dof: float,
    run_weights: FloatArray | None = None,
) -> ErrorDistribution:
    """The Student distribution of left-out errors over their predicted scale.

    A scale of 1 means that the predicted variance was right. The interval of a prediction is its
    own scale times this distribution's quantile, and so has, at any confidence, the coverage that
    it had for the runs left out (studentised residuals, as in locally weighted conformal
    prediction: Lei et al., JASA 2018, 5.2). A distribution-free quantile needs more runs than most
    tables have (19 for 90 %); the prior, scales of 1 with `SCALE_LOG_SPREAD` and the degrees of
    freedom given, fills in. It is the posterior predictive distribution of the next error, over all
    scales and degrees of freedom (Gelman et al., Bayesian Data Analysis, 1.3): the likeliest ones
    alone would be surer than seven errors can be.

    Args:
        errors: (r,) of log time.
        within_laws, between_laws: (r,) predicted variance within a law, and between laws.
        dof: prior median of the degrees of freedom.
        run_weights: (r,) weight of each error; None for one.
    """
    known = np.isfinite(errors)
    weights = np.ones(int(known.sum())) if run_weights is None else run_weights[known]
    log_posterior = _log_posterior(
        errors[known], within_laws[known], between_laws[known], weights, dof
    )
    probability = np.exp(log_posterior - log_posterior.max())
    return ErrorDistribution(*_students_with_bounds(_bounds(probability / probability.sum(), dof)))


def _log_posterior(
    errors: FloatArray,
    within_laws: FloatArray,
    between_laws: FloatArray,
    weights: FloatArray,
    dof: float,
) -> FloatArray:
    """(d, s, k) log density, up to a constant, of d differences and s means of the log scales and k
    degrees of freedom, given errors (r,) with weights (r,); `dof` is the prior median."""
    freedom = dof * RELATIVE_DOF
    mean = GRID_STEP * np.arange(-GRID_REACH, GRID_REACH + 1)
    ratio = np.exp(LOG_SCALE_DIFFERENCES)[:, None]
    variance = ratio * within_laws + between_laws / ratio
    # Squares over squared scale and degrees of freedom: a larger scale divides them as more degrees
    # of freedom do, so that few logarithms serve all pairs of the two.
    steps = np.arange(len(mean) + STEPS_PER_DOF * (len(freedom) - 1))
    divisors = freedom[0] * np.exp(2.0 * (mean[0] + GRID_STEP * steps))
    beyond = (errors**2 / variance)[:, None] / divisors[:, None]
    beyond += 1.0  # log1p takes twice as long, and no sum of these needs its last digits
    sums = np.log(beyond, out=beyond) @ weights
    pairs = np.arange(len(mean))[:, None] + STEPS_PER_DOF * np.arange(len(freedom))
    log_posterior = -0.5 * (freedom + 1.0) * sums[:, pairs]
    log_posterior += weights.sum() * _student_constant(freedom)
    scale = (
        0.5 * np.log(variance) @ weights
        + 0.5 * (LOG_SCALE_DIFFERENCES / LOG_SCALE_DIFFERENCES[-1] * 3.0) ** 2
    )
    log_posterior -= scale[:, None, None]
    log_posterior -= (weights.sum() * mean + 0.5 * (mean / MEAN_LOG_SPREAD) ** 2)[:, None]
    return np.asarray(log_posterior - 0.5 * (np.log2(RELATIVE_DOF) / DOF_LOG2_SPREAD) ** 2)


def _bounds(probability: FloatArray, dof: float) -> FloatArray:
    """(h, 2) for each of `WITHIN_SHARES`, the quantiles of the next error over its predicted scale
    at the two probabilities, for (d, s, k) posterior weights of scales and degrees of freedom:
    quantiles of a mixture of Student distributions."""
    at, tails = _tails(dof)
    by_difference = probability.reshape(len(probability), -1) @ tails
    below, beyond = _shifted_grid()
    parts = by_difference.take(below) * (1.0 - beyond) + by_difference.take(below + 1) * beyond
    wanted = -np.log([1.0 - NEAR_PROBABILITY, 1.0 - FAR_PROBABILITY])
    return np.exp([np.interp(wanted, -tail, at) for tail in np.log(parts.sum(axis=1))])


@lru_cache(maxsize=1)
def _shifted_grid() -> tuple[IntArray, FloatArray]:
    """Linear interpolation in the grid of `_tails`, shifted by the log scale, for each of h
    `WITHIN_SHARES` and d differences: (h, d, t) index of the lower grid point in (d, t) flattened
    tails, and the distance from it in steps."""
    ratio = np.exp(LOG_SCALE_DIFFERENCES)
    scale = 0.5 * np.log(
        np.outer(WITHIN_SHARES, ratio) + np.outer(1.0 - WITHIN_SHARES, 1.0 / ratio)
    )
    last = len(TAIL_STEPS) - 1
    position = np.clip(np.arange(last + 1) - scale[..., None] / GRID_STEP, 0.0, last)
    below = np.minimum(position.astype(np.int64), last - 1)
    first = (last + 1) * np.arange(len(ratio))[:, None]
    return first + below, position - below


@lru_cache(maxsize=4)
def _tails(dof: float) -> tuple[FloatArray, FloatArray]:
    """(t,) logs u of an error over its predicted scale, and (s k, t) probability above exp(u) of
    Student distributions with each mean log scale and degrees of freedom."""
    apart = TAIL_STEPS - np.arange(-GRID_REACH, GRID_REACH + 1)[:, None]
    distinct = np.arange(apart.min(), apart.max() + 1)
    tails = stdtr(dof * RELATIVE_DOF[:, None], -np.exp(GRID_STEP * distinct))
    tails = tails[:, apart - distinct[0]].swapaxes(0, 1)
    at = np.asarray(GRID_STEP * TAIL_STEPS, dtype=float)
    return at, np.asarray(tails.reshape(-1, len(TAIL_STEPS)))


def _students_with_bounds(bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(h,) log scales and (h,) degrees of freedom of the Student distributions with near and far
    bounds (h, 2)."""
    inverse, ratios = _ratios()
    near, far = bounds.T
    dof = 1.0 / np.maximum(np.interp(np.log(far / near), ratios, inverse), 1.0 / LARGE_DOF)
    return np.log(near / student_quantile(NEAR_PROBABILITY, dof)), dof


@lru_cache(maxsize=1)
def _ratios() -> tuple[FloatArray, FloatArray]:
    """Inverse degrees of freedom from 0 to 1, and the log of the ratio of their far to their near
    bound."""
    inverse = np.linspace(0.0, 1.0, 401)
    with np.errstate(divide="ignore"):
        bounds = [student_quantile(p, 1.0 / inverse) for p in (NEAR_PROBABILITY, FAR_PROBABILITY)]
    return inverse, np.log(bounds[1] / bounds[0])


def _student_constant(dof: FloatArray) -> FloatArray:
    """(k,) log density at 0 of Student's distribution."""
    half = [math.lgamma(0.5 * (value + 1.0)) - math.lgamma(0.5 * value) for value in dof]
    return np.asarray(half) - 0.5 * np.log(dof * np.pi)
