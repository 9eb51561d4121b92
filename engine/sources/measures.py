"""From the values of a stage's tasks to a `Measure`: exact count and sum, rounded quantiles.

Quantiles are rounded to five significant digits here, not when a profile is written, so that a
profile and the log it came from hold the same numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.profile import EXACT_VALUES, Measure
from engine.sources.sketch import QuantileSketch

SECONDARY_VALUES = 11
"""Points kept of a measure that no replay draws task times from."""

PRIMARY_VALUES = EXACT_VALUES
"""Points kept of task times."""

SIGNIFICANT_DIGITS = 5
SORTED_UP_TO = 4096


def rounded(value: float) -> float:
    """The value to five significant digits."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def of_values(
    values: NDArray[np.int64], *, unit: float, points: int = SECONDARY_VALUES
) -> Measure | None:
    """The measure of (n,) whole numbers; those below 0 were not reported. None when none was.

    Args:
        unit: what one of them is in the measure's unit (0.001 for milliseconds -> seconds).
        points: quantiles to keep; with fewer values all of them are kept.
    """
    known = values[values >= 0]
    if not len(known):
        return None
    count, total = len(known), float(known.sum(dtype=np.float64))
    ordered = np.sort(known).astype(float) if count <= points else _quantiles(known, points)
    return _measure(count, total, ordered, unit, points)


def _quantiles(values: NDArray[np.int64], points: int) -> NDArray[np.float64]:
    """(points,) linear quantiles, as `numpy.quantile` has them but without its fixed cost, which
    counts when there are thousands of stages."""
    position = np.linspace(0.0, len(values) - 1.0, points)
    low = position.astype(np.int64)
    high = np.minimum(low + 1, len(values) - 1)
    if len(values) > SORTED_UP_TO:
        ordered = np.partition(values, np.union1d(low, high))
    else:
        ordered = np.sort(values)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def of_sketch(
    sketch: QuantileSketch, *, unit: float, points: int = SECONDARY_VALUES
) -> Measure | None:
    """The measure of sketched values; None when there are none."""
    if not sketch.count:
        return None
    return _measure(sketch.count, sketch.total, sketch.quantiles(points), unit, points)


def _measure(
    count: int, total: float, values: NDArray[np.float64], unit: float, points: int
) -> Measure:
    """A secondary measure that is constant keeps one point: its value at any probability."""
    if points == SECONDARY_VALUES and values[0] == values[-1]:
        values = values[:1]
    quantiles = tuple(rounded(value * unit) for value in values.tolist())
    return Measure(count, _exact(total, unit), quantiles)


def _exact(total: float, unit: float) -> float:
    """`total` units without the binary noise of a product such as 3 * 0.001."""
    return total * unit if unit >= 1.0 else total / round(1.0 / unit)
