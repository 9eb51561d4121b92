"""Fits at very many numbers of machines of a type from few: interpolation along log machines.

Beyond the runs, where no law meets a memory cliff, a type differs from itself only in its machines
m. The time of a law is then a sum of 1, log m and powers of m from -2 to 1 with factors that are
not negative, and of z / p (1 - c / m). Its parts lie within a half-plane where log m is complex
with an imaginary part below pi / 4, so that log times, their means and mean squares are analytic
there (as along cores: `core_interpolation`). The process is of squared exponentials of log m and
log p about each run: at most 1 where the real part is farther from the run than the imaginary one.

In: rows, and what is computed for rows. Out: the same for all of them, computed for few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.checkpoints import checkpoint
from engine.distinct import distinct_rows
from engine.forecast import FloatArray, IntArray
from engine.models.laws.core_interpolation import (
    WORTHWHILE,
    barycentric_weights,
    chebyshev_points,
    node_count,
)
from engine.models.laws.encoding import Rows

STRIP = 0.25 * math.pi
"""Half-width of the strip about the real axis of log machines where all is analytic."""

CLEAR = math.exp(math.sqrt(2.0) * STRIP)
"""Multiple of the machines and cores of every run from which the ellipse of convergence holds no
point that is farther from the real axis than from the run (here 3.04)."""

SEGMENT = 4.0
"""Ratio of the most to the fewest machines of a polynomial: of wider ones each value takes more
nodes, of narrower ones all together do."""

AT_ONCE = 4096
"""Numbers of machines that are interpolated at once."""

SAME_LINE = 9
"""Digits of the log of cores by which rows are of one type: quotients of numbers of machines are
rounded."""

Compute = Callable[[Rows], Sequence[FloatArray]]
"""Arrays (..., n) of n rows."""


def along_machines(rows: Rows, smooth_from: float, compute: Compute) -> list[FloatArray]:
    """What `compute` has for n rows, in blocks: by interpolation where rows with at least
    `smooth_from` machines are many."""
    segments = list(_segments(rows, smooth_from))
    if not segments:
        return _in_blocks(rows, compute)
    near = np.ones(len(rows), dtype=bool)
    for segment in segments:
        near[segment.rows] = False
    found = []
    for part in _in_blocks(rows.take(near), compute):
        whole = np.empty((*part.shape[:-1], len(rows)))
        whole[..., near] = part
        found.append(whole)
    for segment in segments:
        segment.fill(found, _in_blocks(segment.nodes, compute))
    return found


def _in_blocks(rows: Rows, compute: Compute) -> list[FloatArray]:
    parts = [compute(rows.take(block)) for block in row_blocks(len(rows))]
    return [np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)]


BLOCK_ROWS = 24_576
"""Rows that are predicted at once, more than all types of a catalog on 64 numbers of machines: the
more share a number of machines, or all but that, the less is computed for each."""


def row_blocks(rows: int) -> Iterator[slice]:
    """The rows in blocks; one empty block of no rows."""
    for start in range(0, max(1, rows), BLOCK_ROWS):
        checkpoint()
        yield slice(start, start + BLOCK_ROWS)


@dataclass(frozen=True, eq=False)
class _Segment:
    """Rows of g types within a range of machines.

    Args:
        nodes: the g q rows to compute, types outermost.
        log_nodes: (q,) their log machines.
        rows: (n,) indices of the rows, in the order of their machines.
        log_machines: (u,) distinct, ascending. first: (u + 1,) where the rows of each begin.
        types: (n,) which of the g types each row has.
    """

    nodes: Rows
    log_nodes: FloatArray
    rows: IntArray
    log_machines: FloatArray
    first: IntArray
    types: IntArray

    def fill(self, wholes: Sequence[FloatArray], parts: Sequence[FloatArray]) -> None:
        """Sets these rows in arrays (..., all rows) from those at the nodes (..., g q)."""
        for start in range(0, len(self.log_machines), AT_ONCE):
            at = self.log_machines[start : start + AT_ONCE]
            weights = barycentric_weights(self.log_nodes, at)
            of = slice(self.first[start], self.first[start + len(at)])
            counts = np.diff(self.first[start : start + len(at) + 1])
            columns = np.repeat(np.arange(len(at)), counts)
            for whole, part in zip(wholes, parts, strict=True):
                by_type = part.reshape(*part.shape[:-1], -1, len(self.log_nodes)) @ weights
                whole[..., self.rows[of]] = by_type[..., self.types[of], columns]


def _segments(rows: Rows, smooth_from: float) -> Iterator[_Segment]:
    """Those with fewer nodes than rows."""
    far = np.flatnonzero(rows.machines >= smooth_from)
    if not far.size:
        return
    first, types = distinct_rows(_columns_of_a_type(rows.take(far)))
    index = np.log(rows.machines[far] / smooth_from) / math.log(SEGMENT)
    segment_of = index.astype(np.int64)
    for number in np.unique(segment_of):
        at = np.flatnonzero(segment_of == number)
        machines, which = np.unique(rows.machines[far[at]], return_inverse=True)
        kinds, types_at = np.unique(types[at], return_inverse=True)
        logs = np.log(machines)
        count = node_count(logs[0], logs[-1], STRIP)
        if len(kinds) * count > WORTHWHILE * len(at):
            continue
        log_nodes = chebyshev_points(logs[0], logs[-1], count)
        one_of_each = rows.take(np.repeat(far[first[kinds]], count))
        nodes = replace(one_of_each, machines=np.tile(np.exp(log_nodes), len(kinds)))
        order = np.argsort(which, kind="stable")
        begins = np.searchsorted(which[order], np.arange(len(machines) + 1))
        yield _Segment(nodes, log_nodes, far[at[order]], logs, begins, types_at[order])


def _columns_of_a_type(rows: Rows) -> list[FloatArray | IntArray]:
    """All numbers of (n,) rows but their machines."""
    rounded = [np.round(np.log(cores), SAME_LINE) for cores in (rows.cores, rows.own_cores)]
    known = [rows.memory, rows.size, rows.iterations, rows.type_index, rows.family]
    return [*rounded, *known, *rows.parameters.T]
