"""Comparison of all models on one question: the prediction and the leave-one-out errors of each,
or why it has none. The figures are those of OptEx (VI-D and VI-F of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.batch import with_shape_and_layout
from engine.choosing.owned import recommend_owned
from engine.choosing.recommendation import Recommendation
from engine.cluster import Cluster, Workload
from engine.errors import EngineError
from engine.models import MODELS_BY_NAME
from engine.models.base import FittedModel, LeaveOneOut, Prediction
from engine.models.model import Model
from engine.models.optex.model import deadline_satisfaction
from engine.profile import Profile, Run


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run and its prediction from the others.

    Args:
        run: None where the profile holds no run of that time.
    """

    run: Run | None
    estimated_seconds: float
    recorded_seconds: float

    @property
    def relative_error(self) -> float:
        """RE = (T_Est - T_Rec) / T_Rec (OptEx VI-D), signed."""
        return (self.estimated_seconds - self.recorded_seconds) / self.recorded_seconds


@dataclass(frozen=True, slots=True)
class DeadlineRecord:
    """How the left-out runs compare with a deadline.

    Args:
        cases: runs predicted to end before the deadline (T_Est < SLO, OptEx V).
        share: the share of these that kept it (the statistic S, OptEx VI-F); None without cases.
    """

    cases: int
    share: float | None


@dataclass(frozen=True, eq=False)
class FitOutcome:
    """A model fitted to a profile, or in one line why it could not be."""

    model: str
    fitted: FittedModel | None
    why_not: str = ""

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The prediction and the measured time of each run that could be left out."""
        if self.fitted is None or self.fitted.validation is None:
            return ()
        return left_out_runs(self.fitted.profile, self.fitted.validation)

    @property
    def mean_relative_error(self) -> float | None:
        """delta over the left-out runs (OptEx VI-D); None where none could be left out."""
        validation = self.fitted.validation if self.fitted else None
        return None if validation is None else validation.mean_relative_error

    def deadline_record(self, deadline_seconds: float) -> DeadlineRecord | None:
        """The record of a deadline; None without left-out runs."""
        pairs = self.left_out
        if not pairs:
            return None
        cases = [pair for pair in pairs if pair.estimated_seconds < deadline_seconds]
        if not cases:
            return DeadlineRecord(0, None)
        recorded = np.asarray([pair.recorded_seconds for pair in cases])
        deadlines = np.full(len(cases), deadline_seconds)
        return DeadlineRecord(len(cases), deadline_satisfaction(recorded, deadlines))


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """The answer of a model to one question.

    Args:
        prediction: None if it has none; `why_not` then says why, in one line.
        runs_used: how many runs it was fitted to; None if it has no prediction.
        executors: number and size of executors with the least resource time for the same workload,
            if the model estimates how much memory a job needs (SimCost, Table 2).
        why_no_executors: why such a model has none after all, in one line.
    """

    outcome: FitOutcome
    prediction: Prediction | None
    why_not: str = ""
    runs_used: int | None = None
    executors: Recommendation | None = None
    why_no_executors: str = ""

    @property
    def model(self) -> str:
        return self.outcome.model


def fit_outcome(model: Model, profile: Profile) -> FitOutcome:
    """A model fitted to a profile; any failure becomes one line of the comparison."""
    try:
        fitted = model.fit(profile, models=MODELS_BY_NAME)
    except Exception as error:
        return FitOutcome(model.name, None, in_one_line(error))
    return FitOutcome(model.name, fitted)


def ask(
    outcome: FitOutcome, *, cluster: Cluster, workload: Workload | None, confidence: float = 0.9
) -> ModelAnswer:
    """The answer of a fitted model to one question, or why it has none. Its `outcome` is that of
    the fit that answers, with the errors on its left-out runs."""
    if outcome.fitted is None:
        return ModelAnswer(outcome, None, outcome.why_not)
    workload = workload or outcome.fitted.profile.reference_workload
    try:
        fitted = outcome.fitted.answering(workload)
        prediction = fitted.predict(cluster=cluster, workload=workload, confidence=confidence)
    except Exception as error:
        return ModelAnswer(outcome, None, in_one_line(error))
    outcome, runs_used = replace(outcome, fitted=fitted), fitted.runs_used(workload)
    try:
        executors = _executors_of_least_resource_time(fitted, cluster, workload)
    except Exception as error:
        why = in_one_line(error)
        return ModelAnswer(outcome, prediction, runs_used=runs_used, why_no_executors=why)
    return ModelAnswer(outcome, prediction, runs_used=runs_used, executors=executors)


MOST_EXECUTORS, LAST_STEP = 64, 1
"""Range of SimCost's search in the comparison, and its last step, in executors."""


