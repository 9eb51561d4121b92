"""The fitted growth law of a stage: corrections to the prior rules, learnt from several logs.

In: an input and a number of tasks, both relative to the log. Out: growth of the work. Explained in
docs/models/sparkplan_rules_logs.md#what-several-logs-show-of-each-stage.
"""

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
            in the logs (else see `superlinear_log_growth`).
        partition_power: power of the input with which its number of partitions grows; None for the
            rule of its `Growth`.
        slots: increase of log task time per doubling of concurrent tasks, beyond the prior's.
        data_power: power of the input with which the bytes that it reads grow; None if no other log
            shows it. Separate from `work`: constant seconds are not constant bytes.
        task_power: power of the input with which its number of tasks grew in the logs that `work`
            was fitted to; None if they had the same input, or if `work` was not fitted.
        by_cores: whether it had one partition per core also in a log with another number of cores,
            or another number of blocks that follow the same rule.
    """

    work: float = 0.0
    partition_power: float | None = None
    slots: float = 0.0
    data_power: float | None = None
    task_power: float | None = None
    by_cores: bool = False

    def work_growth(self, ratio: float, base: float, *, tasks: float | None = None) -> float:
        """Growth of the work at `ratio` times the input.

        Args:
            base: growth by the prior.
            tasks: growth of the number of tasks; None for as many as in the logs.
        """
        if self.work < 0.0:
            return -self.work + (1.0 + self.work) * base
        log_growth = math.log(ratio)
        if tasks is not None and self.task_power is not None:
            log_growth = float(
                superlinear_log_growth(ratio, np.asarray(tasks), np.asarray(self.task_power))
            )
        return base * math.exp(self.work * log_growth)


def superlinear_log_growth(ratio: float, tasks: FloatArray, task_power: FloatArray) -> FloatArray:
    """(n,) log of the growth to which the fitted power `StageLaw.work` applies, at `ratio` times
    the input in (n,) times as many tasks.

    Sorts, spills and full heaps slow a task by its own data; joins that multiply rows, by the whole
    data. So superlinear growth observed on tasks that grew larger counts half for more tasks of the
    same size.

    Args:
        task_power: (n,) power of the input with which tasks grew in the fitted logs; NaN if the
            whole growth counts.
    """
    log_ratio = math.log(ratio)
    grown = np.clip(
        log_ratio - PER_TASK_SHARE * np.log(tasks), min(0.0, log_ratio), max(0.0, log_ratio)
    )
    return np.asarray(
        np.where(
            np.isnan(task_power),
            log_ratio,
            grown / (1.0 - PER_TASK_SHARE * np.clip(task_power, 0, 1)),
        )
    )


PER_TASK_SHARE = 0.5
"""Share of the superlinear growth of work that is due to the data of a single task."""

PRIOR_LAW = StageLaw()
