"""Times of tasks from quantiles: drawn ones hold the work of the log, sums need none drawn."""

import numpy as np
import pytest

from engine.models.stages.durations.launches import (
    LONGEST_FIRST,
    last_launched,
    launched,
    rotated,
)
from engine.models.stages.durations.quantile_sums import QuantileSums
from engine.models.stages.durations.quantile_times import times_from_quantiles

ONE_LONG = np.concatenate((np.full(99, 1.0), [500.0]))
"""A hundred tasks, of which one takes five sixths of the time."""


@pytest.mark.parametrize("tasks", [1, 2, 7, 20, 50, 99])
def test_fewer_tasks_hold_the_same_work(tasks: int) -> None:
    """Each has several of the log's: all of the time is there, most of it in one."""
    mean = float(ONE_LONG.mean())
    times = times_from_quantiles(ONE_LONG, tasks, mean)
    each = len(ONE_LONG) / tasks
    assert (times * each).sum() == pytest.approx(ONE_LONG.sum())
    assert times[-1] * each == pytest.approx(500.0 + each - 1.0)
    assert np.all(np.diff(times) >= 0.0)


def test_fewer_tasks_of_a_smooth_stage_are_shares_of_its_own() -> None:
    """Tasks of 0 to 99 s in ten shares."""
    assert times_from_quantiles(np.arange(100.0), 10, 49.5) == pytest.approx(
        np.arange(10) * 10.0 + 4.5
    )


def test_the_longest_of_many_is_not_that_of_a_quantile() -> None:
    """Of ten thousand tasks one took 1,000 s and all others one: 201 quantiles would say that one
    of 201 took so long. A tenth of the tasks hold it once."""
    quantiles = np.concatenate((np.full(200, 1.0), [1000.0]))
    times = times_from_quantiles(quantiles, 100, (9999.0 + 1000.0) / 10_000.0)
    assert times.sum() * 100.0 == pytest.approx(10_999.0)
    assert times[-1] * 100.0 == pytest.approx(1000.0 + 99.0)


def test_as_many_tasks_as_quantiles_of_more_hold_no_more() -> None:
    """201 of two thousand tasks: each point as a task would count the longest ten times."""
    every = np.random.default_rng(0).lognormal(0.0, 1.5, 2000)
    quantiles = np.quantile(every, np.linspace(0.0, 1.0, 201))
    found = [times_from_quantiles(quantiles, tasks, float(every.mean())) for tasks in (200, 201)]
    assert [times.mean() for times in found] == pytest.approx([every.mean()] * 2)
    assert found[1][-1] == pytest.approx(found[0][-1], rel=0.01)


@pytest.mark.parametrize("spread", [0.3, 1.0, 1.5])
def test_of_fewer_tasks_the_longest_is_no_longer_that_of_all(spread: float) -> None:
    """Two thousand tasks in 202 are what those in 201 are, and not one as long as the longest of
    all for ten; as many have it whole."""
    every = np.sort(np.random.default_rng(1).lognormal(0.0, spread, 2000))
    quantiles, mean = np.quantile(every, np.linspace(0.0, 1.0, 201)), float(every.mean())
    fewer = times_from_quantiles(quantiles, 201, mean, observed=2000)
    counts = (202, 1000, 2000, 4000)
    longest = [times_from_quantiles(quantiles, n, mean, observed=2000)[-1] for n in counts]
    assert longest[0] == pytest.approx(fewer[-1], rel=0.35)
    assert longest[0] == pytest.approx(every[-10:].mean(), rel=0.35)
    assert longest[0] < longest[1] < longest[2] == longest[3] == every[-1]


def test_times_that_do_not_have_their_mean_are_scaled() -> None:
    values = np.linspace(1.0, 2.0, 31)[:30]
    times = times_from_quantiles(values, 10, 3.0)
    assert times == pytest.approx(values.reshape(10, 3).mean(axis=1) * 3.0 / values.mean())


QUANTILES = 201


def quantiles(seed: int) -> tuple[np.ndarray, int]:
    """Few or many quantiles, alike or spread, some of them equal; and a number of tasks."""
    random = np.random.default_rng(seed)
    points = int(random.integers(2, QUANTILES + 1))
    values = np.sort(random.lognormal(0.0, random.choice([0.0, 0.01, 1.0, 2.0]), points))
    if seed % 5 == 0:
        values[: points // 2] = values[0]
    return values, int(random.integers(max(points + 1, 257), 4001))


def sums_of(values: np.ndarray, tasks: int) -> QuantileSums:
    padded = np.full((1, QUANTILES), values[-1])
    padded[0, : len(values)] = values
    middles = (np.arange(tasks) + 0.5) / tasks
    tail = (middles > 1.0 - 1.0 / (len(values) - 1)).sum() > 1
    count = np.asarray([len(values)])
    return QuantileSums.of(padded, count, np.asarray([float(tasks)]), np.asarray([tail]))


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_over_every_drawn_task(seed: int) -> None:
    values, n = quantiles(seed)
    sums = sums_of(values, n)
    alone = sums.at(np.arange(n - 1.0)[None, :])[0]
    times = times_from_quantiles(values, n, (alone.sum() + values[-1]) / n)[:-1]
    assert alone == pytest.approx(times, rel=1e-11)
    for number in (0, 1, n // 3, n - 2, n - 1):
        found = sums.sum_to(np.asarray([float(number)]))[0]
        assert found == pytest.approx(times[:number].sum(), rel=1e-11, abs=1e-12 * times.sum())


@pytest.mark.parametrize("seed", range(60))
def test_times_up_to_a_limit_are_summed_by_how_many_lie_below(seed: int) -> None:
    values, n = quantiles(seed)
    sums = sums_of(values, n)
    times = sums.at(np.arange(n - 1.0)[None, :])[0]
    for limit in (0.5 * values[0], np.median(values), 0.9 * values[-1], 2.0 * values[-1]):
        below = sums.below(np.asarray([limit]))
        found = sums.sum_to(below)[0] + limit * (n - 1 - below[0])
        assert found == pytest.approx(np.minimum(times, limit).sum(), rel=1e-11)


@pytest.mark.parametrize("n", [1, 2, 7, 256, 257, 3999, 4001])
@pytest.mark.parametrize("rotation", [0.0, 0.125, 0.5, 0.875, LONGEST_FIRST])
def test_the_last_launched_is_found_without_the_order(n: int, rotation: float) -> None:
    for seed in range(5):
        order = launched(seed, n, rotation)
        assert sorted(order) == list(range(n))
        assert last_launched(seed, n, rotation) == order[-1]
        assert np.array_equal(rotated(launched(seed, n, 0.0), 0.5), launched(seed, n, 0.5))
