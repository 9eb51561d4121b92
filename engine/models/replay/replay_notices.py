"""The warnings about a prediction for one cluster, from the nearest log replayed on it: among them
those about the rows that the driver fetches, that its work on them grows with the input, and that
Spark ends a job that fetches more than it allows.

In: the replay of that log, its outcome on the cluster, and what it caches and spills. Out: notices,
whose codes are listed in docs/models/sparkplan.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.iterations import iteration_notice
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.memory_report import cache_notices, spill_notices
from engine.models.replay.memory.spilling import SpillingStage, Spills, TaskMemory
from engine.models.replay.notices import (
    groups_notice,
    scan_notice,
    single_files_notice,
    small_tables_notice,
)
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.priors import size_ratio
from engine.models.replay.replayed_run import Replay
from engine.models.replay.report import UsefulSlots, skewed_stage_notices, too_few_tasks_notice
from engine.models.stages.fetched_rows import result_grows
from engine.models.stages.partitioning.partitions import configured_number, is_configured_zero
from engine.models.stages.partitioning.stage_growth import partitions_notice
from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.units import GIB, format_bytes, format_seconds, format_share

NOTICE_ROWS_SHARE = 0.05
"""Least share of a predicted time that the driver's work on rows adds or saves, for a notice."""


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
        useful: `report.useful_slots` of the cluster, by the most slots to consider.
        cliff: memory cliff of the log; None where it caches nothing.
        spilling: its stages that may spill.
    """
    ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
    speed = float(replay.node_load.speeds(batch)[0][0])
    spills = Spills(TaskMemory.of(replay.run, batch), ratio, partitions)
    return [
        too_few_tasks_notice(
            replay, outcome, batch, slots=slots, useful=useful, shuffle_partitions=partitions
        ),
        *skewed_stage_notices(replay, outcome, slots=slots),
        *spill_notices(spilling, spills),
        *(cache_notices(cliff, batch, ratio, partitions) if cliff else ()),
        iteration_notice(replay.run, wanted),
        result_notice(replay, ratio),
        rows_notice(replay, ratio, outcome.seconds),
        *ChangedJoins(replay, ratio, partitions).notices(slots, speed),
        scan_notice(replay, ratio, slots, partitions),
        groups_notice(replay, ratio),
        small_tables_notice(replay, ratio),
        single_files_notice(replay, ratio),
        partitions_notice([replay.run], wanted),
    ]


def rows_notice(replay: Replay, ratio: float, seconds: float) -> Notice | None:
    """The warning that the driver's time before jobs is scaled with the rows that it fetched, at
    `ratio` times the input in a run of so many seconds; None where another log shows its
    growth."""
    nodes, gaps = replay.graph.nodes, set(replay.driver.growing_gaps) & set(replay.rows_share)
    if replay.driver_growth or not gaps:
        return None
    added_by_gap = {
        gap: nodes[gap].delay_seconds
        * replay.rows_share[gap]
        * (replay.driver.growth_factor(gap, ratio) - 1.0)
        for gap in gaps
    }
    added_seconds = sum(added_by_gap.values())
    longest = max(gaps, key=lambda gap: abs(added_by_gap[gap]))
    if abs(added_seconds) < NOTICE_ROWS_SHARE * seconds:
        return None
    change = "more" if added_seconds > 0.0 else "less"
    model, sent = max(replay.driver.fetched_before[longest], key=lambda one: one[1])
    return Notice(
        "rows-fetched",
        f"{numbered_label(model.stage)} sent the driver {format_bytes(sent)} of rows, and no job "
        f"ran for {format_seconds(nodes[longest].delay_seconds)} after that: "
        f"{format_share(replay.rows_share[longest])} of it is taken for work on them, which grows "
        f"with the input ({format_seconds(abs(added_seconds))} {change} here, in all). That is "
        "inferred: the interval reaches less and more of it",
        "add a log of a run with another input to measure it, or leave such work to executors",
        subject=numbered_label(model.stage),
        severity=abs(added_seconds),
    )


MAX_RESULT_SIZE, DEFAULT_MAX_RESULT_BYTES = "spark.driver.maxResultSize", 1.0 * GIB
"""Setting of the most bytes that a stage may send the driver before Spark ends the job (0: no
limit), and its default."""

LOCAL_ITERATOR = "toLocalIterator at "
"""Prefix of the names of stages that send one partition each: more data makes more such stages."""


def result_notice(replay: Replay, ratio: float) -> Notice | None:
    """The warning that a stage would send the driver more than Spark allows, at `ratio` times the
    input; None where none would, or one does already in the log."""
    limit = configured_number(replay.run.config, MAX_RESULT_SIZE) or DEFAULT_MAX_RESULT_BYTES
    unlimited = is_configured_zero(replay.run.config, MAX_RESULT_SIZE)
    results = [
        (
            model.stage.fetched_bytes * model.data_growth(ratio),
            model.stage.fetched_bytes,
            model.stage,
        )
        for model in replay.models
        if model.stage.fetched_bytes
        and result_grows(model)
        and not model.stage.name.startswith(LOCAL_ITERATOR)
    ]
    if unlimited or not results or max(sent for _, sent, _ in results) > limit:
        return None
    grown_bytes, sent, stage = max(results, key=lambda one: one[0])
    if grown_bytes <= limit:
        return None
    return Notice(
        "result-too-large",
        f"{numbered_label(stage)} sent the driver {format_bytes(sent)}, "
        f"{format_bytes(grown_bytes)} if that grows as it is taken to: more than {MAX_RESULT_SIZE} "
        f"({format_bytes(limit)}), so that Spark ends the job",
        f"write the rows from executors, or raise {MAX_RESULT_SIZE} and the driver's memory",
    )
