"""Tasks placed one by one: fair sharing of slots between pools (Spark's scheduler mode FAIR), and
stages that claim slots in different ways (`engine.scheduling.task_claims`).

A slot that falls free takes a task of the pool that has the fewest running ones for its weight
(`FairSchedulingAlgorithm` of Spark, without minimum shares); within a pool stages go first in,
first out. Weights and minimum shares stand in an allocation file, which no log has: every pool has
Spark's defaults, 1 and 0. Of pools that have equally many the one of the lowest number goes first.

A stage whose next task does not fit the idle slots is passed over, as is a barrier stage until all
of its tasks fit: the next stages take what it leaves (`TaskSchedulerImpl.resourceOffers`).

One event after the other, whose cost does not depend on the number of slots.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from engine.forecast import FloatArray

MOST_PLACED_TASKS = 50_000
FEWEST_PLACED_WAVES = 16
"""Of more tasks in all stages, neighbours of one stage are placed together, one after the other on
one slot, so that about `MOST_PLACED_TASKS` are placed (of one pool fewer, see
`engine.scheduling.task_claims`). A stage keeps `FEWEST_PLACED_WAVES` for each slot."""


@dataclass(slots=True)
class WaitingStage:
    """A stage with tasks that wait for slots.

    Args:
        index: number by which it is known.
        priority: lower goes first within a pool.
        pool: number of its pool.
        cpus: slots that one task holds.
        seconds: (n,) durations of its tasks, in their order.
        barrier: its tasks start together. Where there are fewer slots than they claim, on which
            Spark ends the job, they start as slots fall free.
        placed: how many of them are placed.
        start: when the first of them started, in seconds.
        end: when the last of those placed ends, in seconds.
    """

    index: int
    priority: int
    pool: int
    cpus: int
    seconds: list[float]
    barrier: bool = False
    placed: int = 0
    start: float = math.nan
    end: float = -math.inf


_Queue: TypeAlias = list[tuple[int, int, WaitingStage]]
"""A heap of stages by priority and index. Those whose tasks are all placed leave it when they come
to its front."""


class FairPools:
    """The slots that stages of several pools share, and the tasks that run on them.

    Args:
        added_seconds: (slots,) when each slot comes.
    """

    def __init__(self, added_seconds: FloatArray) -> None:
        self.now = 0.0
        self.slots = len(added_seconds)
        self.idle = 0
        self.leaving = 0
        self.to_come: list[float] = np.sort(added_seconds)[::-1].tolist()
        self.running: list[tuple[float, int, int]] = []
        self.tasks_of_pool = Counter[int]()
        self.waiting: defaultdict[int, _Queue] = defaultdict(list)
        self.by_claim: defaultdict[int, defaultdict[tuple[int, int], _Queue]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.turns: list[tuple[int, int]] = []

    def add(self, stage: WaitingStage, *, moment: float) -> None:
        """Lets a stage that became ready at a moment wait for slots."""
        self.now = max(self.now, moment)
        queue = self.waiting[stage.pool]
        if not queue:
            heapq.heappush(self.turns, (self.tasks_of_pool[stage.pool], stage.pool))
        entry = stage.priority, stage.index, stage
        heapq.heappush(queue, entry)
        together = len(stage.seconds) if stage.barrier else 0
        heapq.heappush(self.by_claim[stage.pool][stage.cpus, together], entry)

    def place(self, until: float) -> WaitingStage | None:
        """Places tasks that start before `until`, up to the last task of a stage: that stage; None
        if no stage has its last task placed."""
        running, to_come = self.running, self.to_come
        while self.now < until:
            self._free()
            stage = self._launch()
            if stage is not None:
                return stage
            if not self.leaving:
                self._hand_on(min(until, to_come[-1]) if to_come else until)
            moment = running[0][0] if running else math.inf
            if to_come and to_come[-1] < moment:
                moment = to_come[-1]
            if moment >= until:
                break
            self.now = moment
        return None

    def remove(self, moment: float, count: int) -> int:
        """Removes slots: idle ones, then those that fall free first, last those to come. One always
        remains. How many still are to come."""
        self.now = max(self.now, moment)
        self._free()
        count = min(count, self.slots - 1)
        here = self.slots - len(self.to_come)
        self.slots -= count
        of_idle = min(count, self.idle)
        of_busy = min(count, here) - of_idle
        self.idle -= of_idle
        self.leaving += of_busy
        for _ in range(count - of_idle - of_busy):
            self.to_come.pop()
        return len(self.to_come)

    def _hand_on(self, until: float) -> None:
        """What `_free` and `_launch` do at most moments, in one step while the idle slots, if any,
        hold no task that waits: those of a task that ends go to the next one of its pool, if the
        pool then has the fewest."""
        running, turns, counts, waiting = self.running, self.turns, self.tasks_of_pool, self.waiting
        while running and turns:
            now, pool, cores = running[0]
            queue = waiting[pool]
            if now >= until or not queue or (counts[pool] - 1, pool) > turns[0]:
                break
            stage = queue[0][2]
            left = len(stage.seconds) - stage.placed
            if left <= 1 or left == len(stage.seconds) or stage.cpus != cores:
                break
            end = now + stage.seconds[stage.placed]
            if end > stage.end:
                stage.end = end
            heapq.heapreplace(running, (end, pool, cores))
            stage.placed += 1

    def _free(self) -> None:
        """Tasks that have ended leave their slots, and slots come."""
        running, now, counts = self.running, self.now, self.tasks_of_pool
        while running and running[0][0] <= now:
            _, pool, cores = heapq.heappop(running)
            counts[pool] = count = counts[pool] - 1
            if self.waiting[pool]:
                heapq.heappush(self.turns, (count, pool))
            if self.leaving:
                leave = min(cores, self.leaving)
                self.leaving -= leave
                cores -= leave
            self.idle += cores
        while self.to_come and self.to_come[-1] <= now:
            self.to_come.pop()
            self.idle += 1

    def _launch(self) -> WaitingStage | None:
        """Launches tasks on idle slots, up to the last task of a stage: that stage."""
        turns, counts = self.turns, self.tasks_of_pool
        while self.idle and turns:
            count, pool = turns[0]
            queue = self.waiting[pool]
            _drop_placed(queue)
            if not queue or count != counts[pool]:
                heapq.heappop(turns)
                continue
            first = queue[0][2]
            stage: WaitingStage | None = first
            tasks, cores = self._claim(first)
            if tasks * cores > self.idle:
                stage = self._first_that_fits()
                if stage is None:
                    break
                tasks, cores = self._claim(stage)
            elif len(self.waiting) == 1 and tasks == 1:
                # The only pool's turn again, until the first stage or the slots are used up.
                tasks = min(self.idle // cores, len(first.seconds) - first.placed)
            assert stage is not None
            self._start(stage, tasks, cores)
            entry = counts[stage.pool], stage.pool
            if stage.pool == pool:
                heapq.heapreplace(turns, entry)
            else:
                heapq.heappush(turns, entry)
            if stage.placed == len(stage.seconds):
                return stage
        return None

    def _claim(self, stage: WaitingStage) -> tuple[int, int]:
        """How many tasks of a stage start at once at least, and the slots that each takes."""
        cores = stage.cpus if stage.cpus <= self.slots else self.slots
        if stage.barrier and len(stage.seconds) * cores <= self.slots:
            return len(stage.seconds), cores
        return 1, cores

    def _first_that_fits(self) -> WaitingStage | None:
        """The first stage in the order of the pools that the idle slots hold tasks of. Of stages
        that claim alike only the first can be it."""
        pools = [pool for pool, queue in self.waiting.items() if queue]
        for pool in sorted(pools, key=lambda pool: (self.tasks_of_pool[pool], pool)):
            queues = self.by_claim[pool].values()
            for queue in queues:
                _drop_placed(queue)
            heads = [queue[0] for queue in queues if queue]
            fitting = [head for head in heads if math.prod(self._claim(head[2])) <= self.idle]
            if fitting:
                return min(fitting)[2]
        return None

    def _start(self, stage: WaitingStage, tasks: int, cores: int) -> None:
        """Starts the next tasks of a stage."""
        now, running, pool = self.now, self.running, stage.pool
        if not stage.placed:
            stage.start = now
        for seconds in stage.seconds[stage.placed : stage.placed + tasks]:
            end = now + seconds
            if end > stage.end:
                stage.end = end
            heapq.heappush(running, (end, pool, cores))
        stage.placed += tasks
        self.idle -= tasks * cores
        self.tasks_of_pool[pool] += tasks


def _drop_placed(queue: _Queue) -> None:
    """Removes stages whose tasks are all placed from the front of a queue."""
    while queue and queue[0][2].placed == len(queue[0][2].seconds):
        heapq.heappop(queue)


def placed_together(
    seconds: FloatArray, *, lanes: int, of_tasks: int, most_placed: int = MOST_PLACED_TASKS
) -> FloatArray:
    """The tasks of a stage, neighbours in one where the application has very many.

    Args:
        seconds: (n,) durations.
        lanes: how many tasks run at once.
        of_tasks: tasks of all stages.
        most_placed: about how many of these are placed.
    """
    n = len(seconds)
    most = max(FEWEST_PLACED_WAVES * lanes, n * most_placed // max(1, of_tasks))
    if n <= most:
        return seconds
    return np.asarray(np.add.reduceat(seconds, np.arange(most) * n // most))
