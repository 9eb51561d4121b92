"""Exact re-evaluation of some points of a grid, and correction of the interpolated ones.

A model may interpolate over many clusters but evaluates a few exactly. Its interpolation error at
one node count is similar at others of the same type. If only the exact points were replaced,
interpolated points would win against them, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from engine.choosing.sweeps import TIE
from engine.forecast import FloatArray, Forecast


def with_exact_points(
    grid: Forecast,
    points: Sequence[int],
    exact: Forecast,
    *,
    exact_before: Collection[int],
    row_length: int,
) -> Forecast:
    """The grid with exact points, and the others corrected by the interpolation error there; the
    grid itself where there is no error.

    The error in log time is interpolated linearly along the logarithm of the number of nodes, and
    is constant beyond the outermost exact points of a row.

    Args:
        grid: (k * row_length,) rows of growing clusters, 1 ... row_length nodes.
        points: (n,) flat indices of points that were evaluated exactly.
        exact: (n,) their forecasts.
        exact_before: points that were exact already.
        row_length: points in a row.
    """
    if np.allclose(exact.seconds, grid.seconds[list(points)], rtol=TIE, equal_nan=True):
        return grid
    log_errors = dict.fromkeys(exact_before, 0.0)
    log_errors |= zip(points, _log_ratio(exact.seconds, grid.seconds[list(points)]), strict=True)
    corrected, counts = np.array(grid.seconds), np.log1p(np.arange(row_length))
    for start in {point - point % row_length for point in points}:
        exact_points = sorted(point for point in log_errors if start <= point < start + row_length)
        exact_counts = counts[[point - start for point in exact_points]]
        corrected[start : start + row_length] *= np.exp(
            np.interp(counts, exact_counts, [log_errors[point] for point in exact_points])
        )
    return replace(grid, seconds=corrected).with_replaced(points, exact)


def _log_ratio(exact: FloatArray, interpolated: FloatArray) -> list[float]:
    """(n,) error of the grid's log times; 0 where either time is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.log(exact / interpolated)
    return [float(value) for value in np.where(np.isfinite(errors), errors, 0.0)]
