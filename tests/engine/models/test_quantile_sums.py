"""Sums over tasks that are not drawn are those over the drawn ones; the last launched is last."""

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
