"""Curves over node counts, at whole counts that need not be neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray

ROUNDING = 1e-9
"""A count this close to a whole one is whole: the difference is from dividing capacities."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The node counts that the columns of a table of curves are for.

    Args:
        nodes: (c,) rising whole numbers from 1 on.
    """

    nodes: IntArray

    @classmethod
    def up_to(cls, most: int) -> Columns:
        """Every count from 1 to `most`."""
        return cls(np.arange(1, most + 1))

    @property
    def most(self) -> int:
        """The last count."""
        return int(self.nodes[-1])

    @cached_property
    def at_or_before(self) -> IntArray:
        """(most + 1,) the last column that is not beyond a whole count; -1 for 0."""
        return np.searchsorted(self.nodes, np.arange(self.most + 1), side="right") - 1

    @cached_property
    def at_or_after(self) -> IntArray:
        """(most + 1,) the first column that is not short of a whole count."""
        return np.searchsorted(self.nodes, np.arange(self.most + 1))

    def between(self, curves: FloatArray, rows: IntArray, counts: FloatArray) -> FloatArray:
        """Values of (k, c) curves at real counts: exact for a + b / n.

        Args:
            rows, counts: (...) which curve, and where; beyond the last column its value stays.
        """
        clipped = np.clip(counts, 1.0, self.most)
        whole = np.round(clipped)
        clipped = np.where(np.abs(clipped - whole) < ROUNDING * whole, whole, clipped)
        low = self.at_or_before[clipped.astype(np.int64)]
        high = np.minimum(low + 1, len(self.nodes) - 1)
        first, last = self.nodes[low], self.nodes[high]
        at_low = curves[rows, low]
        weight = last * (1.0 - first / clipped) / np.maximum(last - first, 1)
        at_high = np.where(weight > 0.0, curves[rows, high], at_low)
        # inf - inf: from a count without a prediction to another one.
        same = at_low == at_high
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(same, at_low, at_low + weight * (at_high - at_low)))

    def around(self, count: float) -> set[int]:
        """The counts of the columns that a real count lies between; of one that has a column, it
        alone."""
        low = int(np.clip(np.floor(count + ROUNDING), 1, self.most))
        high = int(np.clip(np.ceil(count - ROUNDING), 1, self.most))
        return {int(self.nodes[self.at_or_before[low]]), int(self.nodes[self.at_or_after[high]])}

    def inside(self, low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
        """The first and the last column between two real counts; none where the first is behind
        the last. Shapes are those of the counts."""
        first = np.clip(np.ceil(low), 1, self.most).astype(np.int64)
        last = np.clip(np.floor(high), 0, self.most).astype(np.int64)
        beyond = low > self.most
        return np.where(beyond, len(self.nodes), self.at_or_after[first]), self.at_or_before[last]
