"""While a log is read: its speed, cancelling, and the growth of a log that is still written."""

import asyncio
import re
import threading
import weakref
from dataclasses import replace
from importlib.resources import files

import pytest
from fakes import FakeSession
from screen import at_rest, settled, text_of, words_in

import engine
from tui import cli
from tui.changes import OpenSources, PlanRefused, RereadSources
from tui.log_watcher import MAX_WAIT_SECONDS, QUIET_SECONDS, LogWatcher, log_snapshot
from tui.read_progress import ReadProgress, megabytes
from tui.read_tracker import ReadTracker
from tui.reducer import reduce
from tui.session import EngineSession
from tui.state import PlanState, evidence_key
from tui.workers import Cancelled, LatestJobWorker

STATE = PlanState(sources=("a",))


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


# Words


def test_speed_is_said_now_and_then():
    clock, said = Clock(), []
    speed = ReadProgress(said.append, clock)
    speed(10_000_000, None)
    clock.now += 1.0
    speed(412_000_000, 1_830_000_000)
    speed(413_000_000, 1_830_000_000)
    clock.now += 1.0
    speed(500_000, None)
    assert said == [
        "reading 412 of 1,830 MB, 412 MB/s, esc cancels",
        "reading 0.5 MB, 0.25 MB/s, esc cancels",
    ]
    assert [megabytes(size) for size in (0, 16, 9_960_000, 1_234_500_000)] == [
        "0",
        "<0.01",
        "10",
        "1,234",
    ]


def test_speeds_have_no_exponent_where_reading_is_fast_or_has_only_begun():
    clock, said = Clock(), []
    speed = ReadProgress(said.append, clock)
    clock.now += 6.0
    speed(16, None)
    clock.now += 1.0
    speed(8_700_000_000, None)
    assert said == [
        "reading <0.01 MB, <0.01 MB/s, esc cancels",
        "reading 8,700 MB, 1,243 MB/s, esc cancels",
    ]


def test_lines_are_few_and_name_no_key():
    clock, said = Clock(), []
    speed = ReadProgress(said.append, clock, in_lines=True)
    for _ in range(50):
        clock.now += 1.0
        speed(int((clock.now - 100) * 1e7), 1_830_000_000)
    assert said == [
        "reading 50 of 1,830 MB, 10 MB/s",
        "reading 350 of 1,830 MB, 10 MB/s",
    ]


@pytest.mark.parametrize("command", ["predict", "profile", "fleet", "workflow"])
def test_a_command_that_reads_long_says_so(command, monkeypatch, capsys):
    monkeypatch.setattr("tui.read_progress.FIRST_LINE_AFTER_SECONDS", 0.0)
    cluster = ("--nodes", "2", "--instance", "m5.xlarge") if command == "workflow" else ()
    log = str(files("sample_logs") / "sort-small.zstd")
    cli.main([command, log, "--ran-on", "m5.xlarge", *cluster])
    told = capsys.readouterr()
    assert re.match(r"reading \S+ of \S+ MB, \S+ MB/s\n", told.err)
    assert "reading" not in told.out


def test_while_folders_are_searched_nothing_is_said_of_bytes():
    clock, said = Clock(), []
    told = ReadProgress(said.append, clock, in_lines=True)
    for done, total in ((0, None), (0, 5_000_000), (4_000_000, 5_000_000)):
        clock.now += 40.0
        told(done, total)
    assert said[0] == "looking for logs"
    assert said[1:] == ["reading 0 of 5 MB, 0 MB/s", "reading 4 of 5 MB, 0.033 MB/s"]


def test_what_the_words_raise_ends_the_reading():
    def say(words):
        raise Cancelled

    clock = Clock()
    speed = ReadProgress(say, clock)
    clock.now += 1.0
    with pytest.raises(Cancelled):
        speed(1, None)


# Jobs


def test_an_abandoned_job_delays_nobody():
    latest, release, done = LatestJobWorker("test"), threading.Event(), threading.Event()
    started = threading.Event()

    def hang():
        started.set()
        release.wait(10)

    latest.submit(hang)
    assert started.wait(5)
    latest.abandon()
    latest.submit(done.set)
    assert done.wait(5)
    release.set()
    again = threading.Event()
    latest.submit(again.set)
    assert again.wait(5)


def test_what_a_finished_job_held_is_let_go():
    class Plan:
        pass

    latest, done, plan = LatestJobWorker("test"), threading.Event(), Plan()
    gone = threading.Event()
    weakref.finalize(plan, gone.set)
    latest.submit(lambda plan=plan: done.set())
    del plan
    assert done.wait(5)
    assert gone.wait(5)


