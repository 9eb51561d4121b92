"""What services take of exports: Terraform, the AWS CLI, names of releases."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from handovers_made import after, handover, resources, words

import engine
from engine.errors import BadInput
from engine.exports import render


def test_terraform_for_emr() -> None:
    (cluster,) = resources(render(handover(), to="terraform")).values()
    assert cluster["core_instance_group"][0]["instance_count"] == 14
    assert cluster["core_instance_group"][0]["instance_type"] == "r5.2xlarge"
    assert cluster["master_instance_group"][0]["instance_type"] == "m5.xlarge"


def test_terraform_for_a_mix_on_emr_has_a_task_fleet() -> None:
    mix = handover(composition={"m5.large": 3, "r5.2xlarge": 14}, spot=True)
    found = resources(render(mix, to="terraform"))
    core = found["aws_emr_cluster"]["core_instance_fleet"][0]
    task = found["aws_emr_instance_fleet"]
    assert (core["target_spot_capacity"], task["target_spot_capacity"]) == (14, 3)
    assert "aws_emr_cluster.nightly.id" in task["cluster_id"]
    rented = core["launch_specifications"][0]["spot_specification"][0]
    assert rented["timeout_action"] == "SWITCH_TO_ON_DEMAND"
    assert found["aws_emr_cluster"]["applications"] == ["Spark"]
    assert task["instance_type_configs"][0]["instance_type"] == "m5.large"
    with pytest.raises(BadInput, match="unlike nodes"):
        render(handover(composition={"a": 1, "b": 1, "c": 1}), to="terraform")


def test_terraform_for_the_other_clouds() -> None:
    plan = handover(provider="gcp", composition={"n2-standard-8": 5}, node_memory_gib=24.0)
    gcp = render(plan, to="terraform")
    config = resources(gcp)["google_dataproc_cluster"]["cluster_config"][0]
    assert config["lifecycle_config"][0]["idle_delete_ttl"] == "600s"
    workers = config["worker_config"][0]
    assert (workers["num_instances"], workers["machine_type"]) == (5, "n2-standard-8")
    properties = config["software_config"][0]["override_properties"]
    assert properties["spark:spark.executor.cores"] == "4"
    assert properties["yarn:yarn.nodemanager.resource.memory-mb"] == str(24 * 1024)
    said = after(words(render(plan, to="dataproc")), "--properties")
    assert dict(entry.split("=") for entry in said.split(",")) == properties
    azure = resources(render(handover(provider="azure"), to="terraform"))["databricks_cluster"]
    assert azure["num_workers"] == 14


@pytest.mark.parametrize(
    ("provider", "attributes"), [("aws", "aws_attributes"), ("gcp", "gcp_attributes")]
)
def test_terraform_for_databricks_on_every_cloud(provider: str, attributes: str) -> None:
    """A type that EMR does not support is no matter there."""
    plan = handover(
        provider=provider, platform="databricks", composition={"m8a.large": 3},
        unsupported={"m8a.large": ()}, diskless=("m8a.large",),
    )  # fmt: skip
    text = render(plan, to="terraform")
    cluster = resources(text)["databricks_cluster"]
    assert (cluster["num_workers"], cluster["node_type_id"]) == (3, "m8a.large")
    assert attributes in cluster
    head = render(plan, to="databricks").partition("databricks clusters create")[0]
    assert text.startswith(head), "both say what the cost does not hold"
    assert "[other-platform]" not in text


@pytest.mark.parametrize(
    ("to", "given", "told"),
    [
        ("terraform", {"spot": True}, True),
        ("terraform", {}, False),
        ("terraform", {"composition": {"m5.large": 3, "r5.2xlarge": 14}}, False),
        ("emr", {"composition": {"m5.large": 3, "r5.2xlarge": 14}, "spot": True}, True),
        ("emr", {"part_spot": {"r5.2xlarge": 4}}, True),
        ("emr", {"spot": True}, False),
        ("databricks", {"spot": True}, False),
    ],
)
def test_what_fleets_do_without_spot_capacity_is_told(to: str, given: dict, told: bool) -> None:
    """Such nodes cost up to several times as much, which nothing said; groups wait instead."""
    text = render(handover(**given), to=to)
    assert ("SWITCH_TO_ON_DEMAND" in text) == told
    assert ("rented on demand: that price is not in the cost" in text) == told


@pytest.mark.parametrize("name", ["-etl", "$HOME", "---", "nightly etl"])
def test_a_name_that_begins_like_an_option_is_one_word_with_its_option(name: str) -> None:
    """The AWS CLI answers `--name -etl` with "expected one argument"."""
    said = words(render(handover(application=name), to="emr"))
    assert f"--name={name.replace('$', '-')}" in said


@pytest.mark.parametrize("scheme", ["file", "fileb", "http", "https"])
def test_a_name_is_no_address_that_the_aws_cli_reads(scheme: str) -> None:
    """It would send what lies in the file as the name."""
    said = words(render(handover(application=f"{scheme}:///etc/hosts"), to="emr"))
    assert f"--name={scheme}:/etc/hosts" in said


def test_a_name_is_cut_where_emr_would_refuse_it() -> None:
    said = words(render(handover(application="n" * 300), to="emr"))
    assert f"--name={'n' * 256}" in said


GROUP_KEYS = {
    *("Name", "InstanceGroupType", "BidPrice", "InstanceType", "InstanceCount", "CustomAmiId"),
    *("EbsConfiguration", "AutoScalingPolicy", "Configurations"),
}
"""Of each of `--instance-groups`; the service's own keys beside them (`Market`) it refuses."""


