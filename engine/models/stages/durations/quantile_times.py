"""The times of any number of tasks, interpolated from the stored quantiles of a stage.

In: sorted quantiles, a number of tasks and a mean. Out: ascending times. Explained in
docs/models/sparkplan_rules_replay.md#task-times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.forecast import FloatArray

CACHED_GRIDS = 128
"""Cache size, in numbers of tasks: stages of one job often have the same number."""

ROUNDING = 1e-4
"""Relative tolerance between the mean of all times and that of their rounded values."""


def times_from_quantiles(
    values: FloatArray, n: int, mean: float, *, observed: int | None = None
) -> FloatArray:
    """(n,) ascending task times with the given mean, from sorted quantiles.

    The tail between 201 quantiles is coarse, so all times but the longest are scaled to give the
    mean. If there are fewer tasks than quantiles, or as many while the quantiles stand for more
    tasks, each time is the mean of an equal share of the quantiles.

    Args:
        observed: number of tasks of which these are quantiles; None for n.
    """
    if len(values) == n and not are_subsampled(values, mean):
        return values
    if len(values) == 1:
        return np.full(n, values[0])
    if n <= len(values):
        return _mean_of_shares(values, n, mean)
    values = _with_longest_of(values, n, observed)
    times = quantiles_at(values, _middles(n))
    times[-1] = values[-1]
    others_total = float(times[:-1].sum())
    factor = (mean * n - times[-1]) / others_total if others_total > 0.0 else 1.0
    times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    return np.asarray(times)


def are_subsampled(values: FloatArray, mean: float) -> bool:
    """Whether quantiles stand for more tasks than there are of them, by their mean: there the
    longest task has more weight than among all tasks."""
    return len(values) > 1 and abs(float(values.mean()) - mean) > ROUNDING * mean


def _mean_of_shares(values: FloatArray, n: int, mean: float) -> FloatArray:
    """(n,) times of fewer tasks than quantiles: the means of n equal shares of these, so that one
    task that takes most of the time still does. The longest share is reduced to give the right
    mean, since the largest quantile stands for more tasks than took so long."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    ends = np.arange(n + 1) * (len(values) / n)
    times = np.diff(np.interp(ends, np.arange(len(sums)), sums)) * (n / len(values))
    least = times[-2] if n > 1 else 0.0
    times[-1] = max(least, min(times[-1], mean * n - float(times[:-1].sum())))
    total = float(times.sum())
    times *= mean * n / total if total > 0.0 else 1.0
    return np.asarray(np.maximum.accumulate(times))


def _with_longest_of(values: FloatArray, n: int, observed: int | None) -> FloatArray:
    """The quantiles with the expected longest of n tasks in place of the longest of those seen."""
    if observed is None or observed <= n or len(values) < 2:
        return values
    tail = longest_share(np.asarray(float(n)), np.asarray(float(observed)), 1.0 / (len(values) - 1))
    return np.append(values[:-1], values[-2] + (values[-1] - values[-2]) * tail)


def longest_share(n: FloatArray, observed: FloatArray, last_gap: FloatArray | float) -> FloatArray:
    """(n,) position of the longest of n tasks in the exponential tail, where 1 is the longest of
    all tasks seen: a few tasks seldom include the longest of thousands."""
    return np.asarray(np.log(2.0 * n * last_gap) / np.log(2.0 * np.maximum(n, observed) * last_gap))


def quantiles_at(values: FloatArray, at: FloatArray) -> FloatArray:
    """(n,) quantiles at the ascending probabilities `at`, interpolated linearly between stored
    ones. In the last gap an exponential tail reaches the longest time at the last probability. A
    straight line there would make as many tasks nearly as long as the longest as nearly as short as
    the start of the gap.
    """
    if len(values) == 1:
        return np.full(len(at), values[0])
    quantiles = np.interp(at, _evenly(len(values)), values)
    last = 1.0 - 1.0 / (len(values) - 1)
    tail = at > last
    if tail.sum() > 1:
        depth = np.log((1.0 - last) / (1.0 - at[tail]))
        quantiles[tail] = values[-2] + (values[-1] - values[-2]) * depth / depth[-1]
    return np.asarray(quantiles)


@lru_cache(maxsize=CACHED_GRIDS)
def _evenly(points: int) -> FloatArray:
    """(p,) evenly spaced probabilities of `points` stored quantiles, from 0 to 1."""
    probabilities = np.linspace(0.0, 1.0, points)
    probabilities.flags.writeable = False
    return probabilities


@lru_cache(maxsize=CACHED_GRIDS)
def _middles(n: int) -> FloatArray:
    """(n,) probabilities of n tasks: the midpoints of n equal parts of [0, 1]."""
    probabilities = (np.arange(n) + 0.5) / n
    probabilities.flags.writeable = False
    return probabilities
