"""Time on one type of machine as a curve over machines, size and iterations; a sum of terms fitted
to runs by non-negative least squares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Workload
from engine.fitting import UNKNOWN_SPREAD, Fit, Spread, fit_nonnegative
from engine.forecast import FloatArray
from engine.models.curves.applicability import applicability
from engine.models.curves.machines import MachineRuns
from engine.models.curves.measured_range import iteration_notice
from engine.models.curves.terms import Term, columns
from engine.notices import Notice

SMALLEST_SECONDS = 1e-3
"""No run is predicted to take less: where all terms in use vanish, the sum of terms is 0."""


class TypeCurve(ABC):
    """Time as a function of machines, size and iterations on one type of machine.

    Attributes:
        runs: what the curve was fitted to (no rows for a published profile).
        spread: of log time within the measured range.
    """

    runs: MachineRuns
    spread: Spread = UNKNOWN_SPREAD

    @abstractmethod
    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        """(n,) seconds of each phase on n numbers of machines."""

    def phases_at_speed(
        self,
        machines: FloatArray,
        speed: FloatArray,
        *,
        size: float | None,
        iterations: float | None,
    ) -> Mapping[str, FloatArray]:
        """(n,) seconds of each phase on n numbers of machines whose cores are `speed` times as
        fast: shared work as on so many times as many machines, costs that grow with the machines
        as on their actual number."""
        plain = self.phases(machines, size=size, iterations=iterations)
        if (speed == 1.0).all():
            return plain
        more = self.phases(machines * speed, size=size, iterations=iterations)
        faster = speed > 1.0
        return {
            name: np.where(
                faster, np.minimum(plain[name], more[name]), np.maximum(plain[name], more[name])
            )
            for name in plain
        }

    def seconds(
        self,
        machines: FloatArray,
        speed: FloatArray | None = None,
        *,
        size: float | None,
        iterations: float | None,
    ) -> FloatArray:
        """(n,) total seconds; without `speed` on cores as fast as the measured ones."""
        speed = np.ones_like(machines) if speed is None else speed
        parts = self.phases_at_speed(machines, speed, size=size, iterations=iterations)
        return np.maximum(sum(parts.values(), np.zeros_like(machines)), SMALLEST_SECONDS)

    @property
    def fitted(self) -> FittedCurve | None:
        """The fit to runs that is used; None where the prediction is from no single fit."""
        return None

    def iteration_log_scale(self, iterations: float | None) -> float:
        """Standard deviation of log time for iterations that no run did, within the measured
        range."""
        return 0.0

    @abstractmethod
    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        """Warnings about this curve for this workload."""


@dataclass(frozen=True, eq=False)
class FittedCurve(TypeCurve):
    """A curve of p non-negative terms fitted to runs.

    Args:
        features: (machines (n,), size, iterations) -> (n, p); all three broadcast.
        names: the phase of each term.
        fit: coefficients and left-out predictions.
        iterations_in_terms: whether the terms separate what is done once from what every iteration
            does.
    """

    runs: MachineRuns
    features: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    names: Sequence[str]
    fit: Fit
    spread: Spread
    fit_notices: tuple[Notice, ...] = ()
    iterations_in_terms: bool = False

    @property
    def fitted(self) -> FittedCurve:
        return self

    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        like = np.ones_like(machines)
        rows = self.features(
            machines,
            like * (1.0 if size is None else size),
            like * (np.nan if iterations is None else iterations),
        )
        parts: dict[str, FloatArray] = {}
        for index, name in enumerate(self.names):
            coefficient = self.fit.coefficients[index]
            if coefficient > 0.0:
                parts[name] = parts.get(name, 0.0 * machines) + coefficient * rows[:, index]
        return parts

    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        observed = np.unique(self.runs.iterations[~np.isnan(self.runs.iterations)])
        wanted = workload.iterations
        if not observed.size or wanted is None or np.isclose(observed, wanted).any():
            return self.fit_notices
        if self.iterations_in_terms and observed[0] <= wanted <= observed[-1]:
            return self.fit_notices
        return (*self.fit_notices, iteration_notice(wanted, observed))


def every_iteration(terms: FloatArray, iterations: FloatArray) -> FloatArray:
    """(n, p) terms times the (n,) iterations where the runs have them: training runs may do a share
    of them, and predictions scale linearly (Ernest 6.2)."""
    return terms * np.where(np.isnan(iterations), 1.0, iterations)[:, None]


def once_and_every_iteration(terms: FloatArray, iterations: FloatArray) -> FloatArray:
    """(n, 2 p) the terms once per run, and once per iteration: for runs of several numbers of
    iterations, which identify what is done once and what every time."""
    return np.concatenate((terms, terms * iterations[:, None]), axis=1)


@dataclass(frozen=True)
class Features:
    """The feature matrix of runs: p terms at a scale relative to the largest run.

    Args:
        largest_size: of a run.
        repeated: how the (n, p) terms depend on the (n,) iterations.
    """

    terms: tuple[Term, ...]
    largest_size: float
    repeated: Callable[[FloatArray, FloatArray], FloatArray] = every_iteration

    def __call__(
        self, machines: FloatArray, size: FloatArray, iterations: FloatArray
    ) -> FloatArray:
        """(n, .) features of runs on (n,) machines."""
        return self.repeated(columns(self.terms, machines, size / self.largest_size), iterations)


def fit_terms(
    terms: tuple[Term, ...], runs: MachineRuns, *, relative: bool, model: str, steepest: float
) -> FittedCurve:
    """All of the terms, with coefficients of at least 0.

    Args:
        relative: least relative error, not absolute.
        model: whose name notices tell; steepest: see `applicability`.
    """
    features = Features(terms, float(runs.size.max()))
    rows = features(runs.machines, runs.size, runs.iterations)
    fit = fit_nonnegative(rows, runs.seconds, relative=relative, groups=runs.configurations)
    return FittedCurve(
        runs=runs,
        features=features,
        names=[term.phase for term in terms],
        fit=fit,
        spread=fit.spread,
        fit_notices=applicability(runs, fit, model=model, steepest=steepest),
    )
