"""Slots of executors that never ran a task, and which of them the stages of an application meet.

An executor is one JVM: its first tasks, on whichever of its slots, load code for all of them. Spark
offers the slots of all executors in random order, one of each before a second, so a stage of few
tasks meets as many executors. Tasks whose input lies on some executors are launched there, as long
as these have slots (delay scheduling).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray


class UnusedSlots:
    """What stages leave of them, in the order in which they start."""

    def __init__(self, slots: int, *, per_executor: int) -> None:
        self.left, self.per_executor = slots, max(1, per_executor)

    def met(self, tasks: int, *, slots: int, near: bool, cpus: int = 1) -> int:
        """How many tasks of a stage of so many, on so many slots, start on them: of those that are
        offered in random order in proportion to their number. Every other slot of their executors
        is used from then on.

        Args:
            near: its tasks are launched where their input lies, on executors that ran tasks.
            cpus: slots that one task holds.
        """
        at_once = min(tasks, max(1, slots // cpus))
        room = -(-self.left // cpus)
        if near:
            executors = met = min(room, max(0, at_once - (slots - self.left) // cpus))
        else:
            met = min(room, -(-at_once * self.left // slots))
            spread = min(at_once, -(-slots // self.per_executor))
            executors = -(-spread * self.left // slots)
        self.left -= min(self.left, max(met * cpus, executors * self.per_executor))
        return met

    def leave(self, count: int, *, slots: int, coming: int) -> None:
        """So many slots go, and leave so many, of which some are yet to come: those of executors
        that are there and never ran a task are idle, and go first."""
        idle = max(0, self.left - coming)
        self.left = min(slots, self.left - min(count, idle))


def unused_met(
    start: FloatArray,
    tasks: Sequence[int],
    slots: int,
    *,
    per_executor: int,
    near: Sequence[bool],
    cpus: Sequence[int],
) -> IntArray:
    """(s,) how many tasks of stages of so many start on such slots, in the order in which the
    stages start."""
    unused, found = UnusedSlots(slots, per_executor=per_executor), np.zeros(len(tasks), np.int64)
    for place in np.argsort(start, kind="stable").tolist():
        found[place] = unused.met(tasks[place], slots=slots, near=near[place], cpus=cpus[place])
    return found
