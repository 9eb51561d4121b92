"""How far apart job parameters are, in doublings, and how much less sure that leaves a time.

For run tables and for logs alike, so that a doubling is the same everywhere. Which parameters are
the same is said in `workloads.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.profile import Run

SPREAD_PER_PARAMETER = 0.2
"""Prior spread of log time per doubling of a job parameter, or of the iterations, from the nearest
value that was run. Time may do anything from nothing (an iteration that has converged) to following
it, 0.69; other values than the nearest tell some of it."""

MOST_DOUBLINGS = 20.0
"""Doublings beyond which a time is no less sure: from the nearest value to a million times it."""

SAME_DISTANCE = 9
"""Decimals of a distance in doublings beyond which two are the same."""

OF_ZERO = 5.0
"""Doublings between 0 and other values where no run tells how far that is: from the smallest of a
parameter that was never 0, and to any of one that always was. Time loses no more on the way than
what the parameter does, but nobody knows how much that is."""


@dataclass(frozen=True, eq=False)
class ParameterScales:
    """How p job parameters count, made from the values that were run.

    Args:
        logarithmic: (p,) whether a parameter counts by its logarithm: all its values are > 0.
        smallest: (p,) below which those are linear.
        largest: (p,) what the others are divided by, the largest value whatever its sign; 0 where
            all of them are.
    """

    logarithmic: BoolArray
    smallest: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> ParameterScales:
        """The scales of (n, p) values that were run."""
        largest = np.abs(values).max(axis=0, initial=0.0)
        logarithmic = np.asarray((values > 0.0).all(axis=0))
        return cls(
            logarithmic=logarithmic,
            smallest=np.where(logarithmic, values.min(axis=0, initial=np.inf), 1.0),
            largest=largest,
        )

    def coordinates(self, values: FloatArray) -> FloatArray:
        """(n, p) values as logs down to their smallest and linear from there, or over their largest
        and from there on as logs: a power of e would grow beyond all bounds, and a power of what
        goes to nothing takes the time along, of which some has nothing to do with it. No bend is
        where one passes into the other."""
        within, beyond = self._over_largest(values)
        above = np.log(np.maximum(values, self.smallest))
        below = np.clip(values / self.smallest, 0.0, 1.0) - 1.0
        return np.asarray(np.where(self.logarithmic, above + below, within + beyond))

    def doublings(self, values: FloatArray) -> FloatArray:
        """(n, p) values so that 1 apart is a doubling, of which at most `OF_ZERO` lie below the
        smallest; half of the largest value counts as one for a parameter that may be zero, up to
        that value."""
        logs = np.log2(np.maximum(values, self.smallest * 2.0**-OF_ZERO))
        within, beyond = self._over_largest(values)
        one = np.where(self.largest > 0.0, 0.5, 1.0 / OF_ZERO)
        return np.asarray(np.where(self.logarithmic, logs, within / one + beyond / np.log(2.0)))

    def _over_largest(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, p) values over their largest, at most 1, and the logs of what is beyond it; with the
        sign of the value."""
        sign, size = np.sign(values), np.abs(values)
        share = np.divide(size, self.largest, out=np.abs(sign), where=self.largest > 0.0)
        return sign * np.minimum(share, 1.0), sign * np.log(np.maximum(share, 1.0))


def parameter_spread(doublings: FloatArray | float) -> FloatArray:
    """(n,) prior spread of log time (n,) doublings away from the nearest values that were run."""
    return np.asarray(SPREAD_PER_PARAMETER * np.minimum(doublings, MOST_DOUBLINGS))


def nearest(runs: Sequence[Run], wanted: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """The parameters among runs that are nearest to the wanted ones, and how many doublings they
    are away, all parameters together and no more than `MOST_DOUBLINGS`; of two as near those of
    more runs.

    Args:
        runs: at least one; each says all that is wanted.
    """
    sets = Counter(tuple(run.workload.parameters[name] for name in wanted) for run in runs)
    values, counts = np.asarray([*sets]), np.asarray([*sets.values()])
    doublings = ParameterScales.of(values).doublings
    apart = doublings(values) - doublings(np.asarray([[*wanted.values()]]))
    away = np.sqrt((apart**2).sum(axis=1)).round(SAME_DISTANCE)
    place = np.lexsort((-counts, away))[0]
    own = dict(zip(wanted, values[place].tolist(), strict=True))
    return own, min(float(away[place]), MOST_DOUBLINGS)
