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

from engine.models.drawn_times import drawn
from engine.models.replay import Replay
from engine.models.task_times import StageShape

TELLING_TASKS = 3
"""Fewer tasks that found their blocks do not say how such tasks spread."""


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
    the shortest of them, those that found theirs. They save no more than the lost seconds, since
    of tasks alike the shortest tell of chance alone."""
    n = shape.stage.tasks
    every = drawn(shape.warm, n, shape.mean_seconds)
    found = n - math.ceil(missing * n)
    left = max(0.0, float(every.sum()) - lost_seconds) / n
    like = every[:found] if found >= TELLING_TASKS else every
    mean = max(left, float(every[:found].mean())) if found >= TELLING_TASKS else left
    typical = float(like.mean())
    warm = like * (mean / typical) if typical > 0.0 else like
    cold = warm + shape.cold_excess if len(shape.cold) else shape.cold
    return replace(shape, warm=warm, mean_seconds=mean, cold=cold, warm_up=None)
