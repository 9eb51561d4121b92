"""States against a plain discrete-event simulation, Fig. 7's tracks, and the printed equations."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.models.boe.printed_states import (
    estimate_printed,
    pending_tasks,
    progress,
    remaining_seconds,
)
from engine.models.boe.skew import gain_bounds
from engine.models.boe.states import estimate
from engine.models.boe.task_draw import EXACT_TASKS, task_factors, task_law
from engine.models.boe.task_time import Needs, Rates, Step, TaskWork
from engine.models.boe.workflow_course import Activity, Machines
from engine.scheduling.drf import Pool, drf, fifo

RATES = Rates(3.0, 1.0, 1.0)
"""Three cores a node, and one byte per second: bytes are seconds of a whole disk or card."""

NODES = 2.0
CAPACITY = {"cpu": 6.0, "disk": 2.0, "network": 2.0}


def work(kind: str, seconds: float) -> TaskWork:
    amounts = {
        "load": TaskWork(seconds),
        "cpu": TaskWork(0.0, (Step(seconds),)),
        "disk": TaskWork(0.0, (Step(0.0, seconds),)),
        "network": TaskWork(0.0, (Step(0.0, 0.0, seconds),)),
    }
    return amounts[kind]


class Simulation:
    """Every task on its own: what it still needs, re-timed at every event. Tasks want one resource
    each, of which all that run share evenly; containers are granted one at a time."""

    def __init__(
        self, stages: Sequence[Activity], kinds: Sequence[str], slots: int, memory: float, *,
        skew: bool,
    ) -> None:  # fmt: skip
        self.stages, self.kinds, self.slots, self.memory = stages, kinds, slots, memory
        self.waiting = [
            list(task_factors(s.spread, s.tasks) if skew else [1.0] * s.tasks) for s in stages
        ]
        self.running: list[list[float]] = [[] for _ in stages]
        self.end: dict[int, float] = {}
        self.now = 0.0

    def seconds(self) -> float:
        while len(self.end) < len(self.stages):
            self.settle_moments()
            self.launch()
            paces = [self.pace(place) for place in range(len(self.stages))]
            steps = [
                left * paces[place] for place, tasks in enumerate(self.running) for left in tasks
            ]
            arrivals = [
                at - self.now
                for place in range(len(self.stages))
                if (at := self.ready_at(place)) is not None and at > self.now + 1e-12
            ]
            if not steps and not arrivals:
                break
            step = min([*steps, *arrivals])
            self.now += step
            for place, tasks in enumerate(self.running):
                left = [rest - step / paces[place] for rest in tasks]
                self.running[place] = [rest for rest in left if rest > 1e-9]
                if tasks and not self.running[place] and not self.waiting[place]:
                    self.end[place] = self.now
        return max(self.end.values())

    def ready_at(self, place: int) -> float | None:
        stage = self.stages[place]
        if any(parent not in self.end for parent in stage.after):
            return None
        return max((self.end[p] for p in stage.after), default=0.0) + stage.delay_seconds

    def is_open(self, place: int) -> bool:
        at = self.ready_at(place)
        return place not in self.end and at is not None and at <= self.now + 1e-9

    def settle_moments(self) -> None:
        for place, stage in enumerate(self.stages):
            if stage.tasks == 0 and self.is_open(place):
                self.end[place] = self.now

    def pace(self, place: int) -> float:
        kind, stage = self.kinds[place], self.stages[place]
        alone = sum((stage.work.load_seconds, *(sum(step) for step in stage.work.steps)))
        if kind == "load":
            return alone
        scaled_to = sum(len(self.running[p]) for p, k in enumerate(self.kinds) if k == kind)
        return alone * max(1.0, scaled_to / CAPACITY[kind])

    def fits(self, counts: Sequence[int]) -> bool:
        cores = sum(n * s.cores for n, s in zip(counts, self.stages, strict=True))
        memory = sum(n * s.memory_gib for n, s in zip(counts, self.stages, strict=True))
        return cores <= self.slots + 1e-9 and memory <= self.memory + 1e-9

    def targets(self) -> list[int]:
        """Containers by DRF, granted from none on."""
        tasks = [len(self.waiting[p]) + len(self.running[p]) for p in range(len(self.stages))]
        most, counts = [n * self.is_open(p) for p, n in enumerate(tasks)], [0] * len(tasks)
        self.grant(counts, most)
        return counts

    def grant(self, counts: list[int], most: Sequence[int]) -> None:
        """One at a time to the job of the least share; where the next container of a stage does not
        fit, it goes on with its next stage."""
        jobs = [s.job for s in self.stages]
        owed = [p for p, n in enumerate(counts) if n < most[p]]
        while owed:
            job = min((self.share(jobs[p], counts), jobs[p]) for p in owed)[1]
            place = next(p for p in owed if jobs[p] == job)
            counts[place] += 1
            if not self.fits(counts):
                counts[place] -= 1
                owed = [p for p in owed if p != place]
            owed = [p for p in owed if counts[p] < most[p]]

    def share(self, job: int, counts: Sequence[int]) -> float:
        """The dominant share of a job with so many containers of each stage."""
        own = [(n, s) for n, s in zip(counts, self.stages, strict=True) if s.job == job]
        parts = [n * max(s.cores / self.slots, s.memory_gib / self.memory) for n, s in own]
        return round(sum(parts), 9)

    def launch(self) -> None:
        """Those that are granted, as far as the ones that run leave room."""
        targets, counts = self.targets(), [len(tasks) for tasks in self.running]
        most = [max(parts) for parts in zip(targets, counts, strict=True)]
        self.grant(counts, most)
        for waiting, running, count in zip(self.waiting, self.running, counts, strict=True):
            started = count - len(running)
            running += waiting[:started]
            del waiting[:started]


stage = st.tuples(
    st.integers(1, 9),
    st.sampled_from(["load", "cpu", "disk", "network"]),
    st.floats(0.5, 20.0),
    st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.0, 2.5]),
    st.sampled_from([1.0, 1.0, 2.0]),
    st.booleans(),
)
job = st.tuples(st.lists(stage, min_size=1, max_size=3), st.integers(0, 3))
workflows = st.lists(job, min_size=1, max_size=5)


def built(jobs: Sequence[tuple[list[tuple], int]]) -> tuple[list[Activity], list[str]]:
    """Stages one after the other or beside each other; a job waits for the job so many places
    before it (0 for none)."""
    found: list[Activity] = []
    kinds: list[str] = []
    last: list[int] = []
    for number, (stages, back) in enumerate(jobs):
        after: tuple[int, ...] = (last[number - back],) if 0 < back <= number else ()
        for tasks, kind, seconds, memory, spread, delay, cores, is_followed in stages:
            found.append(
                Activity(
                    number, kind, tasks, work(kind, seconds), after, delay, cores=cores,
                    memory_gib=memory, spread=spread,
                )
            )  # fmt: skip
            kinds.append(kind)
            after = (len(found) - 1,) if is_followed else after
        last.append(len(found) - 1)
    return found, kinds


@given(jobs=workflows, slots=st.integers(2, 9), skew=st.booleans())
@settings(max_examples=150, deadline=None)
def test_states_agree_with_discrete_events(
    jobs: list[tuple[list[tuple], int]], slots: int, skew: bool
) -> None:
    """Within 1e-5: the same policy, task by task, with even shares counted and not solved for."""
    stages, kinds = built(jobs)
    machines = Machines(NODES, RATES, Pool(float(slots), 10.0))
    found = estimate(stages, machines, drf, skew=skew).seconds
    truth = Simulation(stages, kinds, slots, 10.0, skew=skew).seconds()
    assert found == pytest.approx(truth, rel=1e-5)


@given(jobs=workflows, slots=st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_states_cover_the_time_and_respect_the_order(
    jobs: list[tuple[list[tuple], int]], slots: int
) -> None:
    stages, _ = built(jobs)
    found = estimate(stages, Machines(NODES, RATES, Pool(float(slots), 10.0)), drf)
    edges = [found.states[0].start_seconds, *(state.end_seconds for state in found.states)]
    assert edges[0] == 0.0
    assert edges == sorted(edges)
    assert edges[-1] == pytest.approx(found.seconds)
    for place, entry in enumerate(stages):
        for parent in entry.after:
            assert found.start[place] >= found.end[parent] + entry.delay_seconds - 1e-6
    for state in found.states:
        assert sum(entry.parallelism for entry in state.running) <= slots
        assert all(sum(entry.tracks) == entry.parallelism for entry in state.running)


def maps(number: int, tasks: int, memory: float, after: tuple[int, ...] = ()) -> Activity:
    return Activity(number, f"job {number}", tasks, TaskWork(10.0), after, memory_gib=memory)


def test_fig_7_tracks() -> None:
    """12 GB for containers: three jobs of 2 GB tasks run two each; job 3's reduce tasks of 4 GB
    one; at the end job 4 has two tracks of two, the second in the containers of the others."""
    machines = Machines(1.0, Rates(99.0), Pool(99.0, 12.0))
    stages = [maps(2, 20, 2.0), maps(3, 4, 2.0), maps(4, 20, 2.0), maps(3, 2, 4.0, (1,))]
    states = estimate(stages, machines, drf, skew=False).states

    def seen(number: int) -> dict[int, int]:
        return {stages[r.activity].job: r.parallelism for r in states[number].running}

    assert seen(0) == {2: 2, 3: 2, 4: 2}
    assert seen(1) == {2: 2, 3: 1, 4: 2}
    assert [r.tracks for r in states[0].running] == [(2,), (2,), (2,)]


def test_fig_7b_a_new_track_takes_the_released_containers() -> None:
    machines = Machines(1.0, Rates(99.0), Pool(99.0, 12.0))
    stages = [
        Activity(3, "job 3", 2, TaskWork(6.0), memory_gib=3.0),
        Activity(4, "job 4", 6, TaskWork(10.0), memory_gib=3.0),
    ]
    states = estimate(stages, machines, drf, skew=False).states
    assert [r.parallelism for r in states[0].running] == [2, 2]
    (last,) = states[1].running
    assert (last.activity, last.parallelism, last.tracks) == (1, 4, (2, 2))


def test_fig_8_skew_adds_the_states_that_the_paper_prints() -> None:
    """12 GB, tasks of 2 GB of job 1 and of 3 GB of job 2: without skew job 1 gives up its
    containers together. With it states 5 to 8 have 3 and 2, 2 and 2 (2 GB are too few for another
    task of job 2), 1 and 3, and 4 tasks."""
    machines = Machines(1.0, Rates(99.0), Pool(99.0, 12.0))
    stages = [
        Activity(1, "job 1", 3, TaskWork(10.0), memory_gib=2.0, spread=0.3),
        Activity(2, "job 2", 40, TaskWork(20.0), memory_gib=3.0),
    ]

    def counts(skew: bool) -> list[list[int]]:
        states = estimate(stages, machines, drf, skew=skew).states
        return [[entry.parallelism for entry in state.running] for state in states]

    assert counts(skew=False)[:2] == [[3, 2], [4]]
    assert counts(skew=True)[:4] == [[3, 2], [2, 2], [1, 3], [4]]


def test_few_free_containers_go_to_the_job_of_the_least_share() -> None:
    """Two of job 2's containers fall free at 10 s, while it holds two more than its part: jobs 0
    and 1, which came at 6 s, get one each, though job 0 is owed two."""
    machines = Machines(1.0, Rates(99.0), Pool(4.0))
    stages = [
        Activity(0, "first", 4, TaskWork(10.0), delay_seconds=6.0),
        Activity(1, "second", 1, TaskWork(10.0), delay_seconds=6.0),
        Activity(2, "held", 8, TaskWork(10.0)),
        Activity(3, "short", 2, TaskWork(5.0)),
    ]
    found = estimate(stages, machines, drf, skew=False)
    assert found.start[:2].tolist() == [10.0, 10.0]


def test_theorem_1_is_of_tracks_that_keep_their_own_tasks() -> None:
    """Its proof gives each track N / Delta tasks of its own. A container that falls free takes the
    next pending task, so that over many waves skew adds less than the theorem's lower bound."""
    machines = Machines(1.0, Rates(10.0), Pool(10.0))

    def added(tasks: int) -> float:
        stage = Activity(0, "a", tasks, TaskWork(10.0), spread=0.3)
        return estimate([stage], machines, drf).seconds - 10.0 * tasks / 10

    low, high = gain_bounds(tasks=10, parallelism=10, deviation=3.0)
    assert low < added(10) < high
    assert added(1000) < gain_bounds(tasks=1000, parallelism=10, deviation=3.0)[0]


