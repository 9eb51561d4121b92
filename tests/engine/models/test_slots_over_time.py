"""Executors that come late, and that come and go: a time of its own, not a factor on the work."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed, without_growth

from engine.cluster import Cluster, Workload
from engine.models.replay.fitting import fit_replays
from engine.models.replay.replayed_run import Replay
from engine.models.stages.slots_over_time import (
    SlotTimeline,
    arrivals,
    end_of_tasks,
    executor_wait_seconds,
    first_arrivals,
    stage_slots,
)
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks

GIB = 1024.0**3
SECONDS = 2.0


def made(
    cores: tuple[tuple[float, int], ...],
    tasks: int | np.ndarray = 200,
    *,
    dynamic: bool = False,
    idle_seconds: float = 0.0,
) -> Run:
    """A scan of equal tasks (or of tasks that take so many seconds) on slots that come and go, and
    idle after each, as a log would tell."""
    slots = max(count for _, count in cores)
    seconds = np.full(tasks, SECONDS) if isinstance(tasks, int) else tasks
    stage = Stage(seconds, input_bytes=len(seconds) * 0.125 * GIB)
    had = SlotTimeline.of(cores, slots)
    nodes = [ScheduledNode((), cores[0][0], 0, Tasks(stage.seconds + idle_seconds))]
    ended = schedule(
        nodes, len(had.added_seconds), added_seconds=had.added_seconds, removed=had.removed,
        exact=True,
    ).seconds  # fmt: skip
    run = observed([stage], slots=slots)
    config = {"spark.dynamicAllocation.enabled": "true"} if dynamic else {}
    stages = (replace(run.stages[0], submitted_seconds=0.0, completed_seconds=ended),)
    jobs = (replace(run.jobs[0], completed_seconds=ended),)
    return replace(run, seconds=ended, stages=stages, jobs=jobs, cores=cores, config=config)


LATE = ((5.0, 4), (35.0, 20))


def test_the_run_itself_is_reproduced() -> None:
    run = made(LATE)
    assert Replay.of(run).observed().seconds == pytest.approx(run.seconds, rel=1e-6)
    assert Replay.of(run).replayed(20).seconds == pytest.approx(run.seconds, rel=1e-6)


def test_the_run_itself_is_reproduced_in_its_own_order_where_slots_went() -> None:
    """Unlike tasks of few waves: how they would do in other orders is no matter of this run."""
    random = np.random.default_rng(5)
    off = []
    for _ in range(100):
        tasks, slots = int(random.integers(6, 60)), int(random.integers(4, 24))
        seconds = random.lognormal(1.0, 0.8, tasks)
        went = random.uniform(0.0, seconds.sum() / slots)
        run = made(((0.0, slots), (went, int(random.integers(1, slots)))), seconds)
        off.append(abs(np.log(Replay.of(run).observed().seconds / run.seconds)))
    assert np.mean(off) < 0.01


@pytest.mark.parametrize(("ratio", "slots"), [(4.0, 20), (16.0, 20), (1.0, 60), (4.0, 5)])
def test_late_executors_cost_the_same_time_for_any_question(ratio: float, slots: int) -> None:
    run = made(LATE)
    share = slots // 5
    truth = made(((5.0, share), (35.0, slots)), round(200 * ratio)).seconds
    asked = Cluster.of_executors(executors=slots, executor_cores=1)
    assert without_growth(run).replayed(slots, ratio=ratio).seconds == pytest.approx(
        truth, rel=0.01
    )
    fitted = fit_replays(Profile("late", (run,)))
    assert np.all(np.abs(fitted.bias) < 1e-6)
    assert "slow-start" in [notice.code for notice in fitted.fit_notices]
    workload = Workload(ratio * (run.workload.input_bytes or 0.0))
    found = fitted.predict(cluster=asked, workload=workload).seconds
    assert found == pytest.approx(truth, rel=0.35)  # growth and warm-up apart


def test_the_wait_for_executors_is_a_phase_and_no_work_of_the_driver() -> None:
    """Submitted at 2 s, begun at 5 s: the driver worked for 2 s, as the measured run shows it."""
    run = made(LATE)
    stage = replace(run.stages[0], submitted_seconds=2.0)
    run = replace(run, stages=(stage,), driver_seconds=2.0)
    assert executor_wait_seconds(run) == pytest.approx(3.0)
    for slots in (20, 40):
        found = fit_replays(Profile("late", (run,))).predict(
            cluster=Cluster.of_executors(executors=slots, executor_cores=1)
        )
        assert found.phases["driver"] == pytest.approx(2.0)
        assert found.phases["wait for executors"] == pytest.approx(3.0)
        assert sum(found.phases.values()) == pytest.approx(found.seconds)


def test_no_wait_where_executors_are_there_or_nobody_says() -> None:
    run = made(((0.0, 20),))
    assert executor_wait_seconds(run) == 0.0
    assert executor_wait_seconds(replace(run, cores=())) == 0.0


def test_executors_asked_for_by_stages_are_there_for_a_fixed_cluster() -> None:
    cores = ((5.0, 4), (35.0, 20), (55.0, 8))
    run = made(cores, dynamic=True)
    assert first_arrivals(run, 20) is None
    assert Replay.of(run).observed().seconds == pytest.approx(run.seconds, rel=0.02)
    # 200 tasks of 2 s in 10 waves, after the five seconds until the first executor came
    assert without_growth(run).replayed(20).seconds == pytest.approx(5.0 + 20.0, rel=0.02)


def test_nodes_of_a_cluster_that_scales_itself_are_no_late_executors() -> None:
    """As Databricks scales them, of which no setting is kept: the log's notice tells."""
    scaled = Notice("dynamic-allocation", "executors came and went", "")
    run = made(LATE)
    assert first_arrivals(run, 20) is not None
    assert first_arrivals(replace(run, notices=(scaled,)), 20) is None


