"""The tasks of a stage: their times in launch order, and how long they take in waves.

`Tasks` are what the scheduler places one by one. Where that is not worth it (a stage of many waves
whose longest task is short against it, or that is a small part of the whole) `Outline.makespan`
says how long they take on idle slots in closed form.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray

SAMPLE = 201
"""Points of the distribution of task times that an outline keeps."""

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
    """What running tasks still need at a moment when all slots are busy, as any of n tasks.

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
    def of(cls, ordered: FloatArray) -> Residuals:
        """From (n,) task times in ascending order, their sum above 0."""
        share = np.cumsum(ordered[::-1])
        above = np.arange(1, len(ordered) + 1)
        beyond = (share - above * ordered[::-1]) / share[-1]
        mean = float((ordered**2).sum() / (2.0 * share[-1]))
        return cls(mean, ordered[::-1].tolist(), beyond.tolist())

    def longest_of(self, slots: int) -> float:
        """Expected longest residual among so many slots, in seconds."""
        wanted = EXPECTED_MAXIMUM / slots
        place = bisect_left(self.beyond, wanted)
        if place == 0:
            return self.points[0]
        if place == len(self.beyond):
            return self.points[-1] * (1.0 - wanted) / (1.0 - self.beyond[-1])
        share = (wanted - self.beyond[place - 1]) / (self.beyond[place] - self.beyond[place - 1])
        return self.points[place - 1] + share * (self.points[place] - self.points[place - 1])


class Tasks:
    """n tasks of one stage.

    Args:
        seconds: (n,) time that each holds its slot, in launch order.
        cold_seconds: (n,) the same for tasks that are the first on their slot, or None: then a
            first task takes as long as any other.
    """

    def __init__(self, seconds: FloatArray, cold_seconds: FloatArray | None = None) -> None:
        self._seconds, self._cold_seconds = seconds, cold_seconds
        self._capped: dict[float, float] = {}

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
    def total(self) -> float:
        """Sum of the durations of warm tasks."""
        return float(self._seconds.sum())

    @cached_property
    def longest(self) -> float:
        """The longest warm task."""
        return float(self._seconds.max(initial=0.0))

    @cached_property
    def residuals(self) -> Residuals:
        """What running tasks still need (of a sample of the tasks)."""
        ordered = np.sort(self._seconds)
        if len(ordered) > SAMPLE:
            at = (np.arange(SAMPLE) + 0.5) / SAMPLE * len(ordered)
            ordered = np.append(ordered[at.astype(int)], ordered[-1])
        return Residuals.of(ordered)

    @property
    def residual_factor(self) -> float:
        """Times of these tasks relative to those of `residuals`."""
        return 1.0

    def total_up_to(self, limit_seconds: float) -> float:
        """Sum of the durations, each counted up to a limit."""
        if limit_seconds not in self._capped:
            self._capped[limit_seconds] = float(np.minimum(self._seconds, limit_seconds).sum())
        return self._capped[limit_seconds]

    def expected_makespan(self, slots: int) -> float:
        """How long warm tasks take on idle slots in many waves.

        Until the last task starts no slot idles, so the mean end of the slots is total / slots; the
        latest end lies above it as the longest residual lies above the mean residual.
        """
        if slots == 1 or self.total <= 0.0:
            return self.total
        above = self.residuals.longest_of(slots) - self.residuals.mean
        return max(self.longest, self.total / slots + above * self.residual_factor)

    def on(self, cold_slots: int) -> FloatArray:
        """(n,) durations when the first `cold_slots` tasks meet slots that never ran any."""
        seconds, cold_seconds = self.seconds, self.cold_seconds
        cold = min(cold_slots, len(seconds))
        if cold == 0 or cold_seconds is None:
            return seconds
        return np.concatenate((cold_seconds[:cold], seconds[cold:]))

    def slowed(self, *, contention: float, typical_seconds: float, speed: float) -> Tasks:
        """The tasks on slots of another speed, with more or fewer others beside them.

        Contention is a factor on the time of a typical task. A longer one outlives the others, and
        from then on has the cluster to itself.
        """
        if contention == 1.0 and speed == 1.0:
            return self
        return _Slowed(self, contention, typical_seconds, speed)


class _Slowed(Tasks):
    """Tasks whose times are computed from others' when they are asked for."""

    def __init__(
        self, origin: Tasks, contention: float, typical_seconds: float, speed: float
    ) -> None:
        self._origin, self._contention = origin, contention
        self._typical, self._speed = typical_seconds, speed
        self._capped = {}

    def __len__(self) -> int:
        return len(self._origin)

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

    @property
    def residuals(self) -> Residuals:
        return self._origin.residuals

    @property
    def residual_factor(self) -> float:
        return self.total / self._origin.total * self._origin.residual_factor
