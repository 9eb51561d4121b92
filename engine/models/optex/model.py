"""OptEx: closed-form phases of a Spark job from a job profile.

Sidhanta, Golab and Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark",
CCGrid 2016. Equations 1 to 9 are one function each, and all of them broadcast over arrays. Where
the paper contradicts itself, the consistent reading is the default and the printed one an argument
(docs/models/optex.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.fitting import fit_nonnegative
from engine.forecast import FloatArray
from engine.given_profiles import Operation, OptexProfile
from engine.models.base import FittedModel
from engine.models.curves.applicability import applicability
from engine.models.curves.fitted_curve import FittedCurve, TypeCurve
from engine.models.curves.machines import MachineRuns
from engine.models.curves.model import CurvesModel
from engine.models.model import Model
from engine.models.optex.job_profiles import with_job_profiles
from engine.models.optex.representatives import (
    in_category,
    representation_notices,
    several_representatives_notice,
    target_runs,
)
from engine.models.workloads import with_defaults
from engine.notices import Notice, in_order
from engine.profile import Profile
from engine.units import SECONDS_PER_HOUR

Quantity = float | FloatArray


def variable_sharing_seconds(
    *, coeff: float, iterations: Quantity, nodes: Quantity, t_vs_baseline_seconds: float
) -> Quantity:
    """III-C Eq. 1: T_vs = coeff x iter x n x T_vs_baseline, in seconds over all iterations."""
    return coeff * iterations * nodes * t_vs_baseline_seconds


def communication_seconds(
    *, cf_commn: float, t_commn_baseline_seconds: float, size: Quantity, s_baseline: float = 1.0
) -> Quantity:
    """III-C Eq. 2: T_commn = cf_commn x T_commn_baseline x s / s_baseline, in seconds.

    The printed equation lacks s_baseline, which A of Eqs. 7 and 8 has; s_baseline = 1 gives it.
    """
    return cf_commn * t_commn_baseline_seconds * size / s_baseline


def total_seconds(
    *,
    t_init_seconds: Quantity,
    t_prep_seconds: Quantity,
    t_vs_seconds: Quantity,
    t_comp_seconds: Quantity,
) -> Quantity:
    """IV-B Eq. 3: T_Est = T_init + T_prep + T_vs + T_comp, in seconds."""
    return t_init_seconds + t_prep_seconds + t_vs_seconds + t_comp_seconds


def unit_tasks(
    *, n_unit_baseline: float, size: Quantity, s_baseline: float = 1.0, iterations: Quantity = 1.0
) -> Quantity:
    """IV-B Eq. 4: n_unit = n_unit_baseline x s / s_baseline, the unit RDD tasks of one iteration.

    The paper multiplies by iter here and again in Eq. 5; Eq. 8 and every table count it once.
    `iterations` gives the printed form.
    """
    return n_unit_baseline * size / s_baseline * iterations


def execution_seconds(
    *, iterations: Quantity, n_unit: Quantity, operations: Sequence[Operation]
) -> Quantity:
    """IV-B Eq. 5: T_exec = iter x sum over the unit tasks of M_k, in seconds on one node.

    `n_unit` sets of unit tasks are run in each iteration; each operation's mean time counts as
    often as it occurs in one set.
    """
    per_set = sum(operation.mean_seconds * operation.count for operation in operations)
    return iterations * n_unit * per_set


def computation_seconds(
    *, t_commn_seconds: Quantity, t_exec_seconds: Quantity, nodes: Quantity, exponent: float = 1.0
) -> Quantity:
    """IV-B Eq. 6: T_comp = T_commn / n + T_exec / n^exponent, in seconds.

    The paper divides both by n (exponent 1); Tables IV and VI follow exponent 2.
    """
    return t_commn_seconds / nodes + t_exec_seconds / nodes**exponent


def computation_seconds_expanded(
    *,
    a: float,
    b_seconds: Quantity,
    iterations: Quantity,
    size: Quantity,
    nodes: Quantity,
    exponent: float = 1.0,
) -> Quantity:
    """IV-B Eq. 7: T_comp = iter x B / n^exponent + A x s / n, in seconds."""
    return iterations * b_seconds / nodes**exponent + a * size / nodes


def estimated_seconds(
    *,
    fixed_seconds: float,
    c_seconds: float,
    b_seconds: Quantity,
    a: float,
    nodes: Quantity,
    iterations: Quantity,
    size: Quantity,
    exponent: float = 1.0,
) -> Quantity:
    """IV-B Eq. 8: T_Est = (T_init + T_prep) + n iter C + iter B / n^exponent + A s / n, in seconds.

    Args:
        fixed_seconds: T_init + T_prep.
        c_seconds: C = coeff x T_vs_baseline, per node and iteration.
        b_seconds: B = sum over the unit tasks of M_k, one iteration on one node; their number
            grows with the input (Eq. 4), so B is that of this size.
        a: A = cf_commn x T_commn_baseline / s_baseline, seconds per unit of size on one node.
    """
    return (
        fixed_seconds
        + nodes * iterations * c_seconds
        + iterations * b_seconds / nodes**exponent
        + a * size / nodes
    )


def cost_usd(
    *, usd_per_hour: Sequence[float], nodes: Sequence[float], seconds: Quantity
) -> Quantity:
    """V Eq. 9: C = sum over instance types t of c_t x n_t x T_Est, in USD.

    Workers only and per second, as in Table VI; the bill of a provider is `engine.cost`.
    """
    rate = sum(price * count for price, count in zip(usd_per_hour, nodes, strict=True))
    return rate * seconds / SECONDS_PER_HOUR


def deadline_satisfaction(recorded: FloatArray, deadlines: FloatArray) -> float:
    """VI-F: the statistic S, the share of k cases whose recorded time kept the deadline."""
    return float(np.mean(recorded <= deadlines))


PHASE_INIT = "initialization"
PHASE_PREP = "preparation"
PHASE_FIXED = "initialization and preparation"
PHASE_SHARING = "variable sharing"
PHASE_COMMUNICATION = "communication"
PHASE_EXECUTION = "execution"


@dataclass(frozen=True, eq=False)
class JobProfileCurve(TypeCurve):
    """The closed form of a job profile (Eqs. 1 to 6), or the mean of the closed forms of several
    representative jobs on one type; it has no spread."""

    jobs: tuple[OptexProfile, ...]
    runs: MachineRuns

    @classmethod
    def of(cls, *jobs: OptexProfile) -> JobProfileCurve:
        """The curve of job profiles on one type: it stands for that type, and has no runs."""
        none, name = np.empty(0), jobs[0].instance_type
        instance = None if name is None else InstanceType(name, vcpus=np.nan, memory_gib=np.nan)
        slots = [job.slots_per_node for job in jobs if job.slots_per_node]
        return cls(
            jobs,
            MachineRuns(
                instance, "nodes", slots[0] if slots else np.nan, none, none, none, none,
                members=() if name is None else (name,),
            ),
        )  # fmt: skip

    @classmethod
    def of_each_type(cls, jobs: Sequence[OptexProfile]) -> tuple[JobProfileCurve, ...]:
        """One curve for each type that the job profiles are of."""
        types: dict[str | None, list[OptexProfile]] = {}
        for job in jobs:
            types.setdefault(job.instance_type, []).append(job)
        return tuple(cls.of(*group) for group in types.values())

    def phases(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> Mapping[str, FloatArray]:
        by_job = self._phases_by_job(machines, size, iterations)
        return {name: np.mean([own[name] for own in by_job], axis=0) for name in by_job[0]}

    def seconds_by_job(
        self, machines: FloatArray, *, size: float | None, iterations: float | None
    ) -> FloatArray:
        """(k, n) seconds by each of k representative jobs."""
        by_job = self._phases_by_job(machines, size, iterations)
        return np.asarray([np.sum([*own.values()], axis=0) for own in by_job])

    def _phases_by_job(
        self, machines: FloatArray, size: float | None, iterations: float | None
    ) -> list[Mapping[str, FloatArray]]:
        return [job_phases(j, machines, size=size, iterations=iterations) for j in self.jobs]

    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        return in_order(_iteration_notice(job, workload) for job in self.jobs)


def job_phases(
    job: OptexProfile, machines: FloatArray, *, size: float | None, iterations: float | None
) -> Mapping[str, FloatArray]:
    """(n,) seconds of each phase of Eqs. 1 to 6 on n numbers of nodes."""
    times = 1.0 if iterations is None else iterations
    amount = job.s_baseline if size is None else size
    commn = communication_seconds(
        cf_commn=job.cf_commn,
        t_commn_baseline_seconds=job.t_commn_baseline_seconds,
        size=amount,
        s_baseline=job.s_baseline,
    )
    n_unit = unit_tasks(n_unit_baseline=job.n_unit_baseline, size=amount, s_baseline=job.s_baseline)
    execution = execution_seconds(iterations=times, n_unit=n_unit, operations=job.operations)
    sharing = variable_sharing_seconds(
        coeff=job.coeff,
        iterations=times,
        nodes=machines,
        t_vs_baseline_seconds=job.t_vs_baseline_seconds,
    )
    one = np.ones_like(machines)
    return {
        PHASE_INIT: job.t_init_seconds * one,
        PHASE_PREP: job.t_prep_seconds * one,
        PHASE_SHARING: sharing * one,
        PHASE_COMMUNICATION: commn / machines,
        PHASE_EXECUTION: execution / machines**job.exponent,
    }


def _iteration_notice(job: OptexProfile, workload: Workload) -> Notice | None:
    """The warning about an iterative job without a number of iterations, or about iterations
    wanted of a job that does not iterate."""
    if job.iterative and workload.iterations is None:
        return Notice(
            "iterations-assumed",
            "the job is iterative, and neither the question nor any run says how often: "
            "one iteration is assumed",
            "say the number of iterations",
        )
    if not job.iterative and (workload.iterations or 1.0) != 1.0:
        return Notice(
            "model-does-not-fit",
            "the job profile comes from a job without iterations; it represents only such jobs "
            "(OptEx III-B)",
            "use a profile of an iterative job, or leave out the iterations",
        )
    return None


class Optex(Model):
    """Job profiles in closed form; Eq. 8 refitted where there are runs."""

    name = "optex"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs a job profile, event logs to measure one from, or runs in three configurations of
        nodes, iterations and size."""
        profile, unmeasured = _with_measured_profiles(profile)
        jobs = in_category(profile)
        warnings = representation_notices(jobs, profile)
        profile = replace(profile, runs=target_runs(profile))
        given = JobProfileCurve.of_each_type(jobs)
        fitted = OptexFitted(
            self.name, profile, fit_eq8, given, iterations_in_model=True, fit_notices=warnings
        )
        try:
            return fitted.validated()
        except ModelDoesNotFit as error:
            raise unmeasured or ModelDoesNotFit(
                f"optex needs a job profile or several runs to refit Eq. 8: {error.what}",
                remedy="add an optex section to the profile, add runs on other numbers of nodes, "
                "or use --model sparkplan",
            ) from error


