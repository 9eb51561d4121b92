"""Stages that combine the aggregates of many partitions: there from six partitions on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from real_logs import log_pair

from engine.models.replay.replayed_run import Replay
from engine.models.stages.tree_aggregation import (
    COMBINING_TASK,
    NO_TREES,
    TreeAggregations,
    combining_partitions,
)
from engine.stage_run import StageRun

FEW, MORE = log_pair("trees")
"""Logistic regression on four and on twelve files, two slots (Spark 3.5.9)."""


def levels(partitions: int, depth: int = 2) -> list[int]:
    """The loop of `RDD.treeAggregate`: partitions of each combining stage."""
    scale, found = max(math.ceil(partitions ** (1.0 / depth)), 2), list[int]()
    while partitions > scale + math.ceil(partitions / scale):
        partitions //= scale
        found.append(partitions)
    return found


def test_partitions_are_combined_as_spark_does() -> None:
    """A tree of depth 2 never has a second combining stage."""
    for partitions in range(1, 3000):
        combined = combining_partitions(partitions)
        assert levels(partitions) == ([] if combined is None else [combined])


def steps(stages: tuple[StageRun, ...]) -> list[StageRun]:
    return [one for one in stages if one.name.startswith("treeAggregate at RDDLossFunction")]


def test_a_log_of_few_partitions_has_no_combining_stage_and_one_of_more_has() -> None:
    few, more = TreeAggregations.of(FEW.stages), TreeAggregations.of(MORE.stages)
    assert not few.combined
    assert not more.direct
    tree = [index for index, one in enumerate(FEW.stages) if "treeAggregate" in one.operations]
    assert sorted(few.direct) == tree
    assert {MORE.stages[one].tasks for one in more.combined} == {12}
    assert {MORE.stages[one].tasks for one in more.combined.values()} == {3}
    assert all(
        MORE.stages[above].parents == (MORE.stages[one].stage_id,)
        for one, above in more.combined.items()
    )
    of_steps = [one for one in more.combined if MORE.stages[one] in steps(MORE.stages)]
    assert len(steps(MORE.stages)) == 2 * len(of_steps)


def test_more_files_add_a_combining_stage_to_each_step() -> None:
    """The three times larger run spent 0.3 to 0.7 s on each, busy as its machine was; a task before
    it has 0.05 to 0.16 s of overhead, and three tasks take two waves."""
    replay = Replay.of(FEW)
    added = replay.trees.added_seconds([12] * len(FEW.stages), 2)
    assert sorted(added) == sorted(replay.trees.direct)
    of_steps = [added[FEW.stages.index(one)] for one in steps(FEW.stages)]
    assert np.median(of_steps) == pytest.approx(2 * COMBINING_TASK * 0.08, rel=0.2)
    without = replace(replay.with_empty_cache(), graph=replay.graph)
    without.__dict__["trees"] = NO_TREES
    longer = replay.replayed(2, ratio=3.0).seconds - without.replayed(2, ratio=3.0).seconds
    assert longer == pytest.approx(sum(added.values()), rel=0.15)
    three = replay.replayed(2, ratio=3.0)
    driver = without.replayed(2, ratio=3.0).driver_seconds
    assert three.driver_seconds == pytest.approx(driver, rel=0.01), "stages combine, no driver"
    assert replay.replayed(2).seconds == without.replayed(2).seconds


def test_slots_run_combining_tasks_side_by_side() -> None:
    trees = TreeAggregations.of(FEW.stages)
    count, one = [48] * len(FEW.stages), next(iter(trees.direct))
    seconds = trees.direct[one][0]
    assert [trees.added_seconds(count, slots)[one] / seconds for slots in (1, 4, 6, 99)] == [
        6.0,
        2.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize(("slots", "rounds"), [(1, 6.0), (5, 3.0), (12, 1.0)])
def test_combining_tasks_of_two_slots_take_twice_the_rounds(slots: int, rounds: float) -> None:
    """Six of them; of five slots one is left over."""
    stages = [replace(one, task_cpus=2) for one in FEW.stages]
    trees = TreeAggregations.of(stages)
    one = next(iter(trees.direct))
    added = trees.added_seconds([48] * len(stages), slots)[one]
    assert added / trees.direct[one][0] == pytest.approx(rounds)


def test_fewer_files_leave_the_combining_stages_out() -> None:
    replay = Replay.of(MORE)
    fewer = replay.replayed(2, ratio=1.0 / 3.0)
    assert replay.trees.combined
    for one, above in replay.trees.combined.items():
        assert fewer.tasks[one] == 4
        assert fewer.end[above] - fewer.start[above] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("ratio", [0.44, 0.69, 1.0, 1.35, 4.0, 16.0])
def test_combining_stages_follow_the_partitions_before_them(ratio: float) -> None:
    replay = Replay.of(MORE)
    found = replay.replayed(6, ratio=ratio)
    assert replay.trees.combined
    for one, above in replay.trees.combined.items():
        assert found.tasks[one] == pytest.approx(12 * ratio, abs=1)
        assert found.tasks[above] == combining_partitions(found.tasks[one])


def test_a_tree_of_another_depth_stays_as_it_is() -> None:
    """Twelve aggregates that went straight to the driver (depth 1), or through two stages."""
    direct = [
        replace(one, shuffle_write_bytes=None)
        for one in MORE.stages
        if "treeAggregate" in one.operations and not one.parents
    ]
    assert not TreeAggregations.of(direct).direct
    combined = TreeAggregations.of(MORE.stages).combined
    place = next(iter(combined.values()))
    last = replace(MORE.stages[place], stage_id=10_000, parents=(MORE.stages[place].stage_id,))
    found = TreeAggregations.of([*MORE.stages, last])
    assert len(found.combined) == len(combined) - 1
    assert place not in found.combined.values()
    assert not found.direct


def test_overhead_that_is_not_logged_adds_nothing() -> None:
    stages = [replace(one, overhead_seconds=None) for one in FEW.stages]
    assert not TreeAggregations.of(stages).direct
