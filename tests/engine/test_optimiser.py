"""What each goal, price and input means to the optimiser."""

import math
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from synthetic import DAY, SLOW, TWO, catalog_of, model, offer, profile_on, surface_of, two_law

from engine.catalog import Billing
from engine.choosing.difference_texts import missed_by
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Goal
from engine.choosing.selection import select
from engine.errors import BadInput, UnknownName
from engine.notices import Notice
from engine.optimiser import recommend


def test_a_deadline_takes_the_cheapest_that_meets_it() -> None:
    answer = recommend(model(two_law), catalog=TWO, deadline_seconds=1000.0, max_nodes=8)
    best = answer.recommended
    assert best.composition == {"slow": 5}
    assert best.p_deadline is None
    assert best.low is None
    assert [notice.code for notice in answer.warnings] == ["no-interval"]
    assert answer.optimal
    assert answer.evaluated == 16
    assert [choice.composition for choice in answer.alternatives] == [{"fast": 6}]


def stepped(name: str, nodes: np.ndarray) -> np.ndarray:
    return np.select([nodes == 1, nodes == 2], [1000.0, 500.0], 400.0)


def test_without_an_interval_the_deadline_is_strict() -> None:
    """OptEx Eq. 9: T < SLO."""
    fitted = model(stepped)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=500.0, max_nodes=10)
    assert answer.recommended.nodes == 3, "two nodes take exactly 500 s"


def test_an_exact_model_meets_the_deadline_it_equals() -> None:
    fitted = model(stepped, log_scale=0.0)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=500.0, max_nodes=10)
    assert (answer.recommended.nodes, answer.recommended.p_deadline) == (2, 1.0)


def test_a_budget_takes_the_fastest_within_it() -> None:
    answer = recommend(model(two_law), catalog=TWO, budget_usd=0.126, max_nodes=8)
    best = answer.recommended
    assert best.composition == {"fast": 8}
    assert best.p_deadline is None
    tight = recommend(model(two_law), catalog=TWO, budget_usd=0.11, max_nodes=8)
    assert tight.recommended.composition == {"slow": 2}
    assert tight.recommended.why == (
        "one node fewer takes 28 min longer and costs $0.0072 less",
        "3 × slow is the next faster (22m 19s) but over budget by $0.00167",
    )
    assert [entry.instance for entry in tight.rejected] == ["fast"]
    assert tight.rejected[0].code == "budget"
    assert tight.rejected[0].reason.startswith("over budget by $0.015")


def test_a_budget_may_be_met_to_the_cent() -> None:
    """Ernest 6.3: an hour on 64 machines at 0.35 costs 22.4, and OptEx I at 0.1403."""
    fitted = model(lambda name, nodes: np.full(len(nodes), 3600.0) - nodes)
    exact = Billing(granularity_seconds=0.0)
    for price, nodes in ((0.35, 64), (0.1403, 30), (0.1, 3)):
        catalog = catalog_of(offer("a", price), billing=exact)
        budget = nodes * price * (3600 - nodes) / 3600
        answer = recommend(fitted, catalog=catalog, budget_usd=budget, max_nodes=100)
        assert answer.recommended.nodes == nodes


def test_without_a_goal_the_cheapest_wins() -> None:
    answer = recommend(model(two_law), catalog=TWO, max_nodes=8)
    assert answer.recommended.composition == {"slow": 1}
    assert answer.rejected[:] == ()
    assert answer.warnings == ()


def test_the_nearest_miss_keeps_every_constraint() -> None:
    answer = recommend(
        model(two_law, log_scale=0.1), catalog=TWO, deadline_seconds=60.0, max_nodes=8
    )
    assert answer.recommended is None
    assert answer.nearest.composition == {"fast": 8}
    assert answer.nearest.p_deadline < 0.9
    by_type = {entry.instance: entry for entry in answer.rejected}
    assert by_type["fast"].composition == {"fast": 8}
    assert by_type["fast"].reason == "misses the deadline by 1m 08s at 90 % with 8 nodes"
    assert by_type["fast"].late_seconds == pytest.approx(
        112.5 * math.exp(0.1 * 1.2815516) - 60, rel=1e-4
    )
    assert by_type["slow"].composition == {"slow": 8}
    assert len(answer.alternatives) == 0


