"""The knowledge gradient of a next run: by how much it lowers the expected cost of the decision.

After some runs every composition that could be rented has a predicted time with an uncertainty, and
one of them would be chosen now. Another run may change that choice, and the better choice saves
money every time the job runs. The expected saving is the run's gain, after the knowledge gradient
of Frazier, Powell and Dayanik, "The Knowledge-Gradient Policy for Correlated Normal Beliefs", 2009,
with two differences. The choice follows the rule of `engine.recommend` instead of minimising the
expected loss, so that a saving may be negative, and then counts as 0. And the loss contains
penalties for a missed deadline or budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from engine.experiments.belief import MIN_RUNS_FOR_GAUSSIAN_PROCESS, Belief, expected_seconds
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray
from engine.profile import Profile
from engine.special_functions import ndtri

OUTCOMES = 41
"""Equally likely outcomes of a run over which the gain is averaged."""

OVER_BUDGET = 9.0
"""Penalty for exceeding the budget, per dollar (where time is minimised, in shares of the time per
share of the budget). It is that of a deadline missed at 90 %: the budget binds the expected cost,
and no node is worth that much."""


@cache
def _outcomes() -> FloatArray:
    """(OUTCOMES,) standard normal quantiles at the midpoints of equal probability intervals."""
    return np.asarray(ndtri((np.arange(OUTCOMES) + 0.5) / OUTCOMES))


class Penalties(NamedTuple):
    """What broken promises cost, in the unit of the objective: a missed deadline, and a budget
    exceeded by its whole amount."""

    missed_deadline: float
    exceeded_budget: float


@dataclass(frozen=True, eq=False)
class Decision:
    """The decision problem: which of n compositions to rent every time the job runs.

    Args:
        usd_per_second: (n,) marginal cost of each second of a run.
        deadline_seconds: None for no deadline.
        confidence: the required P(T <= deadline).
        fixed_usd: (n,) cost that does not grow with the time (start-up, rounding); None for none.
        budget_usd: the expected cost may not exceed it; None for no budget.
        minimises: the objective, "cost" or "time".
        log_slowdown: (n,) log of the factor by which interruptions of spot nodes are expected to
            lengthen a run; None for none.
        slowdown_log_scale: (n,) standard deviation of log time that they add; None for none.
        dof: (n,) degrees of freedom of log time, Student's t; None for a normal distribution.
    """

    usd_per_second: FloatArray
    deadline_seconds: float | None
    confidence: float = 0.9
    fixed_usd: FloatArray | None = None
    budget_usd: float | None = None
    minimises: str = "cost"
    log_slowdown: FloatArray | None = None
    slowdown_log_scale: FloatArray | None = None
    dof: FloatArray | None = None

    @property
    def criteria(self) -> str:
        """The criteria of the decision, in words."""
        if self.minimises == "time":
            criteria = ["time"]
        else:
            criteria = ["cost" if self.deadline_seconds or self.budget_usd else "expected cost"]
        criteria += ["lateness"] if self.deadline_seconds is not None else []
        criteria += ["the budget"] if self.budget_usd is not None else []
        return " and ".join([", ".join(criteria[:-1]), criteria[-1]] if criteria[:-1] else criteria)

    def with_interruptions(
        self, mean: FloatArray, deviation: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(..., n) mean and standard deviation of log time, with interruptions added."""
        if self.log_slowdown is not None:
            mean = mean + self.log_slowdown
        return mean, deviation if self.slowdown_log_scale is None else np.hypot(
            deviation, self.slowdown_log_scale
        )

    def interrupted_forecast(self, forecast: Forecast) -> Forecast:
        """(n,) forecasts with interruptions added."""
        mean = np.log(forecast.seconds)
        longer_mean, _ = self.with_interruptions(mean, forecast.log_scale)
        wider = forecast.rescaled(lambda scale: self.with_interruptions(mean, scale)[1])
        return replace(wider, seconds=np.exp(longer_mean))

    def times(self, mean: FloatArray, deviation: FloatArray) -> Forecast:
        """(..., n) log times that include interruptions, as forecasts."""
        return Forecast.of(np.exp(mean), deviation, np.inf if self.dof is None else self.dof)

    def costs(self, seconds: FloatArray) -> FloatArray:
        """(..., n) cost in USD of runs of (..., n) `seconds`."""
        cost = self.usd_per_second * seconds
        return np.asarray(cost if self.fixed_usd is None else cost + self.fixed_usd)

    def p_within(self, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """(..., n) P(T <= deadline) of log times that include interruptions."""
        assert self.deadline_seconds is not None
        return self.times(mean, deviation).p_within(self.deadline_seconds)

    def penalties(self, belief: Belief) -> Penalties:
        """The penalties for breaking the goal, by the current belief.

        A missed deadline: confidence / (1 - confidence) x the cost (or time) of the composition
        that would be chosen. Asking for a deadline at confidence P implies that a miss is that many
        times worse than renting the safe choice (the critical ratio of the newsvendor problem). A
        composition that costs nothing, of owned nodes alone, does not show what that is worth: the
        others decide.

        A budget exceeded by its whole amount: `OVER_BUDGET` x that amount (or the time).
        """
        if self.deadline_seconds is None and self.budget_usd is None:
            return Penalties(0.0, 0.0)
        mean, deviation = self.with_interruptions(belief.mean, belief.deviation)
        cost, objective = self._costs_and_objective(expected_seconds(mean, deviation))
        eligible = np.isfinite(cost) & np.isfinite(objective)
        exceeded_budget = 0.0
        if self.budget_usd is not None:
            cost_or_budget = np.where(eligible, np.maximum(cost, self.budget_usd), np.inf)
            cheapest = eligible & (cost_or_budget <= float(cost_or_budget.min()))
            unit = self.budget_usd if self.minimises == "cost" else _least(objective, cheapest)
            exceeded_budget = OVER_BUDGET * unit
            eligible = cheapest
        if self.deadline_seconds is None:
            return Penalties(0.0, exceeded_budget)
        eligible &= objective > 0.0
        p = np.where(eligible, self.p_within(mean, deviation), -1.0)
        eligible &= p >= min(self.confidence, float(p.max()))
        return Penalties(
            self.confidence / (1.0 - self.confidence) * _least(objective, eligible), exceeded_budget
        )

    def _costs_and_objective(self, seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., n) cost in USD, and the objective to minimise (that cost, or the time)."""
        cost = self.costs(seconds)
        return cost, cost if self.minimises == "cost" else seconds

    def losses(self, mean: FloatArray, deviation: FloatArray, penalties: Penalties) -> FloatArray:
        """(..., n) expected loss of each composition: its cost in USD (or time in seconds) plus
        the penalties for a deadline met with less than the required probability and for an exceeded
        budget; inf where the time is unknown."""
        mean, deviation = self.with_interruptions(mean, deviation)
        cost, loss = self._costs_and_objective(expected_seconds(mean, deviation))
        if self.budget_usd is not None:
            loss = loss + penalties.exceeded_budget * np.maximum(cost / self.budget_usd - 1.0, 0.0)
        if self.deadline_seconds is not None:
            shortfall = self.confidence - self.p_within(mean, deviation)
            loss = loss + penalties.missed_deadline / self.confidence * np.maximum(shortfall, 0.0)
        return np.asarray(np.where(np.isnan(loss), np.inf, loss))

    @cached_property
    def _confidence_quantile(self) -> FloatArray | float:
        """(n,) standardised quantile of log time at the required confidence, in scales."""
        known = self.times(np.zeros(len(self.usd_per_second)), np.asarray(1.0))
        return np.log(known.quantile(self.confidence))

    def choices(self, mean: FloatArray, deviation: FloatArray) -> IntArray:
        """(...) index of the recommended composition, by the rule of `engine.recommend`: of those
        that meet the deadline at the required confidence and the budget, the cheapest (or fastest)
        at its predicted time. Where none does, the nearest miss: the least ratio of the time at
        that confidence to the deadline, of the cost to the budget, or of the larger of the two."""
        mean, deviation = self.with_interruptions(mean, deviation)
        cost, objective = self._costs_and_objective(np.exp(mean))
        satisfies, violation = np.isfinite(objective), np.full(np.shape(mean), -np.inf)
        if self.deadline_seconds is not None:
            log_lateness = (
                mean + self._confidence_quantile * deviation - math.log(self.deadline_seconds)
            )
            satisfies, violation = satisfies & (log_lateness <= 0.0), log_lateness
        if self.budget_usd is not None:
            satisfies = satisfies & (cost <= self.budget_usd)
            violation = np.maximum(violation, np.log(cost / self.budget_usd))
        violation = np.where(np.isfinite(objective), violation, np.inf)
        any_satisfies = satisfies.any(axis=-1, keepdims=True)
        return np.asarray(
            np.where(any_satisfies, np.where(satisfies, objective, np.inf), violation).argmin(
                axis=-1
            )
        )

    def best(self, belief: Belief) -> int:
        """The index of the recommended composition."""
        return int(self.choices(belief.mean, belief.deviation))

    def take(self, indices: IntArray) -> Decision:
        """The decision among some of the compositions, repeated or reordered."""
        arrays = ("usd_per_second", "fixed_usd", "log_slowdown", "slowdown_log_scale", "dof")
        values = {name: getattr(self, name) for name in arrays}
        return replace(
            self, **{name: value[indices] for name, value in values.items() if value is not None}
        )


def _least(values: FloatArray, where: BoolArray) -> float:
    """The minimum of the values at a mask; 0 where it is empty."""
    return float(values[where].min()) if where.any() else 0.0


@dataclass(frozen=True, eq=False)
class Gains:
    """The value of each of m candidate runs for a decision.

    Args:
        gain: (m,) knowledge gradient, the expected saving each time the job runs: in USD, or in
            seconds where the time is minimised.
        changes: (m,) probability that the choice changes.
    """

    gain: FloatArray
    changes: FloatArray


def is_opening(profile: Profile) -> bool:
    """Whether the belief is hardly more than its prior, which the next runs should test: there are
    fewer than `MIN_RUNS_FOR_GAUSSIAN_PROCESS` run times, and no log."""
    return len(profile.runs) < MIN_RUNS_FOR_GAUSSIAN_PROCESS and not profile.has_stages


def variance_reduction(belief: Belief, n: int) -> FloatArray:
    """(m,) total variance of log time that each candidate run removes from all compositions.

    The criterion of I-optimal designs (the summed variance of predictions), for one run at a time.
    Under a normal distribution it is known before the run is made.

    Args:
        belief: as for `gains`.
        n: the number of compositions.
    """
    variance = np.diag(belief.covariance)[n:]
    across = np.square(belief.covariance[:n, n:]).sum(axis=0)
    with np.errstate(invalid="ignore"):
        reduction = across / (variance + np.square(belief.noise[n:]))
    return np.asarray(
        np.where(np.isfinite(reduction) & np.isfinite(belief.mean[n:]), reduction, 0.0)
    )


def gains(decision: Decision, belief: Belief, n: int) -> Gains:
    """The knowledge gradient of m candidate runs.

    Given one run's outcome, the posterior of all compositions is known in closed form. The gain is
    the mean, over `OUTCOMES` outcomes, of the loss that the composition recommended then saves
    against the current one, penalties included; at least 0.

    Args:
        belief: over the n compositions of the decision, followed by the m points of the runs.
        n: the number of compositions.
    """
    mean, covariance = belief.mean, belief.covariance
    now = belief.take(slice(0, n))
    penalties = decision.penalties(now)
    current = decision.best(now)
    variance = np.diag(now.covariance)

    def losses_of(compositions: IntArray, after: FloatArray, deviation: FloatArray) -> FloatArray:
        """(OUTCOMES,) loss of the composition at each index, one for each outcome."""
        own_mean = after[np.arange(OUTCOMES), compositions]
        return decision.take(compositions).losses(own_mean, deviation[compositions], penalties)

    m = len(mean) - n
    gain, changes = np.zeros(m), np.zeros(m)
    for index in range(m):
        run = n + index
        predictive_variance = covariance[run, run] + belief.noise[run] ** 2
        if not np.isfinite(predictive_variance) or not np.isfinite(mean[run]):
            continue
        slope = covariance[:n, run] / math.sqrt(predictive_variance)
        deviation = now.scale_at(variance - np.square(slope))
        after = now.mean + _outcomes()[:, None] * slope
        best = decision.choices(after, deviation[None, :])
        saving = losses_of(np.full(OUTCOMES, current), after, deviation)
        saving -= losses_of(best, after, deviation)
        gain[index] = max(0.0, float(saving.mean()))
        changes[index] = float((best != current).mean())
    return Gains(gain, changes)
