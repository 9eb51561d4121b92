"""The outcome of a replay: start and end times of a run's stages on another cluster or input, as
arrays over the stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.scheduling.waves import Tasks


@dataclass(frozen=True, eq=False)
class ReplayOutcome:
    """A replayed run.

    Args:
        seconds: run time.
        driver_seconds: part of it in which no stage ran.
        start, end: (s,) start and end of each stage, in seconds since the start of the run.
        tasks: (s,) number of tasks of each stage.
        placed: (s,) the scheduled tasks of each stage.
        tasks_on_unused_slots: (s,) tasks of each stage that started on slots of unused executors.
    """

    seconds: float
    driver_seconds: float
    start: FloatArray
    end: FloatArray
    tasks: tuple[int, ...]
    slots: int
    placed: tuple[Tasks, ...]
    tasks_on_unused_slots: IntArray

    @property
    def work(self) -> FloatArray:
        """(s,) slot-seconds of the tasks of each stage."""
        excess = [tasks.cold_excess_seconds for tasks in self.placed]
        warm = np.asarray([tasks.total for tasks in self.placed])
        return np.asarray(warm + self.tasks_on_unused_slots * np.asarray(excess))
