"""From an observed run to the stages that the state-based estimate runs (docs/models/boe.md).

A log says for every stage what its tasks read, wrote, sent and computed, and how long they took.
Bytes and core seconds become the steps of a task; time that they do not explain (collection,
waiting for locks and compilers) stays as it is per unit of data. Rates of disks and network come
from the machine's shape where a catalog knows it; else the fastest that any stage achieved is
taken: a lower bound, and said to be one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import InstanceType
from engine.models.boe.task_time import Needs, Rates, Step, TaskWork, task_time
from engine.models.boe.workflow_course import Activity
from engine.models.stages.application_graph import ApplicationGraph, graph_of, job_at
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.set_up import SET_UP_SECONDS, SET_UP_SHARE
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.runs.stage_labels import stage_label
from engine.stage_run import Measure, StageRun, total_of

DISK_BYTES_PER_SECOND = {"nvme_ssd": 1.0e9, "nvme": 1.0e9, "ssd": 400e6, "hdd": 150e6}
"""Prior for local disks by kind, of one node: catalogs give their size, not their throughput."""


@dataclass(frozen=True, slots=True)
class NodeRates:
    """Throughput of one node in bytes per second, None where unknown, and where each is from:
    "catalog", "kind of disk" (a prior), "given", "learnt" (a lower bound) or None."""

    disk: float | None = None
    network: float | None = None
    disk_from: str | None = None
    network_from: str | None = None

    def filled(self, other: NodeRates) -> NodeRates:
        """These rates, and those of `other` where there are none."""
        disk = other if self.disk is None else self
        network = other if self.network is None else self
        return NodeRates(disk.disk, network.network, disk.disk_from, network.network_from)


def catalog_rates(instance: InstanceType | None) -> NodeRates:
    """What the shape of a machine says: EBS bandwidth, or its local disks by kind; the network."""
    if instance is None:
        return NodeRates()
    network = instance.network_bytes_per_second
    disk, source = instance.ebs_bytes_per_second, None
    if disk is not None:
        source = "catalog"
    kind = (instance.local_disk_kind or "").lower()
    if kind in DISK_BYTES_PER_SECOND and (disk is None or DISK_BYTES_PER_SECOND[kind] > disk):
        disk, source = DISK_BYTES_PER_SECOND[kind], "kind of disk"
    return NodeRates(disk, network, source, "catalog" if network is not None else None)


@dataclass(frozen=True, eq=False)
class ObservedJob:
    """A run, ready to be estimated on other machines.

    Args:
        slots, nodes: tasks that ran at once, and worker nodes.
        rates: of the observed nodes.
        models: how each stage grows with the input.
        works: (s,) a typical task of each stage, on the observed machines.
        spreads: (s,) standard deviation of task times over their mean.
    """

    run: Run
    slots: int
    nodes: float
    rates: NodeRates
    graph: ApplicationGraph
    models: tuple[StageModel, ...]
    works: tuple[TaskWork, ...]
    spreads: tuple[float, ...]

    @classmethod
    def of(cls, run: Run, *, typical: str = "mean") -> ObservedJob:
        """The job that a log tells.

        Args:
            typical: "mean" or "median" of the task times of a stage is that of a typical task
                (the paper's task profiles, section 7.3).
        """
        slots = run.cluster.slots
        if not run.stages or not slots:
            raise ValueError("an observed job needs stages and slots")
        nodes = float(run.cluster.nodes or max(1, run.cluster.executors or 1))
        models = tuple(stage_models(run, slots))
        learnt = learnt_rates(run.stages, slots, nodes)
        rates = catalog_rates(run.cluster.instance).filled(learnt)
        works = tuple(
            _explained(model.stage, typical, slots=slots, nodes=nodes, rates=rates)
            for model in models
        )
        spreads = tuple(_spread(model.stage.task_seconds) for model in models)
        return cls(run, slots, nodes, rates, graph_of(run), models, works, spreads)

    def activities(
        self,
        *,
        ratio: float = 1.0,
        shuffle_partitions: int | None = None,
        memory_gib: float = 0.0,
    ) -> list[Activity]:
        """The steps of the run as activities of a workflow of this job alone; the last one is its
        end.

        Args:
            ratio: times the observed input.
            memory_gib: what the container of a task holds.
        """
        activities = [
            Activity(0, "", 0, TaskWork(), tuple(node.after), node.delay_seconds)
            for node in self.graph.nodes
        ]
        for index, model, work, spread in zip(
            self.graph.stage_nodes, self.models, self.works, self.spreads, strict=True
        ):
            scaled = model.scaled(ratio, shuffle_partitions)
            activities[index] = replace(
                activities[index],
                name=stage_label(model.stage),
                tasks=scaled.tasks,
                work=work.times(scaled.work),
                cores=float(max(1, model.stage.task_cpus)),
                memory_gib=memory_gib,
                spread=spread,
            )
        return activities

    def job_labels(self) -> list[str]:
        """The Spark job of each activity ("job 3"); "" for moments."""
        labels = [""] * len(self.graph.nodes)
        for index, stage in zip(self.graph.stage_nodes, self.run.stages, strict=True):
            jobs = [job for job in self.run.jobs if job.job_id in stage.job_ids]
            owner = min(stage.job_ids, default=None)
            if jobs:
                owner = job_at(stage.submitted_seconds, jobs).job_id
            labels[index] = "stages of no job" if owner is None else f"job {owner}"
        return labels

    def rates_at(self, slots_per_node: float) -> NodeRates:
        """The observed nodes' rates for other nodes: what was learnt is a rate per slot."""
        more = slots_per_node / (self.slots / self.nodes)
        disk, network = self.rates.disk, self.rates.network
        if disk is not None and self.rates.disk_from == "learnt":
            disk *= more
        if network is not None and self.rates.network_from == "learnt":
            network *= more
        return replace(self.rates, disk=disk, network=network)


def learnt_rates(stages: Sequence[StageRun], slots: int, nodes: float) -> NodeRates:
    """The fastest that the tasks of any stage together used the disk and the network of a node:
    no more than what the devices can do, so a lower bound.

    A task is one thread: what it read and wrote took no longer than it did not compute.
    """

    def fastest(amounts: Sequence[float]) -> float | None:
        achieved = [
            amount / _waiting(stage) * at_once(stage, slots) / min(nodes, stage.tasks)
            for amount, stage in zip(amounts, stages, strict=True)
            if amount > 0.0 and _waiting(stage) > 0.0
        ]
        return max(achieved, default=None)

    disk = fastest([max(stage.outside_bytes, _written(stage)) for stage in stages])
    network = fastest([_sent(stage) for stage in stages])
    return NodeRates(disk, network, "learnt" if disk else None, "learnt" if network else None)


def at_once(stage: StageRun, slots: int) -> int:
    """Tasks of a stage that ran at once on so many slots, of which each may hold several."""
    return min(max(1, slots // max(1, stage.task_cpus)), stage.tasks)


def _waiting(stage: StageRun) -> float:
    """Seconds in which the stage's tasks did not compute; all of them where a log does not say."""
    total = stage.run_seconds.total if stage.run_seconds else stage.task_seconds.total
    if stage.cpu_seconds is None:
        return total
    return max(total - stage.cpu_seconds.total, LEAST_WAITING * total)


LEAST_WAITING = 0.02
"""CPU time is counted too coarsely to say that a task waited for less than this share."""


def _written(stage: StageRun) -> float:
    return total_of(stage.shuffle_write_bytes) + (stage.disk_spilled_bytes or 0.0)


def _sent(stage: StageRun) -> float:
    """Bytes over the network: remote shuffle blocks, all of them where a log does not say."""
    remote = stage.shuffle_remote_read_bytes
    return total_of(stage.shuffle_read_bytes if remote is None else remote)


def typical_seconds(stage: StageRun, typical: str) -> float:
    """Mean or median time of a stage's tasks (section 7.3)."""
    if typical == "median":
        return stage.task_seconds.quantile(0.5)
    return stage.task_seconds.mean or 0.0


def _explained(
    stage: StageRun, typical: str, *, slots: int, nodes: float, rates: NodeRates
) -> TaskWork:
    """A typical task of a stage: reading, computing and output are pipelined, then the sorted
    shuffle blocks (and spills) are written. Together with the load it takes the observed time."""
    tasks = max(1, stage.task_seconds.count)
    observed = typical_seconds(stage, typical)
    load = min(observed, total_of(stage.overhead_seconds) / tasks)
    ran = observed - load
    cpu = ran if stage.cpu_seconds is None else min(ran, stage.cpu_seconds.total / tasks)
    disk = stage.outside_bytes + total_of(stage.output_bytes)
    steps = (Step(cpu, disk / tasks, _sent(stage) / tasks), Step(0.0, _written(stage) / tasks, 0.0))
    machine = Rates(max(1.0, slots / nodes), rates.disk, rates.network)
    capacity = np.asarray([nodes * machine.cores, nodes, nodes])
    running = at_once(stage, slots)

    def moving(share: float) -> tuple[Step, ...]:
        """The steps when they move this share of the bytes (the rest was cached)."""
        return tuple(
            Step(s.cpu_seconds, s.disk_bytes * share, s.network_bytes * share) for s in steps
        )

    def bound(share: float) -> float:
        """Time of these steps."""
        work = TaskWork(0.0, moving(share))
        return task_time(Needs.of(work, machine), capacity, running).seconds

    share = 1.0 if bound(1.0) <= ran else _largest_share(bound, ran)
    rest = max(0.0, ran - bound(share))
    set_up = min(rest, SET_UP_SECONDS, SET_UP_SHARE * ran)
    return TaskWork(load + set_up, moving(share), rest - set_up)


def _largest_share(bound: Callable[[float], float], limit: float) -> float:
    """The share of the bytes that can have gone through the devices in the observed time: page
    caches answer for the others."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bound(middle) <= limit else (low, middle)
    return low


def _spread(times: Measure) -> float:
    """Standard deviation of task times over their mean, from the stored quantiles."""
    mean = times.mean
    if not mean or times.count < 2:
        return 0.0
    values = np.asarray(times.quantiles, dtype=float)
    spread = float(np.std(values)) / mean
    return spread if math.isfinite(spread) else 0.0
