"""Simulates the schedule of an application's stages: when each starts and ends on a number of
slots.

A slot that falls free takes the next task of the first stage in Spark's FIFO order (job, then
stage), of several pools that with the fewest running tasks (`engine.scheduling.fair_pools`), and of
stages that claim slots in different ways the first that fits (`engine.scheduling.task_claims`); a
stage waits for all of its predecessors. Two forms (`engine.scheduling.list_scheduling`):

- exact: one task after the other from a heap of free times;
- fast: while far more tasks wait than there are slots, all slots are busy whatever the order, so
  only the last waves decide when a stage ends; stages that matter little, or are huge, take their
  expected time over launch orders (`Tasks.expected_makespan`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.runs.unused_slots import UnusedSlots
from engine.scheduling.dependencies import Dependencies
from engine.scheduling.fair_pools import (
    MOST_PLACED_TASKS,
    FairPools,
    WaitingStage,
    placed_together,
)
from engine.scheduling.launch_orders import MOST_SHIFTED_TASKS, LaunchOrder, end_in_any_order
from engine.scheduling.list_scheduling import list_schedule, list_schedule_fast, makespan
from engine.scheduling.task_claims import (
    MOST_TASKS_OF_UNLIKE_CLAIMS,
    SlotClaim,
    UnlikeClaims,
    unlike_claims,
)
from engine.scheduling.waves import Tasks

NEGLIGIBLE = 0.02
"""A stage takes its expected time in closed form if its longest task over its own time, times its
share of all work, is at most this: its launch order hardly affects the whole."""

SMALL_STAGE, LARGE_STAGE = 16, 20_000
"""Stages of up to `SMALL_STAGE` tasks never take the closed form, those of more than `LARGE_STAGE`
always do."""


@dataclass(frozen=True, slots=True)
class ScheduledNode:
    """A node of the dependency graph: a stage, or (without tasks) an event such as a job's
    submission.

    Args:
        after: indices of its predecessors, which must have ended; a node ends with its last task.
        delay_seconds: driver time between the last of those ends and the start of this node.
        priority: lower goes first when several stages compete for a slot.
        tasks: None for an event.
        cpus: slots that one task holds.
        launching_seconds: time in which the driver launches the tasks, one stage after another.
        near: its tasks are launched where their input lies, on executors that ran tasks before.
        order: what is known of their launch order; None to launch them as given.
        pool: number of its pool; stages of several pools share the slots fairly.
        barrier: its tasks start together (`engine.runs.barrier_stages`).
    """

    after: tuple[int, ...]
    delay_seconds: float
    priority: int = 0
    tasks: Tasks | None = None
    cpus: int = 1
    launching_seconds: float = 0.0
    near: bool = False
    order: LaunchOrder | None = None
    pool: int = 0
    barrier: bool = False


@dataclass(frozen=True, eq=False)
class Schedule:
    """The (n,) start and (n,) end of each node in seconds, and the (n,) number of its tasks that
    started on unused slots, those of executors that never ran a task."""

    start: FloatArray
    end: FloatArray
    tasks_on_unused_slots: IntArray

    @property
    def seconds(self) -> float:
        """The end of the last node."""
        return float(self.end.max(initial=0.0))


ListSchedule = Callable[[FloatArray, FloatArray, float, float], tuple[FloatArray, int, float]]


def schedule(
    nodes: Sequence[ScheduledNode],
    slots: int,
    *,
    added_seconds: FloatArray | None = None,
    removed: Sequence[tuple[float, int]] = (),
    executor_slots: int = 1,
    claims: UnlikeClaims | None = None,
    exact: bool = False,
) -> Schedule:
    """Schedules an application's nodes on a number of slots, first in first out within a pool.

    Args:
        nodes: in topological order.
        slots: number of slots; if slots come and go, how many there ever are.
        added_seconds: (slots,) when each slot comes; None if all are there at the start.
        removed: moments in ascending order, and how many slots go then, idle ones first. One slot
            always remains.
        executor_slots: slots of each executor, whose first tasks load code for all of them.
        claims: whether tasks are placed one by one because of what they claim; None to find out.
        exact: schedule every task from a heap.
    """
    unused = UnusedSlots(slots, per_executor=executor_slots)
    claims = _claims_of(nodes) if claims is None else claims
    return _Scheduler(nodes, slots, added_seconds, removed, unused, claims, exact=exact).run()


def _claims_of(nodes: Sequence[ScheduledNode]) -> UnlikeClaims:
    claims = {i: SlotClaim(n.cpus, n.barrier) for i, n in enumerate(nodes) if n.tasks is not None}
    return unlike_claims([node.after for node in nodes], claims)


class _Scheduler:
    """State of one `schedule`. What is scheduled before a point in time does not change any more.

    Tasks of a stage are placed as a block. That is exact: a stage is only placed while nothing of a
    higher priority is pending, and up to the next moment at which a node becomes ready. That moment
    is known: stages whose tasks are all placed have an end, the others cannot end before it.
    Tasks of several pools, and those that claim slots in different ways, are placed one by one
    instead (`FairPools`).
    """

    def __init__(
        self,
        nodes: Sequence[ScheduledNode],
        slots: int,
        added: FloatArray | None,
        removed: Sequence[tuple[float, int]],
        unused: UnusedSlots,
        claims: UnlikeClaims,
        *,
        exact: bool,
    ) -> None:
        self.nodes = nodes
        self.slots = slots
        self.list_schedule: ListSchedule = list_schedule if exact else list_schedule_fast
        self.exact = exact
        self.unused = unused
        self.added = np.zeros(slots) if added is None else added.astype(float)
        self.free = self.added.copy()
        self.leaving = list(reversed(removed))
        self.all_free_from = float(self.free.max())
        self.free_is_current = True
        self.start = [math.nan] * len(nodes)
        self.end = [math.nan] * len(nodes)
        self.dependencies = Dependencies(
            [node.after for node in nodes], [node.delay_seconds for node in nodes]
        )
        self.active: list[tuple[int, int]] = []
        self.pending: dict[int, FloatArray] = {}
        self.cold_tasks = [0] * len(nodes)
        self.work = sum(node.tasks.total for node in nodes if node.tasks is not None)
        self.ready: dict[int, float] = {}
        self.latest: dict[int, float] = {}
        self.launched = 0.0
        in_pools = len({node.pool for node in nodes if node.tasks is not None}) > 1
        slots_vary = bool(removed) or self.all_free_from > 0.0
        unlike = claims.where_slots_vary if slots_vary else claims.always
        self.pools = FairPools(self.added) if in_pools or unlike else None
        self.most_placed = MOST_PLACED_TASKS if in_pools else MOST_TASKS_OF_UNLIKE_CLAIMS
        self.tasks = sum(len(node.tasks) for node in nodes if node.tasks is not None)

    def run(self) -> Schedule:
        while self.active or self.dependencies.upcoming:
            until = self.dependencies.next_start
            leave = self.leaving[-1][0] if self.leaving else math.inf
            if self.active and self._schedule_first(min(until, leave)):
                continue
            if self.leaving and leave <= until:
                self._remove(*self.leaving.pop())
            else:
                self._activate(until)
        return Schedule(np.asarray(self.start), np.asarray(self.end), np.asarray(self.cold_tasks))

    def _activate(self, moment: float) -> None:
        """Activates all nodes that become ready at this moment."""
        for ready, index in self.dependencies.started_by(moment):
            node = self.nodes[index]
            if node.tasks is None or not len(node.tasks):
                self.start[index] = ready
                self._finish(index, ready)
                continue
            self.ready[index] = self.latest[index] = ready
            self.cold_tasks[index] = self.unused.use(
                len(node.tasks), slots=self.slots, near=node.near, cpus=node.cpus
            )
            heapq.heappush(self.active, (node.priority, index))
            if self.pools is not None:
                self.pools.add(self._waiting(index), moment=ready)

    def _remove(self, moment: float, count: int) -> None:
        """Removes slots: idle ones, then those that fall free first, never slots yet to come."""
        if self.pools is not None:
            before = self.slots
            upcoming = self.pools.remove(moment, count)
            self.slots = self.pools.slots
            self.unused.remove(before - self.slots, slots=self.slots, upcoming=upcoming)
            return
        lanes = np.sort(self._lanes(1))
        to_come = np.isin(lanes, self.added[self.added > moment])
        lanes = np.concatenate((lanes[~to_come], lanes[to_come]))
        here = int(np.count_nonzero(lanes <= moment))
        count = min(count, len(lanes) - 1)
        first = min(max(0, here - count), len(lanes) - count)
        self.free = np.concatenate((lanes[:first], lanes[first + count :]))
        self.slots, self.all_free_from = len(self.free), float(self.free.max())
        self.unused.remove(count, slots=self.slots, upcoming=int(np.count_nonzero(to_come)))

    def _schedule_first(self, until: float) -> bool:
        """Places tasks of the first active stage that start before `until`, if any can; of several
        pools tasks in turn, up to the last one of a stage."""
        if self.pools is not None:
            return self._schedule_fairly(self.pools, until)
        index = self.active[0][1]
        ready = self.ready[index]
        if index not in self.pending:
            if self._schedule_alone(index, ready, until):
                return True
            self.pending[index] = self._seconds(index)
        seconds = self.pending[index]
        lanes = self._lanes(self.nodes[index].cpus)
        first = max(ready, float(lanes.min()))
        if first >= until:
            return False
        lanes, placed, end = self.list_schedule(seconds, lanes, ready, until)
        if placed == 0:
            return False
        if math.isnan(self.start[index]):
            self.start[index] = first
        self._store(lanes, self.nodes[index].cpus)
        self.latest[index] = max(self.latest[index], end)
        if placed == len(seconds):
            self.latest[index] = max(first, self.latest[index] + self._order_correction(index))
            self._complete(index)
        else:
            self.pending[index] = seconds[placed:]
        return True

    def _waiting(self, index: int) -> WaitingStage:
        node, seconds = self.nodes[index], self._seconds(index)
        lanes = max(1, self.slots // node.cpus)
        together = node.barrier and len(seconds) <= lanes
        if not (self.exact or together):
            seconds = placed_together(
                seconds, lanes=lanes, of_tasks=self.tasks, most_placed=self.most_placed
            )
        times = seconds.tolist()
        return WaitingStage(index, node.priority, node.pool, node.cpus, times, node.barrier)

    def _schedule_fairly(self, pools: FairPools, until: float) -> bool:
        """Places tasks of stages of several pools that start before `until`; whether these complete
        a stage."""
        stage = pools.place(until)
        if stage is None:
            return False
        index = stage.index
        self.start[index] = stage.start
        # Orders differ by less than the longest task (Graham): it cannot end before it starts.
        self.latest[index] = stage.end + self._order_correction(index)
        self._complete(index)
        return True

    def _seconds(self, index: int) -> FloatArray:
        tasks = self.nodes[index].tasks
        return np.empty(0) if tasks is None else tasks.on(self.cold_tasks[index])

    def _schedule_alone(self, index: int, ready: float, until: float) -> bool:
        """Schedules a stage that has the idle cluster to itself by its makespan, if it does; a huge
        one also if the last slots fall free, or come, while it runs."""
        if self.exact or len(self.active) > 1:
            return False
        start = even = ready
        if ready < self.all_free_from:
            if len(self._tasks(index)) <= LARGE_STAGE or self.nodes[index].cpus > 1:
                return False
            open_slots = np.maximum(self._lanes(1), ready)
            start, even = float(open_slots.min()), float(open_slots.mean())
        end = max(even + self._makespan(index), self._launched_by(index)[1])
        came = even == ready or self.all_free_from < end - self._tasks(index).longest
        if end > until or not came:
            return False
        self.start[index] = start
        self.all_free_from = self.latest[index] = end
        self.free_is_current = False
        self._complete(index)
        return True

    def _tasks(self, index: int) -> Tasks:
        tasks = self.nodes[index].tasks
        assert tasks is not None
        return tasks

    def _makespan(self, index: int) -> float:
        """Makespan of a stage on the idle cluster; in closed form if its error is negligible."""
        tasks, lanes = self._tasks(index), max(1, self.slots // self.nodes[index].cpus)
        cold = self.cold_tasks[index]
        excess = tasks.cold_excess_seconds * cold if cold else 0.0
        if not excess and len(tasks) <= lanes:
            return tasks.longest
        expected = tasks.expected_makespan(lanes) + excess / lanes
        off = min(1.0, tasks.longest / expected) * tasks.total if expected else 0.0
        little = off <= NEGLIGIBLE * self.work
        if len(tasks) > LARGE_STAGE or (len(tasks) > SMALL_STAGE and little):
            return expected
        order = self._order(index)
        if order is None or little:
            return makespan(self._seconds(index), lanes)
        return end_in_any_order(tasks, lanes, order, unused=cold)

    def _order(self, index: int) -> LaunchOrder | None:
        """What is known of a stage's launch order; None if its tasks are launched as given."""
        order = self.nodes[index].order
        return None if self.exact or len(self._tasks(index)) > MOST_SHIFTED_TASKS else order

    def _order_correction(self, index: int) -> float:
        """Correction of the end of a stage that shares the cluster and was placed in one order: by
        how much it would end later on an idle cluster on average over launch orders."""
        order, lanes = self._order(index), max(1, self.slots // self.nodes[index].cpus)
        tasks = self._tasks(index)
        if order is None or tasks.total <= NEGLIGIBLE * self.work:
            return 0.0
        in_its_own = makespan(self._seconds(index), lanes)
        return end_in_any_order(tasks, lanes, order, unused=self.cold_tasks[index]) - in_its_own

    def _lanes(self, cpus: int) -> FloatArray:
        """Times at which lanes, groups of `cpus` slots that one task holds together, fall free."""
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

    def _complete(self, index: int) -> None:
        self.active.remove((self.nodes[index].priority, index))
        heapq.heapify(self.active)
        self.pending.pop(index, None)
        self.launched, last = self._launched_by(index)
        self._finish(index, max(self.latest[index], last))

    def _launched_by(self, index: int) -> tuple[float, float]:
        """When the driver has launched a stage's last task, and the earliest end of that task,
        which takes the mean time of the stage's tasks."""
        launching = self.nodes[index].launching_seconds
        if not launching:
            return self.launched, 0.0
        tasks = self._tasks(index)
        launched = max(self.launched, self.ready[index]) + launching
        return launched, launched + tasks.total / len(tasks)

    def _finish(self, index: int, end: float) -> None:
        self.end[index] = end
        self.dependencies.end(index, end)
