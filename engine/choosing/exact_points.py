"""A grid of forecasts in which some points were asked again, by themselves.

A model may interpolate over many clusters, and answers a few exactly. Where it was off at one
number of nodes it is off alike at the others of that type: were its exact points alone put in, what
is left of the grid would win against them, one point after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray, Forecast


def with_exact(
    grid: Forecast,
    places: Sequence[int],
    exact: Forecast,
    *,
    known: Collection[int],
    row: int,
) -> Forecast:
    """The grid with exact points, and moved by what it was off there.

    Between two exact points of a row it moves in log time as the line between theirs, along the
    logarithm of the number of nodes; beyond the last as that one.

    Args:
        grid: (k * row,) rows of growing clusters, 1 ... row.
        places: (n,) points that were asked again.
        exact: (n,) what was answered.
        known: points that are exact already.
        row: points of a row.
    """
    off = dict.fromkeys(known, 0.0)
    off |= zip(places, _log_ratio(exact.seconds, grid.seconds[list(places)]), strict=True)
    moved, counts = np.array(grid.seconds), np.log1p(np.arange(row))
    for start in {place - place % row for place in places}:
        own = sorted(place for place in off if start <= place < start + row)
        at = counts[[place - start for place in own]]
        moved[start : start + row] *= np.exp(np.interp(counts, at, [off[place] for place in own]))
    return replace(grid, seconds=moved).patched(places, exact)


def _log_ratio(exact: FloatArray, grid: FloatArray) -> list[float]:
    """(n,) by how much the grid's log times are off; 0 where either is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(exact / grid)
    return [float(value) for value in np.where(np.isfinite(off), off, 0.0)]
