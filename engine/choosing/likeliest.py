"""The cluster that likeliest keeps a deadline, where none keeps it with the required confidence.

The nearest miss says which deadline can be promised. Often it is a cluster that was measured and is
known to be a little late: its time is the surest. Whoever cannot move the deadline wants another
one, the one with the best chance.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

from engine.choosing.goal_view import GoalView
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE, row_blocks, significant
from engine.forecast import LARGE_DOF, BoolArray, FloatArray, IntArray, student_quantile
from engine.special_functions import stdtr

ALIKE = 0.01
"""Chances that differ by no more are alike: they are told in whole per cents, and a hundredth more
may cost ten times as much."""

_TABLE_ERROR = 1e-3
"""More than what tabulated Student quantiles are off by (`sweeps.StudentGrid`)."""


def likeliest_point(view: GoalView) -> int | None:
    """The surface point of the greatest P(T <= deadline) within the budget; of those that are as
    likely, within `ALIKE`, the cheapest, then the first.

    None without a deadline or an interval, and where no chance exceeds one less the confidence:
    every cluster then misses the deadline with that confidence, and the greatest chance would be
    that of the vaguest prediction.

    Student's distribution is slow, and a slider asks at each step: the chances of few points are
    computed, and quantiles from a table tell which of the others reach a chance.
    """
    deadline, least = view.goal.deadline_seconds, 1.0 - view.goal.confidence
    if deadline is None:
        return None
    distances, farthest = np.empty(view.costs.shape), np.empty(len(view.rows))
    for block in row_blocks(*view.costs.shape):
        _fill_distances(view, block, deadline, distances[block])
        farthest[block] = distances[block].max(axis=1)
    bound = stdtr(view.surface.cached(_extreme_dof), farthest.max(initial=-np.inf)).max()
    if not bound > least:
        return None
    rows = np.flatnonzero(farthest > -np.inf)
    greatest = _greatest_chance(view, rows, distances.argmax(axis=1)[rows])
    for near, reaches in _reaching(view, distances, farthest, greatest):
        index, columns = np.nonzero(reaches)
        greatest = max(greatest, _greatest_chance(view, near[index], columns))
    if not greatest > least:
        return None
    return _cheapest(view, _reaching(view, distances, farthest, greatest - ALIKE))


def _cheapest(view: GoalView, blocks: Iterator[tuple[IntArray, BoolArray]]) -> int:
    """The surface point of the least cost among those of `_reaching`, of equal ones the first."""
    points, costs = [], []
    for rows, reaches in blocks:
        reaching = np.where(reaches, view.costs[rows], np.inf)
        lowest = reaching.min(axis=1)
        columns = (reaching <= lowest[:, None] * (1.0 + TIE)).argmax(axis=1)
        points.append(view.flat_indices(rows, columns))
        costs.append(lowest)
    flat, lowest = np.concatenate(points), significant(np.concatenate(costs))
    return int(flat[np.lexsort((flat, lowest))[0]])


def _greatest_chance(view: GoalView, rows: IntArray, columns: IntArray) -> float:
    """The greatest P(T <= deadline) of some points of the view; 0 of none."""
    deadline = view.goal.deadline_seconds
    assert deadline is not None
    chances = view.surface.p_within(view.flat_indices(rows, columns), deadline)
    return float(np.fmax.reduce(chances, initial=0.0))


def _reaching(
    view: GoalView, distances: FloatArray, farthest: FloatArray, chance: float
) -> Iterator[tuple[IntArray, BoolArray]]:
    """(b,) rows, in blocks, and which of their (b, m') points have a P(T <= deadline) of at least
    `chance`, by tabulated quantiles (`sweeps.StudentGrid`)."""
    surface, m = view.surface, distances.shape[1]
    nearest, quantiles = -sys.float_info.max, None
    if chance > 0.0:
        dof = surface.cached(_extreme_dof)
        nearest = float(student_quantile(chance, dof).min()) - _TABLE_ERROR
        quantiles = surface.student_quantiles.quantile(chance)
    near = np.flatnonzero(farthest >= nearest)
    for block in row_blocks(len(near), surface.max_nodes):
        rows, wanted = near[block], np.asarray(nearest)
        if quantiles is not None:
            wanted = np.asarray(quantiles(view.rows[rows]))
        yield rows, distances[rows] >= (wanted[:, :m] if wanted.ndim else wanted)


def _fill_distances(view: GoalView, rows: slice, deadline: float, out: FloatArray) -> None:
    """Writes to (b, m') `out` how many scales of log T the deadline of some rows of the view lies
    above the predicted time; -inf beyond the budget, and where the time or its spread is not
    known."""
    surface = view.surface
    all_rows = len(view.rows) == surface.shape[0]
    part = rows if all_rows else view.rows[rows], slice(view.costs.shape[1])
    forecast = surface.interrupted_forecast
    np.subtract(math.log(deadline), surface.log_seconds[part], out=out)
    scales = forecast.log_scale.reshape(surface.shape)[part]
    if not forecast.symmetric:
        below = forecast.scale_below.reshape(surface.shape)[part]
        scales = np.where(out >= 0.0, scales, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        out /= scales
    possible = view.costs[rows] <= min(view.goal.most_usd, sys.float_info.max)
    possible &= ~np.isnan(out)
    np.copyto(out, -np.inf, where=~possible)


def _extreme_dof(surface: Surface) -> FloatArray:
    """(2,) the fewest and the most degrees of freedom of the points."""
    dof = np.minimum(surface.interrupted_forecast.dof, LARGE_DOF)
    return np.asarray([np.fmin.reduce(dof, initial=LARGE_DOF), np.fmax.reduce(dof, initial=0.0)])
