"""Containers and damage: the same log comes out of each, and what is lost is said in numbers."""

import errno
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sparklog as log
import zstandard
from pitfall_logs import DATA, text_of

from engine.errors import BadInput
from engine.profile import Profile
from engine.sources import read
from engine.sources.access import lines
from engine.sources.logs import eventlog
from engine.sources.peek import peek

TEXT = log.text(log.one_stage())


def zstd_frames(data: bytes) -> bytes:
    """Two frames, cut in the middle of a line."""
    compress = zstandard.ZstdCompressor().compress
    return compress(data[:700]) + compress(data[700:])


def gzip_members(data: bytes) -> bytes:
    return gzip.compress(data[:700]) + gzip.compress(data[700:])


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "zstd": zstd_frames,
    "gzip": gzip_members,
    "lz4": log.lz4_blocks,
    "lz4-small-blocks": lambda data: log.lz4_blocks(data, 64),
    "snappy": log.snappy_blocks,
    "snappy-two-streams": lambda data: log.snappy_blocks(data[:9]) + log.snappy_blocks(data[9:]),
    "lzf": log.lzf_blocks,
    "lzf-small-blocks": lambda data: log.lzf_blocks(data, 100),
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "blank-lines": lambda data: data.replace(b"\n", b"\n\n"),
}


def read_bytes(folder: Path, data: bytes, name: str = "app") -> Profile:
    path = folder / name
    path.write_bytes(data)
    return read(path)


@pytest.mark.parametrize("codec", CODECS)
def test_every_container_holds_the_same_log(tmp_path: Path, codec: str) -> None:
    assert read_bytes(tmp_path, CODECS[codec](TEXT)) == read_bytes(tmp_path, TEXT)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01", "is empty"),
        (log.snappy_blocks(b"") + b"\x7f\xff\xff\xff", "snappy stream is damaged"),
        (b"ZV\x01\x00\x10\x00\x20", "lzf stream breaks off"),
        (b"ZV\x07\x00\x10\x00\x20", "lzf stream is damaged"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x04\x22\x4d\x18rest", "lz4 frame"),
        (b"BZh91AY", "bzip2"),
        (b"", "empty"),
        (b"\n  \n", "empty"),
        (b"\x28\xb5\x2f\xfdnot zstd at all", "zstd stream is damaged"),
        (zstd_frames(TEXT)[:40], "zstd stream holds no whole block"),
        (zstandard.compress(b""), "is empty"),
        (2 * zstandard.compress(b""), "is empty"),
        pytest.param(100_000 * zstandard.compress(b""), "is empty", id="empty frames"),
        (zstandard.compress(b"")[:-1], "zstd stream holds no whole block"),
        ((2 * zstandard.compress(b""))[:-1], "zstd stream holds no whole block"),
        (2 * zstandard.compress(b"") + zstd_frames(TEXT)[:40], "zstd stream holds no whole block"),
        (2 * zstandard.compress(b"") + b"no frame", "zstd stream is damaged"),
        (zstd_frames(b"")[:-1], "zstd stream holds no whole block"),
        (b"\x1f\x8bnot gzip", "gzip stream is damaged"),
        (b"LZ4Blocknot lz4 at all, really", "lz4 stream is damaged"),
        (b"{}\n", "not an event log"),
        (b'{"Event":"Other"}\n', "not a Spark event log"),
        (b"<html><body>login</body></html>", "web page"),
        ("nodes,input_size,seconds\n".encode("utf-16"), "UTF-16; save it as UTF-8"),
        (bytes(range(256)) * 4, "not an event log"),
    ],
)
def test_what_is_not_read_is_named_in_one_line(tmp_path: Path, data: bytes, name: str) -> None:
    with pytest.raises(BadInput, match=name) as caught:
        read_bytes(tmp_path, data)
    assert str(tmp_path / "app") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_torn_last_line_is_said_and_the_rest_kept(tmp_path: Path) -> None:
    whole = read_bytes(tmp_path, TEXT).runs[0]
    cut = TEXT[: TEXT.index(b'{"Event":"SparkListenerJobEnd"') + 20]
    run = read_bytes(tmp_path, cut).runs[0]
    assert run.stages == whole.stages
    assert not run.complete
    assert run.lost == ("the last of 13 events was torn",)
    assert run.notices[0].code == "incomplete-log"
    assert run.seconds == 10.0  # the last event: the stage's completion


