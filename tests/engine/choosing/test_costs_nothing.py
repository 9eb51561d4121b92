"""Owned nodes alone, without a master: they cost nothing, which is a cost like others."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from synthetic import DAY, catalog_of, model, offer

from engine.catalog import Billing, Catalog
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.selection import select
from engine.cost import itemised
from engine.optimiser import recommend, surface_of

FITTED = model(
    lambda name, nodes: (900.0 if name == "fast" else 3600.0) / nodes**0.9, log_scale=0.1
)
TWO = catalog_of(offer("slow", 0.1), offer("fast", 0.5, spot=0.2))
ALONE = Limits(owned=(("slow", 2),), most=(("fast", 0), ("slow", 2)))
"""Nothing but two owned nodes."""


def ask(limits: Limits = ALONE, catalog: Catalog = TWO, **goal) -> Recommendation:
    return recommend(
        FITTED, catalog=catalog, max_nodes=6, instances=["*"], limits=limits,
        today=DAY, **goal,
    )  # fmt: skip


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize(
    "goal",
    [
        {"budget_usd": 1.0},
        {"deadline_seconds": 5000.0},
        {"deadline_seconds": 5000.0, "budget_usd": 1.0},
        {"deadline_seconds": 5000.0, "budget_usd": 1.0, "objective": "time"},
        {},
    ],
)
def test_nothing_is_cheaper_than_what_costs_nothing(goal: dict, mix: int) -> None:
    """It stands whatever the budget, so no budget is named and no loosening saves anything."""
    answer = ask(mix=mix, with_sensitivity=True, **goal)
    assert set(answer.recommended.composition) == {"slow"}
    assert answer.recommended.cost_usd == 0.0
    found = answer.sensitivity
    assert found.least_budget_usd is None
    assert found.looser == ()
    assert found.one_more_hour is None
    if "deadline_seconds" not in goal:
        assert found.below is None


@pytest.mark.parametrize("mix", [1, 2])
def test_the_last_step_of_a_deadline_may_be_what_costs_nothing(mix: int) -> None:
    """Beyond it nothing is asked for: no budget is less than nothing."""
    answer = ask(Limits(owned=(("slow", 2),)), mix=mix, deadline_seconds=1700.0,
                 with_sensitivity=True)  # fmt: skip
    assert answer.recommended.cost_usd > 0.0
    last = answer.sensitivity.looser[-1]
    assert (last.composition, last.cost_usd) == ({"slow": 2}, 0.0)
    assert answer.sensitivity.one_more_hour.cost_usd == 0.0


def test_the_miss_of_what_costs_nothing_is_its_time() -> None:
    answer = ask(deadline_seconds=1000.0, budget_usd=0.001)
    assert answer.nearest.composition == {"slow": 2}
    assert [(one.instance, one.code) for one in answer.rejected] == [
        ("slow", "deadline"),
        ("fast", "limits"),
    ]


def test_a_price_that_nobody_pays_is_not_warned_of() -> None:
    """The spot price of the fast type is an estimate, and all prices are a year old."""
    limits = Limits(owned=(("fast", 2),))
    asked = {"instances": ["fast"], "spot": True, "today": DAY + timedelta(days=365)}
    rented = {"catalog": TWO, "max_nodes": 3, "limits": limits, **asked}
    free = recommend(FITTED, deadline_seconds=1000.0, **rented).recommended
    assert free.composition == {"fast": 2}
    assert not {"estimated-price", "old-price"} & {notice.code for notice in free.warnings}
    assert not any("estimated" in line for line in free.cost.assumptions)
    paid = recommend(FITTED, deadline_seconds=400.0, **rented).recommended
    assert paid.composition == {"fast": 3}
    assert {"estimated-price", "old-price"} <= {notice.code for notice in paid.warnings}
    assert any("estimated" in line for line in paid.cost.assumptions)


def test_what_is_owned_needs_no_dbus() -> None:
    """Of the slow type nobody knows how many DBUs it takes per hour."""
    catalog = catalog_of(
        offer("slow", 0.1),
        replace(offer("fast", 0.5), dbu_per_hour=2.0),
        billing=Billing(usd_per_dbu=0.3),
    )
    answer = ask(Limits(owned=(("slow", 2),)), catalog, deadline_seconds=5000.0)
    assert answer.recommended.composition == {"slow": 2}
    assert answer.recommended.cost_usd == 0.0
    assert answer.recommended.cost_low_usd == answer.recommended.cost_high_usd == 0.0
    bare = ask(Limits(), catalog, deadline_seconds=5000.0)
    assert bare.recommended.composition == {"fast": 1}
    assert [(one.instance, one.code) for one in bare.rejected] == [("slow", "no-dbus")]


def test_dbus_that_cost_nothing_need_not_be_known() -> None:
    answer = ask(Limits(), deadline_seconds=5000.0, billing=Billing(usd_per_dbu=0.0))
    plain = ask(Limits(), deadline_seconds=5000.0)
    assert answer.recommended.composition == plain.recommended.composition == {"slow": 1}
    assert answer.recommended.cost_usd == plain.recommended.cost_usd
    assert len(answer.frontier) == len(plain.frontier) > 1


@pytest.mark.parametrize("limits", [Limits(min_nodes=5), Limits(executors=(5, 9))])
def test_what_the_most_nodes_of_a_goal_keep_out_is_not_said_to_lack_a_prediction(
    limits: Limits,
) -> None:
    """A surface may hold more nodes than the goal asks for: the planner's always does."""
    surface = surface_of(FITTED, TWO, instances=["*"], max_nodes=6, limits=limits)
    assert {one.code for one in select(surface, Goal(3000.0, max_nodes=3)).rejected} == {"limits"}
    assert select(surface, Goal(3000.0, max_nodes=5)).recommended.nodes == 5


