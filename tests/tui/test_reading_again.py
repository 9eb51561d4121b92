"""The reading of a log that has grown, which nobody asked for: it can be cancelled like any other,
and what was cancelled or refused is left alone until the log grows further."""

from contextlib import asynccontextmanager

import pytest
from fakes import Gated
from screen import at_rest, settled, shows, text_of, waits
from textual.events import Key

import engine
from tui.changes import OpenSources, SetScale
from tui.log_watcher import MAX_WAIT_SECONDS, QUIET_SECONDS, LogWatcher


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


async def give_up_reading(app, pilot, *, refused):
    """The log that has grown cannot be read, or its reading is cancelled; the next one waits."""
    if refused:
        app._session.refuses = True
        app._session.go_on.set()
        assert await shows(pilot, "no event log")
        await settled(pilot)
        app._session.refuses = False
        app._session.go_on.clear()
    else:
        await pilot.press("escape")
        assert await shows(pilot, "reading was cancelled")


@pytest.mark.parametrize("at_once", [False, True])
async def test_it_can_be_cancelled_though_an_action_waits_for_it(
    planner, tmp_path, monkeypatch, at_once
):
    """The key that cancels waited behind the pin, and the pin for the plan of another size, which
    waits for the reading."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, _):
        app.dispatch(SetScale(2.0))
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
        assert app.pins[0].state.scale == app.state.scale == 1.0
        assert app.state.view == "compositions", "what was typed before it is done too"


@pytest.mark.parametrize("refused", [False, True])
async def test_a_source_that_is_opened_after_it_has_not_grown(
    planner, tmp_path, monkeypatch, refused
):
    """The same log, opened by hand, counted as read again since it has grown."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, log):
        await give_up_reading(app, pilot, refused=refused)
        assert app.state.reading == 0
        app.dispatch(OpenSources((str(log),)))
        assert app.busy
        assert not app.reading_again
        app._session.go_on.set()
        await settled(pilot)
        assert app.state.reading == 1
        assert "it was read again" not in text_of(app)


@pytest.mark.parametrize("refused", [False, True])
async def test_it_comes_back_only_when_the_log_grows_further(
    planner, tmp_path, monkeypatch, refused
):
    """It was back with the next look, a second later, and so was the refusal."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, log):
        await give_up_reading(app, pilot, refused=refused)
        app._session.go_on.set()
        await settled(pilot)
        for _ in range(2):
            await app._poll_growing_logs()
            assert not app.busy
        log.write_bytes(b"xxx")
        await app._poll_growing_logs()
        assert app.reading_again
        await settled(pilot)
        assert app.state.reading == 1
        await app._poll_growing_logs()
        assert not app.busy, "all that it holds was read"


def running_logs(folder):
    """Two logs of applications that still run."""
    logs = [folder / name for name in ("a.inprogress", "b.inprogress")]
    for log in logs:
        log.write_bytes(b"x")
    return logs


def test_what_was_seen_of_every_log_is_left_alone(tmp_path):
    """Of two that had grown the second was told of as soon as the first one was left alone."""
    logs, now = running_logs(tmp_path), 0.0
    watch = LogWatcher(lambda: now)
    watch.follow(tuple(map(str, logs)))
    logs[0].write_bytes(b"xx")
    assert watch.poll() is None
    logs[1].write_bytes(b"xx")
    now = QUIET_SECONDS
    assert "a.inprogress has grown" in watch.poll().notice
    watch.take_seen_as_read()
    for _ in range(2):
        now += MAX_WAIT_SECONDS
        assert watch.poll() is None
    logs[1].write_bytes(b"xxx")
    assert watch.poll() is None
    now += QUIET_SECONDS
    assert "b.inprogress has grown" in watch.poll().notice


def test_a_log_that_has_ended_keeps_its_new_name_when_another_one_grows(tmp_path):
    """Where the reading for its end was cancelled, it was asked for under its old name again."""
    logs, now = running_logs(tmp_path), 0.0
    watch = LogWatcher(lambda: now)
    watch.follow(tuple(map(str, logs)))
    logs[0].rename(tmp_path / "a")
    ended = watch.poll().sources
    assert ended == (str(tmp_path / "a"), str(logs[1]))
    watch.take_seen_as_read()
    logs[1].write_bytes(b"xx")
    assert watch.poll() is None
    now = QUIET_SECONDS
    assert watch.poll().sources == ended


async def test_a_log_that_has_ended_is_read_with_the_next_plan_where_that_was_cancelled(
    planner, tmp_path, monkeypatch
):
    """The whole log was read, and "computing" was said; nor could that be cancelled."""
    async with growing(planner, tmp_path, monkeypatch) as (app, pilot, log):
        app._session.go_on.set()
        await settled(pilot)
        app._session.go_on.clear()
        log.rename(tmp_path / "app")
        await app._poll_growing_logs()
        async for _ in waits():
            if app.reading_again:  # the planner's own look may have been the first
                break
        assert app.state.sources == (str(tmp_path / "app"),)
        await pilot.press("escape")
        assert await shows(pilot, "reading was cancelled")
        for cancelled in (True, False):
            app.dispatch(SetScale(2.0))
            assert app.busy == "reading"
            if cancelled:
                await pilot.press("escape")
                assert app.state.scale == 1.0
                assert app.state.sources == (str(tmp_path / "app"),)
        watch = app._reading.watch
        app._session.go_on.set()
        await settled(pilot)
        assert app.state.scale == 2.0
        assert app._reading.watch is not watch
        app.dispatch(SetScale(3.0))
        assert app.busy == "computing"
