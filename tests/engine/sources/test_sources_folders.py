"""Which files make up which log, by their names alone."""

import os
from collections import Counter
from pathlib import Path

import pytest
from sparklog import one_stage, write
from watched import calls_of

from engine.sources import read
from engine.sources.access.folders import LogFiles, log_of, logs_among, logs_in, parts_text

FOLDER = Path("eventlog_v2_app-1")


def rolling(*names: str) -> LogFiles:
    [log] = logs_among(FOLDER / name for name in names)
    return log


def names_of(log: LogFiles) -> list[str]:
    return [part.name for part in log.parts]


def test_of_two_compacted_parts_the_later_one_stands_for_both() -> None:
    """A history server that compacts again writes the new one before it removes the old one: with
    both, all that the first one keeps would count twice."""
    log = rolling("events_3_app-1.compact", "events_5_app-1.compact", "events_6_app-1")
    assert names_of(log) == ["events_5_app-1.compact", "events_6_app-1"]
    assert (log.lost, log.missing_before) == ((), (0, 0))


def test_parts_that_a_compacted_one_stands_for_are_not_read_again() -> None:
    log = rolling("events_2_app-1", "events_3_app-1", "events_3_app-1.compact", "events_5_app-1")
    assert names_of(log) == ["events_3_app-1.compact", "events_5_app-1"]
    assert log.lost == ("part 4 of 5 missing",)


def test_what_is_being_compacted_is_not_read_yet() -> None:
    log = rolling("events_1_app-1", "events_1_app-1.compact.inprogress", "events_2_app-1")
    assert names_of(log) == ["events_1_app-1", "events_2_app-1"]
    assert log.lost == ()


def test_parts_may_be_counted_from_zero() -> None:
    """As EMR Serverless does: parts 0, 1 and 2 are three."""
    log = rolling("events_0_app-1", "events_2_app-1")
    assert (log.lost, log.missing_before) == (("part 1 of 3 missing",), (0, 1))
    assert rolling("events_2_app-1").lost == ("part 1 of 2 missing",)


def test_a_part_beside_its_unpacked_copy_is_read_once() -> None:
    """Its tasks would count a second time, as attempts that were of no use. So would those of a
    part that was downloaded twice."""
    log = rolling("events_1_app-1", "events_1_app-1.zstd", "events_2_app-1.zstd")
    assert (names_of(log), log.lost) == (["events_1_app-1", "events_2_app-1.zstd"], ())
    log = rolling("events_1_app-1", "events_2_app-1", "events_2_app-1 (1)", "events_2_app-1 copy")
    assert names_of(log) == ["events_1_app-1", "events_2_app-1"]


def test_notes_beside_a_rolling_log_are_none() -> None:
    """They would be told as a file that was skipped."""
    assert names_of(rolling("events_1_app-1", "notes.txt", "applications.csv")) == [
        "events_1_app-1"
    ]


def test_a_databricks_log_beside_a_rolling_one_stays_whole() -> None:
    names = ("eventlog", "eventlog-2026-01-01--00-00", "events_1_app-1")
    rolled, databricks = logs_among(FOLDER / name for name in names)
    assert (names_of(rolled), names_of(databricks)) == (["events_1_app-1"], [*names[1::-1]])


def test_parts_are_in_the_order_of_their_numbers() -> None:
    """By name the tenth would come before the second."""
    log = rolling(*(f"events_{n}_app-1.zstd" for n in range(1, 12)))
    assert names_of(log) == [f"events_{n}_app-1.zstd" for n in range(1, 12)]


