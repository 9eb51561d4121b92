"""The best cluster of one type: exhaustive over every type and node count of a surface.

What wins (OptEx V with Eq. 9, with the uncertainty of the prediction):

    deadline    the cheapest composition with P(T <= deadline) >= confidence
    budget      the fastest whose expected cost stays within it
    both        the cheapest that satisfies both
    neither     the cheapest of all

The goal's `objective` may instead ask for the fastest of the same compositions, or the one of least
vcore-seconds. Ties go to the faster composition (or, where time decides, to the cheaper), then to
fewer nodes, then by name. A constraint is never dropped: if nothing satisfies the goal, nothing is
recommended and the nearest miss is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import cache

import numpy as np

from engine.caching import Lazy
from engine.catalog import Billing
from engine.choosing.answer_notices import with_interval_notice
from engine.choosing.candidates import Candidates
from engine.choosing.choices import SPEED_NOTES, ChoiceBuilder
from engine.choosing.goal_view import GoalView
from engine.choosing.outlines import Outline, OutlinedChoices
from engine.choosing.ranking import Ranking
from engine.choosing.recommendation import Choice, Goal, Recommendation, Rejected
from engine.choosing.surface import Surface
from engine.errors import BadInput
from engine.forecast import IntArray, none_if_nan
from engine.notices import Notice

_REFINEMENTS = 16
"""The most rounds of exact re-evaluation; each re-evaluates the best points of the previous one."""

_REFINED_AT_ONCE = 8
"""How many types a round evaluates at first. The number doubles whenever another type comes out
best, as far as the model evaluates so many points one by one (`exact_at_once`): on a plateau each
round would otherwise confirm one type."""


def select(
    surface: Surface,
    goal: Goal,
    billing: Billing | None = None,
    *,
    candidates: Candidates | None = None,
    today: date | None = None,
) -> Recommendation:
    """The best composition of a surface, from its arrays alone: no model is evaluated.

    Args:
        goal: its `max_nodes` may not exceed the surface's.
        billing: None for the catalog's own rules.
        candidates: a subset of the surface's types; None for all.
        today: the date by which prices are judged old; None leaves that out.

    Raises:
        BadInput: when the surface ends before `max_nodes`.
        UnknownName: when the catalog does not hold the master's type.
    """
    _require_nodes(surface, goal)
    candidates = candidates or surface.candidates
    surface, billing = surface.for_purchase_option(billing or candidates.catalog.billing)
    return _answer(Ranking.of(surface, goal, billing, candidates), candidates, today)


def _answer(ranking: Ranking, candidates: Candidates, today: date | None) -> Recommendation:
    """What a ranking of a surface's candidates recommends, or what comes closest."""
    view, ranked = ranking.view, ranking.rows
    surface, goal, billing = view.surface, view.goal, view.billing
    answers = ChoiceBuilder(surface, goal, billing, today)
    frontier = surface.frontier(billing, candidates, goal.max_nodes)
    best_points = ranking.best_points(2)
    recommended = nearest = likeliest = None
    if best_points:
        runner_up = best_points[1] if len(best_points) > 1 else None
        recommended = answers.with_reasons(best_points[0], frontier=frontier, runner_up=runner_up)
    if ranking.nearest is not None:
        nearest = answers.choice(ranking.nearest)
    if ranking.likeliest is not None:
        likeliest = answers.choice(ranking.likeliest)
    return Recommendation(
        goal=goal,
        model=surface.fitted.model,
        recommended=recommended,
        alternatives=OutlinedChoices(
            ranked[1:],
            lambda row: answers.choice(view.best_of(row)),
            lambda: _outlines(answers, view.best_of_each(ranked[1:])),
        ),
        frontier=OutlinedChoices(frontier, answers.choice, lambda: _outlines(answers, frontier)),
        rejected=_ChainedRejections(
            _rejections(answers, ranking.nearest_misses), candidates.rejected
        ),
        nearest=nearest,
        likeliest=likeliest,
        optimal=surface.is_precise,
        evaluated=view.costs.size,
        hidden=candidates.hidden,
        warnings=_warnings(surface, goal, recommended or nearest),
        dynamic_allocation=surface.limits.executors,
        compromises=tuple(map(answers.compromise, ranking.compromises)),
    )


def select_exact(
    surface: Surface,
    goal: Goal,
    billing: Billing | None = None,
    *,
    today: date | None = None,
    with_warnings: bool = True,
) -> Recommendation:
    """As `select`, with the deciding points evaluated exactly, and with all of the model's
    warnings unless only times and costs are asked for.

    `select` uses the surface alone, as a slider needs. This evaluates the model again at the few
    best points, until the best one no longer changes. Models in closed form give the same answer
    both ways.
    """
    billing = billing or surface.candidates.catalog.billing
    surface, billing = surface.for_purchase_option(billing)
    _require_nodes(surface, goal)
    candidates = surface.candidates
    ranking = Ranking.of(surface, goal, billing, candidates)
    most_at_once = surface.fitted.exact_at_once(surface.workload)
    types_at_once, near_best_refined = _REFINED_AT_ONCE, False
    for _ in range(_REFINEMENTS):
        points = ranking.deciding_points(types_at_once, precise=surface.is_precise)
        refined = surface.refined(points)
        if refined is surface and not near_best_refined:
            near_best_refined = True
            near_best: list[int] = []
            for asked in (goal, *_compromise_goals(ranking)):
                view = GoalView.of(surface, asked, billing, candidates)
                near_best += view.nearly_best(most_at_once)
            refined = surface.refined(near_best)
        if refined is surface:
            break
        changed, surface = refined.forecast is not surface.forecast, refined
        if changed:
            ranking = Ranking.of(surface, goal, billing, candidates)
            if ranking.deciding_points(1, precise=True)[:1] != points[:1]:
                types_at_once = min(2 * types_at_once, most_at_once)
    answer = replace(_answer(ranking, candidates, today), optimal=surface.is_precise)
    if not with_warnings:
        return answer
    answers = ChoiceBuilder(surface, goal, billing, today)
    return replace(
        answer,
        recommended=answers.with_model_warnings(answer.recommended) if answer.recommended else None,
        nearest=answers.with_model_warnings(answer.nearest) if answer.nearest else None,
        likeliest=answers.with_model_warnings(answer.likeliest) if answer.likeliest else None,
    )


