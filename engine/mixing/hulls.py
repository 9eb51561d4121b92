"""Vertices of the feasible polytope of a window, where a quasi-concave bound is lowest.

In the shares v of the types and z = 1 / C the price per capacity, the work and the time are linear.
The goal cuts the polytope of (types x ends of the window) by one line. The vertices are a type at
an end of the window, or a point where an edge crosses that line: between two neighbours of the
lower left convex hull at one end, or between the two ends with one type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Vertices:
    """The vertices of n partial compositions: (c, n) arrays.

    Args:
        price: USD per hour and capacity.
        other: work, or time.
        capacity: lower bound on the capacity there; inf where the vertex is infeasible.
    """

    price: FloatArray
    other: FloatArray
    capacity: FloatArray


@dataclass(frozen=True, eq=False)
class FixedPart:
    """Sums over the fixed members of n partial compositions, (n,) each: USD per hour, capacity, and
    work or time."""

    price: FloatArray
    capacity: FloatArray
    other: FloatArray


def vertices_of(
    fixed: FixedPart,
    ends: tuple[FloatArray, FloatArray],
    price: FloatArray,
    other: FloatArray,
    goal_line: Callable[[FloatArray, FloatArray], FloatArray],
) -> Vertices:
    """The vertices of what is left to n partial compositions.

    Args:
        ends: the least and the largest capacity.
        price, other: (h, n) of each type of the hull's chain, cheapest first.
        goal_line: from price and other to a value above 0 where the goal is broken.
    """
    capacity = np.stack(ends)[:, None]
    rest = np.maximum(capacity - fixed.capacity, 0.0)
    a = (fixed.price + rest * price) / capacity
    b = (fixed.other + rest * np.where(rest > 0.0, other, 0.0)) / capacity
    excess = goal_line(a, b)
    inside = excess <= 0.0

    def crossings(start: VertexIndex, end: VertexIndex) -> Vertices:
        """Where the edges between vertices cross the line."""
        weight = excess[start] / (excess[start] - excess[end])
        crosses = inside[start] != inside[end]
        return Vertices(
            a[start] + weight * (a[end] - a[start]),
            b[start] + weight * (b[end] - b[start]),
            np.where(crosses, capacity[start[:1]], np.inf),
        )

    every = slice(None)
    parts = (
        Vertices(a, b, np.where(inside, capacity, np.inf)),
        crossings((every, slice(None, -1)), (every, slice(1, None))),
        crossings((slice(None, 1),), (slice(1, None),)),
    )
    return Vertices(
        _flattened([part.price for part in parts]),
        _flattened([part.other for part in parts]),
        _flattened([part.capacity for part in parts]),
    )


def _flattened(parts: Sequence[FloatArray]) -> FloatArray:
    """(c, n) from several arrays of (ends, chain, n)."""
    return np.concatenate(
        [part.reshape(math.prod(part.shape[:2]), part.shape[2]) for part in parts]
    )


VertexIndex = tuple[slice, ...]
"""An index into (ends, chain, compositions)."""


def hull_chains(price: FloatArray, other: FloatArray) -> IntArray:
    """(j, h) rows on the lower left convex hull of the points (price_u, other_uj), cheapest first;
    shorter chains repeat their last row.

    All columns at once, from each point to the one that lies lowest as seen from it (Jarvis).
    """
    columns = other.shape[1]
    order = np.argsort(price, kind="stable")
    ordered = other[order]
    candidate = np.isfinite(ordered)
    candidate[1:] &= ordered[1:] < np.minimum.accumulate(ordered, axis=0)[:-1]
    used = candidate.any(axis=1)
    order, candidate = order[used], candidate[used]
    if not len(order):
        return np.zeros((columns, 1), dtype=np.int64)
    x, y = price[order], other[order]
    all_columns, index = np.arange(columns), np.arange(len(order))[:, None]
    vertex = candidate.argmax(axis=0)
    chain = [vertex]
    while True:
        ahead = candidate & (index > vertex)
        more = ahead.any(axis=0)
        if not more.any():
            break
        # Of equal prices the first is the one with the larger value: straight down from there.
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(ahead, (y - y[vertex, all_columns]) / (x[:, None] - x[vertex]), np.inf)
        vertex = np.where(more, slope.argmin(axis=0), vertex)
        chain.append(vertex)
    return np.asarray(order[np.stack(chain, axis=1)])
