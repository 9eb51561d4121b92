"""Stages that compute again the shuffle output that was lost with executors.

Spark runs the missing map tasks alone (`DAGScheduler.submitMissingTasks`), and each is the task of
the stage that wrote this output before. So on a cluster that cuts the data in more partitions these
tasks are smaller too, and more. Which share of the outputs is lost stays: of more executors each
holds less, but as many times more of them may go.

In: such a stage, and the stages before it. Out: that stage, with its number of tasks by the rule.
Explained in docs/models/sparkplan_rules_replay.md#wasted-work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from engine.forecast import FloatArray
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth, PartitionCount, PartitionRule
from engine.models.stages.stage_matching import code_of

Stage = TypeVar("Stage", bound=PartitionedStage)


@dataclass(frozen=True)
class ShareOf:
    """A share of the partitions of other stages, on any cluster.

    Args:
        rule: all of their partitions.
        share: how much of them.
    """

    rule: PartitionRule
    share: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions on (n,) cores."""
        return self.rule.count(cores, ratio) * self.share


@dataclass(frozen=True, eq=False, kw_only=True)
class LostPartitions(DerivedPartitions):
    """The partitions that were lost of those that its source wrote: the share that the log has."""

    @property
    def depends_on_cluster(self) -> bool:
        """Whether their number depends on the cluster."""
        return self.source.depends_on_cluster

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        wrote = self.source.partition_count(ratio, shuffle_partitions)
        share = self.stage.tasks / self.source.stage.tasks
        rule = None if wrote.rule is None else ShareOf(wrote.rule, share)
        return replace(wrote, own=wrote.own * share, rule=rule)


def with_lost_partitions(model: Stage, before: Sequence[Stage]) -> Stage:
    """A stage with its number of tasks by the rule, if it recomputed lost output of one before;
    else unchanged.

    Args:
        before: the stages before it, in their order.
    """
    stage = model.stage
    if not stage.recomputed:
        return model
    code = code_of(stage)
    wrote = (one for one in reversed(before) if code_of(one.stage) == code)
    source = next((one for one in wrote if not one.stage.recomputed), None)
    if source is None or source.stage.tasks < stage.tasks:
        return model
    lost = LostPartitions(
        stage=stage, growth=Growth.WORK, shuffle_partitions=model.shuffle_partitions,
        partitioning=model.partitioning, source=source,
    )  # fmt: skip
    return replace(model, follows=lost)
