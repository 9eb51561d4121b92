"""The sensitivity of an answer, against plain enumeration of all clusters."""

import math

import pytest
from depth import DEEP
from two_types import CATALOG, TODAY, fitted

import engine
from engine.catalog_files.reader import load_catalog
from engine.choosing.recommendation import Goal
from engine.cost import billed_seconds
from engine.optimiser import recommend, sensitivity

NODES = 30
MODEL = fitted()


def every_cluster(confidence: float = 0.7):
    """(name, nodes, seconds, promised, cost) of all clusters of one type, one by one."""
    found = []
    for name, rate in (("small", 0.20), ("big", 1.50)):
        for nodes in range(1, NODES + 1):
            cluster = engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
            prediction = MODEL.predict(cluster=cluster, confidence=confidence)
            promised = float(prediction.forecast.quantile(confidence)[0])
            billed = float(billed_seconds(prediction.seconds, CATALOG.billing))
            cost = (nodes * rate + 0.20) * 1.25 * billed / 3600.0
            found.append((name, nodes, prediction.seconds, promised, cost))
    return found


ALL = every_cluster()


def ask(**goal) -> engine.Recommendation:
    return recommend(
        MODEL, catalog=CATALOG, max_nodes=NODES, confidence=0.7, today=TODAY,
        with_sensitivity=True, **goal,
    )  # fmt: skip


def test_an_hour_more_than_the_fastest_takes_is_not_one_more_than_its_deadline() -> None:
    """A deadline of a day binds nothing: the cheapest within 25 hours is in reach without the hour,
    and takes far longer than an hour more."""
    best = ask(budget_usd=1e6, objective="time").recommended
    named = [
        ask(budget_usd=1e6, deadline_seconds=deadline, objective="time").sensitivity.one_more_hour
        for deadline in (4000.0, 86400.0, None)
    ]
    promised = next(p for n, k, _, p, _ in ALL if {n: k} == dict(best.composition))
    for change in named:
        assert change.deadline_seconds == pytest.approx(promised + 3600.0)


@pytest.mark.parametrize("deadline", [200.0, 300.0])
def test_a_dollar_buys_the_fastest_that_costs_no_more_than_one_more(deadline: float) -> None:
    answer = ask(deadline_seconds=deadline)
    fastest = min(row[2] for row in ALL if row[4] <= answer.recommended.cost_usd + 1.0)
    assert answer.sensitivity.one_more_dollar.seconds == pytest.approx(fastest)


@pytest.mark.parametrize("objective", ["cost", "time", "resource-time"])
def test_below_the_least_budget_another_may_still_be_in_time(objective: str) -> None:
    """Whatever was to be the least, nothing was said to satisfy a smaller budget."""
    deadline, vcpus = 450.0, {"small": 4, "big": 32}
    answer = ask(deadline_seconds=deadline, budget_usd=1.4, objective=objective)
    best, found = answer.recommended, answer.sensitivity
    assert found.least_budget_usd == pytest.approx(best.cost_usd)
    left = [row for row in ALL if row[3] <= deadline and row[4] < best.cost_usd * (1 - 2e-6)]
    if objective == "cost":
        assert not left
        assert found.below_budget is None
        return
    values = {
        "time": lambda row: row[2],
        "resource-time": lambda row: row[1] * vcpus[row[0]] * row[2],
    }
    name, nodes, *_ = min(left, key=values[objective])
    assert found.below_budget.composition == {name: nodes}
    assert found.below_budget.cost_usd < found.least_budget_usd


@pytest.mark.parametrize("mix", [1, 2])
def test_the_largest_input_just_satisfies_the_goal(mix: int) -> None:
    profile = engine.read("ernest-rcv1")
    model = engine.fit(profile, model="ernest")
    catalog = engine.load_catalog("aws")
    types = ["m5.xlarge", "m5.2xlarge", "r5.4xlarge"]
    answer = recommend(
        model, catalog=catalog, deadline_seconds=600.0, instances=types, mix=mix, today=TODAY,
        with_sensitivity=True,
    )  # fmt: skip
    best, found = answer.recommended, answer.sensitivity
    assert found.holds_until > 1.0
    reference = profile.reference_workload

    def meets(times: float) -> bool:
        workload = engine.Workload(reference.input_bytes * times, reference.iterations)
        composed = engine.predict_composition(
            model, composition=best.composition, catalog=catalog, workload=workload,
            deadline_seconds=600.0,
        )  # fmt: skip
        return composed.choice.p_deadline >= 0.9

    if mix == 1 or len(best.composition) == 1:
        assert meets(found.holds_until * 0.999)
        assert not meets(found.holds_until * 1.002)


def test_what_cannot_be_said_is_said_so() -> None:
    free = ask().sensitivity
    assert free.holds_until is None
    assert "any input" in free.holds_note
    assert ask(deadline_seconds=1.0).sensitivity is None