def test_eqs_7_and_8_as_printed_leave_17_5_seconds_of_15() -> None:
    """4 tasks of 10 s on 2 containers, the state ends after 5 s (a job that ends then)."""
    first = remaining_seconds(task_seconds=10.0, least_progress=0.0, pending=2.0, parallelism=2.0)
    assert first == 20.0
    done = progress(state_seconds=5.0, stage_seconds=first)
    left = pending_tasks(pending=2.0, parallelism=2.0, state_seconds=5.0, task_seconds=10.0)
    assert (done, left) == (0.25, 1.0)
    after = remaining_seconds(task_seconds=10.0, least_progress=done, pending=left, parallelism=2.0)
    assert after == pytest.approx(17.5)
    stages = [
        Activity(0, "a", 4, TaskWork(10.0), cores=2.0),
        Activity(1, "b", 1, TaskWork(5.0), cores=1.0),
    ]
    machines = Machines(1.0, Rates(99.0), Pool(5.0))
    assert estimate_printed(stages, machines, drf).seconds == pytest.approx(22.5)
    assert estimate(stages, machines, drf).seconds == pytest.approx(20.0)


@given(tasks=st.integers(1, 40), slots=st.integers(1, 8), seconds=st.floats(0.1, 50.0))
@settings(max_examples=40, deadline=None)
def test_printed_and_corrected_agree_on_a_stage_alone(
    tasks: int, slots: int, seconds: float
) -> None:
    machines = Machines(1.0, Rates(99.0), Pool(float(slots)))
    stages = [Activity(0, "a", tasks, TaskWork(seconds))]
    expected = math.ceil(tasks / slots) * seconds
    assert estimate(stages, machines, fifo).seconds == pytest.approx(expected)
    assert estimate_printed(stages, machines, fifo).seconds == pytest.approx(expected)


