"""Bottleneck oriented estimation: how long one task takes beside others (BOE section 4).

A task loads, then goes through steps (the paper's sub-stages). What happens in one step is
pipelined tuple by tuple, so that its slowest operation decides; steps follow each other. Three
resources are shared: cores, disks and the network. A task uses at most one core, and at most the
disk and the network card of one node.

Amounts are in seconds of a whole core, disk or card (`needs`), so that every equation reads alike:
with `capacity` such units in the cluster, each of `parallelism` tasks gets min(capacity /
parallelism, 1) of one (mu in the paper).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.errors import BadInput
from engine.forecast import FloatArray

RESOURCES = ("cpu", "disk", "network")

FULL = 1.0 - 1e-6
"""A task that gets less of a resource than this waits for others."""


class Step(NamedTuple):
    """A sub-stage: what is read, computed, sent and written tuple by tuple, per task.

    Args:
        cpu_seconds: seconds of one core of the reference speed.
        disk_bytes, network_bytes: data through disks (local or HDFS) and the network.
    """

    cpu_seconds: float = 0.0
    disk_bytes: float = 0.0
    network_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskWork:
    """What one task does.

    Args:
        load_seconds: t_load of Eqs. 3 and 4: time that uses none of the shared resources.
        steps: one after the other.
        load_cpu_seconds: likewise, but shorter on a faster core (waiting that a log does not
            explain by bytes or cores, such as garbage collection).
    """

    load_seconds: float = 0.0
    steps: tuple[Step, ...] = ()
    load_cpu_seconds: float = 0.0

    def times(self, factor: float) -> TaskWork:
        """The work of a task with `factor` times the data; loading stays."""
        if factor == 1.0:
            return self
        return TaskWork(
            self.load_seconds,
            tuple(Step(*(amount * factor for amount in step)) for step in self.steps),
            self.load_cpu_seconds * factor,
        )


@dataclass(frozen=True, slots=True)
class Rates:
    """What one node offers; None where a rate is not known, which then never bounds a task.

    Args:
        cores: cores that compute at once.
        disk_bytes_per_second, network_bytes_per_second: throughput of the node.
        speed: speed of a core relative to the one that `Step.cpu_seconds` was measured on.
    """

    cores: float
    disk_bytes_per_second: float | None = None
    network_bytes_per_second: float | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        for name in ("cores", "disk_bytes_per_second", "network_bytes_per_second", "speed"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise BadInput(f"{name} must be more than zero, not {value}", where="rates")


class TaskTime(NamedTuple):
    """How long a task takes, and what bounds it.

    Args:
        bottleneck: the resource with the most time; None for a task that only loads.
        contended: whether that resource is full, so that the task waits for others.
    """

    seconds: float
    bottleneck: str | None
    contended: bool


@dataclass(frozen=True, eq=False)
class Needs:
    """A task's work on given nodes: `load` seconds, and (k, 3) seconds of a whole core, disk and
    network card in each of k steps."""

    load: float
    steps: FloatArray

    @classmethod
    def of(cls, work: TaskWork, rates: Rates) -> Needs:
        """Amounts become seconds; what goes through a resource of unknown rate takes none."""
        per_second = (
            rates.speed,
            rates.disk_bytes_per_second or math.inf,
            rates.network_bytes_per_second or math.inf,
        )
        steps = np.asarray(work.steps, dtype=float).reshape(-1, 3) / per_second
        return cls(work.load_seconds + work.load_cpu_seconds / rates.speed, steps)

    @cached_property
    def rows(self) -> list[list[float]]:
        """The steps as numbers."""
        steps: list[list[float]] = self.steps.tolist()
        return steps

    @cached_property
    def totals(self) -> list[float]:
        """(3,) seconds of a whole core, disk and network card in all steps together."""
        totals: list[float] = self.steps.sum(axis=0).tolist()
        return totals


# Section 4.1: one step


def io_share(parallelism: float) -> float:
    """mu_dfsr, mu_dw, mu_net of Eqs. 3 to 5 on one node: 1 / Delta."""
    return 1.0 / parallelism


def cpu_share(parallelism: float, cores: float) -> float:
    """mu_cpu of Eqs. 3 and 5: min(N_cores / Delta, 1)."""
    return min(cores / parallelism, 1.0)


def step_seconds(*operation_seconds: float) -> float:
    """Eqs. 1 and 2: operations that are pipelined take as long as the slowest of them."""
    return max(operation_seconds)


# Section 4.2.1: the tasks of MapReduce on one node, a single job


def map_seconds(
    *,
    t_load: float,
    split_bytes: float,
    selectivity: float,
    parallelism: float,
    cores: float,
    read_rate: float,
    map_rate: float,
    write_rate: float,
) -> float:
    """Eq. 3 (Proposition 1): t_load + max(read, map) + write of alpha_m x B.

    Rates are bytes per second: of the node's HDFS reads and disk writes, and of a map function
    that has one core.
    """
    share = io_share(parallelism)
    reading = split_bytes / (share * read_rate)
    mapping = split_bytes / (cpu_share(parallelism, cores) * map_rate)
    return (
        t_load + step_seconds(reading, mapping) + selectivity * split_bytes / (share * write_rate)
    )


def shuffle_seconds(
    *, t_load: float, input_bytes: float, parallelism: float, write_rate: float, network_rate: float
) -> float:
    """Eq. 4 (Proposition 2): t_load + max(write, transfer) of a reduce task's input, alpha_m x B x
    N_m / N_r."""
    share = io_share(parallelism)
    return t_load + step_seconds(
        input_bytes / (share * write_rate), input_bytes / (share * network_rate)
    )


def reduce_seconds(
    *,
    input_bytes: float,
    output_bytes: float,
    second_pass: float,
    parallelism: float,
    cores: float,
    write_rate: float,
    sort_rate: float,
    output_rate: float,
    reduce_rate: float,
) -> float:
    """Eq. 5 (Proposition 3): max(write, sort) of the share alpha_s of the input that is merged
    twice, then max(output, reduce).

    Args:
        output_bytes: alpha_r x B x N_m / N_r.
    """
    share, core = io_share(parallelism), cpu_share(parallelism, cores)
    again = second_pass * input_bytes
    sorting = step_seconds(again / (share * write_rate), again / (core * sort_rate))
    reducing = step_seconds(
        output_bytes / (share * output_rate), input_bytes / (core * reduce_rate)
    )
    return sorting + reducing


# Any steps, one stage (several: engine.models.boe.sharing)


def task_time(needs: Needs, capacity: FloatArray, parallelism: float) -> TaskTime:
    """Eq. 2 for each step, summed, for a stage that has the cluster to itself.

    Args:
        capacity: (3,) cores, disks and network cards of the cluster.
    """
    return timed(needs, [1.0 / max(1.0, parallelism / units) for units in capacity.tolist()])


def timed(needs: Needs, share: Sequence[float]) -> TaskTime:
    """The time of a task that gets (3,) `share` of one unit of each resource.

    Steps are few and states many: an array for each would take most of their time.
    """
    steps, spent = 0.0, [0.0] * len(RESOURCES)
    for step in needs.rows:
        seconds = [amount / part for amount, part in zip(step, share, strict=True)]
        longest = max(seconds)  # Eqs. 1 and 2
        steps += longest
        spent[seconds.index(longest)] += longest
    most = max(spent)
    if most <= 0.0:
        return TaskTime(needs.load + steps, None, False)
    bottleneck = spent.index(most)
    return TaskTime(needs.load + steps, RESOURCES[bottleneck], share[bottleneck] < FULL)