def test_a_goal_is_kept_at_up_to_1024_times_the_input() -> None:
    """That is the most that is tried: beyond it nothing is claimed, and below it the factor is
    found however large it is."""
    boundless = ask(deadline_seconds=1e9)
    assert boundless.sensitivity.holds_until is None
    assert "1024 times the input, the most that is tried" in boundless.sensitivity.holds_note
    [(name, nodes)] = boundless.recommended.composition.items()
    cluster = engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
    for times in (700.0, 1000.0, 1500.0):
        workload = MODEL.profile.reference_workload.times(times)
        predicted = MODEL.predict(cluster=cluster, workload=workload, confidence=0.7)
        deadline = float(predicted.forecast.quantile(0.7)[0])
        found = ask(deadline_seconds=deadline)
        assert found.recommended.composition == boundless.recommended.composition
        expected = None if times > 1024.0 else pytest.approx(times, rel=2e-3)
        assert found.sensitivity.holds_until == expected


def test_a_mix_names_the_next_steps_that_matter_and_where_it_stands() -> None:
    answer = ask(deadline_seconds=420.0, mix=2)
    assert len(answer.recommended.composition) == 2
    found = answer.sensitivity
    last = answer.recommended.cost_usd
    assert found.looser
    for step in found.looser:
        assert step.deadline_seconds > 420.0
        assert step.cost_usd <= last * 0.95 * (1 + 1e-6)
        again = ask(deadline_seconds=step.deadline_seconds * (1 + 1e-6), mix=2).recommended
        assert again.cost_usd <= step.cost_usd * (1 + 1e-6)
        last = step.cost_usd
    assert found.least_deadline_seconds <= 420.0
    assert found.below.cost_usd >= answer.recommended.cost_usd
    again = ask(deadline_seconds=found.least_deadline_seconds * (1 + 1e-6), mix=2).recommended
    assert again.composition == answer.recommended.composition


@pytest.mark.parametrize("deadline", [190.0, 240.0] if DEEP else [240.0])
def test_no_step_of_a_mix_is_named_later_than_one_that_saves_as_much(deadline: float) -> None:
    """Of types that are not equally sure, the fastest for a cost need not promise least time."""
    aws = load_catalog("aws")
    runs = tuple(
        engine.Run(
            seconds,
            engine.Cluster.of_nodes(instance_type="m4.2xlarge", nodes=nodes, catalog=aws),
            engine.Workload(size),
        )
        for nodes, size, seconds in (
            (4, 48e9, 312.4), (8, 48e9, 190.1), (4, 24e9, 171.9), (16, 48e9, 126.0)
        )
    )  # fmt: skip
    asked = {
        "catalog": aws, "instances": ["m4.2xlarge", "m7a.*", "c6a.*large", "c7a.*"],
        "max_nodes": 16, "mix": 2, "today": TODAY,
    }  # fmt: skip
    table = engine.fit(engine.Profile("table", runs))
    answer = recommend(table, deadline_seconds=deadline, with_sensitivity=True, **asked)
    last = answer.recommended.cost_usd
    assert answer.sensitivity.looser
    for step in answer.sensitivity.looser:
        just_before = step.deadline_seconds * (1.0 - 1e-6)
        before = recommend(table, deadline_seconds=just_before, **asked).recommended
        assert before.cost_usd > 0.95 * last * (1.0 - 1e-6)
        last = step.cost_usd


@pytest.mark.parametrize(
    "goal",
    [
        {"budget_usd": 1.0},
        {"deadline_seconds": 420.0, "objective": "time"},
        {"deadline_seconds": 420.0, "objective": "resource-time"},
        {"deadline_seconds": 420.0, "budget_usd": 5.0},
        {"objective": "cost"},
    ],
)
def test_every_goal_of_a_mix_has_its_steps_or_none(goal: dict) -> None:
    answer = ask(mix=2, **goal)
    found = answer.sensitivity
    assert found.looser is not None
    for step in found.looser:
        if "budget_usd" in goal and "deadline_seconds" not in goal:
            assert step.budget_usd > goal["budget_usd"]
            assert step.seconds <= answer.recommended.seconds * 0.95 * (1 + 1e-6)
        else:
            assert step.deadline_seconds > goal["deadline_seconds"]


def test_a_surface_can_be_asked_directly() -> None:
    plan = engine.prepare_fitted(MODEL, engine.PlanRequest(MODEL.profile, CATALOG, max_nodes=NODES))
    found = sensitivity(plan.surface, Goal(300.0, None, 0.7, NODES))
    assert found.to_dict() == ask(deadline_seconds=300.0).sensitivity.to_dict()
    assert math.isfinite(found.least_deadline_seconds)
