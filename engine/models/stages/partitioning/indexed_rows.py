"""The job of `zipWithIndex`, which counts the rows of all partitions of an RDD but the last.

Their sums are the first number of each later partition (`ZippedWithIndexRDD`). So the job has a
task less than the RDD has partitions, and reads less than all of it: three quarters of four files,
eleven twelfths of twelve.

In: a stage. Out: whether it is that job, and its partitions from those of the RDD. Explained in
docs/models/sparkplan_rules_replay.md#rdds-of-files-and-hive-tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.partitions import (
    SMALLEST_STAGE,
    PartitionCount,
    PartitionRule,
)
from engine.stage_run import StageRun, total_of

Tasks = TypeVar("Tasks", float, FloatArray)

COUNTS_ROWS = "zipWithIndex"
"""Name of that job, and of the RDD of numbered rows."""

IN_PYTHON = "PythonRDD"
"""Operation of RDDs in Python, where `zipWithIndex` counts the rows of all partitions."""


def leaves_out_last(stage: StageRun) -> bool:
    """Whether a stage counts the rows of all partitions of an RDD but the last."""
    if not stage.name.startswith(COUNTS_ROWS):
        return False
    numbers = COUNTS_ROWS in stage.operations or total_of(stage.shuffle_write_bytes) > 0.0
    return not numbers and IN_PYTHON not in stage.operations


def rdd_partitions(stage: StageRun) -> int:
    """The partitions of the RDD that a stage computes, with the last one if it leaves that out."""
    return stage.tasks + int(leaves_out_last(stage))


def all_but_last(count: PartitionCount) -> PartitionCount:
    """The partitions that `zipWithIndex` counts of an RDD's. Of a single one it counts none, for
    which a stage cannot be smaller than `SMALLEST_STAGE`."""
    rule = None if count.rule is None else AllButLast(count.rule)
    return replace(count, own=max(SMALLEST_STAGE, count.own - 1.0), rule=rule)


def counted_growth(stage: StageRun, tasks: Tasks) -> Tasks:
    """(n,) growth of the share of an RDD's rows that such a stage counts, in (n,) `tasks` for its
    own."""
    return tasks / (tasks + 1.0) * (stage.tasks + 1.0) / stage.tasks


@dataclass(frozen=True)
class AllButLast:
    """The partitions of an RDD but the last, on any cluster.

    Args:
        rule: partitions of the RDD.
    """

    rule: PartitionRule

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        return np.maximum(SMALLEST_STAGE, self.rule.count(cores, ratio) - 1.0)
