"""The stages of MLlib's trees that find candidates for splits of continuous features.

`RandomForest.findSplits` (decision trees, forests, boosted trees, of RDDs and of queries) takes a
sample of the rows, of no more than so many. Each task sends the values of each feature, which are
sorted in a task for each feature, or in as many as the rows have partitions, if these are fewer. So
more rows make no more samples, and no more tasks than there are features.

In: such a stage, and the stages before it. Out: that stage, with its number of tasks and its growth
by the rule. Explained in docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import WHOLE, PartitionCount, PartitionRule
from engine.stage_run import StageRun

Stage = TypeVar("Stage", bound=PartitionedStage)

SORTS, SENDS = "collectAsMap at RandomForest.scala", "flatMap at RandomForest.scala"
"""Beginnings of the names of the stage that sorts the values of each feature, and of the one before
it, which samples rows."""

COMBINES = "aggregateByKey"
"""Operation by which a task sends one record for each feature (since Spark 3.1)."""

SAMPLES = "sample"
"""Operation of the sampling, which is left out where all rows are taken."""


@dataclass(frozen=True)
class AtMost:
    """The partitions of other rows, but no more than so many, at one input.

    Args:
        rule: partitions of the rows.
        most: how many features there are.
    """

    rule: PartitionRule
    most: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) tasks on (n,) cores."""
        return np.minimum(np.ceil(self.rule.count(cores, ratio) - WHOLE), self.most)


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitCandidates(DerivedPartitions):
    """The values of each feature as a stage whose number of tasks another takes over. Their source
    has one partition of the rows in each task.

    Args:
        features: how many features are continuous.
    """

    features: int

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number of tasks depends on the cluster."""
        return self.source.depends_on_cluster

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        rows, most = self.source.partition_count(ratio, shuffle_partitions), float(self.features)
        own = min(float(math.ceil(rows.own - WHOLE)), most)
        return replace(rows, own=own, rule=None if rows.rule is None else AtMost(rows.rule, most))


def with_split_candidates(model: Stage, by_id: Mapping[int, Stage]) -> Stage:
    """A stage with its number of tasks by the rule, if it sorts values of features; else unchanged.

    Args:
        by_id: the stages before it, by their ids.
    """
    stage = model.stage
    before = [by_id[one] for one in stage.parents if one in by_id]
    if not stage.name.startswith(SORTS) or len(before) != 1:
        return model
    rows, features = before[0], _features(stage, before[0].stage)
    if features is None or not rows.stage.name.startswith(SENDS):
        return model
    candidates = SplitCandidates(
        stage=stage, growth=model.growth, shuffle_partitions=model.shuffle_partitions,
        partitioning=model.partitioning, source=rows, features=features,
    )  # fmt: skip
    read_law = _same_samples if SAMPLES in rows.stage.operations else model.read_law
    return replace(model, follows=candidates, read_law=read_law)


def _features(stage: StageRun, rows: StageRun) -> int | None:
    """How many features are sorted; None if the log does not show it. A task whose sample is empty
    sends none."""
    if stage.tasks < rows.tasks:
        return stage.tasks
    if COMBINES not in stage.operations or not rows.shuffle_write_records:
        return None
    return max(stage.tasks, math.ceil(rows.shuffle_write_records / rows.tasks))


def _same_samples(ratio: float, cores: FloatArray | None) -> FloatArray:
    """() growth of the samples: none."""
    return np.ones(())
