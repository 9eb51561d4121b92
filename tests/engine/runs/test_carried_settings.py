"""Settings of the logs go with a recommendation."""

import math
import re
from dataclasses import replace
from functools import cache

import pytest

import engine
from engine.profile import Profile, Run
from engine.runs.carried_settings import CARRIED, carried_settings
from engine.runs.executor_resources import ScaledResource, scaled_resources
from engine.sources.logs.kept_settings import KEPT_CONFIG, KEPT_PREFIXES

KEY = "spark.sql.shuffle.partitions"


def profile_of(*configs: dict[str, str]) -> Profile:
    run = engine.read("word-count-small").runs[0]
    return Profile("made", tuple(replace(run, config=config) for config in configs))


def test_what_partitions_joins_and_caches_follow_from_is_handed_over() -> None:
    said = {
        KEY: "64",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
        "spark.memory.fraction": "0.5",
        "spark.memory.useLegacyMode": "true",
        "spark.sql.files.minPartitionNum": "8",
        "spark.sql.leafNodeDefaultParallelism": "9",
    }
    other = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.master": "local"}
    assert carried_settings(profile_of({**said, **other})) == said


@pytest.mark.parametrize(
    ("master", "memory", "carried"),
    [
        ("yarn", "6g", True),
        ("local-cluster[2,1,1024]", "6144", True),
        ("yarn", "1g", False),  # Spark's default, and platforms have larger ones
        ("yarn", "much", False),
        ("local[4]", "6g", False),  # of the tasks, which run in the driver
    ],
)
def test_a_driver_keeps_its_memory_and_what_it_may_fetch(
    master: str, memory: str, carried: bool
) -> None:
    fetched = {"spark.driver.maxResultSize": "4g"}
    driver = {"spark.driver.memory": memory}
    profile = profile_of({**fetched, **driver, "spark.master": master})
    assert carried_settings(profile) == (fetched | driver if carried else fetched)


@pytest.mark.parametrize("on", ["true", "false"])
def test_what_the_sizes_of_shuffles_and_the_longest_tasks_rest_on_is_handed_over(on: str) -> None:
    """Databricks writes out how it would speculate, and that it does not."""
    sizes = {"spark.io.compression.codec": "zstd", "spark.shuffle.compress": "false"}
    how = {"spark.speculation.multiplier": "3", "spark.speculation.quantile": "0.9"}
    speculation = {"spark.speculation": on, **how}
    wanted = sizes | speculation if on == "true" else sizes
    assert carried_settings(profile_of({**sizes, **speculation})) == wanted
    assert carried_settings(profile_of({**sizes, **how})) == sizes


def test_what_is_handed_over_is_kept_of_a_log() -> None:
    assert set(CARRIED) <= {
        *KEPT_CONFIG,
        *(key for key in CARRIED if key.startswith(KEPT_PREFIXES)),
    }


def test_logs_that_differ_say_nothing() -> None:
    assert carried_settings(profile_of({KEY: "64"}, {KEY: "64"})) == {KEY: "64"}
    assert carried_settings(profile_of({KEY: "64"}, {KEY: "65"})) == {}
    assert carried_settings(profile_of({KEY: "64"}, {})) == {}


def test_run_times_alone_have_no_settings() -> None:
    run: Run = replace(engine.read("word-count-small").runs[0], stages=())
    assert carried_settings(Profile("times", (run,))) == {}


def test_no_value_leaves_its_line() -> None:
    bad = {KEY: "8\n rm -rf", "spark.sql.adaptive.x y": "1"}
    assert carried_settings(profile_of(bad)) == {}


GPUS = {
    "spark.executor.resource.gpu.amount": "1",
    "spark.executor.resource.gpu.vendor": "nvidia.com",
    "spark.task.resource.gpu.amount": "0.25",
}


def test_gpus_of_executors_and_tasks_are_handed_over() -> None:
    script = {"spark.executor.resource.gpu.discoveryScript": "/home/ann/gpus.sh"}
    assert carried_settings(profile_of({**GPUS, **script})) == GPUS


@pytest.mark.parametrize("to", ["spark-submit", "spark-defaults", "emr", "kubernetes", "terraform",
                                "databricks", "dataproc"])  # fmt: skip
