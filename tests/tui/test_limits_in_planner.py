"""Owned nodes, quotas and exclusions: as words, as commands, and what they do in the planner."""

import threading

import pytest
from fakes import FakeSession
from hypothesis import given
from hypothesis import strategies as st
from screen import at_rest, settled, text_of, typed

import engine
from tui.changes import SetDeadline, SetLimits, SetMaxNodes, SetMix, SetScale
from tui.command_parser import completions, outcome_of
from tui.dialogs import limits_said
from tui.input_text.limit_text import line_of, parse_limits, with_clause
from tui.state import NO_LIMITS, Limits, PlanState, plan_key
from tui.typed_commands import CommandContext
from tui.widgets.table import Table

LINE = (
    "own m5.xlarge=10, own-master on, limit c6i.*=4, max-vcpus 512, min-nodes 3, "
    "exclude t3.* t2.*, max-spot 50%, dynamic-allocation 2:40, arch arm64"
)
LIMITS = Limits(
    owned=(("m5.xlarge", 10),),
    most=(("c6i.*", 4),),
    max_vcpus=512.0,
    min_nodes=3,
    arch="arm64",
    exclude=("t3.*", "t2.*"),
    max_spot=0.5,
    executors=(2, 40),
    owned_master=True,
)

names = st.text("abcdm5.*-", min_size=1, max_size=8)
counts = st.dictionaries(names, st.integers(1, 99), max_size=3).map(lambda d: tuple(d.items()))


@pytest.mark.parametrize("typed_text", ["5", "9:3", "a:b", "0:0", "2:", "-1:4", "1:2:3"])
def test_bounds_of_executors_that_are_none(typed_text):
    with pytest.raises(engine.BadInput, match=r"no range .*MAX is at least 1"):
        parse_limits(f"dynamic-allocation {typed_text}")


def test_a_line_and_the_limits_that_it_states():
    assert parse_limits(LINE) == LIMITS
    assert line_of(LIMITS) == LINE
    assert parse_limits("") == NO_LIMITS
    assert line_of(NO_LIMITS) == ""


@given(
    st.builds(
        Limits,
        owned=counts,
        most=counts,
        max_vcpus=st.none() | st.integers(1, 9999).map(float),
        min_nodes=st.integers(1, 50),
        max_spot=st.none() | st.integers(0, 1000).map(lambda n: n / 1000),
        arch=st.sampled_from([None, "arm64", "x86_64"]),
        executors=st.none()
        | st.tuples(st.integers(0, 50), st.integers(1, 50)).filter(lambda ends: ends[0] <= ends[1]),
        exclude=st.lists(names.filter(lambda n: n != "-"), unique=True, max_size=3).map(tuple),
        owned_master=st.booleans(),
    ).map(lambda it: it._replace(owned_master=it.owned_master and bool(it.owned)))
)
def test_every_line_reads_back(limits):
    assert parse_limits(line_of(limits)) == limits


def test_one_clause_changes_only_its_own_kind():
    assert with_clause(LIMITS, "own", "m5.xlarge=12").owned == (("m5.xlarge", 12),)
    assert with_clause(LIMITS, "own", "r5.2xlarge=1 m5.xlarge=off").owned == (("r5.2xlarge", 1),)
    assert with_clause(LIMITS, "max-vcpus", "off") == LIMITS._replace(max_vcpus=None)
    assert with_clause(NO_LIMITS, "exclude", "t3.*,t2.*").exclude == ("t3.*", "t2.*")
    assert with_clause(NO_LIMITS, "limit", "t3.*=0").most == (("t3.*", 0),)


