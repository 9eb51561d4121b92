"""Undo and redo: what a step takes back, what belongs together, what is forgotten."""

from dataclasses import replace

import pytest
from fakes import FakeSession, Gated
from hypothesis import given
from hypothesis import strategies as st
from screen import at_rest, settled, shows, text_of

import engine
from tui.changes import SetMaxNodes
from tui.history import MAX_STEPS, ONE_GESTURE_SECONDS, History, difference
from tui.state import INPUTS, JobInputs, Limits, PlanState, Terms, Training
from tui.widgets.slider import Slider

START = PlanState(sources=("a.zstd",))

changes = st.lists(
    st.tuples(
        st.sampled_from(["deadline_seconds", "budget_usd", "scale", "max_nodes"]),
        st.integers(1, 9),
        st.floats(0.0, 3.0),
    ),
    max_size=30,
)


def walked(steps):
    """The history, every state on the way and the last one."""
    history, state, now, states = History(), START, 0.0, [START]
    for name, value, pause in steps:
        now += pause
        after = replace(state, **{name: value})
        history = history.recorded(state, after, now_seconds=now)
        state = after
        states.append(state)
    return history, state, states


@given(changes)
def test_undoing_everything_ends_where_it_began_and_redoing_where_it_ended(steps):
    history, end, states = walked(steps)
    state = end
    while (step := history.undone(state)) is not None:
        history, state = step
        assert state in states
    assert state == START
    while (step := history.redone(state)) is not None:
        history, state = step
    assert state == end


def test_steps_of_one_input_in_quick_succession_are_one():
    close = ONE_GESTURE_SECONDS / 2
    history, _, _ = walked([("scale", n, close) for n in range(2, 9)])
    assert len(history.past) == 1
    history, _, _ = walked([("scale", n, 2 * ONE_GESTURE_SECONDS) for n in range(2, 9)])
    assert len(history.past) == 7
    history, _, _ = walked([("scale", 2, close), ("max_nodes", 5, close), ("scale", 3, close)])
    assert len(history.past) == 3


def test_a_gesture_that_leads_back_is_no_step():
    """Two models chosen in a second, the last that of before: "undone: " with nothing behind it."""
    close = ONE_GESTURE_SECONDS / 2
    history, _, _ = walked([("scale", 2, 9.0), ("max_nodes", 5, 9.0), ("max_nodes", 64, close)])
    assert [state.scale for state in history.past] == [1.0]
    history, _, _ = walked([("scale", 2, 9.0), ("scale", 1, close), ("scale", 3, close)])
    assert history.past == (START,)


def test_a_change_after_an_undo_forgets_what_was_undone():
    history, state, _ = walked([("scale", 2, 9.0), ("scale", 3, 9.0)])
    history, state = history.undone(state)
    assert history.future
    history = history.recorded(state, replace(state, max_nodes=9), now_seconds=99.0)
    assert history.redone(state) is None


def test_looking_around_is_not_a_step():
    looked = replace(START, view="stages", chart="cost", selected="m5.xlarge")
    assert History().recorded(START, looked, now_seconds=1.0) == History()
    history, state, _ = walked([("scale", 2, 9.0)])
    _, back = history.undone(replace(state, view="stages"))
    assert (back.scale, back.view) == (1.0, "stages")


def test_old_steps_are_forgotten():
    history, _, _ = walked([("max_nodes", n, 9.0) for n in range(65, 65 + MAX_STEPS + 50)])
    assert len(history.past) == MAX_STEPS


def test_every_input_has_a_word():
    other = PlanState(
        sources=("b",), ran_on="x", category="sql", catalog="papers",
        terms=Terms(discount_fraction=0.1), instances=("m5.*",),
        model="ernest", deadline_seconds=1.0, deadline_chosen=True, budget_usd=1.0, scale=2.0,
        max_nodes=2, confidence=0.5, spot=True, mix=3, limits=Limits(min_nodes=2),
        reading=1, training=Training(5.0), job=JobInputs(3.0),
    )  # fmt: skip
    said = difference(START, other)
    # The deadline and whether it was chosen; the evidence and how often it was read.
    assert len(said.split(", ")) == len(INPUTS) - 1
    assert "_" not in said


