"""Interpolation between log times along what the laws say."""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray


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
