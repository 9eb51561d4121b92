"""Shuffles by keys of few values, whose tasks are too full or too empty for even partitions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from real_logs import log_pair

from engine.forecast import FloatArray
from engine.models.stages.partitioning.filled_partitions import FEW_SHARE, filled_partitions
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure, StageRun
from engine.units import MIB

FEW, MORE = log_pair("few_keys")
BY_REGION, REGIONS = 2, 5
TARGET, INITIAL = 64.0, 200.0
BY_SIZE = PartitioningSettings(2, min_coalesced_partitions=1)


def stage_of(run: Run, stage_id: int) -> StageRun:
    return next(stage for stage in run.stages if stage.stage_id == stage_id)


def joined(sizes: Sequence[float] | FloatArray, target: float = TARGET) -> list[float]:
    """MiB of the tasks of `ShufflePartitionsUtil.coalescePartitions` for partitions of so many,
    which the driver knows in steps of a tenth, rounded up, and for a target of so many."""
    tasks, reported = [0.0], 0.0
    for size in sizes:
        known = 1.1 ** np.ceil(np.log(size * MIB) / np.log(1.1)) / MIB
        if reported and reported >= 1.0 and reported + known > target:
            tasks, reported = [*tasks, 0.0], 0.0
        tasks[-1] += size
        reported += known
    return tasks


def filled(
    sizes: Sequence[float] | FloatArray,
    target: float = TARGET,
    settings: PartitioningSettings = BY_SIZE,
) -> float | None:
    """The estimate for a shuffle of partitions of so many MiB, joined up to a target of so many."""
    tasks = sorted(size * MIB for size in joined(sizes, target))
    read_bytes = Measure(len(tasks), sum(tasks), tuple(np.quantile(tasks, np.linspace(0, 1, 11))))
    known = stage_of(FEW, BY_REGION)
    return filled_partitions(
        replace(known, tasks=len(tasks), shuffle_read_bytes=read_bytes), INITIAL, settings
    )


@pytest.mark.parametrize(("run", "other", "ratio"), [(FEW, MORE, 3.0), (MORE, FEW, 1.0 / 3.0)])
def test_rows_brought_together_by_five_values_stay_five_tasks(
    run: Run, other: Run, ratio: float
) -> None:
    """Of four files and of twelve: 21 tasks were predicted for 5, and 2 back."""
    (model,) = (one for one in stage_models(run, 2) if one.stage.stage_id == BY_REGION)
    assert model.stage.tasks == stage_of(other, BY_REGION).tasks == REGIONS
    assert model.scaled(ratio, None).tasks == REGIONS
    assert model.scaled(ratio, None, 64).tasks == REGIONS
    assert model.scaled(ratio, 3).tasks <= 3


def test_once_they_fit_into_the_target_they_are_joined() -> None:
    """Two kiB hold any two of five partitions of 14 and 21 kB once there is a fiftieth of them."""
    (model,) = (one for one in stage_models(FEW, 2) if one.stage.stage_id == BY_REGION)
    assert 1 <= model.scaled(0.02, None).tasks < REGIONS


@pytest.mark.parametrize("keys", [3, 6, 12, 30])
@pytest.mark.parametrize("share", [0.2, 0.3, 0.36, 0.45, 0.6, 0.8, 1.05, 1.3, 6.0])
def test_few_partitions_are_never_taken_for_fewer(keys: int, share: float) -> None:
    found = filled([share * TARGET] * keys)
    assert found is None or found + 1e-9 >= keys


@pytest.mark.parametrize(
    ("keys", "share"), [(6, 0.34), (12, 0.34), (3, 0.6), (3, 6.0), (30, 6.0), (30, 9.0)]
)
def test_few_partitions_are_counted_by_the_room_they_leave(keys: int, share: float) -> None:
    """Two of 0.34 times the target in each task, and one of more than half of it or several times
    as much."""
    assert filled([share * TARGET] * keys) == pytest.approx(keys)


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.4, 0.8])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.23, 0.3, 0.45, 0.7])
def test_even_partitions_and_unlike_ones_are_not_few(share: float, spread: float) -> None:
    shape = 1.0 / spread**2
    sizes = np.random.default_rng(4).gamma(shape, share * TARGET / shape, int(INITIAL))
    assert filled(np.maximum(sizes, 1e-3)) is None


def test_a_hot_partition_beside_even_ones_does_not_make_them_few() -> None:
    assert filled([*[5.0] * 100, 900.0, *[5.0] * 99]) is None


@pytest.mark.parametrize("times", [1.5, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("tasks", [2, 5, 12, 35])
def test_tasks_that_fill_a_larger_target_are_not_few_partitions(times: float, tasks: int) -> None:
    """Of 200 partitions whose sizes spread by 20 %, as a platform's own rule joins them."""
    draws, mean = np.random.default_rng(7), 0.9 * times * TARGET * tasks / INITIAL
    for _ in range(10):
        sizes = draws.gamma(25.0, mean / 25.0, int(INITIAL))
        assert filled(sizes, times * TARGET) is None


