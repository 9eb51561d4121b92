"""The current choice, before another run: that of `recommend`, or by the same rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.experiments.belief import UNKNOWN_SPREAD, Points, forecast_at, with_known_scales
from engine.experiments.prospects import decision_among
from engine.experiments.weighed import Weighed
from engine.forecast import Forecast
from engine.models.base import FittedModel
from engine.notices import Notice, in_order
from engine.optimiser import settle

ASSUMED_SPREAD = Notice(
    "no-interval",
    "the model gives no interval: the predicted time alone decides, and what a run saves and "
    f"changes is by an assumed factor of {math.exp(UNKNOWN_SPREAD):.2g} either way",
    "add more runs",
)


class ChosenNow(NamedTuple):
    """The current recommendation: its place among the compositions; the rest as in `Advice`."""

    place: int
    seconds: float
    low: float | None
    high: float | None
    usd: float
    p_deadline: float | None
    notices: tuple[Notice, ...]


def chosen_now(
    fitted: FittedModel, points: Points, found: Weighed, goal: Goal, surface: Surface | None
) -> ChosenNow:
    """The optimiser's recommendation or nearest miss, with the fitted model's notices about it."""
    answer = None if surface is None else settle(surface, goal, found.billing)
    choice = None if answer is None else answer.recommended or answer.nearest
    if answer is not None and choice is not None and choice.cost_usd is not None:
        notices = _said((*answer.warnings, *choice.warnings), choice.low)
        for place, cluster in enumerate(found.clusters):
            if (choice.instance, choice.nodes) == (cluster.instance_name, cluster.nodes):
                return ChosenNow(
                    place, choice.seconds, choice.low, choice.high, choice.cost_usd,
                    choice.p_deadline, notices,
                )  # fmt: skip
    # Without a catalog, or with a number of nodes that was not asked for: by the same rule.
    by_model = forecast_at(fitted, points)
    mean, unknown = np.log(by_model.seconds), np.isnan(by_model.log_scale)
    decision = decision_among(found, mean, by_model.dof, goal)
    scale = by_model.scale_at(goal.confidence)
    best = int(decision.choices(mean, np.where(unknown, 0.0, scale)))
    times = decision.held_up_times(with_known_scales(by_model))
    low, high, p = (None, None, None) if unknown[best] else _sureness(times, best, goal)
    batch = ClusterBatch.of([found.clusters[best]], fitted.profile)
    whole = points.workloads[best]
    said = fitted.profile.notices, fitted.answering(whole).fit_notices, fitted.notices(batch, whole)
    return ChosenNow(
        best,
        float(times.seconds[best]),
        low,
        high,
        float(found.usd(times.seconds, np.arange(len(found.clusters)))[best]),
        p,
        _said([notice for part in said for notice in part], low),
    )


def _sureness(times: Forecast, place: int, goal: Goal) -> tuple[float, float, float | None]:
    """The interval of the time at a place, and P(T <= deadline)."""
    (lows, highs), deadline = times.interval(goal.confidence), goal.deadline_seconds
    p = None if deadline is None else float(times.p_within(deadline)[place])
    return float(lows[place]), float(highs[place]), p


def _said(notices: Sequence[Notice], low: float | None) -> tuple[Notice, ...]:
    """The notices about a choice, with `ASSUMED_SPREAD` if it has no interval."""
    others = [notice for notice in notices if notice.code != ASSUMED_SPREAD.code]
    return in_order([*others, ASSUMED_SPREAD] if low is None else others)
