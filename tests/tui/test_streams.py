"""Where not every character can be shown: signs have an ASCII form, data are not changed."""

import ast
import io
import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from tui import cli, streams
from tui.widgets.ascii_forms import in_ascii

ROOT = Path(engine.__file__).parents[1]
READ_NOT_SHOWN = "\ufeff\ufffd"
"""Characters that are looked for in input."""


class Stream(io.TextIOWrapper):
    """A stream of an encoding that keeps what was written."""

    def __init__(self, encoding: str, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def written(self) -> bytes:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue()


def said(
    monkeypatch: pytest.MonkeyPatch, line: str, *, encoding: str = "ascii", terminal: bool = False
) -> tuple[bytes, bytes]:
    out, err = Stream(encoding, terminal=terminal), Stream(encoding, terminal=terminal)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        cli.main(shlex.split(line))
        return out.written(), err.written()


COMMANDS = [
    "recommend sort-small --ran-on m5.xlarge --instances m5.* --deadline 60s",
    "fleet sort-small word-count-small --ran-on m5.xlarge --instances m5.*",
    "predict sort-small --composition m5.xlarge=2,r5.xlarge=1 --ran-on m5.xlarge",
    "curve sort-small --over nodes --nodes 1:3 --ran-on m5.xlarge --instance m5.xlarge",
    "experiments --nodes 1:4 --fractions 1%:10% --budget 10",
    "workflow nightly-pipeline --nodes 4 --instance m5.xlarge",
    "export sort-small --ran-on m5.xlarge --instances m5.* --deadline 60s --to emr",
    "models",
    "samples",
    "catalog list",
    "catalog show papers",
    "predict sort-small --all-models",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_no_sign_is_lost_where_only_ascii_can_be_shown(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for plain, full in zip(
        said(monkeypatch, line), said(monkeypatch, line, encoding="utf-8"), strict=True
    ):
        assert plain.decode("ascii").count("?") == full.decode("utf-8").count("?")
        assert b"\\u" not in plain.lower()


def test_a_terminal_in_a_locale_without_utf8_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C")
    line = "fleet sort-small --ran-on m5.xlarge --instances m5.* --deadline 60s"
    out, _ = said(monkeypatch, line, encoding="utf-8", terminal=True)
    assert b" x m5." in out
    piped, _ = said(monkeypatch, line, encoding="utf-8")
    assert " × m5." in piped.decode("utf-8")
    monkeypatch.setenv("LANG", "C.UTF-8")
    out, _ = said(monkeypatch, line, encoding="utf-8", terminal=True)
    assert " × m5." in out.decode("utf-8")


def test_data_are_escaped_not_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"café × 2,{nodes},10GB,{600 / nodes}" for nodes in (2, 4, 8)]
    table.write_text("\n".join(["application,nodes,input_size,seconds", *rows]), "utf-8")
    out, _ = said(monkeypatch, f"profile {table}")
    assert "café × 2" in out.decode("utf-8")
    kept = tmp_path / "kept.yaml"
    kept.write_bytes(out)
    again, _ = said(monkeypatch, f"profile {kept}")
    assert again == out
    monkeypatch.setattr(sys, "stdout", Stream("ascii"))
    from tui.headless import output

    output.print_json({"application": "café × 2"})
    stream = sys.stdout
    assert isinstance(stream, Stream)
    assert json.loads(stream.written()) == {"application": "café × 2"}


def test_a_stream_in_memory_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert cli.main(["profile", "sort-small"]) == 0
    assert out.getvalue().startswith("format: sparkplan-profile")


ESCAPES = ("\\x", "\\u", "\\U", "\\N", "\\1", "\\2", "\\3")
"""How a sign beyond ASCII is written in ASCII."""


def shown_constants(path: Path) -> Iterator[str]:
    """The texts in a module that are no docstrings, where any of its signs may be beyond ASCII."""
    source = path.read_text("utf-8")
    if source.isascii() and not any(escape in source for escape in ESCAPES):
        return
    tree = ast.parse(source)
    stated = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in stated:
            continue
        if isinstance(node.value, str):
            yield node.value


def test_every_sign_in_a_text_has_an_ascii_form() -> None:
    modules = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "tui" / "headless").glob("*.py")]
    modules += [path for path in (ROOT / "tui").glob("*.py") if path.name != "chart_svg.py"]
    lost = {
        (character, path.name)
        for path in modules
        for text in shown_constants(path)
        for character in text
        if not character.isascii() and character not in READ_NOT_SHOWN
        if in_ascii(character) in ("", "?") or in_ascii(character).startswith("\\")
    }
    assert not lost


def test_an_error_of_another_kind_is_not_swallowed() -> None:
    with pytest.raises(UnicodeDecodeError):
        streams.in_ascii_forms(UnicodeDecodeError("ascii", b"\xff", 0, 1, "no"))


