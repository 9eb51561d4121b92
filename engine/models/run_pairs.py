"""What runs predict for each other, and what is learnt from their errors.

For models that predict a run from each other one: errors of log time per doubling of slots and of
input, shrunk to the prior of no error, whose variance is how unsure a single run leaves us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.configurations import pairs_between
from engine.fitting import IntArray, spread_of
from engine.forecast import FloatArray
from engine.models.base import LeaveOneOut
from engine.models.replay_corrections import COUNTS_FOR_SPREAD, weights_of
from engine.models.replay_priors import ERROR_PER_DOUBLING_INPUT, ERROR_PER_DOUBLING_SLOTS, NOISE


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
            logs: how many logs (of one configuration each) the pairs come from: p pairs hold
                logs - 1 independent ones.
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
        groups: (r,) configuration of each log.
    """

    predicted: FloatArray
    doublings: FloatArray
    seconds: FloatArray
    groups: IntArray

    def corrections(self, kept: NDArray[np.bool_]) -> Corrections:
        """Learnt from the pairs of configurations among the kept logs."""
        places, groups = np.flatnonzero(kept), self.groups[kept]
        first, second = (places[row] for row in pairs_between(groups))
        errors = np.log(self.seconds[second]) - self.predicted[first, second]
        return Corrections.learnt(self.doublings[first, second], errors, len(np.unique(groups)))

    def left_out(self) -> tuple[LeaveOneOut | None, float, float]:
        """Each log predicted from those of other configurations; with the scale and degrees of
        freedom of log time."""
        count = len(np.unique(self.groups))
        if count < 2:
            return None, math.nan, math.inf
        predicted = []
        for j in range(len(self.seconds)):
            kept = self.groups != self.groups[j]
            learnt = self.corrections(kept)
            logs = self.predicted[kept, j] + self.doublings[kept, j] @ learnt.mean
            weights = weights_of(self.doublings[kept, j][:, None, :])[:, 0]
            predicted.append(math.exp(float(weights @ logs)))
        validation = LeaveOneOut(tuple(predicted), tuple(self.seconds.tolist()))
        if count < COUNTS_FOR_SPREAD:
            return validation, math.nan, math.inf
        spread = spread_of(np.asarray(predicted), self.seconds, terms=1, groups=self.groups)
        return validation, spread.log_scale, spread.dof
