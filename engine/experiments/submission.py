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
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_end(command: Sequence[str], output: Path, timeout_seconds: float | None) -> str | None:
    """Runs spark-submit to its end; None, or in one line why it failed.

    Whatever ends the wait (a timeout, an interrupt) ends the process and what it started too.
    """
    with output.open("wb") as stream:
        try:
            with _signals_held() as held:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            return f"{command[0]}: {error.strerror or error}"
        try:
            _raise_held(held)
            status = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return f"stopped after {timeout_seconds:g} s"
        finally:
            _ended(process)
    if status == 0:
        return None
    return f"spark-submit ended with {status}: {_last_line(output)}"


@contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Signals that would interrupt are noted instead: between the start of a process and the
    moment it is known here, an interrupt would leave it behind.

    A blocked signal mask would do the same, but the process would inherit it.
    """
    held: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        held.append(number)

    before: dict[int, Any] = {}
    try:
        for number in _ENDING:
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, note)
    except ValueError:
        # Only the main thread has handlers; in another one no signal interrupts.
        before.clear()
    try:
        yield held
    finally:
        for replaced, handler in before.items():
            signal.signal(replaced, handler)


def _raise_held(held: Sequence[int]) -> None:
    """Let a noted signal do what it would have done, here and now."""
    for number in held:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Ends spark-submit and what it started, if they still run."""
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


def _last_line(output: Path) -> str:
    """The line of the output that says most: the last that names an error, else the last that is
    no log message of Spark's below an error, else the last."""
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - 64_000))
        text = stream.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\w(Error|Exception)\b|\berror:", line)]
    plain = [line for line in lines if not re.search(r" (INFO|WARN|DEBUG) ", line)]
    line = (telling or plain or lines or ["it said nothing"])[-1]
    return f"{line[:200]} (all of it: {output})"