def test_a_miss_by_doubt_alone_is_told_alike() -> None:
    fitted = model(lambda name, nodes: 100.0 / nodes, log_scale=0.5)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=60.0, max_nodes=2)
    assert answer.recommended is None
    assert answer.rejected[0].reason == "misses the deadline by 35 s at 90 % with 2 nodes"
    assert answer.rejected[0].late_seconds == pytest.approx(
        50 * math.exp(0.5 * 1.2815516) - 60, rel=1e-4
    )


def test_misses_go_by_what_they_say() -> None:
    """The slower type may be the surer one: its miss is the smaller, and comes first."""
    fitted = model(
        lambda name, nodes: (110.0 if name == "slow" else 90.0) / nodes,
        log_scales={"slow": 0.01, "fast": 0.5},
    )
    answer = recommend(fitted, catalog=TWO, deadline_seconds=50.0, max_nodes=1)
    assert [entry.instance for entry in answer.rejected] == ["slow", "fast"]
    assert answer.nearest.instance == "slow"


def test_of_two_that_miss_a_deadline_alike_the_cheaper_comes_first() -> None:
    """The first by name did, and of one type the fewest nodes though more cost less."""
    catalog = catalog_of(offer("alike-dear", 0.5), offer("cheap", 0.1))
    fitted = model(lambda name, nodes: 100.0 + 0.0 * nodes)
    answer = recommend(fitted, catalog=catalog, deadline_seconds=50.0, max_nodes=3)
    assert answer.nearest.composition == {"cheap": 1}
    assert [entry.instance for entry in answer.rejected] == ["cheap", "alike-dear"]


def test_of_two_that_miss_a_budget_alike_the_faster_comes_first() -> None:
    """By the hour two nodes for an hour cost what one costs for two."""
    hourly = Billing(granularity_seconds=3600.0)
    catalog = catalog_of(offer("slow", 0.1), offer("swift", 0.1), billing=hourly)
    fitted = model(lambda name, nodes: (7200.0 if name == "slow" else 7100.0) / nodes)
    answer = recommend(fitted, catalog=catalog, budget_usd=0.1, max_nodes=2)
    assert answer.nearest.composition == {"swift": 2}
    told = [dict(entry.composition) for entry in answer.rejected]
    assert told == [{"swift": 2}, {"slow": 2}]


@pytest.mark.parametrize(
    ("late", "confidence", "said"),
    [
        (5.664, 0.9, "misses the deadline by 6 s at 90 %"),
        (443.0, 0.9, "misses the deadline by 7m 20s at 90 %"),
        (83.0, 0.999, "misses the deadline by 1m 23s at 99.9 %"),
        (83.0, 0.9999999, "misses the deadline by 1m 23s at 99.99999 %"),
        (1.21, 0.9, "misses the deadline by 1 s at 90 %"),
        (1.19, 0.9, "misses the deadline by less than 1.2 s at 90 %"),
        (1e-9, 0.9, "misses the deadline by less than 1.2 s at 90 %"),
        (83.0, None, "misses the deadline by 1m 23s"),
        (0.0, None, "takes all of the time up to the deadline"),
    ],
)
def test_how_late_in_words(late: float, confidence: float | None, said: str) -> None:
    assert missed_by(late, confidence, deadline_seconds=120.0) == said


def test_ties_go_to_the_faster_then_fewer_nodes_then_the_name() -> None:
    linear = model(lambda name, nodes: 1000.0 / nodes)
    exact = catalog_of(SLOW, billing=Billing(granularity_seconds=0.0))
    answer = recommend(linear, catalog=exact, max_nodes=7)
    assert answer.recommended.nodes == 7, "all cost the same, seven are the fastest"
    flat = model(lambda name, nodes: np.full(len(nodes), 100.0))
    twins = catalog_of(offer("b", 0.1), offer("a", 0.1), offer("half", 0.05))
    answer = recommend(flat, catalog=twins, instances=["a", "b"], max_nodes=3)
    assert answer.recommended.composition == {"a": 1}
    sized = model(lambda name, nodes: 100.0 / (nodes * (0.5 if name == "half" else 1.0)))
    equal = recommend(sized, catalog=replace(twins, billing=exact.billing), budget_usd=1.0)
    assert equal.recommended.composition == {"a": 64}


def test_why_it_won() -> None:
    fitted = model(two_law, log_scale=0.1)
    answer = recommend(fitted, catalog=TWO, deadline_seconds=1000.0, max_nodes=8)
    best = answer.recommended
    assert best.composition == {"slow": 5}
    assert best.why == (
        "one node fewer misses the deadline in 63 % of runs",
        "the next best type, 6 × fast, costs $0.0075 more",
    )


