"""How long a stage of few waves takes when nobody knows in which order its tasks are launched.

A log's quantiles do not say where the long tasks stand, and one order would decide it: on one slot
more the longest task is suddenly among the first ones, which meet an executor never used before, or
no longer has to wait for the second wave. So the end is the mean over turns of one order, and as
many standard deviations from it as the log's own end was on its slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray
from engine.scheduling.list_scheduling import makespan
from engine.scheduling.waves import Tasks

ORDERS = 16
"""Launch orders over which the mean is taken: one order, turned by as many equal shares of it."""

TURNED_TASKS = 1000
"""Stages of more tasks take their one order: placing them so often would cost more than the order
of so many tasks is worth."""


def no_luck() -> float:
    """Of a stage whose log does not tell it."""
    return 0.0


@dataclass(frozen=True, eq=False)
class LaunchOrder:
    """What a log tells of the order in which a stage's tasks are launched.

    Args:
        turn: share of a random order by which that of its `Tasks` is turned.
        told: gives `luck`, for those who ask.
    """

    turn: float
    told: Callable[[], float] = no_luck

    @cached_property
    def luck(self) -> float:
        """How far the stage's end on the log's slots lies above the mean over turns, in standard
        deviations over these."""
        return self.told()


def ends_by_turn(tasks: Tasks, slots: int, *, unused: int, turn: float) -> FloatArray:
    """(`ORDERS`,) how long tasks take on idle slots in each turn of their launch order, in seconds.

    Args:
        unused: how many of the first ones meet slots that never ran a task.
        turn: of the order in which they are.
    """
    n, wave = len(tasks), min(len(tasks), slots)
    if tasks.longest_first and not 0 < unused < wave:
        same = _with_unused_from(tasks, 0, unused, wave)
        return np.full(ORDERS, _last_end(same.tolist(), slots))
    ends = np.empty(ORDERS)
    for place in range(ORDERS):
        part = place / ORDERS
        if tasks.longest_first:
            seconds = _with_unused_from(tasks, round(part * wave), unused, wave)
        else:
            seconds = _turned(tasks, round(part * n) - round(turn * n), unused)
        ends[place] = _last_end(seconds.tolist(), slots)
    return ends


def _last_end(seconds: list[float], slots: int) -> float:
    """`place` on idle slots, of which each takes a task at once: when the last one ends."""
    heap, replace = seconds[:slots], heapq.heapreplace
    heapq.heapify(heap)
    for duration in seconds[slots:]:
        replace(heap, heap[0] + duration)
    return max(heap)


def _turned(tasks: Tasks, by: int, unused: int) -> FloatArray:
    """(n,) durations in launch order, turned by so many places."""
    by, cold = by % len(tasks), tasks.cold_seconds
    seconds = np.concatenate((tasks.seconds[-by:], tasks.seconds[:-by])) if by else tasks.seconds
    if cold is None or not unused:
        return seconds
    first = np.concatenate((cold[-by:], cold[:-by])) if by else cold
    return Tasks(seconds, first).on(unused)


def _with_unused_from(tasks: Tasks, start: int, unused: int, wave: int) -> FloatArray:
    """(n,) durations from the longest task to the shortest: that order stays, and what turns is
    which of the first wave meet the unused slots, since these are anywhere among the others."""
    if tasks.cold_seconds is None or not unused:
        return tasks.seconds
    seconds = tasks.seconds.copy()
    among = (start + np.arange(min(unused, wave))) % wave
    seconds[among] = tasks.cold_seconds[among]
    return seconds


def luck_of(tasks: Tasks, slots: int, *, unused: int, turn: float) -> float:
    """`LaunchOrder.luck` of the order in which tasks are; 0 where all take as long."""
    ends = ends_by_turn(tasks, slots, unused=unused, turn=turn)
    spread = float(ends.std())
    if spread <= SAME * float(ends.mean()):
        return 0.0
    return (makespan(tasks.on(unused), slots) - float(ends.mean())) / spread


def end_in_any_order(tasks: Tasks, slots: int, order: LaunchOrder, *, unused: int) -> float:
    """How long tasks take on idle slots, in seconds: see the module."""
    if not unused and len(tasks) <= slots:
        return tasks.longest
    ends = ends_by_turn(tasks, slots, unused=unused, turn=order.turn)
    end = float(ends.mean()) + order.luck * float(ends.std())
    return min(max(end, float(ends.min())), float(ends.max()))


SAME = 1e-9
"""Ends that differ by no more, relatively, differ by rounding."""
