"""ALS of MLlib over RDDs, whose program names no number of blocks (Spark 3.5.9)."""

from dataclasses import replace

import numpy as np
import pytest
from real_logs import log_pair, logged, tasks_of

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.partitioning.factor_blocks import BLOCKS_OF_QUERIES
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

FEW, MORE, WIDE = *log_pair("factors"), logged("factors_wide")
"""Ratings in four files on two slots, in twelve on three, and in four on five: as many blocks as
cores, half as many as files, and as many as cores again."""

BLOCKS = ("count at ALS.scala", "flatMap at ALS.scala")
"""Beginnings of the names of the stages that have a task for each block."""


RATINGS = ("mapPartitions at ALS.scala", "map at ALS.scala")
"""Beginnings of the names of the stages that have a task for each partition of ratings."""


def blocks_of(run: Run) -> list[int]:
    return [stage.tasks for stage in run.stages if stage.name.startswith(BLOCKS)]


def at_blocks(run: Run) -> list[int]:
    """Places of the stages that have a task for each block."""
    return [at for at, stage in enumerate(run.stages) if stage.name.startswith(BLOCKS)]


def at_ratings(run: Run) -> list[int]:
    """Places of the stages that have a task for each partition of ratings."""
    return [at for at, stage in enumerate(run.stages) if stage.name.startswith(RATINGS)]


def test_the_logs_have_the_blocks_of_the_rule() -> None:
    assert [set(blocks_of(run)) for run in (FEW, MORE, WIDE)] == [{2}, {6}, {5}]


@pytest.mark.parametrize(
    ("log", "other", "ratio"),
    [
        (FEW, MORE, 3.0), (FEW, WIDE, 1.0), (MORE, FEW, 1.0 / 3.0),
        (MORE, WIDE, 1.0 / 3.0), (WIDE, FEW, 1.0), (WIDE, MORE, 3.0),
    ],
)  # fmt: skip
def test_each_log_predicts_the_tasks_of_the_others(log: Run, other: Run, ratio: float) -> None:
    observed = [stage.tasks for stage in other.stages]
    assert tasks_of(log, other.cluster.slots, ratio) == observed


def test_single_stages_count_as_arrays_do() -> None:
    models = stage_models(FEW, 2)
    for slots, ratio in ((1, 1.0), (2, 0.3), (7, 1.0), (40, 20.0), (2, 9.0)):
        tasks = [model.scaled(ratio, None, slots).tasks for model in models]
        assert tasks == tasks_of(FEW, slots, ratio)


def test_a_number_that_the_program_names_stays() -> None:
    """Three blocks on two cores are none of the rule; nor are ten, which queries take."""
    for blocks, cores in ((3, 2), (BLOCKS_OF_QUERIES, BLOCKS_OF_QUERIES)):
        named = [
            replace(stage, tasks=blocks) if stage.name.startswith(BLOCKS) else stage
            for stage in FEW.stages
        ]
        models = stage_models(replace(FEW, stages=tuple(named)), cores)
        counts = [
            model.scaled(6.0, None, 40).tasks
            for model in models
            if model.stage.name.startswith(BLOCKS)
        ]
        assert set(counts) == {blocks}


def test_blocks_follow_ratings_whose_splits_may_stay() -> None:
    """Ten times the ratings in four splits still: Spark makes a block for each core, or two."""
    ratings, blocks = at_ratings(FEW), at_blocks(FEW)
    others = [one.replayed(2, ratio=10.0).tasks for one in alternatives_of(Replay.of(FEW))]
    stayed = [tasks for tasks in others if {tasks[place] for place in ratings} == {4}]
    assert stayed
    for tasks in stayed:
        assert {tasks[place] for place in blocks} == {2}


def taught(run: Run, blocks: int) -> tuple[int, ...]:
    """Tasks on 16 slots at nine times the input, if three times the input on as many slots as in
    the log had as many partitions of ratings, and so many blocks."""
    size = 3.0 * (run.workload.input_bytes or 0.0)
    stages = (
        replace(stage, tasks=blocks) if place in at_blocks(run) else stage
        for place, stage in enumerate(run.stages)
    )
    workload = replace(run.workload, input_bytes=size)
    replay, larger = (
        Replay.of(one) for one in (run, replace(run, workload=workload, stages=tuple(stages)))
    )
    told = with_laws(replay, [(pair_fit(replay, larger), 1.0)])
    tasks = told.replayed(16, ratio=9.0).tasks
    assert {tasks[place] for place in at_ratings(run)} == {4}
    return tuple({tasks[place] for place in at_blocks(run)})


def test_blocks_follow_the_cores_where_another_log_shows_that_ratings_stay() -> None:
    """By the rule from what is learnt of the ratings, the larger log has two blocks on two cores.
    Six would be none of the rule: they grow in proportion then, whatever the cores."""
    assert taught(FEW, 2) == (16,)
    assert taught(FEW, 6) == (18,)


def test_blocks_as_many_as_cores_may_be_a_number_that_the_program_names() -> None:
    """Two on two cores may be that, unless another log has as many as the rule gives there too. Six
    on three cores are half the partitions of the ratings, and a configured number is no core's."""
    blocks = at_blocks(FEW)

    def doubted(replay: Replay) -> set[bool]:
        return {replay.models[place].per_core_by_coincidence for place in blocks}

    few = Replay.of(FEW)
    assert [doubted(Replay.of(run)) for run in (FEW, MORE, WIDE)] == [{True}, {False}, {True}]
    for other in (MORE, WIDE):
        assert doubted(with_laws(few, [(pair_fit(few, Replay.of(other)), 1.0)])) == {False}
    assert doubted(with_laws(few, [(pair_fit(few, few), 1.0)])) == {True}
    explicit = replace(FEW, config={**FEW.config, "spark.default.parallelism": "2"})
    assert doubted(Replay.of(explicit)) == {False}


def test_blocks_that_may_stay_leave_open_what_more_cores_gain() -> None:
    """Sixteen cores have no use for two blocks; five are used where two logs show that there are
    more."""
    few, slots = Replay.of(FEW), np.asarray([2.0, 5.0, 16.0])
    together = with_laws(few, [(pair_fit(few, Replay.of(WIDE)), 1.0)])
    alone, known = (
        one.stages_by_slots.at(1.0).log_gain_of_core_partitions(slots) for one in (few, together)
    )
    assert known.tolist() == [0.0, 0.0, 0.0]
    assert alone[0] == 0.0
    assert alone[2] > alone[1] > 0.3


def test_a_configured_parallelism_counts_for_the_cores() -> None:
    explicit = replace(FEW, config={**FEW.config, "spark.default.parallelism": "2"})
    tasks = tasks_of(explicit, 40, 1.0)
    names = [stage.name for stage in FEW.stages]
    blocks = {n for n, name in zip(tasks, names, strict=True) if name.startswith(BLOCKS)}
    assert blocks == {2}
    assert max(tasks_of(explicit, 40, 6.0)) == 24
