"""`boe` on logs, and workflows of several jobs: own runs, surfaces, courses."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from made_runs import Stage, measure, observed
from order_statistics import expected_largest

import engine
from engine.batch import ClusterBatch
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.surface import Surface
from engine.models.boe.fitted_states import FittedStates
from engine.models.boe.jobs import ObservedJob, catalog_rates, learnt_rates
from engine.models.boe.model import fit_states, fit_workflow
from engine.models.boe.plan import ScaledPlan
from engine.models.boe.states import estimate
from engine.models.boe.surface import seconds_on
from engine.models.boe.task_time import Rates, Step, TaskWork
from engine.models.boe.workflow_course import Activity, Machines
from engine.models.boe.workflow_report import merged
from engine.scheduling.drf import Pool, drf
from engine.sources.workflow_file import parse_workflow

LOGS = [sample.name for sample in engine.list_samples() if sample.kind == "event-log"]
FIG_1 = """
format: sparkplan-workflow/1
name: web site analytics
cluster: {nodes: 1, cores: 6, slots: 8, memory: 32GB, disk: 200MB/s, network: 1Gbps}
jobs:
- name: visits
  stages: [{name: map, tasks: 8, steps: [{cpu: 20s}]}]
- name: views
  after: visits
  task_memory: 4GB
  stages:
  - {name: map, tasks: 14, steps: [{cpu: 20s}]}
- name: durations
  after: visits
  task_memory: 4GB
  stages:
  - {name: map, tasks: 4, steps: [{cpu: 20s}]}
  - {name: reduce, tasks: 8, steps: [{network: 1250MB, cpu: 26.667s}]}
