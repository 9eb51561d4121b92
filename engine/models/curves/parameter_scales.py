"""Distance between job parameters in doublings, and the uncertainty of a predicted time at that
distance.

For run tables and for logs alike, so that a doubling is the same everywhere. Which parameters are
equal is defined in `workloads.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.profile import Run

SPREAD_PER_PARAMETER = 0.2
"""Prior standard deviation of log time per doubling of a job parameter, or of the iterations,
from the nearest value that was run. The time may do anything from nothing (an iteration that has
converged) to following it, 0.69; other values than the nearest tell some of it."""

MOST_DOUBLINGS = 20.0
"""Doublings beyond which the uncertainty grows no further: from the nearest value to a million
times it."""

DISTANCE_DECIMALS = 9
"""Decimals to which distances in doublings are compared."""

DOUBLINGS_FROM_ZERO = 5.0
"""Doublings between 0 and other values where no run tells how far that is: from the smallest of
a parameter that was never 0, and to any of one that always was. Time loses no more on the way
than what the parameter does, but nobody knows how much that is."""


@dataclass(frozen=True, eq=False)
class ParameterScales:
    """The scale of each of p job parameters, made from the values that were run.

    Args:
        logarithmic: (p,) whether a parameter is on a log scale: all its values are > 0.
        smallest: (p,) value below which those are linear.
        largest: (p,) what the others are divided by, the largest value whatever its sign; 0 where
            all of them are.
    """

    logarithmic: BoolArray
    smallest: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> ParameterScales:
        """The scales for (n, p) values that were run."""
        largest = np.abs(values).max(axis=0, initial=0.0)
        logarithmic = np.asarray((values > 0.0).all(axis=0))
        return cls(
            logarithmic=logarithmic,
            smallest=np.where(logarithmic, values.min(axis=0, initial=np.inf), 1.0),
            largest=largest,
        )

    def coordinates(self, values: FloatArray) -> FloatArray:
        """(n, p) values as logs down to their smallest and linear from there, or over their
        largest and from there on as logs. A power of e would grow beyond all bounds, and a power
        of what goes to nothing takes the time along, of which some has nothing to do with it.
        The derivative is continuous where one passes into the other."""
        within, beyond = self._over_largest(values)
        above = np.log(np.maximum(values, self.smallest))
        below = np.clip(values / self.smallest, 0.0, 1.0) - 1.0
        return np.asarray(np.where(self.logarithmic, above + below, within + beyond))

    def doublings(self, values: FloatArray) -> FloatArray:
        """(n, p) values on a scale on which a doubling is 1, with at most `DOUBLINGS_FROM_ZERO`
        below the smallest; half of the largest value counts as one for a parameter that may be
        zero, up to that value."""
        logs = np.log2(np.maximum(values, self.smallest * 2.0**-DOUBLINGS_FROM_ZERO))
        within, beyond = self._over_largest(values)
        one = np.where(self.largest > 0.0, 0.5, 1.0 / DOUBLINGS_FROM_ZERO)
        return np.asarray(np.where(self.logarithmic, logs, within / one + beyond / np.log(2.0)))

    def _over_largest(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, p) values over their largest, clipped to 1, and the logs of what exceeds it; with
        the sign of the value."""
        sign, size = np.sign(values), np.abs(values)
        share = np.divide(size, self.largest, out=np.abs(sign), where=self.largest > 0.0)
        return sign * np.minimum(share, 1.0), sign * np.log(np.maximum(share, 1.0))


def parameter_spread(doublings: FloatArray | float) -> FloatArray:
    """(n,) prior standard deviation of log time (n,) doublings away from the nearest values that
    were run."""
    return np.asarray(SPREAD_PER_PARAMETER * np.minimum(doublings, MOST_DOUBLINGS))


def nearest_parameters(
    runs: Sequence[Run], wanted: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """The parameters among runs that are nearest to the wanted ones, and their distance in
    doublings over all parameters, at most `MOST_DOUBLINGS`; of equally near ones those of more
    runs.

    Args:
        runs: at least one; each says all that is wanted.
    """
    sets = Counter(tuple(run.workload.parameters[name] for name in wanted) for run in runs)
    values, counts = np.asarray([*sets]), np.asarray([*sets.values()])
    doublings = ParameterScales.of(values).doublings
    differences = doublings(values) - doublings(np.asarray([[*wanted.values()]]))
    distances = np.sqrt((differences**2).sum(axis=1)).round(DISTANCE_DECIMALS)
    index = np.lexsort((-counts, distances))[0]
    parameters = dict(zip(wanted, values[index].tolist(), strict=True))
    return parameters, min(float(distances[index]), MOST_DOUBLINGS)
