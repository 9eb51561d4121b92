"""The category of an application (docs/from_logs.md states the rule for users)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.sources.distilling.executed import ExecutedStage, sql_execution_of
from engine.sources.logs.application import Application

LIBRARY_SHARE = 0.10
"""Minimum share of task time at which a library determines the category."""


def category_of(executed: Mapping[int, ExecutedStage], application: Application) -> str:
    """The first of graphx, mllib, streaming and sql with a tenth of the task time, else core."""
    seconds = dict.fromkeys(("graphx", "mllib", "streaming", "sql"), 0.0)
    total = 0.0
    for stage_id, entry in executed.items():
        measure = entry.summary.measures["task_seconds"]
        stage_seconds = measure.total if measure else 0.0
        total += stage_seconds
        if entry.stage.library is not None:
            seconds[entry.stage.library] += stage_seconds
        elif sql_execution_of(application, stage_id) is not None:
            seconds["sql"] += stage_seconds
    return next(
        (name for name, stage_seconds in seconds.items() if stage_seconds > LIBRARY_SHARE * total),
        "core",
    )
