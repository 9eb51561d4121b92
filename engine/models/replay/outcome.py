"""What a replay comes to: when the stages of a run start and end on another cluster or input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.scheduling.waves import Tasks


@dataclass(frozen=True, eq=False)
class Replayed:
    """A replayed run.

    Args:
        seconds: its duration.
        driver_seconds: of that, the time in which no stage ran.
        start, end: (s,) of each stage, seconds since the start.
        tasks: how many tasks each stage had.
        slots: on how many task slots.
        placed: (s,) the tasks themselves.
        met: (s,) tasks of each stage that started on slots of unused executors.
    """

    seconds: float
    driver_seconds: float
    start: FloatArray
    end: FloatArray
    tasks: tuple[int, ...]
    slots: int
    placed: tuple[Tasks, ...]
    met: IntArray

    @property
    def work(self) -> FloatArray:
        """(s,) time that the tasks of each stage held a slot."""
        excess = [tasks.cold_excess_seconds for tasks in self.placed]
        warm = np.asarray([tasks.total for tasks in self.placed])
        return np.asarray(warm + self.met * np.asarray(excess))
