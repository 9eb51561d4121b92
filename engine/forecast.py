"""A prediction with its uncertainty: a Student distribution of the logarithm of the time.

Every model predicts in this one form, so that intervals, the probability of meeting a deadline and
the uncertainty that an assumption adds are computed once for all of them:

    log T = log(seconds) + s * t,   t ~ Student(dof),   s = log_scale where t > 0, else scale_below

Most models have one scale for both sides. Where data may or may not fit in memory, a job may take
many times as long as predicted, but hardly less than half.

`log_scale` is NaN where the uncertainty is not known. The bounds are then NaN too, and `seconds`
alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.special_functions import stdtr, stdtrit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

DataclassT = TypeVar("DataclassT", bound="DataclassInstance")


def none_if_nan(value: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(value) else float(value)


def take_rows(value: DataclassT, indices: IntArray | BoolArray | slice, *names: str) -> DataclassT:
    """A dataclass with some indices of the named fields selected: arrays, values with a `take`
    of their own, or None."""

    def part(entry: Any) -> Any:
        if entry is None:
            return None
        return entry[indices] if isinstance(entry, np.ndarray) else entry.take(indices)

    return replace(value, **{name: part(getattr(value, name)) for name in names})


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted times of n clusters.

    Args:
        seconds: (n,) the predicted (median) time; NaN where the model has no answer.
        log_scale: (n,) scale of log T above the median; NaN where unknown, 0 where exact.
        dof: (n,) degrees of freedom behind the scales; inf for a normal distribution.
        scale_below: (n,) scale of log T below the median; the same array if symmetric.
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
        """A forecast with its spread broadcast to the shape of `seconds`; symmetric unless
        `scale_below` is given."""
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
        """Whether both sides have the same scale everywhere."""
        return self.scale_below is self.log_scale

    def rescaled(self, change: Callable[[FloatArray], FloatArray]) -> Forecast:
        """The same times with `change` applied to both scales."""
        scale = change(self.log_scale)
        below = scale if self.symmetric else change(self.scale_below)
        return Forecast(self.seconds, scale, self.dof, below)

    def take(self, indices: IntArray | Sequence[int]) -> Forecast:
        """The forecasts at `indices`, in that order; an index may be repeated."""
        at = self.rescaled(lambda scale: scale[indices])
        return Forecast(self.seconds[indices], at.log_scale, self.dof[indices], at.scale_below)

    def with_replaced(self, indices: Sequence[int], other: Forecast) -> Forecast:
        """A copy with the forecasts at `indices` replaced by `other`."""

        def with_other(values: FloatArray, others: FloatArray) -> FloatArray:
            patched = np.array(values)
            patched[list(indices)] = others
            return patched

        scale = with_other(self.log_scale, other.log_scale)
        symmetric = self.symmetric and other.symmetric
        return Forecast(
            with_other(self.seconds, other.seconds),
            scale,
            with_other(self.dof, other.dof),
            scale if symmetric else with_other(self.scale_below, other.scale_below),
        )

    def scale_at(self, p: float) -> FloatArray:
        """(n,) scale of log T on the side of the median on which the quantile `p` lies."""
        return self.log_scale if p >= MEDIAN else self.scale_below

    @property
    def rms_scale(self) -> FloatArray:
        """(n,) one scale for both sides, their root mean square, for normal approximations."""
        if self.symmetric:
            return self.log_scale
        return np.asarray(np.sqrt(0.5 * (self.log_scale**2 + self.scale_below**2)))

    def quantile(self, p: float) -> FloatArray:
        """(n,) the time not exceeded with probability `p`; NaN where unknown, inf where it is
        larger than a number can be."""
        with np.errstate(over="ignore"):
            times = np.exp(self.scale_at(p) * student_quantile(p, self.dof))
            return np.asarray(self.seconds * times)

    def quantile_or_median(self, p: float) -> FloatArray:
        """(n,) the quantile at probability `p`, the time where there is no interval: the
        deadline that is met with that probability."""
        quantile = self.quantile(p)
        return np.asarray(np.where(np.isnan(quantile), self.seconds, quantile))

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """(n,) low and (n,) high of the central interval at `confidence`; NaN where unknown, also
        where a bound is larger than a number can be."""
        tail = (1.0 - confidence) / 2.0
        low, high = self.quantile(tail), self.quantile(1.0 - tail)
        return _nan_if_infinite(low), _nan_if_infinite(high)

    def p_within(self, deadline_seconds: float) -> FloatArray:
        """(n,) P(T <= deadline); NaN where unknown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.log(deadline_seconds / self.seconds)
            scale = np.where(distance >= 0.0, self.log_scale, self.scale_below)
            standard = distance / scale
        p = stdtr(np.minimum(self.dof, LARGE_DOF), standard)
        exact = np.where(distance >= 0.0, 1.0, 0.0)
        return np.asarray(np.where(scale == 0.0, exact, p))

    def widened(self, log_scale: FloatArray | float) -> Forecast:
        """The same times with an independent normal error of `log_scale` added.

        Scales add in quadrature, and so do the bounds at `MATCHED_PROBABILITY`. Their ratio gives
        the degrees of freedom, so that no interval up to `MATCHED_PROBABILITY` becomes narrower as
        uncertainty is added. (Matching moments, as Satterthwaite does, would shorten the tails:
        Student's t with few degrees of freedom has hardly any moments.) Both sides get the degrees
        of freedom of the wider one; the bound of the narrower one still adds in quadrature.
        """
        students = student_quantile(MATCHED_PROBABILITY, self.dof)
        normal = student_quantile(MATCHED_PROBABILITY, np.asarray(np.inf)) * log_scale
        widest = np.maximum(self.log_scale, self.scale_below)
        scale = np.hypot(widest, log_scale)
        bound = np.hypot(students * widest, normal)
        added = np.broadcast_to(np.asarray(log_scale) > 0.0, np.shape(scale))
        with np.errstate(divide="ignore", invalid="ignore"):
            dof = np.where(added, _dof_of_quantiles(bound / scale), self.dof)
            dof = np.where(np.isnan(dof), np.inf, dof)
        if self.symmetric:
            return Forecast.of(self.seconds, scale, dof)

        def widened_scale(side: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.hypot(students * side, normal) / bound
            return np.asarray(np.where(side == widest, scale, scale * share))

        return replace(self.rescaled(widened_scale), dof=dof)


def _nan_if_infinite(values: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(values), values, np.nan))


