"""How fast the driver launches tasks: one thread of it hands out every task of an application.

However many slots there are, a stage does not end before the driver has launched its tasks one
after the other, and the last of them has run.
"""

from __future__ import annotations

from engine.profile import Run

LAUNCH_SECONDS = 0.0004
"""Prior: time from one launch to the next where the driver is what tasks wait for (where from:
docs/models/sparkplan_rules_replay.md)."""

TELLING_TASKS = 100
"""Stages of fewer tasks show a burst, and rounded milliseconds, not what a driver keeps up."""


def launch_seconds(run: Run) -> float:
    """Time that the driver takes for a launch: the prior, or less where a stage of the log had its
    tasks launched faster. Of stages side by side each shows a part of the rate alone."""
    shown = [
        (stage.completed_seconds - stage.submitted_seconds) / stage.tasks
        for stage in run.stages
        if stage.tasks >= TELLING_TASKS
    ]
    return min([LAUNCH_SECONDS, *(each for each in shown if each > 0.0)])


def launching_seconds(each: float, tasks: int, slots: int) -> float:
    """How long the driver launches a stage's tasks, beyond as many as the log had slots: what a
    first wave waited is in the time between tasks that the log shows."""
    return each * max(0, tasks - slots)