def test_the_master_of_owned_nodes_goes_with_the_last_of_them():
    """It stayed on with nothing owned, and the master was billed."""
    two = Limits(owned=(("m5.xlarge", 1), ("r5.xlarge", 2)), owned_master=True)
    one = with_clause(two, "own", "m5.xlarge=off")
    assert one == Limits(owned=(("r5.xlarge", 2),), owned_master=True)
    assert with_clause(one, "own", "r5.xlarge=off") == NO_LIMITS
    assert with_clause(two, "own", "off") == NO_LIMITS
    assert parse_limits("own-master on, own m5.xlarge=1").owned_master


def test_a_master_of_owned_nodes_is_refused_where_none_is_owned():
    known = CommandContext(instances=("m5.xlarge",))
    with pytest.raises(engine.BadInput) as refused:
        outcome_of("own-master on", known)
    assert str(refused.value) == "own-master: no nodes are owned; leave it out, or add own TYPE=N"
    assert outcome_of("own-master off", known) == SetLimits(NO_LIMITS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("own m5.xlarge", "TYPE=N"),
        ("own m5.xlarge=-1", "TYPE=N"),
        ("own m5.xlarge=0", "at least 1"),
        ("max-vcpus many", "whole number"),
        ("min-nodes 0", "whole number"),
        ("max-spot 150%", "between 0 and 100 %"),
        ("max-spot half", "not a share"),
        ("arch sparc", "architecture"),
        ("ovn m5.xlarge=1", "own"),
        ("own", "own needs TYPE=N"),
        ("own-master yes", "neither on nor off"),
        ("own-master on", "own-master: no nodes are owned"),
        ("own-master on, max-vcpus 9", "leave it out, or add own TYPE=N"),
    ],
)
def test_a_wrong_limit_says_what_to_type(line, says):
    with pytest.raises(engine.BadInput) as refused:
        parse_limits(line)
    assert says in str(refused.value)


def test_typed_commands():
    known = CommandContext(instances=("m5.xlarge", "r5.xlarge"), limits=Limits(min_nodes=2))
    owned = SetLimits(Limits(owned=(("m5.xlarge", 10),), min_nodes=2))
    assert outcome_of("own m5.xlarge=10", known) == owned
    assert outcome_of("limits off", known) == SetLimits(NO_LIMITS)
    assert outcome_of(f"limits {LINE}", known) == SetLimits(LIMITS)
    assert outcome_of("limits", known) == "limits"
    assert outcome_of("mix 2", known) == SetMix(2)
    assert [line for line, _ in completions("own m5", known)] == ["own m5.xlarge="]
    with pytest.raises(engine.BadInput, match="type 1 to 3"):
        outcome_of("mix 4", known)


def test_only_what_changes_the_candidates_needs_another_plan():
    base = PlanState(sources=("a",), limits=Limits(owned=(("m5.xlarge", 1),)))
    for kept in (Limits(owned=(("m5.xlarge", 9),)), base.limits._replace(max_vcpus=9.0)):
        assert plan_key(PlanState(sources=("a",), limits=kept)) == plan_key(base)
    for other in (NO_LIMITS, base.limits._replace(exclude=("m5.*",))):
        assert plan_key(PlanState(sources=("a",), limits=other)) != plan_key(base)


async def test_limits_filter_the_plan_at_hand(planner):
    session = FakeSession()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        before = app.answer.best
        await app.run_command_line(f"limit {before.instance}=0")
        await settled(pilot)
        assert app.answer.best.instance != before.instance
        await app.run_command_line("max-vcpus 64")
        await app.run_command_line("deadline off")
        await settled(pilot)
        offer = app.built.catalog.offers[app.answer.best.instance]
        assert app.answer.best.nodes * offer.instance.vcpus <= 64
        assert session.builds == 1
        await app.run_command_line("limits off")
        await app.run_command_line("min-nodes 30")
        await settled(pilot)
        assert app.answer.best.nodes >= 30
        assert "min-nodes 30" in text_of(app)


