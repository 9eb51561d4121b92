"""Differences in words: how late a deadline is missed, and how much worse another composition
is."""

from __future__ import annotations

from engine.text.time_differences import format_time_difference
from engine.units import format_seconds, format_usd

LEAST_LATE = 0.001
"""Seconds; a smaller lateness counts as none where a model has no intervals."""

LEAST_LATE_SHARE = 0.01
"""Share of the deadline; no interval is sharp enough to tell a smaller lateness."""

LEAST_USD = 0.001
"""USD; a smaller difference in cost counts as none."""


def missed_by(late: float, confidence: float | None, *, deadline_seconds: float) -> str:
    """By how much the time at a confidence exceeds the deadline, in words ("misses the deadline by
    7m 20s at 90 %"). A confidence of None is a model without intervals, whose predicted time must
    satisfy T < D."""
    lateness = format_time_difference(late, of_seconds=deadline_seconds + late)
    if confidence is None:
        if late < LEAST_LATE:
            return "takes all of the time up to the deadline"
        return f"misses the deadline by {lateness}"
    least = LEAST_LATE_SHARE * deadline_seconds
    if late < least:
        lateness = f"less than {format_seconds(float(f'{least:.2g}'), figures=2)}"
    return f"misses the deadline by {lateness} at {100.0 * confidence:.10g} %"


def in_runs(p: float, *, allowed: float = 0.0) -> str:
    """A probability in words: "in 30 % of runs". One above `allowed` is not rounded down to it: "in
    10.4 % of runs" where 10 % are allowed."""
    if p <= 0.005:
        return "in less than 1 % of runs"
    if p >= 0.995:
        return "in more than 99 % of runs"
    bound = f"{100.0 * allowed:.10g}"
    rounded = (f"{100.0 * p:.{digits}f}" for digits in range(MAX_DECIMALS + 1))
    share = next((text for text in rounded if float(text) > float(bound) or p <= allowed), None)
    return f"in {share or f'more than {bound}'} % of runs"


MAX_DECIMALS = 2
"""The most decimals of a percentage slightly above another."""


def more_usd(usd: float) -> str:
    """A difference of costs in words, to two digits ("$0.0047 more")."""
    if usd < LEAST_USD:
        return "less than $0.001 more"
    return f"{format_usd(usd, figures=2)} more"


def takes_longer(*, seconds: float, than_seconds: float, less_usd: float) -> str:
    """How much slower another is than the fastest, and what it saves where it does: the fastest
    may cost twice as much for a thousandth of the time."""
    apart = format_time_difference(seconds - than_seconds, of_seconds=seconds)
    saves = f" and costs {format_usd(less_usd, figures=2)} less" if less_usd >= LEAST_USD else ""
    return f"takes {apart} longer{saves}"
