"""Iterations that no run did, for curves whose terms do not tell what is done only once.

Ernest trains on a share of the iterations and scales the time linearly (6.2): so it is with runs of
one number of iterations. Where several numbers were run, each with enough runs for a fit, linear
means the straight line through two of them; scaled from all runs together, a job that spends a
minute on its start would take less time for more iterations wherever a number that was run lies
between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.cluster import Workload
from engine.fitting import Spread
from engine.forecast import FloatArray
from engine.models.fitted_curve import Curve, FittedCurve
from engine.models.machines import (
    MINIMUM_CONFIGURATIONS,
    SAME,
    MachineRuns,
    distinct_configurations,
)
from engine.models.measured_range import SPREAD_PER_DOUBLING
from engine.profile import Notice

FitCurve = Callable[[MachineRuns], FittedCurve]


def along_iterations(fit_curve: FitCurve, runs: MachineRuns, wanted: float) -> Curve:
    """The curve of a family of runs for a number of iterations that none of them did."""
    pooled = fit_curve(runs)
    if pooled.iterations_in_terms:
        return pooled
    fits = {}
    for count in _levels(runs.iterations):
        same = runs.subset(np.abs(runs.iterations / count - 1.0) < SAME)
        if distinct_configurations(same) >= MINIMUM_CONFIGURATIONS:
            fits[count] = fit_curve(same)
    if len(fits) < 2:
        return pooled
    counts = sorted(fits)
    place = min(max(int(np.searchsorted(counts, wanted)), 1), len(counts) - 1)
    low, high = counts[place - 1], counts[place]
    spread = max(fits[low].spread, fits[high].spread, key=lambda known: known.log_scale)
    return Line(fits[low], fits[high], low, high, runs, spread)


def _levels(iterations: FloatArray) -> list[float]:
    """The numbers of iterations that were run, nearly equal ones once."""
    found: list[float] = []
    for count in np.unique(iterations).tolist():
        if not found or count / found[-1] - 1.0 >= SAME:
            found.append(count)
    return found


@dataclass(frozen=True, eq=False)
class Line(Curve):
    """The straight line in iterations through the curves of two numbers of them.

    It does not fall, and beyond the two it is never steeper than in proportion to the iterations,
    which is the paper's scaling: what is done once takes no less than nothing.

    Args:
        low, high: curves of runs that did `fewer` and `more` iterations.
        runs: all of the family.
        spread: the wider one of the two.
    """

    low: FittedCurve
    high: FittedCurve
    fewer: float
    more: float
    runs: MachineRuns
    spread: Spread

    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        wanted = self.more if iterations is None else iterations
        first = self.low.seconds(machines, size=size, iterations=self.fewer)
        last = np.maximum(first, self.high.seconds(machines, size=size, iterations=self.more))
        slope = (last - first) / (self.more - self.fewer)
        near, count, seconds = self.high, self.more, last
        if wanted < self.more:
            near, count, seconds = self.low, self.fewer, first
        if not self.fewer <= wanted <= self.more:
            slope = np.minimum(slope, seconds / count)
        total = seconds + (wanted - count) * slope
        parts = near.phases(machines, size=size, iterations=count)
        whole = sum(parts.values(), np.zeros_like(machines))
        factor = np.divide(total, whole, out=np.ones_like(total), where=whole > 0.0)
        return {name: part * factor for name, part in parts.items()}

    def doubt_of(self, iterations: float | None) -> float:
        """No left-out run has tested the line: as beyond the measured range, per doubling from the
        nearer end of it."""
        if iterations is None or not self.fewer < iterations < self.more:
            return 0.0
        away = min(math.log2(iterations / self.fewer), math.log2(self.more / iterations))
        return SPREAD_PER_DOUBLING * away

    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        found = (*self.low.fit_notices, *self.high.fit_notices)
        wanted = workload.iterations
        if wanted is None or self.fewer <= wanted <= self.more:
            return found
        beyond = Notice(
            "extrapolating-iterations",
            f"no run has {wanted:g} iterations: the time follows the straight line through those "
            f"of {self.fewer:g} and {self.more:g}",
            f"add runs of {wanted:g} iterations",
        )
        return (*found, beyond)