async def test_owned_nodes_cost_nothing_and_are_said(planner):
    session = FakeSession()
    async with at_rest(planner(session, deadline_seconds=7200.0), (120, 40)) as (app, pilot):
        app.dispatch(SetLimits(Limits(owned=(("m5.4xlarge", 8),))))
        await settled(pilot)
        assert session.builds == 2
        best = app.answer.best
        assert best.instance == "m5.4xlarge"
        assert best.cost_usd == 0.0
        assert f"Owned, at no cost: {best.nodes} × m5.4xlarge." in " ".join(text_of(app).split())
        await pilot.press("u")
        await settled(pilot)
        assert app.answer.best.cost_usd > 0.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("own m5.nope=3", "m5.nope"),
        ("min-nodes 100", "contradiction"),
        ("exclude *", "the limits leave no instance type"),
        ("limit nothing*=3", "nothing*"),
        ("own m5.xlarge=many", "TYPE=N"),
    ],
)
async def test_a_contradiction_is_a_notice_and_the_last_good_plan_stays(planner, line, says):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        good, best = app.state, app.answer.best
        await app.run_command_line(line)
        await settled(pilot)
        assert says in text_of(app)
        assert app.state == good
        assert app.answer.best.composition == best.composition


async def test_a_slider_cannot_contradict_a_limit(planner):
    async with at_rest(planner(limits=Limits(min_nodes=20)), (120, 40)) as (app, pilot):
        app.dispatch(SetMaxNodes(10))
        await settled(pilot)
        assert app.state.max_nodes == 64
        assert app.query_one("#nodes").value == 64
        assert "at least 20 nodes" in text_of(app)


class Waiting(FakeSession):
    """Builds a plan only when it is let go on."""

    def __init__(self):
        super().__init__()
        self.go_on = threading.Event()
        self.go_on.set()

    def build(self, state, say, *shown):
        self.go_on.wait()
        return super().build(state, say, *shown)


async def test_nor_while_another_plan_is_built(planner):
    """The new plan could not be asked either: the answer of the old one stayed, unmarked."""
    session = Waiting()
    async with at_rest(planner(session, limits=Limits(min_nodes=20)), (120, 40)) as (app, pilot):
        session.go_on.clear()
        app.dispatch(SetScale(2.0))
        app.dispatch(SetMaxNodes(10))
        session.go_on.set()
        await settled(pilot)
        assert (app.state.scale, app.state.max_nodes) == (2.0, 64)
        assert len(app.history.past) == 1
        assert app.answer.built.plan is app.built.plan


async def test_until_a_plan_of_more_nodes_is_built_the_last_one_answers(planner):
    """A goal of more nodes is no mistake of the user's, and the steps after it neither."""
    session = Waiting()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        before = app.answer
        session.go_on.clear()
        app.dispatch(SetMaxNodes(100))
        app.dispatch(SetDeadline(app.state.deadline_seconds * 2.0))
        assert app.answer.built is before.built
        asked = app.answer.report.goal
        assert (asked.max_nodes, asked.deadline_seconds) == (64, app.state.deadline_seconds)
        session.go_on.set()
        await settled(pilot)
        assert app.state.max_nodes == app.answer.report.goal.max_nodes == 100


async def test_limits_that_nothing_keeps_go_once_the_plan_of_more_nodes_is_built(planner):
    """Until then it is not known that nothing keeps them. They stayed, and the last answer with
    them, which was exported as if it kept them."""
    session = Waiting()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        session.go_on.clear()
        app.dispatch(SetMaxNodes(100))
        await app.run_command_line("max-vcpus 1")
        session.go_on.set()
        await settled(pilot)
        assert "room for no node" in text_of(app)
        assert (app.state.limits, app.state.max_nodes) == (Limits(), 100)
        assert app.answer.report.goal.max_nodes == 100
        app.dispatch(SetDeadline(app.state.deadline_seconds * 2.0))
        assert app.answer.report.goal.deadline_seconds == app.state.deadline_seconds


