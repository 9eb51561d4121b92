"""The tasks of a stage: their times in launch order, and their expected makespan in closed form.

The scheduler places `Tasks` one by one. If that is not worth it (a stage of many waves whose
longest task is short against it, or that is a small part of the whole), `Tasks.expected_makespan`
gives their makespan on idle slots in closed form.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

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


Count = TypeVar("Count", int, FloatArray)


def waves(tasks: Count, slots: Count) -> Count:
    """PERIDOT IV-B Eq. 1: rounds in which `tasks` run on `slots`, the last one partial.

    Whole numbers, or arrays of them that broadcast.
    """
    return -(-tasks // slots)


@dataclass(frozen=True, eq=False)
class Residuals:
    """The distribution of the residual time of running tasks at a moment when all slots are busy.

    The residual life of a renewal process: P(R > r) = E[(d - r)+] / E[d], mean E[d^2] / (2 E[d]).

    Args:
        mean: mean residual in seconds.
        points: seconds r, from the longest task down.
        beyond: P(R > r) at the points, ascending.
    """

    mean: float
    points: list[float]
    beyond: list[float]

    @classmethod
    def of(cls, ordered: FloatArray, counts: FloatArray) -> Residuals:
        """From (n,) ascending task times, with a positive sum, and the number of tasks that each
        stands for."""
        times, counts = ordered[::-1], counts[::-1]
        share, above = np.cumsum(times * counts), np.cumsum(counts)
        beyond = (share - above * times) / share[-1]
        mean = float((counts * times**2).sum() / (2.0 * share[-1]))
        return cls(mean, times.tolist(), beyond.tolist())

    def exceeded_by(self, share: float) -> float:
        """The residual time in seconds that this share of the running tasks exceeds: the upper
        quantile."""
        index = bisect_left(self.beyond, share)
        if index == 0:
            return self.points[0]
        if index == len(self.beyond):
            return self.points[-1] * (1.0 - share) / (1.0 - self.beyond[-1])
        part = (share - self.beyond[index - 1]) / (self.beyond[index] - self.beyond[index - 1])
        return self.points[index - 1] + part * (self.points[index] - self.points[index - 1])


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


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Sum and longest of some tasks' times, and their `expected_makespan` on a number of slots."""

    total: float
    longest: float
    slots: float
    makespan: float


class Tasks:
    """n tasks of one stage.

    Args:
        seconds: (n,) time that each holds its slot, in launch order.
        cold_seconds: (n,) the same for tasks that are the first on their slot, or None: then a
            first task takes as long as any other.
        longest_first: whether the launch order is from the longest to the shortest, not random.
    """

    def __init__(
        self,
        seconds: FloatArray,
        cold_seconds: FloatArray | None = None,
        *,
        longest_first: bool = False,
    ) -> None:
        self._seconds, self._cold_seconds = seconds, cold_seconds
        self._capped: dict[float, tuple[float, float, float]] = {}
        self.longest_first = longest_first

    def __len__(self) -> int:
        return len(self._seconds)

    @property
    def seconds(self) -> FloatArray:
        """(n,) durations of warm tasks."""
        return self._seconds

    @property
    def cold_seconds(self) -> FloatArray | None:
        """(n,) durations of cold tasks; None where they are those of warm ones."""
        return self._cold_seconds

    @cached_property
    def cold_excess_seconds(self) -> float:
        """Mean time by which a first task on its slot is longer; 0 if it takes as long."""
        cold = self.cold_seconds
        return 0.0 if cold is None else max(0.0, float(cold.mean() - self.seconds.mean()))

    @cached_property
    def total(self) -> float:
        """Sum of the durations of warm tasks."""
        return float(self._seconds.sum())

    @cached_property
    def longest(self) -> float:
        """The longest warm task."""
        return float(self._seconds.max(initial=0.0))

    @cached_property
    def outlined(self) -> tuple[FloatArray, FloatArray]:
        """`outline` of the warm tasks."""
        return outline(np.sort(self._seconds))

    @cached_property
    def residuals(self) -> Residuals:
        """Residual times of running tasks."""
        return Residuals.of(*self.outlined)

    @property
    def mean_square(self) -> float:
        """Mean of the squared durations."""
        return 2.0 * self.residuals.mean * self.total / len(self)

    def total_up_to(self, limit_seconds: float) -> float:
        """Sum of the durations, each counted up to a limit."""
        return self.squares_up_to(limit_seconds)[0]

    def squares_up_to(self, limit_seconds: float) -> tuple[float, float, float]:
        """Sums over the tasks of c, c x d and c x c, where c is the duration d up to a limit."""
        if limit_seconds not in self._capped:
            times, counts = self.outlined
            capped = np.minimum(times, limit_seconds)
            weighed = counts * capped
            sums = weighed.sum(), weighed @ times, weighed @ capped
            self._capped[limit_seconds] = float(sums[0]), float(sums[1]), float(sums[2])
        return self._capped[limit_seconds]

    def longest_residual(self, slots: int) -> float:
        """Expected longest residual time among so many running tasks, in seconds."""
        return self.residuals.exceeded_by(EXPECTED_MAXIMUM / slots)

    def expected_makespan(self, slots: int) -> float:
        """Makespan of warm tasks on idle slots in seconds, the mean over their launch orders.

        No slot idles until the last task starts, so the mean end of the slots is total / slots. The
        latest end lies above it by the longest residual less the mean residual. If tasks are
        launched from the longest to the shortest, it lies no higher than the mean.
        """
        if slots == 1 or self.total <= 0.0:
            return self.total
        if slots >= len(self):
            return self.longest
        mean, rounds = self.total / len(self), waves(len(self), slots)
        variance = self.mean_square - mean**2
        spread = math.sqrt(variance) if variance > NO_SPREAD * mean**2 else 0.0
        if spread * math.sqrt(rounds) < IN_STEP * mean:
            above = spread * math.sqrt(2.0 * rounds * math.log(slots))
            return max(self.longest, mean * rounds + above)
        if self.longest_first:
            return max(self.longest, self.total / slots)
        # For heavy tails the limit law puts the longest of few residuals below their mean.
        above = max(0.0, self.longest_residual(slots) - self.mean_square / (2.0 * mean))
        return max(self.longest, self.total / slots + above)

    def on(self, cold_slots: int) -> FloatArray:
        """(n,) durations if the first `cold_slots` tasks run on slots that never ran any."""
        seconds, cold_seconds = self.seconds, self.cold_seconds
        cold = min(cold_slots, len(seconds))
        if cold == 0 or cold_seconds is None:
            return seconds
        return np.concatenate((cold_seconds[:cold], seconds[cold:]))

    def slowed(
        self,
        *,
        contention: float,
        typical_seconds: float,
        speed: float,
        known: ClosedForm | None = None,
    ) -> Tasks:
        """The tasks at another speed and another contention.

        Args:
            contention: factor on the time of a typical task, due to concurrent tasks. A longer task
                outlives the others and then runs without contention.
            typical_seconds: time of a typical task.
            speed: relative speed of the slots.
            known: closed form of the result, if already computed.
        """
        if known is None and contention == speed == 1.0:
            return self
        return _Slowed(self, contention, typical_seconds, speed, known)


