"""sparkplan, the default model: replays logs, or averages physical laws over run times alone.

The runs of the profile decide which of the two is used. Where both can be fitted, it is the one
with the smaller leave-one-out error (docs/models/sparkplan.md). Either is imported where it is
used: most profiles need one of the two, and importing both takes a fifth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.errors import EngineError, ModelDoesNotFit
from engine.fitting import Spread
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.models.logs_by_parameters import ModelByParameters, NearestLogs
from engine.models.model import Model
from engine.models.replay.priors import LOG_NOISE, PRIOR_DOF
from engine.models.workloads import logs_of
from engine.notices import Notice
from engine.profile import Profile, Run

TERMS_FIT = 0.20
"""With a larger left-out error, terms are no better evidence than a replay that is as far off."""

TERMS_BETTER_BY = 0.8
"""Physical terms replace the replay of logs if their left-out error is below this share of its own,
by more than noise. A replay knows the causes, and extrapolates better than it interpolates."""

SLOTS_FOR_TERMS = 3
"""Logs need this many different numbers of slots for terms to replace their replays. With two,
growing terms fit any difference, and then predict that faster or more machines take longer."""

TERMS_PRIOR = Spread(log_scale=0.15, dof=PRIOR_DOF)
"""Prior spread of log time around physical terms, if too few left-out runs measure it. Terms fitted
to three runs are off by as much (docs/models/sparkplan_rules_logs.md)."""


class Sparkplan(Model):
    """Replays the stages of logs; averages physical laws where there are only run times."""

    name = "sparkplan"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs one run, or a job profile of OptEx."""
        if not profile.runs:
            return _from_job_profile(profile, models)
        if not logs_of(profile.runs):
            return _fit_table(profile)
        fit_logs = partial(_fit_logs, models=models)
        if any(run.workload.parameters for run in profile.runs):
            nearest = NearestLogs(profile, fit_logs, _fit_table)
            return ModelByParameters.of(self.name, profile, nearest.fit_of)
        return fit_logs(profile)


def _fit_table(profile: Profile) -> FittedModel:
    """Physical laws of run times, averaged."""
    from engine.models.laws.model import fit_table

    return fit_table(profile)


def _fit_logs(profile: Profile, models: Mapping[str, Model]) -> FittedModel:
    """Fits runs that share their parameters: replays of their logs, or physical terms where these
    are clearly better. `bare` runs are those without stages."""
    from engine.models.replay.fitting import fit_replays

    logs = {id(run) for run in logs_of(profile.runs)}
    bare = [run for run in profile.runs if id(run) not in logs]
    fitted = fit_replays(profile)
    terms = _table(profile) if bare else _with_terms(profile, models)
    if terms is not None and _better(terms, fitted, bare):
        return terms
    return _without(bare, fitted) if bare else fitted


def _better(terms: FittedModel, fitted: FittedModel, bare: Sequence[Run]) -> bool:
    """Whether physical terms have a clearly smaller mean leave-one-out error than replays."""
    theirs, ours = terms.validation, _errors(fitted, bare)
    if theirs is None or not len(ours):
        return False
    if not bare and len(theirs.actual_seconds) < len(ours):
        return False
    error = float(ours.mean())
    limit = min(TERMS_BETTER_BY * error, error - LOG_NOISE, TERMS_FIT)
    return theirs.mean_relative_error < limit


def _errors(fitted: FittedModel, bare: Sequence[Run]) -> FloatArray:
    """(n,) absolute relative errors of replays on left-out logs, and on runs without stages, which
    they are never fitted to, as far as they can predict these."""
    errors = np.zeros(0)
    if fitted.validation is not None:
        actual = np.asarray(fitted.validation.actual_seconds)
        errors = np.abs(np.asarray(fitted.validation.predicted_seconds) / actual - 1.0)
    if not bare:
        return errors
    try:
        predicted = fitted.predict_many(
            clusters=[run.cluster for run in bare], workloads=[run.workload for run in bare]
        )
    except EngineError:
        return errors
    bare_errors = np.abs(predicted.seconds / np.asarray([run.seconds for run in bare]) - 1.0)
    return np.concatenate((errors, bare_errors[np.isfinite(bare_errors)]))


def _without(bare: Sequence[Run], fitted: FittedModel) -> FittedModel:
    one = len(bare) == 1
    notice = Notice(
        "runs-not-used",
        f"{len(bare)} run{'' if one else 's'} without stages take{'s' if one else ''} no part: the "
        "logs' stages answer, and run times alone do not predict clearly better",
        "add their event logs, or leave the logs out to plan from run times",
    )
    return replace(fitted, fit_notices=(*fitted.fit_notices, notice))


def _table(profile: Profile) -> FittedModel | None:
    try:
        return _fit_table(profile)
    except EngineError:
        return None


def _with_terms(profile: Profile, models: Mapping[str, Model]) -> FittedModel | None:
    """Terms fitted to the times of logs, with an interval like that of a replay."""
    if len({run.cluster.slots for run in logs_of(profile.runs)}) < SLOTS_FOR_TERMS:
        return None
    from engine.models.curves.model import CurvesModel

    try:
        terms = models["ernest-extended"].fit(profile, models=models)
    except EngineError:
        return None
    if isinstance(terms, CurvesModel):
        terms = replace(terms, prior=TERMS_PRIOR)
    return replace(terms, model="sparkplan")


def _from_job_profile(profile: Profile, models: Mapping[str, Model]) -> FittedModel:
    if not profile.optex:
        raise ModelDoesNotFit(
            f"{profile.name} holds neither runs nor a job profile",
            remedy="add an event log or a run table",
        )
    fitted = models["optex"].fit(profile, models=models)
    notice = Notice(
        "delegated",
        "the profile holds no run, only a job profile of OptEx: its closed form answers",
        "add an event log for an interval and stages",
    )
    return replace(fitted, model="sparkplan", fit_notices=(*fitted.fit_notices, notice))
