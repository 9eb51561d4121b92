"""A maximum share of spot nodes: the search against brute force, and through the optimiser."""

from dataclasses import replace

import numpy as np
import pytest
from depth import cases, crossed
from test_mix_constraints import on_spot_too
from test_mix_search import goal_for, random_law, random_market
from two_types import CATALOG, TODAY, fitted, spot

import engine
from engine.choosing.interruptions import LostWork
from engine.mixing.effort import Effort
from engine.mixing.market import SpotShare, values_of
from engine.mixing.search import Search
from engine.models import fit
from engine.optimiser import recommend
from engine.sources import read

CASES = cases(16, deep=60)


def every_composition(law, market, m: int, q: int):
    """All of up to q types with one executor shape, each in part on demand and in part spot."""
    k = len(law.slots)
    most = [range(int(market.most[row]) + 1) for row in range(k)]
    rows, counts = [], []
    every = np.stack(np.meshgrid(*most, indexing="ij"), axis=-1).reshape(-1, k)
    for n in every[every.any(axis=1) & (every.sum(axis=1) <= m)]:
        members = np.flatnonzero(n)
        if len({market.share.types[row] for row in members}) > q:
            continue
        if len({law.executor_cores[row] for row in members}) > 1:
            continue
        rows.append(range(k))
        counts.append(n)
    return np.asarray(rows), np.asarray(counts)


def test_the_share_that_is_allowed_is_allowed_to_the_node() -> None:
    """29 of 100 are 29 %, though 0.29 x 100 < 29 in binary."""
    for percent in range(101):
        share = SpotShare(np.zeros(2, dtype=np.int64), np.asarray([False, True]), percent / 100.0)
        counts = np.asarray([[100 - spot, spot] for spot in range(101)])
        allowed = share.allowed(np.tile([0, 1], (101, 1)), counts)
        assert allowed.sum() == percent + 1


@pytest.mark.parametrize("least", [0, 1, 2, 3])
def test_beside_spot_nodes_are_as_many_on_demand_as_the_service_rents(least: int) -> None:
    """No spot nodes need none beside them; nodes that one owns are none of the spot nodes."""
    counts = np.asarray([[on, spot] for on in range(5) for spot in range(5)])
    rows, spot = np.tile([0, 1], (len(counts), 1)), np.asarray([False, True])
    types, owned = np.zeros(2, dtype=np.int64), np.asarray([1, 0])
    allowed = SpotShare(types, spot, 1.0, least).allowed(rows, counts)
    assert allowed.tolist() == [on >= least or spot == 0 for on, spot in counts.tolist()]
    # Where spot nodes are wanted, more are not rented on demand: they are those that one owns.
    rented = SpotShare(types, spot, 1.0, least, owned).allowed(rows, counts)
    assert rented.tolist() == [
        (on >= least or spot == 0) and on <= max(least, 1) for on, spot in counts.tolist()
    ]


@pytest.mark.parametrize(
    ("kind", "size"), crossed(["deadline", "budget", "both", "none"], [(3, 4, 2), (2, 5, 1)])
)
def test_no_way_of_renting_is_better(kind: str, size: tuple[int, int, int]) -> None:
    k, m, q = size
    rng = np.random.default_rng([ord(kind[0]), k, q])
    partly = 0
    for case in range(CASES):
        law = replace(random_law(rng, k, m), lost_work=LostWork(20.0, 0.7))
        law, market = on_spot_too(rng, law, random_market(rng, law, m))
        goal = goal_for(kind, rng, law, m)
        found = Search(law, market, goal, q, value=np.inf, effort=Effort(1e8)).run()
        rows, counts = every_composition(law, market, m, q)
        values = values_of(law, market, goal, rows, counts)
        assert found.optimal
        assert found.value == pytest.approx(float(values.min()), rel=1e-8), case
        if found.rows is not None:
            chosen = np.asarray(found.rows)
            rented = np.asarray(found.counts)
            on_spot = rented[market.share.spot[chosen]].sum()
            assert on_spot <= market.share.largest_share * rented.sum() + 1e-9
            partly += 0 < on_spot < rented.sum()
    assert partly


OFFERS = [spot("small", 4, 0.20, "5-10%"), spot("big", 32, 1.50, ">20%")]
WITH_SPOT = replace(CATALOG, offers={o.instance.name: o for o in OFFERS})


def ask(share: float | None, *, mix: int = 1, catalog=WITH_SPOT, **more) -> engine.Recommendation:
    return recommend(
        fitted(), catalog=catalog, deadline_seconds=300.0, max_nodes=40, mix=mix, today=TODAY,
        confidence=0.5, spot=True, limits=engine.Limits(max_spot=share), **more,
    )  # fmt: skip


@pytest.mark.parametrize("mix", [1, 2])
def test_more_spot_is_never_dearer_and_the_share_is_kept(mix: int) -> None:
    before = np.inf
    for share in (0.0, 0.2, 0.5, 1.0):
        chosen = ask(share, mix=mix).recommended
        assert sum(chosen.spot.values()) <= share * chosen.nodes + 1e-9
        assert all(chosen.composition[name] >= nodes for name, nodes in chosen.spot.items())
        assert chosen.cost_usd <= before * (1 + 1e-9)
        assert chosen.seconds < 300.0
        before = chosen.cost_usd
    assert before <= ask(None, mix=mix).recommended.cost_usd * (1 + 1e-9)


