"""`engine.plan`: one question, one answer."""

from dataclasses import replace

import pytest

import engine
from engine import planner

GOAL = engine.Goal(deadline_seconds=600.0, max_nodes=8)


@pytest.fixture(scope="module")
def request_of_two_types() -> engine.PlanRequest:
    profile = engine.read("word-count-small", ran_on=engine.find_type("m5.xlarge", first="aws")[1])
    catalog = engine.load_catalog("aws")
    return engine.PlanRequest(profile, catalog, instances=("m5.xlarge", "c5.xlarge"))


def test_it_answers_as_recommend_does(request_of_two_types: engine.PlanRequest) -> None:
    asked = request_of_two_types
    report = engine.plan(asked, GOAL)
    found = engine.recommend(
        engine.fit(asked.profile), catalog=asked.catalog, deadline_seconds=600.0, max_nodes=8,
        instances=asked.instances,
    )  # fmt: skip
    assert report.recommendation.recommended is not None
    assert report.recommendation.recommended == found.recommended
    assert list(report.curve.nodes) == list(range(1, 9))


@pytest.mark.parametrize("granularity_seconds", [1.0, 60.0, 3600.0])
def test_costs_along_the_curve_have_the_interval_of_the_choice(
    request_of_two_types: engine.PlanRequest, granularity_seconds: float
) -> None:
    catalog = request_of_two_types.catalog
    billing = replace(catalog.billing, granularity_seconds=granularity_seconds)
    report = engine.plan(request_of_two_types, GOAL, billing=billing)
    best, curve = report.recommendation.recommended, report.curve
    at = best.nodes - 1
    assert curve.cost_low_usd[at] == pytest.approx(best.cost_low_usd)
    assert curve.cost_high_usd[at] == pytest.approx(best.cost_high_usd)
    assert all(curve.cost_low_usd <= curve.cost_usd)
    assert all(curve.cost_usd <= curve.cost_high_usd)
    assert (best.cost_low_usd < best.cost_high_usd) == (granularity_seconds == 1.0)


def test_the_curve_is_of_the_type_that_was_settled_on(
    request_of_two_types: engine.PlanRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was of the type that the surface alone chose, which exact evaluation may turn down."""
    select_exact = planner.select_exact

    def runner_up(*args: object) -> engine.Recommendation:
        found = select_exact(*args)
        return replace(found, recommended=found.alternatives[0])

    first = engine.plan(request_of_two_types, GOAL)
    monkeypatch.setattr(planner, "select_exact", runner_up)
    second = engine.plan(request_of_two_types, GOAL)
    assert second.curve.instance == second.recommendation.recommended.instance
    assert second.curve.instance != first.curve.instance
