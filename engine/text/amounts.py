"""Amounts of money in one column: the same number of decimals for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from engine.units import format_usd

CENTS = 2
"""Decimals of an amount from a dollar on."""


def usd_decimals(amounts: Iterable[float | None]) -> int:
    """The number of decimals for all amounts of a column, in USD.

    Cents where all are above a dollar; else as many as give the least amount two figures, or three
    where only these tell apart two amounts that `format_usd` does. Unknown amounts do not count.
    """
    known = sorted({usd for usd in amounts if usd is not None and 0.0 < usd < math.inf})
    if not known or known[0] >= 0.9995:
        return CENTS
    figures_before = -math.floor(math.log10(known[0]))
    two_figures = max(CENTS, figures_before + 1)
    apart = all(
        f"{one:.{two_figures}f}" != f"{other:.{two_figures}f}"
        for one, other in pairwise(known)
        if format_usd(one) != format_usd(other)
    )
    return two_figures if apart else max(CENTS, figures_before + 2)


def format_usd_to(usd: float, decimals: int) -> str:
    """An amount with so many decimals, in whole dollars from $10,000 on; "<$0.001" where none of
    its figures shows."""
    if usd >= 9999.5:
        return format_usd(usd)
    least = 10.0**-decimals
    return f"<${least:.{decimals}f}" if 0.0 < usd < least / 2.0 else f"${usd:.{decimals}f}"