def test_a_notice_says_from_what_to_what():
    before = PlanState(sources=("a",), deadline_seconds=180.0, deadline_chosen=True)
    after = replace(before, deadline_seconds=30.0)
    assert difference(before, after) == "deadline 3m → 30s"
    assert difference(before, replace(before, scale=2.0, spot=True)) == (
        "data size 1x → 2x, spot off → on"
    )
    long = replace(after, instances=("r5.*", "c6i.*", "m5.*", "m6i.*", "c7i.*", "r6i.*", "m7i.*"))
    assert difference(before, long) == "instance types, deadline"
    dragged = replace(before, deadline_seconds=110.5518382, budget_usd=0.02**0.5)
    assert difference(before, dragged) == "deadline 3m → 1m 51s, budget off → $0.141"
    filled = replace(before, terms=Terms(platform="yarn", fill_nodes=True))
    assert difference(before, filled) == "platform not set → yarn, fill-nodes not set → on"


async def test_undo_and_redo_move_the_slider_and_the_answer(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        first, answered = app.state.deadline_seconds, app.answer.best
        await pilot.press("home")
        await pilot.pause()
        shortest = app.state.deadline_seconds
        await pilot.press("u")
        await pilot.pause()
        assert app.state.deadline_seconds == first
        assert app.query_one("#deadline", Slider).value == first
        assert app.answer.best.composition == answered.composition
        assert "undone: deadline" in text_of(app)
        await pilot.press("ctrl+y")
        await pilot.pause()
        assert app.state.deadline_seconds == shortest
        await pilot.press("u", "u")
        await pilot.pause()
        assert "nothing to undo" in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_an_undo_did_is_said_until_its_plan_stands(planner, size):
    """It went as soon as the plan was built, before anybody could read it."""
    async with at_rest(planner(), size) as (app, pilot):
        for line, said in (
            ("size 2x", "undone: data size 2x → 1x"),
            ("model ernest", "undone: model ernest → sparkplan"),
        ):
            await app.run_command_line(line)
            await settled(pilot)
            assert "undone" not in text_of(app)
            app.action_undo()
            await settled(pilot)
            assert said in text_of(app)
        await pilot.press("p")
        await app.run_command_line("size 3x")
        await settled(pilot)
        app.return_to_pin(0)
        await settled(pilot)
        assert "back at A; u goes to where you were" in text_of(app)


def test_a_refused_change_is_no_step():
    """However long the refusal took: an undo after it takes back what was set before."""
    good = replace(START, spot=True)
    asked = replace(good, model="none")
    history = (
        History().recorded(START, good, now_seconds=0.0).recorded(good, asked, now_seconds=9.0)
    )
    found = history.refused(good).undone(good)
    assert found[1].spot is START.spot
    later = replace(good, max_nodes=3)
    again = history.refused(good).recorded(good, later, now_seconds=9.1).undone(later)
    assert again[1].spot is good.spot


async def test_where_no_shell_waits_ctrl_z_says_so_and_changes_nothing(planner):
    async with at_rest(planner(), (120, 40), "s", "ctrl+z") as (app, pilot):
        await pilot.pause()
        assert app.state.spot
        assert "no shell waits behind the planner" in text_of(app)


async def test_undoing_a_refused_model_keeps_the_good_plan(planner):
    async with at_rest(planner(), (120, 40), "s") as (app, pilot):
        await pilot.pause()
        assert app.state.spot
        await pilot.press("u")
        await pilot.pause()
        assert not app.state.spot
        assert app.answer is not None


@pytest.mark.parametrize("walked_away", [(), ("right",)])
async def test_an_undo_or_redo_that_is_cancelled_was_not_made(planner, walked_away):
    """After a cancelled undo nothing was left to undo, and redo led to where one was already; after
    a cancelled redo there was nothing to redo. A slider moved meanwhile changes nothing of that."""
    session = Gated()
    session.go_on.set()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        for source in ("second", "third"):
            app.history = replace(app.history, last_changed=frozenset())  # a step of its own
            await app.run_command_line(f"open {source}")
            await settled(pilot)

        async def cancelled(key, at):
            kept = app.history
            session.go_on.clear()
            await pilot.press(key, *walked_away, "escape")
            assert await shows(pilot, "was cancelled")
            assert app.state.sources == (at,)
            assert (app.history.past, app.history.future) == (kept.past, kept.future)
            session.go_on.set()
            await settled(pilot)

        await cancelled("u", "third")
        await pilot.press("u")
        await settled(pilot)
        assert app.state.sources == ("second",)
        await cancelled("ctrl+y", "second")
        await cancelled("u", "second")
        await pilot.press("ctrl+y")
        await settled(pilot)
        assert app.state.sources == ("third",)
        assert not app.history.future


async def test_a_step_made_while_a_source_is_read_keeps_nothing_of_the_source_if_cancelled(planner):
    """The reading was begun by the opening, not by the step: the steps on what was never read go
    with it. The next undo opened the cancelled source again."""
    session = Gated()
    session.go_on.set()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):

        def step_of_its_own():
            app.history = replace(app.history, last_changed=frozenset())

        first, most = app.state.sources, app.state.max_nodes
        app.dispatch(SetMaxNodes(40))
        await settled(pilot)
        kept = app.history.past
        session.go_on.clear()
        step_of_its_own()
        await app.run_command_line("open second")
        step_of_its_own()
        app.dispatch(SetMaxNodes(20))
        await pilot.press("u", "escape")
        assert await shows(pilot, "was cancelled")
        session.go_on.set()
        await settled(pilot)
        assert (app.state.sources, app.state.max_nodes) == (first, 40)
        assert app.history.past == kept
        await pilot.press("u")
        await settled(pilot)
        assert (app.state.sources, app.state.max_nodes) == (first, most)


