"""How far reading is, in words: megabytes, their total where it is known, and their speed."""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.2
FIRST_AFTER_SECONDS = 0.5
"""Short reading needs no words."""

LINES_EVERY_SECONDS = 30.0
FIRST_LINE_AFTER_SECONDS = 5.0
"""Lines stay where they were written, so there are few."""


class ReadProgress:
    """Takes the bytes read so far and says now and then how far and how fast that is.

    Args:
        say: gets the words; what it raises ends the reading.
        clock: seconds.
        in_lines: whether each becomes a line; else each takes the place of the one before.
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
        """`done` bytes of `total` (None when unknown) are read."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._every
        of = f" of {megabytes(total)}" if total else ""
        speed = megabytes(done / (now - self._start))
        self._say(f"reading {megabytes(done)}{of} MB, {speed} MB/s{self._ending}")


def megabytes(size: float) -> str:
    """ "<0.01", "0.42", "17", "1,830"."""
    value = size / 1e6
    if 0.0 < value < 0.01:
        return "<0.01"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
