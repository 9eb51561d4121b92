"""The memory cliffs of several logs of one application: how cached bytes grow by all of them, and
which of them behave alike."""

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
from engine.models.replay.priors import POWER_SPREAD, SIZE_NOISE, ratio_of
from engine.models.replay.replayed_run import Replay

SAME_SHARE = 0.02
"""Caches that fitted to shares closer than this behave alike."""


def cliffs_of(replays: Sequence[Replay]) -> tuple[MemoryCliff | None, ...]:
    """The cliffs of several logs of one application, with how its cached bytes grow: in proportion
    to the input, corrected by what the logs tell (least squares in logarithms)."""
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


def roomy_with(
    cliffs: Sequence[MemoryCliff | None], batch: ClusterBatch, asked: Sequence[Workload]
) -> BoolArray | None:
    """(n,) clusters with which no log's cache would gain from more nodes, whichever of these inputs
    is asked about; None where no log keeps anything."""
    shuffle_partitions = asked[0].shuffle_partitions
    found = [
        cliff.roomy(
            batch, max(ratio_of(wanted, cliff.replay.run) for wanted in asked), shuffle_partitions
        )
        for cliff in cliffs
        if cliff
    ]
    return np.logical_and.reduce(found) if found else None


def unlike(one: MemoryCliff | None, other: MemoryCliff | None) -> frozenset[int]:
    """Stages of log `one` that read its cache, if less or more of it fitted, or was left, than in
    log `other`."""
    if one is None or other is None:
        return frozenset()
    told = ((cliff.fits, cliff.own_share, cliff.own_left) for cliff in (one, other))
    if max(abs(a - b) for a, b in zip(*told, strict=True)) < SAME_SHARE:
        return frozenset()
    return frozenset(one.sources)
