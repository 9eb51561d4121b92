"""What is estimated (the jobs of a workflow, or of one application) and on which machines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from engine.batch import ClusterBatch
from engine.caching import LruCache
from engine.catalog import Catalog, InstanceType
from engine.checkpoints import checkpoint
from engine.distinct import distinct_rows
from engine.forecast import IntArray
from engine.machines.transfer import Speed, speed_of
from engine.memory import default_overhead_gib
from engine.models.boe.jobs import NodeRates, ObservedJob, catalog_rates
from engine.models.boe.printed_states import estimate_printed
from engine.models.boe.states import estimate
from engine.models.boe.task_time import Rates, TaskWork
from engine.models.boe.workflow import OwnNodes, WorkflowJob
from engine.models.boe.workflow_course import Activity, Course, Machines
from engine.scheduling.drf import Pool, scheduler_named

AS_GIVEN = Speed(1.0, code="speed-as-given")
"""Explicit seconds of a core that name no type are meant for every one."""


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster: what it offers, and which type it is made of.

    Args:
        slots: tasks that run at once; cores is what computes at once on a node.
        memory_gib: what the containers of all nodes may hold; inf where that is not known.
        alike: whether every node offers the same, so that a container must fit one of them.
    """

    slots: float
    nodes: float
    cores: float
    memory_gib: float
    rates: NodeRates
    instance: InstanceType | None = None
    catalog: Catalog | None = None
    alike: bool = False

    @property
    def machines(self) -> Machines:
        """As the estimate sees it."""
        rates = Rates(self.cores, self.rates.disk, self.rates.network)
        return Machines(self.nodes, rates, Pool(self.slots, self.memory_gib), self.alike)


def one_node(instance: InstanceType | None, catalog: Catalog | None) -> Target:
    """One node of a type: enough to tell its speed."""
    return Target(1.0, 1.0, 1.0, math.inf, NodeRates(), instance, catalog)


@dataclass(frozen=True, eq=False)
class Part:
    """A job of a plan: as observed, or with the stages that the file gives."""

    job: WorkflowJob
    observed: ObservedJob | None = None
    ratio: float = 1.0

    def speed_on(self, target: Target) -> Speed:
        """How fast a core of the target is for this job."""
        if self.observed is not None:
            return speed_of(target.instance, self.observed.run.cluster.instance, target.catalog)
        if self.job.ran_on is None:
            return AS_GIVEN
        return speed_of(target.instance, self.job.ran_on, target.catalog)

    def activities(self, scale: float, shuffle_partitions: int | None) -> list[Activity]:
        """The job's activities, as of a workflow of this job alone; the last one is its end."""
        if self.observed is not None:
            return self.observed.activities(
                ratio=self.ratio * scale,
                shuffle_partitions=shuffle_partitions,
                memory_gib=self.job.memory_gib,
            )
        stages = self.job.stages
        ends = set(range(len(stages))) - {index for stage in stages for index in stage.after}
        scaled = [replace(stage, work=stage.work.times(scale)) for stage in stages]
        return [*scaled, Activity(0, "", 0, TaskWork(), tuple(ends))]


@dataclass(frozen=True, eq=False)
class WorkflowPlan:
    """Jobs that share a cluster.

    Args:
        parts: each behind those that it waits for.
        profile: "normal", "mean" or "median" (section 7.3).
        printed: Eqs. 7 and 8 as printed.
    """

    parts: tuple[Part, ...]
    scheduler: str
    profile: str = "normal"
    printed: bool = False
    kept_activities: LruCache[tuple[Activity, ...]] = field(
        default_factory=lambda: LruCache(KEPT), repr=False
    )
    kept_seconds: LruCache[float] = field(
        default_factory=lambda: LruCache(CACHED_COURSES), init=False, repr=False
    )

    @property
    def tasks_differ(self) -> bool:
        """Whether the tasks of a stage are of unlike length (Algorithm 2)."""
        return self.profile == "normal" and not self.printed

    def speeds_on(self, target: Target) -> tuple[float, ...]:
        """How fast a core of the target is for each job."""
        return tuple(part.speed_on(target).relative for part in self.parts)

    @property
    def slots_per_node(self) -> float:
        """Of the nodes that were observed (the first job's), 1 where none was."""
        for part in self.parts:
            if part.observed is not None:
                return part.observed.slots / part.observed.nodes
        return 1.0

    def rates_of(self, instance: InstanceType | None, slots_per_node: float) -> NodeRates:
        """A node's rates: the catalog's, else the best that any log knows."""
        rates = catalog_rates(instance)
        observed = [
            part.observed.rates_at(slots_per_node)
            for part in self.parts
            if part.observed is not None
        ]
        disks = sorted(observed, key=lambda known: -(known.disk or 0.0))
        networks = sorted(observed, key=lambda known: -(known.network or 0.0))
        for known in (*disks[:1], *networks[:1]):
            rates = rates.filled(known)
        return rates

    def target(self, batch: ClusterBatch, index: int) -> Target | None:
        """One cluster of a batch; None where its slots are not known."""
        slots = float(batch.slots[index])
        if not slots >= 1.0:
            return None
        instance = batch.types[int(batch.type_index[index])]
        nodes = float(batch.nodes[index])
        alike = (slots / nodes).is_integer()
        if math.isnan(nodes):
            nodes = slots / self.slots_per_node
        per_node = slots / nodes
        vcpus = instance.vcpus if instance is not None else math.nan
        heap, executors = float(batch.executor_memory_gib[index]), float(batch.executors[index])
        memory = executors * (heap + default_overhead_gib(heap))
        return Target(
            slots=math.floor(slots + 1e-9),
            nodes=nodes,
            cores=min(per_node, vcpus) if not math.isnan(vcpus) else per_node,
            memory_gib=math.inf if math.isnan(memory) else memory,
            rates=self.rates_of(instance, per_node),
            instance=instance,
            catalog=batch.catalog,
            alike=alike,
        )


