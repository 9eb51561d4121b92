"""How task times fall while code is new to the executors, seen in the launch order of a stage.

The first tasks of a stage load and interpret code that later ones find compiled. So the mean time
of a task depends on how many tasks each slot runs: more data on the same slots brings it down, the
same data on more slots brings it up. The mean over the first k tasks of each slot comes from the
stage's own launch order (`StageRun.warm_up`); beyond what was seen, tasks take as long as the later
half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.cutting.partitions import Scaled
from engine.models.stages.durations.first_tasks import lost_to_new_code
from engine.models.stages.durations.python_workers import MOST_START
from engine.scheduling.waves import Tasks
from engine.stage_run import Measure, StageRun

PARTS = (1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0)
"""Shares of a stage's tasks over which `StageRun.warm_up` is the mean; the last is all of them."""

Times = TypeVar("Times", float, FloatArray)

FASTEST_LATE = 0.4
"""Later tasks are not taken to need less than this share of the mean."""


@dataclass(frozen=True, eq=False)
class WarmUp:
    """Mean task time over the first k tasks of each slot, relative to the stage's own mean.

    Args:
        waves: (p,) k, ascending, the last one as observed.
        means: (p,) relative mean over so many, descending to 1.
        late: relative time of tasks beyond.
    """

    waves: FloatArray
    means: FloatArray
    late: float

    def mean(self, waves: float) -> float:
        """Relative mean over the first `waves` tasks of each slot, in tasks of the observed
        size. Between two known points the time of a slot is a straight line, so that more tasks
        never take less of it."""
        last, waves = float(self.waves[-1]), max(waves, float(self.waves[0]))
        if waves <= last:
            return float(np.interp(waves, self.waves, self._spent)) / waves
        return (last + (waves - last) * self.late) / waves

    @cached_property
    def _spent(self) -> FloatArray:
        """(p,) time of a slot until then, in observed tasks."""
        return self.waves * self.means

    def means_of(self, waves: FloatArray) -> FloatArray:
        """(n,) `mean`."""
        last, waves = self.waves[-1], np.maximum(waves, self.waves[0])
        inside = np.interp(waves, self.waves, self._spent)
        beyond = last + (waves - last) * self.late
        return np.asarray(np.where(waves <= last, inside, beyond) / waves)


@dataclass(frozen=True, eq=False)
class WarmUps:
    """The curves of s stages: (s, w) waves, (s, w) means and (s,) late rates, 1 throughout where
    there is none. Shorter ones repeat their first point."""

    waves: FloatArray
    means: FloatArray
    late: FloatArray

    @classmethod
    def of(cls, curves: Sequence[WarmUp | None]) -> WarmUps:
        """Of (s,) stages; None where one has no curve."""
        longest = max((len(curve.waves) for curve in curves if curve is not None), default=0) + 1
        waves, means = np.ones((len(curves), longest)), np.ones((len(curves), longest))
        late = np.ones(len(curves))
        for row, curve in enumerate(curves):
            if curve is not None:
                missing = longest - len(curve.waves)
                waves[row] = np.concatenate((np.full(missing, curve.waves[0]), curve.waves))
                means[row] = np.concatenate((np.full(missing, curve.means[0]), curve.means))
                late[row] = curve.late
        return cls(waves, means, late)

    def taken(self, rows: IntArray) -> WarmUps:
        """Those of some stages."""
        return WarmUps(self.waves[rows], self.means[rows], self.late[rows])

    def mean(self, waves: FloatArray) -> FloatArray:
        """(s,) `WarmUp.mean`."""
        rows = np.arange(len(waves))
        last, at = self.waves[:, -1], np.maximum(waves, self.waves[:, 0])
        high = np.clip((self.waves < at[:, None]).sum(axis=1), 1, self.waves.shape[1] - 1)
        below, above = self.waves[rows, high - 1], self.waves[rows, high]
        width = above - below
        part = (np.clip(at, below, above) - below) / np.where(width > 0.0, width, 1.0)
        first, second = below * self.means[rows, high - 1], above * self.means[rows, high]
        inside = first + part * (second - first)
        return np.asarray(np.where(at <= last, inside, last + (at - last) * self.late) / at)


