"""Named nodes of one type: the same times and costs, spot or not, as the recommender's."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import catalog_of
from synthetic import offer as estimated_on_spot
from two_types import CATALOG, TODAY, fitted, spot

import engine
from engine.cost import EXACT_BILLING

OFFERS = {"small": spot("small", 4, 0.2, "15-20%")}
SPOT = replace(CATALOG, offers={**CATALOG.offers, **OFFERS})


def small(nodes: int, catalog: engine.Catalog = SPOT) -> engine.Cluster:
    return engine.Cluster.of_nodes(instance_type="small", nodes=nodes, catalog=catalog)


@pytest.mark.parametrize("times", [1.0, 30.0])
@pytest.mark.parametrize("on_spot", [False, True])
def test_times_and_costs_are_those_of_a_named_composition(times: float, on_spot: bool) -> None:
    model = fitted()
    workload = model.profile.reference_workload.times(times)
    clusters = [small(nodes) for nodes in (1, 3, 17)]
    ask = (lambda **more: engine.predict_on_spot(model, **more)) if on_spot else model.predict_many
    found = ask(clusters=clusters, workloads=[workload], confidence=0.8)
    for place, cluster in enumerate(clusters):
        told = engine.predict_composition(
            model, composition=cluster.composition, catalog=SPOT, workload=workload,
            confidence=0.8, spot=on_spot, today=TODAY,
        ).choice  # fmt: skip
        at = [float(x[place]) for x in (found.seconds, found.low, found.high)]
        assert at == pytest.approx([told.seconds, told.low, told.high], rel=1e-12)
        costs = [engine.cost_of(cluster, seconds, model.profile, spot=on_spot) for seconds in at]
        assert costs == pytest.approx([told.cost_usd, told.cost_low_usd, told.cost_high_usd])
        assert engine.cost_assumptions(cluster, spot=on_spot) == told.cost.assumptions


def test_a_cluster_pairs_with_many_workloads() -> None:
    model = fitted()
    sizes = [model.profile.reference_workload.times(times) for times in (1.0, 2.0, 4.0)]
    found = engine.predict_on_spot(model, clusters=[small(2)], workloads=sizes)
    assert found.seconds.shape == (3,)
    assert np.all(np.diff(found.seconds) > 0.0)


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (small(2, CATALOG), "small has no spot price"),
        (
            engine.Cluster.of_nodes(instance_type="x", nodes=2, vcpus=4.0, memory_gib=16.0),
            "no prices of a catalog",
        ),
        (engine.Cluster.of_executors(executors=2, executor_cores=2), "no prices of a catalog"),
    ],
)
def test_spot_nodes_have_a_spot_price(cluster: engine.Cluster, said: str) -> None:
    with pytest.raises(engine.BadInput, match=said):
        engine.predict_on_spot(fitted(), clusters=[cluster])
    with pytest.raises(engine.BadInput, match="a list of clusters is needed"):
        engine.predict_on_spot(fitted(), clusters=cluster)


def test_what_has_no_price_or_no_time_has_no_cost() -> None:
    profile = engine.Profile(name="nothing")
    priced = engine.Cluster.of_nodes(
        instance_type="x", nodes=8, vcpus=4, memory_gib=16.0, price_usd_per_hour=0.2
    )
    assert engine.cost_of(priced, 1800.0, profile) == pytest.approx(0.8)
    assert EXACT_BILLING.startup_seconds == 0.0
    for cluster, seconds in [
        (priced, None),
        (priced, float("nan")),
        (engine.Cluster.of_executors(executors=2, executor_cores=2), 60.0),
        (engine.Cluster.of_nodes(instance_type="x", nodes=8, vcpus=4, memory_gib=16.0), 60.0),
        (replace(priced, groups=priced.groups * 2), 60.0),
    ]:
        assert engine.cost_of(cluster, seconds, profile) is None
    assert engine.cost_of(small(2, CATALOG), 60.0, profile, spot=True) is None


def test_nodes_that_nobody_named_have_a_price_where_there_is_one() -> None:
    def run(usd: float | None) -> engine.Run:
        group = engine.NodeGroup(4, price_usd_per_hour=usd)
        return engine.Run(60.0, engine.Cluster(groups=(group,)), engine.Workload(1e9))

    def price(*usd: float | None) -> float | None:
        return engine.observed_price(engine.Profile("job", tuple(map(run, usd))), None)

    assert price(0.2, 0.2) == 0.2
    assert price(0.2, 0.3) is None
    assert price(0.2, None) is None


@pytest.mark.parametrize(
    ("name", "usd", "observed", "cost"),
    [
        ("small", None, None, 1.25 * 4 * 0.20),
        ("small", 0.5, None, 1.25 * (3 * 0.5 + 0.20)),
        ("small", None, 0.5, 1.25 * (3 * 0.5 + 0.20)),
        ("own", 0.3, None, 1.25 * (3 * 0.3 + 0.20)),
        ("own", None, 0.3, 1.25 * (3 * 0.3 + 0.20)),
        ("own", None, None, None),
        (None, 0.3, None, 3 * 0.3),
        (None, None, 0.3, 3 * 0.3),
    ],
)
def test_nodes_of_a_given_shape_cost_their_own_price_by_the_rules_of_the_catalog(
    name: str | None, usd: float | None, observed: float | None, cost: float | None
) -> None:
    """An hour of three nodes: the given price, the run table's, else the catalog's; a surcharge of
    a quarter on these and on the master at $0.20. Nodes of no name are no catalog's."""
    shape = {"vcpus": 8, "memory_gib": 32.0} if name else {}
    asked = {"instance_type": name, "nodes": 3, "catalog": CATALOG, "price_usd_per_hour": usd}
    cluster = engine.Cluster.of_nodes(**asked, **shape)
    ran = replace(
        cluster, groups=(replace(cluster.groups[0], price_usd_per_hour=observed),), catalog=None
    )
    profile = engine.Profile("job", (engine.Run(60.0, ran, engine.Workload(1e9)),))
    assert engine.cost_of(cluster, 3600.0, profile) == (cost and pytest.approx(cost))
    listed = () if name is None else engine.cost_assumptions(small(3))
    assert engine.cost_assumptions(cluster) == listed
    assert any("surcharge" in line for line in listed) is (name is not None)


