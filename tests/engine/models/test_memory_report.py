"""What is said of a cache that does not fit, in nodes."""

from __future__ import annotations

import re

import pytest
from cached_runs import HEAP, ITERATIONS, run_of
from made_runs import BLOCK
from sparkplan_runs import fit

from engine.cluster import Cluster, Layout, Workload
from engine.profile import Notice


@pytest.mark.parametrize("per_node", [1, 2, 3])
def test_as_many_nodes_as_are_named_hold_the_cache_and_one_fewer_does_not(per_node: int) -> None:
    model, layout = fit(run_of(20, 2), run_of(40, 2)), Layout(per_node, 2, HEAP)

    def warned(nodes: int) -> list[Notice]:
        cluster = Cluster.of_nodes(
            instance_type="x", nodes=nodes, vcpus=8, memory_gib=32.0, layout=layout
        )
        found = model.predict(cluster=cluster, workload=Workload(400 * BLOCK))
        return [notice for notice in found.warnings if notice.code == "cache-does-not-fit"]

    (notice,) = warned(1)
    said = re.search(r"use at least (\d+) such nodes", notice.remedy)
    assert said is not None
    least = int(said[1])
    assert warned(least - 1)
    assert not warned(least)
    assert f": {ITERATIONS} stages read or compute the rest again" in notice.text
