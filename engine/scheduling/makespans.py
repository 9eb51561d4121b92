"""The makespans of stages on idle slots in closed form, as arrays over the stages.

A stage is given by the outline of its task times: some of them in ascending order, and the number
of tasks that each stands for. In: outlines. Out: sum, longest and expected makespan on any number
of slots under any contention. Explained in
docs/models/sparkplan_rules_replay.md#waves-and-order-statistics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from engine.forecast import FloatArray

KEPT_OUTLINES = 1024
"""Cache size, in numbers of tasks: stages of one job often have the same number."""

EVERY_TASK = 256
"""Up to so many tasks an outline has every task; beyond, the `probabilities`."""

BODY, TAIL_STEPS = 160, 4
"""Evenly spaced points of the distribution of many task times, and points per halving of the tail
beyond the last of them: the longest tasks decide when a stage ends."""

IN_STEP = 0.2
"""If the sum of a slot's task times has a smaller standard deviation than this share of a task, all
slots end their waves together: a partial wave costs a whole one."""

NO_SPREAD = 1e-12
"""A smaller relative variance of task times is rounding error: they are of one length."""

EXPECTED_MAXIMUM = math.exp(-0.5772156649015329)
"""The expected maximum of m values is where m P(X > x) is about exp(-Euler's gamma): the mean of
the Gumbel law that it tends to."""


def outline(ordered: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The outline of (n,) ascending times: some of them, including the longest, and the number of
    tasks that each stands for."""
    n = len(ordered)
    if n <= EVERY_TASK:
        return ordered, np.ones(n)
    at, counts = outline_of(n)
    return ordered[np.minimum((at * n).astype(int), n - 1)], counts


@lru_cache(maxsize=KEPT_OUTLINES)
def outline_of(tasks: int) -> tuple[FloatArray, FloatArray]:
    """(p,) `probabilities` for a number of tasks, and how many tasks each stands for."""
    at = probabilities(tasks)
    edges = np.concatenate(([0.0], (at[1:] + at[:-1]) / 2.0, [1.0]))
    counts = np.diff(edges) * tasks
    at.flags.writeable = counts.flags.writeable = False
    return at, counts


def probabilities(tasks: int) -> FloatArray:
    """(p,) ascending probabilities of the outline of a number of tasks: denser towards the longest,
    which stands for itself."""
    body = (np.arange(BODY) + 0.5) / BODY
    halvings = np.arange(1, TAIL_STEPS * max(1, int(math.log2(tasks / BODY))) + 1) / TAIL_STEPS
    tail = 1.0 - (0.5 / BODY) * 0.5**halvings
    return np.append(np.concatenate((body, tail[tail < 1.0 - 1.0 / tasks])), 1.0 - 0.5 / tasks)


@dataclass(frozen=True, eq=False)
class Outlines:
    """The outlines of s stages.

    Args:
        ordered: (s, p) ascending times; shorter rows repeat their longest.
        counts: (s, p) number of tasks that each time stands for; 0 for repetitions.
        total: (s,) sum of the times of all tasks.
    """

    ordered: FloatArray
    counts: FloatArray
    total: FloatArray

    def each(self) -> Iterator[tuple[tuple[FloatArray, FloatArray], float]]:
        """The times and numbers of tasks of each stage, and the sum of all times."""
        return zip(zip(self.ordered, self.counts, strict=True), self.total.tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class Makespans:
    """The closed form of s stages of warm tasks on idle slots.

    Contention is a factor on the time of a typical task. A longer task outlives the others and then
    runs without contention.

    Args:
        tasks: (s,) number of tasks.
        outlines: their times without contention.
        longest_first: (s,) 1 if tasks are launched from the longest to the shortest, 0 in any
            order.
        typical: (s,) time of a typical task.
    """

    tasks: FloatArray
    outlines: Outlines
    longest_first: FloatArray
    typical: FloatArray

    def on(
        self, lanes: FloatArray, contention: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(s,) sum of the times, (s,) longest and (s,) expected makespan, the mean over launch
        orders, where (s,) tasks run at once under (s,) contention.

        No slot idles until the last task starts, so the mean end of the slots is total / slots. The
        latest end lies above it by the longest residual less the mean residual. If tasks are
        launched from the longest to the shortest, it lies no higher than the mean.
        """
        total, longest = self._total(contention), self.outlines.ordered[:, -1]
        longest = self._grown(longest, contention)
        alone = (lanes == 1.0) | (total <= 0.0)
        together = lanes >= self.tasks
        span = longest if together.all() else self._in_waves(lanes, contention, total, longest)
        return total, longest, np.where(alone, total, np.where(together, longest, span))

    def _in_waves(
        self, lanes: FloatArray, contention: FloatArray, total: FloatArray, longest: FloatArray
    ) -> FloatArray:
        """(s,) expected makespan of more tasks than run at once, as of `on`."""
        square = self._mean_square(contention)
        mean, rounds = total / self.tasks, np.ceil(self.tasks / lanes)
        variance = square - mean**2
        spread = np.sqrt(np.where(variance > NO_SPREAD * mean**2, variance, 0.0))
        in_step = mean * rounds + spread * np.sqrt(2.0 * rounds * np.log(lanes))
        # For heavy tails the limit law puts the longest of few residuals below their mean.
        mean_residual = square / (2.0 * np.where(mean > 0.0, mean, 1.0))
        above = np.maximum(0.0, self.longest_residual(lanes, contention) - mean_residual)
        spaced = total / lanes + np.where(self.longest_first, 0.0, above)
        together = spread * np.sqrt(rounds) < IN_STEP * mean
        return np.maximum(longest, np.where(together, in_step, spaced))

    def longest_residual(self, lanes: FloatArray, contention: FloatArray) -> FloatArray:
        """(s,) expected longest residual time among (s,) running tasks, in seconds.

        A long task takes a constant excess longer, whatever is left of it; the share of long tasks
        among the running ones changes as the total does.
        """
        own = self.outlines.total
        ratio = np.divide(self._total(contention), own, out=np.ones_like(own), where=own > 0.0)
        left = self._exceeded_by(np.minimum(1.0, ratio * EXPECTED_MAXIMUM / lanes))
        return self._grown(left, contention)

    def _grown(self, seconds: FloatArray, contention: FloatArray) -> FloatArray:
        """(s,) times under contention, which is over when a typical task ends."""
        return np.asarray(seconds + (contention - 1.0) * np.minimum(seconds, self.typical))

    def _total(self, contention: FloatArray) -> FloatArray:
        """(s,) sum of the times."""
        return np.asarray(self.outlines.total + (contention - 1.0) * self._capped[0])

    def _mean_square(self, contention: FloatArray) -> FloatArray:
        """(s,) mean of the squared times."""
        grown, (_, crossed, squared) = contention - 1.0, self._capped
        square = self._square + 2.0 * grown * crossed + grown**2 * squared
        return np.asarray(square / self.tasks)

    @cached_property
    def _work(self) -> FloatArray:
        """(s, p) sum of the times that each stands for."""
        return self.outlines.counts * self.outlines.ordered

    @cached_property
    def _outlined(self) -> FloatArray:
        """(s,) sum of the outlined times; 1 if it is 0."""
        outlined = self._work.sum(axis=1)
        return np.where(outlined > 0.0, outlined, 1.0)

    @cached_property
    def _square(self) -> FloatArray:
        """(s,) sum of the squared times without contention."""
        square = np.einsum("ij,ij->i", self._work, self.outlines.ordered)
        return np.asarray(square * (self.outlines.total / self._outlined))

    @cached_property
    def _capped(self) -> FloatArray:
        """(3, s) sums over the tasks of c, c x d and c x c, where c is the duration d up to that of
        a typical task."""
        times = self.outlines.ordered
        capped = np.minimum(times, self.typical[:, None])
        weighed = self.outlines.counts * capped
        squares = (np.einsum("ij,ij->i", weighed, by) for by in (times, capped))
        return np.asarray([weighed.sum(axis=1), *squares])

    @cached_property
    def _residuals(self) -> tuple[FloatArray, FloatArray]:
        """The distribution of the residual time R of running tasks at a moment when all slots are
        busy: (s, p) seconds r from the longest task down to 0, and (s, p) P(R > r), ascending.

        The residual life of a renewal process: P(R > r) = E[(d - r)+] / E[d], with
        the mean E[d^2] / (2 E[d]).
        """
        end = np.zeros((len(self.tasks), 1))
        points = np.concatenate((self.outlines.ordered[:, ::-1], end), axis=1)
        above = np.cumsum(self.outlines.counts[:, ::-1], axis=1)
        beyond = np.cumsum(self._work[:, ::-1], axis=1) - above * points[:, :-1]
        return points, np.concatenate((beyond / self._outlined[:, None], end + 1.0), axis=1)

    def _exceeded_by(self, share: FloatArray) -> FloatArray:
        """(s,) residual times in seconds that (s,) shares of the running tasks exceed: the upper
        quantiles."""
        points, beyond = self._residuals
        rows, last = np.arange(len(share)), beyond.shape[1] - 1
        index = (beyond < share[:, None]).sum(axis=1)
        high = np.minimum(np.maximum(index, 1), last)
        low_share, high_share = beyond[rows, high - 1], beyond[rows, high]
        width = high_share - low_share
        part = (share - low_share) / np.where(width > 0.0, width, 1.0)
        low, up = points[rows, high - 1], points[rows, high]
        result = low + np.minimum(np.maximum(part, 0.0), 1.0) * (up - low)
        return np.where(index == 0, points[:, 0], result)
