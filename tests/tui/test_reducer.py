"""The reducer: what each action changes, what it leaves, and what has to be computed anew."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.changes import (
    Action,
    DeadlineRelaxed,
    EvidenceRead,
    OpenSources,
    PlanRefused,
    Select,
    SetBudget,
    SetCatalog,
    SetCategory,
    SetConfidence,
    SetDeadline,
    SetInstances,
    SetJob,
    SetMaxNodes,
    SetModel,
    SetRanOn,
    SetScale,
    SetSpot,
    ShowChart,
    ShowView,
)
from tui.reducer import nice_seconds, reduce
from tui.state import AS_TOLD, MAX_NODES, Job, PlanState, Terms, evidence_key, goal_key, plan_key

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
    SetJob(Job(3.0)),
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
    chosen = reduce(START, SetDeadline(60.0))
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
    asked = replace(reduce(good, OpenSources(("missing",))), view="stages")
    assert reduce(asked, PlanRefused(good)) == replace(good, view="stages")


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
    assert plan_key(named) != plan_key(replace(named, terms=AS_TOLD))
    elsewhere = reduce(named, SetCatalog("gcp"))
    assert elsewhere.terms == AS_TOLD
    assert reduce(elsewhere, PlanRefused(named)).terms == named.terms
