"""Python workers without reuse: the start of a worker is part of every task.

With `spark.python.worker.reuse`, the default, a worker serves one task after another, and its start
belongs to the warm-up of its slot (`warm_up.py`). Without it each task waits for a new worker,
which imports the modules of the functions again, however much data the task has.

In: a stage and its run. Out: the share of worker starts in the time of its tasks. Explained in
docs/models/sparkplan_rules_replay.md#task-times.
"""

from __future__ import annotations

from dataclasses import replace

from engine.profile import Run
from engine.stage_run import StageRun

REUSE = "spark.python.worker.reuse"

MOST_START = 0.95
"""Largest share of a task's time: workers that start side by side may report more time than their
tasks took."""


def start_share(run: Run, stage: StageRun) -> float:
    """Share of each task's time in which its own Python worker started and loaded code.

    0 if workers are reused, or if the log does not tell how long they took. The share is about the
    same in first and later tasks: what slows one down slows the other.
    """
    started, slot_seconds = stage.python_start_seconds, stage.task_seconds.total
    if not started or slot_seconds <= 0.0 or run.config.get(REUSE, "true").lower() != "false":
        return 0.0
    return min(MOST_START, started / slot_seconds)


def without_start(stage: StageRun) -> StageRun:
    """A stage without its worker starts, which are no warm-up if each task has one."""
    return replace(stage, python_start_seconds=0.0)
