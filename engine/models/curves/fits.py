"""A sum of terms fitted to runs by non-negative least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.fitting import fit_nonnegative
from engine.forecast import FloatArray
from engine.models.curves.applicability import applicability
from engine.models.curves.fitted_curve import FittedCurve
from engine.models.curves.machines import MachineRuns
from engine.models.curves.terms import Term, columns


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
