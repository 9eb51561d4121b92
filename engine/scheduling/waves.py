"""The tasks of a stage: their times in launch order, and their expected makespan in closed form.

The scheduler places `Tasks` one by one. If that is not worth it (a stage of many waves whose
longest task is short against it, or that is a small part of the whole), `Tasks.expected_makespan`
gives their makespan on idle slots in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray
from engine.scheduling.makespans import Makespans, Outlines, outline

Count = TypeVar("Count", int, FloatArray)


def waves(tasks: Count, slots: Count) -> Count:
    """PERIDOT IV-B Eq. 1: rounds in which `tasks` run on `slots`, the last one partial.

    Whole numbers, or arrays of them that broadcast.
    """
    return -(-tasks // slots)


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

    def expected_makespan(self, slots: int) -> float:
        """Makespan of warm tasks on idle slots in seconds, the mean over their launch orders."""
        return self.slowed_on(slots, contention=1.0, typical_seconds=0.0).makespan

    def slowed_on(
        self, slots: int, *, contention: float, typical_seconds: float, speed: float = 1.0
    ) -> ClosedForm:
        """The closed form of `slowed` tasks on idle slots."""
        times, counts = self.outlined
        alone = Makespans(
            tasks=np.asarray([float(len(self))]),
            outlines=Outlines(times[None], counts[None], np.asarray([self.total])),
            longest_first=np.asarray([float(self.longest_first)]),
            typical=np.asarray([typical_seconds]),
        )
        lanes, factor = np.asarray([float(slots)]), np.asarray([contention])
        total, longest, makespan = (float(part[0] / speed) for part in alone.on(lanes, factor))
        return ClosedForm(total, longest, slots, makespan)

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

    def __len__(self) -> int:
        return self._number

    def expected_makespan(self, slots: int) -> float:
        return self._on(slots).makespan

    def _on(self, slots: int) -> ClosedForm:
        if self._known is not None and self._known.slots == slots:
            return self._known
        return self._origin.slowed_on(
            slots,
            contention=self._contention,
            typical_seconds=self._typical,
            speed=self._speed,
        )

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
        return (self._known or self._on(1)).total

    @cached_property
    def longest(self) -> float:
        return (self._known or self._on(1)).longest

    @cached_property
    def cold_excess_seconds(self) -> float:
        return self._origin.cold_excess_seconds / self._speed

    @property
    def longest_first(self) -> bool:  # type: ignore[override]
        return self._origin.longest_first
