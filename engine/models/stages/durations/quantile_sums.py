"""Partial sums of the task times of many stages in closed form, without computing each time.

Task times are the quantile function at evenly spaced probabilities. That is linear between stored
quantiles, with an exponential tail in the last gap (`quantile_times`). Sums over such points are
arithmetic series and, in the tail, sums of logarithms: log ratios of Gamma functions.

In: quantiles of m stages, and ranks or limits. Out: sums and counts. Explained in
docs/models/sparkplan_rules_replay.md#many-stages-at-once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class QuantileSums:
    """The task times of m stages with more tasks than quantiles, before they are scaled to their
    mean.

    Args:
        values: (m, q) ascending quantiles; shorter rows repeat their last one.
        points: (m,) number of quantiles of each stage, at least two.
        tasks: (m,) number of tasks.
        tail: (m,) whether the last gap is an exponential tail.
        first: (m, q - 1) rank of the first task in each gap between quantiles.
        before: (m, q - 1) sum of the times before each gap.
    """

    values: FloatArray
    points: FloatArray
    tasks: FloatArray
    tail: BoolArray
    first: FloatArray
    before: FloatArray

    @classmethod
    def of(
        cls, values: FloatArray, points: IntArray, tasks: FloatArray, tail: BoolArray
    ) -> QuantileSums:
        """Computes `first` and `before`."""
        gap, last = np.arange(values.shape[1] - 1), (points - 2)[:, None]
        per_gap = tasks[:, None] / (points[:, None] - 1.0)
        first = np.where(gap <= last, np.ceil(per_gap * gap - 0.5), np.inf)
        begin, end = first[:, :-1], np.where(gap[1:] <= last, first[:, 1:], first[:, :-1])
        begin, end = (np.where(gap[1:] <= last, at, 0.0) for at in (begin, end))
        number = end - begin
        along = (end**2 - begin**2) / 2.0 / per_gap - number * gap[:-1]
        sums = number * values[:, :-2] + along * np.diff(values, axis=1)[:, :-1]
        before = np.concatenate((np.zeros((len(values), 1)), np.cumsum(sums, axis=1)), axis=1)
        return cls(values, points.astype(float), tasks, tail, first, before)

    def at(self, rank: FloatArray) -> FloatArray:
        """(m, p) task times at (m, p) ranks."""
        middle = (rank + 0.5) / self.tasks[:, None]
        where = middle * (self.points[:, None] - 1.0)
        gap = np.clip(where.astype(np.int64), 0, self.points[:, None].astype(np.int64) - 2)
        low, high = (np.take_along_axis(self.values, k, axis=1) for k in (gap, gap + 1))
        tail = self.tail[:, None] & (gap == self.points[:, None] - 2.0)
        part = where - gap
        deep = -np.log((1.0 - middle) * (self.points[:, None] - 1.0)) / self._depth[:, None]
        return np.asarray(low + (high - low) * np.where(tail, deep, part))

    def below(self, limit: FloatArray) -> FloatArray:
        """(m,) number of task times, without the longest, below (m,) limits."""
        number = (self.values < limit[:, None]).sum(axis=1)
        gap = np.clip(number - 1, 0, self.points.astype(np.int64) - 2)
        low, width = self._gap(gap)
        part = np.divide(limit - low, width, out=np.zeros_like(limit), where=width > 0.0)
        part = np.clip(part, 0.0, 1.0)
        at = (gap + part) / (self.points - 1.0)
        deep = 1.0 - np.exp(-part * self._depth) / (self.points - 1.0)
        at = np.where(self._in_tail(gap), deep, at)
        count = np.clip(np.ceil(at * self.tasks - 0.5), 0.0, self.tasks - 1.0)
        every = limit > self.values[:, -1]
        return np.where(number == 0, 0.0, np.where(every, self.tasks - 1.0, count))

    def sum_to(self, number: FloatArray) -> FloatArray:
        """(m,) sum of the (m,) shortest task times, at most all but the longest."""
        gap = (self.first <= number[:, None]).sum(axis=1) - 1
        rows = np.arange(len(gap))
        low, width = self._gap(gap)
        begin = self.first[rows, gap]
        some = number - begin
        per_gap = self.tasks / (self.points - 1.0)
        along = (number**2 - begin**2) / 2.0 / per_gap - some * gap
        in_tail = self._in_tail(gap)
        if in_tail.any():
            logs = some * np.log(per_gap) - _log_product(self.tasks, begin, number)
            along = np.where(in_tail, logs / self._depth, along)
        return np.asarray(self.before[rows, gap] + some * low + along * width)

    def _gap(self, gap: IntArray) -> tuple[FloatArray, FloatArray]:
        """(m,) lower end and width of the (m,) gaps."""
        rows = np.arange(len(gap))
        low = self.values[rows, gap]
        return low, self.values[rows, gap + 1] - low

    def _in_tail(self, gap: IntArray) -> BoolArray:
        return np.asarray(self.tail & (gap == self.points - 2))

    @property
    def _depth(self) -> FloatArray:
        """(m,) depth of the longest task in the tail: log of the last gap over half a task."""
        return np.log(2.0 * self.tasks / (self.points - 1.0))


def _log_product(tasks: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
    """(m,) sum of log(n - i - 1/2) over the tasks i from `begin` to before `end`."""
    gamma = math.lgamma
    pairs = zip((tasks - begin + 0.5).tolist(), (tasks - end + 0.5).tolist(), strict=True)
    return np.asarray(
        [gamma(upper) - gamma(lower) if upper > lower else 0.0 for upper, lower in pairs]
    )
