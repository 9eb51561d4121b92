"""Row and key counts of map-side combines in RDD programs (`reduceByKey` and the like).

Tasks combine the rows of each key before the shuffle; the stage after the shuffle merges the keys
of all tasks. No plan counts the keys, but a reader often does: a stage that passes each key on, to
another shuffle or from a cache, has one record per key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.stage_run import StageRun, total_of

COMBINES = frozenset(("reduceByKey", "aggregateByKey", "foldByKey", "combineByKey", "distinct"))
"""RDD operations with a map-side combine."""

ROW_PRESERVING = COMBINES | {"map", "mapValues", "keyBy", "partitionBy", "sortByKey", "textFile"}
"""Those, and operations with one output record per input record."""

MAX_SIZE_RATIO = 1.5
"""Largest ratio of bytes per merged key to bytes per map-side combined record at which the size of
a key is taken as constant: sums keep their size, lists of rows grow."""


def with_rdd_groups(stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
    """The stages with the row counts of their map-side combines: input rows, combined rows per task
    (`grouped_rows`) and distinct keys (`groups`)."""
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
        groups = _key_count(reader, readers, stored) if _combines(reader, stage) else None
        if groups is not None and 0.0 < groups <= rows:
            return replace(
                stage, ungrouped_rows=_input_rows(stage, rows), grouped_rows=rows, groups=groups
            )
    return stage


def _combines(stage: StageRun, before: StageRun) -> bool:
    """Whether a stage reads exactly the output of `before` and combines it by key."""
    whole = stage.shuffle_read_records == before.shuffle_write_records and not stage.in_part
    alone = stage.parents == (before.stage_id,) and stage.stored_by is None
    return (
        whole and alone and not COMBINES.isdisjoint(stage.operations) and _is_row_preserving(stage)
    )


def _key_count(
    stage: StageRun,
    readers: Mapping[int, Sequence[StageRun]],
    stored: Mapping[int, Sequence[StageRun]],
) -> float | None:
    """The number of keys that a combining stage has, by the records it passes on.

    Taken from its shuffle write or from the readers of its cache. None where neither shows it, or
    where the size per key grows with the rows.
    """
    wrote, read = stage.shuffle_write_records, stage.shuffle_read_records
    next_stages = readers.get(stage.stage_id, ())
    if (
        wrote
        and read
        and next_stages
        and all(COMBINES.isdisjoint(stage_after.operations) for stage_after in next_stages)
    ):
        bytes_per_key = total_of(stage.shuffle_write_bytes) / wrote
        bytes_per_combined = total_of(stage.shuffle_read_bytes) / read
        return wrote if bytes_per_key <= MAX_SIZE_RATIO * bytes_per_combined else None
    cache_readers = [reader for reader in stored.get(stage.stage_id, ()) if not reader.in_part]
    record_counts = {
        reader.input_records for reader in cache_readers if reader.outside_bytes <= 0.0
    }
    return record_counts.pop() if len(record_counts) == 1 else None


def _input_rows(stage: StageRun, rows: float) -> float | None:
    """Input rows of a stage's map-side combine, where they are the rows it read from sources."""
    read = stage.input_records
    whole = _is_row_preserving(stage) and not total_of(stage.shuffle_read_bytes)
    return read if whole and read and read >= rows else None


def _is_row_preserving(stage: StageRun) -> bool:
    """Whether it outputs one record per input record, or per key."""
    return bool(stage.operations) and ROW_PRESERVING.issuperset(stage.operations)
