"""The state-based estimate of many stages that wait for containers."""

from collections import Counter

import pytest

from engine.models.boe import states
from engine.models.boe.task_time import Rates, TaskWork
from engine.models.boe.workflow_course import Activity, Course, Machines
from engine.scheduling.drf import Pool, fifo

TASKS, SLOTS = 40, 4


def course_of(stages: int) -> Course:
    """Stages that are all ready at the start, first in first out."""
    activities = [
        Activity(0, str(place), TASKS, TaskWork(10.0), spread=0.3) for place in range(stages)
    ]
    machines = Machines(1.0, Rates(1e6), Pool(float(SLOTS)))
    return states.estimate(activities, machines, fifo)


def test_stages_that_wait_are_not_touched_at_each_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: Counter[str] = Counter()
    plain = states._Live.end_tracks

    def counted(live: states._Live) -> int:
        touched["tracks"] += 1
        return plain(live)

    monkeypatch.setattr(states._Live, "end_tracks", counted)
    for stages in (10, 40):
        touched.clear()
        course = course_of(stages)
        assert course.seconds == pytest.approx(stages * TASKS * 10.0 / SLOTS, rel=0.05)
        assert touched["tracks"] <= 2 * stages * TASKS, "at most two stages run at any moment"
