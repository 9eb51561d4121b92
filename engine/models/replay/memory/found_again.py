"""A log whose cache did not fit, as it would have been with all blocks found.

Such a log mixes tasks that found their block with others that computed it again. On a cluster where
all fits there are none of the latter. What they cost in the mean does not say how long a stage
takes without them: where each slot runs a task or two, the stage lasts as long as the slowest, and
that is one that computed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.drawn_times import drawn
from engine.models.stages.durations.task_times import StageShape

TELLING_TASKS = 3
"""Fewer tasks that found their blocks do not say how such tasks spread."""

NEAR = 0.1
"""Share of a stage's tasks by which those that computed again may be more or fewer than memory
says: executors do not fill alike, nor up to the last byte."""


def with_all_found(replay: Replay, lost: Mapping[int, tuple[float, float]]) -> Replay:
    """The replay of a log as if each stage had found all of the cache that it read.

    Args:
        lost: place of a stage -> task seconds in the log for what it did not find, and which share
            of what it read that was.
    """
    shapes = list(replay.shapes)
    for place, (seconds, share) in lost.items():
        shapes[place] = _found(shapes[place], seconds, share)
    return replace(replay, shapes=tuple(shapes)).fresh()


def _found(shape: StageShape, lost_seconds: float, missing: float) -> StageShape:
    """A stage without its lost blocks, of all of which a share was missing: its tasks spread as
    the shortest of them, those that found theirs. Where no break in their times shows which these
    are, they save no more than the lost seconds, since of tasks alike the shortest tell of chance
    alone."""
    n = shape.stage.tasks
    every = drawn(shape.warm, n, shape.mean_seconds)
    found = n - math.ceil(missing * n)
    known = len(shape.stage.task_seconds.quantiles)
    span = 1 if known >= n else math.ceil(n / max(1, known - 1)) + 1
    begins = _break(every, found, span=span, cost_seconds=lost_seconds / max(1, n - found))
    like = every[:begins] if begins else every[:found] if found >= TELLING_TASKS else every
    typical = float(like.mean())
    left = max(0.0, float(every.sum()) - lost_seconds) / n
    mean = typical if begins else max(left, typical) if found >= TELLING_TASKS else left
    warm = like * (mean / typical) if typical > 0.0 else like
    cold = warm + shape.cold_excess if len(shape.cold) else shape.cold
    return replace(shape, warm=warm, mean_seconds=mean, cold=cold, warm_up=None)


def _break(every: FloatArray, found: int, *, span: int, cost_seconds: float) -> int | None:
    """How many of the sorted times are of tasks that found their block: up to where they jump by
    half of what a block costs to compute, near the number that is expected. None where they do
    not.

    Args:
        span: tasks over which a jump extends, where times between known ones are interpolated.
    """
    near = max(1, round(NEAR * len(every)))
    first, last = max(TELLING_TASKS, found - near), min(len(every) - span, found + near)
    if first > last:
        return None
    places = np.arange(first, last + 1)
    jumps = every[places - 1 + span] - every[places - 1]
    widest = int(jumps.argmax())
    return first + widest if jumps[widest] >= 0.5 * cost_seconds > 0.0 else None
