"""Drives a command in a pseudo-terminal and times what it writes, as a user over SSH sees it."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_READ_BYTES = 65536
# What a modern terminal answers to the questions of Textual: synchronised output is supported.
_QUESTIONS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y"}


def default_command() -> list[str]:
    """`sparkplan` as installed beside the Python that runs this, else the one on PATH."""
    beside = Path(sys.executable).with_name("sparkplan")
    return [str(beside) if beside.exists() else "sparkplan"]


@dataclass(frozen=True)
class Burst:
    """What a command wrote between an event and the following silence.

    Attributes:
        first_seconds: from the event to the first byte; None when nothing came.
        last_seconds: from the event to the last byte; None when nothing came.
        output: all bytes.
    """

    first_seconds: float | None
    last_seconds: float | None
    output: bytes


class PtySession:
    """A command that runs in a pseudo-terminal of `columns` x `rows` until the block ends."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int,
        rows: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare to run `command`; `environment` is added to a plain 256-colour UTF-8 one."""
        self._command = list(command)
        self._columns, self._rows = columns, rows
        # Installed commands have their bytecode; without it every start compiles 60 modules.
        dropped = ("COLUMNS", "LINES", "PYTHONDONTWRITEBYTECODE")
        kept = {key: value for key, value in os.environ.items() if key not in dropped}
        defaults = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self._environment = {**kept, **defaults, **(environment or {})}
        self._master = -1
        self._pid = -1
        self.started = 0.0

    def __enter__(self) -> PtySession:
        self._master, slave = os.openpty()
        size = struct.pack("HHHH", self._rows, self._columns, 0, 0)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
        self.started = time.perf_counter()
        self._pid = os.fork()
        if self._pid == 0:
            self._become_command(slave)
        os.close(slave)
        return self

    def _become_command(self, slave: int) -> None:
        """In the child: make the terminal the controlling one and run the command."""
        try:
            os.close(self._master)
            os.login_tty(slave)
            os.execvpe(self._command[0], self._command, self._environment)
        except OSError as error:
            os.write(2, f"{self._command[0]}: {error}\r\n".encode())
        finally:
            os._exit(127)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the command: politely, then by force."""
        os.close(self._master)
        for number in (signal.SIGHUP, signal.SIGKILL):
            try:
                os.kill(self._pid, number)
            except ProcessLookupError:
                return
            deadline = time.perf_counter() + 1.0
            while time.perf_counter() < deadline:
                if os.waitpid(self._pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.01)

    def send(
        self, keys: bytes, *, quiet_seconds: float = 0.25, limit_seconds: float = 10.0
    ) -> Burst:
        """Send `keys` and read until nothing came for `quiet_seconds`."""
        since = time.perf_counter()
        os.write(self._master, keys)
        return self.read(since=since, quiet_seconds=quiet_seconds, limit_seconds=limit_seconds)

    def read(
        self, *, since: float, quiet_seconds: float = 0.25, limit_seconds: float = 10.0
    ) -> Burst:
        """Read until nothing came for `quiet_seconds`; times count from `since` (perf_counter).

        Before the first byte the whole limit is waited for: a slow start is not silence.
        """
        first: float | None = None
        last: float | None = None
        parts: list[bytes] = []
        while True:
            now = time.perf_counter()
            wait = quiet_seconds if first is not None else since + limit_seconds - now
            if wait <= 0 or not select.select([self._master], [], [], wait)[0]:
                break
            data = self._received()
            if not data:
                break
            last = time.perf_counter() - since
            first = last if first is None else first
            parts.append(data)
            if last > limit_seconds:
                break
        return Burst(first, last, b"".join(parts))

    def lag_seconds(
        self,
        keys: Sequence[bytes],
        *,
        keys_per_second: float,
        line_bytes_per_second: float,
        quiet_seconds: float = 0.12,
    ) -> float:
        """Seconds from the last of `keys` to the last byte, read no faster than a slow line would.

        What is not read yet waits in the terminal's buffer, and then in the command: it sees a line
        that is full. After a silence of `quiet_seconds` what comes is no longer lag.
        """
        begun = time.perf_counter()
        sent, received, last_key, last_byte = 0, 0, begun, begun
        while True:
            now = time.perf_counter()
            if sent < len(keys) and now >= begun + sent / keys_per_second:
                os.write(self._master, keys[sent])
                sent, last_key = sent + 1, now
            # Where the line was idle, what it could have sent then is lost.
            received = max(received, int((now - begun - quiet_seconds) * line_bytes_per_second))
            room = int((now - begun) * line_bytes_per_second) - received
            if room > 0 and select.select([self._master], [], [], 0.0)[0]:
                data = os.read(self._master, min(room, 1024))
                received, last_byte = received + len(data), time.perf_counter()
            elif sent == len(keys) and now - max(last_byte, last_key) > quiet_seconds:
                return max(0.0, last_byte - last_key)
            else:
                time.sleep(0.001)

    def read_until(
        self, reached: Callable[[bytes], bool], *, what: str, limit_seconds: float = 20.0
    ) -> float:
        """Seconds from the start to the read after which `reached(all output)` holds.

        Raises:
            TimeoutError: when `what` did not come in time, or the command ended.
        """
        seen = b""
        deadline = self.started + limit_seconds
        while (wait := deadline - time.perf_counter()) > 0:
            if not select.select([self._master], [], [], wait)[0]:
                break
            data = self._received()
            now = time.perf_counter()
            if not data:
                break
            seen += data
            if reached(seen):
                return now - self.started
        wrote = f"; it wrote {seen[-200:]!r}" if seen else ""
        raise TimeoutError(f"{self._command[0]} did not write {what} in {limit_seconds} s{wrote}")

    def _received(self) -> bytes:
        """What can be read now, with the terminal's answers sent; empty when the command ended."""
        try:
            data = os.read(self._master, _READ_BYTES)
        except OSError as error:
            if error.errno == errno.EIO:  # Linux says so when the other end is closed
                return b""
            raise
        for question, answer in _QUESTIONS.items():
            if question in data:
                os.write(self._master, answer)
        return data
