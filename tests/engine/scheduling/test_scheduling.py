"""Waves and list scheduling against a plain discrete-event loop."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from depth import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scheduling.list_scheduling import list_schedule, list_schedule_fast, makespan
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks, waves

Event = tuple[float, int, str]


class DiscreteEvents:
    """One event after the other: what ends, comes or becomes ready at a moment does so first, then
    each free slot takes the next task of the first ready stage, of the pool with the fewest
    running."""

    def __init__(self, nodes: Sequence[ScheduledNode], added: Sequence[float]) -> None:
        self.nodes, self.free = nodes, 0
        self.left = [len(node.tasks) if node.tasks is not None else 0 for node in nodes]
        self.queue: dict[int, list[float]] = {}
        self.running = Counter[int]()
        self.start = [float("nan")] * len(nodes)
        self.end: list[float | None] = [None] * len(nodes)
        self.events: list[Event] = [
            (node.delay_seconds, i, "ready") for i, node in enumerate(nodes) if not node.after
        ]
        self.events += [(moment, -1, "slot") for moment in added]

    def run(self) -> tuple[list[float], list[float]]:
        while self.events:
            now = min(self.events)[0]
            while happening := [event for event in self.events if event[0] <= now]:
                self.events = [event for event in self.events if event[0] > now]
                for event in happening:
                    self._happen(*event)
            self._launch(now)
        return self.start, [moment for moment in self.end if moment is not None]

    def _happen(self, now: float, i: int, what: str) -> None:
        if what == "slot":
            self.free += 1
            return
        tasks = self.nodes[i].tasks
        if what == "ready":
            self.queue[i] = [] if tasks is None else tasks.seconds.tolist()
            if not self.queue[i]:
                self.start[i] = now
        else:
            self.free += 1
            self.left[i] -= 1
            self.running[self.nodes[i].pool] -= 1
        if self.left[i] == 0:
            self.end[i] = now
            for child, node in enumerate(self.nodes):
                ends = [self.end[parent] for parent in node.after]
                known = [moment for moment in ends if moment is not None]
                if i in node.after and len(known) == len(ends):
                    self.events.append((max(known) + node.delay_seconds, child, "ready"))

    def _launch(self, now: float) -> None:
        while self.free and (waiting := [i for i, left in self.queue.items() if left]):
            i = min(waiting, key=self._rank)
            if len(self.queue[i]) == self.left[i]:
                self.start[i] = min(now, self.start[i]) if self.start[i] >= 0 else now
            self.events.append((now + self.queue[i].pop(0), i, "task"))
            self.free -= 1
            self.running[self.nodes[i].pool] += 1

    def _rank(self, i: int) -> tuple[int, int, int]:
        node = self.nodes[i]
        return self.running[node.pool], node.pool, node.priority


seconds = st.floats(0.01, 20.0)
whole_seconds = st.sampled_from((1.0, 2.0, 4.0))


@st.composite
def graphs(draw: st.DrawFn) -> list[ScheduledNode]:
    """Up to 8 nodes: stages of up to three pools and moments, with earlier nodes before them. Tasks
    of whole seconds end at the same moment."""
    count = draw(st.integers(1, 8))
    pools = draw(st.sampled_from(((0,), (0, 1), (0, 1, 2))))
    order = draw(st.permutations(range(count)))
    lengths = draw(st.sampled_from((seconds, whole_seconds)))
    nodes = []
    for i in range(count):
        after = draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set()
        times = draw(st.lists(lengths, max_size=12))
        delay = draw(st.sampled_from((0.0, 0.0, 0.5, 3.25)))
        tasks = Tasks(np.asarray(times)) if times else None
        pool = draw(st.sampled_from(pools))
        nodes.append(ScheduledNode(tuple(sorted(after)), delay, order[i], tasks, pool=pool))
    return nodes


slots_that_come = st.lists(st.sampled_from((0.0, 0.0, 5.0, 11.5, 200.0)), min_size=1, max_size=9)


@given(nodes=graphs(), added=slots_that_come)
@settings(max_examples=cases(75, deep=300), deadline=None)
def test_both_forms_are_the_discrete_events(nodes: list[ScheduledNode], added: list[float]) -> None:
    """Of one pool and of several, on slots that are there or come later."""
    start, end = DiscreteEvents(nodes, added).run()
    for exact in (True, False):
        found = schedule(nodes, len(added), added_seconds=np.asarray(added), exact=exact)
        np.testing.assert_allclose(found.end, end, rtol=1e-12)
        np.testing.assert_allclose(found.start, start, rtol=1e-12)
    assert found.seconds == pytest.approx(max(end))


def test_peridot_figure_2() -> None:
    """Eight equal tasks: four full waves on 2 cores; two waves on 6, the second with 4 idle."""
    tasks = np.full(8, 10.0)
    assert (waves(8, 2), waves(8, 6)) == (4, 2)
    assert makespan(tasks, 2) == 40.0
    assert makespan(tasks, 6) == 20.0
    free, placed, end = list_schedule(tasks, np.zeros(6), 0.0)
    assert (sorted(free), placed, end) == ([10.0] * 4 + [20.0] * 2, 8, 20.0)


def test_nothing_starts_before_it_is_ready_or_at_the_limit() -> None:
    free, placed, end = list_schedule(np.full(5, 2.0), np.asarray([0.0, 5.0]), 1.0, 5.0)
    assert (sorted(free), placed, end) == ([5.0, 5.0], 2, 5.0)
    assert list_schedule(np.full(2, 2.0), np.asarray([7.0]), 1.0, 5.0)[1:] == (0, 1.0)


def test_a_task_of_two_cpus_takes_two_slots() -> None:
    stage = ScheduledNode((), 0.0, 0, Tasks(np.full(6, 3.0)), cpus=2)
    assert schedule([stage], 6).seconds == schedule([stage], 6, exact=True).seconds == 6.0
    assert schedule([stage], 7).seconds == 6.0


def test_slots_that_come_later() -> None:
    stage = ScheduledNode((), 0.0, 0, Tasks(np.full(4, 2.0)))
    added = np.asarray([0.0, 3.0])
    assert schedule([stage], 2, added_seconds=added, exact=True).seconds == 6.0
    assert schedule([stage], 2, added_seconds=added).seconds == 6.0


@pytest.mark.parametrize("late", [30.0, 3000.0])
def test_slots_that_come_while_a_huge_stage_runs(late: float) -> None:
    """In closed form where all come before its last tasks start, else placed."""
    seconds = np.random.default_rng(2).gamma(4.0, 0.5, 30_000)
    nodes = [
        ScheduledNode((), 1.0, 0, Tasks(seconds)),
        ScheduledNode((0,), 0.0, 1, Tasks(np.full(3, 2.0))),
    ]
    added = np.repeat([0.0, late], (10, 30))
    exact = schedule(nodes, 40, added_seconds=added, exact=True)
    fast = schedule(nodes, 40, added_seconds=added)
    np.testing.assert_allclose(fast.end, exact.end, rtol=0.01)
    np.testing.assert_allclose(fast.start, exact.start, rtol=0.01)


def test_first_tasks_on_a_slot_are_cold_once() -> None:
    tasks = Tasks(np.full(4, 1.0), np.full(4, 5.0))
    one, two = ScheduledNode((), 0.0, 0, tasks), ScheduledNode((0,), 0.0, 1, tasks)
    found = schedule([one, two], 2)
    np.testing.assert_allclose(found.end, [6.0, 8.0])
    np.testing.assert_allclose(schedule([one, two], 2, exact=True).end, [6.0, 8.0])


@pytest.mark.parametrize("exact", [True, False])
def test_as_many_tasks_of_two_cpus_are_cold_as_run_at_once(exact: bool) -> None:
    """Sixteen slots of four executors: five waves of eight tasks, of which one is cold."""
    tasks = Tasks(np.full(40, 1.0), np.full(40, 4.0))
    found = schedule(
        [ScheduledNode((), 0.0, tasks=tasks, cpus=2)], 16, executor_slots=4, exact=exact
    )
    assert (found.seconds, found.tasks_on_unused_slots.tolist()) == (8.0, [8])


@pytest.mark.parametrize("exact", [True, False])
def test_slots_that_went_are_not_met(exact: bool) -> None:
    """Three of a hundred slots run a task, ten stay: seven tasks of the next stage are cold."""
    first = ScheduledNode((), 0.0, 0, Tasks(np.full(3, 20.0)))
    tasks = Tasks(np.full(60, 1.0), np.full(60, 4.0))
    nodes = [first, ScheduledNode((0,), 0.0, 1, tasks)]
    found = schedule(nodes, 100, removed=[(10.0, 90)], exact=exact)
    assert found.tasks_on_unused_slots.tolist() == [3, 7]
    assert 26.0 <= found.seconds <= 30.0


def test_a_long_task_meets_contention_only_while_others_run() -> None:
    slowed = Tasks(np.asarray([1.0, 2.0, 50.0])).slowed(
        contention=1.5, typical_seconds=2.0, speed=2.0
    )
    np.testing.assert_allclose(slowed.seconds, [0.75, 1.5, 25.5])


def test_slots_that_go_are_not_those_that_are_still_to_come() -> None:
    """Two of four go while their tasks run; two others come before these end."""
    stage = ScheduledNode((), 0.0, 0, Tasks(np.full(6, 20.0)))
    added = np.asarray([0.0, 0.0, 0.0, 0.0, 12.0, 12.0])
    for exact in (True, False):
        found = schedule([stage], 6, added_seconds=added, removed=((6.0, 2),), exact=exact)
        assert found.seconds == pytest.approx(32.0)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("tasks", [50, 2_000, 30_000])
def test_no_stage_ends_before_its_tasks_are_launched(tasks: int, exact: bool) -> None:
    """1 ms for each launch, the last task of 0.2 s after it; on few slots the work decides."""
    stage = ScheduledNode((), 3.0, 0, Tasks(np.full(tasks, 0.2)), launching_seconds=0.001 * tasks)
    found = schedule([stage], 100_000, exact=exact)
    assert found.seconds == pytest.approx(3.0 + 0.001 * tasks + 0.2)
    few = schedule([stage], 5, exact=exact)
    assert few.seconds == pytest.approx(3.0 + 0.2 * tasks / 5, rel=0.01)


def test_stages_side_by_side_are_launched_by_one_driver() -> None:
    """Two of 2 s of launches each, from one moment on; the next stage waits for both."""
    side = [
        ScheduledNode((), 0.0, k, Tasks(np.full(400, 0.1)), launching_seconds=2.0) for k in (0, 1)
    ]
    after = ScheduledNode((0, 1), 0.0, 2, Tasks(np.full(10, 0.5)), launching_seconds=0.05)
    found = schedule([*side, after], 1_000)
    np.testing.assert_allclose(found.end, [2.1, 4.1, 4.65])


SHAPES = {
    "exponential": lambda random, n: random.exponential(1.0, n),
    "gamma": lambda random, n: random.gamma(8.0, 0.125, n),
    "lognormal": lambda random, n: random.lognormal(0.0, 1.0, n),
    "stragglers": lambda random, n: np.where(random.random(n) < 1e-3, 50.0, 1.0),
    "constant": lambda random, n: np.ones(n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tasks", [250, 3000, 20000])
def test_fast_form_agrees_within_one_percent(shape: str, tasks: int) -> None:
    times = SHAPES[shape](np.random.default_rng(7), tasks)
    for slots in np.unique(np.geomspace(1, tasks, 14).astype(int)).tolist():
        idle = np.zeros(slots)
        exact, fast = list_schedule(times, idle, 0.0), list_schedule_fast(times, idle, 0.0)
        assert fast[1] == exact[1] == tasks
        assert fast[2] == pytest.approx(exact[2], rel=0.01)
        assert makespan(times, slots) == pytest.approx(exact[2], rel=0.01)


def test_fast_form_agrees_where_stages_overlap() -> None:
    random = np.random.default_rng(3)
    nodes = [
        ScheduledNode((), 0.0, 1, Tasks(random.gamma(4.0, 0.25, 9000))),
        ScheduledNode((), 7.0, 0, Tasks(random.exponential(1.0, 5000))),
        ScheduledNode((1,), 0.5, 2, Tasks(random.exponential(2.0, 4000))),
        ScheduledNode((0, 2), 2.0, 3, Tasks(random.gamma(8.0, 0.5, 300))),
    ]
    for slots in (3, 40, 400, 4000):
        fast, exact = schedule(nodes, slots), schedule(nodes, slots, exact=True)
        assert fast.seconds == pytest.approx(exact.seconds, rel=0.01)


@given(times=st.lists(seconds, min_size=1, max_size=60), slots=st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_bounds_of_list_scheduling(times: list[float], slots: int) -> None:
    """Graham's bounds: no less than the work or the longest task, at most their sum."""
    found, work, longest = makespan(np.asarray(times), slots), sum(times) / slots, max(times)
    assert max(work, longest) <= found * (1 + 1e-9)
    assert found <= work + longest + 1e-9
