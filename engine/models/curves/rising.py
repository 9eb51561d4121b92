"""What cannot fall, where fits to each part of the evidence say that it does."""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray


def rising(values: FloatArray, weights: FloatArray) -> FloatArray:
    """(k, n) the never falling columns nearest to those given: isotonic regression, by the max-min
    formula of Barlow, Bartholomew, Bremner and Brunk (1972).

    Args:
        values: (k, n), k in rising order of what they depend on.
        weights: (k,) of each row, such as the runs behind it.
    """
    count = len(values)
    if (np.diff(values, axis=0) >= 0.0).all():
        return values
    found = np.empty_like(values)
    weighted = np.cumsum(np.vstack((np.zeros_like(values[:1]), values * weights[:, None])), axis=0)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    for place in range(count):
        most = np.full(values.shape[1], -np.inf)
        for first in range(place + 1):
            width = (total[place + 1 :] - total[first])[:, None]
            means = (weighted[place + 1 :] - weighted[first]) / width
            most = np.maximum(most, means.min(axis=0))
        found[place] = most
    return found
