"""Times of one plan on many clusters: each estimated alone, or a curve through some of them.

A few clusters are estimated one by one. For a grid of thousands the states are estimated at a few
numbers of slots, on machines in the middle of the grid, which tells how long the cluster waits for
each stage; what a task of that stage takes on the machines in question is a closed form. The two
together are the time, exactly so for stages that run one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.forecast import FloatArray, IntArray
from engine.models.boe_jobs import NodeRates
from engine.models.boe_plan import Plan, Target, distinct_targets
from engine.models.replay_report import exclusive_seconds
from engine.models.workflow_course import Activity, containers_on

ALONE = 66
"""Up to so many distinct clusters are estimated one by one."""

WORKFLOWS_ALONE = 12
"""The same for workflows of several jobs, which take a tenth of a second each."""

LARGE = 5000
"""More clusters than this are not looked through for equal ones."""

JOB_POINTS = 16
POINTS = 28
LEAST_POINTS = 10
FEWEST_POINTS = 5
ALIKE = 16.0
"""Numbers of slots at which curves are estimated: of one application; of a workflow on all makes of
machines together; on each; and on each at one speed of cores. Machines of one make have disks and
networks that differ by no more than about this factor. Stages of one application run one after the
other: one make does for all."""

TRACKS = 12
"""Tracks per stage of a workflow on a curve: many jobs in many tracks are many states. The longest
of few tracks is shorter than the longest of many, by some per cent of the time."""

FINE_POINTS, FINE_TRACKS = 2, 48
"""Points of a workflow's curve that are also estimated with so many tracks, to correct for that."""

PER_TYPE = 24
"""Node counts per instance type at which a grid is computed; between them the log of the time is
a straight line over the log of the nodes."""

_BLOCK = 4096


def seconds_on(
    plan: Plan, batch: ClusterBatch, *, scale: float = 1.0, partitions: int | None = None
) -> FloatArray:
    """(n,) seconds of a plan on the clusters of a batch; NaN where slots are not known, a task's
    container fits no node, or nothing says how long any task takes."""
    if len(batch) > LARGE:
        return _interpolated(plan, batch, scale, partitions)
    places, inverse = distinct_targets(batch)
    if len(places) > (ALONE if len(plan.parts) == 1 else WORKFLOWS_ALONE):
        return _interpolated(plan, batch, scale, partitions)
    activities = plan.activities(scale, partitions)
    targets = [plan.target(batch, place) for place in places]
    found = [
        plan.timeline(target, scale, partitions, record=False).seconds
        if target is not None and fits(target, activities)
        else math.nan
        for target in targets
    ]
    return _timed(np.asarray(found)[inverse])


def fits(target: Target, activities: Sequence[Activity]) -> bool:
    """Whether a container of every activity's tasks fits a node."""
    machines = target.machines
    return all(machines.most_containers(entry) >= 1.0 for entry in activities if entry.tasks)


def _timed(seconds: FloatArray) -> FloatArray:
    """Times, NaN for those that are none: tasks of which nothing is known take no time."""
    return np.asarray(np.where(seconds > 0.0, seconds, math.nan))


