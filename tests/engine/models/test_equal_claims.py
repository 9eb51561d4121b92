"""Claims that are equal to the scheduler are granted once, and nothing else changes by it."""

from collections.abc import Sequence

import numpy as np
import pytest
from depth import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.models.boe import states
from engine.models.boe.states import estimate
from engine.models.boe.task_time import Rates, Step, TaskWork
from engine.models.boe.workflow_course import Activity, Course, Machines
from engine.scheduling.drf import SCHEDULERS, Claim, Pool, drf

STAGE = st.tuples(
    st.one_of(st.integers(1, 90), st.integers(90, 4000)),
    st.sampled_from([1.0, 2.0]),
    st.sampled_from([0.0, 1.0, 3.0]),
    st.floats(0.1, 4.0),
    st.floats(0.0, 2.0),
)


def stage(job: int, *drawn: float) -> Activity:
    tasks, cores, memory_gib, cpu, disk = drawn
    work = TaskWork(0.2, (Step(cpu, disk),))
    return Activity(job, f"{job}", int(tasks), work, (), 0.5 * job, cores, memory_gib, 0.3)


def machines(slots: int, *, alike: bool) -> Machines:
    return Machines(4.0, Rates(8.0, 8.0, 1.0), Pool(float(slots), 40.0), alike)


def starts_and_ends(course: Course) -> list[list[float]]:
    return [course.start.tolist(), course.end.tolist()]


@given(
    drawn=st.lists(STAGE, min_size=2, max_size=4),
    slots=st.integers(8, 200),
    name=st.sampled_from(sorted(SCHEDULERS)),
    alike=st.booleans(),
    tracks=st.sampled_from([None, 12, 48]),
)
@example([(50, 1.0, 0.0, 1.0, 0.0), (50, 1.0, 0.0, 2.0, 0.0)], 150, "drf", False, 12)
@settings(max_examples=cases(15, deep=150), deadline=None)
def test_the_course_is_that_of_a_scheduler_asked_in_every_state(
    drawn: list[tuple[float, ...]], slots: int, name: str, alike: bool, tracks: int | None
) -> None:
    """Also where the tracks of a coarsened stage hold more tasks than it has."""
    stages = [stage(job, *each) for job, each in enumerate(drawn)]
    on = machines(slots, alike=alike)
    once = estimate(stages, on, SCHEDULERS[name], record=False, tracks=tracks)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            states._Estimate, "_most_claimed", lambda self, entry: on.most_containers(entry)
        )
        each = estimate(stages, on, SCHEDULERS[name], record=False, tracks=tracks)
    np.testing.assert_array_equal(starts_and_ends(once), starts_and_ends(each))


def test_a_long_stage_beside_another_asks_few_times() -> None:
    """Every task that ends leaves one fewer to claim, but not fewer than fit."""
    asked = list[Sequence[Claim]]()

    def counted(
        claims: Sequence[Claim], pool: Pool, held: Sequence[int] | None = None
    ) -> list[int]:
        if held is None:
            asked.append(claims)
        return drf(claims, pool, held)

    stages = [stage(job, 900, 1.0, 0.0, 1.0 + job, 0.0) for job in range(2)]
    estimate(stages, machines(8, alike=False), counted)
    assert len(asked) < 40
    assert len(set(asked)) == len(asked)
