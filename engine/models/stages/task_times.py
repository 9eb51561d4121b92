"""Task times of one stage: from the stored quantiles to tasks for any input, speed or partitioning.

A profile stores no task arrays, so times are drawn from the stage's quantile function at evenly
spaced probabilities, in an order that is random once and for all: the same profile always gives the
same tasks. With as many tasks as stored values these are the observed times themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.drawn_times import drawn, drawn_outline
from engine.models.stages.hot_partitions import HotPartitions, hot_partitions
from engine.models.stages.input_splits import InputSplits
from engine.models.stages.launch_order import LONGEST_FIRST, last_launched, launched
from engine.models.stages.merged_partitions import MergedPartitions
from engine.models.stages.partitions import (
    LARGEST_TASKS,
    SMALLEST_STAGE,
    WHOLE,
    ByInput,
    PartitionCount,
    Partitioning,
    whole_tasks,
)
from engine.models.stages.ranked_tasks import RankedTasks
from engine.models.stages.set_up import SET_UP_SECONDS, set_up_share
from engine.models.stages.stage_law import PRIOR_LAW, StageLaw
from engine.models.stages.warm_up import WarmUp
from engine.profile import StageRun, total_of
from engine.scheduling.waves import DrawnTasks, Tasks

PLACED_TASKS = 4000
"""Tasks of larger stages are only drawn when they are placed one by one, unless some are hot."""

LEAST_WARM = 0.2
"""A warm task is not taken to need less than this share of a first one."""


class Growth(Enum):
    """How a stage grows with the input."""

    TASKS = "tasks"
    """Partitions come from the input: more of the same size."""
    MERGED = "merged"
    """Shuffle partitions merged to a size: more of them, up to the configured number."""
    WORK = "work"
    """A fixed number of partitions: each grows."""
    NONE = "none"
    """Reads nothing, or the first rows alone: stays as it is."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A stage for another input.

    Args:
        tasks: how many it has.
        work: of a task of a whole partition, relative to the observed (overhead apart).
        last: share of a whole partition that the last one holds.
    """

    tasks: int
    work: float
    last: float = 1.0

    @property
    def partitions(self) -> float:
        """Whole partitions and the part of the last one."""
        return self.tasks - 1.0 + self.last


@dataclass(frozen=True, eq=False)
class StageShape:
    """How the tasks of one observed stage behave.

    Args:
        warm: sorted times of tasks on slots that ran tasks before, in seconds.
        mean_seconds: their mean.
        cold: the same for first tasks on a slot, empty where none was seen.
        overhead_seconds: part of a task's time that does not grow with its data, and is none of its
            work: outside the executor's run time, or the start of a Python worker of its own.
        partitions: configured number of shuffle partitions.
        partitioning: Spark's rules for how many partitions there are.
        warm_up: how its task times fall in launch order; None where that is not seen.
        late_scale: standard deviation of the log time of later tasks, where a log that broke off
            leaves them to be inferred from first ones.
        law: what other logs tell of it.
        follows: the stage whose number of partitions this one has: of the input that its shuffle
            takes over, or of what it reads of a cache or a checkpoint.
        map_output_bytes: the largest output of one task before it whose like more data makes more
            of; 0 where there is none, or it is not known.
    """

    stage: StageRun
    growth: Growth
    warm: FloatArray
    mean_seconds: float
    cold: FloatArray
    overhead_seconds: float
    partitions: int
    partitioning: Partitioning
    warm_up: WarmUp | None = None
    late_scale: float = 0.0
    law: StageLaw = PRIOR_LAW
    follows: StageShape | None = None
    map_output_bytes: float = 0.0

    def scaled(
        self, ratio: float, shuffle_partitions: int | None, slots: int | None = None
    ) -> Scaled:
        """The stage at `ratio` times the input, with another number of shuffle partitions or None,
        on so many slots (None for the run's own).

        Work is conserved: partitions x work grows as its law says, whatever their number. The last
        partition may be a partial one, so that a little more input is a little more time.
        """
        return self.cut(ratio, self.partition_count(ratio, shuffle_partitions).at(slots))

    def cut(self, ratio: float, wanted: float) -> Scaled:
        """The stage at `ratio` times the input in so many partitions."""
        partitions = max(min(wanted, LARGEST_TASKS), SMALLEST_STAGE)
        tasks = max(1, math.ceil(partitions - WHOLE))
        last = partitions - tasks + 1.0
        base = 1.0 if self.growth is Growth.NONE else ratio
        total = self.law.total(ratio, base, tasks=partitions / self.stage.tasks)
        work = total * self.stage.tasks / partitions
        return Scaled(tasks, work, last if last < 1.0 - WHOLE else 1.0)

    def data(self, ratio: float) -> float:
        """Bytes that it reads at `ratio` times the input, relative to the observed: in proportion
        unless other logs tell how they grow, unchanged where it reads nothing."""
        power = self.law.data
        if power is None:
            power = 0.0 if self.growth is Growth.NONE else 1.0
        return math.pow(ratio, power)

    def data_on(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) tasks of `scaled` on (n,) numbers of slots, and (n,) bytes of the largest of them
        relative to a task of the log: those of a whole partition, or of what there is of one."""
        wanted = self.partition_count(ratio, shuffle_partitions).on(slots)
        tasks, partitions, _ = whole_tasks(wanted)
        return tasks, self.data(ratio) * self.stage.tasks / np.maximum(1.0, partitions)

    def at_once(
        self, slots: FloatArray | float, tasks: FloatArray | float | None = None
    ) -> FloatArray:
        """(n,) how many of (n,) tasks, None for the log's, run at once on (n,) slots, of which each
        may hold several."""
        lanes = np.maximum(1.0, slots // self.stage.task_cpus)
        return np.asarray(np.minimum(lanes, self.stage.tasks if tasks is None else tasks))

    @cached_property
    def counts_slots(self) -> bool:
        """Whether the number of partitions depends on the cluster."""
        first = self
        while first.follows is not None:
            first = first.follows
        if first is not self:
            return first.counts_slots
        if self.growth is Growth.MERGED:
            rule = self._merging
            return self._merged_by_rule and rule.merged_for is None and rule.counts_slots
        return self._splits.count_slots

    def partition_count(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions at `ratio` times the input, with another number of shuffle partitions or
        None."""
        rule = self.rule(shuffle_partitions)
        if rule is None:
            return self._told_by(shuffle_partitions)._own_count(ratio, shuffle_partitions)
        own = float(rule.on_own(ratio))
        if not self.counts_slots:
            return PartitionCount(own)
        return PartitionCount(own, self.partitioning.slots, rule, ratio)

    def rule(self, shuffle_partitions: int | None) -> ByInput | None:
        """The rule of Spark's that says how many partitions it has, where one does so on any
        cluster and for any input."""
        return self._told_by(shuffle_partitions)._own_rule(shuffle_partitions)

    def _told_by(self, shuffle_partitions: int | None) -> StageShape:
        """The stage that says how many partitions it has: itself, or the first of those it follows
        that does not follow another in this. Such chains are as long as a job has iterations."""
        shape, asked = self, bool(shuffle_partitions)
        while shape.follows is not None and not shape._counts_alone(shuffle_partitions):
            shape = shape._leaders.get(asked, shape.follows)
        self._leaders[asked] = shape
        return shape

    def _own_count(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions where no rule of Spark's says them, and no stage that it follows."""
        n, learnt = float(self.stage.tasks), self.law.partitions
        if self.growth is Growth.MERGED:
            grown = ratio if learnt is None else math.exp(learnt * math.log(ratio))
            return PartitionCount(min(n * grown, self._most(shuffle_partitions)))
        if shuffle_partitions and self._takes_partitions():
            return PartitionCount(float(shuffle_partitions))
        if self._splits.for_cores:
            return self._splits.one_each()
        if learnt is not None:
            return self._splits.for_slots(n * math.exp(learnt * math.log(ratio)), ratio)
        return self._splits.count(ratio) if self.growth is Growth.TASKS else PartitionCount(n)

    def _own_rule(self, shuffle_partitions: int | None) -> ByInput | None:
        """`rule` of a stage that follows none in this."""
        if self.growth is Growth.MERGED:
            merged = self._merged_by_rule
            return self._merged_from(self._most(shuffle_partitions)) if merged else None
        if self._counts_alone(shuffle_partitions) or self.growth is not Growth.TASKS:
            return None
        return self._splits.packed

    def _counts_alone(self, shuffle_partitions: int | None) -> bool:
        """Whether it has a number of partitions of its own, whatever stage it follows."""
        own = self.growth is Growth.MERGED or self.law.partitions is not None
        return own or (bool(shuffle_partitions) and self._takes_partitions())

    @cached_property
    def _leaders(self) -> dict[bool, StageShape]:
        """What `_told_by` said, without and with another number of shuffle partitions."""
        return {}

    def _most(self, shuffle_partitions: int | None) -> float:
        """Partitions before any are merged."""
        return float(max(shuffle_partitions or self.partitions, 1))

    def _takes_partitions(self) -> bool:
        return self._shuffled_bytes > 0.0 and self.stage.tasks > 1 and not self.stage.coalesced

    @property
    def _shuffled_bytes(self) -> float:
        return total_of(self.stage.shuffle_read_bytes)

    def _merged(self, ratio: float, slots: int | None) -> float:
        return self._merging.merged(self._shuffled_bytes * ratio, slots)

    @cached_property
    def _merging(self) -> Partitioning:
        """The rule that comes nearer to the observed partitions: for the cores, or by size alone,
        which is the default of some platforms and not always in their logs."""

        def off(rule: Partitioning) -> float:
            merged = min(rule.merged(self._shuffled_bytes, None), self.partitions)
            return abs(math.log(self.stage.tasks / merged))

        return min((self.partitioning, replace(self.partitioning, merged_for=1)), key=off)

    @cached_property
    def _merged_by_rule(self) -> bool:
        """Whether the observed partitions are about as many as the rule says: local reads, which
        have one for each task before them, and other engines have more."""
        return self.stage.tasks <= MERGED_BEYOND * self._merged(1.0, None) + 1.0

    def _merged_from(self, most: float) -> MergedPartitions:
        """What says how many there are, where none are more than this before merging."""
        found = self._merged_rules.get(most)
        if found is None:
            rule = self._merging
            found = self._merged_rules[most] = MergedPartitions(
                most, self._shuffled_bytes, rule.smallest_bytes, rule.advisory_bytes,
                float(rule.merged_for or rule.cores(None)), float(self.stage.tasks),
                float(self.partitions),
            )  # fmt: skip
        return found

    @cached_property
    def _merged_rules(self) -> dict[float, MergedPartitions]:
        return {}

    @cached_property
    def _splits(self) -> InputSplits:
        return InputSplits.of(self.stage, self.partitioning, in_splits=self.growth is Growth.TASKS)

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
        merged = self.growth is Growth.MERGED and self._merged_by_rule
        if not merged:
            return None
        return hot_partitions(self.stage, self._merging, map_output_bytes=self.map_output_bytes)

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
        outside = np.minimum(seconds, self.overhead_seconds)
        ran = seconds - outside
        fixed = outside + np.minimum(self.set_up_share * ran, SET_UP_SECONDS)
        return np.asarray(fixed + (seconds - fixed) * work)


MERGED_BEYOND = 2.0
"""So many times the partitions that the rule of merging says are not its doing: packing whole
partitions and two shuffles merged alike make up to half as many more or fewer."""