def test_every_export_asks_for_the_gpus_of_the_log(to: str) -> None:
    catalog, kind = {
        "databricks": ("azure-databricks", "*"), "dataproc": ("gcp", "n2-standard-4"),
    }.get(to, ("aws", "m5.xlarge"))  # fmt: skip
    profile, prices = profile_of(GPUS), engine.load_catalog(catalog)
    request = engine.PlanRequest(profile, prices, instances=(kind,), max_nodes=8)
    found = engine.plan(request, engine.Goal(budget_usd=5.0)).recommendation
    text = engine.export(found, to=to, profile=profile, catalog=prices)
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    layout = found.recommended.layout
    as_many = str(math.ceil(layout.executor_cores / 2))  # the log's executors had one for two cores
    for key, value in (GPUS | {"spark.executor.resource.gpu.amount": as_many}).items():
        assert re.search(rf"{re.escape(key)}\W{{1,6}}{re.escape(value)}\b", plain)


@cache
def recommended(partitions: int | None) -> tuple[engine.PlanRequest, engine.Recommendation]:
    profile, prices = engine.read("nightly-features"), engine.load_catalog("aws")
    workload = replace(profile.reference_workload, shuffle_partitions=partitions)
    request = engine.PlanRequest(
        profile, prices, workload=workload, instances=("m5.xlarge",), max_nodes=8
    )
    return request, engine.plan(request, engine.Goal(deadline_seconds=600.0)).recommendation


@pytest.mark.parametrize("asked", [None, 77])
@pytest.mark.parametrize(
    ("to", "form"),
    [
        ("spark-submit", "{key}={value}"),
        ("spark-defaults", "{key} {value}"),
        ("emr", '"{key}":"{value}"'),
        ("kubernetes", "{key}: {value}"),
    ],
)
def test_exports_have_the_settings_of_the_log_or_those_asked_for(
    to: str, form: str, asked: int | None
) -> None:
    request, found = recommended(asked)
    profile, prices, workload = request.profile, request.catalog, request.workload
    text = engine.export(found, to=to, profile=profile, catalog=prices, workload=workload)
    plain = " ".join(text.replace('": "', '":"').replace("'", "").split())
    assert profile.runs[0].config[KEY] == "200"
    assert form.format(key=KEY, value=asked or 200) in plain
    assert form.format(key="spark.sql.files.maxPartitionBytes", value="1m") in plain
    assert f"{KEY}={asked or 200} (as in the logs" in plain


def with_config(profile: Profile, **more: str) -> Profile:
    runs = [replace(run, config={**run.config, **more}) for run in profile.runs]
    return replace(profile, runs=tuple(runs))


@pytest.mark.parametrize("asked", [None, 77])
def test_shuffle_partitions_that_are_asked_for_are_those_that_adaptive_execution_begins_with(
    asked: int | None,
) -> None:
    """It takes a setting of its own where one is set (`SQLConf.numShufflePartitions`)."""
    request, found = recommended(asked)
    initial = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
    profile = with_config(request.profile, **{initial: "400"})
    text = engine.export(
        found, to="spark-defaults", profile=profile, catalog=request.catalog,
        workload=request.workload,
    )  # fmt: skip
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    settings = dict(lines)
    assert (settings[KEY], settings[initial]) == (("77", "77") if asked else ("200", "400"))


@pytest.mark.parametrize(("memory", "said"), [("4g", False), ("14g", False), ("15g", True)])
def test_a_driver_that_the_master_has_no_memory_for_is_said(memory: str, said: bool) -> None:
    request, found = recommended(None)
    profile = with_config(request.profile, **{"spark.driver.memory": memory})
    for to in ("emr", "spark-submit"):
        text = engine.export(found, to=to, profile=profile, catalog=request.catalog)
        assert ("[driver-does-not-fit]" in text) is said
        assert ("16.5 GiB, the master m5.xlarge has 16 GiB" in text) is said
        assert re.search(rf"spark\.driver\.memory\W{{1,6}}{memory}\b", text)


@pytest.mark.parametrize("to", ["kubernetes", "databricks"])
def test_a_driver_that_has_no_master_does_not_have_to_fit_one(to: str) -> None:
    request, found = recommended(None)
    profile = with_config(request.profile, **{"spark.driver.memory": "40g"})
    text = engine.export(found, to=to, profile=profile, catalog=request.catalog)
    assert "[driver-does-not-fit]" not in text
    assumed = [line for line in text.splitlines() if "assumes: spark" in line]
    assert any("spark.driver.memory=40g" in line for line in assumed) is (to == "kubernetes")


