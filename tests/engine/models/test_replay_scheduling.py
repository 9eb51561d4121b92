"""Scheduling of a replay: stages of several jobs, stages at once, launches one after the other."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed, without_growth

from engine.cluster import Cluster
from engine.models.replay.replayed_run import Replay
from engine.models.stages.application_graph import graph_of, job_at
from engine.models.stages.durations.launches import LAUNCH_SECONDS
from engine.profile import JobRun


def job(number: int, began: float, ended: float | None) -> JobRun:
    return JobRun(number, began, ended, (0,))


@pytest.mark.parametrize(
    ("jobs", "owner"),
    [
        ([job(0, 0.0, 9.0), job(1, 1.0, 9.0)], 0),  # both wait for it: the first by id
        ([job(0, 0.0, 2.0), job(1, 1.0, 9.0)], 1),  # the first has ended
        ([job(0, 0.0, None), job(1, 1.0, 9.0)], 0),  # the log ends before the first
        ([job(0, 0.0, 2.0), job(1, 1.0, 3.0)], 1),  # damaged: none goes on
        ([job(0, 0.0, 9.0), job(1, 6.0, 9.0)], 0),  # the second came later
        ([job(1, 6.0, 9.0)], 1),  # damaged: it came before its job
    ],
)
def test_the_first_active_job_runs_a_stage(jobs: list[JobRun], owner: int) -> None:
    assert job_at(5.0, jobs).job_id == owner


def test_a_shared_stage_has_the_priority_of_the_first_job() -> None:
    """It comes before every stage of the second job: slots are given to the first job first."""
    stages = [Stage(np.full(4, 1.0)), Stage(np.full(4, 1.0), (), 1), Stage(np.full(4, 1.0), (0,))]
    run = observed(stages, [Job(), Job()], slots=4)
    jobs = tuple(
        replace(each, submitted_seconds=0.0, completed_seconds=run.seconds) for each in run.jobs
    )
    shared = replace(run.stages[2], job_ids=(0, 1))
    run = replace(run, jobs=jobs, stages=(*run.stages[:2], shared))
    graph = graph_of(run)
    first, second, both = (graph.nodes[index].priority for index in graph.stage_nodes)
    assert first < both < second


def test_stages_side_by_side_replay_as_they_ran() -> None:
    """Six tasks whose stage was held up, then three stages of 200 small tasks at once: the run was
    predicted twice as long as it was, on its own cluster."""
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
    assert replay.dispatch_seconds[1:].tolist() == [0.0] * 3
    assert replay.replayed(2).seconds == pytest.approx(run.seconds, rel=0.02)


def test_short_tasks_wait_for_the_driver_to_launch_them() -> None:
    """20,000 tasks of 50 ms: on 8 slots their work decides, on thousands the driver."""
    replay = without_growth(observed([Stage(np.full(20_000, 0.05), input_bytes=1e12)], slots=8))
    assert replay.replayed(8).seconds == pytest.approx(125.0, rel=0.001)
    assert replay.replayed(16).seconds == pytest.approx(62.5, rel=0.001)
    for slots in (1_000, 5_000):
        found = replay.replayed(slots).seconds
        assert found == pytest.approx(20_000 * LAUNCH_SECONDS + 0.05, rel=0.001)
    long = without_growth(observed([Stage(np.full(2_000, 60.0), input_bytes=1e12)], slots=8))
    assert long.replayed(1_000).seconds == pytest.approx(120.0, rel=0.001)


def test_a_log_whose_driver_launched_faster_says_so() -> None:
    """4,000 tasks in 1 s: 0.25 ms each. What a log shows is never lengthened."""
    fast = observed([Stage(np.full(4_000, 0.5), input_bytes=1e12)], slots=2_000)
    replay = without_growth(fast)
    assert replay.launch_seconds == pytest.approx(0.00025)
    assert replay.observed().seconds == pytest.approx(1.0)
    assert replay.replayed(4_000).seconds == pytest.approx(1.0)


def test_tasks_of_two_cpus_are_half_as_many_in_the_first_wave_of_a_log() -> None:
    """20,000 tasks on 2,000 slots: 1,000 ran at once, so that 19,000 more are launched."""
    stage = Stage(np.full(20_000, 2.0), input_bytes=1e12, more={"task_cpus": 2})
    pairs = Cluster.of_executors(executors=1_000, executor_cores=2)
    replay = without_growth(replace(observed([stage], slots=2_000), cluster=pairs))
    found = replay.replayed(50_000).seconds
    assert found == pytest.approx(19_000 * LAUNCH_SECONDS + 2.0, rel=0.001)
