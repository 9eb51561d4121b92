"""The end of a process whose threads are in the middle of something."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from screen import MAX_WAITS

from tui import workers

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
    workers.LatestJobWorker("fit").submit(transform)
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


def test_a_thread_without_a_job_ends_and_another_does_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each planner of a process left two threads for good, and they held it."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.0)
    latest, did = workers.LatestJobWorker("idle"), []
    for _ in range(2):
        latest.submit(lambda: did.append(threading.current_thread()))
        for _ in range(MAX_WAITS):
            if latest._thread is None:
                break
            time.sleep(0.01)
    first, second = did
    assert first is not second
    for thread in did:
        thread.join(10.0)
        assert not thread.is_alive()
