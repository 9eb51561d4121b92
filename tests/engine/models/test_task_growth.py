"""How the stages of a replay grow with the input: more tasks, or longer ones."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, measure, observed, without_growth

from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.set_up import SET_UP_SECONDS

SHUFFLED = Stage(np.full(10, 4.0), shuffle_bytes=1e9)


def growth_of(stage: Stage, **config: str) -> tuple[Growth, Replay]:
    source = Stage(np.full(20, 1.0), input_bytes=20 * BLOCK)
    child = replace(stage, parents=(0,))
    settings_ = {key.replace("__", "."): value for key, value in config.items()}
    run = observed([source, child], slots=4, config=settings_)
    replay = without_growth(run)
    return replay.models[1].growth, replay


def test_how_stages_grow_with_input() -> None:
    sql = {"sql_execution_id": 1}
    assert growth_of(SHUFFLED)[0] is Growth.WORK
    assert growth_of(replace(SHUFFLED, more=sql))[0] is Growth.COALESCED
    off = {"spark__sql__adaptive__enabled": "false"}
    assert growth_of(replace(SHUFFLED, more=sql), **off)[0] is Growth.WORK
    ten = {"spark__sql__shuffle__partitions": "10"}
    assert growth_of(replace(SHUFFLED, more=sql), **ten)[0] is Growth.COALESCED
    small = replace(SHUFFLED, more=sql, shuffle_bytes=1e7)
    assert growth_of(small, **ten)[0] is Growth.WORK  # they could have been coalesced, and were not
    assert growth_of(Stage(np.full(3, 1.0)))[0] is Growth.NONE


@pytest.mark.parametrize(
    ("version", "reader"),
    [("3.1.1 (Databricks 9.1.x-scala2.12)", "CustomShuffleReader"), (None, "AQEShuffleRead")],
)
def test_a_plan_that_reads_coalesced_partitions_tells_that_adaptive_execution_was_on(
    version: str | None, reader: str
) -> None:
    """Services had it on before Spark 3.2 did, and a log without its beginning has no version."""

    def growth(*operations: str, **config: str) -> Growth:
        more = {"sql_execution_id": 1, "operations": operations}
        source = Stage(np.full(20, 1.0), input_bytes=20 * BLOCK)
        child = replace(SHUFFLED, more=more, parents=(0,))
        settings = {key.replace("__", "."): value for key, value in config.items()}
        run = observed([source, child], slots=4, config=settings)
        return without_growth(replace(run, spark_version=version)).models[1].growth

    assert growth(reader, "Exchange") is Growth.COALESCED
    assert growth("Exchange") is Growth.WORK
    for off in ("enabled", "coalescePartitions__enabled"):
        assert growth(reader, **{f"spark__sql__adaptive__{off}": "false"}) is Growth.WORK


def test_a_cache_with_as_many_partitions_as_the_input_follows_it() -> None:
    for partitions, more in ((20, 60), (7, 7)):
        read = measure(np.full(partitions, 5.0))
        cached = {"input_bytes": read, "cached_input_bytes": read.total}
        growth, replay = growth_of(Stage(np.full(partitions, 1.0), more=cached))
        assert growth is Growth.WORK
        assert replay.replayed(4, ratio=3.0).tasks == (60, more)


@pytest.mark.parametrize("scan", ["BatchScan orders", "JDBCRDD"])
def test_a_source_whose_bytes_nobody_counts_is_an_input_like_others(scan: str) -> None:
    """Beside files that are counted it had stayed as it was, whatever the input."""
    told = {"input_records": 4e5, "operations": ("Exchange", scan)}
    growth, replay = growth_of(Stage(np.full(8, 2.0), more=told))
    assert growth is Growth.WORK
    assert replay.replayed(4, ratio=3.0).tasks[1] == 8
    taken = growth_of(Stage(np.full(1, 2.0), more=told | {"in_part": True}))[0]
    numbers = growth_of(Stage(np.full(8, 2.0), more=told | {"operations": ("Range",)}))[0]
    assert taken is numbers is Growth.NONE


@pytest.mark.parametrize(
    ("shuffle_bytes", "tasks"),
    [(1e9, {3.0: 30, 8.0: 40, 50.0: 40}), (5.7e8, {1.8: 20, 8.0: 40})],
    ids=["fewer than fill the advisory size", "as many as fill it"],
)
def test_coalesced_partitions_multiply_up_to_the_configured_number(
    shuffle_bytes: float, tasks: dict[float, int]
) -> None:
    """Of 0.57 GB four of 14 MB each are joined to 64 MiB, two of 1.8 times that, and none of eight
    times."""
    sql = {"sql_execution_id": 1}
    limit = {"spark__sql__shuffle__partitions": "40"}
    _, replay = growth_of(replace(SHUFFLED, shuffle_bytes=shuffle_bytes, more=sql), **limit)
    for ratio, expected in tasks.items():
        assert replay.replayed(4, ratio=ratio).tasks[1] == expected
    own = replay.replayed(1, ratio=8.0)
    growing = 10 * (4.0 - SET_UP_SECONDS)
    assert own.end[1] - own.start[1] == pytest.approx(8 * growing + 40 * SET_UP_SECONDS, rel=1e-6)


def test_more_shuffle_partitions_spread_the_same_work() -> None:
    overhead = {"overhead_seconds": measure(np.full(10, 1.0))}
    _, replay = growth_of(replace(SHUFFLED, more=overhead))
    found = replay.replayed(4, shuffle_partitions=40)
    assert found.tasks == (20, 40)
    own = replay.replayed(1, shuffle_partitions=40)
    fixed = 1.0 + SET_UP_SECONDS
    assert own.end[1] - own.start[1] == pytest.approx(10 * (4.0 - fixed) + 40 * fixed)


@pytest.mark.parametrize(("tasks", "expected"), [(1, 1), (2, 40)])
def test_a_single_task_is_no_number_of_shuffle_partitions(tasks: int, expected: int) -> None:
    """What a query brings together in one task, it does with any number of partitions."""
    _, replay = growth_of(Stage(np.full(tasks, 4.0), shuffle_bytes=1e9))
    assert replay.replayed(4, shuffle_partitions=40).tasks == (20, expected)


def test_a_small_input_fills_its_partitions_first() -> None:
    """Two splits of 8 MiB each: ten times the input still fits two of 128 MiB; a hundred times
    needs 13."""
    source = Stage(np.full(2, 1.0), input_bytes=2 * BLOCK / 16)
    replay = without_growth(observed([source], slots=2))
    assert replay.replayed(2, ratio=10.0).tasks == (2,)
    fixed = 2 * SET_UP_SECONDS
    assert replay.replayed(1, ratio=10.0).seconds == pytest.approx(fixed + 10.0 * (2.0 - fixed))
    assert replay.replayed(2, ratio=100.0).tasks == (13,)


@pytest.mark.parametrize(
    ("tasks", "config", "expected"),
    [(20, {}, 60), (10, {}, 10), (20, {"spark.default.parallelism": "20"}, 20)],
)
def test_shuffles_of_no_stated_size_follow_their_input(
    tasks: int, config: dict[str, str], expected: int
) -> None:
    stages = [
        Stage(np.full(20, 1.0), input_bytes=20 * BLOCK),
        Stage(np.full(tasks, 1.0), (0,), shuffle_bytes=1e9),
    ]
    replay = without_growth(observed(stages, slots=4, config=config))
    assert replay.replayed(4, ratio=3.0).tasks == (60, expected)
