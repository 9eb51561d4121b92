"""Which category an application is of (docs/from_logs.md states the rule for users)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.sources.distilling.executed import Executed, sql_execution_of
from engine.sources.logs.application import Application

LIBRARY_SHARE = 0.10
"""A library names the application's category from this share of the task time up."""


def category_of(executed: Mapping[int, Executed], application: Application) -> str:
    """The library that holds a tenth of the task time (graphx, mllib, streaming, sql, in this
    order), else core."""
    seconds = dict.fromkeys(("graphx", "mllib", "streaming", "sql"), 0.0)
    total = 0.0
    for stage_id, entry in executed.items():
        spent = entry.summary.measures["task_seconds"]
        own = spent.total if spent else 0.0
        total += own
        if entry.stage.library is not None:
            seconds[entry.stage.library] += own
        elif sql_execution_of(application, stage_id) is not None:
            seconds["sql"] += own
    return next((name for name, own in seconds.items() if own > LIBRARY_SHARE * total), "core")
