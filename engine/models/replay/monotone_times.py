"""Weighted means of log forecasts, made monotone in the input size: more input is never less time.

The method is a running maximum (below the smallest log a running minimum) over a path of inputs,
with linear interpolation in between. Each replay is monotone by itself (`times.py`), but their mean
need not be: nearer logs weigh more, so that the mean of growing times may fall where the weight
passes from one log to another, and what memory adds or saves may fall while the replay grows.

Most inputs of a path were on that of a slider's last step as well: `MeanTimesCache` keeps their
times on half a million clusters for the next one, and on the last few clusters.

In: mean times by input. Out: the time at one input. Explained in
docs/models/sparkplan_rules_replay.md#more-input-is-never-less-time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch, GridCache
from engine.caching import LruCache
from engine.cluster import Workload
from engine.forecast import FloatArray
from engine.models.replay.times import input_steps
from engine.profile import Run

CACHED_WORKLOADS = 8
"""Workloads cached per grid: the ends of the path, the subdivisions of its last step, and some
more."""


class MeanTimes(NamedTuple):
    """Means over logs for n clusters.

    Attributes:
        without_memory: (n,) log time without the memory term.
        memory: (n,) log of the factor by which memory changes it.
    """

    without_memory: FloatArray
    memory: FloatArray


class MeanTimesCache:
    """Mean times on the most recently used grids, by workload. Thread-safe; a copy in another
    process starts empty."""

    def __init__(self) -> None:
        self._by_grid = GridCache[LruCache[MeanTimes]]()

    def get(
        self, batch: ClusterBatch, workload_key: Hashable, compute: Callable[[], MeanTimes]
    ) -> MeanTimes:
        """The mean times of a workload on a batch, computed where they are not cached."""
        grid = self._by_grid.get(batch, lambda: LruCache[MeanTimes](CACHED_WORKLOADS))
        return grid.get(workload_key, compute)


MEMORY_SUBDIVISIONS = 4
"""Subdivisions of the last step of the path at which the memory term is evaluated: it sets in all
at once somewhere inside the step, and linear interpolation would show it too early."""


def monotone_log_time(
    log_time: Callable[[float], FloatArray], known: Sequence[float], wanted: float
) -> FloatArray:
    """(n,) log time at the wanted input, made monotone in the input.

    It is piecewise linear in log input between the inputs of the logs, and beyond them between
    their doublings and halves; at these points it is the running maximum (minimum) of `log_time`.
    The mean of logs falls where the weight passes from one to another, and where what they learnt
    of each other outweighs a step in which their tasks fill up.

    Args:
        log_time: input -> (n,) log time on n clusters.
        known: inputs of the logs, each once.
        wanted: the input to predict.
    """
    ordered = sorted(known)
    limit = np.maximum if wanted > ordered[0] else np.minimum
    path, share = _path_to(ordered, wanted)
    previous = current = log_time(path[0])
    for size in path[1:]:
        previous, current = current, limit(current, log_time(size))
    return np.asarray((1.0 - share) * previous + share * current)


def _path_to(ordered: Sequence[float], wanted: float) -> tuple[list[float], float]:
    """The inputs of the logs from the smallest to the first at or beyond the wanted one, with steps
    outside of their range; and the interpolation weight (0 ... 1) of the last of them."""
    last = bisect_left(ordered, wanted)
    if 0 < last < len(ordered):
        low, high = ordered[last - 1 : last + 1]
        return list(ordered[: last + 1]), math.log(wanted / low) / math.log(high / low)
    nearest = max(last - 1, 0)
    steps, share = input_steps(wanted / ordered[nearest])
    return [*ordered[:nearest], *(ordered[nearest] * step for step in steps)], share


def monotone_mean(
    of: Callable[[Workload], FloatArray], runs: Sequence[Run], wanted: Workload
) -> FloatArray:
    """(n,) mean log time over logs, made monotone by `monotone_log_time` where the inputs of all
    logs are known and some differ; elsewhere unchanged.

    Args:
        of: workload -> (n,) mean log time.
        runs: the logs.
    """
    inputs = {run.workload.input_bytes for run in runs}
    known = [size for size in inputs if size is not None]
    if len(known) < max(2, len(inputs)) or wanted.input_bytes is None:
        return of(wanted)

    def log_time(size: float) -> FloatArray:
        return of(replace(wanted, input_bytes=size))

    return monotone_log_time(log_time, known, wanted.input_bytes)


def monotone_with_memory(
    mean_times: Callable[[float], MeanTimes], path: Sequence[float], share: float
) -> FloatArray:
    """(n,) log time including the memory term, made monotone in the input.

    At each input of the path both the time without the memory term and the time with it are at
    least those before (below the smallest log: at most). Between the last two inputs the time
    without memory is interpolated; the time with it is evaluated at subdivisions, made monotone
    as well, and clipped to its values at the two ends.

    Args:
        mean_times: input -> mean log times over the logs on n clusters.
        path: inputs from the smallest log's to the first at or beyond the wanted one.
        share: interpolation weight of the last of them for the wanted one (0 ... 1).
    """
    limit = np.maximum if path[-1] >= path[0] else np.minimum
    without: list[FloatArray] = []
    total: list[FloatArray] = []
    for size in path:
        at = mean_times(size)
        without.append(limit(without[-1], at.without_memory) if without else at.without_memory)
        raw = without[-1] + at.memory
        total.append(limit(total[-1], raw) if total else raw)
    if len(path) == 1 or share >= 1.0:
        return total[-1]
    (low, high), (first, last) = without[-2:], total[-2:]
    parts = MEMORY_SUBDIVISIONS if (first != low).any() or (last != high).any() else 1
    current, passed = first, int(share * parts)
    for part in range(1, passed + 2):
        previous, fraction = current, part / parts
        if part == parts:
            current = last
            continue
        at = mean_times(path[-2] * (path[-1] / path[-2]) ** fraction)
        raw = (1.0 - fraction) * low + fraction * high + at.memory
        current = np.clip(limit(previous, raw), np.minimum(first, last), np.maximum(first, last))
    weight = share * parts - passed
    return np.asarray((1.0 - weight) * previous + weight * current)
