"""Predictions from run times alone: physical terms, job parameters, and what to say of few runs.

Runs with the wanted job parameters get the terms of `ernest-extended`. Runs with other parameters
are brought to the wanted ones by a power law for each, fitted over all runs, when there are too few
without them or when that predicts left-out runs better. One or two configurations get Amdahl's
form with a prior for its shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.fitting import Spread
from engine.forecast import FloatArray, Forecast
from engine.models.base import Explanation, FittedModel, Model
from engine.models.curves import Curve, CurvesModel, FittedCurve
from engine.models.machines import MachineRuns, runs_by_type
from engine.models.workloads import completed, sharing_parameters
from engine.profile import Notice, Profile, Run

PRIOR_SPREAD = Spread(0.12, 4.0)
"""Spread of log time where runs are too few for one of their own: about what terms fitted to three
runs are off on others."""

SERIAL_SHARE, SERIAL_LOGIT_SCALE = 0.10, 1.0
CONSTANT_SHARE, CONSTANT_LOGIT_SCALE = 0.10, 1.0
"""Prior of Amdahl's shares: part of the largest run's time that more machines, or less input,
do not shorten; the scale is that of the logit."""

RUN_NOISE = 0.05
"""Standard deviation of log time that the shares need not explain."""

ADJUSTED_BETTER_BY = 0.8
"""Runs of other parameters join in when the left-out error falls below this share."""

RIDGE = 1e-2
"""Prior precision of a power of a job parameter, relative to one run in which it is off by e."""


def fit_table(profile: Profile, extended: Model, models: Mapping[str, Model]) -> TableModel:
    """The model of runs without stages.

    Raises:
        ModelDoesNotFit: when runs do not say on how many machines they ran.
    """
    model = TableModel("sparkplan", profile, extended, models)
    answer = model.answer(completed(profile.reference_workload, profile))
    return replace(model, validation=answer.validation)


@dataclass(frozen=True, eq=False)
class TableModel(FittedModel):
    """sparkplan fitted to run times; one inner model per set of job parameters."""

    extended: Model
    models: Mapping[str, Model]
    _answers: dict[object, FittedModel] = field(default_factory=dict, repr=False)

    def answer(self, wanted: Workload) -> FittedModel:
        """The inner model for a completed workload's parameters."""
        key = tuple(sorted(wanted.parameters.items()))
        if key not in self._answers:
            self._answers[key] = self._fit(wanted)
        return self._answers[key]

    def _fit(self, wanted: Workload) -> FittedModel:
        same = _same(self.profile.runs, wanted)
        plain = self._terms(same)
        others = len(same) < len(self.profile.runs)
        adjusted = brought_to(self.profile.runs, wanted) if others else None
        joint = self._terms(adjusted) if adjusted is not None else None
        worse = plain is None or ADJUSTED_BETTER_BY * _error(plain) > _error(joint)
        if joint is not None and worse:
            notice = _adjusted_notice(wanted, len(same), len(self.profile.runs))
            return replace(joint, fit_notices=(*joint.fit_notices, notice))
        if plain is not None:
            return plain
        return few_runs(replace(self.profile, runs=tuple(same or adjusted or ())))

    def _terms(self, runs: Sequence[Run]) -> FittedModel | None:
        """The physical terms of some runs, None where there are too few."""
        if not runs:
            return None
        try:
            part = replace(self.profile, runs=tuple(runs))
            fitted = self.extended.fit(part, models=self.models)
        except ModelDoesNotFit:
            return None
        if not isinstance(fitted, CurvesModel):
            return fitted
        return replace(fitted, fit_curve=_with_prior(fitted.fit_curve), _fitted={})

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = completed(workload, self.profile)
        return self.answer(wanted).forecast(batch, wanted)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = completed(workload, self.profile)
        return self.answer(wanted).explain(batch, wanted)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = completed(workload, self.profile)
        answer = self.answer(wanted)
        return (*answer.fit_notices, *answer.notices(batch, wanted))


