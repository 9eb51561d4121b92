"""Launches of a stage's tasks: their order, and the driver's rate.

The order is a random permutation with a fixed seed, a cyclic shift of it, or from the longest to
the shortest. One thread of the driver launches every task of an application: however many slots
there are, a stage does not end before it has launched its tasks one after the other and the last
one has run.

In: a seed, a number of tasks and a rotation; a run. Out: ranks in launch order; seconds per launch.
Explained in docs/models/sparkplan_rules_replay.md#task-times and #launches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.profile import Run

LONGEST_FIRST = -1.0
"""Launch order from the longest to the shortest task: where code is new to the executors, the
first wave of a stage is the slow one."""

Value = TypeVar("Value", FloatArray, IntArray)

CACHED_STAGES = 512
FEW_TASKS, MANY_TASKS = 256, 4000
"""Cache of random numbers: number of stages, and the two array lengths that are kept, for stages of
few and of many tasks."""


def launched(seed: int, n: int, rotation: float) -> IntArray:
    """(n,) ranks (0 for the shortest) of a stage's tasks in launch order.

    The random numbers are assigned from the longest task down. So the longest tasks keep their
    relative positions whatever the number of tasks: one more does not reorder the whole stage.

    Args:
        seed: of the random numbers; each stage of a run has its own.
        rotation: cyclic shift as a share of the order's length, or `LONGEST_FIRST`.
    """
    if rotation == LONGEST_FIRST:
        return np.arange(n)[::-1]
    from_longest = np.argsort(np.random.default_rng(seed).random(n))
    return rotated(n - 1 - from_longest, rotation)


def last_launched(seed: int, n: int, rotation: float) -> int:
    """Rank of the task that is launched last, without sorting all."""
    if rotation == LONGEST_FIRST:
        return 0
    index = (n - 1 - round(rotation * n)) % n
    if n > MANY_TASKS:
        chances = np.random.default_rng(seed).random(n)
    else:
        chances = _launch_numbers(seed, FEW_TASKS if n <= FEW_TASKS else MANY_TASKS)[:n]
    last = chances.argmax() if index == n - 1 else np.argpartition(chances, index)[index]
    return n - 1 - int(last)


def rotated(values: Value, rotation: float) -> Value:
    """(n,) values in the launch order of a rotation, given those for rotation 0."""
    if rotation == LONGEST_FIRST:
        return np.sort(values)[::-1]
    return np.roll(values, round(rotation * len(values)))


@lru_cache(maxsize=CACHED_STAGES)
def _launch_numbers(seed: int, n: int) -> FloatArray:
    """(n,) the random numbers, fixed for each stage, by which its tasks are ordered."""
    numbers = np.random.default_rng(seed).random(n)
    numbers.flags.writeable = False
    return numbers


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
