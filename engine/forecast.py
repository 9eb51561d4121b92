"""A prediction with its uncertainty: a Student distribution of the logarithm of the time.

All models answer with this one form, so that an interval at any confidence, the probability of
meeting a deadline and the widening by an assumption are the same few lines for everybody:

    log T = log(seconds) + s * t,   t ~ Student(dof),   s = log_scale where t > 0, else scale_below

The two scales are one for most models. Where it is open whether data fits in memory, a job may take
many times as long as predicted, though hardly less than half.

`log_scale` is NaN where a model cannot say how sure it is; then the bounds are NaN as well and
`seconds` alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def known(value: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted times of n clusters.

    Args:
        seconds: (n,) the predicted (median) time; NaN where the model has no answer.
        log_scale: (n,) scale of log T above the median; NaN where unknown, 0 where exact.
        dof: (n,) degrees of freedom of the residuals behind the scales; inf for a normal law.
        scale_below: (n,) scale of log T below the median; the same array where the two are one.
    """

    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray
    scale_below: FloatArray

    @classmethod
    def of(
        cls,
        seconds: FloatArray,
        log_scale: FloatArray | float = np.nan,
        dof: FloatArray | float = np.inf,
        *,
        scale_below: FloatArray | None = None,
    ) -> Forecast:
        """Broadcasts the spread to the shape of `seconds`; None for the same scale below."""
        shape = np.shape(seconds)
        scale = np.broadcast_to(np.asarray(log_scale, dtype=float), shape)
        return cls(
            np.asarray(seconds, dtype=float),
            scale,
            np.broadcast_to(np.asarray(dof, dtype=float), shape),
            scale if scale_below is None else np.asarray(scale_below, dtype=float),
        )

    @property
    def symmetric(self) -> bool:
        """Whether the two scales are one everywhere."""
        return self.scale_below is self.log_scale

    def rescaled(self, change: Callable[[FloatArray], FloatArray]) -> Forecast:
        """The same times with both scales changed in the same way."""
        scale = change(self.log_scale)
        below = scale if self.symmetric else change(self.scale_below)
        return Forecast(self.seconds, scale, self.dof, below)

    def taken(self, places: IntArray | Sequence[int]) -> Forecast:
        """Those at some places, in their order, also several times."""
        at = self.rescaled(lambda scale: scale[places])
        return Forecast(self.seconds[places], at.log_scale, self.dof[places], at.scale_below)

    def patched(self, places: Sequence[int], other: Forecast) -> Forecast:
        """With other ones at some places."""

        def with_other(own: FloatArray, others: FloatArray) -> FloatArray:
            values = np.array(own)
            values[list(places)] = others
            return values

        scale = with_other(self.log_scale, other.log_scale)
        alike = self.symmetric and other.symmetric
        return Forecast(
            with_other(self.seconds, other.seconds),
            scale,
            with_other(self.dof, other.dof),
            scale if alike else with_other(self.scale_below, other.scale_below),
        )

    def scale_at(self, p: float) -> FloatArray:
        """(n,) scale of log T on the side of its quantile at `p`."""
        return self.log_scale if p >= MEDIAN else self.scale_below

    @property
    def usual_scale(self) -> FloatArray:
        """(n,) one scale for both sides, for whoever reckons with a normal law: the root mean
        square of the two."""
        if self.symmetric:
            return self.log_scale
        return np.asarray(np.sqrt(0.5 * (self.log_scale**2 + self.scale_below**2)))

    def quantile(self, p: float) -> FloatArray:
        """(n,) the time that is not exceeded with probability `p`; NaN where unknown."""
        return np.asarray(self.seconds * np.exp(self.scale_at(p) * student_quantile(p, self.dof)))

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """(n,) low and (n,) high of the central interval at `confidence`; NaN where unknown."""
        tail = (1.0 - confidence) / 2.0
        return self.quantile(tail), self.quantile(1.0 - tail)

    def p_within(self, deadline_seconds: float) -> FloatArray:
        """(n,) P(T <= deadline); NaN where unknown."""
        from scipy.special import stdtr

        distance = np.log(deadline_seconds / self.seconds)
        scale = np.where(distance >= 0.0, self.log_scale, self.scale_below)
        with np.errstate(divide="ignore", invalid="ignore"):
            standard = distance / scale
        p = stdtr(np.minimum(self.dof, LARGE_DOF), standard)
        exact = np.where(distance >= 0.0, 1.0, 0.0)
        return np.asarray(np.where(scale == 0.0, exact, p))

    def widened(self, log_scale: FloatArray | float) -> Forecast:
        """The same times with an independent normal error of `log_scale` added.

        Scales add up in quadrature, and so do the bounds at `MATCHED`, which gives the degrees of
        freedom: no interval up to there becomes narrower by more doubt. (Matching moments, as
        Satterthwaite does, would shorten tails: a Student law with few degrees of freedom hardly
        has any.) The degrees of freedom are those of the wider side; the bound at `MATCHED` of the
        other adds up too.
        """
        students = student_quantile(MATCHED, self.dof)
        normal = student_quantile(MATCHED, np.asarray(np.inf)) * log_scale
        widest = np.maximum(self.log_scale, self.scale_below)
        scale = np.hypot(widest, log_scale)
        bound = np.hypot(students * widest, normal)
        added = np.broadcast_to(np.asarray(log_scale) > 0.0, np.shape(scale))
        with np.errstate(divide="ignore", invalid="ignore"):
            dof = np.where(added, _dof_with(bound / scale), self.dof)
            dof = np.where(np.isnan(dof), np.inf, dof)
        if self.symmetric:
            return Forecast.of(self.seconds, scale, dof)

        def wider(own: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.hypot(students * own, normal) / bound
            return np.asarray(np.where(own == widest, scale, scale * share))

        return replace(self.rescaled(wider), dof=dof)


MEDIAN = 0.5

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
