"""The first look at a source: what it tells of small, large, unfinished and other files."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sparklog as log
import zstandard

import engine
from engine.sources import peek as module
from engine.sources.access import codecs
from engine.sources.peek import NOTHING, Peek, peek

TEXT = log.text(log.one_stage())
LINES = TEXT.splitlines(keepends=True)
LARGE = log.text(log.one_stage(600))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "zstd": zstd,
    "lz4": lambda data: log.lz4_blocks(data, 512),
}


def looked(folder: Path, data: bytes, name: str = "app") -> Peek:
    (folder / name).write_bytes(data)
    return peek(folder / name)


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of some chunks counts as a large one."""
    monkeypatch.setattr(module, "WHOLE_BYTES", 1500)
    monkeypatch.setattr(module, "TAIL_BYTES", 600)


@pytest.mark.parametrize("name", [s.name for s in engine.list_samples() if s.kind == "event-log"])
def test_a_sample_shows_what_reading_it_gives(name: str) -> None:
    found, profile = peek(name), engine.read(name)
    assert (found.kind, found.whole, found.complete) == ("event log", True, True)
    assert found.name == profile.runs[0].application
    assert found.cores == profile.runs[0].cluster.slots
    assert found.input_bytes == pytest.approx(
        sum(run.workload.input_bytes or 0 for run in profile.runs)
    )
    assert found.seconds is not None
    if len(profile.runs) == 1:
        assert found.seconds == pytest.approx(profile.runs[0].seconds)
    assert found.spark_version


@pytest.mark.parametrize("codec", PACKED)
def test_a_large_log_shows_its_first_and_last_part(
    tmp_path: Path, codec: str, small_limits: None
) -> None:
    assert len(LARGE) > 3 * codecs.CHUNK_BYTES
    found = looked(tmp_path, PACKED[codec](LARGE))
    (run,) = engine.read(tmp_path / "app").runs
    assert (found.name, found.spark_version, found.cores) == ("job", "3.5.1", 4)
    assert found.seconds == pytest.approx(run.seconds)
    assert (found.complete, found.whole, found.input_bytes) == (True, False, None)


def test_an_end_that_is_too_far_away_is_not_known(
    tmp_path: Path, small_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNPACKED_BYTES", 2000)
    found = looked(tmp_path, zstd(LARGE))
    assert (found.name, found.seconds, found.complete) == ("job", None, None)
    assert looked(tmp_path, zstd(LARGE), "app.inprogress").complete is False


@pytest.mark.parametrize("large", [False, True])
def test_an_unfinished_log_lasts_up_to_its_last_event(
    tmp_path: Path, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(module, "WHOLE_BYTES", 1500)
    whole = (LARGE if large else TEXT).splitlines(keepends=True)
    found = looked(tmp_path, b"".join(whole[:-1])[:-5], "app.inprogress")
    assert found.complete is False
    assert found.seconds > 0


def test_an_application_that_has_only_begun(tmp_path: Path) -> None:
    found = looked(tmp_path, b"".join(LINES[:5]))
    assert (found.name, found.cores, found.complete) == ("job", 4, False)


def test_a_rolling_folder_is_one_log_and_other_folders_are_none(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "events_1_app").write_bytes(b"".join(LINES[:5]))
    (folder / "events_2_app").write_bytes(b"".join(LINES[5:]))
    assert peek(folder).complete is True
    (folder / "events_2_app").write_bytes(b"".join(LINES[5:-1]))
    (folder / "appstatus_app.inprogress").touch()
    assert peek(folder).complete is False
    assert peek(tmp_path) == NOTHING


def test_of_a_large_rolling_log_the_end_of_the_last_part_tells(
    tmp_path: Path, small_limits: None
) -> None:
    """What was read is a part of its input only, which is therefore not told."""
    read = {"Input Metrics": {"Bytes Read": 10}}
    events = [
        event | {"Task Metrics": event["Task Metrics"] | read} if "Task Metrics" in event else event
        for event in log.one_stage(600)
    ]
    lines = log.text(events).splitlines(keepends=True)
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "events_1_app").write_bytes(b"".join(lines[:300]))
    (folder / "events_2_app").write_bytes(b"".join(lines[300:]))
    (run,) = engine.read(folder).runs
    found = peek(folder)
    assert (found.seconds, found.complete, found.whole) == (run.seconds, True, False)
    assert (run.workload.input_bytes, found.input_bytes) == (6000.0, None)
    (folder / "events_2_app").write_bytes(b"".join(lines[300:-3]))
    (folder / "appstatus_app.inprogress").touch()
    assert peek(folder).complete is False


def test_an_application_that_ended_and_lost_tasks_is_not_whole(tmp_path: Path) -> None:
    found = looked(tmp_path, b"".join(line for line in LINES if b'"Task ID":2,' not in line))
    assert (found.complete, found.whole) == (False, True)


def test_before_a_task_has_ended_the_executors_that_are_there_count(tmp_path: Path) -> None:
    """Where of one nobody knows its cores, nor of all."""
    begun = log.one_stage()[:5]
    gone = looked(tmp_path, log.text([*begun, log.removed("1", 1.5)]))
    assert (gone.cores, gone.seconds) == (2, None)
    block = {"Block Manager ID": {"Executor ID": "9", "Host": "h9"}, "Maximum Memory": 5}
    unknown = {"Event": "SparkListenerBlockManagerAdded", "Timestamp": log.ms(1.0)} | block
    assert looked(tmp_path, log.text([*begun, unknown])).cores is None


def test_databricks_logs_have_no_end_to_miss(tmp_path: Path) -> None:
    events = log.one_stage()[:-1]
    events[1]["Spark Properties"]["spark.databricks.clusterUsageTags.sparkVersion"] = "15.4.x"
    assert looked(tmp_path, log.text(events)).complete is None
    assert looked(tmp_path, log.text(log.one_stage()[:-1])).complete is False


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"format: sparkplan-profile/1\nname: x\n", "profile"),
        (b"nodes,input_size,seconds\n4,1GB,100\n", "run table"),
        (b"", None),
        (b"hello", None),
        (b"\x28\xb5\x2f\xfdnot zstd", None),
        (b"PK\x03\x04zip", None),
        (b'{"Event":"x"}\n' * 3, "event log"),
    ],
)
def test_other_files_are_named_or_nothing(tmp_path: Path, data: bytes, kind: str | None) -> None:
    found = looked(tmp_path, data)
    assert found.kind == kind
    assert found.seconds is None


def test_it_never_fails(tmp_path: Path) -> None:
    for source in ("no such thing", "", "\0", "/dev/null", "x" * 5000, "s3://bucket/x"):
        assert peek(source) == NOTHING
    assert peek("ernest-rcv1").kind == "profile"
