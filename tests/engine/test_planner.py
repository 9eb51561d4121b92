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
