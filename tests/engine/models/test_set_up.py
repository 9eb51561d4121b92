"""How much of a task's run time stays whatever it reads."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed, without_growth

from engine.models.replay.replayed_run import Replay
from engine.models.stages.set_up import (
    BYTES_PER_SECOND,
    MOST_SET_UP,
    SET_UP_SECONDS,
    SET_UP_SHARE,
    scaled_seconds,
    set_up_share,
    share_of_data,
)
from engine.profile import Run
from engine.stage_run import StageRun

TASKS, SLOTS = 200, 4
FIXED_SECONDS = 0.04


def test_what_is_outside_the_run_time_stays_and_so_does_a_share_of_the_rest() -> None:
    tasks = np.asarray([0.1, 10.0])
    found = scaled_seconds(tasks, 2.0, overhead_seconds=0.04, share=0.5)
    assert found == pytest.approx([0.04 + 0.03 + 2.0 * 0.03, 0.04 + SET_UP_SECONDS + 2.0 * 9.76])


def stage(seconds: float, *, task_bytes: float, records: float | None = None) -> StageRun:
    made = Stage(np.full(TASKS, seconds), shuffle_bytes=task_bytes * TASKS)
    found = observed([made], slots=SLOTS).stages[0]
    return replace(found, shuffle_read_records=records)


def run_of(size: float, *, task_bytes: float, bytes_per_second: float) -> Run:
    """Tasks of a fixed number, each with a fixed part and a part for the bytes that it reads."""
    seconds = FIXED_SECONDS + size * task_bytes / bytes_per_second
    made = Stage(np.full(TASKS, seconds), shuffle_bytes=size * task_bytes * TASKS)
    return observed([made], slots=SLOTS)


def test_less_data_in_the_same_time_is_more_set_up() -> None:
    read = 10.0 ** np.arange(2.0, 9.0)
    shares = [set_up_share(stage(0.1, task_bytes=size), 0.1) for size in read]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == MOST_SET_UP
    assert shares[-1] == SET_UP_SHARE


def test_the_prior_is_one_of_the_two_parts_alone() -> None:
    """So much time that no reader takes it went to data; so little data that no core takes so long
    for it did not."""
    assert share_of_data(1000.0, data_seconds=0.01) > 0.9
    assert share_of_data(0.05, data_seconds=1e-7) < 0.01


def test_the_share_is_the_mean_of_the_posterior() -> None:
    """By drawing both parts from their priors and keeping those that add up to the time seen."""
    rng = np.random.default_rng(1)
    fixed = 0.05 * np.exp(rng.normal(size=4_000_000))
    data = 0.03 * np.exp(2.0 * rng.normal(size=4_000_000))
    near = np.abs(np.log((fixed + data) / 0.1)) < 0.02
    assert near.sum() > 10_000
    expected = float((data / (fixed + data))[near].mean())
    assert share_of_data(0.1, data_seconds=0.03) == pytest.approx(expected, abs=0.01)


def test_records_count_where_bytes_are_few() -> None:
    """Columns that are packed well are few bytes of many records."""
    few = stage(0.1, task_bytes=1e3)
    many = stage(0.1, task_bytes=1e3, records=TASKS * 100_000.0)
    assert set_up_share(many, 0.1) < set_up_share(few, 0.1)


def test_tasks_of_which_nothing_is_known_have_the_prior() -> None:
    none = replace(stage(0.1, task_bytes=1.0), shuffle_read_bytes=measure(np.zeros(TASKS)))
    assert set_up_share(none, 0.1) == SET_UP_SHARE
    assert set_up_share(stage(0.1, task_bytes=1e3), 0.0) == SET_UP_SHARE


def test_of_a_log_that_breaks_off_the_tasks_that_ended_count() -> None:
    whole = stage(0.1, task_bytes=1e5, records=TASKS * 1e4)
    begun = replace(whole, tasks=100 * TASKS)
    assert set_up_share(begun, 0.1) == set_up_share(whole, 0.1)


def test_what_is_outside_the_run_time_is_no_part_of_it() -> None:
    """Where half of a task is its overhead, and later tasks take half as long, the rest is still a
    time of its own, that what the task read tells something of."""
    made = stage(0.1, task_bytes=1e4)
    falling = (3.0, 2.5, 2.0, 1.6, 1.4)
    overhead = measure(np.full(TASKS, 0.07))
    run = observed([Stage(np.full(TASKS, 0.1), shuffle_bytes=1e4 * TASKS)], slots=SLOTS)
    warming = replace(run.stages[0], warm_up=falling, overhead_seconds=overhead)
    model = Replay.of(replace(run, stages=(warming,))).models[0]
    assert model.late_seconds < 0.07
    expected = set_up_share(made, 0.03 * model.late_seconds / 0.1)
    assert model.set_up_share == pytest.approx(expected)
    assert expected > SET_UP_SHARE


@pytest.mark.parametrize("task_bytes", [1e4, 1e5])
@pytest.mark.parametrize("size", [3.0, 9.0])
def test_short_tasks_that_read_little_hardly_grow(task_bytes: float, size: float) -> None:
    """200 tasks of which each is mostly set-up: nearer than half of their time growing says."""
    made = {"task_bytes": task_bytes, "bytes_per_second": BYTES_PER_SECOND}
    found = without_growth(run_of(1.0, **made)).replayed(SLOTS, ratio=size).seconds
    wanted = run_of(size, **made).seconds
    by_halves = run_of(1.0, **made).seconds * (1.0 + SET_UP_SHARE * (size - 1.0))
    assert wanted <= found < 1.0 + 0.5 * (wanted + by_halves)
