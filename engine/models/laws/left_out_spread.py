"""How far off answers are, told from runs that were left out: studentised errors, in two parts.

What a fit foretells of an error has two parts: how far runs scatter about a law, and how little the
laws that the runs leave agree. Either may be wrong for a job, and an error tells of each as far as
it consists of it. With few runs, nearly all that is missed of a run left out is doubt among laws;
how far runs scatter is then hardly told, and the answer between the runs, which is mostly that, may
not become surer for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import LARGE_DOF, FloatArray, IntArray, student_quantile

SCALE_DOUBT, DOF_DOUBT = 0.6, 1.5
"""Prior spreads of the log of the scale of either part and of the binary log of the degrees of
freedom. The scale of the errors that fits of seven runs then meet was 0.5, 0.6, 0.6 and 1.3 times
the foretold one (geometric mean) on four collections of public tables, and differed by 0.4 to 0.7
of its log among the fits of one: laws are exact to 1 % for one job and to 10 for another."""

ALIKE = 0.5
"""Prior correlation of the two scales: a job that no law describes exactly scatters about all of
them, so that half of what either may be off by is common to both."""

MEAN_DOUBT = SCALE_DOUBT * math.sqrt(0.5 * (1.0 + ALIKE))
"""Prior spread of the mean of the two log scales, which has nothing to do with their difference."""

DIFFERENCE = SCALE_DOUBT * math.sqrt(2.0 * (1.0 - ALIKE)) * np.linspace(-3.0, 3.0, 13)
"""Grid of the difference of the log scales, about laws less among them: to 3 prior spreads."""

STEP, REACH = 0.05, 40
"""Step of the grid of the mean log scale, and how many of them it reaches either way."""

FREEDOM = 2.0 ** np.linspace(-0.5, 4.0, 10)
"""Degrees of freedom of the grid, relative to their prior median."""

SHARES = np.linspace(0.0, 1.0, 9)
"""Shares of the scatter about laws in a foretold variance for which the law is worked out."""

NEAR, FAR = 0.95, 0.995
"""Probabilities below the upper bounds of 90 and 99 %, at which one Student law stands for all that
errors leave possible."""


@dataclass(frozen=True, eq=False)
class LeftOutSpread:
    """The Student law of an error, by what it consists of.

    Args:
        log_scales: (s,) log of its scale over the foretold one, for each of `SHARES`.
        dof: (s,) its degrees of freedom.
    """

    log_scales: FloatArray
    dof: FloatArray

    def moments(self, about: FloatArray, among: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., n) squared scale of log time and degrees of freedom, for foretold variances (n,)
        about a law and (..., n) among laws."""
        foretold = about + among
        share = about / foretold
        scale = np.exp(np.interp(share, SHARES, self.log_scales))
        return foretold * scale**2, np.interp(share, SHARES, self.dof)


