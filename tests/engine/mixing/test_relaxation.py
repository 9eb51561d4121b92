"""OptEx's own method: the real optimum against closed forms and scans, and what becomes of it."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from two_types import CATALOG, TODAY, fitted

import engine
from engine.catalog import Billing
from engine.choosing.recommendation import Goal, Recommendation
from engine.cluster import Workload
from engine.errors import BadInput, UnknownName
from engine.forecast import FloatArray, Forecast
from engine.mixing.central_path import interior_minimum
from engine.mixing.market import Market
from engine.mixing.relaxation import RelaxedOptimum, relaxed_optimum
from engine.mixing.relaxed_answer import with_relaxed
from engine.optimiser import surface_of

BY_SECOND = Billing(granularity_seconds=0.0)


def market(*rates: float, most: int = 64) -> Market:
    return Market(np.asarray(rates), 0.0, BY_SECOND, np.full(len(rates), most))


def published(fixed: float, work: float) -> Callable[[FloatArray], Forecast]:
    """The law of Table IV, without an interval."""

    def times(counts: FloatArray) -> Forecast:
        return Forecast.of(fixed + work / counts.sum(axis=1) ** 2, np.full(len(counts), np.nan))

    return times


@pytest.mark.parametrize(
    ("fixed", "work", "deadline", "nodes"),
    [
        (49.0, 488.0, 200.0, math.sqrt(488 / 49)),  # the least cost lies inside
        (49.0, 488.0, 75.0, math.sqrt(488 / 26)),  # the deadline binds
        (120.0, 1952.0, 121.0, math.sqrt(1952.0)),  # it leaves a sliver
        (318.0, 14.77, 350.0, 1.0),  # fewer than a node would be cheaper
    ],
)
def test_one_type_against_the_closed_form(
    fixed: float, work: float, deadline: float, nodes: float
) -> None:
    found = relaxed_optimum(published(fixed, work), market(0.41), Goal(deadline_seconds=deadline))
    assert found.counts == pytest.approx([nodes], rel=1e-5)
    assert found.seconds == pytest.approx(fixed + work / nodes**2, rel=1e-5)
    assert found.usd == pytest.approx(0.41 * nodes * found.seconds / 3600.0, rel=1e-5)


def test_the_fastest_within_a_budget() -> None:
    """Table VI: 0.3 USD buy 53 nodes and a half."""
    found = relaxed_optimum(
        published(49.0, 488.0), market(0.41, most=200), Goal(budget_usd=0.3, max_nodes=200)
    )
    assert found.usd == pytest.approx(0.3, rel=1e-6)
    assert found.whole(Goal(budget_usd=0.3)) == [53]


@pytest.mark.parametrize(
    "goal",
    [Goal(deadline_seconds=49.0), Goal(deadline_seconds=49.05), Goal(49.5, budget_usd=0.001)],
    ids=["below what any number takes", "of 64 nodes none", "a budget for less than a node"],
)
def test_where_nothing_satisfies_the_goal(goal: Goal) -> None:
    assert relaxed_optimum(published(49.0, 488.0), market(0.41), goal) is None


def test_bounds_on_nodes_are_kept() -> None:
    times, free = published(49.0, 488.0), Goal(objective="time")
    assert relaxed_optimum(times, market(0.41), free).counts == pytest.approx([64.0], rel=1e-4)
    few = relaxed_optimum(times, market(0.41, most=5), free)
    assert few.counts == pytest.approx([5.0], rel=1e-4)
    many = relaxed_optimum(times, market(0.41), Goal(objective="cost"), fewest=10.0)
    assert many.counts == pytest.approx([10.0], rel=1e-4)


@pytest.mark.parametrize(("deadline", "price"), [(200.0, 1.3), (120.0, 1.3), (120.0, 2.6)])
def test_two_types_against_a_scan(deadline: float, price: float) -> None:
    """Nodes of the second type do twice as much; a law with a part that grows with both."""

    def times(counts: FloatArray) -> Forecast:
        capacity = counts @ np.asarray([1.0, 2.0])
        seconds = 60.0 + 900.0 / capacity + 0.5 * counts.sum(axis=1)
        return Forecast.of(seconds, np.full(len(counts), 0.1))

    goal = Goal(deadline_seconds=deadline, confidence=0.9, max_nodes=40)
    found = relaxed_optimum(times, market(0.7, price, most=40), goal)
    axis = np.linspace(0.0, 40.0, 401)
    every = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    every = every[(every.sum(axis=1) >= 1.0) & (every.sum(axis=1) <= 40.0)]
    forecast = times(every)
    usd = every @ np.asarray([0.7, price]) * forecast.seconds / 3600.0
    least = usd[forecast.quantile(0.9) <= deadline].min()
    assert found.usd <= least * (1.0 + 1e-6)
    assert found.usd == pytest.approx(least, rel=0.02)
    assert times(found.counts[None]).quantile(0.9)[0] <= deadline * (1.0 + 1e-9)


def test_a_way_in_is_looked_for_from_each_type() -> None:
    """Nodes of both types hinder each other: from equal parts the time falls towards 98 s of the
    second type alone, and only clusters that are nearly all of the first take less than 90 s."""

    def times(counts: FloatArray) -> Forecast:
        share = counts[:, 0] / counts.sum(axis=1)
        seconds = 98.0 + 60.0 * share**2 - 78.0 * share**3
        return Forecast.of(seconds, np.full(len(counts), np.nan))

    found = relaxed_optimum(times, market(1.0, 1.0), Goal(deadline_seconds=90.0))
    assert found.seconds < 90.0
    assert found.counts[0] > 5.0 * found.counts[1]
    assert found.counts.sum() == pytest.approx(1.0, rel=1e-4)


def test_an_interior_minimum_starts_outside_and_ends_inside() -> None:
    """The point of least x + y on a disc about (3, 4), from far away."""

    def values(points: FloatArray) -> FloatArray:
        away = ((points - np.asarray([3.0, 4.0])) ** 2).sum(axis=1)
        return np.stack((points.sum(axis=1), 1.0 - away), axis=1)

    found = interior_minimum(values, np.asarray([40.0, -9.0]))
    assert found == pytest.approx([3.0 - math.sqrt(0.5), 4.0 - math.sqrt(0.5)], abs=1e-4)
    nowhere = interior_minimum(lambda p: np.hstack((p, -1.0 - p**2)), np.asarray([2.0]))
    assert nowhere is None


def test_whole_nodes() -> None:
    """Up for the cost, down for the time; a hair above a whole number is that number."""
    found = RelaxedOptimum(np.asarray([4.0000001, 2.3, 1e-6]), 1.0, 1.0)
    assert found.whole(Goal(60.0)).tolist() == [4, 3, 0]
    assert found.whole(Goal(budget_usd=1.0)).tolist() == [4, 2, 0]
    part = RelaxedOptimum(np.asarray([0.4, 0.6]), 1.0, 1.0)
    assert part.whole(Goal(budget_usd=1.0)).tolist() == [0, 1]


# Through the optimiser


def asked(deadline: float | None = None, **options: object) -> Recommendation:
    return engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=deadline, max_nodes=40, today=TODAY,
        confidence=0.5, method="interior-point", **options,
    )  # fmt: skip


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("deadline", [260.0, 300.0, 340.0, 420.0, 500.0, 700.0])
def test_never_better_than_the_exact_search(deadline: float, mix: int) -> None:
    exact = engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=deadline, max_nodes=40, today=TODAY,
        confidence=0.5, mix=mix,
    )  # fmt: skip
    found = asked(deadline, mix=mix)
    same = dict(found.recommended.composition) == dict(exact.recommended.composition)
    assert found.optimal == (same and exact.optimal)
    assert (found.method, exact.method) == ("interior-point", "exact")
    (told,) = [notice for notice in found.warnings if notice.code == "rounded-optimum"]
    assert "before rounding" in told.text
    assert found.recommended.seconds < deadline
    assert found.recommended.cost_usd >= exact.recommended.cost_usd * (1.0 - 1e-9)
    if same:
        assert "the exact search finds the same" in told.text
    else:
        assert found.alternatives[0].composition == exact.recommended.composition


def test_without_a_solution_the_nearest_miss_stays() -> None:
    found = asked(5.0)
    assert found.recommended is None
    assert found.nearest is not None
    assert any("finds no real numbers of nodes" in notice.text for notice in found.warnings)
    exact = engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=5.0, max_nodes=40, today=TODAY, confidence=0.5
    )
    assert (found.nearest, found.nearest_miss) == (exact.nearest, exact.nearest_miss)
    assert list(found.alternatives) == []
    assert found.optimal is exact.optimal is True, "that nothing satisfies the goal is proven"


def bundled_job() -> engine.FittedModel:
    return engine.fit(engine.read("nightly-features", ran_on="m5.xlarge"))


def one_type(instance: str, deadline: float, budget: float, **options: object) -> Recommendation:
    """Of a bundled job, within limits that hardly leave room."""
    fit = bundled_job()
    return engine.recommend(
        fit, catalog=engine.load_catalog("aws"), instances=[instance], deadline_seconds=deadline,
        budget_usd=budget, max_nodes=20, today=TODAY, **options,
    )  # fmt: skip


def least_limits(instance: str, nodes: int) -> tuple[float, float]:
    """The least deadline and budget that so many nodes keep: of nine runs in ten the eight of the
    central interval and the one below it are in time."""
    (choice,) = [c for c in one_type(instance, 1e6, 1e6).frontier if c.nodes == nodes]
    cluster = engine.Cluster.of_nodes(
        instance_type=instance, nodes=nodes, catalog=engine.load_catalog("aws")
    )
    bound = bundled_job().predict(cluster=cluster, confidence=0.8).high
    return bound * (1.0 + 1e-9), choice.cost_usd * (1.0 + 1e-9)


def told_of(found: Recommendation) -> str:
    (told,) = [notice.text for notice in found.warnings if notice.code == "rounded-optimum"]
    return told


def test_what_the_exact_search_finds_stays_where_rounding_misses_the_goal() -> None:
    """A little more than one node is rounded up to two, which are over the budget."""
    exact = one_type("c5.large", 237.0, 0.03618)
    found = one_type("c5.large", 237.0, 0.03618, method="interior-point")
    assert exact.recommended.composition == {"c5.large": 1}
    assert found.recommended is None
    assert not found.optimal
    assert found.alternatives[0] == exact.recommended
    assert found.nearest.composition == {"c5.large": 2}
    assert found.nearest_miss.code == "budget"
    assert found.nearest_miss.over_usd == pytest.approx(found.nearest.cost_usd - 0.03618)
    told = told_of(found)
    over = f"over budget by ${found.nearest_miss.over_usd:.3g} with 2 nodes"
    assert f"misses the goal in whole nodes: {over}" in told
    assert "the exact search finds 1 × c5.large, which satisfies the goal" in told
    assert "beside which" not in told


def test_what_the_exact_search_finds_is_the_nearest_without_a_real_point() -> None:
    """Both limits are those of 12 nodes themselves: nothing lies strictly between them."""
    limits = least_limits("c5.xlarge", 12)
    exact = one_type("c5.xlarge", *limits)
    found = one_type("c5.xlarge", *limits, method="interior-point")
    assert exact.recommended.composition == {"c5.xlarge": 12}
    assert found.recommended is None
    assert not found.optimal
    assert found.alternatives[0] == found.nearest == exact.recommended
    assert found.nearest_miss is found.enough_usd is found.enough_seconds is None
    told = told_of(found)
    assert "finds no real numbers of nodes that satisfy the goal" in told
    assert "the exact search finds 12 × c5.xlarge, which satisfies the goal" in told


def test_whole_nodes_outside_the_limits_are_no_nearest_miss() -> None:
    """Half a big node and a part of a small one are rounded up to two nodes, of one allowed."""
    options = {"mix": 2, "max_nodes": 1}
    found = engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=3000.0, today=TODAY, confidence=0.5,
        method="interior-point", **options,
    )  # fmt: skip
    exact = engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=3000.0, today=TODAY, confidence=0.5, **options
    )
    assert found.recommended is None
    assert not found.optimal
    assert found.nearest == found.alternatives[0] == exact.recommended
    assert found.nearest.composition == {"big": 1}
    assert found.nearest_miss is None
    assert "breaks the limits in whole nodes (2 nodes)" in told_of(found)


def test_whole_nodes_over_a_budget_alone() -> None:
    """A part of a node is within the budget, and no whole one is."""
    found = engine.recommend(
        fitted(), catalog=CATALOG, budget_usd=0.6, max_nodes=1, today=TODAY, confidence=0.5,
        method="interior-point", mix=2,
    )  # fmt: skip
    assert found.recommended is None
    assert found.optimal
    assert found.nearest.composition == {"big": 1}
    assert found.nearest_miss.code == "budget"
    assert found.enough_usd == found.nearest.cost_usd > 0.6
    told = told_of(found)
    assert "misses the goal in whole nodes: over budget by $0.173 with 1 node" in told
    assert "the exact search finds none either" in told


def test_whole_nodes_that_miss_the_goal_are_the_nearest() -> None:
    """A model of whole nodes falls in steps: what lies between two of them may meet a deadline that
    neither limit leaves whole nodes for."""
    profile = engine.read("optex-als-standalone")
    found = engine.recommend(
        engine.fit(profile, model="optex"), catalog=engine.load_catalog("papers"),
        instances=["m2.xlarge"], workload=Workload(iterations=5), deadline_seconds=68.0,
        budget_usd=0.0395, max_nodes=64, method="interior-point",
    )  # fmt: skip
    assert found.recommended is None
    assert found.nearest.composition == {"m2.xlarge": 6}
    (told,) = [notice for notice in found.warnings if notice.code == "rounded-optimum"]
    assert "misses the goal in whole nodes" in told.text


def test_what_the_exact_search_did_not_compare_is_said() -> None:
    """Of mixes it may leave some out; then the same composition is not proven the best either."""
    exact = engine.recommend(
        fitted(), catalog=CATALOG, deadline_seconds=500.0, max_nodes=40, today=TODAY,
        confidence=0.5,
    )  # fmt: skip
    surface = surface_of(fitted(), CATALOG, max_nodes=40)
    for optimal in (True, False):
        found = with_relaxed(
            replace(exact, optimal=optimal), surface, CATALOG.billing, most_types=1, today=TODAY
        )
        assert found.recommended.composition == exact.recommended.composition
        assert found.optimal == optimal
        assert ("did not compare all there are, finds" in told_of(found)) != optimal


def test_resource_time_is_not_relaxed() -> None:
    with pytest.raises(BadInput, match="minimises the cost or the time"):
        asked(400.0, objective="resource-time")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instances": ["*"]}, r"relaxes each of [\d,]+ sets of types"),
        ({"instances": ["m5.*"], "spot": True}, "rents on demand"),
    ],
)
def test_what_the_method_does_not_answer(options: dict[str, object], message: str) -> None:
    model = engine.fit(engine.read("ernest-rcv1"), model="ernest")
    with pytest.raises(BadInput, match=message):
        engine.recommend(
            model, catalog=engine.load_catalog("aws"), deadline_seconds=60.0,
            method="interior-point", **options,
        )  # fmt: skip


def test_a_method_that_there_is_not() -> None:
    with pytest.raises(UnknownName, match="unknown method 'simplex'"):
        engine.recommend(
            fitted(), catalog=CATALOG, deadline_seconds=400.0, method="simplex", today=TODAY
        )
