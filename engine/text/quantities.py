"""Text becomes bytes, seconds, US dollars and shares here and nowhere else.

Decimal prefixes (kB, MB, GB, TB, PB) are powers of 1000, binary ones (KiB ... PiB) of 1024.
"""

from __future__ import annotations

import math
import re

from engine.errors import BadInput
from engine.units import GIB, KIB, MIB

_DECIMAL = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"k": KIB, "m": MIB, "g": GIB, "t": 1024.0**4, "p": 1024.0**5}
_SECONDS = {
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
}
GROUPED = r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
"""A number with grouped thousands, unlike "0,500" and "1234,567", whose commas are decimal."""
_NUMBER = rf"(?:{GROUPED}|(?:\d+(?:_\d{{3}})*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)"
_SIZE = re.compile(rf"^({_NUMBER})\s*([kmgtp]?)(i?)(b?)$", re.IGNORECASE)
_DURATION_PART = re.compile(rf"({_NUMBER})\s*([a-z]*)\s*", re.IGNORECASE)
_CLOCK = re.compile(r"^(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)$")
_TWO_PART_CLOCK = re.compile(r"^(\d+):([0-5]\d)$")
_MONEY = re.compile(rf"^(?:\$|usd\s*)?\s*({_NUMBER})\s*(?:\$|usd)?$", re.IGNORECASE)
_OTHER_MONEY = re.compile(r"[\u20ac\u00a3\u00a5\u20b9]|\b(?:eur|gbp|chf|jpy)\b", re.IGNORECASE)
_COMMA_DECIMAL = re.compile(r"^(\D*)(\d{1,3}(?:\.\d{3})+|\d+),(\d+)(\D*)$")
_TIMES = re.compile(rf"^({_NUMBER})\s*[x×]$", re.IGNORECASE)
_NEGATIVE = re.compile(r"^\s*(?:\$|usd)?\s*[-\u2212]\s*\$?\s*\.?\d", re.IGNORECASE)


def _number(text: str) -> float:
    return float(text.replace("_", "").replace(",", ""))


def _positive(value: float, text: str, what: str, *, where: str | None) -> float:
    if math.isinf(value):
        raise BadInput(f"{text!r} is too large for {what}", where=where, remedy="check the unit")
    if not value > 0:
        raise BadInput(f"{what} must be more than zero, not {text!r}", where=where)
    return value


def with_point(text: str) -> str | None:
    """Text with a decimal comma ("312,4", "1.312,4 s") with a point instead; None for any other."""
    match = _COMMA_DECIMAL.match(text.strip())
    if not match:
        return None
    before, whole, fraction, after = match.groups()
    return f"{before}{whole.replace('.', '')}.{fraction}{after}"


def _unreadable(text: str, what: str, *, where: str | None, remedy: str) -> BadInput:
    """The error for text that is no quantity, or one below zero."""
    if _NEGATIVE.match(text):
        return BadInput(f"{what} must be more than zero, not {text!r}", where=where)
    pointed = None if _OTHER_MONEY.search(text) else with_point(text)
    advice = remedy if pointed is None else f"write it with a point: {pointed}"
    return BadInput(f"{text!r} is not {what}", where=where, remedy=advice)


def parse_bytes(
    text: str, *, where: str | None = None, remedy: str = "write it like 48GB, 1.5TiB or 300MB"
) -> float:
    """Bytes from a size with a unit ("48GB", "1.5 TiB", "300 MB"); a bare number is bytes.

    Args:
        remedy: how to write what is no size.

    Raises:
        BadInput: for anything else, zero and negative sizes.
    """
    match = _SIZE.match(text.strip())
    if not match:
        raise _unreadable(text, "a size", where=where, remedy=remedy)
    prefix = match[2].lower()
    factor = _BINARY[prefix] if match[3] and prefix else _DECIMAL[prefix]
    return _positive(_number(match[1]) * factor, text, "a size", where=where)


def parse_memory_gib(text: str, *, where: str | None = None) -> float:
    """GiB from memory as Spark writes it ("8g", "512m", "16GiB"): always powers of 1024.

    A bare number is MiB, as in `spark.executor.memory`.

    Raises:
        BadInput: for anything else, zero and negative amounts.
    """
    match = _SIZE.match(text.strip())
    if not match:
        remedy = "write it like 8g or 512m"
        raise _unreadable(text, "an amount of memory", where=where, remedy=remedy)
    prefix = match[2].lower()
    bare = 1.0 if match[4] else MIB
    factor = _BINARY[prefix] if prefix else bare
    return _positive(_number(match[1]) * factor / GIB, text, "memory", where=where)


def has_size_unit(text: str) -> bool:
    """Whether a size has a unit: "48GB" does, "48" does not."""
    match = _SIZE.match(text.strip())
    return bool(match and (match[2] or match[4]))


def parse_times(text: str, *, where: str | None = None) -> float | None:
    """The factor in "3x" (times the largest run); None for a text of another form.

    Raises:
        BadInput: for a factor of zero.
    """
    match = _TIMES.match(text.strip())
    if not match:
        return None
    return _positive(_number(match[1]), text, "a factor", where=where)


MOST_TIMES = 1e6
"""Predictions for inputs further than this factor from the largest run are meaningless."""


