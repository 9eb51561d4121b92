"""`boe` away from its logs: whose times count, and how much less sure it is there."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from synthetic import catalog_of, offer

import engine
from engine.machines.transfer import speed_of
from engine.models.boe.fitted_states import FittedStates, nearness
from engine.models.boe.model import fit_states, fit_workflow
from engine.models.boe.plan import ScaledPlan
from engine.models.boe.task_time import Step, TaskWork
from engine.models.boe.workflow import OwnNodes, Workflow, WorkflowJob
from engine.models.boe.workflow_course import Activity

GB = 1e9


def run(slots: int, tasks: int = 48, seconds: float = 5.0, input_bytes: float = GB) -> engine.Run:
    return observed([Stage(np.full(tasks, seconds))], slots=slots, input_bytes=input_bytes)


def fitted_to(*runs: engine.Run) -> FittedStates:
    return fit_states(engine.Profile("job", runs))


def of_executors(count: int) -> engine.Cluster:
    return engine.Cluster.of_executors(executors=count, executor_cores=1)


@pytest.mark.parametrize(
    ("slots", "times", "away"),
    [
        (8, 1.0, 0.0),
        (16, 1.0, 0.08),
        (2, 1.0, 0.16),
        (8, 4.0, 0.30),
        (32, 0.5, math.hypot(0.16, 0.15)),
    ],
)
def test_each_doubling_of_slots_and_input_adds_its_part_to_the_spread(
    slots: int, times: float, away: float
) -> None:
    fitted = fitted_to(run(8))
    found = fitted.predict(cluster=of_executors(slots), workload=engine.Workload(times * GB))
    assert found.forecast.log_scale[0] == pytest.approx(math.hypot(fitted.spread, away))


def test_the_speed_of_other_machines_is_as_doubtful_as_it_is_everywhere() -> None:
    ran_on, other = offer("ran", 0.1, cpu_score=4e4), offer("other", 0.1, cpu_score=8e4)
    catalog = catalog_of(ran_on, other)
    cluster = engine.Cluster.of_nodes(instance_type="ran", nodes=2, catalog=catalog)
    cluster = cluster.with_layout(engine.Layout(1, 4, 8.0))
    fitted = fitted_to(replace(run(8), cluster=cluster))
    doubt = speed_of(other.instance, ran_on.instance, catalog).log_scale
    assert doubt > 0.01
    for name, added in (("ran", 0.0), ("other", doubt)):
        there = engine.Cluster.of_nodes(instance_type=name, nodes=2, catalog=catalog)
        scale = fitted.predict(cluster=there).forecast.log_scale[0]
        assert scale == pytest.approx(math.hypot(fitted.spread, added))


def test_nearer_logs_count_more_and_repeated_ones_share_a_weight() -> None:
    weights = nearness(np.asarray([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), np.asarray([1, 2, 2]))
    far = math.exp(-1.5)
    assert weights[:, 0] == pytest.approx(np.asarray([1.0, far / 2, far / 2]) / (1.0 + far))
    assert weights[:, 1] == pytest.approx([0.5, 0.25, 0.25])


def test_what_the_answers_for_several_inputs_share_is_estimated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between two logs answers lie on a line between those at the logs; other cores, inputs and
    clusters are asked about anew."""
    logs = run(8), run(8, tasks=96, input_bytes=4 * GB)
    fitted, counted = fitted_to(*logs), []
    once = ScaledPlan.course
    monkeypatch.setattr(
        ScaledPlan, "course", lambda *given, **more: (counted.append(1), once(*given, **more))[1]
    )

    def seconds(model: FittedStates, slots: int, times: float) -> float:
        inputs = [engine.Workload(times * GB)]
        return float(
            model.predict_many(clusters=[of_executors(slots)], workloads=inputs).seconds[0]
        )

    for slots, expected in ((16, 4), (5, 4), (16, 0)):
        counted.clear()
        found = [seconds(fitted, slots, times) for times in (1.5, 2.0, 3.0)]
        assert len(counted) == expected
        assert found == [seconds(fitted_to(*logs), slots, times) for times in (1.5, 2.0, 3.0)]