def warmed(
    mean: Callable[[Times], Times],
    waves: Times,
    *,
    busiest: Times,
    busiest_in_log: Times,
    typical_seconds: Times,
    fixed_seconds: Times,
    late_fixed_seconds: Times,
) -> Times:
    """Time of the tasks of a stage relative to observed ones of the same size, by how new their
    code is: what the data changes on the log's own slots, times what other slots change there.

    A stage ends with its busiest slot, and that slot's time grows with its work, though ever less
    than in proportion. So the stage that has more slots never takes longer: a long task is no
    colder for having its slot to itself, since its own first part warmed it.

    Args:
        mean: `WarmUp.mean`.
        waves: tasks of the observed size for each slot of the log, cut as they would be there.
        busiest, busiest_in_log: the same for the busiest slot, here and of the log.
        typical_seconds, fixed_seconds, late_fixed_seconds: as in `beside_fixed`.
    """

    def relative(tasks: Times) -> Times:
        return beside_fixed(
            mean(tasks),
            typical_seconds=typical_seconds,
            fixed_seconds=fixed_seconds,
            late_fixed_seconds=late_fixed_seconds,
        )

    return relative(waves) * relative(busiest) / relative(busiest_in_log)


Cut = tuple[Scaled, Tasks]
"""A stage for some input, as it is cut on some slots."""


def work_of_slots(cut: Cut, lanes: int) -> tuple[float, float]:
    """Tasks of the observed size that each of so many slots runs of a stage: in the mean, and the
    busiest of them."""
    scaled, tasks = cut
    size = scaled.partitions * scaled.work / tasks.total if tasks.total > 0.0 else 0.0
    mean = max(1.0, scaled.partitions / lanes) * scaled.work
    return mean, tasks.expected_makespan(lanes) * size


def beside_fixed(
    mean: Times, *, typical_seconds: Times, fixed_seconds: Times, late_fixed_seconds: Times
) -> Times:
    """What a relative mean over new code does to tasks with more data than observed.

    Neither what new code costs nor the fixed part of a task grows with the data. The mean is that
    of a typical task, a multiple of the observed one; of that the fixed part is there once.

    Args:
        typical_seconds: the observed task's time, times the work.
        fixed_seconds: its fixed part, times the work beyond one.
        late_fixed_seconds: the same of tasks whose code is no longer new.
    """
    whole, rest = typical_seconds * mean - late_fixed_seconds, typical_seconds - fixed_seconds
    return (whole + NO_TIME) / (rest + NO_TIME)


NO_TIME = 1e-12
"""Keeps the ratio of two times that are none at one."""