@pytest.mark.parametrize("slots", [7, 64, 300])
def test_a_large_stage_is_coarsened_without_losing_work(slots: int) -> None:
    tasks = 40 * EXACT_TASKS
    machines = Machines(1.0, Rates(1e6), Pool(float(slots)))
    found = estimate([Activity(0, "a", tasks, TaskWork(2.0), spread=0.4)], machines, fifo)
    even = tasks * 2.0 / slots
    assert even * 0.99 <= found.seconds <= even + 2.0 * (1.0 + 0.4 * 5.0) + 0.01 * even


def test_a_task_larger_than_the_cluster_is_refused() -> None:
    machines = Machines(1.0, Rates(4.0), Pool(4.0, 8.0))
    for run in (estimate, estimate_printed):
        with pytest.raises(BadInput):
            run([maps(0, 1, 9.0)], machines, drf)


def test_a_container_stands_whole_on_one_node() -> None:
    """Three nodes of 8 GiB hold one container of 5 GiB each, though 24 GiB would hold four."""
    rates, pool = Rates(4.0), Pool(12.0, 24.0)
    for run in (estimate, estimate_printed):
        divided = run([maps(0, 12, 5.0)], Machines(3.0, rates, pool), drf)
        whole = run([maps(0, 12, 5.0)], Machines(3.0, rates, pool, alike=True), drf)
        assert divided.seconds == pytest.approx(30.0)
        assert whole.seconds == pytest.approx(40.0)
        assert {state.running[0].parallelism for state in whole.states} == {3}


