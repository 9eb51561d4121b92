"""Amounts of money in one column: the same number of decimals for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from engine.units import format_usd

CENTS = 2
"""Decimals of an amount from a dollar on."""


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
