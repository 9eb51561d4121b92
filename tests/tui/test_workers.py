"""The end of a process whose threads are in the middle of something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

IN_THE_MIDDLE = """
import sys, time
import numpy as np
import scipy.fft
from tui import cli, workers

def transform():
    while True:
        scipy.fft.fft(np.ones(20_000))

def quit_while_computing(arguments):
    workers.Latest("fit").submit(transform)
    time.sleep(0.2)
    print("the last words", end="")
    return 3

cli.run = quit_while_computing
sys.exit(cli.main())
"""


def test_a_quit_in_the_middle_of_a_computation_ends_as_any_other() -> None:
    """The interpreter ended the thread in the C++ code of a library: "terminate called without an
    active exception", 134."""
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_MIDDLE], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "the last words", "")


def test_a_command_without_threads_returns() -> None:
    code = "from tui import cli; cli.run = lambda arguments: 1; print(cli.main(), 'returned')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "1 returned\n"
