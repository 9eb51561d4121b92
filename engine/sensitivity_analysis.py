"""Sensitivity analysis of a recommendation: another hour or dollar, where it changes, how far it
holds.

Each figure comes from the optimiser with a changed goal, so it is a recommendation of its own and
not a slope. "The promised time" of a cluster is the shortest deadline that it meets at the goal's
confidence (without an interval: its predicted time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.bracketing import largest_kept
from engine.catalog import Billing
from engine.choosing.recommendation import (
    HARDLY_SLOWER,
    Change,
    Choice,
    Goal,
    Recommendation,
    Sensitivity,
)
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.cost import billed_seconds
from engine.errors import EngineError
from engine.mixing.composition import PlacedComposition
from engine.notices import Notice
from engine.text.reachable import factor_steps_per_unit, promised_seconds
from engine.units import SECONDS_PER_HOUR

NOTABLE_SAVING = 0.05
"""The first looser limit is the next that improves the objective at all; each further one must
improve it by this share more."""

MOST_STEPS = 3
_MAX_LIMITS_TRIED = 24

_DEADLINE_STEP, _MAX_DEADLINE_STEPS = 1.25, 6
"""Growth and number of the deadlines tried where none is known to suffice: up to four times the
present one."""

_MAX_EARLIER_DEADLINES = 4
"""The most earlier deadlines tried below one that suffices."""

_MAX_INPUT_FACTOR = 1024.0
"""The largest input that is tried, in multiples of the present one."""

_INPUT_FACTOR_TOLERANCE = 1e-3
"""Relative width to which the largest input is narrowed down."""

Ask = Callable[[Goal], Recommendation]


@dataclass(frozen=True, eq=False)
class SensitivityAnalysis:
    """The sensitivity analysis of one recommendation.

    Args:
        ask: the optimiser, on this surface and billing.
        best: the recommended choice.
        steps: whether the next looser limits can be read off the surface, which holds clusters of
            one type alone; those of mixes are searched for (`_looser_of_mixes`).
    """

    ask: Ask
    surface: Surface
    goal: Goal
    billing: Billing
    best: Choice
    steps: bool

    def sensitivity(self) -> Sensitivity:
        """The whole analysis, and whether every search behind it was proven optimal: also that for
        looser limits on the surface."""
        proven: list[bool] = []

        def ask(goal: Goal) -> Recommendation:
            answer = self.ask(goal)
            proven.append(answer.optimal)
            return answer

        answers = replace(self, ask=ask)._answers()
        return replace(answers, optimal=all(proven) and (not self.steps or self.surface.is_precise))

    def _answers(self) -> Sensitivity:
        promised, cost = self._promised(self.best), self.best.cost_usd or 0.0
        until, note, warnings = self._holds_until(promised)
        bound_by_time = self.goal.deadline_seconds is not None
        by_budget = self.goal.budget_usd is not None
        below = below_budget = self._below_budget(cost)
        if bound_by_time:
            below = self._change(replace(self.goal, deadline_seconds=promised * (1.0 - 1e-6)))
        return Sensitivity(
            one_more_hour=self._one_more_hour(promised),
            one_more_dollar=self._one_more_dollar(cost),
            least_deadline_seconds=promised if bound_by_time else None,
            least_budget_usd=cost if by_budget and cost > 0.0 else None,
            below=below,
            below_budget=below_budget,
            looser=tuple(self._looser_on_surface() if self.steps else self._looser_of_mixes()),
            holds_until=until,
            holds_note=note,
            holds_warnings=warnings,
            hardly_slower=self._hardly_slower(),
        )

    def _one_more_hour(self, promised: float) -> Change | None:
        """The cheapest with an hour more than the deadline. Where the time is minimised, and
        without a deadline, it is an hour more than the promised time: a deadline that does not bind
        allows slower clusters without being loosened."""
        allowed = None if self.goal.by_time else self.goal.deadline_seconds
        deadline = (allowed or promised) + SECONDS_PER_HOUR
        objective = "cost" if self.goal.by_time else self.goal.objective
        change = self._change(replace(self.goal, deadline_seconds=deadline, objective=objective))
        if change is None:
            return None
        if self.goal.by_resource:
            least = (self.best.vcore_seconds or 0.0) * TIE
            return change if change.saved_vcore_seconds > least else None
        return change if change.saved_usd > (self.best.cost_usd or 0.0) * TIE else None

    def _one_more_dollar(self, cost: float) -> Change | None:
        """The fastest with a dollar more than the budget; more than the cost of the answer where
        there is no budget or the time is not minimised."""
        budget = (self.goal.budget_usd or cost) if self.goal.by_time else cost
        change = self._change(
            replace(self.goal, deadline_seconds=None, budget_usd=budget + 1.0, objective="time")
        )
        return change if change and change.saved_seconds > self.best.seconds * TIE else None

    def _hardly_slower(self) -> Change | None:
        """The cheapest within a negligible difference in time (`HARDLY_SLOWER`): the fastest may be
        dearer by half for a millionth of the time."""
        if not self.goal.by_time:
            return None
        latest = self.best.seconds * (1.0 + HARDLY_SLOWER)
        asked = replace(self.goal, deadline_seconds=latest, confidence=0.5, objective="cost")
        change = self._change(asked)
        if change is None or change.promised > (self.goal.deadline_seconds or math.inf):
            return None
        return change if change.saved_usd > (self.best.cost_usd or 0.0) * HARDLY_SLOWER else None

    def _below_budget(self, cost: float) -> Change | None:
        """The answer to a budget just below the present cost. None without a budget, or where
        nothing keeps it: under a deadline the cheapest choice is the last to keep a falling budget.
        An answer of owned nodes alone may cost nothing, and keeps every budget."""
        cheapest = self.goal.deadline_seconds is not None and self.goal.minimises == "cost"
        if self.goal.budget_usd is None or cost <= 0.0 or cheapest:
            return None
        return self._change(replace(self.goal, budget_usd=cost * (1.0 - 1e-6)))

    def _looser_on_surface(self) -> Iterator[Change]:
        """The next looser deadlines (budgets, where the time is minimised) that improve the
        objective, from the surface."""
        last_value, shown = self._value(self.best), 0
        for limit in self._looser_limits():
            by_time, slightly_more = self.goal.by_time, limit * (1.0 + 1e-9)
            change = self._change(
                replace(self.goal, budget_usd=slightly_more)
                if by_time
                else replace(self.goal, deadline_seconds=slightly_more)
            )
            if change is None:
                continue
            value = self._value(change)
            if value >= last_value * (1.0 - (NOTABLE_SAVING if shown else TIE)):
                continue
            last_value, shown = value, shown + 1
            # The optimiser evaluates exactly: the limit may be a little less than on the surface.
            if by_time:
                yield replace(change, budget_usd=change.cost_usd)
            else:
                yield replace(change, deadline_seconds=change.promised)
            if shown == MOST_STEPS:
                return

    def _looser_of_mixes(self) -> Iterator[Change]:
        """The next looser limits that improve the objective by `NOTABLE_SAVING`: between mixes
        there are countless small steps. The deadline for a cost is the time of the fastest within
        that cost; the budget for a time is the cost of the cheapest that takes no longer."""
        last_value = self._value(self.best)
        for _ in range(MOST_STEPS):
            if last_value <= 0.0:  # it cannot improve on 0
                return
            change = self._step_to(last_value * (1.0 - NOTABLE_SAVING))
            if change is None or self._value(change) >= last_value * (1.0 - NOTABLE_SAVING) * (
                1.0 + TIE
            ):
                return
            last_value = self._value(change)
            yield change

    def _step_to(self, value: float) -> Change | None:
        """The answer to the least loosening with which the objective is at most `value`."""
        goal = self.goal
        if goal.by_time:
            if goal.budget_usd is None:
                return None
            asked = replace(
                goal, deadline_seconds=value, budget_usd=None, confidence=0.5, objective="cost"
            )
            cheapest = self._change(asked)
            if cheapest is None or cheapest.cost_usd <= goal.budget_usd:
                return None
            return self._change(replace(goal, budget_usd=cheapest.cost_usd))
        if goal.deadline_seconds is None:
            return None
        for deadline in self._deadlines(value):
            change = self._change(replace(goal, deadline_seconds=deadline * (1.0 + 1e-9)))
            if change is not None and self._value(change) <= value * (1.0 + TIE):
                return self._with_least_deadline(change, value)
        return None

    def _with_least_deadline(self, change: Change, value: float) -> Change:
        """The answer with the least deadline at which the objective is at most `value`: a cluster
        that is slower on average may have a narrower interval, and so a shorter promised time."""
        for _ in range(_MAX_EARLIER_DEADLINES):
            just_earlier = change.promised * (1.0 - 1e-6)
            earlier = self._change(replace(self.goal, deadline_seconds=just_earlier))
            if earlier is None or self._value(earlier) > value * (1.0 + TIE):
                break
            change = earlier
        return replace(change, deadline_seconds=change.promised)

    def _deadlines(self, value: float) -> Iterator[float]:
        """Candidate deadlines beyond the present one, one of which may suffice for `value`."""
        goal, start = self.goal, self.goal.deadline_seconds or math.inf
        if not goal.by_resource and value <= goal.most_usd:
            fastest = self._change(
                replace(goal, deadline_seconds=None, budget_usd=value, objective="time")
            )
            if fastest is not None and fastest.promised > start:
                yield fastest.promised
        for step in range(1, _MAX_DEADLINE_STEPS + 1):
            yield start * _DEADLINE_STEP**step

    def _looser_limits(self) -> Iterator[float]:
        """Deadlines (budgets) beyond the present one at which a better cluster becomes feasible."""
        m = self.goal.max_nodes
        promised = np.exp(self.surface.log_least_deadlines(self.goal.confidence)[:, :m]).ravel()
        costs, seconds = self.surface.costs(self.billing)[:, :m], self.surface.seconds[:, :m]
        if self.goal.by_time:
            limits, values, now = costs.ravel(), seconds.ravel(), self.goal.most_usd
        else:
            limits, values = promised, costs.ravel()
            now = self.goal.deadline_seconds or math.inf
        if self.goal.by_resource:
            values = self.surface.vcore_seconds[:, :m].ravel()
        beyond = (limits > now) & np.isfinite(limits) & (values < self._value(self.best))
        if not self.goal.by_time and self.goal.budget_usd is not None:
            beyond &= costs.ravel() <= self.goal.most_usd
        indices = np.flatnonzero(beyond)
        indices = indices[np.argsort(limits[indices], kind="stable")]
        count, lowest = 0, math.inf
        for index in indices.tolist():
            if values[index] >= lowest * (1.0 - (NOTABLE_SAVING if count else 0.0)):
                continue
            count, lowest = count + 1, float(values[index])
            yield float(limits[index])
            if count == _MAX_LIMITS_TRIED:
                return

    def _value(self, of: Choice | Change) -> float:
        """The value of the objective."""
        if self.goal.by_time:
            return of.seconds
        if not self.goal.by_resource:
            return of.cost_usd or 0.0
        before = self.best.vcore_seconds or 0.0
        return before - of.saved_vcore_seconds if isinstance(of, Change) else of.vcore_seconds or 0

    def _change(self, goal: Goal) -> Change | None:
        """The answer to a changed goal, compared with the present one."""
        choice = self.ask(goal).recommended
        if choice is None or choice.cost_usd is None:
            return None
        return Change(
            deadline_seconds=goal.deadline_seconds,
            budget_usd=goal.budget_usd,
            composition=dict(choice.composition),
            seconds=choice.seconds,
            promised=self._promised(choice),
            cost_usd=choice.cost_usd,
            saved_usd=(self.best.cost_usd or 0.0) - choice.cost_usd,
            saved_seconds=self.best.seconds - choice.seconds,
            saved_vcore_seconds=(self.best.vcore_seconds or 0.0) - (choice.vcore_seconds or 0.0),
            spot=dict(choice.spot),
        )

    def _promised(self, choice: Choice) -> float:
        """The promised time of a choice (`promised_seconds`)."""
        forecast = self._placed(choice).forecast(self.surface.workload)
        return float(promised_seconds(forecast, self.goal.confidence)[0])

    def _placed(self, choice: Choice) -> PlacedComposition:
        return PlacedComposition.on(self.surface, choice.composition, spot=choice.spot)

    def _holds_until(self, promised: float) -> tuple[float | None, str, tuple[Notice, ...]]:
        """The largest input, in multiples of the present one, with which the answer still satisfies
        the goal; or why none can be named."""
        goal = self.goal
        if goal.deadline_seconds is None and goal.budget_usd is None:
            return None, "without a deadline or a budget any input will do", ()
        late = _log_ratio(promised, goal.deadline_seconds or math.inf)
        at_one = max(late, _log_ratio(self.best.cost_usd or 0.0, goal.most_usd))
        try:
            times = largest_kept(
                self._log_excess,
                at_one=at_one,
                most=_MAX_INPUT_FACTOR,
                steps_per_unit=factor_steps_per_unit,
                tolerance=_INPUT_FACTOR_TOLERANCE,
            )
            if times is None:
                most = f"{_MAX_INPUT_FACTOR:g} times the input, the most that is tried"
                return None, f"the goal is kept at {most}", ()
            return times, "", self._new_warnings(times)
        except EngineError as error:
            return None, f"the model cannot say: {error.what}", ()

    def _log_excess(self, times: float) -> float:
        """The logarithm of how many times as long, or as much, as allowed the answer takes or costs
        with `times` the input, whichever is more: at most 0 where it satisfies the goal."""
        forecast = self._placed(self.best).forecast(self.surface.workload.times(times))
        seconds = float(forecast.seconds[0])
        if not math.isfinite(seconds):
            return math.inf
        deadline = self.goal.deadline_seconds or math.inf
        sure = float(forecast.quantile(self.goal.confidence)[0])
        if not math.isnan(sure):
            late = _log_ratio(sure, deadline * (1.0 + TIE))
        else:  # strictly less, by the time alone
            late = math.inf if seconds == deadline else _log_ratio(seconds, deadline)
        # The rate per hour does not change with the size: the cost is in proportion to the bill.
        now, then = billed_seconds([self.best.seconds, seconds], self.billing)
        cost = (self.best.cost_usd or 0.0) * float(then / now)
        return max(late, _log_ratio(cost, self.goal.most_usd))

    def _new_warnings(self, times: float) -> tuple[Notice, ...]:
        """The model's warnings at that size that it does not give at the present one."""
        placed = self._placed(self.best)
        before = {notice.code for notice in self.best.warnings}
        after = placed.notices(self.surface.workload.times(times))
        return tuple(notice for notice in after if notice.code not in before)


def _log_ratio(amount: float, bound: float) -> float:
    """log(amount / bound), and -inf where nothing is bounded or there is nothing of it."""
    return math.log(amount / bound) if amount > 0.0 and bound < math.inf else -math.inf
