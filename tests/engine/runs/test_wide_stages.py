"""Stages of which the program asks for more cores for each task than the settings say."""

from dataclasses import replace
from pathlib import Path

import pytest

import engine
from engine.planner import prepare
from engine.profile import Profile, Run
from engine.runs.carried_settings import held_cores, wide_stage

DATA = Path(__file__).parents[2] / "data"
ASKED = engine.read(DATA / "wide_tasks.zstd").runs[0]


def codes(*runs: Run, cores: int) -> list[str]:
    cluster = engine.Cluster.of_executors(executors=4, executor_cores=cores)
    fitted = engine.fit(Profile("wide", runs))
    return [notice.code for notice in fitted.predict(cluster=cluster).warnings]


@pytest.mark.parametrize(("cores", "told"), [(1, True), (2, False), (4, False)])
def test_executors_of_fewer_cores_never_start_it(cores: int, told: bool) -> None:
    """Spark 4.0 hung: twelve such tasks on two executors of one core were submitted and none of
    them launched."""
    assert ("stage-needs-cores" in codes(ASKED, cores=cores)) is told


def test_it_is_said_which_stage_and_how_many_cores() -> None:
    cluster = engine.Cluster.of_executors(executors=4, executor_cores=1)
    fitted = engine.fit(Profile("wide", (ASKED,)))
    (said,) = [n for n in fitted.predict(cluster=cluster).warnings if n.code == "stage-needs-cores"]
    assert said.text.startswith("stage 1 (")
    assert "asks for 2 cores for each task (RDD.withResources), executors here have 1" in said.text
    assert "executors of 2 cores or more" in said.remedy


def test_executors_have_room_for_it_by_default() -> None:
    stages = [replace(stage, task_cpus=3 * stage.task_cpus - 2) for stage in ASKED.stages]
    profile = Profile("wide", (replace(ASKED, stages=tuple(stages)),))
    assert held_cores(profile) == 4
    prices = engine.load_catalog("aws")
    request = engine.PlanRequest(profile, prices, instances=("m5.2xlarge",), max_nodes=4)
    found = engine.plan(request, engine.Goal(budget_usd=5.0)).recommendation
    assert "--executor-cores 4" in engine.export(
        found, to="spark-submit", profile=profile, catalog=prices
    )


def wide_profile(*, task_cpus: int) -> Profile:
    """ASKED with a last stage whose tasks ask for so many cores, on executors of as many."""
    wide = replace(ASKED.stages[-1], task_cpus=task_cpus)
    cluster = engine.Cluster.of_executors(
        executors=2, executor_cores=task_cpus, executor_memory_gib=8.0
    )
    return Profile("wide", (replace(ASKED, stages=(*ASKED.stages[:-1], wide), cluster=cluster),))


def test_types_on_which_it_would_wait_forever_are_none_to_recommend() -> None:
    fitted = engine.fit(wide_profile(task_cpus=8))
    found = engine.recommend(
        fitted,
        catalog=engine.load_catalog("aws"),
        instances=["m5.xlarge", "c5.xlarge", "m5.2xlarge"],
        deadline_seconds=3600.0,
        max_nodes=8,
    )
    assert found.recommended.layout.executor_cores == 8
    assert found.recommended.composition == {"m5.2xlarge": 1}
    assert [(lost.instance, lost.code) for lost in found.rejected] == [
        ("c5.xlarge", "stage-needs-cores"),
        ("m5.xlarge", "stage-needs-cores"),
    ]
    assert "asks for 8 cores for each task, and its executors have 4" in found.rejected[0].reason


def test_a_curve_says_why_a_type_without_room_for_it_has_no_price() -> None:
    profile = wide_profile(task_cpus=8)
    types = ("m5.xlarge", "m5.2xlarge")
    request = engine.PlanRequest(profile, engine.load_catalog("aws"), instances=types, max_nodes=4)
    plan, goal = prepare(request), engine.Goal(deadline_seconds=3600.0, max_nodes=4)
    curves = {name: plan.curve(name, goal, request.catalog.billing) for name in types}
    assert {name: curve.unpriced for name, curve in curves.items()} == {
        "m5.xlarge": "no price (its executors have no room for a task)", "m5.2xlarge": "",
    }  # fmt: skip


def test_no_type_with_room_for_it_is_an_error_that_says_what_has() -> None:
    fitted = engine.fit(wide_profile(task_cpus=8))
    with pytest.raises(engine.BadInput, match=r"asks for 8 cores .* have 4 at most") as caught:
        engine.recommend(
            fitted,
            catalog=engine.load_catalog("aws"),
            instances=["m5.xlarge"],
            deadline_seconds=3600.0,
            max_nodes=8,
        )
    assert "8 vCPUs or more" in str(caught.value)


def test_executors_of_your_own_have_room_for_it() -> None:
    fitted = engine.fit(wide_profile(task_cpus=8))
    with pytest.raises(engine.BadInput, match=r"asks for 8 cores .* have 4 at most") as caught:
        engine.recommend_owned(fitted, executor_cores=4, max_executors=8)
    assert "raise --executor-cores" in str(caught.value)
    found = engine.recommend_owned(fitted, executor_cores=8, max_executors=8)
    assert found.recommended.executors >= 1


@pytest.mark.parametrize(
    "config",
    [
        {"spark.dynamicAllocation.enabled": "true"},
        {"spark.executor.resource.gpu.amount": "1", "spark.task.resource.gpu.amount": "1"},
        {"spark.task.cpus": "2"},
    ],
)
def test_nothing_is_said_where_something_else_may_have_asked(config: dict[str, str]) -> None:
    """Executors of the stage's own, GPUs that limit its tasks, or the settings."""
    run = replace(ASKED, config={**ASKED.config, **config})
    assert wide_stage(Profile("wide", (run,))) is None
    assert "stage-needs-cores" not in codes(run, cores=1)


def test_a_log_that_did_without_needs_none() -> None:
    without = replace(ASKED, stages=ASKED.stages[:1])
    assert wide_stage(Profile("wide", (ASKED, without))) is None
    assert wide_stage(Profile("times", (replace(ASKED, stages=()),))) is None


def test_executors_of_a_profile_are_its_own() -> None:
    run = engine.read(DATA / "profiles.zstd").runs[0]
    assert [stage.task_cpus for stage in run.stages] == [1, 2]
    assert wide_stage(Profile("own", (run,))) is None
