"""Corners of what a window leaves of all compositions: where a quasi-concave bound is lowest.

In the shares v of the types and z = 1 / C the price per capacity, the work and the time are linear,
and the goal leaves the part of (types x ends of the window) below one line. Its corners are a type
at an end of the window, or a point where that line is crossed: between two neighbours of the lower
left hull at one end, or between the two ends with one type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Corner:
    """One corner of each of n windows: (n,) arrays.

    Args:
        price: USD per hour and capacity; other: work, or time.
        size: no capacity there is smaller; inf where the corner is outside.
    """

    price: FloatArray
    other: FloatArray
    size: FloatArray


@dataclass(frozen=True, eq=False)
class _Place:
    """A type at an end of the window; `over` is above 0 beyond the line."""

    price: FloatArray
    other: FloatArray
    over: FloatArray

    def inside(self, size: FloatArray) -> Corner:
        return Corner(self.price, self.other, np.where(self.over <= 0.0, size, np.inf))

    def towards(self, there: _Place, size: FloatArray) -> Corner:
        """Where the way to another place crosses the line."""
        crosses = (self.over <= 0.0) != (there.over <= 0.0)
        part = self.over / (self.over - there.over)
        return Corner(
            self.price + part * (there.price - self.price),
            self.other + part * (there.other - self.other),
            np.where(crosses, size, np.inf),
        )


@dataclass(frozen=True, eq=False)
class Fixed:
    """What is fixed of n compositions: (n,) each, USD per hour, capacity and the other sum."""

    price: FloatArray
    capacity: FloatArray
    other: FloatArray


def corners(
    fixed: Fixed,
    ends: tuple[FloatArray, FloatArray],
    members: Iterator[tuple[FloatArray, FloatArray]],
    over: Callable[[FloatArray, FloatArray], FloatArray],
) -> Iterator[Corner]:
    """All corners, of every composition one at a time.

    Args:
        ends: the least and the largest capacity.
        members: (price, other) of each type of the hull's chain, cheapest first.
        over: from the price and the other one, the line: above 0 what the goal rules out.
    """
    rests = [np.maximum(size - fixed.capacity, 0.0) for size in ends]
    before: list[_Place] = []
    for price, other in members:
        here: list[_Place] = []
        for end, (size, rest) in enumerate(zip(ends, rests, strict=True)):
            a = (fixed.price + rest * price) / size
            b = (fixed.other + rest * np.where(rest > 0.0, other, 0.0)) / size
            here.append(_Place(a, b, over(a, b)))
            yield here[end].inside(size)
            if before:
                yield before[end].towards(here[end], size)
        yield here[0].towards(here[1], ends[0])
        before = here


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
