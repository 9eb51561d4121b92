"""Measures of task values of stages: exact count and sum, quantiles from a sketch, rounded.

Quantiles are rounded to five significant digits here, not when a profile is written, so that a
profile and the log it came from hold the same numbers. All measures of a stage are computed in one
batch: there may be thousands of stages, and each NumPy call has a fixed cost.

The sketch is DDSketch (Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch
with relative-error guarantees", PVLDB 12(12), 2019): values are counted in buckets whose bounds
grow by a constant factor, so that every quantile is right within a stated relative error. Count,
sum, minimum and maximum are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.stage_run import EXACT_VALUES, Measure

RELATIVE_ERROR = 0.005
"""Quantiles of a sketched measure are within this share of a true value of that rank."""

_GAMMA = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_BUCKETS = math.ceil(math.log(2.0**63) / _LOG_GAMMA) + 2


class QuantileSketch:
    """Counts of whole numbers >= 0 (milliseconds, bytes, nanoseconds) in growing buckets.

    Bucket 0 holds zeros, bucket i the values in (gamma^(i-2), gamma^(i-1)].
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.minimum = 0
        self.maximum = 0
        self._buckets = np.zeros(_BUCKETS, dtype=np.int64)

    def add(self, values: IntArray) -> None:
        """Counts (n,) values >= 0."""
        if not len(values):
            return
        low, high = int(values.min()), int(values.max())
        self.minimum = low if not self.count else min(self.minimum, low)
        self.maximum = high if not self.count else max(self.maximum, high)
        self.count += len(values)
        self.total += float(values.sum(dtype=np.float64))
        positive = values[values > 0]
        index = np.ceil(np.log(positive) / _LOG_GAMMA).astype(np.int64) + 1
        self._buckets += np.bincount(index, minlength=_BUCKETS)
        self._buckets[0] += len(values) - len(positive)

    def quantiles(self, points: int) -> FloatArray:
        """(points,) values at equally spaced probabilities 0 ... 1."""
        ranks = np.linspace(0.0, 1.0, points) * (self.count - 1)
        bucket = np.searchsorted(np.cumsum(self._buckets), ranks, side="right")
        values = np.where(bucket == 0, 0.0, 2.0 * np.power(_GAMMA, bucket - 1.0) / (_GAMMA + 1.0))
        values[0], values[-1] = self.minimum, self.maximum
        return np.clip(values, self.minimum, self.maximum)


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
