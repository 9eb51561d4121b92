"""The rows of the open screen: what they tell of files, folders and applications."""

import pytest

import engine
from tui.screens.open_rows import (
    MAX_FETCHED,
    Entry,
    Listing,
    application_entries,
    remote_entries,
    row,
)

LOG = engine.Peek(
    kind="event log", name="etl", spark_version="3.5.1", seconds=95.0, cores=16,
    input_bytes=48e9, complete=True, whole=True,
)  # fmt: skip


def test_what_is_known_of_a_log():
    assert [c if isinstance(c, str) else c[0] for c in row(Entry("a", "a"), LOG, marked=True)] == [
        "• a", "etl", "1m 35s", "complete", "16", "48 GB", "3.5.1", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "said"), [(184.4, "3m 04s"), (36.2, "36.2 s"), (3900.0, "1h 05m")]
)
def test_a_time_reads_as_on_every_other_screen(seconds, said):
    """It was written as sliders have it, without its point: 36s."""
    log = engine.Peek(kind="event log", seconds=seconds)
    assert row(Entry("a", "a"), log, marked=False)[2] == said


def test_what_is_not_known_is_a_dash_and_part_of_the_cores_has_a_plus():
    partly = engine.Peek(kind="event log", cores=8, complete=False)
    cells = [c if isinstance(c, str) else c[0] for c in row(Entry("a", "a"), partly, marked=False)]
    assert cells == ["  a", "–", "–", "not ended", "8+", "–", "–", ""]


def test_other_things_say_what_they_are():
    table = engine.Peek(kind="run table")
    assert row(Entry("a", "a"), table, marked=False)[1] == ("run table", "muted")
    assert row(Entry("a", "a"), engine.Peek(), marked=False)[1] == ("–", "muted")
    assert row(Entry("a/", "a/", "folder", folder=True), None, marked=False)[1][0] == "folder"


def test_a_folder_of_thousands_of_files_shows_the_first_ones(tmp_path):
    for number in range(2_500):
        (tmp_path / f"app-{number:05}").touch()
    listing = Listing(tmp_path)
    entries, hidden = listing.entries("")
    assert len(entries) == 200
    assert hidden == 2_300
    entries, hidden = listing.entries("app-0123")
    assert [entry.label for entry in entries] == [f"app-0123{n}" for n in range(10)]
    assert hidden == 0
    (tmp_path / "app-01239x").touch()
    assert len(listing.entries("app-0123")[0]) == 11


def test_odd_names_and_places_list_nothing(tmp_path):
    listing = Listing(tmp_path)
    for typed_text in ("no/such/", "\0", "~nobody-here/", "x" * 5000):
        assert listing.entries(typed_text)[0] == []


def test_of_very_many_files_in_a_store_only_the_first_are_fetched():
    found = [engine.RemoteEntry(f"s3://b/{n}", str(n), 5) for n in range(MAX_FETCHED + 3)]
    assert [e.stamp is None for e in remote_entries(found)].count(True) == 3


def test_the_names_of_applications_are_not_markup():
    (entry,) = application_entries(
        [engine.HistoryApplication(source="s", app_id="a", name="[b]x[/b]\x1b[2J")]
    )
    assert row(entry, None, marked=False)[1] == "[b]x[/b]\x1b[2J"  # the table makes it visible
