"""What can be had where a goal cannot, for clusters of several types or with a share of spot nodes:
compromises between a deadline and a budget, and the least budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from engine.choosing.difference_texts import missed_by
from engine.choosing.recommendation import Choice, Compromise, Goal, Recommendation, Rejected
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.forecast import Forecast, none_if_nan
from engine.mixing.composition import PlacedComposition
from engine.mixing.promised_time import PromisedTimeGoal
from engine.text.reachable import promised_seconds, reachable_seconds, reachable_usd
from engine.units import format_count, format_usd

CLOSE = 0.005
"""Log ratio by which a nearest miss may exceed the least one: each step towards it is a search."""

Ask = Callable[[Goal], Recommendation]


def with_compromises(answer: Recommendation, ask: Ask, surface: Surface) -> Recommendation:
    """The answer with compromises found by the same search as the answer itself, or those of one
    type where none is better.

    Args:
        answer: its compromises are of clusters of one type.
        ask: the search that found the answer.
        surface: of the same types, for the times of the compromises.

    Limits are compared as they are named: what is hardly later may cost far less.
    """
    if not answer.compromises:
        return answer
    first, last = answer.compromises[0], answer.compromises[-1]
    within = [last, *_within(answer.goal, ask, surface)]
    compromises = (
        _in_time(answer.goal, ask, surface, first),
        min(
            within,
            key=lambda compromise: (
                reachable_usd(compromise.budget_usd),
                compromise.deadline_seconds,
            ),
        ),
    )
    clusters = {
        (
            tuple(compromise.choice.composition.items()),
            tuple(compromise.choice.spot.items()),
        )
        for compromise in compromises
    }
    differ = len(clusters) > 1 and _rounded_limits(compromises[0]) != _rounded_limits(
        compromises[1]
    )
    return replace(answer, compromises=compromises if differ else compromises[:1])


def with_cheapest_as_nearest(answer: Recommendation, ask: Ask) -> Recommendation:
    """The answer, whose nearest miss of a budget alone is the cheapest cluster that the same search
    finds: that of one type on demand may cost far more."""
    goal, nearest = answer.goal, answer.nearest
    if nearest is None or goal.budget_usd is None or goal.deadline_seconds is not None:
        return answer
    cheapest = ask(replace(goal, budget_usd=None, objective="cost")).recommended
    if cheapest is None or cheapest.cost_usd is None or nearest.cost_usd is None:
        return answer
    if cheapest.cost_usd >= nearest.cost_usd * (1.0 - TIE):
        return answer
    return replace(answer, nearest=replace(cheapest, why=()))


def with_closest_as_nearest(
    answer: Recommendation, ask: Ask, ask_soonest: Ask, surface: Surface
) -> Recommendation:
    """The answer, whose nearest miss of a deadline, alone or beside a budget, is the cluster that
    comes closest of all that the same search finds, to within `CLOSE`: limits may allow so few
    nodes of each type that a mix is sooner than all of one type.

    Brackets the ratio by which both limits are exceeded. The least promised time within a looser
    budget is more than that time allows within any stricter one, so it bounds the ratio from below;
    of a deadline alone it is the least ratio itself.

    Args:
        answer: its nearest miss is of one type.
        ask: the search that found the answer.
        ask_soonest: the same for a `PromisedTimeGoal`, among mixes alone.
    """
    goal, nearest = answer.goal, answer.nearest
    if nearest is None or nearest.cost_usd is None or goal.deadline_seconds is None:
        return answer
    least, closest, excess = 0.0, nearest, _log_excess(nearest, goal, surface)
    asked = excess - CLOSE
    while excess - least > CLOSE * (1.0 + 1e-9):  # nothing so close: rounding asks no second time
        found = ask_soonest(_loosened(goal, asked)).recommended
        if found is None:
            least = asked
        else:
            closest, excess = found, min(asked, _log_excess(found, goal, surface))
            least = max(least, _log_late(found, goal, surface))
        asked = 0.5 * (least + excess)
    if closest is nearest:
        return answer
    if closest.cost_usd:  # of equally near clusters the cheapest
        latest = goal.deadline_seconds * math.exp(least + CLOSE)
        as_near = replace(
            goal, deadline_seconds=latest, budget_usd=closest.cost_usd, objective="cost"
        )
        closest = ask(as_near).recommended or closest
    p_deadline = none_if_nan(_forecast(closest, surface).p_within(goal.deadline_seconds)[0])
    nearest = replace(closest, p_deadline=p_deadline, why=())
    return replace(answer, nearest=nearest, miss_of_nearest=missed(nearest, goal, surface))


def _loosened(goal: Goal, log_ratio: float) -> PromisedTimeGoal:
    """The least promised time within the limits of a goal, so much looser."""
    ratio = math.exp(log_ratio)
    deadline, budget = goal.deadline_seconds, goal.budget_usd
    return PromisedTimeGoal(
        deadline_seconds=None if deadline is None else deadline * ratio,
        budget_usd=None if budget is None else budget * ratio,
        confidence=goal.confidence,
        max_nodes=goal.max_nodes,
        objective="time",
    )


def _log_excess(choice: Choice, goal: Goal, surface: Surface) -> float:
    """Log ratio of the time at the goal's confidence to the deadline, or of the cost to the budget
    where that is larger."""
    late = _log_late(choice, goal, surface)
    if goal.budget_usd is None or not choice.cost_usd:
        return late
    return max(late, math.log(choice.cost_usd / goal.budget_usd))


def _log_late(choice: Choice, goal: Goal, surface: Surface) -> float:
    """Log ratio of the time at the goal's confidence to the deadline."""
    assert goal.deadline_seconds is not None
    least = float(promised_seconds(_forecast(choice, surface), goal.confidence)[0])
    return math.log(least / goal.deadline_seconds)