def test_rolling_logs_of_several_applications_in_one_folder_are_told_apart() -> None:
    """Also attempts of one application, and logs that were never rolled."""
    names = ("events_1_app-1", "events_1_app-1_1.zstd", "events_1_app-2", "events_2_app-1")
    beside = ("app-3.zstd", "events_2_app-1_1.zstd", "events_3_app-2", "events_1_app-2.compact")
    found = logs_among(FOLDER / name for name in (*names, *beside))
    assert [(Path(log.name).name, names_of(log), log.lost) for log in found] == [
        ("events_1_app-1", ["events_1_app-1", "events_2_app-1"], ()),
        ("events_1_app-1_1.zstd", ["events_1_app-1_1.zstd", "events_2_app-1_1.zstd"], ()),
        (
            "events_1_app-2.compact",
            ["events_1_app-2.compact", "events_3_app-2"],
            ("part 2 of 3 missing",),
        ),
        ("app-3.zstd", ["app-3.zstd"], ()),
    ]


def test_a_folder_of_several_rolling_logs_is_not_one_log(tmp_path: Path) -> None:
    for name in ("events_1_app-1", "events_2_app-1"):
        (tmp_path / name).touch()
    one = log_of(tmp_path)
    assert one is not None
    assert (one.name, names_of(one)) == (str(tmp_path), ["events_1_app-1", "events_2_app-1"])
    for other in ("events_1_app-2", "app-3.zstd"):
        (tmp_path / other).touch()
        assert log_of(tmp_path) is None
        (tmp_path / other).unlink()


def test_runs_of_applications_whose_parts_lie_together_are_read_apart(tmp_path: Path) -> None:
    """Read as one log, the second application was lost, or its tasks were those of the first."""
    for number, seconds in enumerate((2.0, 3.0)):
        events = one_stage(seconds=seconds)
        events[2]["App ID"] = f"app-{number}"
        write(tmp_path / f"events_1_app-{number}", events[:6])
        write(tmp_path / f"events_2_app-{number}", events[6:])
    runs = read(tmp_path).runs
    assert [(run.app_id, run.seconds, run.lost) for run in runs] == [
        ("app-0", 11.0, ()),
        ("app-1", 15.0, ()),
    ]


def test_what_stands_beside_logs_is_none() -> None:
    """Checksums, hidden files, marks that all was written, and what lies in hidden folders."""
    beside = ["a.crc", ".a.crc", "_SUCCESS", "appstatus_a", ".tmp/b"]
    found = logs_among([Path("logs") / name for name in ("a", *beside, "below/c")])
    assert [log.parts for log in found] == [(Path("logs/a"),), (Path("logs/below/c"),)]


def test_a_folder_is_searched_to_its_ends(tmp_path: Path) -> None:
    """As a list of the same files would be; links back up lead nowhere new."""
    for name in ("a", "a.crc", "x/b", "x/y/events_1_app", "x/y/events_2_app", "x/.z/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "x" / "up").symlink_to(tmp_path, target_is_directory=True)
    found = logs_in(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found == logs_among(files, tmp_path)
    assert [len(log.parts) for log in found] == [1, 1, 2]


def test_each_folder_is_listed_once_also_where_progress_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To get the total of what is read, all were listed before, and then again."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    write(tmp_path / "a" / "b" / "log", one_stage(tasks=2))
    calls = calls_of(monkeypatch, os, "scandir")
    told: list[tuple[int, int | None]] = []
    read(tmp_path, progress=lambda done, total: told.append((done, total)))
    listed = Counter(str(path) for (path,) in calls)
    assert [listed[str(each)] for each in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [
        1
    ] * 3
    size = (tmp_path / "a" / "b" / "log").stat().st_size
    assert told[:2] == [(0, None)] * 2  # one for each subfolder
    assert told[-1] == (size, size)


def test_the_search_of_folders_can_be_ended(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write(tmp_path / "log", one_stage(tasks=2))

    def cancel(done: int, total: int | None) -> None:
        if total is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, progress=cancel)


def test_missing_parts_in_words() -> None:
    assert parts_text([2], 3) == "part 2 of 3"
    assert parts_text([1, 2, 3, 4, 5], 9) == "parts 1, 2, 3, 4, 5 of 9"
    assert parts_text([1, 2, 3, 4, 5, 6], 9) == "parts 1, 2, 3, 4, 5 and 1 more of 9"