def with_one_dof(scale: FloatArray, dof: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(2, n) scales below and above and (n,) degrees of freedom, those above, with which the lower
    bound of 90 % is what it was with both (2, n) degrees of freedom."""
    differ = np.flatnonzero(dof[0] != dof[1])
    if differ.size:
        below, above = (student_quantile(NEAR, side) for side in dof[:, differ])
        scale = scale.copy()
        scale[0, differ] *= below / above
    return scale, dof[1]


def as_foretold(dof: float) -> LeftOutSpread:
    """Errors of which nothing is known: those that are foretold."""
    return LeftOutSpread(np.zeros(len(SHARES)), np.full(len(SHARES), dof))


def studentised(
    errors: FloatArray,
    about: FloatArray,
    among: FloatArray,
    *,
    dof: float,
    run_weights: FloatArray | None = None,
) -> LeftOutSpread:
    """The Student law that left-out errors over their foretold spread follow.

    A scale of 1 means that the foretold spread was right; the interval of a prediction is its own
    spread times this law's quantile, and so holds the truth as often as it did for the runs left
    out (studentised residuals, as in locally weighted conformal prediction: Lei et al., JASA 2018,
    5.2), at any confidence. A distribution-free quantile needs more runs than most tables have (19
    for 90 %); the prior, scales of 1 with `SCALE_DOUBT` and the degrees of freedom given, fills in.
    The law is that of the next error, over all scales and degrees of freedom that the errors leave
    possible (Gelman et al., Bayesian Data Analysis, 1.3): the likeliest ones alone would be surer
    than seven errors can be.

    Args:
        errors: (r,) of log time.
        about, among: (r,) foretold variance about a law, and among laws.
        dof: prior median of the degrees of freedom.
        counts: (r,) how much each counts; None for one.
    """
    known = np.isfinite(errors)
    weights = np.ones(int(known.sum())) if run_weights is None else run_weights[known]
    found = _log_posterior(errors[known], about[known], among[known], weights, dof)
    probability = np.exp(found - found.max())
    laws = [_student_of(*bounds) for bounds in _bounds(probability / probability.sum(), dof)]
    log_scales, freedom = np.asarray(laws).T
    return LeftOutSpread(log_scales, freedom)


def _log_posterior(
    errors: FloatArray, about: FloatArray, among: FloatArray, weights: FloatArray, dof: float
) -> FloatArray:
    """(d, s, k) log density, up to a constant, of d differences and s means of the log scales and k
    degrees of freedom after errors (r,) that count (r,); `dof` is the prior median."""
    freedom = dof * FREEDOM
    mean = STEP * np.arange(-REACH, REACH + 1)
    apart = np.exp(DIFFERENCE)[:, None]
    variance = apart * about + among / apart
    squares = (errors**2 / variance)[:, None] * np.exp(-2.0 * mean)[:, None]
    parts, beyond = [], np.empty_like(squares)
    for k in freedom:  # in one array: a new one for each takes as long as the logarithms
        np.log1p(np.divide(squares, k, out=beyond), out=beyond)
        parts.append(beyond @ weights * -0.5 * (k + 1.0))
    found = np.stack(parts, axis=-1) + weights.sum() * _student_constant(freedom)
    scale = 0.5 * np.log(variance) @ weights + 0.5 * (DIFFERENCE / DIFFERENCE[-1] * 3.0) ** 2
    found -= scale[:, None, None]
    found -= (weights.sum() * mean + 0.5 * (mean / MEAN_DOUBT) ** 2)[:, None]
    return np.asarray(found - 0.5 * (np.log2(FREEDOM) / DOF_DOUBT) ** 2)


def _bounds(probability: FloatArray, dof: float) -> list[tuple[float, float]]:
    """For each of `SHARES`, what the next error over its foretold scale stays below with
    probabilities `NEAR` and `FAR`, for (d, s, k) weights of scales and degrees of freedom:
    quantiles of a mixture of Student laws."""
    at, tails = _tails(dof)
    by_difference = probability.reshape(len(probability), -1) @ tails
    below, beyond = _moved()
    each = np.arange(len(DIFFERENCE))[:, None]
    parts = by_difference[each, below] * (1.0 - beyond) + by_difference[each, below + 1] * beyond
    wanted = -np.log([1.0 - NEAR, 1.0 - FAR])
    bounds = [np.exp(np.interp(wanted, -np.log(tail), at)) for tail in parts.sum(axis=1)]
    return [(float(near), float(far)) for near, far in bounds]


@lru_cache(maxsize=1)
def _moved() -> tuple[IntArray, FloatArray]:
    """(h, d, t) place of the point of the grid of `_tails` below each one, for each of h `SHARES`
    and d differences as much further down as the foretold scale is then larger, and how far beyond
    it, in steps."""
    apart = np.exp(DIFFERENCE)
    scale = 0.5 * np.log(np.outer(SHARES, apart) + np.outer(1.0 - SHARES, 1.0 / apart))
    last = 7 * REACH  # of that grid
    place = np.clip(np.arange(last + 1) - scale[..., None] / STEP, 0.0, last)
    below = np.minimum(place.astype(np.int64), last - 1)
    return below, place - below


@lru_cache(maxsize=4)
def _tails(dof: float) -> tuple[FloatArray, FloatArray]:
    """(t,) logs u of an error over its foretold scale, and (s k, t) probability above exp(u) of
    Student laws with each mean log scale and degrees of freedom."""
    from scipy.special import stdtr

    at = STEP * np.arange(-2 * REACH, 5 * REACH + 1)
    mean = STEP * np.arange(-REACH, REACH + 1)
    standard = np.exp(at - mean[:, None])[:, None]
    tails = stdtr(dof * FREEDOM[:, None], -standard)
    return np.asarray(at, dtype=float), np.asarray(tails.reshape(-1, len(at)))


def _student_of(near: float, far: float) -> tuple[float, float]:
    """Log scale and degrees of freedom of the Student law with these bounds."""
    inverse, ratios = _ratios()
    dof = 1.0 / max(float(np.interp(np.log(far / near), ratios, inverse)), 1.0 / LARGE_DOF)
    return math.log(near / float(student_quantile(NEAR, np.asarray([dof]))[0])), dof


@lru_cache(maxsize=1)
def _ratios() -> tuple[FloatArray, FloatArray]:
    """Inverse degrees of freedom from 0 to 1, and the log of their further over their nearer
    bound."""
    inverse = np.linspace(0.0, 1.0, 401)
    with np.errstate(divide="ignore"):
        bounds = [student_quantile(p, 1.0 / inverse) for p in (NEAR, FAR)]
    return inverse, np.log(bounds[1] / bounds[0])


def _student_constant(dof: FloatArray) -> FloatArray:
    """(k,) log of what Student's density at 0 is."""
    half = [math.lgamma(0.5 * (value + 1.0)) - math.lgamma(0.5 * value) for value in dof]
    return np.asarray(half) - 0.5 * np.log(dof * np.pi)
