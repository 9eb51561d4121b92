"""The reducer: what each action changes, what it leaves, and what has to be computed anew."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import optimiser
from tui.changes import (
    Action,
    DeadlineRelaxed,
    DrawCurves,
    EvidenceRead,
    FilterList,
    LoadInputs,
    MoveCrosshair,
    OpenSources,
    PlanRefused,
    RereadSources,
    ResetZoom,
    RestoreInputs,
    Select,
    SelectPoint,
    SetAxisScale,
    SetAxisWindow,
    SetBudget,
    SetCatalog,
    SetCategory,
    SetConfidence,
    SetDeadline,
    SetGoalFromPoint,
    SetInstances,
    SetJob,
    SetLimits,
    SetMaxNodes,
    SetMix,
    SetModel,
    SetRanOn,
    SetSamples,
    SetScale,
    SetSpot,
    SetTerms,
    SetTrainingBudget,
    SetTrainingPlan,
    ShowChart,
    ShowView,
    SortList,
)
from tui.reducer import nice_seconds, reduce
from tui.state import (
    CATALOG_TERMS,
    INPUTS,
    MAX_DRAWN,
    MAX_NODES,
    MAX_TYPES,
    MEASURED_JOB,
    WHOLE,
    Axes,
    AxisView,
    JobInputs,
    Limits,
    PlanState,
    Terms,
    Training,
    evidence_key,
    goal_key,
    plan_key,
)

START = PlanState(sources=("a.zstd",))

GOAL_ACTIONS: list[Action] = [
    SetDeadline(60.0),
    SetBudget(3.0),
    SetMaxNodes(7),
    SetConfidence(0.8),
    SetSpot(True),
    Select("m5.xlarge"),
]
PLAN_ACTIONS: list[Action] = [
    SetScale(2.0),
    SetJob(JobInputs(3.0)),
    SetInstances(("m5.*",)),
    SetCatalog("papers"),
    SetModel("optex"),
    SetCategory("sql"),
]
EVIDENCE_ACTIONS: list[Action] = [OpenSources(("b.zstd",)), SetRanOn("m5.xlarge")]
LOOKS: list[Action] = [ShowView("stages"), ShowChart("cost")]


@pytest.mark.parametrize("action", GOAL_ACTIONS)
def test_a_goal_only_asks_the_plan_again(action):
    after = reduce(START, action)
    assert plan_key(after) == plan_key(START)
    assert goal_key(after) != goal_key(START)


@pytest.mark.parametrize("action", PLAN_ACTIONS)
def test_an_input_builds_the_plan_again_from_the_same_evidence(action):
    after = reduce(START, action)
    assert plan_key(after) != plan_key(START)
    assert evidence_key(after) == evidence_key(START)


@pytest.mark.parametrize("action", EVIDENCE_ACTIONS)
def test_evidence_is_read_again(action):
    after = reduce(START, action)
    assert evidence_key(after) != evidence_key(START)
    assert plan_key(after) != plan_key(START)


@pytest.mark.parametrize("action", LOOKS)
def test_looking_elsewhere_computes_nothing(action):
    after = reduce(START, action)
    assert after != START
    assert (plan_key(after), goal_key(after)) == (plan_key(START), goal_key(START))


def test_a_named_source_type_depends_on_its_catalog():
    named = replace(START, ran_on="m5.xlarge")
    assert evidence_key(reduce(named, SetCatalog("papers"))) != evidence_key(named)


def test_a_deadline_starts_at_half_of_what_was_measured():
    assert reduce(START, EvidenceRead(5400.0)).deadline_seconds == 2700.0


def test_a_deadline_that_the_evidence_names_is_taken():
    assert reduce(START, EvidenceRead(5400.0, 10.0)).deadline_seconds == 10.0


def test_without_a_measured_time_the_deadline_stays_off():
    assert reduce(START, EvidenceRead(None)).deadline_seconds is None


@pytest.mark.parametrize("chosen", [SetDeadline(60.0), SetDeadline(None), SetBudget(5.0)])
def test_a_goal_that_the_user_chose_stays_when_evidence_arrives(chosen):
    before = reduce(START, chosen)
    assert reduce(before, EvidenceRead(5400.0)) == before


def test_a_default_deadline_is_relaxed_and_a_chosen_one_never():
    assert reduce(START, DeadlineRelaxed(1300.0)).deadline_seconds == 1500.0
    for chosen in (reduce(START, SetDeadline(60.0)), reduce(START, SetBudget(5.0))):
        assert reduce(chosen, DeadlineRelaxed(1000.0)) == chosen


def test_opening_other_evidence_forgets_what_was_said_about_the_old():
    before = replace(
        START, ran_on="m5.xlarge", category="sql", scale=3.0, deadline_seconds=60.0,
        deadline_chosen=True, budget_usd=1.0, max_nodes=9, catalog="papers",
    )  # fmt: skip
    after = reduce(before, OpenSources(("b.zstd",)))
    assert after == PlanState(sources=("b.zstd",), max_nodes=9, catalog="papers")


def test_adding_evidence_keeps_everything_and_reads_nothing_twice():
    before = replace(START, ran_on="m5.xlarge", deadline_seconds=60.0)
    after = reduce(before, OpenSources(("b.zstd", "a.zstd"), add=True))
    assert after == replace(before, sources=("a.zstd", "b.zstd"))


def test_another_catalog_drops_names_of_types():
    before = replace(START, instances=("m5.*",), selected="m5.xlarge")
    after = reduce(before, SetCatalog("papers"))
    assert (after.instances, after.selected) == ((), None)


def test_refused_inputs_go_back_and_a_goal_set_meanwhile_stays():
    asked = replace(START, model="optex", instances=("x",), deadline_seconds=99.0)
    assert reduce(asked, PlanRefused(START)) == replace(START, deadline_seconds=99.0)


def test_a_refused_source_brings_back_the_goal_of_the_old_one():
    good = replace(START, deadline_seconds=60.0, deadline_chosen=True)
    asked = replace(reduce(good, OpenSources(("missing",))), view="stages", chart="cost")
    assert reduce(asked, PlanRefused(good)) == replace(good, view="stages", chart="cost")


@given(st.floats(min_value=1e-3, max_value=1e6))
def test_the_size_stays_within_its_slider(scale):
    assert 0.1 <= reduce(START, SetScale(scale)).scale <= 100.0


@given(st.integers(min_value=-10, max_value=100_000))
def test_the_node_limit_stays_within_what_a_plan_holds(nodes):
    assert 1 <= reduce(START, SetMaxNodes(nodes)).max_nodes <= MAX_NODES


@given(st.floats(min_value=0.01, max_value=1e7))
def test_nice_durations_are_never_shorter_and_at_most_ten_times_as_long(seconds):
    nice = nice_seconds(seconds)
    assert seconds <= nice <= max(1.0, 10.0 * seconds)


def test_terms_belong_to_their_catalog():
    """A region or a discount of one provider means nothing with another's prices."""
    named = replace(START, catalog="azure", terms=Terms("eastus", 0.15))
    assert plan_key(named) != plan_key(replace(named, terms=CATALOG_TERMS))
    elsewhere = reduce(named, SetCatalog("gcp"))
    assert elsewhere.terms == CATALOG_TERMS
    assert reduce(elsewhere, PlanRefused(named)).terms == named.terms


