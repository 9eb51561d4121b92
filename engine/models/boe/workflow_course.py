"""What a workflow is made of as the state-based estimate sees it, and the course that it finds.

BOE sections 5 and 6.2; the estimate itself is `engine.models.boe.states`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.models.boe.task_time import Rates, TaskTime, TaskWork
from engine.scheduling.drf import SLACK, Claim, Pool

Quantity = float | FloatArray


@dataclass(frozen=True, slots=True)
class Activity:
    """A stage of one of the workflow's jobs; without tasks, a moment (a job's submission or end).

    Args:
        job: index of its job, whose share of the cluster it takes part in.
        after: indices of activities that must have ended; all stand before this one.
        delay_seconds: from the last of those ends to the start (time of a driver).
        cores, memory_gib: what a container of one task holds.
        spread: standard deviation of task times over their mean.
        output_spread: that of the amounts of the last step (the selectivity of section 6.1).
    """

    job: int
    name: str
    tasks: int
    work: TaskWork
    after: tuple[int, ...] = ()
    delay_seconds: float = 0.0
    cores: float = 1.0
    memory_gib: float = 0.0
    spread: float = 0.0
    output_spread: float = 0.0


@dataclass(frozen=True, slots=True)
class Machines:
    """A cluster as the estimate sees it.

    Args:
        nodes: worker nodes; I/O rates are per node.
        pool: what containers may hold together.
        alike: whether every node is known to offer the same part of the pool, so that a container
            must fit one of them.
    """

    nodes: float
    rates: Rates
    pool: Pool
    alike: bool = False

    @property
    def capacity(self) -> FloatArray:
        """(3,) cores, disks and network cards of all nodes."""
        return np.asarray([self.nodes * self.rates.cores, self.nodes, self.nodes])

    def most_containers(self, entry: Activity) -> float:
        """How many containers of an activity's tasks fit the nodes; inf where those are not known
        one by one."""
        if not self.alike:
            return np.inf
        containers = containers_on(
            entry, nodes=self.nodes, slots=self.pool.cores, memory_gib=self.pool.memory_gib
        )
        return float(containers)

    def parallelism_alone(self, entry: Activity) -> int:
        """How many tasks of an activity run at once where nothing else does; at least 1."""
        claim = Claim(0, entry.tasks, entry.cores, entry.memory_gib)
        return max(1, int(min(self.most_containers(entry), self.pool.room(claim))))

    def holds(self, entry: Activity) -> bool:
        """Whether a container of an activity's tasks fits a node, or where those are not known one
        by one all of them together."""
        one = Claim(entry.job, 1, entry.cores, entry.memory_gib)
        return self.most_containers(entry) >= 1.0 and self.pool.room(one) >= 1


def containers_on(
    entry: Activity, *, nodes: Quantity, slots: Quantity, memory_gib: Quantity
) -> Quantity:
    """How many containers of an activity's tasks fit nodes that are alike, each whole on one node
    (BOE's Eq. 6 adds the nodes up, as if containers could be divided among them).

    Args:
        slots, memory_gib: of all nodes together.
    """
    per_node = np.floor(slots / nodes / entry.cores * (1.0 + SLACK))
    if entry.memory_gib > 0.0:
        held = np.floor(memory_gib / nodes / entry.memory_gib * (1.0 + SLACK))
        per_node = np.minimum(per_node, held)
    return np.floor(nodes * per_node + SLACK)


def refuse(entry: Activity, machines: Machines) -> NoReturn:
    """Says that the container of a task fits nowhere."""
    pool, nodes = machines.pool, machines.nodes if machines.alike else 1.0
    memory = pool.memory_gib / nodes
    needs = [f"{entry.cores:g} cores"] if entry.cores > 1.0 else []
    needs += [f"{entry.memory_gib:.3g} GiB"] if entry.memory_gib > 0.0 else []
    offers = f"{pool.cores / nodes:g} cores"
    offers += f" and {memory:.3g} GiB" if math.isfinite(memory) else ""
    raise BadInput(
        f"a task of {entry.name} needs {' and '.join(needs) or 'a core'}, "
        f"{'a node' if machines.alike else 'the whole cluster'} offers {offers}",
        remedy="use larger nodes, or a smaller container for the task",
    )


@dataclass(frozen=True, slots=True)
class Running:
    """One stage in one state.

    Args:
        activity: its index.
        parallelism: tasks that run at once, Delta_i.
        tracks: sizes of its task tracks, the one that ends first in front.
        pending: tasks that did not yet start when the state began.
        time: how long a task takes in this state, and its bottleneck.
    """

    activity: int
    parallelism: int
    tracks: tuple[int, ...]
    pending: int
    time: TaskTime


@dataclass(frozen=True, slots=True)
class State:
    """A span in which nothing changes; without running stages, the drivers' time."""

    start_seconds: float
    end_seconds: float
    running: tuple[Running, ...]


@dataclass(frozen=True, eq=False)
class Course:
    """The estimated course of a workflow: (n,) start and end of each activity, and the states."""

    activities: tuple[Activity, ...]
    start: FloatArray
    end: FloatArray
    states: tuple[State, ...]

    @property
    def seconds(self) -> float:
        """The end of the last activity."""
        return float(self.end.max(initial=0.0))
