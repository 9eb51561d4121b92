"""How far the rows of RDDs fall together when they are combined by key.

Tasks combine the rows of each key before they shuffle them (`reduceByKey`), and those behind the
shuffle bring the keys of all together. No plan counts these, but what reads them often does: what
passes each key on, to another shuffle or from a cache, has one record for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.stage_run import StageRun, total_of

COMBINES = frozenset(("reduceByKey", "aggregateByKey", "foldByKey", "combineByKey", "distinct"))
"""Operations of RDDs whose tasks combine the rows of a key before they shuffle them."""

KEEPS_ROWS = COMBINES | {"map", "mapValues", "keyBy", "partitionBy", "sortByKey", "textFile"}
"""Those, and the ones that give a record for each that they get."""

AS_LARGE = 1.5
"""So many times the size of what a task combined for a key has what all together did, at most:
lists of its rows get longer, sums do not."""


def with_rdd_groups(stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
    """The stages, with what the log tells of the keys of those that combine rows of RDDs: their
    rows, and keys in each task and in all."""
    readers = dict[int, list[StageRun]]()
    for stage in stages:
        for parent in stage.parents:
            readers.setdefault(parent, []).append(stage)
    stored = dict[int, list[StageRun]]()
    for stage in stages:
        if stage.stored_by is not None:
            stored.setdefault(stage.stored_by, []).append(stage)
    return tuple(_with_groups(stage, readers, stored) for stage in stages)


def _with_groups(
    stage: StageRun,
    readers: Mapping[int, Sequence[StageRun]],
    stored: Mapping[int, Sequence[StageRun]],
) -> StageRun:
    rows = stage.shuffle_write_records
    if not rows or stage.sql_execution_id is not None:
        return stage
    for reader in readers.get(stage.stage_id, ()):
        groups = _passed_on(reader, readers, stored) if _combines(reader, stage) else None
        if groups is not None and 0.0 < groups <= rows:
            return replace(
                stage, ungrouped_rows=_ungrouped(stage, rows), grouped_rows=rows, groups=groups
            )
    return stage


def _combines(stage: StageRun, before: StageRun) -> bool:
    """Whether it reads all that another wrote, and nothing else, and combines that by key."""
    whole = stage.shuffle_read_records == before.shuffle_write_records and not stage.in_part
    alone = stage.parents == (before.stage_id,) and stage.stored_by is None
    return whole and alone and not COMBINES.isdisjoint(stage.operations) and _has_each(stage)


def _passed_on(
    stage: StageRun,
    readers: Mapping[int, Sequence[StageRun]],
    stored: Mapping[int, Sequence[StageRun]],
) -> float | None:
    """How many keys a stage has that combines them, by what it hands on of each; None where nothing
    tells, or what it has of them grows with their rows."""
    wrote, read = stage.shuffle_write_records, stage.shuffle_read_records
    after = readers.get(stage.stage_id, ())
    if wrote and read and after and all(COMBINES.isdisjoint(one.operations) for one in after):
        each = total_of(stage.shuffle_write_bytes) / wrote
        of_task = total_of(stage.shuffle_read_bytes) / read
        return wrote if each <= AS_LARGE * of_task else None
    kept = [one for one in stored.get(stage.stage_id, ()) if not one.in_part]
    told = {one.input_records for one in kept if one.outside_bytes <= 0.0}
    return told.pop() if len(told) == 1 else None


def _ungrouped(stage: StageRun, rows: float) -> float | None:
    """How many rows its tasks combine, where they are those that it read from outside."""
    read = stage.input_records
    whole = _has_each(stage) and not total_of(stage.shuffle_read_bytes)
    return read if whole and read and read >= rows else None


def _has_each(stage: StageRun) -> bool:
    """Whether it gives a record for each that it reads, or each key of these."""
    return bool(stage.operations) and KEEPS_ROWS.issuperset(stage.operations)
