"""What is asked of a fit to run times: a place inside the measured range, or how far beyond it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.forecast import FloatArray


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

    def part(self, places: NDArray[np.int64]) -> Asked:
        """Some of the rows."""
        return Asked(self.new[places], self.machines[places], self.largest)

    def shares(self, size: FloatArray, *, machines_first: bool = False) -> dict[str, FloatArray]:
        """(n,) how much each validation counts for each row; a row's add up to 1.

        "inside" the measured range; "machines" or "size" from a doubling beyond it on, as far as
        runs were left out, and in between in proportion: no answer jumps at the edge of the range;
        "parameters" for those that no run had.

        Args:
            size: (n,), or one for all.
            machines_first: which of the two counts where both are a doubling beyond; else the size.
        """
        left, beyond = 1.0 - self.new, share_beyond(size, self.largest)
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