def test_a_byte_order_mark_is_no_part_of_the_first_event(tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbf" + TEXT
    assert read_bytes(tmp_path, marked) == read_bytes(tmp_path, TEXT)
    (tmp_path / "app").write_bytes(marked)
    assert peek(tmp_path / "app").spark_version == "3.5.1"


def test_text_in_the_charset_of_a_machine_costs_no_event(tmp_path: Path) -> None:
    """Spark before 3.0 wrote in it: names of applications and stages, errors, plans."""
    failure = b',"Failure Reason":"stage annul\xe9e"}}'
    named = TEXT.replace(b'"App Name":"job"', b'"App Name":"journ\xe9e"')
    named = named.replace(b"count at job.py", b"compt\xe9 at job.py")
    assert named != TEXT
    run = read_bytes(tmp_path, named).runs[0]
    assert run.application == "journ\ufffde"
    assert {stage.name for stage in run.stages} == {"compt\ufffd at job.py:0"}
    assert (run.complete, run.lost) == (True, ())
    completed = next(line for line in TEXT.splitlines(True) if b"StageCompleted" in line)
    failed = TEXT.replace(completed, completed[:-3] + failure + b"\n")
    assert read_bytes(tmp_path, failed).runs[0].has_failed


def test_last_line_without_its_end_is_whole(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, TEXT.rstrip(b"\n")) == read_bytes(tmp_path, TEXT)


@pytest.mark.parametrize(("codec", "said"), [("gzip", "gzip"), ("lz4-small-blocks", "lz4")])
def test_stream_that_breaks_off_keeps_what_was_decoded(
    tmp_path: Path, codec: str, said: str
) -> None:
    packed = CODECS[codec](TEXT)
    run = read_bytes(tmp_path, packed[:-60]).runs[0]
    assert not run.complete
    assert any(f"the {said} stream breaks off after" in text for text in run.lost)
    assert 1 <= run.stages[0].task_seconds.count <= 4


def test_bad_lines_are_counted_not_fatal(tmp_path: Path) -> None:
    events = TEXT.splitlines(keepends=True)
    events[5:5] = [
        b"garbage\n",
        b"\x00\x00\xff\xfe\n",
        b'{"Event":"SparkListenerTaskEnd","Stage ID":"x"}\n',
        b'{"Event":"SparkListenerTaskEnd"' + b"[" * 100_000 + b"\n",
        b'{"Event":"SparkListenerJobStart","Job ID":"x"}\n',
    ]
    run = read_bytes(tmp_path, b"".join(events)).runs[0]
    assert run.lost == (f"5 of {len(events)} events could not be read",)
    assert run.stages == read_bytes(tmp_path, TEXT).runs[0].stages


@pytest.mark.parametrize(
    "name", ["killed.zstd.inprogress", "paired.zstd", "python_source.zstd", "python_workers.zstd"]
)
def test_other_spacing_and_key_order_change_nothing(tmp_path: Path, name: str) -> None:
    """As a tool leaves a log that took names out of it: what was running at its end, the settings
    of its session and what its Python workers took are all still told."""
    text = text_of(DATA / name)
    spaced = b""
    for line in text[: text.rfind(b"\n")].splitlines():
        event = dict(reversed(json.loads(line).items()))
        spaced += b" " + json.dumps(event, separators=(" , ", " : ")).encode() + b"\n"
    assert read_bytes(tmp_path, spaced) == read_bytes(tmp_path, text)


def test_line_beyond_the_limit_is_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 200_000)
    start = TEXT.index(b'{"Event":"SparkListenerJobStart"')
    long = b'{"Event":"SparkListenerOther","x":"' + b"y" * 400_000 + b'"}\n'
    run = read_bytes(tmp_path, TEXT[:start] + long + TEXT[start:]).runs[0]
    assert run.lost == ("1 line of more than 64 MiB skipped",)
    assert run.stages == read_bytes(tmp_path, TEXT).runs[0].stages