MEDIAN = 0.5

MATCHED_PROBABILITY = 0.995
"""Probability below the upper bound of the central 99 % interval."""

LARGE_DOF = 1e6
"""Stands for infinity: SciPy's Student functions need a finite number."""


def student_quantile(p: float, dof: FloatArray) -> FloatArray:
    """(n,) quantile of Student's t at probability `p`; computed once per distinct dof."""
    dof = np.minimum(dof, LARGE_DOF)
    if dof.size == 1:
        return np.asarray(stdtrit(dof, p), dtype=np.float64)
    distinct, inverse = np.unique(dof, return_inverse=True)
    quantiles = np.asarray(stdtrit(distinct, p), dtype=np.float64)
    return np.asarray(quantiles[inverse].reshape(np.shape(dof)))


def _dof_of_quantiles(quantiles: FloatArray) -> FloatArray:
    """(n,) degrees of freedom, at least 1, of Student's t with these quantiles at
    `MATCHED_PROBABILITY`."""
    inverse, logs = _matched_quantiles()
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.interp(np.log(quantiles), logs, inverse))


@lru_cache(maxsize=1)
def _matched_quantiles() -> tuple[FloatArray, FloatArray]:
    """(4001,) inverse degrees of freedom from 0 to 1, and (4001,) logarithms of their quantiles at
    `MATCHED_PROBABILITY`."""
    inverse = np.linspace(0.0, 1.0, 4001)
    with np.errstate(divide="ignore"):
        return inverse, np.log(student_quantile(MATCHED_PROBABILITY, 1.0 / inverse))
