"""Clusters on which the memory of more nodes changes no forecast: all is cached and none spilled,
or as much as on any number of nodes.

In: the memory cliffs and spilling stages of the logs, clusters and workloads. Out: a mask of the
clusters. Explained in docs/models/sparkplan_rules_memory.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.forecast import BoolArray
from engine.models.replay.memory.cliffs_of_logs import saturated_caches
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.spilling import SpillingStage, TaskMemory, saturated_spills
from engine.models.replay.priors import size_ratio
from engine.profile import Run


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
    these inputs. Of clusters with fewer slots than `slots` spills are not worked out: more slots
    change their forecasts anyway.

    Args:
        cliffs: (r,) memory cliff of each log; None where it caches nothing.
        spilling: (r,) the stages of each log that may spill.
        runs: (r,) the run of each log.
    """
    saturated = saturated_caches(cliffs, batch, workloads)
    saturated = np.ones(len(batch), dtype=bool) if saturated is None else saturated
    rows = np.flatnonzero(saturated & (batch.slots >= slots))
    enough = batch.take(rows)
    for run, stages in zip(runs, spilling, strict=True):
        if stages:
            memory = TaskMemory.of(run, enough)
            for wanted in workloads:
                ratio, partitions = size_ratio(wanted, run), wanted.shuffle_partitions
                saturated[rows] &= saturated_spills(stages, memory, ratio, partitions)
    return saturated
