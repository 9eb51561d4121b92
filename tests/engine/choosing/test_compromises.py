"""Compromises where a deadline and a budget cannot both be kept."""

import math
from dataclasses import replace

import pytest
from synthetic import TWO, catalog_of, model, offer, two_law

import engine
from engine.optimiser import recommend

WIDE, EXACT = 0.1, None
"""Spread of the times; None for a model without intervals."""

GOALS = {
    "both alone": (300.0, 0.11),
    "no deadline": (60.0, 0.11),
    "no budget": (300.0, 0.01),
    "neither": (60.0, 0.01),
}
"""Of `TWO` on up to 8 nodes: which of the two can be had by itself."""


def found(deadline, budget, spread):
    fitted = model(two_law) if spread is None else model(two_law, log_scale=spread)
    return recommend(fitted, catalog=TWO, deadline_seconds=deadline, budget_usd=budget, max_nodes=8)


@pytest.mark.parametrize("spread", [WIDE, EXACT])
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_named_can_be_had_and_nothing_nearer(goal, spread):
    deadline, budget = GOALS[goal]
    answer = found(deadline, budget, spread)
    assert answer.recommended is None
    in_time, within = answer.compromises
    for one in answer.compromises:
        typed = found(
            engine.reachable_seconds(one.deadline_seconds),
            engine.reachable_usd(one.budget_usd),
            spread,
        )
        assert typed.recommended is not None
        assert typed.compromises == ()
    assert (in_time.deadline_seconds == deadline) is (goal in ("both alone", "no budget"))
    assert (within.budget_usd == budget) is (goal in ("both alone", "no deadline"))
    dearest = in_time.budget_usd if in_time.deadline_seconds == deadline else 1e9
    soonest = within.deadline_seconds if within.budget_usd == budget else 1e9
    for nearer in ((deadline, 0.99 * dearest), (0.99 * soonest, budget)):
        if max(nearer) < 1e8:
            assert found(*nearer, spread).recommended is None


def test_two_clusters_that_keep_the_same_limits_are_one_way_out():
    """The budget is kept, and of the least deadline, as it is named, there is a cheaper cluster
    than the soonest: both were named with the one deadline."""
    types = catalog_of(offer("a", 0.1), offer("b", 0.11))
    nearly = model(lambda name, nodes: {"a": 100.04, "b": 100.0}[name] + 0.0 * nodes)
    asked = {"catalog": types, "deadline_seconds": 50.0, "max_nodes": 1}
    answer = recommend(nearly, budget_usd=0.05, **asked)
    (way,) = answer.compromises
    assert list(way.choice.composition) == ["a"]
    assert way.budget_usd == 0.05
    later = {**asked, "deadline_seconds": engine.reachable_seconds(way.deadline_seconds)}
    assert list(recommend(nearly, budget_usd=0.05, **later).recommended.composition) == ["a"]


def test_one_that_keeps_both_as_near_as_can_be_is_named_once():
    only = catalog_of(offer("a", 0.1))
    answer = recommend(
        model(lambda name, nodes: 100.0 + 0.0 * nodes),
        catalog=only,
        deadline_seconds=50.0,
        budget_usd=0.0001,
        max_nodes=1,
    )
    (one,) = answer.compromises
    assert one.deadline_seconds == pytest.approx(100.0)
    assert one.choice.composition == {"a": 1}


def test_one_limit_alone_and_an_answer_need_none():
    for deadline, budget in ((60.0, None), (None, 0.01), (3000.0, 1.0)):
        assert found(deadline, budget, WIDE).compromises == ()
    assert math.isfinite(found(60.0, None, WIDE).enough_seconds)


def test_what_is_no_later_as_a_deadline_is_told_costs_no_more_than_it_has_to():
    """On a plateau the soonest by a hair has nodes that do nothing."""
    only = catalog_of(offer("a", 0.1))
    answer = recommend(
        model(lambda name, nodes: 50.0 + 0.001 / nodes),
        catalog=only,
        deadline_seconds=10.0,
        budget_usd=0.0001,
        max_nodes=8,
    )
    (one,) = answer.compromises
    assert engine.reachable_seconds(one.deadline_seconds) == 50.1
    assert one.choice.composition == {"a": 1}


@pytest.mark.parametrize(("deadline", "budget"), GOALS.values())
def test_how_surely_a_deadline_is_met_is_said_of_the_one_beside_it(deadline, budget):
    in_time, within = found(deadline, budget, WIDE).compromises
    for one in (in_time, within):
        assert one.choice.p_deadline >= 0.9 - 1e-6


