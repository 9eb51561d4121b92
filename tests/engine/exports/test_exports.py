"""What each export writes."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
import yaml
from handovers_made import SCRIPTS, after, handover, resources, words
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.catalog import InstanceType, MemoryRule
from engine.cluster import Layout
from engine.errors import BadInput, UnknownName
from engine.exports import render
from engine.exports.base import Export, heap_mib, overhead_mib, resource_name
from engine.exports.terraform import quoted
from engine.memory import heap_gib, layout_of, usable_memory_gib
from engine.notices import Notice


def provider_of(target: Export) -> str:
    """A provider that it can be for."""
    for provider in ("aws", "azure", "gcp"):
        with suppress(BadInput):
            target.render(handover(provider=provider))
            return provider
    raise AssertionError(f"{target.name} is for no provider")


PROVIDERS = {target.name: provider_of(target) for target in SCRIPTS} | {"databricks": "azure"}


@pytest.mark.parametrize("target", SCRIPTS, ids=lambda target: target.name)
def test_every_export_says_what_was_predicted(target: Export) -> None:
    text = target.render(handover(provider=PROVIDERS[target.name]))
    assert "# sparkplan: 14 x r5.2xlarge\n" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("target", ["emr", "dataproc", "databricks", "terraform"])
def test_what_a_rented_cluster_idles_is_said_to_cost(target: str) -> None:
    text = render(handover(provider=PROVIDERS[target]), to=target)
    assert "# ends after 10 minutes without work: billed too, and not in the cost\n" in text


@pytest.mark.parametrize("target", ["emr", "dataproc", "databricks", "terraform"])
def test_nodes_that_one_owns_are_started_anew(target: str) -> None:
    """A create command takes no machines that run already: the cost left theirs out unsaid."""
    said = "# starts the nodes you own as well (4 x r5.2xlarge): billed unless a reservation"
    provider = PROVIDERS[target]
    assert said in render(handover(provider=provider, owned={"r5.2xlarge": 4}), to=target)
    assert "you own" not in render(handover(provider=provider), to=target)


@pytest.mark.parametrize("target", SCRIPTS, ids=lambda target: target.name)
def test_what_is_pasted_says_what_is_to_be_minded(target: Export) -> None:
    """Warnings of the evidence stood beside it on the screen, and were gone when it was read."""
    one_run = Notice("single-run", "one run only", "add a log")
    given = handover(provider=PROVIDERS[target.name], notices=(one_run,))
    assert "# note: one run only [single-run]" in target.render(given)


@pytest.mark.parametrize("target", SCRIPTS, ids=lambda target: target.name)
def test_text_from_a_log_cannot_leave_its_comment(target: Export) -> None:
    text = target.render(
        handover(
            application="x'; rm -rf /\n${file(1)}",
            statement=("a\nrm -rf /", "b\x1b[31m"),
            notices=(Notice("code", "c\nrm -rf /\x1b[31m", "none"),),
            provider=PROVIDERS[target.name],
        )
    )
    assert "\x1b" not in text
    assert not any(line.startswith("rm") for line in text.splitlines())
    if target.name not in ("kubernetes", "terraform"):
        assert "rm" not in words(text)


def test_names_of_types_cannot_leave_their_comments() -> None:
    """What has no disk, and what one owns, was written as it is called."""
    name = "x\nrm -rf /"
    given = handover(composition={name: 2}, owned={name: 2}, diskless=(name,))
    for target in ("emr", "databricks", "terraform"):
        assert not any(line.startswith("rm") for line in render(given, to=target).splitlines())


@pytest.mark.parametrize("target", ["emr", "terraform"])
def test_a_cluster_of_emr_has_none_of_the_characters_that_its_names_refuse(target: str) -> None:
    text = render(handover(application="nightly <ETL> [a|b] `c` $5"), to=target)
    assert "nightly -ETL- [a-b] -c- -5" in text
    assert "<ETL>" not in text


def test_spark_submit_takes_the_layout_apart() -> None:
    said = words(render(handover(), to="spark-submit"))
    assert said[0] == "spark-submit"
    options = dict(zip(said[1::2], said[2::2], strict=False))
    assert options["--num-executors"] == "28"
    assert options["--executor-cores"] == "4"
    assert options["--executor-memory"] == "23040m"
    assert "spark.executor.memoryOverhead=2304m" in said


def test_spark_defaults_is_one_setting_per_line() -> None:
    lines = render(
        handover(settings={"spark.sql.shuffle.partitions": "400"}), to="spark-defaults"
    ).splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    assert settings["spark.executor.instances"] == "28"
    assert settings["spark.sql.shuffle.partitions"] == "400"
    assert settings["spark.dynamicAllocation.enabled"] == "false"


def test_emr_groups_and_configurations_are_what_emr_reads() -> None:
    said = words(render(handover(), to="emr"))
    assert said[:3] == ["aws", "emr", "create-cluster"]
    assert json.loads(after(said, "--instance-groups")) == [
        {"InstanceGroupType": "MASTER", "InstanceCount": 1, "InstanceType": "m5.xlarge"},
        {"InstanceGroupType": "CORE", "InstanceCount": 14, "InstanceType": "r5.2xlarge"},
    ]
    configured = json.loads(after(said, "--configurations"))
    by_name = {entry["Classification"]: entry["Properties"] for entry in configured}
    assert by_name["yarn-site"]["yarn.nodemanager.resource.memory-mb"] == str(56 * 1024)
    assert by_name["spark-defaults"]["spark.executor.memory"] == "23040m"


def test_a_mix_of_two_is_two_fleets_with_the_recommended_counts() -> None:
    mix = handover(composition={"m5.large": 3, "r5.2xlarge": 14}, spot=True)
    fleets = json.loads(after(words(render(mix, to="emr")), "--instance-fleets"))
    by_kind = {fleet["InstanceFleetType"]: fleet for fleet in fleets}
    assert by_kind["MASTER"]["TargetOnDemandCapacity"] == 1
    assert by_kind["CORE"]["TargetSpotCapacity"] == 14
    assert by_kind["TASK"]["TargetSpotCapacity"] == 3
    assert by_kind["CORE"]["InstanceTypeConfigs"][0]["InstanceType"] == "r5.2xlarge"
    spot = by_kind["TASK"]["LaunchSpecifications"]["SpotSpecification"]
    assert spot["TimeoutAction"] == "SWITCH_TO_ON_DEMAND"


def test_a_mix_of_three_is_one_group_per_type() -> None:
    mix = handover(composition={"a": 1, "b": 5, "c": 2})
    groups = json.loads(after(words(render(mix, to="emr")), "--instance-groups"))
    assert [(g["InstanceGroupType"], g["InstanceType"], g["InstanceCount"]) for g in groups] == [
        ("MASTER", "m5.xlarge", 1),
        ("CORE", "b", 5),
        ("TASK", "c", 2),
        ("TASK", "a", 1),
    ]


def test_a_type_that_is_spot_in_part_is_one_fleet_with_both_capacities() -> None:
    part = handover(spot=True, part_spot={"r5.2xlarge": 6})
    fleets = json.loads(after(words(render(part, to="emr")), "--instance-fleets"))
    core = next(fleet for fleet in fleets if fleet["InstanceFleetType"] == "CORE")
    assert (core["TargetOnDemandCapacity"], core["TargetSpotCapacity"]) == (8, 6)
    (cluster,) = resources(render(part, to="terraform")).values()
    fleet = cluster["core_instance_fleet"][0]
    assert (fleet["target_on_demand_capacity"], fleet["target_spot_capacity"]) == (8, 6)


def test_a_mix_of_three_that_is_spot_in_part_has_its_core_on_demand() -> None:
    mix = handover(composition={"a": 1, "b": 5, "c": 2}, spot=True, part_spot={"b": 5, "c": 1})
    groups = json.loads(after(words(render(mix, to="emr")), "--instance-groups"))
    said = [
        (g["InstanceGroupType"], g["InstanceType"], g["InstanceCount"], g.get("BidPrice"))
        for g in groups[1:]
    ]
    assert said == [
        ("CORE", "c", 1, None),
        ("TASK", "a", 1, None),
        ("TASK", "b", 5, "OnDemandPrice"),
        ("TASK", "c", 1, "OnDemandPrice"),
    ]


def test_the_other_clouds_and_spot_in_part() -> None:
    gcp = handover(
        provider="gcp",
        composition={"n2": 5},
        spot=True,
        part_spot={"n2": 2},
        region="r",
        master="m",
    )
    said = words(render(gcp, to="dataproc"))
    assert (after(said, "--num-workers"), after(said, "--num-secondary-workers")) == ("3", "2")
    assert after(said, "--secondary-worker-type") == "spot"
    config = resources(render(gcp, to="terraform"))["google_dataproc_cluster"]["cluster_config"][0]
    assert config["worker_config"][0]["num_instances"] == 3
    spot = config["preemptible_worker_config"][0]
    assert (spot["num_instances"], spot["preemptibility"]) == (2, "SPOT")
    azure = handover(provider="azure", spot=True, part_spot={"r5.2xlarge": 6})
    cluster = json.loads(words(render(azure, to="databricks"))[4])
    assert cluster["azure_attributes"] == {"availability": "SPOT_AZURE", "first_on_demand": 9}
    own = render(handover(spot=True, part_spot={"r5.2xlarge": 6}), to="kubernetes")
    assert "at most 6 spot nodes" in own
    assert yaml.safe_load(own)["spec"]["executor"]["instances"] == 28
    few = replace(gcp, part_spot={"n2": 4})
    with pytest.raises(BadInput, match="has 1 of these"):
        render(few, to="dataproc")


def test_dataproc_is_a_gcloud_command() -> None:
    machine = {"n2-highmem-8": 14}
    said = words(
        render(handover(provider="gcp", region="us-central1", composition=machine), to="dataproc")
    )
    assert said[:5] == ["gcloud", "dataproc", "clusters", "create", "nightly"]
    assert after(said, "--num-workers") == "14"
    assert after(said, "--worker-machine-type") == "n2-highmem-8"
    assert after(said, "--master-machine-type") == "m5.xlarge"
    assert "--num-secondary-workers" not in said
    properties = dict(entry.split("=") for entry in after(said, "--properties").split(","))
    assert properties["spark:spark.executor.memory"] == "23040m"
    assert properties["spark:spark.executor.cores"] == "4"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"composition": {"n2": 4}, "spot": True}, "spot"),
        ({"composition": {"n2": 1}}, "ask for 2 with --min-nodes 2"),
    ],
)
@pytest.mark.parametrize("target", ["dataproc", "terraform"])
def test_what_dataproc_would_refuse_is_said_before(changes, says, target) -> None:
    with pytest.raises(BadInput, match=says):
        render(handover(provider="gcp", **changes), to=target)


@pytest.mark.parametrize(
    ("provider", "attributes", "spot", "availability"),
    [
        ("aws", "aws_attributes", False, "ON_DEMAND"),
        ("azure", "azure_attributes", True, "SPOT_AZURE"),
        ("gcp", "gcp_attributes", True, "PREEMPTIBLE_GCP"),
    ],
)
def test_databricks_is_the_json_of_its_api(provider, attributes, spot, availability) -> None:
    said = words(render(handover(provider=provider, spot=spot), to="databricks"))
    assert said[:4] == ["databricks", "clusters", "create", "--json"]
    cluster = json.loads(said[4])
    assert cluster["num_workers"] == 14
    assert cluster["node_type_id"] == "r5.2xlarge"
    assert cluster["driver_node_type_id"] == "m5.xlarge"
    assert cluster[attributes] == {"availability": availability, "first_on_demand": 1}
    assert cluster["spark_conf"]["spark.executor.memory"] == "23040m"
    assert "spark.executor.instances" not in cluster["spark_conf"]


def test_kubernetes_says_what_of_it_is_only_an_example() -> None:
    said = "# type, image, sparkVersion and mainApplicationFile are examples: put your own\napiVer"
    assert said in render(handover(), to="kubernetes")


def test_kubernetes_is_a_spark_application() -> None:
    text = render(
        handover(application="Nightly: [x]", settings={"spark.sql.shuffle.partitions": "400"}),
        to="kubernetes",
    )
    resource = yaml.safe_load(text)
    assert resource["kind"] == "SparkApplication"
    assert resource["metadata"]["name"] == "nightly-x"
    executor = resource["spec"]["executor"]
    assert (executor["instances"], executor["cores"]) == (28, 4)
    assert (executor["memory"], executor["memoryOverhead"]) == ("23040m", "2304m")
    assert executor["nodeSelector"] == {"node.kubernetes.io/instance-type": "r5.2xlarge"}
    assert resource["spec"]["sparkConf"] == {"spark.sql.shuffle.partitions": "400"}
    assert "14 nodes" in text


def test_kubernetes_needs_no_cloud() -> None:
    own = handover(composition={}, provider=None, region=None, master=None)
    executor = yaml.safe_load(render(own, to="kubernetes"))["spec"]["executor"]
    assert executor["instances"] == 28
    assert "nodeSelector" not in executor


def test_a_template_in_a_name_is_only_text() -> None:
    assert quoted('${file("x")} %{if}') == '"$${file(\\"x\\")} %%{if}"'
    named = handover(application="${file(1)}", provider="azure")
    (cluster,) = resources(render(named, to="terraform")).values()
    assert cluster["cluster_name"] == "$${file(1)}"


@pytest.mark.parametrize("name", ["日本語 naïve", "nightly 😀", "C:\\jobs\\new \U0001d518"])
def test_names_in_any_script_are_written_as_they_are(name: str) -> None:
    """HCL's escapes are JSON's but for letters beyond 16 bits: it refuses their two halves."""
    (cluster,) = resources(render(handover(application=name), to="terraform")).values()
    assert cluster["name"].replace("\\\\", "\\") == name
    assert "\\u" not in quoted(name)


@pytest.mark.parametrize(
    ("application", "name"),
    [("Nightly ETL", "nightly-etl"), ("1st", "job-1st"), ("", "job"), ("é_ß", "job"), ("-", "job")],
)
def test_names_that_clouds_take(application: str, name: str) -> None:
    assert resource_name(application) == name
    assert len(resource_name("x" * 99)) == 50


def test_a_target_that_cannot_express_a_recommendation_says_so() -> None:
    for target in ("databricks", "kubernetes"):
        with pytest.raises(BadInput, match="unlike nodes"):
            render(handover(composition={"a": 1, "b": 2}), to=target)
    with pytest.raises(BadInput, match="runs on AWS"):
        render(handover(provider="azure"), to="emr")
    with pytest.raises(BadInput, match="runs on Google Cloud"):
        render(handover(), to="dataproc")
    for target in ("emr", "dataproc", "terraform"):
        with pytest.raises(BadInput, match="no provider") as said:
            render(handover(composition={}, provider=None, region=None), to=target)
        assert "--catalog" not in str(said.value)  # what one owns has no price list
    with pytest.raises(BadInput, match="a cluster one owns"):
        render(handover(composition={}, provider=None, region=None), to="databricks")


def test_an_unknown_target_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="spark-submit"):
        render(handover(), to="spark-submitt")


def test_the_head_says_for_what_work_the_time_was_predicted(tmp_path):
    table = tmp_path / "runs.csv"
    rows = "\n".join(f"m5.xlarge,{n},2e8,{k},{900 * k // n}" for n in (2, 4, 8) for k in (3, 9))
    table.write_text(f"instance_type,nodes,input_size,k,seconds\n{rows}\n")
    profile = engine.read(str(table))
    workload = engine.Workload(4e8, None, {"k": 3.0})
    found = engine.recommend(
        engine.fit(profile),
        catalog=engine.load_catalog("aws"),
        workload=workload,
        deadline_seconds=3600.0,
        instances=["m5.xlarge"],
    )
    plain = {"to": "spark-submit", "profile": profile, "catalog": engine.load_catalog("aws")}
    text = engine.export(found, workload=workload, **plain)
    assert "# for 400,000,000 units of input, k 3\n# predicted time" in text
    text = engine.export(found, **plain)
    assert "# for 200,000,000 units of input, k 9\n" in text


def test_rented_clusters_end_once_idle_and_not_before_a_job_is_submitted() -> None:
    """`--auto-terminate` ends a cluster after its last step, and what is pasted has none."""
    said = words(render(handover(), to="emr"))
    assert "--auto-terminate" not in said
    assert after(said, "--auto-termination-policy") == "IdleTimeout=600"
    (cluster,) = resources(render(handover(), to="terraform")).values()
    assert cluster["auto_termination_policy"][0]["idle_timeout"] == 600
    assert after(words(render(handover(provider="gcp"), to="dataproc")), "--max-idle") == "10m"


def test_databricks_on_aws_gives_nodes_without_a_disk_a_volume() -> None:
    """It refuses them otherwise; where all nodes have disks, a volume would take their place."""

    def made(**changes: object) -> tuple[str, dict[str, object]]:
        text = render(handover(**changes), to="databricks")
        return text, json.loads(after(words(text), "--json"))

    text, cluster = made(diskless=("r5.2xlarge", "m5.xlarge"))
    attributes = cluster["aws_attributes"]
    assert isinstance(attributes, dict)
    assert (attributes["ebs_volume_count"], attributes["ebs_volume_size"]) == (1, 100)
    assert attributes["ebs_volume_type"] == "GENERAL_PURPOSE_SSD"
    assert "# r5.2xlarge, m5.xlarge: no disk known" in text
    assert "not in the cost" in text
    text, cluster = made()
    assert cluster["aws_attributes"] == {"availability": "ON_DEMAND", "first_on_demand": 1}
    text, cluster = made(provider="azure", diskless=("r5.2xlarge",))
    assert cluster["azure_attributes"] == {"availability": "ON_DEMAND_AZURE", "first_on_demand": 1}
    assert "no disk known" not in text


@given(container_mib=st.floats(1500.0, 500_000.0))
def test_heap_and_overhead_fill_the_container_and_are_no_more(container_mib: float) -> None:
    """A MiB too many for each, and the last executor of a node is not placed."""
    asked = heap_mib(Layout(1, 4, heap_gib(container_mib / 1024.0)))
    assert container_mib - 3.0 < asked + overhead_mib(asked) <= container_mib
    assert overhead_mib(asked) == max(int(0.1 * asked), 384)  # Spark's default of it
    assert heap_mib(Layout(1, 4, None)) is None


@given(vcpus=st.sampled_from([4, 8, 16, 64, 96]), gib_per_vcpu=st.floats(1.5, 16.0))
def test_all_executors_of_a_node_of_kubernetes_fit_its_memory(
    vcpus: int, gib_per_vcpu: float
) -> None:
    node, rule = InstanceType("x", vcpus, vcpus * gib_per_vcpu), MemoryRule("kubernetes")
    layout = layout_of(node, rule)
    asked = heap_mib(layout)
    together = layout.executors_per_node * (asked + overhead_mib(asked))
    assert together <= 1024.0 * usable_memory_gib(node, rule)


@pytest.mark.parametrize("provider", ["other", None])
def test_databricks_runs_on_clouds_alone(provider: str | None) -> None:
    with pytest.raises(BadInput, match="Databricks does not run on"):
        render(handover(provider=provider), to="databricks")
