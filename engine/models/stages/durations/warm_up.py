"""Warm-up of a stage: how task times fall in launch order while code is loaded and compiled.

The first tasks of a stage load and interpret code that later ones find compiled. So the mean task
time depends on the number of tasks that each slot runs: more data on the same slots lowers it, the
same data on more slots raises it. The mean over the first k tasks of each slot comes from the
stage's own launch order (`StageRun.warm_up`). Beyond the observed tasks, each takes as long as the
mean of the later half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.durations.executor_starts import MOST_START
from engine.models.stages.durations.first_tasks import lost_to_new_code
from engine.stage_run import Measure, StageRun

PARTS = (1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0)
"""Shares of a stage's tasks over which `StageRun.warm_up` is the mean; the last is all of them."""

FASTEST_LATE = 0.4
"""Least time of later tasks, as a share of the mean."""


@dataclass(frozen=True, eq=False)
class WarmUp:
    """The warm-up curve of a stage: mean time of the first k tasks of each slot, relative to the
    stage's mean task time.

    Args:
        waves: (p,) k, ascending; the last one is that of the log.
        means: (p,) relative mean of the first k tasks, descending to 1.
        late: relative time of tasks beyond the last k.
    """

    waves: FloatArray
    means: FloatArray
    late: float

    @cached_property
    def _cumulative_times(self) -> FloatArray:
        """(p,) total time of a slot's first k tasks, in mean task times."""
        return self.waves * self.means

    def mean(self, waves: FloatArray) -> FloatArray:
        """(n,) relative mean over the first (n,) tasks of each slot, counted in tasks of the
        observed size. The total time of a slot is interpolated linearly, so it never falls with
        more tasks."""
        last, waves = self.waves[-1], np.maximum(waves, self.waves[0])
        interpolated = np.interp(waves, self.waves, self._cumulative_times)
        beyond = last + (waves - last) * self.late
        return np.asarray(np.where(waves <= last, interpolated, beyond) / waves)


@dataclass(frozen=True, eq=False)
class WarmUps:
    """The warm-up curves of s stages: (s, w) waves, (s, w) means and (s,) late times; all 1 for a
    stage without a curve. Shorter curves repeat their first point."""

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

    def take(self, rows: IntArray) -> WarmUps:
        """Those of some stages."""
        return WarmUps(self.waves[rows], self.means[rows], self.late[rows])

    def mean(self, waves: FloatArray) -> FloatArray:
        """(..., s) `WarmUp.mean` of (..., s) waves."""
        rows = np.arange(len(self.late))
        last, waves = self.waves[:, -1], np.maximum(waves, self.waves[:, 0])
        upper = (self.waves < waves[..., None]).sum(axis=-1)
        upper = np.minimum(np.maximum(upper, 1), self.waves.shape[1] - 1)
        below, above = self.waves[rows, upper - 1], self.waves[rows, upper]
        width, within = above - below, np.minimum(np.maximum(waves, below), above)
        fraction = (within - below) / np.where(width > 0.0, width, 1.0)
        time_below = below * self.means[rows, upper - 1]
        time_above = above * self.means[rows, upper]
        interpolated = time_below + fraction * (time_above - time_below)
        beyond = last + (waves - last) * self.late
        return np.asarray(np.where(waves <= last, interpolated, beyond) / waves)