class DrawnTasks(Tasks):
    """Many tasks given by their outline; each task's time is computed when first used.

    Args:
        ordered, counts: (p,) ascending times and the number of tasks that each stands for
            (`outline`).
        draw: computes `seconds` and `cold_seconds`.
        cold_excess_seconds: mean time by which a first task on its slot is longer.
    """

    def __init__(
        self,
        ordered: FloatArray,
        counts: FloatArray,
        draw: Callable[[], tuple[FloatArray, FloatArray | None]],
        *,
        cold_excess_seconds: float,
        longest_first: bool,
    ) -> None:
        self._ordered, self._counts, self._draw = ordered, counts, draw
        self.longest_first = longest_first
        self._number = round(float(counts.sum()))
        self._capped = {}
        self.__dict__["cold_excess_seconds"] = cold_excess_seconds

    def __len__(self) -> int:
        return self._number

    @cached_property
    def _drawn(self) -> tuple[FloatArray, FloatArray | None]:
        return self._draw()

    @property
    def seconds(self) -> FloatArray:
        return self._drawn[0]

    @property
    def cold_seconds(self) -> FloatArray | None:
        return self._drawn[1]

    @cached_property
    def total(self) -> float:
        return float(self._ordered @ self._counts)

    @cached_property
    def longest(self) -> float:
        return float(self._ordered[-1])

    @property
    def outlined(self) -> tuple[FloatArray, FloatArray]:
        return self._ordered, self._counts


class _Slowed(Tasks):
    """`Tasks.slowed`: tasks whose times are computed from others' when first used."""

    def __init__(
        self,
        origin: Tasks,
        contention: float,
        typical_seconds: float,
        speed: float,
        known: ClosedForm | None,
    ) -> None:
        self._origin, self._contention = origin, contention
        self._typical, self._speed = typical_seconds, speed
        self._number, self._known = len(origin), known
        self._capped = {}
        if known is not None:
            self.__dict__["total"], self.__dict__["longest"] = known.total, known.longest

    def __len__(self) -> int:
        return self._number

    def expected_makespan(self, slots: int) -> float:
        if self._known is not None and self._known.slots == slots:
            return self._known.makespan
        return super().expected_makespan(slots)

    def _of(self, seconds: FloatArray) -> FloatArray:
        beside_others = np.minimum(seconds, self._typical)
        return np.asarray((seconds + (self._contention - 1.0) * beside_others) / self._speed)

    @cached_property
    def seconds(self) -> FloatArray:
        return self._of(self._origin.seconds)

    @cached_property
    def cold_seconds(self) -> FloatArray | None:
        cold = self._origin.cold_seconds
        return None if cold is None else self._of(cold)

    @cached_property
    def total(self) -> float:
        beside_others = self._origin.total_up_to(self._typical)
        return (self._origin.total + (self._contention - 1.0) * beside_others) / self._speed

    @cached_property
    def longest(self) -> float:
        longest = self._origin.longest
        grown = longest + (self._contention - 1.0) * min(longest, self._typical)
        return grown / self._speed

    @cached_property
    def cold_excess_seconds(self) -> float:
        return self._origin.cold_excess_seconds / self._speed

    @property
    def longest_first(self) -> bool:  # type: ignore[override]
        return self._origin.longest_first

    @property
    def mean_square(self) -> float:
        grown = self._contention - 1.0
        _, crossed, capped = self._origin.squares_up_to(self._typical)
        square = self._origin.mean_square * len(self) + 2.0 * grown * crossed + grown**2 * capped
        return square / len(self) / self._speed**2

    def longest_residual(self, slots: int) -> float:
        """A long task takes a constant excess longer, whatever is left of it; the share of long
        tasks among the running ones changes as the total does."""
        share = self.total * self._speed / self._origin.total * EXPECTED_MAXIMUM / slots
        residual = self._origin.residuals.exceeded_by(min(1.0, share))
        return (residual + (self._contention - 1.0) * min(residual, self._typical)) / self._speed
