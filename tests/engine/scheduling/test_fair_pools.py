"""Stages of several scheduler pools on the same slots."""

import heapq
from collections import Counter, defaultdict

import numpy as np
import pytest
from depth import cases

from engine.scheduling.fair_pools import (
    FEWEST_PLACED_WAVES,
    MOST_PLACED_TASKS,
    placed_together,
)
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks


def stage(
    tasks: int, seconds: float = 2.0, *, at: float = 0.0, pool: int = 0, cpus: int = 1
) -> ScheduledNode:
    times = Tasks(np.full(tasks, seconds))
    return ScheduledNode((), at, pool, times, pool=pool, cpus=cpus)


@pytest.mark.parametrize("exact", [True, False])
def test_slots_that_have_not_come_run_nothing(exact: bool) -> None:
    """Six of eight come when all is done: both pools have one of the first two."""
    added = np.repeat([0.0, 100.0], (2, 6))
    nodes = [stage(40), stage(40, at=1.0, pool=1)]
    found = schedule(nodes, 8, added_seconds=added, exact=exact)
    np.testing.assert_allclose(found.end, [78.0, 80.0])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("slots", "late", "removed", "ends"),
    [
        (4, 0, ((3.0, 2),), [12.0, 12.0]),
        (4, 2, ((1.0, 1),), [16.0, 30.0]),
        (4, 0, ((3.0, 9),), [12.0, 20.0]),
    ],
)
def test_slots_that_go_are_those_that_fall_free_first(
    slots: int, late: int, removed: tuple[tuple[float, int], ...], ends: list[float], exact: bool
) -> None:
    """Not those to come, and never the last one; alone it serves one pool after the other."""
    added = np.repeat([0.0, 1000.0], (slots - late, late))
    nodes = [stage(8), stage(8, pool=1)]
    found = schedule(nodes, slots, added_seconds=added, removed=removed, exact=exact)
    np.testing.assert_allclose(found.end, ends)


def test_a_slot_that_goes_is_not_handed_on() -> None:
    """Two of four go when the tasks that end first have ended, at 1 and 2.5 s."""
    nodes = [
        ScheduledNode((), 0.0, pool, Tasks(np.asarray(times)), pool=pool)
        for pool, times in enumerate(([1.0, 3.0, 1.0, 1.0], [2.5, 4.2, 1.0, 1.0]))
    ]
    np.testing.assert_allclose(schedule(nodes, 4, removed=((0.5, 2),)).end, [5.0, 6.0])


def test_pools_share_while_tasks_of_two_cores_wait() -> None:
    """Each of three pools runs two tasks at once: those of the third hold two cores each."""
    nodes = [stage(12), stage(12, pool=1), stage(12, pool=2, cpus=2)]
    found = schedule(nodes, 8)
    np.testing.assert_allclose(found.end, [12.0, 12.0, 12.0])


def test_a_task_of_more_cores_than_slots_takes_all() -> None:
    found = schedule([stage(3, cpus=4), stage(2, pool=1)], 2)
    assert found.seconds == 8.0


@pytest.mark.parametrize("slots", [12, 300])
def test_answers_over_the_input_have_no_step(slots: int) -> None:
    """A batch job beside queries, below and above the number that is placed one by one."""
    random = np.random.default_rng(3)
    seconds = random.gamma(4.0, 0.25, MOST_PLACED_TASKS + 2000)
    queries = [ScheduledNode((), 0.0, 1, Tasks(random.gamma(4.0, 0.25, 2)), pool=1)]
    for number in range(60):
        times = Tasks(random.gamma(4.0, 0.25, 2))
        queries.append(ScheduledNode((number,), 0.1, 2 + number, times, pool=1))
    ends = []
    for tasks in (MOST_PLACED_TASKS - 200, MOST_PLACED_TASKS - 100, MOST_PLACED_TASKS + 2000):
        batch = ScheduledNode((), 0.0, 0, Tasks(seconds[:tasks]))
        found = schedule([*queries, batch], slots)
        ends.append((found.end[-2], found.end[-1] * MOST_PLACED_TASKS / tasks))
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=0.05)