def left_by_shell(
    line: str, *, given: str = "", before: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command line of the shell, with what it does to the streams; `before` stands before it."""
    command = f"{before} {shlex.quote(sys.executable)} -m tui.cli {line}"
    return subprocess.run(
        ["sh", "-c", command], cwd=ROOT, input=given, capture_output=True, text=True, check=False
    )


def test_a_closed_stdout_is_one_line_and_bad_usage() -> None:
    done = left_by_shell("samples >&-")
    assert done.returncode == 2
    assert done.stderr == "sparkplan: standard output: Bad file descriptor\n"


def test_a_closed_stdout_does_not_matter_where_nothing_goes_there(tmp_path: Path) -> None:
    done = left_by_shell(f"profile sort-small -o {tmp_path}/sort.yaml >&-")
    assert done.returncode == 0
    assert (tmp_path / "sort.yaml").exists()


def test_messages_do_not_go_among_the_data_where_stderr_is_closed() -> None:
    done = left_by_shell("predict sort-small --nodes 2 --json 2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["warnings"]
    assert left_by_shell("predict nope 2>&-").stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("predict nope 2>/dev/full", 2, ""),
        ("predict sort-small --nodes 2 2>/dev/full", 0, ""),
        ("samples >/dev/full", 2, "sparkplan: standard output: No space left on device\n"),
        ("--version >/dev/full", 2, "sparkplan: standard output: No space left on device\n"),
        ("predict --help >/dev/full", 2, "sparkplan: standard output: No space left on device\n"),
        ("samples >/dev/full 2>&1", 2, ""),
    ],
)
def test_a_full_disk_is_no_answer_of_the_planner(line: str, status: int, said: str) -> None:
    done = left_by_shell(line)
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_data_that_find_room_for_their_beginning_alone_are_an_error(
    unbuffered: str, tmp_path: Path
) -> None:
    """With PYTHONUNBUFFERED the exit code was 0, and half of the file was there. No more than that
    would be kept of what Python compiles either."""
    file = tmp_path / "sort.yaml"
    settings = f"PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED={unbuffered}"
    done = left_by_shell(f"profile sort-small 2>&1 >{file}", before=f"ulimit -f 1; {settings}")
    assert (done.returncode, file.stat().st_size) == (2, 512)
    assert done.stdout.splitlines()[-1] == "sparkplan: standard output: File too large"


def test_messages_that_nobody_reads_change_no_exit_code() -> None:
    """The pipe behind stderr has no reader: Python's own answer to that is another exit code."""
    line = "recommend sort-small --ran-on m5.xlarge --instances 'm5.*' --deadline 1s"
    unread, write = os.pipe()
    os.close(unread)
    done = subprocess.run(
        [sys.executable, "-m", "tui.cli", *shlex.split(line)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=write, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 1
    assert done.stdout.endswith("\n")


def test_a_closed_stdin_is_an_empty_one() -> None:
    done = left_by_shell("predict - --nodes 2 <&-")
    assert done.returncode == 2
    assert done.stderr.startswith("sparkplan: standard input: is empty")
    assert done.stderr.count("\n") == 1


def test_a_pipe_that_delivers_nothing_is_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command on a pipe that nobody writes to looked as if it computed."""
    monkeypatch.setattr(streams, "SILENT_SECONDS", 0.0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = threading.Event()
    monkeypatch.setattr(streams, "say", lambda text: (print(text, file=sys.stderr), told.set()))

    def write_late() -> None:
        told.wait(30)
        pipe.write_bytes((ROOT / "sample_logs" / "sort-small.zstd").read_bytes())

    writer = threading.Thread(target=write_late)
    writer.start()
    assert cli.main(["predict", str(pipe), "--executors", "2"]) == 0
    writer.join()
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == f"sparkplan: waiting for {pipe}: nothing has come yet"


def test_what_comes_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SILENT_SECONDS", 3600.0)
    before = threading.active_count()
    with streams.stderr_progress(["-", "x" * 5000]) as report:
        assert threading.active_count() == before + 1
        report(0, None)
    with streams.stderr_progress(["runs.csv"]):
        pass
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (40, ["  warning: a sentence of several words", "    and its-end"]),
        (60, ["  warning: a sentence of several words and its-end"]),
        (10, ["  warning: a sentence of several words and its-end"]),
    ],
)
def test_a_sentence_is_broken_between_words_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]
) -> None:
    """At 80 columns the terminal broke each warning in the midst of words."""
    line = "  warning: a sentence of several words and its-end"
    size = os.terminal_size((columns, 24))
    monkeypatch.setattr(os, "get_terminal_size", lambda _: size)
    monkeypatch.setattr(Stream, "fileno", lambda self: 2)
    assert streams.wrapped(line, Stream("utf-8", terminal=True)).splitlines() == lines
    assert streams.wrapped(line, Stream("utf-8")) == line


def test_an_error_is_broken_between_words_in_a_terminal_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As warnings were; the terminal broke it in the midst of words."""
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((40, 24)))
    monkeypatch.setattr(Stream, "fileno", lambda self: 2)
    _, shown = said(monkeypatch, "predict missing.zstd --nodes 2", terminal=True)
    assert shown.decode().splitlines() == [
        "sparkplan: missing.zstd: no such file;",
        "  check the path",
    ]
    _, piped = said(monkeypatch, "predict missing.zstd --nodes 2")
    assert piped.decode().splitlines() == ["sparkplan: missing.zstd: no such file; check the path"]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (
            "2 × m5.xlarge  100 %   1m 17s    $0.0364  choice of 3",
            ["2 × m5.xlarge  100 %   1m 17s", "  $0.0364  choice of 3"],
        ),
        (
            "warning: 夜間の特徴量 is planned as 売上の集計",
            ["warning: 夜間の特徴量 is planned", "  as 売上の集計"],
        ),
        (
            " " * 30 + "1m 17s  $0.0364  100 %",
            [" " * 17 + "1m 17s  $0.0364", " " * 19 + "100 %"],
        ),
    ],
)
def test_a_row_is_broken_between_cells_and_wide_characters_take_two(
    monkeypatch: pytest.MonkeyPatch, line: str, lines: list[str]
) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((34, 24)))
    monkeypatch.setattr(Stream, "fileno", lambda self: 2)
    assert streams.wrapped(line, Stream("utf-8", terminal=True)).splitlines() == lines
