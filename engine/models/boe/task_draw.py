"""How long the single tasks of a stage take: the normal law of BOE section 6.1, drawn evenly.

Few tasks are drawn one by one; the first of many as chunks of several, so that what is estimated
does not grow with the number of tasks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray
from engine.models.boe.skew import Normal, linear_time, reduce_time, scores
from engine.models.boe.task_time import Needs
from engine.models.boe.workflow_course import Activity
from engine.special_functions import ndtr

LEAST_FACTOR = 0.05
"""A normal law has tasks of no and of negative length; none is shorter than this share of the
mean (before all are scaled, so that their mean is right again)."""

EXACT_TASKS = 1000
"""Stages of more tasks are coarsened: see `chunks_of`."""

MOST_WAVES = 2000
"""Tasks that are all alike run in waves of any number up to this; beyond, in chunks as well."""

COARSE_LANES = 64
CHUNKS_PER_LANE = 2


class TaskLaw(NamedTuple):
    """The normal law of a stage's task times, relative to what a task of mean amounts takes.

    Args:
        mean: 1, or more where the larger of two operations decides and either may be it.
        spread: standard deviation over the mean.
    """

    mean: float
    spread: float


def task_law(entry: Activity, needs: Needs) -> TaskLaw:
    """How the task times of a stage spread: by their own spread, and by that of what the last step
    writes, with the times of a task that waits for no other (its `needs`).

    Without computing in that step t = a + b alpha (Eqs. 9 to 11); with it the larger of the two
    decides, t = a + max(b, c alpha) (Eqs. 14 to 16, whose b alpha_m is taken as it is: the input of
    the step has no spread of its own here).
    """
    if entry.output_spread <= 0.0 or not len(needs.steps):
        return TaskLaw(1.0, entry.spread)
    computing, output = float(needs.steps[-1, 0]), float(needs.steps[-1, 1:].max())
    rest = needs.load + float(needs.steps[:-1].max(axis=1).sum())
    alpha = Normal(1.0, entry.output_spread**2)
    if computing > 0.0:
        last = reduce_time(a=0.0, b=computing, c=output, map_out=Normal(1.0, 0.0), reduce_out=alpha)
        law = Normal(rest + last.mean, last.variance)
    else:
        law = linear_time(fixed=rest, per_selectivity=output, selectivity=alpha)
    plain = rest + max(computing, output)
    if plain <= 0.0:
        return TaskLaw(1.0, 0.0)
    return TaskLaw(law.mean / plain, math.hypot(entry.spread, law.deviation / law.mean))


def task_factors(spread: float, tasks: int) -> FloatArray:
    """(n,) task times over their mean, in launch order, by the normal law of section 6.1."""
    if spread <= 0.0:
        return np.ones(tasks)
    z = (LEAST_FACTOR - 1.0) / spread
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    mean = LEAST_FACTOR * float(ndtr(z)) + float(ndtr(-z)) + spread * density
    return np.asarray(np.maximum(LEAST_FACTOR, 1.0 + spread * scores(tasks)) / mean)


def chunks_of(
    tasks: int, lanes: int, spread: float, tracks: int
) -> tuple[list[tuple[float, int]], int]:
    """How a large stage is drawn: (time over the mean, tasks) of each chunk in launch order, and
    how many lanes run as one track.

    Of more than `EXACT_TASKS` tasks the first run as chunks, each of a share of what is left, so
    that the last ones are single tasks with their own spread; and beyond so many `tracks` several
    lanes run as one. The sum of the work is that of all tasks.
    """
    lump = max(1, min(lanes, tasks) // tracks)
    width = max(1, lanes // lump)
    left = -(-tasks // lump)
    sizes = []
    while left > 0:
        size = max(1, left // (CHUNKS_PER_LANE * width))
        sizes.append(size)
        left -= size
    chunks = np.asarray(sizes)
    factors = np.empty(len(chunks))
    for size in np.unique(chunks).tolist():
        mine = chunks == size
        factors[mine] = size * task_factors(spread / math.sqrt(size), int(mine.sum()))
    factors *= tasks / (lump * int(chunks.sum()))
    return list(zip(factors.tolist(), sizes, strict=True)), lump
