"""The largest input with which an answer holds, as it is told, against predictions one by one."""

from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from depth import values
from shared import SHARED, needs_shared

import engine
from engine.text.reachable import factor_steps_per_unit

CATALOG = engine.load_catalog("aws")
TYPES = ["m5.xlarge", "m5.4xlarge", "c5.2xlarge", "r5.xlarge", "m4.2xlarge"]

LOGS_AND_TABLES = [
    ("nightly-features", {"deadline_seconds": 900.0}),
    ("sales-report-large", {"deadline_seconds": 600.0}),  # coalesced partitions
    ("movie-als-large", {"budget_usd": 0.2}),  # cached data
    ("pagerank-large", {"deadline_seconds": 600.0}),  # spills
    ("word-count-large", {"deadline_seconds": 200.0, "budget_usd": 0.5}),
    ("ernest-rcv1", {"deadline_seconds": 300.0}),
]
MORE = [
    ("nightly-features", {"deadline_seconds": 95.0}),
    ("nightly-features", {"budget_usd": 1.0}),
    ("sales-report-small", {"deadline_seconds": 7200.0}),
    ("movie-als-small", {"deadline_seconds": 300.0, "confidence": 0.5}),
    ("pagerank-small", {"budget_usd": 3.0}),
    ("sort-large", {"deadline_seconds": 60.0}),
    ("order-stream-large", {"deadline_seconds": 10.0}),
]


@dataclass(frozen=True)
class Rented:
    """How the nodes of an answer are paid for.

    Args:
        asked: arguments of `recommend` beside the goal.
        priced: those of them that `predict_composition` takes too.
        owned: nodes that cost nothing.
    """

    asked: dict[str, object] = field(default_factory=dict)
    priced: dict[str, object] = field(default_factory=dict)
    owned: int = 0


ON_DEMAND = Rented()


@cache
def fitted_to(
    source: str, *, ran_on: str | None = "m5.xlarge", model: str = engine.DEFAULT_MODEL
) -> engine.FittedModel:
    """Several goals are asked of one model."""
    read = engine.read(source, ran_on=ran_on) if ran_on else engine.read(source)
    return engine.fit(read, model=model)


def kept(
    answer: engine.Recommendation, fitted: engine.FittedModel, times: float, how: Rented = ON_DEMAND
) -> bool:
    """Whether a prediction of the recommended cluster on more input keeps the goal."""
    best, goal = answer.recommended, answer.goal
    workload = fitted.profile.reference_workload.times(times)
    choice = engine.predict_composition(
        fitted, composition=best.composition, catalog=CATALOG, workload=workload,
        deadline_seconds=goal.deadline_seconds, confidence=goal.confidence, **how.priced,
    ).choice  # fmt: skip
    late = False
    if goal.deadline_seconds is not None and choice.p_deadline is None:
        late = choice.seconds >= goal.deadline_seconds
    elif goal.deadline_seconds is not None:
        late = choice.p_deadline < goal.confidence - 1e-9
    billed = sum(best.composition.values()) + 1  # the master is such a node
    return not late and choice.cost_usd * (1.0 - how.owned / billed) <= goal.most_usd


def assert_told_truly(
    source: str,
    goal: dict[str, float],
    *,
    ran_on: str | None,
    model: str = engine.DEFAULT_MODEL,
    how: Rented = ON_DEMAND,
) -> engine.Recommendation:
    fitted = fitted_to(source, ran_on=ran_on, model=model)
    asked = {"instances": TYPES, "max_nodes": 16, "with_sensitivity": True} | how.asked
    answer = engine.recommend(fitted, catalog=CATALOG, **asked, **goal)
    found = answer.sensitivity
    if found.holds_until is None:
        assert "1024 times the input, the most that is tried" in found.holds_note
        assert kept(answer, fitted, 1024.0, how)
        return answer
    told = float(engine.format_factor(found.holds_until))
    per_unit = factor_steps_per_unit(told)
    assert kept(answer, fitted, told, how)
    assert kept(answer, fitted, found.holds_until, how)
    assert not kept(answer, fitted, round(told * per_unit + 1.0) / per_unit, how)
    return answer


@pytest.mark.parametrize(("source", "goal"), values(*LOGS_AND_TABLES, deep=MORE))
def test_the_factor_told_is_kept_and_the_next_is_not(source: str, goal: dict[str, float]) -> None:
    ran_on = None if source == "ernest-rcv1" else "m5.xlarge"
    assert_told_truly(source, goal, ran_on=ran_on)


@needs_shared
@pytest.mark.parametrize("table", ["c3o/grep.csv", "c3o/sgd.csv", "scout/kmeans.csv"])
@pytest.mark.parametrize("deadline", [900.0, 3600.0])
def test_so_it_is_for_tables_of_measured_runs(table: str, deadline: float) -> None:
    """Their intervals widen all at once beyond what was measured."""
    path = SHARED / "calibration" / table
    assert_told_truly(str(path), {"deadline_seconds": deadline}, ran_on=None)


