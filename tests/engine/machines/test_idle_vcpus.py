"""Nodes that a plan fills further than the measured run did."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import catalog_of, offer

import engine
from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup, Workload
from engine.machines.idle_vcpus import fuller_notice, tasks_per_vcpu
from engine.profile import Profile, Run

EIGHT = InstanceType("m.8", 8, 32.0, "x86_64")
SIXTEEN = InstanceType("m.16", 16, 64.0, "x86_64")


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
    notice = fuller_notice(run(before), SIXTEEN, slots_per_node=now)
    assert notice is not None
    assert notice.code == "fuller-nodes"
    assert f"m.8 had {before} tasks at once on 8 vCPUs, each m.16 gets {now} on 16" in notice.text
    assert f"up to {times}" in notice.text


@pytest.mark.parametrize(("before", "now"), [(8, 16), (7, 16), (4, 8), (2, 8), (8, 8)])
def test_nodes_as_full_or_with_a_core_to_each_task_are_as_measured(before: int, now: int) -> None:
    assert fuller_notice(run(before), SIXTEEN, slots_per_node=now) is None


def test_vcpus_that_are_cores_may_be_filled() -> None:
    arm = replace(EIGHT, arch="arm64")
    assert fuller_notice(run(4, arm), SIXTEEN, slots_per_node=16) is None


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
