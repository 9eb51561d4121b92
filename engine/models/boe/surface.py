"""Times of one plan on many clusters: each estimated alone, or a curve through some of them.

A few clusters are estimated one by one. For a grid of thousands the states are estimated at a few
numbers of slots, on machines in the middle of the grid, which tells how long the cluster waits for
each stage beside what the stage takes alone there (`boe.stage_course`). On other machines and other
numbers of slots it waits longer as the stage alone takes longer: exactly so for stages that run one
after the other. Of workflows, whose stages run side by side, it is up to 43 % off (logarithms of
-0.35 to 0.36 on made ones).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.forecast import FloatArray, IntArray
from engine.intervals import exclusive_seconds
from engine.models.boe.grid import Grid
from engine.models.boe.plan import ScaledPlan, Target, WorkflowPlan, distinct_targets
from engine.models.boe.stage_course import TINY, StageCourses, neighbours, spread_out
from engine.models.boe.states import EQUAL_TASKS
from engine.models.boe.task_draw import TaskLaw, task_law
from engine.models.boe.task_time import Needs
from engine.models.boe.workflow_course import Activity

ALONE = 66
"""Up to so many distinct clusters are estimated one by one."""

WORKFLOWS_ALONE = 12
"""The same for workflows of several jobs, however long each takes."""

ALONE_SECONDS, PROOF_SECONDS = 0.4, 2.5
TRACK_SECONDS = 15e-6
JOBS_BESIDE = 4.0
"""More clusters are estimated one by one as far as all take about `ALONE_SECONDS` of processor time
together, since the planner waits for a surface at each step of the data size; so that one answer is
proven, as far as all take `PROOF_SECONDS`. A cluster takes `TRACK_SECONDS` for each task, and so
much again for every `JOBS_BESIDE` jobs: 1 to 20 us were measured on workflows of 3 to 20 jobs.
Counted, not timed, so that an answer is the same on any machine."""

LARGE = 5000
"""More clusters than this are not looked through for equal ones."""

JOB_POINTS = 8
POINTS = 20
LEAST_POINTS = 8
FEWEST_POINTS = 4
"""Numbers of slots at which curves are estimated: of one application; of a workflow on all makes of
machines together; on each; and on each at one speed of cores. Stages of one application run one
after the other: one make does for all."""

TRACKS = 48
"""Tracks per stage of a workflow on a curve: many jobs in many tracks are many states. The longest
of few tracks is shorter than the longest of many: of 12 the time was 3 to 8 % short."""

PER_TYPE, JOB_STAGES = 24, 500_000
"""Node counts per instance type at which a grid is computed; between them the log of the time is
a straight line over the log of the nodes. Of one application as many more as keep its stages on all
clusters below so many: where all tasks of a stage come to run at once, the time falls in a step."""

_BLOCK = 4096


def seconds_on(scaled: ScaledPlan, batch: ClusterBatch) -> FloatArray:
    """(n,) seconds of a plan on the clusters of a batch; NaN where slots are not known, a task's
    container does not fit, or nothing says how long any task takes."""
    if len(batch) > LARGE:
        return _interpolated(scaled, batch)
    indices, inverse = distinct_targets(batch)
    if len(indices) > most_alone(scaled):
        return _interpolated(scaled, batch)
    activities = scaled.activities
    targets = [scaled.plan.target(batch, index) for index in indices]
    seconds = [
        scaled.seconds(target) if target is not None and fits(target, activities) else math.nan
        for target in targets
    ]
    return _timed(np.asarray(seconds)[inverse])


def most_alone(scaled: ScaledPlan, *, limit_seconds: float | None = None) -> int:
    """Up to how many distinct clusters the plan is estimated one by one, in about `limit_seconds`;
    None for `ALONE_SECONDS`."""
    limit_seconds = ALONE_SECONDS if limit_seconds is None else limit_seconds
    jobs = len(scaled.plan.parts)
    if jobs == 1:
        return ALONE
    tasks = sum(entry.tasks for entry in scaled.activities)
    each = TRACK_SECONDS * max(1, tasks) * (1.0 + jobs / JOBS_BESIDE)
    return min(LARGE, max(WORKFLOWS_ALONE, int(limit_seconds / each)))


def fits(target: Target, activities: Sequence[Activity]) -> bool:
    """Whether a container of every activity's tasks fits."""
    machines = target.machines
    return all(machines.holds(entry) for entry in activities if entry.tasks)


