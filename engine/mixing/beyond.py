"""Times of a type alone on more nodes than may be rented.

A mix of large and small nodes has the capacity of many small ones: of more than `max_nodes`, as far
as the small ones are smaller. Its law (`engine.mixing.mix_law`) asks for the time of so many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.choosing.surface import Surface
from engine.forecast import FloatArray, Forecast, IntArray

STEP = 1.05
"""From one count to the next: between them the law takes a + b / n."""


@dataclass(frozen=True, eq=False)
class Beyond:
    """Forecasts of the k types of a surface on e counts beyond its last.

    Args:
        nodes: (e,) rising counts.
        seconds, log_scale, dof: (k, e); of counts that no mix asks for the value before.
        before: (k,) the time on the surface's last count.
        scale_below: (k, e) the scale below the median; None where that is the same.
    """

    nodes: IntArray
    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray
    before: FloatArray
    scale_below: FloatArray | None = None

    def beside(self, last: FloatArray) -> FloatArray:
        """(k, e) times beside a surface on which (k,) those of the last count were corrected: they
        are off by as much."""
        with np.errstate(invalid="ignore"):
            off = last / self.before
        return np.asarray(self.seconds * np.where(np.isfinite(off), off, 1.0)[:, None])


def asked_beyond(surface: Surface, capacity: FloatArray, executor_cores: IntArray) -> Beyond | None:
    """The forecasts for mixes of a surface's types, asked of the model at once; None where the
    surface holds all of them.

    Args:
        capacity, executor_cores: (k,) of a node; only types with as many cores in each executor
            are mixed.
    """
    m, alike = surface.max_nodes, _most_alike(surface, capacity, executor_cores)
    most = float(alike.max(initial=0.0))
    if most <= m:
        return None
    steps = int(np.ceil(np.log(most / m) / np.log(STEP)))
    nodes = np.unique(np.ceil(np.geomspace(m, most, steps + 1)).astype(np.int64))[1:]
    ends = np.searchsorted(nodes, alike)  # the column that the largest mix lies before
    wanted = (np.arange(len(nodes)) <= ends[:, None]) & (alike > m)[:, None]
    grid = surface.candidates.grid(nodes.tolist())
    found = surface.fitted.forecast(grid.taken(np.flatnonzero(wanted.ravel())), surface.workload)
    return _beyond_surface(surface, nodes, wanted, found)


def _most_alike(surface: Surface, capacity: FloatArray, executor_cores: IntArray) -> FloatArray:
    """(k,) nodes of each type that have the capacity of the largest mix with it."""
    alike = np.zeros(len(capacity))
    for cores in np.unique(executor_cores):
        group = (executor_cores == cores) & np.isfinite(capacity)
        alike[group] = surface.max_nodes * capacity[group].max(initial=0.0) / capacity[group]
    return alike


def _beyond_surface(
    surface: Surface, nodes: IntArray, wanted: np.ndarray, found: Forecast
) -> Beyond:
    """The forecasts of the (k, e) `wanted` counts, beside those of the surface."""
    last, own = surface.uninterrupted[:, -1], surface.forecast
    known = np.isfinite(found.seconds) & (found.seconds > 0.0)

    def filled(values: FloatArray, table: FloatArray) -> FloatArray:
        return _filled(wanted, values, table.reshape(surface.shape)[:, -1])

    return Beyond(
        nodes,
        _filled(wanted, np.where(known, found.seconds, np.inf), last),
        filled(found.log_scale, own.log_scale),
        filled(found.dof, own.dof),
        last,
        None if found.symmetric and own.symmetric else filled(found.scale_below, own.scale_below),
    )


def _filled(wanted: np.ndarray, values: FloatArray, before: FloatArray) -> FloatArray:
    """(k, e) values where they were asked for, and behind these the last one, or (k,) `before`."""
    k, e = wanted.shape
    table = np.empty((k, e + 1))
    table[:, 0] = before
    table[:, 1:][wanted] = values
    return np.asarray(
        np.take_along_axis(
            table, np.minimum(np.arange(1, e + 1), wanted.sum(axis=1)[:, None]), axis=1
        )
    )
