"""What several logs tell of a stage beyond the rules for one log."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray


@dataclass(frozen=True, slots=True)
class StageLaw:
    """What several logs tell of a stage beyond its prior (`stage_laws.py`).

    Args:
        work: below 0 this share of its work stays whatever the input; above 0 work grows with
            the input to the power of 1 + this, cut as in the logs (else see `faster_by`).
        partitions: power of the input with which its partitions grow; None for the rule of its
            `Growth`.
        slots: log of task time per doubling of tasks at once, beyond the prior's.
        data: power of the input with which the bytes that it reads grow; None where no other log
            tells. Apart from `work`: seconds that stay whatever the input are not bytes.
        cut: power of the input with which its tasks grew in the logs that tell `work`; None where
            they had the same input, or none told.
        by_cores: whether it has a partition for each core in a log of another number of cores too.
    """

    work: float = 0.0
    partitions: float | None = None
    slots: float = 0.0
    data: float | None = None
    cut: float | None = None
    by_cores: bool = False

    def total(self, ratio: float, base: float, *, tasks: float | None = None) -> float:
        """Work at `ratio` times the input in `tasks` times as many tasks where the prior says
        `base`, all relative; in as many as in the logs without `tasks`."""
        if self.work < 0.0:
            return -self.work + (1.0 + self.work) * base
        grown = math.log(ratio)
        if tasks is not None and self.cut is not None:
            grown = float(faster_by(ratio, np.asarray(tasks), np.asarray(self.cut)))
        return base * math.exp(self.work * grown)


def faster_by(ratio: float, tasks: FloatArray, cut: FloatArray) -> FloatArray:
    """(n,) log of the growth by which work grows faster than the input, at `ratio` times the input
    in (n,) times as many tasks, where the power of that growth is from logs in which tasks grew
    with the (n,) power `cut` of the input; NaN for as they did.

    Sorts, spills and full heaps slow a task by the data that it has itself; joins that multiply
    rows, by that of the whole. So what was seen of tasks that grew larger counts half for more of
    them as large as before.
    """
    whole = math.log(ratio)
    grown = np.clip(whole - BY_TASK * np.log(tasks), min(0.0, whole), max(0.0, whole))
    return np.asarray(np.where(np.isnan(cut), whole, grown / (1.0 - BY_TASK * np.clip(cut, 0, 1))))


BY_TASK = 0.5
"""Share of the growth of work beyond the input's that is by the data of a single task."""

PRIOR_LAW = StageLaw()
