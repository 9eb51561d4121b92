"""Predictions + prices + a goal -> a recommendation: the best cluster of a catalog, of one type
(`engine.choosing.selection`) or of several (`engine.mixing`), and what that depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from engine.catalog import Billing, Catalog, require_catalog
from engine.choosing.better_on_demand import with_better_on_demand
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.objectives import METHODS
from engine.choosing.recommendation import Goal, Recommendation, Sensitivity
from engine.choosing.selection import select_exact, with_all_exact
from engine.choosing.surface import Surface
from engine.cluster import Workload, require_workload
from engine.errors import BadInput, UnknownName, require_kind
from engine.mixing.compromises import (
    with_cheapest_as_nearest,
    with_closest_as_nearest,
    with_compromises,
)
from engine.mixing.effort import MAX_BOUNDS, MAX_BOUNDS_SENSITIVITY
from engine.mixing.mix_step import with_mixes
from engine.mixing.purchase_options import rents_both_ways
from engine.mixing.relaxed_answer import with_relaxed
from engine.models.base import FittedModel
from engine.sensitivity_analysis import SensitivityAnalysis

MAX_TYPES = 3
"""The most types in one cluster: a search over more takes too long to wait for."""


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
    method: str = "exact",
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
        method: how the composition is found, one of `METHODS`: "exact", or "interior-point" for
            OptEx's own method (see `engine.mixing.relaxed_answer.with_relaxed`).
        with_sensitivity: also work out what the answer depends on (see `sensitivity`); of an exact
            answer alone, and without effect with another method.

    Raises:
        BadInput: for an impossible goal, mix or number of nodes; for spot nodes where no spot price
            is known and nothing is owned; for what `method` does not answer; and whatever the model
            raises.
        UnknownName: for an instance name or glob that matches nothing, and for a method that there
            is not.
    """
    if method not in METHODS:
        raise UnknownName("method", str(method), METHODS, where="--method")
    if mix not in range(1, MAX_TYPES + 1):
        raise BadInput(f"mix must lie between 1 and {MAX_TYPES}, not {mix!r}", where="--mix")
    require_catalog(catalog)
    require_kind(fitted, FittedModel, "a fitted model", remedy="fit one with engine.fit(profile)")
    require_kind(limits, Limits, "engine.Limits", remedy="leave it out for none")
    goal = Goal(deadline_seconds, budget_usd, confidence, max_nodes, objective)
    billing = limits.billed(_billing_of(catalog, billing, spot=spot))
    today = date.today() if today is None else today
    require_kind(today, date, "a date for today")
    surface = _recent_surface(
        fitted, catalog, workload=workload, instances=instances, max_nodes=goal.max_nodes,
        limits=limits,
    )  # fmt: skip
    if billing.spot and not limits.owned and limits.max_spot is None:
        surface.candidates.require_spot_price("spot", "leave it out")
    answer = recommend_for_goal(surface, goal, billing, mix=mix, today=today)
    if method != "exact":
        return with_relaxed(answer, surface, billing, most_types=mix, today=today)
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
    """`surface_of`, with all points exact where they are few (`with_all_exact`), cached for calls
    that differ only in goal and billing. Catalogs are compared by identity, everything else by
    content. Mutable arguments, such as a list in the limits, cannot be hashed; then nothing is
    cached."""

    def make() -> Surface:
        surface = surface_of(
            fitted, catalog, workload=workload, instances=instances, max_nodes=max_nodes,
            limits=limits,
        )  # fmt: skip
        return with_all_exact(surface)

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
    surface: Surface, goal: Goal, billing: Billing, *, mix: int, today: date | None
) -> Recommendation:
    """`select_with_mixes`, with compromises where a deadline and a budget cannot both be kept, and
    with a notice where nodes on demand serve the goal better than spot nodes."""
    answer = select_with_mixes(surface, goal, billing, mix=mix, today=today)
    # Without a mix the compromises are of one type, as what was asked is.
    if mix > 1 or rents_both_ways(surface, billing, mix):

        def ask(goal: Goal) -> Recommendation:
            return select_with_mixes(surface, goal, billing, mix=mix, today=today)

        answer = with_cheapest_as_nearest(with_compromises(answer, ask, surface), ask)

        def ask_soonest(goal: Goal) -> Recommendation:
            # Of one type the nearest is known, so nothing of one type lies within these limits.
            return with_mixes(
                replace(answer, goal=goal), surface, billing,
                most_types=mix, today=today, with_notices=False,
            )  # fmt: skip

        answer = with_closest_as_nearest(answer, ask, ask_soonest, surface)
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
    billing = surface.limits.billed(billing or surface.candidates.catalog.billing)

    answer = answer or select_with_mixes(surface, goal, billing, mix=mix)
    best, most_bounds = answer.recommended, MAX_BOUNDS if answer.optimal else MAX_BOUNDS_SENSITIVITY
    if best is None:
        return None

    steps = mix == 1 and not rents_both_ways(surface, billing, mix)

    def ask(changed: Goal) -> Recommendation:
        if steps:
            return select_exact(surface, changed, billing, with_warnings=False)
        return select_with_mixes(surface, changed, billing, mix=mix, most_bounds=most_bounds)

    surface, _ = surface.for_purchase_option(billing)
    return SensitivityAnalysis(ask, surface, goal, billing, best, steps=steps).sensitivity()
