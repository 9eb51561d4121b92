"""Stages on a whole cluster: when each starts and ends on a number of slots.

A slot that falls free takes the next task of the first stage in Spark's FIFO order (job, then
stage); a stage waits for all of its predecessors. Two forms (`engine.scheduling.list_scheduling`):

- exact: one task after the other from a heap of free times;
- fast: while far more tasks wait than there are slots, all are busy whatever the order, so only the
  last waves decide when a stage ends; stages that weigh little or are huge take their mean time
  over launch orders (`Tasks.expected_makespan`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.runs.unused_slots import UnusedSlots
from engine.scheduling.launch_orders import TURNED_TASKS, LaunchOrder, end_in_any_order
from engine.scheduling.list_scheduling import makespan, place, place_fast
from engine.scheduling.waves import Tasks

NEGLIGIBLE = 0.02
"""A stage takes its expected time in closed form when the ratio of its longest task to its own
time, times its share of all work, is no more than this: its order hardly shifts the whole."""

SMALL_STAGE, LARGE_STAGE = 16, 20_000
"""Stages of no more tasks than the first never do, of more than the second always."""


@dataclass(frozen=True, slots=True)
class Node:
    """One step of an application: a stage, or (without tasks) a moment such as a job's submission.

    Args:
        after: places of the nodes that must have ended; a node ends with its last task.
        delay_seconds: driver time between the last of those ends and the start of this node.
        priority: lower goes first when several stages want the same slot.
        tasks: None for a moment.
        cpus: slots that one task holds.
        launching_seconds: time that the driver is busy launching the tasks, those of one stage
            after those of another.
        near: its tasks are launched where their input lies, on executors that ran tasks.
        order: what is known of their launch order; None: they are launched as they stand.
    """

    after: tuple[int, ...]
    delay_seconds: float
    priority: int = 0
    tasks: Tasks | None = None
    cpus: int = 1
    launching_seconds: float = 0.0
    near: bool = False
    order: LaunchOrder | None = None


@dataclass(frozen=True, eq=False)
class Schedule:
    """When each of n nodes started and ended: (n,) seconds; and how many of its tasks started on
    slots of executors that never ran one, (n,)."""

    start: FloatArray
    end: FloatArray
    unused_met: IntArray

    @property
    def seconds(self) -> float:
        """The end of the last node."""
        return float(self.end.max(initial=0.0))


def covered_seconds(start: FloatArray, end: FloatArray) -> float:
    """Length of the union of (n,) spans of time, in seconds."""
    order = np.argsort(start, kind="stable")
    reached = np.concatenate(([-math.inf], np.maximum.accumulate(end[order])[:-1]))
    return float(np.maximum(0.0, end[order] - np.maximum(start[order], reached)).sum())


Place = Callable[[FloatArray, FloatArray, float, float], tuple[FloatArray, int, float]]


def schedule(
    nodes: Sequence[Node],
    slots: int,
    *,
    added_seconds: FloatArray | None = None,
    removed: Sequence[tuple[float, int]] = (),
    executor_slots: int = 1,
    exact: bool = False,
) -> Schedule:
    """Runs an application's nodes on a number of slots, first in first out.

    Args:
        nodes: predecessors stand before their successors.
        slots: tasks that run at once; of slots that come and go, how many there ever are.
        added_seconds: (slots,) when each slot comes into being; None: all at the start.
        removed: moments in ascending order, and how many slots go then: idle ones first. One is
            always left.
        executor_slots: of each executor, whose first tasks load code for all of them.
        exact: place every task from a heap.
    """
    unused = UnusedSlots(slots, per_executor=executor_slots)
    return _Scheduler(nodes, slots, added_seconds, removed, unused, exact=exact).run()


class _Scheduler:
    """State of one `schedule`: what is placed before a point in time does not change any more.

    Stages are placed as blocks. That is exact: a stage is only placed while nothing of a higher
    priority is pending and up to the next moment at which a node becomes ready. That moment is
    known: stages whose tasks are all placed have an end, the others cannot end before.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        slots: int,
        added: FloatArray | None,
        removed: Sequence[tuple[float, int]],
        unused: UnusedSlots,
        *,
        exact: bool,
    ) -> None:
        self.nodes = nodes
        self.slots = slots
        self.place: Place = place if exact else place_fast
        self.exact = exact
        self.unused = unused
        self.added = np.zeros(slots) if added is None else added.astype(float)
        self.free = self.added.copy()
        self.leaving = list(reversed(removed))
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
        self.met = [0] * len(nodes)
        self.work = sum(node.tasks.total for node in nodes if node.tasks is not None)
        self.ready: dict[int, float] = {}
        self.latest: dict[int, float] = {}
        self.launched = 0.0

    def run(self) -> Schedule:
        while self.active or self.coming:
            until = self.coming[0][0] if self.coming else math.inf
            leave = self.leaving[-1][0] if self.leaving else math.inf
            if self.active and self._place_first(min(until, leave)):
                continue
            if self.leaving and leave <= until:
                self._remove(*self.leaving.pop())
            else:
                self._activate(until)
        return Schedule(np.asarray(self.start), np.asarray(self.end), np.asarray(self.met))

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
            self.met[place] = self.unused.met(
                len(node.tasks), slots=self.slots, near=node.near, cpus=node.cpus
            )
            heapq.heappush(self.active, (node.priority, place))

    def _remove(self, moment: float, count: int) -> None:
        """Takes slots away: idle ones, then those that fall free first; those to come do come."""
        lanes = np.sort(self._lanes(1))
        to_come = np.isin(lanes, self.added[self.added > moment])
        lanes = np.concatenate((lanes[~to_come], lanes[to_come]))
        here = int(np.count_nonzero(lanes <= moment))
        count = min(count, len(lanes) - 1)
        first = min(max(0, here - count), len(lanes) - count)
        self.free = np.concatenate((lanes[:first], lanes[first + count :]))
        self.slots, self.all_free_from = len(self.free), float(self.free.max())
        self.unused.leave(count, slots=self.slots, coming=int(np.count_nonzero(to_come)))

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
            self.latest[place] = max(first, self.latest[place] + self._beyond_its_order(place))
            self._leave(place)
        else:
            self.pending[place] = seconds[placed:]
        return True

    def _seconds(self, place: int) -> FloatArray:
        tasks = self.nodes[place].tasks
        return np.empty(0) if tasks is None else tasks.on(self.met[place])

    def _place_alone(self, place: int, ready: float, until: float) -> bool:
        """A stage that has the idle cluster to itself ends after its makespan; a huge one also
        where the last slots fall free, or come, while it runs."""
        if self.exact or len(self.active) > 1:
            return False
        start = even = ready
        if ready < self.all_free_from:
            if len(self._tasks(place)) <= LARGE_STAGE or self.nodes[place].cpus > 1:
                return False
            open_slots = np.maximum(self._lanes(1), ready)
            start, even = float(open_slots.min()), float(open_slots.mean())
        end = max(even + self._makespan(place), self._launched_by(place)[1])
        came = even == ready or self.all_free_from < end - self._tasks(place).longest
        if end > until or not came:
            return False
        self.start[place] = start
        self.all_free_from = self.latest[place] = end
        self.free_is_current = False
        self._leave(place)
        return True

    def _tasks(self, place: int) -> Tasks:
        tasks = self.nodes[place].tasks
        assert tasks is not None
        return tasks

    def _makespan(self, place: int) -> float:
        """Of a stage on the idle cluster; in closed form where what that gets wrong is nothing."""
        tasks, lanes = self._tasks(place), max(1, self.slots // self.nodes[place].cpus)
        cold = self.met[place]
        excess = tasks.cold_excess_seconds * cold if cold else 0.0
        if not excess and len(tasks) <= lanes:
            return tasks.longest
        expected = tasks.expected_makespan(lanes) + excess / lanes
        off = min(1.0, tasks.longest / expected) * tasks.total if expected else 0.0
        little = off <= NEGLIGIBLE * self.work
        if len(tasks) > LARGE_STAGE or (len(tasks) > SMALL_STAGE and little):
            return expected
        order = self._order(place)
        if order is None or little:
            return makespan(self._seconds(place), lanes)
        return end_in_any_order(tasks, lanes, order, unused=cold)

    def _order(self, place: int) -> LaunchOrder | None:
        """What is known of its launch order; None where it takes the one in which its tasks are."""
        order = self.nodes[place].order
        return None if self.exact or len(self._tasks(place)) > TURNED_TASKS else order

    def _beyond_its_order(self, place: int) -> float:
        """A stage that shares the cluster is placed in one order: by how much it would end later on
        an idle one over all of them."""
        order, lanes = self._order(place), max(1, self.slots // self.nodes[place].cpus)
        tasks = self._tasks(place)
        if order is None or tasks.total <= NEGLIGIBLE * self.work:
            return 0.0
        in_its_own = makespan(self._seconds(place), lanes)
        return end_in_any_order(tasks, lanes, order, unused=self.met[place]) - in_its_own

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
        self.launched, last = self._launched_by(place)
        self._finish(place, max(self.latest[place], last))

    def _launched_by(self, place: int) -> tuple[float, float]:
        """When the driver has launched a stage's last task, and when that ends at the earliest: it
        takes as long as they do in the mean."""
        launching = self.nodes[place].launching_seconds
        if not launching:
            return self.launched, 0.0
        tasks = self._tasks(place)
        launched = max(self.launched, self.ready[place]) + launching
        return launched, launched + tasks.total / len(tasks)

    def _finish(self, place: int, end: float) -> None:
        self.end[place] = end
        for child in self.children[place]:
            self.missing[child] -= 1
            if self.missing[child] == 0:
                node = self.nodes[child]
                ready = max(self.end[parent] for parent in node.after) + node.delay_seconds
                heapq.heappush(self.coming, (ready, child))
