"""The cluster that likeliest keeps a deadline which none keeps with the required confidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import SLOW, TWO, catalog_of, model, offer, two_law
from watched import calls_of

from engine.choosing.likeliest import ALIKE
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.selection import select
from engine.choosing.surface import Surface
from engine.forecast import Forecast
from engine.optimiser import recommend, surface_of

SURE_BUT_LATE = {"slow": 0.01, "fast": 0.5}


def one_node_each(seconds: dict[str, float], **goal: Any) -> Recommendation:
    """Of the sure type and the vague one, on one node each."""
    fitted = model(lambda name, nodes: seconds[name] / nodes, log_scales=SURE_BUT_LATE)
    return recommend(fitted, catalog=TWO, max_nodes=1, **goal)


def test_it_is_not_the_one_that_is_known_to_be_late() -> None:
    answer = one_node_each({"slow": 51.0, "fast": 45.0}, deadline_seconds=50.0)
    assert answer.recommended is None
    assert answer.nearest.composition == {"slow": 1}, "2 % late, and that is sure"
    assert answer.nearest.p_deadline == pytest.approx(
        Forecast.of(np.asarray([51.0]), 0.01).p_within(50.0)[0]
    )
    assert answer.likeliest.composition == {"fast": 1}
    assert answer.likeliest.p_deadline == pytest.approx(
        Forecast.of(np.asarray([45.0]), 0.5).p_within(50.0)[0]
    )
    assert answer.likeliest_beside_nearest is answer.likeliest
    assert answer.to_dict()["likeliest"]["composition"] == {"fast": 1}


def test_where_the_nearest_is_the_likeliest_there_is_no_other_to_name() -> None:
    answer = one_node_each({"slow": 50.2, "fast": 90.0}, deadline_seconds=50.0)
    assert answer.nearest.composition == answer.likeliest.composition == {"slow": 1}
    assert answer.likeliest_beside_nearest is None


@pytest.mark.parametrize(("more", "named"), [(0.04, False), (0.06, True)])
def test_one_that_is_hardly_likelier_is_not_named(more: float, named: bool) -> None:
    answer = one_node_each({"slow": 51.0, "fast": 45.0}, deadline_seconds=50.0)
    chance = answer.likeliest.p_deadline - more
    near = replace(answer, nearest=replace(answer.nearest, p_deadline=chance))
    assert near.likeliest_beside_nearest is (near.likeliest if named else None)


@pytest.mark.parametrize(("confidence", "likeliest"), [(0.8, None), (0.95, {"fast": 1})])
def test_a_deadline_that_all_are_sure_to_miss_has_no_likeliest(
    confidence: float, likeliest: dict[str, int] | None
) -> None:
    """The vaguer one has a chance of 8 %, since it is vague. At 80 % it is sure to be late."""
    answer = one_node_each(
        {"slow": 100.0, "fast": 100.0}, deadline_seconds=50.0, confidence=confidence
    )
    assert answer.recommended is None
    assert (answer.likeliest and answer.likeliest.composition) == likeliest


def test_it_keeps_the_budget() -> None:
    """Of eight nodes the chance is greater, and they cost too much."""
    fitted = model(lambda name, nodes: 500.0 / nodes**0.7, log_scale=0.3)
    goal = {"catalog": catalog_of(SLOW), "deadline_seconds": 130.0, "max_nodes": 8}
    free = recommend(fitted, **goal)
    assert (free.recommended, free.likeliest.nodes) == (None, 8)
    usd = {choice.nodes: choice.cost_usd for choice in free.frontier}
    capped = recommend(fitted, **goal, budget_usd=0.5 * (usd[7] + usd[8]))
    assert (capped.recommended, capped.likeliest.nodes) == (None, 7)
    assert capped.likeliest.p_deadline < free.likeliest.p_deadline


def test_of_those_that_are_told_alike_it_is_the_cheapest() -> None:
    """The dear one is likelier by 0.4 % of runs, at five times the price; by 2 % it is another."""
    catalog = catalog_of(offer("cheap", 0.1), offer("dear", 0.5))
    chances = {}
    for dear_seconds, expected in ((59.7, "cheap"), (58.5, "dear")):
        seconds = {"cheap": 60.0, "dear": dear_seconds}
        fitted = model(lambda name, nodes, seconds=seconds: seconds[name] / nodes, log_scale=0.5)
        answer = recommend(fitted, catalog=catalog, deadline_seconds=50.0, max_nodes=1)
        assert answer.likeliest.instance == expected
        chances[expected] = answer.likeliest.p_deadline
    assert ALIKE < chances["dear"] - chances["cheap"] < 3.0 * ALIKE


def vague_surface(random: np.random.Generator, types: int, nodes: int) -> Surface:
    """Each point has its own spread above and below its time, and its own degrees of freedom."""
    catalog = catalog_of(*(offer(f"t{index}", random.uniform(0.1, 2.0)) for index in range(types)))
    level = {name: random.uniform(80.0, 300.0) for name in catalog.offers}
    fitted = model(lambda name, nodes: level[name] / nodes**0.5, log_scale=0.1)
    surface = surface_of(fitted, catalog=catalog, max_nodes=nodes)
    n = types * nodes
    above, below = random.choice([0.02, 0.2, 0.6], (2, n)) * random.uniform(0.5, 1.0, (2, n))
    dof = random.choice([1.0, 1.5, 4.0, 30.0, np.inf], n)
    return replace(
        surface, forecast=Forecast.of(surface.forecast.seconds, above, dof, scale_below=below)
    )


@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.995])
@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_likeliest_of_all_whatever_their_spreads(seed: int, confidence: float) -> None:
    """Chances that cannot be the greatest are not computed; brute force computes all. Every other
    seed has a budget."""
    random = np.random.default_rng(seed)
    surface = vague_surface(random, types=12, nodes=4)
    costs = surface.costs(surface.candidates.catalog.billing).ravel()
    budget = float(np.quantile(costs, random.uniform(0.1, 0.8))) if seed % 2 else None
    deadline = float(surface.seconds.min() * random.uniform(0.5, 1.1))
    answer = select(surface, Goal(deadline, budget, confidence, max_nodes=4))
    chances = surface.forecast.p_within(deadline)
    if budget is not None:
        chances[costs > budget] = 0.0
    if answer.recommended is not None:
        assert chances.max() >= confidence
        assert answer.likeliest is None
    elif chances.max() <= 1.0 - confidence:
        assert answer.likeliest is None
    else:
        least = costs[chances >= chances.max() - ALIKE].min()
        assert answer.likeliest.cost_usd == pytest.approx(least)
        assert answer.likeliest.p_deadline >= chances.max() - ALIKE


def test_few_chances_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Student's distribution takes most of the time, and a slider asks at each step."""
    surface = vague_surface(np.random.default_rng(1), types=12, nodes=512)
    computed = calls_of(monkeypatch, Surface, "p_within")
    least = float(np.exp(surface.log_least_deadlines(0.9).min()))
    for share in (0.01, 0.5, 0.8, 0.9, 0.99):
        computed.clear()
        answer = select(surface, Goal(share * least, None, 0.9, max_nodes=512))
        assert answer.recommended is None
        assert sum(np.size(flat) for _, flat, _ in computed) < 0.02 * surface.seconds.size