def test_a_container_larger_than_a_node_is_refused() -> None:
    machines = Machines(3.0, Rates(4.0), Pool(12.0, 24.0), alike=True)
    wide = Activity(0, "wide", 1, TaskWork(10.0), cores=5.0)
    for run in (estimate, estimate_printed):
        with pytest.raises(BadInput, match="needs 9 GiB, a node offers 4 cores and 8 GiB"):
            run([maps(0, 1, 9.0)], machines, drf)
        with pytest.raises(BadInput, match="of wide needs 5 cores, a node offers 4 cores"):
            run([wide], machines, drf)


def test_a_workflow_of_moments_takes_their_delays() -> None:
    stages = [Activity(0, "", 0, TaskWork(), (), 2.0), Activity(0, "", 0, TaskWork(), (0,), 3.0)]
    machines = Machines(1.0, Rates(4.0), Pool(4.0))
    assert estimate(stages, machines, fifo).seconds == pytest.approx(5.0)
    assert estimate_printed(stages, machines, fifo).seconds == pytest.approx(5.0)


def test_skewed_output_spreads_task_times_by_its_share_of_them() -> None:
    """Eqs. 9 to 11: t = 10 + 5 alpha with alpha 1 +- 0.6 has a deviation of 3 s, a fifth of 15."""
    steps = TaskWork(0.0, (Step(10.0), Step(0.0, 5.0)))
    entry = Activity(0, "a", 8, steps, output_spread=0.6)
    law = task_law(entry, Needs.of(steps, RATES))
    assert law == pytest.approx((1.0, 0.2))
    machines = Machines(100.0, RATES, Pool(8.0))
    skewed = estimate([entry], machines, fifo).seconds
    assert skewed > estimate([entry], machines, fifo, skew=False).seconds == pytest.approx(15.0)


