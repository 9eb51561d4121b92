"""The mean log time made monotone in the size, whatever remainder and weights say.

As a function of the laws' mean it is the running maximum over the measured sizes, and beyond them
it grows as the laws do. What it is there does not depend on the size that is asked for.

In: means at some sizes. Out: the mean at any size. Explained in
docs/models/sparkplan_rules_run_tables.md#chosen-by-runs-left-out-in-the-way-of-the-question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.caching import LruCache
from engine.forecast import FloatArray
from engine.models.laws.iterations import interpolated_along_laws


@dataclass(frozen=True, eq=False)
class MeansAtSizes:
    """Mean log times of n rows at s ascending sizes.

    Args:
        sizes: (s,) measured ones, and some beyond where larger ones are asked for.
        measured: how many of them were measured.
        laws: (s, n) by the laws.
        means: (s, n) by the fit.
    """

    sizes: FloatArray
    measured: int
    laws: FloatArray
    means: FloatArray

    def take(self, rows: slice) -> MeansAtSizes:
        """Those of some rows."""
        return MeansAtSizes(self.sizes, self.measured, self.laws[:, rows], self.means[:, rows])

    def at(self, size: FloatArray, law_wanted: FloatArray) -> FloatArray:
        """(n,) mean of log time at (n,) sizes where the laws' mean is (n,) `law_wanted`: by
        interpolation in the running maximum of the means."""
        beyond = size > self.sizes[self.measured - 1]
        mean = np.empty(len(size))
        for at, last in ((~beyond, self.measured), (beyond, len(self.sizes))):
            if at.any():
                laws, means = self.laws[:last, at], self._ascending[:last, at]
                mean[at] = interpolated_along_laws(laws, means, law_wanted[at])
        return mean

    @cached_property
    def _ascending(self) -> FloatArray:
        return np.asarray(np.maximum.accumulate(self.means, axis=0))


KEPT_BYTES = 48 << 20
"""What is kept of the means of all fits of a model."""

MeansCache = LruCache[tuple[FloatArray, FloatArray]]
"""The laws' means and the fit's, (k, s, n) each, of rows that were asked about last."""


def means_cache() -> MeansCache:
    """An empty one, of `KEPT_BYTES`."""
    return LruCache(KEPT_BYTES, _bytes_of)


def _bytes_of(means: tuple[FloatArray, FloatArray]) -> int:
    return sum(array.nbytes for array in means)
