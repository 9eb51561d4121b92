"""Times of another number of tasks hold the work that the log's held."""

from collections.abc import Callable

import numpy as np
import pytest

from engine.models.stages.durations.quantile_times import drawn_outline, times_from_quantiles

Draw = Callable[..., np.ndarray]

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
@pytest.mark.parametrize("draw", [times_from_quantiles, lambda *a, **k: drawn_outline(*a, **k)[0]])
def test_of_fewer_tasks_the_longest_is_no_longer_that_of_all(draw: Draw, spread: float) -> None:
    """Two thousand tasks in 202 are what those in 201 are, and not one as long as the longest of
    all for ten; as many have it whole."""
    every = np.sort(np.random.default_rng(1).lognormal(0.0, spread, 2000))
    quantiles, mean = np.quantile(every, np.linspace(0.0, 1.0, 201)), float(every.mean())
    fewer = times_from_quantiles(quantiles, 201, mean, observed=2000)
    longest = [draw(quantiles, tasks, mean, observed=2000)[-1] for tasks in (202, 1000, 2000, 4000)]
    assert longest[0] == pytest.approx(fewer[-1], rel=0.35)
    assert longest[0] == pytest.approx(every[-10:].mean(), rel=0.35)
    assert longest[0] < longest[1] < longest[2] == longest[3] == every[-1]


def test_times_that_do_not_have_their_mean_are_scaled() -> None:
    values = np.linspace(1.0, 2.0, 31)[:30]
    times = times_from_quantiles(values, 10, 3.0)
    assert times == pytest.approx(values.reshape(10, 3).mean(axis=1) * 3.0 / values.mean())
