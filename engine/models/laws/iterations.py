"""Monotone interpolation of the predicted time between numbers of iterations that were run.

Between them the time goes as the laws say, and beyond them it follows these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engine.fitting import isotonic_regression
from engine.forecast import FloatArray
from engine.models.laws.encoding import Rows


def interpolated_along_laws(
    laws: FloatArray, means: FloatArray, law_wanted: FloatArray
) -> FloatArray:
    """(n,) log time where the laws say `law_wanted` (n,): piecewise linear interpolation of the
    non-decreasing `means` (k, n) over `laws` (k, n); slope 1 outside."""
    below = np.minimum(law_wanted - laws[0], 0.0)
    beyond = np.maximum(law_wanted - laws[-1], 0.0)
    result = means[0].copy()
    for index in range(len(laws) - 1):
        width = laws[index + 1] - laws[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((law_wanted - laws[index]) / width, 0.0, 1.0)
        share = np.where(
            width > EQUAL_LOG_TIMES, share, law_wanted >= laws[index + 1] - EQUAL_LOG_TIMES
        )
        result += share * (means[index + 1] - means[index])
    return np.asarray(result + below + beyond)


EQUAL_LOG_TIMES = 1e-12
"""Differences of log time up to this count as none."""


MOST_ITERATION_COUNTS = 8
"""The most numbers of iterations that are interpolated between; of more, some evenly spaced."""


def iteration_counts(rows: Rows) -> dict[float, int]:
    """The numbers of iterations that were run, ascending, and how many runs did each: with any
    parameters, since runs of other parameters count for the wanted ones too."""
    counts, runs = np.unique(rows.iterations, return_counts=True)
    indices = (
        np.linspace(0, len(counts) - 1, min(len(counts), MOST_ITERATION_COUNTS)).round().astype(int)
    )
    return dict(zip(counts[indices].tolist(), runs[indices].tolist(), strict=True))


def monotone_in_iterations(
    means: Mapping[float, FloatArray], counts: Mapping[float, int]
) -> FloatArray:
    """(k, n) mean log time for k numbers of iterations that were run, made monotone in them by
    isotonic regression.

    Args:
        means: (n,) predicted for each number.
        counts: the numbers, ascending, and how many runs did each.
    """
    runs = np.asarray([*counts.values()], dtype=float)
    return isotonic_regression(np.stack([means[count] for count in counts]), runs)


def gap_between_iterations(
    monotone: FloatArray, counts: Sequence[float], wanted: float
) -> FloatArray:
    """(n,) difference of `monotone` (k, n) between the next fewer iterations than the wanted ones
    and the next more, of k numbers of them; infinite where they are not between any two."""
    index = int(np.searchsorted(counts, wanted))
    if not 0 < index < len(counts):
        return np.full(monotone.shape[1], np.inf)
    return np.asarray(monotone[index] - monotone[index - 1])


def between_iterations(
    monotone: FloatArray,
    laws: Callable[[FloatArray], FloatArray],
    counts: Sequence[float],
    wanted: float,
) -> FloatArray:
    """(n,) mean log time for the wanted iterations, monotone in them: interpolated along the laws.

    Fits of one number of iterations predict where it was run, the fit of all numbers between them:
    from the one to the other the time fell for more iterations. So the predictions for the numbers
    that were run are made monotone, and the laws say how the time goes from one to the next; beyond
    them it follows the laws.

    Args:
        monotone: (k, n) mean log time for the numbers of iterations that were run.
        laws: (m, n) mean log time for m numbers of iterations by the laws given all runs.
        counts: (k,) these numbers, two or more.
    """
    if wanted in counts:
        return np.asarray(monotone[counts.index(wanted)])
    law_means = laws(np.asarray([*counts, wanted]))
    return interpolated_along_laws(law_means[:-1], monotone, law_means[-1])
