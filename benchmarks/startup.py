"""How long until a command has painted, against a minimal Textual app measured in the same run.

    python benchmarks/startup.py [--runs N] [--views] [COMMAND ...]

Prints one table: median seconds to the first painted frame, and the ratio to the minimal app. With
`--views` also for a session that begins in each view, as one that is resumed does.
"""

from __future__ import annotations

import argparse
import re
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from pty_driver import PtySession, default_command

_MINIMAL_APP = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("ready")
Minimal().run()
"""
_VIEWS = ("curves", "compositions", "frontier", "stages", "evidence", "workflow", "compare")
_ALTERNATE_SCREEN = b"\x1b[?1049h"
# What a terminal does not show: control strings, other sequences (also unfinished), controls.
_UNSEEN = re.compile(
    rb"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\|\x1b?$)"
    rb"|\x1b\[[0-?]*[ -/]*(?:[@-~]|$)|\x1b[ -/]*(?:[0-~]|$)|[\x00-\x20\x7f]"
)


def has_painted(output: bytes) -> bool:
    """Whether anything can be seen on the alternate screen.

    Questions to the terminal and cleared screens come before; how a frame begins differs between
    drivers.
    """
    _, entered, shown = output.partition(_ALTERNATE_SCREEN)
    return bool(entered and _UNSEEN.sub(b"", shown))


def first_paint_seconds(command: list[str], columns: int, rows: int) -> float:
    """Seconds from the start of `command` to its first text, in a pseudo-terminal."""
    with PtySession(command, columns=columns, rows=rows) as session:
        return session.read_until(has_painted, what="a first frame")


def measure(
    commands: dict[str, list[str]], runs: int, columns: int, rows: int
) -> dict[str, list[float]]:
    """Seconds of every run of every command; turns alternate, so that load hits all alike."""
    for command in commands.values():
        first_paint_seconds(command, columns, rows)  # fills the caches of files and bytecode
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            seconds[name].append(first_paint_seconds(command, columns, rows))
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--views", action="store_true", help="a session in each view, too")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="default: sparkplan")
    options = parser.parse_args()
    command = options.command or default_command()
    name = shlex.join(options.command) or "sparkplan"
    commands = {"minimal Textual app": [sys.executable, "-c", _MINIMAL_APP], name: command}
    with tempfile.TemporaryDirectory() as folder:
        for view in _VIEWS if options.views else ():
            path = Path(folder) / f"{view}.yaml"
            path.write_text(f"open: nightly-features\nview: {view}\n", encoding="utf-8")
            commands[f"in {view}"] = [*command, "--scenario", str(path)]
        seconds = measure(commands, options.runs, options.columns, options.rows)
    base = statistics.median(seconds["minimal Textual app"])
    width = max(map(len, seconds))
    print(f"{'start to first paint':<{width}}  median ms   best ms   ratio")
    for label, values in seconds.items():
        median = statistics.median(values)
        best = min(values)
        print(f"{label:<{width}}  {median * 1e3:9.0f} {best * 1e3:9.0f} {median / base:7.2f}")


if __name__ == "__main__":
    main()