def check_times(
    times: float,
    text: str | None = None,
    *,
    where: str | None = None,
    remedy: str = "check the unit",
) -> None:
    """Refuses an input too far from the largest run for anything to be known about it.

    Args:
        times: the input relative to that of the largest run.
        text: the input as written, if it was.

    Raises:
        BadInput: for a factor above `MOST_TIMES` or below its inverse.
    """
    if not 1.0 / MOST_TIMES <= times <= MOST_TIMES:
        shown = f"{times:.3g}x" if text is None else text
        bound = "less than 1/" if times < 1.0 else "more than "
        raise BadInput(
            f"{shown!r} is {bound}{MOST_TIMES:,.0f} times the largest run",
            where=where,
            remedy=remedy,
        )


def parse_seconds(text: str, *, where: str | None = None) -> float:
    """Seconds from a duration: "45m", "1h 30m", "1:30:00" (h:m:s), "90s"; a bare number is seconds.

    Raises:
        BadInput: for anything else, zero and negative durations; also for "15:00", which may mean
            a quarter of an hour or fifteen hours.
    """
    stripped = text.strip()
    clock = _CLOCK.match(stripped)
    if clock:
        total = int(clock[1]) * 3600.0 + int(clock[2]) * 60.0 + float(clock[3])
        return _positive(total, text, "a duration", where=where)
    if _TWO_PART_CLOCK.match(stripped):
        raise _ambiguous(stripped, where=where)
    total, position, last = 0.0, 0, math.inf
    while position < len(stripped):
        part = _DURATION_PART.match(stripped, position)
        unit = _SECONDS.get((part[2] or "s").lower()) if part else None
        bare = part is not None and not part[2]
        if not part or unit is None or unit >= last or (bare and position > 0):
            total = -1.0
            break
        total, position, last = total + _number(part[1]) * unit, part.end(), unit
    if total < 0 or not stripped:
        remedy = "write how long, like 45m, 1h30m or 90s"
        raise _unreadable(text, "a duration", where=where, remedy=remedy)
    return _positive(total, text, "a duration", where=where)


def _ambiguous(text: str, *, where: str | None) -> BadInput:
    """The error for "15:30", with how to write either of its meanings."""
    head, tail = (int(part) for part in text.split(":"))
    minutes = f"{head}m{tail}s" if tail else f"{head}m"
    hours = f"{head}h{tail}m" if tail else f"{head}h"
    # h:mm:ss takes no more than 59 minutes, so "90:00" has no such spelling of its minutes.
    spelt = f", or 0:{text.zfill(5)} (h:mm:ss)" if head < 60 else ""
    return BadInput(
        f"{text!r} is ambiguous: minutes and seconds, or hours and minutes",
        where=where,
        remedy=f"write {minutes} or {hours}{spelt}",
    )


def parse_usd(text: str, *, where: str | None = None) -> float:
    """US dollars from "$12.50", "12.5" or "12.50 USD".

    Raises:
        BadInput: for anything else, zero and negative amounts.
    """
    match = _MONEY.match(text.strip())
    if not match:
        remedy = "write it like $12.50"
        if _OTHER_MONEY.search(text):
            remedy = f"convert it to US dollars, and {remedy}"
        raise _unreadable(text, "an amount of money", where=where, remedy=remedy)
    return _positive(_number(match[1]), text, "an amount of money", where=where)


def parse_fraction(text: str, *, where: str | None = None, ends: bool = False) -> float:
    """A share between 0 and 1 from "90%", "90" or "0.9"; 0 and 1 themselves only with `ends`.

    Raises:
        BadInput: for anything else.
    """
    stripped = text.strip()
    try:
        value = float(stripped.removesuffix("%"))
    except ValueError:
        raise BadInput(
            f"{text!r} is not a share", where=where, remedy="write it like 90% or 0.9"
        ) from None
    if stripped.endswith("%") or value > 1.0:
        value /= 100.0
    if not (0.0 < value < 1.0 or (ends and value in (0.0, 1.0))):
        raise BadInput(f"a share lies between 0 and 100 %, not {text!r}", where=where)
    return value


def parse_confidence(text: str) -> float:
    """A confidence from "90%", "90" or "0.9".

    A bare number from 1 to below 50 is refused: nobody asks for 2 % confidence, and "2" may be a
    slip for 0.2 or 20. With its sign, "2%", it is accepted.

    Raises:
        BadInput: for such a number, for text that is no number, for 0 or 100 %, and for more than
            `MOST_CONFIDENCE`.
    """
    stripped = "".join(text.split())
    try:
        value = float(stripped.removesuffix("%"))
    except ValueError:
        value = math.nan
    percent = stripped.endswith("%") or value >= LEAST_BARE_PERCENT
    share = value / 100.0 if percent else value
    if not 0.0 < share < 1.0:
        raise BadInput(
            f"{text!r} is not a confidence",
            remedy="write a share between 0 and 1 (0.9), a percentage (90%), or a bare number "
            f"from {LEAST_BARE_PERCENT:g} to below 100 (90)",
        )
    if share > MOST_CONFIDENCE:
        most = f"{100.0 * MOST_CONFIDENCE:.8g}%"
        raise BadInput(
            f"at a confidence of {text!r} intervals may be wider than numbers can be",
            remedy=f"give at most {most}",
        )
    return share


LEAST_BARE_PERCENT = 50.0
"""The least confidence that is read as a percentage without a sign."""

MOST_CONFIDENCE = 0.999999
"""With fat tails, intervals of a higher confidence may be wider than numbers can be."""
