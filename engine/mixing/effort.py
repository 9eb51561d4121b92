"""How much a search for mixes looks at before it says how far off it may be.

What is looked at is counted, not the seconds that this takes: so that the answer is the same on a
busy machine, and on a slow one.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BOUNDS = 8e6
"""Bounds of parts that a search works out at most: two to three seconds of processor time, 0.2 to
0.4 µs each."""

BOUNDS_AROUND = 8e5
"""The same for each of the ten searches or so for what an answer hangs on, where that answer was
not proven with `MOST_BOUNDS`: what is near to it is as hard, and would not be proven either."""

FOR_EACH_CALL = 2_000
"""What it takes to work out some bounds together beside these, in bounds: 0.3 to 0.9 ms."""

CHARGED = 0.25
"""What windows with other charges take for each type in each, in bounds: their times are known."""


class OutOfEffort(Exception):
    """As many bounds were worked out as may be."""


@dataclass(eq=False)
class Effort:
    """Bounds worked out by one search.

    Args:
        most: how many may be.
    """

    most: float
    spent: float = 0.0

    def spend(self, bounds: float) -> None:
        """So many were worked out together."""
        self.spent += FOR_EACH_CALL + bounds

    @property
    def over(self) -> bool:
        return self.spent >= self.most

    def check(self) -> None:
        """Raises OutOfEffort when no more may be."""
        if self.over:
            raise OutOfEffort
