"""Waves and list scheduling: when tasks end on a number of slots, and stages on a whole cluster.

A slot that falls free takes the next task of the first stage in Spark's FIFO order (job, then
stage); a stage waits for all of its predecessors. Two forms:

- exact: one task after the other from a heap of free times;
- fast: while far more tasks wait than there are slots, all are busy whatever the order, so only the
  last waves decide when a stage ends. It jumps over that bulk (`_after_bulk`) or places batches
  (`_place_batches`), within 1 % of the exact form; stages that weigh little or are huge take their
  mean time over launch orders (`Tasks.expected_makespan`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.waves import Tasks, cold_share

FEW_TASKS = 300
"""Stages of so many tasks are always placed one by one."""

HEAP_TASKS = 3000
"""Up to so many tasks a heap is faster than batches."""

BULK_TO_TAIL = 4
"""The bulk is only jumped over when it has this many times the tasks of the tail: what the tail
then gets wrong is a small part of the whole."""

TAIL_WAVES = 6
"""Waves at the end of a stage that are always placed task by task, or in small batches."""

TAIL_OF_LONGEST = 1.5
"""The tail also lasts this many times the longest task: what ran at its start has ended by then."""

FEWEST_BATCHES = 2
MOST_BATCHES = 16
BATCHED_WAVES = 32
"""Batches per wave times waves, within these limits: an error of a share of a task's time weighs
the less the more waves there are."""

NEGLIGIBLE = 0.02
"""A stage takes its expected time in closed form when the ratio of its longest task to its own
time, times its share of all work, is no more than this: its order hardly shifts the whole."""

SMALL_STAGE, LARGE_STAGE = 16, 20_000
"""Stages of no more tasks than the first never do, of more than the second always."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class Node:
    """One step of an application: a stage, or (without tasks) a moment such as a job's submission.

    Args:
        after: places of the nodes that must have ended; a node ends with its last task.
        delay_seconds: driver time between the last of those ends and the start of this node.
        priority: lower goes first when several stages want the same slot.
        tasks: None for a moment.
        cpus: slots that one task holds.
    """

    after: tuple[int, ...]
    delay_seconds: float
    priority: int = 0
    tasks: Tasks | None = None
    cpus: int = 1


@dataclass(frozen=True, eq=False)
class Schedule:
    """When each of n nodes started and ended: (n,) seconds."""

    start: FloatArray
    end: FloatArray

    @property
    def seconds(self) -> float:
        """The end of the last node."""
        return float(self.end.max(initial=0.0))


def place(
    seconds: FloatArray, free: FloatArray, ready: float, until: float = math.inf
) -> tuple[FloatArray, int, float]:
    """List scheduling of a stage's tasks, in their order, each on the slot that is free first.

    Args:
        seconds: (n,) durations.
        free: (m,) when each slot falls free.
        ready: no task starts before.
        until: no task starts at or after this; the rest is left.

    Returns:
        (m,) new free times in no particular order, how many tasks were placed, and when the last of
        them ends (`ready` when none was placed).
    """
    heap = np.maximum(free, ready).tolist()
    heapq.heapify(heap)
    replace, ends = heapq.heapreplace, []
    for duration in seconds.tolist():
        first = heap[0]
        if first >= until:
            break
        finish = first + duration
        replace(heap, finish)
        ends.append(finish)
    return np.asarray(heap), len(ends), max(ends, default=ready)


def place_fast(
    seconds: FloatArray, free: FloatArray, ready: float, until: float = math.inf
) -> tuple[FloatArray, int, float]:
    """`place` for many tasks: the same arguments and results, within 1 % (see the module)."""
    open_slots = np.maximum(free, ready)
    if not len(seconds):
        return open_slots, 0, ready
    started = _start_at_once(seconds, open_slots, ready, until)
    if started is not None:
        return started
    if len(seconds) <= FEW_TASKS:
        return place(seconds, free, ready, until)
    bulk = _bulk_tasks(seconds, open_slots, until)
    if bulk:
        open_slots = _after_bulk(seconds[:bulk], open_slots)
    rest = seconds[bulk:]
    method = place if len(rest) <= HEAP_TASKS else _place_batches
    open_slots, placed, end = method(rest, open_slots, ready, until)
    return open_slots, bulk + placed, max(end, float(seconds[:bulk].max(initial=0.0)) + ready)


def _start_at_once(
    seconds: FloatArray, open_slots: FloatArray, ready: float, until: float
) -> tuple[FloatArray, int, float] | None:
    """All tasks start when the stage is ready, if so many slots are idle; else None."""
    if len(seconds) > len(open_slots) or ready >= until:
        return None
    idle = np.flatnonzero(open_slots <= ready)
    if len(idle) < len(seconds):
        return None
    open_slots[idle[: len(seconds)]] = ready + seconds
    return open_slots, len(seconds), ready + float(seconds.max())


