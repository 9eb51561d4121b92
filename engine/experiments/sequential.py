"""The next run: which single experiment most reduces the expected cost of a wrong decision.

After some runs every composition that could be rented has a predicted time and a doubt, and one of
them would be chosen now. Another run may change that choice, and the better choice saves money
every time the job runs; the expected saving is the run's gain (the knowledge gradient of Frazier,
Powell and Dayanik, "The Knowledge-Gradient Policy for Correlated Normal Beliefs", 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from engine.experiments.belief import RUNS_FOR_PROCESS, Belief, expected_seconds
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray
from engine.profile import Profile

OUTCOMES = 41
"""Equally likely outcomes of a run that are played through."""


OVER_BUDGET = 9.0
"""A dollar above the budget counts so many times more than one below it (of times: a hundredth
above it so many hundredths of the time), as a miss does that is to be avoided in nine of ten runs:
the budget binds the expected cost, and no node is worth that much."""


@cache
def _outcomes() -> FloatArray:
    """(OUTCOMES,) standard normal quantiles at the middles of equal shares."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(OUTCOMES) + 0.5) / OUTCOMES))


class Stakes(NamedTuple):
    """What a missed deadline is worth, and a budget exceeded by its whole amount."""

    late: float
    over: float


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
        dof: (n,) degrees of freedom of the time of a run; None for a normal law.
    """

    usd_per_second: FloatArray
    deadline_seconds: float | None
    confidence: float = 0.9
    fixed_usd: FloatArray | None = None
    budget_usd: float | None = None
    least: str = "cost"
    longer: FloatArray | None = None
    spread: FloatArray | None = None
    dof: FloatArray | None = None

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

    def held_up_times(self, told: Forecast) -> Forecast:
        """(n,) forecasts with what interruptions add to them."""
        mean = np.log(told.seconds)
        longer, _ = self.held_up(mean, told.log_scale)
        wider = told.rescaled(lambda scale: self.held_up(mean, scale)[1])
        return replace(wider, seconds=np.exp(longer))

    def times(self, mean: FloatArray, deviation: FloatArray) -> Forecast:
        """(..., n) times that are held up already, as forecasts."""
        return Forecast.of(np.exp(mean), deviation, np.inf if self.dof is None else self.dof)

    def costs(self, seconds: FloatArray) -> FloatArray:
        """(..., n) cost in USD of so many seconds."""
        cost = self.usd_per_second * seconds
        return np.asarray(cost if self.fixed_usd is None else cost + self.fixed_usd)

    def p_within(self, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """(..., n) P(T <= deadline) of times that are held up already."""
        assert self.deadline_seconds is not None
        return self.times(mean, deviation).p_within(self.deadline_seconds)

    def stakes(self, belief: Belief) -> Stakes:
        """What broken promises are worth.

        A missed deadline: confidence / (1 - confidence) x the cost (or time) of what would be
        chosen. Who asks for a deadline at confidence P says with it that a miss is that many times
        worse than renting what is safe (the critical ratio of the newsvendor problem).

        A budget that is exceeded by its whole amount: `OVER_BUDGET` x that amount (or the time).
        """
        if self.deadline_seconds is None and self.budget_usd is None:
            return Stakes(0.0, 0.0)
        mean, deviation = self.held_up(belief.mean, belief.deviation)
        cost, aim = self._costs_and_aims(expected_seconds(mean, deviation))
        safe = np.isfinite(cost) & np.isfinite(aim)
        over = 0.0
        if self.budget_usd is not None:
            dear = np.where(safe, np.maximum(cost, self.budget_usd), np.inf)
            least_dear = safe & (dear <= float(dear.min()))
            scale = self.budget_usd if self.least == "cost" else _least(aim, least_dear)
            over = OVER_BUDGET * scale
            safe = least_dear
        if self.deadline_seconds is None:
            return Stakes(0.0, over)
        p = np.where(safe, self.p_within(mean, deviation), -1.0)
        safe &= p >= min(self.confidence, float(p.max()))
        return Stakes(self.confidence / (1.0 - self.confidence) * _least(aim, safe), over)

    def _costs_and_aims(self, seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., n) cost in USD, and what is to be the least."""
        cost = self.costs(seconds)
        return cost, cost if self.least == "cost" else seconds

    def losses(self, mean: FloatArray, deviation: FloatArray, stakes: Stakes) -> FloatArray:
        """(..., n) expected cost in USD of each composition (or time in seconds), with what broken
        promises are worth: a deadline that is kept less surely than was asked, a budget exceeded;
        inf where the time is not known."""
        mean, deviation = self.held_up(mean, deviation)
        cost, loss = self._costs_and_aims(expected_seconds(mean, deviation))
        if self.budget_usd is not None:
            loss = loss + stakes.over * np.maximum(cost / self.budget_usd - 1.0, 0.0)
        if self.deadline_seconds is not None:
            short = self.confidence - self.p_within(mean, deviation)
            loss = loss + stakes.late / self.confidence * np.maximum(short, 0.0)
        return np.asarray(np.where(np.isnan(loss), np.inf, loss))

    @cached_property
    def _reach(self) -> FloatArray | float:
        """(n,) scales above the middle up to which a run stays at the confidence asked for."""
        known = self.times(np.zeros(len(self.usd_per_second)), np.asarray(1.0))
        return np.log(known.quantile(self.confidence))

    def choices(self, mean: FloatArray, deviation: FloatArray) -> IntArray:
        """(...) which composition is recommended, by the rule of `engine.recommend`: of those that
        keep what was promised, as surely as was asked, the cheapest (or fastest) at its predicted
        time; where none does, the nearest miss: the time that could be promised over the deadline,
        the cost over the budget, or the larger of the two."""
        mean, deviation = self.held_up(mean, deviation)
        cost, aim = self._costs_and_aims(np.exp(mean))
        kept, violation = np.isfinite(aim), np.full(np.shape(mean), -np.inf)
        if self.deadline_seconds is not None:
            late = mean + self._reach * deviation - math.log(self.deadline_seconds)
            kept, violation = kept & (late <= 0.0), late
        if self.budget_usd is not None:
            kept = kept & (cost <= self.budget_usd)
            violation = np.maximum(violation, np.log(cost / self.budget_usd))
        violation = np.where(np.isfinite(aim), violation, np.inf)
        any_kept = kept.any(axis=-1, keepdims=True)
        return np.asarray(
            np.where(any_kept, np.where(kept, aim, np.inf), violation).argmin(axis=-1)
        )

    def best(self, belief: Belief) -> int:
        """Which composition is recommended."""
        return int(self.choices(belief.mean, belief.deviation))

    def taken(self, places: IntArray) -> Decision:
        """Of some of the compositions, in their order, also several times."""
        arrays = ("usd_per_second", "fixed_usd", "longer", "spread", "dof")
        values = {name: getattr(self, name) for name in arrays}
        return replace(
            self, **{name: value[places] for name, value in values.items() if value is not None}
        )


