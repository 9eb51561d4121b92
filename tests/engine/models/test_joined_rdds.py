"""Joins of RDDs in unlike numbers of partitions (`Partitioner.defaultPartitioner` of Spark)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_logs import log_pair

from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.joined_partitions import JoinedPartitions, drops_partitioner
from engine.models.stages.partitioning.joined_rdds import joined_inputs
from engine.models.stages.partitioning.partitions import PartitionsPerCore
from engine.models.stages.stage_models import stage_models
from engine.models.stages.stage_references import MOST_WRITERS
from engine.profile import Run

FEW, MORE = log_pair("rdds")
"""Text in four files on two slots, and in twelve on four (Spark 3.5.9)."""

WITH_COLLECTION, WITH_SUMS, WITH_ROWS = 22, 29, 33
"""Ids of the joins: of sums in a partition for each file with a collection in eight; of rows in
five partitions with such sums, and with rows that were not shuffled by key."""

SUMS, ROWS = 27, 32
"""Ids of the stages of the sums that are joined with rows in five partitions, and of the rows of
files that are so."""

TASKS = {WITH_COLLECTION: (4, 12), WITH_SUMS: (5, 12), WITH_ROWS: (5, 5)}
"""Tasks of each in the smaller and in the larger log."""


@pytest.mark.parametrize(
    ("log", "slots", "ratio", "place"), [(FEW, 4, 3.0, 1), (MORE, 2, 1.0 / 3.0, 0)]
)
def test_a_join_has_the_partitions_of_its_largest_input(
    log: Run, slots: int, ratio: float, place: int
) -> None:
    models = {model.stage.stage_id: model for model in stage_models(log, log.cluster.slots or 1)}
    tasks = {join: models[join].scaled(ratio, None, slots).tasks for join in TASKS}
    assert tasks == {join: observed[place] for join, observed in TASKS.items()}
    together = Replay.of(log).replayed(slots, ratio=ratio).tasks
    by_id = dict(zip(models, together, strict=True))
    assert {join: by_id[join] for join in TASKS} == tasks


FOUR, SIXTY = log_pair("outnumbered")
"""Text in four files and in sixty on two slots, of which sums in five partitions are joined with
rows (two joins, the second of sums that are kept) and with other sums."""

OF_FOUR, OF_SIXTY = (2, 7, 11), (3, 9, 13)
"""Ids of these joins in either log."""


@pytest.mark.parametrize(
    ("log", "joins", "ratio", "tasks"),
    [
        (FOUR, OF_FOUR, 1.0, [5, 5, 5]),
        (FOUR, OF_FOUR, 12.0, [5, 5, 48]),
        (FOUR, OF_FOUR, 15.0, [60, 60, 60]),
        (SIXTY, OF_SIXTY, 1.0, [60, 60, 60]),
        (SIXTY, OF_SIXTY, 1.0 / 15.0, [5, 5, 5]),
    ],
)
def test_a_join_has_the_partitions_of_an_input_that_has_ten_times_as_many(
    log: Run, joins: tuple[int, ...], ratio: float, tasks: list[int]
) -> None:
    """Of 60 files to 5 partitions with a partitioner. Sums of rows have one of their own, so that
    the more of both count."""
    models = {model.stage.stage_id: model for model in stage_models(log, 2)}
    assert [models[join].scaled(ratio, None).tasks for join in joins] == tasks


def test_a_number_that_the_program_sets_stays() -> None:
    """`join(other, 7)` has none of its inputs' numbers; `spark.default.parallelism` sets that of
    all joins."""
    stages = {stage.stage_id: stage for stage in FEW.stages}
    models = {model.stage.stage_id: model for model in stage_models(FEW, 2)}
    assert joined_inputs(stages[WITH_SUMS], models)
    assert not joined_inputs(replace(stages[WITH_SUMS], tasks=7), models)
    assert not joined_inputs(replace(stages[WITH_SUMS], sql_execution_id=1), models)
    explicit = replace(FEW, config={**FEW.config, "spark.default.parallelism": "5"})
    join = next(m for m in stage_models(explicit, 2) if m.stage.stage_id == WITH_SUMS)
    assert join.scaled(3.0, None).tasks == 5


def with_changed(run: Run, changes: dict[int, dict[str, Any]]) -> Run:
    """A run of which the stages of these ids are changed."""
    stages = (replace(one, **changes.get(one.stage_id, {})) for one in run.stages)
    return replace(run, stages=tuple(stages))


def test_the_number_of_an_input_stays_if_the_rule_gives_that_of_a_larger_one() -> None:
    """`join(other, 5)` of rows in five partitions with sums in eight: the rule would make eight."""
    run = with_changed(FEW, {SUMS: {"tasks": 8}})
    joins = {
        (slots, ratio): dict(zip((s.stage_id for s in run.stages), counts, strict=True))[WITH_SUMS]
        for slots, ratio in ((2, 1.0), (2, 3.0), (40, 20.0))
        for counts in (Replay.of(run).replayed(slots, ratio=ratio).tasks,)
    }
    assert set(joins.values()) == {5}


def test_an_input_without_a_partitioner_counts_from_ten_times_the_partitions_of_one_with_it() -> (
    None
):
    """Rows of files that are joined with sums in half, or in a tenth, as many partitions: only from
    ten times as many on, or one more, Spark drops the partitioner of the sums. Otherwise the
    program set the number of the join."""
    cases = ((4, 2, False), (29, 3, False), (30, 3, True), (40, 4, False), (41, 4, True))
    for files, sums, follows in cases:
        join = {"tasks": files, "stored_by": None, "operations": ("join",), "operation_counts": ()}
        changes = {SUMS: {"tasks": sums}, ROWS: {"tasks": files}}
        run = with_changed(FEW, {**changes, WITH_ROWS: {**join, "parents": (SUMS, ROWS)}})
        models = {model.stage.stage_id: model for model in stage_models(run, 2)}
        stages = {stage.stage_id: stage for stage in run.stages}
        assert bool(joined_inputs(stages[WITH_ROWS], models)) == follows


KEPT, DROPPED = (4, 5, 11, 12, 16, 46, 52, 90, 92, 98), (1, 2, 3, 6, 9, 10, 13, 20, 81, 99)
"""Partitions that `Partitioner.defaultPartitioner` of Spark 3.5.9 kept, and dropped, beside an
input of exactly ten times as many (Java 17 on x86)."""


def test_of_ten_times_the_partitions_the_rounding_of_logarithms_decides() -> None:
    for some, drops in ((KEPT, False), (DROPPED, True)):
        keyed = np.asarray(some, dtype=float)
        assert (drops_partitioner(10.0 * keyed, keyed) == drops).all()
        assert [bool(drops_partitioner(10 * one, one)) for one in some] == [drops] * len(some)
        assert not drops_partitioner(10.0 * keyed - 1.0, keyed).any()
        assert drops_partitioner(10.0 * keyed + 1.0, keyed).all()
    assert drops_partitioner(np.asarray([0.0, 1.0]), 0.0).tolist() == [False, True]


def test_a_join_keeps_the_partitioner_beside_ten_times_its_partitions() -> None:
    """Sums in five partitions beside fifty files, and beside 51."""
    model = next(one for one in stage_models(FOUR, 2) if one.stage.stage_id == OF_FOUR[0])
    assert [model.scaled(ratio, None).tasks for ratio in (12.5, 12.75)] == [5, 51]
    rule = JoinedPartitions(
        PartitionsPerCore.constant(np.array([5.0, 6.0])), PartitionsPerCore.constant(60.0)
    )
    assert rule.count(np.asarray(72.0), 1.0).tolist() == [60.0, 60.0]
    rule = replace(rule, others=PartitionsPerCore.constant(np.array([50.0, 60.0])))
    assert rule.count(np.asarray(72.0), 1.0).tolist() == [5.0, 60.0]


def test_first_rows_of_a_join_take_no_more_tasks_with_more_data() -> None:
    """`join(...).first()` runs one partition, of inputs of which one has a single one."""
    first: dict[str, Any] = {"tasks": 1, "in_part": True, "stored_by": None}
    first.update(operations=("join",), operation_counts=())
    run = with_changed(FEW, {SUMS: {"tasks": 1}, WITH_SUMS: first})
    model = next(one for one in stage_models(run, 2) if one.stage.stage_id == WITH_SUMS)
    assert [model.scaled(ratio, None).tasks for ratio in (1.0, 3.0, 20.0)] == [1, 1, 1]


def test_a_collection_in_more_partitions_is_outgrown() -> None:
    """Rows of four files that are joined with eight partitions: eight, and then one for each of
    twelve files."""
    join = next(stage for stage in FEW.stages if stage.stage_id == WITH_COLLECTION)
    joined = replace(join, tasks=8, operations=("join",))
    stages = [joined if stage is join else stage for stage in FEW.stages]
    models = stage_models(replace(FEW, stages=tuple(stages)), 2)
    model = next(one for one in models if one.stage.stage_id == WITH_COLLECTION)
    assert [model.scaled(ratio, None).tasks for ratio in (0.25, 1.0, 2.5, 3.0)] == [8, 8, 10, 12]


def test_a_long_chain_of_joins_is_followed_in_parts() -> None:
    """Each iteration may add a join, of which each is evaluated again for those after it."""
    join = next(stage for stage in FEW.stages if stage.stage_id == WITH_SUMS)
    sums = next(stage for stage in FEW.stages if stage.stage_id == 2)
    keyed = replace(
        sums, stage_id=1, operations=("reduceByKey",), operation_counts=(),
        shuffle_read_bytes=join.shuffle_read_bytes,
    )  # fmt: skip
    chain = [replace(sums, tasks=5)]
    for number in range(3, 2000):
        inputs = chain[-1].stage_id, keyed.stage_id
        chain.append(replace(join, stage_id=number, parents=inputs, stored_by=None))
    run = replace(FEW, stages=(keyed, *chain))
    depth = dict[int, int]()
    for model in stage_models(run, 2):
        inputs = [depth[one.stage.stage_id] for one in model.input_stages if one is not None]
        depth[model.stage.stage_id] = 1 + max(inputs) if inputs else 0
    assert max(depth.values()) == MOST_WRITERS


def test_joins_count_as_arrays() -> None:
    """Of five and of fifty partitions that have a partitioner, beside one for each of 72 cores."""
    rule = JoinedPartitions(
        PartitionsPerCore.constant(np.array([5.0, 50.0])),
        PartitionsPerCore(2.0, 1.0, 0.0, 99.0, 0.0, 99.0),
    )
    assert rule.count(np.asarray(72.0), 1.0).tolist() == [72.0, 50.0]
