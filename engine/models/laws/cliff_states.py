"""What time stands for laws of which some take the data to fit in memory and others do not.

If few runs leave the place of a memory cliff open, laws fall into two states far apart: the time of
a job whose data fits, and many times as much. The mean of the logarithms lies where neither is:
between 410 s and 10,900 s, 1,290 s were predicted for a job that took 434. Errors count in
proportion to the time, so the answer is the p that minimises the mean of (p - T)^2 / T over the two
states: their harmonic mean. A state stands for the mean log time of its laws.

The uncertainty is not symmetric either: the time is hardly below half of the answer if the data
fits, but may be ten times as much if not.
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray, student_quantile

CERTAIN = 1e-9
"""Probability below which a state is none."""

SIDE_LEVELS = np.asarray([0.9, 0.95, 0.99])
"""Upper ends of the central intervals of 80, 90 and 98 %. Several are averaged, so that no side
jumps when the less likely state leaves one of them."""


def states_shift(slipped: FloatArray, times: FloatArray, mean: FloatArray) -> FloatArray:
    """(n,) log of the harmonic mean of the two states' times, less the mean log time of all laws:
    at most 0, and 0 where the unfit state is the faster one.

    Args:
        slipped: (n, d) probability of each law by which the data does not fit, 0 for the others.
        times: (n, d) log time by each law.
        mean: (n,) mean log time of all laws.
    """
    p = np.clip(slipped.sum(axis=1), CERTAIN, 1.0 - CERTAIN)
    unfit = np.einsum("nd,nd->n", times, slipped) / p
    apart = np.maximum(unfit - mean, 0.0) / (1.0 - p)
    return np.asarray(-p * apart - np.log1p(p * np.expm1(-apart)))


def side_shares(apart: FloatArray) -> FloatArray:
    """(2, n) variance below and above the answer, as a share of the mean square of `apart`.

    That of the normal law with the same bounds, averaged over `SIDE_LEVELS`.

    Args:
        apart: (n, d) log time by each of d equally probable laws less the answer.
    """
    laws = apart.shape[1]
    high = np.ceil(SIDE_LEVELS * laws).astype(int) - 1
    ordered = np.sort(apart, axis=1)
    normal = [float(student_quantile(level, np.asarray(np.inf))) for level in SIDE_LEVELS]
    per_level = 1.0 / (len(normal) * np.asarray(normal))
    sides = np.stack((-(ordered[:, laws - 1 - high] @ per_level), ordered[:, high] @ per_level))
    return np.asarray(np.maximum(sides, 0.0) ** 2 / np.einsum("nd,nd->n", apart, apart) * laws)