@pytest.mark.parametrize("times", [6.0, 10.0, 16.0])
@pytest.mark.parametrize("tasks", [2, 5, 12, 35])
def test_tasks_that_fill_the_target_of_a_service_are_not_few(times: float, tasks: int) -> None:
    """However large that is: of 200 partitions whose sizes spread by 20 %."""
    draws, mean = np.random.default_rng(7), 0.9 * times * TARGET * tasks / INITIAL
    for _ in range(10):
        sizes = draws.gamma(25.0, mean / 25.0, int(INITIAL))
        assert filled(sizes, times * TARGET, replace(BY_SIZE, by_service=True)) is None


@pytest.mark.parametrize(
    ("version", "tasks"),
    [("3.5.9", 5), ("3.5.9-amzn-0", 21), ("3.5.9 (Databricks 15.4)", 21), (None, 21)],
)
def test_a_log_of_a_service_does_not_say_that_full_tasks_have_few_keys(
    version: str | None, tasks: int
) -> None:
    run = replace(FEW, spark_version=version)
    (model,) = (one for one in stage_models(run, 2) if one.stage.stage_id == BY_REGION)
    assert model.scaled(3.0, None).tasks == tasks


def test_a_task_of_what_is_left_beside_alike_ones_is_of_another_target() -> None:
    """However large it is: ten of 8 times the target with one of 6."""
    sizes = [8.0 * TARGET] * 10
    assert filled(sizes) == pytest.approx(10)
    assert filled([*sizes, 6.0 * TARGET]) is None


def test_a_smallest_task_near_the_others_is_not_what_is_left() -> None:
    """Within a tenth of the next one, though not of the largest."""
    assert filled([share * 10.0 * TARGET for share in (0.803, 0.884, 0.891, 0.908, 0.923)]) == 5
    assert filled([share * 10.0 * TARGET for share in (0.74, 0.884, 0.891, 0.908, 0.923)]) is None


def test_tasks_a_little_beyond_the_target_keep_the_rule_of_coalescing() -> None:
    """Of 1.5 to 1.93 times the target: a platform's own larger one, or few keys."""
    known = stage_of(FEW, BY_REGION)
    sizes = tuple(np.linspace(1.5, 1.93, 8) * 2048.0)
    read_bytes = Measure(8, sum(sizes), tuple(np.quantile(sizes, np.linspace(0, 1, 11))))
    changed = replace(known, tasks=8, shuffle_read_bytes=read_bytes)
    run = replace(FEW, stages=tuple(changed if one is known else one for one in FEW.stages))
    (model,) = (one for one in stage_models(run, 2) if one.stage.stage_id == BY_REGION)
    assert model.stage.tasks == 8
    assert model.scaled(3.0, None).tasks >= 20


def test_one_task_and_tasks_of_another_rule_say_nothing() -> None:
    assert filled([1.0, 1.0]) is None
    assert filled([0.6 * TARGET] * 150) is None
    assert FEW_SHARE * INITIAL > 30
