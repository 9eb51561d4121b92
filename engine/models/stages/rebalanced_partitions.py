"""The number of tasks that read rows which Spark rebalances before it writes them (`REBALANCE`).

Adaptive execution cuts a partition beyond the advisory size between the outputs of map tasks
(`OptimizeSkewInRebalancePartitions`), and coalesces the others.

In: a stage that reads such rows, and the stage that shuffles them. Out: that stage, with its number
of tasks by this rule. Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.hot_partitions import HOT_FACTOR
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.coalesced_partitions import (
    REPORTED_SIZE_FACTOR,
    CoalescedPartitions,
)
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    Growth,
    PartitionCount,
    PartitionRule,
    PartitionsPerCore,
    configured_factor,
    configured_flag,
    query_config,
)
from engine.models.stages.partitioning.split_partitions import SMALL_PIECE, piece_count
from engine.profile import Run
from engine.stage_run import total_of

SPLITS = "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled"

SMALL = "spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor"


@dataclass(frozen=True)
class RebalancedPartitions:
    """The tasks that read rebalanced rows on any cluster, of one stage or (as arrays) of m.

    Args:
        small: their number while the mean partition is within the advisory size.
        rule: map tasks, each with an equal output.
        filled, mean_bytes: number of partitions with rows but for hot ones, and their mean size, as
            the driver knows it.
        hot, hot_bytes: number of hot partitions of the log, and their mean size, as known there.
        advisory_bytes: as in `PartitioningSettings`.
        small_piece: as in `piece_count`.
        as_in_log: tasks of the log relative to those of pieces.
    """

    small: CoalescedPartitions
    rule: PartitionRule
    filled: float | FloatArray
    mean_bytes: float | FloatArray
    hot: float | FloatArray
    hot_bytes: float | FloatArray
    advisory_bytes: float | FloatArray
    small_piece: float | FloatArray
    as_in_log: float | FloatArray = 1.0

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) tasks at `ratio` times the input on (n,) cores."""
        return self.of(self.small.count(cores, ratio), self.rule.count(cores, ratio), ratio)

    def of(self, small: FloatArray, map_tasks: FloatArray, ratio: float) -> FloatArray:
        """(n,) tasks for (n,) `map_tasks`, (n,) `small` if the mean partition is not cut."""
        maps = np.ceil(map_tasks - WHOLE)
        cut = self.filled * self._pieces(np.asarray(self.mean_bytes * ratio), maps) + self.hot
        usual = np.where(self.mean_bytes * ratio > self.advisory_bytes, self.as_in_log * cut, small)
        more = self.hot * (self._pieces(np.asarray(self.hot_bytes * ratio), maps) - 1.0)
        return np.asarray(usual + more)

    def _pieces(self, size: FloatArray, maps: FloatArray) -> FloatArray:
        """(n,) pieces of a partition of (n,) `size`; 1 if it is not cut."""
        advisory = np.asarray(self.advisory_bytes)
        cut = np.minimum(piece_count(maps, size, advisory, self.small_piece), maps)
        return np.where(size > advisory, cut, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class RebalancedRows(DerivedPartitions):
    """Rebalanced rows as a stage whose number of tasks those that read them take over. Their source
    shuffles them.

    Args:
        rule_of_log: their tasks by cores and input, of as many map tasks as in the log.
    """

    rule_of_log: RebalancedPartitions

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number of tasks depends on the cluster."""
        return self.coalescing.depends_on_cluster or self.source.depends_on_cluster

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        maps = self.source.partition_count(ratio, shuffle_partitions)
        rule = replace(self.rule_of_log, rule=maps.rule or PartitionsPerCore.constant(maps.own))
        own = float(rule.of(rule.small.on_log_cores(ratio), np.asarray(maps.own), ratio))
        if not self.depends_on_cluster:
            return PartitionCount(own)
        return PartitionCount(own, self.partitioning.log_cores, rule, ratio)


def with_rebalanced_rows(
    run: Run, model: StageModel, by_id: Mapping[int, StageModel]
) -> StageModel:
    """A stage with its number of tasks by the rule, if it reads rebalanced rows; else unchanged.

    Args:
        by_id: the stages before it, by their ids.
    """
    stage = model.stage
    before = [by_id[one] for one in stage.parents if one in by_id]
    if not stage.rebalanced or len(before) != 1 or model.growth not in ADAPTIVE:
        return model
    config = query_config(run, stage)
    splits = configured_flag(config, SPLITS) is not False
    settings = model.partitioning
    limit = settings.advisory_bytes if splits else math.inf
    settings = replace(settings, skewed_bytes=limit, skewed_factor=0.0)
    small_piece = configured_factor(config, SMALL, SMALL_PIECE)
    model = replace(model, partitioning=settings)
    if not splits:
        return model
    follows = RebalancedRows(
        stage=stage, growth=Growth.WORK, shuffle_partitions=model.shuffle_partitions,
        partitioning=settings, source=before[0],
        rule_of_log=_rule(model, before[0].stage.tasks, small_piece),
    )  # fmt: skip
    return replace(model, follows=follows)


ADAPTIVE = (Growth.COALESCED, Growth.WORK)
"""What more data enlarges of a stage that reads coalesced partitions, or more of them than are
configured."""


def _rule(model: StageModel, maps: int, small_piece: float) -> RebalancedPartitions:
    """The rule of a log. A task beyond the advisory size is what one map task wrote of a partition,
    the least that can be read: so many tasks make one hot partition, or, where the mean one is
    beyond it, one of few that hold rows."""
    stage, settings, most = model.stage, model.partitioning, float(model.shuffle_partitions)
    total, advisory = total_of(stage.shuffle_read_bytes), settings.advisory_bytes
    small, tasks = model.coalescing.rule(most), float(stage.tasks)
    filled, hot, hot_bytes = most, 0.0, 0.0
    if total > HOT_FACTOR * advisory * tasks and maps <= tasks < most * maps:
        filled = tasks / maps
    elif model.hot is not None:
        sizes = [total * share for share in model.hot.shares]
        pieces = sum(size > advisory for size in sizes)
        hot, hot_bytes = len(sizes) - pieces + pieces / maps, sum(sizes)
        filled, tasks = max(1.0, most - hot), tasks - len(sizes) + hot
        small = replace(small, observed=tasks)
    hot_bytes *= REPORTED_SIZE_FACTOR
    mean = (REPORTED_SIZE_FACTOR * total - hot_bytes) / filled
    if mean > advisory:
        small = replace(small, initial=filled, observed=filled, observed_initial=filled)
    rule = RebalancedPartitions(
        small, PartitionsPerCore.constant(float(maps)), filled, mean, hot,
        hot_bytes / hot if hot else mean, advisory, small_piece,
    )  # fmt: skip
    cut = float(rule.of(np.asarray(tasks), np.asarray(float(maps)), 1.0))
    return replace(rule, as_in_log=stage.tasks / cut) if mean > advisory else rule
