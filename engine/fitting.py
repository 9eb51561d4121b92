"""Non-negative least squares on run times with leave-one-out, error spread and selection of terms;
and isotonic regression.

Least squares work on the normal equations of a few terms (about a dozen at most), so the fits of
all folds and of all candidate sets of terms are one batch of small systems. SciPy's `nnls` takes
one system at a time, and importing `scipy.optimize` alone costs 0.4 s, more than all the fits of a
session together; hence a solver of our own, which the tests hold against SciPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray

GRADIENT_TOLERANCE = 1e-9
"""A term enters a fit when its cosine with the residual, relative to the whole target, exceeds
this. Of several whose cosines are as large, within it, the first enters: they explain the residual
equally well, and rounding, which the unit of sizes and times decides, is not to choose."""

RIDGE = 1e-13
"""Relative to unit columns: keeps a system of collinear terms solvable, changes no digit shown."""

SMALLEST_SPREAD = 0.02
"""Floor of `log_scale`: repetitions of one configuration differ by 1 to 2 % (Ernest section 5 saw a
standard deviation under 2 % over a day), so no fit is surer than that."""

MINIMUM_RESIDUALS = 4
"""Fewer left-out runs than this say nothing about a spread: each was predicted from two at most."""

PARSIMONY = 0.05
"""Another set of terms than the default must lower the left-out error by this share for each term
that it adds or drops."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread of log time (see `engine.forecast.Forecast`); NaN where it is not known."""

    log_scale: float
    dof: float


UNKNOWN_SPREAD = Spread(float("nan"), float("inf"))


@dataclass(frozen=True, eq=False)
class Fit:
    """Non-negative coefficients of p terms, and their leave-one-out predictions.

    Args:
        coefficients: (p,) seconds per unit of each term; 0 where a term is not active.
        left_out_seconds: (r,) each run's time as predicted without its configuration; NaN where too
            little was left to fit.
        seconds: (r,) the times that were fitted.
        groups: (r,) configuration of each run.
    """

    coefficients: FloatArray
    left_out_seconds: FloatArray
    seconds: FloatArray
    groups: IntArray

    @property
    def left_out_error(self) -> float:
        """Mean relative error over the runs left out (Ernest 3.4); NaN where none could be."""
        return float(np.mean(np.abs(self.left_out_seconds / self.seconds - 1.0)))

    @property
    def spread(self) -> Spread:
        """The spread of log time from these left-out residuals."""
        terms = int(np.count_nonzero(self.coefficients))
        return left_out_spread(self.left_out_seconds, self.seconds, terms=terms, groups=self.groups)

    def spread_about(self, prior: Spread) -> Spread:
        """The spread combined with a prior: its variance counts for as many left-out runs as it has
        degrees of freedom, each configuration of this fit for one (the posterior mean, normal
        theory)."""
        square = _square_residuals(self.left_out_seconds, self.seconds, self.groups)
        dof = prior.dof + len(square)
        variance = (prior.dof * prior.log_scale**2 + float(square.sum())) / dof
        return Spread(float(np.sqrt(variance)), dof)


def nnls(gram: FloatArray, moment: FloatArray, allowed: BoolArray | None = None) -> FloatArray:
    """Non-negative least squares of many small systems at once.

    Minimises x' gram x - 2 moment' x over x >= 0 for each system by the active-set method of
    Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23), in step for all systems.

    Args:
        gram: (..., p, p) X'X.
        moment: (..., p) X'y.
        allowed: (..., p) which terms may take part; None allows all.

    Returns:
        (..., p) the coefficients.
    """
    shape = np.broadcast_shapes(gram.shape[:-1], moment.shape)
    if allowed is not None:
        shape = np.broadcast_shapes(shape, allowed.shape)
    p = shape[-1]
    norms = np.sqrt(np.einsum("...ii->...i", gram))
    safe = np.where(norms > 0.0, norms, 1.0)
    unit_gram = np.broadcast_to(gram / (safe[..., :, None] * safe[..., None, :]), (*shape, p))
    unit_moment = np.broadcast_to(moment / safe, shape)
    usable = np.broadcast_to(norms > 0.0, shape)
    if allowed is not None:
        usable = usable & allowed
    solved = _active_set(
        unit_gram.reshape(-1, p, p), unit_moment.reshape(-1, p), usable.reshape(-1, p)
    )
    return np.asarray(solved.reshape(shape) / safe)