def test_no_spot_price_is_said_whatever_is_asked_for_at_least() -> None:
    answer = ask(Limits(min_nodes=3), budget_usd=1.0, spot=True)
    assert [(one.instance, one.code) for one in answer.rejected] == [("slow", "no-spot-price")]


@pytest.mark.parametrize("paid", [0, 1, 3])
def test_parts_of_a_cost_add_up_whatever_is_owned(paid: int) -> None:
    billing = Billing(
        granularity_seconds=60.0, startup_seconds=100.0, discount_fraction=0.25,
        surcharge_fraction=0.2, surcharge_usd_per_vcpu_hour=0.01, usd_per_dbu=0.5, master="master",
    )  # fmt: skip
    one, master = (
        replace(offer("slow", 0.1), dbu_per_hour=1.0 if paid else None),
        replace(offer("master", 0.4), dbu_per_hour=2.0),
    )
    cost = itemised(
        nodes=paid, owned=2, seconds=70.0, offer=one, billing=billing,
        catalog=catalog_of(one, master),
    )  # fmt: skip
    # 170 s are billed as 180; a worker takes 0.075 + 0.02 + 0.04 + 0.5, the master
    # 0.3 + 0.08 + 0.04 + 1 dollars an hour.
    assert cost.billed_seconds == 180.0
    assert cost.total_usd == pytest.approx(0.05 * (paid * 0.635 + 1.42))
    assert np.isfinite(list(cost.parts.values())).all()


@pytest.mark.parametrize("seconds", [7.57, 0.1, 1234.567, 5000.0 / 3.0])
def test_where_nothing_is_rounded_no_part_is_rounding(seconds: float) -> None:
    """Not the last digit of 210 + 7.57 - 210 either, which was listed as "under $0.001"."""
    exact = Billing(granularity_seconds=0.0, startup_seconds=210.0)
    cost = itemised(
        nodes=3, seconds=seconds, offer=TWO.offer("slow"), billing=exact, catalog=TWO
    )  # fmt: skip
    assert cost.rounding_usd == 0.0
    assert cost.total_usd == pytest.approx(0.3 * (210.0 + seconds) / 3600.0, rel=1e-12)
    begun = replace(exact, granularity_seconds=1.0)
    whole = itemised(nodes=3, seconds=89.5, offer=TWO.offer("slow"), billing=begun, catalog=TWO)
    assert whole.rounding_usd == pytest.approx(0.3 * 0.5 / 3600.0)
