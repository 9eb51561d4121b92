"""Pods that were measured one to a "node", asked for on whole nodes of their type."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.batch import on_whole_nodes
from engine.experiments.belief import belief_at, forecast_at
from engine.experiments.points import Points

CATALOG = engine.load_catalog("aws")
LOG = engine.read("nightly-features", ran_on="m5.4xlarge")


def pods(cores: int, number: int, seconds: float, size: float) -> engine.Run:
    """So many pods of four cores on a node of sixteen vCPUs each, as a log counts them."""
    like = LOG.runs[0].cluster
    group = replace(like.groups[0], nodes=number)
    cluster = replace(like, groups=(group,), executors=number, executor_cores=cores)
    return engine.Run(seconds, cluster, engine.Workload(size), config={"spark.master": "k8s"})


def seconds_on(fitted: engine.FittedModel, name: str, nodes: int, size: float) -> float:
    cluster = engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
    return fitted.predict(cluster=cluster, workload=engine.Workload(size)).seconds


@pytest.mark.parametrize("model", ["ernest", "ernest-extended", "sparkplan"])
def test_run_times_of_pods_are_those_of_their_slots(model: str) -> None:
    """10 s and work divided among the pods. A node holds four of them: counted as machines, a node
    of the measured type was as fast as one pod."""
    grid = [(2, 1), (4, 1), (8, 1), (4, 2), (8, 2), (16, 2)]
    runs = tuple(pods(4, n, 10.0 + 200.0 * size / n, size * 1e9) for n, size in grid)
    fitted = engine.fit(engine.Profile("pods", runs), model=model)
    for nodes in (1, 2, 4):
        within = {"rel": 0.02}
        same, quarter = seconds_on(fitted, "m5.4xlarge", nodes, 2e9), 10.0 + 400.0 / (4 * nodes)
        assert same == pytest.approx(quarter, **within)
        assert same == pytest.approx(seconds_on(fitted, "m5.xlarge", 4 * nodes, 2e9), **within)


@pytest.mark.parametrize("model", ["ernest", "sparkplan"])
def test_pods_beside_rows_of_nodes_alone_are_counted_as_nodes(model: str) -> None:
    """Where not all runs say their executors nothing else is left in common."""
    sizes = [(2, 1.0), (4, 1.0), (4, 2.0), (8, 2.0)]
    runs = [pods(4, n, 10.0 + 200.0 * size / n, size * 1e9) for n, size in sizes]
    alone = engine.Cluster.of_nodes(instance_type="m5.4xlarge", nodes=16, catalog=CATALOG)
    runs.append(engine.Run(10.0 + 200.0 / 16, alone, engine.Workload(1e9)))
    fitted = engine.fit(engine.Profile("pods", tuple(runs)), model=model)
    assert seconds_on(fitted, "m5.4xlarge", 16, 1e9) < seconds_on(fitted, "m5.4xlarge", 4, 1e9)


@pytest.mark.parametrize("model", ["sparkplan", "optex", "boe", "simcost"])
def test_a_node_of_the_measured_type_is_as_fast_as_the_pods_that_fit_on_it(model: str) -> None:
    (run,) = LOG.runs
    cluster = replace(run.cluster, groups=(replace(run.cluster.groups[0], nodes=2),))
    measured = replace(run, cluster=cluster, config={**run.config, "spark.master": "k8s"})
    fitted = engine.fit(replace(LOG, runs=(measured,)), model=model)
    size = run.workload.input_bytes or 0.0
    same, smaller = (
        seconds_on(fitted, *each, size) for each in (("m5.4xlarge", 1), ("m5.xlarge", 4))
    )
    assert same == pytest.approx(smaller, rel=0.05)


@pytest.mark.parametrize(("number", "nodes"), [(1, 1), (4, 1), (5, 2), (16, 4)])
def test_pods_take_the_fewest_nodes_that_hold_them(number: int, nodes: int) -> None:
    """What a next run tells is weighed by how near it is: pods were as far off as whole nodes."""
    run = pods(4, number, 60.0, 1e9)
    profile = engine.Profile("pods", (run,))
    placed = on_whole_nodes(run, profile)
    assert (placed.nodes, placed.executors) == (nodes, number)
    on_yarn = replace(run, config={"spark.master": "yarn"})
    assert on_whole_nodes(on_yarn, profile) == run.cluster
    alone = replace(run, cluster=replace(run.cluster, groups=()))
    assert on_whole_nodes(alone, profile) == alone.cluster


@pytest.mark.parametrize(("executors_per_node", "as_nodes"), [(1.5, True), (4.0, False)])
def test_nodes_are_machines_in_about_the_layout_that_they_ran_with(
    executors_per_node: float, as_nodes: bool
) -> None:
    """Three executors on two nodes are planned as two on each; four on each are other machines."""

    def run(nodes: int) -> engine.Run:
        one = pods(4, nodes, 10.0 + 200.0 / nodes, 1e9)
        cluster = replace(one.cluster, executors=round(1.5 * nodes))
        return replace(one, cluster=cluster, config={"spark.master": "yarn"})

    fitted = engine.fit(engine.Profile("job", tuple(map(run, (2, 4, 8)))), model="ernest")
    layout = engine.Layout(round(executors_per_node + 0.1), 4)
    cluster = engine.Cluster.of_nodes(
        instance_type="m5.4xlarge", nodes=4, catalog=CATALOG, layout=layout
    )
    seconds = fitted.predict(cluster=cluster, workload=engine.Workload(1e9)).seconds
    machines = 4.0 if as_nodes else 4.0 * layout.executors_per_node / 1.5
    assert seconds == pytest.approx(10.0 + 200.0 / machines, rel=0.01)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_pods_on_part_of_a_node_are_no_run_on_the_whole_node(number: int) -> None:
    """Four pods of one core fit. A node was taken to be as slow as one pod, and what two pods took
    made the interval of the node narrower, as if all of it had been measured."""
    log = engine.held_against(engine.read("nightly-features", ran_on="m5.xlarge"), CATALOG)
    (run,) = log.runs
    group = replace(run.cluster.groups[0], nodes=number)
    cluster = replace(run.cluster, groups=(group,), executors=number, executor_cores=1)
    measured = replace(run, cluster=cluster, config={**run.config, "spark.master": "k8s"})
    fitted = engine.fit(replace(log, runs=(measured,)))
    node = engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=1, catalog=CATALOG)
    points = Points.of([node], [run.workload], fitted.profile)
    ran = Points.of_runs([measured], fitted.profile)
    assert np.exp(ran.coordinates[0, :2]) == pytest.approx([number, 4.0 * number])
    assert not points.joined(ran).same_point()[0, 1]
    belief, forecast = belief_at(fitted, points), forecast_at(fitted, points)
    assert belief.deviation[0] >= 0.95 * forecast.rms_scale[0]
    assert belief.seconds[0] < 0.9 * measured.seconds
    whole = replace(measured, cluster=replace(cluster, executors=4))
    assert points.joined(Points.of_runs([whole], fitted.profile)).same_point()[0, 1]
    on_yarn = replace(measured, config={"spark.master": "yarn"})
    alone = Points.of_runs([on_yarn], fitted.profile)
    assert np.exp(alone.coordinates[0, 0]) == pytest.approx(4.0 * number)
