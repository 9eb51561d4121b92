"""The task times of many stages for one input, as rows of arrays.

What `StageShape.tasks` gives one by one, for all stages of a log at once: an outline of each (its
times in ascending order and how many tasks each stands for). What does not depend on the input is
kept per log (`StageTable`). Stages whose every task has to be drawn (more than `EVERY_TASK`, no
more than `PLACED_TASKS`) are still drawn one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.ranked_tasks import DeferredTasks
from engine.models.task_times import (
    LARGEST_TASKS,
    LONGEST_FIRST,
    PLACED_TASKS,
    SET_UP_SECONDS,
    SET_UP_SHARE,
    Growth,
    Scaled,
    StageShape,
    whole_tasks,
)
from engine.models.warm_up import WarmUps
from engine.waves import BODY, EVERY_TASK, TAIL_STEPS, Tasks, probabilities

FEW_TASKS = 32
"""Stages of no more tasks than this are apart: thousands of them take no more room than they
need."""

_BASE = probabilities(4 * LARGEST_TASKS)[:-1]
"""Where outlines of any number of tasks are taken: the longer ones go on where shorter ones end."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """(m,) `Scaled` of m stages: tasks, work of each, share that the last one holds."""

    tasks: FloatArray
    work: FloatArray
    last: FloatArray

    @property
    def partitions(self) -> FloatArray:
        """`Scaled.partitions`."""
        return self.tasks - 1.0 + self.last

    def each(self) -> list[Scaled]:
        """The same one by one."""
        columns = (self.tasks.astype(np.int64), self.work, self.last)
        return [Scaled(*values) for values in zip(*(c.tolist() for c in columns), strict=True)]

    def taken(self, rows: IntArray) -> Cuts:
        """Those of some rows."""
        return Cuts(self.tasks[rows], self.work[rows], self.last[rows])


@dataclass(frozen=True, eq=False)
class Outlines:
    """Task times of m stages.

    Args:
        ordered: (m, p) ascending times; a row that has fewer repeats its longest.
        counts: (m, p) how many tasks each stands for, 0 where it only fills the row.
        total: (m,) sum of the times of all tasks.
    """

    ordered: FloatArray
    counts: FloatArray
    total: FloatArray

    @classmethod
    def of(cls, tasks: Sequence[Tasks]) -> Outlines:
        """Of stages whose tasks are drawn."""
        outlined = [found.outlined for found in tasks]
        longest = max(len(times) for times, _ in outlined)
        ordered, counts = np.zeros((len(tasks), longest)), np.zeros((len(tasks), longest))
        for row, (times, number) in enumerate(outlined):
            ordered[row, : len(times)], ordered[row, len(times) :] = times, times[-1]
            counts[row, : len(number)] = number
        return cls(ordered, counts, np.asarray([found.total for found in tasks]))


@dataclass(frozen=True, eq=False)
class StageTable:
    """What of s stages does not depend on the input.

    Args:
        dispatch_seconds, rotation: (s,) as in `StageShape.tasks`.
    """

    shapes: tuple[StageShape, ...]
    dispatch_seconds: FloatArray
    rotation: FloatArray

    @cached_property
    def _turns(self) -> list[float]:
        return list(map(float, self.rotation))

    @cached_property
    def _idle(self) -> list[float]:
        return list(map(float, self.dispatch_seconds))

    @cached_property
    def mean_seconds(self) -> FloatArray:
        """(s,) time of a typical warm task."""
        return np.asarray([shape.mean_seconds for shape in self.shapes])

    @cached_property
    def cpus(self) -> FloatArray:
        """(s,) slots of one task."""
        return np.asarray([float(shape.stage.task_cpus) for shape in self.shapes])

    @cached_property
    def observed(self) -> FloatArray:
        """(s,) tasks in the log."""
        return np.asarray([float(shape.stage.tasks) for shape in self.shapes])

    @cached_property
    def law_slots(self) -> FloatArray:
        """(s,) what logs tell of their growth per doubling of tasks at once."""
        return np.asarray([shape.law.slots for shape in self.shapes])

    @cached_property
    def warm_ups(self) -> WarmUps:
        """How their task times fall while code is new."""
        return WarmUps.of([shape.warm_up for shape in self.shapes])

    @cached_property
    def longest_first(self) -> FloatArray:
        """(s,) 1 where the launch order is from the longest to the shortest."""
        return np.asarray(self.rotation == LONGEST_FIRST, dtype=float)

    @cached_property
    def _law_work(self) -> FloatArray:
        return np.asarray([shape.law.work for shape in self.shapes])

    @cached_property
    def _grows(self) -> FloatArray:
        return np.asarray([shape.growth is not Growth.NONE for shape in self.shapes])

    @cached_property
    def _overhead(self) -> FloatArray:
        return np.asarray([shape.overhead_seconds for shape in self.shapes])

    @cached_property
    def _points(self) -> IntArray:
        """(s,) how many quantiles are stored."""
        return np.asarray([len(shape.warm) for shape in self.shapes])

    @cached_property
    def _values(self) -> FloatArray:
        """(s, q) the quantiles, at least two; shorter rows repeat their last one."""
        found = np.empty((len(self.shapes), max(2, int(self._points.max()))))
        for row, shape in enumerate(self.shapes):
            found[row, : len(shape.warm)], found[row, len(shape.warm) :] = (
                shape.warm,
                shape.warm[-1],
            )
        return found

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """(s,) the longest time and the one before it, between which lies the tail."""
        rows = np.arange(len(self.shapes))
        return self._values[rows, self._points - 1], self._values[rows, self._points - 2]

    @cached_property
    def _last_gap(self) -> FloatArray:
        """(s,) width of the last gap between quantiles, as a probability."""
        return 1.0 / np.maximum(1, self._points - 1)

    def cut(self, places: IntArray, ratio: float, wanted: FloatArray) -> Cuts:
        """`StageShape.cut` of some stages at `ratio` times the input in (m,) partitions."""
        base = np.where(self._grows[places], ratio, 1.0)
        law = self._law_work[places]
        faster = base * np.exp(np.maximum(law, 0.0) * np.log(ratio))
        total = np.where(law >= 0.0, faster, -law + (1.0 + law) * base)
        tasks, partitions, last = whole_tasks(wanted)
        return Cuts(tasks, total * self.observed[places] / partitions, last)

    def drawn(self, place: int, scaled: Scaled) -> Tasks:
        """The tasks of one stage."""
        return self.shapes[place].tasks(
            scaled,
            dispatch_seconds=self._idle[place],
            rotation=self._turns[place],
        )

    def deferred(self, place: int, scaled: Scaled) -> Tasks:
        """The same, not drawn before somebody asks."""
        shape, excess = self.shapes[place], None
        if scaled.tasks > PLACED_TASKS or not len(shape.cold):
            excess = shape.cold_excess
        return DeferredTasks(
            scaled.tasks,
            partial(self.drawn, place, scaled),
            longest_first=self._turns[place] == LONGEST_FIRST,
            cold_excess_seconds=excess,
        )

    def groups(self, places: IntArray, cuts: Cuts) -> list[tuple[IntArray, IntArray]]:
        """Stages that are answered together: rows of `cuts`, and their places."""
        size = np.searchsorted((FEW_TASKS, EVERY_TASK, PLACED_TASKS), cuts.tasks)
        found = (np.flatnonzero(size == kind) for kind in range(4))
        return [(rows, places[rows]) for rows in found if rows.size]

    def outlines(self, places: IntArray, cuts: Cuts) -> Outlines | None:
        """The stages of one group; None where they have to be drawn one by one."""
        if cuts.tasks[0] > PLACED_TASKS:
            return self._outlined(places, cuts)
        return self._ranked(places, cuts) if cuts.tasks[0] <= EVERY_TASK else None

    def _outlined(self, places: IntArray, cuts: Cuts) -> Outlines:
        """As `drawn_outline` and `StageShape.tasks` of many tasks."""
        n = cuts.tasks[:, None]
        halvings = TAIL_STEPS * np.maximum(1.0, np.floor(np.log2(cuts.tasks / BODY)))
        kept = np.searchsorted(_BASE[BODY:], 1.0 - 1.0 / cuts.tasks)
        end = BODY + np.minimum(kept, halvings).astype(np.int64)[:, None]
        column = np.arange(int(end.max()) + 1)
        at = np.where(column < end, _BASE[: len(column)], 1.0 - 0.5 / n)
        upper = np.ones_like(at)
        upper[:, :-1] = np.where(column[:-1] < end, (at[:, :-1] + at[:, 1:]) / 2.0, 1.0)
        counts = np.diff(upper, axis=1, prepend=0.0) * n
        depth = self._base_depth[places, : len(column)]
        gap, (longest, before) = self._last_gap[places][:, None], self._ends_at(places)
        tail = (at > 1.0 - gap) & (column <= end)
        tail &= tail.sum(axis=1, keepdims=True) > 1
        above = before + (longest - before) * (depth / np.log(gap * 2.0 * n))
        times = np.where(tail, above, self._base_times[places, : len(column)])
        times = np.where(column < end, times, longest)
        rest = np.einsum("ij,ij->i", times, np.where(column < end, counts, 0.0))[:, None]
        own = np.take_along_axis(counts, end, axis=1)
        times *= np.where(column < end, self._factor(places, n, longest * own, rest), 1.0)
        ordered = self._stretched(places, times, cuts.work[:, None])
        return Outlines(ordered, counts, np.einsum("ij,ij->i", ordered, counts))

    @cached_property
    def _base_times(self) -> FloatArray:
        """(s, p) straight lines between the quantiles at `_BASE`."""
        at = _BASE * (self._points[:, None] - 1.0)
        return self._between(np.arange(len(self.shapes)), at)

    @cached_property
    def _base_depth(self) -> FloatArray:
        """(s, p) how deep in the tail `_BASE` lies: log of the last gap over what is beyond."""
        return np.log(self._last_gap[:, None]) - np.log(1.0 - _BASE)

    def _ends_at(self, places: IntArray) -> tuple[FloatArray, FloatArray]:
        longest, before = self._ends
        return longest[places][:, None], before[places][:, None]

    def _between(self, places: IntArray, at: FloatArray) -> FloatArray:
        """(m, p) straight lines between the quantiles, `at` in gaps from the first of them."""
        values, last = self._values[places], np.maximum(self._points[places] - 2, 0)[:, None]
        low = np.clip(at.astype(np.int64), 0, last)
        first = np.take_along_axis(values, low, axis=1)
        return np.asarray(
            first + (np.take_along_axis(values, low + 1, axis=1) - first) * (at - low)
        )

    def _factor(
        self, places: IntArray, n: FloatArray, kept: FloatArray, rest: FloatArray
    ) -> FloatArray:
        """(m, 1) by what the other times are scaled for all to have their mean."""
        wanted = self.mean_seconds[places][:, None] * n - kept
        factor = np.divide(wanted, rest, out=np.ones_like(rest), where=rest > 0.0)
        return np.where((factor > 0.5) & (factor < 2.0), factor, 1.0)

    def _ranked(self, places: IntArray, cuts: Cuts) -> Outlines:
        """As `drawn` and `StageShape.tasks` of few tasks, each of them."""
        n, points = cuts.tasks[:, None], self._points[places][:, None]
        rank = np.arange(int(cuts.tasks.max()))
        there, alike = rank < n, n == points
        middle = np.minimum((rank + 0.5) / n, 1.0 - 0.5 / n)
        at = np.where(alike, np.minimum(rank, n - 1.0), middle * (points - 1.0))
        times = self._between(places, at)
        gap, (longest, before) = self._last_gap[places][:, None], self._ends_at(places)
        tail = (middle > 1.0 - gap) & there
        tail &= (tail.sum(axis=1, keepdims=True) > 1) & ~alike
        if tail.any():
            depth = np.log(gap) - np.log(1.0 - middle)
            above = before + (longest - before) * (depth / np.log(gap * 2.0 * n))
            times = np.where(tail, above, times)
        keeps = (n > points) & (points > 1)
        kept = np.where(keeps, longest, 0.0)
        free = there & (rank < n - keeps)
        times = np.where(there & ~free, longest, times)
        rest = np.where(free, times, 0.0).sum(axis=1, keepdims=True)
        factor = self._factor(places, n, kept, rest)
        times *= np.where(free & ~alike & (points > 1), factor, 1.0)
        ordered = self._stretched(places, times, self._work_by_rank(places, cuts, len(rank)))
        ordered = _ascending(np.where(there, ordered, np.inf))
        total = np.where(there, ordered, 0.0).sum(axis=1)
        return Outlines(
            np.where(there, ordered, np.take_along_axis(ordered, n.astype(np.int64) - 1, axis=1)),
            there.astype(float),
            total,
        )

    def _work_by_rank(self, places: IntArray, cuts: Cuts, ranks: int) -> FloatArray:
        """(m, 1) or (m, ranks) relative work of each task; of the last one launched a part."""
        partial = np.flatnonzero(cuts.last < 1.0)
        if not partial.size:
            return cuts.work[:, None]
        work = np.repeat(cuts.work[:, None], ranks, axis=1)
        for row in partial.tolist():
            place, n = int(places[row]), int(cuts.tasks[row])
            rank = self.shapes[place].last_launched(n, self._turns[place])
            work[row, rank] *= cuts.last[row]
        return work

    def _stretched(self, places: IntArray, seconds: FloatArray, work: FloatArray) -> FloatArray:
        """`StageShape._stretched`, with what a slot idles before each task."""
        outside = np.minimum(seconds, self._overhead[places][:, None])
        fixed = outside + np.minimum(SET_UP_SHARE * (seconds - outside), SET_UP_SECONDS)
        idle = self.dispatch_seconds[places][:, None]
        return np.asarray(fixed + (seconds - fixed) * work + idle)


def _ascending(rows: FloatArray) -> FloatArray:
    """(m, p) each row in ascending order; most are."""
    falling = np.flatnonzero((rows[:, 1:] < rows[:, :-1]).any(axis=1))
    if falling.size:
        rows[falling] = np.sort(rows[falling], axis=1)
    return rows
