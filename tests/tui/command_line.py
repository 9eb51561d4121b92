"""Command lines as a shell would run them, in this process."""

import json
import shlex
from typing import Any

import pytest

from tui.cli import main


def run(capsys: pytest.CaptureFixture[str], line: str, *, status: int = 0) -> tuple[str, str]:
    """stdout and stderr of a command line that ends with `status`."""
    assert main(shlex.split(line)) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def refused(capsys: pytest.CaptureFixture[str], line: str) -> str:
    """The one line on stderr, and nothing on stdout, of a command line that exits with 2."""
    out, err = run(capsys, line, status=2)
    assert out == ""
    assert err.startswith("sparkplan: ")
    assert len(err.splitlines()) == 1
    return err


def answer(capsys: pytest.CaptureFixture[str], line: str, *, status: int = 0) -> Any:
    """The one object that the line prints with --json."""
    out, _ = run(capsys, f"{line} --json", status=status)
    assert len(out.splitlines()) == 1
    return json.loads(out)
