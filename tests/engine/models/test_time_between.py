"""Idle slots between tasks, of stages that did not run alone."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, measure, observed

from engine.models.replay.replayed_run import Replay
from engine.models.replay.time_between import usual_idle
from engine.stage_run import StageRun

SLOTS = 4


def stage(tasks: int, seconds: float, lasted: float, *, began: float = 10.0) -> StageRun:
    """`tasks` tasks of so many seconds each, in a stage that lasted so long."""
    times = measure(np.full(tasks, seconds))
    return StageRun(1, "count", tasks, began, began + lasted, times)


def test_most_tasks_say_what_is_usual() -> None:
    """A stage of six tasks was delayed by half a second for each, one of 200 by five milliseconds:
    a third stage of 200 small tasks that shared its slots idled as the second."""
    stages = [
        stage(6, 2.0, 4.0),
        stage(200, 0.1, 6.0, began=20.0),
        stage(200, 0.02, 9.0, began=40.0),
    ]
    idle = usual_idle(np.asarray([0.5, 0.005, np.nan]), stages, SLOTS)
    assert idle == pytest.approx([0.5, 0.005, 0.005])
    few = usual_idle(np.asarray([0.5, np.nan, 0.001]), stages, SLOTS)
    assert few[1] == pytest.approx(0.001)


def test_a_stage_idles_no_longer_than_the_run_leaves_room_for() -> None:
    """200 tasks of 20 ms on four slots leave 2 s of the 6 for what lies between them; beside a
    stage like it they leave none."""
    alone, short = stage(200, 0.02, 1.5, began=50.0), stage(200, 0.02, 0.9, began=80.0)
    stages = [stage(40, 1.0, 30.0), alone, short]
    idle = usual_idle(np.asarray([0.5, np.nan, np.nan]), stages, SLOTS)
    assert idle[1] == pytest.approx((4 * 1.5 - 200 * 0.02) / 200)
    assert idle[2] == 0.0
    pair = [stages[0], alone, stage(200, 0.02, 1.5, began=50.0)]
    assert usual_idle(np.asarray([0.5, np.nan, np.nan]), pair, SLOTS)[1:] == pytest.approx(0.0)
    wide = [stages[0], replace(alone, task_cpus=2)]
    assert usual_idle(np.asarray([0.5, np.nan]), wide, SLOTS)[1] == 0.0, "two tasks at a time"
    late = [stages[0], alone, stage(100, 0.02, 1.0, began=51.0)]
    free = 4 * 1.5 - 200 * 0.02 - 50 * 0.02
    found = usual_idle(np.asarray([0.5, np.nan, np.nan]), late, SLOTS)
    assert found[1] == pytest.approx(free / 250), "half of the other stage's tasks fall into it"


def test_a_stage_that_lasted_no_time_idles_not_and_hides_none() -> None:
    """Logs tell milliseconds: a stage may end in the one in which it began."""
    at_once = stage(200, 0.0, 0.0, began=50.0)
    found = usual_idle(np.asarray([0.5, np.nan]), [stage(40, 1.0, 30.0), at_once], SLOTS)
    assert found.tolist() == [0.5, 0.0]
    beside = [stage(40, 1.0, 30.0), stage(200, 0.02, 1.5, began=50.0), at_once]
    idle = usual_idle(np.asarray([0.5, np.nan, np.nan]), beside, SLOTS)
    assert 0.0 < idle[1] <= 0.5


def test_half_of_all_tasks_idle_no_longer_than_what_is_usual() -> None:
    stages = [
        stage(tasks, 0.02, 30.0, began=40.0 * place) for place, tasks in enumerate((90, 50, 60, 9))
    ]
    idle = usual_idle(np.asarray([0.03, 0.01, 0.02, np.nan]), stages, SLOTS)
    assert idle[3] == pytest.approx(0.02)


def test_between_tasks_of_two_slots_both_stand_idle() -> None:
    """200 of them on four slots leave 4 s of the 12, each second of it for two slots."""
    wide = replace(stage(200, 0.02, 3.0, began=50.0), task_cpus=2)
    idle = usual_idle(np.asarray([0.5, np.nan]), [stage(40, 1.0, 30.0), wide], SLOTS)
    assert idle[1] == pytest.approx((4 * 3.0 - 2 * 200 * 0.02) / (2 * 200))


@pytest.mark.parametrize("idle", [[np.nan, np.nan], [0.7, np.nan]])
def test_where_nothing_tells_it_there_is_none(idle: list[float]) -> None:
    """No stage ran alone, or one with no more tasks than slots, which waits for other things."""
    stages = [stage(4, 1.0, 2.0), stage(200, 0.02, 9.0)]
    assert usual_idle(np.asarray(idle), stages, SLOTS)[1] == 0.0


def test_stages_side_by_side_replay_as_they_ran() -> None:
    """Six tasks whose stage was held up, then three stages of 200 small tasks at once: the run was
    foretold twice as long as it was, on its own cluster."""
    six = Stage(np.full(6, 0.5), input_bytes=6e8)
    small = [Stage(np.full(200, 0.02), (0,), 1 + number) for number in range(3)]
    run = observed([six, *small], [Job(), *(Job((0,)) for _ in small)], slots=2)
    late = 3.0
    stages = [
        replace(
            one,
            submitted_seconds=one.submitted_seconds + late * (place > 0),
            completed_seconds=one.completed_seconds + late,
        )
        for place, one in enumerate(run.stages)
    ]
    jobs = [
        replace(
            job,
            submitted_seconds=job.submitted_seconds + late * (place > 0),
            completed_seconds=job.completed_seconds + late,
        )
        for place, job in enumerate(run.jobs)
    ]
    run = replace(run, seconds=run.seconds + late, stages=tuple(stages), jobs=tuple(jobs))
    replay = Replay.of(run)
    assert replay.dispatch_seconds[0] > 0.5
    assert replay.replayed(2).seconds == pytest.approx(run.seconds, rel=0.02)