def test_a_choice_says_everything() -> None:
    warned = Notice("cache-does-not-fit", "the cache does not fit", "more nodes")
    fitted = model(two_law, log_scale=0.1, warned=(warned,), profile=profile_on(SLOW.instance))
    answer = recommend(fitted, catalog=TWO, deadline_seconds=1000.0, max_nodes=8, today=DAY)
    best, other = answer.recommended, answer.alternatives[0]
    assert best.warnings == (warned,)
    assert [notice.code for notice in other.warnings] == ["no-cpu-score"]
    assert best.executors == 5 * best.layout.executors_per_node
    assert best.vcore_seconds == pytest.approx(best.seconds * best.executors * 4)
    assert (best.note, other.note) == ("measured type", "no CPU score")
    assert best.cost_usd == pytest.approx(best.cost.total_usd)


def test_the_next_cheaper_may_be_of_another_type() -> None:
    fitted = model(lambda name, nodes: np.full(len(nodes), 100.0 if name == "fast" else 400.0))
    answer = recommend(fitted, catalog=TWO, deadline_seconds=150.0, max_nodes=2)
    assert answer.recommended.why == (
        "1 × slow is the next cheaper ($0.0111) but misses the deadline by 4m 10s",
    )


def test_notes_tell_how_the_speed_came_about() -> None:
    scored = catalog_of(offer("a", 0.1, cpu_score=4e4), offer("b", 0.1, cpu_score=5e4))
    known = model(two_law, profile=profile_on(scored.offer("a").instance))
    notes = {
        choice.instance: choice.note
        for answer in [recommend(known, catalog=scored)]
        for choice in [answer.recommended, *answer.alternatives]
        if choice
    }
    assert notes == {"a": "measured type", "b": "speed transferred"}
    unknown = recommend(model(two_law), catalog=scored)
    assert unknown.recommended.note == "source type unknown"


# ---- prices --------------------------------------------------------------------------------


def test_spot_prices_are_labelled_and_types_without_one_rejected() -> None:
    catalog = catalog_of(offer("a", 0.1, spot=0.03), offer("b", 0.1))
    answer = recommend(model(two_law), catalog=catalog, spot=True, today=DAY)
    assert answer.recommended.instance == "a"
    codes = [notice.code for notice in answer.recommended.warnings]
    assert codes == ["estimated-price", "spot-interruptions"]
    assert [(entry.instance, entry.code) for entry in answer.rejected] == [("b", "no-spot-price")]
    assert answer.recommended.cost.assumptions[0].startswith("price estimated")


def test_of_a_type_without_a_spot_price_no_more_than_is_owned_comes_near_a_deadline() -> None:
    catalog = catalog_of(offer("a", 0.1), offer("b", 0.1, spot=0.03))
    answer = recommend(
        model(two_law), catalog=catalog, spot=True, limits=Limits(owned=(("a", 2),)),
        deadline_seconds=1.0, max_nodes=8,
    )  # fmt: skip
    assert {one.instance: one.composition for one in answer.rejected} == {
        "a": {"a": 2},
        "b": {"b": 8},
    }


def test_spot_where_no_spot_price_is_known_is_bad_input() -> None:
    """No goal can be met there: it is not the goal that is at fault."""
    for goal in ({"deadline_seconds": 10.0}, {"budget_usd": 5.0, "mix": 2}):
        with pytest.raises(BadInput, match="no type that is compared has a spot price"):
            recommend(model(two_law), catalog=TWO, spot=True, **goal)


def test_of_a_surface_only_types_without_a_spot_price() -> None:
    surface = surface_of(model(two_law), TWO, 4)
    answer = select(surface, Goal(10.0, max_nodes=4), replace(TWO.billing, spot=True))
    assert answer.recommended is None
    assert answer.nearest is None
    assert {entry.code for entry in answer.rejected} == {"no-spot-price"}
    assert len(answer.frontier) == 0


@pytest.mark.parametrize(
    ("today", "historic", "codes"),
    [
        (date(2026, 12, 1), False, []),
        (date(2027, 3, 1), False, ["old-price"]),
        (date(2027, 3, 1), True, []),
        (DAY - timedelta(days=1), False, []),
        (DAY - timedelta(days=2), False, ["future-price"]),
        (DAY - timedelta(days=2), True, []),
    ],
)
def test_prices_of_another_day(today: date, historic: bool, codes: list[str]) -> None:
    answer = recommend(model(two_law), catalog=replace(TWO, historic=historic), today=today)
    assert answer.recommended is not None
    assert [notice.code for notice in answer.recommended.warnings] == codes


