"""Numbers as short text for axis ticks and sliders: durations, money, sizes, counts, shares.

Texts that a slider shows can be typed back (`tui.format` is for sentences and tables, where three
figures and unknown values count). No dependency on the engine.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Literal

Kind = Literal["number", "count", "time", "money", "bytes", "share"]
"""Quantity of a number: `time` in seconds, `money` in US dollars, `share` between 0 and 1."""

_TIME_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"))
_THOUSANDS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_EXACT_BELOW = 10_000.0


def shortest(value: float, digits: int = 4) -> str:
    """`value` with at most `digits` significant digits, no exponent and no trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def all_digits(value: float) -> str:
    """Every digit, without an exponent."""
    return f"{Decimal(repr(value)):f}"


def fewest_digits(value: float) -> str:
    """The shortest decimal text that reads back as the same number."""
    return f"{value:g}" if float(f"{value:g}") == value else all_digits(value)


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """`value` in the largest unit of `units` that leaves it at 1 or more in four digits."""
    for size, name in units:
        if abs(value) >= size * (1 - 5e-5):
            return shortest(value / size) + name
    return shortest(value)


def time_text(seconds: float) -> str:
    """Seconds in the two largest units that matter: "30m", "1h 05m", "2d 06h", "0.5s", "48.3s"."""
    if seconds < 0:
        return "-" + time_text(-seconds)
    if seconds < 59.95 and seconds != round(seconds):
        return shortest(seconds, 2 if seconds < 10 else 3) + "s"
    left = float(round(seconds))
    parts: list[str] = []
    for size, name in _TIME_UNITS:
        count = int(left // size)
        left -= count * size
        if count:
            parts.append(f"{count:02d}{name}" if parts else f"{count}{name}")
        elif parts:
            break
        if len(parts) == 2:
            break
    return " ".join(parts) or "0s"


def money_text(usd: float, *, cents: bool | None = None) -> str:
    """US dollars: "$12", "$7.90", "$0.246", "$12.5k"; `cents` forces or forbids two decimals below
    $10k. Below a dollar it has three figures, so that a typed budget is shown as typed."""
    sign, amount = ("-", -usd) if usd < 0 else ("", usd)
    if amount >= _EXACT_BELOW:
        return f"{sign}${_scaled(amount, _THOUSANDS)}"
    if cents is None and 0 < amount < 0.9995:
        return f"{sign}${max(shortest(amount, 3), f'{amount:.2f}', key=len)}"
    if cents is None:
        cents = abs(amount - round(amount)) > 1e-9
    if cents and 0 < amount < 0.0995:
        return f"{sign}${shortest(amount, 2)}"
    return f"{sign}${amount:.2f}" if cents else f"{sign}${amount:.0f}"


def number_text(value: float) -> str:
    """A plain number: exact below ten thousand, then "12k", "1.5M"."""
    return shortest(value) if abs(value) < _EXACT_BELOW else _scaled(value, _THOUSANDS)


def number_of(text: str) -> float | None:
    """The inverse of `number_text` for abbreviated numbers ("12k", "1.5M"); None for anything
    else."""
    digits, ending = text.strip()[:-1].strip(), text.strip()[-1:]
    sizes = {name: size for size, name in _THOUSANDS}
    try:
        return float(digits) * sizes[ending] if ending in sizes else None
    except ValueError:
        return None


def bytes_text(value: float) -> str:
    """Bytes in decimal units: "500 GB", "2.1 TB"."""
    text = _scaled(value, _BYTES) if value else "0B"
    digits = text.rstrip("kMGTPB")
    return f"{digits} {text[len(digits) :]}"


def text_of(value: float, kind: Kind) -> str:
    """One number of `kind`, on its own."""
    if kind == "time":
        return time_text(value)
    if kind == "money":
        return money_text(value)
    if kind == "bytes":
        return bytes_text(value)
    if kind == "share":
        return f"{shortest(value * 100)}%"
    return number_text(value)


def tick_texts(values: tuple[float, ...], kind: Kind) -> tuple[str, ...]:
    """The labels of one axis in one format: cents on all amounts or on none."""
    if kind != "money":
        return tuple(text_of(value, kind) for value in values)
    cents = any(abs(value - round(value)) > 1e-9 for value in values if abs(value) < _EXACT_BELOW)
    return tuple(money_text(value, cents=cents) for value in values)