def _with_measured_profiles(profile: Profile) -> tuple[Profile, ModelDoesNotFit | None]:
    """The profile with job profiles measured from its logs where it holds none; else why not."""
    if profile.optex or not profile.has_stages:
        return profile, None
    try:
        return with_job_profiles(profile), None
    except ModelDoesNotFit as error:
        return profile, error


@dataclass(frozen=True, eq=False, repr=False)
class OptexFitted(CurvesModel):
    """OptEx fitted to a profile: refitted curves where there are runs, closed forms elsewhere."""

    def completed(self, workload: Workload) -> Workload:
        if self.profile.runs:
            return self._completed_from_runs(workload)
        if workload.input_bytes is None and workload.scale is not None and self.profile.optex:
            size = workload.scale * max(job.s_baseline for job in self.profile.optex)
            return Workload(size, workload.iterations, workload.parameters)
        return workload

    def _completed_from_runs(self, workload: Workload) -> Workload:
        """Completed from the runs; an iterative job profile accepts iterations that no run has."""
        counted = any(run.workload.iterations for run in self.profile.runs)
        iterative = any(job.iterative for job in self.profile.optex)
        if counted or not iterative or workload.iterations is None:
            return with_defaults(workload, self.profile)
        rest = with_defaults(replace(workload, iterations=None), self.profile)
        return replace(rest, iterations=workload.iterations)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        notices = super().notices(batch, workload)
        if len(batch) != 1:
            return notices
        question = self._asked(batch, workload)
        curve = question.curves[int(question.at.family[0])]
        if not isinstance(curve, JobProfileCurve) or len(curve.jobs) < 2:
            return notices
        seconds = curve.seconds_by_job(
            question.at.machines[:1], size=question.size, iterations=question.workload.iterations
        )
        return (*notices, several_representatives_notice(seconds[:, 0]))


def eq8_terms(machines: FloatArray, size: FloatArray, iterations: FloatArray) -> FloatArray:
    """(n, 4) the terms of Eq. 8: 1, n iter, iter s / n, s / n; iter is 1 for runs without. The sum
    B of Eq. 8 runs over n_unit tasks, which grow with the input (Eq. 4)."""
    times = np.where(np.isnan(iterations), 1.0, iterations)
    shared = size / machines
    return np.stack((np.ones_like(machines), machines * times, times * shared, shared), axis=-1)


def fit_eq8(runs: MachineRuns) -> FittedCurve:
    """Eq. 8 refitted: theta = (T_init + T_prep, C, B / s, A) >= 0 of least relative error."""
    rows = eq8_terms(runs.machines, runs.size, runs.iterations)
    fit = fit_nonnegative(rows, runs.seconds, relative=True, groups=runs.configurations)
    return FittedCurve(
        runs=runs,
        features=eq8_terms,
        names=(PHASE_FIXED, PHASE_SHARING, PHASE_EXECUTION, PHASE_COMMUNICATION),
        fit=fit,
        spread=fit.spread,
        fit_notices=applicability(runs, fit, model="optex", steepest=1.0),
        iterations_in_terms=True,
    )
