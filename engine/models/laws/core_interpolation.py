"""The laws at many numbers of cores from their times at few: interpolation along log cores.

For as many machines, a size and a number of iterations, the time of a law that meets no memory
cliff is a sum of powers of the cores p with factors that are not negative: 1, p^-1/2, p^-1, p^-2.
Such a sum has no zero where log p is complex with an imaginary part below pi / 2 (all its parts lie
within a half-plane), so the log time is analytic in that strip, and so are the mean over laws and
its mean square. A polynomial through Chebyshev points then converges geometrically (Trefethen,
Approximation Theory and Approximation Practice, SIAM 2013, Theorem 8.2): some sixty numbers of
cores tell those of all types of a catalog, as exactly as sums of floating-point numbers are.

In: points. Out: fewer points, and what is computed there interpolated back. What meets a cliff is
not interpolated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.terms import Points

STRIP = 0.5 * math.pi
"""Half-width of the strip about the real axis of log cores where log times are analytic."""

PRECISION = 1e-14
"""What that rate of convergence leaves of the function's size in the strip: times and variances
then differ from those computed at each point by rounding alone."""

WORTHWHILE = 0.75
"""Points are interpolated from at most this share as many."""


@dataclass(frozen=True, eq=False)
class CoreInterpolation:
    """Interpolation of n points from q numbers of cores for each of their g numbers of machines.

    Args:
        nodes: the g q points to compute at, machines outermost.
        weights: (q, u) weight of each node at each of the distinct numbers of cores.
        machines_index, cores_index: (n,) which of both each point has.
    """

    nodes: Points
    weights: FloatArray
    machines_index: IntArray
    cores_index: IntArray

    @classmethod
    def of(cls, at: Points) -> CoreInterpolation | None:
        """For points that meet no cliff; None where computing there takes about as long, where they
        are of several sizes or numbers of iterations, or where one is no number."""
        if len(at) == 0 or not all((of == of[0]).all() for of in (at.size, at.iterations)):
            return None
        if not np.isfinite((at.machines, at.cores)).all():
            return None
        cores, cores_index = np.unique(at.cores, return_inverse=True)
        machines, first, machines_index = np.unique(
            at.machines, return_index=True, return_inverse=True
        )
        log_cores = np.log(cores)
        count = node_count(log_cores[0], log_cores[-1], STRIP)
        if len(machines) * count > WORTHWHILE * len(at):
            return None
        log_nodes = chebyshev_points(log_cores[0], log_cores[-1], count)
        of_machines = at.take(np.repeat(first, count))
        nodes = replace(of_machines, cores=np.tile(np.exp(log_nodes), len(machines)))
        weights = barycentric_weights(log_nodes, log_cores)
        return cls(nodes, weights, machines_index, cores_index)

    def at_points(self, values: FloatArray) -> FloatArray:
        """(..., n) what is (..., g q) at the nodes."""
        nodes = len(self.weights)
        by_machines = values.reshape(*values.shape[:-1], len(self.nodes) // nodes, nodes)
        by_machines = by_machines @ self.weights
        return np.asarray(by_machines[..., self.machines_index, self.cores_index])


def node_count(first: float, last: float, strip: float) -> int:
    """Nodes with which the error is at most `PRECISION` between two values, for a function that is
    analytic that far from the real axis."""
    if first == last:
        return 1
    relative = 2.0 * strip / float(last - first)
    return math.ceil(-math.log(PRECISION) / math.log(relative + math.hypot(relative, 1.0)))


def chebyshev_points(first: float, last: float, count: int) -> FloatArray:
    """(q,) Chebyshev points of the first kind between two values."""
    return 0.5 * (first + last) + 0.5 * (last - first) * np.cos(_angles(count))


def barycentric_weights(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """(q, u) weight of each of (q,) `chebyshev_points` at (u,) values (Trefethen, Eq. 5.11)."""
    apart = at - nodes[:, None]
    signs = (1.0 - 2.0 * (np.arange(len(nodes)) % 2))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = signs * np.sin(_angles(len(nodes)))[:, None] / apart
        weights /= weights.sum(axis=0)
    on_node = (apart == 0.0).any(axis=0)
    weights[:, on_node] = apart[:, on_node] == 0.0
    return np.asarray(weights)


def _angles(count: int) -> FloatArray:
    return (np.arange(count) + 0.5) * np.pi / count
