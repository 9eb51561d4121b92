"""The makespan of a stage of few waves averaged over launch orders, since its order is unknown.

A log's quantiles do not say when the long tasks are launched, and a single order would decide too
much: on one slot more the longest task may suddenly be among the first ones, which meet an unused
executor, or may no longer wait for the second wave. So the makespan is the mean over cyclic shifts
of one random order, plus as many standard deviations over these as the log's own makespan lay above
that mean on its slots.
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
"""Number of launch orders over which the mean is taken: one order, shifted by equal shares of it.
"""

MOST_SHIFTED_TASKS = 1000
"""Stages of more tasks keep their one order: scheduling them so often would cost more than their
order matters."""


def zero_z_score() -> float:
    """The z-score of a stage whose log does not tell it."""
    return 0.0


@dataclass(frozen=True, eq=False)
class LaunchOrder:
    """What a log tells of the launch order of a stage.

    Args:
        turn: cyclic shift of the order of its `Tasks` against the random order, as a share.
        compute_z_score: computes `z_score` when first used.
    """

    turn: float
    compute_z_score: Callable[[], float] = zero_z_score

    @cached_property
    def z_score(self) -> float:
        """Z-score of the stage's makespan on the log's slots: how many standard deviations over
        shifted orders it lies above their mean."""
        return self.compute_z_score()


def ends_by_turn(tasks: Tasks, slots: int, *, unused: int, turn: float) -> FloatArray:
    """(`ORDERS`,) makespan in seconds of tasks on idle slots, for each shift of their launch order.

    Args:
        unused: number of first tasks that meet unused slots, which never ran a task.
        turn: shift of the order in which the tasks are given.
    """
    # Few numbers are shifted and scheduled much faster as lists than as arrays.
    seconds = tasks.seconds.tolist()
    cold = None if tasks.cold_seconds is None or not unused else tasks.cold_seconds.tolist()
    if tasks.longest_first:
        wave = min(len(seconds), slots)
        starts = _shift_starts(wave) if cold is not None and unused < wave else [0] * ORDERS
        ordered = partial(_longest_first_with_unused, seconds, cold, unused=unused, wave=wave)
    else:
        first = round(turn * len(seconds))
        starts = [(first - begin) % len(seconds) for begin in _shift_starts(len(seconds))]
        ordered = partial(_shifted, seconds, cold, unused=unused)
    # With few tasks, or if nothing shifts, many orders are the same.
    ends = {start: makespan_of(ordered(start), slots) for start in set(starts)}
    return np.asarray([ends[start] for start in starts])


def _shift_starts(places: int) -> list[int]:
    """The first position of each shift of an order of so many positions."""
    return [round(turn / ORDERS * places) % places for turn in range(ORDERS)]


def _shifted(
    seconds: list[float], cold: list[float] | None, by: int, *, unused: int
) -> list[float]:
    """Durations in launch order, shifted to begin with the task at index `by`; the first `unused`
    ones are cold."""
    shifted = seconds[by:] + seconds[:by]
    if cold is not None:
        shifted[:unused] = (cold[by:] + cold[:by])[:unused]
    return shifted


def _longest_first_with_unused(
    seconds: list[float], cold: list[float] | None, start: int, *, unused: int, wave: int
) -> list[float]:
    """Durations from the longest task to the shortest. That order stays; what shifts is which tasks
    of the first wave meet the unused slots, since these may be any of the slots."""
    if cold is None:
        return seconds
    durations = seconds.copy()
    for index in range(start, start + min(unused, wave)):
        durations[index % wave] = cold[index % wave]
    return durations


def order_z_score(tasks: Tasks, slots: int, *, unused: int, turn: float) -> float:
    """`LaunchOrder.z_score` of tasks in the order given; 0 if the order does not matter."""
    ends = ends_by_turn(tasks, slots, unused=unused, turn=turn)
    spread = float(ends.std())
    if spread <= ROUNDING * float(ends.mean()):
        return 0.0
    return (makespan(tasks.on(unused), slots) - float(ends.mean())) / spread


def end_in_any_order(tasks: Tasks, slots: int, order: LaunchOrder, *, unused: int) -> float:
    """Makespan in seconds of tasks on idle slots, averaged over launch orders: see the module."""
    if not unused and len(tasks) <= slots:
        return tasks.longest
    ends = ends_by_turn(tasks, slots, unused=unused, turn=order.turn)
    shortest, longest = float(ends.min()), float(ends.max())
    if shortest == longest:
        return longest
    end = float(ends.mean()) + order.z_score * float(ends.std())
    return min(max(end, shortest), longest)


ROUNDING = 1e-9
"""Relative standard deviation of makespans below which they differ by rounding only."""
