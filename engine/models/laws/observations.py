"""What the runs say of the laws: their log times, with linear effects and noise integrated out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray
from engine.models.laws.distinct_points import DistinctPoints
from engine.models.laws.reference_frame import LawFeatures, ReferenceFrame
from engine.models.laws.terms import Points

NOISE_SCALE, NOISE_DOF = 0.04, 4.0
"""Prior of the noise of log time about a law: scale and degrees of freedom of a scaled inverse
chi-square distribution. Repetitions differ by 1 to 4 %, and no law is exact."""


@dataclass(frozen=True, eq=False)
class Observations:
    """The log times of r runs, with the design matrix of the linear effects that are integrated out
    together with the noise.

    Args:
        points: where the runs were made.
        log_seconds: (r,).
        effects: (r, e) columns of the effects (the level, types, parameters), each times its prior
            standard deviation.
        run_weights: (r,) the power to which each run's likelihood is raised; None for 1.
        draw_share: how many draws stand for the posterior, as a share of those for a fit that
            answers alone.
    """

    points: Points
    log_seconds: FloatArray
    effects: FloatArray
    run_weights: FloatArray | None = None
    draw_share: float = 1.0

    def __len__(self) -> int:
        return len(self.log_seconds)

    @cached_property
    def runs(self) -> float:
        """The sum of the run weights: the effective number of runs."""
        return float(len(self)) if self.run_weights is None else float(self.run_weights.sum())

    @cached_property
    def precision(self) -> FloatArray:
        """(r, r) inverse covariance of the residuals by effects and noise, relative to the noise's
        variance: by the matrix inversion lemma (Rasmussen and Williams, A.9)."""
        precision = -self._explained_root.T @ self._explained_root
        precision[np.diag_indices(len(self))] += (
            1.0 if self.run_weights is None else self.run_weights
        )
        return np.asarray(precision)

    def weighted_by_precision(self, residuals: FloatArray) -> FloatArray:
        """(r, d) `precision` times residuals (r, d), without that matrix: effects are fewer than
        runs."""
        weighted = residuals if self.run_weights is None else self.run_weights[:, None] * residuals
        return np.asarray(weighted - self._explained_root.T @ (self._explained_root @ residuals))

    def coefficients(self, residuals: FloatArray) -> FloatArray:
        """(e, d) posterior mean of the effects behind residuals (r, d), each relative to its prior
        standard deviation."""
        x = self._weighted(self.effects / NOISE_SCALE)
        explained = x.T @ self._weighted(residuals)
        return np.asarray(np.linalg.solve(np.eye(x.shape[1]) + x.T @ x, explained) / NOISE_SCALE)

    def misfit(self, residuals: FloatArray) -> FloatArray:
        """(d,) weighted sum of squares of residuals (r, d), less what the effects explain."""
        explained = self._explained_root @ residuals
        if self.run_weights is None:
            squares = np.einsum("rd,rd->d", residuals, residuals)
        else:
            squares = self.run_weights @ residuals**2
        squares -= np.einsum("ed,ed->d", explained, explained)
        return np.asarray(np.maximum(squares, 0.0))

    @cached_property
    def frame(self) -> ReferenceFrame:
        """What the priors of laws are relative to."""
        return ReferenceFrame.of(self.points)

    @cached_property
    def features(self) -> LawFeatures:
        """Of the runs' points, the same for all laws."""
        return self.frame.features(self.points)

    @cached_property
    def at_distinct_points(self) -> DistinctPoints:
        """The same, runs at one point together."""
        return DistinctPoints.of(
            self.points, self.log_seconds, self.run_weights, self._explained_root
        )

    @cached_property
    def _explained_root(self) -> FloatArray:
        """(e, r) matrix that maps residuals to a vector whose squared norm is the sum of squares
        that the effects explain. Factored once, where solving for the effects of every law would
        take its time."""
        x = self._weighted(self.effects / NOISE_SCALE)
        factor = np.linalg.cholesky(np.eye(x.shape[1]) + x.T @ x)
        return np.asarray(np.linalg.solve(factor, self._weighted(x).T))

    def _weighted(self, rows: FloatArray) -> FloatArray:
        """(r, .) rows times the square root of their run weights."""
        return rows if self.run_weights is None else np.sqrt(self.run_weights)[:, None] * rows


def log_likelihood(misfit: FloatArray, runs: FloatArray | float) -> FloatArray:
    """(...) log likelihood of laws up to a constant, the noise variance integrated out under an
    inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2)."""
    return np.asarray(-0.5 * (runs - 1 + NOISE_DOF) * np.log(NOISE_DOF * NOISE_SCALE**2 + misfit))
