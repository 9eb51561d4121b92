"""What time stands for laws of which some take the data to fit in memory and others do not.

Where few runs leave the place of a memory cliff open, laws fall into two states that are far apart:
the time of a job whose data fits, and many times as much. The mean of the logarithms lies where
neither has it: between 410 s where data fits and 10,900 s where it does not, 1,290 s were foretold
for a job that took 434. An error counts in proportion to the time, so the answer is the p that
makes the mean of (p - T)^2 / T over the two states least: their harmonic mean. What stands for a
state is the mean log time of its laws.
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray

CERTAIN = 1e-9
"""Probability below which a state is none."""


def states_shift(slipped: FloatArray, times: FloatArray, mean: FloatArray) -> FloatArray:
    """(n,) what the logarithm of the harmonic mean of the two states' times has more than the mean
    log time of all laws: at most 0, and 0 where the unfit state is the faster one.

    Args:
        slipped: (n, d) probability of each law by which the data does not fit, 0 for the others.
        times: (n, d) log time by each law.
        mean: (n,) mean log time of all laws.
    """
    p = np.clip(slipped.sum(axis=1), CERTAIN, 1.0 - CERTAIN)
    unfit = np.einsum("nd,nd->n", times, slipped) / p
    apart = np.maximum(unfit - mean, 0.0) / (1.0 - p)
    return np.asarray(-p * apart - np.log1p(p * np.expm1(-apart)))
