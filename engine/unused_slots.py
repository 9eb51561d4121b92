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

    def met(self, tasks: int, *, slots: int, near: bool) -> int:
        """How many a stage of so many tasks on so many slots meets: of those that are offered in
        random order in proportion to their number. Every other slot of their executors is used from
        then on.

        Args:
            near: its tasks are launched where their input lies, on executors that ran tasks.
        """
        at_once = min(tasks, slots)
        if near:
            executors = met = min(self.left, max(0, at_once - (slots - self.left)))
        else:
            met = min(self.left, -(-at_once * self.left // slots))
            spread = min(at_once, -(-slots // self.per_executor))
            executors = -(-spread * self.left // slots)
        self.left -= min(self.left, max(met, executors * self.per_executor))
        return met


def unused_met(
    start: FloatArray, tasks: Sequence[int], slots: int, *, per_executor: int, near: Sequence[bool]
) -> IntArray:
    """(s,) such slots that stages of so many tasks meet, in the order in which they start."""
    unused, found = UnusedSlots(slots, per_executor=per_executor), np.zeros(len(tasks), np.int64)
    for place in np.argsort(start, kind="stable").tolist():
        found[place] = unused.met(tasks[place], slots=slots, near=near[place])
    return found