def _bulk_tasks(seconds: FloatArray, open_slots: FloatArray, until: float) -> int:
    """How many of the first tasks can be jumped over: all but a tail (`TAIL_WAVES`,
    `TAIL_OF_LONGEST`), and none that would start near `until`. 0 where that saves little."""
    n, m = len(seconds), len(open_slots)
    mean, longest = float(seconds.mean()), float(seconds.max())
    if mean <= 0.0 or m == 0:
        return 0
    tail = max(TAIL_WAVES, math.ceil(TAIL_OF_LONGEST * longest / mean)) * m
    bulk = n - tail
    if math.isfinite(until):
        room = (until - 2.0 * longest) * m - float(open_slots.sum())
        bulk = min(bulk, int(np.searchsorted(np.cumsum(seconds), room)))
    spread = float(open_slots.max() - open_slots.min()) * m
    return bulk if bulk > BULK_TO_TAIL * tail and bulk * mean > 2.0 * spread else 0


def _after_bulk(seconds: FloatArray, open_slots: FloatArray) -> FloatArray:
    """(m,) free times after a bulk of tasks during which no slot was idle.

    Their mean follows from the work alone. Around it they lie as the rest of the running tasks
    does at any moment: a running task is long in proportion to its length, and done to a share that
    is uniform (the stationary residual life of a renewal process).
    """
    m = len(open_slots)
    ordered = np.sort(seconds)
    share = np.cumsum(ordered)
    running = ordered[
        np.minimum(np.searchsorted(share, share[-1] * (np.arange(m) + 0.5) / m), len(ordered) - 1)
    ]
    left = running * ((np.arange(m) + 1) * _GOLDEN % 1.0)
    level = (float(open_slots.sum()) + float(share[-1])) / m
    return np.asarray(level + left - left.mean())