def _least(values: FloatArray, among: BoolArray) -> float:
    """The least of some values; 0 of none."""
    return float(values[among].min()) if among.any() else 0.0


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


def is_opening(profile: Profile) -> bool:
    """Whether so few run times are known that the belief is hardly more than its prior, which the
    next run is to test: fewer than `RUNS_FOR_PROCESS`, and no log."""
    return len(profile.runs) < RUNS_FOR_PROCESS and not profile.has_stages


def told(belief: Belief, n: int) -> FloatArray:
    """(m,) what each possible run tells of all compositions: how much variance of log time it takes
    from them together (A-optimality; under a normal law it is known before the run is made).

    Args:
        belief: as for `gains`.
    """
    own = np.diag(belief.covariance)[n:]
    across = np.square(belief.covariance[:n, n:]).sum(axis=0)
    with np.errstate(invalid="ignore"):
        found = across / (own + np.square(belief.noise[n:]))
    return np.asarray(np.where(np.isfinite(found) & np.isfinite(belief.mean[n:]), found, 0.0))


def gains(decision: Decision, belief: Belief, n: int) -> Gains:
    """The knowledge gradient of m possible runs.

    Args:
        belief: over the n compositions of the decision, followed by the m places of the runs.
    """
    mean, covariance = belief.mean, belief.covariance
    now = belief.taken(slice(0, n))
    stakes = decision.stakes(now)
    chosen = decision.best(now)
    variance = np.diag(now.covariance)

    def lost(places: IntArray, after: FloatArray, deviation: FloatArray) -> FloatArray:
        """(OUTCOMES,) the loss of one composition in each outcome."""
        own = after[np.arange(OUTCOMES), places]
        return decision.taken(places).losses(own, deviation[places], stakes)

    m = len(mean) - n
    gain, changes = np.zeros(m), np.zeros(m)
    for place in range(m):
        at = n + place
        total = covariance[at, at] + belief.noise[at] ** 2
        if not np.isfinite(total) or not np.isfinite(mean[at]):
            continue
        slope = covariance[:n, at] / math.sqrt(total)
        deviation = now.scale_at(variance - np.square(slope))
        after = now.mean + _outcomes()[:, None] * slope
        best = decision.choices(after, deviation[None, :])
        saved = lost(np.full(OUTCOMES, chosen), after, deviation)
        saved -= lost(best, after, deviation)
        gain[place] = max(0.0, float(saved.mean()))
        changes[place] = float((best != chosen).mean())
    return Gains(gain, changes)
