"""A-optimal experiment design under a budget: which measurements tell linear coefficients best.

Ernest 3.3: of n possible experiments with features a_i and costs c_i choose weights w that solve

    minimise    tr( (M_0 + sum_i w_i a_i a_i^T)^-1 )
    subject to  0 <= w_i <= 1,    sum_i c_i w_i <= B

(M_0 is the information matrix of earlier runs; 0 in the paper). The paper hands this to a general
convex solver. Here it is an interior-point method (a logarithmic barrier) that uses what is special
about the problem: in the eigenbasis of M the Hessian of the objective has rank p (p + 1) / 2 and a
diagonal middle, so that a Newton step costs O(n p^4), linear in n (`_newton_step`). It stops by a
lower bound that is exact: the objective is convex, so its tangent, minimised over the constraints,
lies below the optimum (`lower_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray

TOLERANCE = 1e-5
"""Relative gap between the objective and its lower bound at which the solver stops."""

_MOST_STEPS = 200
"""Newton steps at most; the three published grids need fewer than 60."""

_BARRIER_DECREASE = 0.1
"""Factor by which the barrier weight decreases once the point is near enough to the central
path."""

_CENTRING_TOLERANCE = 5.0
"""Newton decrement, in units of the barrier weight, that counts as near the central path."""

_LONGEST_STEP_SHARE = 0.99
"""Largest step, as a share of the distance to the nearest bound."""

_ARMIJO = 0.01
_MOST_HALVINGS = 50

RANK_TOLERANCE = 1e-9
"""Relative singular value below which features count as dependent."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The solution of the continuous design problem.

    Args:
        weights: (n,) in [0, 1]: the share of each experiment.
        objective: tr(M^-1) at these weights.
        bound: proven lower bound of the optimal objective.
        steps: Newton steps taken.
    """

    weights: FloatArray
    objective: float
    bound: float
    steps: int

    @property
    def gap(self) -> float:
        """Relative distance to the proven bound."""
        return (self.objective - self.bound) / self.objective


def rank(rows: FloatArray) -> int:
    """Numerical rank of (r, p) rows with columns scaled to unit norm: how many coefficients they
    identify."""
    if rows.shape[0] == 0:
        return 0
    norms = np.linalg.norm(rows, axis=0)
    values = np.linalg.svd(rows / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
    return int(np.count_nonzero(values > RANK_TOLERANCE * values[0])) if values[0] > 0.0 else 0


def undetermined(rows: FloatArray) -> IntArray:
    """Columns of (r, p) rows whose coefficients are not identified by any number of such rows."""
    norms = np.linalg.norm(rows, axis=0)
    unit = rows / np.where(norms > 0.0, norms, 1.0)
    _, values, right = np.linalg.svd(unit, full_matrices=True)
    kept = int(np.count_nonzero(values > RANK_TOLERANCE * max(values[0], 1e-300)))
    return np.flatnonzero(np.abs(right[kept:]).max(axis=0, initial=0.0) > 1e-6).astype(np.int64)


def criterion(rows: FloatArray, known: FloatArray | None = None) -> float:
    """tr((M_0 + sum a a^T)^-1) of whole runs; inf where they do not identify the coefficients.

    Args:
        rows: (r, p) features of the runs.
        known: (k, p) features of earlier runs, None for none.
    """
    every = rows if known is None else np.concatenate((known, rows))
    if rank(every) < rows.shape[1]:
        return float("inf")
    return float(np.trace(covariance(every)))


def covariance(rows: FloatArray) -> FloatArray:
    """(p, p) (sum a a^T)^-1 of (r, p) rows of full rank.

    From the singular values of the rows, since the sum may be singular to machine precision where
    the rows are not.
    """
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray((right.T / np.square(values)) @ right)


def a_optimal(
    features: FloatArray, costs: FloatArray, budget: float, *, known: FloatArray | None = None
) -> Optimum:
    """The continuous A-optimal design (Ernest 3.3).

    Args:
        features: (n, p) one row per experiment; Ernest's reference divides each column by its mean
            over the candidates, so that the trace adds up like with like.
        costs: (n,) what each costs, >= 0, in the unit of `budget`.
        known: (k, p) features of runs that were made already, in the same scale.

    Raises:
        BadInput: for costs or a budget that make no sense, and for experiments that, even all
            together, leave a coefficient undetermined.
    """
    if not (np.isfinite(features).all() and np.isfinite(costs).all() and (costs >= 0.0).all()):
        raise BadInput("features must be finite, and costs finite and at least 0", where="design")
    if not (np.isfinite(budget) and budget > 0.0):
        raise BadInput(f"the budget must be more than zero, not {budget}", where="design")
    p = features.shape[1]
    prior = np.zeros((p, p)) if known is None else known.T @ known
    every = features if known is None else np.concatenate((known, features))
    if rank(every) < p:
        raise BadInput(
            f"the candidates cannot tell all {p} coefficients apart",
            remedy="add other node counts or sizes",
        )
    if float(costs.sum()) <= budget:
        weights = np.ones(len(costs))
        objective = float(np.trace(np.linalg.inv(prior + features.T @ features)))
        return Optimum(weights, objective, objective, 0)
    return _interior_point(_Problem(features, costs / budget, prior))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Features (n, p), costs (n,) as shares of the budget, and the information (p, p) known."""

    features: FloatArray
    costs: FloatArray
    prior: FloatArray

    def gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """f = tr(M^-1) and its gradient, -|M^-1 a_i|^2 (n,)."""
        inverse = np.linalg.inv(self.information(weights))
        return float(np.trace(inverse)), -np.square(self.features @ inverse).sum(axis=1)

    def information(self, weights: FloatArray) -> FloatArray:
        """M = M_0 + sum w a a^T (p, p)."""
        return np.asarray(self.prior + (self.features * weights[:, None]).T @ self.features)

    def curvature(self, weights: FloatArray) -> FloatArray:
        """(n, q) U with U U^T the Hessian of f, q = p (p + 1) / 2.

        With M = Q diag(m) Q^T and b = Q^T a, the second derivative along X = sum dw a a^T is
        sum_jk (Q^T X Q)_jk^2 (m_j + m_k) / (m_j m_k)^2: a weighted sum of squares of products
        b_j b_k.
        """
        m, q = np.linalg.eigh(self.information(weights))
        rotated = self.features @ q
        j, k = np.triu_indices(len(m))
        weight = (m[j] + m[k]) / np.square(m[j] * m[k]) * np.where(j == k, 1.0, 2.0)
        return np.asarray(rotated[:, j] * rotated[:, k] * np.sqrt(weight))


