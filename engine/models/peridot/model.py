"""PERIDOT: two small runs of equal cores and different input -> any cores and any input.

Shah, Amannejad, Krishnamurthy, Wang, "Quick Execution Time Predictions for Spark Applications",
CNSM 2019. Its equations are in `equations`; where the paper contradicts itself, the consistent
reading is the default (docs/models/peridot.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.errors import BadInput
from engine.forecast import FloatArray, Forecast, IntArray
from engine.machines.transfer import speed_of, transfer_notice
from engine.models.base import Explanation, FittedModel, LeaveOneOut, StageForecast
from engine.models.curves.measured_range import span_of
from engine.models.log_notices import chosen_notice
from engine.models.model import Model
from engine.models.peridot.equations import Parameters
from engine.models.peridot.references import References, find_references
from engine.models.peridot.spread import PUBLISHED_SPREAD, Doubt, prior_spread
from engine.models.stages.disturbance import disturbance_notices, with_disturbance
from engine.models.stages.one_machine import one_machine_notice, shared_cores_scale
from engine.models.stages.pauses import pause_notice
from engine.models.workloads import (
    logs_of,
    same_parameters,
    sharing_parameters,
    unused_logs_notices,
    with_defaults,
)
from engine.notices import Notice, in_order
from engine.profile import Profile, Run, completed_runs
from engine.runs.configurations import SAME_SIZE, repetition_spread, size_levels
from engine.scheduling.waves import waves
from engine.units import format_number

ENOUGH_LEFT_OUT = 4
"""With this many left-out configurations, an interval rests more on them than on the prior."""

FAR = 2.0
"""Cores or input beyond this factor from the references are extrapolation."""

NOT_CONSTANT = 1.25
"""Fixed time that differs by a larger factor between references is not fixed."""

SMALL_FIXED = 0.1
"""A smaller share of the time may differ: it hardly affects the prediction."""

SHOWN_PHASES = 20
"""The largest groups, each its own phase; the smaller ones together form one phase."""

PHASE_FIXED = "fixed groups and driver"
PHASE_OTHERS = "other variable groups"


class Peridot(Model):
    """Stage groups and their waves from two reference runs."""

    name = "peridot"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs logs of one application: two or more input sizes at equal cores."""
        references = find_references(profile)
        parameters = Parameters.of(references)
        doubt = Doubt(near=_near(references, parameters))
        predicted, actual, expected = PeridotFitted(
            self.name, profile, references, parameters, doubt
        ).left_out()
        groups = references.configurations
        doubt = doubt.learnt(np.log(actual / predicted), expected, groups)
        tested = len(np.unique(groups)) >= ENOUGH_LEFT_OUT
        near = with_disturbance(doubt.factor * doubt.near, references.runs, measured=tested)
        doubt = replace(
            doubt, near=max(near, repetition_spread(references.every_run)) / doubt.factor
        )
        return PeridotFitted(
            self.name,
            profile,
            references,
            parameters,
            doubt,
            fit_notices=_fit_notices(logs_of(profile.runs), references, parameters, groups),
            validation=LeaveOneOut(tuple(predicted.tolist()), tuple(actual.tolist())),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PeridotFitted(FittedModel):
    """PERIDOT fitted to its references."""

    references: References
    parameters: Parameters
    doubt: Doubt = field(default_factory=Doubt)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        size = self._size(workload)
        relative, unsure = batch.speeds(self.references.instance)
        seconds = self.parameters.seconds(size, batch.slots, relative)
        prior = self._prior(size, batch.slots, seconds, self.parameters, self.references.sizes)
        own = self.doubt.factor * prior
        runs, useful = self.references.every_run, self._useful_slots(size)
        crowded = shared_cores_scale(runs, batch, seconds, useful_slots=useful)
        return Forecast.of(seconds, np.sqrt(own**2 + unsure**2 + crowded**2), self.doubt.dof)

    def runs_used(self, workload: Workload) -> int:
        return len(self.references)

    def _prior(
        self,
        size: float,
        cores: FloatArray,
        seconds: FloatArray,
        parameters: Parameters,
        sizes: FloatArray,
    ) -> FloatArray:
        """(n,) the prior's spread of predictions by references of some sizes; cores that no group
        can use do not count as distance."""
        useful = self._useful_slots(size)
        return prior_spread(
            near=self.doubt.near,
            doublings_cores=np.abs(np.log2(np.minimum(cores, useful) / self.references.cores)),
            doublings_size=float(np.abs(np.log2(size / sizes)).min()),
            parallel_share=np.minimum(1.0, parameters.parallel_fixed_seconds / seconds),
        )

    def _useful_slots(self, size: float) -> float:
        partitions = float(self.parameters.partitions(size).max(initial=1.0))
        return max(partitions, float(self.references.cores))

    def left_out(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(k,) predicted and (k,) recorded times of left-out runs, and (k,) the error of log time
        that the prior expects.

        These are every reference, predicted from those of other sizes, and every run of the
        application on other cores. Which groups are fixed is taken from all references, since one
        alone cannot tell.
        """
        references = self.references
        sizes = size_levels(references.sizes)
        tried: list[tuple[float, float, float]] = []
        for index in range(len(references)):
            others = sizes != sizes[index]
            size, cores = references.sizes[index], np.asarray([float(references.cores)])
            parameters = Parameters.of(references, others)
            seconds = parameters.seconds(size, cores, np.ones(1))
            expected = self._prior(size, cores, seconds, parameters, references.sizes[others])
            tried.append((float(seconds[0]), float(references.seconds[index]), float(expected[0])))
        for run in references.elsewhere:
            size = run.workload.input_bytes or 0.0
            cores = np.asarray([float(run.cluster.slots or 0)])
            seconds = self.parameters.seconds(size, cores, np.ones(1))
            expected = self._prior(size, cores, seconds, self.parameters, references.sizes)
            tried.append((float(seconds[0]), run.seconds, float(expected[0])))
        predicted, actual, expected_errors = np.asarray(tried).T
        return predicted, actual, expected_errors

    def _size(self, workload: Workload) -> float:
        """The requested input size.

        Raises:
            BadInput: for iterations or parameters that the references did not have.
        """
        reference = self.references.workload
        iterations = workload.iterations
        if iterations is not None and iterations != reference.iterations:
            ran = "none" if reference.iterations is None else f"{reference.iterations:g}"
            raise BadInput(
                f"peridot knows nothing of iterations: the references ran {ran}",
                remedy="leave them out, or use --model sparkplan",
            )
        wanted = with_defaults(workload, self.profile)
        for name, value in wanted.parameters.items():
            if not same_parameters(reference.parameters, {name: value}):
                raise BadInput(
                    f"peridot knows nothing of job parameters: no reference has {name} = {value:g}",
                    remedy="add logs of such runs, or use --model sparkplan",
                )
        return float(wanted.input_bytes or 0.0)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        if not batch.slots[0] >= 1.0:
            return Explanation()
        size, cores = self._size(workload), np.floor(batch.slots[:1])
        speed = speed_of(batch.types[0], self.references.instance, batch.catalog).relative
        partitions = self.parameters.partitions(size)
        group_waves = waves(partitions, cores)
        own = group_waves * self.parameters.mean_wave_seconds / speed
        fixed = self.parameters.fixed_seconds
        stages = self._stages(partitions, group_waves, own)
        bottleneck = "waves" if own.sum() >= fixed else "fixed groups"
        return Explanation(self._phases(own), stages, bottleneck)

    def _phases(self, own: FloatArray) -> dict[str, float]:
        """The variable groups in their order, the smallest of many together, and the rest."""
        indices = np.flatnonzero(self.references.variable)
        shown = {int(index) for index in np.argsort(-own, kind="stable")[:SHOWN_PHASES]}
        phases: dict[str, float] = {}
        for rank, (index, seconds) in enumerate(zip(indices, own, strict=True)):
            name = self.references.groups[index].name
            label = f"group {index + 1}: {name}" if rank in shown else PHASE_OTHERS
            phases[label] = phases.get(label, 0.0) + float(seconds)
        return phases | {PHASE_FIXED: self.parameters.fixed_seconds}

    def _stages(
        self, partitions: FloatArray, group_waves: FloatArray, own: FloatArray
    ) -> tuple[StageForecast, ...]:
        """The groups one after the other, with the mean time before each as in the references."""
        references, forecasts = self.references, []
        seconds = references.group_seconds.mean(axis=0)
        tasks = references.partitions.mean(axis=0)
        turns = np.ceil(tasks / references.cores)
        variable = references.variable
        seconds[variable], tasks[variable], turns[variable] = own, partitions, group_waves
        before = references.gap_seconds.mean(axis=0)
        ends = np.cumsum(before + seconds)
        for index, group in enumerate(references.groups):
            start, end = float(ends[index] - seconds[index]), float(ends[index])
            forecast = StageForecast(
                stage_id=group.stages[0].stage_id,
                name=group.name,
                tasks=round(tasks[index]),
                start_seconds=start,
                end_seconds=end,
                waves=float(turns[index]),
                bottleneck="waves" if variable[index] else "fixed",
            )
            forecasts.append(forecast)
        return tuple(forecasts)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        references, size = self.references, self._size(workload)
        notices = [
            transfer_notice(speed_of(target, references.instance, batch.catalog), target)
            for target in batch.types
        ]
        notices.append(_far_slots_notice(references, batch))
        notices.append(one_machine_notice(references.every_run, batch, law=Peridot.name))
        ratio = size / references.sizes[np.abs(np.log2(size / references.sizes)).argmin()]
        if abs(np.log2(ratio)) >= np.log2(FAR):
            notices.append(
                Notice(
                    "extrapolating-size",
                    f"the input is {format_number(ratio)} times that of the nearest reference",
                    "add a log of a run nearer to that size",
                )
            )
        if not 1.0 / SAME_SIZE <= ratio <= SAME_SIZE:
            notices.append(_SAME_STRUCTURE)
        if workload.shuffle_partitions is not None:
            notices.append(
                Notice(
                    "not-modelled",
                    "peridot does not model shuffle partitions: they change nothing here",
                    "use --model sparkplan",
                )
            )
        return in_order(notices)


def _far_slots_notice(references: References, batch: ClusterBatch) -> Notice | None:
    """The warning that clusters are far from the references in slots."""
    known = batch.slots[batch.slots >= 1.0]
    away = np.abs(np.log2(known / references.cores)).max(initial=0.0)
    if away < np.log2(FAR):
        return None
    return Notice(
        "extrapolating-nodes",
        f"the references ran on {references.cores} slots, asked for {span_of(known)}",
        "add a log from a cluster nearer to that size: it tests the prediction",
    )


def _near(references: References, parameters: Parameters) -> float:
    """The spread where the references ran (see `Doubt`)."""
    one, cores = np.ones(1), np.asarray([float(references.cores)])
    again = [parameters.seconds(size, cores, one)[0] for size in references.sizes]
    errors = np.log(references.seconds / np.asarray(again))
    return float(np.hypot(PUBLISHED_SPREAD, np.sqrt(np.mean(errors**2))))


_SAME_STRUCTURE = Notice(
    "same-structure",
    "the input is taken to have the structure of the references': the same columns, the same size "
    "of partitions",
    "take the references from samples of the real input",
)


def _fit_notices(
    logs: Sequence[Run], references: References, parameters: Parameters, left_out: IntArray
) -> tuple[Notice, ...]:
    """Notices about the references, which are taken from `logs`; `left_out`: (k,) configurations
    that tested them."""
    chosen = chosen_notice(logs, references.workload.parameters, len(references))
    of_references = [*(notice for run in references.runs for notice in run.notices), chosen]
    if len(completed_runs(references.runs)) == len(references):
        of_references += unused_logs_notices(
            sharing_parameters(logs, references.workload.parameters)
        )
    of_references += references.notices
    about_fit = (
        *disturbance_notices(references.runs),
        pause_notice(references.runs),
        _few_tests(left_out),
        _misfit(references, parameters),
    )
    return in_order([*of_references, *about_fit])


def _few_tests(left_out: IntArray) -> Notice | None:
    tests = len(np.unique(left_out))
    if tests >= ENOUGH_LEFT_OUT:
        return None
    return Notice(
        "prior-interval",
        f"the interval rests on the published errors of this method more than on the "
        f"{tests} configurations that could be left out",
        "add logs of other sizes, or of other cores: each one tests the prediction",
    )


def _misfit(references: References, parameters: Parameters) -> Notice | None:
    """The warning that no group is variable, or that the constant time is not constant."""
    if not references.variable.any():
        return Notice(
            "model-does-not-fit",
            "no stage group gets more partitions with more input: to peridot the time is the "
            "same on any cores and any input",
            "use --model sparkplan",
        )
    fixed = references.seconds - references.group_seconds[:, references.variable].sum(axis=1)
    differs = fixed.max() > NOT_CONSTANT * fixed.min()
    if not differs or parameters.fixed_seconds <= SMALL_FIXED * references.seconds.mean():
        return None
    return Notice(
        "model-does-not-fit",
        f"what peridot takes as constant took {format_number(fixed.min())} s in one "
        f"reference and {format_number(fixed.max())} s in another",
        "use --model sparkplan, or references nearer to the wanted input",
    )
