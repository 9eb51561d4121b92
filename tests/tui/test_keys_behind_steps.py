"""Keys that come right behind the step of a slider, as on a slow line: they are of what is seen."""

from contextlib import asynccontextmanager
from signal import SIGHUP, SIGTERM
from threading import Event

import pytest
from screen import at_rest, settled, shows, text_of, typed, waits
from textual.events import Key

from tui import format as text
from tui.behaviours import session_actions
from tui.screens.export import ExportScreen
from tui.widgets.table import Table


def _at_once(app, *keys):
    """Every key is there before the first is handled."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


async def left(pilot):
    """Whether the planner comes to be left."""
    async for _ in waits():
        if pilot.app._exit:
            return True
    return False


async def test_an_undo_takes_the_step_before_it_back(planner):
    """It took back the one before that, and the step came behind it."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        before = app.state.deadline_seconds
        _at_once(app, "right", "u")
        await settled(pilot)
        assert app.state.deadline_seconds == before
        _at_once(app, "right", "right", "u", "right", "ctrl+y", "u", "2")
        await settled(pilot)
        assert app.state.deadline_seconds == before
        assert app.state.view == "compositions"


async def test_an_export_is_of_the_deadline_that_is_seen(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        before = app.answer.report.goal.deadline_seconds
        _at_once(app, "right", "e", "down")
        await settled(pilot)
        assert isinstance(app.screen, ExportScreen)
        assert app.screen.query_one(Table).cursor == 1
        assert app.answer.report.goal.deadline_seconds == app.state.deadline_seconds > before
        plan, found = app.answer.built.plan, app.answer.report.recommendation
        assert app.screen._content == plan.export(found, to="spark-defaults", spot=False)


async def test_a_copy_and_a_pin_are_of_the_answer_that_is_seen(planner):
    """Both were of the deadline before the step, and a copy with an export behind it was lost."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        _at_once(app, "right", "y", "p", "right", "e")
        await settled(pilot)
        (pin,) = app.pins
        assert pin.state.deadline_seconds < app.state.deadline_seconds
        assert isinstance(app.screen, ExportScreen)
        assert pin.p_deadline is not None
        said = [one.words for one in app.notice_log]
        assert any("pinned as A" in words for words in said)
        assert any("clipboard" in words for words in said)


@pytest.mark.parametrize("key", ["e", "y", "p"])
async def test_while_another_size_is_planned_they_wait_for_its_answer(planner, monkeypatch, key):
    app, go_on = planner(), Event()
    async with at_rest(app, (120, 40)) as (_, pilot):
        build, before = app._session.build, app.answer.best.seconds
        monkeypatch.setattr(app._session, "build", lambda *asked: go_on.wait() and build(*asked))
        await pilot.press("tab", "tab", "right")
        assert app.computing
        await pilot.press(key)
        assert [one.then for one in app.pending]
        assert not app.pins
        assert not app.clipboard
        assert not isinstance(app.screen, ExportScreen)
        go_on.set()
        await settled(pilot)
        assert app.answer.best.seconds != before
        if key == "p":
            assert app.pins[0].seconds == app.answer.best.seconds
        elif key == "y":
            assert text.seconds(app.answer.best.seconds) in app.clipboard
        else:
            assert isinstance(app.screen, ExportScreen)


async def test_a_plan_that_is_refused_lets_the_keys_go_on(planner, monkeypatch):
    """The answer at hand is the one that stays."""
    app, go_on = planner(), Event()

    def refused(*asked):
        go_on.wait()
        raise ValueError("no such plan")

    async with at_rest(app, (120, 40)) as (_, pilot):
        monkeypatch.setattr(app._session, "build", refused)
        await pilot.press("tab", "tab", "right")
        _at_once(app, "p", "3")
        await pilot.pause()
        assert app.state.view == "curves"
        go_on.set()
        await settled(pilot)
        assert (len(app.pins), app.state.view) == (1, "frontier")


@pytest.mark.parametrize("key", ["e", "y"])
async def test_before_there_is_a_plan_they_say_why_there_is_none(planner, monkeypatch, key):
    """An export asked for a looser goal, and a copy did nothing."""
    async with before_the_evidence(planner(), monkeypatch) as (pilot, go_on):
        await pilot.press(key)
        assert await shows(pilot, "the evidence is still being read")
        go_on.set()
        await settled(pilot)


async def test_where_it_ran_can_be_said_while_the_log_is_read(planner, monkeypatch):
    """It was refused, and the letters of the type's name were taken for keys: those of m5.2xlarge
    opened the choice of models."""
    async with before_the_evidence(planner(), monkeypatch) as (pilot, go_on):
        await pilot.press("w")
        await typed(pilot, "r5.2xlarge")
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.busy
        assert pilot.app.state.ran_on == "r5.2xlarge"
        assert len(pilot.app.screen_stack) == 1
        go_on.set()
        app = await settled(pilot)
        assert app.answer is not None
        assert "ran on r5.2xlarge" in text_of(app)


@asynccontextmanager
async def before_the_evidence(app, monkeypatch):
    """An app that has drawn and reads, until the event is set."""
    begun, go_on = Event(), Event()
    build = app._injected_session.build

    def held(*asked):
        begun.set()
        go_on.wait()
        return build(*asked)

    monkeypatch.setattr(app._injected_session, "build", held)
    async with app.run_test(size=(120, 40)) as pilot:
        while not begun.is_set():
            await pilot.pause(0.01)
        yield pilot, go_on
        go_on.set()


async def test_a_step_before_the_evidence_is_read_does_not_choose_a_goal(planner, monkeypatch):
    """It chose 30 minutes, the middle of a track that meant nothing, for a job of any length."""
    async with before_the_evidence(planner(), monkeypatch) as (pilot, go_on):
        await pilot.press("right", "right")
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        await pilot.press("tab", "left")
        assert await shows(pilot, "no cost is known yet: press enter and type $5")
        go_on.set()
        await settled(pilot)
        state = pilot.app.state
        assert (state.deadline_chosen, state.budget_usd) == (False, None)
        assert "is known yet" not in text_of(pilot.app)
        default = state.deadline_seconds
        await pilot.press("shift+tab", "right")
        await settled(pilot)
        assert default < pilot.app.state.deadline_seconds < 1.5 * default
        await pilot.press("tab", "right")
        await settled(pilot)
        assert pilot.app.state.budget_usd


async def test_a_goal_typed_before_the_evidence_is_read_stays(planner, monkeypatch):
    async with before_the_evidence(planner(), monkeypatch) as (pilot, go_on):
        await pilot.press("enter", *"20m", "enter", "right")
        go_on.set()
        await settled(pilot)
        assert 1200 < pilot.app.state.deadline_seconds < 1800


async def test_vi_keys_keep_their_place(planner):
    app = planner()
    app.vi = True
    async with at_rest(app, (120, 40)) as (_, pilot):
        before = app.state.deadline_seconds
        _at_once(app, "l", "u")
        await settled(pilot)
        assert app.state.deadline_seconds == before
        _at_once(app, "l", "l", "u", "2")
        await settled(pilot)
        assert app.state.view == "compositions"


@pytest.mark.parametrize("typed", [("p",), ("right", "p"), ("right", "right", "p", "2")])
async def test_what_was_typed_before_a_quit_is_done(planner, typed):
    """A pin that waited for its answer was lost."""
    async with at_rest(planner(), (120, 40), "right") as (app, pilot):
        _at_once(app, *typed, "ctrl+q")
        assert await left(pilot)
    (pin,) = app.pins
    assert pin.state.deadline_seconds == app.state.deadline_seconds
    assert app.session_state.pins == (pin,)


@pytest.mark.parametrize("times", [1, 2])
async def test_what_was_typed_before_a_signal_is_done(planner, times):
    """A pin that waited for its answer was lost; a terminal that goes tells it twice."""
    async with at_rest(planner(), (120, 40), "right") as (app, pilot):
        _at_once(app, "right", "p")
        for _ in range(times):
            app.quit_on_signal(SIGHUP)
        assert await left(pilot)
    assert app.return_code == 128 + SIGHUP
    assert len(app.session_state.pins) == 1


async def test_a_signal_does_not_wait_for_ever(planner, monkeypatch):
    app, go_on = planner(), Event()
    monkeypatch.setattr(session_actions, "SIGNAL_GRACE_SECONDS", 0.2)
    async with at_rest(app, (120, 40)) as (_, pilot):
        monkeypatch.setattr(app._session, "build", lambda *asked: go_on.wait())
        await pilot.press("tab", "tab", "right")
        _at_once(app, "p")
        app.quit_on_signal(SIGTERM)
        assert await left(pilot)
        go_on.set()
    assert app.return_code == 128 + SIGTERM
    assert not app.pins


async def test_a_second_quit_waits_for_nothing(planner, monkeypatch):
    app, go_on = planner(), Event()
    async with at_rest(app, (120, 40)) as (_, pilot):
        monkeypatch.setattr(app._session, "build", lambda *asked: go_on.wait())
        await pilot.press("tab", "tab", "right")
        _at_once(app, "p", "ctrl+q")
        assert await shows(pilot, "quit again to leave at once")
        assert app.is_running
        app.post_message(Key("ctrl+q", None))
        assert await left(pilot)
        go_on.set()
    assert not app.pins
