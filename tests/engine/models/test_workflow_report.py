"""The course of a workflow: containers on nodes, stages that wait for them, what is shown."""

import math

import numpy as np
import pytest
from watched import calls_of

from engine.errors import BadInput
from engine.models.boe import states
from engine.models.boe.model import fit_workflow
from engine.models.boe.task_time import Rates, Step, TaskTime, TaskWork
from engine.models.boe.workflow import OwnNodes, Workflow, WorkflowJob
from engine.models.boe.workflow_course import (
    Activity,
    Course,
    Machines,
    Running,
    State,
    containers_on,
    refuse,
)
from engine.models.boe.workflow_report import explanation, merged
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
    touched = calls_of(monkeypatch, states._Live, "advance")
    for stages in (10, 40):
        touched.clear()
        course = course_of(stages)
        assert course.seconds == pytest.approx(stages * TASKS * 10.0 / SLOTS, rel=0.05)
        assert len(touched) <= 2 * stages * TASKS, "at most two stages run at any moment"


def task(cores: float, memory_gib: float) -> Activity:
    return Activity(0, "map", 8, TaskWork(10.0), cores=cores, memory_gib=memory_gib)


@pytest.mark.parametrize(
    ("cores", "memory_gib", "fit"),
    [
        (1.0, 0.0, 60),
        (1.0, 0.5, 60),
        (1.0, 3.0, 12),
        (12.0, 0.5, 3),
        (3.0, 2.0, 18),
        (21.0, 0.5, 0),
        (1.0, 13.0, 0),
        (20 / 3, 12 / 7, 9),
        (1.0, 1.2, 30),
    ],
)
def test_a_node_holds_what_its_cores_and_its_memory_both_hold(
    cores: float, memory_gib: float, fit: int
) -> None:
    """Three nodes of 20 slots and 12 GiB; what fits exactly fits, whatever rounding makes of it."""
    entry = task(cores, memory_gib)
    assert containers_on(entry, nodes=3.0, slots=60.0, memory_gib=36.0) == fit
    assert Machines(3.0, Rates(4.0), Pool(60.0, 36.0), alike=True).most_containers(entry) == fit
    assert Machines(3.0, Rates(4.0), Pool(60.0, 36.0)).most_containers(entry) == math.inf


@pytest.mark.parametrize(
    ("entry", "memory_gib", "alike", "said"),
    [
        (task(5.0, 0.0), math.inf, True, "map needs 5 cores, a node offers 4 cores"),
        (task(1.0, 0.5), 0.75, True, "map needs 0.5 GiB, a node offers 4 cores and 0.25 GiB"),
        (task(1.5, 9.0), 24.0, True,
         "map needs 1.5 cores and 9 GiB, a node offers 4 cores and 8 GiB"),
        (task(1.0, 25.0), 24.0, False,
         "map needs 25 GiB, the whole cluster offers 12 cores and 24 GiB"),
        (task(1.0, 0.0), math.inf, False, "map needs a core, the whole cluster offers 12 cores"),
    ],
)  # fmt: skip
def test_what_is_too_large_is_held_against_a_node_or_the_whole_cluster(
    entry: Activity, memory_gib: float, alike: bool, said: str
) -> None:
    with pytest.raises(BadInput) as error:
        refuse(entry, Machines(3.0, Rates(4.0), Pool(12.0, memory_gib), alike))
    assert error.value.what == f"a task of {said}"


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
