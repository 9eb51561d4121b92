"""The job of `zipWithIndex`: all partitions of an RDD but the last."""

import math
from dataclasses import replace

import numpy as np
import pytest
from real_logs import log_pair

from engine.models.replay.priors import size_ratio
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.partitioning.indexed_rows import leaves_out_last
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

FEW, MORE = log_pair("rdds")
"""Text in four files on two slots, and in twelve on four (Spark 3.5.9)."""

OF_FILES, OF_SHUFFLE, KEPT, OF_CACHE, READS_CACHE, NUMBERED, MADE = 0, 3, 6, 7, 8, 10, 12
"""Ids of the stages that count rows of files, of a shuffle, of a cache (which `KEPT` stores, and
`READS_CACHE` reads too) and of a collection, and of the one that shuffles numbered rows."""

BEFORE_JOINS = range(20)
"""Ids of the stages before the joins, whose two inputs run in either order."""


def tasks_of(run: Run) -> dict[int, int]:
    return {stage.stage_id: stage.tasks for stage in run.stages if stage.stage_id in BEFORE_JOINS}


def predicted(run: Run, slots: int, ratio: float) -> dict[int, int]:
    tasks = Replay.of(run).replayed(slots, ratio=ratio).tasks
    every = zip((stage.stage_id for stage in run.stages), tasks, strict=True)
    return {stage_id: number for stage_id, number in every if stage_id in BEFORE_JOINS}


@pytest.mark.parametrize(("log", "other", "ratio"), [(FEW, MORE, 3.0), (MORE, FEW, 1.0 / 3.0)])
def test_every_stage_has_the_observed_tasks(log: Run, other: Run, ratio: float) -> None:
    assert other.cluster.slots is not None
    assert predicted(log, other.cluster.slots, ratio) == tasks_of(other)
    assert [tasks_of(MORE)[one] for one in (OF_FILES, OF_SHUFFLE, OF_CACHE)] == [11, 11, 11]


def test_arrays_of_stages_count_as_single_stages_do() -> None:
    """On a machine of any size, also where the rows of a collection are divided for its cores."""
    models, replay = stage_models(FEW, 2), Replay.of(FEW)
    for slots, ratio in ((1, 1.0), (2, 0.3), (7, 3.0), (40, 20.0)):
        counts = replay.replayed(slots, ratio=ratio).tasks
        for model, tasks in zip(models, counts, strict=True):
            assert model.scaled(ratio, None, slots).tasks == tasks


@pytest.mark.parametrize("stage_id", [OF_FILES, OF_SHUFFLE, OF_CACHE])
def test_the_share_that_is_counted_grows(stage_id: int) -> None:
    """Three quarters of four partitions, eleven twelfths of twelve, and none of one."""
    model = next(one for one in stage_models(FEW, 2) if one.stage.stage_id == stage_id)
    counted = 3.0 * (11.0 / 12.0) / (3.0 / 4.0)
    assert model.prior_work_growth(3.0, 1.0) == pytest.approx(counted)
    whole = model.scaled(3.0, None)
    assert whole.tasks * whole.work == pytest.approx(3 * counted)
    assert model.prior_work_growth(0.25, 1.0) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("stage_id", [OF_FILES, OF_CACHE])
def test_partitions_that_are_counted_keep_their_size(stage_id: int) -> None:
    """Three times the files are three times the partitions, each as large as before. What another
    log shows of the bytes is true of those that are counted."""
    model = next(one for one in stage_models(FEW, 2) if one.stage.stage_id == stage_id)
    tasks, data = model.largest_task_bytes(3.0, None, np.array([2.0, 4.0]))
    assert tasks.tolist() == [11.0, 11.0]
    assert data == pytest.approx([1.0, 1.0])
    told = replace(model, law=replace(model.law, data_power=1.0))
    assert told.largest_task_bytes(3.0, None, np.array([2.0]))[1] == pytest.approx(9.0 / 11.0)


def test_numbered_rows_are_all_shuffled() -> None:
    models = {one.stage.stage_id: one for one in stage_models(FEW, 2)}
    assert models[NUMBERED].stage.name.startswith("zipWithIndex")
    assert not leaves_out_last(models[NUMBERED].stage)
    assert models[NUMBERED].prior_work_growth(3.0, 1.0) == 3.0
    assert models[MADE].scaled(3.0, None, 4).tasks == 3


def test_a_power_of_partitions_counts_the_one_that_is_left_out() -> None:
    """Another log of a program that reads eight partitions where the rule would give twelve: three
    and seven tasks are four and eight partitions."""
    stages = (
        replace(stage, tasks=7) if stage.stage_id == OF_FILES else stage for stage in MORE.stages
    )
    few, other = Replay.of(FEW), Replay.of(replace(MORE, stages=tuple(stages)))
    told = with_laws(few, [(pair_fit(few, other), 1.0)])
    model = next(one for one in told.models if one.stage.stage_id == OF_FILES)
    ratio = size_ratio(other.run.workload, FEW)
    power = model.law.partition_power
    assert power == pytest.approx(math.log(8 / 4) / math.log(ratio))
    assert [model.scaled(at, None).tasks for at in (1.0, ratio, ratio**2)] == [3, 7, 15]


def test_a_cache_of_unknown_maker_has_the_partitions_that_were_read_not_the_tasks() -> None:
    """Three tasks of `zipWithIndex` read four partitions: a cache of four is theirs, one of three
    is not."""
    stages = {stage.stage_id: stage for stage in FEW.stages}
    for tasks, expected in ((4, [4, 12]), (3, [3, 3])):
        reads = replace(stages[READS_CACHE], stored_by=None, tasks=tasks)
        models = stage_models(replace(FEW, stages=(stages[OF_FILES], reads)), 2)
        assert [models[1].scaled(ratio, None).tasks for ratio in (1.0, 3.0)] == expected


def test_in_python_all_partitions_are_counted() -> None:
    """`RDD.zipWithIndex` of PySpark counts them by a job of its own, which has the same name."""
    counts = next(stage for stage in FEW.stages if stage.stage_id == OF_FILES)
    python = replace(counts, operations=("PythonRDD", "textFile"), tasks=4)
    assert leaves_out_last(counts)
    assert not leaves_out_last(python)
    model = stage_models(replace(FEW, stages=(python,)), 2)[0]
    assert [model.scaled(ratio, None).tasks for ratio in (0.5, 1.0, 3.0)] == [2, 4, 12]