def test_another_evidence_cancels_what_is_being_read():
    reading = ReadTracker()
    first = reading.request_for("a")
    assert reading.request_for("a") is first
    first.check()
    second = reading.request_for("b")
    second.check()
    with pytest.raises(Cancelled):
        first.check()
    reading.cancel()
    with pytest.raises(Cancelled):
        second.check()


def test_a_cancelled_read_leaves_nothing_in_the_session(tmp_path, monkeypatch):
    session, profile = EngineSession(), FakeSession().evidence
    monkeypatch.setattr(engine, "read", lambda *sources, **named: profile)

    def say(words):
        if words == "reading prices":
            raise Cancelled

    with pytest.raises(Cancelled):
        session.build(STATE, say)
    assert session._profile is None


class Stuck(FakeSession):
    """Hangs in the reading of "stuck"; notices within a while that nobody waits."""

    def __init__(self):
        super().__init__()
        self.hangs = threading.Event()
        self.release = threading.Event()
        self.notice_log = threading.Event()

    def build(self, state, say, *shown):
        if "stuck" not in state.sources:
            return super().build(state, say, *shown)
        say("reading 1 MB, 5 MB/s, esc cancels")
        self.hangs.set()
        self.release.wait(10)
        try:
            say("reading 2 MB")
        except Cancelled:
            self.notice_log.set()
            raise
        return super().build(state, say, *shown)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_escape_cancels_a_read_and_the_last_plan_stays(planner, size):
    session = Stuck()
    async with at_rest(planner(session), size) as (app, pilot):
        good, answer = app.state, app.answer
        app.dispatch(OpenSources(("stuck",)))
        assert await asyncio.to_thread(session.hangs.wait, 5)
        await pilot.pause()
        await pilot.pause()
        assert "reading 1 MB" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not app.busy
        assert app.state.sources == good.sources
        assert app.answer.best == answer.best
        assert "reading was cancelled" in text_of(app)
        session.release.set()
        assert await asyncio.to_thread(session.notice_log.wait, 5)
        await pilot.press("escape")
        await pilot.pause()
        assert "cancelled" not in text_of(app)


async def test_the_first_read_can_be_cancelled_and_something_else_opened(planner):
    session = Stuck()
    async with planner(session, sources=("stuck",)).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        assert await asyncio.to_thread(session.hangs.wait, 5)
        await pilot.press("escape")
        await pilot.pause()
        why = words_in(app._panels.widget("why"))
        assert "press o to open an event log or a sample; any change tries again." in why
        app.dispatch(OpenSources(("nightly-als",)))
        await settled(pilot)
        assert app.answer is not None
        session.release.set()


# Growth


def follow(clock, *sources):
    watch = LogWatcher(clock)
    watch.follow(tuple(map(str, sources)))
    return watch


def test_a_growing_log_is_read_again_when_it_rests(tmp_path):
    log, clock = tmp_path / "app.inprogress", Clock()
    log.write_bytes(b"x")
    watch = follow(clock, log, "other")
    assert watch.active
    assert watch.poll() is None
    log.write_bytes(b"xx")
    assert watch.poll() is None
    clock.now += QUIET_SECONDS / 2
    log.write_bytes(b"xxx")
    assert watch.poll() is None
    clock.now += QUIET_SECONDS
    grown = watch.poll()
    assert grown.sources == (str(log), "other")
    assert "app.inprogress has grown" in grown.notice


def test_a_log_that_never_rests_is_read_all_the_same(tmp_path):
    log, clock = tmp_path / "app.inprogress", Clock()
    log.write_bytes(b"")
    watch, polls = follow(clock, log), 0
    while watch.poll() is None:
        polls += 1
        clock.now += 1.0
        log.write_bytes(b"x" * polls)
        assert polls < 100
    assert polls > MAX_WAIT_SECONDS - 2


def test_a_log_whose_application_ends_takes_its_new_name(tmp_path):
    log, clock = tmp_path / "app.inprogress", Clock()
    log.write_bytes(b"x")
    watch = follow(clock, log)
    log.rename(tmp_path / "app")
    grown = watch.poll()
    assert grown.sources == (str(tmp_path / "app"),)
    assert "app has ended" in grown.notice


