"""Rows that Spark rebalances before it writes them, at other inputs and on other slots."""

from dataclasses import replace

import pytest
from real_logs import log_pair, tasks_of

from engine.profile import Run
from engine.stage_run import StageRun

FEW, MORE = log_pair("rebalanced")
"""Rows of four files on two slots, and of 24 on four, rebalanced in turn, by a key that three in
ten have, and by one of four values (Spark 3.5.9)."""


def readers(run: Run) -> list[StageRun]:
    return [stage for stage in run.stages if stage.rebalanced]


def test_the_log_tells_which_rows_are_rebalanced() -> None:
    assert [len(readers(run)) for run in (FEW, MORE)] == [3, 3]
    assert all(stage.parents for stage in readers(FEW))


@pytest.mark.parametrize(
    ("log", "other", "ratio", "tasks"),
    [
        (FEW, FEW, 1.0, [24, 16, 16]), (FEW, MORE, 6.0, [120, 96, 96]),
        (MORE, FEW, 1.0 / 6.0, [24, 24, 24]), (MORE, MORE, 1.0, [120, 98, 96]),
    ],
)  # fmt: skip
def test_they_are_cut_to_the_advisory_size(
    log: Run, other: Run, ratio: float, tasks: list[int]
) -> None:
    """Spark had 120, 98, 96 and 24, 16, 16. Of four values and 24 map tasks in 24 partitions, 96
    tasks, nothing tells whether each value has 24 of them or each partition four."""
    assert [stage.tasks for stage in readers(MORE)] == [120, 98, 96]
    assert [stage.tasks for stage in readers(FEW)] == [24, 16, 16]
    assert tasks_of(log, other.cluster.slots, ratio, readers(log)) == tasks


def test_tasks_beyond_the_advisory_size_are_what_one_map_task_wrote() -> None:
    """No less can be read: of four map tasks and 16 tasks of two and a half times the bytes, four
    partitions hold rows, so that 24 map tasks make 96 tasks, two make eight and one makes four."""
    stages = [larger(stage) if stage.rebalanced else stage for stage in FEW.stages]
    run = replace(FEW, stages=tuple(stages))
    assert tasks_of(run, 2, 1.0, readers(run)) == [24, 16, 16]
    assert tasks_of(run, 4, 6.0, readers(run)) == [144, 96, 96]
    assert tasks_of(run, 2, 0.5, readers(run)) == [12, 8, 8]
    assert tasks_of(run, 2, 0.2, readers(run)) == [6, 4, 4]


def larger(stage: StageRun) -> StageRun:
    read_bytes = stage.shuffle_read_bytes
    assert read_bytes is not None
    return replace(stage, shuffle_read_bytes=replace(read_bytes, total=2.5 * read_bytes.total))


def test_where_they_are_not_cut_a_hot_partition_stays_whole() -> None:
    """With the setting that leaves partitions as they are no more tasks than are configured."""
    off = {"spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "false"}
    run = replace(FEW, config={**FEW.config, **off})
    assert max(tasks_of(run, 2, 1_000.0, readers(run))) == 24
    assert min(tasks_of(FEW, 2, 1_000.0, readers(FEW))) > 24


def test_pieces_that_spark_calls_small_join_those_before_them() -> None:
    """Twice the bytes make outputs of two thirds of the advisory size: each is a piece, or below
    the configured share of it all of them are one."""
    factor = {"spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor": "0.95"}
    run = replace(FEW, config={**FEW.config, **factor})
    assert tasks_of(FEW, 2, 2.0, readers(FEW)) == [48, 48, 48]
    assert tasks_of(run, 2, 2.0, readers(run)) == [24, 24, 24]
