"""Logs of Databricks and of early versions of Spark."""

import gzip
import json
from pathlib import Path

import pytest
import sparklog as log
from pitfall_logs import DATA, PLAIN, PUBLIC, codes, notice, one, stages_of
from shared import needs_shared

import engine
from engine.sources import read

# Databricks


def databricks(folder: Path, text: bytes, *, keep: tuple[int, ...] = (0, 1, 2)) -> Path:
    """A log as Databricks delivers it: each part begins with its number."""
    lines = [
        line for line in text.splitlines(keepends=True) if b"SparkListenerLogStart" not in line
    ]
    lines = [line for line in lines if b"ApplicationEnd" not in line[:60]]
    names = ("eventlog-2024-02-13--19-00.gz", "eventlog-2024-02-13--20-00.gz", "eventlog")
    for number, name in enumerate(names):
        mark = {
            "Event": "DBCEventLoggingListenerMetadata",
            "Spark Version": "3.5.0",
            "Rollover Number": number,
            "SparkContext Id": 77,
        }
        cut = lines[len(lines) * number // 3 : len(lines) * (number + 1) // 3]
        data = json.dumps(mark, separators=(",", ":")).encode() + b"\n" + b"".join(cut)
        if number in keep:
            (folder / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return folder


def test_databricks_parts_without_an_end(tmp_path: Path) -> None:
    run = one(databricks(tmp_path, PLAIN))
    assert run.stages == one(DATA / "plain.zstd").stages
    assert run.lost == ()
    assert not run.complete
    assert "the application's end is missing" in notice(run, "incomplete-log")


@pytest.mark.parametrize(
    ("keep", "said"), [((0, 2), "part 2 of 3 missing"), ((1, 2), "part 1 of 3 missing")]
)
def test_databricks_parts_know_their_number(
    tmp_path: Path, keep: tuple[int, ...], said: str
) -> None:
    run = one(databricks(tmp_path, PLAIN, keep=keep))
    assert any(said in text for text in run.lost)


def test_parts_of_two_clusters_in_one_folder_are_not_one_run(tmp_path: Path) -> None:
    """Each part names its Spark context: the second cluster's work is none of the first's."""
    folder = databricks(tmp_path, PLAIN)
    whole, last = one(folder), folder / "eventlog"
    last.write_bytes(last.read_bytes().replace(b'"SparkContext Id":77', b'"SparkContext Id":78'))
    run = one(folder)
    assert run.lost[0].startswith("another application begins after ")
    assert run.seconds < whole.seconds


TAGS = "spark.databricks.clusterUsageTags."


@pytest.mark.parametrize(
    ("properties", "photon"),
    [
        ({f"{TAGS}sparkVersion": "13.3.x-scala2.12"}, False),
        ({f"{TAGS}sparkVersion": "13.3.x-photon-scala2.12"}, True),
        ({f"{TAGS}effectiveSparkVersion": "9.1.x-photon-scala2.12"}, True),
        ({f"{TAGS}runtimeEngine": "PHOTON"}, True),
        ({f"{TAGS}runtimeEngine": "STANDARD"}, False),
        ({"spark.plugins": "org.apache.gluten.GlutenPlugin"}, True),
        ({f"{TAGS}runtimeEngine": "PHOTON", "spark.databricks.photon.enabled": "false"}, False),
        (
            {"spark.plugins": "com.nvidia.spark.SQLPlugin", "spark.rapids.sql.enabled": "false"},
            False,
        ),
    ],
)
def test_other_engines_are_told(tmp_path: Path, properties: dict[str, str], photon: bool) -> None:
    events = log.one_stage()
    events[1]["Spark Properties"] |= properties
    run = one(log.write(tmp_path / "app", events))
    assert ("different-engine" in codes(run)) == photon


@pytest.mark.parametrize(
    ("key", "vcpus"),
    [
        (f"{TAGS}clusterNodeType", 2.0),
        ("spark.databricks.workerNodeTypeId", 2.0),
        ("spark.kubernetes.node.selector.node.kubernetes.io/instance-type", None),
        ("spark.kubernetes.executor.node.selector.beta.kubernetes.io/instance-type", None),
    ],
)
def test_the_type_that_a_platform_names(tmp_path: Path, key: str, vcpus: float | None) -> None:
    events = log.one_stage()
    events[1]["Spark Properties"] |= {key: "i3.xlarge", f"{TAGS}driverNodeType": "i3.large"}
    run = one(log.write(tmp_path / "app", events))
    (group,) = run.cluster.groups
    assert group.instance.name == "i3.xlarge"
    if vcpus:
        assert group.instance.vcpus == vcpus
    assert notice(run, "ran-on-from-log") == (
        "the log says that it ran on i3.xlarge, its driver on i3.large"
    )


@needs_shared
def test_a_databricks_log_of_the_public() -> None:
    run = one(PUBLIC / "spark-rapids-tools/db_subExecution_id.zstd")
    assert "ran-on-from-log" in codes(run)
    assert "Standard_E8s_v3" in notice(run, "ran-on-from-log")
    assert notice(run, "long-pauses").startswith("no job ran for 1m 09s of 5m 46s")


@needs_shared
def test_a_copy_that_lost_the_race_on_a_real_cluster() -> None:
    """Speculation on YARN: the task counts once, its slower copy is waste."""
    (stage,) = one(PUBLIC / "apache-spark/application_1628109047826_1317105").stages
    assert (stage.tasks, stage.task_seconds.count) == (4, 4)
    assert (stage.waste.failed_tasks, stage.waste.killed_tasks) == (0, 1)


# Logs of real Spark with the settings that services write


def test_plain_spark_with_an_engine_that_is_switched_off() -> None:
    assert codes(one(DATA / "comet-off.zstd")) == []


def test_an_engine_that_a_session_switched_on_shows_in_its_operators() -> None:
    assert "DataFusion Comet" in notice(one(DATA / "comet-ran.zstd"), "different-engine")


@pytest.mark.parametrize(
    ("log", "engine"),
    [("fabric", "execution engine of Fabric"), ("lightning", "Dataproc's Lightning Engine")],
)
def test_native_engines_of_services(log: str, engine: str) -> None:
    assert engine in notice(one(DATA / f"{log}.zstd"), "different-engine")


def test_logs_of_several_engines_given_together() -> None:
    found = {
        names: [n.text for n in read(*(DATA / f"{x}.zstd" for x in names)).notices
                if n.code == "mixed-engines"]
        for names in (("fabric", "glue", "comet-off"), ("fabric", "fabric"), ("glue", "plain"))
    }  # fmt: skip
    told, *others = found.values()
    assert told[0].startswith("the logs are of 2 engines, 2 of 3 runs of the commonest")
    assert others == [[], []]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("glue", "AWS Glue, which rents workers"),
        ("emr-serverless", "EMR Serverless, which rents workers"),
        ("lightning", "Dataproc Serverless, which rents workers"),
        ("fabric", "Microsoft Fabric, which rents nodes by size"),
    ],
)
def test_services_that_name_no_machine(log: str, said: str) -> None:
    run = one(DATA / f"{log}.zstd")
    assert said in notice(run, "no-machine-types")
    assert "their median per vCPU is taken" in notice(run, "no-machine-types")


