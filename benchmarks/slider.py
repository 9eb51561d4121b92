"""What one step of a slider costs at the other end of the line: time and bytes, through a pty.

    python benchmarks/slider.py [--steps N] [COMMAND ...]

For each slider, the crosshair of the charts, and each size: milliseconds from the key to the first
and the last byte of the repaint, and bytes per step; median and worst of the steps. Beside it the
same for a burst of keys.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import time
from dataclasses import dataclass

from pty_driver import PtySession, default_command

_RIGHT, _LEFT, _TAB, _CROSSHAIR = b"\x1b[C", b"\x1b[D", b"\t", b"v"
_SIZES = ((80, 24), (120, 40))
_SLIDERS = ("deadline", "budget", "data size", "max nodes", "confidence")
_BURST_KEYS = 30


@dataclass(frozen=True)
class Steps:
    """Per step: seconds to the first and to the last byte, and bytes."""

    first: list[float]
    last: list[float]
    sizes: list[int]

    def row(self) -> str:
        """Medians and worst cases as a line of the table."""
        return (
            f"{statistics.median(self.first) * 1e3:8.1f} {statistics.median(self.last) * 1e3:8.1f}"
            f" {max(self.last) * 1e3:8.1f} {statistics.median(self.sizes):8.0f}"
            f" {max(self.sizes):8d}"
        )


def measure(session: PtySession, steps: int) -> Steps:
    """Steps to the right and back, so that the slider ends where it was."""
    found = Steps([], [], [])
    for number in range(steps):
        burst = session.send(_RIGHT if number < steps / 2 else _LEFT)
        if burst.first_seconds is None or burst.last_seconds is None:
            continue
        found.first.append(burst.first_seconds)
        found.last.append(burst.last_seconds)
        found.sizes.append(len(burst.output))
    return found


def settle(session: PtySession) -> None:
    """Read until the planner has loaded and is quiet."""
    since = time.perf_counter()
    while time.perf_counter() - since < 30.0:
        if not session.read(since=time.perf_counter(), limit_seconds=2.0).output:
            return


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="default: sparkplan")
    options = parser.parse_args()
    command = options.command or default_command()
    print(f"{shlex.join(options.command) or 'sparkplan'}: one slider step, milliseconds and bytes")
    print(f"{'':22}   first     last    worst    bytes    worst")
    for columns, rows in _SIZES:
        with PtySession(command, columns=columns, rows=rows) as session:
            settle(session)
            for slider in _SLIDERS:
                steps = measure(session, options.steps)
                if steps.last:
                    print(f"{columns}x{rows} {slider:<15}{steps.row()}")
                session.send(_TAB)
            session.send(b"\x1b[Z" * len(_SLIDERS))
            burst = session.send(_RIGHT * _BURST_KEYS)
            print(
                f"{columns}x{rows} {_BURST_KEYS} deadline keys at once: last byte after "
                f"{(burst.last_seconds or 0.0) * 1e3:.0f} ms, {len(burst.output):,} bytes"
            )
            session.send(_CROSSHAIR)
            crosshair = measure(session, options.steps)
            print(f"{columns}x{rows} {'crosshair':<15}{crosshair.row()}")


if __name__ == "__main__":
    main()