def _require_nodes(surface: Surface, goal: Goal) -> None:
    if goal.max_nodes > surface.max_nodes:
        raise BadInput(f"the surface ends at {surface.max_nodes} nodes, not {goal.max_nodes}")


def with_all_exact(surface: Surface) -> Surface:
    """The surface with every point evaluated exactly, so that answers are proven: where it is not
    precise, and the model evaluates so many (`most_to_prove`)."""
    allowed = np.flatnonzero(np.isfinite(surface.seconds))
    most = surface.fitted.most_to_prove(surface.workload)
    if surface.is_precise or len(allowed) > most:
        return surface
    # Mixes may count for so many nodes of a type as limits forbid of it alone.
    predicted = np.flatnonzero(np.isfinite(surface.uninterrupted))
    return surface.refined((predicted if len(predicted) <= most else allowed).tolist())


def exact_up_to(surface: Surface, max_nodes: int) -> Surface:
    """The surface of a coarse model up to `max_nodes` with every point evaluated exactly, as that
    of a plan made for no more nodes (`with_all_exact`); `surface` itself where it is precise, or
    where the model does not evaluate so many."""
    reached = np.isfinite(surface.seconds[:, :max_nodes]).sum()
    if surface.is_precise or reached > surface.fitted.most_to_prove(surface.workload):
        return surface
    if max_nodes == surface.max_nodes:
        return with_all_exact(surface)
    asked = Surface.build(
        surface.fitted, surface.candidates, workload=surface.workload, max_nodes=max_nodes,
        limits=surface.limits,
    )  # fmt: skip
    return with_all_exact(asked)


def _compromise_goals(ranking: Ranking) -> list[Goal]:
    """The single-limit goals for which the compromises of an answer are the best choices."""
    if not ranking.compromises:
        return []
    goal = ranking.view.goal
    answers = ChoiceBuilder(ranking.view.surface, goal, ranking.view.billing)
    first, last = (answers.compromise(ranking.compromises[at]) for at in (0, -1))
    deadline, budget = first.deadline_seconds, last.budget_usd
    return [
        replace(goal, deadline_seconds=deadline, budget_usd=None, objective="cost"),
        replace(goal, deadline_seconds=None, budget_usd=budget, objective="time"),
    ]


def _outlines(answers: ChoiceBuilder, points: IntArray) -> list[Outline]:
    """The outlines of the choices at some points of the surface, from its arrays."""
    surface, odds = answers.surface, answers.p_deadlines(points)
    forecast, costs = surface.at(points), surface.costs(answers.billing).ravel()[points]
    rows, columns = (each.tolist() for each in np.divmod(points, surface.max_nodes))
    offers = [surface.candidates.offers[row] for row in rows]
    spot = [answers.spot(row, column + 1) for row, column in zip(rows, columns, strict=True)]
    found = zip(offers, columns, spot, forecast.seconds, costs, odds, strict=True)
    return [
        Outline(
            instance=offer.instance.name,
            composition={offer.instance.name: column + 1},
            spot=at_spot,
            seconds=float(seconds),
            cost_usd=float(cost),
            p_deadline=none_if_nan(p),
            note=SPEED_NOTES[surface.fitted.transferred(offer.instance, answers.catalog)[0].code],
        )
        for offer, column, at_spot, seconds, cost, p in found
    ]


def _rejections(answers: ChoiceBuilder, points: IntArray) -> Lazy[Rejected]:
    """The rejections at the nearest misses. Their chances are computed all at once, with the first
    rejection: one by one they would take longer than all else in it."""
    chances = cache(lambda: answers.p_deadlines(points).tolist())
    return Lazy(
        range(len(points)),
        lambda index: answers.rejected(int(points[index]), none_if_nan(chances()[index])),
    )


def _warnings(surface: Surface, goal: Goal, shown: Choice | None) -> tuple[Notice, ...]:
    answering = surface.fitted.answering(surface.workload)
    notices = [*surface.fitted.profile.notices, *answering.fit_notices]
    notices += surface.candidates.notices
    return with_interval_notice(notices, goal, shown, surface.fitted.model)


class _ChainedRejections(Lazy[Rejected]):
    """Rejections built lazily, followed by those known from the start."""

    def __init__(self, made: Lazy[Rejected], known: Sequence[Rejected]) -> None:
        super().__init__(
            range(len(made) + len(known)),
            lambda index: made[index] if index < len(made) else known[index - len(made)],
        )
