"""The inputs of a join of RDDs whose partitions it has: the most that any of them has.

Spark's `Partitioner.defaultPartitioner` takes over the partitioner of an input, of several that of
the most partitions. Where no input has one (none was shuffled by key), the join has as many
partitions as the largest input. So a join that has those of one input in the log may have those of
the other with more data.

Spark drops that partitioner too where another input has ten times its partitions, or more. A log of
such a join is understood. That inputs come to differ so much with more data is not foreseen: the
join is taken to keep the partitioner.

In: a stage that joins RDDs, and the stages before it. Out: the inputs that count. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.stage_run import StageRun, total_of

Stage = TypeVar("Stage", bound=PartitionedStage)

JOINS = frozenset(
    ("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "cogroup", "groupWith",
     "intersection")
)  # fmt: skip
"""Operations whose number of partitions is that of `defaultPartitioner`."""

BY_KEY = frozenset(
    ("reduceByKey", "aggregateByKey", "foldByKey", "combineByKey", "groupByKey", "partitionBy",
     "sortByKey", "repartitionAndSortWithinPartitions")
)  # fmt: skip
"""Operations that shuffle rows by key: what they return has a partitioner."""

KEEP_KEYS = frozenset(("mapValues", "flatMapValues", "filter"))
"""Operations that keep the partitioner of their input."""

DROPS_PARTITIONER = 10
"""Spark drops the partitioner of an input if another has so many times its partitions
(`Partitioner.isEligiblePartitioner`)."""


def joined_inputs(stage: StageRun, by_id: Mapping[int, Stage]) -> tuple[Stage, ...]:
    """The inputs that determine the partitions of a join of RDDs: in the log the first of them, and
    with other data the one that has the most. Empty if no other has another number, or if the
    program sets that of the join: any that the rule does not give for the inputs of the log. Empty
    too if the stage runs some partitions of the join alone, so that its tasks do not count them.

    Args:
        by_id: the stages before it, by their ids.
    """
    of_query = stage.sql_execution_id is not None
    if JOINS.isdisjoint(stage.operations) or of_query or stage.in_part:
        return ()
    stored = by_id.get(-1 if stage.stored_by is None else stage.stored_by)
    below = stored.stage.parents if stored is not None else ()
    shuffled = [by_id[one] for one in stage.parents if one in by_id and one not in below]
    same = (one for one in (stored, *shuffled) if one and one.stage.tasks == stage.tasks)
    first = next(same, None)
    if first is None:
        return ()
    by_key = first is stored or not BY_KEY.isdisjoint(stage.operations) or _by_key(first.stage)
    unlike = [one for one in shuffled if one.stage.tasks != stage.tasks]
    keyed = [one for one in unlike if _by_key(one.stage)]
    if not by_key and any(stage.tasks < DROPS_PARTITIONER * one.stage.tasks for one in keyed):
        return ()
    others = keyed if by_key else unlike
    largest = max((one.stage.tasks for one in others), default=math.inf)
    return (first, *others) if largest < stage.tasks else ()


def _by_key(stage: StageRun) -> bool:
    """Whether what a stage shuffles again has a partitioner."""
    read = total_of(stage.shuffle_read_bytes) > 0.0 or stage.stored_by is not None
    names = set(stage.operations)
    return read and bool(names & BY_KEY) and names <= BY_KEY | KEEP_KEYS
