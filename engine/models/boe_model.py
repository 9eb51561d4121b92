"""`boe`: the stages of one application, and workflows of several, by bottlenecks and states.

What is fitted are no coefficients: a log gives the work of a typical task of each stage, machines
give the rates. With one log the interval is a prior (docs/models/boe.md says where it comes from);
with several each is predicted from the others, which widens or narrows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.forecast import FloatArray, Forecast
from engine.models.base import Explanation, FittedModel, LeaveOneOut, Model, Prediction, distinct
from engine.models.boe_jobs import ObservedJob
from engine.models.boe_notices import (
    PRIOR_INTERVAL,
    SINGLE_RUN,
    far_notices,
    rate_notices,
    speed_notices,
)
from engine.models.boe_plan import Part, Plan, Target, own_target
from engine.models.boe_surface import seconds_on
from engine.models.states import Timeline
from engine.models.workflow import TASK_PROFILES, OwnNodes, Workflow, WorkflowJob, single_job
from engine.models.workflow_report import WorkflowReport, explanation, report_of
from engine.models.workloads import completed, sharing_parameters
from engine.profile import Notice, Profile, Run

NAME = "boe"

SPREAD = 0.10
SPREAD_PER_DOUBLING_SLOTS = 0.08
SPREAD_PER_DOUBLING_INPUT = 0.15
PRIOR_DOF = 8.0
"""Prior standard deviations of log time: where a job was observed, and per doubling away from it.
The paper's workflows were off by 3.6 to 6.5 % on the cluster that was profiled, its single stages
by 5 to 18 %."""

SPREAD_EXPLICIT = 0.18
"""Of a workflow with explicit rates: about what the paper's task model is off by at worst."""

LARGEST_CORRECTION = 0.35
"""A plan that misses its own run by more (in log time) has not understood it."""

MOST_LOGS = 8
NEARNESS = 1.5
"""Logs that are estimated; how much faster their weights fall than exp(-doublings away)."""


