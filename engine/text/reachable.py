"""Rounds suggested deadlines and budgets up, so that they suffice when typed as shown, and factors
of the input down, so that the goal is kept with them."""

from __future__ import annotations

import math

from engine.forecast import FloatArray, Forecast

_STEPS = ((86400.0, 1.0 / 3600.0), (3600.0, 1.0 / 60.0), (60.0, 1.0), (0.0, 10.0))
"""(Minimum in seconds, rounding steps per second)."""

ENOUGH = 1.0 + 1e-9
"""Tolerance factor: a limit that is met exactly must not fail by a rounding error."""


def promised_seconds(forecast: Forecast, confidence: float) -> FloatArray:
    """(n,) the promised time: the shortest deadline in seconds that is met with probability
    `confidence` when it is asked for; without an interval by the predicted time alone."""
    return ENOUGH * forecast.quantile_or_median(confidence)


def reachable_seconds(seconds: float) -> float:
    """The deadline to suggest where `seconds` are enough, rounded up so that it is met when typed.

    Rounded to tenths of a second below a minute, seconds below an hour, minutes below a day, then
    hours, so that `format_seconds` shows it exactly.
    """
    per_step = next(count for least, count in _STEPS if seconds >= least)
    return math.ceil(seconds * ENOUGH * per_step) / per_step


def reachable_usd(usd: float) -> float:
    """The budget to suggest where `usd` are enough, rounded up. Dollars, cents or three significant
    digits, as `format_usd` shows them."""
    enough = usd * ENOUGH
    if enough >= 9999.5:
        return float(math.ceil(enough))
    after_point = 2 if enough >= 1.0 or enough <= 0.0 else 2 - math.floor(math.log10(enough))
    return math.ceil(enough * 10.0**after_point) / 10.0**after_point


def factor_steps_per_unit(factor: float) -> int:
    """How many steps of 1 a factor of this size is told in: hundredths below 2, tenths below 100,
    else whole numbers."""
    return 100 if factor < 2.0 else 10 if factor < 100.0 else 1


def format_factor(factor: float) -> str:
    """A factor, rounded down to `factor_steps_per_unit`: up to 3.1 times is kept where 3.19 is."""
    per_unit = factor_steps_per_unit(factor)
    digits = {100: 2, 10: 1, 1: 0}[per_unit]
    return f"{math.floor(factor * ENOUGH * per_unit) / per_unit:.{digits}f}"
