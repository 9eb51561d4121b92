"""The open screen: what it shows of files before they are opened, marks, and history servers."""

import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from screen import at_rest, settled, text_of, typed, waits

import engine
from tui.screens.open import OpenScreen
from tui.screens.open_rows import Listing

sys.path.insert(0, str(Path(__file__).parents[1] / "engine" / "sources"))

import sparklog as log

TEXT = log.text(log.one_stage())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two logs (one unfinished), a rolling one, other files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run-a").write_bytes(TEXT)
    (tmp_path / "run-b.inprogress").write_bytes(b"".join(TEXT.splitlines(keepends=True)[:-1]))
    rolling = tmp_path / "eventlog_v2_c"
    rolling.mkdir()
    (rolling / "events_1_c").write_bytes(TEXT)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "run-d").write_bytes(TEXT)
    return tmp_path


async def shows(pilot, *words):
    """Waits until all words are on one line of the screen, and returns that line."""
    async for _ in waits():
        for line in text_of(pilot.app).splitlines():
            if all(word in line for word in words):
                await pilot.pause()
                return line
    raise AssertionError(f"{words} not in\n{text_of(pilot.app)}")


@asynccontextmanager
async def opened(planner, size=(120, 40)):
    """A planner whose open screen is shown."""
    async with at_rest(planner, size, "o") as (app, pilot):
        await pilot.pause()
        assert isinstance(app.screen, OpenScreen)
        yield app, pilot


# The screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_log_shows_what_it_holds_before_it_is_opened(planner, folder, size):
    async with opened(planner(), size) as (_, pilot):
        await shows(pilot, "run-a", "job", "11 s", "complete")
        await shows(pilot, "run-b.inprogress", "job", "not ended")
        await shows(pilot, "eventlog_v2_c/", "job", "complete")
        await shows(pilot, "below/", "folder")
        if size[0] == 120:
            await shows(pilot, "run-a", "complete", "4", "–", "3.5.1")


async def test_several_are_marked_and_opened_together(planner, folder):
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "run")
        await pilot.press("space", "space")
        await pilot.pause()
        await shows(pilot, "2 marked: run-a, run-b.inprogress")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == ("run-a", "run-b.inprogress")


async def test_a_mark_stays_while_another_folder_is_looked_at_and_goes_again(planner, folder):
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "run-a")
        await pilot.press("space", *["backspace"] * 5)
        await typed(pilot, "below")
        await pilot.press("enter", "space")
        await pilot.pause()
        await shows(pilot, "2 marked: run-a, run-d")
        await pilot.press("up", "space")
        await pilot.pause()
        await shows(pilot, "1 marked: run-a")
        await pilot.press("ctrl+a")
        await settled(pilot)
        assert app.state.sources == ("nightly-als", "run-a")


async def test_a_log_that_is_still_written_is_followed_while_the_screen_is_open(
    planner, folder, monkeypatch
):
    """Size, time and state stayed those of the moment at which the screen was opened."""
    monkeypatch.setattr("tui.screens.open.INTERVAL_SECONDS", 0.02)
    written, rolled = folder / "run-b.inprogress", folder / "eventlog_v2_c" / "events_1_c"
    rolled.write_bytes(written.read_bytes())
    async with opened(planner()) as (app, pilot):
        await shows(pilot, "eventlog_v2_c/", "not ended")
        await typed(pilot, "run")
        await pilot.press("down", "space")
        await shows(pilot, "1 marked: run-b.inprogress")
        await shows(pilot, "run-b.inprogress", "not ended")
        written.write_bytes(TEXT)
        await shows(pilot, "run-b.inprogress", "11 s", "complete")
        written.rename(folder / "run-b")
        await shows(pilot, "1 marked: run-b ")
        assert app.screen.current.value == "run-b"
        await pilot.press(*["backspace"] * 3)
        rolled.write_bytes(TEXT)
        await shows(pilot, "eventlog_v2_c/", "11 s", "complete")


async def test_a_folder_that_is_slow_to_read_again_does_not_hold_the_keyboard(
    planner, folder, monkeypatch
):
    """While a log grew, its folder was read each second by the thread that waits for keys."""
    monkeypatch.setattr("tui.screens.open.INTERVAL_SECONDS", 0.02)
    read, threads, release = Listing.entries, set(), threading.Event()

    def slow(listing, typed):
        threads.add(threading.current_thread())
        release.wait(0.5 if threading.current_thread() is threading.main_thread() else 60.0)
        return read(listing, typed)

    async with opened(planner()) as (_, pilot):
        await shows(pilot, "run-b.inprogress", "not ended")
        monkeypatch.setattr(Listing, "entries", slow)
        async for _ in waits():
            if threads:
                break
        await pilot.press("down", "space")
        await shows(pilot, "1 marked: ")
        (folder / "run-b.inprogress").write_bytes(TEXT)
        release.set()
        await shows(pilot, "run-b.inprogress", "11 s", "complete")
        assert threads
        assert threading.main_thread() not in threads


