"""Models that are one curve over machines, size and iterations for each measured type.

A model defines how its curves follow from a profile. Predictions for unmeasured types, spreads
beyond the measured range and warnings are shared by all of them and live here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit, TooFewRuns
from engine.fitting import MINIMUM_RESIDUALS, UNKNOWN_SPREAD, Spread
from engine.forecast import BoolArray, FloatArray, Forecast
from engine.models.base import Explanation, FittedModel, LeaveOneOut
from engine.models.curves.equivalents import Equivalents, equivalents
from engine.models.curves.fitted_curve import FittedCurve, TypeCurve
from engine.models.curves.iteration_curves import curve_for_iterations
from engine.models.curves.machines import MachineRuns, fittable_tables
from engine.models.curves.measured_range import (
    extrapolation_scale,
    range_notices,
    unseen_notice,
    unseen_seconds,
)
from engine.models.workloads import SAME, sharing_parameters, too_few_sharing, with_defaults
from engine.notices import Notice, in_order
from engine.profile import Run
from engine.units import format_count

PRIOR_INTERVAL_NOTICE = Notice(
    "prior-interval",
    "too few configurations could be left out to measure how sure the time is: the interval rests "
    "on a prior as well",
    f"add runs of other sizes or clusters: from {MINIMUM_RESIDUALS} on it is measured",
)

DEFAULT_RESIDUAL_SCALE = 0.10
"""Standard deviation of log time about a fitted curve, where the curve's own is not known."""


@dataclass(frozen=True, slots=True)
class TypeEffect:
    """The random effect of a machine type with few runs: its log time relative to the curve of the
    nearest fitted type.

    Args:
        shift: posterior mean.
        log_scale: posterior standard deviation.
        runs: number of runs behind it.
    """

    shift: float
    log_scale: float
    runs: int


def type_effect(residuals: FloatArray, *, prior: float, noise: float, runs: int) -> TypeEffect:
    """The posterior of a type's effect after a few configurations: the mean residual, shrunk
    towards 0.

    Residuals are effect + noise with effect ~ N(0, prior^2) and noise ~ N(0, noise^2); this is the
    normal posterior.

    Args:
        residuals: (k,) log(actual / predicted) of each configuration, the mean of its runs.
        prior: standard deviation of the effect before any run: the uncertainty of the speed.
        noise: that of a configuration about its curve; NaN takes `DEFAULT_RESIDUAL_SCALE`.
        runs: in all.
    """
    noise = DEFAULT_RESIDUAL_SCALE if np.isnan(noise) else noise
    weight = len(residuals) * prior**2 / (len(residuals) * prior**2 + noise**2)
    return TypeEffect(
        float(weight * np.mean(residuals)), prior * float(np.sqrt(1.0 - weight)), runs
    )


def type_effect_notice(name: str, effect: TypeEffect) -> Notice:
    """The notice about a type whose curve is scaled to a few runs."""
    return Notice(
        "transferred-speed",
        f"{name} has {format_count(effect.runs, 'run')}, too few to fit: the curve "
        "of the nearest fitted type is scaled to them",
        f"add runs on {name} with other numbers of nodes or sizes",
    )


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """The curves for one set of job parameters, and the effects of types without a curve."""

    curves: tuple[TypeCurve, ...]
    effects: Mapping[str, TypeEffect]


@dataclass(frozen=True, eq=False)
class Question:
    """A batch of n clusters and a workload, with the curves that predict them.

    Args:
        shift: (n,) expected difference of log time from the curve.
        log_scale: (n,) uncertainty of that difference; 0 for a fitted type.
    """

    workload: Workload
    curves: tuple[TypeCurve, ...]
    at: Equivalents
    shift: FloatArray
    log_scale: FloatArray
    notices: tuple[Notice | None, ...]

    @property
    def size(self) -> float | None:
        """Size in the unit of the runs; without sizes, a multiple of their common size."""
        given = self.workload.input_bytes
        return self.workload.scale if given is None else given

    def curve_seconds(self, curve: TypeCurve, rows: BoolArray) -> FloatArray:
        """(r,) seconds by a curve on those clusters, their `shift` apart."""
        machines, speed = self.at.machine_count[rows], self.at.speed[rows]
        return curve.seconds(machines, speed, size=self.size, iterations=self.workload.iterations)


