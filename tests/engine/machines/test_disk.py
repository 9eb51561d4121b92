"""Shuffles and spills against local disks and EBS volumes."""

from dataclasses import replace

import pytest
from synthetic import catalog_of, offer

import engine
from engine.catalog import InstanceType, MemoryRule
from engine.cluster import Cluster, Workload
from engine.machines.node_capacity import disk_notice, disk_of, needed_bytes
from engine.profile import Run
from engine.stage_run import Measure, StageRun

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