async def test_a_log_that_goes_takes_its_row_and_leaves_the_cursor_on_the_last(
    planner, folder, monkeypatch
):
    monkeypatch.setattr("tui.screens.open.INTERVAL_SECONDS", 0.02)
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "run")
        await pilot.press("down")
        await shows(pilot, "run-b.inprogress", "not ended")
        (folder / "run-b.inprogress").unlink()
        async for _ in waits():
            if len(app.screen._options) == 1:
                break
        assert app.screen.current.value == "run-a"


async def test_a_folder_cannot_be_marked_but_opened_whole(planner, folder):
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "bel")
        await pilot.press("space")
        await shows(pilot, "press enter to look into a folder")
        await pilot.press("ctrl+o")
        await settled(pilot)
        assert app.state.sources == ("below",)


async def test_a_space_without_matches_is_typed(planner, folder):
    (folder / "my log").write_bytes(TEXT)
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "zz")
        await pilot.press("space", "backspace", "backspace", "backspace", "m", "y", "tab")
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == ("my log",)


@pytest.mark.parametrize("source", ["s3://bucket/logs/app", "http://host:1#app=x"])
async def test_addresses_are_handed_on(planner, folder, source):
    async with opened(planner()) as (app, pilot):
        app.screen.query_one("#typed").value = source
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == (source,)


async def test_a_slow_look_does_not_hold_the_keyboard(planner, folder, monkeypatch):
    release = threading.Event()

    def slow(source):
        release.wait(10)
        return engine.Peek(kind="event log", name="etl")

    monkeypatch.setattr(engine, "peek", slow)
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "run-a")
        await pilot.press("space")
        await pilot.pause()
        await shows(pilot, "1 marked: run-a")
        release.set()
        await shows(pilot, "run-a", "etl")
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, OpenScreen)


# History servers


def applications():
    return tuple(
        engine.HistoryApplication(
            source=f"http://h:18080#app=app-{number}",
            started_ms=1_795_237_450_034,
            app_id=f"app-{number}",
            name=name,
            seconds=seconds,
            complete=seconds is not None,
            spark_version="3.5.1",
        )
        for number, name, seconds in ((1, "etl", 60.0), (2, "report", None))
    )


async def typed_address(pilot, address):
    pilot.app.screen.query_one("#typed").value = address
    await pilot.pause()
    await pilot.press("enter")


async def test_a_history_server_lists_its_applications(planner, folder, monkeypatch):
    monkeypatch.setattr(engine, "list_applications", lambda address, limit: applications())
    async with opened(planner()) as (app, pilot):
        await typed_address(pilot, "http://h:18080")
        await shows(pilot, "app-1", "etl", "1m", "complete", "–", "3.5.1")
        await shows(pilot, "app-2", "report", "not ended")
        await shows(pilot, "etl, started 2026-11-21 05:04 UTC")
        await typed(pilot, "/rep")
        await pilot.pause()
        assert "app-1" not in text_of(app)
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == ("http://h:18080#app=app-2",)


async def test_a_space_is_typed_where_a_name_goes_on_with_one(planner, folder, monkeypatch):
    """It marked the first application whose name began so."""
    shell = replace(applications()[0], name="Spark shell")
    found = (replace(shell, app_id="app-0", name="Spark Pi"), shell, applications()[1])
    monkeypatch.setattr(engine, "list_applications", lambda address, limit: found)
    async with opened(planner()) as (app, pilot):
        await typed_address(pilot, "http://h:18080")
        await shows(pilot, "app-1", "Spark shell")
        await typed(pilot, "#app=spark")
        await pilot.press("space", "s")
        await pilot.pause()
        assert app.screen.query_one("#typed").value.endswith("#app=spark s")
        assert "Spark Pi" not in text_of(app)
        await pilot.press("space")
        await shows(pilot, "1 marked: app-1")


async def test_a_space_marks_among_names_with_spaces_that_were_moved_in(planner, folder):
    for name in ("my log", "my other"):
        (folder / name).write_bytes(TEXT)
    async with opened(planner()) as (app, pilot):
        await typed(pilot, "my")
        await pilot.press("down", "space")
        await shows(pilot, "1 marked: my other")
        await pilot.press("up", "space", "space")
        await shows(pilot, "2 marked: my other, my log")
        assert app.screen.query_one("#typed").value == "my "


