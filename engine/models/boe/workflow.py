"""A workflow: jobs that wait for each other and share one cluster (BOE Definition 1).

`engine.models.boe.model` fits it: its jobs (logs, profiles, or explicit rates) become one list of
activities that answers for any cluster as every other model does, so that the optimiser and the
commands serve workflows as they serve jobs. One application is a workflow of a single job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import BadInput, UnknownName
from engine.models.boe.workflow_course import Activity
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage, barrier_stages, decisive
from engine.scheduling.drf import scheduler_named

TASK_PROFILES = ("normal", "mean", "median")
"""Section 7.3: the law of task times (Algorithm 2), or a typical task (Algorithm 1)."""


@dataclass(frozen=True)
class WorkflowJob:
    """One job: what was observed of it, or its stages as if it were alone.

    Args:
        after: names of the jobs that must have ended.
        workload: of an observed job; None for that of its largest run.
        memory_gib: what the container of an observed job's task holds; 0 where memory is no
            limit.
        ran_on: type that explicit seconds of a core are meant for; None for any.
        where: `file:line`, for errors.
    """

    name: str
    after: tuple[str, ...] = ()
    profile: Profile | None = None
    stages: tuple[Activity, ...] = ()
    workload: Workload | None = None
    memory_gib: float = 0.0
    ran_on: InstanceType | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class OwnNodes:
    """Nodes that a workflow file describes itself; a rate of None is not known.

    Args:
        slots: containers per node that the scheduler grants, of one core each; None for `cores`.
    """

    nodes: int
    cores: float
    slots: int | None = None
    memory_gib: float | None = None
    disk_bytes_per_second: float | None = None
    network_bytes_per_second: float | None = None


@dataclass(frozen=True)
class Workflow:
    """Jobs in an order in which each stands behind those it waits for.

    Args:
        scheduler: shares the cluster among the jobs: a name of `engine.scheduling.drf.SCHEDULERS`.
        cluster: nodes of the file, which a command may override.
    """

    name: str
    jobs: tuple[WorkflowJob, ...]
    scheduler: str = "drf"
    cluster: OwnNodes | None = None

    @classmethod
    def of(
        cls,
        name: str,
        jobs: Sequence[WorkflowJob],
        *,
        scheduler: str = "drf",
        cluster: OwnNodes | None = None,
        where: str = "workflow",
    ) -> Workflow:
        """A checked workflow.

        Raises:
            BadInput: for no jobs, a name twice, a cycle, a job without tasks.
            UnknownName: for a job that waits for one that is not there.
        """
        if not jobs:
            raise BadInput("the workflow has no jobs", where=where, remedy="list some under jobs")
        by_name: dict[str, WorkflowJob] = {}
        for job in jobs:
            if job.name in by_name:
                raise BadInput(
                    f"two jobs are named {job.name!r}",
                    where=job.where or where,
                    remedy="give each a name of its own",
                )
            by_name[job.name] = job
        for job in jobs:
            _check_job(job, by_name, where)
        ordered = tuple(
            by_name[job] for job in topological_order({j.name: j.after for j in jobs}, by_name)
        )
        return cls(name, ordered, scheduler, cluster)

    @property
    def barrier_stages(self) -> tuple[BarrierStage, ...]:
        """Those of its jobs that a cluster must be able to start."""
        return decisive(
            replace(stage, label=f"{job.name}: {stage.label}")
            for job in self.jobs
            if job.profile is not None
            for stage in barrier_stages(job.profile)
        )


def _check_job(job: WorkflowJob, by_name: Mapping[str, WorkflowJob], where: str) -> None:
    location = job.where or where
    for other in job.after:
        if other not in by_name:
            raise UnknownName("job", other, by_name, where=location)
    runs = job.profile.runs if job.profile is not None else ()
    tasks = sum(stage.tasks for stage in job.stages)
    tasks += sum(stage.tasks for run in runs for stage in run.stages)
    if tasks < 1:
        raise BadInput(
            f"job {job.name!r} has no tasks",
            where=location,
            remedy="give it stages with tasks, or an event log (a run table has no stages)",
        )


def topological_order(
    after: Mapping[str, Sequence[str]], jobs: Mapping[str, WorkflowJob]
) -> list[str]:
    """Names so that each stands behind those it waits for; otherwise in the order given.

    Raises:
        BadInput: for a cycle, with its jobs in their order.
    """
    done: dict[str, None] = {}
    for name in after:
        path = {} if name in done else {name: iter(after[name])}
        while path:
            current = next(reversed(path))
            other = next((o for o in path[current] if o not in done), None)
            if other is None:
                done[path.popitem()[0]] = None
            elif other in path:
                names = list(path)
                cycle = [*names[names.index(other) :], other]
                raise BadInput(
                    f"the jobs wait for each other: {' -> '.join(reversed(cycle))}",
                    where=jobs[current].where or None,
                    remedy="remove one of these dependencies",
                )
            else:
                path[other] = iter(after[other])
    return list(done)


def with_scheduler(workflow: Workflow, name: str) -> Workflow:
    """The workflow under another scheduler.

    Raises:
        UnknownName: for a scheduler that there is not.
    """
    scheduler_named(name, where="scheduler")
    return replace(workflow, scheduler=name)


def single_job(name: str, profile: Profile) -> Workflow:
    """The workflow of one application: its stages, served first in first out."""
    return Workflow(name, (WorkflowJob(name, profile=profile),), "fifo")
