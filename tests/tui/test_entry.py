"""An interrupt while the command is still being imported."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

INTERRUPTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
sys.argv = ["sparkplan", "samples"]
from {module} import {function}
sys.exit({function}())
"""


@pytest.mark.parametrize("name", ["tui.cli", "engine", "tui.arguments.parser"])
def test_it_is_one_line_before_anything_is_imported_too(name):
    """It was a traceback of Python's import."""
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = installed["sparkplan"].partition(":")
    script = INTERRUPTS.format(name=name, module=module, function=function)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "sparkplan: interrupted\n"
