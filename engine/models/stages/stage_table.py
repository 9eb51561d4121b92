"""The properties of a log's stages that do not depend on the input, as arrays over the stages.

In: stage models. Out: (s,) arrays. Explained in
docs/models/sparkplan_rules_replay.md#many-stages-at-once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.stages.durations.deferred_tasks import DeferredTasks
from engine.models.stages.durations.launches import LONGEST_FIRST
from engine.models.stages.durations.quantile_times import are_subsampled, longest_share
from engine.models.stages.durations.task_times import PLACED_TASKS, StageModel
from engine.models.stages.durations.warm_up import WarmUps
from engine.models.stages.paired_inputs import product_work_growth
from engine.models.stages.partitioning.partitions import (
    LARGEST_TASKS,
    Growth,
    ScaledStage,
    whole_tasks,
)
from engine.models.stages.set_up import SET_UP_SECONDS, scaled_seconds
from engine.models.stages.stage_law import superlinear_log_growth
from engine.scheduling.makespans import probabilities
from engine.scheduling.waves import Tasks

OUTLINE_PROBABILITIES = probabilities(4 * LARGEST_TASKS)[:-1]
"""Probabilities of the outlines of any number of tasks: that of a smaller number is a prefix."""


@dataclass(frozen=True, eq=False)
class ScaledBatch:
    """`ScaledStage` of m stages as (m,) arrays: tasks, work of each, size of the last partition."""

    tasks: FloatArray
    work: FloatArray
    last: FloatArray

    @property
    def partitions(self) -> FloatArray:
        """(m,) `Scaled.partitions`."""
        return self.tasks - 1.0 + self.last

    def each(self) -> list[ScaledStage]:
        """One `ScaledStage` for each stage."""
        columns = (self.tasks.astype(np.int64), self.work, self.last)
        return [ScaledStage(*values) for values in zip(*(c.tolist() for c in columns), strict=True)]

    def take(self, rows: IntArray) -> ScaledBatch:
        """Those of a subset of rows."""
        return ScaledBatch(self.tasks[rows], self.work[rows], self.last[rows])


def _column(value: Callable[[StageModel], float]) -> cached_property[FloatArray]:
    """(s,) a number of each stage of a table."""
    return cached_property(lambda table: np.asarray([value(model) for model in table.models]))


@dataclass(frozen=True, eq=False)
class StageTable:
    """The properties of s stages that do not depend on the input.

    Args:
        dispatch_seconds, rotation: (s,) as in `StageModel.tasks`.
        contention_growth: (s,) prior growth of log task time per doubling of concurrent tasks.
    """

    models: tuple[StageModel, ...]
    dispatch_seconds: FloatArray
    rotation: FloatArray
    contention_growth: FloatArray

    mean_seconds = _column(lambda model: model.mean_seconds)
    """(s,) time of a typical warm task."""

    cpus = _column(lambda model: float(model.stage.task_cpus))
    """(s,) slots of one task."""

    ran_on = _column(lambda model: float(model.ran_on))
    """(s,) slots that each had in the log."""

    observed = _column(lambda model: float(model.stage.tasks))
    """(s,) tasks in the log."""

    law_slots = _column(lambda model: model.law.slots)
    """(s,) `StageLaw.slots`: fitted growth of log task time per doubling of concurrent tasks."""

    overhead = _column(lambda model: model.overhead_seconds)
    """(s,) `StageModel.overhead_seconds`."""

    set_up_share = _column(lambda model: model.set_up_share)
    """(s,) `StageModel.set_up_share`."""

    _law_work = _column(lambda model: model.law.work)

    @cached_property
    def hot(self) -> BoolArray:
        """(s,) whether the stage has hot partitions."""
        return np.asarray([model.hot is not None for model in self.models])

    @cached_property
    def warm_ups(self) -> WarmUps:
        """The warm-up curves."""
        return WarmUps.of([model.warm_up for model in self.models])

    @cached_property
    def longest_first(self) -> FloatArray:
        """(s,) 1 if tasks are launched from the longest to the shortest."""
        return np.asarray(self.rotation == LONGEST_FIRST, dtype=float)

    @cached_property
    def _law_task_power(self) -> FloatArray:
        powers = [model.law.task_power for model in self.models]
        return np.asarray([math.nan if power is None else power for power in powers])

    @cached_property
    def _grows(self) -> FloatArray:
        return np.asarray([model.growth is not Growth.NONE for model in self.models])

    @cached_property
    def _not_in_proportion(self) -> list[int]:
        return [index for index, model in enumerate(self.models) if not model.in_proportion]

    def prior_work_growth(self, ratio: float, cores: float | None = None) -> FloatArray:
        """(s,) `StageModel.prior_work_growth` in the observed number of partitions."""
        result = np.where(self._grows, ratio, 1.0)
        for index in self._not_in_proportion:
            result[index] = self.models[index].prior_work_growth(ratio, 1.0, cores)
        return result

    @cached_property
    def _pairs(self) -> FloatArray:
        """(3, s) whether the stage is a product, its `pairs_share` and its `pairs_power`."""
        rows = [(model.pairs, model.pairs_share, model.pairs_power) for model in self.models]
        return np.asarray(rows, dtype=float).T

    @cached_property
    def fixed_seconds(self) -> FloatArray:
        """(2, s) `StageModel.fixed_seconds` and `late_fixed_seconds`."""
        pairs = [(model.fixed_seconds, model.late_fixed_seconds) for model in self.models]
        return np.asarray(pairs).T

    def typical_seconds(self, stages: IntArray, work: FloatArray) -> FloatArray:
        """(m,) `StageModel.typical_seconds` of m stages whose tasks have (m,) `work`."""
        fixed, mean = self.fixed_seconds[0, stages], self.mean_seconds[stages]
        return np.asarray(fixed + (mean - fixed) * work)

    @cached_property
    def points(self) -> IntArray:
        """(s,) number of stored quantiles."""
        return np.asarray([len(model.warm) for model in self.models])

    @cached_property
    def sampled(self) -> BoolArray:
        """(s,) whether the quantiles stand for more tasks than there are of them."""
        models = self.models
        return np.asarray([are_subsampled(one.warm, one.mean_seconds) for one in models])

    @cached_property
    def values(self) -> FloatArray:
        """(s, q) the quantiles, at least two; shorter rows repeat their last one."""
        values = np.empty((len(self.models), max(2, int(self.points.max()))))
        for row, model in enumerate(self.models):
            values[row, : len(model.warm)] = model.warm
            values[row, len(model.warm) :] = model.warm[-1]
        return values

    @cached_property
    def _sums(self) -> FloatArray:
        """(s, q + 1) sums of the quantiles before each."""
        before = np.zeros((len(self.models), 1))
        return np.concatenate((before, np.cumsum(self.values, axis=1)), axis=1)

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """(s,) the longest time and the quantile before it, between which the tail lies."""
        rows = np.arange(len(self.models))
        return self.values[rows, self.points - 1], self.values[rows, self.points - 2]

    @cached_property
    def last_gap(self) -> FloatArray:
        """(s,) width of the last gap between quantiles, as a probability."""
        return 1.0 / np.maximum(1, self.points - 1)

    def in_partitions(
        self, stages: IntArray, ratio: float, wanted: FloatArray, cores: float | None = None
    ) -> ScaledBatch:
        """`StageModel.in_partitions` of m stages, in (m,) partitions."""
        law_work = self._law_work[stages]
        tasks, partitions, last = whole_tasks(wanted)
        prior = self.prior_work_growth(ratio, cores)[stages]
        is_product, share, power = self._pairs[:, stages]
        task_growth = partitions / self.observed[stages]
        if is_product.any():
            product = product_work_growth(ratio, task_growth, share=share, power=power)
            prior = np.where(is_product > 0.0, product, prior)
        task_power = self._law_task_power[stages]
        log_growth = superlinear_log_growth(ratio, task_growth, task_power)
        superlinear = prior * np.exp(np.maximum(law_work, 0.0) * log_growth)
        growth = np.where(law_work >= 0.0, superlinear, -law_work + (1.0 + law_work) * prior)
        return ScaledBatch(tasks, growth * self.observed[stages] / partitions, last)

    def tasks_of(self, index: int, scaled: ScaledStage) -> Tasks:
        """The tasks of the stage at index `index`."""
        return self.models[index].tasks(
            scaled,
            dispatch_seconds=float(self.dispatch_seconds[index]),
            rotation=float(self.rotation[index]),
        )

    def deferred_tasks_of(
        self, index: int, scaled: ScaledStage, outlined: tuple[FloatArray, FloatArray], total: float
    ) -> Tasks:
        """`tasks_of` with a known outline and sum of all times, computed when first placed."""
        model, excess = self.models[index], None
        if (scaled.tasks > PLACED_TASKS and model.hot is None) or not len(model.cold):
            excess = model.cold_excess
        idle_seconds, rotation = float(self.dispatch_seconds[index]), float(self.rotation[index])
        warm, cold = model.launches(scaled, idle_seconds, rotation)
        return DeferredTasks(
            scaled.tasks,
            outlined,
            total,
            warm=warm,
            cold=cold,
            longest_first=rotation == LONGEST_FIRST,
            cold_excess_seconds=excess,
        )

    @cached_property
    def base_times(self) -> FloatArray:
        """(s, p) times at the probabilities `OUTLINE_PROBABILITIES`, interpolated linearly between
        quantiles."""
        at = OUTLINE_PROBABILITIES * (self.points[:, None] - 1.0)
        return self.between(np.arange(len(self.models)), at)

    @cached_property
    def base_depth(self) -> FloatArray:
        """(s, p) depth of `OUTLINE_PROBABILITIES` in the tail: log of the last gap over the
        probability beyond."""
        return np.log(self.last_gap[:, None]) - np.log(1.0 - OUTLINE_PROBABILITIES)

    def ends_at(self, stages: IntArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, 1) expected longest time of (m, 1) tasks, taken to be at least as many as quantiles,
        and the quantile before the longest."""
        longest, before = (end[stages][:, None] for end in self.ends)
        observed, gap = self.observed[stages][:, None], self.last_gap[stages][:, None]
        share = longest_share(np.maximum(n, self.points[stages][:, None]), observed, gap)
        return np.where(observed > n, before + (longest - before) * share, longest), before

    def values_of(self, stages: IntArray, longest: FloatArray) -> FloatArray:
        """(m, q) the quantiles, the longest replaced by (m, 1) others."""
        last = np.arange(self.values.shape[1]) >= np.maximum(self.points[stages], 2)[:, None] - 1
        return np.where(last, longest, self.values[stages])

    def between(self, stages: IntArray, at: FloatArray) -> FloatArray:
        """(m, p) linear interpolation between the quantiles at fractional indices `at`."""
        values, last = self.values[stages], np.maximum(self.points[stages] - 2, 0)[:, None]
        low = np.clip(at.astype(np.int64), 0, last)
        first = np.take_along_axis(values, low, axis=1)
        return np.asarray(
            first + (np.take_along_axis(values, low + 1, axis=1) - first) * (at - low)
        )

    def means_of_shares(self, stages: IntArray, n: FloatArray) -> FloatArray:
        """(m, p) times by rank of (m, 1) tasks, no more than there are quantiles, as
        `times_from_quantiles`; rows are filled up with their longest."""
        rank, each = np.arange(int(n.max()) + 1), self.points[stages][:, None] / n
        ends = np.minimum(rank, n) * each
        whole = np.minimum(ends.astype(np.int64), self.points[stages][:, None] - 1)
        sums = np.take_along_axis(self._sums[stages], whole, axis=1)
        sums += (ends - whole) * np.take_along_axis(self.values[stages], whole, axis=1)
        times, last = np.diff(sums, axis=1) / each, n.astype(np.int64) - 1
        exists, wanted = rank[:-1] <= last, self.mean_seconds[stages][:, None] * n
        others = np.where(rank[:-1] < last, times, 0.0)
        longest = np.minimum(np.take_along_axis(times, last, axis=1), wanted - _total(others))
        longest = np.maximum(longest, others.max(axis=1, keepdims=True))
        times = np.where(rank[:-1] < last, times, longest)
        total = _total(np.where(exists, times, 0.0))
        return times * np.divide(wanted, total, out=np.ones_like(total), where=total > 0.0)

    def factor(
        self, stages: IntArray, n: FloatArray, longest: FloatArray, others_total: FloatArray
    ) -> FloatArray:
        """(m, 1) factor on all times but the longest that gives the stage's mean."""
        wanted = self.mean_seconds[stages][:, None] * n - longest
        factor = np.divide(
            wanted, others_total, out=np.ones_like(others_total), where=others_total > 0.0
        )
        return np.where((factor > 0.5) & (factor < 2.0), factor, 1.0)

    def unscaled_seconds(
        self, stages: IntArray, seconds: FloatArray, work: FloatArray
    ) -> FloatArray:
        """(m,) inverse of `scaled_seconds`: the time at the observed size."""
        low, share = self.overhead[stages], self.set_up_share[stages]
        grown, reach = share + (1.0 - share) * work, SET_UP_SECONDS / share
        above = seconds - self.dispatch_seconds[stages] - low
        beyond = low + reach + (above - reach * grown) / work
        return np.where(
            above <= 0.0, low + above, np.where(above <= reach * grown, low + above / grown, beyond)
        )

    def scaled_seconds(self, stages: IntArray, seconds: FloatArray, work: FloatArray) -> FloatArray:
        """(m, p) `set_up.scaled_seconds` of (m, p) seconds, plus the idle time before each task."""
        column = stages[:, None]
        result = scaled_seconds(
            seconds, work, overhead_seconds=self.overhead[column], share=self.set_up_share[column]
        )
        return result + self.dispatch_seconds[column]


def _total(rows: FloatArray) -> FloatArray:
    """(m, 1) sum of each row."""
    return np.asarray(rows.sum(axis=1, keepdims=True))
