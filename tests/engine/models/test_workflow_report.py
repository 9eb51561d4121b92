"""What is shown of a workflow's course: states that are told apart, phases, spans of jobs."""

import math

import numpy as np
import pytest

from engine.models.boe.model import fit_workflow
from engine.models.boe.task_time import Step, TaskTime, TaskWork
from engine.models.boe.workflow import OwnNodes, Workflow, WorkflowJob
from engine.models.boe.workflow_course import Activity, Course, Running, State
from engine.models.boe.workflow_report import explanation, merged

CPU = TaskTime(10.0, "cpu", True)


def course(*seen: tuple[int, TaskTime], spread: float = 0.3) -> Course:
    """One stage in states of 10 s: how many of its tasks run, and how long they take."""
    states = tuple(
        State(10.0 * place, 10.0 * place + 10.0, (Running(0, count, (count,), 0, time),))
        for place, (count, time) in enumerate(seen)
    )
    stage = Activity(0, "a", 8, TaskWork(10.0), cores=2.0, spread=spread)
    return Course((stage,), np.zeros(1), np.asarray([10.0 * len(seen)]), states)


@pytest.mark.parametrize(
    ("time", "count", "spread", "shown"),
    [
        (TaskTime(10.2, "cpu", True), 3, 0.3, 1),
        (TaskTime(10.0, "disk", True), 3, 0.3, 2),
        (TaskTime(10.0, "cpu", False), 3, 0.3, 2),
        (TaskTime(12.0, "cpu", True), 3, 0.3, 2),
        (CPU, 3, 0.0, 2),
        (CPU, 4, 0.0, 1),
    ],
    ids=["alike", "bottleneck", "no longer full", "slower", "fewer", "the same"],
)
def test_states_that_skew_alone_divides_are_one(
    time: TaskTime, count: int, spread: float, shown: int
) -> None:
    assert len(merged(course((4, CPU), (count, time), spread=spread))) == shown


def test_a_state_is_divided_among_its_stages_by_their_tasks() -> None:
    """Of 10 s three tasks of four are bound by cores, one by the disk; stretched to 20 s."""
    running = (Running(0, 3, (3,), 0, CPU), Running(1, 1, (1,), 0, TaskTime(10.0, "disk", False)))
    stages = [Activity(job, "s", 3 - 2 * job, TaskWork(10.0), cores=2.0) for job in (0, 1)]
    state = State(0.0, 10.0, running)
    timeline = Course(tuple(stages), np.zeros(2), np.full(2, 10.0), (state,))
    found = explanation(timeline, seconds=20.0, slots=4.0)
    assert found.phases == pytest.approx({"driver": 0.0, "cpu": 15.0, "disk": 5.0})
    assert found.bottleneck == "cpu"
    assert [stage.waves for stage in found.stages] == [1.5, 0.5]
    assert [stage.bottleneck for stage in found.stages] == ["cpu", "disk"]


def test_a_job_spans_all_of_its_stages() -> None:
    work = TaskWork(0.0, (Step(10.0),))
    first = WorkflowJob("first", stages=(Activity(0, "map", 4, work),))
    stages = (Activity(0, "map", 8, work), Activity(0, "reduce", 2, work, after=(0,)))
    second = WorkflowJob("second", ("first",), stages=stages)
    workflow = Workflow.of("w", [first, second])
    found = fit_workflow(workflow).course(cluster=OwnNodes(1, 4.0))
    spans = [(job.name, job.start_seconds, job.end_seconds, job.tasks) for job in found.jobs]
    assert spans == [("first", 0.0, 10.0, 4), ("second", 10.0, 40.0, 10)]


def test_the_bounds_of_theorem_1_are_told_of_each_stage() -> None:
    """40 tasks of 20 s that differ by 20 %, on 10 cores: N / Delta = 4 waves. Stages of equal tasks
    have none, and so has a workflow whose tasks are taken as alike."""
    work = TaskWork(0.0, (Step(20.0),))
    stages = (Activity(0, "map", 40, work, spread=0.2), Activity(0, "reduce", 4, work, after=(0,)))
    cluster = OwnNodes(nodes=2, cores=5.0)
    workflow = Workflow.of("w", (WorkflowJob("j", stages=stages),), cluster=cluster)
    (found,) = fit_workflow(workflow).course(cluster=cluster).skew_bounds
    track = math.sqrt(4.0) * 0.2 * 20.0 * math.sqrt(math.log(10.0))
    assert (found.job, found.stage) == ("j", "map")
    assert found.low_seconds == pytest.approx(0.23 * track)
    assert found.high_seconds == pytest.approx(math.sqrt(2.0) * track)
    alike = fit_workflow(workflow, task_profile="mean").course(cluster=cluster)
    assert alike.skew_bounds == ()
    assert alike.to_dict()["skew_bounds"] == []


@pytest.mark.parametrize(
    ("jobs", "cores", "waves", "parallelism"),
    [(1, 2.0, 20.0, 2), (2, 2.0, 20.0, 2), (3, 4.0, 10.0, 4)],
    ids=["alone", "a core each", "beside two others"],
)
def test_the_bounds_of_theorem_1_are_of_a_stage_alone(
    jobs: int, cores: float, waves: float, parallelism: int
) -> None:
    """Jobs that share the cores run fewer tasks at once than each would alone."""
    stages = (Activity(0, "map", 40, TaskWork(0.0, (Step(20.0),)), spread=0.2),)
    cluster = OwnNodes(nodes=1, cores=cores)
    workflow = Workflow.of(
        "w", [WorkflowJob(f"job {n}", stages=stages) for n in range(jobs)], cluster=cluster
    )
    found = fit_workflow(workflow).course(cluster=cluster).skew_bounds
    track = math.sqrt(waves) * 0.2 * 20.0 * math.sqrt(math.log(parallelism))
    assert [bounds.job for bounds in found] == [f"job {n}" for n in range(jobs)]
    for bounds in found:
        assert bounds.low_seconds == pytest.approx(0.23 * track)
        assert bounds.high_seconds == pytest.approx(math.sqrt(2.0) * track)


@pytest.mark.parametrize(("tasks", "cores"), [(40, 1.0), (1, 8.0)], ids=["one core", "one task"])
def test_theorem_1_bounds_nothing_where_one_task_runs_at_a_time(tasks: int, cores: float) -> None:
    stages = (Activity(0, "map", tasks, TaskWork(0.0, (Step(20.0),)), spread=0.2),)
    cluster = OwnNodes(nodes=1, cores=cores)
    workflow = Workflow.of("w", (WorkflowJob("j", stages=stages),), cluster=cluster)
    report = fit_workflow(workflow).course(cluster=cluster)
    assert report.skew_seconds is not None
    assert report.skew_bounds == ()


@pytest.mark.parametrize("tasks", [10, 20])
def test_what_unlike_tasks_add_in_few_waves_lies_within_theorem_1(tasks: int) -> None:
    """Algorithm 2 less Algorithm 1, of one stage alone."""
    work = TaskWork(0.0, (Step(20.0),))
    stages = (Activity(0, "map", tasks, work, output_spread=0.0, spread=0.2),)
    cluster = OwnNodes(nodes=2, cores=5.0)
    workflow = Workflow.of("w", (WorkflowJob("j", stages=stages),), cluster=cluster)
    report = fit_workflow(workflow).course(cluster=cluster)
    (bounds,) = report.skew_bounds
    assert bounds.low_seconds <= report.skew_seconds <= bounds.high_seconds
