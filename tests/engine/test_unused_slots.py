"""Slots of executors that never ran a task."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.unused_slots import UnusedSlots, unused_met


def met_by(tasks: list[int], *, slots: int, per_executor: int, near: bool = False) -> list[int]:
    start = np.arange(float(len(tasks)))
    near_from = [False, *[near] * (len(tasks) - 1)]
    found = unused_met(start, tasks, slots, per_executor=per_executor, near=near_from)
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
    found = unused_met(np.asarray([5.0, 1.0]), [4, 4], 8, per_executor=1, near=[False, False])
    assert found.tolist() == [2, 4]


@given(
    st.lists(st.tuples(st.integers(1, 300), st.booleans()), min_size=1, max_size=20),
    st.integers(1, 40),
    st.integers(1, 8),
)
def test_no_slot_is_new_twice_and_a_full_cluster_is_used(
    stages: list[tuple[int, bool]], executors: int, per_executor: int
) -> None:
    slots = executors * per_executor
    unused, found = UnusedSlots(slots, per_executor=per_executor), []
    for tasks, near in stages:
        found.append(unused.met(tasks, slots=slots, near=near))
        assert 0 <= found[-1] <= min(tasks, slots)
    assert sum(found) + unused.left <= slots
    assert unused.met(slots, slots=slots, near=False) <= slots - sum(found)
    assert unused.left == 0
