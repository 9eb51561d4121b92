"""How long a stage of few waves takes when nobody knows in which order its tasks are launched.

A log's quantiles do not say where the long tasks stand, and one order would decide it: on one slot
more the longest task is suddenly among the first ones, which meet an executor never used before, or
no longer has to wait for the second wave. So the end is the mean over turns of one order, and as
many standard deviations from it as the log's own end was on its slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.forecast import FloatArray
from engine.scheduling.list_scheduling import makespan, makespan_of
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
    # Lists: of few numbers they are turned and placed in a fraction of the time of arrays.
    seconds = tasks.seconds.tolist()
    cold = None if tasks.cold_seconds is None or not unused else tasks.cold_seconds.tolist()
    if tasks.longest_first:
        wave = min(len(seconds), slots)
        starts = _begins(wave) if cold is not None and unused < wave else [0] * ORDERS
        ordered = partial(_with_unused_from, seconds, cold, unused=unused, wave=wave)
    else:
        first = round(turn * len(seconds))
        starts = [(first - begin) % len(seconds) for begin in _begins(len(seconds))]
        ordered = partial(_turned, seconds, cold, unused=unused)
    # Of few tasks, and where nothing turns, many orders are the same.
    ends = {start: makespan_of(ordered(start), slots) for start in set(starts)}
    return np.asarray([ends[start] for start in starts])


def _begins(places: int) -> list[int]:
    """Where each turn of so many places begins."""
    return [round(turn / ORDERS * places) % places for turn in range(ORDERS)]


def _turned(seconds: list[float], cold: list[float] | None, by: int, *, unused: int) -> list[float]:
    """Durations in launch order, from the task at place `by` on."""
    turned = seconds[by:] + seconds[:by]
    if cold is not None:
        turned[:unused] = (cold[by:] + cold[:by])[:unused]
    return turned


def _with_unused_from(
    seconds: list[float], cold: list[float] | None, start: int, *, unused: int, wave: int
) -> list[float]:
    """Durations from the longest task to the shortest: that order stays, and what turns is which of
    the first wave meet the unused slots, since these are anywhere among the others."""
    if cold is None:
        return seconds
    found = seconds.copy()
    for place in range(start, start + min(unused, wave)):
        found[place % wave] = cold[place % wave]
    return found


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
    shortest, longest = float(ends.min()), float(ends.max())
    if shortest == longest:
        return longest
    end = float(ends.mean()) + order.luck * float(ends.std())
    return min(max(end, shortest), longest)


SAME = 1e-9
"""Ends that differ by no more, relatively, differ by rounding."""
