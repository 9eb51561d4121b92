"""What the best has the least of: each objective against every composition."""

from itertools import product

import numpy as np
import pytest
from two_types import CATALOG, TODAY, fitted

import engine
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.mixing.market import Market, values_of
from engine.mixing.purchase_options import PurchaseOptions
from engine.optimiser import recommend

NODES = 24
MODEL = fitted()
SURFACE = Surface.build(MODEL, select_candidates(CATALOG, profile=MODEL.profile), max_nodes=NODES)


def every(mix: int, goal: Goal) -> np.ndarray:
    """(n, 3) cost, seconds and vcore-seconds of all compositions that satisfy the goal."""
    law = PurchaseOptions.of(SURFACE, CATALOG.billing, NODES).law(SURFACE)
    rates, head = SURFACE.rented.rates(CATALOG.billing)
    market = Market(rates, head, CATALOG.billing, np.full(2, NODES))
    pairs = [
        pair
        for pair in product(range(NODES + 1), repeat=2)
        if 1 <= sum(pair) <= NODES and (mix == 2 or 0 in pair)
    ]
    counts = np.asarray(pairs)
    rows = np.tile([0, 1], (len(counts), 1))
    cost = values_of(law, market, goal, rows, counts)
    met = np.isfinite(cost)
    seconds = law.forecast(rows, counts).seconds
    return np.stack([cost, seconds, (counts * law.slots).sum(axis=1) * seconds], axis=1)[met]


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("deadline", [None, 260.0, 420.0])
@pytest.mark.parametrize("objective", ["cost", "time", "resource-time"])
def test_no_composition_has_less_of_it(objective: str, deadline: float | None, mix: int) -> None:
    answer = recommend(
        MODEL, catalog=CATALOG, deadline_seconds=deadline, max_nodes=NODES, mix=mix,
        confidence=0.6, objective=objective, today=TODAY,
    )  # fmt: skip
    found = every(mix, Goal(deadline, None, 0.6, NODES, "cost"))
    column = ("cost", "time", "resource-time").index(objective)
    chosen = answer.recommended
    mine = (chosen.cost_usd, chosen.seconds, chosen.vcore_seconds)[column]
    assert mine == pytest.approx(found[:, column].min(), rel=1e-9)
    assert answer.goal.to_dict()["objective"] == objective


def test_within_a_budget_each_objective_keeps_to_it() -> None:
    for objective in ("cost", "time", "resource-time"):
        chosen = recommend(
            MODEL, catalog=CATALOG, budget_usd=1.2, max_nodes=NODES, objective=objective,
            today=TODAY,
        ).recommended  # fmt: skip
        assert chosen.cost_usd <= 1.2 * (1 + 1e-9)


def test_unspoken_it_is_the_time_with_a_budget_alone_and_else_the_cost() -> None:
    assert Goal(None, 1.0).minimises == "time"
    assert {Goal(9.0, 1.0).minimises, Goal(9.0).minimises, Goal().minimises} == {"cost"}
    with pytest.raises(engine.UnknownName, match="objective"):
        Goal(objective="speed")


def test_resource_time_of_mixes_within_a_budget_is_refused() -> None:
    with pytest.raises(engine.BadInput, match="one type only"):
        recommend(
            MODEL, catalog=CATALOG, budget_usd=1.0, mix=2, objective="resource-time", today=TODAY
        )


def test_an_hour_more_that_saves_no_resource_time_is_not_told() -> None:
    answer = recommend(
        MODEL, catalog=CATALOG, max_nodes=NODES, objective="resource-time", today=TODAY,
        with_sensitivity=True,
    )  # fmt: skip
    assert answer.sensitivity.one_more_hour is None
