"""Tasks of a stage and their expected time in waves."""

import numpy as np
import pytest

from engine.scheduling.list_scheduling import list_schedule
from engine.scheduling.makespans import Makespans, Outlines, outline
from engine.scheduling.waves import Tasks, waves

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
    orders = [
        list_schedule(random.permutation(seconds), np.zeros(slots), 0.0)[2] for _ in range(200)
    ]
    assert Tasks(seconds).expected_makespan(slots) == pytest.approx(np.mean(orders), rel=0.03)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("waves_of", [1.5, 2.5, 4.2, 9.0, 25.0])
def test_expected_makespan_of_a_few_waves_of_many_tasks(law: str, waves_of: float) -> None:
    """Far fewer waves than the limit law wants: within 6 % of the mean over orders."""
    random = np.random.default_rng(9)
    means = []
    for _ in range(4):
        seconds = LAWS[law](random, round(300 * waves_of))
        orders = [
            list_schedule(random.permutation(seconds), np.zeros(300), 0.0)[2] for _ in range(6)
        ]
        means.append(Tasks(seconds).expected_makespan(300) / np.mean(orders))
    assert np.mean(means) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("slots", [2, 3, 4])
def test_slots_do_no_more_work_than_there_are_seconds(slots: int) -> None:
    """One task in fifty of 25 times the length: two slots were predicted less than half of the
    work, since the longest of two residuals was put below their mean."""
    tasks = Tasks(np.repeat([1.0, 25.0], [98, 2]))
    for some in (tasks, tasks.slowed(contention=1.5, typical_seconds=1.0, speed=0.7)):
        assert some.expected_makespan(slots) >= some.seconds.sum() / slots


@pytest.mark.parametrize("slots", [10, 64, 100, 300])
def test_tasks_of_one_length_end_their_waves_together(slots: int) -> None:
    expected = Tasks(np.full(640, 2.0)).expected_makespan(slots)
    assert expected == pytest.approx(2.0 * waves(640, slots))


def test_from_the_longest_on_nothing_stands_out() -> None:
    seconds = np.sort(np.random.default_rng(1).lognormal(0.0, 1.0, 5000))[::-1]
    tasks = Tasks(seconds, longest_first=True)
    for slots in (7, 60, 400):
        found = list_schedule(seconds, np.zeros(slots), 0.0)[2]
        assert tasks.expected_makespan(slots) == pytest.approx(found, rel=0.01)


def test_slowed_tasks_have_the_makespan_of_their_own_times() -> None:
    tasks = Tasks(np.random.default_rng(1).lognormal(0.0, 0.8, 4000))
    slow = tasks.slowed(contention=1.9, typical_seconds=1.2, speed=1.5)
    plain, typical = Tasks(slow.seconds), np.asarray([1.2])
    contended, alone = (
        Makespans(
            np.asarray([4000.0]),
            Outlines(*(part[None] for part in some.outlined), np.asarray([some.total])),
            np.zeros(1),
            typical,
        )
        for some in (tasks, plain)
    )
    for slots in (20, 200, 2000):
        lanes = np.asarray([slots])
        residual = contended.longest_residual(lanes, np.asarray([1.9])) / 1.5
        assert residual == pytest.approx(alone.longest_residual(lanes, np.ones(1)), rel=0.03)
        assert slow.expected_makespan(slots) == pytest.approx(
            plain.expected_makespan(slots), rel=0.01
        )


def test_an_outline_stands_for_all_tasks() -> None:
    ordered = np.sort(np.random.default_rng(1).lognormal(0.0, 1.0, 30_000))
    times, counts = outline(ordered)
    assert len(times) < 300
    assert counts.sum() == pytest.approx(len(ordered))
    assert times[-1] == ordered[-1]
    assert times @ counts == pytest.approx(ordered.sum(), rel=0.01)


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
