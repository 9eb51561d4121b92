"""The fitted growth law of a stage: corrections to the prior rules, learnt from several logs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray


@dataclass(frozen=True, slots=True)
class StageLaw:
    """How a stage grows, as fitted to several logs beyond its prior (`stage_laws.py`).

    Args:
        work: if negative, minus the share of its work that does not grow with the input; if
            positive, its work grows with the input to the power of 1 + this, with as many tasks as
            in the logs (else see `faster_by`).
        partitions: power of the input with which its number of partitions grows; None for the rule
            of its `Growth`.
        slots: increase of log task time per doubling of concurrent tasks, beyond the prior's.
        data: power of the input with which the bytes that it reads grow; None if no other log
            shows it. Separate from `work`: constant seconds are not constant bytes.
        cut: power of the input with which its number of tasks grew in the logs that `work` was
            fitted to; None if they had the same input, or if `work` was not fitted.
        by_cores: whether it had one partition per core also in a log with another number of cores.
    """

    work: float = 0.0
    partitions: float | None = None
    slots: float = 0.0
    data: float | None = None
    cut: float | None = None
    by_cores: bool = False

    def total(self, ratio: float, base: float, *, tasks: float | None = None) -> float:
        """Growth of the work at `ratio` times the input.

        Args:
            base: growth by the prior.
            tasks: growth of the number of tasks; None for as many as in the logs.
        """
        if self.work < 0.0:
            return -self.work + (1.0 + self.work) * base
        grown = math.log(ratio)
        if tasks is not None and self.cut is not None:
            grown = float(faster_by(ratio, np.asarray(tasks), np.asarray(self.cut)))
        return base * math.exp(self.work * grown)


def faster_by(ratio: float, tasks: FloatArray, cut: FloatArray) -> FloatArray:
    """(n,) log of the growth to which the fitted power `StageLaw.work` applies, at `ratio` times
    the input in (n,) times as many tasks.

    Sorts, spills and full heaps slow a task by its own data; joins that multiply rows, by the whole
    data. So superlinear growth observed on tasks that grew larger counts half for more tasks of the
    same size.

    Args:
        cut: (n,) power of the input with which tasks grew in the fitted logs; NaN if the whole
            growth counts.
    """
    whole = math.log(ratio)
    grown = np.clip(whole - BY_TASK * np.log(tasks), min(0.0, whole), max(0.0, whole))
    return np.asarray(np.where(np.isnan(cut), whole, grown / (1.0 - BY_TASK * np.clip(cut, 0, 1))))


BY_TASK = 0.5
"""Share of the superlinear growth of work that is due to the data of a single task."""

PRIOR_LAW = StageLaw()