def _active_set(gram: FloatArray, moment: FloatArray, usable: BoolArray) -> FloatArray:
    """(b, p) solutions of b systems with unit columns; finished systems stay unchanged."""
    x = np.zeros_like(moment)
    passive = np.zeros_like(usable)
    tolerance = GRADIENT_TOLERANCE * np.max(np.abs(moment), axis=1, initial=0.0)
    for _ in range(6 * moment.shape[1]):
        gradient = moment - np.einsum("bij,bj->bi", gram, x)
        gradient = np.where(usable & ~passive, gradient, -np.inf)
        steepest = np.max(gradient, axis=1)
        entering = np.argmax(gradient >= (steepest - tolerance)[:, None], axis=1)
        active = np.flatnonzero(steepest > tolerance)
        if active.size == 0:
            break
        passive[active, entering[active]] = True
        x[active], passive[active] = _feasible_step(
            gram[active], moment[active], x[active], passive[active]
        )
    return x


def _feasible_step(
    gram: FloatArray, moment: FloatArray, x: FloatArray, passive: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """From x to the least-squares solution on the passive terms, dropping those that turn negative
    on the way until none does (the inner loop of the method)."""
    for _ in range(moment.shape[1] + 1):
        target = _solve_passive(gram, moment, passive)
        negative = passive & (target <= 0.0)
        blocked = negative.any(axis=1)
        if not blocked.any():
            return target, passive
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(negative, x / (x - target), np.inf)
        step = np.where(blocked, np.min(steps, axis=1), 1.0)[:, None]
        x = x + step * (target - x)
        passive = passive & ~(negative & (steps <= step)) & ((x > 0.0) | ~negative)
        x = np.where(passive, np.maximum(x, 0.0), 0.0)
    return x, passive


def _solve_passive(gram: FloatArray, moment: FloatArray, passive: BoolArray) -> FloatArray:
    both = passive[:, :, None] & passive[:, None, :]
    eye = np.eye(moment.shape[1])
    system = np.where(both, gram, 0.0) + eye * np.where(passive, RIDGE, 1.0)[:, None, :]
    right = np.where(passive, moment, 0.0)
    return np.asarray(np.linalg.solve(system, right[:, :, None])[:, :, 0])


def fit_nonnegative(
    features: FloatArray, seconds: FloatArray, *, relative: bool, groups: IntArray | None = None
) -> Fit:
    """Coefficients >= 0 of the terms that come closest to the times, with leave-one-out.

    Args:
        features: (r, p) the terms of each run.
        seconds: (r,) its time.
        relative: minimise the relative error (each row divided by its time), else the absolute.
        groups: (r,) configuration of each run; all runs of one are left out together, since a
            repetition of a run that was seen tests nothing. None: every run is its own.
    """
    allowed = np.ones((1, features.shape[1]), dtype=bool)
    return fit_candidates(features, seconds, allowed, relative=relative, groups=groups)[0]


def fit_candidates(
    features: FloatArray,
    seconds: FloatArray,
    candidates: BoolArray,
    *,
    relative: bool,
    groups: IntArray | None = None,
) -> list[Fit]:
    """`fit_nonnegative` for each of c sets of terms, in one batch.

    Args:
        candidates: (c, p) the terms of each set.
    """
    weights = 1.0 / seconds if relative else np.ones_like(seconds)
    rows, target = features * weights[:, None], seconds * weights
    fold_of = np.arange(len(seconds)) if groups is None else groups
    grams = np.einsum("ri,rj->rij", rows, rows)
    moments = rows * target[:, None]
    folds = int(fold_of.max()) + 1
    fold_grams = np.zeros((folds, *grams.shape[1:]))
    fold_moments = np.zeros((folds, moments.shape[1]))
    np.add.at(fold_grams, fold_of, grams)
    np.add.at(fold_moments, fold_of, moments)
    gram, moment = fold_grams.sum(axis=0), fold_moments.sum(axis=0)
    allowed = candidates[:, None, :]
    fold_coefficients = nnls(gram - fold_grams, moment - fold_moments, allowed)
    left_out = np.einsum("rp,crp->cr", features, fold_coefficients[:, fold_of, :])
    if folds < 2:
        left_out = np.full_like(left_out, np.nan)
    whole = nnls(gram, moment, candidates)
    return [
        Fit(_polished(rows, target, coefficients), times, seconds, fold_of)
        for coefficients, times in zip(whole, left_out, strict=True)
    ]


def _polished(rows: FloatArray, target: FloatArray, coefficients: FloatArray) -> FloatArray:
    """The active terms solved once more by orthogonal factors (QR): squaring the features for the
    normal equations costs half of the digits."""
    passive = coefficients > 0.0
    columns = rows[:, passive]
    norms = np.linalg.norm(columns, axis=0)
    solved = np.linalg.lstsq(columns / norms, target, rcond=None)[0] / norms
    if (solved < 0.0).any():
        return coefficients
    polished = np.zeros_like(coefficients)
    polished[passive] = solved
    return polished


def select_candidate(fits: Sequence[Fit], candidates: BoolArray) -> int:
    """Index of the candidate fit to keep: the first one, unless another has a left-out error that
    is lower by `PARSIMONY` for each term that it adds or drops.

    Args:
        fits: one per candidate; the first is the default, kept where nothing could be left out.
        candidates: (c, p) the terms of each.
    """
    changes = np.count_nonzero(candidates != candidates[0], axis=1)
    errors = np.asarray([fit.left_out_error for fit in fits])
    if not np.isfinite(errors).all():
        return 0
    return int(np.argmin(errors / (1.0 - PARSIMONY) ** changes))


def left_out_spread(
    predicted: FloatArray, actual: FloatArray, *, terms: int, groups: IntArray | None = None
) -> Spread:
    """Scale and degrees of freedom of log time from times predicted without having seen the run.

    The scale is the root mean square of log(actual / predicted): left-out residuals already hold
    the error of the coefficients, so no further inflation is due. The degrees of freedom are the
    residuals less the terms in use, at least 2; Student's tails then make up for how little a
    handful of residuals tells about their own scale. Runs of one configuration count as one:
    repeated, its residual says the same again.

    Args:
        predicted, actual: (r,) seconds; pairs with NaN are left aside.
        terms: coefficients that are not zero.
        groups: (r,) configuration of each run; None: every run is its own.
    """
    square = _square_residuals(predicted, actual, groups)
    if len(square) < MINIMUM_RESIDUALS:
        return UNKNOWN_SPREAD
    scale = float(np.sqrt(square.mean()))
    return Spread(max(scale, SMALLEST_SPREAD), float(max(2, len(square) - terms)))


def _square_residuals(
    predicted: FloatArray, actual: FloatArray, groups: IntArray | None
) -> FloatArray:
    """(g,) mean square of log(actual / predicted) of each configuration that was predicted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        residuals = np.log(actual / predicted)
    known = np.isfinite(residuals)
    group_of = np.arange(len(residuals)) if groups is None else groups
    _, group = np.unique(group_of[known], return_inverse=True)
    return np.asarray(np.bincount(group, residuals[known] ** 2) / np.bincount(group))


def isotonic_regression(values: FloatArray, weights: FloatArray) -> FloatArray:
    """(k, n) the non-decreasing columns nearest to those given, by the max-min formula of isotonic
    regression (Barlow, Bartholomew, Bremner and Brunk 1972).

    Args:
        values: (k, n), k in ascending order of what they depend on.
        weights: (k,) of each row, such as the runs behind it.
    """
    count = len(values)
    if (np.diff(values, axis=0) >= 0.0).all():
        return values
    result = np.empty_like(values)
    weighted = np.cumsum(np.vstack((np.zeros_like(values[:1]), values * weights[:, None])), axis=0)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    for row in range(count):
        largest = np.full(values.shape[1], -np.inf)
        for first in range(row + 1):
            width = (total[row + 1 :] - total[first])[:, None]
            means = (weighted[row + 1 :] - weighted[first]) / width
            largest = np.maximum(largest, means.min(axis=0))
        result[row] = largest
    return result
