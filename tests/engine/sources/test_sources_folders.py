"""Which files make up which log, by their names alone."""

from pathlib import Path

from engine.sources.access.folders import LogFiles, logs_among, logs_in, parts_text

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


def test_parts_are_in_the_order_of_their_numbers() -> None:
    """By name the tenth would come before the second."""
    log = rolling(*(f"events_{n}_app-1.zstd" for n in range(1, 12)))
    assert names_of(log) == [f"events_{n}_app-1.zstd" for n in range(1, 12)]


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


def test_missing_parts_in_words() -> None:
    assert parts_text([2], 3) == "part 2 of 3"
    assert parts_text([1, 2, 3, 4, 5], 9) == "parts 1, 2, 3, 4, 5 of 9"
    assert parts_text([1, 2, 3, 4, 5, 6], 9) == "parts 1, 2, 3, 4, 5 and 1 more of 9"