@pytest.mark.parametrize("spot", [False, True])
def test_groups_have_the_keys_that_the_aws_cli_knows(spot: bool) -> None:
    said = words(render(handover(spot=spot), to="emr"))
    groups = json.loads(after(said, "--instance-groups"))
    assert {key for group in groups for key in group} <= GROUP_KEYS
    bids = [group.get("BidPrice") for group in groups]
    assert bids == [None, "OnDemandPrice" if spot else None]


@pytest.mark.parametrize("to", ["emr", "databricks", "kubernetes", "terraform", "spark-submit"])
@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.1.2", True),
        ("4.0.1 (Databricks 17.x)", True),
        ("3.5.9", False),
        (None, False),
        ("Databricks 13.3", False),
    ],
)
def test_a_release_with_another_spark_than_the_job_ran_with_is_said(
    to: str, version: str | None, said: bool
) -> None:
    text = render(handover(spark_version=version), to=to)
    assert ("[other-spark]" in text) == (said and to != "spark-submit")
    if "[other-spark]" in text:
        assert f"the job ran with Spark {version}, the release named here has Spark 3.5" in text


def test_the_release_is_held_against_the_log_of_the_largest_run() -> None:
    read = engine.read("word-count-small")
    runs = tuple(replace(run, spark_version="2.4.8") for run in read.runs)
    for profile, said in ((read, False), (replace(read, runs=runs), True)):
        found = engine.recommend(
            engine.fit(profile), catalog=engine.load_catalog("aws"), deadline_seconds=3600.0,
            instances=["m5.xlarge"], max_nodes=2,
        )  # fmt: skip
        text = engine.export(found, to="emr", profile=profile, catalog=engine.load_catalog("aws"))
        assert ("ran with Spark 2.4.8" in text) == said


@pytest.mark.parametrize("jobs", [1, 2])
def test_that_the_jobs_of_a_workflow_share_the_executors_is_told(jobs: int, tmp_path: Path) -> None:
    """Submitted as they are written, the first of several applications takes all of them."""
    stage = "stages: [{name: s, tasks: 8, steps: [{cpu: 6s}]}]"
    entries = [f"- {{name: job {number}, {stage}}}\n" for number in range(jobs)]
    text = f"format: sparkplan-workflow/1\nname: night\njobs:\n{''.join(entries)}"
    path = tmp_path / "night.yaml"
    path.write_text(text, encoding="utf-8")
    fitted, catalog = (
        engine.fit_workflow(engine.read_workflow(str(path))),
        engine.load_catalog("aws"),
    )
    found = engine.recommend(
        fitted, catalog=catalog, deadline_seconds=3600.0, instances=["m5.xlarge"], max_nodes=2
    )
    text = engine.export(found, to="spark-submit", profile=fitted.profile, catalog=catalog)
    assert ("# for the 2 jobs of a workflow, which share the executors" in text) == (jobs == 2)
