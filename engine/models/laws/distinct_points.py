"""What the runs say of laws, at the distinct points of the laws.

Runs that differ in effects alone (a type of machine of the same shape, a parameter) have one time
by a law. The likelihood needs of their log times only the mean and the scatter about it: 100 runs
of three types with five values of a parameter are at some 30 points, and so many logarithms and
squares are taken for each law in place of 100.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from engine.distinct import distinct_few_rows
from engine.forecast import FloatArray
from engine.models.laws.terms import Points


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """Sufficient statistics of runs at p distinct points.

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
