"""Formats of a SOURCE beside event logs: one file and one line each."""

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import engine
from engine.errors import BadInput
from engine.sources import formats

PAGE = Path(__file__).parents[3] / "docs" / "adding_a_model.md"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def code_of_the_page() -> str:
    """The format that the page shows as an example."""
    (code,) = [code for code in BLOCK.findall(PAGE.read_text("utf-8")) if "def looks_like" in code]
    return textwrap.dedent(code)


@pytest.fixture(autouse=True)
def _one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("columns_format")
    exec(code_of_the_page(), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    one_more = formats.SourceFormat("text in columns", module.__name__)
    monkeypatch.setattr(formats, "SOURCE_FORMATS", (*formats.SOURCE_FORMATS, one_more))


def test_one_line_makes_a_format_known_to_all_that_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("# nodes bytes seconds\n2 1e9 100\n4 1e9 60\n")
    profile = engine.read(path)
    assert [run.seconds for run in profile.runs] == [100.0, 60.0]
    assert [run.cluster.nodes for run in profile.runs] == [2, 4]
    assert {run.workload.input_bytes for run in profile.runs} == {1e9}
    assert engine.peek(path).kind == "text in columns"


@pytest.mark.parametrize(
    ("line", "what"),
    [("2 100", "has 2 numbers"), ("2 many 100", "a number must be"), ("2 1e9 -1", "a number must")],
)
def test_what_is_wrong_with_it_is_told_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "runs.txt"
    path.write_text(f"# nodes bytes seconds\n2 1e9 100\n{line}\n")
    with pytest.raises(BadInput, match=what) as caught:
        engine.read(path)
    assert caught.value.where == f"{path}:3"


def test_a_header_alone_is_no_profile(tmp_path: Path) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("# nodes bytes seconds\n")
    with pytest.raises(BadInput, match="holds no run") as caught:
        engine.read(path)
    assert caught.value.where == f"{path}:1"


def test_of_folders_event_logs_alone_are_read(tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text("# nodes bytes seconds\n2 1e9 100\n")
    with pytest.raises(BadInput, match="is a text in columns, and of folders and zips"):
        engine.read(tmp_path)


def test_the_first_format_that_knows_a_text_reads_it() -> None:
    table = b"nodes,input_size,seconds\n2,1,3\n"
    told = [formats.source_format(start) for start in (table, b"format: sparkplan-profile/1\n")]
    assert [one.kind for one in told if one] == ["run table", "profile"]
    assert formats.source_format(b"no such thing") is None
