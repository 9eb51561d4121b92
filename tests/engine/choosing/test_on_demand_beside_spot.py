"""Spot nodes on Dataproc: never all of a cluster, whose first two workers are rented on demand."""

from dataclasses import replace

import numpy as np
import pytest
from depth import DEEP
from spot_types import GCP, NAMES, fitted_to_spot_types

import engine
from engine.cost import cost_usd
from engine.machines.platforms import on_platform
from engine.optimiser import select_with_mixes, surface_of

UNPRICED = "n2-standard-4"
"""It has no spot price."""

BESIDE = "2 workers on demand: Dataproc has spot nodes only beside them"


@pytest.fixture(scope="module")
def fitted() -> engine.FittedModel:
    return fitted_to_spot_types()


def ask(fitted, catalog=GCP, **asked) -> engine.Recommendation:
    asked = {"deadline_seconds": 1200.0, "max_nodes": 12, "confidence": 0.5, "spot": True} | asked
    return engine.recommend(fitted, catalog=catalog, instances=NAMES, **asked)


def by_hand(offer: engine.Offer, nodes: int, seconds: float) -> float:
    """The cost of a cluster whose first two workers are rented on demand."""
    prices = (offer.on_demand.usd_per_hour, offer.spot.usd_per_hour)
    workers = [
        float(cost_usd(nodes=count, seconds=seconds, price_usd_per_hour=price,
                       billing=replace(GCP.billing, master=None),
                       service_usd_per_hour=GCP.billing.surcharge_usd_per_vcpu_hour
                       * offer.instance.vcpus))
        for count, price in zip((2, nodes - 2), prices, strict=True)
    ]  # fmt: skip
    billing = GCP.billing
    head = cost_usd(nodes=0, seconds=seconds, price_usd_per_hour=0.0, billing=billing,
                    service_usd_per_hour=0.0,
                    master=GCP.offer(billing.master) if billing.master else None)  # fmt: skip
    return sum(workers) + float(head)


def test_every_point_is_priced_and_interrupted_as_its_spot_nodes_are(fitted) -> None:
    surface = surface_of(fitted, GCP, instances=[*NAMES, UNPRICED], max_nodes=12)
    billing = replace(GCP.billing, spot=True)
    rented, _ = surface.for_purchase_option(billing)
    costs = rented.costs(billing)
    unpriced = rented.rows[UNPRICED]
    assert np.isinf(costs[unpriced]).all()
    for row, offer in enumerate(rented.candidates.offers):
        if row == unpriced:
            continue
        for nodes in range(2, 13):
            seconds = float(rented.seconds[row, nodes - 1])
            assert costs[row, nodes - 1] == pytest.approx(by_hand(offer, nodes, seconds))
        own, held = surface.predicted[row, 1:], rented.predicted[row, 1:]
        assert held[0] == own[0]  # two workers on demand are never interrupted
        assert (held[1:] > own[1:]).all()
    # The frontier is that of all points: none is beaten by another.
    found = rented.frontier(billing, rented.candidates, 12)
    seconds, paid = rented.seconds.ravel(), costs.ravel()
    known = np.flatnonzero(np.isfinite(seconds) & np.isfinite(paid))
    unbeaten = [
        place for place in known
        if not ((seconds[known] <= seconds[place]) & (paid[known] <= paid[place])
                & ((seconds[known] < seconds[place]) | (paid[known] < paid[place]))).any()
    ]  # fmt: skip
    assert sorted(found.tolist()) == unbeaten


def test_what_is_recommended_is_started_exported_and_predicted_alike(fitted) -> None:
    for deadline in (800.0, 1500.0, 9000.0):
        answer = ask(fitted, deadline_seconds=deadline)
        best = answer.recommended
        assert best is not None
        assert best.spot == ({best.instance: best.nodes - 2} if best.nodes > 2 else {})
        told = best.cost.assumptions if best.cost else ()
        assert BESIDE in told
        assert "cluster-not-started" not in {notice.code for notice in best.warnings}
        text = engine.export(answer, to="dataproc", profile=fitted.profile, catalog=GCP)
        assert f"--num-workers {min(best.nodes, 2)}" in text
        composed = engine.predict_composition(
            fitted, composition=best.composition, catalog=GCP, spot=True, confidence=0.5,
        )  # fmt: skip
        assert composed.choice.seconds == pytest.approx(best.seconds)
        assert composed.choice.cost_usd == pytest.approx(best.cost_usd)
        assert composed.choice.spot == best.spot
        assert composed.choice.cost.assumptions == told