def test_a_log_that_was_removed_is_followed_no_more(tmp_path):
    log = tmp_path / "app.inprogress"
    log.write_bytes(b"x")
    watch = follow(Clock(), log)
    log.unlink()
    assert watch.poll() is None
    assert not watch.active


def test_a_rolling_log_grows_by_its_parts(tmp_path):
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "events_1_app").write_bytes(b"xx")
    assert log_snapshot(str(folder)) is None
    (folder / "appstatus_app.inprogress").touch()
    assert log_snapshot(str(folder)) == (2, 2, 1)
    watch = follow(Clock(), folder)
    (folder / "events_2_app").write_bytes(b"x")
    assert log_snapshot(str(folder)) == (3, 3, 1)
    (folder / "appstatus_app.inprogress").rename(folder / "appstatus_app")
    assert "has ended" in watch.poll().notice


def test_a_folder_of_logs_is_followed_until_its_last_log_ends(tmp_path):
    clock = Clock()
    (tmp_path / "done").write_bytes(b"xxx")
    first, rolling = tmp_path / "one.inprogress", tmp_path / "eventlog_v2_two"
    first.write_bytes(b"x")
    rolling.mkdir()
    (rolling / "events_1_two").write_bytes(b"xx")
    (rolling / "appstatus_two.inprogress").touch()
    watch = follow(clock, tmp_path)
    assert watch.active
    assert watch.poll() is None

    def read_again():
        assert watch.poll() is None  # it may grow on
        clock.now += QUIET_SECONDS
        grown = watch.poll()
        assert grown.sources == (str(tmp_path),)
        watch.follow(grown.sources)
        return grown.notice

    (rolling / "events_2_two").write_bytes(b"x")
    assert "has grown" in read_again()
    first.rename(tmp_path / "one")  # its last bytes are there already
    assert "has grown" in read_again()
    (tmp_path / "three.inprogress").write_bytes(b"")
    assert "has grown" in read_again()
    (tmp_path / "three.inprogress").rename(tmp_path / "three")
    (rolling / "appstatus_two.inprogress").rename(rolling / "appstatus_two")
    assert "has ended" in watch.poll().notice
    assert not watch.active


def test_a_folder_of_very_many_files_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("tui.log_watcher.MAX_WATCHED_FILES", 2)
    for name in ("a", "b", "c.inprogress"):
        (tmp_path / name).touch()
    assert log_snapshot(str(tmp_path)) is None


def test_only_unfinished_local_logs_are_followed(tmp_path):
    (tmp_path / "app").touch()
    sources = (tmp_path / "app", tmp_path, "sort-small", "http://h#app=x.inprogress", "\0", "-")
    assert not follow(Clock(), *sources).active


def test_reading_again_is_another_evidence_and_a_failure_takes_it_back():
    again = reduce(STATE, RereadSources(("b",)))
    assert (again.sources, again.reading) == (("b",), 1)
    assert evidence_key(again) != evidence_key(STATE)
    same = reduce(replace(STATE, deadline_seconds=5.0), RereadSources(("a",)))
    refused = reduce(same, PlanRefused(STATE))
    assert evidence_key(refused) == evidence_key(STATE)
    assert refused.deadline_seconds == 5.0


async def test_the_planner_reads_a_log_again_that_has_grown(planner, tmp_path, monkeypatch):
    monkeypatch.setattr("tui.log_watcher.QUIET_SECONDS", 0.0)
    log, session = tmp_path / "app.inprogress", FakeSession()
    log.write_bytes(b"x")
    async with at_rest(planner(session, sources=(str(log),)), (120, 40), "p", "s") as (app, pilot):
        await app._poll_growing_logs()
        assert session.builds == 1
        log.write_bytes(b"xx")
        await app._poll_growing_logs()
        await settled(pilot)
        assert session.builds == 2
        assert "app.inprogress has grown: it was read again" in text_of(app)
        log.rename(tmp_path / "app")
        await app._poll_growing_logs()
        await settled(pilot)
        assert app.state.sources == (str(tmp_path / "app"),)
        await app._poll_growing_logs()
        assert session.builds == 3
        # Nothing leads back to the old name: neither a step of the history nor a pinned plan.
        await pilot.press("u")
        await settled(pilot)
        assert not app.state.spot
        assert not app.history.past
        await pilot.press("ctrl+y")
        await settled(pilot)
        assert app.state.spot
        assert {step.sources for step in (app.state, *app.history.past)} == {app.state.sources}
        assert app.pins[0].state.sources == app.state.sources == (str(tmp_path / "app"),)
        assert session.builds == 3
