"""Two runs of one configuration that disagree: whether the slower one is an outlier.

The two alone cannot tell an outlier from noise; what the other runs predict can
(`engine/models/laws/outlier_runs.py`). The two are compared one by one, not by their mean: in the
mean, a slow run would still count for half after a repetition that went well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.encoding import Encoding, Rows, at_least_as_hard
from engine.models.laws.observations import Observations
from engine.models.laws.outlier_runs import outlier_posterior
from engine.profile import Run
from engine.runs.slow_runs import LEAST_FACTOR, SuspectedOutlier


def slower_outliers(
    rows: Rows, seconds: FloatArray, runs: Sequence[Run]
) -> tuple[SuspectedOutlier, ...]:
    """The slower of each two runs of one configuration that is probably an outlier.

    Args:
        rows, seconds, runs: n runs, repetitions at the same size.
    """
    logs = np.log(seconds)
    _, group, count = np.unique(
        rows.configurations, axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    faster, slower = _disagreeing_pairs(logs, group, count)
    if not len(slower):
        return ()
    alone = ~np.isin(group, group[slower])
    alone[alone] = np.isin(np.flatnonzero(alone), np.unique(group, return_index=True)[1])
    indices = np.sort(np.concatenate((np.flatnonzero(alone), faster, slower)))
    means = np.where(alone, (np.bincount(group, logs) / count)[group], logs)[indices]
    may_be_outlier = (alone & (count[group] == 1))[indices] | np.isin(indices, slower)
    picked = rows.take(indices)
    encoding = Encoding.of(picked)
    effects = encoding.inputs(picked).effects
    observations = Observations(encoding.points(picked), means - float(means.mean()), effects)
    weighted, _ = outlier_posterior(observations, may_be_outlier, at_least_as_hard(picked))
    run_weights = weighted.run_weights
    if run_weights is None:
        return ()
    is_outlier = run_weights[np.searchsorted(indices, slower)] < 1.0
    return tuple(
        SuspectedOutlier(runs[late], math.exp(logs[late] - logs[early]), 0.0)
        for early, late in zip(
            faster[is_outlier].tolist(), slower[is_outlier].tolist(), strict=True
        )
    )


def _disagreeing_pairs(
    logs: FloatArray, group: IntArray, count: IntArray
) -> tuple[IntArray, IntArray]:
    """Indices of the faster and of the slower run of pairs that differ by more than noise."""
    order = np.lexsort((logs, group))
    first = np.concatenate(([0], np.cumsum(count)[:-1]))[count == 2]
    faster, slower = order[first], order[first + 1]
    disagree = logs[slower] - logs[faster] >= math.log(LEAST_FACTOR)
    return faster[disagree], slower[disagree]
