"""The blocks of users and of items of MLlib's ALS over RDDs, whose number no program names.

`ALS.run` of `org.apache.spark.mllib` makes as many blocks as Spark has cores by default, or half as
many as the ratings have partitions, if these are more. Each stage that computes factors has one
task for each block.

In: a stage that stores the blocks, and the stages before it. Out: that stage, with the number by
this rule. Explained in docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitionRule,
    PartitionsPerCore,
)

Stage = TypeVar("Stage", bound=PartitionedStage)

STORES_BLOCKS = "count at ALS.scala"
"""Beginning of the name of the stages that store the blocks of users, and of items."""

BLOCKS_OF_QUERIES = 10
"""Number that ALS of queries (`org.apache.spark.ml`) takes if the program names none. The names of
its stages are the same."""


@dataclass(frozen=True)
class BlockRule:
    """The number of blocks on any cluster, at one input.

    Args:
        rule: partitions of the ratings.
        per_core, least_cores: blocks for each core, or 0, and how many cores count at least: with
            `spark.default.parallelism` that number.
    """

    rule: PartitionRule
    per_core: float | FloatArray
    least_cores: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) blocks on (n,) cores."""
        ratings = np.ceil(self.rule.count(cores, ratio) - WHOLE)
        by_default = np.maximum(np.floor(self.per_core * cores), self.least_cores)
        return np.maximum(by_default, np.floor(ratings / 2.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorBlocks(DerivedPartitions):
    """The blocks as a stage whose partitions those that compute factors take over. Their source has
    one partition of ratings in each task."""

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number of blocks depends on the cluster."""
        return self.partitioning.depends_on_cluster or self.source.depends_on_cluster

    @cached_property
    def follows_cores(self) -> bool:
        """Whether the log has a block for each core: a number that the program may have named."""
        settings = self.partitioning
        return settings.depends_on_cluster and self.stage.tasks == settings.default_parallelism(
            None
        )

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        settings = self.partitioning
        ratings = self.source.partition_count(ratio, shuffle_partitions)
        rule = BlockRule(
            ratings.rule or PartitionsPerCore.constant(ratings.own),
            float(settings.depends_on_cluster),
            float(settings.parallelism or settings.least_cores),
        )
        own = float(rule.count(np.asarray(float(settings.log_cores)), ratio))
        if not self.depends_on_cluster:
            return PartitionCount(own)
        return PartitionCount(own, settings.log_cores, rule, ratio)


def with_factor_blocks(model: Stage, by_id: Mapping[int, Stage]) -> Stage:
    """A stage with its number of partitions by the rule, if it stores blocks and has as many as the
    rule gives; else unchanged: then the program named it.

    Args:
        by_id: the stages before it, by their ids.
    """
    stage = model.stage
    before = [by_id[one] for one in stage.parents if one in by_id]
    if not stage.name.startswith(STORES_BLOCKS) or stage.stored_by is not None or len(before) != 1:
        return model
    blocks = FactorBlocks(
        stage=stage, growth=model.growth, shuffle_partitions=model.shuffle_partitions,
        partitioning=model.partitioning, source=before[0],
    )  # fmt: skip
    by_rule = blocks.partition_count(1.0, None).own
    if stage.tasks == BLOCKS_OF_QUERIES or by_rule != stage.tasks:
        return model
    return replace(model, follows=blocks)
