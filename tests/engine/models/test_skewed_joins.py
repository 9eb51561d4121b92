"""Joins that adaptive execution splits for skew, at other inputs and on other slots."""

from dataclasses import replace

import pytest
from real_logs import log_pair, tasks_of

from engine.profile import Run
from engine.stage_run import StageRun

FEW, MORE = log_pair("skewed")
"""Rows of four files on two slots, and of 24 on four, of which three in ten have one key, joined
twice (Spark 3.5.9): the first is split in both logs, the second in the larger one alone."""


def joins(run: Run) -> list[StageRun]:
    return [stage for stage in run.stages if len(stage.parents) == 2]


@pytest.mark.parametrize(
    ("log", "other", "ratio"),
    [(FEW, FEW, 1.0), (FEW, MORE, 6.0), (MORE, FEW, 1.0 / 6.0), (MORE, MORE, 1.0)],
)
def test_joins_have_the_observed_tasks(log: Run, other: Run, ratio: float) -> None:
    """More than configured, 24, in both logs, and in the larger one alone."""
    assert [stage.tasks > 24 for stage in joins(log)] == [True, log is MORE]
    seen = [stage.tasks for stage in joins(other)]
    assert tasks_of(log, other.cluster.slots, ratio, joins(log)) == seen


def test_a_partition_has_no_more_pieces_than_map_outputs() -> None:
    """A thousand times the data in pieces of a target that grows as much."""
    few = tasks_of(FEW, 2, 1_000.0, joins(FEW))
    assert all(tasks <= 23 + 4_000 for tasks in few)
    assert min(few) > 24


def test_what_is_not_read_again_is_not_split() -> None:
    """More tasks than configured that read each byte once: the query asked for them, and they
    stay."""
    join = joins(FEW)[0]
    sides = [stage for stage in FEW.stages if stage.stage_id in join.parents]
    wrote = sum(stage.shuffle_write_bytes.total for stage in sides)
    read_once = replace(join.shuffle_read_bytes, total=wrote)
    asked = replace(join, shuffle_read_bytes=read_once)
    run = replace(FEW, stages=tuple(asked if one is join else one for one in FEW.stages))
    assert tasks_of(run, 2, 6.0, joins(run))[0] == join.tasks