def test_a_billing_of_ones_own() -> None:
    billing = Billing(granularity_seconds=3600.0)
    answer = recommend(model(two_law), catalog=TWO, billing=billing, deadline_seconds=1000.0)
    assert answer.recommended.composition == {"slow": 5}
    assert answer.recommended.cost_usd == pytest.approx(0.5)
    assert [dict(choice.composition) for choice in answer.alternatives] == [{"fast": 1}]


# ---- input that cannot be used -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mix": 0}, "mix must lie between 1 and 3"),
        ({"mix": "2"}, "mix must lie between 1 and 3, not '2'"),
        ({"deadline_seconds": 0.0}, "deadline_seconds must be more than zero"),
        ({"deadline_seconds": math.nan}, "deadline_seconds must be more than zero"),
        ({"budget_usd": -1.0}, "budget_usd must be more than zero"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"max_nodes": 0}, "max_nodes must be at least 1"),
        ({"max_nodes": 2.5}, "max_nodes must be a whole number"),
        ({"max_nodes": "8"}, "max_nodes must be a whole number, not '8'"),
        ({"deadline_seconds": "45m"}, "deadline_seconds must be a number, not '45m'; engine.parse"),
        ({"budget_usd": "$5"}, "budget_usd must be a number, not '.5'; engine.parse_usd makes one"),
        ({"confidence": "0.9"}, "confidence must lie between 0 and 1, not '0.9'"),
        ({"workload": 5e9}, "a workload is needed, not 5000000000.0; make it with"),
        ({"max_nodes": 10_000_000}, "cannot be compared at once; at most 2000000 nodes"),
        ({"instances": ["slwo"]}, "unknown instance type 'slwo'; did you mean slow"),
        ({"billing": Billing(master="king")}, "unknown instance type 'king'"),
        ({"billing": "spot"}, "engine.Billing is needed, not 'spot'; start from catalog.billing"),
        ({"limits": None}, "engine.Limits is needed, not None; leave it out for none"),
        ({"today": "2026-11-21"}, "a date for today is needed, not '2026-11-21'"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        recommend(model(two_law), catalog=TWO, **options)


@pytest.mark.parametrize("count", [4.0, np.int64(4), np.float64(4.0)])
def test_a_whole_number_of_nodes_may_come_as_another_kind_of_number(count: float) -> None:
    """As JSON and pandas have them: 4.0 ended in a TypeError."""
    found = recommend(model(two_law), catalog=TWO, max_nodes=count)
    assert found.to_dict() == recommend(model(two_law), catalog=TWO, max_nodes=4).to_dict()
    assert type(found.goal.max_nodes) is int


def test_a_profile_is_no_fitted_model() -> None:
    with pytest.raises(BadInput, match="a fitted model is needed, not Profile; fit one with"):
        recommend(model(two_law).profile, catalog=TWO)


def test_a_surface_ends_somewhere() -> None:
    surface = surface_of(model(two_law), TWO, 8)
    with pytest.raises(BadInput, match="the surface ends at 8 nodes, not 9"):
        select(surface, Goal(max_nodes=9))
    with pytest.raises(UnknownName):
        surface.index("other", 1)
    with pytest.raises(BadInput, match="outside 1 to 8"):
        surface.index("slow", 9)


def test_types_without_a_prediction_are_rejected() -> None:
    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        return np.full(len(nodes), np.nan) if name == "fast" else 100.0 / nodes

    answer = recommend(model(law), catalog=TWO, deadline_seconds=50.0)
    assert answer.recommended is not None
    assert [(entry.instance, entry.code) for entry in answer.rejected] == [
        ("fast", "no-prediction")
    ]


def test_a_name_is_no_catalog_and_one_glob_no_list() -> None:
    with pytest.raises(BadInput, match="a catalog is needed, not 'aws'; load it with"):
        recommend(model(two_law), catalog="aws")
    with pytest.raises(BadInput, match=r"a list of instance types is needed, not 's\*'; write"):
        recommend(model(two_law), catalog=TWO, instances="s*")
    with pytest.raises(BadInput, match=r"a list of instance types is needed, not 5"):
        recommend(model(two_law), catalog=TWO, instances=5)
    with pytest.raises(BadInput, match="the name or glob of an instance type is needed, not list"):
        recommend(model(two_law), catalog=TWO, instances=[["s*"]])