def test_two_nodes_are_none_at_spot_prices_and_say_why(fitted) -> None:
    """`recommend` said it and `predict` did not; and the spot price, which nobody pays, was told
    as an estimate."""
    name = "n2d-standard-4"
    offer = GCP.offer(name)
    guessed = replace(offer, spot=replace(offer.spot, estimated=True, source="a rule"))
    catalog = replace(GCP, offers={**GCP.offers, name: guessed})
    limits = engine.Limits(most=((name, 2),), exclude=("n2d-*8", "*mem*"))
    best = ask(fitted, catalog, limits=limits, deadline_seconds=9000.0).recommended
    alone = engine.predict_composition(
        fitted, composition={name: 2}, catalog=catalog, spot=True, confidence=0.5
    ).choice
    for choice in (best, alone):
        assert (choice.composition, choice.spot) == ({name: 2}, {})
        assert choice.cost.assumptions[0] == BESIDE
        assert not any("estimated" in line for line in choice.cost.assumptions)
        assert "estimated-price" not in {notice.code for notice in choice.warnings}


def test_nodes_that_someone_names_cost_what_the_recommender_says(fitted) -> None:
    """`curve --spot` prices clusters one by one."""
    best = ask(fitted).recommended
    assert best is not None
    assert best.spot
    cluster = engine.Cluster.of_nodes(
        instance_type=best.instance, nodes=best.nodes, catalog=GCP, layout=best.layout
    )
    alone = engine.predict_on_spot(fitted, clusters=[cluster], confidence=0.5)
    assert float(alone.seconds[0]) == pytest.approx(best.seconds)
    cost = engine.cost_of(cluster, best.seconds, fitted.profile, spot=True)
    assert cost == pytest.approx(best.cost_usd)


@pytest.mark.parametrize(
    ("share", "mix"),
    [
        (share, mix)
        for row, share in enumerate([None, 1.0, 0.5])
        for place, mix in enumerate([1, 2])
        if DEEP or (row - place) % 2 == 1
    ],
)
def test_no_search_rents_fewer_than_two_on_demand(fitted, mix: int, share: float | None) -> None:
    """Of every cluster that a search may find, under a share of spot nodes and without."""
    spot_seen = 0
    for deadline in (600.0, 900.0, 1500.0, 3000.0):
        best = ask(
            fitted, deadline_seconds=deadline, mix=mix, limits=engine.Limits(max_spot=share)
        ).recommended
        if best is None:
            continue
        rented = sum(best.spot.values())
        beside = sum(best.composition.values()) - rented
        assert rented == 0 or beside >= 2
        assert share is not None or beside <= 2
        spot_seen += rented > 0
    assert spot_seen


def test_a_mix_is_no_dearer_than_one_type_and_elsewhere_all_may_be_spot(fitted) -> None:
    surface = surface_of(fitted, GCP, instances=NAMES, max_nodes=12)
    goal = engine.Goal(deadline_seconds=900.0, confidence=0.5, max_nodes=12)
    billing = replace(GCP.billing, spot=True)
    one = select_with_mixes(surface, goal, billing).recommended
    two = select_with_mixes(surface, goal, billing, mix=2).recommended
    assert one is not None
    assert two is not None
    assert two.cost_usd <= one.cost_usd * (1 + 1e-9)
    free = ask(fitted, on_platform(GCP, "kubernetes"), deadline_seconds=900.0).recommended
    assert free is not None
    assert free.spot == free.composition
    assert BESIDE not in free.cost.assumptions


def test_no_more_than_two_of_a_mix_are_on_demand_however_cheap(fitted) -> None:
    """`--spot` asks for spot nodes: what has no spot price is left out, of mixes as of clusters of
    one type."""
    offer = GCP.offer(UNPRICED)
    cheap = replace(offer, on_demand=replace(offer.on_demand, usd_per_hour=0.001))
    catalog = replace(GCP, offers={**GCP.offers, UNPRICED: cheap})
    for share, most in ((None, 2), (1.0, 99)):
        best = engine.recommend(
            fitted, catalog=catalog, instances=["n2d-standard-4", "n2d-standard-8", UNPRICED],
            deadline_seconds=1200.0, max_nodes=12, confidence=0.5, mix=2, spot=True,
            limits=engine.Limits(max_spot=share),
        ).recommended  # fmt: skip
        assert best is not None
        beside = sum(best.composition.values()) - sum(best.spot.values())
        assert beside <= most
        assert (share is None) == (UNPRICED not in best.composition and bool(best.spot))


