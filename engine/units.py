"""Bytes, seconds and US dollars: how they are named and shown.

Inside the engine a quantity is a float in the unit that its name ends in (`input_bytes`, `seconds`,
`price_usd_per_hour`, `memory_gib`). Text becomes such a number in `engine.text.quantities`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

KIB = 1024.0
MIB = 1024.0**2
GIB = 1024.0**3
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_YEAR = 365.25 * 86400.0


def format_seconds(seconds: float, *, figures: int = 3) -> str:
    """A duration in words, to `figures` digits below a minute: "850 ms", "2.30 s", "6m 30s",
    "1h 12m"; whole seconds, as in deadlines, without a point: "30 s". Less than `LEAST_SECONDS` is
    "0 s"."""
    if 0.0 <= seconds < LEAST_SECONDS:
        return "0 s"
    if seconds < 59.95 and seconds == round(seconds):
        return f"{seconds:.0f} s"
    if seconds < 0.9995:
        return f"{_digits(seconds * 1000.0, figures)} ms"
    if seconds < 59.95:
        return f"{_digits(seconds, figures)} s"
    if seconds < 3599.5:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes}m {rest:02d}s"
    minutes = round(seconds / 60.0)
    if minutes < 48 * 60:
        return f"{minutes // 60}h {minutes % 60:02d}m"
    hours = round(seconds / 3600.0)
    return f"{hours // 24}d {hours % 24:02d}h"


LEAST_SECONDS = 1e-6
"""Logs count milliseconds: a shorter time is what rounding leaves of a difference."""


def _digits(value: float, figures: int) -> str:
    """A number with its trailing zeros, so that all in a column have equally many digits."""
    rounded = f"{value:.{figures - 1}e}"
    after_point = figures - 1 - int(rounded.partition("e")[2])
    return f"{float(rounded):.{max(0, after_point)}f}"


LEAST_MINUTES = 59.95
"""Longer times are shown in minutes and seconds."""

TEN_MINUTES = 600.0

_SPANS = (
    (0.001, "ms", 1.0),
    (1.0, "s", LEAST_MINUTES),
    (60.0, "min", 7200.0),
    (3600.0, "h", 2 * 86400.0),
    (86400.0, "days", 2 * SECONDS_PER_YEAR),
    (SECONDS_PER_YEAR, "years", math.inf),
)
"""Seconds, name, and a bound in seconds on the upper end of an interval in this unit."""

LONGEST_TOLD = 999 * SECONDS_PER_YEAR
"""How much longer an interval reaches is of no use to anybody."""

LARGE_COUNT = 199.5
"""Nobody counts more minutes in minutes, or more hours in hours."""

LEAST_IN_SECONDS = 0.05
"""A shorter time would be shown as 0.0 s."""


def format_interval(low: float, high: float, *, to: str = " to ") -> str:
    """An interval of time, both ends in one unit and to the same place: "38 to 44 min", "9.1 to
    12.4 s", "12 to 34 s". If it crosses a minute or ends within ten, both ends are shown like times
    ("35 s to 2m 49s", "1m 04s to 1m 33s"). If the lower end is less than one of the upper end's
    unit, both are in the smaller unit ("22 to 192 h"), unless that makes a large count ("6.0 min to
    2.5 h", "40 min to over 999 years", "over 999 years").

    Args:
        low, high: seconds, `low` <= `high`.
        to: what stands between the ends.
    """
    cut = high > LONGEST_TOLD
    if cut and low > LONGEST_TOLD:
        return f"over {_end(LONGEST_TOLD)}"
    if cut:
        high, to = LONGEST_TOLD, f"{to}over "
    index = next((at for at, (_, _, most) in enumerate(_SPANS) if high < most), len(_SPANS) - 1)
    factor, unit, _ = _SPANS[index]
    if index > 0 and low < LEAST_IN_SECONDS:
        return f"{low * 1000.0:.0f} ms{to}{_end(high)}"
    if index > 1 and (low < LEAST_MINUTES or high < TEN_MINUTES):
        return f"{_end(low)}{to}{_end(high)}"
    if index > 1 and round(low / factor, 1) < 1.0:
        smaller, its_unit, _ = _SPANS[index - 1]
        if low / smaller >= 9.95 and high / smaller < LARGE_COUNT:
            return f"{low / smaller:.0f}{to}{high / smaller:.0f} {its_unit}"
        own, own_unit = max((f, name) for f, name, _ in _SPANS[1:] if f <= low)
        ends = ((low / own, own_unit), (high / factor, unit))
        return to.join(f"{end:.{1 if end < 9.95 else 0}f} {named}" for end, named in ends)
    low, high = low / factor, high / factor
    digits = 1 if not cut and (low < 9.95 or high < 19.95 or high - low < 3.0) else 0
    return f"{low:.{digits}f}{to}{high:.{digits}f} {unit}"


def _end(seconds: float) -> str:
    """One end of an interval: "7.2 s", "35 s", like a time from a minute on, and "12 years"."""
    if seconds >= 2 * SECONDS_PER_YEAR:
        return f"{seconds / SECONDS_PER_YEAR:.0f} years"
    if seconds >= 59.5:
        return format_seconds(seconds)
    return f"{seconds:.{1 if seconds < 9.95 else 0}f} s"


def format_usd(usd: float, *, figures: int = 3) -> str:
    """An amount of money, in cents from 1 USD or if they are exact, else with `figures` digits:
    "$12.50", "$0.50", "$0.0840". Digits in a column align."""
    if usd >= 9999.5:
        return f"${usd:,.0f}"
    if usd >= 1.0 - 0.5 * 10.0**-figures or usd == round(usd, 2):
        return f"${usd:.2f}"
    return f"${_digits(usd, figures)}"


def usd_decimals(amounts: Iterable[float | None]) -> int:
    """The number of decimals for all amounts of a column, in USD.

    Cents where all are above a dollar or exact cents; else three figures of the least one that is
    neither. So a column says no less of any of its amounts than `format_usd` does in a sentence.
    Unknown amounts do not count.
    """
    below = [usd for usd in amounts if usd is not None and 0.0 < usd < 1.0]
    least = min((usd for usd in below if usd != round(usd, CENTS)), default=math.nan)
    return CENTS if math.isnan(least) else len(format_usd(least).partition(".")[2])


def format_usd_to(usd: float, decimals: int) -> str:
    """An amount with so many decimals, in whole dollars from $10,000 on; "<$0.001" where none of
    its figures shows."""
    if usd >= 9999.5:
        return format_usd(usd)
    least = 10.0**-decimals
    return f"<${least:.{decimals}f}" if 0.0 < usd < least / 2.0 else f"${usd:.{decimals}f}"


CENTS = 2
"""Decimals of an amount from a dollar on."""


def format_probability(p: float | None) -> str:
    """A probability in whole per cent, never rounded to certainty."""
    if p is None:
        return "not known"
    if p >= 0.995:
        return "more than 99 %"
    return "less than 1 %" if p <= 0.005 else f"{100.0 * p:.0f} %"


def format_share(share: float) -> str:
    """A share, which may exceed 1, in whole per cent: "27 %"."""
    return f"{100.0 * share:.0f} %"


def format_bytes(size: float) -> str:
    """A size in decimal units to three digits: "48 GB", "2.1 TB"; beyond petabytes "12,000 PB"."""
    if size >= 999.5e15:
        return f"{size / 1e15:,.0f} PB"
    for factor, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor * 0.9995:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def format_number(value: float, *, figures: int = 3) -> str:
    """A number to `figures` significant digits, without an exponent: "3,000", "12.5"."""
    return f"{float(f'{value:.{figures}g}'):,.15g}"


def format_count(count: int, noun: str) -> str:
    """How many of something: "1 node", "2 nodes"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