def _executors_of_least_resource_time(
    fitted: FittedModel, cluster: Cluster, workload: Workload
) -> Recommendation | None:
    """Number and size of executors with the least resource time, by SimCost's range search
    (4.3), for a model that estimates how much memory the workload needs; None for others."""
    if fitted.assured_memory(workload) is None:
        return None
    return recommend_owned(
        fitted,
        executor_cores=with_shape_and_layout(cluster, fitted.profile).executor_cores or 1,
        max_executors=MOST_EXECUTORS,
        workload=workload,
        epsilon=LAST_STEP,
    )


def compare_models(
    profile: Profile, *, cluster: Cluster, workload: Workload | None = None, confidence: float = 0.9
) -> Iterator[ModelAnswer]:
    """The answer of every model in `MODELS`, each yielded as it is ready."""
    for model in MODELS_BY_NAME.values():
        outcome = fit_outcome(model, profile)
        yield ask(outcome, cluster=cluster, workload=workload, confidence=confidence)


def errors_on_common_runs(outcomes: Sequence[FitOutcome]) -> tuple[dict[str, float], int]:
    """delta (OptEx VI-D) of each model over the runs that all of them left out, and the number of
    these runs: errors over different runs do not compare. Models without left-out runs are omitted.
    """
    by_model = {
        outcome.model: {id(pair.run): pair for pair in outcome.left_out if pair.run is not None}
        for outcome in outcomes
    }
    with_pairs = {model: pairs for model, pairs in by_model.items() if pairs}
    if not with_pairs:
        return {}, 0
    common = set.intersection(*(set(pairs) for pairs in with_pairs.values()))
    if not common:
        return {}, 0
    errors = {
        model: float(np.mean([abs(pairs[run].relative_error) for run in common]))
        for model, pairs in with_pairs.items()
    }
    return errors, len(common)


def left_out_runs(profile: Profile, validation: LeaveOneOut) -> tuple[LeftOut, ...]:
    """The predictions of a validation with their runs of the profile.

    A validation identifies its runs by their times; runs of equal time are taken in order.
    """
    runs_by_time: dict[float, list[Run]] = {}
    for run in profile.runs:
        runs_by_time.setdefault(_time_key(run.seconds), []).append(run)
    pairs: list[LeftOut] = []
    times = zip(validation.predicted_seconds, validation.actual_seconds, strict=True)
    for estimated, recorded in times:
        runs = runs_by_time.get(_time_key(recorded))
        pairs.append(LeftOut(runs.pop(0) if runs else None, estimated, recorded))
    return tuple(pairs)


def _time_key(seconds: float) -> float:
    """A time to nine digits: models that work with its logarithm return it with rounding errors."""
    return float(f"{seconds:.9g}")


def in_one_line(error: Exception) -> str:
    """Why there is no answer. Even a defect of one model must not take the others' answers away."""
    if isinstance(error, EngineError):
        return str(error)
    text = " ".join(str(error).split())
    return f"it failed with {type(error).__name__}{': ' if text else ''}{text}; please report this"
