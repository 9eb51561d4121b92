"""The stages of an observed run on any number of slots: how many partitions they have there, and
how many slots these keep busy.

In: stages, slots, an input and shuffle partitions. Out: the stages so divided, and the slots that
they keep busy at most. Explained in
docs/models/sparkplan_rules_replay.md#the-curve-over-many-clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.caching import LruCache
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.partitioning.partitions import whole_tasks
from engine.models.stages.scaled_stages import ScaledStages
from engine.models.stages.stage_table import StageTable
from engine.scheduling.waves import ClosedForm


@dataclass(frozen=True, eq=False)
class BusySlots:
    """Stages that ran side by side in the log do so on any cluster.

    Args:
        models: the s stages.
        cpus: (s,) slots that a task of each holds.
    """

    models: tuple[StageModel, ...]
    cpus: FloatArray

    def max_busy(self, partitions: FloatArray) -> int:
        """The most slots that are ever busy with (s,) partitions of the stages."""
        tasks = whole_tasks(partitions)[0] * self.cpus
        order, sign = self._submissions_and_ends
        return max(1, int(np.cumsum((np.concatenate((tasks, tasks)) * sign)[order]).max()))

    @cached_property
    def follows_cores(self) -> BoolArray:
        """(s,) the stages with a partition for each core."""
        return np.asarray([model.follows_cores for model in self.models], dtype=bool)

    def log_gain_of_core_partitions(
        self, slots: FloatArray, *, busy: FloatArray, in_log: int
    ) -> FloatArray:
        """(n,) log of the factor on the time of tasks on (n,) slots if stages with a partition for
        each core had as many as on the log's slots: a program may have asked for that number, where
        no other log contradicts it. It follows from their share of the work, where all other work
        is as fast as it can be.

        Args:
            busy: (n,) how many of the slots other stages can use.
            in_log: slots of the log.
        """
        share = self._share_by_coincidence
        if not share:
            return np.zeros(len(slots))
        others = (1.0 - share) * in_log / np.maximum(busy, in_log)
        repartitioned = share * in_log / np.maximum(slots, in_log)
        return np.asarray(np.log((others + share) / (others + repartitioned)))

    @cached_property
    def _share_by_coincidence(self) -> float:
        """Share of the work in stages of which one log does not show whether they have a partition
        for each core, or a number that the program asked for."""
        work = np.asarray([model.stage.tasks * model.mean_seconds for model in self.models])
        uncertain = np.asarray([model.per_core_by_coincidence for model in self.models], dtype=bool)
        return float(work[uncertain].sum() / (work.sum() or 1.0))

    @cached_property
    def _submissions_and_ends(self) -> tuple[IntArray, FloatArray]:
        """(2 s,) order in time of the submissions of the s stages and of their ends (indices from s
        on), ends first at the same moment; and the (2 s,) sign of each, 1 for a submission and -1
        for an end."""
        stages = [model.stage for model in self.models]
        moments = [stage.submitted_seconds for stage in stages]
        moments += [stage.completed_seconds for stage in stages]
        sign = np.repeat([1.0, -1.0], len(stages))
        return np.lexsort((sign, np.asarray(moments))), sign


CACHED_INPUTS = 16
"""Cache size in inputs: enough to step a slider back and forth."""

MOST_SLOTS = 1_000_000
"""No cluster has more: for stages that have the more tasks the more slots there are."""


@dataclass(frozen=True, eq=False)
class StagesAtInput:
    """The stages of a run at one input, divided as they would be on other slots.

    Args:
        table: its stages.
        busy: which of them keep slots busy at once.
        log_slots: task slots of the log's cluster.
        counts: their partitions at the input, as a function of the slots.
    """

    table: StageTable
    busy: BusySlots
    log_slots: int
    counts: PartitionCounts

    def on_slots(
        self, slots: int | None, speed: FloatArray
    ) -> tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]]:
        """The stages with the partitions that they have on so many slots; and by index slowdown and
        closed form at (s,) speeds.

        Args:
            slots: None for those of the log.
        """
        stages = self.on_log_slots
        partitions = {} if slots is None else self._repartitioned(slots)
        if slots is None or not partitions:
            return stages, stages.closed_forms(slots, speed)
        indices, wanted = np.asarray(list(partitions)), np.asarray(list(partitions.values()))
        ratio, cores = self.counts.ratio, self._cores(slots)
        changed = ScaledStages.of(self.table, ratio, wanted, indices, cores)
        forms = stages.closed_forms(slots, speed, without=frozenset(partitions))
        forms = {index: form for index, form in forms.items() if index not in partitions}
        forms.update(changed.closed_forms(slots, speed, in_log=stages.in_log))
        return stages.replaced(indices.tolist(), changed), forms

    @cached_property
    def on_log_slots(self) -> ScaledStages:
        """The stages on the run's own slots."""
        return ScaledStages.of(self.table, self.counts.ratio, self.counts.own)

    def _repartitioned(self, slots: int) -> dict[int, float]:
        """By index, the partitions of the stages that have another number on so many slots than on
        the log's, or another amount of work."""
        counts, cores = self.counts, self._cores(slots)
        partitions, work = counts.at(slots), self.table.prior_work_growth(counts.ratio, cores)
        indices = np.flatnonzero((partitions != counts.own) | (work != self._work_growth))
        return dict(zip(indices.tolist(), partitions[indices].tolist(), strict=True))

    @cached_property
    def _work_growth(self) -> FloatArray:
        """(s,) prior growth of the stages' work on the log's cores."""
        return self.table.prior_work_growth(self.counts.ratio)

    def _cores(self, slots: int) -> float:
        """The cores of a cluster of so many slots."""
        return slots * self.table.models[0].partitioning.cores_per_slot

    @cached_property
    def most_useful_slots(self) -> int:
        """Most slots that are ever busy: the tasks of all stages that ran side by side."""
        return self.busy.max_busy(self.counts.at(MOST_SLOTS))

    def uncertain_slots(self, slots: FloatArray) -> FloatArray:
        """(n,) of (n,) slots, the number by which a prediction is uncertain: those that are ever
        busy, or the log's own. Stages with a partition for each core do not count, which keep any
        number busy (`log_gain_of_core_partitions`)."""
        useful, as_observed = self.most_useful_slots, self.busy.follows_cores
        if as_observed.any():
            counts = self.counts
            useful = self.busy.max_busy(np.where(as_observed, counts.own, counts.at(MOST_SLOTS)))
        return np.minimum(slots, max(useful, self.log_slots))

    def log_gain_of_core_partitions(self, slots: FloatArray) -> FloatArray:
        """(n,) as `BusySlots.log_gain_of_core_partitions`, on (n,) slots."""
        busy = self.uncertain_slots(slots)
        return self.busy.log_gain_of_core_partitions(slots, busy=busy, in_log=self.log_slots)


