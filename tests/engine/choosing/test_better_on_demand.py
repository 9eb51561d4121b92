"""Types without a lower spot price that serve a goal better on demand are named (--spot)."""

from dataclasses import replace

import pytest
from spot_types import GCP, NAMES, fitted_to_spot_types

import engine


@pytest.fixture(scope="module")
def fitted() -> engine.FittedModel:
    return fitted_to_spot_types()


CHEAPER = "t2d-standard-4"
"""It has no spot price."""


def with_better() -> engine.Catalog:
    """The catalog in which that type is worth its price."""
    offer = GCP.offer(CHEAPER)
    fast = replace(offer.instance, cpu_score=4.0 * offer.instance.cpu_score)
    return replace(GCP, offers={**GCP.offers, CHEAPER: replace(offer, instance=fast)})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"deadline_seconds": 1200.0}, "on demand costs $0"),
        ({"deadline_seconds": None, "objective": "time"}, " faster"),
        ({"deadline_seconds": 310.0, "max_nodes": 12}, "on demand satisfies the goal"),
    ],
)
def test_a_type_without_a_spot_price_that_serves_better_is_named(fitted, asked, said) -> None:
    """Under --spot nothing satisfied a goal that types left out for want of a price did."""
    catalog = with_better()
    asked = {"max_nodes": 12, "confidence": 0.5} | asked

    def told(names, **more):
        found = engine.recommend(fitted, catalog=catalog, instances=names, **asked, **more)
        return found, [n for n in found.warnings if n.code == "better-on-demand"]

    found, (notice,) = told([*NAMES, CHEAPER], spot=True)
    assert f"× {CHEAPER} " in notice.text
    assert said in notice.text
    on_demand, none = told([*NAMES, CHEAPER])
    best = on_demand.recommended
    assert best is not None
    assert notice.text.startswith(f"{best.nodes} × {best.instance} on demand")
    assert not none
    assert (found.recommended is None) == ("satisfies" in said)
    assert not told(NAMES, spot=True)[1]
    share = engine.Limits(max_spot=0.5)
    assert not told([*NAMES, CHEAPER], spot=True, limits=share)[1]


@pytest.mark.parametrize(
    ("of_listed", "named"), [(0.5, None), (1.0, None), (3.0, "ahead-4"), (None, "ahead-4")]
)
def test_a_type_whose_spot_price_is_no_lower_is_named_too(fitted, of_listed, named) -> None:
    """The two prices have different dates: at spot prices it was rented for more than on demand."""
    catalog = with_better()
    offer, spot = catalog.offer(CHEAPER), GCP.offer(NAMES[0]).spot
    listed = offer.on_demand.usd_per_hour
    price = None if of_listed is None else replace(spot, usd_per_hour=of_listed * listed)
    fast = replace(offer.instance, name="ahead-4", cpu_score=1.2 * offer.instance.cpu_score)
    ahead = replace(offer, instance=fast, spot=price)
    catalog = replace(catalog, offers={**catalog.offers, "ahead-4": ahead})
    asked = {"deadline_seconds": 310.0, "max_nodes": 12, "confidence": 0.5}
    names = [*NAMES, CHEAPER, "ahead-4"]
    on_demand = engine.recommend(fitted, catalog=catalog, instances=names, **asked).recommended
    assert on_demand is not None
    assert on_demand.instance == "ahead-4"
    found = engine.recommend(fitted, catalog=catalog, instances=names, spot=True, **asked)
    texts = [notice.text for notice in found.warnings if notice.code == "better-on-demand"]
    assert [f"× {named} on demand " in text for text in texts] == [True] * (named is not None)
    why = "types that have no spot price" if of_listed is None else "its spot price in catalog gcp"
    assert all(why in text for text in texts)


@pytest.mark.parametrize(("score", "said"), [(1.005, False), (1.05, True)])
def test_what_is_hardly_faster_on_demand_is_not_named(fitted, score, said) -> None:
    """It was "less than 1 s faster", at several times the price."""
    offer = GCP.offer("n2-standard-8")
    kind = replace(offer.instance, cpu_score=GCP.offer("n2d-standard-8").instance.cpu_score)
    faster = replace(kind, name="faster-8", cpu_score=score * kind.cpu_score)
    alike = {
        "slower-8": replace(
            offer, instance=replace(kind, name="slower-8"), spot=GCP.offer("n2d-standard-8").spot
        ),
        "faster-8": replace(offer, instance=faster, spot=None),
    }
    found = engine.recommend(
        fitted, catalog=replace(GCP, offers={**GCP.offers, **alike}), instances=list(alike),
        objective="time", max_nodes=12, confidence=0.5, spot=True,
    )  # fmt: skip
    assert found.recommended is not None
    assert ("better-on-demand" in {notice.code for notice in found.warnings}) == said


def test_a_plan_says_too_what_serves_better_on_demand(fitted) -> None:
    catalog = with_better()
    names = (*NAMES, CHEAPER)
    request = engine.PlanRequest(fitted.profile, catalog, instances=names, max_nodes=12)
    plan = engine.prepare_fitted(fitted, request)
    goal = engine.Goal(deadline_seconds=1200.0, confidence=0.5, max_nodes=12)
    billing = replace(catalog.billing, spot=True)
    select_with_mixes = plan.mixed(plan.report(goal, billing=billing), most_types=1)
    for report in (select_with_mixes, plan.settled(goal, billing)):
        codes = {notice.code for notice in report.recommendation.warnings}
        assert "better-on-demand" in codes


def test_a_type_is_named_behind_a_better_one_whose_spot_price_is_lower(fitted) -> None:
    """Only the best cluster on demand was looked at. The best one keeps the deadline on demand and,
    as its spot nodes are interrupted, not beside them."""
    catalog = with_better()
    offer, spot = catalog.offer(CHEAPER), GCP.offer(NAMES[0]).spot
    fast = replace(offer.instance, name="ahead-4", cpu_score=1.2 * offer.instance.cpu_score)
    lower = replace(spot, usd_per_hour=0.9 * offer.on_demand.usd_per_hour)
    ahead = replace(offer, instance=fast, spot=lower, interruption=">20%")
    catalog = replace(catalog, offers={**catalog.offers, "ahead-4": ahead})
    own_times = [
        engine.predict_composition(
            fitted, composition={"ahead-4": 3}, catalog=catalog, spot=at_spot, confidence=0.5
        ).choice.seconds
        for at_spot in (False, True)
    ]
    assert own_times[0] < own_times[1]
    asked = {
        "deadline_seconds": sum(own_times) / 2.0, "max_nodes": 12, "confidence": 0.5,
        "limits": engine.Limits(most=(("ahead-4", 3),)),
    }  # fmt: skip
    names = [*NAMES, CHEAPER, "ahead-4"]
    on_demand = engine.recommend(fitted, catalog=catalog, instances=names, **asked).recommended
    assert on_demand is not None
    assert on_demand.instance == "ahead-4"
    found = engine.recommend(fitted, catalog=catalog, instances=names, spot=True, **asked)
    assert found.recommended is not None
    assert found.recommended.instance in NAMES
    (text,) = (notice.text for notice in found.warnings if notice.code == "better-on-demand")
    assert f"× {CHEAPER} on demand costs $0" in text