"""


@cache
def catalog() -> engine.Catalog:
    return engine.load_catalog("aws")


@cache
def log(name: str) -> engine.Profile:
    return engine.read(name)


@cache
def pipeline() -> FittedStates:
    return fit_workflow(engine.read_workflow("nightly-pipeline"))


@pytest.mark.parametrize("name", LOGS)
def test_the_states_of_a_log_take_its_own_time(name: str) -> None:
    """Before any correction, on the cluster and input that were observed: within 15 %."""
    fitted = fit_states(log(name))
    assert np.abs(fitted.bias).max() < 0.15


TWINS = ("word-count", "sort", "sales-report", "pagerank", "movie-als")
PAIRS = [("nightly-features-small", "nightly-features")]
PAIRS += [(f"{name}-small", f"{name}-large") for name in TWINS]


def test_other_inputs_lie_within_the_interval() -> None:
    """One run about the other, both ways: 11 of 12 were inside the 90 % interval."""
    inside = []
    for small, large in PAIRS:
        for source, target in ((small, large), (large, small)):
            run = log(target).largest_run
            fitted = engine.fit(log(source), model="boe")
            found = fitted.predict(cluster=run.cluster, workload=run.workload)
            assert found.high is not None
            inside.append(found.low <= run.seconds <= found.high)
            codes = {notice.code for notice in found.warnings}
            assert {"single-run", "extrapolating-size", "rates-learnt"} <= codes
    assert sum(inside) >= 10


def test_several_logs_are_tried_on_each_other() -> None:
    profile = engine.read("word-count-small", "word-count-large")
    fitted = engine.fit(profile, model="boe")
    assert fitted.validation.mean_relative_error < 0.5
    found = fitted.predict(cluster=profile.runs[0].cluster)
    largest = profile.largest_run
    assert found.seconds == pytest.approx(largest.seconds, rel=0.1)


def test_a_grid_agrees_with_single_estimates() -> None:
    """A thousand clusters at once are interpolated: within 5 % of the estimate of each at the
    median, 20 % at the worst of 60."""
    fitted = engine.fit(log("nightly-features"), model="boe")
    assert isinstance(fitted, FittedStates)
    chosen = select_candidates(
        catalog(), profile=fitted.profile, instances=["m5.*xlarge", "c5.*xlarge", "r5.*xlarge"]
    )
    types = [offer.instance for offer in chosen.offers]
    batch = ClusterBatch.grid(types, chosen.layouts, range(1, 65), catalog())
    scaled = ScaledPlan(fitted.plans[0])
    many = seconds_on(scaled, batch)
    some = np.random.default_rng(1).choice(len(batch), 60, replace=False)
    alone = np.asarray([scaled.seconds(scaled.plan.target(batch, int(p))) for p in some])
    errors = np.abs(np.log(many[some] / alone))
    assert float(np.median(errors)) < 0.05
    assert float(errors.max()) < 0.2


def test_a_grid_of_a_workflow_follows_the_speed_of_cores_and_loses_no_stragglers() -> None:
    """Drivers take their time on any core, and the last of many tasks ends later than the last of
    few tracks: within 4 % of the exact states at the median, 10 % at the worst, on average even."""
    scaled = ScaledPlan(pipeline().plans[0])
    kinds = [catalog().offer(name).instance for name in ("m5.large", "m5.2xlarge", "c7a.xlarge")]
    clusters = [
        engine.Cluster.of_nodes(instance_type=kind.name, nodes=nodes, catalog=catalog())
        for kind in kinds
        for nodes in range(1, 41)
    ]
    batch = ClusterBatch.of(clusters, pipeline().profile)
    many = seconds_on(scaled, batch)
    some = np.arange(7, len(batch), 11)
    alone = np.asarray([scaled.seconds(scaled.plan.target(batch, int(p))) for p in some])
    errors = np.log(many[some] / alone)
    assert abs(float(errors.mean())) < 0.03
    assert float(np.median(np.abs(errors))) < 0.04
    assert float(np.abs(errors).max()) < 0.1


def test_no_surface_is_slower_with_nothing_but_more_of_the_same_nodes() -> None:
    fitted = engine.fit(log("nightly-features"), model="boe")
    clusters = [
        engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=n, catalog=catalog())
        for n in (1, 2, 4, 8, 16, 32)
    ]
    seconds = fitted.predict_many(clusters=clusters).seconds
    assert np.all(np.diff(seconds) <= 0.02 * seconds[:-1])


def test_rates_come_from_the_catalog_and_else_from_the_log() -> None:
    offers = catalog().offers
    known = catalog_rates(offers["m5.2xlarge"].instance)
    assert (known.disk_from, known.network_from) == ("catalog", "catalog")
    assert known.network == pytest.approx(2.5e9 / 8, rel=0.01)
    assert catalog_rates(offers["i3.2xlarge"].instance).disk_from == "kind of disk"
    run = log("sort-large").runs[0]
    learnt = learnt_rates(run.stages, 2, 1.0)
    assert learnt.disk_from == "learnt"
    job = ObservedJob.of(run)
    double = job.rates_at(2 * job.slots / job.nodes)
    assert double.disk == pytest.approx(2 * (learnt.disk or 0.0))


def test_the_work_of_a_task_takes_its_observed_time() -> None:
    """On the observed machines with as many tasks beside it, whatever is explained by bytes."""
    from engine.models.boe.task_time import Needs, Rates, task_time

    run = log("sort-large").runs[0]
    job = ObservedJob.of(run)
    capacity = np.asarray([float(job.slots), job.nodes, job.nodes])
    rates = Rates(job.slots / job.nodes, job.rates.disk, job.rates.network)
    for stage, work in zip(run.stages, job.works, strict=True):
        found = task_time(Needs.of(work, rates), capacity, min(job.slots, stage.tasks)).seconds
        assert found == pytest.approx(stage.task_seconds.mean, rel=1e-6)


def test_tasks_that_hold_several_slots_share_disks_with_fewer_others() -> None:
    """16 tasks of two cores that read for 9 of their 10 s: four at a time on eight slots."""
    more = {
        "task_cpus": 2,
        "input_bytes": measure(np.full(16, 1e9)),
        "cpu_seconds": measure(np.full(16, 1.0)),
    }
    seen = observed([Stage(np.full(16, 10.0), more=more)], slots=4, input_bytes=16e9)
    cluster = engine.Cluster.of_executors(executors=1, executor_cores=8)
    run = replace(seen, cluster=cluster, cores=((0.0, 8),))
    assert learnt_rates(run.stages, 8, 1.0).disk == pytest.approx(4e9 / 9)
    fitted = fit_states(engine.Profile("wide tasks", (run,)))
    assert fitted.bias == pytest.approx(np.zeros(1), abs=1e-6)
    assert fitted.predict(cluster=run.cluster).seconds == pytest.approx(40.0)


def test_fig_1_as_a_workflow_file_takes_27_24_and_20_seconds() -> None:
    fitted = fit_workflow(parse_workflow(FIG_1, "fig1.yaml"))
    cluster = fitted.workflow.cluster
    assert cluster is not None
    found = fitted.course(cluster=cluster)
    seen = [
        (entry.parallelism, round(entry.task_seconds, 1), entry.bottleneck, entry.contended)
        for state in found.states
        for entry in state.running
        if entry.job in ("visits", "views")
    ]
    assert seen[0] == (8, 26.7, "cpu", True)
    assert (4, 24.0, "cpu", True) in seen
    assert (2, 20.0, "cpu", False) in seen
    assert found.prediction.low < found.seconds < (found.prediction.high or 0.0)


def test_what_unlike_tasks_add_is_the_difference_of_the_two_algorithms() -> None:
    """Algorithm 2 less Algorithm 1; of one wave the expected longest of so many tasks."""
    text = FIG_1.replace("tasks: 8, steps: [{cpu: 20s}]", "tasks: 6, spread: 20%, load: 10s")
    workflow = parse_workflow(text, "w.yaml")
    assert workflow.cluster is not None
    ends = {}
    for profile in ("normal", "mean"):
        found = fit_workflow(workflow, task_profile=profile).course(cluster=workflow.cluster)
        ends[profile] = found.seconds
        if profile == "normal":
            added = found.to_dict()["skew_seconds"]
        else:
            assert found.skew_seconds is None
    assert added == pytest.approx(ends["normal"] - ends["mean"])
    assert added == pytest.approx(10.0 * 0.2 * expected_largest(6), rel=0.25)
    printed = fit_workflow(workflow, task_profile="mean", printed=True)
    assert printed.course(cluster=workflow.cluster).skew_seconds is None


def test_a_course_of_a_log_names_its_jobs() -> None:
    fitted = fit_states(log("nightly-features"))
    run = fitted.profile.runs[0]
    found = fitted.course(cluster=run.cluster)
    assert [job.name for job in found.jobs] == [f"job {n}" for n in range(5)]
    assert found.seconds == pytest.approx(run.seconds, rel=0.02)
    assert found.states[-1].end_seconds == pytest.approx(found.seconds)
    assert sum(job.tasks for job in found.jobs) == sum(stage.tasks for stage in run.stages)


def test_phases_of_a_workflow_add_up() -> None:
    fitted = pipeline()
    cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=4, catalog=catalog())
    found = fitted.course(cluster=cluster)
    phases = found.prediction.phases
    assert sum(phases.values()) == pytest.approx(found.seconds)
    codes = {notice.code for notice in found.warnings}
    assert {"prior-interval", "speed-as-given", "unknown-source-type"} <= codes


@cache
def recommended() -> engine.Recommendation:
    return engine.recommend(
        pipeline(), catalog=catalog(), deadline_seconds=1200.0, max_nodes=16,
        instances=["m5.*large"],
    )  # fmt: skip


def test_recommending_for_a_workflow_keeps_the_family_of_answers() -> None:
    found = recommended()
    best = found.recommended
    assert best.p_deadline >= 0.9
    cheapest = min(choice.cost_usd or 0.0 for choice in [best, *found.alternatives])
    assert best.cost_usd == pytest.approx(cheapest)
    assert set(found.to_dict()) >= {"goal", "recommended", "alternatives", "frontier", "rejected"}


def test_what_is_recommended_is_estimated_exactly() -> None:
    best = recommended().recommended
    cluster = engine.Cluster.of_nodes(
        instance_type=best.instance, nodes=best.nodes or 0, catalog=catalog(), layout=best.layout
    )
    assert pipeline().predict(cluster=cluster).seconds == pytest.approx(best.seconds)


def test_many_points_of_a_workflow_that_are_evaluated_exactly_are_exact() -> None:
    """More than are estimated one by one were read off a curve, and passed for exact."""
    fitted = pipeline()
    candidates = select_candidates(
        catalog(), profile=fitted.profile, instances=["m5.xlarge", "m5.2xlarge"]
    )
    surface = Surface.build(fitted, candidates, max_nodes=16)
    at_once = fitted.exact_at_once(fitted.profile.reference_workload)
    points = range(1, 2 * at_once)
    assert len(points) > at_once
    exact = surface.refined(points).forecast.seconds
    clusters = [surface.cluster(point) for point in points]  # one by one, and none explained
    alone = [fitted.predict_many(clusters=[cluster]).seconds[0] for cluster in clusters]
    assert exact[list(points)] == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("profile", ["normal", "mean", "median"])
def test_task_profiles_and_the_printed_form_are_named(profile: str) -> None:
    workflow = engine.read_workflow("nightly-pipeline")
    cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=4, catalog=catalog())
    found = fit_workflow(workflow, task_profile=profile).course(cluster=cluster)
    printed = fit_workflow(workflow, task_profile=profile, printed=True).course(cluster=cluster)
    assert found.task_profile == profile
    # The printed form is Algorithm 1: it draws no task times.
    assert printed.task_profile == ("median" if profile == "median" else "mean")
    assert found.seconds > 0.0
    assert printed.seconds > 0.0
    assert printed.seconds != found.seconds


def test_a_stage_that_loses_its_cores_in_the_printed_form_gets_them_again() -> None:
    """First come, first served: a job that is ready later and stands first takes all cores."""
    workflow = replace(engine.read_workflow("nightly-pipeline"), scheduler="fifo")
    cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=4, catalog=catalog())
    found = fit_workflow(workflow, task_profile="mean", printed=True).course(cluster=cluster)
    assert all(job.end_seconds > job.start_seconds for job in found.jobs)
    assert found.seconds == max(job.end_seconds for job in found.jobs)


def test_more_input_takes_longer_and_a_size_is_refused() -> None:
    fitted = pipeline()
    cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=4, catalog=catalog())
    once = fitted.course(cluster=cluster).seconds
    twice = fitted.course(cluster=cluster, workload=engine.Workload(scale=2.0)).seconds
    assert twice > once
    with pytest.raises(engine.BadInput, match="a workflow has no size of its own"):
        fitted.course(cluster=cluster, workload=engine.Workload(1e9))


@pytest.mark.parametrize(
    "workload", [engine.Workload(iterations=5), engine.Workload(parameters={"k": 3.0})]
)
def test_iterations_of_a_workflow_are_not_refused_as_its_size(workload: engine.Workload) -> None:
    """The remedy was a factor such as 2x, which says nothing of iterations."""
    cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=4, catalog=catalog())
    with pytest.raises(engine.BadInput, match="no iterations or parameters of its own; leave"):
        pipeline().course(cluster=cluster, workload=workload)


COSTS = "nodes,input_size,seconds,cost\n2,10GB,40,1\n4,10GB,22,2\n8,10GB,13,3\n4,20GB,41,4\n"
"""A run table whose runs differ in a parameter, so that Ernest has too few of them."""


@pytest.mark.parametrize(
    ("source", "other"),
    [("ernest-rcv1", "sparkplan"), ("costs.csv", "sparkplan"), ("optex-als-standalone", "optex")],
)
def test_evidence_without_stages_does_not_fit(
    source: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names a model that the evidence suffices for."""
    monkeypatch.chdir(tmp_path)
    Path("costs.csv").write_text(COSTS, "utf-8")
    profile = engine.read(source)
    with pytest.raises(engine.ModelDoesNotFit, match="boe needs an event log") as error:
        engine.fit(profile, model="boe")
    assert f"the model {other} answers" in str(error.value)
    assert engine.fit(profile, model=other).model == other


