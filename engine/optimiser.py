"""Predictions + prices + a goal -> a recommendation: exhaustive over every type and node count.

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

import numpy as np

from engine.caching import Lazy
from engine.catalog import Billing, Catalog, require_catalog
from engine.choosing.answer_notices import with_interval_notice
from engine.choosing.better_on_demand import with_better_on_demand
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.candidates import Candidates
from engine.choosing.choices import ChoiceBuilder
from engine.choosing.goal_view import GoalView
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.recommendation import Choice, Goal, Recommendation, Rejected, Sensitivity
from engine.choosing.surface import Surface
from engine.cluster import Workload, require_workload
from engine.errors import BadInput, require_kind
from engine.mixing.compromises import with_cheapest_as_nearest, with_compromises
from engine.mixing.effort import MAX_BOUNDS, MAX_BOUNDS_SENSITIVITY
from engine.mixing.mix_step import with_mixes
from engine.mixing.purchase_options import rents_both_ways
from engine.models.base import FittedModel
from engine.notices import Notice
from engine.sensitivity_analysis import SensitivityAnalysis

MAX_TYPES = 3
"""The most types in one cluster: a search over more takes too long to wait for."""

_REFINEMENTS = 16
"""The most rounds of exact re-evaluation; each re-evaluates the best points of the previous one."""

_REFINED_AT_ONCE, _MOST_AT_ONCE = 8, 60
"""How many types a round evaluates at first, and at most. The number doubles whenever another type
comes out best: on a plateau each round would otherwise confirm one type. Models evaluate so many
points one by one (`MAX_REPLAYED_SINGLY` of replays)."""


def recommend(
    fitted: FittedModel,
    *,
    catalog: Catalog,
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    budget_usd: float | None = None,
    instances: Sequence[str] | None = None,
    max_nodes: int = 64,
    mix: int = 1,
    confidence: float = 0.9,
    spot: bool = False,
    billing: Billing | None = None,
    limits: Limits = NO_LIMITS,
    today: date | None = None,
    objective: str | None = None,
    with_sensitivity: bool = False,
) -> Recommendation:
    """The best cluster of a catalog for a goal.

    Args:
        workload: None for that of the profile's largest run.
        instances: names or globs of types; None for the default candidates.
        mix: the most types in one cluster (see `engine.mixing.mix_law`).
        spot: rent workers at spot prices where these are known.
        billing: None for the catalog's own rules.
        limits: what may be rented, and what is owned.
        today: the date by which prices are judged old; None for the current one.
        objective: "cost", "time" or "resource-time"; None for time if only a budget is given, else
            cost.
        with_sensitivity: also work out what the answer depends on (see `sensitivity`).

    Raises:
        BadInput: for an impossible goal, mix or number of nodes; for spot nodes where no spot price
            is known and nothing is owned; and whatever the model raises.
        UnknownName: for an instance name or glob that matches nothing.
    """
    if mix not in range(1, MAX_TYPES + 1):
        raise BadInput(f"mix must lie between 1 and {MAX_TYPES}, not {mix!r}", where="--mix")
    require_catalog(catalog)
    require_kind(fitted, FittedModel, "a fitted model", remedy="fit one with engine.fit(profile)")
    require_kind(limits, Limits, "engine.Limits", remedy="leave it out for none")
    goal = Goal(deadline_seconds, budget_usd, confidence, max_nodes, objective)
    billing = _billing_of(catalog, billing, spot=spot)
    today = date.today() if today is None else today
    require_kind(today, date, "a date for today")
    surface = _recent_surface(
        fitted, catalog, workload=workload, instances=instances, max_nodes=goal.max_nodes,
        limits=limits,
    )  # fmt: skip
    if billing.spot and not limits.owned and limits.max_spot is None:
        surface.candidates.require_spot_price("spot", "leave it out")
    answer = recommend_for_goal(surface, goal, billing, mix=mix, today=today)
    if not with_sensitivity:
        return answer
    analysis = sensitivity(surface, goal, billing, mix=mix, answer=answer)
    return replace(answer, sensitivity=analysis)


def _billing_of(catalog: Catalog, billing: Billing | None, *, spot: bool) -> Billing:
    """The rules by which workers are billed: the catalog's own where none are given, at spot prices
    where these are asked for."""
    billing = catalog.billing if billing is None else billing
    require_kind(billing, Billing, "engine.Billing", remedy="start from catalog.billing")
    return replace(billing, spot=True) if spot else billing


def _recent_surface(
    fitted: FittedModel,
    catalog: Catalog,
    *,
    workload: Workload | None,
    instances: Sequence[str] | None,
    max_nodes: int,
    limits: Limits,
) -> Surface:
    """`surface_of`, cached for calls that differ only in goal and billing. Catalogs are compared by
    identity, everything else by content. Mutable arguments, such as a list in the limits, cannot be
    hashed; then nothing is cached."""

    def make() -> Surface:
        return surface_of(
            fitted, catalog, workload=workload, instances=instances, max_nodes=max_nodes,
            limits=limits,
        )  # fmt: skip

    named = instances is None or isinstance(instances, (list, tuple))
    if not named or not all(isinstance(name, str) for name in instances or ()):
        return make()
    if workload is not None:
        require_workload(workload)
    patterns = None if instances is None else tuple(instances)
    size = None if workload is None else workload.key
    key = (id(catalog), size, patterns, max_nodes, limits)
    try:
        hash(key)
    except TypeError:
        return make()
    surface: Surface = fitted.recent.get(key, make)
    return surface if surface.candidates.catalog is catalog else make()


def surface_of(
    fitted: FittedModel,
    catalog: Catalog,
    *,
    workload: Workload | None = None,
    instances: Sequence[str] | None = None,
    max_nodes: int,
    limits: Limits = NO_LIMITS,
) -> Surface:
    """Predictions for the types of a catalog that may be rented, on 1 to `max_nodes` nodes.

    Args:
        workload: None for that of the profile's largest run.
        instances: names or globs of types; None for the default candidates.

    Raises:
        UnknownName: for an instance name or glob that matches nothing.
        BadInput: for limits that contradict each other, or leave no room for any type.
    """
    limits = limits.validated(catalog, max_nodes)
    candidates = select_candidates(
        catalog, profile=fitted.profile, ran_on=fitted.ran_on,
        barrier_stages=fitted.barrier_stages, instances=instances, limits=limits,
    )  # fmt: skip
    candidates.require_feasible(limits, max_nodes)
    return Surface.build(fitted, candidates, workload=workload, max_nodes=max_nodes, limits=limits)


def select_with_mixes(
    surface: Surface,
    goal: Goal,
    billing: Billing,
    *,
    mix: int = 1,
    most_bounds: float = MAX_BOUNDS,
    today: date | None = None,
) -> Recommendation:
    """`select_exact`, with up to `mix` types in one cluster; the search for mixes computes at most
    `most_bounds` bounds."""
    answer = select_exact(surface, goal, billing, today=today)
    if mix == 1 and not rents_both_ways(surface, billing, mix):
        return answer
    return with_mixes(
        answer, surface, billing, most_types=mix, most_bounds=most_bounds, today=today
    )


def recommend_for_goal(
    surface: Surface, goal: Goal, billing: Billing, *, mix: int = 1, today: date | None = None
) -> Recommendation:
    """`select_with_mixes`, with compromises where a deadline and a budget cannot both be kept, and
    with a notice where nodes on demand serve the goal better than spot nodes."""
    answer = select_with_mixes(surface, goal, billing, mix=mix, today=today)
    # Without a mix the compromises are of one type, as what was asked is.
    if mix > 1 or rents_both_ways(surface, billing, mix):

        def ask(goal: Goal) -> Recommendation:
            return select_with_mixes(surface, goal, billing, mix=mix, today=today)

        answer = with_cheapest_as_nearest(with_compromises(answer, ask, surface), ask)
    return with_on_demand_notice(answer, surface, billing, today=today)


def with_on_demand_notice(
    answer: Recommendation, surface: Surface, billing: Billing, *, today: date | None = None
) -> Recommendation:
    """`with_better_on_demand`, evaluated exactly."""

    def ask(rules: Billing) -> Recommendation:
        return select_exact(surface, answer.goal, rules, today=today)

    return with_better_on_demand(answer, surface, billing, ask)


def sensitivity(
    surface: Surface,
    goal: Goal,
    billing: Billing | None = None,
    *,
    mix: int = 1,
    answer: Recommendation | None = None,
) -> Sensitivity | None:
    """What the answer to a goal depends on; None where nothing is recommended.

    Args:
        billing: None for the catalog's own rules.
        mix: the most types in one cluster.
        answer: the answer to the goal, if already known.
    """
    billing = billing or surface.candidates.catalog.billing

    answer = answer or select_with_mixes(surface, goal, billing, mix=mix)
    best, most_bounds = answer.recommended, MAX_BOUNDS if answer.optimal else MAX_BOUNDS_SENSITIVITY
    if best is None:
        return None

    def ask(changed: Goal) -> Recommendation:
        return select_with_mixes(surface, changed, billing, mix=mix, most_bounds=most_bounds)

    steps = mix == 1 and not rents_both_ways(surface, billing, mix)
    surface, _ = surface.for_purchase_option(billing)
    return SensitivityAnalysis(ask, surface, goal, billing, best, steps=steps).sensitivity()


def select_exact(
    surface: Surface,
    goal: Goal,
    billing: Billing | None = None,
    *,
    today: date | None = None,
) -> Recommendation:
    """As `select`, with the deciding points evaluated exactly, and with all of the model's
    warnings.

    `select` uses the surface alone, as a slider needs. This evaluates the model again at the few
    best points, until the best one no longer changes. Models in closed form give the same answer
    both ways.
    """
    billing = billing or surface.candidates.catalog.billing
    surface, billing = surface.for_purchase_option(billing)
    answer = select(surface, goal, billing, today=today)
    types_at_once, near_best_refined = _REFINED_AT_ONCE, False
    for _ in range(_REFINEMENTS):
        refined = surface.refined(points := _deciding_points(surface, answer, types_at_once))
        if refined is surface and not near_best_refined:
            near_best_refined = True
            near_best: list[int] = []
            for asked in (goal, *_compromise_goals(answer)):
                view = GoalView.of(surface, asked, billing, surface.candidates)
                near_best += view.nearly_best(_MOST_AT_ONCE)
            refined = surface.refined(near_best)
        if refined is surface:
            break
        changed, surface = refined.forecast is not surface.forecast, refined
        if changed:
            answer = select(surface, goal, billing, today=today)
            if _deciding_points(surface, answer, 1)[:1] != points[:1]:
                types_at_once = min(2 * types_at_once, _MOST_AT_ONCE)
    answers = ChoiceBuilder(surface, goal, billing, today)
    return replace(
        answer,
        recommended=answers.with_model_warnings(answer.recommended) if answer.recommended else None,
        nearest=answers.with_model_warnings(answer.nearest) if answer.nearest else None,
    )


def _compromise_goals(answer: Recommendation) -> list[Goal]:
    """The single-limit goals for which the compromises of an answer are the best choices."""
    if not answer.compromises:
        return []
    first, last = answer.compromises[0], answer.compromises[-1]
    deadline, budget = first.deadline_seconds, last.budget_usd
    return [
        replace(answer.goal, deadline_seconds=deadline, budget_usd=None, objective="cost"),
        replace(answer.goal, deadline_seconds=None, budget_usd=budget, objective="time"),
    ]


def _deciding_points(surface: Surface, answer: Recommendation, most: int) -> list[int]:
    """The flat indices that decide an answer: the best of each of up to `most` types, the best of
    all with one node fewer, and the compromises if nothing satisfies the goal."""
    best = answer.recommended or answer.nearest
    if best is None:
        return []
    choices = [best, *answer.alternatives[: most - 1]]
    points = [surface.index(str(choice.instance), choice.nodes or 1) for choice in choices]
    one_fewer = [point - 1 for point in points[:1] if point % surface.max_nodes]
    compromises = [one.choice for one in answer.compromises]
    compromise_points = [
        surface.index(str(choice.instance), choice.nodes or 1) for choice in compromises
    ]
    return [*points, *one_fewer, *compromise_points]


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
    if goal.max_nodes > surface.max_nodes:
        raise BadInput(f"the surface ends at {surface.max_nodes} nodes, not {goal.max_nodes}")
    candidates = candidates or surface.candidates
    surface, billing = surface.for_purchase_option(billing or candidates.catalog.billing)
    view = GoalView.of(surface, goal, billing, candidates)
    answers = ChoiceBuilder(surface, goal, billing, today)
    frontier = surface.frontier(billing, candidates, goal.max_nodes)
    ranked, nearest_misses = view.ranked_and_nearest_misses()
    best_points = [view.best_of(row) for row in ranked[:2]]
    recommended = nearest = None
    compromise_points: list[int] = []
    if best_points:
        runner_up = best_points[1] if len(best_points) > 1 else None
        recommended = answers.with_reasons(best_points[0], frontier=frontier, runner_up=runner_up)
    elif len(nearest_misses) and np.isfinite(surface.costs(billing).ravel()[nearest_misses[0]]):
        nearest = answers.choice(int(nearest_misses[0]))
        compromise_points = view.compromises()
    return Recommendation(
        goal=goal,
        model=surface.fitted.model,
        recommended=recommended,
        alternatives=Lazy(ranked[1:], lambda row: answers.choice(view.best_of(row))),
        frontier=Lazy(frontier, answers.choice),
        rejected=_ChainedRejections(Lazy(nearest_misses, answers.rejected), candidates.rejected),
        nearest=nearest,
        optimal=True,
        evaluated=view.costs.size,
        hidden=candidates.hidden,
        warnings=_warnings(surface, goal, recommended or nearest),
        dynamic_allocation=surface.limits.executors,
        compromises=tuple(map(answers.compromise, compromise_points)),
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
