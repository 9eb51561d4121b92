"""Clusters of a grid as arrays, as a plan sees them, and what a task takes on each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.boe.jobs import NodeRates
from engine.models.boe.plan import Target, WorkflowPlan
from engine.models.boe.workflow_course import Activity, containers_on

SAME_MAKE = 16.0
"""Machines of one make have disks and networks that differ by no more than about this factor."""


@dataclass(frozen=True, eq=False)
class Grid:
    """n clusters as arrays.

    Args:
        slots, nodes: (n,) in all. cores: (n,) of all nodes. memory_gib: (n,) of containers.
        disk, network: (n,) bytes per second of one node, inf where unknown.
        alike: (n,) 1 where a container must fit one of the nodes.
        speeds: (n, j) of a core, for each job.
        kinds: (n,) indices of their types in the batch; -1 for single clusters.
    """

    slots: FloatArray
    nodes: FloatArray
    cores: FloatArray
    memory_gib: FloatArray
    disk: FloatArray
    network: FloatArray
    alike: FloatArray
    speeds: FloatArray
    kinds: IntArray

    @classmethod
    def of(
        cls, plan: WorkflowPlan, batch: ClusterBatch, kinds: Sequence[IntArray], slots: FloatArray
    ) -> Grid:
        """The clusters at some rows of a batch, `kinds` by type: nodes of a type are alike, so that
        the first cluster of each tells all."""
        targets: list[Target] = []
        for rows in kinds:
            target = plan.target(batch, int(rows[0]))
            assert target is not None
            targets.append(target)
        which = np.repeat(np.arange(len(kinds)), [len(rows) for rows in kinds])
        first = cls.of_targets(plan, targets).take(which)
        every = np.concatenate(kinds)
        many = slots[every] / first.slots
        return replace(
            first, slots=slots[every], nodes=first.nodes * many, cores=first.cores * many,
            memory_gib=first.memory_gib * many, kinds=batch.type_index[every],
        )  # fmt: skip

    @classmethod
    def of_targets(cls, plan: WorkflowPlan, targets: Sequence[Target]) -> Grid:
        """Single clusters."""
        rows = [
            (
                t.slots, t.nodes, t.nodes * t.cores, t.memory_gib,
                t.rates.disk or math.inf, t.rates.network or math.inf, float(t.alike),
            )
            for t in targets
        ]  # fmt: skip
        speeds = [[part.speed_on(t).relative for part in plan.parts] for t in targets]
        slots, nodes, cores, memory, disk, network, alike = np.asarray(rows).T
        none = np.full(len(targets), -1)
        return cls(slots, nodes, cores, memory, disk, network, alike, np.asarray(speeds), none)

    def makes(self) -> tuple[int, IntArray]:
        """How many makes of machines there are, and (n,) of which one each cluster is: disk and
        network per slot known or not, and alike within a factor of `SAME_MAKE`."""
        keys = []
        for rate in (self.disk, self.network):
            per_slot = rate * self.nodes / self.slots
            known = np.isfinite(per_slot)
            bins = np.round(np.log(np.where(known, per_slot, 1.0)) / math.log(SAME_MAKE))
            keys.append(np.where(known, bins, np.inf))
        distinct, index = np.unique(np.stack(keys), axis=1, return_inverse=True)
        return distinct.shape[1], np.asarray(index, dtype=np.int64).reshape(-1)

    def take(self, rows: slice | BoolArray | IntArray) -> Grid:
        return Grid(*(getattr(self, entry.name)[rows] for entry in fields(self)))

    def usable(self, activities: Sequence[Activity]) -> FloatArray:
        """(n,) slots that memory leaves, when every container is as large as the largest."""
        largest = max(activities, key=lambda entry: entry.memory_gib)
        if largest.memory_gib <= 0.0:
            return self.slots
        whole = replace(largest, cores=1.0)
        held = np.where(
            self.alike > 0.0,
            containers_on(whole, nodes=self.nodes, slots=self.slots, memory_gib=self.memory_gib),
            np.floor(self.memory_gib / largest.memory_gib),
        )
        return np.asarray(np.maximum(1.0, np.minimum(self.slots, held)))

    def fitting(self, activities: Sequence[Activity]) -> BoolArray:
        """(n,) whether a container of every activity's tasks fits: a node, or all together where
        these are not known to be alike."""
        fits = np.ones(len(self.slots), dtype=bool)
        nodes = np.where(self.alike > 0.0, self.nodes, 1.0)
        kinds = {(entry.cores, entry.memory_gib): entry for entry in activities if entry.tasks}
        for entry in kinds.values():
            held = containers_on(entry, nodes=nodes, slots=self.slots, memory_gib=self.memory_gib)
            fits &= np.asarray(held) >= 1.0
        return fits

    def middle(
        self, slots: float, instance: InstanceType | None, catalog: Catalog | None
    ) -> Target:
        """Machines of the grid's median make, with so many slots in all and the cores of a type
        (None: of those that were observed)."""

        def median(values: FloatArray) -> float | None:
            known = values[np.isfinite(values)]
            return float(np.median(known)) if known.size else None

        per_node = median(self.slots / self.nodes) or 1.0
        disk = median(self.disk * self.nodes / self.slots)
        network = median(self.network * self.nodes / self.slots)
        rates = NodeRates(disk and disk * per_node, network and network * per_node)
        return Target(slots, slots / per_node, per_node, math.inf, rates, instance, catalog)


def task_seconds(activities: Sequence[Activity], grid: Grid, at_once: FloatArray) -> FloatArray:
    """(n, a) Eq. 2 summed over steps, for each stage alone on each cluster.

    Args:
        at_once: (n, a) tasks of each stage that run.
    """
    jobs = [entry.job for entry in activities]
    crowded = np.maximum(1.0, at_once / grid.cores[:, None])
    queued = np.maximum(1.0, at_once / grid.nodes[:, None])
    speed = grid.speeds[:, jobs]
    seconds = np.asarray([entry.work.load_seconds for entry in activities]) + (
        np.asarray([entry.work.load_cpu_seconds for entry in activities]) / speed
    )
    for number in range(max((len(entry.work.steps) for entry in activities), default=0)):
        steps = np.asarray(
            [
                entry.work.steps[number] if number < len(entry.work.steps) else (0.0, 0.0, 0.0)
                for entry in activities
            ]
        )
        longest = np.maximum(
            steps[:, 0] / speed * crowded, steps[:, 1] / grid.disk[:, None] * queued
        )
        seconds = seconds + np.maximum(longest, steps[:, 2] / grid.network[:, None] * queued)
    return np.asarray(seconds)