@dataclass(frozen=True, eq=False, repr=False)
class CurvesModel(FittedModel):
    """A fitted model that is one curve per measured type, for the wanted job parameters.

    The spread of a prediction is that of the curve's left-out residuals (Student), widened for
    extrapolation beyond the measured range and for the assumed speed of unmeasured types.

    Args:
        fit_curve: fits one table of runs.
        given: curves that need no runs (published job profiles); a fitted curve of the same type
            takes precedence.
        iterations_in_model: whether iterations are a term of the model. If not, runs with the
            wanted number of iterations are fitted alone if there are enough.
        prior: spread of log time if too few runs could be left out to measure it; without a prior
            there is then no interval.
    """

    fit_curve: Callable[[MachineRuns], FittedCurve]
    given: tuple[TypeCurve, ...] = ()
    iterations_in_model: bool = False
    prior: Spread = UNKNOWN_SPREAD
    _fitted: dict[object, FittedCurves] = field(default_factory=dict, repr=False)
    _table_fits: dict[object, FittedCurve] = field(default_factory=dict, repr=False)

    def validated(self) -> Self:
        """The model with the validation of the reference workload's curves on left-out runs.

        Raises:
            ModelDoesNotFit: when too few runs have the parameters of the reference workload.
        """
        curves = self.curves(self.completed(self.profile.reference_workload))
        return replace(self, validation=_validation_of(curves))

    def completed(self, workload: Workload) -> Workload:
        """The workload with its open inputs filled in (see `workloads.with_defaults`)."""
        return with_defaults(workload, self.profile)

    def curves(self, workload: Workload) -> tuple[TypeCurve, ...]:
        """The curves for a completed workload, fitted once per set of parameters.

        Raises:
            ModelDoesNotFit: when too few runs have these parameters.
        """
        return self._curves(workload).curves

    def _curves(self, workload: Workload) -> FittedCurves:
        key = (
            workload.sorted_parameters,
            None if self.iterations_in_model else workload.iterations,
        )
        if key not in self._fitted:
            self._fitted[key] = self._fit(workload)
        return self._fitted[key]

    def _fit(self, workload: Workload) -> FittedCurves:
        runs = sharing_parameters(self.profile.runs, workload.parameters)
        curves: list[TypeCurve] = []
        try:
            curves += self._curves_of_runs(runs, workload)
        except ModelDoesNotFit as error:
            if isinstance(error, TooFewRuns) and not self.given:
                raise too_few_sharing(error, self.profile.runs, workload.parameters) from None
            if not self.given:
                raise
        covered = {name for curve in curves for name in curve.runs.members}
        curves += [curve for curve in self.given if not covered & {*curve.runs.members}]
        return FittedCurves(tuple(curves), self._type_effects(runs, curves))

    def _type_effects(
        self, runs: Sequence[Run], curves: Sequence[TypeCurve]
    ) -> dict[str, TypeEffect]:
        """Effects of the types that have runs but no curve."""
        covered = {name for curve in curves for name in curve.runs.members}
        by_type: dict[str, list[Run]] = {}
        for run in runs:
            instance = run.cluster.instance
            if instance is not None and instance.name not in covered:
                by_type.setdefault(instance.name, []).append(run)
        effects = {name: self._type_effect(group, curves) for name, group in by_type.items()}
        return {name: effect for name, effect in effects.items() if effect is not None}

    def _type_effect(self, runs: Sequence[Run], curves: Sequence[TypeCurve]) -> TypeEffect | None:
        """None where the type cannot be compared with any curve."""
        batch = ClusterBatch.of([run.cluster for run in runs], self.profile)
        try:
            at = equivalents(batch, [curve.runs for curve in curves])
        except BadInput:
            return None
        curve = curves[int(at.family[0])]
        predicted = [
            curve.seconds(
                at.machine_count[index : index + 1],
                at.speed[index : index + 1],
                size=run.workload.input_bytes,
                iterations=run.workload.iterations,
            )[0]
            for index, run in enumerate(runs)
        ]
        residuals = np.log(np.asarray([run.seconds for run in runs]) / np.asarray(predicted))
        known = np.isfinite(residuals)
        if not known.any():
            return None
        # The curve is off alike for every repetition of a configuration.
        same = np.unique(np.asarray(predicted)[known], return_inverse=True)[1].reshape(-1)
        means = np.bincount(same, residuals[known]) / np.bincount(same)
        prior, noise = float(at.log_scale[0]), self._spread(curve).log_scale
        return type_effect(means, prior=prior, noise=noise, runs=int(known.sum()))

    def _fit_table(self, runs: MachineRuns) -> FittedCurve:
        """`fit_curve`, cached by the runs, which serve any number of iterations."""
        columns = (runs.machines, runs.size, runs.iterations, runs.seconds)
        key = (runs.members, bool(runs.observed), *(column.tobytes() for column in columns))
        if key not in self._table_fits:
            self._table_fits[key] = self.fit_curve(runs)
        return self._table_fits[key]

    def _curves_of_runs(self, runs: Sequence[Run], workload: Workload) -> list[TypeCurve]:
        wanted = workload.iterations
        if self.iterations_in_model or wanted is None:
            return [self._fit_table(table) for table in fittable_tables(runs)]
        counted = [run for run in runs if run.workload.iterations is not None]
        same = [
            run for run in counted if abs((run.workload.iterations or 0.0) / wanted - 1.0) < SAME
        ]
        try:
            same_iterations = fittable_tables(same)
        except ModelDoesNotFit:
            return [
                curve_for_iterations(self._fit_table, table, wanted)
                for table in fittable_tables(counted)
            ]
        all_iterations = {table.members: table for table in fittable_tables(counted)}
        return [
            curve_for_iterations(
                self._fit_table,
                all_iterations.get(table.members, table),
                wanted,
                own=self._fit_table(table),
            )
            for table in same_iterations
        ]

    def _asked(self, batch: ClusterBatch, workload: Workload) -> Question:
        wanted = self.completed(workload)
        fitted = self._curves(wanted)
        at = equivalents(batch, [curve.runs for curve in fitted.curves])
        shift, log_scale, notices = np.zeros(len(batch)), at.log_scale.copy(), list(at.notices)
        for index, kind in enumerate(batch.types):
            effect = fitted.effects.get(kind.name) if kind else None
            if kind is not None and effect is not None:
                rows = batch.type_index == index
                shift[rows], log_scale[rows] = effect.shift, effect.log_scale
                notices[index] = type_effect_notice(kind.name, effect)
        return Question(
            workload=wanted,
            curves=fitted.curves,
            at=at,
            shift=shift,
            log_scale=log_scale,
            notices=tuple(notices),
        )

    def _spread(self, curve: TypeCurve) -> Spread:
        """Spread of log time about a curve, from its left-out runs, with the prior where they
        are few."""
        if not self._uses_prior(curve):
            return curve.spread
        return self.prior if curve.fitted is None else curve.fitted.fit.spread_about(self.prior)

    def _uses_prior(self, curve: TypeCurve) -> bool:
        return np.isnan(curve.spread.log_scale) and not np.isnan(self.prior.log_scale)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        question = self._asked(batch, workload)
        seconds = np.full(len(batch), np.nan)
        log_scale, dof = np.full(len(batch), np.nan), np.full(len(batch), np.inf)
        added_scale = np.array(question.log_scale)
        for index, curve in enumerate(question.curves):
            rows = question.at.family == index
            machines = question.at.machines[rows]
            seconds[rows] = question.curve_seconds(curve, rows)
            spread = self._spread(curve)
            log_scale[rows], dof[rows] = spread.log_scale, spread.dof
            extrapolated = _extrapolation_scale(
                curve, machines, size=question.size, iterations=question.workload.iterations
            )
            added_scale[rows] = np.hypot(added_scale[rows], extrapolated)
        return Forecast.of(seconds * np.exp(question.shift), log_scale, dof).widened(added_scale)

    def runs_used(self, workload: Workload) -> int:
        fitted = self._curves(self.completed(workload))
        if any(curve is given for curve in fitted.curves for given in self.given):
            return len(self.profile.runs)  # a job profile was measured from all of them
        others = sum(effect.runs for effect in fitted.effects.values())
        return sum(len(curve.runs) for curve in fitted.curves) + others

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        question = self._asked(batch, workload)
        at, size = question.at, question.size
        phases = question.curves[int(at.family[0])].phases_at_speed(
            at.machine_count[:1], at.speed[:1], size=size, iterations=question.workload.iterations
        )
        factor = float(np.exp(question.shift[0]))
        return Explanation(phases={name: factor * float(part[0]) for name, part in phases.items()})

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        question = self._asked(batch, workload)
        notices = list(question.notices)
        for index in np.unique(question.at.family):
            curve = question.curves[index]
            rows = question.at.family == index
            machines = question.at.machines[rows]
            notices += curve.notices(question.workload)
            unseen = unseen_seconds(curve.runs, self._spread(curve))
            if unseen > question.curve_seconds(curve, rows).min():
                notices.append(unseen_notice(self.model, unseen))
            if self._uses_prior(curve):
                notices.append(PRIOR_INTERVAL_NOTICE)
            size = 1.0 if question.size is None else question.size
            instance = curve.runs.instance if len(question.curves) > 1 else None
            on = f" on {instance.name}" if instance else ""
            notices += range_notices(machines, size, curve.runs, on=on)
        if workload.shuffle_partitions is not None:
            notices.append(
                Notice(
                    "not-modelled",
                    f"{self.model} does not model shuffle partitions: they change nothing here",
                    "add event logs: a replay models them"
                    if self.model == "sparkplan"
                    else "use --model sparkplan with an event log",
                )
            )
        return in_order(notices)