def _place_batches(
    seconds: FloatArray, free: FloatArray, ready: float, until: float
) -> tuple[FloatArray, int, float]:
    """`place`, a batch of tasks at a time on the slots that fall free first.

    A batch is exact while none of its tasks ends before the last slot of the batch falls free. It
    is at least a share of a wave (`BATCHED_WAVES`); no slot idles either way, so that a batch too
    large only shifts which task comes on which slot.
    """
    open_slots = np.sort(np.maximum(free, ready))
    m, n = len(open_slots), len(seconds)
    batches = min(max(FEWEST_BATCHES, BATCHED_WAVES * m // n), MOST_BATCHES)
    end, placed = ready, 0
    while placed < n:
        available = int(np.searchsorted(open_slots, until)) if math.isfinite(until) else m
        size = min(available, n - placed)
        if size == 0:
            break
        finish = open_slots[:size] + seconds[placed : placed + size]
        late = open_slots[1:size] > np.minimum.accumulate(finish)[:-1]
        exact = int(late.argmax()) + 1 if late.any() else size
        size = min(size, max(exact, m // batches, 1))
        finish = finish[:size]
        end = max(end, float(finish.max()))
        open_slots = np.sort(np.concatenate((open_slots[size:], finish)))
        placed += size
    return open_slots, placed, end


def makespan(seconds: FloatArray, slots: int) -> float:
    """How long n tasks take on idle slots (fast form)."""
    n = len(seconds)
    if n == 0:
        return 0.0
    if n <= slots:
        return float(seconds.max())
    if slots == 1:
        return float(seconds.sum())
    return place_fast(seconds, np.zeros(slots), 0.0)[2]


Place = Callable[[FloatArray, FloatArray, float, float], tuple[FloatArray, int, float]]


def schedule(
    nodes: Sequence[Node],
    slots: int,
    *,
    added_seconds: FloatArray | None = None,
    exact: bool = False,
) -> Schedule:
    """Runs an application's nodes on a number of slots, first in first out.

    Args:
        nodes: predecessors stand before their successors.
        slots: tasks that run at once.
        added_seconds: (slots,) when each slot comes into being; None: all at the start.
        exact: place every task from a heap.
    """
    return _Scheduler(nodes, slots, added_seconds, exact=exact).run()


class _Scheduler:
    """State of one `schedule`: what is placed before a point in time does not change any more.

    Stages are placed as blocks. That is exact: a stage is only placed while nothing of a higher
    priority is pending and up to the next moment at which a node becomes ready. That moment is
    known: stages whose tasks are all placed have an end, the others cannot end before.
    """

    def __init__(
        self, nodes: Sequence[Node], slots: int, added: FloatArray | None, *, exact: bool
    ) -> None:
        self.nodes = nodes
        self.slots = slots
        self.place: Place = place if exact else place_fast
        self.exact = exact
        self.cold = slots
        self.free = np.zeros(slots) if added is None else added.astype(float)
        self.all_free_from = float(self.free.max())
        self.free_is_current = True
        self.start = [math.nan] * len(nodes)
        self.end = [math.nan] * len(nodes)
        self.missing = [len(node.after) for node in nodes]
        self.children: list[list[int]] = [[] for _ in nodes]
        for child, node in enumerate(nodes):
            for parent in node.after:
                self.children[parent].append(child)
        self.coming = [
            (node.delay_seconds, first) for first, node in enumerate(nodes) if not node.after
        ]
        heapq.heapify(self.coming)
        self.active: list[tuple[int, int]] = []
        self.pending: dict[int, FloatArray] = {}
        self.cold_met: dict[int, int] = {}
        self.work = sum(node.tasks.total for node in nodes if node.tasks is not None)
        self.ready: dict[int, float] = {}
        self.latest: dict[int, float] = {}

    def run(self) -> Schedule:
        while self.active or self.coming:
            until = self.coming[0][0] if self.coming else math.inf
            if not self.active or not self._place_first(until):
                self._activate(until)
        return Schedule(np.asarray(self.start), np.asarray(self.end))

    def _activate(self, moment: float) -> None:
        """Lets all nodes that become ready at this moment take part."""
        while self.coming and self.coming[0][0] <= moment:
            ready, place = heapq.heappop(self.coming)
            node = self.nodes[place]
            if node.tasks is None or not len(node.tasks):
                self.start[place] = ready
                self._finish(place, ready)
                continue
            self.ready[place] = self.latest[place] = ready
            self.cold_met[place] = self._cold_met(len(node.tasks))
            heapq.heappush(self.active, (node.priority, place))

    def _cold_met(self, tasks: int) -> int:
        """How many slots a stage meets that never ran a task: in proportion to their number."""
        met = cold_share(tasks, self.slots, self.cold)
        self.cold -= met
        return met

    def _place_first(self, until: float) -> bool:
        """Places tasks of the first active stage that start before `until`, if any can."""
        place = self.active[0][1]
        ready = self.ready[place]
        if place not in self.pending:
            if self._place_alone(place, ready, until):
                return True
            self.pending[place] = self._seconds(place)
        seconds = self.pending[place]
        lanes = self._lanes(self.nodes[place].cpus)
        first = max(ready, float(lanes.min()))
        if first >= until:
            return False
        lanes, placed, end = self.place(seconds, lanes, ready, until)
        if placed == 0:
            return False
        if math.isnan(self.start[place]):
            self.start[place] = first
        self._store(lanes, self.nodes[place].cpus)
        self.latest[place] = max(self.latest[place], end)
        if placed == len(seconds):
            self._leave(place)
        else:
            self.pending[place] = seconds[placed:]
        return True

    def _seconds(self, place: int) -> FloatArray:
        tasks = self.nodes[place].tasks
        return np.empty(0) if tasks is None else tasks.on(self.cold_met[place])

    def _place_alone(self, place: int, ready: float, until: float) -> bool:
        """A stage that has the idle cluster to itself ends after its makespan."""
        if self.exact or ready < self.all_free_from or len(self.active) > 1:
            return False
        end = ready + self._makespan(place)
        if end > until:
            return False
        self.start[place] = ready
        self.all_free_from = self.latest[place] = end
        self.free_is_current = False
        self._leave(place)
        return True

    def _makespan(self, place: int) -> float:
        """Of a stage on the idle cluster; in closed form where what that gets wrong is nothing."""
        tasks, lanes = self.nodes[place].tasks, max(1, self.slots // self.nodes[place].cpus)
        assert tasks is not None
        cold = self.cold_met[place]
        excess = tasks.cold_excess_seconds * cold if cold else 0.0
        if not excess and len(tasks) <= lanes:
            return tasks.longest
        expected = tasks.expected_makespan(lanes) + excess / lanes
        off = min(1.0, tasks.longest / expected) * tasks.total if expected else 0.0
        if len(tasks) > LARGE_STAGE or (len(tasks) > SMALL_STAGE and off <= NEGLIGIBLE * self.work):
            return expected
        return makespan(self._seconds(place), lanes)

    def _lanes(self, cpus: int) -> FloatArray:
        """Free times of groups of `cpus` slots that one task can take together."""
        if not self.free_is_current:
            self.free = np.full(self.slots, self.all_free_from)
            self.free_is_current = True
        if cpus == 1:
            return self.free
        groups = max(1, self.slots // cpus)
        width = min(cpus, self.slots)
        return np.asarray(np.sort(self.free)[: groups * width].reshape(groups, width).max(axis=1))

    def _store(self, lanes: FloatArray, cpus: int) -> None:
        if cpus > 1:
            width = min(cpus, self.slots)
            rest = np.sort(self.free)[len(lanes) * width :]
            lanes = np.concatenate((np.repeat(lanes, width), rest))
        self.free = lanes
        self.all_free_from = float(lanes.max())

    def _leave(self, place: int) -> None:
        heapq.heappop(self.active)
        self.pending.pop(place, None)
        self._finish(place, self.latest[place])

    def _finish(self, place: int, end: float) -> None:
        self.end[place] = end
        for child in self.children[place]:
            self.missing[child] -= 1
            if self.missing[child] == 0:
                node = self.nodes[child]
                ready = max(self.end[parent] for parent in node.after) + node.delay_seconds
                heapq.heappush(self.coming, (ready, child))
