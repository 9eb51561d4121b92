"""Barrier stages: what starts on all of its slots at once, or not at all."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed
from synthetic import catalog_of, model, offer

import engine
from engine.choosing.limits import Limits
from engine.choosing.owned import recommend_owned
from engine.cluster import Cluster, Layout
from engine.errors import BadInput
from engine.experiments.training import TrainingRequest, plan_experiments
from engine.mixing.composition import PlacedComposition
from engine.models.boe.model import fit_workflow
from engine.models.boe.workflow import OwnNodes, Workflow, WorkflowJob
from engine.models.replay.replayed_run import Replay
from engine.models.stages import application_graph
from engine.optimiser import recommend
from engine.profile import Profile, Run
from engine.runs.barrier_stages import BarrierStage, barrier_stages
from engine.scheduling import stages

BARRIER = {"barrier": True}
SMALL, BIG = offer("small", 0.1, vcpus=2, memory_gib=8.0), offer("big", 9.0, vcpus=8, memory_gib=32)


def run_with(tasks: int, *, slots: int = 6, barrier: bool = True, **more: object) -> Run:
    """A run of a stage of twelve tasks and one of training."""
    training = Stage(np.full(tasks, 5.0), (0,), more=BARRIER | more if barrier else {})
    return observed([Stage(np.full(12, 2.0)), training], [Job()], slots=slots)


def profile_of(*runs: Run) -> Profile:
    return Profile("training", runs)


def law(name: str, count: np.ndarray) -> np.ndarray:
    return 60.0 + (300.0 if name == "small" else 100.0) / count


def test_what_runs_need_is_the_least_that_one_did_with() -> None:
    assert barrier_stages(profile_of(run_with(6))) == (BarrierStage("stage 1 (stage 1)", 6),)
    (found,) = barrier_stages(profile_of(run_with(6), run_with(4)))
    assert found.tasks == 4
    assert barrier_stages(profile_of(run_with(6), run_with(6, barrier=False))) == ()
    more_slots_than_told = profile_of(run_with(7, slots=6))
    assert barrier_stages(more_slots_than_told) == ()
    assert barrier_stages(Profile("empty")) == ()


def test_tasks_of_several_cores_take_as_many_slots() -> None:
    (need,) = barrier_stages(profile_of(run_with(3, slots=6, task_cpus=2)))
    assert need == BarrierStage("stage 1 (stage 1)", 3, 2)
    assert need.room(2.0, 3.0) == 2.0
    assert barrier_stages(profile_of(run_with(4, slots=6, task_cpus=2))) == ()


@pytest.mark.parametrize("name", ["sparkplan", "simcost", "boe"])
def test_predictions_on_fewer_slots_say_that_the_job_ends_there(name: str) -> None:
    fitted = engine.fit(profile_of(run_with(6)), model=name)

    def codes(executors: int) -> list[str]:
        cluster = Cluster.of_executors(executors=executors, executor_cores=2)
        return [notice.code for notice in fitted.predict(cluster=cluster).warnings]

    assert codes(2)[0] == "barrier-needs-slots"
    assert "barrier-needs-slots" not in codes(3)
    met = [
        fitted.predict(cluster=Cluster.of_executors(executors=executors, executor_cores=2))
        for executors in (2, 3)
    ]
    assert met[0].p_within(1e6) == 0.0, "Spark ends the job: it meets no deadline"
    assert met[1].p_within(1e6) > 0.9


@pytest.mark.parametrize("barrier", [True, False])
def test_a_replay_starts_their_tasks_together(barrier: bool) -> None:
    """Four tasks of training beside a job that holds two of four slots for most of a minute."""
    long = Stage(np.full(2, 50.0))
    training = Stage(np.full(4, 5.0), job=1, more=BARRIER if barrier else {})
    run = observed([long, training], [Job(), Job(gap_seconds=1.0)], slots=4)
    outcome = Replay.of(run).replayed(4)
    assert outcome.start[0] == pytest.approx(0.0, abs=1.0)
    assert outcome.start[1] == pytest.approx(50.0 if barrier else 1.0, abs=2.0)
    assert outcome.seconds == pytest.approx(run.seconds, rel=0.05)


@pytest.mark.parametrize("more", [{"barrier": True}, {"task_cpus": 3}])
def test_those_of_a_log_of_very_many_tasks_are_placed_in_blocks(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    """On any cluster and input, while a log of fewer tasks is placed one by one on all."""
    long, beside = Stage(np.full(12, 5.0)), Stage(np.full(2, 5.0), job=1, more=more)
    run = observed([long, beside], [Job(), Job(gap_seconds=1.0)], slots=6)
    placed: list[int] = []

    class Counted(stages.FairPools):
        def add(self, stage: stages.WaitingStage, *, moment: float) -> None:
            placed.append(stage.index)
            super().add(stage, moment=moment)

    monkeypatch.setattr(stages, "FairPools", Counted)
    assert Replay.of(run).replayed(6).seconds > 0.0
    assert placed
    placed.clear()
    monkeypatch.setattr(application_graph, "MOST_TASKS_OF_UNLIKE_CLAIMS", 13)
    replay = Replay.of(run)
    assert replay.replayed(6).seconds > 0.0
    assert replay.replayed(4, ratio=3.0).seconds > 0.0
    assert not placed


@pytest.mark.parametrize("mix", [1, 2])
def test_no_cluster_is_recommended_that_does_not_start_them(mix: int) -> None:
    fitted, catalog = model(law, profile_of(run_with(6)), log_scale=0.1), catalog_of(SMALL, BIG)
    found = recommend(fitted, catalog=catalog, deadline_seconds=900.0, max_nodes=4, mix=mix)
    best = found.recommended
    assert best.composition == {"small": 3}, "one would be in time, and Spark would end the job"
    assert not [line for line in best.why if line.startswith("one node fewer")]


@pytest.mark.parametrize(("tasks", "started"), [(10, True), (11, False)])
def test_a_mix_starts_them_on_all_of_its_executors(tasks: int, started: bool) -> None:
    """On ten slots, two of a small node and eight of a big one; big nodes alone would be 1.25."""
    fitted = model(law, profile_of(run_with(tasks, slots=16)), log_scale=0.1)
    mix, catalog = {"small": 1, "big": 1}, catalog_of(SMALL, BIG)
    found = engine.predict_composition(
        fitted, composition=mix, catalog=catalog, deadline_seconds=1e6
    )
    codes = [notice.code for notice in found.choice.warnings]
    assert ("barrier-needs-slots" not in codes) is started
    placed = PlacedComposition.of(fitted, mix, catalog)
    of_types = placed.notices(fitted.profile.reference_workload)
    assert "barrier-needs-slots" not in [notice.code for notice in of_types]
    assert found.choice.p_deadline == pytest.approx(1.0 if started else 0.0)
    assert found.prediction.p_within(1e6) == found.choice.p_deadline


@pytest.mark.parametrize(("more", "fewest"), [(BARRIER, 3), ({"task_cpus": 4}, 9)])
def test_where_they_do_not_start_no_deadline_is_met(more: dict[str, object], fewest: int) -> None:
    """On nodes of two cores, along a curve and for a named cluster."""
    profile = profile_of(observed([Stage(np.full(6, 5.0), more=more)], [Job()], slots=24))
    fitted, catalog = engine.fit(profile), catalog_of(SMALL, BIG)
    plan = engine.prepare(engine.PlanRequest(profile, catalog, max_nodes=4))
    curve = plan.curve("small", engine.Goal(1e6, None, 0.9, 4), catalog.billing)
    p, ends = curve.p_deadline, np.arange(1, 5) >= fewest
    np.testing.assert_array_equal(p > 0.9, ends)
    np.testing.assert_array_equal(p == 0.0, ~ends)
    for values in (curve.seconds, curve.low, curve.high, curve.cost_usd, curve.cost_high_usd):
        np.testing.assert_array_equal(np.isfinite(values), ends, "no time where it does not end")
    np.testing.assert_array_equal(curve.started, ends)
    small = [Cluster.of_nodes(instance_type="small", nodes=n, catalog=catalog) for n in range(1, 5)]
    np.testing.assert_array_equal(engine.starts(fitted, small), ends)
    for nodes in (2, 3):
        found = engine.predict_composition(
            fitted, composition={"small": nodes}, catalog=catalog, deadline_seconds=1e6
        )
        assert (found.choice.p_deadline == 0.0) is (nodes < fewest)
        assert found.prediction.p_within(1e6) == found.choice.p_deadline


WORKFLOW = Workflow.of(
    "night",
    [
        WorkflowJob("features", profile=profile_of(run_with(4))),
        WorkflowJob("training", ("features",), profile=profile_of(run_with(6))),
        WorkflowJob("report", ("training",), profile=profile_of(run_with(6, barrier=False))),
    ],
)


def test_a_workflow_needs_what_one_of_its_jobs_does() -> None:
    fitted, catalog = fit_workflow(WORKFLOW), catalog_of(SMALL, BIG)
    assert fitted.barrier_stages == (BarrierStage("training: stage 1 (stage 1)", 6),)
    found = recommend(fitted, catalog=catalog, deadline_seconds=9000.0, max_nodes=4)
    assert found.recommended.composition == {"small": 3}
    small = Cluster.of_nodes(instance_type="small", nodes=2, catalog=catalog)
    for too_small in (small, OwnNodes(2, 2.0)):
        report = fitted.course(cluster=too_small)
        assert "barrier-needs-slots" in [notice.code for notice in report.warnings]
    enough = fitted.course(cluster=OwnNodes(3, 2.0))
    assert "barrier-needs-slots" not in [notice.code for notice in enough.warnings]


UNLIKE = Workflow.of(
    "night",
    [
        WorkflowJob("wide", profile=profile_of(run_with(9, slots=9))),
        WorkflowJob("deep", ("wide",), profile=profile_of(run_with(4, slots=8, task_cpus=2))),
        WorkflowJob("small", ("deep",), profile=profile_of(run_with(3, slots=9))),
    ],
)
"""Nine tasks of one core and four of two: on executors of three cores, which hold one task of the
latter, these need one executor more, though fewer slots."""


def test_of_stages_with_unlike_task_cpus_each_may_decide() -> None:
    fitted = fit_workflow(UNLIKE)
    assert [(stage.tasks, stage.task_cpus) for stage in fitted.barrier_stages] == [(9, 1), (4, 2)]
    for cores in (1, 2, 3, 4):
        each = [-(-9 // cores), -(-4 // max(1, cores // 2))]
        fewest = max(each)
        found = recommend_owned(fitted, executor_cores=cores, max_executors=20)
        assert found.recommended is not None
        counts = [found.recommended, *found.alternatives]
        assert min(choice.executors or 0 for choice in counts) == fewest
        stuck = "wide" if each[0] == fewest else "deep"
        with pytest.raises(BadInput, match=f"{stuck}: stage 1"):
            recommend_owned(fitted, executor_cores=cores, max_executors=fewest - 1)
        told = {}
        for executors in (fewest - 1, fewest):
            cluster = Cluster.of_executors(executors=executors, executor_cores=cores)
            told[executors] = [notice.code for notice in fitted.predict(cluster=cluster).warnings]
        assert "barrier-needs-slots" in told[fewest - 1]
        assert "barrier-needs-slots" not in told[fewest]


@pytest.mark.parametrize("mix", [1, 2])
def test_a_recommended_cluster_starts_all_of_them(mix: int) -> None:
    three, one = offer("three", 0.1, vcpus=3, memory_gib=12.0), offer("one", 0.09, vcpus=1)
    found = recommend(
        fit_workflow(UNLIKE), catalog=catalog_of(three, one), max_nodes=12, mix=mix,
        deadline_seconds=9000.0, instances=["*"],
    )  # fmt: skip
    assert found.recommended is not None
    for choice in (found.recommended, *found.alternatives):
        threes, ones = choice.composition.get("three", 0), choice.composition.get("one", 0)
        assert 3 * threes + ones >= 9
        assert threes + ones >= 4
    assert found.recommended.composition == {"three": 4}


@pytest.mark.parametrize(
    ("method", "few"),
    [("ernest", "runs have"), ("peridot", "2 runs have"), ("simcost", "1 run has")],
)
def test_planned_runs_that_may_not_start_are_counted(method: str, few: str) -> None:
    fitted = engine.fit(profile_of(run_with(6)), model="sparkplan")
    request = TrainingRequest(
        nodes=(1, 2, 4), fractions=(0.25, 0.5, 1.0), budget=1e9, unit="seconds", method=method,
        instances=("small",), partitions=64, node_cores=2, target_cores=(4, 32),
        sample_partitions=8,
    )  # fmt: skip
    if method == "peridot":
        request = replace(request, nodes=(2,))
    plan = plan_experiments(request, fitted=fitted, catalog=catalog_of(SMALL))
    (said,) = [notice for notice in plan.notices if notice.code == "barrier-needs-slots"]
    assert few in said.text
    assert "6 tasks all at once" in said.text
    plain = engine.fit(profile_of(run_with(6, barrier=False)), model="sparkplan")
    free = plan_experiments(request, fitted=plain, catalog=catalog_of(SMALL))
    assert "barrier-needs-slots" not in [notice.code for notice in free.notices]


def test_a_type_with_too_few_slots_says_so() -> None:
    fitted, catalog = model(law, profile_of(run_with(6))), catalog_of(SMALL, BIG)
    found = recommend(fitted, catalog=catalog, deadline_seconds=61.0, max_nodes=2)
    assert found.recommended is None
    told = {rejected.instance: (rejected.code, rejected.reason) for rejected in found.rejected}
    assert told["small"] == (
        "barrier",
        "has room for 4 tasks on 2 nodes, and 6 start all at once (barrier mode)",
    )
    assert told["big"][0] == "deadline"


def test_executors_with_too_few_cores_for_a_task_hold_one() -> None:
    need = BarrierStage("stage 1", 5, task_cpus=4)
    layouts = [Layout(1, 2, 4.0), Layout(2, 4, 8.0)]
    constraints = Limits(barrier_stages=(need,)).constraints(
        [SMALL.instance, BIG.instance], layouts
    )
    assert constraints.fewest().tolist() == [5, 3]


def test_what_a_program_is_said_to_need_counts_without_a_log_of_it() -> None:
    plain = profile_of(run_with(6, barrier=False))
    limits = Limits(barrier_stages=(BarrierStage("stage 1", 6),))
    found = recommend(
        model(law, plain), catalog=catalog_of(SMALL), limits=limits, deadline_seconds=900.0
    )
    assert found.recommended.composition == {"small": 3}


def test_limits_under_which_no_cluster_starts_them_are_refused() -> None:
    fitted, catalog = model(law, profile_of(run_with(6))), catalog_of(SMALL)
    with pytest.raises(BadInput, match=r"6 tasks all at once .* room for more than 4; raise --max"):
        recommend(fitted, catalog=catalog, deadline_seconds=900.0, max_nodes=2)
    with pytest.raises(BadInput, match="refuses such stages with dynamic allocation; leave it out"):
        recommend(fitted, catalog=catalog, limits=Limits(executors=(1, 40)))


@pytest.mark.parametrize("epsilon", [None, 1])
def test_executors_of_ones_own_start_them(epsilon: int | None) -> None:
    fitted = model(law, profile_of(run_with(6)), log_scale=0.1)
    found = recommend_owned(
        fitted, executor_cores=2, max_executors=20, deadline_seconds=900.0, epsilon=epsilon
    )
    best = found.recommended
    assert best.executors == 3
    assert best.why[0] == "one executor fewer has too few slots for its barrier stages"
    assert min(choice.executors or 0 for choice in found.alternatives) > 3
    with pytest.raises(BadInput, match="room for 4 on 2 executors of 2 cores; raise --max-exec"):
        recommend_owned(fitted, executor_cores=2, max_executors=2)


def test_a_job_without_them_goes_anywhere() -> None:
    plain = replace(run_with(6), stages=run_with(6, barrier=False).stages)
    found = recommend(
        model(law, profile_of(plain)), catalog=catalog_of(SMALL), deadline_seconds=900.0
    )
    assert found.recommended.composition == {"small": 1}
