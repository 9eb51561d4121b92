"""How many tasks of a stage run at once from its start to its end, when it runs alone.

Within a stage all tasks run in step (`boe.states`): in which order they end, and how many run
until then, is the same on any machine of so many lanes, counted in task times. A machine decides
how long a task takes while so many run. The two together are the time of a stage that runs alone,
in closed form, for thousands of clusters at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.boe.grid import Grid, task_seconds
from engine.models.boe.task_draw import COARSE_LANES, EXACT_TASKS, TaskLaw, chunks_of, task_factors
from engine.models.boe.workflow_course import Activity

PHASES = 6
"""Phases of a stage: all lanes busy, more than half of them, more than a quarter, and so on."""

MOST_ENDS = 400_000
FEWEST_LANES = 16
"""Tasks that are placed one by one, for all stages and numbers of lanes together, and numbers of
lanes of a stage at least; between fewer numbers the phases are interpolated."""

TINY = 1e-12
"""Stands for zero in a denominator."""


@dataclass(frozen=True, eq=False)
class StageCourse:
    """The phases of one stage.

    Args:
        lanes: (m,) ascending numbers of tasks that may run at once.
        clocks: (m, p) length of each phase, in times of a mean task.
        running: (m, p) how many tasks run in it, on average.
    """

    lanes: FloatArray
    clocks: FloatArray
    running: FloatArray

    @classmethod
    def of(cls, tasks: int, law: TaskLaw, lanes: FloatArray) -> StageCourse:
        """On some numbers of lanes, at most as many as there are tasks."""
        phases = [_phases(tasks, law, int(count)) for count in lanes]
        clocks, running = np.asarray(phases, dtype=float).transpose(1, 0, 2)
        return cls(lanes, clocks, running)

    def at(self, lanes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, p) clocks and running tasks on (n,) lanes; between those that are known, shares of
        lanes and of task times per lane follow a straight line over the logarithm."""
        index, after, share = neighbours(np.log(self.lanes), np.log(lanes))

        def between(rows: FloatArray) -> FloatArray:
            weight = share[:, None]
            return np.asarray((1.0 - weight) * rows[index] + weight * rows[after])

        work = between(self.clocks * self.lanes[:, None])
        busy = between(self.running / self.lanes[:, None])
        return work / lanes[:, None], busy * lanes[:, None]


def neighbours(known: FloatArray, x: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """(n,) indices of the ascending known numbers before and behind each x, and (n,) its share of
    the way from the one to the other; beyond the first and the last the nearest alone."""
    last = len(known) - 1
    index = np.clip(np.searchsorted(known, x, side="right") - 1, 0, last)
    after = np.minimum(index + 1, last)
    width = np.maximum(known[after] - known[index], TINY)
    return index, after, np.clip((x - known[index]) / width, 0.0, 1.0)


def _phases(tasks: int, law: TaskLaw, lanes: int) -> tuple[FloatArray, FloatArray]:
    """(p,) clocks and running tasks of the phases on so many lanes."""
    lump = 1
    if law.spread <= 0.0:
        waves, rest = divmod(tasks, lanes)
        ends = np.full(lanes, law.mean * waves)
        ends[:rest] += law.mean
    elif tasks <= EXACT_TASKS:
        ends = _ends(law.mean * task_factors(law.spread, tasks), lanes)
    else:
        chunks, lump = chunks_of(tasks, lanes, law.spread, COARSE_LANES)
        ends = _ends(law.mean * np.asarray([time for time, _ in chunks]), max(1, lanes // lump))
    ends = np.sort(ends)
    running = np.arange(len(ends), 0.0, -1.0)
    lengths = np.diff(ends, prepend=0.0)
    phase = np.minimum(PHASES - 1, np.ceil(np.log2(len(ends) / running)).astype(int))
    clocks = np.bincount(phase, lengths, PHASES).astype(float)
    work = np.bincount(phase, lengths * running, PHASES)
    mean = np.where(clocks > 0.0, work / np.where(clocks > 0.0, clocks, 1.0), 1.0)
    return clocks, np.asarray(mean * lump)


def _ends(factors: FloatArray, lanes: int) -> FloatArray:
    """(lanes,) when each lane falls free for good: a task begins on the lane that ends first."""
    heap = factors[:lanes].tolist()
    heapq.heapify(heap)
    for factor in factors[lanes:].tolist():
        heapq.heapreplace(heap, heap[0] + factor)
    return np.asarray(heap)


@dataclass(frozen=True, eq=False)
class StageCourses:
    """What each activity takes alone on the clusters of a grid."""

    activities: tuple[Activity, ...]
    courses: tuple[StageCourse | None, ...]

    @classmethod
    def of(
        cls, activities: Sequence[Activity], laws: Sequence[TaskLaw], slots: FloatArray
    ) -> StageCourses:
        """For clusters of so many usable slots."""
        counts = [min(entry.tasks, EXACT_TASKS) for entry in activities if entry.tasks]
        courses: list[StageCourse | None] = []
        for entry, law in zip(activities, laws, strict=True):
            if not entry.tasks:
                courses.append(None)
                continue
            most = MOST_ENDS // (len(counts) * min(entry.tasks, EXACT_TASKS))
            lanes = spread_out(lanes_of(entry, slots), max(FEWEST_LANES, most))
            courses.append(StageCourse.of(entry.tasks, law, lanes))
        return cls(tuple(activities), tuple(courses))

    def seconds(self, grid: Grid, slots: FloatArray) -> FloatArray:
        """(n, a) seconds of each activity alone on each cluster, of which so many slots are usable;
        0 for moments."""
        few, index = np.unique(slots, return_inverse=True)
        shape = (len(few), len(self.activities), PHASES)
        clocks, running = np.zeros(shape), np.ones(shape)
        for column, (entry, course) in enumerate(zip(self.activities, self.courses, strict=True)):
            if course is not None:
                clocks[:, column], running[:, column] = course.at(lanes_of(entry, few))
        first = task_seconds(self.activities, grid, running[:, :, 0][index])
        last = task_seconds(self.activities, grid, running[:, :, -1][index])
        seconds = clocks.sum(axis=2)[index] * first
        slowed = np.flatnonzero((last < first).any(axis=0))  # others: as fast with many as with few
        if slowed.size:
            some = [self.activities[column] for column in slowed]
            seconds[:, slowed] = 0.0
            for phase in range(PHASES):
                took = task_seconds(some, grid, running[:, slowed, phase][index])
                seconds[:, slowed] += clocks[:, slowed, phase][index] * took
        return np.asarray(seconds)


def lanes_of(entry: Activity, slots: FloatArray) -> FloatArray:
    """(n,) tasks of a stage that run at once on so many slots, alone."""
    return np.clip(np.floor(slots / entry.cores), 1.0, entry.tasks)


def spread_out(counts: FloatArray, most: int) -> FloatArray:
    """(k,) at most about so many of some whole numbers (n,): the fewest, where the time falls in
    steps, and others evenly spaced in their logarithm."""
    distinct = np.unique(counts)
    if len(distinct) <= most:
        return distinct
    few = distinct[: most // 2]
    spaced = np.geomspace(few[-1], distinct[-1], most - len(few) + 1)
    return np.unique(np.concatenate((few, np.round(spaced))))