@pytest.mark.parametrize("goal", [{"deadline_seconds": 40_000.0}, {"budget_usd": 0.1}])
def test_so_it_is_for_spot_nodes_with_their_interruptions(goal: dict[str, float]) -> None:
    how = Rented(asked={"spot": True, "instances": ["m5.xlarge"]}, priced={"spot": True})
    answer = assert_told_truly("nightly-features", goal, ran_on="m5.xlarge", how=how)
    assert answer.recommended.spot == answer.recommended.composition
    assert answer.sensitivity.holds_until is not None


@pytest.mark.parametrize(("deadline", "least", "most"), [(None, 1.2, 1.3), (80.0, 1.0, 1.1)])
def test_so_it_is_for_mixes(deadline: float | None, least: float, most: float) -> None:
    """The budget decides, or the deadline before it."""
    goal = {"budget_usd": 0.1, "objective": "time"}
    goal |= {} if deadline is None else {"deadline_seconds": deadline}
    how = Rented(asked={"mix": 2, "instances": ["m5.xlarge", "c5.2xlarge", "r5.xlarge"]})
    answer = assert_told_truly("nightly-features", goal, ran_on="m5.xlarge", how=how)
    assert len(answer.recommended.composition) == 2
    assert least <= answer.sensitivity.holds_until < most


@pytest.mark.parametrize("owned", [1, 4])
def test_so_it_is_for_owned_nodes_which_cost_nothing(owned: int) -> None:
    """With four only the master is paid for, a node like the others."""
    assert CATALOG.billing.master == "m5.xlarge"
    limits = engine.Limits(owned=(("m5.xlarge", owned),), min_nodes=4)
    asked = {"instances": ["m5.xlarge"], "max_nodes": 4, "limits": limits}
    goal = {"budget_usd": 0.1, "deadline_seconds": 3600.0}
    answer = assert_told_truly(
        "nightly-features", goal, ran_on="m5.xlarge", how=Rented(asked, owned=owned)
    )
    assert answer.recommended.composition == {"m5.xlarge": 4}
    assert answer.sensitivity.holds_until is not None


def test_so_it_is_where_whole_hours_are_billed() -> None:
    """The bill stays the same up to an hour, and then doubles: that is where the budget ends."""
    hourly = {"billing": replace(CATALOG.billing, granularity_seconds=3600.0)}
    asked = hourly | {"instances": ["m5.xlarge"], "max_nodes": 1}
    answer = assert_told_truly(
        "nightly-features", {"budget_usd": 0.5}, ran_on="m5.xlarge", how=Rented(asked, hourly)
    )
    fitted = fitted_to("nightly-features")
    until = answer.sensitivity.holds_until
    seconds = engine.predict_composition(
        fitted, composition=answer.recommended.composition, catalog=CATALOG,
        workload=fitted.profile.reference_workload.times(until),
    ).choice.seconds  # fmt: skip
    startup = CATALOG.billing.startup_seconds
    assert 0.99 * 3600.0 < seconds + startup <= 3600.0


def test_without_an_interval_a_time_that_equals_the_deadline_is_late() -> None:
    """T < deadline, strictly (OptEx V)."""
    fitted = fitted_to("sort-large", model="optex")
    asked = {"catalog": CATALOG, "instances": ["m5.xlarge"], "max_nodes": 1}
    doubled = engine.predict_composition(
        fitted, composition={"m5.xlarge": 1}, catalog=CATALOG,
        workload=fitted.profile.reference_workload.times(2.0),
    ).choice  # fmt: skip
    assert doubled.low is None
    goal = {"deadline_seconds": doubled.seconds, "with_sensitivity": True}
    answer = engine.recommend(fitted, **asked, **goal)
    assert engine.format_factor(answer.sensitivity.holds_until) == "1.99"
    assert not kept(answer, fitted, 2.0)
    assert_told_truly("sort-large", {"deadline_seconds": 60.0}, ran_on="m5.xlarge", model="optex")


def test_an_answer_that_any_tried_input_keeps_says_so_and_nothing_kept_says_nothing() -> None:
    fitted = fitted_to("word-count-small")
    asked = {"catalog": engine.load_catalog("aws"), "instances": ["m5.xlarge"], "max_nodes": 4}
    boundless = engine.recommend(fitted, deadline_seconds=1e9, with_sensitivity=True, **asked)
    assert boundless.sensitivity.holds_until is None
    assert "1024 times the input" in boundless.sensitivity.holds_note
    none = engine.recommend(fitted, deadline_seconds=0.01, with_sensitivity=True, **asked)
    assert none.recommended is None
    assert none.sensitivity is None
