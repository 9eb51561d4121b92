"""Two runs of one configuration that disagree: which of them something went wrong in.

The two alone cannot tell a slow run from noise; what the other runs predict can
(`engine/models/laws/wrong_runs.py`). Each is compared by itself: in their mean, a slow run would
still count for half once it was repeated and went well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.design import Encoding, Rows, as_hard
from engine.models.laws.sampling import Evidence
from engine.models.laws.wrong_runs import followed_by
from engine.profile import Run
from engine.runs.slow_runs import LEAST, UnusualRun


def slower_of_two(rows: Rows, seconds: FloatArray, runs: Sequence[Run]) -> tuple[UnusualRun, ...]:
    """The slower of two runs of one configuration, where something rather went wrong in it.

    Args:
        rows, seconds, runs: n runs, repetitions at the same size.
    """
    logs = np.log(seconds)
    _, group, count = np.unique(
        rows.configurations, axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    faster, slower = _disagreeing(logs, group, count)
    if not len(slower):
        return ()
    alone = ~np.isin(group, group[slower])
    alone[alone] = np.isin(np.flatnonzero(alone), np.unique(group, return_index=True)[1])
    places = np.sort(np.concatenate((np.flatnonzero(alone), faster, slower)))
    means = np.where(alone, (np.bincount(group, logs) / count)[group], logs)[places]
    may = (alone & (count[group] == 1))[places] | np.isin(places, slower)
    picked = rows.taken(places)
    encoding = Encoding.of(picked)
    effects = encoding.inputs(picked).effects
    evidence = Evidence(encoding.points(picked), means - float(means.mean()), effects)
    told = followed_by(evidence, may, as_hard(picked))[0].counts
    if told is None:
        return ()
    wrong = told[np.searchsorted(places, slower)] < 1.0
    return tuple(
        UnusualRun(runs[late], math.exp(logs[late] - logs[early]), 0.0)
        for early, late in zip(faster[wrong].tolist(), slower[wrong].tolist(), strict=True)
    )


def _disagreeing(logs: FloatArray, group: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """The faster and the slower of each two runs that differ by more than noise may."""
    order = np.lexsort((logs, group))
    first = np.concatenate(([0], np.cumsum(count)[:-1]))[count == 2]
    faster, slower = order[first], order[first + 1]
    apart = logs[slower] - logs[faster] >= math.log(LEAST)
    return faster[apart], slower[apart]
