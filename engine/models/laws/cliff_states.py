"""The predicted time where some laws have the data fit in memory and others do not.

If the runs are too few to locate a memory cliff, the laws fall into two states far apart: the time
of a job whose data fits, and many times as much. The mean of the logarithms lies between them,
where the time never is: with states at 410 s and 10,900 s it would predict 1,290 s for a job that
took 434 s. The loss is the squared error divided by the time, between squared absolute and squared
relative error. The prediction is the p that minimises the mean of (p - T)^2 / T over the two
states: their harmonic mean, weighted by their probabilities. Each state has the mean log time of
its laws.

The uncertainty is not symmetric either: the time is hardly below half of the prediction if the data
fits, but may be ten times as much if not.

In: log times of a point by each law, and which laws say that its data does not fit. Out: a shift of
the mean, and variances of both sides. Explained in
docs/models/sparkplan_rules_run_tables.md#memory-of-run-times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.forecast import FloatArray, student_quantile

LEAST_PROBABILITY = 1e-9
"""Probability below which a state does not count."""

SIDE_LEVELS = np.asarray([0.9, 0.95, 0.99])
"""Levels of the upper quantiles that bound the central intervals of 80, 90 and 98 %. Several are
averaged, so that no side jumps when the less likely state leaves one of them."""


def harmonic_mean_shift(
    newly_unfit: FloatArray, log_times: FloatArray, mean: FloatArray
) -> FloatArray:
    """(n,) log of the harmonic mean of the two states' times, less the mean log time of all laws:
    at most 0, and 0 where the state without fitting data is the faster one.

    Args:
        newly_unfit: (n, d) probability of each law by which the data does not fit although that of
            a run did (`Laws.newly_unfit`), 0 for the others.
        log_times: (n, d) log time by each law.
        mean: (n,) mean log time of all laws.
    """
    probability = np.clip(newly_unfit.sum(axis=1), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    unfit_mean = np.einsum("nd,nd->n", log_times, newly_unfit) / probability
    log_gap = np.maximum(unfit_mean - mean, 0.0) / (1.0 - probability)
    return np.asarray(-probability * log_gap - np.log1p(probability * np.expm1(-log_gap)))


def side_variance_factors(deviations: FloatArray) -> FloatArray:
    """(2, n) variance below and above the prediction, over the mean square of `deviations`: both 1
    for a normal distribution, but for sampling error.

    Each variance is the square of a standard deviation: that of the normal distribution with the
    same bound, averaged over `SIDE_LEVELS`; 0 where that average is negative.

    Args:
        deviations: (n, d) log time by each of d equally probable laws less the prediction.
    """
    law_count = deviations.shape[1]
    high = np.ceil(SIDE_LEVELS * law_count).astype(int) - 1
    ordered, per_level = np.sort(deviations, axis=1), _weights_of_bounds()
    sides = np.stack(
        (-(ordered[:, law_count - 1 - high] @ per_level), ordered[:, high] @ per_level)
    )
    return np.asarray(
        np.maximum(sides, 0.0) ** 2 / np.einsum("nd,nd->n", deviations, deviations) * law_count
    )


@lru_cache(maxsize=1)
def _weights_of_bounds() -> FloatArray:
    """What the bound at each of `SIDE_LEVELS` counts for in the average standard deviation."""
    normal = [float(student_quantile(level, np.asarray(np.inf))) for level in SIDE_LEVELS]
    return 1.0 / (len(normal) * np.asarray(normal))
