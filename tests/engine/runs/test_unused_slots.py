"""Slots of executors that never ran a task."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.runs.unused_slots import UnusedSlots, tasks_on_unused_slots


def met_by(
    tasks: list[int], *, slots: int, per_executor: int, near: bool = False, cpus: int = 1
) -> list[int]:
    start = np.arange(float(len(tasks)))
    near_from = [False, *[near] * (len(tasks) - 1)]
    found = tasks_on_unused_slots(
        start, tasks, slots, per_executor=per_executor, near=near_from, cpus=[cpus] * len(tasks)
    )
    return found.tolist()


def test_executors_of_one_slot_are_met_in_proportion() -> None:
    assert met_by([4, 4, 4, 8], slots=8, per_executor=1) == [4, 2, 1, 1]


def test_a_used_executor_is_used_on_all_of_its_slots() -> None:
    """Eight tasks spread over eight executors of four: nothing is new after them."""
    assert met_by([8, 32], slots=32, per_executor=4) == [8, 0]
    assert met_by([4, 32], slots=32, per_executor=4) == [4, 16]


def test_stages_whose_input_lies_on_used_executors_meet_new_ones_only_beyond_their_slots() -> None:
    assert met_by([3, 3, 3], slots=100, per_executor=1, near=True) == [3, 0, 0]
    assert met_by([3, 20, 100], slots=100, per_executor=1, near=True) == [3, 17, 80]
    assert met_by([3, 20, 100], slots=100, per_executor=4, near=True) == [3, 8, 56]


def test_order_is_that_of_the_starts() -> None:
    start, near = np.asarray([5.0, 1.0]), [False, False]
    found = tasks_on_unused_slots(start, [4, 4], 8, per_executor=1, near=near, cpus=[1, 1])
    assert found.tolist() == [2, 4]


def test_tasks_of_several_cpus_are_fewer_than_the_slots_that_they_use() -> None:
    """Sixteen slots of four executors hold eight tasks of two: one wave is first."""
    assert met_by([40, 40], slots=16, per_executor=4, cpus=2) == [8, 0]
    assert met_by([4, 40], slots=32, per_executor=4, cpus=2) == [4, 8]
    assert met_by([3, 3, 7], slots=100, per_executor=2, cpus=2, near=True) == [3, 0, 4]


def test_of_slots_that_go_those_that_never_ran_a_task_go_first() -> None:
    """Of a hundred slots three are used, and ten stay; of those to come none goes."""
    unused = UnusedSlots(100, per_executor=1)
    unused.use(3, slots=100, near=False)
    unused.remove(90, slots=10, upcoming=0)
    assert unused.use(60, slots=10, near=False) == 7
    unused = UnusedSlots(100, per_executor=1)
    unused.use(40, slots=100, near=False)
    unused.remove(45, slots=55, upcoming=50)
    assert unused.left == 50


@given(
    st.lists(st.tuples(st.integers(1, 300), st.booleans()), min_size=1, max_size=20),
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 3),
)
def test_no_slot_is_new_twice_and_a_full_cluster_is_used(
    stages: list[tuple[int, bool]], executors: int, per_executor: int, cpus: int
) -> None:
    slots = executors * per_executor
    unused, found = UnusedSlots(slots, per_executor=per_executor), []
    for tasks, near in stages:
        left = unused.left
        found.append(unused.use(tasks, slots=slots, near=near, cpus=cpus))
        assert 0 <= found[-1] <= min(tasks, max(1, slots // cpus))
        assert left - unused.left >= min(left, found[-1] * cpus)
    assert unused.use(slots, slots=slots, near=False) <= slots - sum(found)
    assert unused.left == 0


@given(st.integers(1, 60), st.integers(0, 80), st.integers(0, 40), st.integers(1, 80))
def test_no_more_tasks_are_first_than_run_at_once_when_slots_have_gone(
    used: int, went: int, coming: int, tasks: int
) -> None:
    unused = UnusedSlots(100, per_executor=2)
    unused.use(used, slots=100, near=False)
    left, slots = unused.left, 100 - went
    unused.remove(went, slots=slots, upcoming=coming)
    assert min(left, coming, slots) <= unused.left <= left
    assert unused.use(tasks, slots=slots, near=True) <= min(tasks, slots)
