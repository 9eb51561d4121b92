"""A logarithmic-barrier interior-point method for few variables and smooth functions.

Boyd and Vandenberghe, Convex Optimization (Cambridge 2004): the barrier method (11.3) after phase I
(11.4), each point of the central path by Newton's method (9.5) with a backtracking line search
(9.2). A weight here is the book's 1/t.

Derivatives are differences of the functions themselves, not of the barrier, whose derivatives by
them are known: so they stay accurate however near to a bound the path comes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from engine.forecast import FloatArray

Values = Callable[[FloatArray], FloatArray]
"""(p, d) points -> (p, 1 + c): the objective and c slacks, which are to be positive."""

Derivatives = tuple[FloatArray, FloatArray, FloatArray]
"""(r,) values, (r, d) first and (r, d, d) second derivatives."""

FIRST_WEIGHT, LAST_WEIGHT, WEIGHT_DECREASE = 1.0, 1e-10, 0.03
"""Weights of the barrier along the central path."""

_NEWTON_STEPS = 30
_NEAR_THE_PATH = 0.1
"""Newton decrement, in units of the barrier weight, that counts as near the central path."""

_DIFFERENCE = 1e-4
_LEAST_CURVATURE = 1e-9
_ARMIJO = 0.01
_LENGTHS = 0.5 ** np.arange(40)
_TRIED_AT_ONCE = 4
"""Lengths of a step, the longest first, so many of them in one evaluation."""


def interior_minimum(values: Values, start: FloatArray) -> FloatArray | None:
    """The (d,) variables of least objective with positive slacks, None where none are found.

    Args:
        start: (d,) anywhere that the functions are finite.
    """
    slacks = values(start[None])[0, 1:]
    if not np.isfinite(slacks).all():
        return None
    point = start if (slacks > 0.0).all() else _feasible_point(values, start)
    weight = FIRST_WEIGHT
    while point is not None and weight >= LAST_WEIGHT:
        point = _centred(values, point, weight)
        weight *= WEIGHT_DECREASE
    return point


def _feasible_point(values: Values, start: FloatArray) -> FloatArray | None:
    """Phase I (11.4.1): a point with positive slacks, None where none is found. z is minimised with
    every slack + z positive, until it is negative. A point of the central path has a z at most
    weight x slacks above the least (the duality gap, 11.2.2): beyond that there is none."""

    def excess(points: FloatArray) -> FloatArray:
        z = points[:, -1:]
        return np.hstack((z, values(points[:, :-1])[:, 1:] + z))

    slacks = values(start[None])[0, 1:]
    worst = -float(slacks.min())
    point, weight = np.append(start, worst + 0.1 * (1.0 + worst)), max(FIRST_WEIGHT, worst)
    while weight >= LAST_WEIGHT:
        point = _centred(excess, point, weight, until=lambda at: bool(at[-1] < 0.0))
        if point[-1] < 0.0:
            return point[:-1]
        if point[-1] > len(slacks) * weight:
            return None
        weight *= WEIGHT_DECREASE
    return None


def _centred(
    values: Values,
    point: FloatArray,
    weight: float,
    until: Callable[[FloatArray], bool] = lambda at: False,
) -> FloatArray:
    """The point of the central path at a weight, by Newton's method from one with positive slacks;
    the first step after which `until` holds, if that comes before."""
    for _ in range(_NEWTON_STEPS):
        derivatives = _derivatives(values, point)
        step, decrement = _newton_step(derivatives, weight)
        before = float(_barrier(derivatives[0][None], weight)[0])
        point = _line_search(values, point, step, before=before, decrement=decrement, weight=weight)
        if decrement <= _NEAR_THE_PATH * weight or until(point):
            break
    return point


def _newton_step(derivatives: Derivatives, weight: float) -> tuple[FloatArray, float]:
    """(d,) Newton's step for f - weight sum log s, and its decrement; a Hessian that is not
    positive definite is made so."""
    found, gradients, curvatures = derivatives
    inverse = 1.0 / found[1:]
    scaled = gradients[1:] * inverse[:, None]
    gradient = gradients[0] - weight * scaled.sum(axis=0)
    curved = (curvatures[1:] * inverse[:, None, None]).sum(axis=0)
    hessian = curvatures[0] + weight * (scaled.T @ scaled - curved)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    rotated = vectors.T @ gradient
    step = -vectors @ (rotated / np.maximum(np.abs(eigenvalues), _LEAST_CURVATURE))
    return np.asarray(step), float(-gradient @ step)


def _derivatives(values: Values, point: FloatArray) -> Derivatives:
    """The derivatives at a point, by central differences."""
    d, move = len(point), _DIFFERENCE * np.eye(len(point))
    pairs = list(combinations(range(d), 2))
    crossed = np.asarray([move[i] + move[j] for i, j in pairs]).reshape(-1, d)
    here, up, down, above, below = np.split(
        values(point + np.vstack((np.zeros((1, d)), move, -move, crossed, -crossed))),
        np.cumsum([1, d, d, len(pairs)]),
    )
    second = np.empty((here.shape[1], d, d))
    for i in range(d):
        second[:, i, i] = (up[i] - 2.0 * here[0] + down[i]) / _DIFFERENCE**2
    for (i, j), both in zip(pairs, above + below, strict=True):
        mixed = both - up[i] - down[i] - up[j] - down[j] + 2.0 * here[0]
        second[:, i, j] = second[:, j, i] = mixed / (2.0 * _DIFFERENCE**2)
    return here[0], ((up - down) / (2.0 * _DIFFERENCE)).T, second


def _line_search(
    values: Values,
    point: FloatArray,
    step: FloatArray,
    *,
    before: float,
    decrement: float,
    weight: float,
) -> FloatArray:
    """The point at the longest of halved steps that keeps the slacks positive and decreases the
    barrier function, `before` of the step, by its share (Armijo)."""
    for first in range(0, len(_LENGTHS), _TRIED_AT_ONCE):
        lengths = _LENGTHS[first : first + _TRIED_AT_ONCE]
        moved = point + lengths[:, None] * step
        enough = _barrier(values(moved), weight) <= before - _ARMIJO * lengths * decrement
        if enough.any():
            return np.asarray(moved[int(np.argmax(enough))])
    return point


def _barrier(found: FloatArray, weight: float) -> FloatArray:
    """(p,) the barrier function; inf outside."""
    inside = np.asarray(np.isfinite(found).all(axis=1) & (found[:, 1:] > 0.0).all(axis=1))
    slacks = np.where(inside[:, None], found[:, 1:], 1.0)
    return np.asarray(np.where(inside, found[:, 0] - weight * np.log(slacks).sum(axis=1), np.inf))