def _same(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    try:
        return sharing_parameters(runs, wanted.parameters)
    except ModelDoesNotFit:
        return []


def _error(fitted: FittedModel | None) -> float:
    """Left-out error; infinite where none is known."""
    if fitted is None or fitted.validation is None:
        return math.inf
    return fitted.validation.mean_relative_error


def _with_prior(
    fit_curve: Callable[[MachineRuns], FittedCurve],
) -> Callable[[MachineRuns], FittedCurve]:
    """The same fit; a curve of too few runs to know its spread gets the prior's."""

    def fit(runs: MachineRuns) -> FittedCurve:
        curve = fit_curve(runs)
        known = not math.isnan(curve.spread.log_scale)
        return curve if known else replace(curve, spread=PRIOR_SPREAD)

    return fit


def _adjusted_notice(wanted: Workload, same: int, every: int) -> Notice:
    named = ", ".join(f"{name} {value:g}" for name, value in wanted.parameters.items())
    return Notice(
        "transferred-parameters",
        f"{same} of {every} runs have {named}: the others are brought there by a power law for "
        "each parameter",
        "add runs with these parameters",
    )


def brought_to(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs as if they had had the wanted parameters.

    log T = a_type + b log n + c log^2 n + d log size + e log iterations + sum of g_p x_p, by ridge
    regression over all runs; x_p is the log of a parameter, or itself over its largest value where
    it may be zero. Each run's time is multiplied by exp(sum of g_p (wanted x_p - its x_p)).
    """
    names = sorted(wanted.parameters)
    kept = [run for run in runs if all(name in run.workload.parameters for name in names)]
    if len(kept) < MINIMUM_FOR_POWERS:
        return []
    values = np.asarray([[run.workload.parameters[name] for name in names] for run in kept])
    goal = np.asarray([wanted.parameters[name] for name in names])
    x, x_goal = _coordinates(values, goal)
    context = _context(kept)
    design = np.concatenate((context, x), axis=1)
    ridge = np.concatenate((np.full(context.shape[1], 1e-9), np.full(len(names), RIDGE)))
    seconds = np.asarray([run.seconds for run in kept])
    powers = np.linalg.solve(design.T @ design + np.diag(ridge), design.T @ np.log(seconds))
    factors = np.exp((x_goal - x) @ powers[context.shape[1] :])
    return [
        replace(
            run,
            seconds=float(run.seconds * factor),
            workload=Workload(run.workload.input_bytes, run.workload.iterations, wanted.parameters),
        )
        for run, factor in zip(kept, factors, strict=True)
    ]


MINIMUM_FOR_POWERS = 6
"""Runs from which on powers of parameters can be told from scale-out and size."""


def _coordinates(values: FloatArray, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(r, p) and (p,) parameters as logs, or over their largest value where some are not > 0."""
    largest = np.maximum(np.abs(values).max(axis=0), 1e-300)
    positive = (values > 0.0).all(axis=0) & (goal > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, log_goal = np.log(values), np.log(goal)
    return (
        np.where(positive, logs, values / largest),
        np.where(positive, log_goal, goal / largest),
    )


def _context(runs: Sequence[Run]) -> FloatArray:
    """(r, c) what else decides the time: type, machines, size, iterations."""
    types = [run.cluster.instance.name if run.cluster.instance else "" for run in runs]
    dummies = [[float(name == own) for name in sorted(set(types))] for own in types]
    machines = [float(run.cluster.nodes or run.cluster.slots or 1) for run in runs]
    size = np.log([run.workload.input_bytes or 1.0 for run in runs])
    iterations = np.log([run.workload.iterations or 1.0 for run in runs])
    n = np.log(machines)
    return np.column_stack((dummies, n, n**2, size - size.mean(), iterations))


@dataclass(frozen=True, eq=False)
class AmdahlCurve(Curve):
    """T = T0 (f + (1 - f) m0 / m) (h + (1 - h) s / s0), for one or two configurations of runs.

    Args:
        seconds_at_reference: T0, on m0 machines with input s0 (those of the longest run).
        serial_share, constant_share: f and h.
    """

    runs: MachineRuns
    seconds_at_reference: float
    serial_share: float
    constant_share: float
    spread: Spread = PRIOR_SPREAD

    @property
    def reference(self) -> int:
        """The run that the shares refer to."""
        return int(np.argmax(self.runs.seconds))

    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        at = self.reference
        scale = (1.0 if size is None else size) / self.runs.size[at]
        grown = self.constant_share + (1.0 - self.constant_share) * scale
        whole = self.seconds_at_reference * grown * _repeated(iterations, self.runs.iterations[at])
        return {
            "serial": whole * self.serial_share * np.ones_like(machines),
            "parallel": whole * (1.0 - self.serial_share) * self.runs.machines[at] / machines,
        }


def _repeated(wanted: float | None, observed: float) -> float:
    return 1.0 if wanted is None or math.isnan(observed) else wanted / observed


def fit_amdahl(runs: MachineRuns) -> AmdahlCurve:
    """The most probable shares, by search over a grid of both: the runs' times with `RUN_NOISE`,
    the prior's logits."""
    at = int(np.argmax(runs.seconds))
    shares = 1.0 / (1.0 + np.exp(-np.linspace(-6.0, 4.0, GRID)))
    f, h = shares[:, None, None], shares[None, :, None]
    repeats = np.nan_to_num(runs.iterations / runs.iterations[at], nan=1.0)
    form = (f + (1.0 - f) * runs.machines[at] / runs.machines) * (
        h + (1.0 - h) * runs.size / runs.size[at]
    )
    logs = np.log(runs.seconds) - np.log(form * repeats)
    level = logs.mean(axis=2)
    misfit = ((logs - level[:, :, None]) ** 2).sum(axis=2) / RUN_NOISE**2
    prior_f = ((_logit(shares) - _logit(SERIAL_SHARE)) / SERIAL_LOGIT_SCALE) ** 2
    prior_h = ((_logit(shares) - _logit(CONSTANT_SHARE)) / CONSTANT_LOGIT_SCALE) ** 2
    cost = misfit + prior_f[:, None] + prior_h[None, :]
    i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return AmdahlCurve(runs, float(np.exp(level[i, j])), float(shares[i]), float(shares[j]))


GRID = 101


def _logit(share: FloatArray | float) -> FloatArray:
    return np.asarray(np.log(share) - np.log1p(-np.asarray(share)))


def few_runs(profile: Profile) -> FittedModel:
    """The model of one or two configurations per type.

    Raises:
        ModelDoesNotFit: when the runs do not say on how many machines they ran.
    """
    tables = runs_by_type(profile.runs)
    curves = tuple(fit_amdahl(table) for table in tables)
    one = len(profile.runs) == 1
    notice = Notice(
        "single-run" if one else "few-runs",
        f"{'one run' if one else f'{len(profile.runs)} runs'}: how time changes with machines and "
        "size is mostly a prior",
        "add runs on three or more numbers of nodes, or an event log",
    )
    return CurvesModel("sparkplan", profile, _too_few, curves, fit_notices=(notice,))


def _too_few(runs: MachineRuns) -> FittedCurve:
    raise ModelDoesNotFit("too few runs for terms of their own")
