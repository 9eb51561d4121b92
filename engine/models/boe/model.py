"""`boe`: the stages of one application, and workflows of several, by bottlenecks and states.

With one log the interval is a prior (see docs/models/boe.md); with several, each is
predicted from the others, which widens or narrows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.forecast import IntArray
from engine.models.base import LeaveOneOut
from engine.models.boe.fitted_states import NAME, PRIOR_DOF, SPREAD, FittedStates
from engine.models.boe.jobs import ObservedJob
from engine.models.boe.notices import PRIOR_INTERVAL
from engine.models.boe.plan import Part, ScaledPlan, Target, WorkflowPlan
from engine.models.boe.workflow import TASK_PROFILES, Workflow, WorkflowJob, single_job
from engine.models.log_notices import (
    chosen_notice,
    damped_bias,
    self_error_notice,
    single_run_notice,
)
from engine.models.model import Model
from engine.models.replay.censored_tasks import (
    censored_log_scale,
    partial_stages_notice,
    with_all_tasks,
)
from engine.models.replay.priors import MIN_CONFIGURATIONS_FOR_SPREAD
from engine.models.replay.run_selection import spread_runs
from engine.models.stages.disturbance import disturbance_notices, with_disturbance
from engine.models.stages.pauses import pause_notice
from engine.models.workloads import (
    input_ratio,
    logs_of,
    sharing_parameters,
    unused_logs_notices,
    with_defaults,
)
from engine.notices import in_order
from engine.profile import Profile, Run, completed_runs
from engine.runs.configurations import configurations, repetition_spread

SPREAD_EXPLICIT = 0.18
"""Spread for a workflow with explicit rates: about the worst error of the paper's task model."""

MOST_LOGS = 8
"""The most logs that are estimated."""


class Boe(Model):
    """Fits the stages of the logs of one application."""

    name = NAME

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedStates:
        return fit_states(profile)


def fit_states(profile: Profile) -> FittedStates:
    """The stages of one application, from its logs.

    Raises:
        ModelDoesNotFit: when no run shows both its stages and its slots.
    """
    logs = logs_of(profile.runs)
    if not logs:
        other = "sparkplan" if profile.runs else "optex"
        raise ModelDoesNotFit(
            f"boe needs an event log, and no run of {profile.name} shows both its stages and how "
            "many tasks it ran at once",
            remedy=f"add event logs; from what is here the model {other} answers",
        )
    of_parameters = partial(_fit_parameters, profile, logs)
    wanted = profile.reference_workload
    own = of_parameters(wanted.parameters)
    if not any(run.workload.parameters for run in profile.runs):
        return own
    kept: dict[object, FittedStates] = {wanted.sorted_parameters: own}
    return replace(own, of_parameters=of_parameters, _answering=kept)


def _fit_parameters(
    profile: Profile, logs: Sequence[Run], wanted: Mapping[str, float]
) -> FittedStates:
    """The stages from the logs with these parameters; this model cannot transfer from others."""
    sharing = sharing_parameters(logs, wanted)
    own = completed_runs(sharing)
    few = own if len(own) <= MOST_LOGS else spread_runs(own, MOST_LOGS)
    fitted = fit_runs(profile, few, noise=repetition_spread(own))
    chosen = chosen_notice(logs, wanted, len(sharing))
    notices = in_order([chosen, *unused_logs_notices(sharing), *fitted.fit_notices])
    return replace(fitted, fit_notices=notices)


def fit_runs(profile: Profile, runs: Sequence[Run], *, noise: float) -> FittedStates:
    """The model of some logs of one application.

    Args:
        noise: standard deviation of log time between repetitions, which is the least spread.
    """
    workflow = single_job(profile.name, profile)
    notices = [*(notice for run in runs for notice in run.notices), partial_stages_notice(runs)]
    unseen = max(map(censored_log_scale, runs))
    runs = [with_all_tasks(run) for run in runs]
    plans = [WorkflowPlan((Part(workflow.jobs[0], ObservedJob.of(run)),), "fifo") for run in runs]
    own = np.asarray([own_error(plan) for plan in plans])
    remedy = "add a log of a whole run, or ask the model sparkplan"
    off = self_error_notice(own, what="the states of a log are", remedy=remedy)
    notices += [off, *disturbance_notices(runs), pause_notice(runs)]
    fitted = FittedStates(NAME, profile, workflow, tuple(plans), damped_bias(own))
    alone = single_run_notice(runs)
    if alone is not None:
        spread = math.hypot(max(with_disturbance(SPREAD, runs, measured=False), noise), unseen)
        return replace(fitted, spread=spread, fit_notices=in_order([*notices, alone]))
    groups = configurations(runs)
    validation, learnt, dof = left_out(fitted, groups)
    if groups.max() < 2:
        notices.append(PRIOR_INTERVAL)
    tested = int(groups.max()) + 1 >= MIN_CONFIGURATIONS_FOR_SPREAD
    near = with_disturbance(learnt * SPREAD, runs, measured=tested)
    return replace(
        fitted, spread=math.hypot(max(near, noise), unseen) / learnt, learnt=learnt, dof=dof,
        fit_notices=in_order(notices), validation=validation,
    )  # fmt: skip


