"""sparkplan: the default model. Logs are replayed; run times alone get physical terms.

Which evidence there is decides who answers; where two can, the one that predicts left-out runs
better does (docs/models/sparkplan.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from engine.errors import EngineError, ModelDoesNotFit
from engine.models.base import FittedModel, Model
from engine.models.logs_by_parameters import LogsByParameters
from engine.models.physical import fit_table
from engine.models.replay_model import fit_replays
from engine.models.replay_priors import NOISE
from engine.models.workloads import logs_of
from engine.profile import Notice, Profile

TERMS_FIT = 0.20
"""Left-out error above which terms are no better evidence than a replay that is off as much."""

TERMS_BETTER_BY = 0.8
"""Physical terms replace the replay of logs when their left-out error is below this share of its
error, and by more than noise: a replay knows why, and extrapolates better than it interpolates."""


class Sparkplan(Model):
    """Replays the stages of logs; fits physical terms where there are only run times."""

    name = "sparkplan"
    summary = "stage replay of logs, physical terms for run times, chosen by left-out error"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs one run, or a job profile of OptEx."""
        if not profile.runs:
            return _from_job_profile(profile, models)
        if not logs_of(profile.runs):
            return fit_table(profile)
        fit_logs = partial(_fit_logs, models=models)
        if any(run.workload.parameters for run in profile.runs):
            return LogsByParameters.of(profile, fit_logs, fit_table)
        return fit_logs(profile)


def _fit_logs(profile: Profile, models: Mapping[str, Model]) -> FittedModel:
    """The runs of a profile that share their parameters: logs replayed, or physical terms."""
    fitted = fit_replays(profile)
    terms = _with_terms(profile, models)
    if terms is None or fitted.validation is None or terms.validation is None:
        return fitted
    if len(terms.validation.actual_seconds) < len(fitted.validation.actual_seconds):
        return fitted
    ours, theirs = fitted.validation, terms.validation
    error = ours.mean_relative_error
    limit = min(TERMS_BETTER_BY * error, error - NOISE, TERMS_FIT)
    return terms if theirs.mean_relative_error < limit else fitted


def _with_terms(profile: Profile, models: Mapping[str, Model]) -> FittedModel | None:
    try:
        return replace(models["ernest-extended"].fit(profile, models=models), model="sparkplan")
    except EngineError:
        return None


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
