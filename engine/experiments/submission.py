"""One spark-submit, from its start to its end: its output in a file, nothing of it left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_GRACE_SECONDS = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_end(command: Sequence[str], output: Path, timeout_seconds: float | None) -> str | None:
    """Runs spark-submit to its end; None, or in one line why it failed.

    Whatever ends the wait (a timeout, an interrupt) ends the process and what it started too.
    """
    with output.open("wb") as stream:
        try:
            with _deferred_signals() as pending:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            return f"{command[0]}: {error.strerror or error}"
        try:
            _deliver_deferred(pending)
            status = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return f"stopped after {timeout_seconds:g} s"
        finally:
            _terminate(process)
    if status == 0:
        return None
    return f"spark-submit ended with {status}: {_failure_line(output)}"


@contextmanager
def _deferred_signals() -> Iterator[list[int]]:
    """Records signals instead of handling them: an interrupt between the start of a process and its
    assignment here would leave the process running.

    A blocked signal mask would do the same, but the process would inherit it.
    """
    pending: list[int] = []

    def record(number: int, frame: FrameType | None) -> None:
        pending.append(number)

    handlers: dict[int, Any] = {}
    try:
        for number in _SIGNALS:
            if callable(signal.getsignal(number)):
                handlers[number] = signal.signal(number, record)
    except ValueError:
        # Only the main thread has handlers; in another one no signal interrupts.
        handlers.clear()
    try:
        yield pending
    finally:
        for replaced, handler in handlers.items():
            signal.signal(replaced, handler)


def _deliver_deferred(pending: Sequence[int]) -> None:
    """Handles the recorded signals now, as their handlers would have done."""
    for number in pending:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Terminates spark-submit and its process group, if still running; kills it after a grace
    period."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_GRACE_SECONDS)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _failure_line(output: Path) -> str:
    """The most informative line of the output: the last that names an error, else the last that is
    no INFO, WARN or DEBUG message, else the last."""
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - 64_000))
        text = stream.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\w(Error|Exception)\b|\berror:", line)]
    output_lines = [line for line in lines if not re.search(r" (INFO|WARN|DEBUG) ", line)]
    line = (errors or output_lines or lines or ["it said nothing"])[-1]
    return f"{line[:200]} (all of it: {output})"
