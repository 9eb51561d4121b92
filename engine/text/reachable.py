"""Limits that are named for someone to type: rounded so that they do."""

from __future__ import annotations

import math

_STEPS = ((86400.0, 1.0 / 3600.0), (3600.0, 1.0 / 60.0), (60.0, 1.0), (0.0, 10.0))
"""From so many seconds on, how many deadlines are named in a second."""

ENOUGH = 1.0 + 1e-9
"""Times a limit that is reached: a last digit of arithmetic does not make it one that is not."""


def reachable_seconds(seconds: float) -> float:
    """The deadline to name where `seconds` are enough: never a shorter one, so that it is met when
    it is typed. Tenths of a second below a minute, whole ones below an hour, minutes below a day,
    then hours: what `format_seconds` writes of it is all of it."""
    per_step = next(count for least, count in _STEPS if seconds >= least)
    return math.ceil(seconds * ENOUGH * per_step) / per_step


def reachable_usd(usd: float) -> float:
    """The budget to name where `usd` are enough: never a smaller one. Dollars, cents or three
    figures, as `format_usd` writes them."""
    enough = usd * ENOUGH
    if enough >= 9999.5:
        return float(math.ceil(enough))
    after_point = 2 if enough >= 1.0 or enough <= 0.0 else 2 - math.floor(math.log10(enough))
    return math.ceil(enough * 10.0**after_point) / 10.0**after_point
