"""Fast passes over large arrays, for each step of a slider: blocked minima, Pareto fronts,
tabulated quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.caching import LruCache
from engine.errors import BadInput
from engine.forecast import LARGE_DOF, FloatArray, IntArray
from engine.notices import Notice
from engine.special_functions import stdtrit

MAX_POINTS = 4_000_000
"""More compositions do not fit into the memory of a small gateway node."""

TIE = 1e-9
"""Costs (or times) that differ by less than this share are equal: only rounding separates them."""

BLOCK = 16_384
"""Numbers per block of a pass over an array: temporaries then stay in a core's cache."""

CHUNK = 128
"""Points whose minimum is compared at once in `running_minima`. An array whose length is a multiple
of it is not copied."""

_QUANTILE_CELLS = 512
"""Cells of the table of Student quantiles; linear in 1/dof between them they are off by less than
1e-6 of themselves."""


def require_feasible_size(types: int, max_nodes: int) -> None:
    """Refuses more compositions than memory holds.

    Raises:
        BadInput: for these, and for no nodes.
    """
    if max_nodes < 1 or types * max_nodes > MAX_POINTS:
        raise BadInput(
            f"{max_nodes} nodes of {types} types cannot be compared at once",
            remedy=f"at most {MAX_POINTS // types} nodes, or name fewer types",
        )


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows that hold about `BLOCK` numbers each."""
    step = max(1, BLOCK // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def running_minima(values: FloatArray) -> IntArray:
    """Indices of the strict running minima: the values below all values before them.

    A chunk whose minimum is not below all values before it has none; most are skipped whole.
    """
    if len(values) % CHUNK:
        values = np.append(values, np.full(-len(values) % CHUNK, np.inf))
    chunks = values.reshape(-1, CHUNK)
    lowest = chunks.min(axis=1)
    before = np.append(np.inf, np.minimum.accumulate(lowest))[:-1]
    candidates = np.flatnonzero(lowest < before)
    numbers = chunks[candidates]
    best_before = np.minimum.accumulate(
        np.column_stack([before[candidates], numbers[:, :-1]]), axis=1
    )
    chunk, index = np.nonzero(numbers < best_before)
    return np.asarray(candidates[chunk] * CHUNK + index)


def significant(values: FloatArray) -> FloatArray:
    """Values rounded to 10 significant digits, so that rounding errors do not decide an order."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (9.0 - np.floor(np.log10(values)))
        rounded = np.round(values * scale) / scale
    return np.asarray(np.where(np.isfinite(rounded), rounded, values))


def pareto_front(seconds: FloatArray, costs: FloatArray) -> IntArray:
    """Indices of the Pareto front of time and cost, fastest first, of points sorted by time.

    Of equal costs the fastest is kept, of equal times the cheapest.
    """
    indices = running_minima(significant(costs))
    kept_seconds = seconds[indices]
    return np.asarray(
        indices[np.append(kept_seconds[1:] > kept_seconds[:-1], True)[: len(indices)]]
    )


def argsort_with_ties(values: FloatArray, ties: IntArray) -> IntArray:
    """The sorting order of values, equal ones by `ties`.

    NumPy's stable sort takes three times as long as its default one, and few values are equal.
    """
    order = np.argsort(values)
    ordered = values[order]
    same = np.zeros(len(order), dtype=bool)
    same[1:] = ordered[1:] == ordered[:-1]
    same[:-1] |= same[1:]
    tied = order[same]
    order[same] = tied[np.lexsort((ties[tied], values[tied]))]
    return np.asarray(order)


def frontier_candidates(seconds: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The points of (k, m) times, of k types on 1 ... m nodes, that may be on a time/cost frontier.

    A point that is no faster than one with fewer nodes of its type is on none.

    Returns:
        Flat indices, rows and node counts, by time; equal times by node count, then row.
    """
    k, m = seconds.shape
    before = np.full((k, m), np.inf)
    np.minimum.accumulate(seconds[:, :-1], axis=1, out=before[:, 1:])
    flat = np.flatnonzero(seconds < before)
    rows, columns = np.divmod(flat, m)
    order = argsort_with_ties(seconds.ravel()[flat], columns * k + rows)
    return flat[order], rows[order], columns[order] + 1.0


@dataclass(frozen=True, eq=False)
class StudentGrid:
    """Degrees of freedom prepared for fast Student quantiles at any probability.

    Models give each point its own number, and SciPy's inverse takes a microsecond for each of half
    a million. The quantile is smooth in 1/dof, so it is interpolated on a grid of `_QUANTILE_CELLS`
    cells.

    Args:
        inverse: (k, m) 1/dof.
        cell: (k, m) the cell of the grid that holds it.
        grid: (g,) values of 1/dof; a single one when all points share it.
    """

    inverse: FloatArray
    cell: IntArray
    grid: FloatArray

    @classmethod
    def of(cls, dof: FloatArray) -> StudentGrid:
        """For (k, m) degrees of freedom; unknown ones (NaN) get any quantile."""
        inverse = 1.0 / np.where(np.isnan(dof), LARGE_DOF, np.minimum(dof, LARGE_DOF))
        low, high = float(inverse.min()), float(inverse.max())
        if low == high:
            return cls(inverse, np.zeros(dof.shape, dtype=np.int64), np.asarray([low]))
        grid = np.linspace(low, high, _QUANTILE_CELLS + 1)
        cell = ((inverse - low) * (_QUANTILE_CELLS / (high - low))).astype(np.int64)
        return cls(inverse, np.minimum(cell, _QUANTILE_CELLS - 1), grid)

    def quantile(self, p: float) -> Callable[[slice | IntArray], FloatArray | float]:
        """A function from some rows to their quantiles at `p`."""
        exact = np.asarray(stdtrit(1.0 / self.grid, p))
        if len(self.grid) == 1:
            return lambda rows: float(exact[0])
        slope = np.diff(exact) / np.diff(self.grid)
        start = exact[:-1] - slope * self.grid[:-1]

        def of_rows(rows: slice | IntArray) -> FloatArray:
            quantiles = np.take(slope, self.cell[rows], mode="clip")
            quantiles *= self.inverse[rows]
            quantiles += np.take(start, self.cell[rows], mode="clip")
            return quantiles

        return of_rows


CACHED_ARRAYS, CACHED_NOTICES = 3, 4096
"""Arrays cached per argument (confidence, billing), enough to step back and forth; and notices of
single points."""


class SweepCache:
    """Recent arrays computed from a surface. The cache does not refer to the surface, so that its
    dozens of megabytes are freed as soon as a slider has left it, not at the next full garbage
    collection."""

    def __init__(self) -> None:
        self.least_deadlines: LruCache[FloatArray] = LruCache(CACHED_ARRAYS)
        self.costs: LruCache[FloatArray] = LruCache(CACHED_ARRAYS)
        self.skylines: LruCache[IntArray] = LruCache(CACHED_ARRAYS)
        self.notices: LruCache[tuple[Notice, ...]] = LruCache(CACHED_NOTICES)
