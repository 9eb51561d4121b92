"""Where a deadline and a budget cannot be kept together: what clusters of several types, and of
which only a share is spot, keep of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.choosing.recommendation import Choice, Compromise, Goal, Recommendation
from engine.choosing.surface import Surface
from engine.forecast import Forecast, known
from engine.mixing.composition import Placed
from engine.text.reachable import ENOUGH, reachable_seconds, reachable_usd

Ask = Callable[[Goal], Recommendation]


def with_compromises(answer: Recommendation, ask: Ask, surface: Surface) -> Recommendation:
    """The answer with compromises that are searched and priced as it was itself; of clusters of one
    type where none is better.

    Args:
        answer: its compromises are of clusters of one type.
        ask: the search that found the answer.
        surface: of the same types, for the time of what is found.

    Limits are compared as they are named: what is hardly later may cost far less.
    """
    if not answer.compromises:
        return answer
    first, last = answer.compromises[0], answer.compromises[-1]
    within = [last, *_within(answer.goal, ask, surface)]
    ways = (
        _in_time(answer.goal, ask, surface, first),
        min(within, key=lambda one: (reachable_usd(one.budget_usd), one.deadline_seconds)),
    )
    clusters = {(tuple(one.choice.composition.items()), tuple(one.choice.spot)) for one in ways}
    unlike = len(clusters) > 1 and _named(ways[0]) != _named(ways[1])
    return replace(answer, compromises=ways if unlike else ways[:1])


def _named(one: Compromise) -> tuple[float, float]:
    """Its deadline as it is named, and its budget, which the cost may be below."""
    return reachable_seconds(one.deadline_seconds), one.budget_usd


def _in_time(goal: Goal, ask: Ask, surface: Surface, one_type: Compromise) -> Compromise:
    """The least cost in time; where nothing is, of the least deadline as it is named: the fastest
    cluster is not always that of which most can be promised, and `one_type` keeps as much."""
    cheapest = replace(goal, budget_usd=None, objective="cost")
    choice = ask(cheapest).recommended
    if choice is None:
        soonest = ask(replace(cheapest, deadline_seconds=None, objective="time")).recommended
        if soonest is None:
            return one_type
        latest = min(one_type.deadline_seconds, _promised(_forecast(soonest, surface), goal))
        choice = ask(replace(cheapest, deadline_seconds=reachable_seconds(latest))).recommended
    return one_type if choice is None else _compromise(choice, goal, surface)


def _within(goal: Goal, ask: Ask, surface: Surface) -> list[Compromise]:
    """The least time within the budget; where nothing is, within the least as it is named."""
    fastest = replace(goal, deadline_seconds=None, objective="time")
    choice = ask(fastest).recommended
    if choice is None:
        least = ask(replace(fastest, budget_usd=None, objective="cost")).recommended
        if least is None or least.cost_usd is None:
            return []
        choice = ask(replace(fastest, budget_usd=reachable_usd(least.cost_usd))).recommended
    return [] if choice is None else [_compromise(choice, goal, surface)]


def _compromise(choice: Choice, goal: Goal, surface: Surface) -> Compromise:
    """What of both limits a choice keeps."""
    forecast = _forecast(choice, surface)
    deadline = max(_promised(forecast, goal), goal.deadline_seconds or 0.0)
    p_deadline = known(forecast.p_within(deadline)[0])
    budget = max(choice.cost_usd or 0.0, goal.budget_usd or 0.0)
    return Compromise(deadline, budget, replace(choice, p_deadline=p_deadline))


def _forecast(choice: Choice, surface: Surface) -> Forecast:
    placed = Placed.on(surface, choice.composition, spot=choice.spot)
    return placed.forecast(surface.workload)


def _promised(forecast: Forecast, goal: Goal) -> float:
    """The shortest deadline that is kept as surely as the goal asks."""
    return ENOUGH * float(forecast.sure_seconds(goal.confidence)[0])
