"""Forecasts of several logs for one workload, each by its own replay, and their weighted means.

In: a `LogForecast` for each log. Out: weighted means over the logs. Explained in
docs/models/sparkplan_rules_logs.md#several-logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.replay.log_pairs import inverse_variance_weights
from engine.models.replay.monotone_times import MeanTimes


@dataclass(frozen=True, eq=False)
class LogForecast:
    """The forecast of one log for one workload on n clusters, by its own replay.

    Args:
        log_seconds: (n,) log time without the memory term.
        memory: (n,) log of the factor by which memory changes it, or a changed join strategy:
            terms that set in all at once at some input.
        doublings: (n, 2) doublings of slots and of input from the log.
        error_share: (n,) share of an error of task time that shows in the run time
            (`priors.task_error_share`).
        log_scale: (n,) standard deviation of log time by unsure speeds of the machines, shared
            cores and requested partitions.
        least_scale: (n,) least scale of log time, with which a 90 % interval reaches what the log
            leaves open (`alternatives.py`, `broadcasts.py`).
    """

    log_seconds: FloatArray
    memory: FloatArray
    doublings: FloatArray
    error_share: FloatArray
    log_scale: FloatArray
    least_scale: FloatArray


@dataclass(frozen=True, eq=False)
class LogForecasts:
    """The forecasts of r logs for one workload on n clusters.

    Args:
        weights: (r, n), adding up to 1 over the logs.
        each: the forecasts, with the logs as first axis of every column.
    """

    weights: FloatArray
    each: LogForecast

    @classmethod
    def of(cls, forecasts: Sequence[LogForecast], repeated: IntArray) -> LogForecasts:
        """From the forecast of each of r logs, and (r,) number of runs of its configuration."""
        names = (field.name for field in fields(LogForecast))
        columns = ([getattr(one, name) for one in forecasts] for name in names)
        each = LogForecast(*map(np.asarray, columns))
        return cls(
            inverse_variance_weights(each.doublings, each.log_scale, repeated=repeated), each
        )

    @property
    def times(self) -> MeanTimes:
        """Mean log times over the logs."""
        return MeanTimes(self.mean(self.each.log_seconds), self.mean(self.each.memory))

    def mean(self, values: FloatArray) -> FloatArray:
        """(n,) weighted mean of (r, n) values."""
        return np.asarray((self.weights * values).sum(axis=0)) if len(values) > 1 else values[0]


def log2_distances(slots_ratio: FloatArray, ratio: float) -> FloatArray:
    """(n, 2) doublings (base-2 logarithms) of (n,) ratios of slots and of one ratio of inputs."""
    slots = np.log2(slots_ratio)
    return np.stack((slots, np.full_like(slots, math.log2(ratio))), axis=-1)