BUSY = PlanState(
    sources=("a.zstd",),
    ran_on="m5.xlarge",
    category="sql",
    catalog="azure",
    terms=Terms("eastus", 0.15),
    instances=("D*",),
    model="optex",
    deadline_seconds=60.0,
    deadline_chosen=True,
    budget_usd=3.0,
    scale=2.0,
    job=JobInputs(7.0),
    max_nodes=9,
    confidence=0.8,
    spot=True,
    mix=3,
    limits=Limits((("D4", 2),), (("D*", 5),), 96.0, 3, "arm64", ("D2",), 0.5, (1, 8)),
    training=Training(4.0, "seconds", (0.1,), "peridot"),
    view="stages",
    chart="cost",
    selected="D4",
    point=("D8", 4),
    listed="D",
    order="cost",
    crosshair=5.0,
    axes=Axes(*(AxisView(True, (1.0, place + 2.0)) for place in range(len(WHOLE)))),
    drawn=("D2", "D8"),
    reading=1,
    pricing=1,
)
"""Nothing in it is as it starts: what an action forgets to reset, or resets too much, is seen."""

FRESH = PlanState(sources=BUSY.sources)

EXACT: list[tuple[Action, dict[str, Any]]] = [
    (
        OpenSources(("b.zstd",)),
        {name: getattr(FRESH, name) for name in ("ran_on", "category", "selected", "crosshair")}
        | {"sources": ("b.zstd",), "axes": WHOLE, "scale": 1.0, "job": MEASURED_JOB}
        | {"deadline_seconds": None, "deadline_chosen": False, "budget_usd": None},
    ),
    (RereadSources(("renamed",)), {"sources": ("renamed",), "reading": 2}),
    (SetDeadline(70.0), {"deadline_seconds": 70.0}),
    (SetBudget(4.0), {"budget_usd": 4.0}),
    (SetScale(3.0), {"scale": 3.0}),
    (SetMaxNodes(10), {"max_nodes": 10}),
    (SetConfidence(0.7), {"confidence": 0.7}),
    (SetSpot(False), {"spot": False}),
    (SetMix(2), {"mix": 2}),
    (SetJob(JobInputs(8.0)), {"job": JobInputs(8.0)}),
    (SetModel("boe"), {"model": "boe"}),
    (SetRanOn("D2"), {"ran_on": "D2"}),
    (SetCategory("mllib"), {"category": "mllib"}),
    (SetInstances(("E*",)), {"instances": ("E*",), "selected": None}),
    (SetTerms(Terms("westus")), {"terms": Terms("westus"), "selected": None}),
    (SetLimits(Limits()), {"limits": Limits()}),
    (
        SetCatalog("gcp"),  # names mean nothing there; numbers of cores and nodes do
        {"catalog": "gcp", "terms": CATALOG_TERMS, "instances": (), "selected": None}
        | {"limits": Limits(max_vcpus=96.0, min_nodes=3)},
    ),
    (
        SetGoalFromPoint(80.0, 12),
        {"deadline_seconds": 80.0, "budget_usd": None, "max_nodes": 12, "selected": None},
    ),
    (SetGoalFromPoint(80.0, 4), {"deadline_seconds": 80.0, "budget_usd": None, "selected": None}),
    (SetTrainingBudget(5.0, "usd"), {"training": Training(5.0, "usd", (0.1,), "peridot")}),
    (SetSamples((0.2,)), {"training": Training(4.0, "seconds", (0.2,), "peridot")}),
    (SetTrainingPlan("simcost"), {"training": Training(4.0, "seconds", (0.1,), "simcost")}),
    (ShowView("curves"), {"view": "curves", "crosshair": None}),
    (ShowChart("time"), {"chart": "time"}),
    (Select("D16"), {"selected": "D16"}),
    (SelectPoint("D16", 2), {"point": ("D16", 2)}),
    (FilterList("E"), {"listed": "E", "selected": None}),
    (SortList("time"), {"order": "time", "selected": None}),
    (SortList("cost"), {"order": "best", "selected": None}),
    (MoveCrosshair(6.0), {"crosshair": 6.0}),
    (
        SetAxisWindow("cost", (7.0, 8.0)),
        {"axes": BUSY.axes._replace(cost=AxisView(True, (7.0, 8.0)))},
    ),
    (ResetZoom(), {"axes": Axes(*(AxisView(True) for _ in WHOLE))}),
    (
        SetAxisScale("time", False),
        {"axes": BUSY.axes._replace(time=AxisView(False, BUSY.axes.time.window))},
    ),
    (DrawCurves(("E2", "E4", "E2")), {"drawn": ("E2", "E4")}),
    (DrawCurves(tuple("abcdefg")), {"drawn": tuple("abcdefg")[:MAX_DRAWN]}),
]