async def test_a_server_that_does_not_answer_is_one_line(planner, folder, monkeypatch):
    def fail(address, limit):
        raise engine.ServiceUnavailable("stalls", where=address, remedy="try again")

    monkeypatch.setattr(engine, "list_applications", fail)
    async with opened(planner(), (80, 24)) as (app, pilot):
        await typed_address(pilot, "http://h:18080")
        await shows(pilot, "http://h:18080: stalls; try again")
        assert isinstance(app.screen, OpenScreen)


async def test_what_to_do_about_a_server_is_read_in_full(planner, folder, monkeypatch):
    """One row cut it: what is wrong was there, and what to do was not."""
    remedy = "give its address as http://HOST:18080, the page that lists applications in a browser"

    def fail(address, limit):
        raise engine.ServiceUnavailable("no history server", where=address, remedy=remedy)

    monkeypatch.setattr(engine, "list_applications", fail)
    async with opened(planner(), (80, 24)) as (app, pilot):
        await typed_address(pilot, "http://h:18080")
        await shows(pilot, "no history server; give its address")
        await shows(pilot, "in a browser")
        assert isinstance(app.screen, OpenScreen)


@pytest.mark.parametrize(("key", "before"), [("enter", ()), ("ctrl+a", ("nightly-als",))])
async def test_a_name_that_is_not_listed_is_said_and_asked_for(
    planner, folder, monkeypatch, key, before
):
    """Of thousands of applications the newest are listed; an older one has a name too. Added to
    what is open it was the name of a host."""
    many = tuple(replace(applications()[0], app_id=f"app-{n}", name=f"job {n}") for n in range(200))
    monkeypatch.setattr(engine, "list_applications", lambda address, limit: many[:limit])
    async with opened(planner()) as (app, pilot):
        await typed_address(pilot, "http://h:18080")
        await shows(pilot, "the newest 200 are listed: #app=NAME behind the address")
        await typed(pilot, "old")
        await shows(pilot, "none of those listed has old in its name; press enter to open it")
        await pilot.press(key)
        await settled(pilot)
        assert app.state.sources == (*before, "http://h:18080#app=old")


async def test_only_the_last_server_asked_counts(planner, folder, monkeypatch):
    release = threading.Event()

    def answer(address, limit):
        if address.endswith("1"):
            release.wait(10)
            raise engine.ServiceUnavailable("too late", where=address)
        return applications()

    monkeypatch.setattr(engine, "list_applications", answer)
    async with opened(planner()) as (_, pilot):
        await typed_address(pilot, "http://h:1")
        await shows(pilot, "asking the history server")
        await typed_address(pilot, "http://h:18080")
        release.set()
        await shows(pilot, "app-1", "etl")
        assert "too late" not in text_of(pilot.app)


# Stores


@pytest.fixture
def store():
    """A store in memory with a log, a rolling log and a folder with another."""
    files = pytest.importorskip("fsspec").filesystem("memory")
    files.store.clear()
    data = (Path(__file__).parents[1] / "data" / "failing.zstd").read_bytes()
    for path in ("/b/app", "/b/eventlog_v2_x/events_1_x", "/b/deep/other", "/b/deep/none"):
        with files.open(path, "wb") as file:
            file.write(b"nothing" if path.endswith("none") else data)
    yield files
    files.store.clear()


async def test_a_folder_in_a_store_is_listed_and_its_logs_looked_into(planner, folder, store):
    async with opened(planner()) as (app, pilot):
        app.screen.query_one("#typed").value = "memory://b/"
        await shows(pilot, "press enter to list its files")
        await pilot.press("enter")
        await shows(pilot, "deep/", "folder")
        await shows(pilot, "eventlog_v2_x/", "failing", "complete", "3.5.9")
        await shows(pilot, " app ", "failing", "complete", "3.5.9")
        await typed(pilot, "deep")
        await pilot.pause()
        await pilot.press("enter")  # entered, and asked for
        await shows(pilot, "other", "failing")
        assert "none" in text_of(app)
        await typed(pilot, "oth")
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == ("memory://b/deep/other",)


async def test_a_store_that_holds_no_such_folder_is_one_line(planner, folder, store):
    async with opened(planner()) as (app, pilot):
        await typed_address(pilot, "memory://nowhere/")
        await shows(pilot, "memory://nowhere")
        assert isinstance(app.screen, OpenScreen)


async def test_names_of_samples_and_titles_are_whole_at_80_columns(planner):
    """The title of the last column gave way to how many rows there are below."""
    async with at_rest(planner(), (80, 24), "o") as (app, pilot):
        await pilot.pause()
        await typed(pilot, "small")
        await pilot.pause()
        shown = text_of(app)
        assert "nightly-features-small " in shown
        await pilot.press(*["backspace"] * 5)
        await pilot.pause()
        titles = next(row for row in text_of(app).splitlines() if "application" in row)
        assert "input" in titles
        assert "↓" in titles
