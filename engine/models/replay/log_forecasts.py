"""Forecasts of several logs for one workload, each by its own replay, and their weighted means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.replay.log_pairs import inverse_variance_weights
from engine.models.replay.mean_times_cache import MeanTimes


@dataclass(frozen=True, eq=False)
class LogForecasts:
    """The forecasts of r logs for one workload on n clusters.

    Args:
        weights: (r, n), adding up to 1 over the logs.
        log_seconds: (r, n) log time without the memory term.
        memory: (r, n) log of the factor by which memory changes it, or a changed join strategy:
            terms that set in all at once at some input.
        doublings: (r, n, 2) doublings of slots and of input from each log.
        error_shares: (r, n) share of an error of task time that shows in the run time
            (`priors.sure_share`).
        log_scales: (r, n) standard deviation of log time by unsure speeds of the machines, shared
            cores and requested partitions.
        least_scales: (r, n) least scale of log time, with which a 90 % interval reaches what a log
            leaves open (`alternatives.py`, `other_plan`).
    """

    weights: FloatArray
    log_seconds: FloatArray
    memory: FloatArray
    doublings: FloatArray
    error_shares: FloatArray
    log_scales: FloatArray
    least_scales: FloatArray

    @classmethod
    def of(
        cls,
        log_seconds: Sequence[FloatArray],
        memory: Sequence[FloatArray],
        doublings: Sequence[FloatArray],
        error_shares: Sequence[FloatArray],
        log_scales: Sequence[FloatArray],
        least_scales: Sequence[FloatArray],
        repeated: IntArray,
    ) -> LogForecasts:
        """From r arrays of each, and (r,) number of runs of each log's configuration."""
        away, unsure = np.asarray(doublings), np.asarray(log_scales)
        return cls(
            inverse_variance_weights(away, unsure, repeated=repeated),
            np.asarray(log_seconds),
            np.asarray(memory),
            away,
            np.asarray(error_shares),
            unsure,
            np.asarray(least_scales),
        )

    @property
    def times(self) -> MeanTimes:
        """Mean log times over the logs."""
        return MeanTimes(self.mean(self.log_seconds), self.mean(self.memory))

    def mean(self, values: FloatArray) -> FloatArray:
        """(n,) weighted mean of (r, n) values."""
        return np.asarray((self.weights * values).sum(axis=0)) if len(values) > 1 else values[0]


def log2_distances(slots_ratio: FloatArray, ratio: float) -> FloatArray:
    """(n, 2) doublings (base-2 logarithms) of (n,) ratios of slots and of one ratio of inputs."""
    slots = np.log2(slots_ratio)
    return np.stack((slots, np.full_like(slots, math.log2(ratio))), axis=-1)
