"""PERIDOT's equations, one function each, and the parameters that they take from the references.

Shah, Amannejad, Krishnamurthy, Wang, "Quick Execution Time Predictions for Spark Applications",
CNSM 2019. Eq. 1 is `engine.scheduling.waves.waves`; where the print contradicts itself the
consistent reading is the default (docs/models/peridot.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.curves.fitted_curve import SMALLEST_SECONDS
from engine.models.peridot.references import References
from engine.runs.configurations import times_run
from engine.scheduling.waves import waves

ROUNDING = 1e-9
"""Eq. 3 in floating point: 80.00000000001 partitions are 80."""

CHUNK = 4096
"""Numbers of cores at a time: bounds the memory for jobs of thousands of groups."""


def wave_seconds(*, group_seconds: FloatArray, group_waves: FloatArray) -> FloatArray:
    """IV-B Eq. 2: W_i = S_i / N_i, the time of one wave of each stage group in seconds; (g,)."""
    return group_seconds / group_waves


def reference_partitions(
    partitions: FloatArray,
    *,
    sizes: FloatArray,
    weights: FloatArray | None = None,
    printed: bool = False,
) -> FloatArray:
    """IV-B: P-hat of each group from (r, g) partitions of r references, (g,).

    The mean, which Eq. 3 scales. The print says "the sum of the corresponding P_i values in both
    references divided by the mean of the input data sizes", which Eq. 3 divides by once more;
    `printed` gives that form (with sizes around 1 the two look alike).

    Args:
        weights: (r,) of the references in the mean; None for equal ones.
    """
    if printed:
        return np.asarray(partitions.sum(axis=0) / sizes.mean())
    return np.asarray(np.average(partitions, axis=0, weights=weights))


def scaled_partitions(*, size: float, mean_size: float, mean_partitions: FloatArray) -> FloatArray:
    """IV-C Eq. 3: P_i^new = D^new / D-hat x P-hat_i, (g,); not rounded."""
    return size / mean_size * mean_partitions


def execution_seconds(
    *, group_waves: FloatArray, mean_wave_seconds: FloatArray, fixed_seconds: float
) -> FloatArray:
    """IV-C Eq. 4: T^new = sum over the variable groups of N_i x W-hat_i, + F-hat, in seconds.

    Args:
        group_waves: (..., v) waves of v variable groups.
        mean_wave_seconds: (v,) W-hat.
    """
    return np.asarray(group_waves @ mean_wave_seconds + fixed_seconds)


@dataclass(frozen=True, eq=False)
class Parameters:
    """What the references say of v variable groups and of the rest (IV-B).

    Args:
        mean_size: D-hat.
        mean_partitions, mean_wave_seconds: (v,) P-hat and W-hat.
        fixed_seconds: F-hat, the mean of what the variable groups leave of each reference's time.
        parallel_fixed_seconds: of that, stage groups that ran in more than one wave.
    """

    mean_size: float
    mean_partitions: FloatArray
    mean_wave_seconds: FloatArray
    fixed_seconds: float
    parallel_fixed_seconds: float

    @classmethod
    def of(cls, references: References, chosen: FloatArray | None = None) -> Parameters:
        """The means over the references, or over the `chosen` ones; those of one
        configuration together count as one."""
        rows = np.arange(len(references)) if chosen is None else np.flatnonzero(chosen)
        variable = references.variable
        partitions, seconds = references.partitions[rows], references.group_seconds[rows]
        group_waves = waves(partitions, np.asarray(float(references.cores)))
        own = seconds[:, variable]
        rest = references.seconds[rows] - own.sum(axis=1)
        parallel = ~variable & (group_waves > 1.0).any(axis=0)
        weights = 1.0 / times_run(references.configurations[rows])
        return cls(
            mean_size=float(np.average(references.sizes[rows], weights=weights)),
            mean_partitions=reference_partitions(
                partitions[:, variable], sizes=references.sizes[rows], weights=weights
            ),
            mean_wave_seconds=np.average(
                wave_seconds(group_seconds=own, group_waves=group_waves[:, variable]),
                axis=0,
                weights=weights,
            ),
            fixed_seconds=max(0.0, float(np.average(rest, weights=weights))),
            parallel_fixed_seconds=float(
                np.average(seconds[:, parallel].sum(axis=1), weights=weights)
            ),
        )

    def partitions(self, size: float) -> FloatArray:
        """(v,) partitions for an input (Eq. 3), as the whole numbers that Spark makes of them."""
        exact = scaled_partitions(
            size=size, mean_size=self.mean_size, mean_partitions=self.mean_partitions
        )
        return np.maximum(1.0, np.ceil(exact * (1.0 - ROUNDING)))

    def seconds(self, size: float, cores: FloatArray, speed: FloatArray) -> FloatArray:
        """(n,) predicted time on n numbers of cores of relative speed (n,); NaN for unknown cores.

        A faster core shortens the waves; the fixed part, mostly the driver's, it leaves.
        """
        partitions, group = np.unique(self.partitions(size), return_inverse=True)
        # Groups of as many partitions have as many waves: their wave times add up.
        together = np.zeros(len(partitions))
        np.add.at(together, group.reshape(-1), self.mean_wave_seconds)
        cores = np.floor(cores)
        distinct_cores, index = np.unique(cores, return_inverse=True)
        busy = np.empty_like(distinct_cores)
        for start in range(0, len(busy), CHUNK):
            some = distinct_cores[start : start + CHUNK, None]
            busy[start : start + CHUNK] = execution_seconds(
                group_waves=waves(partitions, some), mean_wave_seconds=together, fixed_seconds=0.0
            )
        seconds = busy[index.reshape(-1)] / speed + self.fixed_seconds
        return np.maximum(seconds, SMALLEST_SECONDS)
