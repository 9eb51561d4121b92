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

import numpy as np

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
    counts = np.asarray(parallelism, dtype=float)
    totals = np.asarray([entry.steps.sum(axis=0) for entry in needs])
    share = np.minimum(1.0, capacity / counts[:, None])
    full = np.flatnonzero((totals > 0.0).astype(float).T @ counts > capacity).tolist()
    if full:
        share = np.minimum(share, _levels(needs, capacity, counts, share, full))
    return [timed(entry, row) for entry, row in zip(needs, share.tolist(), strict=True)]


def _levels(
    needs: Sequence[Needs],
    capacity: FloatArray,
    counts: FloatArray,
    alone: FloatArray,
    full: Sequence[int],
) -> FloatArray:
    """(3,) the most that a task may take of one unit of each resource; 1 where it is not full.

    Args:
        alone: (n, 3) what a task gets when only its own stage runs.
    """
    loads = np.asarray([entry.load for entry in needs])
    steps = np.concatenate([entry.steps for entry in needs])
    owner = np.repeat(np.arange(len(needs)), [len(entry.steps) for entry in needs])
    own_pace = steps / alone[owner]
    wanted = np.asarray([entry.steps.sum(axis=0) for entry in needs]) * counts[:, None]
    levels = np.ones(len(RESOURCES))

    def excess(resource: int, log_level: float) -> float:
        """Log of the use of a resource over its capacity when its level is this."""
        levels[resource] = math.exp(log_level)
        longest = np.maximum(own_pace, steps / levels).max(axis=1)
        seconds = loads + np.bincount(owner, weights=longest, minlength=len(needs))
        use = wanted[:, resource] @ (1.0 / np.maximum(seconds, _NO_TIME))
        return math.log(max(float(use), _NO_TIME) / float(capacity[resource]))

    for _ in range(_SWEEPS):
        moved = 0.0
        for resource in full:
            before = math.log(levels[resource])
            log_level = _root(partial(excess, resource), before)
            levels[resource] = math.exp(log_level)
            moved = max(moved, abs(log_level - before))
        if moved <= _LEVEL_MOVED or len(full) == 1:
            break
    return levels


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
