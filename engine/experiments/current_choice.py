"""The current choice, before another run: the recommendation of `recommend`, or by its rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.experiments.belief import UNKNOWN_SPREAD, Points, forecast_at, with_default_scales
from engine.experiments.candidate_runs import decision_between
from engine.experiments.priced_compositions import PricedCompositions
from engine.forecast import Forecast
from engine.models.base import FittedModel
from engine.notices import Notice, in_order
from engine.optimiser import select_exact

ASSUMED_SPREAD = Notice(
    "no-interval",
    "the model gives no interval: the predicted time alone decides, and what a run saves and "
    f"changes is by an assumed factor of {math.exp(UNKNOWN_SPREAD):.2g} either way",
    "add more runs",
)


class CurrentChoice(NamedTuple):
    """The current recommendation: its index among the compositions; the rest as in `Advice`."""

    composition: int
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
    recommendation = None if surface is None else select_exact(surface, goal, priced.billing)
    choice = (
        None if recommendation is None else recommendation.recommended or recommendation.nearest
    )
    if recommendation is not None and choice is not None and choice.cost_usd is not None:
        notices = _with_assumed_spread((*recommendation.warnings, *choice.warnings), choice.low)
        for index, cluster in enumerate(priced.clusters):
            if (choice.instance, choice.nodes) == (cluster.instance_name, cluster.nodes):
                return CurrentChoice(
                    index, choice.seconds, choice.low, choice.high, choice.cost_usd,
                    choice.p_deadline, notices,
                )  # fmt: skip
    # Without a catalog, or where the recommended number of nodes takes no part: by the same rule.
    forecast = forecast_at(fitted, points)
    log_seconds, no_interval = np.log(forecast.seconds), np.isnan(forecast.log_scale)
    decision = decision_between(priced, log_seconds, forecast.dof, goal)
    scale = forecast.scale_at(goal.confidence)
    best = int(decision.choices(log_seconds, np.where(no_interval, 0.0, scale)))
    times = decision.interrupted_forecast(with_default_scales(forecast))
    low, high, p = (
        (None, None, None) if no_interval[best] else _interval_and_probability(times, best, goal)
    )
    batch = ClusterBatch.of([priced.clusters[best]], fitted.profile)
    workload = points.workloads[best]
    sources = (
        fitted.profile.notices,
        fitted.answering(workload).fit_notices,
        fitted.notices(batch, workload),
    )
    return CurrentChoice(
        best,
        float(times.seconds[best]),
        low,
        high,
        float(priced.usd(times.seconds, np.arange(len(priced.clusters)))[best]),
        p,
        _with_assumed_spread([notice for source in sources for notice in source], low),
    )


def _interval_and_probability(
    times: Forecast, index: int, goal: Goal
) -> tuple[float, float, float | None]:
    """The interval of the time of one composition, and P(T <= deadline)."""
    (lows, highs), deadline = times.interval(goal.confidence), goal.deadline_seconds
    p = None if deadline is None else float(times.p_within(deadline)[index])
    return float(lows[index]), float(highs[index]), p


def _with_assumed_spread(notices: Sequence[Notice], low: float | None) -> tuple[Notice, ...]:
    """The notices about a choice, with `ASSUMED_SPREAD` if it has no interval."""
    others = [notice for notice in notices if notice.code != ASSUMED_SPREAD.code]
    return in_order([*others, ASSUMED_SPREAD] if low is None else others)
