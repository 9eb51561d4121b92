"""The reading of a log that has grown, which nobody asked for: it can be cancelled like any other,
and what was cancelled or refused is left alone until the log grows further."""

from contextlib import asynccontextmanager

import pytest
from fakes import Gated
from screen import at_rest, settled, shows, text_of, waits
from textual.events import Key

import engine
from tui.changes import OpenSources


class Refusing(Gated):
    """May refuse to read."""

    refuses = False

    def build(self, state, say, *shown):
        assert self.go_on.wait(60.0)
        if self.refuses:
            raise engine.BadInput("no event log", where=state.sources[0])
        return super().build(state, say, *shown)


@asynccontextmanager
async def growing(planner, tmp_path, monkeypatch):
    """A planner that reads a log again which has grown, once its session may go on."""
    monkeypatch.setattr("tui.log_watcher.QUIET_SECONDS", 0.0)
    log, session = tmp_path / "app.inprogress", Refusing()
    log.write_bytes(b"x")
    session.go_on.set()
    async with at_rest(planner(session, sources=(str(log),)), (120, 40)) as (app, pilot):
        session.go_on.clear()
        log.write_bytes(b"xx")
        await app._poll_growing_logs()
        assert app.reading_again
        yield app, pilot, log
        session.go_on.set()
        await settled(pilot)


@pytest.mark.parametrize("at_once", [False, True])
async def test_it_can_be_cancelled_though_an_action_waits_for_it(
    planner, tmp_path, monkeypatch, at_once
):
    """The key that cancels waited behind the pin, and the pin for the reading."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, _):
        if at_once:
            for key in ("p", "2", "escape"):
                app.post_message(Key(key, None if len(key) > 1 else key))
        else:
            await pilot.press("p", "2", "escape")
        async for _ in waits():
            if app.pins:
                break
        await settled(pilot)
        assert "reading was cancelled" in [notice.words for notice in app.notice_log]
        assert app.pins[0].state.reading == app.state.reading == 0
        assert app.state.view == "compositions", "what was typed before it is done too"


@pytest.mark.parametrize("refused", [False, True])
async def test_a_source_that_is_opened_after_it_has_not_grown(
    planner, tmp_path, monkeypatch, refused
):
    """The same log, opened by hand, counted as read again since it has grown."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, log):
        if refused:
            app._session.refuses = True
            app._session.go_on.set()
            await settled(pilot)
            assert app.state.reading == 0
            app._session.refuses = False
            app._session.go_on.clear()
        else:
            await pilot.press("escape")
            assert await shows(pilot, "reading was cancelled")
        app.dispatch(OpenSources((str(log),)))
        assert app.busy
        assert not app.reading_again
        app._session.go_on.set()
        await settled(pilot)
        assert app.state.reading == 1
        assert "it was read again" not in text_of(app)
