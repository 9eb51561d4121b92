"""Answers of logs along the way to an input, held so that more input is never less time.

Each replay is held by itself (`times.py`). That does not hold what is made of them: the
nearer logs count more, so that the mean of growing times may fall where one log hands over to
another, and what memory adds or saves may fall while the replay grows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from engine.cluster import Workload
from engine.forecast import FloatArray
from engine.models.replay.kept_answers import MeanTimes
from engine.models.replay.times import steps_to
from engine.profile import Run

PARTS = 4
"""Between the last two inputs on the way what memory does is asked at so many parts of the way: it
starts all at once somewhere between them, and a straight line would tell of it too early."""


def held(
    answer: Callable[[float], FloatArray], known: Sequence[float], wanted: float
) -> FloatArray:
    """(n,) log time held to grow with the input, of logs whose mean need not: where they hand over
    to each other, and where what they learnt of each other outweighs a step in which their tasks
    fill up. Straight lines between the inputs of the logs, and beyond them between their doublings
    and halves, none of which is faster than a smaller one.

    Args:
        answer: log time of an input for n clusters.
        known: inputs of the logs, each once.
        wanted: the input that is asked for.
    """
    ordered = sorted(known)
    hold = np.maximum if wanted > ordered[0] else np.minimum
    path, share = _way_to(ordered, wanted)
    before = reached = answer(path[0])
    for size in path[1:]:
        before, reached = reached, hold(reached, answer(size))
    return np.asarray((1.0 - share) * before + share * reached)


def _way_to(ordered: Sequence[float], wanted: float) -> tuple[list[float], float]:
    """The inputs of the logs on the way to the wanted one, from the smallest to the first at or
    beyond it, with steps outside of them; and how far between the last two it lies (0 ... 1)."""
    last = bisect_left(ordered, wanted)
    if 0 < last < len(ordered):
        low, high = ordered[last - 1 : last + 1]
        return list(ordered[: last + 1]), math.log(wanted / low) / math.log(high / low)
    nearest = max(last - 1, 0)
    steps, share = steps_to(wanted / ordered[nearest])
    return [*ordered[:nearest], *(ordered[nearest] * step for step in steps)], share


def held_mean(
    mean: FloatArray, of: Callable[[Workload], FloatArray], runs: Sequence[Run], wanted: Workload
) -> FloatArray:
    """(n,) mean log time over logs, `held` where the inputs of all of them are known and some
    differ: each log's own time grows with the input, and the mean need not.

    Args:
        mean: what the logs say of `wanted`; of: of any other workload.
        runs: of the logs.
    """
    inputs = {run.workload.input_bytes for run in runs}
    known = [size for size in inputs if size is not None]
    if len(known) < max(2, len(inputs)) or wanted.input_bytes is None:
        return mean

    def answer(size: float) -> FloatArray:
        return mean if size == wanted.input_bytes else of(replace(wanted, input_bytes=size))

    return held(answer, known, wanted.input_bytes)


def held_logs(
    answer: Callable[[float], MeanTimes], path: Sequence[float], share: float
) -> FloatArray:
    """(n,) log time with what memory adds, held to grow with the input.

    Each input on the way is no faster than the one before (no slower below the smallest log),
    without memory as with it. Between the last two, times without memory lie on a straight line;
    what memory adds there is held as well, and within what it adds to the two.

    Args:
        answer: what logs say of an input for n clusters.
        path: inputs from the smallest log's to the first at or beyond the wanted one.
        share: how far between the last two of them the wanted one lies (0 ... 1).
    """
    hold = np.maximum if path[-1] >= path[0] else np.minimum
    alone: list[FloatArray] = []
    held: list[FloatArray] = []
    for size in path:
        at = answer(size)
        alone.append(hold(alone[-1], at.alone) if alone else at.alone)
        whole = alone[-1] + at.memory
        held.append(hold(held[-1], whole) if held else whole)
    if len(path) == 1 or share >= 1.0:
        return held[-1]
    (low, high), (first, last) = alone[-2:], held[-2:]
    parts = PARTS if (first != low).any() or (last != high).any() else 1
    reached, done = first, int(share * parts)
    for part in range(1, done + 2):
        before, way = reached, part / parts
        if part == parts:
            reached = last
            continue
        at = answer(path[-2] * (path[-1] / path[-2]) ** way)
        whole = (1.0 - way) * low + way * high + at.memory
        reached = np.clip(hold(before, whole), np.minimum(first, last), np.maximum(first, last))
    beyond = share * parts - done
    return np.asarray((1.0 - beyond) * before + beyond * reached)