def missed(choice: Choice, goal: Goal, surface: Surface) -> Rejected:
    """What a cluster misses, as of a rejected type: the deadline, the budget, or both."""
    late = None
    if goal.deadline_seconds is not None:
        least = float(_forecast(choice, surface).quantile_or_median(goal.confidence)[0])
        late = max(least - goal.deadline_seconds, 0.0) or None
    usd = choice.cost_usd or 0.0
    over = usd - goal.budget_usd if goal.budget_usd is not None and usd > goal.most_usd else None
    texts = []
    if late is not None and goal.deadline_seconds is not None:
        confidence = None if choice.low is None else goal.confidence
        texts.append(missed_by(late, confidence, deadline_seconds=goal.deadline_seconds))
    if over is not None:
        texts.append(f"{'is ' if texts else ''}over budget by {format_usd(over)}")
    codes = {(True, True): "deadline-and-budget", (False, True): "budget"}
    return Rejected(
        " + ".join(choice.composition), choice.composition,
        reason=f"{' and '.join(texts)} with {format_count(choice.nodes or 0, 'node')}",
        code=codes.get((late is not None, over is not None), "deadline"),
        seconds=choice.seconds, cost_usd=usd, late_seconds=late, over_usd=over,
        p_deadline=choice.p_deadline,
    )  # fmt: skip


def _rounded_limits(compromise: Compromise) -> tuple[float, float]:
    """Its rounded deadline, and its budget, which the cost may be below."""
    return reachable_seconds(compromise.deadline_seconds), compromise.budget_usd


def _in_time(goal: Goal, ask: Ask, surface: Surface, one_type: Compromise) -> Compromise:
    """The least cost within the deadline; where nothing meets it, within the least rounded deadline
    that can be met. The fastest cluster does not always meet the least deadline, so that of
    `one_type` counts too."""
    cheapest = replace(goal, budget_usd=None, objective="cost")
    choice = ask(cheapest).recommended
    if choice is None:
        soonest = ask(replace(cheapest, deadline_seconds=None, objective="time")).recommended
        if soonest is None:
            return one_type
        least = promised_seconds(_forecast(soonest, surface), goal.confidence)
        latest = min(one_type.deadline_seconds, float(least[0]))
        choice = ask(replace(cheapest, deadline_seconds=reachable_seconds(latest))).recommended
    return one_type if choice is None else _compromise(choice, goal, surface)


def _within(goal: Goal, ask: Ask, surface: Surface) -> list[Compromise]:
    """The least time within the budget; where nothing keeps it, within the least rounded budget."""
    fastest = replace(goal, deadline_seconds=None, objective="time")
    choice = ask(fastest).recommended
    if choice is None:
        least = ask(replace(fastest, budget_usd=None, objective="cost")).recommended
        if least is None or least.cost_usd is None:
            return []
        choice = ask(replace(fastest, budget_usd=reachable_usd(least.cost_usd))).recommended
    return [] if choice is None else [_compromise(choice, goal, surface)]


def _compromise(choice: Choice, goal: Goal, surface: Surface) -> Compromise:
    """The compromise of a choice: the deadline and the budget that it keeps."""
    forecast = _forecast(choice, surface)
    least = float(promised_seconds(forecast, goal.confidence)[0])
    deadline = max(least, goal.deadline_seconds or 0.0)
    p_deadline = none_if_nan(forecast.p_within(deadline)[0])
    budget = max(choice.cost_usd or 0.0, goal.budget_usd or 0.0)
    return Compromise(deadline, budget, replace(choice, p_deadline=p_deadline))


def _forecast(choice: Choice, surface: Surface) -> Forecast:
    placed = PlacedComposition.on(surface, choice.composition, spot=choice.spot)
    return placed.forecast(surface.workload)
