"""Where something that holds for small numbers no longer does, in few tries of what takes long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

HALVINGS = 10
"""How often `halved` halves: a doubling into steps of 0.0007."""

MAX_FAR_GUESSES = 2
"""After so many interpolated guesses in turn that left more than half, one is in the middle."""


class Tried(NamedTuple):
    """Whether a number satisfies a condition, and by how much it exceeds it: a logarithm that
    nowhere falls and crosses zero where the condition is no longer satisfied."""

    satisfied: bool
    log_excess: float


def halved(low: float, high: float) -> list[float]:
    """Numbers from `low` to `high` in equal steps of their logarithms, by repeated halving."""
    points = [low, high]
    for _ in range(HALVINGS):
        middles = [math.sqrt(a * b) for a, b in pairwise(points)]
        points = [*chain.from_iterable(zip(points, middles, strict=False)), high]
    return points


def last_satisfied(
    tried: Callable[[float], Tried], points: Sequence[float], below: Tried, above: Tried
) -> float:
    """The last of ascending points that is satisfied, if none is behind one that is not.

    Guesses go where a straight line through the excess at both ends crosses zero, so that a smooth
    excess takes about four tries, not as many as halving.

    Args:
        below, above: at the first point, which is satisfied, and at the last one, which is not.
    """
    first, last, far = 0, len(points) - 1, 0
    while last - first > 1:
        width, share = last - first, 0.5
        rise = above.log_excess - below.log_excess
        if far < MAX_FAR_GUESSES and 0.0 < rise < math.inf:
            share = min(1.0, max(0.0, -below.log_excess / rise))
        guess = min(max(first + int(share * width), first + 1), last - 1)
        found = tried(points[guess])
        if found.satisfied:
            first, below = guess, found
        else:
            last, above = guess, found
        far = far + 1 if last - first > width // 2 else 0
    return points[first]