def warmed(
    mean: Callable[[FloatArray], FloatArray],
    waves: FloatArray,
    *,
    busiest: FloatArray,
    busiest_in_log: FloatArray,
    work: FloatArray,
    mean_seconds: FloatArray | float,
    fixed_seconds: FloatArray | float,
    late_fixed_seconds: FloatArray | float,
) -> FloatArray:
    """(n,) factor on task times of a stage due to warm-up, relative to observed tasks of the same
    size: the effect of the data on the log's slots, times the effect of the number of slots.

    A stage ends with its busiest slot, whose time grows with its work, though less than in
    proportion. So a stage never takes longer on more slots: a long task is no colder for having its
    slot to itself, since its own first part warmed the slot.

    Args:
        mean: `WarmUp.mean`.
        waves: (n,) mean number of tasks of the observed size per slot of the log, at the number of
            partitions that the stage has there.
        busiest, busiest_in_log: (n,) the same for the busiest slot, on this cluster and in the log.
        work, mean_seconds, fixed_seconds, late_fixed_seconds: as in `warm_up_factor`.
    """
    by_data, by_slots, by_slots_of_log = warm_up_factor(
        mean(np.stack((waves, busiest, busiest_in_log))),
        work=work,
        mean_seconds=mean_seconds,
        fixed_seconds=fixed_seconds,
        late_fixed_seconds=late_fixed_seconds,
    )
    return np.asarray(by_data * by_slots / by_slots_of_log)


def warm_up_factor(
    mean: FloatArray,
    *,
    work: FloatArray,
    mean_seconds: FloatArray | float,
    fixed_seconds: FloatArray | float,
    late_fixed_seconds: FloatArray | float,
) -> FloatArray:
    """(..., n) warm-up factor of tasks with more or less data than observed.

    Neither the cost of new code nor the fixed part of a task follows the data. The factor is the
    time of a task that meets new code (docs/models/sparkplan.md, equation 3, over the tasks of a
    slot) over that of one of the same size as the log had it.

    Args:
        mean: (..., n) relative mean by the warm-up curve.
        work: (n,) work of a task relative to an observed one.
        mean_seconds: time of an observed task; (n,) or the same for all, as the following.
        fixed_seconds: its fixed part.
        late_fixed_seconds: the fixed part of a task whose code is warm.
    """
    seconds, less = mean_seconds * work, 1.0 - work
    with_new_code = seconds * mean + late_fixed_seconds * less
    return (with_new_code + TINY_SECONDS) / (seconds + fixed_seconds * less + TINY_SECONDS)


TINY_SECONDS = 1e-12
"""Makes the ratio of two times of 0 one."""


