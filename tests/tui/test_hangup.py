"""A terminal that goes away takes the planner with it, whoever is told of it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("sparkplan")
FIRST_FRAME_BYTES = 4_000
LEAVES_WITHIN_SECONDS = 60

OWN = ["{sparkplan}"]
BEHIND_ANOTHER = ["sh", "-c", "trap '' HUP; '{sparkplan}'; exit $?"]
"""The first process of the session is told, and waits for one that is not (as make does)."""


@pytest.mark.slow
@pytest.mark.skipif(not COMMAND.exists(), reason="the command is not installed beside this Python")
@pytest.mark.parametrize("words", [OWN, BEHIND_ANOTHER], ids=["own", "behind another"])
def test_the_planner_ends_when_its_terminal_has_gone(words: list[str], tmp_path: Path) -> None:
    state = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "CONFIG", "CACHE")}
    terminal, line = pty.openpty()
    fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    started = subprocess.Popen(
        [word.format(sparkplan=COMMAND) for word in words],
        stdin=line, stdout=line, stderr=line, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        env={**os.environ, **state, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(line)
    try:
        read_some(terminal)
        os.close(terminal)
        assert started.wait(LEAVES_WITHIN_SECONDS) in (129, -1)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, 9)


def read_some(terminal: int) -> None:
    """Until a first frame has come."""
    got = 0
    while got < FIRST_FRAME_BYTES:
        ready, _, _ = select.select([terminal], [], [], LEAVES_WITHIN_SECONDS)
        assert ready, f"only {got} bytes came"
        got += len(os.read(terminal, 1 << 16))