def test_the_machine_that_stands_for_a_service_is_named_in_one_line() -> None:
    """Where nobody named one, `unknown-source-type` said the same again."""
    catalog = engine.load_catalog("aws")
    for ran_on, times in ((None, 1), (catalog.offer("m5.xlarge").instance, 0)):
        profile = engine.read(str(DATA / "glue.zstd"), ran_on=ran_on)
        cluster = engine.Cluster.of_nodes(instance_type="r5.xlarge", nodes=2, catalog=catalog)
        found = engine.fit(profile).predict(cluster=cluster)
        said = [f"{notice.text}; {notice.remedy}" for notice in found.warnings]
        assert sum("--ran-on" in line for line in said) == times
        assert sum("AWS Glue" in line for line in said) == 1


@pytest.mark.parametrize("log", ["libraries", "job-cluster"])
def test_the_driver_of_a_batch_job_may_work_alone_for_five_minutes(log: str) -> None:
    """spark-submit sets `spark.repl.local.jars` for any job with libraries, and a cluster that
    Databricks started for a job waits for nobody."""
    run = one(DATA / f"{log}.zstd")
    assert codes(run) == ["long-pauses"]
    assert run.driver_seconds > 303.0


# Early versions


@needs_shared
def test_spark_1_2() -> None:
    run = one(PUBLIC / "apache-spark/local-1422981759269")
    stages = stages_of(run)
    assert run.spark_version == "1.2"
    assert {n: s.parents for n, s in stages.items()} == {0: (), 1: (), 2: (1,), 4: (1,), 5: ()}
    assert {"cores-inferred", "old-log"} <= set(codes(run))
    (said,) = [notice.text for notice in run.notices if notice.code == "old-log"]
    assert "1.2 or older: its log names no version" in said
    assert run.cached_bytes == 28_000_128.0  # `Updated Blocks`
    assert stages[1].cached_input_bytes == 28_000_128.0  # `Data Read Method`: Memory
    assert run.workload.input_bytes == 160.0  # Hadoop
    assert stages[2].shuffle_read_bytes is None  # remote bytes are told, local ones are not
    assert all(s.cpu_seconds is None for s in run.stages)
    assert all(s.peak_execution_memory_bytes is None for s in run.stages)


@needs_shared
def test_spark_1_4() -> None:
    run = one(PUBLIC / "apache-spark/local-1430917381534")
    assert [stage.parents for stage in run.stages] == [(), (0,)]
    assert run.workload.input_bytes == 6_944_448.0
    assert run.stages[1].shuffle_read_bytes is not None


@pytest.mark.parametrize("method", ["Memory", "Disk", "Network"])
def test_the_cache_of_spark_1_x_that_was_lost(tmp_path: Path, method: str) -> None:
    """An RDD that was persisted, but a task read it from outside again: its method says so. Blocks
    of another executor (Network) are no input, and what is read twice is no larger an input."""
    source, cached = log.rdd(0, name="file"), log.rdd(1, [0], cached=True)
    first, second = log.info(0, 1, rdds=[cached, source]), log.info(1, 2, rdds=[cached, source])
    events = log.header()
    events[0]["Spark Version"] = "1.6.3"
    read_from = {m: {"Input Metrics": {"Data Read Method": m, "Bytes Read": 100}}
                 for m in ("Hadoop", method)}  # fmt: skip
    events += [
        log.submitted(first, 1.0),
        log.task(0, 0, 1.0, 2.0, index=0, metrics=read_from["Hadoop"]),
        log.completed(first, 1.0, 2.0),
        log.submitted(second, 2.0),
        log.task(1, 1, 2.0, 3.0, index=0, metrics=read_from[method]),
        log.task(1, 2, 2.0, 3.0, index=1, metrics=read_from["Hadoop"]),
        log.completed(second, 2.0, 3.0),
        log.end(4.0),
    ]
    run = one(log.write(tmp_path / "app", events))
    assert [stage.cached_input_bytes for stage in run.stages] == [0.0, 100.0]
    assert run.workload.input_bytes == 100.0
