"""Ends over all launch orders: the mean of random ones, and the log's own end on its own slots."""

import numpy as np
import pytest

from engine.models.stages.durations.launches import launched
from engine.scheduling import launch_orders
from engine.scheduling.launch_orders import (
    ORDERS,
    LaunchOrder,
    end_in_any_order,
    ends_by_turn,
    order_z_score,
)
from engine.scheduling.list_scheduling import makespan
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks

SEEDS = range(25)
RANDOM_ORDERS = 400


def drawn(seed: int) -> tuple[Tasks, int, int, float]:
    """Tasks of one skewed stage whose first ones on a slot take longer, slots, how many of these
    are unused, and a turn."""
    random = np.random.default_rng(seed)
    n = int(random.integers(17, 120))
    seconds = random.lognormal(0.0, 0.5, n)
    seconds[random.integers(n)] *= 4.0
    slots = int(random.integers(2, n))
    return Tasks(seconds, seconds + 1.5), slots, int(random.integers(0, slots + 1)), seed % 16 / 16


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_near_the_mean_over_random_orders(seed: int) -> None:
    tasks, slots, unused, turn = drawn(seed)
    random, ends = np.random.default_rng(seed), []
    for _ in range(RANDOM_ORDERS):
        order = random.permutation(len(tasks))
        cold = tasks.cold_seconds
        ends.append(makespan(Tasks(tasks.seconds[order], cold[order]).on(unused), slots))
    found = end_in_any_order(tasks, slots, LaunchOrder(turn), unused=unused)
    assert found == pytest.approx(np.mean(ends), rel=0.08)


@pytest.mark.parametrize("seed", SEEDS)
def test_on_the_slots_of_the_log_it_is_the_end_of_its_own_order(seed: int) -> None:
    tasks, slots, unused, turn = drawn(seed)
    n = len(tasks)
    cold = tasks.cold_seconds
    assert cold is not None
    turned = Tasks(np.roll(tasks.seconds, round(turn * n)), np.roll(cold, round(turn * n)))
    luck = order_z_score(turned, slots, unused=unused, turn=turn)
    found = end_in_any_order(turned, slots, LaunchOrder(turn, lambda: luck), unused=unused)
    assert found == pytest.approx(makespan(turned.on(unused), slots))


@pytest.mark.parametrize("tasks", [1, 2, 5, 16, 40])
def test_each_turn_ends_as_if_it_were_placed_alone(tasks: int) -> None:
    random = np.random.default_rng(tasks)
    seconds = random.lognormal(0.0, 0.5, tasks)
    for slots, unused in ((1, 1), (3, 2), (8, 0), (8, 8), (64, 50)):
        for turn in (0.0, 0.375):
            alone = []
            for place in range(ORDERS):
                by = round(place / ORDERS * tasks) - round(turn * tasks)
                order = Tasks(np.roll(seconds, by), np.roll(seconds + 1.0, by))
                alone.append(makespan(order.on(unused), slots))
            found = ends_by_turn(Tasks(seconds, seconds + 1.0), slots, unused=unused, turn=turn)
            assert found == pytest.approx(alone)


@pytest.mark.parametrize(
    ("longest_first", "tasks", "unused", "placed"),
    [(True, 40, 0, 1), (True, 40, 12, 1), (True, 40, 5, 12), (False, 3, 2, 3), (False, 40, 5, 16)],
)
def test_orders_that_are_the_same_are_placed_once(
    monkeypatch: pytest.MonkeyPatch, longest_first: bool, tasks: int, unused: int, placed: int
) -> None:
    asked: list[list[float]] = []
    monkeypatch.setattr(
        launch_orders, "makespan_of", lambda order, slots: asked.append(order) or 0.0
    )
    seconds = np.linspace(9.0, 1.0, tasks)
    many = Tasks(seconds, seconds + 1.0, longest_first=longest_first)
    ends_by_turn(many, 12, unused=unused, turn=0.0)
    assert len(asked) == placed


@pytest.mark.parametrize("others", [0, 4])
def test_one_slot_more_is_no_jump_by_what_a_first_task_loses(others: int) -> None:
    """A stage of 8 tasks, and then one task of 6 s among ones of 1 s, of which those that meet one
    of the other slots lose 3 s: in one order it suddenly is one. Alone, and beside others."""
    seconds = np.ones(48)
    seconds[20] = 6.0
    tasks, few = Tasks(seconds, seconds + 3.0), Tasks(np.ones(8))

    def rises(order: LaunchOrder | None) -> float:
        nodes = [ScheduledNode((), 0.0, 0, few), ScheduledNode((0,), 0.0, 1, tasks, order=order)]
        if others:
            nodes.append(ScheduledNode((0,), 0.0, 2, Tasks(np.ones(others))))
        ends = [schedule(nodes, slots).seconds for slots in range(12, 48)]
        return float(np.diff(ends).max())

    assert rises(None) > 2.0
    assert rises(LaunchOrder(0.0)) < 0.3


@pytest.mark.parametrize("unused", [1, 6, 12])
def test_from_the_longest_to_the_shortest_any_of_a_wave_may_meet_an_unused_slot(
    unused: int,
) -> None:
    """The longest is launched first, and on one of twelve slots: how often it meets an unused one
    is their share."""
    seconds = np.sort(np.random.default_rng(1).uniform(1.0, 2.0, 30))[::-1]
    seconds[0] = 20.0
    tasks = Tasks(seconds, seconds + 6.0, longest_first=True)
    found = end_in_any_order(tasks, 12, LaunchOrder(0.0), unused=unused)
    assert found == pytest.approx(20.0 + 6.0 * unused / 12.0, abs=0.5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [20, 75, 300])
def test_more_tasks_leave_the_longest_where_they_were(seed: int, n: int) -> None:
    """Of ten tasks more the order of the others among each other is the same."""
    few, many = launched(seed, n, 0.0), launched(seed, n + 10, 0.0)
    from_longest = (n - 1 - few).tolist()
    assert [rank for rank in (n + 9 - many).tolist() if rank < n] == from_longest


@pytest.mark.parametrize("luck", [-100.0, 100.0])
def test_no_luck_leads_beyond_the_orders_themselves(luck: float) -> None:
    tasks = Tasks(np.random.default_rng(3).gamma(2.0, 1.0, 60))
    ends = ends_by_turn(tasks, 8, unused=0, turn=0.0)
    found = end_in_any_order(tasks, 8, LaunchOrder(0.0, lambda: luck), unused=0)
    assert found == (ends.max() if luck > 0.0 else ends.min())
    assert ends.max() > ends.min()
