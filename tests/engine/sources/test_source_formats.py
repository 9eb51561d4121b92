"""Formats of a SOURCE beside event logs: one file and one line each."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

import engine
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.profile import Run
from engine.sources import formats
from engine.sources.source_contents import SourceContents


def looks_like(start: bytes) -> bool:
    return start.startswith(b"NODES SECONDS")


def parse(text: str, source: str) -> SourceContents:
    lines = [line.split() for line in text.splitlines()[1:]]
    if not lines:
        raise BadInput("holds no run", where=f"{source}:1")
    clusters = [Cluster.of_executors(executors=int(nodes), executor_cores=4) for nodes, _ in lines]
    times = [float(seconds) for _, seconds in lines]
    runs = tuple(Run(time, on, Workload(1e9)) for time, on in zip(times, clusters, strict=True))
    return SourceContents(Path(source).name, runs, name="columns")


@pytest.fixture(autouse=True)
def _one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("columns_format")
    module.__dict__.update(looks_like=looks_like, parse=parse)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    one_more = formats.SourceFormat("text in columns", module.__name__)
    monkeypatch.setattr(formats, "SOURCE_FORMATS", (*formats.SOURCE_FORMATS, one_more))


def test_one_line_makes_a_format_known_to_all_that_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("NODES SECONDS\n2 100\n4 60\n")
    profile = engine.read(path)
    assert [run.seconds for run in profile.runs] == [100.0, 60.0]
    assert engine.peek(path).kind == "text in columns"


def test_what_is_wrong_with_it_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("NODES SECONDS\n")
    with pytest.raises(BadInput) as caught:
        engine.read(path)
    assert caught.value.where == f"{path}:1"


def test_of_folders_event_logs_alone_are_read(tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text("NODES SECONDS\n2 100\n")
    with pytest.raises(BadInput, match="is a text in columns, and of folders and zips"):
        engine.read(tmp_path)


def test_the_first_format_that_knows_a_text_reads_it() -> None:
    table = b"nodes,input_size,seconds\n2,1,3\n"
    told = [formats.source_format(start) for start in (table, b"format: sparkplan-profile/1\n")]
    assert [one.kind for one in told if one] == ["run table", "profile"]
    assert formats.source_format(b"no such thing") is None
