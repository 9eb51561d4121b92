"""What is said of a cache that does not fit, in nodes."""

import math
import re
from dataclasses import replace

import pytest
from cached_runs import HEAP, ITERATIONS, KEPT_PER_BYTE, run_of, storage_of
from made_runs import BLOCK
from sparkplan_runs import fit

from engine.catalog import InstanceType
from engine.cluster import Cluster, Layout, Workload
from engine.notices import Notice
from engine.profile import PersistedRdd
from engine.units import format_bytes


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
    least = int(said[1])
    assert warned(least - 1)
    assert not warned(least)
    assert f": {ITERATIONS} stages read or compute the rest again" in notice.text


@pytest.mark.parametrize("sizes", [True, False])
def test_copies_want_as_many_times_the_memory_where_there_are_executors_for_them(
    sizes: bool,
) -> None:
    """A stage reads one copy of each block, and a lone executor has nobody to give a second one to:
    more than one of them hold twice as much."""
    run = run_of(40, 4, sizes=False)
    kept = 40 * KEPT_PER_BYTE * BLOCK
    stages = tuple(replace(stage, needed_rdds=(7,)) for stage in run.stages)
    persisted = (PersistedRdd(7, 2.0 * kept if sizes else None, copies=2),)
    run = replace(run, stages=stages, persisted_rdds=persisted)
    model = fit(replace(run, cached_bytes=2.0 * kept if sizes else None))

    def warned(executors: int) -> list[Notice]:
        cluster = Cluster.of_executors(
            executors=executors, executor_cores=2, executor_memory_gib=HEAP
        )
        found = model.predict(cluster=cluster, workload=Workload(400 * BLOCK))
        return [notice for notice in found.warnings if notice.code == "cache-does-not-fit"]

    for executors, times in ((1, 10.0), (2, 20.0)):
        (notice,) = warned(executors)
        assert notice.text.startswith(f"{format_bytes(times * kept)} are to be cached")
        least = math.ceil(20.0 * kept / storage_of(1))
        assert f"use at least {least} such executors" in notice.remedy
    assert warned(least - 1)
    assert not warned(least)


@pytest.mark.parametrize("speed", [0.5, 2.0, 4.0])
def test_a_faster_core_computes_again_faster_too(speed: float) -> None:
    """The share of the time that goes to what does not fit hardly changes with the type."""

    def on(name: str, score: float) -> Cluster:
        kind = InstanceType(name, 8, 32.0, cpu_score=8 * score, cpu_benchmark="mark")
        plain = Cluster.of_nodes(
            instance_type=name, nodes=2, vcpus=8, memory_gib=32.0, layout=Layout(1, 2, HEAP)
        )
        (group,) = plain.groups
        return replace(plain, groups=(replace(group, instance=kind),))

    measured = on("measured", 1.0)
    model = fit(*(replace(run_of(blocks, 2), cluster=measured) for blocks in (20, 40)))
    shares = []
    for cluster in (measured, on("other", speed)):
        found = model.predict(cluster=cluster, workload=Workload(400 * BLOCK))
        shares.append(found.phases["cache does not fit"] / found.seconds)
    assert shares[0] > 0.3
    assert shares[1] == pytest.approx(shares[0], rel=0.05)