def test_slots_of_a_stage_are_those_that_were_there_came_and_went() -> None:
    cores = ((0.0, 2), (10.0, 6), (20.0, 3), (30.0, 8))
    found = stage_slots(cores, 5.0, 25.0, 4)
    assert found.added_seconds.tolist() == [0, 0, 5, 5, 5, 5]
    assert found.removed == ((15.0, 3),)
    assert stage_slots(cores, 21.0, 25.0, 4).added_seconds.tolist() == [0, 0, 0]
    assert stage_slots((), 1.0, 2.0, 4).added_seconds.tolist() == [0, 0, 0, 0]


def test_tasks_of_two_cpus_wait_for_both() -> None:
    slots = SlotTimeline.of(((0.0, 1), (9.0, 4)), 4)
    assert end_of_tasks(np.full(4, 2.0), slots, 2) == 13.0
    gone = SlotTimeline.of(((0.0, 4), (2.0, 2)), 4)
    assert end_of_tasks(np.full(4, 2.0), gone, 2) == 6.0


def test_the_slots_of_another_cluster_come_in_the_same_shares() -> None:
    added = np.asarray([0.0, 0.0, 7.0, 9.0])
    assert arrivals(added, 8).tolist() == [0, 0, 0, 0, 7, 7, 9, 9]
    assert arrivals(added, 1).tolist() == [0.0]
    assert arrivals(None, 8) is None


def test_executors_that_replace_lost_ones_are_not_late() -> None:
    run = made(((0.0, 4), (20.0, 2), (28.0, 4)))
    assert first_arrivals(run, 4) is None
    assert Replay.of(run).observed().seconds == pytest.approx(run.seconds, rel=0.02)


def test_a_moment_without_any_executor() -> None:
    """All go, and others come: what is left waits for them."""
    stage = ScheduledNode((), 0.0, 0, Tasks(np.full(8, 2.0)))
    added = np.asarray([0.0, 0.0, 10.0, 10.0])
    for exact in (True, False):
        found = schedule([stage], 4, added_seconds=added, removed=((4.0, 2),), exact=exact)
        assert found.seconds == pytest.approx(14.0)


def test_executors_that_stay_are_not_waited_for_again() -> None:
    """All executors go between two jobs, of which the second waits 20 s for others: that is in the
    run itself, and none of a cluster that stays."""
    cores = ((5.0, 8), (40.0, 0), (80.0, 8))
    run = made(cores, 16, dynamic=True)
    stage = replace(
        run.stages[0], stage_id=1, job_ids=(1,), submitted_seconds=60.0, completed_seconds=84.0
    )
    job = replace(
        run.jobs[0], job_id=1, stage_ids=(1,), submitted_seconds=60.0, completed_seconds=84.0
    )
    run = replace(run, seconds=84.0, stages=(*run.stages, stage), jobs=(*run.jobs, job))
    replay = without_growth(replace(run, stages=run.stages))
    assert replay.observed().seconds == pytest.approx(84.0)
    # twice 16 tasks of 2 s on one slot; 5 s for the first executor and 51 s of the driver
    assert replay.replayed(1).seconds == pytest.approx(2 * 32.0 + 5.0 + 51.0)
    assert executor_wait_seconds(run) == 5.0


@pytest.mark.parametrize(
    "cores",
    [
        ((0.0, 20),),
        LATE,
        ((0.0, 20), (15.0, 10)),
        ((0.0, 20), (7.0, 16), (9.0, 20)),
        ((0.0, 20), (7.0, 0), (7.5, 20)),
    ],
    ids=["stay", "late", "half lost", "some replaced", "all replaced"],
)
def test_what_tasks_idle_is_told_whatever_slots_came_and_went(
    cores: tuple[tuple[float, int], ...],
) -> None:
    run = made(cores, idle_seconds=0.4)
    replay = Replay.of(run)
    assert replay.dispatch_seconds == pytest.approx([0.4], rel=0.01)
    assert replay.observed().seconds == pytest.approx(run.seconds, rel=0.001)
