"""Interpolation of curves over node counts, on a grid of whole counts that may have gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray

WHOLE_TOLERANCE = 1e-9
"""A count this close to a whole one is whole: the difference is rounding of divided capacities."""


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """The grid of node counts, one for each column of a table of curves.

    Args:
        nodes: (c,) rising whole numbers from 1 on.
    """

    nodes: IntArray

    @classmethod
    def up_to(cls, most: int) -> NodeCounts:
        """Every count from 1 to `most`."""
        return cls(np.arange(1, most + 1))

    @property
    def most(self) -> int:
        """The last count."""
        return int(self.nodes[-1])

    @cached_property
    def floor_column(self) -> IntArray:
        """(most + 1,) the last column at or below each whole count; -1 for 0."""
        return np.searchsorted(self.nodes, np.arange(self.most + 1), side="right") - 1

    @cached_property
    def ceil_column(self) -> IntArray:
        """(most + 1,) the first column at or above each whole count."""
        return np.searchsorted(self.nodes, np.arange(self.most + 1))

    def interpolated(self, curves: FloatArray, rows: IntArray, counts: FloatArray) -> FloatArray:
        """Values of (k, c) curves at real counts, interpolated linearly in 1 / n: exact for a + b /
        n.

        Args:
            rows: (...) which curve.
            counts: (...) where; beyond the last column the value is constant.
        """
        real = np.clip(counts, 1.0, self.most)
        whole = np.round(real)
        real = np.where(np.abs(real - whole) < WHOLE_TOLERANCE * whole, whole, real)
        low = self.floor_column[real.astype(np.int64)]
        high = np.minimum(low + 1, len(self.nodes) - 1)
        first, last = self.nodes[low], self.nodes[high]
        at_low = curves[rows, low]
        weight = last * (1.0 - first / real) / np.maximum(last - first, 1)
        at_high = np.where(weight > 0.0, curves[rows, high], at_low)
        # inf - inf: from a count without a prediction to another one.
        constant = at_low == at_high
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(constant, at_low, at_low + weight * (at_high - at_low)))

    def neighbours(self, count: float) -> set[int]:
        """The node counts of the columns on both sides of a real count; one where it is on the
        grid."""
        low = int(np.clip(np.floor(count + WHOLE_TOLERANCE), 1, self.most))
        high = int(np.clip(np.ceil(count - WHOLE_TOLERANCE), 1, self.most))
        return {int(self.nodes[self.floor_column[low]]), int(self.nodes[self.ceil_column[high]])}

    def columns_between(self, low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
        """The first and the last column between two real counts, in the shape of the counts; there
        is none where the first is beyond the last."""
        first = np.clip(np.ceil(low), 1, self.most).astype(np.int64)
        last = np.clip(np.floor(high), 0, self.most).astype(np.int64)
        beyond = low > self.most
        return np.where(beyond, len(self.nodes), self.ceil_column[first]), self.floor_column[last]
