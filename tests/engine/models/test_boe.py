"""The task model: the paper's equations, its Fig. 1, and sharing among stages."""

import math
from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.models.boe.sharing import _root, shared_task_times
from engine.models.boe.task_time import (
    Needs,
    Rates,
    Step,
    TaskWork,
    cpu_share,
    io_share,
    map_seconds,
    reduce_seconds,
    shuffle_seconds,
    step_seconds,
    task_time,
)

NODE = np.asarray([6.0, 1.0, 1.0])
"""One node of the paper's cluster: 6 cores, its disks, its network card."""

MB = 1e6

# oracles/boe.yaml
WORD_COUNT_MAP_S = {"cpu_bound": 27, "network_bound_neighbour": 24, "two_map_tasks_left": 20}
SECTION_3_2 = {"single_job": 22.7, "with_terasort_map": 27.7, "with_terasort_reduce": 24.3}


def needs(cpu: float = 0.0, disk: float = 0.0, network: float = 0.0, load: float = 0.0) -> Needs:
    return Needs(load, np.asarray([[cpu, disk, network]]))


def test_eq_2_the_slowest_operation_decides() -> None:
    assert step_seconds(1.0, 3.0, 2.0) == 3.0
    assert io_share(4) == 0.25
    assert (cpu_share(4, 6), cpu_share(8, 6)) == (1.0, 0.75)


@pytest.mark.parametrize("parallelism", [1, 2, 6, 8, 12])
def test_eq_3_is_a_read_and_compute_step_and_a_write_step(parallelism: int) -> None:
    expected = 2.0 + max(
        128 * MB * parallelism / (200 * MB), 128 * MB * max(parallelism / 6, 1.0) / (10 * MB)
    ) + 0.5 * 128 * MB * parallelism / (100 * MB)  # fmt: skip
    printed = map_seconds(
        t_load=2.0, split_bytes=128 * MB, selectivity=0.5, parallelism=parallelism, cores=6.0,
        read_rate=200 * MB, map_rate=10 * MB, write_rate=100 * MB,
    )  # fmt: skip
    assert printed == pytest.approx(expected)
    # A node has one disk rate here: bytes that are written at half the rate count twice.
    work = TaskWork(2.0, (Step(12.8, 128 * MB), Step(0.0, 2 * 0.5 * 128 * MB)))
    same = task_time(Needs.of(work, Rates(6.0, 200 * MB)), NODE, parallelism)
    assert same.seconds == pytest.approx(expected)


@pytest.mark.parametrize("parallelism", [1, 6, 12])
def test_eqs_4_and_5_are_steps_too(parallelism: int) -> None:
    data = 160 * MB
    shuffle = shuffle_seconds(
        t_load=1.0, input_bytes=data, parallelism=parallelism,
        write_rate=200 * MB, network_rate=125 * MB,
    )  # fmt: skip
    reduce = reduce_seconds(
        input_bytes=data, output_bytes=80 * MB, second_pass=0.25, parallelism=parallelism,
        cores=6.0, write_rate=200 * MB, sort_rate=40 * MB, output_rate=200 * MB,
        reduce_rate=20 * MB,
    )  # fmt: skip
    work = TaskWork(1.0, (Step(0.0, data, data), Step(1.0, 0.25 * data), Step(8.0, 80 * MB)))
    found = task_time(Needs.of(work, Rates(6.0, 200 * MB, 125 * MB)), NODE, parallelism)
    assert found.seconds == pytest.approx(shuffle + reduce)


def test_word_count_maps_turn_at_as_many_tasks_as_cores() -> None:
    """Fig. 3a: no slower up to 6 tasks a node, then in proportion."""
    times = [task_time(needs(cpu=20.0), NODE, count).seconds for count in (1, 3, 6, 8, 12)]
    assert times == pytest.approx([20.0, 20.0, 20.0, 20.0 * 8 / 6, 40.0])


