"""What nodes hold: executors in memory, shuffles and spills on local disks and EBS volumes."""

import json
import math
from dataclasses import replace
from functools import cache

import pytest
from handovers_made import after, words
from hypothesis import given
from hypothesis import strategies as st
from synthetic import catalog_of, offer

import engine
from engine import load_catalog
from engine.catalog import Catalog, InstanceType, MemoryRule
from engine.cluster import BesideHeap, Cluster, Layout, Workload
from engine.machines.node_capacity import (
    EXECUTORS_DO_NOT_FIT,
    disk_notice,
    disk_of,
    executors_memory_gib,
    memory_overcommit_notice,
    needed_bytes,
    yarn_memory_gib,
)
from engine.machines.platforms import PLATFORMS, on_platform
from engine.memory import layout_of, usable_memory_gib
from engine.profile import Run
from engine.stage_run import Measure, StageRun

NODE = "m5.xlarge"  # 16 GiB, of which EMR's YARN hands out 12


def measured(heap_gib: float, beside: BesideHeap | None = None) -> engine.Profile:
    """A bundled log, as if it had had one such executor on each of its nodes of that type."""
    read = engine.read("nightly-features", ran_on=engine.find_type(NODE, first="aws")[1])
    (run,) = read.runs
    cluster = replace(
        run.cluster, executors=1, executor_cores=4, executor_memory_gib=heap_gib, beside=beside
    )
    return replace(read, runs=(replace(run, cluster=cluster),))


def answered(profile: engine.Profile, platform: str | None) -> tuple[engine.Recommendation, str]:
    """The answer on that type alone, and its export to EMR."""
    catalog = on_platform(load_catalog("aws"), platform)
    found = engine.recommend(
        engine.fit(profile), catalog=catalog, deadline_seconds=7200, instances=[NODE], max_nodes=4
    )
    return found, engine.export(found, to="emr", profile=profile, catalog=catalog)


def said(found: engine.Recommendation) -> list[str]:
    assert found.recommended is not None
    return [
        notice.text for notice in found.recommended.warnings if notice.code == EXECUTORS_DO_NOT_FIT
    ]


def configured(text: str) -> tuple[dict[str, str], dict[str, str]]:
    yarn, spark = json.loads(after(words(text), "--configurations"))
    return yarn["Properties"], spark["Properties"]


@pytest.mark.parametrize(
    ("platform", "fits", "does_not"),
    [
        # heap + 10 % against what is left of 16 GiB, in the platform's steps
        ("emr", 10.9, 10.95),
        ("yarn", 13.6, 13.7),
        ("kubernetes", 11.8, 12.0),
        ("standalone", 15.0, 15.1),
        ("databricks", 8.6, 8.7),
    ],
)
def test_measured_executors_that_a_node_does_not_hold_are_told(
    platform: str, fits: float, does_not: float
) -> None:
    assert said(answered(measured(fits), platform)[0]) == []
    (text,) = said(answered(measured(does_not), platform)[0])
    assert "the executor that the log had on each m5.xlarge" in text
    with_off_heap = measured(fits - 2.0, BesideHeap(off_heap_gib=2.5))
    assert len(said(answered(with_off_heap, platform)[0])) == (platform != "standalone")


@pytest.mark.parametrize(
    ("gib", "heap_mib"),
    # Standard_F4s, Standard_DS3_v2, i3.xlarge, Standard_D4ds_v5, Standard_E8s_v3
    [(8.0, 2516), (14.0, 7284), (30.5, 20396), (16.0, 8873), (64.0, 47015)],
)
def test_databricks_starts_no_larger_heap_than_its_formula_gives(gib: float, heap_mib: int) -> None:
    """0.7 of a node was planned, which is more than that of nodes of less than 27 GiB."""
    catalog, node = on_platform(load_catalog("aws"), "databricks"), InstanceType("x", 4, gib)
    layout = layout_of(node, catalog.memory_rule)
    assert layout is not None
    assert math.floor(layout.executor_memory_gib * 1024.0) == heap_mib
    assert load_catalog("azure").memory_rule.kind == "databricks"


def test_executors_of_a_log_of_databricks_fit_their_node() -> None:
    """Those of Standard_E8s_v3 had 47016m, of the 47015.9 that the formula gives."""
    catalog = load_catalog("azure-databricks")
    node = catalog.offer("Standard_E8s_v3").instance
    for heap_mib, fits in ((47016, True), (47020, False)):
        notice = memory_overcommit_notice(node, Layout(1, 8, heap_mib / 1024.0), catalog)
        assert (notice is None) is fits


