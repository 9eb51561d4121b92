"""Skew among tasks: selectivities become a distribution of task times (BOE section 6).

The selectivities alpha_m and alpha_r of a job's tasks are independent and normal. What is not given
in the paper (lambda, xi) are the moments of the larger of two normal variables; its Eq. 15 adds the
means of the two terms of a maximum, and is offered as printed beside the form that is used.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray
from engine.special_functions import ndtri

LAMBDA = 1.0 / math.sqrt(2.0 * math.pi)
"""lambda of Eq. 15 for terms of equal means: E[max(X, Y)] lies above them by lambda times the
standard deviation of X - Y."""

XI = (1.0 - 1.0 / math.pi) / 2.0
"""xi of Eq. 16 for terms of equal distribution: Var[max(X, Y)] over Var[X] + Var[Y]."""

LOWER_BOUND, UPPER_BOUND = 0.23, math.sqrt(2.0)
"""Constants of Eq. 18."""

STRETCH = 1.05
"""Normal scores at the points of `scores` are stretched by so much: their largest then lies where
the expected largest of as many normal variables does, within 20 %, too high after each power of
two and too low before the next."""


class Normal(NamedTuple):
    """A mean and a variance."""

    mean: float
    variance: float

    @property
    def deviation(self) -> float:
        return math.sqrt(self.variance)


def linear_time(*, fixed: float, per_selectivity: float, selectivity: Normal) -> Normal:
    """Eqs. 9 to 11 (map, a and b) and 12 to 13 (shuffle, a' and b'): t = a + b x alpha."""
    return Normal(
        fixed + per_selectivity * selectivity.mean, per_selectivity**2 * selectivity.variance
    )


def reduce_time(*, a: float, b: float, c: float, map_out: Normal, reduce_out: Normal) -> Normal:
    """Eq. 14, t = a x alpha_m + max(b x alpha_m, c x alpha_r), by the exact moments of the larger
    of two normal variables (Clark 1961); the variance of Eq. 16 for equal terms and a = 0.

    As the variances go to 0 this becomes the larger term, where Eq. 15 as printed gives their sum.
    Both summands hold alpha_m: Eq. 16 adds their variances alone, which with c = 0 is less than
    that of (a + b) x alpha_m. Cov(X, max(X, Y)) = Var X x P(X > Y) of independent normal X and Y.
    """
    first = Normal(b * map_out.mean, b**2 * map_out.variance)
    second = Normal(c * reduce_out.mean, c**2 * reduce_out.variance)
    larger = larger_of_two(first, second)
    together = 2.0 * a * b * map_out.variance * share_above(first, second)
    return Normal(
        a * map_out.mean + larger.mean, a**2 * map_out.variance + larger.variance + together
    )


def reduce_time_printed(
    *, a: float, b: float, c: float, map_out: Normal, reduce_out: Normal
) -> Normal:
    """Eqs. 15 and 16 as printed."""
    both = b**2 * map_out.variance + c**2 * reduce_out.variance
    mean = (a + b) * map_out.mean + c * reduce_out.mean + LAMBDA * math.sqrt(both)
    return Normal(mean, a**2 * map_out.variance + XI * both)


def larger_of_two(first: Normal, second: Normal) -> Normal:
    """Mean and variance of the larger of two independent normal variables (Clark 1961)."""
    spread = math.sqrt(first.variance + second.variance)
    if spread == 0.0:
        return Normal(max(first.mean, second.mean), 0.0)
    distance = (first.mean - second.mean) / spread
    density = math.exp(-0.5 * distance**2) / math.sqrt(2.0 * math.pi)
    below = share_above(first, second)
    mean = first.mean * below + second.mean * (1.0 - below) + spread * density
    squares = (
        (first.mean**2 + first.variance) * below
        + (second.mean**2 + second.variance) * (1.0 - below)
        + (first.mean + second.mean) * spread * density
    )
    return Normal(mean, max(0.0, squares - mean**2))


def share_above(first: Normal, second: Normal) -> float:
    """P(X > Y) of two independent normal variables; of two numbers 1, 0, or a half where they are
    equal."""
    spread, apart = math.sqrt(first.variance + second.variance), first.mean - second.mean
    if spread == 0.0:
        return 0.5 * (1.0 + (apart > 0.0) - (apart < 0.0))
    return 0.5 * math.erfc(-apart / spread / math.sqrt(2.0))


def gain_bounds(*, tasks: float, parallelism: float, deviation: float) -> tuple[float, float]:
    """Theorem 1 (Eqs. 17 and 19): lower and upper bound of what skew adds to a stage, in seconds.

    `tasks` is N: the text calls it the number of waves, but its proof runs N / Delta tasks on each
    of Delta tracks, so that it is the number of tasks, and N / Delta are the waves.
    """
    if parallelism < 1.0:
        raise ValueError(f"parallelism must be at least 1, not {parallelism}")
    track = math.sqrt(tasks / parallelism) * deviation * math.sqrt(math.log(parallelism))
    return LOWER_BOUND * track, UPPER_BOUND * track


@lru_cache(256)
def scores(n: int) -> FloatArray:
    """(n,) standard normal scores of a stage's tasks in launch order, the same for every stage.

    Dyadic points of the unit interval level by level (1/2; 3/4, 1/4; 7/8, 1/8, ...), the two
    outermost of a level first, the others evenly mixed. So the first of more tasks are those of
    fewer: more input never makes a stage end sooner by luck.
    """
    places: list[float] = []
    size = 1
    while len(places) < n:
        inner = [index for index in _bit_reversed(size) if 0 < index < size - 1]
        order = [0] if size == 1 else [size - 1, 0, *inner]
        places += [(2 * index + 1) / (2 * size) for index in order]
        size *= 2
    return np.asarray(STRETCH * ndtri(np.asarray(places[:n])))


def _bit_reversed(size: int) -> list[int]:
    """0 ... size - 1 (a power of two) with their bits in reverse: neighbours come far apart."""
    order = [0]
    while len(order) < size:
        order = [2 * index for index in order] + [2 * index + 1 for index in order]
    return order