def warm_up_of(
    stage: StageRun, slots: int, *, ran_before: bool = False, starts_python: bool = False
) -> WarmUp | None:
    """The warm-up curve of a stage that ran on `slots`; None if its launch order shows none.

    Tasks of one wave start together, so parts shorter than a wave are dropped. A deviation d of the
    means from 1 is shrunk towards 1, by d² / (d² + variance), where the variance is what a random
    order would give. Stages that are too short to show it get a prior (`_prior_curve`).

    Args:
        ran_before: whether a stage of the same code ran before: it is then taken to be compiled.
        starts_python: whether it is the first stage of its run that computes in Python.
    """
    lanes, ended = max(1, slots // stage.task_cpus), _ended_tasks(stage)
    if len(stage.warm_up) != len(PARTS) - 1 or ended < 2 * lanes:
        return _prior_curve(stage, lanes, ran_before=ran_before, starts_python=starts_python)
    counts = np.asarray(PARTS) * ended
    whole_waves = counts >= lanes
    counts, means = counts[whole_waves], np.asarray((*stage.warm_up, 1.0))[whole_waves]
    variation = _coefficient_of_variation(stage.task_seconds)
    variance = variation**2 * np.maximum(0.0, 1.0 / counts - 1.0 / ended)
    deviations = means - 1.0
    shrunk = 1.0 + deviations * deviations**2 / np.maximum(deviations**2 + variance, 1e-12)
    descending = np.maximum.accumulate(np.maximum(shrunk, 1.0)[::-1])[::-1]
    if descending[0] <= 1.0:
        return None
    earlier_half = float(descending[-2]) if len(descending) > 1 else 1.0
    return WarmUp(counts / lanes, descending, max(FASTEST_LATE, 2.0 - earlier_half))


def _ended_tasks(stage: StageRun) -> int:
    """Number of tasks that the log saw end. If it breaks off, these are the first ones; the others
    run later, on warmer code."""
    return min(stage.tasks, stage.task_seconds.count)


def _prior_curve(
    stage: StageRun, lanes: int, *, ran_before: bool, starts_python: bool
) -> WarmUp | None:
    """The prior curve of a stage whose launch order does not show the warm-up: too few tasks, one
    wave, an old log.

    Python workers start once per slot, as code is loaded. The log may tell how long that took; if
    not, it is taken to take as long again as loading the executor's own code.
    """
    waves = max(1.0, _ended_tasks(stage) / lanes)
    slot_seconds = (stage.task_seconds.mean or 0.0) * waves
    if slot_seconds <= 0.0:
        return None
    reported = stage.python_start_seconds
    python_seconds = min((reported or 0.0) / min(lanes, stage.tasks), MOST_START * slot_seconds)
    code_seconds = 0.0 if ran_before else _new_code_seconds(stage, lanes)
    if starts_python and reported is None:
        code_seconds *= 1.0 + PYTHON_START
    lost = python_seconds + min(EXCESS_SHARE * (slot_seconds - python_seconds), code_seconds)
    return assumed_warm_up(1.0 - lost / slot_seconds, waves) if lost else None


def _new_code_seconds(stage: StageRun, lanes: int) -> float:
    """Prior seconds that a slot loses to new code: the geometric mean of the usual time and of what
    the stage's own tasks suggest for this machine (`first_tasks.py`), since both are about as
    uncertain in log time."""
    inferred = lost_to_new_code(stage, lanes)
    return EXCESS_SECONDS if inferred is None else math.sqrt(EXCESS_SECONDS * inferred)


def assumed_warm_up(late: float, waves: float) -> WarmUp:
    """The curve of a stage of `waves` tasks per slot whose later tasks take the share `late` of the
    mean: the cost of new code is spent at the beginning."""
    points = waves * np.asarray((0.125, 0.25, 0.5, 1.0))
    return WarmUp(points, late + (1.0 - late) * np.minimum(waves / points, MOST_COLD), late)


EXCESS_SECONDS = 1.5
EXCESS_SHARE = 0.8
MOST_COLD = 2.5
"""Prior of the time that a slot loses to new code in a stage. `EXCESS_SECONDS` is the usual time
for code that runs first; later stages of the same code lose none. `EXCESS_SHARE` is the largest
share of the slot's time in the stage, `MOST_COLD` the most by which that share grows if the slot
has less to do. Stages of the bundled logs that show it lose about 0.5 to 4 s (by eye); chosen with
them and benchmarks/logs.py in view."""

PYTHON_START = 1.0
"""Prior of the start of a slot's Python worker in the first stage that computes in Python, over the
time of the executor's own new code: an interpreter and its modules instead of classes."""


def _coefficient_of_variation(measure: Measure) -> float:
    """Coefficient of variation of a measure's quantiles without the outermost tenths, so that the
    slow first tasks do not inflate the variance that they are tested against."""
    values = np.asarray(measure.quantiles, dtype=float)
    cut = len(values) // 10
    inner = values[cut : len(values) - cut]
    mean = float(inner.mean())
    return float(inner.std()) / mean if mean > 0.0 else 0.0


class Slowdown(NamedTuple):
    """Factors on the time of tasks relative to observed ones of the same size.

    Args:
        contention: due to more or fewer concurrent tasks, for a typical task. A longer task
            outlives the others and then runs alone.
        warm: due to warmer code, for every task including the longest; 1 if code is not warmer.
    """

    contention: float
    warm: float


def combined(growth: FloatArray, warm_up: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n,) logarithms of the two factors of `Slowdown` from (n,) those of contention growth and
    warm-up. If both have the same sign, only the larger counts: published growth rates include cold
    code."""
    same_sign, warmer = growth * warm_up > 0.0, warm_up < 0.0
    growth = np.where(same_sign & (np.abs(growth) < np.abs(warm_up)), 0.0, growth)
    warm_up = np.where(same_sign & (growth != 0.0), 0.0, warm_up)
    return growth + np.where(warmer, 0.0, warm_up), np.where(warmer, warm_up, 0.0)
