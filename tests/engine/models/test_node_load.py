"""Nodes that are fuller or emptier of tasks than the measured ones: how long tasks then last."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed
from sparkplan_runs import fit
from synthetic import catalog_of, offer

import engine
from engine.batch import ClusterBatch
from engine.catalog import InstanceType
from engine.cluster import Cluster, Layout, NodeGroup, Workload
from engine.machines.hardware_threads import SECOND_THREAD, with_filled_nodes
from engine.models.replay.node_load import HIGHER_LOAD_SHARE, HIGHER_LOAD_SPREAD
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import SLOTS_GRID, pair_fit
from engine.profile import Profile, Run

EIGHT = InstanceType("m.8", 8, 32.0, "general", "x86_64", cpu_score=8.0, cpu_benchmark="b")
TWO_THREADS = 2.0 / (1.0 + SECOND_THREAD)
CATALOG = catalog_of(
    offer("n.8", 0.4, vcpus=8, arch="x86_64", cpu_score=8.0, cpu_benchmark="b"),
    offer("c.8", 0.4, vcpus=8, arch="x86_64", cpu_score=8.0, cpu_benchmark="b", threads_per_core=1),
)


def run(
    slots_per_node: int, *, nodes: int = 1, computing: float | None = 1.0, slower: float = 1.0
) -> Run:
    """160 tasks of a second (that is so many times as long), of which a share computes."""
    seconds = np.full(160, slower)
    cpu = {} if computing is None else {"cpu_seconds": measure(seconds * computing)}
    made = observed([Stage(seconds, more=cpu)], slots=slots_per_node * nodes, input_bytes=1e9)
    layout = Cluster(
        groups=(NodeGroup(nodes, EIGHT),), executors=nodes, executor_cores=slots_per_node
    )
    return replace(made, cluster=layout, config={"spark.master": "yarn"})


def times_as_long(measured: Run, name: str = "n.8", *, nodes: int = 1) -> float:
    """Time on as many slots of another type, all of whose vCPUs are filled, over the measured."""
    asked = Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
    return fit(measured).predict(cluster=asked).seconds / measured.seconds


def test_computing_tasks_that_had_a_core_to_themselves_take_longer_on_a_filled_node() -> None:
    assert times_as_long(run(4, nodes=2)) == pytest.approx(TWO_THREADS**HIGHER_LOAD_SHARE, rel=0.01)
    assert times_as_long(run(8)) == pytest.approx(1.0, rel=0.01)


def test_vcpus_that_are_cores_are_as_fast_however_many_are_filled() -> None:
    had_cores = times_as_long(run(4, nodes=2), "c.8")
    assert had_cores == pytest.approx(TWO_THREADS**HIGHER_LOAD_SHARE, rel=0.01), (
        "scores are of filled nodes"
    )
    assert times_as_long(run(8), "c.8") == pytest.approx(1.0, rel=0.01)


def test_many_answers_at_once_tell_fuller_nodes_apart_where_there_are_slots_to_spare() -> None:
    half, full = (
        Cluster.of_nodes(instance_type="n.8", nodes=200, catalog=CATALOG, layout=Layout(per, 4))
        for per in (1, 2)
    )
    fitted = fit(run(4, nodes=2))
    each = [fitted.predict(cluster=one).seconds for one in (half, full)]
    assert each[1] > 1.05 * each[0]
    assert fitted.predict_many(clusters=[half, full]).seconds.tolist() == each


def test_tasks_that_mostly_wait_leave_their_vcpus_to_others() -> None:
    assert times_as_long(run(4, nodes=2, computing=0.5)) == pytest.approx(1.0, rel=0.01)
    some = times_as_long(run(4, nodes=2, computing=0.8))
    assert 1.02 < some < times_as_long(run(4, nodes=2)) - 0.02


def test_what_other_jobs_did_on_the_nodes_makes_it_less_sure() -> None:
    def spread(measured: Run) -> float:
        asked = Cluster.of_nodes(instance_type="n.8", nodes=1, catalog=CATALOG)
        told = fit(measured).predict(cluster=asked).forecast
        return float(told.log_scale[0])

    filled, half = spread(run(8)), spread(run(4, nodes=2))
    added = HIGHER_LOAD_SPREAD * math.log(TWO_THREADS)
    assert half == pytest.approx(math.hypot(filled, added), rel=0.01)
    untold = spread(run(4, nodes=2, computing=None))
    assert untold > filled


def test_the_warning_says_what_is_counted_and_is_the_only_one() -> None:
    asked = Cluster.of_nodes(instance_type="n.8", nodes=1, catalog=CATALOG)

    def said(measured: Run) -> list[str]:
        told = fit(measured).predict(cluster=asked).warnings
        return [notice.text for notice in told if notice.code == "fuller-nodes"]

    assert said(run(4, nodes=2)) == [
        "each m.8 had 4 tasks at once on 8 vCPUs (2 to a core), each n.8 gets 8 on 8 vCPUs (2 to a "
        "core): for it, tasks are taken to last 1.34 times as long"
    ]
    assert said(run(4, nodes=2, computing=0.5)) == []
    assert said(run(8)) == []


def test_the_warning_is_of_the_log_that_answers() -> None:
    """Nodes were half full for the small input and full for the large one."""
    small, large = run(4, nodes=2), run(8, slower=8.0)
    large = replace(large, workload=Workload(input_bytes=8e9))
    fitted = fit(small, large)
    asked = Cluster.of_nodes(instance_type="n.8", nodes=1, catalog=CATALOG)
    told = {
        size: [n.code for n in fitted.predict(cluster=asked, workload=Workload(size)).warnings]
        for size in (1e9, 8e9)
    }
    assert "fuller-nodes" in told[1e9]
    assert "fuller-nodes" not in told[8e9]


@pytest.mark.parametrize("order", [1, -1])
def test_of_logs_that_filled_their_nodes_otherwise_the_warning_says_which_it_is_of(
    order: int,
) -> None:
    """It told of the nearest log in silence, as if it were of all."""
    half = replace(run(4, nodes=2), source="/logs/half.zstd")
    full = replace(run(8, nodes=8), source="/logs/full.zstd")
    asked = Cluster.of_nodes(instance_type="n.8", nodes=1, catalog=CATALOG)

    def said(*logs: Run) -> list[str]:
        told = fit(*logs).predict(cluster=asked).warnings
        return [notice.text for notice in told if notice.code == "fuller-nodes"]

    (text,) = said(*(half, full)[::order])
    assert text.startswith("in the nearest log (half.zstd) each m.8 had 4 tasks at once")
    assert text.endswith("; others filled their nodes otherwise")
    (alike,) = said(*(half, replace(run(4, nodes=4), source="/logs/more.zstd"))[::order])
    assert alike.startswith("each m.8 had 4 tasks at once")


def test_of_logs_with_as_many_slots_the_order_says_nothing() -> None:
    """One of half-full nodes and one of full ones: as long, as explained, warned of and mixed."""
    logs = run(4, nodes=2), run(8, slower=1.2)
    either = [fit(*order) for order in (logs, logs[::-1])]
    batch = ClusterBatch.of(
        [Cluster.of_nodes(instance_type=t, nodes=1, catalog=CATALOG) for t in ("n.8", "c.8")],
        either[0].profile,
    )
    one, other = (fitted.slot_speeds(batch) for fitted in either)
    assert one.tolist() == other.tolist()
    asked = Cluster.of_nodes(instance_type="n.8", nodes=3, catalog=CATALOG)
    told, same = (fitted.predict(cluster=asked) for fitted in either)
    assert told.phases == same.phases
    assert told.warnings == same.warnings


def test_the_measured_cluster_is_answered_as_it_was_measured() -> None:
    measured = run(4, nodes=2)
    own = fit(measured).predict(cluster=measured.cluster).seconds
    assert own == pytest.approx(measured.seconds, rel=0.01)


@pytest.mark.parametrize("computing", [1.0, 0.4])
def test_executors_on_nodes_that_nobody_names_are_as_fast_as_the_measured_ones(
    computing: float,
) -> None:
    """Nothing says how full their nodes are, so no core is taken to be shared or not."""
    for slots in (4, 8):
        measured = run(slots, computing=computing)
        model = fit(measured)
        unnamed = Cluster.of_executors(executors=1, executor_cores=slots)
        found, own = (model.predict(cluster=asked) for asked in (unnamed, measured.cluster))
        assert found.seconds == pytest.approx(own.seconds, rel=1e-9)
        assert (found.low, found.high) == pytest.approx((own.low, own.high), rel=1e-9)


def test_filled_nodes_like_the_measured_ones_are_as_slow_named_or_not() -> None:
    model = engine.fit(with_filled_nodes(Profile("job", runs=(run(4, nodes=2),))))
    named, like = (Cluster.of_nodes(instance_type=name, nodes=1) for name in ("m.8", None))
    found = [model.predict(cluster=one) for one in (named, like)]
    assert found[0].seconds == found[1].seconds
    assert {"fuller-nodes"} <= {warning.code for warning in found[1].warnings}


def test_threads_that_share_cores_are_not_learnt_as_growth_with_the_slots() -> None:
    half, full = run(4), run(8, slower=TWO_THREADS**HIGHER_LOAD_SHARE)
    told = pair_fit(Replay.of(half), Replay.of(full)).likelihood[0]
    likeliest = float(SLOTS_GRID[np.unravel_index(int(np.argmax(told)), told.shape)[1]])
    alone = pair_fit(Replay.of(run(8)), Replay.of(run(8, nodes=2))).likelihood[0]
    as_full = float(SLOTS_GRID[np.unravel_index(int(np.argmax(alone)), alone.shape)[1]])
    assert likeliest == pytest.approx(as_full, abs=SLOTS_GRID[1] - SLOTS_GRID[0])
