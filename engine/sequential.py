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
        usd_per_second: (n,) what each costs more for every second that it runs longer.
        deadline_seconds: None where none is asked for.
        confidence: P(T <= deadline) that is asked for.
        fixed_usd: (n,) what each costs beside that (start-up, rounding); None for nothing.
        budget_usd: the expected cost may not exceed it; None for no budget.
        least: whether the "cost" or the "time" is to be the least.
        longer, spread: (n,) log of how much longer than believed a run is expected to take, and the
            standard deviation of that (interruptions of spot nodes); None for neither.
    """

    usd_per_second: FloatArray
    deadline_seconds: float | None
    confidence: float = 0.9
    fixed_usd: FloatArray | None = None
    budget_usd: float | None = None
    least: str = "cost"
    longer: FloatArray | None = None
    spread: FloatArray | None = None

    @property
    def weighs(self) -> str:
        """What counts, in words."""
        if self.least == "time":
            words = ["time"]
        else:
            words = ["cost" if self.deadline_seconds or self.budget_usd else "expected cost"]
        words += ["lateness"] if self.deadline_seconds is not None else []
        words += ["the budget"] if self.budget_usd is not None else []
        return " and ".join([", ".join(words[:-1]), words[-1]] if words[:-1] else words)

    def held_up(self, mean: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., n) mean and deviation of log time with what interruptions add to them."""
        if self.longer is not None:
            mean = mean + self.longer
        return mean, deviation if self.spread is None else np.hypot(deviation, self.spread)

    def costs(self, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """(..., n) expected cost in USD of times that are held up already."""
        cost = self.usd_per_second * expected_seconds(mean, deviation)
        return np.asarray(cost if self.fixed_usd is None else cost + self.fixed_usd)

    def failure(self, belief: Belief) -> float:
        """What a missed deadline or a broken budget is worth: confidence / (1 - confidence) x the
        cost (or time) of what would be chosen.

        Who asks for a deadline at confidence P says with it that a miss is that many times worse
        than renting what is safe (the critical ratio of the newsvendor problem). The same is taken
        of a budget, which binds the expected cost, and more the further it is exceeded.
        """
        if self.deadline_seconds is None and self.budget_usd is None:
            return 0.0
        mean, deviation = self.held_up(belief.mean, belief.deviation)
        cost = self.costs(mean, deviation)
        aim = cost if self.least == "cost" else expected_seconds(mean, deviation)
        safe = np.isfinite(aim)
        if self.budget_usd is not None and (safe & (cost <= self.budget_usd)).any():
            safe &= cost <= self.budget_usd
        if self.deadline_seconds is not None:
            p = np.where(safe, p_within(mean, deviation, self.deadline_seconds), -1.0)
            safe &= p >= min(self.confidence, float(p.max()))
        least = float(aim[safe].min()) if safe.any() else 0.0
        return self.confidence / (1.0 - self.confidence) * least

    def losses(self, mean: FloatArray, deviation: FloatArray, failure: float) -> FloatArray:
        """(..., n) expected cost in USD of each composition (or time in seconds), missed deadlines
        and broken budgets included; inf where the time is not known."""
        mean, deviation = self.held_up(mean, deviation)
        cost = self.costs(mean, deviation)
        loss = cost if self.least == "cost" else expected_seconds(mean, deviation)
        if self.deadline_seconds is not None:
            loss = loss + failure * (1.0 - p_within(mean, deviation, self.deadline_seconds))
        if self.budget_usd is not None:
            share = cost / self.budget_usd
            loss = loss + failure * np.where(share > 1.0, share, 0.0)
        return np.asarray(np.where(np.isnan(loss), np.inf, loss))

    def best(self, belief: Belief) -> int:
        """Which composition has the least expected loss."""
        losses = self.losses(belief.mean, belief.deviation, self.failure(belief))
        return int(np.argmin(losses))


@dataclass(frozen=True, eq=False)
class Gains:
    """What each of m possible runs would teach about a decision.

    Args:
        gain: (m,) expected saving each time the job runs, by choosing better: in USD, or in seconds
            where the time is to be the least.
        changes: (m,) probability that the choice changes.
    """

    gain: FloatArray
    changes: FloatArray


def gains(decision: Decision, belief: Belief, n: int) -> Gains:
    """The knowledge gradient of m possible runs.

    Args:
        belief: over the n compositions of the decision, followed by the m places of the runs.
    """
    mean, covariance = belief.mean, belief.covariance
    now = belief.part(slice(0, n))
    failure = decision.failure(now)
    today = decision.losses(now.mean, now.deviation, failure)
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
        losses = decision.losses(after, deviation[None, :], failure)
        best = losses.argmin(axis=1)
        saved = losses[:, chosen] - losses[np.arange(len(best)), best]
        gain[place] = float(saved.mean())
        changes[place] = float((best != chosen).mean())
    return Gains(gain, changes)
