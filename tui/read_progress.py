"""Progress of reading as text: megabytes read, their total where it is known, and the speed."""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.2
FIRST_AFTER_SECONDS = 0.5
"""A short read is not reported."""

LINES_EVERY_SECONDS = 30.0
FIRST_LINE_AFTER_SECONDS = 5.0
"""Printed lines stay on the screen, so there are few."""


class ReadProgress:
    """Callback that takes the bytes read so far and reports progress and speed at intervals.

    Args:
        say: gets the text; an exception from it ends the read.
        clock: seconds.
        in_lines: whether each report is a line of its own; else each replaces the last.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        in_lines: bool = False,
    ) -> None:
        self._say = say
        self._clock = clock
        self._start = clock()
        self._every = LINES_EVERY_SECONDS if in_lines else INTERVAL_SECONDS
        self._next = self._start + (FIRST_LINE_AFTER_SECONDS if in_lines else FIRST_AFTER_SECONDS)
        self._ending = "" if in_lines else ", esc cancels"

    def __call__(self, done: int, total: int | None) -> None:
        """Take note that `done` of `total` bytes (None when unknown) are read; 0 of None while
        folders are searched."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._every
        if not done and total is None:
            self._say(f"looking for logs{self._ending}")
            return
        of = f" of {megabytes(total)}" if total else ""
        speed = megabytes(done / (now - self._start))
        self._say(f"reading {megabytes(done)}{of} MB, {speed} MB/s{self._ending}")


def megabytes(size: float) -> str:
    """ "<0.01", "0.42", "17", "1,830"."""
    value = size / 1e6
    if 0.0 < value < 0.01:
        return "<0.01"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
