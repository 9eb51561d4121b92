"""Windows of total capacity that cover all compositions, and how they are split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray

WINDOWS = 24
"""Number of capacity windows that are bounded at once."""


@dataclass(frozen=True, eq=False)
class WindowCover:
    """Windows of total capacity that cover all compositions, with their lower bounds: (j,) each."""

    low: FloatArray
    high: FloatArray
    lower_bound: FloatArray

    @property
    def least_bound(self) -> float:
        """The lower bound on all compositions."""
        return float(self.lower_bound.min())

    def without(self, mask: BoolArray) -> WindowCover:
        """The windows outside a mask."""
        return WindowCover(self.low[~mask], self.high[~mask], self.lower_bound[~mask])

    def joined(self, other: WindowCover) -> WindowCover:
        """These windows and others."""
        return WindowCover(
            np.append(self.low, other.low),
            np.append(self.high, other.high),
            np.append(self.lower_bound, other.lower_bound),
        )

    def split(self, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
        """(k,) lower and (k,) upper ends of the windows at a mask, cut into about `WINDOWS`."""
        pieces = max(2, WINDOWS // int(mask.sum()))
        share = np.arange(pieces + 1) / pieces
        low, high = self.low[mask, None], self.high[mask, None]
        edges = low * (high / low) ** share
        return edges[:, :-1].ravel(), edges[:, 1:].ravel()
