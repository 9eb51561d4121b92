"""Zips as the page of a history server gives them to download: the logs in them are read. Those in
tar archives are not."""

import gzip
import io
import tarfile
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from faulty_server import zipped
from pitfall_logs import DATA, PLAIN, RETRIES, one

from engine.errors import BadInput
from engine.sources import read
from engine.sources.peek import NOTHING, peek

LINES = PLAIN.splitlines(keepends=True)
HALVES = b"".join(LINES[:20]), b"".join(LINES[20:])


def stored(folder: Path, files: dict[str, bytes], name: str = "eventLogs-app.zip") -> Path:
    path = folder / name
    path.write_bytes(zipped(files))
    return path


@pytest.mark.parametrize(
    "files",
    [
        {"app-1": PLAIN},
        {"/logs/app-1": PLAIN},
        {"app-1.zstd": (DATA / "plain.zstd").read_bytes(), "__MACOSX/._app-1.zstd": b"\0"},
        {
            "eventlog_v2_app-1/appstatus_app-1": b"",
            "eventlog_v2_app-1/events_1_app-1": HALVES[0],
            "eventlog_v2_app-1/events_2_app-1": HALVES[1],
        },
    ],
    ids=["one", "absolute", "compressed", "rolling"],
)
def test_the_log_in_a_zip(tmp_path: Path, files: dict[str, bytes]) -> None:
    path, whole = stored(tmp_path, files), one(DATA / "plain.zstd")
    run = one(path)
    assert (run.stages, run.seconds, run.lost) == (whole.stages, whole.seconds, ())
    found = peek(path)
    assert (found.name, found.seconds, found.complete) == (whole.application, whole.seconds, True)


def test_several_logs_in_a_zip_and_a_zip_in_a_folder(tmp_path: Path) -> None:
    path = stored(tmp_path, {"a": PLAIN, "b": RETRIES, "notes.txt": b"hello"})
    profile = read(path)
    assert len(profile.runs) == 2
    (skipped,) = [notice for notice in profile.notices if notice.code == "skipped-files"]
    assert skipped.text.startswith("1 of 3 files in eventLogs-app.zip was skipped")
    assert read(tmp_path).runs == profile.runs
    assert peek(path) == NOTHING


@pytest.mark.parametrize(
    "files",
    [
        {"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<workbook/>"},
        {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<x/>"},
    ],
    ids=["excel", "libreoffice"],
)
def test_a_spreadsheet_is_told_from_a_zip_of_logs(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = stored(tmp_path, files, "runs.xlsx")
    with pytest.raises(BadInput, match=r"runs.xlsx: is a spreadsheet .*save the sheet .* as CSV"):
        read(path)
    assert peek(path) == NOTHING


def test_the_bytes_of_a_zip_are_counted_once(tmp_path: Path) -> None:
    path = stored(tmp_path, {"app-1": PLAIN})
    other = tmp_path / "other"
    other.write_bytes(RETRIES)
    size = path.stat().st_size + other.stat().st_size
    told: list[tuple[int, int | None]] = []
    read(path, other, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (size, size)
    assert all(before[0] <= after[0] for before, after in pairwise(told))


def locked() -> bytes:
    """A zip of which a flag says that it is encrypted."""
    data = bytearray(zipped({"app-1": PLAIN}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def damaged() -> bytes:
    data = bytearray(zipped({"app-1": PLAIN}))
    data[300:340] = bytes(40)
    return bytes(data)


def damaged_lzma() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("app-1", PLAIN)
    data = bytearray(out.getvalue())
    data[300:340] = bytes(40)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped({"app-1": PLAIN})[:900], "damaged, or locked"),
        (damaged(), "damaged, or locked"),
        (damaged_lzma(), "damaged, or locked"),
        (locked(), "damaged, or locked"),
        (zipped({"notes.txt": b"hello"}), "is not an event log"),
        (zipped({".hidden": b"hello"}), "holds no event log"),
    ],
    ids=["cut", "damaged", "damaged-lzma", "locked", "no-log", "nothing"],
)
def test_a_zip_that_cannot_be_read_is_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "eventLogs-app.zip"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert peek(path).seconds is None


def test_a_zip_in_a_stream_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        buffer = io.BytesIO(zipped({"app-1": PLAIN}))

    monkeypatch.setattr("sys.stdin", Standard())
    with pytest.raises(BadInput, match=r"zip archive in a stream .*unpack it"):
        read("-")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("log_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_the_logs_in_a_tar_archive_are_not_one_log(
    tmp_path: Path, log_format: int, packed: bool
) -> None:
    """Read as a log, the events of the second were those of the first."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=log_format) as tar:
        for name in ("app-1", "app-2"):
            member = tarfile.TarInfo(name)
            member.size = len(PLAIN)
            tar.addfile(member, io.BytesIO(PLAIN))
    data = archive.getvalue()
    path = tmp_path / "logs"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(BadInput, match="is a tar archive; unpack it"):
        read(path)
    assert peek(path) == NOTHING
    (tmp_path / "log").write_bytes(PLAIN)
    profile = read(tmp_path)
    assert len(profile.runs) == 1
    assert "1 of 2 files" in profile.notices[0].text
