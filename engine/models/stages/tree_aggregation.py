"""Combining stages of tree aggregations, which come and go with the number of partitions.

`RDD.treeAggregate` and `treeReduce` (much of MLlib) send the aggregates of a few partitions
straight to the driver. Those of more partitions are first combined by a stage of their own, after
a shuffle. So each step of an iteration has one stage more with a larger input, or one less with a
smaller one.

In: the stages of a run; then their partitions. Out: the combining stages that run, and the seconds
that new ones add. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.forecast import FloatArray
from engine.models.stages.partitioning.data_flow import TREE_AGGREGATIONS, aggregates_in_a_tree
from engine.models.stages.partitioning.partitions import whole_tasks
from engine.stage_run import StageRun, total_of

COMBINING_TASK = 1.5
"""Time of a combining task, which fetches a few small blocks, relative to the overhead of a task of
the stage before. In logs that have such stages it is 1.4 to 3 times as long."""


def combining_partitions(partitions: int) -> int | None:
    """Number of tasks of the stage that combines the aggregates of so many partitions; None where
    they go straight to the driver (Spark's `RDD.treeAggregate`, depth 2)."""
    scale = max(math.ceil(math.sqrt(partitions)), 2)
    return partitions // scale if partitions > scale + math.ceil(partitions / scale) else None


@dataclass(frozen=True, eq=False)
class TreeAggregations:
    """The tree aggregations of depth 2 (Spark's and MLlib's default) among the stages of a run.

    Args:
        direct: index of each stage whose aggregates went straight to the driver -> seconds of a
            task that would combine them, and slots that it holds.
        combined: index of each stage whose aggregates were combined -> that of the stage that did.
    """

    direct: Mapping[int, tuple[float, int]]
    combined: Mapping[int, int]

    @classmethod
    def of(cls, stages: Sequence[StageRun]) -> TreeAggregations:
        """Those of a run's stages; one with another depth in the log is left as it is."""
        direct, combined = dict[int, tuple[float, int]](), dict[int, int]()
        index_of = {stage.stage_id: index for index, stage in enumerate(stages)}
        combining = {
            index_of[stage.parents[0]]: index
            for index, stage in enumerate(stages)
            if combines_aggregates(stage)
            and len(stage.parents) == 1
            and stage.parents[0] in index_of
        }
        for index, stage in enumerate(stages):
            if not aggregates_in_a_tree(stage) or combines_aggregates(stage):
                continue
            wanted = combining_partitions(stage.tasks)
            combiner = combining.get(index)
            if (
                combiner is not None
                and combiner not in combining
                and stages[combiner].tasks == wanted
            ):
                combined[index] = combiner
            overhead = stage.overhead_seconds
            straight = wanted is None and not total_of(stage.shuffle_write_bytes)
            if combiner is None and straight and overhead is not None and overhead.count:
                direct[index] = COMBINING_TASK * overhead.quantile(0.5), stage.task_cpus
        return cls(direct, combined)

    def counted(self, partitions: FloatArray) -> FloatArray:
        """(s,) partitions with those of the combining stages by the stages before them; 1 for a
        stage that is left out."""
        if not self.combined:
            return partitions
        result, tasks = partitions.copy(), whole_tasks(partitions)[0].astype(int).tolist()
        for stage, combiner in self.combined.items():
            result[combiner] = combining_partitions(tasks[stage]) or 1
        return result

    def left_out(self, tasks: Sequence[int]) -> frozenset[int]:
        """Indices of the combining stages that do not run with (s,) tasks of each stage."""
        return frozenset(
            combiner
            for stage, combiner in self.combined.items()
            if combining_partitions(tasks[stage]) is None
        )

    def added_seconds(self, tasks: Sequence[int], slots: int) -> dict[int, float]:
        """Seconds that combining takes after each stage that needs it with (s,) tasks and did not
        in the log, by its index."""
        added = dict[int, float]()
        for stage, (seconds, cpus) in self.direct.items():
            count = combining_partitions(tasks[stage])
            if count is not None:
                added[stage] = math.ceil(count / max(1, slots // cpus)) * seconds
        return added


def combines_aggregates(stage: StageRun) -> bool:
    """Whether a stage does nothing but combine the aggregates of a stage before it."""
    only = bool(stage.operations) and TREE_AGGREGATIONS.issuperset(stage.operations)
    return only and total_of(stage.shuffle_read_bytes) > 0.0


NO_TREES = TreeAggregations({}, {})
"""Of a run without tree aggregations."""