@dataclass(frozen=True)
class ReplayCache:
    """Recent results of a replay.

    Args:
        stages: by the input relative to the log's and the number of shuffle partitions.
        counted: what their partitions are computed from, by the number of shuffle partitions alone.
    """

    stages: LruCache[StagesAtInput] = field(default_factory=lambda: LruCache(CACHED_INPUTS))
    counted: LruCache[CountedStages] = field(default_factory=lambda: LruCache(CACHED_INPUTS))


@dataclass(frozen=True, eq=False)
class StagesBySlots:
    """The stages of a run, at any input and on any slots.

    Args:
        table: its stages.
        log_slots: task slots of the log's cluster.
        cache: of recent results, which runs that differ in other things than stages share.
    """

    table: StageTable
    log_slots: int
    cache: ReplayCache

    def at(self, ratio: float, shuffle_partitions: int | None = None) -> StagesAtInput:
        """The stages at `ratio` times the input, with so many shuffle partitions (None for the
        log's)."""
        counted = self.cache.counted.get(
            shuffle_partitions,
            lambda: CountedStages(self.table.models, self.log_slots, shuffle_partitions),
        )
        return self.cache.stages.get(
            (ratio, shuffle_partitions),
            lambda: StagesAtInput(self.table, self._busy, self.log_slots, counted.at(ratio)),
        )

    @cached_property
    def _busy(self) -> BusySlots:
        return BusySlots(self.table.models, self.table.cpus)
