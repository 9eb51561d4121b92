"""Logs that may have grown: two looks at once, and those that could not be read yet."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
from fakes import FakeSession, Gated
from screen import at_rest, settled, shows, text_of, waits

import engine
from tui import format as text
from tui import log_watcher
from tui.changes import OpenSources, SetDeadline, SetScale
from tui.log_watcher import LogWatcher
from tui.screens.export import ExportScreen
from tui.session import EngineSession


def test_the_end_of_a_log_is_told_once(tmp_path, monkeypatch):
    """On a slow disk a look may last until the next: both then removed the log, and one failed."""
    log, both, snapshot = tmp_path / "app.inprogress", Barrier(2), log_watcher.log_snapshot

    def slow_snapshot(source):
        with suppress(BrokenBarrierError):  # where the other look waits for this one
            both.wait(0.5)
        return snapshot(source)

    log.write_bytes(b"x")
    watch = LogWatcher()
    watch.follow((str(log),))
    log.rename(tmp_path / "app")
    monkeypatch.setattr(log_watcher, "log_snapshot", slow_snapshot)
    with ThreadPoolExecutor(2) as pool:
        changes = [found.result() for found in [pool.submit(watch.poll) for _ in range(2)]]
    (change,) = [change for change in changes if change is not None]
    assert change.sources == (str(tmp_path / "app"),)


class WithoutTask(FakeSession):
    """Its log has no finished task until it has grown to three bytes, or has ended."""

    def build(self, state, say, *shown):
        (source,) = state.sources
        if source.endswith(".inprogress") and Path(source).stat().st_size < 3:
            raise engine.BadInput("no finished task in this log", where=source)
        return super().build(state, say, *shown)


@pytest.mark.parametrize("ends", [False, True])
async def test_a_log_that_is_opened_before_its_first_task_ends_is_read_again(
    planner, tmp_path, monkeypatch, ends
):
    """It was refused, and never looked at again."""
    monkeypatch.setattr("tui.log_watcher.QUIET_SECONDS", 0.0)
    log = tmp_path / "app.inprogress"
    log.write_bytes(b"x")
    app = planner(WithoutTask(), sources=(str(log),))
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        assert "no finished task in this log; it is read again when it has grown" in text_of(app)
        log.write_bytes(b"xx")
        await app._poll_growing_logs()
        await settled(pilot)
        assert app.answer is None
        assert "no finished task in this log; it is read again when it has grown" in text_of(app)
        if ends:
            log.rename(tmp_path / "app")
        else:
            log.write_bytes(b"xxx")
        await app._poll_growing_logs()
        await settled(pilot)
        assert app.answer is not None
        assert "no finished task" not in text_of(app)


@pytest.mark.parametrize("named", ["app.inprogress", "./app.inprogress", "", "."])
async def test_only_of_a_log_that_was_refused_itself_more_is_promised(
    planner, tmp_path, monkeypatch, named
):
    """An unknown type, and a model that needs more runs, were to be known once the log grew."""
    monkeypatch.chdir(tmp_path)
    source = named or str(tmp_path)
    start = '{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}\n'
    (tmp_path / "app.inprogress").write_text(start, "utf-8")
    for inputs, promised in (({}, True), ({"ran_on": "m5.xlargest"}, False)):
        app = planner(EngineSession(), sources=(source,), **inputs)
        async with app.run_test(size=(240, 40)) as pilot:
            await settled(pilot)
            seen = text_of(app)
            assert ("no finished task in this log" in seen) == promised
            assert ("it is read again when it has grown" in seen) == promised
            assert ("unknown instance type" in seen) != promised


async def test_of_a_model_that_needs_more_than_a_growing_log_nothing_is_promised(planner, tmp_path):
    log = tmp_path / "app.inprogress"
    log.write_bytes(b"xxx")
    app = planner(FakeSession(), sources=(str(log),))
    app._session.build = _needs_runs
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        assert "optex needs two runs" in text_of(app)
        assert "read again" not in text_of(app)


def _needs_runs(*_):
    raise engine.ModelDoesNotFit("optex needs two runs", remedy="open more")


async def test_what_was_refused_with_each_look_at_a_log_is_not_kept(planner, tmp_path, monkeypatch):
    """Without any plan it grew with the log."""
    monkeypatch.setattr("tui.log_watcher.QUIET_SECONDS", 0.0)
    log = tmp_path / "app.inprogress"
    log.write_bytes(b"")
    app = planner(WithoutTask(), sources=(str(log),))
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        for size in (1, 2):
            log.write_bytes(b"x" * size)
            await app._poll_growing_logs()
            await settled(pilot)
            assert app.state.reading == size
            assert app._refused == ()


async def test_of_a_log_that_has_ended_nothing_more_is_promised(planner, tmp_path):
    log = tmp_path / "app"
    app = planner(FakeSession(), sources=(str(log),))

    def refuse(*_):
        raise engine.BadInput("no finished task in this log", where=str(log))

    app._session.build = refuse
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        assert "no finished task in this log" in text_of(app)
        assert "read again" not in text_of(app)


@pytest.mark.parametrize("prefix", ["file://", "FILE://localhost"])
def test_logs_named_by_an_address_are_followed_like_paths(tmp_path, prefix):
    """They were read once, and their growth was never seen."""
    log, now = tmp_path / "app.inprogress", 0.0
    log.write_bytes(b"x")
    watch = LogWatcher(lambda: now)
    watch.follow((f"{prefix}{log}",))
    assert watch.watches(str(log))
    assert watch.watches(f"{prefix}{log}")
    log.write_bytes(b"xx")
    assert watch.poll() is None
    now = log_watcher.QUIET_SECONDS
    grown = watch.poll()
    assert (grown.sources, grown.notice.split()[0]) == ((f"{prefix}{log}",), "app.inprogress")
    log.rename(tmp_path / "app")
    assert watch.poll().sources == (f"{prefix}{tmp_path / 'app'}",)
    (tmp_path / "two.inprogress").write_bytes(b"x")
    watch.follow((f"{prefix}{tmp_path}",))
    assert watch.active, "a folder too"


@pytest.mark.parametrize("key", ["e", "y", "p"])
async def test_nothing_waits_for_a_log_that_is_read_again(planner, tmp_path, monkeypatch, key):
    """A pin waited, and with it every key behind it, for a reading that nobody had asked for. What
    is opened instead has not grown."""
    monkeypatch.setattr("tui.log_watcher.QUIET_SECONDS", 0.0)
    log, session = tmp_path / "app.inprogress", Gated()
    log.write_bytes(b"x")
    session.go_on.set()
    async with at_rest(planner(session, sources=(str(log),)), (120, 40)) as (app, pilot):
        session.go_on.clear()
        log.write_bytes(b"xx")
        await app._poll_growing_logs()
        assert app.reading_again
        seen = app.answer
        app.dispatch(SetDeadline(3000.0))
        await pilot.press(key)
        async for _ in waits():
            if not (app.pending or app.settling):
                break
        assert app.reading_again
        assert app.answer is not seen
        if key == "e":
            assert isinstance(app.screen, ExportScreen)
            await pilot.press("escape")
        elif key == "y":
            assert text.seconds(app.answer.best.seconds) in app.clipboard
        else:
            (pin,) = app.pins
            assert (pin.seconds, pin.state.deadline_seconds) == (app.answer.best.seconds, 3000.0)
        await pilot.press("2")
        await pilot.pause()
        assert app.state.view == "compositions"
        assert app.reading_again
        app.dispatch(OpenSources(("second",)))
        assert not app.reading_again
        session.go_on.set()
        await settled(pilot)
        assert app.state.sources == ("second",)
        assert "it was read again" not in text_of(app)


async def test_a_log_that_has_ended_has_its_new_name_though_its_reading_is_cancelled(
    planner, tmp_path, monkeypatch
):
    """The old name was asked for again with the next change: there is no such file."""
    log, session = tmp_path / "app.inprogress", Gated()
    log.write_bytes(b"x")
    session.go_on.set()
    async with at_rest(planner(session, sources=(str(log),)), (120, 40)) as (app, pilot):
        session.go_on.clear()
        log.rename(tmp_path / "app")
        await app._poll_growing_logs()
        await pilot.press("escape")
        assert await shows(pilot, "was cancelled")
        session.go_on.set()
        await settled(pilot)
        assert app.state.sources == (str(tmp_path / "app"),)
        app.dispatch(SetScale(2.0))
        await settled(pilot)
        assert app.state.scale == 2.0
        assert app.built.plan.request.workload == app.built.profile.workload_at(2.0)
        assert app.state.sources == (str(tmp_path / "app"),)


def test_a_folder_that_comes_to_hold_too_many_files_has_not_ended(tmp_path, monkeypatch):
    """It was read again as one whose last log has ended, though that grows on."""
    monkeypatch.setattr("tui.log_watcher.MAX_WATCHED_FILES", 2)
    for name in ("a", "b.inprogress"):
        (tmp_path / name).write_bytes(b"x")
    watch = LogWatcher()
    watch.follow((str(tmp_path),))
    assert watch.active
    (tmp_path / "c").touch()
    assert watch.poll() is None
    assert not watch.active