class MissingForAMoment(FakeSession):
    """Some sources cannot be read."""

    def __init__(self):
        super().__init__()
        self.missing = set()

    def build(self, state, say, *shown):
        if self.missing & set(state.sources):
            raise engine.BadInput("no such file", where=state.sources[0])
        return super().build(state, say, *shown)


async def test_steps_to_a_source_that_is_missing_stay_and_the_next_step_goes_past_them(planner):
    """They were dropped, though the file was back a moment later."""
    session = MissingForAMoment()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        (first,) = app.state.sources
        for command in ("open second", "nodes 40", "open third"):
            app.history = replace(app.history, last_changed=frozenset())  # a step of its own
            await app.run_command_line(command)
            await settled(pilot)
        steps = [("second", 64), ("second", 40)]

        async def goes(key, *, to):
            await pilot.press(key)
            await settled(pilot)
            assert app.state.sources == (to,)
            shown = "no such file" in text_of(app)
            return [(*step.sources, step.max_nodes) for step in app.history.future], shown

        session.missing = {"second"}
        assert await goes("u", to="third") == ([], True)
        assert await goes("u", to=first) == ([*steps, ("third", 40)], False)
        assert await goes("ctrl+y", to=first) == ([*steps, ("third", 40)], True)
        session.missing = {"second", "third"}
        assert await goes("ctrl+y", to=first) == ([*steps, ("third", 40)], True)
        session.missing = set()
        assert await goes("ctrl+y", to="second") == ([("second", 40), ("third", 40)], False)
        assert await goes("ctrl+y", to="second") == ([("third", 40)], False)
        assert await goes("ctrl+y", to="third") == ([], False)
        assert len(app.history.past) == 3