def warm_up_of(
    stage: StageRun, slots: int, *, before: int = 0, starts_python: bool = False
) -> WarmUp | None:
    """The curve of a stage that ran on so many slots; None where its order shows none.

    Tasks of one wave start together, so parts shorter than a wave say nothing of order. What
    random order would show as well is taken out: a deviation from 1 is shrunk by how often its
    square exceeds its variance.

    Args:
        before: how many stages of the same code ran before.
        starts_python: whether it is the first of its run that computes in Python.
    """
    lanes, seen = max(1, slots // stage.task_cpus), _seen_tasks(stage)
    if len(stage.warm_up) != len(PARTS) - 1 or seen < 2 * lanes:
        return _expected(stage, lanes, before=before, starts_python=starts_python)
    counts = np.asarray(PARTS) * seen
    kept = counts >= lanes
    counts, means = counts[kept], np.asarray((*stage.warm_up, 1.0))[kept]
    spread = _relative_spread(stage.task_seconds)
    variance = spread**2 * np.maximum(0.0, 1.0 / counts - 1.0 / seen)
    above = means - 1.0
    shrunk = 1.0 + above * above**2 / np.maximum(above**2 + variance, 1e-12)
    falling = np.maximum.accumulate(np.maximum(shrunk, 1.0)[::-1])[::-1]
    half = float(falling[-2]) if len(falling) > 1 else 1.0
    if falling[0] <= 1.0:
        return None
    return WarmUp(counts / lanes, falling, max(FASTEST_LATE, 2.0 - half))


def _seen_tasks(stage: StageRun) -> int:
    """Tasks that the log saw end. Where it breaks off they are the first ones: the others come
    later, when the code is less new."""
    return min(stage.tasks, stage.task_seconds.count)


def _expected(stage: StageRun, lanes: int, *, before: int, starts_python: bool) -> WarmUp | None:
    """The prior of a stage that does not show its order: too few tasks, one wave, an old log.

    Python workers start once for each slot, as new code is loaded. How long they took the log may
    tell; where it does not, they take as long again as the code of the executor itself.
    """
    waves = max(1.0, _seen_tasks(stage) / lanes)
    own = (stage.task_seconds.mean or 0.0) * waves
    if own <= 0.0:
        return None
    told = stage.python_start_seconds
    started = min((told or 0.0) / min(lanes, stage.tasks), MOST_START * own)
    seconds = AGAIN_SECONDS / before if before else _new_code_seconds(stage, lanes)
    if starts_python and told is None:
        seconds *= 1.0 + PYTHON_START
    lost = started + min(EXCESS_SHARE * (own - started), seconds)
    return falling_to(1.0 - lost / own, waves)


def _new_code_seconds(stage: StageRun, lanes: int) -> float:
    """What a slot loses to code that is new to it: the usual time, and what the stage's own tasks
    tell of how long this machine loads code (`first_tasks.py`). Both leave about as much open in
    log time, so that the answer lies half way."""
    told = lost_to_new_code(stage, lanes)
    return EXCESS_SECONDS if told is None else math.sqrt(EXCESS_SECONDS * told)


def falling_to(late: float, waves: float) -> WarmUp:
    """The curve of a stage that ran so many tasks per slot and does not show its order, of which
    later tasks take so much of the mean: what new code costs is lost at the beginning."""
    at = waves * np.asarray((0.125, 0.25, 0.5, 1.0))
    return WarmUp(at, late + (1.0 - late) * np.minimum(waves / at, MOST_COLD), late)


EXCESS_SECONDS = 1.5
AGAIN_SECONDS = 0.2
EXCESS_SHARE = 0.8
MOST_COLD = 2.5
"""Prior: what a slot loses to new code in each stage, as the usual time, as the largest share of
its time in the stage, and as the most by which that share grows when it has less to do. The second
stage of the same code loses the second, the third half of that, and so on: what has run often is
compiled.
Stages of the bundled logs that show it lose about 0.5 to 4 s (by eye); chosen with them and
benchmarks/logs.py in view."""


PYTHON_START = 1.0
"""Prior: what the start of a slot's Python worker takes in the first stage that computes in Python,
over what new code takes: an interpreter and its modules in the place of the executor's classes."""


def _relative_spread(measure: Measure) -> float:
    """Standard deviation of a measure's quantiles over their mean, without the outermost tenths:
    the first tasks themselves shall not hide what they show."""
    values = np.asarray(measure.quantiles, dtype=float)
    cut = len(values) // 10
    inner = values[cut : len(values) - cut]
    mean = float(inner.mean())
    return float(inner.std()) / mean if mean > 0.0 else 0.0


class Slowdown(NamedTuple):
    """Time of tasks relative to observed ones of the same size.

    Args:
        contention: of a typical one: more or fewer run at once. A longer one outlives the others.
        warm: of every one, the longest too: code is less new to its slot, 1 where it is not.
    """

    contention: float
    warm: float


def combined(growth: float, warm_up: float) -> tuple[float, float]:
    """Logarithms of two expected changes of task time as those of `Slowdown`: of two that go the
    same way the larger alone (published growth holds cold code as well)."""
    if growth * warm_up <= 0.0:
        apart = warm_up < 0.0
        return (growth, warm_up) if apart else (growth + warm_up, 0.0)
    if abs(growth) >= abs(warm_up):
        return growth, 0.0
    return (0.0, warm_up) if warm_up < 0.0 else (warm_up, 0.0)


def combined_each(growth: FloatArray, warm_up: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n,) `combined`."""
    same, falls = growth * warm_up > 0.0, warm_up < 0.0
    growth = np.where(same & (np.abs(growth) < np.abs(warm_up)), 0.0, growth)
    warm_up = np.where(same & (growth != 0.0), 0.0, warm_up)
    return growth + np.where(falls, 0.0, warm_up), np.where(falls, warm_up, 0.0)
