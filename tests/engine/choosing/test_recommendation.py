"""What an answer says of itself: when its nearest miss counts, and what is hardly slower."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.choosing.recommendation import Choice, Goal, Recommendation, Rejected
from engine.cluster import BesideHeap, Layout
from engine.errors import BadInput, UnknownName


def choice(seconds: float, cost_usd: float | None, nodes: int = 3, **more: Any) -> Choice:
    return Choice({"small": nodes}, "small", nodes, seconds, None, None, None, cost_usd, **more)


def answer(goal: Goal, **more: Any) -> Recommendation:
    given = {"recommended": None, "frontier": (), "rejected": (), "nearest": None} | more
    return Recommendation(
        goal=goal, model="table", alternatives=(), optimal=True, evaluated=1, **given
    )


def missed(
    late: float | None, over: float | None, nodes: int = 3, least: int = 3
) -> Recommendation:
    first = Rejected("small", {"small": nodes}, "too late", "deadline", 120.0, 5.0, late, over)
    other = Rejected("big", {"big": 1}, "too dear", "budget", 120.0, 7.0, 90.0, 2.0)
    return answer(Goal(100.0, 4.0), rejected=(first, other), nearest=choice(120.0, 5.0, least))


@pytest.mark.parametrize(
    ("late", "over", "enough_seconds", "enough_usd"),
    [(20.0, None, 120.0, None), (None, 1.0, None, 5.0), (20.0, 1.0, None, None)],
)
def test_one_limit_alone_is_enough_where_the_other_is_kept(
    late: float | None, over: float | None, enough_seconds: float, enough_usd: float
) -> None:
    found = missed(late, over)
    assert found.nearest_miss is found.rejected[0]
    assert found.enough_seconds == (enough_seconds and pytest.approx(enough_seconds))
    assert found.enough_usd == enough_usd
    assert enough_seconds is None or found.enough_seconds > enough_seconds, "in any rounding"


def test_a_miss_of_another_composition_says_nothing_of_the_nearest() -> None:
    for found in (missed(20.0, None, 3, 4), answer(Goal(100.0)), missed(None, 1.0, 4, 3)):
        assert (found.nearest_miss, found.enough_seconds, found.enough_usd) == (None, None, None)
    barred = Rejected("small", None, "holds no executor", "no-executor")
    none = answer(Goal(100.0), rejected=(barred,), nearest=choice(120.0, 5.0))
    assert (none.nearest_miss, none.enough_seconds, none.enough_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("costs", "found"),
    [((9.0, 5.0), 5.0), ((9.95, 5.0), 5.0), ((9.95, 9.8), 9.8), ((9.95, 9.95), None)],
)
def test_hardly_slower_is_the_cheapest_within_a_hundredth_that_saves_a_hundredth(
    costs: tuple[float, float], found: float | None
) -> None:
    """The fastest takes 1000 s for $10.00; 1011 s are too many, whatever they save."""
    fastest = choice(1000.0, 10.0)
    near = [choice(seconds, usd) for seconds, usd in zip((1005.0, 1010.0), costs, strict=True)]
    frontier = (fastest, *near, choice(1011.0, 1.0))
    asked = answer(Goal(objective="time"), recommended=fastest, frontier=frontier)
    told = asked.hardly_slower
    assert (told and told.cost_usd) == found
    for goal in (Goal(), Goal(2000.0, objective="time")):
        assert answer(goal, recommended=fastest, frontier=frontier).hardly_slower is None
    assert answer(Goal(objective="time"), frontier=frontier).hardly_slower is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"deadline_seconds": 0.0}, "deadline_seconds must be more than zero"),
        ({"budget_usd": -1.0}, "budget_usd must be more than zero"),
        ({"confidence": True}, "confidence must lie between 0 and 1"),
        ({"max_nodes": 0}, "max_nodes must be at least 1"),
        ({"max_nodes": float("inf")}, "max_nodes must be a whole number"),
    ],
)
def test_a_goal_that_asks_for_nothing_is_refused(wrong: Mapping[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Goal(**wrong)
    with pytest.raises(UnknownName):
        Goal(objective="least")


def test_plain_data_of_a_choice_has_its_layout_with_the_memory_beside_the_heap() -> None:
    """Spark's default beside a heap of 8 GiB is a tenth; what was planned stands as it is."""
    default, planned, unknown = (
        choice(9.0, None, layout=layout, spot={"small": 1}).to_dict()
        for layout in (
            Layout(2, 4, 8.0), Layout(2, 4, 8.0, BesideHeap(3.0, 1.0, 2.0)), Layout(2, 4, None)
        )
    )  # fmt: skip
    assert default["layout"] == {
        "executors_per_node": 2, "executor_cores": 4, "executor_memory_gib": 8.0,
        "executor_memory_overhead_gib": 0.8, "executor_pyspark_memory_gib": None,
        "executor_off_heap_gib": None,
    }  # fmt: skip
    assert list(planned["layout"].values()) == [2, 4, 8.0, 3.0, 1.0, 2.0]
    assert unknown["layout"]["executor_memory_overhead_gib"] is None
    assert default["spot"] == {"small": 1}
    assert default["cost_usd"] is None
    named, unnamed = Goal(9.0, objective="time").to_dict(), Goal(9.0).to_dict()
    assert named == unnamed | {"objective": "time"}
