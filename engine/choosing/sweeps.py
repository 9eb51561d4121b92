"""Passes over large arrays that a slider step can afford: in blocks, sorted once, tabulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.errors import BadInput
from engine.forecast import LARGE_DOF, FloatArray, IntArray
from engine.lazy import Recent
from engine.notices import Notice

MAX_POINTS = 4_000_000
"""More compositions do not fit into the memory of a small gateway node."""

TIE = 1e-9
"""Costs (or times) that differ by less than this share are equal: only rounding separates them."""

BLOCK = 16_384
"""Numbers per block of a sweep over an array: temporaries then stay in a core's cache."""

RUN = 128
"""Points whose lowest value is compared at once while looking for falling ones. An array whose
length is a multiple of it is not copied."""

_GRID = 512
"""Cells of the table of Student quantiles; linear in 1/dof between them they are off by less than
1e-6 of themselves."""


def require_points(types: int, max_nodes: int) -> None:
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


def falling(values: FloatArray) -> IntArray:
    """Places of the values below everything before them.

    Runs whose lowest value is not below what came before hold none: most are passed over whole.
    """
    if len(values) % RUN:
        values = np.append(values, np.full(-len(values) % RUN, np.inf))
    runs = values.reshape(-1, RUN)
    lowest = runs.min(axis=1)
    before = np.append(np.inf, np.minimum.accumulate(lowest))[:-1]
    hot = np.flatnonzero(lowest < before)
    numbers = runs[hot]
    seen = np.minimum.accumulate(np.column_stack([before[hot], numbers[:, :-1]]), axis=1)
    run, place = np.nonzero(numbers < seen)
    return np.asarray(hot[run] * RUN + place)


def significant(values: FloatArray) -> FloatArray:
    """Values to 10 significant digits, so that rounding errors do not decide an order."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (9.0 - np.floor(np.log10(values)))
        rounded = np.round(values * scale) / scale
    return np.asarray(np.where(np.isfinite(rounded), rounded, values))


def unbeaten(seconds: FloatArray, costs: FloatArray) -> IntArray:
    """Places of the points, fastest first, that no other beats in time and cost; of equal costs the
    fastest is kept, of equal times the cheapest."""
    found = falling(significant(costs))
    times = seconds[found]
    return np.asarray(found[np.append(times[1:] > times[:-1], True)[: len(found)]])


def argsort(values: FloatArray, ties: IntArray) -> IntArray:
    """The order of values, equal ones by `ties`.

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


def useful(seconds: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Of (k, m) times of k types on 1 ... m nodes those that may be on a frontier: flat indices,
    rows and node counts, by time; equal times by node count, then row.

    A point that is no faster than one with fewer nodes of its type is on none.
    """
    k, m = seconds.shape
    before = np.full((k, m), np.inf)
    np.minimum.accumulate(seconds[:, :-1], axis=1, out=before[:, 1:])
    flat = np.flatnonzero(seconds < before)
    rows, columns = np.divmod(flat, m)
    order = argsort(seconds.ravel()[flat], columns * k + rows)
    return flat[order], rows[order], columns[order] + 1.0


@dataclass(frozen=True, eq=False)
class StudentGrid:
    """Degrees of freedom prepared for quantiles at any probability.

    Models give each point its own number, and SciPy's inverse takes a microsecond for each of half
    a million. The quantile is smooth in 1/dof, so it is looked up between `_GRID` values of that.

    Args:
        inverse: (k, m) 1/dof; `place`: (k, m) the cell of the grid that holds it.
        grid: (g,) values of 1/dof; a single one when all points share it.
    """

    inverse: FloatArray
    place: IntArray
    grid: FloatArray

    @classmethod
    def of(cls, dof: FloatArray) -> StudentGrid:
        """For (k, m) degrees of freedom; unknown ones (NaN) get any quantile."""
        inverse = 1.0 / np.where(np.isnan(dof), LARGE_DOF, np.minimum(dof, LARGE_DOF))
        low, high = float(inverse.min()), float(inverse.max())
        if low == high:
            return cls(inverse, np.zeros(dof.shape, dtype=np.int64), np.asarray([low]))
        grid = np.linspace(low, high, _GRID + 1)
        place = ((inverse - low) * (_GRID / (high - low))).astype(np.int64)
        return cls(inverse, np.minimum(place, _GRID - 1), grid)

    def quantile(self, p: float) -> Callable[[slice], FloatArray | float]:
        """The quantiles at `p` of some rows."""
        from scipy.special import stdtrit

        exact = np.asarray(stdtrit(1.0 / self.grid, p))
        if len(self.grid) == 1:
            return lambda rows: float(exact[0])
        slope = np.diff(exact) / np.diff(self.grid)
        start = exact[:-1] - slope * self.grid[:-1]

        def of_rows(rows: slice) -> FloatArray:
            found = np.take(slope, self.place[rows], mode="clip")
            found *= self.inverse[rows]
            found += np.take(start, self.place[rows], mode="clip")
            return found

        return of_rows


KEPT, KEPT_NOTICES = 3, 4096
"""Arrays kept per kind of question (confidence, billing): enough to step back and forth; notices of
single points."""


class KeptSweeps:
    """Answers to the last questions about a surface. They do not hold it: its dozens of megabytes
    are free as soon as a slider has left it, not when the next whole collection comes."""

    def __init__(self) -> None:
        self.bounds: Recent[FloatArray] = Recent(KEPT)
        self.costs: Recent[FloatArray] = Recent(KEPT)
        self.rates: Recent[tuple[FloatArray, float]] = Recent(KEPT)
        self.skylines: Recent[IntArray] = Recent(KEPT)
        self.notices: Recent[tuple[Notice, ...]] = Recent(KEPT_NOTICES)
