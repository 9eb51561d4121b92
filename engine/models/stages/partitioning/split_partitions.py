"""The number of tasks of a join that adaptive execution splits for skew, by input and cores.

`OptimizeSkewedJoin` cuts a hot (skewed) partition between the outputs of map tasks into pieces of
about a target size (`ShufflePartitionsUtil.createSkewPartitionSpecs`). The others are coalesced
without it.

In: the hot partitions of a join, and the stage before it that has them. Out: its number of tasks.
Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.coalesced_partitions import CoalescedPartitions
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitionRule,
    PartitionsPerCore,
)

SMALL_PIECE = 0.2
"""Share of the target below which a piece joins the one before it (`SMALL_PARTITION_FACTOR`)."""

MERGED_PIECE = 1.2
"""Share of the target below which two neighbouring pieces join (`MERGED_PARTITION_FACTOR`)."""


def piece_count(
    outputs: FloatArray,
    size: FloatArray,
    target: FloatArray,
    small: float | FloatArray = SMALL_PIECE,
) -> FloatArray:
    """(n,) pieces into which a partition of (n,) `size` in (n,) equal map outputs, the last of
    which may be partial, is cut (`ShufflePartitionsUtil.splitSizeListByTargetSize`).

    Args:
        target: (n,) target size of a piece, in the unit of `size`.
        small: share of it below which a piece joins the one before it: pieces that are all smaller
            become one. For others than Spark's default a partial output may make one piece more or
            less.
    """
    each = size / outputs / target
    together = np.maximum(1.0, np.floor(1.0 / each + WHOLE))
    all_join = together * each < small
    in_pairs = (together == 1.0) & (2.0 * each < MERGED_PIECE)
    together = np.where(in_pairs, 2.0, together)
    whole = np.floor(outputs / together + WHOLE)
    left = (outputs - whole * together) * each
    is_large = left >= np.where(in_pairs, WHOLE, small)
    stays = is_large & (left + together * each >= MERGED_PIECE)
    return np.where(all_join, 1.0, np.maximum(1.0, whole + stays))


@dataclass(frozen=True)
class SplitPartitions:
    """The tasks of a join with hot partitions on any cluster, of one stage or (as arrays) of m.

    Args:
        rest: the partitions that are not hot.
        rest_share: their share of the bytes, which coalescing divides by the cores.
        fixed_cores: number that coalescing divides by on any cluster; 0 for the cores.
        rule, rule_in_log: map tasks of the side that has the hot partitions, and those of the log.
        outputs: equal map outputs of the log.
        hot, hot_bytes, rest_bytes: number of hot partitions, mean size of one of them and of one of
            the others, on that side.
        advisory_bytes, skewed_bytes: as in `PartitioningSettings`.
        as_in_log: pieces of the log relative to those of the rule.
    """

    rest: CoalescedPartitions
    rest_share: float | FloatArray
    fixed_cores: float | FloatArray
    rule: PartitionRule
    rule_in_log: float | FloatArray
    outputs: float | FloatArray
    hot: float | FloatArray
    hot_bytes: float | FloatArray
    rest_bytes: float | FloatArray
    advisory_bytes: float | FloatArray
    skewed_bytes: float | FloatArray
    as_in_log: float | FloatArray = 1.0

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) tasks at `ratio` times the input on (n,) cores."""
        divided = np.where(np.asarray(self.fixed_cores) > 0.0, self.fixed_cores, cores)
        rest = self.rest.count(divided * self.rest_share, ratio)
        return rest + self.hot * self.pieces(self.rule.count(cores, ratio), ratio)

    def pieces(self, map_tasks: FloatArray, ratio: float) -> FloatArray:
        """(n,) pieces of each hot partition of (n,) map tasks; 1 if it is not split."""
        outputs = self.outputs * np.ceil(map_tasks - WHOLE) / self.rule_in_log
        size = np.asarray(self.hot_bytes * ratio)
        target = np.maximum(self.advisory_bytes, self.rest_bytes * ratio)
        cut = self.as_in_log * piece_count(outputs, size, target)
        cut = np.maximum(1.0, np.minimum(cut, outputs))
        return np.where(size > self.skewed_bytes, cut, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitJoin(DerivedPartitions):
    """A join of which some partitions are hot, as a stage whose number of tasks the join takes
    over. Its source wrote the side that has them.

    Args:
        rule_of_log: its tasks by cores and input, of as many map tasks as in the log.
    """

    rule_of_log: SplitPartitions

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number of tasks depends on the cluster."""
        return not self.rule_of_log.fixed_cores or self.source.depends_on_cluster

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        maps = self.source.partition_count(ratio, shuffle_partitions)
        rule = replace(self.rule_of_log, rule=maps.rule or PartitionsPerCore.constant(maps.own))
        rest = float(rule.rest.on_log_cores(ratio))
        own = rest + float(rule.hot * rule.pieces(np.asarray(maps.own), ratio))
        if not self.depends_on_cluster:
            return PartitionCount(own)
        return PartitionCount(own, self.partitioning.log_cores, rule, ratio)
