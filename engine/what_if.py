"""What the answer hangs on: what another hour or dollar buys, where it changes, how far it holds.

Everything is asked of the optimiser again with a changed goal, so every figure is one that it would
recommend, and none is a slope. "The promised time" of a cluster is the shortest deadline that it
meets at the goal's confidence (without an interval: its predicted time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

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
from engine.mixing.composition import Placed
from engine.notices import Notice
from engine.text.reachable import ENOUGH
from engine.units import SECONDS_PER_HOUR

NOTABLE = 0.05
"""After the first step, which is the next of all, steps are shown that save this share more."""

MOST_STEPS = 3
_MOST_ASKED = 24

_DEADLINE_STEP, _MOST_DEADLINES = 1.25, 6
"""Deadlines that are tried where none is known to be late enough: up to four times the present."""

_MOST_SOONER = 4
"""Deadlines that are tried below one that is late enough."""

_LARGEST = 1024.0
"""Times the input beyond which nothing is looked for."""

_PRECISION = 1e-3
"""Relative width to which the largest input is bisected."""

Ask = Callable[[Goal], Recommendation]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Questions around one answer.

    Args:
        ask: the optimiser, on the surface and billing below.
        steps: whether the next steps of the deadline (or budget) can be read off the surface: it
            holds clusters of one type alone. Those of mixes are asked for (`_looser_of_mixes`).
    """

    ask: Ask
    surface: Surface
    goal: Goal
    billing: Billing
    best: Choice
    steps: bool

    def sensitivity(self) -> Sensitivity:
        """All of it, and whether every search behind it was proven."""
        proven: list[bool] = []

        def ask(goal: Goal) -> Recommendation:
            answer = self.ask(goal)
            proven.append(answer.optimal)
            return answer

        found = replace(self, ask=ask)._answers()
        return replace(found, optimal=all(proven))

    def _answers(self) -> Sensitivity:
        promised, cost = self._promised(self.best), self.best.cost_usd or 0.0
        until, note, warnings = self._holds_until()
        bound_by_time = self.goal.deadline_seconds is not None
        by_budget = self.goal.budget_usd is not None
        below = below_budget = self._below_budget(cost)
        if bound_by_time:
            below = self._change(replace(self.goal, deadline_seconds=promised * (1.0 - 1e-6)))
        return Sensitivity(
            one_more_hour=self._hour(promised),
            one_more_dollar=self._dollar(cost),
            least_deadline_seconds=promised if bound_by_time else None,
            least_budget_usd=cost if by_budget and cost > 0.0 else None,
            below=below,
            below_budget=below_budget,
            looser=tuple(self._looser() if self.steps else self._looser_of_mixes()),
            holds_until=until,
            holds_note=note,
            holds_warnings=warnings,
            hardly_slower=self._hardly_slower(),
        )

    def _hour(self, promised: float) -> Change | None:
        """The cheapest that may take an hour more than is allowed now. Where the least time is
        asked, and where there is no deadline, that is an hour more than is promised: a deadline
        that does not bind lets slower ones in without any more of it."""
        allowed = None if self.goal.by_time else self.goal.deadline_seconds
        deadline = (allowed or promised) + SECONDS_PER_HOUR
        objective = "cost" if self.goal.by_time else self.goal.objective
        found = self._change(replace(self.goal, deadline_seconds=deadline, objective=objective))
        if found is None:
            return None
        if self.goal.by_resource:
            least = (self.best.vcore_seconds or 0.0) * TIE
            return found if found.saved_vcore_seconds > least else None
        return found if found.saved_usd > (self.best.cost_usd or 0.0) * TIE else None

    def _dollar(self, cost: float) -> Change | None:
        """The fastest that may cost a dollar more than is allowed (than the answer costs, where
        there is no budget, or one that does not decide)."""
        budget = (self.goal.budget_usd or cost) if self.goal.by_time else cost
        found = self._change(
            replace(self.goal, deadline_seconds=None, budget_usd=budget + 1.0, objective="time")
        )
        return found if found and found.saved_seconds > self.best.seconds * TIE else None

    def _hardly_slower(self) -> Change | None:
        """The cheapest that is as fast as far as anybody could tell: the fastest may be dearer by
        half for a millionth of the time."""
        if not self.goal.by_time:
            return None
        latest = self.best.seconds * (1.0 + HARDLY_SLOWER)
        asked = replace(self.goal, deadline_seconds=latest, confidence=0.5, objective="cost")
        found = self._change(asked)
        if found is None or found.promised > (self.goal.deadline_seconds or math.inf):
            return None
        return found if found.saved_usd > (self.best.cost_usd or 0.0) * HARDLY_SLOWER else None

    def _below_budget(self, cost: float) -> Change | None:
        """The answer to a budget that the present one just exceeds; None where there is no budget,
        or nothing keeps it: the cheapest of all that end in time is the last to do so. Of owned
        nodes alone an answer may cost nothing, and satisfies every budget."""
        cheapest = self.goal.deadline_seconds is not None and self.goal.minimises == "cost"
        if self.goal.budget_usd is None or cost <= 0.0 or cheapest:
            return None
        return self._change(replace(self.goal, budget_usd=cost * (1.0 - 1e-6)))

    def _looser(self) -> Iterator[Change]:
        """The next steps of the deadline (the budget, where that decides) and what they buy."""
        last, shown = self._value(self.best), 0
        for limit in self._limits():
            by_time, just = self.goal.by_time, limit * (1.0 + 1e-9)
            found = self._change(
                replace(self.goal, budget_usd=just)
                if by_time
                else replace(self.goal, deadline_seconds=just)
            )
            if found is None:
                continue
            value = self._value(found)
            if value >= last * (1.0 - (NOTABLE if shown else TIE)):
                continue
            last, shown = value, shown + 1
            # The optimiser evaluates exactly: the limit may be a little less than on the surface.
            if by_time:
                yield replace(found, budget_usd=found.cost_usd)
            else:
                yield replace(found, deadline_seconds=found.promised)
            if shown == MOST_STEPS:
                return

    def _looser_of_mixes(self) -> Iterator[Change]:
        """The next steps that save `NOTABLE` more: from one mix to the next there are countless
        small ones. What a deadline must be for a cost is the time of the fastest within it; what a
        budget must be for a time is the cost of the cheapest that takes no longer."""
        last = self._value(self.best)
        for _ in range(MOST_STEPS):
            if last <= 0.0:  # nothing costs less than nothing
                return
            found = self._step_to(last * (1.0 - NOTABLE))
            if found is None or self._value(found) >= last * (1.0 - NOTABLE) * (1.0 + TIE):
                return
            last = self._value(found)
            yield found

    def _step_to(self, value: float) -> Change | None:
        """The answer to the least loosening with which the goal's value is at most this."""
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
            found = self._change(replace(goal, deadline_seconds=deadline * (1.0 + 1e-9)))
            if found is not None and self._value(found) <= value * (1.0 + TIE):
                return self._soonest(found, value)
        return None

    def _soonest(self, found: Change, value: float) -> Change:
        """The least deadline with which the goal's value is at most this: what is slower on average
        may be surer, and promise less time."""
        for _ in range(_MOST_SOONER):
            just_sooner = found.promised * (1.0 - 1e-6)
            sooner = self._change(replace(self.goal, deadline_seconds=just_sooner))
            if sooner is None or self._value(sooner) > value * (1.0 + TIE):
                break
            found = sooner
        return replace(found, deadline_seconds=found.promised)

    def _deadlines(self, value: float) -> Iterator[float]:
        """Deadlines beyond the present one, of which one that is late enough is looked for."""
        goal, start = self.goal, self.goal.deadline_seconds or math.inf
        if not goal.by_resource and value <= goal.most_usd:
            fastest = self._change(
                replace(goal, deadline_seconds=None, budget_usd=value, objective="time")
            )
            if fastest is not None and fastest.promised > start:
                yield fastest.promised
        for step in range(1, _MOST_DEADLINES + 1):
            yield start * _DEADLINE_STEP**step

    def _limits(self) -> Iterator[float]:
        """Deadlines (budgets) beyond the present one at which something better comes in reach."""
        m = self.goal.max_nodes
        promised = np.exp(self.surface.log_bounds(self.goal.confidence)[:, :m]).ravel()
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
        places = np.flatnonzero(beyond)
        places = places[np.argsort(limits[places], kind="stable")]
        asked, lowest = 0, math.inf
        for place in places.tolist():
            if values[place] >= lowest * (1.0 - (NOTABLE if asked else 0.0)):
                continue
            asked, lowest = asked + 1, float(values[place])
            yield float(limits[place])
            if asked == _MOST_ASKED:
                return

    def _value(self, of: Choice | Change) -> float:
        """What the goal asks for the least of."""
        if self.goal.by_time:
            return of.seconds
        if not self.goal.by_resource:
            return of.cost_usd or 0.0
        before = self.best.vcore_seconds or 0.0
        return before - of.saved_vcore_seconds if isinstance(of, Change) else of.vcore_seconds or 0

    def _change(self, goal: Goal) -> Change | None:
        """The answer to a changed goal, beside the present one."""
        found = self.ask(goal).recommended
        if found is None or found.cost_usd is None:
            return None
        return Change(
            deadline_seconds=goal.deadline_seconds,
            budget_usd=goal.budget_usd,
            composition=dict(found.composition),
            seconds=found.seconds,
            promised=self._promised(found),
            cost_usd=found.cost_usd,
            saved_usd=(self.best.cost_usd or 0.0) - found.cost_usd,
            saved_seconds=self.best.seconds - found.seconds,
            saved_vcore_seconds=(self.best.vcore_seconds or 0.0) - (found.vcore_seconds or 0.0),
            spot=dict(found.spot),
        )

    def _promised(self, choice: Choice) -> float:
        """The promised time of a choice: a deadline that is met when it is asked for."""
        forecast = self._placed(choice).forecast(self.surface.workload)
        return ENOUGH * float(forecast.sure_seconds(self.goal.confidence)[0])

    def _placed(self, choice: Choice) -> Placed:
        return Placed.on(self.surface, choice.composition, spot=choice.spot)

    def _holds_until(self) -> tuple[float | None, str, tuple[Notice, ...]]:
        """The largest input, in multiples of the present one, with which the answer still satisfies
        the goal; or why none can be named."""
        if self.goal.deadline_seconds is None and self.goal.budget_usd is None:
            return None, "without a deadline or a budget any input will do", ()
        try:
            if self._satisfies(_LARGEST):
                said = f"the goal is kept at {_LARGEST:g} times the input, the most that is tried"
                return None, said, ()
            low, high = 1.0, 2.0
            while self._satisfies(high):
                low, high = high, 2.0 * high
            while high > low * (1.0 + _PRECISION):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self._satisfies(middle) else (low, middle)
            return low, "", self._new_warnings(low)
        except EngineError as error:
            return None, f"the model cannot say: {error.what}", ()

    def _satisfies(self, times: float) -> bool:
        """Whether the answer satisfies the goal with `times` the input."""
        workload = self.surface.workload.times(times)
        forecast = self._placed(self.best).forecast(workload)
        seconds = float(forecast.seconds[0])
        if not math.isfinite(seconds):
            return False
        deadline = self.goal.deadline_seconds or math.inf
        sure = float(forecast.quantile(self.goal.confidence)[0])
        in_time = seconds < deadline if math.isnan(sure) else sure <= deadline * (1.0 + TIE)
        # The rate per hour does not change with the size: the cost is in proportion to the bill.
        now, then = billed_seconds([self.best.seconds, seconds], self.billing)
        cost = (self.best.cost_usd or 0.0) * float(then / now)
        return in_time and cost <= self.goal.most_usd

    def _new_warnings(self, times: float) -> tuple[Notice, ...]:
        """What the model warns of at that size and not at the present one."""
        placed = self._placed(self.best)
        before = {notice.code for notice in self.best.warnings}
        after = placed.notices(self.surface.workload.times(times))
        return tuple(notice for notice in after if notice.code not in before)