def test_neighbours_are_placed_together_where_tasks_are_very_many() -> None:
    """Their sum is kept, and so many that each slot still has some."""
    seconds = np.random.default_rng(1).gamma(2.0, 1.0, 4 * MOST_PLACED_TASKS)
    together = placed_together(seconds, lanes=10, of_tasks=len(seconds))
    assert len(together) == MOST_PLACED_TASKS
    assert together.sum() == pytest.approx(seconds.sum())
    np.testing.assert_allclose(together[:2], seconds[:8].reshape(2, 4).sum(axis=1))
    few = placed_together(seconds[:5000], lanes=100, of_tasks=10**9)
    assert len(few) == 100 * FEWEST_PLACED_WAVES
    assert len(placed_together(seconds[:5000], lanes=100, of_tasks=5000)) == 5000


class OfferRounds:
    """Spark's scheduler as its source has it: a round of offers sorts the pools once, and each
    takes what it can of the slots that are offered. A stage that is submitted is a round of all
    idle slots, a task that ends is one of its own."""

    def __init__(self, nodes: list[ScheduledNode], slots: int) -> None:
        self.nodes, self.idle, self.running = nodes, slots, Counter[int]()
        self.launched, self.to_end = Counter[int](), {i: len(n.tasks) for i, n in enumerate(nodes)}
        self.waiting: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.end: dict[int, float] = {}
        self.events = [(n.delay_seconds, 0, i) for i, n in enumerate(nodes) if not n.after]

    def run(self) -> list[float]:
        heapq.heapify(self.events)
        while self.events:
            now, ended, index = heapq.heappop(self.events)
            node = self.nodes[index]
            if not ended:
                heapq.heappush(self.waiting[node.pool], (node.priority, index))
                self._offer(self.idle, now)
                continue
            self.idle += 1
            self.running[node.pool] -= 1
            self.to_end[index] -= 1
            self._offer(1, now)
            if not self.to_end[index]:
                self.end[index] = now
                self._submit_after(index)
        return [self.end[index] for index in range(len(self.nodes))]

    def _submit_after(self, index: int) -> None:
        for child, node in enumerate(self.nodes):
            if index in node.after and self.end.keys() >= set(node.after):
                ready = max(self.end[parent] for parent in node.after) + node.delay_seconds
                heapq.heappush(self.events, (ready, 0, child))

    def _offer(self, slots: int, now: float) -> None:
        for pool in sorted(self.waiting, key=lambda pool: (self.running[pool], pool)):
            queue = self.waiting[pool]
            while slots and queue:
                index = queue[0][1]
                seconds = self.nodes[index].tasks.seconds
                heapq.heappush(self.events, (now + seconds[self.launched[index]], 1, index))
                self.launched[index] += 1
                self.running[pool] += 1
                self.idle, slots = self.idle - 1, slots - 1
                if self.launched[index] == len(seconds):
                    heapq.heappop(queue)


@pytest.mark.parametrize("seed", range(cases(60, deep=1600)))
def test_pools_share_as_in_rounds_of_offers(seed: int) -> None:
    """Pools are sorted anew for each slot here: it is the same, unless stages of several pools are
    ready, or several slots come, at one moment."""
    random = np.random.default_rng(seed)
    nodes = [
        ScheduledNode(
            tuple(parent for parent in range(index) if random.random() < 0.3),
            float(random.uniform(0.0, 2.0)),
            index,
            Tasks(random.gamma(4.0, 0.25, int(random.integers(1, 30)))),
            pool=index % int(random.integers(2, 5)),
        )
        for index in range(int(random.integers(3, 9)))
    ]
    slots = int(random.integers(2, 16))
    assert schedule(nodes, slots, exact=True).end.tolist() == OfferRounds(nodes, slots).run()