def test_owned_nodes_do_without_spot_prices_in_mixes_too(fitted) -> None:
    """Nobody asked for a share of spot nodes: none is missed."""
    unpriced = {name: replace(offer, spot=None) for name, offer in GCP.offers.items()}
    limits = engine.Limits(owned=(("n2d-standard-8", 8), ("n2d-standard-4", 8)))
    answers = [
        ask(fitted, replace(GCP, offers=unpriced), mix=mix, limits=limits).recommended
        for mix in (1, 2)
    ]
    assert all(best is not None and not best.spot for best in answers)


def test_a_cluster_that_has_no_spot_nodes_says_why(fitted) -> None:
    for nodes in (2, 3):
        told = engine.predict_composition(
            fitted, composition={"n2d-standard-4": nodes}, catalog=GCP, spot=True,
        ).choice  # fmt: skip
        assert told.cost is not None
        assert BESIDE in told.cost.assumptions
        assert sum(told.spot.values()) == nodes - 2


@pytest.mark.parametrize(("share", "said"), [(None, True), (1.0, True), (0.6, True), (0.2, False)])
def test_what_binds_the_spot_nodes_of_a_mix_is_said(
    fitted, share: float | None, *, said: bool
) -> None:
    """Of five three may be spot nodes: two are on demand for the service, four for a share."""
    told = engine.predict_composition(
        fitted, composition={"n2d-standard-4": 3, "n2d-standard-8": 2}, catalog=GCP, spot=True,
        max_spot=share,
    ).choice.cost  # fmt: skip
    assert told is not None
    assert (BESIDE in told.assumptions) == said


@pytest.mark.parametrize(
    ("objective", "own"),
    [
        (objective, own)
        for row, objective in enumerate(["cost", "time"])
        for place, own in enumerate([0, 1, 3])
        if DEEP or (row - place) % 2 == 0
    ],
)
def test_mixes_rent_no_more_on_demand_than_the_service_asks_for(fitted, objective, own) -> None:
    """A type without a spot price was recommended, all of it on demand, beside a rejection for the
    want of one; and the fastest mix was one on demand, as no node of it is interrupted."""
    limits = engine.Limits(owned=(("n2d-standard-4", own),) if own else (), min_nodes=4)
    dear = GCP.offer(UNPRICED)
    cheap = replace(dear, on_demand=replace(dear.on_demand, usd_per_hour=0.01))
    catalog = replace(GCP, offers={**GCP.offers, UNPRICED: cheap})
    for deadline in (900.0, 1500.0, 3000.0):
        best = engine.recommend(
            fitted, catalog=catalog, instances=[*NAMES, UNPRICED], deadline_seconds=deadline,
            objective=objective, max_nodes=9, confidence=0.5, spot=True, mix=2, limits=limits,
        ).recommended  # fmt: skip
        assert best is not None
        assert UNPRICED not in best.composition
        nodes, spot = sum(best.composition.values()), sum(best.spot.values())
        held = min(best.composition.get("n2d-standard-4", 0), own)
        assert nodes - spot <= max(2, held)


def test_a_mix_says_which_workers_the_service_has_on_demand(fitted) -> None:
    asked = {"n2d-standard-4": 2, "n2d-standard-8": 2}
    told = [
        engine.predict_composition(
            fitted, composition=asked, catalog=catalog, spot=True, confidence=0.5
        ).choice
        for catalog in (GCP, on_platform(GCP, "kubernetes"))
    ]
    assert [sum(choice.spot.values()) for choice in told] == [2, 4]
    assert [BESIDE in choice.cost.assumptions for choice in told] == [True, False]


def test_owned_nodes_stand_for_those_on_demand(fitted) -> None:
    """Three of five are owned: the other two may both be spot nodes."""
    limits = engine.Limits(owned=(("n2d-standard-4", 3),), min_nodes=5)
    surface = surface_of(fitted, GCP, instances=["n2d-standard-4"], max_nodes=6, limits=limits)
    counts = surface.rented.on_spot(np.asarray(0), np.arange(1, 7))
    assert counts.tolist() == [0, 0, 0, 1, 2, 3]