@dataclass(frozen=True, eq=False)
class FittedStates(FittedModel):
    """Plans that answer for any cluster; those of several logs of a job are averaged in log time.

    Args:
        plans: one per log, or the one of a workflow.
        bias: (p,) log of observed over estimated time on the plan's own cluster; 0 for workflows.
        spread: standard deviation of log time where a job was observed.
        learnt: what leaving out logs says the prior's spread must be multiplied by.
    """

    workflow: Workflow
    plans: tuple[Plan, ...]
    bias: FloatArray
    spread: float = SPREAD
    learnt: float = 1.0
    dof: float = PRIOR_DOF

    @property
    def is_job(self) -> bool:
        """Whether this is one application's stages, and not a workflow of jobs."""
        return bool(self.profile.runs)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = self._wanted(workload)
        logs, far, spreads = [], [], []
        for plan, bias in zip(self.plans, self.bias, strict=True):
            scale = self._scale(plan, wanted)
            seconds = seconds_on(plan, batch, scale=scale, partitions=wanted.shuffle_partitions)
            logs.append(np.log(seconds) + bias)
            slots, doubt = self._away(plan, batch)
            sizes = abs(math.log2(scale)) if self.is_job else 0.0
            far.append(slots + sizes)
            spreads.append(
                np.sqrt(
                    (SPREAD_PER_DOUBLING_SLOTS * slots) ** 2
                    + (SPREAD_PER_DOUBLING_INPUT * abs(math.log2(scale))) ** 2
                    + doubt**2
                )
            )
        weights = nearness(np.asarray(far) + np.asarray(spreads) / SPREAD_PER_DOUBLING_SLOTS)
        seconds = np.exp((weights * np.asarray(logs)).sum(axis=0))
        away = (weights * np.asarray(spreads)).sum(axis=0)
        log_scale = self.learnt * np.hypot(self.spread, away)
        return Forecast.of(seconds, np.where(np.isfinite(seconds), log_scale, np.nan), self.dof)

    def _wanted(self, workload: Workload) -> Workload:
        """The workload with what it leaves open.

        Raises:
            BadInput: for a size, parameters or iterations that this model knows nothing of.
        """
        if not self.is_job:
            if workload.input_bytes is not None or workload.iterations or workload.parameters:
                raise BadInput(
                    "a workflow has no size of its own",
                    remedy="give each job's input_size in its file, or a factor such as 2x",
                )
            return workload
        wanted = completed(workload, self.profile)
        own = self._nearest_run(wanted).workload.iterations
        if own is not None and wanted.iterations is not None and wanted.iterations != own:
            raise BadInput(
                f"the logs have {own:g} iterations: boe does not know the time of "
                f"{wanted.iterations:g}",
                where="--iterations",
                remedy="add a log with that many, or use --model sparkplan",
            )
        return wanted

    def _scale(self, plan: Plan, wanted: Workload) -> float:
        observed = plan.parts[0].observed
        if not self.is_job or observed is None:
            return wanted.scale or 1.0
        return input_ratio(wanted, observed.run)

    def _nearest_run(self, wanted: Workload) -> Run:
        runs = [part.observed.run for plan in self.plans for part in plan.parts if part.observed]
        return min(runs, key=lambda run: abs(math.log(input_ratio(wanted, run))))

    def _away(self, plan: Plan, batch: ClusterBatch) -> tuple[FloatArray, FloatArray]:
        """(n,) doublings of slots from the observed ones (the most of any job), and the doubt
        about the speed of the machines."""
        slots = np.zeros(len(batch))
        doubt = np.zeros(len(batch))
        targets = [plan.sample_target(batch, kind) for kind in range(len(batch.types))]
        for part in plan.parts:
            scales = [part.speed_on(target).log_scale for target in targets]
            doubt = np.maximum(doubt, np.asarray(scales)[batch.type_index])
            if part.observed is not None:
                slots = np.maximum(slots, np.abs(np.log2(batch.slots / part.observed.slots)))
        return np.nan_to_num(slots), doubt

    def _best_plan(self, batch: ClusterBatch, wanted: Workload) -> tuple[Plan, Target] | None:
        """The plan that weighs most in an answer about the one cluster of a batch."""
        far = [
            float(self._away(plan, batch)[0][0]) + abs(math.log2(self._scale(plan, wanted)))
            for plan in self.plans
        ]
        plan = self.plans[int(np.argmin(far))]
        target = plan.target(batch, 0)
        return None if target is None else (plan, target)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = self._wanted(workload)
        best = self._best_plan(batch, wanted)
        if best is None:
            return Explanation()
        plan, target = best
        timeline = plan.timeline(target, self._scale(plan, wanted), wanted.shuffle_partitions)
        seconds = float(self.forecast(batch, workload).seconds[0])
        return explanation(timeline, seconds=seconds, slots=target.slots)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = self._wanted(workload)
        best = self._best_plan(batch, wanted)
        if best is None:
            return ()
        plan, target = best
        scale = self._scale(plan, wanted)
        found = [*rate_notices(plan, target), *speed_notices(plan, target)]
        found += far_notices(plan, target, scale)
        return distinct(found)

    def course(
        self,
        *,
        cluster: Cluster | OwnNodes,
        workload: Workload | None = None,
        confidence: float = 0.9,
    ) -> WorkflowReport:
        """The sequence of states on one cluster, with each stage's parallelism and bottleneck.

        Raises:
            BadInput: as `predict`, and for a task that fits no cluster of this size.
        """
        workload = workload or self.profile.reference_workload
        if isinstance(cluster, OwnNodes):
            return self._own_course(cluster, workload, confidence)
        batch = ClusterBatch.of([cluster], self.profile)
        wanted = self._wanted(workload)
        best = self._best_plan(batch, wanted)
        if best is None:
            raise BadInput("how many tasks the cluster runs at once is not known")
        plan, target = best
        timeline = plan.timeline(target, self._scale(plan, wanted), wanted.shuffle_partitions)
        prediction = self.predict(cluster=cluster, workload=workload, confidence=confidence)
        return self._report(plan, timeline, prediction)

    def _own_course(
        self, cluster: OwnNodes, workload: Workload, confidence: float
    ) -> WorkflowReport:
        """On the nodes of the workflow's file; nothing is known of their speed."""
        plan, target = self.plans[0], own_target(cluster)
        scale = self._scale(plan, self._wanted(workload))
        timeline = plan.timeline(target, scale, workload.shuffle_partitions)
        forecast = Forecast.of(np.asarray([timeline.seconds]), self.spread, self.dof)
        low, high = forecast.interval(confidence)
        notices = [*self.profile.notices, *self.fit_notices, *rate_notices(plan, target)]
        notices += far_notices(plan, target, scale)
        why = explanation(timeline, seconds=timeline.seconds, slots=target.slots)
        prediction = Prediction(
            NAME, timeline.seconds, float(low[0]), float(high[0]), confidence, why.phases,
            why.stages, why.bottleneck, distinct(notices), forecast,
        )  # fmt: skip
        return self._report(plan, timeline, prediction)

    def _report(self, plan: Plan, timeline: Timeline, prediction: Prediction) -> WorkflowReport:
        if self.is_job and plan.parts[0].observed is not None:
            labels = plan.parts[0].observed.job_labels()
        else:
            labels = [plan.parts[entry.job].job.name for entry in timeline.activities]
        return report_of(self.workflow, labels, plan, timeline, prediction)


