"""`recommend` again with another goal asks no model again; with anything else it does."""

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import synthetic
from two_types import CATALOG, TODAY

import engine
from engine.models.base import FittedModel


def counted() -> tuple[FittedModel, list[int]]:
    """A model, and the sizes of the grids that it was asked for."""
    grids: list[int] = []
    fitted = synthetic.model(lambda name, count: 3600.0 / count)
    forecast = fitted.forecast

    def asked(batch: Any, workload: engine.Workload) -> Any:
        if len(batch) > 60:
            grids.append(len(batch))
        return forecast(batch, workload)

    object.__setattr__(fitted, "forecast", asked)
    return fitted, grids


def recommended(fitted: FittedModel, **more: Any) -> engine.Recommendation:
    given = {"catalog": CATALOG, "deadline_seconds": 900.0, "today": TODAY, **more}
    return engine.recommend(fitted, **given)


GOALS = [
    {"deadline_seconds": 300.0},
    {"deadline_seconds": None, "budget_usd": 5.0},
    {"confidence": 0.5},
    {"objective": "time"},
    {"mix": 2},
    {"billing": replace(CATALOG.billing, discount_fraction=0.5)},
]


def test_another_goal_asks_no_grid_again_and_is_answered_as_if_it_did() -> None:
    fitted, grids = counted()
    first = recommended(fitted).to_dict()
    for goal in GOALS:
        found = recommended(fitted, **goal).to_dict()
        assert found == recommended(counted()[0], **goal).to_dict()
    assert len(grids) == 1
    assert recommended(fitted).to_dict() == first


@pytest.mark.parametrize(
    "change",
    [
        lambda: {"max_nodes": 40},
        lambda: {"instances": ["small"], "max_nodes": 64},
        lambda: {"workload": engine.Workload(input_bytes=3e9)},
        lambda: {"limits": engine.Limits(max_vcpus=64)},
        lambda: {"catalog": replace(CATALOG)},
    ],
)
def test_another_question_is_asked(change: Callable[[], dict[str, Any]]) -> None:
    fitted, _ = counted()
    recommended(fitted)
    changed = change()
    found = recommended(fitted, **changed)
    assert found.to_dict() == recommended(counted()[0], **changed).to_dict()


def test_a_catalog_with_other_prices_is_never_taken_for_the_one_before() -> None:
    """Equal in all but the prices, and perhaps at the same place in memory."""
    fitted, costs = counted()[0], []
    for times in (1.0, 2.0, 3.0):
        offers = {
            name: replace(
                offer,
                on_demand=replace(
                    offer.on_demand, usd_per_hour=times * offer.on_demand.usd_per_hour
                ),
            )
            for name, offer in CATALOG.offers.items()
        }
        best = recommended(fitted, catalog=replace(CATALOG, offers=offers)).recommended
        costs.append(best.cost_usd)
    assert costs == pytest.approx([costs[0], 2.0 * costs[0], 3.0 * costs[0]])


@pytest.mark.parametrize("instances", [(name for name in ["small"]), [["small"]], "small", 5])
def test_what_is_no_list_of_names_is_kept_for_nobody(instances: Any) -> None:
    fitted, _ = counted()
    with suppress(engine.EngineError):
        recommended(fitted, instances=instances)
    assert not fitted.recent._kept


@pytest.mark.parametrize(
    "limits",
    [
        lambda some: {"exclude": some(["big"])},
        lambda some: {"owned": some([("small", 2)])},
        lambda some: {"most": some([("small", 3)])},
    ],
)
def test_limits_in_lists_are_answered_as_those_in_tuples(
    limits: Callable[[type], dict[str, Any]],
) -> None:
    fitted, _ = counted()
    found = recommended(fitted, limits=engine.Limits(**limits(list)))
    assert not fitted.recent._kept
    assert found.to_dict() == recommended(fitted, limits=engine.Limits(**limits(tuple))).to_dict()


@pytest.mark.parametrize("mix", [1, 2])
def test_a_plan_that_nobody_holds_is_free_at_once(mix: int) -> None:
    """What it kept of questions held it, and so each step of the data size held tens of megabytes
    until the next whole collection."""
    fitted, _ = counted()
    request = engine.PlanRequest(fitted.profile, CATALOG, max_nodes=64)
    plan = engine.prepare_fitted(fitted, request)
    goal = engine.Goal(deadline_seconds=1800.0, max_nodes=64)
    report = plan.report(goal, today=TODAY)
    answer = plan.mixed(report, most_types=mix, today=TODAY)
    assert answer.recommendation.recommended is not None
    plan.surface.notices(0)
    held = weakref.ref(plan.surface)
    gc.collect()
    gc.disable()
    try:
        del plan, report, answer
        assert held() is None
    finally:
        gc.enable()
