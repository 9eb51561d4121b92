"""The inputs of a join of RDDs whose partitions it has: the most that any of them has.

Spark's `Partitioner.defaultPartitioner` takes over the partitioner of an input, of several that of
the most partitions. Where no input has one (none was shuffled by key), the join has as many
partitions as the largest input. So a join that has those of one input in the log may have those of
the other with more data.

Spark drops that partitioner where another input has more than ten times its partitions
(`drops_partitioner`): the join then has those of that input.

In: a stage that joins RDDs, and the stages before it. Out: the inputs that count. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from engine.models.stages.partitioning.joined_partitions import drops_partitioner
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


class JoinedInputs(NamedTuple, Generic[Stage]):
    """The inputs of a join of RDDs that determine its partitions.

    Args:
        keyed: those that have a partitioner; None stands for one of the number that the join has in
            the log, which the program set.
        others: those that have none.
    """

    keyed: tuple[Stage | None, ...]
    others: tuple[Stage, ...]


def joined_inputs(stage: StageRun, by_id: Mapping[int, Stage]) -> JoinedInputs[Stage] | None:
    """The inputs that determine the partitions of a join of RDDs with other data. None if all have
    one number, or if the program sets that of the join: any that the rule does not give for the
    inputs of the log. None too if the stage runs some partitions of the join alone, so that its
    tasks do not count them.

    Args:
        by_id: the stages before it, by their ids.
    """
    of_query = stage.sql_execution_id is not None
    if JOINS.isdisjoint(stage.operations) or of_query or stage.in_part:
        return None
    stored = by_id.get(-1 if stage.stored_by is None else stage.stored_by)
    below = stored.stage.parents if stored is not None else ()
    shuffled = [by_id[one] for one in stage.parents if one in by_id and one not in below]
    same = (one for one in (stored, *shuffled) if one and one.stage.tasks == stage.tasks)
    first, combines = next(same, None), not BY_KEY.isdisjoint(stage.operations)
    if first is None and (stored is not None or not combines):
        return None
    by_key = combines or first is stored or (first is not None and _by_key(first.stage))
    unlike = [one for one in shuffled if one.stage.tasks != stage.tasks]
    keyed = [one for one in unlike if _by_key(one.stage)]
    plain = [one for one in unlike if one not in keyed]
    if not by_key:
        return _without_partitioner(stage, first, keyed, plain)
    if any(one.stage.tasks >= stage.tasks for one in keyed):
        return None
    if first is None:
        # What is combined here is read of one of them: any but the largest is joined for sure.
        plain = sorted(plain, key=lambda one: one.stage.tasks)[:-1]
    fewer = [one for one in plain if not drops_partitioner(one.stage.tasks, stage.tasks)]
    return JoinedInputs((first, *keyed), tuple(fewer)) if keyed or fewer else None


def _without_partitioner(
    stage: StageRun, first: Stage | None, keyed: list[Stage], plain: list[Stage]
) -> JoinedInputs[Stage] | None:
    """The inputs of a join that has the partitions of `first`, which has no partitioner; None if
    another input would have given more, or a partitioner."""
    dropped = all(drops_partitioner(stage.tasks, one.stage.tasks) for one in keyed)
    most = max((one.stage.tasks for one in (*keyed, *plain)), default=math.inf)
    if first is None or not dropped or most >= stage.tasks:
        return None
    return JoinedInputs(tuple(keyed), (first, *plain))


def _by_key(stage: StageRun) -> bool:
    """Whether what a stage shuffles again has a partitioner."""
    read = total_of(stage.shuffle_read_bytes) > 0.0 or stage.stored_by is not None
    names = set(stage.operations)
    return read and bool(names & BY_KEY) and names <= BY_KEY | KEEP_KEYS
