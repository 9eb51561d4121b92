"""Rows that Spark rebalances before it writes them, at other inputs and on other slots."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import read
from engine.models.replay.replayed_run import Replay
from engine.profile import Run
from engine.stage_run import StageRun

DATA = Path(__file__).parents[2] / "data"
FEW, MORE = (read(DATA / name).runs[0] for name in ("rebalanced.zstd", "rebalanced_more.zstd"))
"""Rows of four files on two slots, and of 24 on four, rebalanced in turn, by a key that three in
ten have, and by one of four values (Spark 3.5.9)."""


def readers(run: Run) -> list[StageRun]:
    return [stage for stage in run.stages if stage.rebalanced]


def tasks_of(run: Run, slots: int | None, ratio: float) -> list[int]:
    assert slots is not None
    tasks = Replay.of(run).replayed(slots, ratio=ratio).tasks
    return [int(tasks[run.stages.index(stage)]) for stage in readers(run)]


def test_the_log_tells_which_rows_are_rebalanced() -> None:
    assert [len(readers(run)) for run in (FEW, MORE)] == [3, 3]
    assert all(stage.parents for stage in readers(FEW))


@pytest.mark.parametrize(
    ("log", "other", "ratio", "off"), [(FEW, MORE, 6.0, 0.05), (MORE, FEW, 1.0 / 6.0, 0.5)]
)
def test_they_are_cut_to_the_advisory_size(log: Run, other: Run, ratio: float, off: float) -> None:
    """Of four values and 24 map tasks in 24 partitions, 96 tasks, nothing tells whether each value
    has 24 of them or each partition four."""
    found = tasks_of(log, other.cluster.slots, ratio)
    assert found == pytest.approx([stage.tasks for stage in readers(other)], rel=off)


def test_the_logs_own_tasks_stay() -> None:
    for run in (FEW, MORE):
        assert tasks_of(run, run.cluster.slots, 1.0) == [stage.tasks for stage in readers(run)]


def test_where_they_are_not_cut_a_hot_partition_stays_whole() -> None:
    """With the setting that leaves partitions as they are no more tasks than are configured."""
    off = {"spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "false"}
    run = replace(FEW, config={**FEW.config, **off})
    assert max(tasks_of(run, 2, 1_000.0)) == 24
    assert min(tasks_of(FEW, 2, 1_000.0)) > 24
