"""Forecasts of single types beyond the node counts of the surface.

A mix of large and small nodes may have the capacity of more than `max_nodes` small ones. Its law
(`engine.mixing.mix_law`) needs the time of the small type alone on that many nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.choosing.surface import Surface
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray

GROWTH = 1.1
"""Ratio of successive counts; between them the law interpolates by a + b / n. Of run tables and of
a log of 100,000 tasks the time is off by at most 0.6 %. Logs of few tasks have steps, where a wave
ends: of the bundled ones, up to 8 times the 16 or 64 nodes of a surface, it is off by up to 0.11 %
on average, but at single counts by up to 5.4 % beyond 16 nodes (word-count-large on m4.large) and
2.4 % beyond 64 (sales-report-large); at a ratio of 1.05 by up to 1.5 and 3.4 %."""


@dataclass(frozen=True, eq=False)
class BeyondSurface:
    """Forecasts of the k types of a surface on e counts beyond its last.

    Args:
        nodes: (e,) rising counts.
        seconds, log_scale, dof: (k, e); counts that no mix needs repeat the value before.
        last_seconds: (k,) the time on the surface's last count.
        scale_below: (k, e) the scale below the median; None if symmetric.
        is_exact: whether every count that a mix needs is there, each evaluated one by one.
    """

    nodes: IntArray
    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray
    last_seconds: FloatArray
    scale_below: FloatArray | None = None
    is_exact: bool = False

    def corrected_seconds(self, corrected_last: FloatArray) -> FloatArray:
        """(k, e) times, scaled by the correction of the surface's last count, which is now (k,)
        `corrected_last`."""
        with np.errstate(invalid="ignore"):
            ratio = corrected_last / self.last_seconds
        return np.asarray(self.seconds * np.where(np.isfinite(ratio), ratio, 1.0)[:, None])


def forecast_beyond(
    surface: Surface, capacity: FloatArray, executor_cores: IntArray
) -> BeyondSurface | None:
    """The forecasts beyond a surface that mixes of its types need; None where the surface holds all
    of them. They are `is_exact` where the model is too coarse on grids for a proof, the surface is
    exact, and the model evaluates both in the time of a proof; else counts are `GROWTH` apart, all
    in one call of the model.

    Args:
        capacity, executor_cores: (k,) of a node; only types with as many cores in each executor
            are mixed.
    """
    m, equivalents = surface.max_nodes, _largest_equivalents(surface, capacity, executor_cores)
    largest = float(equivalents.max(initial=0.0))
    if largest <= m:
        return None
    if not surface.fitted.is_precise_on_grids and _is_exact(surface):
        every = np.arange(m + 1, int(np.ceil(largest)) + 1)
        wanted = _wanted(every, equivalents, m)
        needed = surface.seconds.size + int(wanted.sum())
        if needed <= surface.fitted.most_to_prove(surface.workload):
            exact = _exact_forecast(surface, every, wanted)
            return replace(_from_forecast(surface, every, wanted, exact), is_exact=True)
    steps = int(np.ceil(np.log(largest / m) / np.log(GROWTH)))
    nodes = np.unique(np.ceil(np.geomspace(m, largest, steps + 1)).astype(np.int64))[1:]
    wanted = _wanted(nodes, equivalents, m)
    grid = surface.candidates.grid(nodes.tolist())
    forecast = surface.fitted.forecast(grid.take(np.flatnonzero(wanted.ravel())), surface.workload)
    return _from_forecast(surface, nodes, wanted, forecast)


def is_precise_for_mixes(surface: Surface, beyond: BeyondSurface | None) -> bool:
    """Whether the times tell which mix is best: those of a model that is precise on grids, or where
    every count that a mix may stand for was evaluated one by one, on the surface and beyond."""
    if surface.fitted.is_precise_on_grids:
        return True
    return _is_exact(surface) and (beyond is None or beyond.is_exact)


def _is_exact(surface: Surface) -> bool:
    """Whether every point was evaluated one by one: also those that limits forbid of one type,
    which `Surface.is_precise` leaves out, since a mix may count for so many of it."""
    if surface.seconds.size <= surface.fitted.exact_at_once(surface.workload):
        return True
    interpolated = np.isfinite(surface.uninterrupted.ravel())
    interpolated[list(surface.exact)] = False
    return not interpolated.any()


def _wanted(nodes: IntArray, equivalents: FloatArray, last: int) -> BoolArray:
    """(k, e) the counts that mixes need: up to the one at or beyond the largest mix."""
    columns = np.searchsorted(nodes, equivalents)
    return (np.arange(len(nodes)) <= columns[:, None]) & (equivalents > last)[:, None]


def _exact_forecast(surface: Surface, nodes: IntArray, wanted: BoolArray) -> Forecast:
    """The forecasts at the (k, e) `wanted` counts, evaluated one by one."""
    rows, columns = np.nonzero(wanted)
    largest = int(nodes[-1])
    points = rows * largest + nodes[columns] - 1
    nothing = Forecast.of(np.full(len(wanted) * largest, np.nan))
    empty = replace(surface, max_nodes=largest, forecast=nothing, exact=frozenset())
    return empty.refined(points.tolist()).forecast.take(points)


def _largest_equivalents(
    surface: Surface, capacity: FloatArray, executor_cores: IntArray
) -> FloatArray:
    """(k,) nodes of each type with the capacity of the largest mix that it can be part of."""
    equivalents = np.zeros(len(capacity))
    for cores in np.unique(executor_cores):
        group = (executor_cores == cores) & np.isfinite(capacity)
        equivalents[group] = surface.max_nodes * capacity[group].max(initial=0.0) / capacity[group]
    return equivalents


def _from_forecast(
    surface: Surface, nodes: IntArray, wanted: BoolArray, forecast: Forecast
) -> BeyondSurface:
    """The forecasts at the (k, e) `wanted` counts; the others repeat the value before."""
    last, surface_forecast = surface.uninterrupted[:, -1], surface.forecast
    known = np.isfinite(forecast.seconds) & (forecast.seconds > 0.0)

    def with_last(values: FloatArray, table: FloatArray) -> FloatArray:
        return _table_of(wanted, values, table.reshape(surface.shape)[:, -1])

    return BeyondSurface(
        nodes,
        _table_of(wanted, np.where(known, forecast.seconds, np.inf), last),
        with_last(forecast.log_scale, surface_forecast.log_scale),
        with_last(forecast.dof, surface_forecast.dof),
        last,
        None
        if forecast.symmetric and surface_forecast.symmetric
        else with_last(forecast.scale_below, surface_forecast.scale_below),
    )


def _table_of(wanted: BoolArray, values: FloatArray, last: FloatArray) -> FloatArray:
    """(k, e) values at the `wanted` counts; after these the last of them, or (k,) `last`."""
    k, e = wanted.shape
    table = np.empty((k, e + 1))
    table[:, 0] = last
    table[:, 1:][wanted] = values
    return np.asarray(
        np.take_along_axis(
            table, np.minimum(np.arange(1, e + 1), wanted.sum(axis=1)[:, None]), axis=1
        )
    )
