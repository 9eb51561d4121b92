"""What replays of several logs get wrong about each other, and what is learnt from it.

Errors are of log time, per doubling of slots and per doubling of input. They are shrunk to the
prior of no error, whose variance is how unsure a single log leaves us.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Catalog
from engine.cluster import Workload
from engine.fitting import spread_of
from engine.forecast import FloatArray
from engine.models.base import LeaveOneOut
from engine.models.replay import Replay
from engine.profile import Run
from engine.transfer import speed_of

NOISE = 0.05
"""Prior: standard deviation of log time between two runs of the same job (notes of published
repetitions: 2 to 4 %), and of what a replay gets wrong where it was observed."""

ERROR_PER_DOUBLING_SLOTS = 0.08
ERROR_PER_DOUBLING_INPUT = 0.15
"""Prior: standard deviation of the error of log time per doubling (docs/models/sparkplan.md)."""

NEARNESS = 1.5
"""Weight of a log falls by exp(-this) with each doubling between it and the question."""

COUNTS_FOR_SPREAD = 4
"""Replayed logs from which on their left-out errors are the interval."""


@dataclass(frozen=True, eq=False)
class Corrections:
    """Error of log time per doubling of slots and of input: mean (2,) and covariance (2, 2)."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def learnt(cls, doublings: FloatArray, errors: FloatArray, logs: int) -> Corrections:
        """Bayesian least squares with the prior N(0, ERROR_PER_DOUBLING^2).

        Args:
            doublings: (p, 2) slots and input of one log relative to another, for p pairs.
            errors: (p,) log of observed over predicted time.
            logs: how many logs the pairs come from: p pairs hold logs - 1 independent ones.
        """
        prior = np.diag([ERROR_PER_DOUBLING_SLOTS**-2.0, ERROR_PER_DOUBLING_INPUT**-2.0])
        weight = (logs - 1) / max(1, len(errors)) / (2.0 * NOISE**2)
        covariance = np.linalg.inv(prior + weight * doublings.T @ doublings)
        mean = covariance @ (weight * doublings.T @ errors)
        return cls(np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float))


@dataclass(frozen=True, eq=False)
class Pairs:
    """What each of r logs predicts for each other.

    Args:
        predicted: (r, r) log seconds of log j as predicted from log i.
        doublings: (r, r, 2) slots and input of j relative to i.
        seconds: (r,) observed.
    """

    predicted: FloatArray
    doublings: FloatArray
    seconds: FloatArray

    @classmethod
    def of(cls, replays: Sequence[Replay], bias: FloatArray, catalog: Catalog | None) -> Pairs:
        r = len(replays)
        predicted, doublings = np.zeros((r, r)), np.zeros((r, r, 2))
        for i, replay in enumerate(replays):
            for j, other in enumerate(replays):
                ratio = ratio_of(other.run.workload, replay.run)
                source, target = replay.run.cluster.instance, other.run.cluster.instance
                found = replay.replayed(
                    other.slots, ratio=ratio, speed=speed_of(target, source, catalog).relative
                )
                predicted[i, j] = math.log(found.seconds) + bias[i]
                doublings[i, j] = math.log2(other.slots / replay.slots), math.log2(ratio)
        return cls(predicted, doublings, np.asarray([replay.run.seconds for replay in replays]))

    def corrections(self, kept: NDArray[np.bool_]) -> Corrections:
        """Learnt from the pairs among the kept logs."""
        places = np.flatnonzero(kept)
        pairs = [(i, j) for i in places for j in places if i < j]
        first = [i for i, _ in pairs]
        second = [j for _, j in pairs]
        errors = np.log(self.seconds[second]) - self.predicted[first, second]
        return Corrections.learnt(self.doublings[first, second], errors, int(kept.sum()))

    def left_out(self) -> tuple[LeaveOneOut | None, float, float]:
        """Each log predicted from the others; with the scale and degrees of freedom of log time."""
        r = len(self.seconds)
        if r < 2:
            return None, math.nan, math.inf
        predicted = []
        for j in range(r):
            kept = np.arange(r) != j
            learnt = self.corrections(kept)
            logs = self.predicted[kept, j] + self.doublings[kept, j] @ learnt.mean
            weights = weights_of(self.doublings[kept, j][:, None, :])[:, 0]
            predicted.append(math.exp(float(weights @ logs)))
        validation = LeaveOneOut(tuple(predicted), tuple(self.seconds.tolist()))
        if r < COUNTS_FOR_SPREAD:
            return validation, math.nan, math.inf
        spread = spread_of(np.asarray(predicted), self.seconds, terms=1)
        return validation, spread.log_scale, spread.dof


def ratio_of(wanted: Workload, run: Run) -> float:
    """Input of a workload relative to a run's, 1 where neither says it."""
    own = run.workload.input_bytes
    if wanted.input_bytes is None or own is None:
        return wanted.scale or 1.0
    ratio = wanted.input_bytes / own
    return 1.0 if abs(ratio - 1.0) < SAME_INPUT else ratio


SAME_INPUT = 1e-3
"""Inputs that differ by less are the same: re-reads and metadata make as much."""


def weights_of(doublings: FloatArray, doubts: FloatArray | None = None) -> FloatArray:
    """(r, n) weights of r logs for n questions; they add up to 1.

    Args:
        doublings: (r, n, 2) slots and input of each question relative to each log.
        doubts: (r, n) doubt about the speed of the question's machines relative to the log's; as
            much of it as a doubling of slots leaves counts as one doubling more.
    """
    distance = np.abs(doublings).sum(axis=2)
    if doubts is not None:
        distance = distance + doubts / ERROR_PER_DOUBLING_SLOTS
    weights = np.exp(-NEARNESS * (distance - np.nanmin(distance, axis=0, initial=np.inf)))
    return np.asarray(weights / weights.sum(axis=0))
