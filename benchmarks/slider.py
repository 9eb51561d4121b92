"""What a step of a slider and a view cost at the other end of the line, through a pty.

    python benchmarks/slider.py [--steps N] [--sizes 80x24,120x40] [--views 1,2,...] [COMMAND ...]

One table. `step`: milliseconds from a key on a slider to the first and the last byte, and bytes
(medians; then the worst last byte). `show`: turning to the view from another one, to the last byte.
`repaint`: all its cells again (ctrl+l). `lag`: on a line of 30 kB/s, how long after the last of 30
keys at 10/s the terminal still has to catch up. Beside the deadline in each view, the other sliders
and the crosshair in the first one.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import time
from dataclasses import dataclass, field

from pty_driver import Burst, PtySession, default_command

_RIGHT, _LEFT, _TAB, _REPAINT = b"\x1b[C", b"\x1b[D", b"\t", b"\x0c"
_CROSSHAIR, _ESCAPE = b"v", b"\x1b"
_TO_DEADLINE = (b"f", b"a")
"""Jump mode: the first letter is that of the first control."""

_SLIDERS = ("deadline", "budget", "data size", "max nodes", "confidence")
_VIEWS = {
    "1": "curves",
    "2": "compositions",
    "3": "frontier",
    "4": "stages",
    "5": "evidence",
    "6": "workflow",
    "7": "compare",
    "8": "experiments",
}
_LAG_KEYS, _KEYS_PER_SECOND, _LINE_BYTES_PER_SECOND = 30, 10, 30_000
_SHOWN = 5
"""How often a view is turned to."""


@dataclass
class Bursts:
    """What came after events of one kind."""

    found: list[Burst] = field(default_factory=list)

    def add(self, burst: Burst) -> None:
        """One more; an event that changed nothing does not count."""
        if burst.last_seconds is not None:
            self.found.append(burst)

    def milliseconds(self) -> list[float]:
        """From each event to the last byte."""
        return [1e3 * (burst.last_seconds or 0.0) for burst in self.found]

    def cells(self) -> str:
        """Medians: to the first byte, to the last, bytes; then the worst last byte."""
        if not self.found:
            return f"{'–':>7}{'–':>7}{'–':>8}{'–':>7}"
        first = statistics.median(1e3 * (burst.first_seconds or 0.0) for burst in self.found)
        return f"{first:7.0f}{self.last_and_bytes()}{max(self.milliseconds()):7.0f}"

    def last_and_bytes(self) -> str:
        """Medians."""
        if not self.found:
            return f"{'–':>7}{'–':>8}"
        sizes = statistics.median(len(burst.output) for burst in self.found)
        return f"{statistics.median(self.milliseconds()):7.0f}{sizes:8.0f}"


def steps(session: PtySession, count: int) -> Bursts:
    """Steps to the right and back, so that the slider ends where it was."""
    found = Bursts()
    for number in range(count):
        found.add(session.send(_RIGHT if number < count / 2 else _LEFT))
    return found


def shown(session: PtySession, key: str) -> Bursts:
    """The view turned to from another one, after both have been seen."""
    found = Bursts()
    other = b"1" if key != "1" else b"2"
    for _ in range(_SHOWN):
        session.send(other)
        found.add(session.send(key.encode()))
    return found


def repainted(session: PtySession) -> Bursts:
    """Every cell again."""
    found = Bursts()
    for _ in range(_SHOWN):
        found.add(session.send(_REPAINT))
    return found


def lag(session: PtySession) -> float:
    """Milliseconds that a slow line still works after the last key."""
    keys = [_RIGHT] * (_LAG_KEYS // 2) + [_LEFT] * (_LAG_KEYS - _LAG_KEYS // 2)
    return 1e3 * session.lag_seconds(
        keys, keys_per_second=_KEYS_PER_SECOND, line_bytes_per_second=_LINE_BYTES_PER_SECOND
    )


def settle(session: PtySession) -> None:
    """Read until the planner has loaded and is quiet."""
    since = time.perf_counter()
    while time.perf_counter() - since < 30.0:
        if not session.read(since=time.perf_counter(), limit_seconds=2.0).output:
            return


def measure(session: PtySession, size: str, views: list[str], count: int) -> None:
    """All rows of one size."""
    settle(session)
    for slider in _SLIDERS[1:]:
        session.send(_TAB)
        print(f"{size:<8}{slider + ', curves':<22}{steps(session, count).cells()}", flush=True)
    session.send(_CROSSHAIR)
    print(f"{size:<8}{'crosshair, curves':<22}{steps(session, count).cells()}", flush=True)
    session.send(_ESCAPE)
    for key in views:
        showing = shown(session, key)
        painting = repainted(session)
        for jump in _TO_DEADLINE:
            session.send(jump)
        row = f"{size:<8}{'deadline, ' + _VIEWS[key]:<22}{steps(session, count).cells()}"
        row += f"{showing.last_and_bytes()}{painting.last_and_bytes()}{lag(session):7.0f}"
        print(row, flush=True)
        settle(session)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--sizes", default="80x24,120x40")
    parser.add_argument("--views", default=",".join(_VIEWS), help="by their number keys")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="default: sparkplan")
    options = parser.parse_args()
    command = options.command or default_command()
    print(f"{shlex.join(options.command) or 'sparkplan'}: milliseconds and bytes, medians")
    print(f"{'':30}{'step':>7}{'':22}{'show':>7}{'':8}{'repaint':>7}{'':8}{'lag':>7}")
    heads = ("first", "last", "bytes", "worst", "last", "bytes", "last", "bytes", "")
    widths = (7, 7, 8, 7, 7, 8, 7, 8, 7)
    print(" " * 30 + "".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True)))
    for size in options.sizes.split(","):
        columns, rows = map(int, size.split("x"))
        with PtySession(command, columns=columns, rows=rows) as session:
            measure(session, size, options.views.split(","), options.steps)


if __name__ == "__main__":
    main()