def test_other_iterations_are_refused_rather_than_ignored() -> None:
    base = log("word-count-small")
    run = replace(base.runs[0], workload=engine.Workload(1e8, iterations=10.0))
    fitted = fit_states(replace(base, runs=(run,)))
    with pytest.raises(engine.BadInput, match="the logs have 10 iterations"):
        fitted.predict(cluster=run.cluster, workload=engine.Workload(1e8, iterations=20.0))


def test_states_show_containers_that_change_hands() -> None:
    """A job that comes later gets its half as the tasks of the first one end, not at once: the
    states that are shown tell so, though its tasks are merged where only skew divides them."""
    work = TaskWork(0.0, (Step(10.0),))
    activities = [
        Activity(0, "first", 200, work, spread=0.3),
        Activity(1, "second", 200, work, (), 5.0, spread=0.3),
    ]
    timeline = estimate(activities, Machines(4.0, Rates(4.0), Pool(16.0)), drf)
    shown = merged(timeline)
    seen = [entry.parallelism for state in shown for entry in state.running if entry.activity == 1]
    assert seen[0] <= 2
    assert 8 in seen
    assert len(shown) < len(timeline.states) / 3


@pytest.mark.parametrize("most", [8, 200])
def test_executors_that_hold_no_task_together_are_no_answer_and_leave_the_others_theirs(
    most: int,
) -> None:
    """Tasks of two cores on one executor of one: evaluated one by one, and on a curve."""
    wide = Stage(np.full(8, 5.0), more={"task_cpus": 2})
    fitted = engine.fit(engine.Profile("wide", (observed([wide], slots=4),)), model="boe")
    clusters = [
        engine.Cluster.of_executors(executors=count, executor_cores=1)
        for count in range(1, most + 1)
    ]
    seconds = fitted.predict_many(clusters=clusters).seconds
    assert np.isnan(seconds[0])
    assert np.isfinite(seconds[1:]).all()
    with pytest.raises(engine.BadInput, match="needs 2 cores, the whole cluster offers 1 core"):
        fitted.predict(cluster=clusters[0])
    with pytest.raises(engine.BadInput, match="asks for 2 cores for each task"):
        engine.recommend_owned(
            fitted, executor_cores=1, max_executors=most, deadline_seconds=3600.0
        )
