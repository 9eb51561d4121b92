"""What logs predict for each other by their costs, and what is learnt from the errors.

Errors of log time per doubling of slots and of input, shrunk to the prior of no error, whose
variance is how unsure a single log leaves us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.fitting import left_out_spread
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.base import LeaveOneOut
from engine.models.replay.log_pairs import inverse_variance_weights
from engine.models.replay.priors import LOG_NOISE, MIN_CONFIGURATIONS_FOR_SPREAD
from engine.runs.configurations import pairs_between, times_run

WRONG_PER_DOUBLING_SLOTS = 0.10
WRONG_PER_DOUBLING_INPUT = 0.15
"""Prior: standard deviation of what the costs get wrong of log time per doubling."""


@dataclass(frozen=True, eq=False)
class Corrections:
    """Error of log time per doubling of slots and of input: mean (2,) and covariance (2, 2)."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def learnt(
        cls, doublings: FloatArray, errors: FloatArray, shares: FloatArray, logs: int
    ) -> Corrections:
        """Bayesian least squares with the prior N(0, WRONG_PER_DOUBLING^2).

        Args:
            doublings: (p, 2) slots and input of one log relative to another, for p pairs.
            errors: (p,) log of observed over predicted time.
            shares: (p,) how much of a pair of configurations each is.
            logs: how many configurations the pairs come from. Each by each other one are logs x
                (logs - 1) pairs, which hold logs - 1 independent ones.
        """
        prior = np.diag([WRONG_PER_DOUBLING_SLOTS**-2.0, WRONG_PER_DOUBLING_INPUT**-2.0])
        weighed = (shares / (logs * 2.0 * LOG_NOISE**2))[:, None] * doublings
        covariance = np.linalg.inv(prior + weighed.T @ doublings)
        mean = covariance @ (weighed.T @ errors)
        return cls(np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float))


@dataclass(frozen=True, eq=False)
class RunPairs:
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

    def corrections(self, kept: BoolArray) -> Corrections:
        """Learnt from the pairs of configurations among the kept logs, each by each other, so that
        their order does not matter; repetitions of a configuration together count as one log."""
        places, groups = np.flatnonzero(kept), self.groups[kept]
        share = 1.0 / times_run(groups)
        one, other = pairs_between(groups)
        first, second = np.concatenate((one, other)), np.concatenate((other, one))
        shares = share[first] * share[second]
        first, second = places[first], places[second]
        errors = np.log(self.seconds[second]) - self.predicted[first, second]
        doublings = self.doublings[first, second]
        return Corrections.learnt(doublings, errors, shares, len(np.unique(groups)))

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
            repeated = times_run(self.groups[kept])
            weights = inverse_variance_weights(
                self.doublings[kept, j][:, None, :], repeated=repeated
            )[:, 0]
            predicted.append(math.exp(float(weights @ logs)))
        validation = LeaveOneOut(tuple(predicted), tuple(self.seconds.tolist()))
        if count < MIN_CONFIGURATIONS_FOR_SPREAD:
            return validation, math.nan, math.inf
        spread = left_out_spread(np.asarray(predicted), self.seconds, terms=1, groups=self.groups)
        return validation, spread.log_scale, spread.dof
