"""Task times of one stage at any input and number of partitions, from its stored quantiles.

A profile stores no task arrays. So times are taken from the stage's quantile function at evenly
spaced probabilities, in a random order with a fixed seed: the same profile always gives the same
tasks. With as many tasks as stored values these are the observed times themselves.

In: a stage as observed; then its number and size of partitions. Out: `Tasks`. Explained in
docs/models/sparkplan_rules_replay.md#task-times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.hot_partitions import HotPartitions, hot_partitions
from engine.models.stages.durations.launches import LONGEST_FIRST, last_launched, launched
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.models.stages.durations.warm_up import WarmUp
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth, ScaledStage
from engine.models.stages.set_up import SET_UP_SECONDS, scaled_seconds, set_up_share
from engine.scheduling.waves import Tasks

PLACED_TASKS = 4000
"""Stages of more tasks have an outline that is computed from the quantiles alone, unless some
partitions are hot."""

LEAST_WARM = 0.2
"""Least time of a warm task, as a share of a first one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StageModel(PartitionedStage):
    """One observed stage: its partitions and the times of its tasks.

    Args:
        warm: sorted times in seconds of tasks on warm slots, which ran tasks before.
        mean_seconds: mean of `warm`.
        cold: sorted times of first tasks on a slot; empty if none was seen.
        overhead_seconds: part of a task's time that is neither work nor grows with its data: time
            outside the executor's run time, or the start of a Python worker for each task.
        warm_up: how its task times fall in launch order; None if that was not seen.
        late_scale: standard deviation of the log time of later tasks, if a log that broke off
            leaves them to be inferred from the first ones; else 0.
        ran_on: slots that the stage had in the log.
        map_output_bytes: largest shuffle output of one map task before it, if more data makes more
            such tasks, not larger ones; else None.
        order_seed: of the order in which its tasks are launched: its id, counted from the first of
            its run, so that the same job later in an application has the same.
        may_be_small_table: whether it scans one file that is taken to grow with the input, and may
            be a small table (`small_tables.py`).
    """

    warm: FloatArray
    mean_seconds: float
    cold: FloatArray
    overhead_seconds: float
    ran_on: int
    warm_up: WarmUp | None = None
    late_scale: float = 0.0
    map_output_bytes: float | None = None
    order_seed: int = 0
    may_be_small_table: bool = False

    def tasks(self, scaled: ScaledStage, *, dispatch_seconds: float, rotation: float) -> Tasks:
        """The stage's tasks in launch order.

        Args:
            dispatch_seconds: idle time of a slot before each task.
            rotation: cyclic shift of the random launch order as a share of its length, or
                `LONGEST_FIRST`.
        """
        warm, cold = self.launches(scaled, dispatch_seconds, rotation)
        return Tasks(warm(), cold(), longest_first=rotation == LONGEST_FIRST)

    def launches(
        self, scaled: ScaledStage, dispatch_seconds: float, rotation: float
    ) -> tuple[Callable[[], FloatArray], Callable[[], FloatArray | None]]:
        """Compute (n,) times in launch order of warm tasks, and of first tasks on a slot (None if
        none was seen)."""
        by_rank = cache(partial(self._warm_by_rank, scaled, rotation))
        order = cache(partial(launched, self.order_seed, scaled.tasks, rotation))

        def warm() -> FloatArray:
            return np.asarray((self._scaled_seconds(*by_rank()) + dispatch_seconds)[order()])

        def cold() -> FloatArray | None:
            times = self._cold_by_rank(*by_rank(), dispatch_seconds)
            return None if times is None else np.asarray(times[order()])

        return warm, cold

    def _warm_by_rank(
        self, scaled: ScaledStage, rotation: float
    ) -> tuple[FloatArray, FloatArray | float]:
        """(n,) ascending times of warm tasks of the observed size, and their relative work: (n,) if
        tasks differ in it, as if the last one launched has a partial partition."""
        n, work = scaled.tasks, scaled.work
        growth = work * scaled.partitions / self.stage.tasks
        cut = self.hot.divided(self._observed, n, growth) if self.hot else None
        if cut is not None:
            return cut
        seen = self.stage.tasks
        times = (
            times_from_quantiles(self.warm, n, self.mean_seconds, observed=seen)
            if n != seen
            else self._observed
        )
        if scaled.last == 1.0:
            return times, work
        each = np.full(n, work)
        each[last_launched(self.order_seed, n, rotation)] *= scaled.last
        return times, each

    @cached_property
    def _observed(self) -> FloatArray:
        return times_from_quantiles(self.warm, self.stage.tasks, self.mean_seconds)

    @cached_property
    def hot(self) -> HotPartitions | None:
        """Partitions that stay as large however many partitions the others are divided into."""
        coalesced = self.growth is Growth.COALESCED and self.coalescing.follows_rule
        if not coalesced:
            return None
        return hot_partitions(
            self.stage, self.coalescing.settings, self.shuffle_partitions,
            map_output_bytes=self.map_output_bytes,
        )  # fmt: skip

    def _cold_by_rank(
        self, times: FloatArray, work: FloatArray | float, dispatch_seconds: float
    ) -> FloatArray | None:
        """(n,) times of first tasks on a slot by rank; None if none was seen."""
        if not len(self.cold):
            return None
        n, mean = len(times), float(self.cold.mean())
        cold = (
            times + self.cold_excess
            if self.hot
            else times_from_quantiles(self.cold, n, mean, observed=self.stage.tasks)
        )
        excess = np.minimum(self.cold_excess, (1.0 - LEAST_WARM) * cold)
        return np.asarray(self._scaled_seconds(cold - excess, work) + excess + dispatch_seconds)

    @cached_property
    def set_up_share(self) -> float:
        """Share of a task's run time that does not grow with its data, up to `SET_UP_SECONDS`."""
        return set_up_share(self.stage, self._late_run_seconds)

    @cached_property
    def fixed_seconds(self) -> float:
        """Part of a typical task's time that does not grow with its data, in seconds."""
        ran = max(0.0, self.mean_seconds - self.overhead_seconds)
        return self.mean_seconds - ran + min(self.set_up_share * ran, SET_UP_SECONDS)

    def typical_seconds(self, work: float) -> float:
        """Time of a typical task with `work` times the data of an observed one, in seconds."""
        return self.fixed_seconds + (self.mean_seconds - self.fixed_seconds) * work

    def scaled_quantiles(self, work: FloatArray) -> FloatArray:
        """(n, q) quantiles of the times of warm tasks with (n,) `work`."""
        return self._scaled_seconds(self.warm, work[:, None])

    @cached_property
    def late_fixed_seconds(self) -> float:
        """`fixed_seconds` of a task on warm code, by the same rule, so that part of it always
        grows."""
        if self.warm_up is None:
            return self.fixed_seconds
        ran = self._late_run_seconds
        return self.late_seconds - ran + min(self.set_up_share * ran, SET_UP_SECONDS)

    @property
    def _late_run_seconds(self) -> float:
        """Run time of a task on warm code; its overhead is less by the same factor."""
        late = 1.0 if self.warm_up is None else self.warm_up.late
        return late * max(0.0, self.mean_seconds - self.overhead_seconds)

    @property
    def late_seconds(self) -> float:
        """Time of a task on warm code, in seconds."""
        return self.mean_seconds * (1.0 if self.warm_up is None else self.warm_up.late)

    @property
    def cold_excess(self) -> float:
        """Seconds by which a first task on a slot is longer, whatever its data."""
        return max(0.0, float(self.cold.mean()) - self.mean_seconds) if len(self.cold) else 0.0

    def _scaled_seconds(self, seconds: FloatArray, work: FloatArray | float) -> FloatArray:
        overhead, share = self.overhead_seconds, self.set_up_share
        return scaled_seconds(seconds, work, overhead_seconds=overhead, share=share)