def test_nothing_of_the_busy_state_is_as_it_starts():
    same = {f.name for f in fields(PlanState) if getattr(BUSY, f.name) == getattr(FRESH, f.name)}
    assert same == {"sources"}


@pytest.mark.parametrize(("action", "changes"), EXACT, ids=lambda value: type(value).__name__)
def test_an_action_changes_what_it_is_about_and_nothing_else(action, changes):
    assert reduce(BUSY, action) == replace(BUSY, **changes)


@pytest.mark.parametrize("back", [RestoreInputs, LoadInputs])
def test_inputs_come_back_and_what_is_looked_at_stays(back):
    after = reduce(BUSY, back(FRESH))
    for field in fields(PlanState):
        there = FRESH if field.name in INPUTS else BUSY
        assert getattr(after, field.name) == getattr(there, field.name), field.name


def test_all_that_a_refused_plan_rests_on_goes_back_and_all_else_stays():
    """What the plan does not depend on, the refusal cannot be about."""
    after = reduce(BUSY, PlanRefused(FRESH))
    assert plan_key(after) == plan_key(FRESH)
    for field in fields(PlanState):
        name, old = field.name, getattr(FRESH, field.name)
        if name == "limits":
            continue
        there = BUSY if plan_key(replace(BUSY, **{name: old})) == plan_key(BUSY) else FRESH
        assert getattr(after, name) == getattr(there, name), name
    for name, old in FRESH.limits._asdict().items():
        limits = BUSY.limits._replace(**{name: old})
        there = BUSY if plan_key(replace(BUSY, limits=limits)) == plan_key(BUSY) else FRESH
        assert getattr(after.limits, name) == getattr(there.limits, name), name


