"""Ernest: non-negative least squares over machines and scale.

Venkataraman et al., "Ernest: Efficient Performance Prediction for Large-Scale Advanced Analytics",
NSDI 2016. `Ernest` is the paper's model; `ErnestExtended` adds terms as the paper suggests (3.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np

from engine.errors import ModelDoesNotFit
from engine.fitting import fit_candidates, select_candidate
from engine.models.base import FittedModel
from engine.models.curves.applicability import applicability
from engine.models.curves.fitted_curve import (
    Features,
    FittedCurve,
    every_iteration,
    fit_terms,
    once_and_every_iteration,
)
from engine.models.curves.machines import MachineRuns
from engine.models.curves.model import CurvesModel
from engine.models.curves.terms import ERNEST_TERMS, EXTRA_TERMS, SERIAL_DATA, SQUARE_ROOT
from engine.models.model import Model
from engine.profile import Profile

DEFAULT_TERMS = (SQUARE_ROOT, SERIAL_DATA)
"""Extra terms of `ErnestExtended` that are in by default: both are bounded by what was measured
when the cluster grows, unlike terms that steepen or flatten the parallel part."""

MINIMUM_COUNTS_FOR_SELECTION = 4
"""Distinct numbers of machines from which on leave-one-out can tell the shapes of terms apart."""


class Ernest(Model):
    """The paper's model: 3.1 Eq. 1 fitted by non-negative least squares on absolute error."""

    name = "ernest"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs runs in three configurations of machines and scale, better seven."""
        fit_curve = partial(fit_terms, ERNEST_TERMS, relative=False, model=self.name, steepest=1.0)
        return fitted(self.name, profile, fit_curve)


class ErnestExtended(Model):
    """Ernest with further terms, on relative error, the terms chosen by leave-one-out."""

    name = "ernest-extended"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs runs in three configurations of machines and scale."""
        return fitted(self.name, profile, fit_extended)


def fitted(
    name: str, profile: Profile, fit_curve: Callable[[MachineRuns], FittedCurve]
) -> FittedModel:
    """The model fitted to the runs that share the reference workload's parameters; those of other
    parameters are fitted when they are asked for."""
    if not profile.runs:
        raise ModelDoesNotFit(
            f"{name} needs runs, and {profile.name} has none",
            remedy="add event logs or a run table, or use --model optex",
        )
    return CurvesModel(name, profile, fit_curve).validated()


def fit_extended(runs: MachineRuns) -> FittedCurve:
    """`DEFAULT_TERMS`, or the set of terms that predicts left-out runs clearly better."""
    terms = ERNEST_TERMS + EXTRA_TERMS
    affine = len(np.unique(runs.iterations)) > 1
    repeated = once_and_every_iteration if affine else every_iteration
    features, repeat = Features(terms, float(runs.size.max()), repeated), 2 if affine else 1
    candidates = np.asarray([mask * repeat for mask in candidate_sets(runs)])
    fits = fit_candidates(
        features(runs.machines, runs.size, runs.iterations),
        runs.seconds,
        candidates,
        relative=True,
        groups=runs.configurations,
    )
    fit = fits[select_candidate(fits, candidates)]
    return FittedCurve(
        runs=runs,
        features=features,
        names=[term.phase for term in terms] * repeat,
        fit=fit,
        spread=fit.spread,
        fit_notices=applicability(runs, fit, model="ernest-extended", steepest=2.0),
        iterations_in_terms=affine,
    )


def candidate_sets(runs: MachineRuns) -> list[tuple[bool, ...]]:
    """Sets of terms as masks over `ERNEST_TERMS` + `EXTRA_TERMS`, the default first.

    Ernest's four terms are in all. With fewer than `MINIMUM_COUNTS_FOR_SELECTION` numbers of
    machines the default is the only one: three shapes over three points always fit.
    """
    base = (True,) * len(ERNEST_TERMS)
    default = tuple(term in DEFAULT_TERMS for term in EXTRA_TERMS)
    extras = [default]
    if len(np.unique(runs.machines)) >= MINIMUM_COUNTS_FOR_SELECTION:
        extras += [mask for mask in product((False, True), repeat=len(default)) if mask != default]
    return [base + mask for mask in extras]
