"""What is asked of a fit to run times: a place inside the measured range, or how far beyond it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Asked:
    """What n rows ask for, whatever the size.

    Args:
        new: (n,) 1 for parameters that no run had, else 0.
        machines: (n,) doublings beyond the most cores of a run, from 0 to 1.
        largest: size of a run.
    """

    new: FloatArray
    machines: FloatArray
    largest: float

    def taken(self, places: IntArray) -> Asked:
        return Asked(self.new[places], self.machines[places], self.largest)

    def shares(self, size: FloatArray) -> dict[str, FloatArray]:
        """(n,) how much each validation counts for each row; a row's add up to 1.

        "inside" is the measured range. "machines" and "size" (size first, where both are beyond)
        count in full from a doubling beyond it, and in proportion before that, so that no answer
        jumps at the edge. "parameters" is for those that no run had.

        Args:
            size: (n,), or one for all.
        """
        return self._shares(share_beyond(size, self.largest), machines_first=False)

    def squared(self, size: FloatArray, *, machines_first: bool = False) -> dict[str, FloatArray]:
        """(n,) how much the variance of each validation counts: `shares` of squared doublings.

        The error of laws beyond the range grows in proportion to the distance, and its variance
        with the square (as with `SPREAD_PER_DOUBLING`), from zero at the edge.

        Args:
            size: (n,), or one for all.
            machines_first: which of the two counts where both are a doubling beyond; else the size.
        """
        squared = replace(self, machines=self.machines**2)
        beyond = share_beyond(size, self.largest) ** 2
        return squared._shares(beyond, machines_first=machines_first)

    def _shares(self, beyond: FloatArray, *, machines_first: bool) -> dict[str, FloatArray]:
        left = 1.0 - self.new
        if machines_first:
            machines = left * self.machines
            beyond = (left - machines) * beyond
        else:
            beyond = left * beyond
            machines = (left - beyond) * self.machines
        inside = left - beyond - machines
        return {"inside": inside, "machines": machines, "size": beyond, "parameters": self.new}


def share_beyond(values: FloatArray, measured: float) -> FloatArray:
    """(n,) doublings beyond the largest measured, from 0 to 1."""
    return np.asarray(np.clip(np.log2(values / measured), 0.0, 1.0))
