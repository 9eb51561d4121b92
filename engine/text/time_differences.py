"""Formats differences of two times, no more precisely than the times themselves are shown."""

from __future__ import annotations

import math

from engine.units import format_seconds

_STEPS = ((3599.5, 1.0), (48 * 3600.0, 60.0))
"""(Upper bound in seconds, step): the step in which times from a minute on are shown."""


def format_time_difference(seconds: float, *, of_seconds: float, figures: int = 2) -> str:
    """A difference of times, to the last digit in which the longer one is shown: "9.2 s" of 48.7 s,
    "4 s" of 1m 07s, "12 min" of 5 h; "less than 1 s" where it is not visible there.

    Args:
        seconds: the difference, at least 0.
        of_seconds: the longer of the two times.
        figures: maximum number of digits: two suffice, and intervals of minutes do not support a
            third.
    """
    step = _step(of_seconds)
    rounded = round(float(f"{seconds:.{figures}g}") / step) * step
    if rounded < step / 2.0:
        return f"less than {_in_steps(step, step, figures)}"
    return _in_steps(rounded, step, figures)


def _step(of_seconds: float) -> float:
    """The value in seconds of the last digit in which `format_seconds` shows a time."""
    if of_seconds < 59.95:
        return 10.0 ** (math.floor(math.log10(max(of_seconds, 1e-3))) - 2)
    return next((step for most, step in _STEPS if of_seconds < most), 3600.0)


def _in_steps(seconds: float, step: float, figures: int) -> str:
    """A multiple of a step, in a unit that implies no more precision."""
    if step >= 60.0 and seconds < 3599.5:
        return f"{seconds / 60.0:.0f} min"
    if step >= 3600.0 and seconds < 48 * 3600.0:
        return f"{seconds / 3600.0:.0f} h"
    if seconds >= 59.95:
        return format_seconds(seconds)
    unit, factor = ("ms", 1e-3) if step < 0.01 else ("s", 1.0)
    amount = seconds / factor
    least = max(0, -math.floor(math.log10(step / factor)))
    digits = min(least, max(0, figures - 1 - math.floor(math.log10(amount))))
    return f"{amount:.{digits}f} {unit}"
