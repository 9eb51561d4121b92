"""spark-submit ends with the process that waits for it, at whatever moment that is stopped."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.experiments import submission


@pytest.fixture
def interruptible() -> Iterator[None]:
    """In the background of a script the tests ignore interrupts: as they should, but for this."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_it_starts_does_not_leave_it_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def interrupted(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(real(*args, **kwargs))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(submission.subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        submission.run_to_end(["sleep", "60"], tmp_path / "out", None)
    assert started[0].returncode == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(started[0].pid, 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_reason_of_a_failure_is_its_last_line(tmp_path: Path) -> None:
    reason = submission.run_to_end(["sh", "-c", "echo broken; exit 3"], tmp_path / "out", None)
    assert reason.startswith("spark-submit ended with 3: broken")


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    assert submission.run_to_end(["sleep", "60"], tmp_path / "out", 0.05) == "stopped after 0.05 s"
