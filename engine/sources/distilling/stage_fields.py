"""Fields of a `StageRun` by the part of the log that they come from.

In: what the log recorded of one stage: its tasks, joins, groups and cached RDDs. Out: keyword
arguments of `StageRun`, whose docstring explains them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.sources.logs.broadcast_joins import BroadcastJoins
from engine.sources.logs.entities import Stage
from engine.sources.logs.partial_aggregates import GroupCounts
from engine.sources.logs.task_summary import TaskSummary


def task_fields(summary: TaskSummary) -> dict[str, Any]:
    """The measures, records and other sums over the tasks of a stage."""
    return {
        "memory_spilled_bytes": summary.memory_spilled_bytes,
        "disk_spilled_bytes": summary.disk_spilled_bytes,
        "deserialize_seconds": summary.deserialize_seconds,
        "deserialize_cpu_seconds": summary.deserialize_cpu_seconds,
        "fetched_bytes": summary.fetched_bytes,
        "warm_up": summary.warm_up,
        **summary.records,
        **summary.measures,
    }


def join_fields(joins: BroadcastJoins, stage_id: int, run_stages: Iterable[int]) -> dict[str, Any]:
    """What a stage joins, and how large both sides are."""
    broadcasts, merged = joins.of(stage_id, run_stages), joins.merged(stage_id)
    return {
        "joined_broadcasts": tuple(join.build_stage for join in broadcasts),
        "joined_records": tuple(join.streamed_rows for join in broadcasts),
        "joined_shuffled_bytes": tuple(join.shuffled_bytes for join in broadcasts),
        "joined_output_records": joins.max_rows(stage_id),
        "merged_bytes": tuple(side.shuffled_bytes for side in merged),
        "merged_stages": tuple(side.stage for side in merged),
    }


def group_fields(counts: GroupCounts | None) -> dict[str, Any]:
    """The rows that a stage groups, before and after; empty where it groups none."""
    if counts is None:
        return {}
    return {
        "ungrouped_rows": counts.ungrouped,
        "grouped_rows": counts.rows,
        "groups": counts.groups,
    }


def cache_fields(stage: Stage) -> dict[str, Any]:
    """The persisted RDDs that a stage reads or needs."""
    return {
        "cached_disk_bytes": stage.cached_disk_bytes,
        "cached_rdds": stage.on_heap(stage.cached_rdds),
        "disk_backed_rdds": stage.on_heap(stage.disk_backed_rdds),
        "needed_rdds": stage.on_heap(rdd_id for rdd_id, _ in stage.needed_rdds),
    }