def test_bomb_without_lines_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(lines, "MOST_WITHOUT_LINE_BYTES", 8 << 20)
    bomb = gzip.compress(b'{"Event":"' + bytes(64 << 20), compresslevel=1)
    with pytest.raises(BadInput, match="without a line end"):
        read_bytes(tmp_path, bomb)


def test_blank_lines_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_WITHOUT_LINE_BYTES", 8 << 20)
    with pytest.raises(BadInput, match="blank lines"):
        read_bytes(tmp_path, gzip.compress(TEXT + b"\n" * (9 << 20), compresslevel=1))


def test_lines_that_are_no_events_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventlog, "MOST_BAD_EVENTS", 100)
    with pytest.raises(BadInput, match="lines are no events"):
        read_bytes(tmp_path, TEXT + b"x\n" * 200_000)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.lz4_blocks(TEXT))))
    found = read("-")
    assert found.runs[0].stages == read_bytes(tmp_path, TEXT).runs[0].stages
    assert found.sources == ("standard input",)


def test_rolling_folder_in_the_order_of_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "appstatus_app-1.inprogress").touch()
    parts = TEXT.splitlines(keepends=True)
    cuts = [0, 4, 6, len(parts)]
    for place, number in enumerate((2, 9, 10)):
        part = b"".join(parts[cuts[place] : cuts[place + 1]])
        (folder / f"events_{number}_app-1.zstd").write_bytes(zstd_frames(part))
    (folder / "events_1_app-1").write_bytes(b"")
    run = read(folder).runs[0]
    assert run.stages == read_bytes(tmp_path, TEXT).runs[0].stages
    assert run.lost == (
        "parts 3, 4, 5, 6, 7 and 1 more of 10 missing (about 21 of 35 events, 1.90 s)",
    )


def rolling(folder: Path, parts: dict[str, tuple[int, int | None]]) -> Path:
    """A folder of parts with these events of the log."""
    target, events = folder / "eventlog_v2_app-1", TEXT.splitlines(keepends=True)
    target.mkdir()
    for name, (first, end) in parts.items():
        (target / name).write_bytes(b"".join(events[first:end]))
    return target


def test_compacted_part_stands_for_those_before_it(tmp_path: Path) -> None:
    first = {"events_1_app-1": (0, 6), "events_2_app-1": (0, 8), "events_2_app-1.compact": (0, 8)}
    run = read(rolling(tmp_path, {**first, "events_3_app-1": (8, None)})).runs[0]
    assert run.complete
    assert run.stages == read_bytes(tmp_path, TEXT).runs[0].stages


def test_a_part_that_is_being_compacted_is_not_read_a_second_time(tmp_path: Path) -> None:
    begun = {"events_2_app-1.compact.inprogress": (0, 7), "events_3_app-1": (8, None)}
    parts = {"events_1_app-1": (0, 4), "events_2_app-1": (4, 8), **begun}
    run = read(rolling(tmp_path, parts)).runs[0]
    assert (run.complete, run.lost) == (True, ())
    assert run.stages == read_bytes(tmp_path, TEXT).runs[0].stages


def test_databricks_parts_in_the_order_of_time(tmp_path: Path) -> None:
    folder = tmp_path / "4567"
    folder.mkdir()
    parts = TEXT.splitlines(keepends=True)
    (folder / "eventlog-2024-02-13--19-00.gz").write_bytes(gzip.compress(b"".join(parts[:5])))
    (folder / "eventlog-2024-02-13--20-00.gz").write_bytes(gzip.compress(b"".join(parts[5:8])))
    (folder / "eventlog").write_bytes(b"".join(parts[8:]))
    assert read(folder).runs[0].stages == read_bytes(tmp_path, TEXT).runs[0].stages


