"""Corners of what a window leaves of all compositions: where a quasi-concave bound is lowest.

In the shares v of the types and z = 1 / C the price per capacity, the work and the time are linear,
and the goal leaves the part of (types x ends of the window) below one line. Its corners are a type
at an end of the window, or a point where that line is crossed: between two neighbours of the lower
left hull at one end, or between the two ends with one type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Corners:
    """All corners of each of n compositions: (c, n) arrays.

    Args:
        price: USD per hour and capacity; other: work, or time.
        size: no capacity there is smaller; inf where the corner is outside.
    """

    price: FloatArray
    other: FloatArray
    size: FloatArray


@dataclass(frozen=True, eq=False)
class Fixed:
    """What is fixed of n compositions: (n,) each, USD per hour, capacity and the other sum."""

    price: FloatArray
    capacity: FloatArray
    other: FloatArray


def corners(
    fixed: Fixed,
    ends: tuple[FloatArray, FloatArray],
    price: FloatArray,
    other: FloatArray,
    over: Callable[[FloatArray, FloatArray], FloatArray],
) -> Corners:
    """The corners of what is left to n compositions.

    Args:
        ends: the least and the largest capacity.
        price, other: (h, n) of each type of the hull's chain, cheapest first.
        over: from the price and the other one, the line: above 0 what the goal rules out.
    """
    size = np.stack(ends)[:, None]
    rest = np.maximum(size - fixed.capacity, 0.0)
    a = (fixed.price + rest * price) / size
    b = (fixed.other + rest * np.where(rest > 0.0, other, 0.0)) / size
    beyond = over(a, b)
    inside = beyond <= 0.0

    def crossed(here: Where, there: Where) -> Corners:
        """Where the ways from places to other ones cross the line."""
        part = beyond[here] / (beyond[here] - beyond[there])
        crosses = inside[here] != inside[there]
        return Corners(
            a[here] + part * (a[there] - a[here]),
            b[here] + part * (b[there] - b[here]),
            np.where(crosses, size[here[:1]], np.inf),
        )

    every = slice(None)
    found = (
        Corners(a, b, np.where(inside, size, np.inf)),
        crossed((every, slice(None, -1)), (every, slice(1, None))),
        crossed((slice(None, 1),), (slice(1, None),)),
    )
    return Corners(
        _listed([one.price for one in found]),
        _listed([one.other for one in found]),
        _listed([one.size for one in found]),
    )


def _listed(parts: Sequence[FloatArray]) -> FloatArray:
    """(c, n) of several (ends, chain, n)."""
    return np.concatenate(
        [part.reshape(math.prod(part.shape[:2]), part.shape[2]) for part in parts]
    )


Where = tuple[slice, ...]
"""Places among (ends, chain, compositions)."""


def hull_chains(price: FloatArray, other: FloatArray) -> IntArray:
    """(j, h) rows on the lower left convex hull of the points (price_u, other_uj), cheapest first;
    shorter chains repeat their last row.

    All columns at once, from each point to the one that lies lowest as seen from it (Jarvis).
    """
    columns = other.shape[1]
    order = np.argsort(price, kind="stable")
    ordered = other[order]
    falls = np.isfinite(ordered)
    falls[1:] &= ordered[1:] < np.minimum.accumulate(ordered, axis=0)[:-1]
    some = falls.any(axis=1)
    order, falls = order[some], falls[some]
    if not len(order):
        return np.zeros((columns, 1), dtype=np.int64)
    x, y = price[order], other[order]
    every, index = np.arange(columns), np.arange(len(order))[:, None]
    here = falls.argmax(axis=0)
    chain = [here]
    while True:
        ahead = falls & (index > here)
        more = ahead.any(axis=0)
        if not more.any():
            break
        # Of equal prices the first is the one with the larger value: straight down from there.
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(ahead, (y - y[here, every]) / (x[:, None] - x[here]), np.inf)
        here = np.where(more, slope.argmin(axis=0), here)
        chain.append(here)
    return np.asarray(order[np.stack(chain, axis=1)])
