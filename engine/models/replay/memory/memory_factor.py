"""The factor by which memory changes the time of a replay on other executors: cache misses and
spills, more or fewer than in the log.

In: the memory cliff and the stages of the log that may spill, and its replayed times on n clusters.
Out: one log factor per cluster. The rules are in docs/models/sparkplan_rules_memory.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.forecast import FloatArray
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.spilling import SpillingStage, Spills, TaskMemory
from engine.models.replay.priors import size_ratio
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import Times
from engine.profile import Run

MIN_REMAINING_SHARE = 0.2
"""Least share of a replay's time that remains, however much memory is saved."""


def log_memory_factor(
    run: Run,
    cliff: MemoryCliff | None,
    spilling: tuple[SpillingStage, ...],
    batch: ClusterBatch,
    wanted: Workload,
    *,
    times: Times,
    speed: FloatArray,
    times_of: Callable[[Replay], Times],
) -> FloatArray:
    """(n,) log of the factor by which memory changes the replayed (n,) times of one log.

    Args:
        cliff: its memory cliff; None where it caches nothing.
        spilling: its stages that may spill.
        speed: (n,) speed of a slot relative to the log's.
        times_of: the times of another replay of the log on the same clusters.
    """
    ratio, partitions = size_ratio(wanted, run), wanted.shuffle_partitions
    added, hit_factor = np.zeros(len(batch)), np.ones(len(batch))
    if cliff is not None:
        share = cliff.fitting_share(batch, ratio, partitions)
        surviving = cliff.surviving_share(batch, ratio, partitions)
        added += cliff.added_seconds(batch.slots, share, ratio, partitions, surviving)
        saved = cliff.recovered_share(share, surviving)
        if saved.any():
            hits = times_of(cliff.full_cache_replay)
            hit_factor += saved * (np.minimum(1.0, hits.seconds / times.seconds) - 1.0)
    if spilling:
        spills = Spills(TaskMemory.of(run, batch), ratio, partitions)
        added += spills.added_seconds(spilling)
    changed = np.maximum(1.0 + added / speed / times.seconds, MIN_REMAINING_SHARE)
    return np.asarray(np.log(changed * hit_factor))