def test_a_cluster_of_one_type_is_rented_in_two_ways() -> None:
    chosen = ask(0.5).recommended
    ((name, nodes),) = chosen.composition.items()
    assert chosen.instance == name
    assert chosen.spot[name] == nodes // 2
    assert chosen.note == "part spot"
    listed, cheaper = WITH_SPOT.offers[name].on_demand, WITH_SPOT.offers[name].spot
    workers = (nodes - nodes // 2) * listed.usd_per_hour + nodes // 2 * cheaper.usd_per_hour
    assert chosen.cost.workers_usd == pytest.approx(workers * chosen.seconds / 3600.0)
    assert {n.code for n in chosen.warnings} >= {"spot-interruptions"}
    assert "mixed-cluster" not in {n.code for n in chosen.warnings}
    assert chosen.to_dict()["spot"] == {name: nodes // 2}


def test_a_named_composition_is_priced_as_it_would_be_found() -> None:
    chosen = ask(0.5, mix=2).recommended
    named = engine.predict_composition(
        fitted(), composition=chosen.composition, catalog=WITH_SPOT, spot=True, max_spot=0.5,
        confidence=0.5, today=TODAY,
    ).choice  # fmt: skip
    assert sum(named.spot.values()) == int(0.5 * named.nodes)
    assert named.cost_usd == pytest.approx(chosen.cost_usd, rel=0.05)


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("nodes", [{"small": 1}, {"small": 7}, {"small": 4, "big": 3}])
def test_a_cost_alone_is_that_of_the_whole_answer(
    nodes: dict[str, int], share: float | None
) -> None:
    for rented in (True, False) if share is None else (True,):
        asked = {
            "composition": nodes, "catalog": WITH_SPOT, "spot": rented, "max_spot": share,
        }  # fmt: skip
        whole = engine.predict_composition(fitted(), **asked, today=TODAY).choice
        alone = engine.composition_cost(fitted(), **asked)
        assert alone.cost == whole.cost
        for name in ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd", "spot"):
            assert getattr(alone, name) == getattr(whole, name), name


def test_no_node_of_a_named_composition_is_spot_where_that_costs_more() -> None:
    """Where spot nodes of one type are dearer than its nodes on demand, only others are spot."""
    small, big = (WITH_SPOT.offers[name] for name in ("small", "big"))
    dearer = replace(small.spot, usd_per_hour=1.4 * small.on_demand.usd_per_hour)
    catalog = replace(WITH_SPOT, offers={"small": replace(small, spot=dearer), "big": big})

    def rented(composition: dict[str, int]) -> dict[str, int]:
        return engine.predict_composition(
            fitted(), composition=composition, catalog=catalog, spot=True, max_spot=0.75,
            confidence=0.5, today=TODAY,
        ).choice.spot  # fmt: skip

    assert rented({"small": 4}) == {}
    assert rented({"small": 4, "big": 4}) == {"big": 4}


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_is_between_none_and_all(share: float) -> None:
    with pytest.raises(engine.BadInput, match="between 0 and 100 %"):
        engine.Limits(max_spot=share)


def test_a_type_without_a_spot_price_is_rented_on_demand_beside_others() -> None:
    offers = {**WITH_SPOT.offers, "big": replace(WITH_SPOT.offers["big"], spot=None)}
    catalog = replace(WITH_SPOT, offers=offers)
    chosen = ask(0.5, mix=2, catalog=catalog).recommended
    assert set(chosen.spot) <= {"small"}
    assert ask(0.5, mix=1, catalog=catalog).recommended is not None


def test_a_share_of_spot_nodes_needs_a_spot_price() -> None:
    """On demand alone would keep the share, but it is not what was asked for."""
    none = replace(
        WITH_SPOT,
        offers={name: replace(offer, spot=None) for name, offer in WITH_SPOT.offers.items()},
    )
    with pytest.raises(engine.BadInput, match="no type that is compared has a spot price"):
        ask(0.5, catalog=none)
    name = next(iter(none.offers))
    for share in (0.5, None):
        with pytest.raises(engine.BadInput, match=f"{name} has no spot price"):
            engine.predict_composition(
                fitted(),
                composition={name: 2},
                catalog=none,
                spot=True,
                max_spot=share,
                today=TODAY,
            )


def test_one_more_owned_node_of_each_type_never_makes_the_cluster_dearer() -> None:
    """Eight nodes of the whole catalog, some owned, at most four fifths of them spot nodes: the
    search that is proven for two and one is proven for three and two, however busy the machine."""
    told = fit(read("sales-report-large"))
    catalog = engine.load_catalog("aws")

    def cheapest(owned: tuple[tuple[str, int], ...]) -> engine.Recommendation:
        return recommend(
            told, catalog=catalog, today=TODAY, deadline_seconds=30.1, max_nodes=8,
            confidence=0.5, spot=True,
            limits=engine.Limits(owned=owned, min_nodes=8, max_spot=0.8),
        )  # fmt: skip

    fewer = cheapest((("c5.2xlarge", 2), ("m5.2xlarge", 1)))
    more = cheapest((("c5.2xlarge", 3), ("m5.2xlarge", 2)))
    assert fewer.optimal
    assert more.optimal
    assert fewer.recommended
    assert more.recommended
    assert more.recommended.cost_usd <= fewer.recommended.cost_usd * (1.0 + 1e-9)


@pytest.mark.parametrize("mix", [1, 2])
def test_what_it_is_compared_with_is_said_to_be_on_demand(mix: int) -> None:
    """Of one type half of the nodes could be spot nodes too, which is not what it costs there."""
    [why] = ask(0.5, mix=mix).recommended.why
    assert " of one type on demand, " in why
    [every_node] = ask(None, mix=mix).recommended.why
    assert "on demand" not in every_node
