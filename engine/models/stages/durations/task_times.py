"""Task times of one stage: from the stored quantiles to tasks for any input, speed or partitioning.

A profile stores no task arrays, so times are drawn from the stage's quantile function at evenly
spaced probabilities, in an order that is random once and for all: the same profile always gives the
same tasks. With as many tasks as stored values these are the observed times themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.cutting.partitioned_stage import PartitionedStage
from engine.models.stages.cutting.partitions import Growth, Scaled
from engine.models.stages.durations.drawn_times import drawn, drawn_outline
from engine.models.stages.durations.hot_partitions import HotPartitions, hot_partitions
from engine.models.stages.durations.launch_order import LONGEST_FIRST, last_launched, launched
from engine.models.stages.durations.ranked_tasks import RankedTasks
from engine.models.stages.durations.warm_up import WarmUp
from engine.models.stages.set_up import SET_UP_SECONDS, set_up_share, stretched
from engine.scheduling.waves import DrawnTasks, Tasks

PLACED_TASKS = 4000
"""Tasks of larger stages are only drawn when they are placed one by one, unless some are hot."""

LEAST_WARM = 0.2
"""A warm task is not taken to need less than this share of a first one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StageShape(PartitionedStage):
    """How the tasks of one observed stage behave.

    Args:
        warm: sorted times of tasks on slots that ran tasks before, in seconds.
        mean_seconds: their mean.
        cold: the same for first tasks on a slot, empty where none was seen.
        overhead_seconds: part of a task's time that does not grow with its data, and is none of its
            work: outside the executor's run time, or the start of a Python worker of its own.
        warm_up: how its task times fall in launch order; None where that is not seen.
        late_scale: standard deviation of the log time of later tasks, where a log that broke off
            leaves them to be inferred from first ones.
        ran_on: slots that it had in the log.
        map_output_bytes: the largest output of one task before it whose like more data makes more
            of; None where there is none, or it is not known.
    """

    warm: FloatArray
    mean_seconds: float
    cold: FloatArray
    overhead_seconds: float
    ran_on: int
    warm_up: WarmUp | None = None
    late_scale: float = 0.0
    map_output_bytes: float | None = None

    def tasks(self, scaled: Scaled, *, dispatch_seconds: float, rotation: float) -> Tasks:
        """The stage's tasks in launch order.

        Args:
            dispatch_seconds: time a slot stands idle before each task.
            rotation: share of the random order by which it is turned, or `LONGEST_FIRST`.
        """
        n, longest_first = scaled.tasks, rotation == LONGEST_FIRST
        if n <= PLACED_TASKS or self.hot is not None:
            times, work = self._by_rank(scaled, rotation)
            return RankedTasks(
                self._stretched(times, work) + dispatch_seconds,
                lambda: self._cold_by_rank(times, work, dispatch_seconds),
                lambda: launched(self.stage.stage_id, n, rotation),
                longest_first=longest_first,
            )
        points, counts = drawn_outline(self.warm, n, self.mean_seconds, seen=self.stage.tasks)
        return DrawnTasks(
            self._stretched(points, scaled.work) + dispatch_seconds,
            counts,
            lambda: self._drawn(scaled, dispatch_seconds, rotation),
            cold_excess_seconds=self.cold_excess,
            longest_first=longest_first,
        )

    def _drawn(
        self, scaled: Scaled, dispatch_seconds: float, rotation: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Times of warm and, where there are any, of first tasks in launch order."""
        times, work = self._by_rank(scaled, rotation)
        order = launched(self.stage.stage_id, scaled.tasks, rotation)
        warm = self._stretched(times, work) + dispatch_seconds
        cold = self._cold_by_rank(times, work, dispatch_seconds)
        return np.asarray(warm[order]), None if cold is None else np.asarray(cold[order])

    def _by_rank(self, scaled: Scaled, rotation: float) -> tuple[FloatArray, FloatArray | float]:
        """(n,) times of warm tasks of the observed size in ascending order, and the relative work
        of each; the last one launched may have part of it."""
        n, work = scaled.tasks, scaled.work
        growth = work * scaled.partitions / self.stage.tasks
        cut = self.hot.cut(self._observed, n, growth) if self.hot else None
        if cut is not None:
            return cut
        seen = self.stage.tasks
        times = drawn(self.warm, n, self.mean_seconds, seen=seen) if n != seen else self._observed
        if scaled.last == 1.0:
            return times, work
        each = np.full(n, work)
        each[last_launched(self.stage.stage_id, n, rotation)] *= scaled.last
        return times, each

    @cached_property
    def _observed(self) -> FloatArray:
        return drawn(self.warm, self.stage.tasks, self.mean_seconds)

    @cached_property
    def hot(self) -> HotPartitions | None:
        """Partitions of it that stay as large however finely the others are cut."""
        merged = self.growth is Growth.MERGED and self._follows_merge_rule
        if not merged:
            return None
        return hot_partitions(
            self.stage, self._merge_settings, map_output_bytes=self.map_output_bytes
        )

    def _cold_by_rank(
        self, times: FloatArray, work: FloatArray | float, dispatch_seconds: float
    ) -> FloatArray | None:
        """(n,) times of first tasks on a slot, by rank; None where none was seen."""
        if not len(self.cold):
            return None
        n, mean = len(times), float(self.cold.mean())
        cold = (
            times + self.cold_excess
            if self.hot
            else drawn(self.cold, n, mean, seen=self.stage.tasks)
        )
        excess = np.minimum(self.cold_excess, (1.0 - LEAST_WARM) * cold)
        return np.asarray(self._stretched(cold - excess, work) + excess + dispatch_seconds)

    @cached_property
    def set_up_share(self) -> float:
        """Share of a task's run time that does not grow with its data, up to `SET_UP_SECONDS`."""
        return set_up_share(self.stage, self._late_run_seconds)

    @cached_property
    def fixed_seconds(self) -> float:
        """Part of a typical task's time that does not grow with its data."""
        ran = max(0.0, self.mean_seconds - self.overhead_seconds)
        return self.mean_seconds - ran + min(self.set_up_share * ran, SET_UP_SECONDS)

    @cached_property
    def late_fixed_seconds(self) -> float:
        """The same of a task whose code is no longer new: by the same rule, so that part of it
        always grows."""
        if self.warm_up is None:
            return self.fixed_seconds
        ran = self._late_run_seconds
        return self.late_seconds - ran + min(self.set_up_share * ran, SET_UP_SECONDS)

    @property
    def _late_run_seconds(self) -> float:
        """Run time of a task whose code is no longer new: its overhead is less by as much."""
        late = 1.0 if self.warm_up is None else self.warm_up.late
        return late * max(0.0, self.mean_seconds - self.overhead_seconds)

    @property
    def late_seconds(self) -> float:
        """What a task takes whose code is no longer new."""
        return self.mean_seconds * (1.0 if self.warm_up is None else self.warm_up.late)

    @property
    def cold_excess(self) -> float:
        """Seconds by which a first task on a slot takes longer, whatever its data."""
        return max(0.0, float(self.cold.mean()) - self.mean_seconds) if len(self.cold) else 0.0

    def _stretched(self, seconds: FloatArray, work: FloatArray | float) -> FloatArray:
        overhead, share = self.overhead_seconds, self.set_up_share
        return stretched(seconds, work, overhead_seconds=overhead, share=share)
