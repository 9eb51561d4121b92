"""Fair sharing of slots between pools: Spark's scheduler mode FAIR.

A slot that falls free takes a task of the pool that has the fewest running ones for its weight
(`FairSchedulingAlgorithm` of Spark, without minimum shares); within a pool stages go first in,
first out. Weights and minimum shares stand in an allocation file, which no log has: every pool has
Spark's defaults, 1 and 0.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.forecast import FloatArray

Running = tuple[float, int]
"""When a running task ends [s], and its pool."""


@dataclass(frozen=True, slots=True)
class WaitingStage:
    """A stage with tasks that wait for slots.

    Args:
        index: number by which it is known.
        pool: number of its pool.
        seconds: (n,) durations of its tasks, in their order.
    """

    index: int
    pool: int
    seconds: FloatArray


@dataclass(slots=True)
class Placed:
    """What was placed: per stage its number of tasks, the start of the first and the end of the
    last in seconds; the (end, pool) of each running task; (m,) new free times."""

    free: FloatArray
    tasks: dict[int, int] = field(default_factory=dict)
    start: dict[int, float] = field(default_factory=dict)
    end: dict[int, float] = field(default_factory=dict)
    running: list[Running] = field(default_factory=list)


def place_fairly(
    waiting: Sequence[WaitingStage],
    free: FloatArray,
    *,
    ready: float,
    until: float,
    running: Sequence[Running],
) -> Placed:
    """Places tasks of stages of several pools one by one, until all of one stage are placed.

    Args:
        waiting: the stages in their first-in-first-out order.
        free: (m,) when each slot falls free.
        ready: when the last of the stages became ready: no task starts before.
        until: no task starts at or after this.
        running: the tasks that were placed before.
    """
    still_running = [task for task in running if task[0] > ready]
    heapq.heapify(still_running)
    counts = Counter(pool for _, pool in still_running)
    first_of = {stage.pool: stage for stage in reversed(waiting)}
    pools = sorted(first_of)
    slots, placed = np.maximum(free, ready).tolist(), Placed(free, running=still_running)
    heapq.heapify(slots)
    while slots[0] < until:
        moment = slots[0]
        while placed.running and placed.running[0][0] <= moment:
            counts[heapq.heappop(placed.running)[1]] -= 1
        pool = min(pools, key=counts.__getitem__)
        stage = first_of[pool]
        number = placed.tasks.get(stage.index, 0)
        end = moment + float(stage.seconds[number])
        heapq.heapreplace(slots, end)
        heapq.heappush(placed.running, (end, pool))
        counts[pool] += 1
        placed.start.setdefault(stage.index, moment)
        placed.tasks[stage.index] = number + 1
        placed.end[stage.index] = max(end, placed.end.get(stage.index, end))
        if number + 1 == len(stage.seconds):
            break
    placed.free = np.asarray(slots)
    return placed


def with_block(
    running: Sequence[Running], free: FloatArray, *, after: float, pool: int
) -> list[Running]:
    """The tasks that run on beyond the moment `after` once a block of tasks of one pool is placed.

    Args:
        running: the tasks that were placed before the block.
        free: (m,) when each slot falls free, with the block.
    """
    pools_of_end: defaultdict[float, list[int]] = defaultdict(list)
    for end, pool_before in running:
        pools_of_end[end].append(pool_before)
    ends = (end for end in free.tolist() if end > after)
    return [(end, pools_of_end[end].pop() if pools_of_end[end] else pool) for end in ends]