@pytest.mark.parametrize(
    ("held", "given", "type_", "cores"),
    [
        ("8", "4", "m5.xlarge", 4),
        ("8", "8", "m5.2xlarge", 8),
        ("3", "3", "m5.xlarge", 3),
        ("2", "2", "m5.2xlarge", 4),
    ],
)
def test_executors_have_the_cores_that_their_tasks_hold(
    held: str, given: str, type_: str, cores: int
) -> None:
    """Spark does not start where spark.task.cpus is more than spark.executor.cores, and what tasks
    do not fill idles."""
    profile, prices = engine.read("nightly-features"), engine.load_catalog("aws")
    run = profile.runs[0]
    run = replace(run, config={**run.config, "spark.task.cpus": held})
    profile = replace(profile, runs=(run,))
    request = engine.PlanRequest(profile, prices, instances=(type_,), max_nodes=8)
    found = engine.plan(request, engine.Goal(deadline_seconds=600.0)).recommendation
    text = engine.export(found, to="spark-submit", profile=profile, catalog=prices)
    assert f"--executor-cores {cores}" in text
    assert f"--conf spark.task.cpus={given}" in text
    assert ("[fewer-task-cpus]" in text) is (held != given)
    assert ("tasks of the logs held 8 cores each" in text) is (held != given)


@pytest.mark.parametrize(("cores", "told"), [(2, True), (3, True), (4, False), (8, False)])
def test_a_named_cluster_whose_executors_start_no_task_is_said_to_be_one(
    cores: int, told: bool
) -> None:
    fitted = engine.fit(profile_of({"spark.task.cpus": "4"}))
    asked = engine.Cluster.of_executors(executors=6, executor_cores=cores)
    found = [n for n in fitted.predict(cluster=asked).warnings if n.code == "fewer-task-cpus"]
    assert len(found) == told
    if told:
        assert f"held 4 cores each (spark.task.cpus), executors here have {cores}:" in found[0].text
        assert "Spark refuses to start such" in found[0].text


def test_a_composition_whose_nodes_start_no_task_is_said_to_be_one() -> None:
    fitted, prices = engine.fit(profile_of({"spark.task.cpus": "4"})), engine.load_catalog("aws")
    codes = {
        kind: [
            notice.code
            for notice in engine.predict_composition(
                fitted, composition={kind: 3}, catalog=prices
            ).prediction.warnings
        ]
        for kind in ("m5.large", "m5.xlarge")
    }
    assert "fewer-task-cpus" in codes["m5.large"]
    assert "fewer-task-cpus" not in codes["m5.xlarge"]


def test_an_export_says_once_that_a_task_gets_fewer_cores() -> None:
    profile, prices = profile_of({"spark.task.cpus": "8"}), engine.load_catalog("aws")
    request = engine.PlanRequest(profile, prices, instances=("m5.xlarge",), max_nodes=8)
    found = engine.plan(request, engine.Goal(deadline_seconds=600.0)).recommendation
    assert "fewer-task-cpus" in [notice.code for notice in found.recommended.warnings]
    text = engine.export(found, to="spark-submit", profile=profile, catalog=prices)
    assert text.count("[fewer-task-cpus]") == 1
    assert "refuses" not in text


@pytest.mark.parametrize(
    ("log_cores", "gpus", "task", "cores", "amount"),
    [
        (8, "2", "0.25", 4, "1"),  # half the cores, half of them
        (4, "1", "0.25", 8, "2"),
        (4, "1", "0.25", 4, None),
        (8, "1", "0.25", 4, None),  # half of one is a whole one
        (8, "2", "2", 2, None),  # a task holds two
        (8, "4", "1", 6, "3"),
    ],
)
def test_executors_of_other_cores_hold_as_many_gpus_for_each_core(
    log_cores: int, gpus: str, task: str, cores: int, amount: str | None
) -> None:
    key = "spark.executor.resource.gpu.amount"
    config = {key: gpus, "spark.task.resource.gpu.amount": task}
    runs = profile_of(config).runs
    made = engine.Cluster.of_executors(executors=2, executor_cores=log_cores)
    profile = Profile("made", tuple(replace(run, cluster=made) for run in runs))
    found = scaled_resources(carried_settings(profile), profile, cores)
    assert [(one.key, str(one.amount)) for one in found] == ([(key, amount)] if amount else [])


def test_gpus_that_are_more_for_each_core_than_predicted_are_said() -> None:
    rounded = ScaledResource("key", "gpu", 3.0, 8, 2, 4)
    assert rounded.note.startswith(
        "note: executors of the logs had 3 gpu for 8 cores, those here 2"
    )
    assert "more for each core than the prediction counts on" in rounded.note
    assert "more for each core" not in rounded._replace(log_amount=4.0).note


def test_logs_of_executors_of_unlike_cores_leave_gpus_as_they_are() -> None:
    runs = profile_of(GPUS, GPUS).runs
    unlike = [replace(run, cluster=engine.Cluster.of_executors(executors=1, executor_cores=n))
              for n, run in enumerate(runs, 1)]  # fmt: skip
    profile = Profile("made", tuple(unlike))
    assert scaled_resources(carried_settings(profile), profile, 8) == []
