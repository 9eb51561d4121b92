"""Task times of one stage: from the stored quantiles to tasks for any input, speed or partitioning.

A profile stores no task arrays, so times are drawn from the stage's quantile function at evenly
spaced probabilities, in an order that is random once and for all: the same profile always gives the
same tasks. With as many tasks as stored values these are the observed times themselves.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from engine.forecast import FloatArray
from engine.models.warm_up import WarmUp, warm_up_of
from engine.profile import Run, StageRun
from engine.units import MIB
from engine.waves import DrawnTasks, Tasks, probabilities

SPLIT_BYTES = 128.0 * MIB
"""Default size of an input partition (`spark.sql.files.maxPartitionBytes`, HDFS blocks)."""

SHUFFLE_PARTITIONS = 200
"""Default of `spark.sql.shuffle.partitions`."""

ADAPTIVE_SINCE = (3, 2)
"""First Spark version that re-plans (and merges shuffle partitions) unless told otherwise."""

SET_UP_SECONDS = 0.2
SET_UP_SHARE = 0.5
"""Prior: so much of a task's run time, or this share of it if that is less, goes to readers,
writers, connections and code that is not compiled yet, however much data it has."""

LARGEST_TASKS = 2_000_000
"""No stage is given more tasks than this: Spark's own scheduler does not bear more."""


LONGEST_FIRST = -1.0
"""Launch order from the longest to the shortest task: where code is new to the executors, the
first wave of a stage is the slow one."""


class Growth(Enum):
    """How a stage grows with the input."""

    TASKS = "tasks"
    """Partitions come from the input: more of the same size."""
    MERGED = "merged"
    """Shuffle partitions merged to a size: more of them, up to the configured number."""
    WORK = "work"
    """A fixed number of partitions: each grows."""
    NONE = "none"
    """Reads nothing: stays as it is."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A stage for another input: its number of tasks, and work per task relative to the observed
    (overhead apart)."""

    tasks: int
    work: float


@dataclass(frozen=True, slots=True)
class StageLaw:
    """What several logs tell of a stage beyond its prior (`stage_laws.py`).

    Args:
        work: below 0 this share of its work stays whatever the input; above 0 work grows with
            the input to the power of 1 + this.
        partitions: power of the input with which its partitions grow; None for the rule of its
            `Growth`.
        slots: log of task time per doubling of tasks at once, beyond the prior's.
    """

    work: float = 0.0
    partitions: float | None = None
    slots: float = 0.0

    def total(self, ratio: float, base: float) -> float:
        """Work at `ratio` times the input where the prior says `base`, both relative."""
        if self.work >= 0.0:
            return base * math.exp(self.work * math.log(ratio))
        return -self.work + (1.0 + self.work) * base


PRIOR_LAW = StageLaw()


