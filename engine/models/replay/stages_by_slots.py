"""The stages of an observed run on any number of slots: how many partitions they have there, and
how many slots these keep busy.

In: stages, slots, an input and shuffle partitions. Out: the stages so divided. Explained in
docs/models/sparkplan_rules_replay.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.replay.busy_slots import BusySlots
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.replay_cache import ReplayCache
from engine.models.stages.scaled_stages import ScaledStages
from engine.models.stages.stage_table import StageTable
from engine.scheduling.waves import ClosedForm

MOST_SLOTS = 1_000_000
"""No cluster has more: for stages that have the more tasks the more slots there are."""


@dataclass(frozen=True, eq=False)
class StagesBySlots:
    """The stages of a run, divided as they would be on other slots.

    Args:
        table: its stages.
        log_slots: task slots of the log's cluster.
        cache: of recent results, which runs that differ in other things than stages share.
    """

    table: StageTable
    log_slots: int
    cache: ReplayCache

    def on_slots(
        self, slots: int | None, ratio: float, shuffle_partitions: int | None, speed: FloatArray
    ) -> tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]]:
        """The stages with the partitions that they have on so many slots; and by index slowdown and
        closed form at (s,) speeds, where there are enough stages.

        Args:
            slots: None for those of the log.
        """
        stages = self.on_log_slots(ratio, shuffle_partitions)
        if slots is None:
            return stages, {}
        partitions = self._repartitioned(slots, ratio, shuffle_partitions)
        if not partitions:
            return stages, stages.closed_forms(slots, speed)
        indices, wanted = np.asarray(list(partitions)), np.asarray(list(partitions.values()))
        changed = ScaledStages.of(self.table, ratio, wanted, indices, self._cores(slots))
        forms = stages.closed_forms(slots, speed, without=frozenset(partitions))
        forms = {index: form for index, form in forms.items() if index not in partitions}
        forms.update(changed.closed_forms(slots, speed, in_log=stages.in_log))
        return stages.replaced(indices.tolist(), changed), forms

    def on_log_slots(self, ratio: float, shuffle_partitions: int | None) -> ScaledStages:
        """The stages on the run's own slots."""

        def compute() -> ScaledStages:
            counts = self._partition_counts(ratio, shuffle_partitions)
            return ScaledStages.of(self.table, ratio, counts.own)

        return self.cache.stages.get((ratio, shuffle_partitions), compute)

    def _repartitioned(
        self, slots: int, ratio: float, shuffle_partitions: int | None
    ) -> dict[int, float]:
        """By index, the partitions of the stages that have another number on so many slots than on
        the log's, or another amount of work."""
        counts, table = self._partition_counts(ratio, shuffle_partitions), self.table
        partitions, work = counts.at(slots), table.prior_work_growth(ratio, self._cores(slots))
        indices = np.flatnonzero(
            (partitions != counts.own) | (work != table.prior_work_growth(ratio))
        )
        return dict(zip(indices.tolist(), partitions[indices].tolist(), strict=True))

    def _cores(self, slots: int) -> float:
        """The cores of a cluster of so many slots."""
        return slots * self.table.models[0].partitioning.cores_per_slot

    def _partition_counts(self, ratio: float, shuffle_partitions: int | None) -> PartitionCounts:
        """The partitions of the stages, as a function of the slots."""
        counted = self.cache.counted.get(
            shuffle_partitions,
            lambda: CountedStages(self.table.models, self.log_slots, shuffle_partitions),
        )
        key = (ratio, shuffle_partitions)
        return self.cache.counts.get(key, lambda: counted.at(ratio))

    def most_useful_slots(self, ratio: float, shuffle_partitions: int | None) -> int:
        """Most slots that are ever busy: the tasks of all stages that ran side by side."""
        key = (ratio, shuffle_partitions)
        return self.cache.useful.get(key, lambda: self._max_busy_slots(ratio, shuffle_partitions))

    def uncertain_slots(
        self, slots: FloatArray, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) of (n,) slots, the number by which a prediction is uncertain: those that are ever
        busy, or the log's own. Stages with a partition for each core do not count, which keep any
        number busy (`log_gain_of_core_partitions`)."""
        if self._busy.follows_cores.any():
            useful = self._max_busy_slots(
                ratio, shuffle_partitions, as_observed=self._busy.follows_cores
            )
        else:
            useful = self.most_useful_slots(ratio, shuffle_partitions)
        return np.minimum(slots, max(useful, self.log_slots))

    def log_gain_of_core_partitions(
        self, slots: FloatArray, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) as `BusySlots.log_gain_of_core_partitions`, on (n,) slots."""
        busy = self.uncertain_slots(slots, ratio, shuffle_partitions)
        return self._busy.log_gain_of_core_partitions(slots, busy=busy, in_log=self.log_slots)

    def _max_busy_slots(
        self, ratio: float, shuffle_partitions: int | None, as_observed: BoolArray | None = None
    ) -> int:
        """`most_useful_slots`, with the partitions of some stages (s,) as on the log's slots."""
        counts = self._partition_counts(ratio, shuffle_partitions)
        wanted = counts.at(MOST_SLOTS)
        if as_observed is not None:
            wanted = np.where(as_observed, counts.own, wanted)
        return self._busy.max_busy(wanted)

    @cached_property
    def _busy(self) -> BusySlots:
        return BusySlots(self.table.models, self.table.cpus)
