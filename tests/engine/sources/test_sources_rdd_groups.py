"""RDDs of a stage: the walk over them, and how many keys they combine, of how many rows.

Spark 3.5.9, four text files of 8,000 lines: means of 2,000 products (`aggregateByKey`) that are
sorted; sums of users (`reduceByKey`) that are kept and sorted; pairs without copies (`distinct`)
that are partitioned; lists of the lines of 300 shops.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pitfall_logs import DATA, one

from engine.sources.distilling.rdd_groups import with_rdd_groups
from engine.sources.logs.combined_inputs import connected_rdds
from engine.sources.logs.events import RddInfo
from engine.stage_run import Measure, StageRun

DIAMOND = {4: (2, 3), 3: (1,), 2: (0,), 1: (0,), 0: ()}
CYCLE = {2: (1,), 1: (2,)}
OF_ANOTHER_STAGE = {2: (1, 9), 1: ()}


def walked(parents: dict[int, tuple[int, ...]], start: int, *, nearest_first: bool) -> list[int]:
    by_id = {one: RddInfo(rdd_id=one, parents=above) for one, above in parents.items()}
    found = connected_rdds([start], by_id, lambda rdd: rdd.parents, nearest_first=nearest_first)
    return [rdd.rdd_id for rdd in found]


@pytest.mark.parametrize(
    ("parents", "start", "nearest_first", "expected"),
    [
        (DIAMOND, 4, True, [4, 2, 3, 0, 1]),
        (DIAMOND, 4, False, [4, 3, 1, 0, 2]),
        (CYCLE, 2, False, [2, 1]),
        (OF_ANOTHER_STAGE, 2, False, [2, 1]),
        (OF_ANOTHER_STAGE, 9, False, []),
    ],
)
def test_walk_meets_each_rdd_of_the_stage_once(parents, start, nearest_first, expected):
    assert walked(parents, start, nearest_first=nearest_first) == expected


def test_walk_ends_where_it_is_told_to():
    by_id = {one: RddInfo(rdd_id=one, parents=above) for one, above in DIAMOND.items()}
    found = connected_rdds([4], by_id, lambda rdd: () if rdd.rdd_id == 3 else rdd.parents)
    assert [rdd.rdd_id for rdd in found] == [4, 3, 2, 0]


RUN = one(DATA / "keys.zstd")
MEANS = 32_000.0, 7872.0, 2000.0
SUMS = 32_000.0, 20_440.0, 12_457.0
PAIRS = 32_000.0, 29_888.0, 27_770.0
"""Rows, rows once each task has combined its own, and keys."""

Groups = tuple[float | None, float | None, float | None]


def told(stages: tuple[StageRun, ...] = RUN.stages) -> list[Groups]:
    found = ((s.ungrouped_rows, s.grouped_rows, s.groups) for s in stages)
    return [one for one in found if any(one)]


def again(change: Callable[[StageRun], StageRun]) -> list[Groups]:
    """What is told of the stages with something else of them."""
    bare = (replace(s, ungrouped_rows=None, grouped_rows=None, groups=None) for s in RUN.stages)
    return told(with_rdd_groups([change(stage) for stage in bare]))


def those(operation: str, **changed: object) -> Callable[[StageRun], StageRun]:
    """Changes the stages that do that and read a shuffle."""

    def change(stage: StageRun) -> StageRun:
        does = operation in stage.operations and stage.shuffle_read_records
        return replace(stage, operation_counts=(), **changed) if does else stage  # type: ignore[arg-type]

    return change


def test_keys_are_told_by_what_reads_them() -> None:
    """By a sort, from a cache, by a partitioner. Lists get longer with the rows of their shop."""
    assert told() == [MEANS, SUMS, PAIRS]
    assert again(lambda stage: stage) == told()


def test_sums_of_a_key_as_large_as_lists_are_not_told() -> None:
    """A key of all tasks took 13 bytes, and 15 in one task."""
    large = Measure(4, 52_000.0, (13_000.0,))
    assert again(those("mapValues", shuffle_write_bytes=large)) == [SUMS, PAIRS]


@pytest.mark.parametrize(
    "changed",
    [
        {"operations": ("mapValues", "aggregateByKey", "filter")},
        {"operations": ("mapValues", "groupByKey")},
        {"in_part": True},
        {"stored_by": 0},
        {"parents": (0, 5)},
        {"shuffle_read_records": 7000.0},
        {"shuffle_write_records": 7873.0},
        {"shuffle_write_records": None},
    ],
)
def test_what_may_leave_or_get_others_tells_nothing(changed: dict[str, object]) -> None:
    assert again(those("mapValues", **changed)) == [SUMS, PAIRS]


def test_a_shuffle_that_combines_again_tells_nothing() -> None:
    """What it gets are the keys of another."""
    assert again(those("partitionBy", operations=("reduceByKey",))) == [MEANS, SUMS]


def test_a_cache_that_is_read_in_part_or_beside_files_tells_nothing() -> None:
    def read_otherwise(**changed: object) -> Callable[[StageRun], StageRun]:
        def change(stage: StageRun) -> StageRun:
            kept = stage.stored_by is not None
            return replace(stage, **changed) if kept else stage  # type: ignore[arg-type]

        return change

    assert again(read_otherwise(in_part=True)) == [MEANS, PAIRS]
    assert again(read_otherwise(cached_input_bytes=0.0)) == [MEANS, PAIRS]


def test_rows_that_a_task_may_have_made_more_or_fewer_are_not_told() -> None:
    """Words of a line, or lines that pass a filter."""

    def words(stage: StageRun) -> StageRun:
        reads = "textFile" in stage.operations
        made = replace(stage, operations=("flatMap", "textFile"), operation_counts=())
        return made if reads else stage

    assert again(words) == [(None, *MEANS[1:]), (None, *SUMS[1:]), (None, *PAIRS[1:])]


def test_queries_have_plans() -> None:
    assert again(lambda stage: replace(stage, sql_execution_id=1)) == []