def nearness(distance: FloatArray) -> FloatArray:
    """(p, n) weights of p plans by how far they are from each question; they add up to 1."""
    weights = np.exp(-NEARNESS * (distance - distance.min(axis=0)))
    return np.asarray(weights / weights.sum(axis=0))


def input_ratio(wanted: Workload, run: Run) -> float:
    """Input of a workload relative to a run's; 1 where neither says it."""
    own = run.workload.input_bytes
    if wanted.input_bytes is None or own is None:
        return wanted.scale or 1.0
    return wanted.input_bytes / own


class Boe(Model):
    """Fits the stages of the logs of one application."""

    name = NAME
    summary = "bottlenecks of tasks (cpu, disk, network), states of parallel stages (BOE paper)"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedStates:
        return fit_states(profile)


def fit_states(profile: Profile) -> FittedStates:
    """The stages of one application, from its logs.

    Raises:
        ModelDoesNotFit: when no run tells its stages and its slots.
    """
    runs = [run for run in profile.runs if run.stages and run.cluster.slots]
    runs = [run for run in runs if run.complete] or runs
    if not runs:
        raise ModelDoesNotFit(
            "no run tells both its stages and how many tasks it ran at once",
            remedy="add an event log, or use --model ernest for a run table",
        )
    runs = sharing_parameters(runs, profile.reference_workload.parameters)
    return fit_runs(profile, spread_out(runs, MOST_LOGS))


