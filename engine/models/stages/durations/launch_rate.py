"""The driver's task launch rate: one thread launches every task of an application.

However many slots there are, a stage does not end before the driver has launched its tasks one
after the other and the last one has run.

In: a run. Out: seconds per launch. Explained in docs/models/sparkplan_rules_replay.md#launches.
"""

from __future__ import annotations

from engine.profile import Run

LAUNCH_SECONDS = 0.0004
"""Prior of the time between two launches when the driver is the bottleneck (sources in
docs/models/sparkplan_rules_replay.md)."""

MIN_TASKS_FOR_RATE = 100
"""Fewest tasks of a stage that shows the driver's sustained rate; fewer show a burst, and rounded
milliseconds."""


def launch_seconds(run: Run) -> float:
    """Seconds that the driver takes per launch: the prior, or less if a stage of the log had its
    tasks launched faster. Stages that run side by side each show only a part of the rate."""
    observed = [
        (stage.completed_seconds - stage.submitted_seconds) / stage.tasks
        for stage in run.stages
        if stage.tasks >= MIN_TASKS_FOR_RATE
    ]
    return min([LAUNCH_SECONDS, *(each for each in observed if each > 0.0)])


def driver_launch_seconds(launch_seconds: float, tasks: int, concurrent_tasks: int) -> float:
    """Seconds in which the driver launches a stage's tasks beyond those that the log's cluster ran
    at once: the wait of a first wave is in the idle time between tasks that the log shows."""
    return launch_seconds * max(0, tasks - concurrent_tasks)
