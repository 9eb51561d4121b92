"""Codecs as Spark writes them, and files that fail, change or are many."""

import errno
import io
import math
import os
import re
import struct
from pathlib import Path

import pytest
import sparklog as log
from pitfall_logs import DATA, PLAIN, RETRIES, codes, one, text_of

from engine.errors import BadInput
from engine.sources import read, reader
from engine.sources.access import codecs
from engine.sources.access.blocks import lzf_decompress

# Codecs, as Spark's own writer leaves them


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy"])
def test_what_spark_compressed(codec: str) -> None:
    assert text_of(DATA / f"plain.{codec}") == PLAIN
    assert one(DATA / f"plain.{codec}").stages == one(DATA / "plain.zstd").stages


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_what_spark_leaves_of_a_killed_application(codec: str) -> None:
    """Flushed after most events: only what followed the last flush is gone."""
    text = text_of(DATA / f"plain.{codec}.inprogress")
    assert PLAIN.startswith(text)
    run = one(DATA / f"plain.{codec}.inprogress")
    assert not run.complete
    assert len(run.stages) == 3
    assert codes(run)[0] == "incomplete-log"
    if codec == "lz4":  # lz4-java does not flush its block: a torn line is the last thing there
        assert not text.endswith(b"\n")
        events = len(text.splitlines())
        assert run.lost == (f"the last of {events} events was torn",)


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy"])
def test_a_damaged_block_costs_no_more_than_its_own_events(tmp_path: Path, codec: str) -> None:
    data = bytearray((DATA / f"plain.{codec}").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = b"\xff" * 40
    path = tmp_path / "app"
    path.write_bytes(data)
    run = one(path)
    assert not run.complete
    assert "compressed blocks damaged" in run.lost[0] or "damaged: about" in run.lost[0]
    assert run.stages


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_a_stream_damaged_near_its_end_says_how_much_is_lost(tmp_path: Path, codec: str) -> None:
    """The last tenth of the file is noise."""
    sample = Path(__file__).parents[3] / "sample_logs/pagerank-small.zstd"
    text = text_of(sample)
    compress = {"lz4": log.lz4_blocks, "lzf": log.lzf_blocks, "snappy": log.snappy_blocks}
    packed = compress[codec](text) if codec in compress else sample.read_bytes()
    path = tmp_path / "app"
    path.write_bytes(packed[: len(packed) * 9 // 10] + b"\xfe\x81" * (len(packed) // 20))
    run = one(path)
    assert not run.complete
    said = next(text for text in run.lost if f"the {codec} stream is damaged" in text)
    found = re.search(r"about (\d+) of (\d+) events are lost, the last [\d.]+ m?s", said)
    assert int(found[2]) == pytest.approx(text.count(b"\n"), rel=0.3)


def decoded(packed: bytes) -> tuple[bytes, tuple[int, int], str | None]:
    """The text of a compressed stream, how many of how many blocks are damaged, what broke it."""
    stream = codecs.Stream(io.BytesIO(packed), "app")
    text = b"".join(stream.chunks())
    return text, (stream.damaged_blocks, stream.blocks), stream.lost


def test_a_block_whose_own_length_is_damaged_is_left_out() -> None:
    """Compressed bytes that are said to unpack to nothing are no text."""
    packed = bytearray(log.lz4_blocks(PLAIN))
    packed[13:17] = struct.pack("<i", 0)
    text, damaged, lost = decoded(bytes(packed))
    blocks = 1 + math.ceil(len(PLAIN) / (1 << 15))  # with the end mark
    assert (text, damaged, lost) == (b"\n" + PLAIN[1 << 15 :], (1, blocks), None)


@pytest.mark.parametrize(
    ("codec", "place", "written"),
    [
        ("lz4", 13, struct.pack("<i", (1 << 25) + 1)),
        ("lz4", 9, struct.pack("<i", -1)),
        ("lzf", 0, b"ZW"),
        ("snappy", 7, b"\x01"),
    ],
)
def test_a_header_that_no_writer_leaves_ends_the_stream(
    codec: str, place: int, written: bytes
) -> None:
    """Behind it nobody knows where the next block begins."""
    compress = {"lz4": log.lz4_blocks, "lzf": log.lzf_blocks, "snappy": log.snappy_blocks}[codec]
    first, second = compress(PLAIN[:900])[: -21 if codec == "lz4" else None], compress(PLAIN[900:])
    damaged = bytearray(second)
    damaged[place : place + len(written)] = written
    broken = f"the {codec} stream is damaged"
    assert decoded(first + bytes(damaged)) == (PLAIN[:900], (0, 1), broken)


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (b"\x01ab" + bytes([2 << 5, 1]), b"ababab"),  # 4 bytes from 2 back
        (b"\x00a" + bytes([7 << 5, 5, 0]), 15 * b"a"),  # 7 + 5 + 2 bytes from 1 back
        (b"\x00a" + bytes([1 << 5, 1]), None),  # from before the beginning
        (b"\x00a" + bytes([7 << 5, 5]), None),  # its distance is missing
        (b"\x05abc", None),  # fewer literals than it says
    ],
)
def test_lzf_copies_may_run_into_themselves(packed: bytes, text: bytes | None) -> None:
    """LibLZF's format: a copy that is longer than its distance repeats what it has written."""
    assert lzf_decompress(packed, 6 if text is None else len(text)) == text


# Files


class Failing(io.BytesIO):
    """A disk that fails after some bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 40_000:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read(min(size or 0, 20_000) if size and size > 0 else size)


def test_a_disk_that_fails_keeps_what_was_read() -> None:
    stream = codecs.Stream(Failing(PLAIN), "app")
    text = b"".join(stream.chunks())
    assert PLAIN.startswith(text)
    assert text
    assert stream.lost == "reading the file failed (Input/output error)"


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(PLAIN)
    stream = codecs.open_path(path)
    next(stream.chunks())
    os.truncate(path, 1000)
    assert stream.changed() == f"the file shrank from {len(PLAIN)} to 1000 bytes while read"


def test_a_file_that_is_written_over_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(PLAIN)
    os.utime(path, ns=(0, 0))
    stream = codecs.open_path(path)
    next(stream.chunks())
    with path.open("r+b") as file:
        file.write(RETRIES[:100])
    assert stream.changed() == "the file was written to while it was read"


def test_a_log_that_grows_while_it_is_read_is_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "app.inprogress"
    path.write_bytes(PLAIN)
    stream = codecs.open_path(path)
    chunks = stream.chunks()
    next(chunks)
    with path.open("ab") as file:
        file.write(PLAIN)
    assert stream.changed() is None


def test_a_file_that_goes_while_its_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        events = log.one_stage()
        events[2] = {**events[2], "App ID": name}
        log.write(tmp_path / name, events)
    opened = codecs.open_path

    def and_remove(path: Path, progress: codecs.Progress | None = None) -> codecs.Stream:
        stream = opened(path, progress)
        (tmp_path / "b").unlink(missing_ok=True)
        return stream

    monkeypatch.setattr(codecs, "open_path", and_remove)
    profile = read(tmp_path, progress=lambda done, total: None)
    assert len(profile.runs) == 1
    (said,) = profile.notices
    assert said.text.startswith("1 of 2 files")


def test_ten_thousand_files(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"part-{number}").touch()
    log.write(tmp_path / "app", log.one_stage())
    profile = read(tmp_path)
    assert len(profile.runs) == 1
    assert profile.notices[0].text.startswith("10000 of 10001 files")


def test_more_files_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.sources.access import folders

    monkeypatch.setattr(folders, "MOST_FILES", 10)
    for number in range(11):
        (tmp_path / f"part-{number}").touch()
    with pytest.raises(BadInput, match="more than 10 files"):
        read(tmp_path)


def test_a_table_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(b"nodes,input_size,seconds\n" + b"2,10,60\n" * 200_000)
    monkeypatch.setattr(reader, "LARGEST_TEXT_BYTES", 1 << 20)
    with pytest.raises(BadInput, match="is larger than 1 MiB; split it"):
        read(path)