def test_there_is_none_where_something_keeps_the_goal_or_nothing_is_known() -> None:
    kept = one_node_each({"slow": 40.0, "fast": 45.0}, deadline_seconds=50.0)
    assert kept.recommended is not None
    without_interval = recommend(model(two_law), catalog=TWO, deadline_seconds=1.0, max_nodes=8)
    over_budget = one_node_each({"slow": 40.0, "fast": 45.0}, budget_usd=1e-9)
    for answer in (kept, without_interval, over_budget):
        assert answer.likeliest is answer.likeliest_beside_nearest is None


def test_a_nearest_miss_of_several_types_may_be_likelier() -> None:
    answer = one_node_each({"slow": 51.0, "fast": 45.0}, deadline_seconds=50.0)
    mixed = replace(answer, nearest=replace(answer.nearest, p_deadline=0.9))
    assert mixed.likeliest_beside_nearest is None


def test_the_likeliest_is_named_though_less_likely_where_the_nearest_is_over_budget() -> None:
    """Whoever cannot pay for the nearest wants to know the best that can be paid for."""
    answer = one_node_each({"slow": 51.0, "fast": 45.0}, deadline_seconds=50.0, budget_usd=1.0)
    assert (answer.likeliest.instance, answer.nearest.instance) == ("fast", "slow")
    for cost_usd, named in ((0.99, None), (1.01, answer.likeliest)):
        near = replace(answer.nearest, p_deadline=0.8, cost_usd=cost_usd)
        assert replace(answer, nearest=near).likeliest_beside_nearest is named


@pytest.mark.parametrize("seed", range(5))
def test_every_type_that_misses_a_deadline_says_how_probable_it_is(seed: int) -> None:
    surface = vague_surface(np.random.default_rng(seed), types=12, nodes=4)
    deadline = float(surface.seconds.min() * 0.5)
    answer = select(surface, Goal(deadline, None, 0.9, max_nodes=4))
    assert len(answer.rejected) == 12
    for lost in answer.rejected:
        point = surface.index(lost.instance, lost.composition[lost.instance])
        assert lost.p_deadline == pytest.approx(float(surface.p_within(point, deadline)[0]))
        assert lost.to_dict()["p_deadline"] == lost.p_deadline


def test_a_type_that_misses_says_no_chance_without_deadline_or_interval() -> None:
    over_budget = one_node_each({"slow": 40.0, "fast": 45.0}, budget_usd=1e-9)
    without_interval = recommend(model(two_law), catalog=TWO, deadline_seconds=1.0, max_nodes=8)
    for answer in (over_budget, without_interval):
        assert [lost.p_deadline for lost in answer.rejected] == [None, None]
