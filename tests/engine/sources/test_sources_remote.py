"""Remote paths through fsspec: its memory and local file systems stand for object stores."""

import builtins
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sparklog as log

from engine.errors import BadInput, ServiceUnavailable, UnknownName
from engine.profile import Profile
from engine.sources import check_sources, read
from engine.sources.access import remote
from engine.sources.access.remote import RemotePlace, list_remote
from engine.sources.peek import Peek, peek

fsspec = pytest.importorskip("fsspec")

TEXT = log.text(log.one_stage())
LINES = TEXT.splitlines(keepends=True)


@pytest.fixture
def store() -> Iterator[Any]:
    """An empty store in memory."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()


def put(store: Any, path: str, data: bytes) -> None:
    with store.open(path, "wb") as file:
        file.write(data)


def local(tmp_path: Path, name: str, data: bytes) -> Profile:
    (tmp_path / name).write_bytes(data)
    return read(tmp_path / name)


def test_a_file_in_a_store_is_read_like_a_local_one(store: Any, tmp_path: Path) -> None:
    put(store, "/bucket/logs/app", log.lz4_blocks(TEXT))
    profile = read("memory://bucket/logs/app")
    assert profile == local(tmp_path, "app", TEXT)


def test_a_rolling_folder_in_a_store(store: Any) -> None:
    for number, part in ((10, LINES[-2:]), (9, LINES[5:-2]), (8, LINES[:5])):
        put(store, f"/b/eventlog_v2_a/events_{number}_a", b"".join(part))
    put(store, "/b/eventlog_v2_a/appstatus_a", b"")
    (run,) = read("memory://b/eventlog_v2_a").runs
    (whole,) = read("memory://b/eventlog_v2_a/").runs
    assert run == whole
    assert run.source == "eventlog_v2_a"
    assert any("2 more of 10 missing" in notice.text for notice in run.notices)


def test_one_part_of_a_rolling_log_is_said_to_be_one(store: Any) -> None:
    put(store, "/b/eventlog_v2_a/events_3_a", TEXT)
    (run,) = read("memory://b/eventlog_v2_a/events_3_a").runs
    assert any("only one part was given" in notice.text for notice in run.notices)


def test_a_folder_of_logs_in_a_store(store: Any) -> None:
    for name in ("a", "deep/er/b", ".hidden", "deep/.part.crc"):
        put(store, f"/b/logs/{name}", TEXT)
    put(store, "/b/logs/readme", b"no log")
    profile = read("memory://b/logs")
    assert [run.source for run in profile.runs] == ["a"]  # the other is the same run
    assert {n.code for n in profile.notices} == {"duplicate-runs", "skipped-files"}


def test_a_table_and_a_profile_in_a_store(store: Any) -> None:
    put(store, "/b/runs.csv", b"nodes,input_size,seconds\n4,1GB,100\n")
    put(
        store, "/b/p.yaml", b"format: sparkplan-profile/1\nname: x\nruns:\n- {seconds: 1, nodes: 1}"
    )
    assert read("memory://b/runs.csv").runs[0].seconds == 100
    assert read("memory://b/p.yaml").name == "x"


def test_the_local_file_system(tmp_path: Path) -> None:
    whole = local(tmp_path, "app log", TEXT)
    assert read(f"local://{tmp_path}/app log") == whole
    assert read(f"file://{tmp_path}/app log") == whole
    assert read(f"file://localhost{tmp_path}/app log") == whole
    assert read(f"local://{tmp_path}").runs == whole.runs


def test_a_file_address_needs_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_fsspec(monkeypatch)
    (tmp_path / "app").write_bytes(TEXT)
    assert read(f"file://{tmp_path}/app").runs
    with pytest.raises(BadInput, match="no such file"):
        read(f"file://{tmp_path}/none.zstd")


def without_fsspec(monkeypatch: pytest.MonkeyPatch, missing: str = "fsspec") -> None:
    original = builtins.__import__

    def importing(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"No module named {missing!r}", name=missing)
        return original(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", importing)


@pytest.mark.parametrize("check", [read, check_sources])
def test_a_missing_library_names_the_extra(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without_fsspec(monkeypatch)
    with pytest.raises(BadInput, match=r"needs fsspec; .*pip install 'sparkplan\[cloud\]'"):
        check("s3://bucket/log")


@pytest.mark.parametrize(
    ("source", "library"),
    [
        *(("s3://b/k", "s3fs"), ("gs://b/k", "gcsfs"), ("dbfs://host/k", "requests")),
        *((f"{scheme}://c@a.dfs.core.windows.net/k", "adlfs") for scheme in ("abfs", "abfss")),
    ],
)
def test_the_library_of_a_store_is_named(source: str, library: str) -> None:
    try:
        __import__(library)
    except ImportError:
        with pytest.raises(BadInput, match=rf"needs {library}; .*sparkplan\[cloud\]"):
            check_sources(source)
    else:
        check_sources(source)


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("abf://bucket/log", UnknownName, "scheme 'abf'; did you mean abfs"),
        ("qqqq://bucket/log", UnknownName, "choices: abfs"),
        ("zip://a::memory://b", BadInput, "chained"),
        ("file://host/log", BadInput, "file:///path"),
        ("ftp://anna:hunter2@host/log", BadInput, "password"),
        ("memory://nowhere/log", BadInput, "no such file or folder"),
    ],
)
def test_what_cannot_be_meant(store: Any, source: str, kind: type[BadInput], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        read(source)
    assert "hunter2" not in str(caught.value)


def test_an_empty_folder(store: Any) -> None:
    store.makedirs("/b/empty")
    with pytest.raises(BadInput, match="holds no event log"):
        read("memory://b/empty")


def test_too_many_files(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.sources.access import remote

    monkeypatch.setattr(remote, "MOST_FILES", 3)
    for number in range(4):
        put(store, f"/b/{number}", TEXT)
    with pytest.raises(BadInput, match="more than 3 files"):
        read("memory://b")


class NoCredentialsError(Exception):
    pass


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        (PermissionError("key=hunter2"), BadInput, "does not let this user in .PermissionError."),
        (NoCredentialsError("hunter2"), BadInput, "NoCredentialsError"),
        (FileNotFoundError("x"), BadInput, "no such file"),
        (TimeoutError("hunter2"), ServiceUnavailable, "does not answer .TimeoutError."),
        (OSError(104, "x"), ServiceUnavailable, "Connection reset"),
        (OSError(-2, "x"), ServiceUnavailable, "does not answer .OSError.;"),
        (RuntimeError("https://h/?sig=hunter2"), ServiceUnavailable, "RuntimeError"),
    ],
)
@pytest.mark.parametrize("where", ["info", "open", "find", "read"])
def test_what_a_store_raises_is_one_line_without_its_text(
    store: Any, failure: Exception, kind: type[Exception], said: str, where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def fail(*_: Any, **__: Any) -> Any:
        raise failure

    put(store, "/b/log", TEXT)
    if where == "read":
        monkeypatch.setattr(type(store.open("/b/log")), "read", fail)
    else:
        monkeypatch.setattr(type(store), where, fail)
    with pytest.raises(kind, match=said) as caught:
        read("memory://b" if where == "find" else "memory://b/log")
    assert "hunter2" not in str(caught.value)
    assert "memory://b" in str(caught.value)


TALKS = """
import logging, sys
import fsspec
from tui.cli import main