def spread_out(runs: Sequence[Run], most: int) -> list[Run]:
    """At most so many runs, spread over sizes and slots; the median time of those alike."""
    ordered = sorted(
        runs, key=lambda r: (r.cluster.slots or 0, r.workload.input_bytes or 0.0, r.seconds)
    )
    if len(ordered) <= most:
        return list(runs)
    parts = np.array_split(np.arange(len(ordered)), most)
    middle = [sorted((ordered[i] for i in part), key=lambda run: run.seconds) for part in parts]
    return [part[len(part) // 2] for part in middle]


def fit_runs(profile: Profile, runs: Sequence[Run]) -> FittedStates:
    """The model of some logs of one application."""
    workflow = single_job(profile.name, profile)
    plans = [Plan((Part(workflow.jobs[0], ObservedJob.of(run)),), "fifo") for run in runs]
    own = np.asarray([own_error(plan) for plan in plans])
    bias = np.clip(own, -LARGEST_CORRECTION, LARGEST_CORRECTION)
    notices = [notice for run in runs for notice in run.notices]
    if np.abs(own).max() > LARGEST_CORRECTION:
        notices.append(
            Notice(
                "model-does-not-fit",
                f"the states of a log are off by {np.expm1(np.abs(own).max()):.0%} on its own "
                "cluster",
                "use --model sparkplan, or add a log of a whole run",
            )
        )
    fitted = FittedStates(NAME, profile, workflow, tuple(plans), bias)
    if len(runs) == 1:
        return _noted(fitted, [*notices, SINGLE_RUN])
    validation, learnt, dof = left_out(fitted)
    more = [] if len(runs) > 2 else [PRIOR_INTERVAL]
    return FittedStates(
        NAME, profile, workflow, tuple(plans), bias, SPREAD, learnt, dof,
        fit_notices=distinct([*notices, *more]), validation=validation,
    )  # fmt: skip


def _noted(fitted: FittedStates, notices: Sequence[Notice]) -> FittedStates:
    return FittedStates(
        NAME, fitted.profile, fitted.workflow, fitted.plans, fitted.bias, fitted.spread,
        fit_notices=distinct(notices),
    )  # fmt: skip


def own_error(plan: Plan) -> float:
    """Log of a run's observed time over its estimate on its own cluster and input."""
    observed = plan.parts[0].observed
    assert observed is not None
    per_node = observed.slots / observed.nodes
    target = Target(
        observed.slots, observed.nodes, per_node, math.inf, observed.rates,
        observed.run.cluster.instance,
    )  # fmt: skip
    return math.log(observed.run.seconds / plan.timeline(target, 1.0, None).seconds)


def left_out(fitted: FittedStates) -> tuple[LeaveOneOut, float, float]:
    """Each log predicted from the others: the errors, the factor on the prior's spread (its
    variance counts as `PRIOR_DOF` errors of its own), and the degrees of freedom."""
    predicted, actual, squares = [], [], 0.0
    for place, plan in enumerate(fitted.plans):
        observed = plan.parts[0].observed
        assert observed is not None
        others = [p for p in range(len(fitted.plans)) if p != place]
        without = FittedStates(
            NAME, fitted.profile, fitted.workflow, tuple(fitted.plans[p] for p in others),
            fitted.bias[others],
        )  # fmt: skip
        run = observed.run
        wanted = Workload(
            run.workload.input_bytes, None, run.workload.parameters, run.workload.scale
        )
        batch = ClusterBatch.of([run.cluster], fitted.profile)
        found = without.forecast(batch, wanted)
        predicted.append(float(found.seconds[0]))
        actual.append(run.seconds)
        squares += float((math.log(run.seconds / found.seconds[0]) / found.log_scale[0]) ** 2)
    n = len(predicted)
    learnt = math.sqrt((PRIOR_DOF + squares) / (PRIOR_DOF + n))
    return LeaveOneOut(tuple(predicted), tuple(actual)), learnt, PRIOR_DOF + n


def fit_workflow(
    workflow: Workflow, *, task_profile: str = "normal", printed: bool = False
) -> FittedStates:
    """A workflow, ready to be estimated on any cluster.

    Args:
        task_profile: "normal" (Algorithm 2), "mean" or "median" (Algorithm 1; section 7.3).
        printed: Eqs. 7 and 8 as the paper prints them.

    Raises:
        BadInput: for an unknown task profile.
        ModelDoesNotFit: for a job whose evidence tells no stages.
    """
    if task_profile not in TASK_PROFILES:
        raise BadInput(f"unknown task profile {task_profile!r}", choices=TASK_PROFILES)
    parts = tuple(_part(job, task_profile) for job in workflow.jobs)
    plan = Plan(parts, workflow.scheduler, task_profile, printed)
    notices = [
        notice for job in workflow.jobs if job.profile is not None for notice in job.profile.notices
    ]
    explicit = any(part.observed is None for part in parts)
    return FittedStates(
        NAME,
        Profile(workflow.name, notices=distinct(notices)),
        workflow,
        (plan,),
        np.zeros(1),
        SPREAD_EXPLICIT if explicit else SPREAD,
        fit_notices=(PRIOR_INTERVAL,),
    )


def _part(job: WorkflowJob, task_profile: str) -> Part:
    """A job with the log that is nearest to its input."""
    if job.profile is None:
        return Part(job)
    runs = [run for run in job.profile.runs if run.stages and run.cluster.slots]
    runs = [run for run in runs if run.complete] or runs
    if not runs:
        raise ModelDoesNotFit(
            f"no run of job {job.name!r} tells its stages and its slots",
            where=job.where or None,
            remedy="give it an event log",
        )
    wanted = completed(job.workload or job.profile.reference_workload, job.profile)
    run = min(runs, key=lambda r: (abs(math.log(input_ratio(wanted, r))), -r.seconds))
    typical = "median" if task_profile == "median" else "mean"
    return Part(job, ObservedJob.of(run, typical=typical), input_ratio(wanted, run))
