"""From the values of a stage's tasks to a `Measure`: exact count and sum, rounded quantiles.

Quantiles are rounded to five significant digits here, not when a profile is written, so that a
profile and the log it came from hold the same numbers. All measures of a stage are made together:
there may be thousands of stages, and each call to NumPy has a fixed cost.
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
"""Points kept of a measure that no replay draws task times from."""

PRIMARY_VALUES = EXACT_VALUES
"""Points kept of task times."""

SIGNIFICANT_DIGITS = 5
_POWERS = 10.0 ** np.arange(23)
"""Those powers of ten that a float holds exactly."""

_TIE = 1e-9
"""A last digit so near to a half is rounded by its exact decimal expansion."""


def rounded(value: float) -> float:
    """The value to five significant digits."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def all_rounded(values: FloatArray) -> FloatArray:
    """`rounded` of (n,) values from 0 up to 2^63.

    A whole number of up to five digits times or through an exact power of ten is, in floating
    point, the very number that those digits mean.
    """
    digits = SIGNIFICANT_DIGITS - 1 - np.floor(np.log10(np.maximum(values, 1e-18))).astype(np.int64)
    shrunk, grown = _POWERS[np.maximum(-digits, 0)], _POWERS[np.maximum(digits, 0)]
    scaled = values * grown / shrunk
    whole = np.rint(scaled)
    found: FloatArray = whole / grown * shrunk
    tied = np.abs(scaled - whole) > 0.5 - _TIE
    if tied.any():
        found[tied] = [rounded(value) for value in values[tied].tolist()]
    return found


def of_columns(
    values: IntArray, *, units: Sequence[float], points: Sequence[int]
) -> list[Measure | None]:
    """The measures of (m, n) whole numbers, one of each row; None where no value was reported.

    Args:
        values: those below 0 were not reported.
        units: what one of them is in the measure's unit (0.001 for milliseconds -> seconds).
        points: quantiles to keep of each; with fewer values all of them are kept.
    """
    ordered = np.sort(values, axis=1)
    number = values.shape[1]
    counts = (number - np.count_nonzero(ordered < 0, axis=1)).tolist()
    totals = np.maximum(ordered, 0).sum(axis=1, dtype=np.float64).tolist()
    found: list[Measure | None] = [None] * len(counts)
    alike: dict[tuple[int, int], list[int]] = {}
    constant = ordered[range(len(counts)), [-max(count, 1) for count in counts]] == ordered[:, -1]
    for row, (count, most) in enumerate(zip(counts, points, strict=True)):
        if count and constant[row] and most == SECONDARY_VALUES:
            alike.setdefault((count, 1), []).append(row)
        elif count:
            alike.setdefault((count, min(count, most)), []).append(row)
    if not alike:
        return found
    parts = []
    for (count, most), rows in alike.items():
        low, high, share = _positions(count, most)
        known = ordered[rows, number - count :]
        below, above = known[:, low], known[:, high]
        factors = np.array([units[row] for row in rows])
        parts.append(((below + (above - below) * share) * factors[:, None]).ravel())
    kept = iter(all_rounded(np.concatenate(parts)).tolist())
    for (count, most), rows in alike.items():
        for row in rows:
            quantiles = tuple(islice(kept, most))
            found[row] = Measure(count, _exact(totals[row], units[row]), quantiles)
    return found


@lru_cache(maxsize=256)
def _positions(count: int, points: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Where (points,) linear quantiles lie among `count` ordered values: the values below and
    above, and how far between them."""
    position = np.linspace(0.0, count - 1.0, points)
    low = position.astype(np.int64)
    return low, np.minimum(low + 1, count - 1), position - low


def of_sketch(
    sketch: QuantileSketch, *, unit: float, points: int = SECONDARY_VALUES
) -> Measure | None:
    """The measure of sketched values; None when there are none."""
    if not sketch.count:
        return None
    quantiles = tuple(all_rounded(sketch.quantiles(points) * unit).tolist())
    if points == SECONDARY_VALUES and sketch.minimum == sketch.maximum:
        quantiles = quantiles[:1]
    return Measure(sketch.count, _exact(sketch.total, unit), quantiles)


def _exact(total: float, unit: float) -> float:
    """`total` units without the binary noise of a product such as 3 * 0.001."""
    return total * unit if unit >= 1.0 else total / round(1.0 / unit)
