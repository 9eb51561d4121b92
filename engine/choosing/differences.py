"""By how much one composition is worse than another, and a deadline missed, in words."""

from __future__ import annotations

from engine.text.time_differences import format_time_difference
from engine.units import format_seconds, format_usd

LEAST_LATE = 0.001
"""Seconds; what is late by less is not told apart where a model has no intervals."""

LEAST_LATE_SHARE = 0.01
"""Of the deadline: no interval is so sharp that it tells less apart."""

LEAST_USD = 0.001
"""Costs that differ by less are not told apart."""


def missed_by(late: float, confidence: float | None, *, deadline_seconds: float) -> str:
    """How late, in words: by how much the time that is kept with that probability exceeds the
    deadline ("misses the deadline by 7m 20s at 90 %"). A confidence of None is a model without
    intervals, whose predicted time is held to T < D."""
    by = format_time_difference(late, of_seconds=deadline_seconds + late)
    if confidence is None:
        if late < LEAST_LATE:
            return "takes all of the time up to the deadline"
        return f"misses the deadline by {by}"
    least = LEAST_LATE_SHARE * deadline_seconds
    if late < least:
        by = f"less than {format_seconds(float(f'{least:.2g}'), figures=2)}"
    return f"misses the deadline by {by} at {100.0 * confidence:.10g} %"


def in_runs(p: float, *, allowed: float = 0.0) -> str:
    """A probability in words: "in 30 % of runs". One that is above what is `allowed` is not rounded
    to that: "in 10.4 % of runs" where 10 % are."""
    if p <= 0.005:
        return "in less than 1 % of runs"
    if p >= 0.995:
        return "in more than 99 % of runs"
    bound = f"{100.0 * allowed:.10g}"
    rounded = (f"{100.0 * p:.{digits}f}" for digits in range(MOST_DIGITS + 1))
    told = next((text for text in rounded if float(text) > float(bound) or p <= allowed), None)
    return f"in {told or f'more than {bound}'} % of runs"


MOST_DIGITS = 2
"""Decimals of a percentage that is hardly more than another."""


def more_usd(usd: float) -> str:
    """A difference of costs: two digits tell how much it matters ("$0.0047 more")."""
    if usd < LEAST_USD:
        return "less than $0.001 more"
    return f"{format_usd(usd, figures=2)} more"


def takes_longer(*, seconds: float, than_seconds: float, less_usd: float) -> str:
    """How much slower another is than the fastest, and what it saves where it does: the fastest
    may cost twice as much for a thousandth of the time."""
    apart = format_time_difference(seconds - than_seconds, of_seconds=seconds)
    saves = f" and costs {format_usd(less_usd, figures=2)} less" if less_usd >= LEAST_USD else ""
    return f"takes {apart} longer{saves}"
