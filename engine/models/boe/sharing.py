"""Tasks of several stages on the same cores, disks and network (BOE section 4.2.2).

A task of stage i uses the bottleneck X for its effective time, mu_Xi = need_Xi / t_i, and where X
is full the shares add up: sum of mu_Xi x Delta_i = 1 (of the whole resource). What each of them is,
the paper leaves to the drivers of the devices; here it is an even share per task, and what a task
does not use of it goes to the others. Within a stage tasks run in step, so that a stage alone
competes with itself as in Eqs. 3 to 5.

So each full resource has one level w_X: no task takes more than w_X of one core, disk or card. The
levels are found one after the other, and again until none moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from engine.forecast import FloatArray
from engine.models.boe.task_time import RESOURCES, Needs, TaskTime, task_time, timed

_SWEEPS = 60
_LEVEL_MOVED = 1e-6
_OVERFULL = 1e-8
_PROBES = 60
"""When the search for the levels ends: change of log level, excess of a resource (log), tries."""

_FIRST_STEP = 1.5
"""The search first steps past the solution by half."""


def shared_task_times(
    needs: Sequence[Needs], capacity: FloatArray, parallelism: Sequence[float]
) -> list[TaskTime]:
    """Section 4.2.2: task times of n stages that run side by side; with one, Eqs. 3 to 5.

    Args:
        capacity: (3,) cores, disks and network cards.
        parallelism: (n,) tasks of each stage that run at once.
    """
    if len(needs) == 1:
        return [task_time(needs[0], capacity, parallelism[0])]
    units = capacity.tolist()
    shares = [[min(1.0, offered / count) for offered in units] for count in parallelism]
    tasks = list(zip(parallelism, needs, strict=True))
    full = [
        resource
        for resource, offered in enumerate(units)
        if sum([n for n, entry in tasks if entry.totals[resource] > 0.0]) > offered
    ]
    if full:
        levels = _levels(needs, units, parallelism, shares, full)
        shares = [[min(own, level) for own, level in zip(s, levels, strict=True)] for s in shares]
    return [timed(entry, share) for entry, share in zip(needs, shares, strict=True)]


def _levels(
    needs: Sequence[Needs],
    capacity: Sequence[float],
    counts: Sequence[float],
    alone: Sequence[Sequence[float]],
    full: Sequence[int],
) -> list[float]:
    """(3,) the most that a task may take of one unit of each resource; 1 where it is not full.

    Args:
        alone: n times (3,) what a task gets when only its own stage runs.
    """
    levels = [1.0] * len(RESOURCES)
    for _ in range(_SWEEPS):
        moved = 0.0
        for resource in full:
            excess = partial(
                _excess, _uses(needs, counts, alone, levels, resource), capacity[resource]
            )
            before = math.log(levels[resource])
            log_level = _root(excess, before)
            levels[resource] = math.exp(log_level)
            moved = max(moved, abs(log_level - before))
        if moved <= _LEVEL_MOVED or len(full) == 1:
            break
    return levels


class _Use(NamedTuple):
    """How a stage uses one resource, whatever the level of this.

    Args:
        wanted: seconds of a whole unit that its running tasks need in all.
        load: seconds of a task that use no resource.
        steps: seconds of each step at its slowest other operation (or alone on this resource), and
            seconds of a whole unit of this resource.
    """

    wanted: float
    load: float
    steps: list[tuple[float, float]]


def _uses(
    needs: Sequence[Needs],
    counts: Sequence[float],
    alone: Sequence[Sequence[float]],
    levels: Sequence[float],
    resource: int,
) -> list[_Use]:
    """(n,) the use of a resource by each stage, at the levels of the others."""
    uses = []
    for entry, count, own in zip(needs, counts, alone, strict=True):
        least = [min(share, level) for share, level in zip(own, levels, strict=True)]
        least[resource] = own[resource]
        steps = [
            (max([amount / part for amount, part in zip(row, least, strict=True)]), row[resource])
            for row in entry.rows
        ]
        uses.append(_Use(entry.totals[resource] * count, entry.load, steps))
    return uses


def _excess(uses: Sequence[_Use], capacity: float, log_level: float) -> float:
    """Log of the use of a resource over its capacity when its level is this."""
    level, used = math.exp(log_level), 0.0
    for wanted, load, steps in uses:
        paced = sum([max(other, amount / level) for other, amount in steps])
        used += wanted / max(load + paced, _NO_TIME)
    return math.log(max(used, _NO_TIME) / capacity)


_NO_TIME = 1e-300
"""Stands for zero in a denominator: a task that does nothing uses nothing."""


def _root(excess: Callable[[float], float], start: float) -> float:
    """Where a function that nowhere falls crosses zero at or below 0; 0 where it does not reach it.

    It may be level for long before it falls off, where a stage alone gets less than the level: so
    the steps down grow, and of two values on one side the other end counts half (the Illinois
    algorithm).
    """
    high, above = 0.0, excess(0.0)
    if above <= 0.0:
        return 0.0
    low, below, x, step, side = math.nan, math.nan, start, 0.0, 0
    for _ in range(_PROBES):
        value = excess(x)
        if abs(value) <= _OVERFULL:
            break
        if value > 0.0:
            high, above, below = x, value, below * (0.5 if side > 0 else 1.0)
            side = 1
        else:
            low, below, above = x, value, above * (0.5 if side < 0 else 1.0)
            side = -1
        if math.isnan(low):
            step = max(2.0 * step, max(value, 1e-3) * _FIRST_STEP)
            x -= step
            continue
        x = low + (high - low) * -below / (above - below)
    return x