def _extrapolation_scale(
    curve: TypeCurve, machines: FloatArray, *, size: float | None, iterations: float | None
) -> FloatArray:
    """(n,) prior standard deviation of log time beyond the measured machines, size and
    iterations."""
    runs = curve.runs
    observed = runs.iterations[~np.isnan(runs.iterations)]
    by_size = extrapolation_scale(np.asarray([1.0 if size is None else size]), runs.size)
    by_iterations = extrapolation_scale(np.asarray([iterations or 1.0]), observed)
    by_iterations = np.hypot(by_iterations, curve.iteration_log_scale(iterations))
    return np.hypot(np.hypot(by_size, by_iterations), extrapolation_scale(machines, runs.machines))


def _validation_of(curves: Sequence[TypeCurve]) -> LeaveOneOut | None:
    """The predictions of fitted curves for left-out runs; None if none could be left out."""
    pairs = [
        (predicted, actual)
        for curve in curves
        if (own := curve.fitted) is not None
        for predicted, actual in zip(own.fit.left_out_seconds, own.fit.seconds, strict=True)
        if np.isfinite(predicted)
    ]
    if not pairs:
        return None
    return LeaveOneOut(
        tuple(float(predicted) for predicted, _ in pairs),
        tuple(float(actual) for _, actual in pairs),
    )
