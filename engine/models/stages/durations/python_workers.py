"""Python workers that serve one task each: what their start takes is part of every task.

With `spark.python.worker.reuse`, as is usual, a worker serves one task after the other, and its
start is new code of its slot (`warm_up.py`). Without it each task waits for a worker of its own,
which imports the modules of the functions once more, however much data the task has.
"""

from __future__ import annotations

from dataclasses import replace

from engine.profile import Run
from engine.stage_run import StageRun

REUSE = "spark.python.worker.reuse"

MOST_START = 0.95
"""Workers that start beside each other may have counted more time than their tasks took."""


def start_share(run: Run, stage: StageRun) -> float:
    """Share of each task's time in which a worker of its own started and loaded its code; 0 where
    workers go on with the next task, and where the log does not tell how long they took. It is
    about the same in first tasks as in later ones: what slows the one down slows the other."""
    told, held = stage.python_start_seconds, stage.task_seconds.total
    if not told or held <= 0.0 or run.config.get(REUSE, "true").lower() != "false":
        return 0.0
    return min(MOST_START, told / held)


def without_start(stage: StageRun) -> StageRun:
    """A stage in which each task started a worker, as its slots see it: they lose nothing once."""
    return replace(stage, python_start_seconds=0.0)
