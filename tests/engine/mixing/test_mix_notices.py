"""What is said of a cluster of unlike nodes is true of that cluster, and said once."""

from datetime import date

import pytest

import engine

TODAY = date(2026, 8, 1)


def warned(code: str, composition: dict[str, int], **more) -> list[str]:
    catalog = engine.load_catalog("aws")
    profile = engine.read("nightly-features", ran_on=catalog.offer("m5.xlarge").instance)
    found = engine.predict_composition(
        engine.fit(profile), composition=composition, catalog=catalog, today=TODAY, **more
    )
    return [notice.text for notice in found.choice.warnings if notice.code == code]


def test_how_far_it_extrapolates_is_said_with_its_own_slots() -> None:
    """It was said of every point behind the mix: 32, 64 and 36 slots of a cluster of 36."""
    said = warned("extrapolating-nodes", {"c7a.8xlarge": 1, "c7a.xlarge": 1})
    assert said == ["observed on 2 slots, asked for 36"]


def test_a_member_on_demand_has_no_estimated_price() -> None:
    """The spot price of a type whose nodes are on demand is no part of the cost."""
    composition = {"r7a.8xlarge": 1, "c7a.xlarge": 1}
    said = warned("estimated-price", composition, spot=True, max_spot=0.5)
    assert len(said) == 1
    assert said[0].startswith("the spot price of r7a.8xlarge is an estimate of 2025-06-28: on-de")
    assert warned("estimated-price", composition) == []


@pytest.mark.parametrize("nodes", [2, 8])
def test_one_type_in_two_ways_says_it_once(nodes: int) -> None:
    said = warned("old-price", {"c7a.xlarge": nodes}, spot=True, max_spot=0.5)
    assert len(said) == len(set(said)) == 1


def test_a_runner_up_is_exported_with_all_that_the_model_warns_of() -> None:
    """Only what is recommended was; the cost says what it is at the ends of the interval."""
    catalog = engine.load_catalog("aws")
    profile = engine.read("nightly-features", ran_on=catalog.offer("m5.xlarge").instance)
    plan = engine.prepare(engine.PlanRequest(profile, catalog, instances=("c7a.*", "m7a.*")))
    goal = engine.Goal(deadline_seconds=60.0, budget_usd=None, confidence=0.9, max_nodes=64)
    found = plan.report(goal).recommendation
    second = found.alternatives[0]
    text = plan.export(found, to="spark-submit", choice=second)
    assert "[extrapolating-nodes]" in text
    assert "% of runs: " in text
    low, high = (f"${usd:.3g}" for usd in (second.cost_low_usd, second.cost_high_usd))
    assert f"(at these times: {low} to {high})" in text