def test_a_price_is_that_of_the_largest_run_that_tells_one() -> None:
    """In whatever order the runs stand: the first one's made the cost a matter of that."""

    def run(usd: float | None, size: float, seconds: float) -> engine.Run:
        group = replace(small(2).groups[0], price_usd_per_hour=usd)
        return engine.Run(seconds, replace(small(2), groups=(group,)), engine.Workload(size))

    for paid, price in [
        ([(None, 9.0, 9.0), (0.3, 1.0, 9.0), (0.4, 1.0, 9.0)], 0.3),
        ([(0.3, 1.0, 9.0), (0.4, 2.0, 8.0)], 0.4),
        ([(0.3, 1.0, 9.0), (0.4, 1.0, 8.0), (0.2, 1.0, 8.0)], 0.3),
    ]:
        for order in (paid, paid[::-1]):
            told = engine.Profile("job", tuple(run(*each) for each in order))
            assert engine.observed_price(told, "small") == price
            assert engine.observed_price(told, "big") is None


def test_an_estimated_spot_price_is_told_where_the_nodes_are_spot_nodes() -> None:
    """Its catalog rents no master, and executors are no catalog's."""
    catalog = catalog_of(estimated_on_spot("small", 0.2, spot=0.1))
    assert engine.cost_assumptions(small(3, catalog)) == ()
    (line,) = engine.cost_assumptions(small(3, catalog), spot=True)
    assert line.startswith("price estimated")
    assert engine.cost_of(small(3, catalog), 3600.0, engine.Profile("job")) == pytest.approx(0.6)
    executors = engine.Cluster.of_executors(executors=2, executor_cores=2)
    assert engine.cost_assumptions(executors) == ()