def _interpolated(
    plan: Plan, batch: ClusterBatch, scale: float, partitions: int | None
) -> FloatArray:
    """A grid: for each type a curve over its node counts."""
    seconds = np.full(len(batch), math.nan)
    slots = batch.slots
    size = np.where(np.isnan(batch.nodes), slots, batch.nodes)
    chosen: list[IntArray] = []
    spans: list[IntArray] = []
    order = np.lexsort((size, batch.type_index))
    for rows in np.split(order, np.flatnonzero(np.diff(batch.type_index[order])) + 1):
        known = rows[slots[rows] >= 1.0]
        if known.size:
            wanted = np.geomspace(1, len(known), min(PER_TYPE, len(known))).astype(int) - 1
            chosen.append(known[np.unique(wanted)])
            spans.append(known)
    if not chosen:
        return seconds
    grid = Grid.of(plan, batch, chosen, slots)
    if len(plan.parts) == 1:
        logs = np.log(_timed(_Curve.of(plan, grid, scale, partitions, JOB_POINTS).at(grid)))
    else:
        logs = np.empty(len(grid.slots))
        makes, which = grid.makes()
        for make in range(makes):
            alike = grid.part(which == make)
            count = max(LEAST_POINTS, POINTS // makes)
            logs[which == make] = _log_of_make(plan, batch, alike, scale, partitions, count)
    logs[~grid.fitting(plan.activities(scale, partitions))] = math.nan
    start = 0
    for rows, points in zip(spans, chosen, strict=True):
        own = logs[start : start + len(points)]
        seconds[rows] = np.exp(np.interp(np.log(size[rows]), np.log(size[points]), own))
        start += len(points)
    return seconds


def _log_of_make(
    plan: Plan, batch: ClusterBatch, grid: Grid, scale: float, partitions: int | None, count: int
) -> FloatArray:
    """(n,) log seconds of a workflow on machines of one make: between a curve on the slowest of
    their cores and one on the fastest.

    What runs beside what depends on the speed: drivers take their time on any core, so that jobs
    which hide them behind each other's tasks on slow cores leave them bare on fast ones.
    """
    pace = np.log(grid.speeds).mean(axis=1)
    ends = list(dict.fromkeys((int(pace.argmin()), int(pace.argmax()))))
    if np.ptp(pace) < SAME_PACE:
        ends = [int(np.argsort(pace)[len(pace) // 2])]
    curves = [
        _Curve.of(
            plan, grid, scale, partitions, max(FEWEST_POINTS, count // len(ends)),
            instance=batch.types[int(grid.kinds[end])], catalog=batch.catalog,
        )
        for end in ends
    ]  # fmt: skip
    logs = [np.log(_timed(curve.at(grid))) for curve in curves]
    found = logs[0]
    if len(ends) > 1:
        share = (pace - pace[ends[0]]) / (pace[ends[1]] - pace[ends[0]])
        found = (1.0 - share) * logs[0] + share * logs[1]
    return np.asarray(found + curves[0].coarse(plan, grid, scale, partitions))


SAME_PACE = 0.05
"""Cores whose log speeds differ by less need one curve."""


@dataclass(frozen=True, eq=False)
class Grid:
    """n clusters as arrays.

    Args:
        slots, nodes: (n,) in all. cores: (n,) of all nodes. memory_gib: (n,) of containers.
        disk, network: (n,) bytes per second of one node, inf where unknown.
        alike: (n,) 1 where a container must fit one of the nodes.
        speeds: (n, j) of a core, for each job.
        kinds: (n,) places of their types in the batch; -1 for single clusters.
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
        cls, plan: Plan, batch: ClusterBatch, kinds: Sequence[IntArray], slots: FloatArray
    ) -> Grid:
        """The clusters at some rows of a batch, `kinds` by type: nodes of a type are alike."""
        columns: list[FloatArray] = []
        speeds: list[FloatArray] = []
        for rows in kinds:
            first = plan.target(batch, int(rows[0]))
            assert first is not None
            many = slots[rows] / first.slots
            columns.append(
                np.stack(
                    (
                        slots[rows],
                        first.nodes * many,
                        first.nodes * first.cores * many,
                        first.memory_gib * many,
                        np.full(len(rows), first.rates.disk or math.inf),
                        np.full(len(rows), first.rates.network or math.inf),
                        np.full(len(rows), float(first.alike)),
                    )
                )
            )
            own = [part.speed_on(first).relative for part in plan.parts]
            speeds.append(np.tile(own, (len(rows), 1)))
        stacked = np.concatenate(columns, axis=1)
        slots, nodes, cores, memory, disk, network, alike = stacked
        types = np.concatenate([batch.type_index[rows] for rows in kinds])
        return cls(slots, nodes, cores, memory, disk, network, alike, np.concatenate(speeds), types)

    @classmethod
    def of_targets(cls, plan: Plan, targets: Sequence[Target]) -> Grid:
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
        network per slot known or not, and alike within a factor of `ALIKE`."""
        keys = []
        for rate in (self.disk, self.network):
            per_slot = rate * self.nodes / self.slots
            known = np.isfinite(per_slot)
            bins = np.round(np.log(np.where(known, per_slot, 1.0)) / math.log(ALIKE))
            keys.append(np.where(known, bins, np.inf))
        found, which = np.unique(np.stack(keys), axis=1, return_inverse=True)
        return found.shape[1], np.asarray(which, dtype=np.int64).reshape(-1)

    def part(self, rows: slice | NDArray[np.bool_]) -> Grid:
        """Some of the clusters."""
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

    def fitting(self, activities: Sequence[Activity]) -> NDArray[np.bool_]:
        """(n,) whether a container of every activity's tasks fits a node."""
        found = np.ones(len(self.slots), dtype=bool)
        kinds = {(entry.cores, entry.memory_gib): entry for entry in activities if entry.tasks}
        for entry in kinds.values():
            held = containers_on(
                entry, nodes=self.nodes, slots=self.slots, memory_gib=self.memory_gib
            )
            found &= (self.alike == 0.0) | (np.asarray(held) >= 1.0)
        return found

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


@dataclass(frozen=True, eq=False)
class _Curve:
    """How long the cluster waits for each activity, over the number of slots.

    Args:
        log_slots: (p,) points. waits: (p, a) seconds. idle: (p,) seconds without any task.
        reference: (p, a) seconds of a task at the points.
        targets: (p,) the machines of the points.
    """

    activities: tuple[Activity, ...]
    log_slots: FloatArray
    waits: FloatArray
    idle: FloatArray
    reference: FloatArray
    targets: tuple[Target, ...]

    @classmethod
    def of(
        cls,
        plan: Plan,
        grid: Grid,
        scale: float,
        partitions: int | None,
        count: int,
        *,
        instance: InstanceType | None = None,
        catalog: Catalog | None = None,
    ) -> _Curve:
        """From `count` numbers of slots on machines in the middle of the grid."""
        activities = plan.activities(scale, partitions)
        usable = grid.usable(activities)
        most = max(1.0, min(float(usable.max()), float(sum(a.tasks for a in activities))))
        points = _points(np.minimum(usable, most), count)
        tracks = TRACKS if len(plan.parts) > 1 else None
        middle = [grid.middle(float(slots), instance, catalog) for slots in points]
        ran = np.asarray([entry.tasks > 0 for entry in activities])
        waits, idle = np.zeros((len(points), len(activities))), np.empty(len(points))
        for place, target in enumerate(middle):
            found = plan.timeline(target, scale, partitions, record=False, tracks=tracks)
            waits[place, ran] = exclusive_seconds(found.start[ran], found.end[ran])
            idle[place] = found.seconds - waits[place].sum()
        reference = task_seconds(activities, Grid.of_targets(plan, middle))
        return cls(activities, np.log(points), waits, idle, reference, tuple(middle))

    def coarse(self, plan: Plan, grid: Grid, scale: float, partitions: int | None) -> FloatArray:
        """(n,) log of the time over that of `TRACKS` tracks, which are too few: from what
        `FINE_TRACKS` make of some points."""
        last = len(self.targets) - 1
        places = np.unique(np.linspace(0, last, FINE_POINTS).round().astype(int))
        logs = []
        for place in places:
            taken = float(self.waits[place].sum() + self.idle[place])
            target = self.targets[place]
            fine = plan.timeline(target, scale, partitions, record=False, tracks=FINE_TRACKS)
            logs.append(math.log(fine.seconds / taken) if taken > 0.0 else 0.0)
        x = np.log(grid.usable(self.activities))
        return np.asarray(np.interp(x, self.log_slots[places], logs))

    def at(self, grid: Grid) -> FloatArray:
        """(n,) seconds on other machines."""
        found = np.empty(len(grid.slots))
        for start in range(0, len(found), _BLOCK):
            rows = slice(start, start + _BLOCK)
            found[rows] = self._at(grid.part(rows))
        return found

    def _at(self, grid: Grid) -> FloatArray:
        x = np.log(grid.usable(self.activities))
        took = task_seconds(self.activities, grid)
        last = len(self.log_slots) - 1
        place = np.clip(np.searchsorted(self.log_slots, x, side="right") - 1, 0, last)
        after = np.minimum(place + 1, last)
        width = np.maximum(self.log_slots[after] - self.log_slots[place], _TINY)
        share = np.clip((x - self.log_slots[place]) / width, 0.0, 1.0)
        whole = share[:, None]
        before, behind = self._paced(place, took), self._paced(after, took)
        stages = before ** (1.0 - whole) * behind**whole
        idle = (1.0 - share) * self.idle[place] + share * self.idle[after]
        return np.asarray(stages.sum(axis=1) + idle)

    def _paced(self, place: IntArray, took: FloatArray) -> FloatArray:
        """(n, a) waits of some points at the pace of other machines."""
        pace = took / np.maximum(self.reference[place], _TINY)
        return np.asarray(self.waits[place] * np.where(self.reference[place] > 0.0, pace, 1.0))


_TINY = 1e-12


def _points(slots: FloatArray, count: int) -> FloatArray:
    """Where a curve is estimated: the fewest slots of the grid, where the time falls in steps,
    and others evenly spaced in their logarithm."""
    distinct = np.unique(slots)
    if len(distinct) <= count:
        return distinct
    few = distinct[: count // 2]
    spaced = np.geomspace(few[-1], distinct[-1], count - len(few) + 1)
    return np.unique(np.concatenate((few, np.round(spaced))))


def task_seconds(activities: Sequence[Activity], grid: Grid) -> FloatArray:
    """(n, a) Eq. 2 summed over steps, for each stage alone on each cluster."""
    jobs = [entry.job for entry in activities]
    tasks = np.asarray([max(1, entry.tasks) for entry in activities], dtype=float)
    at_once = np.minimum(tasks, grid.slots[:, None])
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
