"""Caches of a replay by input."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.caching import LruCache
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.scaled_stages import ScaledStages

CACHED_INPUTS = 16
"""Cache size in inputs: enough to step a slider back and forth."""


@dataclass(frozen=True)
class ReplayCache:
    """Recent results of a replay, by the input relative to the log's and the number of shuffle
    partitions.

    Args:
        stages: the stages on the run's own slots.
        counts: their numbers of partitions.
        counted: what these are computed from, by the number of shuffle partitions alone.
        useful: number of slots beyond which no more are ever busy.
    """

    stages: LruCache[ScaledStages] = field(default_factory=lambda: LruCache(CACHED_INPUTS))
    counts: LruCache[PartitionCounts] = field(default_factory=lambda: LruCache(CACHED_INPUTS))
    counted: LruCache[CountedStages] = field(default_factory=lambda: LruCache(CACHED_INPUTS))
    useful: LruCache[int] = field(default_factory=lambda: LruCache(CACHED_INPUTS))
