"""Time as a function of the iterations, interpolated between curves that are each fitted to the
runs of one number of iterations.

Ernest trains on a share of the iterations and scales the time linearly (6.2): so it is with runs of
one number of iterations. Where several numbers were run, each with enough runs for a fit, linear
means straight lines through them; scaled from all runs together, a job that spends a minute on its
start would take less time for more iterations wherever a number that was run lies between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Workload
from engine.fitting import PARSIMONY, Spread, isotonic_regression
from engine.forecast import FloatArray
from engine.models.curves.fitted_curve import FittedCurve, TypeCurve
from engine.models.curves.machines import (
    MINIMUM_CONFIGURATIONS,
    MachineRuns,
    distinct_configurations,
)
from engine.models.curves.measured_range import SPREAD_PER_DOUBLING
from engine.models.workloads import SAME
from engine.notices import Notice

FitCurve = Callable[[MachineRuns], FittedCurve]


def curve_for_iterations(
    fit_curve: FitCurve, runs: MachineRuns, wanted: float, *, own: FittedCurve | None = None
) -> TypeCurve:
    """The curve of one table of runs for a number of iterations.

    Args:
        runs: the table, of any numbers of iterations.
        own: the fit to the runs that did as many as wanted, where they make one.
    """
    pooled = fit_curve(runs)
    fits = _fits_by_count(fit_curve, runs)
    if pooled.iterations_in_terms and not _separate_fits_predict_better(fits, pooled):
        return pooled
    same_count = next((count for count in fits if abs(wanted / count - 1.0) < SAME), None)
    if same_count is not None:
        own = fits[same_count] = own or fits[same_count]
    if len(fits) < 2:
        return own or pooled
    if own is not None:
        return PiecewiseLinearCurve(
            tuple(fits.values()), tuple(fits), wanted, own, own.runs, own.spread
        )
    ends = [list(fits.values())[index].spread for index in _bracket(list(fits), wanted)]
    spread = max(ends, key=lambda known: known.log_scale)
    return PiecewiseLinearCurve(tuple(fits.values()), tuple(fits), wanted, None, runs, spread)


def _bracket(counts: Sequence[float], wanted: float) -> tuple[int, int]:
    """Indices of the two counts whose line is used for the wanted one: those around it, or the
    nearest two."""
    index = int(np.searchsorted(counts, wanted))
    high = min(max(index, 1), len(counts) - 1)
    return high - 1, high


def _fits_by_count(fit_curve: FitCurve, runs: MachineRuns) -> dict[float, FittedCurve]:
    """The fits to the runs of each number of iterations that has enough configurations,
    ascending."""
    fits = {}
    for count in _distinct_counts(runs.iterations):
        same = runs.take(np.abs(runs.iterations / count - 1.0) < SAME)
        if distinct_configurations(same) >= MINIMUM_CONFIGURATIONS:
            fits[count] = fit_curve(same)
    return fits


def _distinct_counts(iterations: FloatArray) -> list[float]:
    """The numbers of iterations that were run, nearly equal ones once."""
    distinct: list[float] = []
    for count in np.unique(iterations).tolist():
        if not distinct or count / distinct[-1] - 1.0 >= SAME:
            distinct.append(count)
    return distinct


def _separate_fits_predict_better(fits: Mapping[float, FittedCurve], pooled: FittedCurve) -> bool:
    """Whether separate fits to each number of iterations have a clearly lower left-out error
    than terms of the iterations that are fitted to all runs."""
    apart = _left_out_error(list(fits.values()))
    return apart < (1.0 - PARSIMONY) * _left_out_error([pooled])


def _left_out_error(fits: Sequence[FittedCurve]) -> float:
    """Mean relative error over the runs that could be left out, NaN for none."""
    errors = [np.abs(own.fit.left_out_seconds / own.fit.seconds - 1.0) for own in fits]
    known = np.concatenate([own[np.isfinite(own)] for own in errors] or [np.empty(0)])
    return float(known.mean()) if known.size else math.nan


@dataclass(frozen=True, eq=False)
class PiecewiseLinearCurve(TypeCurve):
    """Straight lines in iterations through the curves of k >= 2 numbers of them, made monotone.

    Monotone by isotonic regression: where a curve lies below one of fewer iterations, both are
    replaced by their weighted mean. Beyond the numbers that were run the lines are never steeper
    than in proportion to the iterations, which is the paper's scaling: what is done once takes no
    less than nothing.

    Args:
        fits: the curves, of runs that did as many iterations as `counts` says, ascending.
        own: the fit to runs that did as many; None where none is.
        runs, spread: those of that fit; without one, all runs, and the wider spread of the two
            curves between which the line goes.
    """

    fits: tuple[FittedCurve, ...]
    counts: tuple[float, ...]
    wanted: float
    own: FittedCurve | None
    runs: MachineRuns
    spread: Spread

    @property
    def fitted(self) -> FittedCurve | None:
        return self.own

    @property
    def _bracket(self) -> tuple[int, int]:
        """Indices of the two curves whose line gives the time of the wanted iterations."""
        return _bracket(self.counts, self.wanted)

    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        seconds = [
            fit.seconds(machines, size=size, iterations=count)
            for fit, count in zip(self.fits, self.counts, strict=True)
        ]
        weights = np.asarray([float(len(fit.runs)) for fit in self.fits])
        monotone, (low, high) = isotonic_regression(np.stack(seconds), weights), self._bracket
        fewer, more = self.counts[low], self.counts[high]
        near = high if self.wanted >= more else low
        slope = (monotone[high] - monotone[low]) / (more - fewer)
        if not fewer <= self.wanted <= more:
            slope = np.minimum(slope, monotone[near] / self.counts[near])
        total = monotone[near] + (self.wanted - self.counts[near]) * slope
        parts = self.fits[near].phases(machines, size=size, iterations=self.counts[near])
        whole = sum(parts.values(), np.zeros_like(machines))
        factor = np.divide(total, whole, out=np.ones_like(total), where=whole > 0.0)
        return {name: part * factor for name, part in parts.items()}

    def iteration_log_scale(self, iterations: float | None) -> float:
        """No left-out run has tested the line: as beyond the measured range, per doubling from
        the nearer end of it."""
        fewer, more = (self.counts[index] for index in self._bracket)
        if self.own is not None or not fewer < self.wanted < more:
            return 0.0
        away = min(math.log2(self.wanted / fewer), math.log2(more / self.wanted))
        return SPREAD_PER_DOUBLING * away

    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        if self.own is not None:
            return self.own.notices(workload)
        low, high = self._bracket
        notices = (*self.fits[low].fit_notices, *self.fits[high].fit_notices)
        if self.counts[low] <= self.wanted <= self.counts[high]:
            return notices
        beyond = Notice(
            "extrapolating-iterations",
            f"no run has {self.wanted:g} iterations: the time follows the straight line through "
            f"those of {self.counts[low]:g} and {self.counts[high]:g}",
            f"add runs of {self.wanted:g} iterations",
        )
        return (*notices, beyond)
