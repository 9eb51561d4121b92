"""An observed stage whose partitions adaptive execution coalesced: by which settings, and the rule
that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from engine.models.stages.partitioning.coalesced_partitions import MAX_FACTOR, CoalescedPartitions
from engine.models.stages.partitioning.filled_partitions import filled_partitions
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.stage_run import StageRun, total_of


@dataclass(frozen=True, eq=False)
class CoalescedStage:
    """A stage that reads coalesced shuffle partitions.

    Args:
        shuffle_partitions: configured number, before any are coalesced.
        partitioning: settings of its query that decide how many partitions there are.
    """

    stage: StageRun
    shuffle_partitions: int
    partitioning: PartitioningSettings

    @cached_property
    def settings(self) -> PartitioningSettings:
        """The settings under which coalescing comes nearer to the observed partitions: for the
        cores, or by size alone, which is the default of some platforms and not always in their
        logs. Within one partition of the former the two cannot be told apart: whole partitions are
        coalesced, and a last one below the least size joins the one before it."""
        tasks, shuffled_bytes = self.stage.tasks, self._shuffled_bytes

        def log_error(settings: PartitioningSettings) -> float:
            count = min(settings.coalesced_count(shuffled_bytes, None), self.shuffle_partitions)
            return 0.0 if abs(tasks - count) < 1.0 else abs(math.log(tasks / count))

        by_size = replace(self.partitioning, min_coalesced_partitions=1)
        return min((self.partitioning, by_size), key=log_error)

    @cached_property
    def follows_rule(self) -> bool:
        """Whether the log had about as many partitions as the coalescing rule gives. Local shuffle
        reads, which have one per map task, and other engines have more."""
        coalesced = self.settings.coalesced_count(self._shuffled_bytes, None)
        return self.stage.tasks <= MAX_FACTOR * coalesced + 1.0

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the rule coalesces for the cores of the cluster."""
        return self.settings.min_coalesced_partitions is None and self.settings.depends_on_cluster

    def rule(self, most: float) -> CoalescedPartitions:
        """The coalescing rule for `most` partitions before coalescing."""
        rule = self._rules.get(most)
        if rule is None:
            settings = self.settings
            cores = settings.min_coalesced_partitions or settings.default_parallelism(None)
            rule = self._rules[most] = CoalescedPartitions(
                self._filled_of(most), self._shuffled_bytes, settings.smallest_bytes,
                settings.advisory_bytes, float(cores), float(self.stage.tasks),
                self._filled_of(float(self.shuffle_partitions)),
            )  # fmt: skip
        return rule

    def _filled_of(self, most: float) -> float:
        """How many of `most` partitions hold rows: all, unless the log shows that its keys are
        few. Hashed to another number of partitions, they fill the share that is expected of
        it."""
        filled, initial = self._few_filled, float(self.shuffle_partitions)
        if filled is None:
            return most
        return most * (1.0 - math.pow(1.0 - filled / initial, initial / most))

    @cached_property
    def _few_filled(self) -> float | None:
        return filled_partitions(self.stage, float(self.shuffle_partitions), self.settings)

    @cached_property
    def _rules(self) -> dict[float, CoalescedPartitions]:
        """Results of `rule`."""
        return {}

    @property
    def _shuffled_bytes(self) -> float:
        return total_of(self.stage.shuffle_read_bytes)
