"""Tasks of a stage and their expected time in waves."""

from __future__ import annotations

import numpy as np
import pytest

from engine.scheduling import place
from engine.waves import Tasks, waves

LAWS = {
    "exponential": lambda random, n: random.exponential(1.0, n),
    "gamma": lambda random, n: random.gamma(4.0, 0.25, n),
    "lognormal": lambda random, n: random.lognormal(0.0, 0.6, n),
}


def test_waves_are_rounded_up() -> None:
    """PERIDOT Eq. 1."""
    assert [waves(8, slots) for slots in (1, 2, 3, 6, 8, 9)] == [8, 4, 3, 2, 1, 1]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("slots", [2, 8, 20])
def test_expected_makespan_is_the_mean_over_random_orders(law: str, slots: int) -> None:
    random = np.random.default_rng(4)
    seconds = LAWS[law](random, 200)
    orders = [place(random.permutation(seconds), np.zeros(slots), 0.0)[2] for _ in range(200)]
    assert Tasks(seconds).expected_makespan(slots) == pytest.approx(np.mean(orders), rel=0.03)


def test_one_slot_and_constant_tasks() -> None:
    assert Tasks(np.asarray([1.0, 2.0, 4.0])).expected_makespan(1) == 7.0
    assert Tasks(np.zeros(5)).expected_makespan(3) == 0.0


def test_slowed_tasks_know_their_sums_without_their_times() -> None:
    tasks = Tasks(np.asarray([1.0, 2.0, 50.0]), np.asarray([3.0, 4.0, 60.0]))
    slow = tasks.slowed(contention=1.5, typical_seconds=2.0, speed=2.0)
    np.testing.assert_allclose(slow.seconds, [0.75, 1.5, 25.5])
    np.testing.assert_allclose(slow.on(2), [2.0, 2.5, 25.5])
    assert slow.total == pytest.approx(slow.seconds.sum())
    assert slow.longest == pytest.approx(slow.seconds.max())
    assert len(slow) == 3
    assert tasks.slowed(contention=1.0, typical_seconds=2.0, speed=1.0) is tasks