@dataclass(frozen=True, eq=False)
class ScaledPlan:
    """A plan for one input.

    Args:
        scale: times the input that its jobs were planned for.
        shuffle_partitions: another number of them; None for what was observed.
    """

    plan: WorkflowPlan
    scale: float = 1.0
    shuffle_partitions: int | None = None

    @property
    def activities(self) -> tuple[Activity, ...]:
        """All jobs' activities, as on the machines that they were measured on."""
        key = (self.scale, self.shuffle_partitions)
        return self.plan.kept_activities.get(key, lambda: tuple(self._placed_activities()))

    def _placed_activities(self) -> list[Activity]:
        """The activities of each job behind those of the jobs before it, its first ones after the
        ends of those that it waits for."""
        activities: list[Activity] = []
        last: dict[str, int] = {}
        for job, part in enumerate(self.plan.parts):
            offset, waits_for = len(activities), tuple(last[name] for name in part.job.after)
            for entry in part.activities(self.scale, self.shuffle_partitions):
                after = tuple(index + offset for index in entry.after) or waits_for
                activities.append(replace(entry, job=job, after=after))
            last[part.job.name] = len(activities) - 1
        return activities

    def course(self, target: Target, *, record: bool = True, tracks: int | None = None) -> Course:
        """The course of the plan on a cluster; `record` and `tracks` as `estimate` has them."""
        checkpoint()
        plan, speeds = self.plan, self.plan.speeds_on(target)
        activities = [at_speed(entry, speeds[entry.job]) for entry in self.activities]
        scheduler = scheduler_named(plan.scheduler)
        if plan.printed:
            return estimate_printed(activities, target.machines, scheduler)
        return estimate(
            activities, target.machines, scheduler,
            skew=plan.tasks_differ, record=record, tracks=tracks,
        )  # fmt: skip

    def seconds(self, target: Target) -> float:
        """How long the course takes, cached: the answer for one input rests on the courses of some
        others (`monotone_mean`), and that for the next input mostly on the same ones."""
        speeds = self.plan.speeds_on(target)
        key = (target.machines, speeds, self.scale, self.shuffle_partitions)
        return self.plan.kept_seconds.get(key, lambda: self.course(target, record=False).seconds)

    def skew_seconds(self, target: Target, *, seconds: float) -> float | None:
        """What unlike tasks add to the time of the plan, `seconds` by Algorithm 2, beside
        Algorithm 1 on tasks of the same mean; None where tasks are taken as alike anyway.

        It may be below 0: where the last wave is not full, short tasks can make it needless.
        """
        if not self.plan.tasks_differ:
            return None
        alike = replace(self, plan=replace(self.plan, profile="mean"))
        return seconds - alike.course(target, record=False).seconds


KEPT = 8
"""Inputs whose activities are kept."""

CACHED_COURSES = 4096
"""Clusters and inputs of which a plan remembers the time."""


def at_speed(entry: Activity, speed: float) -> Activity:
    """The activity on cores of another speed."""
    if speed == 1.0 or not entry.tasks:
        return entry
    work = TaskWork(
        entry.work.load_seconds,
        tuple(step._replace(cpu_seconds=step.cpu_seconds / speed) for step in entry.work.steps),
        entry.work.load_cpu_seconds / speed,
    )
    return replace(entry, work=work)


def own_target(cluster: OwnNodes) -> Target:
    """The nodes that a workflow file describes."""
    memory = cluster.memory_gib
    rates = NodeRates(
        cluster.disk_bytes_per_second,
        cluster.network_bytes_per_second,
        "given" if cluster.disk_bytes_per_second else None,
        "given" if cluster.network_bytes_per_second else None,
    )
    return Target(
        slots=cluster.nodes * (cluster.slots or cluster.cores),
        nodes=float(cluster.nodes),
        cores=cluster.cores,
        memory_gib=math.inf if memory is None else cluster.nodes * memory,
        rates=rates,
        alike=True,
    )


def distinct_targets(batch: ClusterBatch) -> tuple[list[int], IntArray]:
    """Indices of the distinct clusters of a batch, and (n,) which of them each cluster is."""
    first, which = distinct_rows(
        (
            batch.type_index,
            batch.nodes,
            batch.executors,
            batch.executor_cores,
            batch.executor_memory_gib,
        )
    )
    return first.tolist(), which