def _timed(seconds: FloatArray) -> FloatArray:
    """Times, NaN for those that are none: tasks of which nothing is known take no time."""
    return np.asarray(np.where(seconds > 0.0, seconds, math.nan))


def _interpolated(scaled: ScaledPlan, batch: ClusterBatch) -> FloatArray:
    """A grid: for each type a curve over its node counts."""
    seconds = np.full(len(batch), math.nan)
    slots = batch.slots
    size = np.where(np.isnan(batch.nodes), slots, batch.nodes)
    chosen: list[IntArray] = []
    spans: list[IntArray] = []
    order = np.lexsort((size, batch.type_index))
    count = PER_TYPE
    if len(scaled.plan.parts) == 1:
        count = max(count, JOB_STAGES // (len(scaled.activities) * len(batch.types)))
    for rows in np.split(order, np.flatnonzero(np.diff(batch.type_index[order])) + 1):
        known = rows[slots[rows] >= 1.0]
        if known.size:
            wanted = np.geomspace(1, len(known), count).astype(int) - 1
            chosen.append(known[np.unique(wanted)] if count < len(known) else known)
            spans.append(known)
    if not chosen:
        return seconds
    grid = Grid.of(scaled.plan, batch, chosen, slots)
    fitting = grid.fitting(scaled.activities)
    if not fitting.any():
        return seconds
    logs = np.full(len(grid.slots), math.nan)
    logs[fitting] = _logs(scaled, batch, grid.take(fitting))
    start = 0
    for rows, points in zip(spans, chosen, strict=True):
        own = logs[start : start + len(points)]
        seconds[rows] = np.exp(np.interp(np.log(size[rows]), np.log(size[points]), own))
        start += len(points)
    return seconds


def _logs(scaled: ScaledPlan, batch: ClusterBatch, grid: Grid) -> FloatArray:
    """(n,) log seconds on clusters that hold the containers of all tasks."""
    if len(scaled.plan.parts) == 1:
        return np.log(_timed(_Curves.of(scaled, grid, JOB_POINTS, [None], None).at(grid)[0]))
    logs = np.empty(len(grid.slots))
    makes, which = grid.makes()
    for make in range(makes):
        alike = grid.take(which == make)
        each = max(LEAST_POINTS, POINTS // makes)
        logs[which == make] = _log_of_make(scaled, batch, alike, each)
    return logs


def _log_of_make(scaled: ScaledPlan, batch: ClusterBatch, grid: Grid, count: int) -> FloatArray:
    """(n,) log seconds of a workflow on machines of one make: between a curve on the slowest of
    their cores and one on the fastest.

    What runs beside what depends on the speed: drivers take their time on any core, so that jobs
    which hide them behind each other's tasks on slow cores leave them bare on fast ones.
    """
    pace = np.log(grid.speeds).mean(axis=1)
    ends = list(dict.fromkeys((int(pace.argmin()), int(pace.argmax()))))
    if np.ptp(pace) < SAME_PACE:
        ends = [int(np.argsort(pace)[len(pace) // 2])]
    instances = [batch.types[int(grid.kinds[end])] for end in ends]
    points = max(FEWEST_POINTS, count // len(ends))
    curves = _Curves.of(scaled, grid, points, instances, batch.catalog)
    logs = np.log(_timed(curves.at(grid)))
    log_seconds = logs[0]
    if len(ends) > 1:
        share = (pace - pace[ends[0]]) / (pace[ends[1]] - pace[ends[0]])
        log_seconds = (1.0 - share) * logs[0] + share * logs[1]
    return np.asarray(log_seconds)


SAME_PACE = 0.05
"""Cores whose log speeds differ by less need one curve."""


@dataclass(frozen=True, eq=False)
class _Curves:
    """How long the cluster waits for each activity, over the number of slots, on e cores.

    Args:
        activities: of the plan for this input.
        log_slots: (p,) points. waits: (e, p, a) seconds. idle: (e, p) seconds without any task.
        reference: (e, p, a) seconds of each activity at the points, when it runs alone.
        courses: what an activity takes alone, counted in task times: the same on any core.
    """

    activities: tuple[Activity, ...]
    log_slots: FloatArray
    waits: FloatArray
    idle: FloatArray
    reference: FloatArray
    courses: StageCourses

    @classmethod
    def of(
        cls,
        scaled: ScaledPlan,
        grid: Grid,
        count: int,
        instances: Sequence[InstanceType | None],
        catalog: Catalog | None,
    ) -> _Curves:
        """From `count` numbers of slots on machines in the middle of the grid, with the cores of
        each of some types (None: of those that were observed)."""
        plan, activities = scaled.plan, scaled.activities
        usable = grid.usable(activities)
        most = max(1.0, min(float(usable.max()), float(sum(a.tasks for a in activities))))
        points = spread_out(np.minimum(usable, most), count)
        tracks = TRACKS if len(plan.parts) > 1 else None
        middle = [[grid.middle(n, of, catalog) for n in points.tolist()] for of in instances]
        ran = np.asarray([entry.tasks > 0 for entry in activities])
        idle = np.empty((len(instances), len(points)))
        waits = np.zeros((*idle.shape, len(activities)))
        for index in np.ndindex(idle.shape):
            course = scaled.course(middle[index[0]][index[1]], record=False, tracks=tracks)
            waits[index][ran] = exclusive_seconds(course.start[ran], course.end[ran])
            idle[index] = course.seconds - waits[index].sum()
        laws = [law_of(plan, entry, middle[0][0]) for entry in activities]
        courses = StageCourses.of(activities, laws, np.concatenate((usable, points)))
        at = [Grid.of_targets(plan, targets) for targets in middle]
        reference = np.stack([courses.seconds(targets, points) for targets in at])
        return cls(activities, np.log(points), waits, idle, reference, courses)

    def at(self, grid: Grid) -> FloatArray:
        """(e, n) seconds on other machines."""
        seconds = np.empty((len(self.idle), len(grid.slots)))
        for start in range(0, seconds.shape[1], _BLOCK):
            rows = slice(start, start + _BLOCK)
            seconds[:, rows] = self._at(grid.take(rows))
        return seconds

    def _at(self, grid: Grid) -> FloatArray:
        slots = grid.usable(self.activities)
        took = self.courses.seconds(grid, slots)
        index, after, share = neighbours(self.log_slots, np.log(slots))
        weight = share[:, None]
        seconds = []
        for waits, idle, reference in zip(self.waits, self.idle, self.reference, strict=True):
            paced = [_paced(waits[at], reference[at], took) for at in (index, after)]
            stages = paced[0] ** (1.0 - weight) * paced[1] ** weight
            between = (1.0 - share) * idle[index] + share * idle[after]
            seconds.append(stages.sum(axis=1) + between)
        return np.asarray(seconds)


def _paced(waits: FloatArray, reference: FloatArray, took: FloatArray) -> FloatArray:
    """(n, a) waits of some points at the pace of other machines."""
    pace = took / np.maximum(reference, TINY)
    return np.asarray(waits * np.where(reference > 0.0, pace, 1.0))


def law_of(plan: WorkflowPlan, entry: Activity, target: Target) -> TaskLaw:
    """How the task times of a stage spread; not at all where they are taken as alike."""
    if not plan.tasks_differ:
        return EQUAL_TASKS
    needs = Needs.of(entry.work, target.machines.rates)
    return task_law(entry, needs)