@pytest.mark.parametrize("heap_gib", [9.0, 10.5, 11.0, 12.0, 12.8])
def test_emr_hands_out_what_measured_executors_take(heap_gib: float) -> None:
    yarn, spark = configured(answered(measured(heap_gib), None)[1])
    handed = int(yarn["yarn.nodemanager.resource.memory-mb"])
    assert yarn["yarn.scheduler.maximum-allocation-mb"] == str(handed)
    asked = sum(
        int(spark[f"spark.executor.{key}"].removesuffix("m"))
        for key in ("memory", "memoryOverhead")
    )
    assert max(12288, asked + 896) <= handed <= max(12288, asked + 896 + 32)


def test_emr_hands_out_all_of_a_machine_that_has_no_room_for_the_application_master() -> None:
    yarn, _ = configured(answered(measured(13.5), None)[1])
    assert yarn["yarn.nodemanager.resource.memory-mb"] == str(15 * 1024)


def test_emr_is_not_told_to_hand_out_more_than_the_machine_has() -> None:
    found, text = answered(measured(14.0), None)
    assert configured(text)[0]["yarn.nodemanager.resource.memory-mb"] == "12288"
    (notice,) = said(found)
    assert "15.4 GiB, more than the 12 GiB that EMR leaves" in notice


@cache
def catalog_on(platform: str) -> Catalog:
    return on_platform(load_catalog({"dataproc": "gcp"}.get(platform, "aws")), platform)


@given(
    vcpus=st.integers(1, 128),
    gib=st.floats(2.0, 2000.0),
    platform=st.sampled_from(PLATFORMS),
    beside=st.builds(BesideHeap, off_heap_gib=st.none() | st.floats(0.01, 1.0)),
)
def test_layouts_of_our_own_fit(vcpus: int, gib: float, platform: str, beside: BesideHeap) -> None:
    catalog = catalog_on(platform)
    node = InstanceType("x", vcpus, gib)
    layout = layout_of(node, catalog.memory_rule, beside_per_core=beside)
    if layout is None:
        return
    rule = catalog.memory_rule
    assert memory_overcommit_notice(node, layout, catalog) is None
    if rule.on_yarn:
        handed = yarn_memory_gib(node, rule, layout)
        assert handed <= usable_memory_gib(node, rule) * (1.0 + 1e-9)
        assert placed(handed, rule, layout) == [layout.executors_per_node] * 2


def placed(handed_gib: float, rule: MemoryRule, layout: Layout) -> list[int]:
    """Executors that YARN places on a node, by memory alone: beside the application master and
    without it (as many as beside it where they are no larger than that, which cannot be helped)."""
    taken = executors_memory_gib(layout, rule)
    container = taken / layout.executors_per_node
    master = 1.0 if rule.kind == "yarn" else 0.875
    beside, alone = (
        math.floor(left / container * (1.0 + 1e-9)) for left in (handed_gib - master, handed_gib)
    )
    return [beside, alone if container > master else beside]


@pytest.mark.parametrize("heap_gib", [0.5, 2.0, 5.0])
def test_yarn_has_no_room_for_more_executors_than_were_measured_on_a_node(heap_gib: float) -> None:
    """It counts memory alone: of small executors it put those of five nodes on one."""
    yarn, spark = configured(answered(measured(heap_gib), None)[1])
    assert spark["spark.executor.cores"] == "4", "all of the node's"
    handed = int(yarn["yarn.nodemanager.resource.memory-mb"]) / 1024.0
    assert placed(handed, MemoryRule("emr-yarn"), Layout(1, 4, heap_gib)) == [1, 1]


def test_dataproc_has_no_room_for_more_executors_than_were_measured_either() -> None:
    catalog = load_catalog("gcp")
    node = catalog.offers["n2-standard-8"].instance
    read = engine.read("nightly-features", ran_on=node)
    (run,) = read.runs
    cluster = replace(run.cluster, executors=2, executor_cores=4, executor_memory_gib=1.0)
    profile = replace(read, runs=(replace(run, cluster=cluster),))
    found = engine.recommend(
        engine.fit(profile), catalog=catalog, deadline_seconds=60, instances=[node.name]
    )
    layout = found.recommended.layout
    assert layout == Layout(2, 4, 1.0)
    text = engine.export(found, to="dataproc", profile=profile, catalog=catalog)
    properties = dict(x.split("=") for x in after(words(text), "--properties").split(","))
    handed = int(properties["yarn:yarn.nodemanager.resource.memory-mb"]) / 1024.0
    assert properties["yarn:yarn.scheduler.maximum-allocation-mb"] == f"{handed * 1024.0:.0f}"
    assert placed(handed, catalog.memory_rule, layout) == [2, 2]


