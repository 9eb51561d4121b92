"""A sum of terms fitted to runs by non-negative least squares."""

from __future__ import annotations

from functools import partial

import numpy as np

from engine.fitting import fit_nonnegative
from engine.forecast import FloatArray
from engine.models.curves.applicability import applicability
from engine.models.curves.fitted_curve import FittedCurve
from engine.models.curves.machines import MachineRuns
from engine.models.curves.terms import Term, columns


def scaled_terms(
    terms: tuple[Term, ...],
    largest: float,
    machines: FloatArray,
    size: FloatArray,
    iterations: FloatArray,
) -> FloatArray:
    """(n, p) terms at scale = size / largest, each times the iterations where the runs have them:
    training runs may do a share of them, and predictions scale linearly (Ernest 6.2)."""
    times = np.where(np.isnan(iterations), 1.0, iterations)
    return columns(terms, machines, size / largest) * times[:, None]


def fit_terms(
    terms: tuple[Term, ...], runs: MachineRuns, *, relative: bool, model: str, steepest: float
) -> FittedCurve:
    """All of the terms, with coefficients of at least 0.

    Args:
        relative: least relative error, not absolute.
        model: whose name notices tell; steepest: see `applicability`.
    """
    features = partial(scaled_terms, terms, float(runs.size.max()))
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