def fail(*_, **__):
    try:
        raise OSError("within")
    except OSError:
        logging.getLogger("gcsfs.retry").exception("out of retries")
    raise TimeoutError

type(fsspec.filesystem("memory")).info = fail
sys.exit(main(["profile", "memory://b/log"]))
"""


def test_what_a_library_logs_does_not_reach_the_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", TALKS], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sparkplan: memory://b/log: the store does not answer")


def test_keys_that_no_path_can_hold(store: Any) -> None:
    put(store, "/b/odd//key", TEXT)
    place = RemotePlace("memory://b")
    (found,) = place.logs()
    assert place.open(found.parts[0]).read(10) == TEXT[:10]


def test_progress_counts_the_bytes_of_a_store(store: Any) -> None:
    put(store, "/b/log", TEXT)
    seen: list[tuple[int, int | None]] = []
    read("memory://b/log", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(TEXT), None)


def test_a_first_look_at_remote_logs(store: Any, tmp_path: Path) -> None:
    put(store, "/b/app", log.lz4_blocks(TEXT))
    put(store, "/b/eventlog_v2_a/events_1_a", TEXT)
    put(store, "/b/eventlog_v2_a/appstatus_a", b"")
    (tmp_path / "app").write_bytes(TEXT)
    here = peek(tmp_path / "app")
    assert here.whole
    assert here.complete
    assert peek("memory://b/app") == here
    assert peek("memory://b/eventlog_v2_a") == here
    assert peek((tmp_path / "app").as_uri()) == here
    assert peek("memory://b/none") == peek("memory://b") == peek("nosuch://b/app") == Peek()


def test_of_a_large_remote_log_only_the_beginning_is_fetched(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "/b/app", TEXT)
    monkeypatch.setattr("engine.sources.peek.WHOLE_REMOTE_BYTES", 1500)
    monkeypatch.setattr("engine.sources.access.codecs.CHUNK_BYTES", 500)
    monkeypatch.setattr("engine.sources.access.codecs.LATER_BYTES", 500)
    found = peek("memory://b/app")
    assert (found.whole, found.seconds, found.complete) == (False, None, None)
    assert found.name == peek("memory://b/app").name is not None


def test_a_remote_folder_is_listed(store: Any) -> None:
    for name in ("app", "Beta", "sub/deep"):
        put(store, f"/b/{name}", b"xyz")
    found = list_remote("memory://b/")
    assert [(e.source, e.name, e.size_bytes, e.folder) for e in found] == [
        ("memory://b/sub", "sub", None, True),
        ("memory://b/app", "app", 3, False),
        ("memory://b/Beta", "Beta", 3, False),
    ]
    assert [e.source for e in list_remote("memory://b/sub")] == ["memory://b/sub/deep"]
    with pytest.raises(BadInput, match="is not a folder"):
        list_remote("memory://b/app")
    with pytest.raises(BadInput):
        list_remote("memory://none")


def test_a_store_that_lists_a_folder_in_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As object stores do that keep an empty object for it; folders may end in a slash."""

    class Files:
        _strip_protocol = staticmethod(lambda source: source.removeprefix("s3://").rstrip("/"))

        def info(self, path: str) -> dict[str, Any]:
            return {"name": path, "type": "directory"}

        def ls(self, path: str, *, detail: bool) -> list[dict[str, Any]]:
            return [
                {"name": "bucket/logs/", "type": "directory"},
                {"name": "bucket/logs/b.zstd", "type": "file", "size": 3},
                {"name": "bucket/logs/C/", "type": "directory"},
                {"name": "bucket/logs/A.zstd", "type": "file", "size": 0},
            ]

    monkeypatch.setattr(remote, "_file_system", lambda source: Files())
    assert [(e.source, e.size_bytes, e.folder) for e in list_remote("s3://bucket/logs/")] == [
        ("s3://bucket/logs/C", None, True),
        ("s3://bucket/logs/A.zstd", 0, False),
        ("s3://bucket/logs/b.zstd", 3, False),
    ]
