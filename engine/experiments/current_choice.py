"""The current choice, before another run: the recommendation of `recommend`, or by its rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.choosing.recommendation import Goal
from engine.choosing.selection import select_exact
from engine.choosing.surface import Surface
from engine.experiments.belief import UNKNOWN_SPREAD, forecast_at, with_default_scales
from engine.experiments.candidate_runs import decision_between
from engine.experiments.points import Points
from engine.experiments.priced_compositions import PricedCompositions
from engine.forecast import none_if_nan
from engine.models.base import FittedModel, no_interval_notice, no_interval_remedy
from engine.notices import Notice, in_order


class CurrentChoice(NamedTuple):
    """The current recommendation: its index among the compositions; the rest as in `Advice`."""

    composition: int
    meets_goal: bool
    seconds: float
    low: float | None
    high: float | None
    usd: float
    p_deadline: float | None
    notices: tuple[Notice, ...]


def current_choice(
    fitted: FittedModel,
    points: Points,
    priced: PricedCompositions,
    goal: Goal,
    surface: Surface | None,
) -> CurrentChoice:
    """The optimiser's recommendation or nearest miss, with the fitted model's notices about it."""
    recommended = None if surface is None else _recommended(fitted, priced, goal, surface)
    return recommended or _by_rule(fitted, points, priced, goal)


def _recommended(
    fitted: FittedModel, priced: PricedCompositions, goal: Goal, surface: Surface
) -> CurrentChoice | None:
    """The optimiser's choice; None where that number of nodes takes no part."""
    recommendation = select_exact(surface, goal, priced.billing)
    choice = recommendation.recommended or recommendation.nearest
    if choice is None or choice.cost_usd is None:
        return None
    for index, cluster in enumerate(priced.clusters):
        if (choice.instance, choice.nodes) == (cluster.instance_name, cluster.nodes):
            warnings = (*recommendation.warnings, *choice.warnings)
            return CurrentChoice(
                index, recommendation.recommended is not None,
                choice.seconds, choice.low, choice.high, choice.cost_usd, choice.p_deadline,
                _with_assumed_spread(warnings, choice.low, fitted.model),
            )  # fmt: skip
    return None


def _by_rule(
    fitted: FittedModel, points: Points, priced: PricedCompositions, goal: Goal
) -> CurrentChoice:
    """The choice by the optimiser's rule among the compositions."""
    forecast = forecast_at(fitted, points)
    log_seconds, no_interval = np.log(forecast.seconds), np.isnan(forecast.log_scale)
    decision = decision_between(priced, log_seconds, forecast.dof, goal)
    scale = forecast.scale_at(goal.confidence)
    best = int(decision.choices(log_seconds, np.where(no_interval, 0.0, scale)))
    times = decision.interrupted_forecast(with_default_scales(forecast))
    low = high = p = None
    if not no_interval[best]:
        low, high = (none_if_nan(bound[best]) for bound in times.interval(goal.confidence))
        if goal.deadline_seconds is not None:
            p = float(times.p_within(goal.deadline_seconds)[best])
    batch = ClusterBatch.of([priced.clusters[best]], fitted.profile)
    workload = points.workloads[best]
    sources = (
        fitted.profile.notices,
        fitted.answering(workload).fit_notices,
        fitted.notices(batch, workload),
    )
    seconds = float(times.seconds[best])
    usd = float(priced.usd(times.seconds, np.arange(len(priced.clusters)))[best])
    return CurrentChoice(
        best,
        _meets(goal, seconds, p, usd),
        seconds,
        low,
        high,
        usd,
        p,
        _with_assumed_spread(tuple(chain(*sources)), low, fitted.model),
    )


def _meets(goal: Goal, seconds: float, p_deadline: float | None, usd: float) -> bool:
    """Whether a choice meets the goal; without an interval the time alone decides."""
    in_time = goal.deadline_seconds is None or (
        seconds <= goal.deadline_seconds if p_deadline is None else p_deadline >= goal.confidence
    )
    return in_time and (goal.budget_usd is None or usd <= goal.budget_usd)


def _with_assumed_spread(
    notices: Sequence[Notice], low: float | None, model: str
) -> tuple[Notice, ...]:
    """The notices about a choice; that it has no interval, and what is assumed in its place,
    only if so."""
    lacking = no_interval_notice(model)
    others = [notice for notice in notices if notice.code != lacking.code]
    if low is not None:
        return in_order(others)
    of_interval = [notice for notice in notices if notice.code == lacking.code] or [lacking]
    return in_order([*others, *of_interval, _assumed_spread_notice(model)])


def _assumed_spread_notice(model: str) -> Notice:
    """The warning about what the savings of runs rest on."""
    return Notice(
        "assumed-spread",
        "the model gives no interval: what a run saves, and how likely it changes the choice, take "
        f"predicted times to be off by a factor of {math.exp(UNKNOWN_SPREAD):.2g} either way",
        no_interval_remedy(model),
    )
