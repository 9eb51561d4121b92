"""Up to which size Spark broadcasts a table, by the settings of the query that joins it.

In: a run and a stage of it. Out: thresholds in bytes. Explained in
docs/models/sparkplan_rules_replay.md#tables-that-are-broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.models.stages.partitioning.partitions import (
    configured_number,
    is_configured_zero,
    query_config,
)
from engine.models.stages.partitioning.stage_growth import is_adaptive
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import MIB

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
DEFAULT_THRESHOLD_BYTES = 10 * int(MIB)
"""Its default. Spark compares it with the size of the files, scaled by the share that the read
columns have of a row of that schema, or with the uncompressed shuffle size that adaptive execution
measured. The log reports the latter, but not the former (`TableSize`)."""

ADAPTIVE_THRESHOLD = "spark.sql.adaptive.autoBroadcastJoinThreshold"
"""The threshold for sizes that adaptive execution measured, where it is set: it converts joins that
were planned with a shuffle to broadcast joins."""


class BroadcastThreshold(NamedTuple):
    """A setting, and its value in bytes: None where nothing is broadcast but by a hint."""

    setting: str
    limit_bytes: int | None


def broadcast_threshold(run: Run, stage: StageRun) -> BroadcastThreshold:
    """The threshold that allows a stage's query to broadcast the larger tables."""
    config = query_config(run, stage)
    settings = [THRESHOLD, ADAPTIVE_THRESHOLD] if _is_set(config) else [THRESHOLD]
    limits = [BroadcastThreshold(setting, _limit(config, setting)) for setting in settings]
    return max(limits, key=lambda one: one.limit_bytes or 0)


def planned_threshold(run: Run, stage: StageRun) -> int | None:
    """Largest table in bytes that a stage's query is planned to broadcast; None for never."""
    return _limit(query_config(run, stage), THRESHOLD)


def conversion_threshold(run: Run, stage: StageRun) -> int | None:
    """Largest shuffled table in bytes that adaptive execution broadcasts in a stage's query; None
    for never."""
    if not is_adaptive(run, stage):
        return None
    config = query_config(run, stage)
    return _limit(config, ADAPTIVE_THRESHOLD if _is_set(config) else THRESHOLD)


def _is_set(config: Mapping[str, str]) -> bool:
    """Whether adaptive execution has a threshold of its own."""
    return bool(config.get(ADAPTIVE_THRESHOLD, ""))


def _limit(config: Mapping[str, str], setting: str) -> int | None:
    """A threshold in bytes; None where it is set to broadcast nothing (0 or below)."""
    if is_configured_zero(config, setting) or config.get(setting, "").strip().startswith("-"):
        return None
    return configured_number(config, setting) or DEFAULT_THRESHOLD_BYTES