async def test_limits_that_contradict_the_nodes_are_refused_before_their_plan_is_built(planner):
    session = Waiting()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        session.go_on.clear()
        app.dispatch(SetMaxNodes(100))
        await app.run_command_line("min-nodes 110")
        assert app.state.limits == Limits()
        await app.run_command_line("min-nodes 90")
        session.go_on.set()
        await settled(pilot)
        assert (app.state.limits.min_nodes, app.answer.best.nodes >= 90) == (90, True)


async def test_more_nodes_than_the_last_good_plan_holds_go_back_with_it(planner):
    async with at_rest(planner(limits=Limits(min_nodes=20)), (120, 40)) as (app, pilot):
        app.dispatch(SetMaxNodes(100))
        await settled(pilot)
        app.dispatch(SetMaxNodes(10))
        await settled(pilot)
        assert app.state.max_nodes == app.answer.report.goal.max_nodes == 100
        assert "at least 20 nodes" in text_of(app)


async def test_a_quota_that_nothing_keeps_is_refused_and_the_answer_stays(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        before = app.answer.report.recommendation.recommended
        await app.run_command_line("max-vcpus 1")
        await settled(pilot)
        assert "room for no node" in text_of(app)
        assert app.state.limits == Limits()
        assert app.answer.report.recommendation.recommended == before


async def test_the_dialog_offers_limits_and_types_and_applies_the_line(planner):
    async with at_rest(planner(), (80, 24), "b") as (app, pilot):
        await pilot.pause()
        assert "own TYPE=N" in text_of(app)
        await typed(pilot, "own m5.x")
        await pilot.press("tab", "1", "0")
        await typed(pilot, ", min")
        await pilot.press("tab")
        await typed(pilot, "3")
        await pilot.pause()
        assert "enter applies" in text_of(app)
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.limits == Limits(owned=(("m5.xlarge", 10),), min_nodes=3)
        assert "own m5.xlarge=10" in text_of(app)


async def test_the_rows_of_the_inputs_panel(planner):
    async with at_rest(planner(mix=2), (120, 40), "x") as (app, pilot):
        await settled(pilot)
        assert app.state.mix == 3
        assert "up to 3 types" in text_of(app)
        app.query_one("#inputs", Table).focus()
        await pilot.press("down", "down", "down", "down", "down", "enter")
        await pilot.pause()
        assert "max-vcpus" in text_of(app)


async def test_a_contradiction_from_the_start_can_be_mended(planner):
    async with at_rest(planner(limits=Limits(min_nodes=90)), (80, 24)) as (app, pilot):
        assert app.answer is None
        assert "at least 90 nodes" in text_of(app)
        await app.run_command_line("nodes 128")
        await settled(pilot)
        assert app.answer.best.nodes >= 90


async def test_a_line_that_is_refused_is_left_to_be_mended(planner):
    async with at_rest(planner(), (80, 24), "b") as (app, pilot):
        await typed(pilot, "dynamic-allocation 9:3")
        await pilot.press("enter")
        await settled(pilot)
        assert "no range of executors" in text_of(app)
        assert app.state.limits == Limits()
        await pilot.press("backspace", "backspace", "backspace")
        await typed(pilot, "2:9")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.limits == Limits(executors=(2, 9))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("owned m5.xlarge=3", "unknown limit 'owned'"),
        ("own m5.xlarge=some", "own: 'm5.xlarge=some' is not TYPE=N"),
        ("min-nodes 3", "a comma begins another limit; enter applies them all"),
    ],
)
async def test_what_is_said_of_a_line_stands_in_the_dialog_once_and_whole(planner, line, says):
    """An error was an option: cut off in its row, and once more below it."""
    async with at_rest(planner(), (80, 24), "b") as (app, pilot):
        await typed(pilot, line)
        await pilot.pause()
        shown = " ".join(text_of(app).replace("│", " ").split())
        assert shown.count(says) == 1
        assert shown.count(limits_said(line)) == 1
