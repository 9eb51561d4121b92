"""Cache of the mean times of logs on a grid of clusters, for the next step of a slider.

A prediction for one input depends on a path of inputs (`monotone_times.py`), most of which the last
step had as well: their times on half a million clusters need not be computed once more.

In: a batch of clusters, a workload and a function that computes its times. Out: these times,
computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from engine.batch import ClusterBatch
from engine.caching import LruCache
from engine.forecast import FloatArray

FEWEST_CLUSTERS = 2_048
"""Smaller batches are not cached: single clusters come in between, and are quick to compute."""

CACHED_GRIDS = 2
"""All candidates, and those of them that may be among the best."""

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
        self._by_grid: tuple[tuple[ClusterBatch, LruCache[MeanTimes]], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def get(
        self, batch: ClusterBatch, workload_key: Hashable, compute: Callable[[], MeanTimes]
    ) -> MeanTimes:
        """The mean times of a workload on a batch, computed where they are not cached."""
        if len(batch) < FEWEST_CLUSTERS:
            return compute()
        same = [entry for entry in self._by_grid if entry[0].equals(batch)]
        grid = same[0] if same else (batch, LruCache[MeanTimes](CACHED_WORKLOADS))
        others = tuple(entry for entry in self._by_grid if entry is not grid)
        self._by_grid = (grid, *others)[:CACHED_GRIDS]
        return grid[1].get(workload_key, compute)
