"""How far rows of a forecast lie beyond the measured range, and so which validation applies to
them.

In: rows of a forecast and the runs of a fit. Out: the weight of each validation per row. Explained
in docs/models/sparkplan_rules_run_tables.md#chosen-by-runs-left-out-in-the-way-of-the-question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """How far n rows lie beyond the runs of a fit, their size apart.

    Args:
        new_parameters: (n,) 1 for parameters that no run had, else 0.
        machine_doublings: (n,) doublings beyond the most cores of a run, clipped to 0 to 1.
        largest_size: of a run.
    """

    new_parameters: FloatArray
    machine_doublings: FloatArray
    largest_size: float

    def mean_weights(self, size: FloatArray) -> dict[str, FloatArray]:
        """(n,) weight of each validation in the mean of each row; they add up to 1 for a row.

        "inside" is the measured range. "machines" and "size" (size first, where both are beyond)
        have the full weight from a doubling beyond it, and a weight in proportion before that, so
        that no prediction jumps at the edge. "parameters" is for those that no run had.

        Args:
            size: (n,), or one for all.
        """
        return self._weights(doublings_beyond(size, self.largest_size), machines_first=False)

    def variance_weights(
        self, size: FloatArray, *, machines_first: bool = False
    ) -> dict[str, FloatArray]:
        """(n,) weight of each validation in the variance: `mean_weights` of squared doublings.

        The error of laws beyond the range grows in proportion to the distance, and its variance
        with the square (as with `SPREAD_PER_DOUBLING`), from zero at the edge.

        Args:
            size: (n,), or one for all.
            machines_first: whether machines have the weight where both are a doubling beyond; else
                the size.
        """
        squared = replace(self, machine_doublings=self.machine_doublings**2)
        size_doublings = doublings_beyond(size, self.largest_size) ** 2
        return squared._weights(size_doublings, machines_first=machines_first)

    def _weights(
        self, size_doublings: FloatArray, *, machines_first: bool
    ) -> dict[str, FloatArray]:
        remaining = 1.0 - self.new_parameters
        if machines_first:
            machines = remaining * self.machine_doublings
            size_doublings = (remaining - machines) * size_doublings
        else:
            size_doublings = remaining * size_doublings
            machines = (remaining - size_doublings) * self.machine_doublings
        inside = remaining - size_doublings - machines
        return {
            "inside": inside,
            "machines": machines,
            "size": size_doublings,
            "parameters": self.new_parameters,
        }


def doublings_beyond(values: FloatArray, measured: float) -> FloatArray:
    """(n,) doublings beyond the largest measured value, clipped to 0 to 1."""
    return np.asarray(np.clip(np.log2(values / measured), 0.0, 1.0))
