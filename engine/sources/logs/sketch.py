"""Quantiles of more values than one wants to keep, in constant memory.

The sketch is DDSketch (Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch
with relative-error guarantees", PVLDB 12(12), 2019): values are counted in buckets whose bounds
grow by a constant factor, so that every quantile is right within a stated relative error. Count,
sum, minimum and maximum are exact.
"""

from __future__ import annotations

import math

import numpy as np

from engine.forecast import FloatArray, IntArray

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
