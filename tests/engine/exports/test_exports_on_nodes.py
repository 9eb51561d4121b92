"""Exports against the nodes they are for: memory, bounds of executors, platforms, support."""

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import yaml
from handovers_made import after, handover, words
from synthetic import model

import engine
from engine import load_catalog
from engine.catalog import InstanceType, MemoryRule
from engine.cluster import BesideHeap, Layout
from engine.errors import BadInput
from engine.exports import render
from engine.exports.base import heap_mib, overhead_mib
from engine.machines.platforms import on_platform
from engine.memory import YARN_MASTER_GIB, layout_of, requested_cores, usable_memory_gib
from engine.stage_run import Measure, StageRun


def test_unknown_memory_is_left_to_the_user_and_said() -> None:
    text = render(handover(layout=Layout(2, 4)), to="spark-submit")
    assert "--executor-memory" not in text
    assert "executor memory: not known" in text


@pytest.mark.parametrize("gib", [8.0, 16.0, 31.0, 64.0, 256.0])
def test_what_is_written_fits_the_node_beside_the_application_master(gib: float) -> None:
    rule = MemoryRule("emr-yarn")
    node = InstanceType("x", 8, gib)
    layout = layout_of(node, rule)
    heap = heap_mib(layout)
    used = layout.executors_per_node * (heap + overhead_mib(heap))
    assert used + 896 <= usable_memory_gib(node, rule) * 1024 + layout.executors_per_node


LEAST_ALLOCATION_MIB = {"emr": 32, "yarn": 1024, "dataproc": 1}
"""`yarn.scheduler.minimum-allocation-mb`: EMR's task configuration, YARN's default, and what a
cluster of Dataproc's current images says. YARN gives out multiples of it."""


