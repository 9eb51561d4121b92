"""A grid of forecasts with some points evaluated again, one by one.

A model may interpolate over many clusters but answers a few exactly. Its error at one number of
nodes is similar at others of the same type. If only the exact points were replaced, interpolated
points would win against them, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from engine.choosing.sweeps import TIE
from engine.forecast import FloatArray, Forecast


def with_exact(
    grid: Forecast, places: Sequence[int], exact: Forecast, *, known: Collection[int], row: int
) -> Forecast:
    """The grid with exact points, and with the others corrected by its error there; the grid
    itself where it has none.

    The error in log time is interpolated linearly along the logarithm of the number of nodes, and
    is constant beyond the outermost exact points of a row.

    Args:
        grid: (k * row,) rows of growing clusters, 1 ... row.
        places: (n,) points that were evaluated again.
        exact: (n,) their forecasts.
        known: points that were exact before.
        row: points in a row.
    """
    if np.allclose(exact.seconds, grid.seconds[list(places)], rtol=TIE, equal_nan=True):
        return grid
    off = dict.fromkeys(known, 0.0)
    off |= zip(places, _log_ratio(exact.seconds, grid.seconds[list(places)]), strict=True)
    moved, counts = np.array(grid.seconds), np.log1p(np.arange(row))
    for start in {place - place % row for place in places}:
        own = sorted(place for place in off if start <= place < start + row)
        at = counts[[place - start for place in own]]
        moved[start : start + row] *= np.exp(np.interp(counts, at, [off[place] for place in own]))
    return replace(grid, seconds=moved).patched(places, exact)


def _log_ratio(exact: FloatArray, grid: FloatArray) -> list[float]:
    """(n,) error of the grid's log times; 0 where either time is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(exact / grid)
    return [float(value) for value in np.where(np.isfinite(off), off, 0.0)]
