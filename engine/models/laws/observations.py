"""What the runs say of the laws: their log times, with linear effects and noise integrated out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from engine.distinct import distinct_few_rows
from engine.forecast import FloatArray
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


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """Sufficient statistics of runs at p distinct points.

    Runs that differ in effects alone (a type of machine of the same shape, a parameter) have one
    time by a law. The likelihood needs of their log times only the mean and the scatter about it:
    100 runs of three types with five values of a parameter are at some 30 points, and so many
    logarithms and squares are taken for each law in place of 100.

    Args:
        points: in the order in which the runs have them first.
        log_seconds: (p,) weighted mean of the runs at each.
        run_weights: (p,) sum of the weights of the runs at each; None where all are 1.
        scatter: weighted sum of squares of the runs' log times about those means.
        explained_root: (e, p) matrix that maps residuals of the means to a vector whose squared
            norm is what the effects explain, less `explained_offset`.
        explained_offset: (e, 1) what the differences from the means add to that vector.
    """

    points: Points
    log_seconds: FloatArray
    run_weights: FloatArray | None
    scatter: float
    explained_root: FloatArray
    explained_offset: FloatArray

    @classmethod
    def of(
        cls,
        points: Points,
        log_seconds: FloatArray,
        run_weights: FloatArray | None,
        explained_root: FloatArray,
    ) -> DistinctPoints:
        """Those of runs at (r,) points with (r,) weights, None for 1; `explained_root` (e, r) maps
        residuals to a vector whose squared norm is what the effects explain."""
        columns = np.column_stack([getattr(points, entry.name) for entry in fields(points)])
        first, index = distinct_few_rows(columns)
        offset = np.zeros((len(explained_root), 1))
        if len(first) == len(points):
            return cls(points, log_seconds, run_weights, 0.0, explained_root, offset)
        weights = np.ones(len(points)) if run_weights is None else run_weights
        sums = np.bincount(index, weights).astype(float)
        means = np.bincount(index, weights * log_seconds) / sums
        beyond = log_seconds - means[index]
        member = index[:, None] == np.arange(len(first))
        return cls(
            points=points.take(first),
            log_seconds=means,
            run_weights=sums,
            scatter=float(weights @ beyond**2),
            explained_root=explained_root @ member,
            explained_offset=(explained_root @ beyond)[:, None],
        )

    def misfit(self, log_times: FloatArray) -> FloatArray:
        """(d,) weighted sum of squares of the runs' residuals about laws with log times (p, d) at
        the points, less what the effects explain."""
        # Converted first: one pass that does both takes longer than the two.
        residuals = log_times.astype(np.float64)
        np.subtract(self.log_seconds[:, None], residuals, out=residuals)
        explained = self.explained_root @ residuals
        explained += self.explained_offset
        if self.run_weights is None:
            squares = np.einsum("rd,rd->d", residuals, residuals)
        else:
            squares = self.run_weights @ residuals**2
        squares += self.scatter
        squares -= np.einsum("ed,ed->d", explained, explained)
        return np.asarray(np.maximum(squares, 0.0))


def log_likelihood(misfit: FloatArray, runs: FloatArray | float) -> FloatArray:
    """(...) log likelihood of laws up to a constant, the noise variance integrated out under an
    inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2)."""
    return np.asarray(-0.5 * (runs - 1 + NOISE_DOF) * np.log(NOISE_DOF * NOISE_SCALE**2 + misfit))