def test_what_is_told_of_a_replay_is_what_each_limit_alone_is_answered():
    """Looked for on the grid alone, budgets were told that are a twentieth too high."""
    fitted = engine.fit(engine.read("nightly-features", "nightly-features-small"))
    catalog = engine.load_catalog("gcp")
    answer = recommend(fitted, catalog=catalog, deadline_seconds=58.16, budget_usd=0.00456)
    in_time = recommend(fitted, catalog=catalog, deadline_seconds=58.16)
    assert in_time.recommended is not None
    assert answer.compromises[0].budget_usd == pytest.approx(in_time.recommended.cost_usd)


def test_of_clusters_that_keep_the_same_limits_the_way_out_is_the_cheaper() -> None:
    """The budget is kept by both: one on demand was named, though a third of it may be spot."""
    fitted = engine.fit(engine.read("movie-als-large", ran_on="m5.xlarge"))
    asked = {
        "catalog": engine.load_catalog("aws"),
        "instances": ["c5.xlarge"],
        "max_nodes": 5,
        "spot": True,
        "limits": engine.Limits(max_spot=0.5),
    }
    (way,) = recommend(fitted, deadline_seconds=35.03, budget_usd=0.0672, **asked).compromises
    late = engine.reachable_seconds(way.deadline_seconds)
    alone = recommend(fitted, deadline_seconds=late, **asked).recommended
    assert way.budget_usd == 0.0672
    assert way.choice.cost_usd == pytest.approx(alone.cost_usd)
    assert way.choice.spot == alone.spot != {}


@pytest.mark.parametrize("deadline", [60.0, 5.0])
def test_where_a_share_may_be_spot_each_is_what_that_limit_alone_is_answered(deadline):
    """They were of clusters on demand, whose budgets were a fourth too high."""
    fitted = engine.fit(engine.read("nightly-features", ran_on="m5.xlarge"))
    asked = {
        "catalog": engine.load_catalog("aws"),
        "instances": ["c5.large", "c5.xlarge", "c5.4xlarge"],
        "max_nodes": 12,
        "spot": True,
        "limits": engine.Limits(max_spot=0.5),
        "mix": 2,
    }
    answer = recommend(fitted, deadline_seconds=deadline, budget_usd=0.03, **asked)
    in_time, within = answer.compromises
    late = in_time.deadline_seconds > deadline
    kept = engine.reachable_seconds(in_time.deadline_seconds) if late else deadline
    alone = recommend(fitted, deadline_seconds=kept, **asked).recommended
    assert late is (deadline == 5.0)
    assert in_time.budget_usd == pytest.approx(alone.cost_usd)
    assert in_time.choice.spot == alone.spot != {}
    assert recommend(fitted, budget_usd=0.99 * within.budget_usd, **asked).recommended is None
    for one in answer.compromises:
        assert one.choice.p_deadline >= 0.9 - 1e-6
        typed = recommend(
            fitted,
            deadline_seconds=engine.reachable_seconds(one.deadline_seconds),
            budget_usd=engine.reachable_usd(one.budget_usd),
            **asked,
        )
        assert typed.recommended is not None


def test_clusters_that_differ_only_in_how_many_nodes_are_spot_are_both_named() -> None:
    """Each interruption delays the run: one spot node of four keeps the deadline, three the
    budget."""
    spot = replace(offer("a", 0.5, spot=0.2), interruption=">20%")
    asked = {
        "catalog": catalog_of(spot),
        "max_nodes": 4,
        "spot": True,
        "limits": engine.Limits(min_nodes=4, max_spot=1.0),
    }
    twenty_hours = model(lambda name, nodes: 4 * 72_000.0 / nodes)
    answer = recommend(twenty_hours, deadline_seconds=72_150.0, budget_usd=25.0, **asked)
    in_time, within = answer.compromises
    assert (in_time.choice.spot, within.choice.spot) == ({"a": 1}, {"a": 3})
    assert in_time.deadline_seconds == 72_150.0
    assert within.budget_usd == 25.0


def test_the_nearest_miss_of_a_budget_is_the_cheapest_though_only_a_share_may_be_spot() -> None:
    """It was the cheapest on demand, and the budget named was a fifth too high."""
    fitted = engine.fit(engine.read("nightly-features", ran_on="m5.xlarge"))
    asked = {
        "catalog": engine.load_catalog("aws"),
        "instances": ["c5.xlarge", "m5.xlarge"],
        "max_nodes": 6,
        "spot": True,
        "limits": engine.Limits(max_spot=0.5, min_nodes=4),
    }
    answer = recommend(fitted, budget_usd=0.01, **asked)
    cheapest = recommend(fitted, objective="cost", **asked).recommended
    assert answer.nearest.spot == cheapest.spot != {}
    assert answer.enough_usd == pytest.approx(cheapest.cost_usd)
    assert answer.nearest_miss.over_usd == pytest.approx(cheapest.cost_usd - 0.01)
    assert recommend(fitted, budget_usd=1.001 * answer.enough_usd, **asked).recommended is not None
    assert recommend(fitted, budget_usd=0.99 * answer.enough_usd, **asked).recommended is None