def test_a_plan_is_built_again_for_more_nodes_than_it_holds():
    keys = [plan_key(replace(START, max_nodes=nodes)) for nodes in (1, 64, 65, 128, MAX_NODES)]
    assert keys[0] == keys[1] != keys[2] == keys[3] != keys[4]


def test_nodes_that_the_last_good_plan_does_not_hold_go_back_with_it():
    assert reduce(replace(START, max_nodes=65), PlanRefused(START)).max_nodes == 64
    assert reduce(replace(START, max_nodes=9), PlanRefused(START)).max_nodes == 9


def test_a_frontier_point_is_a_deadline_that_was_chosen():
    after = reduce(FRESH, SetGoalFromPoint(80.0, 4))
    assert after.deadline_chosen
    assert after.max_nodes == FRESH.max_nodes, "a limit that holds the point stays"
    assert reduce(after, EvidenceRead(5400.0)) == after


def test_sliders_stop_at_their_ends():
    assert [reduce(START, SetScale(scale)).scale for scale in (0.01, 0.1, 100.0, 1e4)] == [
        *(0.1, 0.1, 100.0, 100.0)
    ]
    assert [reduce(START, SetMaxNodes(n)).max_nodes for n in (0, 1, MAX_NODES, 9999)] == [
        *(1, 1, MAX_NODES, MAX_NODES)
    ]
    assert [reduce(START, SetMix(n)).mix for n in (0, 1, 3, 4)] == [1, 1, 3, 3]


def test_the_terminal_and_the_engine_limit_a_cluster_to_the_same_number_of_types() -> None:
    assert MAX_TYPES == optimiser.MAX_TYPES


@pytest.mark.parametrize(
    ("seconds", "nice"),
    [(0.2, 1), (50, 50), (50.1, 60), (3600, 3600), (3601, 4500), (86400, 86400), (86401, 172800)],
)
def test_a_nice_duration_is_the_first_that_is_not_shorter(seconds, nice):
    assert nice_seconds(seconds) == nice


@given(st.floats(min_value=60.0, max_value=86400.0))
def test_a_nice_duration_is_round_and_at_most_a_third_longer(seconds):
    nice = nice_seconds(seconds)
    assert nice <= seconds * 4.0 / 3.0
    assert nice % (900.0 if nice > 3600.0 else 15.0) == 0.0
    assert nice_seconds(nice) == nice
