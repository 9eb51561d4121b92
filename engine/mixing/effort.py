"""The effort limit of the search for mixes: a number of bounds, after which it is not proven.

Bounds are counted, not seconds, so that the result is the same on a busy or slow machine.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_BOUNDS = 8e6
"""The most lower bounds that a search computes: two to three seconds of processor time, 0.2 to 0.4
µs each."""

MAX_BOUNDS_SENSITIVITY = 8e5
"""The same for each of the ten or so searches of a sensitivity analysis, where the answer itself
was not proven with `MAX_BOUNDS`: nearby goals are as hard, and would not be proven either."""

COST_PER_CALL = 2_000
"""Overhead of one vectorised call, in bounds: 0.3 to 0.9 ms."""

REPRICED_COST = 0.25
"""Cost of windows with other Lagrange multipliers, in bounds per type and window: their times are
known."""


class OutOfEffort(Exception):
    """The effort limit is reached."""


@dataclass(eq=False)
class Effort:
    """The bounds computed by one search.

    Args:
        limit: the most bounds.
        spent: computed so far, with overheads.
    """

    limit: float
    spent: float = 0.0

    def spend(self, bounds: float) -> None:
        """Counts one vectorised call of `bounds` bounds."""
        self.spent += COST_PER_CALL + bounds

    @property
    def exhausted(self) -> bool:
        return self.spent >= self.limit

    def check(self) -> None:
        """Raises OutOfEffort at the limit."""
        if self.exhausted:
            raise OutOfEffort
