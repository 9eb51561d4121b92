"""A prediction with its uncertainty: a Student distribution of the logarithm of the time.

All models answer with this one form, so that an interval at any confidence, the probability of
meeting a deadline and the widening by an assumption are the same few lines for everybody:

    log T = log(seconds) + log_scale * t,   t ~ Student(dof)

`log_scale` is NaN where a model cannot say how sure it is; then the bounds are NaN as well and
`seconds` alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def known(value: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted times of n clusters.

    Args:
        seconds: (n,) the predicted (median) time; NaN where the model has no answer.
        log_scale: (n,) scale of log T; NaN where unknown, 0 where exact.
        dof: (n,) degrees of freedom of the residuals behind `log_scale`; inf for a normal law.
    """

    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray

    @classmethod
    def of(
        cls,
        seconds: FloatArray,
        log_scale: FloatArray | float = np.nan,
        dof: FloatArray | float = np.inf,
    ) -> Forecast:
        """Broadcasts the spread to the shape of `seconds`."""
        shape = np.shape(seconds)
        return cls(
            np.asarray(seconds, dtype=float),
            np.broadcast_to(np.asarray(log_scale, dtype=float), shape),
            np.broadcast_to(np.asarray(dof, dtype=float), shape),
        )

    def taken(self, places: IntArray) -> Forecast:
        """Those at some places, in their order, also several times."""
        return Forecast(self.seconds[places], self.log_scale[places], self.dof[places])

    def patched(self, places: Sequence[int], other: Forecast) -> Forecast:
        """With other ones at some places."""
        changed = []
        for name in ("seconds", "log_scale", "dof"):
            values = np.array(getattr(self, name))
            values[list(places)] = getattr(other, name)
            changed.append(values)
        return Forecast(*changed)

    def quantile(self, p: float) -> FloatArray:
        """(n,) the time that is not exceeded with probability `p`; NaN where unknown."""
        return self.seconds * np.exp(self.log_scale * student_quantile(p, self.dof))

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """(n,) low and (n,) high of the central interval at `confidence`; NaN where unknown."""
        tail = (1.0 - confidence) / 2.0
        return self.quantile(tail), self.quantile(1.0 - tail)

    def p_within(self, deadline_seconds: float) -> FloatArray:
        """(n,) P(T <= deadline); NaN where unknown."""
        from scipy.special import stdtr

        distance = np.log(deadline_seconds / self.seconds)
        with np.errstate(divide="ignore", invalid="ignore"):
            standard = distance / self.log_scale
        p = stdtr(np.minimum(self.dof, LARGE_DOF), standard)
        exact = np.where(distance >= 0.0, 1.0, 0.0)
        return np.asarray(np.where(self.log_scale == 0.0, exact, p))

    def widened(self, log_scale: FloatArray | float) -> Forecast:
        """The same times with an independent normal error of `log_scale` added.

        Scales add up in quadrature, and so do the bounds at `MATCHED`, which gives the degrees of
        freedom: no interval up to there becomes narrower by more doubt. (Matching moments, as
        Satterthwaite does, would shorten tails: a Student law with few degrees of freedom hardly
        has any.)
        """
        scale = np.hypot(self.log_scale, log_scale)
        bound = np.hypot(
            student_quantile(MATCHED, self.dof) * self.log_scale,
            student_quantile(MATCHED, np.asarray(np.inf)) * log_scale,
        )
        added = np.broadcast_to(np.asarray(log_scale) > 0.0, np.shape(scale))
        with np.errstate(divide="ignore", invalid="ignore"):
            dof = np.where(added, _dof_with(bound / scale), self.dof)
        return Forecast.of(self.seconds, scale, np.where(np.isnan(dof), np.inf, dof))


MATCHED = 0.995
"""Probability below the upper bound of the central 99 % interval."""

LARGE_DOF = 1e6
"""Stands for infinity: SciPy's Student functions want a finite number."""


def student_quantile(p: float, dof: FloatArray) -> FloatArray:
    """(n,) quantile of Student's t at probability `p`; computed once per distinct dof."""
    from scipy.special import stdtrit

    dof = np.minimum(dof, LARGE_DOF)
    if dof.size == 1:
        return np.asarray(stdtrit(dof, p), dtype=np.float64)
    distinct, inverse = np.unique(dof, return_inverse=True)
    quantiles = np.asarray(stdtrit(distinct, p), dtype=np.float64)
    return np.asarray(quantiles[inverse].reshape(np.shape(dof)))


def _dof_with(quantiles: FloatArray) -> FloatArray:
    """(n,) degrees of freedom, 1 or more, of the Student laws with these quantiles at `MATCHED`."""
    inverse, logs = _matched_quantiles()
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.interp(np.log(quantiles), logs, inverse))


@lru_cache(maxsize=1)
def _matched_quantiles() -> tuple[FloatArray, FloatArray]:
    """Inverse degrees of freedom from 0 to 1, and the logarithms of their quantiles."""
    inverse = np.linspace(0.0, 1.0, 4001)
    with np.errstate(divide="ignore"):
        return inverse, np.log(student_quantile(MATCHED, 1.0 / inverse))
