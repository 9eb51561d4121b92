"""Nodes that a plan fills further than the measured run did."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import catalog_of, offer

import engine
from engine.batch import with_shape_and_layout
from engine.catalog import InstanceType, MemoryRule
from engine.choosing.candidate_selection import select_candidates
from engine.cluster import Cluster, Layout, NodeGroup, Workload
from engine.machines.hardware_threads import (
    SECOND_THREAD,
    denser_nodes_notice,
    relative_time_at_load,
    tasks_per_vcpu,
    threads_per_core,
    with_filled_nodes,
)
from engine.profile import Profile, Run

EIGHT = InstanceType("m.8", 8, 32.0, arch="x86_64")
SIXTEEN = InstanceType("m.16", 16, 64.0, arch="x86_64")


def run(slots_per_node: int, instance: InstanceType | None = EIGHT, *, master: str = "yarn") -> Run:
    """On three nodes with one executor each."""
    cluster = Cluster(groups=(NodeGroup(3, instance),), executors=3, executor_cores=slots_per_node)
    return Run(100.0, cluster, Workload(10e9), config={"spark.master": master})


def test_tasks_per_vcpu_are_known_of_named_nodes_alone() -> None:
    assert tasks_per_vcpu(run(4)) == 0.5
    assert tasks_per_vcpu(run(8)) == 1.0
    assert tasks_per_vcpu(run(4, None)) is None
    assert tasks_per_vcpu(run(4, InstanceType("m.8", float("nan"), 32.0))) is None
    assert tasks_per_vcpu(run(4, master="local-cluster[3,4,1024]")) is None
    assert tasks_per_vcpu(run(4, master="k8s://https://api")) is None
    owned = Cluster.of_executors(executors=3, executor_cores=4)
    assert tasks_per_vcpu(replace(run(4), cluster=owned)) is None


@pytest.mark.parametrize(
    ("before", "now", "times"),
    [(4, 16, "2 times"), (2, 16, "2 times"), (6, 16, "1.3 times"), (4, 12, "1.5 times")],
)
def test_a_fuller_node_is_said_with_how_much_longer_tasks_may_take(
    before: int, now: int, times: str
) -> None:
    notice = denser_nodes_notice(run(before), SIXTEEN, slots_per_node=now)
    assert notice.code == "fuller-nodes"
    assert (
        f"m.8 had {before} tasks at once on 8 vCPUs (2 to a core), each m.16 gets {now} on 16 vCPUs"
        in notice.text
    )
    assert f"up to {times}" in notice.text


@pytest.mark.parametrize(("before", "now"), [(8, 16), (7, 16), (4, 8), (2, 8), (8, 8)])
def test_nodes_as_full_or_with_a_core_to_each_task_are_as_measured(before: int, now: int) -> None:
    assert denser_nodes_notice(run(before), SIXTEEN, slots_per_node=now) is None


@pytest.mark.parametrize("cores", [{"arch": "arm64"}, {"threads_per_core": 1}])
def test_vcpus_that_are_cores_may_be_filled(cores: dict[str, Any]) -> None:
    assert denser_nodes_notice(run(4, replace(EIGHT, **cores)), SIXTEEN, slots_per_node=16) is None


def test_threads_of_a_core_are_told_or_follow_from_the_architecture() -> None:
    assert threads_per_core(EIGHT) == threads_per_core(replace(EIGHT, arch=None)) == 2
    assert threads_per_core(replace(EIGHT, arch="arm64")) == 1
    assert threads_per_core(replace(EIGHT, arch="arm64", threads_per_core=2)) == 2


def test_a_second_thread_adds_its_part_to_what_a_core_does() -> None:
    busy = np.asarray([0.0, 0.25, 0.5, 0.75, 1.0])
    alone = (1.0 + SECOND_THREAD) / 2.0
    expected = [alone, alone, alone, 1.5 / (1.0 + SECOND_THREAD / 2.0) * alone, 1.0]
    assert relative_time_at_load(busy, np.full(5, 2.0)) == pytest.approx(expected)
    assert relative_time_at_load(busy, np.ones(5)) == pytest.approx(1.0)
    more = relative_time_at_load(np.linspace(0.0, 1.0, 50), np.full(50, 8.0))
    assert (np.diff(more) >= 0.0).all()
    assert more[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("catalog", "name", "threads"),
    [
        ("aws", "m7a.xlarge", 1),
        ("aws", "r8a.4xlarge", 1),
        ("aws", "m6a.xlarge", 2),
        ("aws", "m7i.xlarge", 2),
        ("aws", "m7g.xlarge", 1),
        ("gcp", "t2d-standard-8", 1),
        ("gcp", "n2d-standard-8", 2),
        ("azure", "Standard_DS13_v2", 1),
        ("azure", "Standard_D8s_v5", 2),
    ],
)
def test_bundled_types_whose_vcpus_are_cores(catalog: str, name: str, threads: int) -> None:
    assert threads_per_core(engine.load_catalog(catalog).offer(name).instance) == threads


@pytest.mark.parametrize("slots_per_node", [4, 8])
def test_a_prediction_warns_of_other_types_alone(slots_per_node: int) -> None:
    catalog = catalog_of(offer("m.8", 0.4, vcpus=8), offer("m.16", 0.8, vcpus=16))
    profile = Profile("job", runs=(run(slots_per_node),))
    fitted = engine.fit(profile)

    def codes(name: str) -> set[str]:
        asked = Cluster.of_nodes(instance_type=name, nodes=4, catalog=catalog)
        return {warning.code for warning in fitted.predict(cluster=asked).warnings}

    assert ("fuller-nodes" in codes("m.16")) == (slots_per_node == 4)
    assert "fuller-nodes" not in codes("m.8")


@pytest.mark.parametrize("master", ["yarn", "local[4]"])
def test_a_measured_type_that_leaves_vcpus_idle_is_said_until_its_nodes_are_filled(
    master: str,
) -> None:
    catalog = catalog_of(offer("m.8", 0.4, vcpus=8, memory_gib=32.0, arch="x86_64"))

    def found(slots_per_node: int, *, filled: bool = False) -> tuple[list[str], int]:
        profile = Profile("job", runs=(run(slots_per_node, master=master),))
        profile = with_filled_nodes(profile) if filled else profile
        chosen = select_candidates(catalog, profile=profile)
        (layout,) = chosen.layouts
        codes = ("idle-vcpus", "filled-nodes")
        said = [notice.text for notice in chosen.notices if notice.code in codes]
        return said, layout.executors_per_node * layout.executor_cores

    assert found(4) == (
        [
            "m.8 is planned as it was measured, with 4 tasks at once on 8 vCPUs (2 to a core): "
            "other types get one for each vCPU"
        ],
        4,
    )
    anew = "executors are laid out anew on m.8, with a task for each vCPU, and not as they were"
    assert found(4, filled=True) == ([f"{anew} measured"], 8)
    assert found(7) == ([], 7)
    assert found(8) == ([], 8)


@pytest.mark.parametrize(
    ("cores", "heap_gib", "pods"),
    [
        (4, None, 2), (2, None, 4), (7, None, 1), (16, None, 1),
        (4, 12.0, 2), (4, 13.0, 1), (2, 5.0, 4), (2, 7.0, 3), (2, 1e3, 1),
    ],
)  # fmt: skip
def test_as_many_measured_pods_share_a_planned_node_as_fit(
    cores: int, heap_gib: float | None, pods: int
) -> None:
    """One to each node, the type that was measured would cost a multiple of what it does."""
    offered = offer("m.8", 0.4, vcpus=8, memory_gib=32.0, arch="x86_64")
    catalog = replace(catalog_of(offered), memory_rule=MemoryRule("kubernetes"))
    measured = run(cores, master="k8s")
    cluster = replace(measured.cluster, executor_memory_gib=heap_gib)
    profile = Profile("job", runs=(replace(measured, cluster=cluster),))
    chosen = select_candidates(catalog, profile=profile)
    assert chosen.layouts == (Layout(pods, cores, heap_gib),)
    assert (pods * cores < 6.4) == ("idle-vcpus" in {notice.code for notice in chosen.notices})
    node = Cluster.of_nodes(instance_type="m.8", nodes=3, catalog=catalog)
    assert with_shape_and_layout(node, profile).executors == 3 * pods


def test_idle_vcpus_are_said_beside_tasks_and_not_their_cores() -> None:
    """`spark.task.cpus` of 2: four cores run two tasks, and one of three cores holds none."""
    catalog = catalog_of(offer("m.8", 0.4, vcpus=8, memory_gib=32.0, arch="x86_64"))
    for cores, said in ((4, "2 tasks at once"), (3, "1 task at once")):
        wide = replace(run(cores), config={"spark.task.cpus": "2"})
        chosen = select_candidates(catalog, profile=Profile("job", runs=(wide,)))
        (text,) = [notice.text for notice in chosen.notices if notice.code == "idle-vcpus"]
        assert f"as it was measured, with {said} on 8 vCPUs" in text


def test_idle_vcpus_are_those_of_the_planned_layout() -> None:
    """Of two runs that of the larger input, though the other filled its nodes."""
    catalog = catalog_of(offer("m.8", 0.4, vcpus=8, memory_gib=32.0, arch="x86_64"))
    large = replace(run(4), workload=Workload(input_bytes=9e9))
    small = replace(run(8), workload=Workload(input_bytes=1e9))
    chosen = select_candidates(catalog, profile=Profile("job", runs=(small, large)))
    assert chosen.layouts[0].executors_per_node * chosen.layouts[0].executor_cores == 4
    assert [notice.code for notice in chosen.notices if notice.code == "idle-vcpus"]


def test_vcpus_that_are_idle_by_the_default_rule_were_not_measured_so() -> None:
    """The largest run does not tell its layout: that of the smaller one is not planned."""
    catalog = catalog_of(offer("m.6", 0.4, vcpus=6, memory_gib=32.0, arch="x86_64"))
    small = run(6, InstanceType("m.6", 6, 32.0, arch="x86_64"))
    cluster = replace(small.cluster, executors=None, executor_cores=None)
    large = replace(small, cluster=cluster, workload=Workload(input_bytes=90e9))
    chosen = select_candidates(catalog, profile=Profile("job", runs=(small, large)))
    assert chosen.layouts[0].executors_per_node * chosen.layouts[0].executor_cores == 4
    assert "idle-vcpus" not in [notice.code for notice in chosen.notices]