@pytest.mark.parametrize(
    ("name", "platform"),
    [("aws", "emr"), ("aws", "yarn"), ("azure", "yarn"), ("gcp", "yarn"), ("gcp", "dataproc")],
)
def test_yarn_places_all_executors_of_a_node_and_the_application_master(
    name: str, platform: str
) -> None:
    catalog, step = on_platform(load_catalog(name), platform), LEAST_ALLOCATION_MIB[platform]

    def given(asked_mib: int) -> int:
        return -(-asked_mib // step) * step

    laid_out = 0
    for offer in catalog.offers.values():
        layout = layout_of(offer.instance, catalog.memory_rule)
        heap = heap_mib(layout) if layout else None
        if layout is None or heap is None:
            continue
        laid_out += 1
        left = int(1024 * usable_memory_gib(offer.instance, catalog.memory_rule)) - given(896)
        container = given(heap + overhead_mib(heap))
        assert left // container >= layout.executors_per_node, offer.instance.name
        # What is left over is less than one step more for each of them.
        assert left < layout.executors_per_node * (container + step + 3), offer.instance.name
    assert laid_out > 100


@pytest.mark.parametrize("target", ["dataproc", "terraform", "spark-submit"])
def test_dataproc_counts_as_the_layout_does(target: str) -> None:
    """Its own application master has 640 MiB and an overhead, more than a node has left; images
    from 3.0 on count cores, and executors with all of a node's leave it none."""
    machine = {"n2-standard-8": 3}
    plan = handover(provider="gcp", region="us-east1", platform="dataproc", composition=machine)
    text = render(plan, to=target)
    heap = int(re.search(r"spark\.yarn\.am\.memory\W+(\d+)m", text)[1])
    assert heap + max(384, heap // 10) <= 1024 * YARN_MASTER_GIB
    counts = "resource-calculator" in text and "util.resource.DefaultResourceCalculator" in text
    assert counts is (target != "spark-submit")


def test_other_services_keep_their_application_master() -> None:
    """Spark's default is what the layout leaves room for."""
    for to, provider in (("emr", "aws"), ("databricks", "azure"), ("spark-submit", "aws")):
        assert "spark.yarn.am" not in render(handover(provider=provider), to=to)


@pytest.mark.parametrize("to", ["databricks", "kubernetes"])
def test_a_text_for_another_service_than_dataproc_sets_no_application_master(to: str) -> None:
    """The sizes are those of Dataproc, as the catalog is; the text is for what has no YARN."""
    plan = handover(
        provider="gcp",
        region="us-east1",
        platform="dataproc",
        composition={"n2-standard-8": 3},
        spark_version="3.5.1",
    )
    text = render(plan, to=to)
    assert "spark.yarn.am" not in text
    assert "client mode" not in text


@pytest.mark.parametrize(
    ("to", "planned", "yarn"),
    [
        ("emr", "emr", True),
        ("spark-submit", "emr", True),
        ("spark-submit", "yarn", True),
        ("spark-defaults", "dataproc", True),
        ("spark-submit", "kubernetes", False),
        ("spark-submit", "standalone", False),
        ("kubernetes", "emr", False),
        ("spark-submit", None, False),
    ],
)
def test_a_text_for_yarn_says_that_client_mode_is_assumed(
    to: str, planned: str | None, yarn: bool
) -> None:
    said = "# client mode assumed: in cluster mode the driver may take the place of executors on"
    assert render(handover(platform=planned), to=to).count(said) == int(yarn)


BOUNDS = (2, 40)


def test_dynamic_allocation_is_bounded_and_begins_with_what_was_predicted() -> None:
    text = render(handover(dynamic_allocation=BOUNDS, node_vcpus=8.0), to="spark-defaults")
    settings = dict(x.split(maxsplit=1) for x in text.splitlines() if not x.startswith("#"))
    prefix = "spark.dynamicAllocation"
    asked = ("enabled", "minExecutors", "initialExecutors", "maxExecutors")
    assert [settings[f"{prefix}.{key}"] for key in asked] == ["true", "2", "28", "40"]
    assert "spark.executor.instances" not in settings
    spec = yaml.safe_load(render(handover(dynamic_allocation=BOUNDS), to="kubernetes"))["spec"]
    assert spec["dynamicAllocation"] == {
        "enabled": True, "initialExecutors": 28, "minExecutors": 2, "maxExecutors": 40,
    }  # fmt: skip
    bricks = render(handover(dynamic_allocation=BOUNDS, provider="azure"), to="databricks")
    assert "dynamicAllocation" not in bricks
    assert "Databricks counts workers" in bricks


def test_pods_request_no_more_cpus_than_a_node_offers() -> None:
    full = yaml.safe_load(render(handover(node_vcpus=8.0), to="kubernetes"))["spec"]["executor"]
    assert full["cores"] == 4
    assert 2 * int(full["coreRequest"].removesuffix("m")) <= 8000 - 90
    roomy = yaml.safe_load(render(handover(node_vcpus=16.0), to="kubernetes"))["spec"]["executor"]
    assert "coreRequest" not in roomy


@pytest.mark.parametrize("vcpus", [2.0, 3.0, 4.0, 6.0, 8.0, 48.0, 96.0])
@pytest.mark.parametrize("pods", [1, 2, 3, 7])
def test_pods_request_all_that_a_node_offers_and_no_more(vcpus: float, pods: int) -> None:
    """In thousandths of a CPU; what kubelet takes is a table of its own (`memory.tiered`)."""
    cores = max(1, int(vcpus) // pods)
    given = handover(node_vcpus=vcpus, layout=Layout(pods, cores, 2.0))
    executor = yaml.safe_load(render(given, to="kubernetes"))["spec"]["executor"]
    offered = 1000.0 * pods * requested_cores(vcpus, pods)
    if "coreRequest" not in executor:
        assert 1000 * pods * cores <= offered
        return
    asked = int(executor["coreRequest"].removesuffix("m"))
    assert asked < 1000 * cores
    assert pods * asked <= offered < pods * (asked + 1)


@pytest.mark.parametrize("to", ["spark-submit", "spark-defaults"])
def test_pods_of_a_submission_request_what_a_node_offers_too(to: str) -> None:
    """Four cores to a pod: on nodes of eight the second pod of each would wait for ever."""
    plan = handover(node_vcpus=8.0, platform="kubernetes")
    request = yaml.safe_load(render(plan, to="kubernetes"))["spec"]["executor"]["coreRequest"]
    key = "spark.kubernetes.executor.request.cores"
    written = render(plan, to=to)
    assert [line.split(key)[1].strip(" =\\") for line in written.splitlines() if key in line] == [
        request
    ]
    assert key not in render(handover(node_vcpus=16.0, platform="kubernetes"), to=to)
    assert key not in render(handover(node_vcpus=8.0, platform="yarn"), to=to)


def test_pods_of_a_mix_request_what_the_fullest_of_its_nodes_offers() -> None:
    plan = handover(
        composition={"r5.2xlarge": 2, "r5.4xlarge": 1}, platform="kubernetes",
        mixed_nodes=((16.0, 3), (8.0, 2)),
    )  # fmt: skip
    alone = handover(node_vcpus=8.0, platform="kubernetes")
    key = "spark.kubernetes.executor.request.cores"
    mixed, single = (
        next(line for line in render(each, to="spark-submit").splitlines() if key in line)
        for each in (plan, alone)
    )
    assert mixed == single


@pytest.mark.parametrize(
    ("nodes", "spot", "says"),
    [
        (1, {}, ["a node pool of 1 node of this type"]),
        (2, {}, ["a node pool of 2 nodes of this type"]),
        (5, {"r": 1}, ["a node pool of 5 nodes", "of these at most 1 spot nodes"]),
        (5, {"r": 5}, ["a node pool of 5 nodes"]),
    ],
)
def test_the_node_pool_of_a_kubernetes_plan(nodes: int, spot: dict, says: list[str]) -> None:
    plan = handover(composition={"r": nodes}, spot=bool(spot), part_spot=spot)
    told = [line for line in render(plan, to="kubernetes").splitlines() if line.startswith("#")]
    found = [line for line in told if "node pool" in line or "spot nodes" in line]
    assert [text in line for text, line in zip(says, found, strict=True)] == [True] * len(says)


def test_executors_without_nodes_need_no_node_pool() -> None:
    own = render(handover(composition={}, provider=None, region=None), to="kubernetes")
    assert "node pool" not in own
    assert "other-platform" not in own


def test_every_type_of_a_mix_has_its_own_yarn_memory() -> None:
    memories = {"m5.large": 6.0, "r5.2xlarge": 56.0}
    mix = handover(composition={"m5.large": 3, "r5.2xlarge": 14}, memories_gib=memories)
    said = words(render(mix, to="emr"))
    fleets = json.loads(after(said, "--instance-fleets"))
    own = {}
    for fleet in fleets[1:]:
        (kind,) = fleet["InstanceTypeConfigs"]
        (entry,) = kind["Configurations"]
        assert entry["Classification"] == "yarn-site"
        own[kind["InstanceType"]] = entry["Properties"]["yarn.nodemanager.resource.memory-mb"]
    assert own == {"m5.large": "6144", "r5.2xlarge": "57344"}
    configured = json.loads(after(said, "--configurations"))
    assert configured[0]["Properties"] == {"yarn.scheduler.maximum-allocation-mb": "57344"}
    three = handover(
        composition={"a": 1, "b": 5, "c": 2}, memories_gib={"a": 1.0, "b": 2.0, "c": 3.0}
    )
    groups = json.loads(after(words(render(three, to="emr")), "--instance-groups"))
    assert [len(group.get("Configurations", [])) for group in groups] == [0, 1, 1, 1]


@pytest.mark.parametrize("target", ["emr", "terraform"])
def test_emr_is_not_given_types_that_it_does_not_support(target: str) -> None:
    small = handover(composition={"m5.large": 1}, unsupported={"m5.large": ("m5.xlarge",)})
    with pytest.raises(BadInput, match=r"not support m5.large; .* --instances m5.xlarge"):
        render(small, to=target)
    assert "m5.large" in render(small, to="kubernetes")


ONE_PLATFORM = {
    ("emr", "aws"): "emr",
    ("dataproc", "gcp"): "dataproc",
    ("databricks", "aws"): "databricks",
    ("databricks", "azure"): "databricks",
    ("kubernetes", "aws"): "kubernetes",
    ("terraform", "aws"): "emr",
    ("terraform", "gcp"): "dataproc",
    ("terraform", "azure"): "databricks",
}
"""(Target, provider) -> what the text is for."""


@pytest.mark.parametrize(("target", "provider"), ONE_PLATFORM)
def test_a_plan_for_another_platform_is_flagged(target: str, provider: str) -> None:
    own = ONE_PLATFORM[target, provider]
    other = render(handover(provider=provider, platform="yarn"), to=target)
    note = f"executors and price are for yarn, this is for {own}: plan with --platform {own}"
    assert other.count(note) == 1
    assert f"# note: {note}" in other
    assert "--platform" not in render(handover(provider=provider, platform=own), to=target)


def test_a_plan_for_a_platform_that_nobody_named_is_flagged() -> None:
    """Of a price list of one's own, whose provider runs no Spark."""
    said = render(handover(provider="other"), to="kubernetes")
    assert "executors and price are for another platform, this is for kubernetes" in said


@pytest.mark.parametrize("target", ["spark-submit", "spark-defaults"])
def test_options_for_any_platform_are_not(target: str) -> None:
    assert "--platform" not in render(handover(platform="yarn"), to=target)


@pytest.mark.parametrize("spot", [0, 1, 13, 14])
@pytest.mark.parametrize("master", ["m5.xlarge", None])
@pytest.mark.parametrize("types", [{"r5.2xlarge": 14}, {"r5.2xlarge": 14, "m5.large": 3}])
def test_emr_starts_the_nodes_that_were_recommended(
    types: dict[str, int], master: str | None, spot: int
) -> None:
    """Groups count nodes; a fleet ends up with its capacity over what one node weighs."""
    plan = handover(
        composition=types, master=master, spot=bool(spot), part_spot={"r5.2xlarge": spot}
    )
    said = words(render(plan, to="emr"))
    started: dict[tuple[str, str, bool], float] = {}
    if "--instance-groups" in said:
        for group in json.loads(after(said, "--instance-groups")):
            role = group["InstanceGroupType"] == "MASTER"
            key = ("master" if role else "worker", group["InstanceType"], "BidPrice" in group)
            started[key] = started.get(key, 0) + group["InstanceCount"]
    else:
        for fleet in json.loads(after(said, "--instance-fleets")):
            role = fleet["InstanceFleetType"] == "MASTER"
            (kind,) = fleet["InstanceTypeConfigs"]
            for name, market in (("OnDemand", False), ("Spot", True)):
                if units := fleet.get(f"Target{name}Capacity"):
                    key = ("master" if role else "worker", kind["InstanceType"], market)
                    started[key] = units / kind["WeightedCapacity"]
    wanted = {("master", master or "r5.2xlarge", False): 1.0}
    for name, count in types.items():
        rented = spot if name == "r5.2xlarge" else 0
        wanted[("worker", name, True)] = rented
        wanted[("worker", name, False)] = count - rented
    assert started == {key: count for key, count in wanted.items() if count}


def test_dataproc_takes_two_ordinary_workers_and_a_master_of_their_type() -> None:
    rented = {"composition": {"n2": 3}, "part_spot": {"n2": 1}, "master": None}
    for changes in ({"composition": {"n2": 2}, "master": None}, rented):
        said = words(render(handover(provider="gcp", **changes), to="dataproc"))
        assert after(said, "--num-workers") == "2"
        assert after(said, "--master-machine-type") == "n2"


@pytest.mark.parametrize(("master", "mode"), [("yarn", "cluster"), ("yarn-cluster", None)])
def test_logs_of_cluster_mode_are_told_from_those_of_client_mode(
    master: str, mode: str | None
) -> None:
    fitted, catalog = model(lambda _, nodes: 600.0 / nodes), load_catalog("aws")
    ask = partial(engine.recommend, fitted, catalog=catalog, instances=["m5.xlarge"])
    config = {"spark.master": master} | ({"spark.submit.deployMode": mode} if mode else {})
    stages = (StageRun(0, "count", 4, 0.0, 60.0, Measure(4, 60.0, (15.0,))),)
    (run,) = fitted.profile.runs
    for kept, cluster in ((config, True), ({"spark.master": "yarn"}, False)):
        profile = replace(fitted.profile, runs=(replace(run, stages=stages, config=kept),))
        for nodes in (1, 2):
            found = ask(deadline_seconds=601.0 / nodes, max_nodes=nodes)
            text = engine.export(found, to="emr", profile=profile, catalog=catalog)
            assert ("assumed, though the logs ran in cluster mode: in" in text) is cluster
            assert ("on one node, the only one, and the job waits" in text) is (nodes == 1)
        text = engine.export(found, to="kubernetes", profile=profile, catalog=catalog)
        assert "cluster mode:" not in text


def test_databricks_has_a_driver_of_the_workers_type_and_a_name_of_100_characters() -> None:
    said = words(render(handover(application="n" * 200, master=None), to="databricks"))
    cluster = json.loads(said[4])
    assert cluster["driver_node_type_id"] == "r5.2xlarge"
    assert cluster["cluster_name"] == "n" * 100


def test_kubernetes_has_fields_for_heap_and_overhead_and_settings_for_the_rest() -> None:
    def spec(layout: Layout) -> dict[str, Any]:
        return yaml.safe_load(render(handover(layout=layout), to="kubernetes"))["spec"]

    full = spec(Layout(2, 4, 20.0, BesideHeap(overhead_gib=3.0, pyspark_gib=1.0)))
    assert full["executor"]["memoryOverhead"] == "3072m"
    assert full["sparkConf"] == {"spark.executor.pyspark.memory": "1024m"}
    assert full["dynamicAllocation"] == {"enabled": False}
    unknown = spec(Layout(2, 4))["executor"]
    assert "memory" not in unknown
    assert "memoryOverhead" not in unknown


@pytest.mark.parametrize(
    ("worker", "to", "said"),
    [
        ("m7g.xlarge", "emr", True),
        ("m7g.xlarge", "databricks", True),
        ("m7g.xlarge", "spark-submit", True),
        ("m7g.xlarge", "kubernetes", False),
        ("m6i.xlarge", "emr", False),
    ],
)
def test_a_master_of_another_architecture_than_the_workers_is_said(
    worker: str, to: str, said: bool
) -> None:
    fitted, catalog = model(lambda _, nodes: 600.0 / nodes), load_catalog("aws")
    found = engine.recommend(fitted, catalog=catalog, instances=[worker], deadline_seconds=9000.0)
    text = engine.export(found, to=to, profile=fitted.profile, catalog=catalog)
    assert ("[mixed-architectures]" in text) is said
    assert ("the master m5.xlarge is x86_64, m7g.xlarge is arm64" in text) is said