def denied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rights are taken away as others meet it: tests that run as root may read everything."""
    whole, status = os.scandir, Path.stat

    def scandir(folder: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        if Path(folder) == path:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return whole(folder)

    def stat(self: Path, **options: bool) -> os.stat_result:
        if path in self.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return status(self, **options)

    monkeypatch.setattr("engine.sources.access.folders.os.scandir", scandir)
    monkeypatch.setattr(Path, "stat", stat)


def test_a_folder_below_that_may_not_be_read_takes_nothing_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rolling logs are folders, and in a folder of many users not everyone may read all."""
    log.write(tmp_path / "app-1", log.one_stage(tasks=2))
    (tmp_path / "theirs").mkdir()
    log.write(tmp_path / "theirs" / "events_1_app-2", log.one_stage(tasks=3))
    denied(tmp_path / "theirs", monkeypatch)
    profile = read(tmp_path)
    assert [run.stages[0].tasks for run in profile.runs] == [2]
    (notice,) = profile.notices
    assert (notice.code, notice.text[:12]) == ("skipped-files", "1 of 2 files")
    assert "theirs" in notice.text


def test_what_may_not_be_read_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    log.write(folder / "app-1", log.one_stage(tasks=2))
    denied(folder, monkeypatch)
    for source in (folder, folder / "app-1"):
        with pytest.raises(BadInput, match="Permission denied; ask its owner") as refused:
            read(source)
        assert refused.value.where == str(source)


def test_folder_of_logs_skips_what_holds_no_run(tmp_path: Path) -> None:
    for number in range(3):
        events = log.one_stage(tasks=number + 2)
        events[2] = {**events[2], "App ID": f"app-{number}"}
        log.write(tmp_path / f"app-{number}", events)
    (tmp_path / "README.md").write_text("no log")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    profile = read(tmp_path)
    assert [run.stages[0].tasks for run in profile.runs] == [2, 3, 4]
    (notice,) = profile.notices
    assert notice.code == "skipped-files"
    assert notice.text.startswith("2 of 5 files")


def test_folder_without_logs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no event log;"):
        read(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match=r"holds no event log \(is not an event log"):
        read(tmp_path)
    (tmp_path / "a").touch()
    with pytest.raises(BadInput, match=r"holds no event log \(first of 2 files: a: is empty\)"):
        read(tmp_path)


def test_same_log_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(TEXT)
    profile = read(path, path)
    assert len(profile.runs) == 1
    assert [notice.code for notice in profile.notices] == ["duplicate-runs"]


def test_of_copies_of_a_running_application_the_longest_counts(tmp_path: Path) -> None:
    lines_of = TEXT.splitlines(keepends=True)
    copies = [tmp_path / name for name in ("early", "late", "later")]
    for path, left_out in zip(copies, (5, 2, 4), strict=True):
        path.write_bytes(b"".join(lines_of[:-left_out]))
    (run,) = read(*copies).runs
    assert (run.source, run.complete) == ("late", False)


def test_progress_counts_the_bytes_of_all_files_and_can_end_the_reading(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    (tmp_path / "b").write_bytes(zstd_frames(TEXT))
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    seen: list[tuple[int, int | None]] = []
    read(tmp_path, progress=lambda done, whole: seen.append((done, whole)))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)

    def cancel(done: int, whole: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, progress=cancel)


@pytest.mark.parametrize(
    "name", ["plain.zstd", "plain.lz4", "plain.lzf", "failing.zstd", "nothing"]
)
def test_files_are_closed_when_they_are_read(name: str, tmp_path: Path) -> None:
    """Also where reading ends early or with an error."""
    script = (
        "import sys, warnings; warnings.simplefilter('error', ResourceWarning); said = []\n"
        "sys.unraisablehook = said.append\n"
        "import engine\n"
        "for look in (engine.read, engine.peek):\n"
        "    try: look(sys.argv[1])\n"
        "    except engine.EngineError: pass\n"
        "sys.exit(len(said))"
    )
    path = Path(__file__).parents[2] / "data" / name
    if name == "nothing":
        path = tmp_path / name
        path.write_bytes(b"PAR1 not a log")
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == 0
