"""Plans that answer for any cluster: times with intervals, states, and warnings.

No coefficients are fitted: a log gives the work of a typical task of each stage, and machines give
the rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.forecast import FloatArray, Forecast, IntArray
from engine.machines.transfer import Speed
from engine.models.base import Explanation, FittedModel, Prediction
from engine.models.boe.notices import far_notices, rate_notices, speed_notices
from engine.models.boe.plan import ScaledPlan, Target, WorkflowPlan, one_node, own_target
from engine.models.boe.surface import PROOF_SECONDS, most_alone, seconds_on
from engine.models.boe.workflow import OwnNodes, Workflow
from engine.models.boe.workflow_course import Course, Machines
from engine.models.boe.workflow_report import WorkflowReport, explanation, report_of
from engine.models.replay.monotone_times import monotone_mean
from engine.models.stages.one_machine import one_machine_notice, shared_cores_scale
from engine.models.stages.partitioning.stage_growth import partitions_notice
from engine.models.workloads import input_ratio, with_defaults
from engine.notices import Notice, in_order
from engine.profile import Run
from engine.runs.barrier_stages import BarrierStage, barrier_notice
from engine.runs.configurations import configurations, times_run

NAME = "boe"

SPREAD = 0.10
SPREAD_PER_DOUBLING_SLOTS = 0.08
SPREAD_PER_DOUBLING_INPUT = 0.15
PRIOR_DOF = 8.0
"""Prior standard deviations of log time: where a job was observed, and per doubling away from it.
The paper's workflows were off by 3.6 to 6.5 % on the cluster that was profiled, its single stages
by 5 to 18 %."""

NEARNESS = 1.5
"""How much faster the weights of logs fall than exp(-doublings away)."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedStates(FittedModel):
    """Plans that answer for any cluster; those of several logs of a job are averaged in log time.

    Args:
        plans: one per log, or the one of a workflow.
        bias: (p,) log of observed over estimated time on the plan's own cluster; 0 for workflows.
        spread: standard deviation of log time where a job was observed.
        learnt: factor on the prior's spread, learnt from left-out logs.
        of_parameters: fits the logs of other job parameters (and refuses those that no log has);
            None for a single set of logs, and for workflows.
    """

    workflow: Workflow
    plans: tuple[WorkflowPlan, ...]
    bias: FloatArray
    spread: float = SPREAD
    learnt: float = 1.0
    dof: float = PRIOR_DOF
    of_parameters: Callable[[Mapping[str, float]], FittedStates] | None = None
    _answering: dict[object, FittedStates] = field(default_factory=dict, repr=False)

    @cached_property
    def repeated(self) -> IntArray:
        """(p,) how often the configuration of each plan's log was run; 1 for a workflow."""
        if not self.is_job:
            return np.ones(len(self.plans), dtype=np.int64)
        runs = [plan.parts[0].observed.run for plan in self.plans if plan.parts[0].observed]
        return times_run(configurations(runs))

    @property
    def is_job(self) -> bool:
        """Whether this is one application, not a workflow of jobs."""
        return bool(self.profile.runs)

    def answering(self, workload: Workload) -> FittedStates:
        """Fitted once per set of job parameters.

        Raises:
            ModelDoesNotFit: for job parameters that no log has.
        """
        if self.of_parameters is None:
            return self
        wanted = with_defaults(workload, self.profile)
        key = wanted.sorted_parameters
        if key not in self._answering:
            self._answering[key] = self.of_parameters(wanted.parameters)
        return self._answering[key]

    def exact_at_once(self, workload: Workload) -> int:
        if self.is_job:
            return super().exact_at_once(workload)
        return most_alone(self._scaled_workflow(workload))

    def most_to_prove(self, workload: Workload) -> int:
        if self.is_job:
            return super().most_to_prove(workload)
        return most_alone(self._scaled_workflow(workload), limit_seconds=PROOF_SECONDS)

    def _scaled_workflow(self, workload: Workload) -> ScaledPlan:
        """The plan of a workflow for a workload."""
        (plan,) = self.plans
        return self._scaled(plan, self._wanted(workload))

    def _scaled(self, plan: WorkflowPlan, wanted: Workload) -> ScaledPlan:
        return ScaledPlan(plan, self._scale(plan, wanted), wanted.shuffle_partitions)

    @property
    def is_precise_on_grids(self) -> bool:
        """Curves of a workflow were up to 43 % off (`boe.surface`)."""
        return self.is_job

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = self._wanted(workload)
        own = self.answering(wanted)
        _, away = own._weights(batch, wanted)
        seconds = np.exp(
            monotone_mean(lambda other: own._mean_log(batch, other), own._runs, wanted)
            if own.is_job
            else own._mean_log(batch, wanted)
        )
        crowded = shared_cores_scale(own._runs, batch, seconds) if own.is_job else 0.0
        log_scale = np.hypot(own.learnt * np.hypot(own.spread, away), crowded)
        return Forecast.of(seconds, np.where(np.isfinite(seconds), log_scale, np.nan), own.dof)

    def _mean_log(self, batch: ClusterBatch, wanted: Workload) -> FloatArray:
        """(n,) mean log time of the plans, weighted by nearness."""
        weights, _ = self._weights(batch, wanted)
        logs = [
            np.log(seconds_on(self._scaled(plan, wanted), batch)) + bias
            for plan, bias in zip(self.plans, self.bias, strict=True)
        ]
        return np.asarray((weights * np.asarray(logs)).sum(axis=0))

    def _weights(self, batch: ClusterBatch, wanted: Workload) -> tuple[FloatArray, FloatArray]:
        """(p, n) weights of the plans, and (n,) the standard deviation that their distance from
        the question adds."""
        far, spreads = [], []
        for plan in self.plans:
            slots, doubt = self._away(plan, batch)
            sizes = abs(math.log2(self._scale(plan, wanted)))
            far.append(slots + (sizes if self.is_job else 0.0))
            spreads.append(
                np.sqrt(
                    (SPREAD_PER_DOUBLING_SLOTS * slots) ** 2
                    + (SPREAD_PER_DOUBLING_INPUT * sizes) ** 2
                    + doubt**2
                )
            )
        distance = np.asarray(far) + np.asarray(spreads) / SPREAD_PER_DOUBLING_SLOTS
        weights = nearness(distance, self.repeated)
        return weights, np.asarray((weights * np.asarray(spreads)).sum(axis=0))

    @cached_property
    def _runs(self) -> list[Run]:
        return [part.observed.run for plan in self.plans for part in plan.parts if part.observed]

    @property
    def ran_on(self) -> tuple[InstanceType, ...]:
        """The types of a workflow's jobs."""
        parts = [part for plan in self.plans for part in plan.parts]
        seen = [part.observed.run.cluster.instance for part in parts if part.observed is not None]
        named = [*seen, *(part.job.ran_on for part in parts)]
        return tuple(dict.fromkeys(kind for kind in named if kind is not None))

    @property
    def barrier_stages(self) -> tuple[BarrierStage, ...]:
        """For a workflow, the most demanding barrier stages of all its jobs."""
        return super().barrier_stages if self.is_job else self.workflow.barrier_stages

    def runs_used(self, workload: Workload) -> int:
        return len(self.answering(workload).plans) if self.is_job else 0

    def _wanted(self, workload: Workload) -> Workload:
        """The workload with what it leaves open.

        Raises:
            BadInput: for a size, parameters or iterations that this model cannot take.
        """
        if not self.is_job:
            _check_of_workflow(workload)
            return workload
        wanted = with_defaults(workload, self.profile)
        own = self._nearest_run(wanted).workload.iterations
        if own is not None and wanted.iterations is not None and wanted.iterations != own:
            raise BadInput(
                f"the logs have {own:g} iterations: boe does not know the time of "
                f"{wanted.iterations:g}",
                where="--iterations",
                remedy="add a log with that many, or use --model sparkplan",
            )
        return wanted

    def _scale(self, plan: WorkflowPlan, wanted: Workload) -> float:
        observed = plan.parts[0].observed
        if not self.is_job or observed is None:
            return wanted.scale or 1.0
        return input_ratio(wanted, observed.run)

    def _nearest_run(self, wanted: Workload) -> Run:
        runs = self.answering(wanted)._runs
        return min(runs, key=lambda run: abs(math.log(input_ratio(wanted, run))))

    def _away(self, plan: WorkflowPlan, batch: ClusterBatch) -> tuple[FloatArray, FloatArray]:
        """(n,) doublings of slots from the observed ones (the most of any job), and (n,) the doubt
        about the speed of the machines."""
        slots = np.zeros(len(batch))
        doubt = np.zeros(len(batch))
        targets = [one_node(instance, batch.catalog) for instance in batch.types]
        for part in plan.parts:
            scales = [part.speed_on(target).log_scale for target in targets]
            doubt = np.maximum(doubt, np.asarray(scales)[batch.type_index])
            if part.observed is not None:
                slots = np.maximum(slots, np.abs(np.log2(batch.slots / part.observed.slots)))
        return np.nan_to_num(slots), doubt

    def _best_plan(
        self, batch: ClusterBatch, wanted: Workload
    ) -> tuple[WorkflowPlan, Target] | None:
        """The plan of the configuration that weighs most for the one cluster of a batch, and the
        cluster as the plan sees it; None where its slots are not known."""
        own = self.answering(wanted)
        weights, _ = own._weights(batch, wanted)
        plan = own.plans[int(np.argmax(weights[:, 0] * own.repeated))]
        target = plan.target(batch, 0)
        return None if target is None else (plan, target)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = self._wanted(workload)
        best = self._best_plan(batch, wanted)
        if best is None:
            return Explanation()
        plan, target = best
        course = self._scaled(plan, wanted).course(target)
        seconds = float(self.forecast(batch, workload).seconds[0])
        return explanation(course, seconds=seconds, slots=target.slots)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = self._wanted(workload)
        best = self._best_plan(batch, wanted)
        if best is None:
            return ()
        plan, target = best
        scale = self._scale(plan, wanted)
        of_nodes = [*rate_notices(plan, target), *speed_notices(plan, target)]
        runs = self.answering(wanted)._runs
        alone = one_machine_notice(runs, batch, law=NAME) if self.is_job else None
        unused = partitions_notice(runs, wanted)
        return in_order([*of_nodes, *far_notices(plan, target, scale), alone, unused])

    def transferred(
        self, instance: InstanceType, catalog: Catalog
    ) -> tuple[Speed, tuple[Notice, ...]]:
        """For a workflow, that of the most doubtful job: each tells where it ran."""
        if self.is_job:
            return super().transferred(instance, catalog)
        (plan,), target = self.plans, one_node(instance, catalog)
        speeds = [part.speed_on(target) for part in plan.parts]
        worst = max(speeds, key=lambda speed: (speed.log_scale, speed.code is not None))
        return worst, in_order(speed_notices(plan, target))

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
        plan, target = self._plan_and_target(cluster, workload)
        wanted = self._wanted(workload)
        scaled = self._scaled(plan, wanted)
        course = scaled.course(target)
        _check_timed(course)
        skew = scaled.skew_seconds(target, seconds=course.seconds)
        if isinstance(cluster, OwnNodes):
            prediction = self._own_prediction(scaled, target, course, confidence)
        else:
            prediction = self.predict(cluster=cluster, workload=workload, confidence=confidence)
        return self._report(plan, course, prediction, target.machines, skew)

    def _plan_and_target(
        self, cluster: Cluster | OwnNodes, workload: Workload
    ) -> tuple[WorkflowPlan, Target]:
        if isinstance(cluster, OwnNodes):
            return self.plans[0], own_target(cluster)
        batch = ClusterBatch.of([cluster], self.profile)
        best = self._best_plan(batch, self._wanted(workload))
        if best is None:
            raise BadInput("how many tasks the cluster runs at once is not known")
        return best

    def _own_prediction(
        self, scaled: ScaledPlan, target: Target, course: Course, confidence: float
    ) -> Prediction:
        """The time of a course on the nodes of the workflow file, whose speed is unknown."""
        forecast = Forecast.of(np.asarray([course.seconds]), self.spread, self.dof)
        low, high = forecast.interval(confidence)
        stuck = barrier_notice(self.barrier_stages, target.nodes, target.slots / target.nodes)
        notices = [
            *self.profile.notices, *self.fit_notices, *rate_notices(scaled.plan, target),
            *far_notices(scaled.plan, target, scaled.scale), stuck,
        ]  # fmt: skip
        why = explanation(course, seconds=course.seconds, slots=target.slots)
        return Prediction(
            NAME, course.seconds, float(low[0]), float(high[0]), confidence, why.phases,
            why.stages, why.bottleneck, in_order(notices), forecast,
        )  # fmt: skip

    def _report(
        self,
        plan: WorkflowPlan,
        course: Course,
        prediction: Prediction,
        machines: Machines,
        skew: float | None,
    ) -> WorkflowReport:
        if self.is_job and plan.parts[0].observed is not None:
            labels = plan.parts[0].observed.job_labels()
        else:
            labels = [plan.parts[entry.job].job.name for entry in course.activities]
        return report_of(
            self.workflow, labels, plan, course, prediction, machines=machines, skew_seconds=skew
        )


def _check_of_workflow(workload: Workload) -> None:
    """Refuses what only a job has: a workflow is told a factor of all its inputs, and no more."""
    if workload.input_bytes is not None:
        raise BadInput(
            "a workflow has no size of its own",
            remedy="give each job's input_size in its file, or a factor such as 2x",
        )
    if workload.iterations or workload.parameters:
        raise BadInput(
            "a workflow has no iterations or parameters of its own",
            remedy="leave them out: each job is as its log or its file has it",
        )


def _check_timed(course: Course) -> None:
    """Refuses a course that takes no time: its tasks use nothing whose rate is known."""
    if course.seconds <= 0.0:
        raise BadInput(
            "nothing says how long any task takes: the disk and network rates of the nodes are "
            "not known",
            remedy="give disk and network under cluster in the workflow file, or name a type of a "
            "catalog that knows them",
        )


def nearness(distance: FloatArray, repeated: IntArray) -> FloatArray:
    """(p, n) weights of p plans by their distance from each question; they add up to 1.

    Args:
        repeated: (p,) how often the configuration of each was run: its logs count as one.
    """
    weights = np.exp(-NEARNESS * (distance - distance.min(axis=0))) / repeated[:, None]
    return np.asarray(weights / weights.sum(axis=0))