def test_fig_1_the_same_map_task_takes_27_24_and_20_seconds() -> None:
    """8 tasks on 6 cores; 4 beside 4 reduce tasks that wait for the network and use two thirds of
    a core (the share that the paper does not print, fitted); 2 tasks alone."""
    word_count = needs(cpu=20.0)
    neighbour = needs(cpu=2 / 3 * 40.0, network=10.0)
    first = task_time(word_count, NODE, 8)
    second, beside = shared_task_times([word_count, neighbour], NODE, [4, 4])
    third = task_time(word_count, NODE, 2)
    assert first.seconds == pytest.approx(WORD_COUNT_MAP_S["cpu_bound"], abs=0.5)
    assert second.seconds == pytest.approx(WORD_COUNT_MAP_S["network_bound_neighbour"], abs=0.01)
    assert third.seconds == pytest.approx(WORD_COUNT_MAP_S["two_map_tasks_left"])
    assert (first.bottleneck, first.contended) == ("cpu", True)
    assert (beside.bottleneck, beside.contended) == ("network", True)
    assert (third.bottleneck, third.contended) == ("cpu", False)


@pytest.mark.parametrize(
    ("neighbour", "share"), [("with_terasort_map", 0.6805), ("with_terasort_reduce", 0.5658)]
)
def test_section_3_2_follows_from_one_fitted_share(neighbour: str, share: float) -> None:
    """22.7 s alone become 27.7 and 24.3 s beside neighbours of which each uses so much of a core:
    a reduce task that waits for the network leaves more to the others than a map task."""
    long = 60.0
    found, _ = shared_task_times(
        [needs(cpu=SECTION_3_2["single_job"]), needs(cpu=share * long, network=long / 4)],
        NODE,
        [4, 4],
    )
    assert found.seconds == pytest.approx(SECTION_3_2[neighbour], rel=1e-4)


def test_half_as_many_tasks_on_the_network_take_half_as_long() -> None:
    """Section 7.2.2: shuffles beside a job that needs no network are twice as fast."""
    shuffle, maps = needs(network=10.0), needs(cpu=5.0)
    alone = task_time(shuffle, NODE, 8).seconds
    beside, _ = shared_task_times([shuffle, maps], NODE, [4, 4])
    assert beside.seconds == pytest.approx(alone / 2.0)