def own_error(plan: WorkflowPlan) -> float:
    """Log of the ratio of a run's observed time to its estimate on its own cluster and input."""
    observed = plan.parts[0].observed
    assert observed is not None
    per_node = observed.slots / observed.nodes
    target = Target(
        observed.slots, observed.nodes, per_node, math.inf, observed.rates,
        observed.run.cluster.instance,
    )  # fmt: skip
    return math.log(observed.run.seconds / ScaledPlan(plan).course(target).seconds)


def left_out(fitted: FittedStates, groups: IntArray) -> tuple[LeaveOneOut, float, float]:
    """Each log predicted from those of other configurations: the errors, the factor by which they
    scale the prior's spread (whose variance counts as `PRIOR_DOF` errors), and the degrees of
    freedom.

    Args:
        groups: (p,) configuration of each log; each counts once, at its mean square error.
    """
    predicted, actual, squares = [], [], []
    for index, plan in enumerate(fitted.plans):
        observed = plan.parts[0].observed
        assert observed is not None
        others = np.flatnonzero(groups != groups[index]).tolist()
        without = FittedStates(
            NAME, fitted.profile, fitted.workflow, tuple(fitted.plans[p] for p in others),
            fitted.bias[others],
        )  # fmt: skip
        run = observed.run
        wanted = Workload(
            run.workload.input_bytes, None, run.workload.parameters, run.workload.scale
        )
        batch = ClusterBatch.of([run.cluster], fitted.profile)
        forecast = without.forecast(batch, wanted)
        predicted.append(float(forecast.seconds[0]))
        actual.append(run.seconds)
        squares.append(
            float(math.log(run.seconds / forecast.seconds[0]) / forecast.log_scale[0]) ** 2
        )
    each = np.bincount(groups, squares) / np.bincount(groups)
    dof = PRIOR_DOF + len(each)
    learnt = math.sqrt((PRIOR_DOF + float(each.sum())) / dof)
    return LeaveOneOut(tuple(predicted), tuple(actual)), learnt, dof


def fit_workflow(
    workflow: Workflow, *, task_profile: str = "normal", printed: bool = False
) -> FittedStates:
    """A workflow, ready to be estimated on any cluster.

    Args:
        task_profile: "normal" (Algorithm 2), "mean" or "median" (Algorithm 1; section 7.3).
        printed: whether to use Eqs. 7 and 8 as printed, without skew: "normal" then means "mean".

    Raises:
        BadInput: for an unknown task profile.
        ModelDoesNotFit: for a job without stages in its evidence.
    """
    if task_profile not in TASK_PROFILES:
        raise BadInput(f"unknown task profile {task_profile!r}", choices=TASK_PROFILES)
    if printed and task_profile == "normal":
        task_profile = "mean"
    parts = tuple(_part(job, task_profile) for job in workflow.jobs)
    plan = WorkflowPlan(parts, workflow.scheduler, task_profile, printed)
    notices = [
        notice for job in workflow.jobs if job.profile is not None for notice in job.profile.notices
    ]
    explicit = any(part.observed is None for part in parts)
    runs = [part.observed.run for part in parts if part.observed is not None]
    of_runs = (*disturbance_notices(runs), pause_notice(runs) if runs else None)
    return FittedStates(
        NAME,
        Profile(
            workflow.name,
            notices=in_order(notices),
            jobs=tuple(job.profile or Profile(job.name) for job in workflow.jobs),
        ),
        workflow,
        (plan,),
        np.zeros(1),
        with_disturbance(SPREAD_EXPLICIT if explicit else SPREAD, runs, measured=False),
        fit_notices=(PRIOR_INTERVAL, *in_order(of_runs)),
    )


def _part(job: WorkflowJob, task_profile: str) -> Part:
    """A job with the log of its parameters whose input is nearest to its own."""
    if job.profile is None:
        return Part(job)
    logs = logs_of(job.profile.runs)
    if not logs:
        raise ModelDoesNotFit(
            f"no run of job {job.name!r} shows its stages and its slots",
            where=job.where or None,
            remedy="give it an event log",
        )
    wanted = with_defaults(job.workload or job.profile.reference_workload, job.profile)
    runs = completed_runs(sharing_parameters(logs, wanted.parameters))
    run = min(runs, key=lambda r: (abs(math.log(input_ratio(wanted, r))), -r.seconds))
    typical = "median" if task_profile == "median" else "mean"
    return Part(job, ObservedJob.of(with_all_tasks(run), typical=typical), input_ratio(wanted, run))
