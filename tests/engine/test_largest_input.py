"""The largest input with which an answer holds, as it is told, against predictions one by one."""

import pytest
from depth import values
from shared import SHARED, needs_shared

import engine
from engine.text.reachable import factor_steps_per_unit

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


def kept(answer: engine.Recommendation, fitted: engine.FittedModel, times: float) -> bool:
    """Whether a prediction of the recommended cluster on more input keeps the goal."""
    best, goal = answer.recommended, answer.goal
    workload = fitted.profile.reference_workload.times(times)
    composed = engine.predict_composition(
        fitted, composition=best.composition, catalog=engine.load_catalog("aws"),
        workload=workload, deadline_seconds=goal.deadline_seconds, confidence=goal.confidence,
    )  # fmt: skip
    late = goal.deadline_seconds is not None and composed.choice.p_deadline < goal.confidence - 1e-9
    return not late and composed.choice.cost_usd <= goal.most_usd


def assert_told_truly(source: str, goal: dict[str, float], *, ran_on: str | None) -> None:
    fitted = engine.fit(engine.read(source, ran_on=ran_on) if ran_on else engine.read(source))
    answer = engine.recommend(
        fitted, catalog=engine.load_catalog("aws"), instances=TYPES, max_nodes=16,
        with_sensitivity=True, **goal,
    )  # fmt: skip
    found = answer.sensitivity
    if found.holds_until is None:
        assert "1024 times the input, the most that is tried" in found.holds_note
        assert kept(answer, fitted, 1024.0)
        return
    told = float(engine.format_factor(found.holds_until))
    per_unit = factor_steps_per_unit(told)
    assert kept(answer, fitted, told)
    assert kept(answer, fitted, found.holds_until)
    assert not kept(answer, fitted, round(told * per_unit + 1.0) / per_unit)


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


def test_an_answer_that_any_tried_input_keeps_says_so_and_nothing_kept_says_nothing() -> None:
    fitted = engine.fit(engine.read("word-count-small", ran_on="m5.xlarge"))
    asked = {"catalog": engine.load_catalog("aws"), "instances": ["m5.xlarge"], "max_nodes": 4}
    boundless = engine.recommend(fitted, deadline_seconds=1e9, with_sensitivity=True, **asked)
    assert boundless.sensitivity.holds_until is None
    assert "1024 times the input" in boundless.sensitivity.holds_note
    none = engine.recommend(fitted, deadline_seconds=0.01, with_sensitivity=True, **asked)
    assert none.recommended is None
    assert none.sensitivity is None