@dataclass(frozen=True, eq=False)
class StageShape:
    """How the tasks of one observed stage behave.

    Args:
        warm: sorted times of tasks on slots that ran tasks before, in seconds.
        mean_seconds: their mean.
        cold: the same for first tasks on a slot, empty where none was seen.
        overhead_seconds: part of a task's time that does not grow with its data.
        partitions: configured number of shuffle partitions.
        split_bytes: largest input partition.
        warm_up: how its task times fall in launch order; None where that is not seen.
        law: what other logs tell of it.
        follows: the stage that reads input whose number of partitions this one's shuffle takes
        over.
    """

    stage: StageRun
    growth: Growth
    warm: FloatArray
    mean_seconds: float
    cold: FloatArray
    overhead_seconds: float
    partitions: int
    split_bytes: float
    warm_up: WarmUp | None = None
    law: StageLaw = PRIOR_LAW
    follows: StageShape | None = None

    def scaled(self, ratio: float, shuffle_partitions: int | None) -> Scaled:
        """The stage at `ratio` times the input, with another number of shuffle partitions or None.

        Work is conserved: tasks x work grows with the ratio, whatever the number of tasks.
        """
        n = self.stage.tasks
        total = self.law.total(ratio, 1.0 if self.growth is Growth.NONE else ratio)
        tasks = self._scaled_tasks(ratio, shuffle_partitions)
        tasks = min(tasks, LARGEST_TASKS)
        return Scaled(tasks, total * n / tasks)

    def _scaled_tasks(self, ratio: float, shuffle_partitions: int | None) -> int:
        n = self.stage.tasks
        if shuffle_partitions and self.growth is not Growth.MERGED and self._takes_partitions():
            return shuffle_partitions
        learnt, tasks = self.law.partitions, n
        if learnt is not None:
            tasks = max(1, round(n * ratio**learnt))
        elif self.follows is not None:
            tasks = self.follows._scaled_tasks(ratio, None)
        elif self.growth is Growth.TASKS:
            tasks = self._input_tasks(ratio)
        elif self.growth is Growth.MERGED:
            tasks = max(1, round(n * ratio))
        if self.growth is Growth.MERGED:
            tasks = min(tasks, max(shuffle_partitions or self.partitions, 1))
        return tasks

    def _takes_partitions(self) -> bool:
        read = self.stage.shuffle_read_bytes
        return bool(read and read.total and self.stage.tasks > 1)

    def _input_tasks(self, ratio: float) -> int:
        """Input partitions are filled to the split size before there are more of them: a small
        input is cut in as many as the cluster has cores, or in two."""
        n = self.stage.tasks
        read = self.stage.input_bytes
        if ratio <= 1.0 or read is None:
            return max(1, round(n * ratio))
        largest = max(self.split_bytes, read.maximum or 0.0)
        if read.total / n > largest / 2.0 or n > FEW_SPLITS:
            return max(1, round(n * ratio))
        return max(n, math.ceil(read.total * ratio / largest))

    def tasks(self, scaled: Scaled, *, dispatch_seconds: float, rotation: float) -> Tasks:
        """The stage's tasks in launch order.

        Args:
            dispatch_seconds: time a slot stands idle before each task.
            rotation: share of the random order by which it is turned, or `LONGEST_FIRST`.
        """
        n = scaled.tasks
        if n <= PLACED_TASKS:
            drawn_tasks = self._drawn(scaled, dispatch_seconds, rotation)
            return Tasks(*drawn_tasks, longest_first=rotation == LONGEST_FIRST)
        points, counts = drawn_outline(self.warm, n, self.mean_seconds)
        return DrawnTasks(
            self._stretched(points, scaled.work) + dispatch_seconds,
            counts,
            lambda: self._drawn(scaled, dispatch_seconds, rotation),
            cold_excess_seconds=self.cold_excess,
            longest_first=rotation == LONGEST_FIRST,
        )

    def _drawn(
        self, scaled: Scaled, dispatch_seconds: float, rotation: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Times of warm and, where there are any, of first tasks in launch order."""
        n = scaled.tasks
        if rotation == LONGEST_FIRST:
            order = np.arange(n)[::-1]
        else:
            order = np.random.default_rng((self.stage.stage_id, n)).permutation(n)
            order = np.roll(order, round(rotation * n))
        seconds = drawn(self.warm, n, self.mean_seconds)[order]
        cold = None
        if len(self.cold):
            cold = drawn(self.cold, n, float(self.cold.mean()))[order]
            excess = np.minimum(self.cold_excess, (1.0 - LEAST_WARM) * cold)
            cold = self._stretched(cold - excess, scaled.work) + excess + dispatch_seconds
        return self._stretched(seconds, scaled.work) + dispatch_seconds, cold

    @property
    def fixed_seconds(self) -> float:
        """Part of a typical task's time that does not grow with its data."""
        ran = max(0.0, self.mean_seconds - self.overhead_seconds)
        return self.mean_seconds - ran + min(SET_UP_SHARE * ran, SET_UP_SECONDS)

    @property
    def cold_excess(self) -> float:
        """Seconds by which a first task on a slot takes longer, whatever its data."""
        return max(0.0, float(self.cold.mean()) - self.mean_seconds) if len(self.cold) else 0.0

    def _stretched(self, seconds: FloatArray, work: float) -> FloatArray:
        outside = np.minimum(seconds, self.overhead_seconds)
        ran = seconds - outside
        fixed = outside + np.minimum(SET_UP_SHARE * ran, SET_UP_SECONDS)
        return np.asarray(fixed + (seconds - fixed) * work)


FEW_SPLITS = 64
"""More input partitions than this are taken to be files or blocks, whatever their size: no
small input is cut into so many."""


def drawn(values: FloatArray, n: int, mean: float) -> FloatArray:
    """(n,) times in ascending order from sorted quantile points, with the given mean.

    Between 201 points the tail is coarse: all but the longest are scaled so that the sum is right.
    """
    if len(values) == n:
        return values
    if len(values) == 1:
        return np.full(n, values[0])
    times = quantiles_at(values, (np.arange(n) + 0.5) / n)
    if n > len(values):
        times[-1] = values[-1]
        rest = float(times[:-1].sum())
        factor = (mean * n - times[-1]) / rest if rest > 0.0 else 1.0
        times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    return np.asarray(times)


PLACED_TASKS = 4000
"""Tasks of larger stages are only drawn when they are placed one by one."""


def drawn_outline(values: FloatArray, n: int, mean: float) -> tuple[FloatArray, FloatArray]:
    """(p,) a few of the n times that `drawn` would give, and how many tasks each stands for."""
    at = probabilities(n)
    edges = np.concatenate(([0.0], (at[1:] + at[:-1]) / 2.0, [1.0]))
    counts = np.diff(edges) * n
    times = quantiles_at(values, at)
    times[-1] = values[-1]
    rest = float(times[:-1] @ counts[:-1])
    factor = (mean * n - times[-1] * counts[-1]) / rest if rest > 0.0 else 1.0
    times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    return times, counts


def quantiles_at(values: FloatArray, at: FloatArray) -> FloatArray:
    """(n,) quantiles at ascending probabilities `at` between stored ones: straight lines, and in
    the last gap an exponential tail that reaches the longest at the last probability. A straight
    line there would make as many tasks nearly as long as the longest as nearly as short as the
    gap's start.
    """
    found = np.interp(at, np.linspace(0.0, 1.0, len(values)), values)
    last = 1.0 - 1.0 / (len(values) - 1)
    tail = at > last
    if tail.sum() > 1:
        depth = np.log((1.0 - last) / (1.0 - at[tail]))
        found[tail] = values[-2] + (values[-1] - values[-2]) * depth / depth[-1]
    return np.asarray(found)


def shapes_of(run: Run, slots: int) -> list[StageShape]:
    """The stages of a run on so many slots, in its order."""
    measured = {s.tasks for s in run.stages if _external_bytes(s) > 0.0}
    knows_input = bool(measured)
    shapes = [_shape(run, stage, measured, slots, knows_input=knows_input) for stage in run.stages]
    excess = _cold_excess(shapes)
    return _with_followers(run, [_with_cold(shape, excess) for shape in shapes])


def _with_followers(run: Run, shapes: list[StageShape]) -> list[StageShape]:
    """Shuffles of RDDs that name no number of partitions take the largest of their inputs', unless
    `spark.default.parallelism` says one (Spark's default partitioner)."""
    if "spark.default.parallelism" in run.config:
        return shapes
    origin: dict[int, StageShape] = {}
    for place, shape in enumerate(shapes):
        stage = shape.stage
        if shape.growth is Growth.TASKS:
            origin[stage.stage_id] = shape
        above = [origin[parent] for parent in stage.parents if parent in origin]
        if shape.growth is not Growth.WORK or stage.sql_execution_id is not None or not above:
            continue
        largest = max(above, key=lambda parent: parent.stage.tasks)
        if largest.stage.tasks == stage.tasks > 1:
            shapes[place] = replace(shape, follows=largest)
            origin[stage.stage_id] = largest
    return shapes


def _shape(
    run: Run, stage: StageRun, measured: set[int], slots: int, *, knows_input: bool
) -> StageShape:
    warm, mean, cold = _warm_and_cold(stage)
    overhead = stage.overhead_seconds.mean if stage.overhead_seconds else None
    return StageShape(
        stage=stage,
        growth=_growth(run, stage, measured, knows_input=knows_input),
        warm=warm,
        mean_seconds=mean,
        cold=cold,
        overhead_seconds=overhead or 0.0,
        partitions=_whole(run, "spark.sql.shuffle.partitions") or SHUFFLE_PARTITIONS,
        split_bytes=_whole(run, "spark.sql.files.maxPartitionBytes") or SPLIT_BYTES,
        warm_up=warm_up_of(stage, slots),
    )


def _growth(run: Run, stage: StageRun, measured: set[int], *, knows_input: bool) -> Growth:
    """Partitions follow the input where it is read from outside, and where it is read from a cache
    that has as many partitions as an input; merged partitions follow it up to their configured
    number; other data keeps its number of partitions."""
    if _external_bytes(stage) > 0.0:
        return Growth.TASKS
    shuffled = stage.shuffle_read_bytes is not None and stage.shuffle_read_bytes.total > 0.0
    if shuffled:
        return Growth.MERGED if _merged(run, stage) else Growth.WORK
    if stage.input_bytes is not None and stage.input_bytes.total > 0.0:
        return Growth.TASKS if stage.tasks in measured else Growth.WORK
    return Growth.NONE if knows_input else Growth.WORK


def _external_bytes(stage: StageRun) -> float:
    if stage.input_bytes is None:
        return 0.0
    return max(0.0, stage.input_bytes.total - (stage.cached_input_bytes or 0.0))


def _merged(run: Run, stage: StageRun) -> bool:
    """Whether adaptive execution gave the stage fewer partitions than configured."""
    if stage.sql_execution_id is None or stage.tasks <= 1:
        return False
    partitions = _whole(run, "spark.sql.shuffle.partitions") or SHUFFLE_PARTITIONS
    said = run.config.get("spark.sql.adaptive.enabled")
    adaptive = said.lower() == "true" if said else _version(run) >= ADAPTIVE_SINCE
    return adaptive and stage.tasks < partitions


def _version(run: Run) -> tuple[int, ...]:
    parts = (run.spark_version or "").split(".")[:2]
    return tuple(int(part) for part in parts) if all(p.isdigit() for p in parts) else (0,)


def _whole(run: Run, key: str) -> int | None:
    """A configured number (of bytes, with or without a unit; of partitions)."""
    text = run.config.get(key, "").strip().lower().removesuffix("b")
    factor = {"k": 1024, "m": 1024**2, "g": 1024**3}.get(text[-1:], 1)
    digits = text.rstrip("kmg")
    return int(digits) * factor if digits.isascii() and digits.isdigit() and digits != "0" else None


def _warm_and_cold(stage: StageRun) -> tuple[FloatArray, float, FloatArray]:
    """Times of warm tasks, their mean, and times of first tasks; none of the latter where all
    tasks were first tasks, since then nothing tells them apart."""
    every, first = stage.task_seconds, stage.first_wave_seconds
    values = np.asarray(every.quantiles, dtype=float)
    mean = every.mean or 0.0
    if first is None or not 0 < first.count <= every.count - MINIMUM_WARM:
        return values, mean, np.empty(0)
    cold = drawn(np.asarray(first.quantiles, dtype=float), first.count, first.mean or 0.0)
    warm = _without(drawn(values, every.count, mean), cold)
    return warm, (every.total - first.total) / (every.count - first.count), cold


MINIMUM_WARM = 3
"""Fewer warm tasks say nothing about the difference to cold ones."""


def _without(values: FloatArray, taken: FloatArray) -> FloatArray:
    """Sorted values less, for each one taken, the nearest that is still there."""
    left = values.tolist()
    for value in np.sort(taken)[::-1].tolist():
        place = bisect_left(left, value)
        near = [p for p in (place - 1, place) if 0 <= p < len(left)]
        left.pop(min(near, key=lambda p: abs(left[p] - value)))
    return np.asarray(left)


def _cold_excess(shapes: list[StageShape]) -> float:
    """Seconds by which a first task takes longer, over the stages that show both kinds."""
    pairs = [(len(s.cold), float(s.cold.sum()), s.mean_seconds) for s in shapes if len(s.cold)]
    count = sum(n for n, _, _ in pairs)
    if not count:
        return 0.0
    return max(0.0, sum(total - n * mean for n, total, mean in pairs) / count)


def _with_cold(shape: StageShape, excess: float) -> StageShape:
    """Stages that saw no first task would, on more slots: their tasks plus the excess. Where all
    tasks were first tasks, the excess is in their times already."""
    if len(shape.cold) or excess == 0.0:
        return shape
    stage = shape.stage
    first = stage.first_wave_seconds
    if first is not None and first.count >= stage.task_seconds.count:
        least = np.minimum(shape.warm, LEAST_WARM * shape.mean_seconds)
        warm = np.maximum(shape.warm - excess, least)
        return replace(shape, warm=warm, mean_seconds=float(warm.mean()), cold=shape.warm)
    return replace(shape, cold=shape.warm + excess)


LEAST_WARM = 0.2
"""A warm task is not taken to need less than this share of a first one."""
