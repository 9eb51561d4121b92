"""The warnings about a prediction for one cluster, from the nearest log replayed on it.

In: the replay of that log, its outcome on the cluster, and what it caches and spills. Out: notices,
whose codes are listed in docs/models/sparkplan.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.models.replay.broadcasts import join_notices
from engine.models.replay.driver_result_notices import result_notice, rows_notice
from engine.models.replay.iterations import iteration_notice
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.memory_report import cache_notices, spill_notices
from engine.models.replay.memory.spilling import SpillingStage, TaskMemory
from engine.models.replay.notices import groups_notice, scan_notice, small_tables_notice
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.priors import size_ratio
from engine.models.replay.replayed_run import Replay
from engine.models.replay.report import UsefulSlots, skewed_stage_notices, too_few_tasks_notice
from engine.models.stages.partitioning.stage_growth import partitions_notice
from engine.notices import Notice


def replay_notices(
    replay: Replay,
    outcome: ReplayOutcome,
    batch: ClusterBatch,
    wanted: Workload,
    *,
    slots: int,
    useful: Callable[[int], UsefulSlots],
    cliff: MemoryCliff | None,
    spilling: Sequence[SpillingStage],
) -> list[Notice | None]:
    """The warnings about the one cluster of `batch`.

    Args:
        outcome: the replay on the slots of the cluster that it can use.
        slots: slots of the cluster.
        useful: `report.useful_slots` of the cluster, by the most slots to consider.
        cliff: memory cliff of the log; None where it caches nothing.
        spilling: its stages that may spill.
    """
    ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
    speed = float(replay.node_load.speeds(batch)[0][0])
    memory = TaskMemory.of(replay.run, batch)
    return [
        too_few_tasks_notice(
            replay, outcome, batch, slots=slots, useful=useful, shuffle_partitions=partitions
        ),
        *skewed_stage_notices(replay, outcome, slots=slots),
        *spill_notices(spilling, memory, ratio, partitions),
        *(cache_notices(cliff, batch, ratio, partitions) if cliff else ()),
        iteration_notice(replay.run, wanted),
        result_notice(replay, ratio),
        rows_notice(replay, ratio, outcome.seconds),
        *join_notices(replay, ratio, slots, speed=speed, shuffle_partitions=partitions),
        scan_notice(replay, ratio, slots, partitions),
        groups_notice(replay, ratio),
        small_tables_notice(replay, ratio),
        partitions_notice([replay.run], wanted),
    ]
