"""Builds `Measure`s from the task values of stages: exact count and sum, rounded quantiles.

Quantiles are rounded to five significant digits here, not when a profile is written, so that a
profile and the log it came from hold the same numbers. All measures of a stage are computed in one
batch: there may be thousands of stages, and each NumPy call has a fixed cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.sources.logs.sketch import QuantileSketch
from engine.stage_run import EXACT_VALUES, Measure

SECONDARY_VALUES = 11
"""Quantiles kept of a measure from which replays do not draw task times."""

PRIMARY_VALUES = EXACT_VALUES
"""Quantiles kept of task times."""

SIGNIFICANT_DIGITS = 5
_POWERS = 10.0 ** np.arange(23)
"""The powers of ten that a float represents exactly."""

_TIE = 1e-9
"""A scaled value this close to a tie (.5) is rounded by its exact decimal expansion."""


def rounded(value: float) -> float:
    """The value to five significant digits."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def all_rounded(values: FloatArray) -> FloatArray:
    """`rounded` for (n,) values in [0, 2^63], vectorised.

    An integer of up to five digits multiplied or divided by an exact power of ten is correctly
    rounded in floating point, so the result equals the parsed decimal.
    """
    digits = SIGNIFICANT_DIGITS - 1 - np.floor(np.log10(np.maximum(values, 1e-18))).astype(np.int64)
    shrunk, enlarged = _POWERS[np.maximum(-digits, 0)], _POWERS[np.maximum(digits, 0)]
    scaled = values * enlarged / shrunk
    scaled_integer = np.rint(scaled)
    result: FloatArray = scaled_integer / enlarged * shrunk
    tied = np.abs(scaled - scaled_integer) > 0.5 - _TIE
    if tied.any():
        result[tied] = [rounded(value) for value in values[tied].tolist()]
    return result


def of_columns(
    values: IntArray, *, units: Sequence[float], points: Sequence[int]
) -> list[Measure | None]:
    """One measure per row of (m, n) integers; None for a row without reported values.

    Args:
        values: m quantities of n tasks; values below 0 were not reported.
        units: per row, the factor to the measure's unit (0.001 for milliseconds -> seconds).
        points: per row, the number of quantiles to keep; with fewer values all of them are kept.
    """
    ordered = np.sort(values, axis=1)
    number = values.shape[1]
    counts = (number - np.count_nonzero(ordered < 0, axis=1)).tolist()
    totals = np.maximum(ordered, 0).sum(axis=1, dtype=np.float64).tolist()
    measures: list[Measure | None] = [None] * len(counts)
    by_count: dict[tuple[int, int], list[int]] = {}
    constant = ordered[range(len(counts)), [-max(count, 1) for count in counts]] == ordered[:, -1]
    for row, (count, kept_points) in enumerate(zip(counts, points, strict=True)):
        if count and constant[row] and kept_points == SECONDARY_VALUES:
            by_count.setdefault((count, 1), []).append(row)
        elif count:
            by_count.setdefault((count, min(count, kept_points)), []).append(row)
    if not by_count:
        return measures
    parts = []
    for (count, kept_points), rows in by_count.items():
        low, high, share = _positions(count, kept_points)
        known = ordered[rows, number - count :]
        below, above = known[:, low], known[:, high]
        factors = np.array([units[row] for row in rows])
        parts.append(((below + (above - below) * share) * factors[:, None]).ravel())
    rounded_values = iter(all_rounded(np.concatenate(parts)).tolist())
    for (count, kept_points), rows in by_count.items():
        for row in rows:
            quantiles = tuple(islice(rounded_values, kept_points))
            measures[row] = Measure(count, _exact(totals[row], units[row]), quantiles)
    return measures


@lru_cache(maxsize=256)
def _positions(count: int, points: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Linear interpolation of `points` equally spaced quantiles of `count` sorted values: lower
    indices, upper indices and interpolation weights, each (points,)."""
    position = np.linspace(0.0, count - 1.0, points)
    low = position.astype(np.int64)
    return low, np.minimum(low + 1, count - 1), position - low


def of_sketch(
    sketch: QuantileSketch, *, unit: float, points: int = SECONDARY_VALUES
) -> Measure | None:
    """The measure of a sketch; None when it is empty."""
    if not sketch.count:
        return None
    quantiles = tuple(all_rounded(sketch.quantiles(points) * unit).tolist())
    if points == SECONDARY_VALUES and sketch.minimum == sketch.maximum:
        quantiles = quantiles[:1]
    return Measure(sketch.count, _exact(sketch.total, unit), quantiles)


def _exact(total: float, unit: float) -> float:
    """`total` units without the binary noise of a product such as 3 * 0.001."""
    return total * unit if unit >= 1.0 else total / round(1.0 / unit)
