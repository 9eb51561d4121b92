"""The memory cliffs of several logs of one application: how their cached bytes grow with the input,
which logs had different shares of the cache in memory, and where more of it changes no forecast.

In: the replays of several logs. Out: their memory cliffs with a common power of growth, and masks
of clusters. Explained in docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.forecast import BoolArray
from engine.models.replay.memory.block_costs import disk_rate_of
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.spilling import SpillingStage, Spills, TaskMemory
from engine.models.replay.priors import POWER_SPREAD, SIZE_NOISE, size_ratio
from engine.models.replay.replayed_run import Replay
from engine.profile import Run

SAME_SHARE = 0.02
"""Stages that read caches whose shares in memory are closer than this are comparable."""


def cliffs_of(replays: Sequence[Replay]) -> tuple[MemoryCliff | None, ...]:
    """The cliffs of several logs of one application, with the power of the input with which its
    cached bytes grow: a slope in logarithms, by least squares with a prior around 1 (ridge)."""
    rate = disk_rate_of([stage for replay in replays for stage in replay.run.stages])
    cliffs = [MemoryCliff.of(replay, disk_rate=rate) for replay in replays]
    points = [
        (math.log(cliff.replay.run.workload.input_bytes), math.log(cliff.cached_bytes))
        for cliff in cliffs
        if cliff is not None and cliff.replay.run.workload.input_bytes
    ]
    if len(points) < 2:
        return tuple(cliffs)
    x, y = np.asarray(points).T
    x, y = x - x.mean(), y - y.mean()
    prior = (SIZE_NOISE / POWER_SPREAD) ** 2
    power = float((x @ y + prior) / (x @ x + prior))
    power = min(1.5, max(0.0, power))
    return tuple(None if cliff is None else replace(cliff, power=power) for cliff in cliffs)


def saturated_memory(
    cliffs: Sequence[MemoryCliff | None],
    spilling: Sequence[tuple[SpillingStage, ...]],
    runs: Sequence[Run],
    batch: ClusterBatch,
    workloads: Sequence[Workload],
    *,
    slots: float,
) -> BoolArray:
    """(n,) whether more nodes would change neither the caches nor the spills of any log, at any of
    these inputs: all is cached and none spilled, or as much as on any number of nodes. Of clusters
    with fewer slots than `slots` spills are not worked out: more slots change their forecasts
    anyway.

    Args:
        cliffs: (r,) memory cliff of each log; None where it caches nothing.
        spilling: (r,) the stages of each log that may spill.
        runs: (r,) the run of each log.
    """
    partitions, saturated = workloads[0].shuffle_partitions, np.ones(len(batch), dtype=bool)
    for cliff in cliffs:
        if cliff is not None:
            most = max(size_ratio(wanted, cliff.replay.run) for wanted in workloads)
            saturated &= cliff.saturated(batch, most, partitions)
    rows = np.flatnonzero(saturated & (batch.slots >= slots))
    enough = batch.take(rows)
    for run, stages in zip(runs, spilling, strict=True):
        if stages:
            memory = TaskMemory.of(run, enough)
            for wanted in workloads:
                spills = Spills(memory, size_ratio(wanted, run), wanted.shuffle_partitions)
                saturated[rows] &= spills.saturated(stages)
    return saturated


def incomparable_readers(one: MemoryCliff | None, other: MemoryCliff | None) -> frozenset[int]:
    """Indices of the stages of log `one` that read its cache, if another share of it fitted or
    survived evictions than in log `other`: their times cannot be compared."""
    if one is None or other is None:
        return frozenset()
    shares = (
        (cliff.log_share, cliff.share_by_rule, cliff.surviving_by_rule) for cliff in (one, other)
    )
    if max(abs(a - b) for a, b in zip(*shares, strict=True)) < SAME_SHARE:
        return frozenset()
    return frozenset(one.sources)