def test_nodes_of_a_mix_hold_the_executors_that_they_have_cores_for() -> None:
    """The heap is that of the type with the least memory: YARN put ten such executors of four cores
    on an r5.2xlarge, and left others idle."""
    catalog, profile = load_catalog("aws"), measured(5.0)
    fitted = engine.fit(profile)
    mix = {"c5.2xlarge": 4, "r5.4xlarge": 2}
    choice = engine.predict_composition(fitted, composition=mix, catalog=catalog).choice
    found = engine.recommend(fitted, catalog=catalog, deadline_seconds=7200, instances=[*mix])
    text = engine.export(found, to="emr", choice=choice, profile=profile, catalog=catalog)
    assert choice.layout is not None
    assert choice.executors == 4 * 2 + 2 * 4
    _, *workers = json.loads(after(words(text), "--instance-fleets"))
    for fleet, count in zip(workers, (2, 4), strict=True):
        (kind,) = fleet["InstanceTypeConfigs"]
        properties = kind["Configurations"][0]["Properties"]
        handed = int(properties["yarn.nodemanager.resource.memory-mb"]) / 1024.0
        own = replace(choice.layout, executors_per_node=count)
        assert placed(handed, catalog.memory_rule, own) == [count, count]


def test_steps_of_yarn_and_unknown_heaps() -> None:
    assert executors_memory_gib(Layout(2, 4, 10.0), MemoryRule("yarn")) == 22.0  # 10 + 1, whole
    assert executors_memory_gib(Layout(2, 4, 10.1), MemoryRule("yarn")) == 24.0
    assert executors_memory_gib(Layout(2, 4, 10.0), MemoryRule("standalone")) == 20.0
    assert executors_memory_gib(Layout(2, 4), MemoryRule("yarn")) is None


SHARED = catalog_of(offer("a", 0.2))
EMR = replace(SHARED, memory_rule=MemoryRule("emr-yarn"))
GIB = 2**30


def measure(total: float) -> Measure:
    return Measure(1, total, (total, total))


def run(*written: float, spilled: float | None = None) -> Run:
    stages = tuple(
        StageRun(
            n, f"stage {n}", 1, 0.0, 1.0, measure(1.0), shuffle_write_bytes=measure(size),
            disk_spilled_bytes=spilled,
        )
        for n, size in enumerate(written)
    )  # fmt: skip
    cluster = Cluster.of_executors(executors=4, executor_cores=2)
    return Run(100.0, cluster, Workload(10e9), stages=stages)


@pytest.mark.parametrize(("vcpus", "gib"), [(2, 32), (4, 64), (16, 256), (96, 1536)])
def test_emr_attaches_volumes_by_size(vcpus: int, gib: int) -> None:
    assert disk_of(InstanceType("m5.x", vcpus, 16.0), EMR) == (
        gib * GIB, "EBS volumes (assumed: what EMR attaches by default)",
    )  # fmt: skip


def test_local_disks_are_used_and_unknown_ones_say_nothing() -> None:
    local = InstanceType("m5d.x", 4, 16.0, local_disk_gb=150.0)
    assert disk_of(local, SHARED) == (150e9, "local disk")
    assert disk_of(InstanceType("a", 4, 16.0), SHARED) is None


def test_all_shuffles_stay_and_the_largest_spill_counts_once() -> None:
    assert needed_bytes(run(2e9, 3e9, spilled=1e9), Workload(10e9)) == pytest.approx(6e9)
    assert needed_bytes(run(2e9, 3e9), Workload(40e9)) == pytest.approx(20e9)
    assert needed_bytes(run(2e9), Workload(scale=3.0)) == pytest.approx(6e9)
    assert needed_bytes(run(), Workload(10e9)) is None


def test_more_nodes_make_it_fit() -> None:
    small, measured = InstanceType("m5.xlarge", 4, 16.0), run(300e9)
    warned = disk_notice(small, 2, EMR, measured, Workload(10e9))
    assert warned.code == "disk-does-not-fit"
    least = -(-300e9 // (0.9 * 64 * GIB))
    assert f"at least {least:.0f} such nodes" in warned.remedy
    assert disk_notice(small, int(least), EMR, measured, Workload(10e9)) is None
    assert disk_notice(small, int(least) - 1, EMR, measured, Workload(10e9)) is not None
    assert disk_notice(small, 2, EMR, None, Workload(10e9)) is None


def test_every_model_says_so_of_one_cluster() -> None:
    """Whoever asks for a cluster by name is warned as well as whoever has one recommended."""
    profile = engine.read("sales-report-large")
    catalog = engine.load_catalog("aws")
    workload = Workload(3e11)
    for model in ("sparkplan", "simcost"):
        fitted = engine.fit(profile, model=model)
        for nodes, warned in ((2, True), (500, False)):
            cluster = engine.Cluster.of_nodes(
                instance_type="m5.xlarge", nodes=nodes, catalog=catalog
            )
            found = fitted.predict(cluster=cluster, workload=workload)
            codes = {notice.code for notice in found.warnings}
            assert ("disk-does-not-fit" in codes) is warned
