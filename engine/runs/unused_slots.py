"""Unused slots, those of executors that never ran a task, and how many of a stage's tasks start on
them.

An executor is one JVM: its first tasks, on whichever of its slots, load code for all of them. Spark
offers the slots of all executors in random order, one of each before a second, so a stage of few
tasks runs on as many executors. Tasks whose input lies on some executors are launched there, as
long as these have free slots (delay scheduling).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray


class UnusedSlots:
    """The number of unused slots, updated by each stage in the order in which they start."""

    def __init__(self, slots: int, *, per_executor: int) -> None:
        self.left, self.per_executor = slots, max(1, per_executor)

    def use(self, tasks: int, *, slots: int, near: bool, cpus: int = 1) -> int:
        """Number of a stage's tasks that start on unused slots; marks all slots of their executors
        as used.

        Slots are offered in random order, so their number is in proportion to that of the unused
        slots, rounded up.

        Args:
            near: its tasks are launched where their input lies, on executors that ran tasks before.
            cpus: slots that one task holds.
        """
        at_once = min(tasks, max(1, slots // cpus))
        free_lanes = -(-self.left // cpus)
        if near:
            executors = cold_tasks = min(free_lanes, max(0, at_once - (slots - self.left) // cpus))
        else:
            cold_tasks = min(free_lanes, -(-at_once * self.left // slots))
            spread = min(at_once, -(-slots // self.per_executor))
            executors = -(-spread * self.left // slots)
        self.left -= min(self.left, max(cold_tasks * cpus, executors * self.per_executor))
        return cold_tasks

    def remove(self, count: int, *, slots: int, upcoming: int) -> None:
        """Removes `count` slots, unused ones first, since they are idle.

        Args:
            slots: slots that remain, including those yet to come.
        """
        idle = max(0, self.left - upcoming)
        self.left = min(slots, self.left - min(count, idle))


def tasks_on_unused_slots(
    start: FloatArray,
    tasks: Sequence[int],
    slots: int,
    *,
    per_executor: int,
    near: Sequence[bool],
    cpus: Sequence[int],
) -> IntArray:
    """(s,) number of each stage's tasks that start on unused slots.

    Args:
        start: (s,) when each stage starts, which gives their order.
        tasks: (s,) tasks of each stage.
        near, cpus: (s,) as in `UnusedSlots.use`.
    """
    unused = UnusedSlots(slots, per_executor=per_executor)
    cold_tasks = np.zeros(len(tasks), np.int64)
    for index in np.argsort(start, kind="stable").tolist():
        cold_tasks[index] = unused.use(
            tasks[index], slots=slots, near=near[index], cpus=cpus[index]
        )
    return cold_tasks