@pytest.mark.parametrize("output", [2.0, 8.0, 10.0, 14.0])
def test_skewed_output_beside_computing_is_the_larger_of_the_two(output: float) -> None:
    """Eqs. 14 to 16 against sampling: a step of 10 s of computing that writes for `output` s, each
    task 0.4 more or less. Where computing decides, the output's skew is hardly seen."""
    steps = TaskWork(3.0, (Step(10.0, output),))
    alpha = np.random.default_rng(1).normal(1.0, 0.4, 400_000)
    times = 3.0 + np.maximum(10.0, output * alpha)
    law = task_law(Activity(0, "a", 8, steps, output_spread=0.4), Needs.of(steps, RATES))
    plain = 3.0 + max(10.0, output)
    assert law.mean == pytest.approx(times.mean() / plain, rel=0.002)
    assert law.spread == pytest.approx(times.std() / times.mean(), abs=0.002)
    assert (law.spread < 0.01) == (output == 2.0)


def test_the_mean_of_skewed_tasks_is_in_the_estimate() -> None:
    """On one slot a stage takes the sum of its tasks, the larger operation of each."""
    steps = TaskWork(0.0, (Step(10.0, 10.0),))
    entry = Activity(0, "a", 400, steps, output_spread=0.3)
    alpha = np.random.default_rng(2).normal(1.0, 0.3, 400_000)
    expected = 400.0 * np.maximum(10.0, 10.0 * alpha).mean()
    machines = Machines(1.0, Rates(1.0, 1.0, 1.0), Pool(1.0))
    assert estimate([entry], machines, fifo).seconds == pytest.approx(expected, rel=0.005)
    assert estimate([entry], machines, fifo, skew=False).seconds == pytest.approx(4000.0)
