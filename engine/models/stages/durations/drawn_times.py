"""From the stored quantiles of a stage's task times to the times of any number of tasks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.forecast import FloatArray
from engine.scheduling.waves import outline_of

KEPT_GRIDS = 128
"""Numbers of tasks whose probabilities are kept: stages of one job often have the same number."""

ROUNDING = 1e-4
"""By so much, relatively, the mean of all times may differ from that of their rounded values."""


def drawn(values: FloatArray, n: int, mean: float, *, seen: int | None = None) -> FloatArray:
    """(n,) times in ascending order from sorted quantile points, with the given mean.

    Between 201 points the tail is coarse: all but the longest are scaled so that the sum is
    right. Fewer times than points are those of tasks put together, and so are as many where the
    points stand for more tasks.

    Args:
        seen: tasks of which these are quantiles; None for n.
    """
    if len(values) == n and not stand_for_more(values, mean):
        return values
    if len(values) == 1:
        return np.full(n, values[0])
    if n <= len(values):
        return _put_together(values, n, mean)
    values = _as_long_as(values, n, seen)
    times = quantiles_at(values, _middles(n))
    times[-1] = values[-1]
    rest = float(times[:-1].sum())
    factor = (mean * n - times[-1]) / rest if rest > 0.0 else 1.0
    times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    return np.asarray(times)


def stand_for_more(values: FloatArray, mean: float) -> bool:
    """Whether quantile points are not the times of as many tasks: the longest has the weight of a
    point among them, which is more than that of a task."""
    return len(values) > 1 and abs(float(values.mean()) - mean) > ROUNDING * mean


def _put_together(values: FloatArray, n: int, mean: float) -> FloatArray:
    """(n,) times of fewer tasks than points: the means of as many equal shares of them, so that a
    task which takes most of the time does so still. What the points have too much stands for more
    tasks than took so long, and is the longest share's."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    ends = np.arange(n + 1) * (len(values) / n)
    times = np.diff(np.interp(ends, np.arange(len(sums)), sums)) * (n / len(values))
    least = times[-2] if n > 1 else 0.0
    times[-1] = max(least, min(times[-1], mean * n - float(times[:-1].sum())))
    total = float(times.sum())
    times *= mean * n / total if total > 0.0 else 1.0
    return np.asarray(np.maximum.accumulate(times))


def _as_long_as(values: FloatArray, n: int, seen: int | None) -> FloatArray:
    """The quantile points with the longest of n tasks in place of the longest of those seen."""
    if seen is None or seen <= n or len(values) < 2:
        return values
    tail = longest_share(np.asarray(float(n)), np.asarray(float(seen)), 1.0 / (len(values) - 1))
    return np.append(values[:-1], values[-2] + (values[-1] - values[-2]) * tail)


def longest_share(n: FloatArray, seen: FloatArray, last_gap: FloatArray | float) -> FloatArray:
    """(n,) how far into the exponential tail the longest of n tasks lies, where 1 is the longest of
    all that were seen: of tasks put together the longest is no longer the one of thousands."""
    return np.asarray(np.log(2.0 * n * last_gap) / np.log(2.0 * np.maximum(n, seen) * last_gap))


def drawn_outline(
    values: FloatArray, n: int, mean: float, *, seen: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """(p,) a few of the n times that `drawn` would give, and how many tasks each stands for."""
    at, counts = outline_of(n)
    values = _as_long_as(values, n, seen)
    times = quantiles_at(values, at)
    times[-1] = values[-1]
    rest = float(times[:-1] @ counts[:-1])
    factor = (mean * n - times[-1] * counts[-1]) / rest if rest > 0.0 else 1.0
    times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    return times, counts


def quantiles_at(values: FloatArray, at: FloatArray) -> FloatArray:
    """(n,) quantiles at ascending probabilities `at` between stored ones: straight lines, and in
    the last gap an exponential tail that reaches the longest at the last probability. A straight
    line there would make as many tasks nearly as long as the longest as nearly as short as the
    gap's start.
    """
    if len(values) == 1:
        return np.full(len(at), values[0])
    found = np.interp(at, _evenly(len(values)), values)
    last = 1.0 - 1.0 / (len(values) - 1)
    tail = at > last
    if tail.sum() > 1:
        depth = np.log((1.0 - last) / (1.0 - at[tail]))
        found[tail] = values[-2] + (values[-1] - values[-2]) * depth / depth[-1]
    return np.asarray(found)


@lru_cache(maxsize=KEPT_GRIDS)
def _evenly(points: int) -> FloatArray:
    """(p,) probabilities of so many stored quantiles."""
    found = np.linspace(0.0, 1.0, points)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=KEPT_GRIDS)
def _middles(n: int) -> FloatArray:
    """(n,) probabilities of so many tasks."""
    found = (np.arange(n) + 0.5) / n
    found.flags.writeable = False
    return found
