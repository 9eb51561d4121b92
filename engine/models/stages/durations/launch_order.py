"""In which order the tasks of a stage are launched: random once and for all, turned by a share of
it, or from the longest to the shortest."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np

from engine.forecast import FloatArray, IntArray

LONGEST_FIRST = -1.0
"""Launch order from the longest to the shortest task: where code is new to the executors, the
first wave of a stage is the slow one."""

Value = TypeVar("Value", FloatArray, IntArray)

KEPT_CHANCES = 512
FEW_TASKS, MANY_TASKS = 256, 4000
"""Of so many stages the random numbers are kept, for few tasks or for many."""


def launched(stage_id: int, n: int, rotation: float) -> IntArray:
    """(n,) ranks of a stage's tasks in launch order. The longest of them stand at the same shares
    of it however many others there are: one task more puts no other order on the whole stage.

    Args:
        rotation: share of the random order by which it is turned, or `LONGEST_FIRST`.
    """
    if rotation == LONGEST_FIRST:
        return np.arange(n)[::-1]
    from_longest = np.argsort(np.random.default_rng(stage_id).random(n))
    return turned(n - 1 - from_longest, rotation)


def last_launched(stage_id: int, n: int, rotation: float) -> int:
    """Rank of the task that is launched last, without putting all in order."""
    if rotation == LONGEST_FIRST:
        return 0
    place = (n - 1 - round(rotation * n)) % n
    if n > MANY_TASKS:
        chances = np.random.default_rng(stage_id).random(n)
    else:
        chances = _chances(stage_id, FEW_TASKS if n <= FEW_TASKS else MANY_TASKS)[:n]
    last = chances.argmax() if place == n - 1 else np.argpartition(chances, place)[place]
    return n - 1 - int(last)


def turned(values: Value, rotation: float) -> Value:
    """(n,) what is in launch order for no rotation in that of another one."""
    if rotation == LONGEST_FIRST:
        return np.sort(values)[::-1]
    return np.roll(values, round(rotation * len(values)))


@lru_cache(maxsize=KEPT_CHANCES)
def _chances(stage_id: int, n: int) -> FloatArray:
    """(n,) random numbers by which the first tasks of a stage are launched, always the same."""
    found = np.random.default_rng(stage_id).random(n)
    found.flags.writeable = False
    return found
