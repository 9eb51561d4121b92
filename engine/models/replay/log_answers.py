"""What several logs say of one question, each by itself, and their weighted means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.replay.kept_answers import MeanTimes
from engine.models.replay.log_pairs import weights_of


@dataclass(frozen=True, eq=False)
class AnswersOfLogs:
    """The answers of r logs for n clusters.

    Args:
        weights: (r, n), adding up to 1.
        logs: (r, n) log time, memory apart.
        memory: (r, n) log of the factor by which memory changes it, or joins of another kind: what
            begins at some input all at once.
        far: (r, n, 2) doublings of slots and of input from each log.
        sure: (r, n) share in which an error of task time shows.
        doubts: (r, n) doubt about the speed of the machines.
        least: (r, n) spread that reaches what a log leaves open (`alternatives.py`, `other_plan`).
    """

    weights: FloatArray
    logs: FloatArray
    memory: FloatArray
    far: FloatArray
    sure: FloatArray
    doubts: FloatArray
    least: FloatArray

    @classmethod
    def of(
        cls,
        logs: Sequence[FloatArray],
        memory: Sequence[FloatArray],
        far: Sequence[FloatArray],
        sure: Sequence[FloatArray],
        doubts: Sequence[FloatArray],
        least: Sequence[FloatArray],
        repeated: IntArray,
    ) -> AnswersOfLogs:
        """From r arrays each, and (r,) how often the configuration of each log was run."""
        away, unsure = np.asarray(far), np.asarray(doubts)
        return cls(
            weights_of(away, unsure, repeated=repeated),
            np.asarray(logs),
            np.asarray(memory),
            away,
            np.asarray(sure),
            unsure,
            np.asarray(least),
        )

    @property
    def times(self) -> MeanTimes:
        """Their mean times."""
        return MeanTimes(self.mean(self.logs), self.mean(self.memory))

    def mean(self, values: FloatArray) -> FloatArray:
        """(n,) weighted mean of (r, n) values."""
        return np.asarray((self.weights * values).sum(axis=0)) if len(values) > 1 else values[0]


def doublings(slots_ratio: FloatArray, ratio: float) -> FloatArray:
    """(n, 2) doublings of slots and of input."""
    slots = np.log2(slots_ratio)
    return np.stack((slots, np.full_like(slots, math.log2(ratio))), axis=-1)
