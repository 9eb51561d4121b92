"""The next run: which single experiment most reduces the expected cost of a wrong decision.

After some runs every composition that could be rented has a predicted time and a doubt, and one of
them would be chosen now. Another run may change that choice, and the better choice saves money
every time the job runs; the expected saving is the run's gain (the knowledge gradient of Frazier,
Powell and Dayanik, "The Knowledge-Gradient Policy for Correlated Normal Beliefs", 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from engine.belief import (
    RUN_NOISE,
    SMALLEST_SPREAD,
    Belief,
    expected_seconds,
    p_within,
)
from engine.forecast import FloatArray

OUTCOMES = 41
"""Equally likely outcomes of a run that are played through."""


@cache
def _outcomes() -> FloatArray:
    """(OUTCOMES,) standard normal quantiles at the middles of equal shares."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(OUTCOMES) + 0.5) / OUTCOMES))


@dataclass(frozen=True, eq=False)
class Decision:
    """What is to be decided: one of n compositions, rented every time the job runs.

    Args:
        usd_per_second: (n,) what each costs while it runs.
        deadline_seconds: None where only the cost counts.
        confidence: P(T <= deadline) that is asked for.
    """

    usd_per_second: FloatArray
    deadline_seconds: float | None
    confidence: float = 0.9

    def late_usd(self, belief: Belief) -> float:
        """What a missed deadline is worth: confidence / (1 - confidence) x the cost of what would
        be chosen.

        Who asks for a deadline at confidence P says with it that a miss is that many times worse
        than renting what is safe (the critical ratio of the newsvendor problem).
        """
        if self.deadline_seconds is None:
            return 0.0
        cost = self.usd_per_second * belief.seconds
        p = belief.p_within(self.deadline_seconds)
        safe = p >= min(self.confidence, float(np.nanmax(p)))
        return self.confidence / (1.0 - self.confidence) * float(np.nanmin(cost[safe]))

    def losses(self, mean: FloatArray, deviation: FloatArray, late_usd: float) -> FloatArray:
        """(...,) expected cost of each composition in USD, missed deadlines included; inf where
        the time is not known."""
        loss = self.usd_per_second * expected_seconds(mean, deviation)
        if self.deadline_seconds is not None:
            loss = loss + late_usd * (1.0 - p_within(mean, deviation, self.deadline_seconds))
        return np.asarray(np.where(np.isnan(loss), np.inf, loss))

    def best(self, belief: Belief) -> int:
        """Which composition has the least expected cost."""
        losses = self.losses(belief.mean, belief.deviation, self.late_usd(belief))
        return int(np.argmin(losses))


@dataclass(frozen=True, eq=False)
class Gains:
    """What each of m possible runs would teach about a decision.

    Args:
        gain_usd: (m,) expected saving each time the job runs, by choosing better.
        changes: (m,) probability that the choice changes.
    """

    gain_usd: FloatArray
    changes: FloatArray


def gains(decision: Decision, belief: Belief, n: int) -> Gains:
    """The knowledge gradient of m possible runs.

    Args:
        belief: over the n compositions of the decision, followed by the m places of the runs.
    """
    mean, covariance = belief.mean, belief.covariance
    now = belief.part(slice(0, n))
    late_usd = decision.late_usd(now)
    today = decision.losses(now.mean, now.deviation, late_usd)
    chosen = int(np.argmin(today))
    variance = np.square(now.deviation)
    m = len(mean) - n
    gain, changes = np.zeros(m), np.zeros(m)
    for place in range(m):
        at = n + place
        total = covariance[at, at] + RUN_NOISE**2
        if not np.isfinite(total) or not np.isfinite(mean[at]):
            continue
        slope = covariance[:n, at] / math.sqrt(total)
        deviation = np.sqrt(np.maximum(variance - np.square(slope), SMALLEST_SPREAD**2))
        after = now.mean + _outcomes()[:, None] * slope
        losses = decision.losses(after, deviation[None, :], late_usd)
        best = losses.argmin(axis=1)
        saved = losses[:, chosen] - losses[np.arange(len(best)), best]
        gain[place] = float(saved.mean())
        changes[place] = float((best != chosen).mean())
    return Gains(gain, changes)