def test_two_logs_are_averaged_in_log_time_by_how_far_each_is() -> None:
    """On 16 slots: a log of 8 is one doubling off and adds a doubling's doubt, which counts like
    a doubling more; one of 64 slots two and two."""
    pair = fitted_to(run(8), run(64, seconds=7.0))
    assert len(pair.plans) == 2
    alone = [
        math.log(replace(pair, plans=(plan,), bias=pair.bias[[place]])
                 .predict(cluster=of_executors(16)).seconds)
        for place, plan in enumerate(pair.plans)
    ]  # fmt: skip
    assert abs(alone[0] - alone[1]) > 0.1
    weights = np.exp(-1.5 * np.asarray([2.0, 4.0]))
    weights = weights if pair.plans[0].parts[0].observed.slots == 8 else weights[::-1]
    expected = float(weights @ alone) / float(weights.sum())
    found = pair.predict(cluster=of_executors(16))
    assert math.log(found.seconds) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("slots", "times", "tasks"), [(10, 4.0, 40), (60, 4.0, 80), (20, 3.0, 40), (20, 40.0, 80)]
)
def test_the_course_is_that_of_the_log_that_is_nearest_in_slots_and_input(
    slots: int, times: float, tasks: int
) -> None:
    """Doublings of slots and of input count alike: from 20 slots and 3 GB the log of 8 slots and
    1 GB is 2.9 off, that of 64 slots and 16 GB 4.1."""
    pair = fitted_to(run(8, 40), run(64, 80, input_bytes=16.0 * GB))
    workload = engine.Workload(times * GB)
    (job,) = pair.course(cluster=of_executors(slots), workload=workload).jobs
    assert job.tasks == tasks


def test_the_course_is_that_of_the_log_of_the_type_that_is_asked_for() -> None:
    """Equally far in slots and input, the log from such machines weighs more than one whose speed
    is carried over."""
    catalog = catalog_of(*(offer(name, 0.1, cpu_score=4e4) for name in ("one", "other")))
    tasks, clusters = {"one": 40, "other": 56}, {}
    for name in tasks:
        cluster = engine.Cluster.of_nodes(instance_type=name, nodes=2, catalog=catalog)
        clusters[name] = cluster.with_layout(engine.Layout(1, 4, 8.0))
    for order in (["one", "other"], ["other", "one"]):
        fitted = fitted_to(
            *(replace(run(8, tasks[name]), cluster=clusters[name]) for name in order)
        )
        for name, cluster in clusters.items():
            report = fitted.course(cluster=cluster)
            assert report.jobs[0].tasks == tasks[name]
            assert "transferred-speed" not in {notice.code for notice in report.warnings}


def test_own_nodes_have_room_for_a_barrier_stage_by_their_slots() -> None:
    """Two nodes of four slots have room for 8 tasks at once, and not for 12."""
    training = observed([Stage(np.full(12, 5.0), more={"barrier": True})], slots=12)
    job = WorkflowJob("training", profile=engine.Profile("training", (training,)))
    report = fit_workflow(Workflow.of("night", [job])).course(cluster=OwnNodes(2, 4.0))
    (notice,) = [n for n in report.warnings if n.code == "barrier-needs-slots"]
    assert "here is room for 8" in notice.text


def test_another_number_of_shuffle_partitions_is_another_time() -> None:
    """A reduce stage of 48 tasks on eight slots; in one partition it is one task after another."""
    stages = [Stage(np.full(8, 5.0)), Stage(np.full(48, 5.0), (0,), shuffle_bytes=GB)]
    fitted = fitted_to(observed(stages, slots=8, input_bytes=GB))
    one = engine.Workload(GB, shuffle_partitions=1)
    as_seen, alone = (
        fitted.predict(cluster=of_executors(8), workload=workload)
        for workload in (engine.Workload(GB), one)
    )
    assert alone.seconds > 3.0 * as_seen.seconds
    assert fitted.course(cluster=of_executors(8), workload=one).jobs[0].tasks == 9


def test_tasks_of_which_no_rate_is_known_have_no_course() -> None:
    """The workflow's own nodes have no disks that are known, and the task does nothing else."""
    reading = Activity(0, "scan", 4, TaskWork(0.0, (Step(0.0, 1e9),)))
    fitted = fit_workflow(Workflow.of("night", [WorkflowJob("load", stages=(reading,))]))
    with pytest.raises(engine.BadInput, match="nothing says how long any task takes"):
        fitted.course(cluster=OwnNodes(2, 4.0))
    known = OwnNodes(2, 4.0, disk_bytes_per_second=1e8)
    assert fitted.course(cluster=known).seconds == pytest.approx(20.0)
