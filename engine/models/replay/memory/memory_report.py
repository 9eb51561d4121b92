"""Warnings about memory: cached data that does not fit or is evicted, and tasks that spill.

In: the memory cliff and the spilling stages of a log, and one cluster. Out: notices, whose codes
are listed in docs/models/sparkplan.md. Explained in docs/models/sparkplan_rules_memory.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.batch import ClusterBatch
from engine.models.replay.memory.cache_readers import never_stored
from engine.models.replay.memory.evictions import EvictingStages
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.spilling import SpillingStage, Spills
from engine.notices import Notice
from engine.profile import Run
from engine.runs.stage_labels import numbered_label
from engine.units import format_bytes, format_count

NOTICE_INFERRED_SHARE = 0.5
"""Share of the storage memory from which on a notice says that the cache's size is inferred."""


def cache_notices(
    cliff: MemoryCliff, batch: ClusterBatch, ratio: float, shuffle_partitions: int | None
) -> list[Notice]:
    """Warnings about the cache on the one cluster of `batch` at `ratio` times the input."""
    storage = float(cliff.storage_bytes(batch, ratio, shuffle_partitions)[0])
    needed = float(cliff.needed_bytes(ratio, batch.executors)[0])
    notices: list[Notice] = []
    if math.isnan(storage):
        return notices
    surviving = float(cliff.surviving_share(batch, ratio, shuffle_partitions)[0])
    if needed > storage:
        notices.append(_does_not_fit_notice(cliff, batch, ratio, needed, storage))
    elif (
        surviving < NOTICE_SURVIVING_SHARE
        and cliff.evicting_stages is not None
        and cliff.evicts(surviving)
    ):
        notices.append(_evicted_notice(cliff.evicting_stages, needed, surviving * needed))
    if cliff.inferred and needed > NOTICE_INFERRED_SHARE * storage:
        notices.append(
            Notice(
                "cache-size-inferred",
                "the log does not tell the size of cached blocks: it is taken to be what stages "
                "read of them",
                "log a run with spark.eventLog.logBlockUpdates.enabled=true",
            )
        )
    return notices


def unstored_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that of what a log persists no block found room; None where some did."""
    if not any(never_stored(run) for run in runs):
        return None
    return Notice(
        "cache-does-not-fit",
        "no stage of the log found the data that it persists in memory: each computed it again, "
        "and is expected to on any cluster; how much memory it wants is not known",
        "log a run with more memory for each executor, or with more partitions",
    )


def _does_not_fit_notice(
    cliff: MemoryCliff, batch: ClusterBatch, ratio: float, needed: float, storage: float
) -> Notice:
    executors, needed_on_many = float(batch.executors[0]), float(cliff.needed_bytes(ratio))
    least = math.ceil(needed_on_many / (storage / executors)) if storage > 0.0 else None
    unit = "executors"
    if least is not None and not np.isnan(batch.nodes[0]):
        per_node = executors / float(batch.nodes[0])
        least, unit = math.ceil(needed_on_many / (storage / executors * per_node)), "nodes"
    count = len(cliff.cache_readers)
    again = f"{count} stage reads" if count == 1 else f"{count} stages read"
    remedy = "give executors more memory, or persist to disk as well"
    unknown = (
        "; how long computing it takes is not known, as the log has lost the stage that did: the "
        "predicted time is too short"
        if cliff.origin_unknown
        else ""
    )
    return Notice(
        "cache-does-not-fit",
        f"{format_bytes(needed)} are to be cached, the executors hold {format_bytes(storage)}: "
        f"{again} or compute{'s' if count == 1 else ''} the rest again{unknown}",
        f"use at least {least} such {unit}, {remedy}" if least is not None else remedy,
        subject="cached data",
        severity=needed - storage,
    )


def _evicted_notice(evicting_stages: EvictingStages, needed: float, surviving: float) -> Notice:
    stage, count = evicting_stages.stage.model.stage, len(evicting_stages.indices)
    which = numbered_label(stage)
    others = f" and {format_count(count - 1, 'other stage')}" if count > 1 else ""
    return Notice(
        "cache-driven-out",
        f"{format_bytes(needed)} are to be cached, of which the tasks of {which}{others} leave "
        f"{format_bytes(surviving)} in memory: what reads the cache next has to read or compute "
        "the rest again",
        "give executors more memory for each core, raise --shuffle-partitions, or set "
        "spark.memory.storageFraction higher",
        subject=which,
        severity=needed - surviving,
    )


NOTICE_SURVIVING_SHARE = 0.98
"""Share of the cache that survives evictions, below which a notice names the evicting stages."""


def not_fitting_share(
    cliff: MemoryCliff,
    batch: ClusterBatch,
    ratio: float,
    replayed_seconds: float,
    shuffle_partitions: int | None,
) -> float:
    """Share of the predicted time of the one cluster of `batch` that goes to what does not fit."""
    speed = float(cliff.replay.node_load.speeds(batch)[0][0])
    share = cliff.fitting_share(batch, ratio, shuffle_partitions)
    surviving = cliff.surviving_share(batch, ratio, shuffle_partitions)
    miss_seconds = float(
        cliff.added_seconds(batch.slots, share, ratio, shuffle_partitions, surviving)[0]
    )
    added = max(0.0, miss_seconds) / speed
    return added / (replayed_seconds + added)


def spill_notices(stages: Sequence[SpillingStage], spills: Spills) -> list[Notice]:
    """The warning about the stage that spills most on the one cluster of `spills`; none where its
    memory is not known."""
    most, worst = 0.0, None
    for stage in stages:
        spilled = float(spills.bytes_of(stage)[0])
        if spilled > max(most, NOTICE_SPILL_SHARE * stage.task_bytes):
            most, worst = spilled, stage
    if worst is None:
        return []
    name = numbered_label(worst.model.stage)
    available = float(spills.memory_of_task(worst)[0])
    return [
        Notice(
            "memory-spill",
            f"{name} spills about {format_bytes(most)}: a task has "
            f"{format_bytes(available)} of memory",
            "raise --shuffle-partitions, or give executors more memory for each core",
            subject=name,
            severity=most,
        )
    ]


NOTICE_SPILL_SHARE = 0.5
"""Least spill with a notice, as a share of one task's memory."""