def lower_bound(
    objective: float, gradient: FloatArray, weights: FloatArray, costs: FloatArray, budget: float
) -> float:
    """A proven lower bound of the optimum: f(w) + min over feasible v of grad . (v - w).

    The minimum is a fractional knapsack: the largest saving per cost first, until the budget ends.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(np.where(costs > 0.0, gradient / costs, -np.inf))
    spent = np.cumsum(costs[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        affordable_share = (budget - (spent - costs[order])) / costs[order]
    shares = np.where(costs[order] > 0.0, np.clip(affordable_share, 0.0, 1.0), 1.0)
    return float(objective + shares @ gradient[order] - gradient @ weights)


def _interior_point(problem: _Problem) -> Optimum:
    """Minimises f(w) - mu (sum log w + sum log(1 - w) + log(1 - c . w)) by Newton's method while mu
    falls, until the proven gap is small enough."""
    n = len(problem.costs)
    weights = np.full(n, min(0.5, 0.5 / float(problem.costs.sum())))
    objective, gradient = problem.gradient(weights)
    barrier = -float(gradient @ weights) / (2 * n + 1)
    best = Optimum(weights, objective, -np.inf, 0)
    for steps in range(1, _MOST_STEPS + 1):
        step, decrement = _newton_step(problem, weights, gradient, barrier)
        weights = _line_search(problem, weights, step, decrement, barrier)
        objective, gradient = problem.gradient(weights)
        bound = lower_bound(objective, gradient, weights, problem.costs, 1.0)
        best = Optimum(weights, objective, max(bound, best.bound), steps)
        if best.gap <= TOLERANCE:
            break
        if decrement <= _CENTRING_TOLERANCE * barrier:
            barrier *= _BARRIER_DECREASE
    return best


def _newton_step(
    problem: _Problem, weights: FloatArray, gradient: FloatArray, barrier: float
) -> tuple[FloatArray, float]:
    """(n,) Newton's step for the barrier function, and its decrement (twice the decrease that the
    quadratic model promises):

        (D + U U^T + (mu / s^2) c c^T) dw = -(grad - mu / w + mu / (1 - w) + mu c / s)

    D is diagonal and U has p (p + 1) / 2 columns, so Woodbury's identity leaves a small system.
    """
    c, to_upper, slack = problem.costs, 1.0 - weights, 1.0 - float(problem.costs @ weights)
    right = -(gradient + barrier * (1.0 / to_upper - 1.0 / weights + c / slack))
    inverse = 1.0 / (barrier * (1.0 / np.square(weights) + 1.0 / np.square(to_upper)))
    low_rank = np.column_stack((problem.curvature(weights), np.sqrt(barrier) / slack * c))
    weighted = low_rank * inverse[:, None]
    small = np.eye(low_rank.shape[1]) + low_rank.T @ weighted
    step = inverse * right - weighted @ np.linalg.solve(small, weighted.T @ right)
    return step, float(right @ step)


def _line_search(
    problem: _Problem, weights: FloatArray, step: FloatArray, decrement: float, barrier: float
) -> FloatArray:
    """The point at the longest of halved steps that stays inside and decreases the barrier
    function by its share (Armijo)."""
    ratios = np.concatenate(
        (
            -step / weights,
            step / (1.0 - weights),
            [float(problem.costs @ step) / (1.0 - float(problem.costs @ weights))],
        )
    )
    length = float(min(1.0, _LONGEST_STEP_SHARE / max(float(ratios.max()), 1e-300)))
    before = _barrier_function(problem, weights, barrier)
    for _ in range(_MOST_HALVINGS):
        moved = weights + length * step
        if _barrier_function(problem, moved, barrier) <= before - _ARMIJO * length * decrement:
            return np.asarray(moved)
        length *= 0.5
    return weights


def _barrier_function(problem: _Problem, weights: FloatArray, barrier: float) -> float:
    slack = 1.0 - float(problem.costs @ weights)
    inside = np.log(weights).sum() + np.log1p(-weights).sum() + np.log(slack)
    return float(np.trace(np.linalg.inv(problem.information(weights))) - barrier * inside)