@given(
    work=st.lists(
        st.tuples(st.floats(0.1, 30), st.floats(0, 10), st.floats(0, 10), st.integers(1, 20)),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_no_resource_is_used_more_than_there_is_of_it(
    work: list[tuple[float, float, float, int]],
) -> None:
    """Sum of mu_i x Delta_i is 1 where a resource is full, and never more (4.2.2); and nobody is
    faster beside others than alone."""
    capacity = np.asarray([12.0, 2.0, 2.0])
    jobs = [needs(cpu, disk, network) for cpu, disk, network, _ in work]
    counts = [count for *_, count in work]
    found = shared_task_times(jobs, capacity, counts)
    use = np.zeros(3)
    for job, time, count in zip(jobs, found, counts, strict=True):
        use += count * job.steps.sum(axis=0) / time.seconds
        assert time.seconds >= task_time(job, capacity, count).seconds * (1 - 1e-9)
    assert np.all(use <= capacity * (1 + 1e-4))
    full = {time.bottleneck for time in found if time.contended}
    names = ("cpu", "disk", "network")
    assert all(
        use[names.index(str(name))] >= 0.999 * capacity[names.index(str(name))] for name in full
    )


def levels_by_halving(jobs: list[Needs], capacity: np.ndarray, counts: list[int]) -> list[float]:
    """Task times with the most that a task may take of each resource, found by trying: as much as
    its own stage leaves it, and no more than fills the resource."""
    most = np.ones(3)

    def times() -> list[float]:
        shares = [np.minimum(np.minimum(1.0, capacity / count), most) for count in counts]
        return [
            job.load + sum(max(step / share) for step in job.steps)
            for job, share in zip(jobs, shares, strict=True)
        ]

    def use(resource: int) -> float:
        wanted = [job.steps[:, resource].sum() * n for job, n in zip(jobs, counts, strict=True)]
        return sum(w / t for w, t in zip(wanted, times(), strict=True)) / capacity[resource]

    for _ in range(60):
        before = most.copy()
        for resource in range(3):
            most[resource], low, high = 1.0, -18.0, 0.0
            for _ in range(50 if use(resource) > 1.0 else 0):
                most[resource] = np.exp(0.5 * (low + high))
                low, high = (low, np.log(most[resource])) if use(resource) > 1.0 else (
                    np.log(most[resource]), high
                )  # fmt: skip
        if np.abs(most / before - 1.0).max() < 1e-9:
            break
    return times()


amounts = st.tuples(*[st.sampled_from([0.0, 0.0, 0.4, 3.0, 9.0])] * 3)


@given(
    work=st.lists(
        st.tuples(
            st.sampled_from([0.1, 2.0]), st.lists(amounts, min_size=1, max_size=3),
            st.integers(1, 12),
        ),
        min_size=2,
        max_size=4,
    )
)  # fmt: skip
# A stage alone gets two thirds of a card, and the other is hardly on it.
@example(work=[(0.1, [(0.0, 0.0, 9.0)], 3), (0.1, [(0.0, 9.0, 0.0), (0.0, 9.0, 0.4)], 1)])
@settings(max_examples=25, deadline=None)
def test_stages_of_several_steps_and_resources_share_as_by_trying(
    work: list[tuple[float, list[tuple[float, float, float]], int]],
) -> None:
    capacity = np.asarray([6.0, 2.0, 2.0])
    jobs = [Needs(load, np.asarray(steps)) for load, steps, _ in work]
    counts = [count for *_, count in work]
    found = [time.seconds for time in shared_task_times(jobs, capacity, counts)]
    assert found == pytest.approx(levels_by_halving(jobs, capacity, counts), rel=1e-3)


def held_back(flat: float, excess: float, curve: float) -> Callable[[float], float]:
    """Level where a stage alone gets less, then falling, at first faster or slower than later."""

    def function(level: float) -> float:
        fall = max(-level - flat, 0.0)
        return excess - fall + curve * (1.0 - math.exp(-fall))

    return function


def beside_others(share: float, rest: float) -> Callable[[float], float]:
    """One stage that takes what it gets, beside others that use this rest of the resource."""
    return lambda level: math.log(share * math.exp(level) + rest)


def test_a_level_is_found_in_few_tries_from_anywhere() -> None:
    """Each is another estimate of all stages: on a grid of clusters most of what it takes."""
    curves = [
        *(held_back(f, e, c) for f in (0.0, 0.5, 3.0) for e in (0.1, 1.0, 4.0) for c in (0.0, 1.0)),
        *(beside_others(a, b) for a in (0.5, 3.0, 60.0) for b in (0.6, 0.9, 0.99, 0.9999)),
    ]
    tries = []
    for curve in curves:
        for start in (0.0, -5.0):
            asked = Mock(side_effect=curve)
            found = _root(asked, start)
            assert found < 0.0
            assert abs(curve(found)) <= 1e-8
            tries.append(asked.call_count)
    assert max(tries) <= 20
    assert sum(tries) <= 9.5 * len(tries)
    assert _root(lambda level: level - 1.0, -2.0) == 0.0, "enough for all"
    assert _root(lambda level: level, -2.0) == 0.0, "just enough"


def test_tasks_that_do_nothing_take_nothing_from_others() -> None:
    shuffle, nothing = needs(disk=3.0, network=10.0), needs()
    beside, idle = shared_task_times([shuffle, nothing], NODE, [8, 4])
    assert beside == task_time(shuffle, NODE, 8)
    assert (idle.seconds, idle.bottleneck) == (0.0, None)


def test_stages_that_fill_nothing_take_what_they_take_alone() -> None:
    """Two tasks leave four cores and half a disk: each has a core, and none more than one."""
    jobs = [needs(cpu=4.0, disk=2.0), needs(cpu=4.0)]
    assert shared_task_times(jobs, NODE, [1, 1]) == [task_time(job, NODE, 1) for job in jobs]


def test_an_unknown_rate_never_bounds() -> None:
    work = TaskWork(1.0, (Step(2.0, 1e12, 1e12),))
    assert task_time(Needs.of(work, Rates(4.0)), NODE, 4).seconds == pytest.approx(3.0)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(BadInput, match="disk_bytes_per_second must be more than zero"):
        Rates(4.0, disk_bytes_per_second=0.0)


def test_more_data_are_more_of_all_but_the_loading() -> None:
    work = TaskWork(2.0, (Step(3.0, 5.0, 7.0), Step(1.0)), 4.0)
    assert work.times(3.0) == TaskWork(2.0, (Step(9.0, 15.0, 21.0), Step(3.0)), 12.0)
    assert work.times(1.0) == work


@pytest.mark.parametrize("steps", [(), (Step(),)])
def test_a_task_that_only_loads_has_no_bottleneck(steps: tuple[Step, ...]) -> None:
    """On cores of twice the speed what waits in computing takes half."""
    found = task_time(Needs.of(TaskWork(2.0, steps, 4.0), Rates(6.0, speed=2.0)), NODE, 12)
    assert (found.seconds, found.bottleneck, found.contended) == (4.0, None, False)
