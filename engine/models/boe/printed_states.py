"""Algorithm 1 of BOE with Eqs. 7 and 8 as printed, offered by name.

They disagree with discrete events: of 4 tasks of 10 s on 2 containers, in a state that ends after
5 s, 17.5 s are said to remain where 15 s do. `engine.models.boe.states` is what is used otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.models.boe.sharing import shared_task_times
from engine.models.boe.task_time import Needs, TaskTime
from engine.models.boe.workflow_course import Activity, Course, Machines, Running, State, refuse
from engine.scheduling.drf import Claim, Scheduler


def remaining_seconds(
    *, task_seconds: float, least_progress: float, pending: float, parallelism: float
) -> float:
    """Eq. 7 (Proposition 4): t_task x (1 - min p + ceil(N_rm / Delta)).

    Args:
        least_progress: min over the task tracks of p(i, tau, s - 1).
        pending: N_rm(i, s - 1).
    """
    return task_seconds * (1.0 - least_progress + math.ceil(pending / parallelism - 1e-9))


def progress(*, state_seconds: float, stage_seconds: float) -> float:
    """Section 5.2.3: p(i, tau, s) = t_stage(s) / t_stage(i, s)."""
    return state_seconds / stage_seconds if stage_seconds > 0.0 else 1.0


def pending_tasks(
    *, pending: float, parallelism: float, state_seconds: float, task_seconds: float
) -> float:
    """Eq. 8: N_rm(i, s) = N_rm(i, s - 1) - sum of Delta x t_stage(s) / t_task(i, s); at least 0."""
    done = parallelism * state_seconds / task_seconds if task_seconds > 0.0 else pending
    return max(0.0, pending - done)


@dataclass(slots=True)
class _Stage:
    """A running stage between two states."""

    pending: float
    parallelism: int = 0
    progress: float = 0.0

    def advance(self, seconds: float, left: float, time: TaskTime) -> None:
        """Progress and pending tasks at the end of a state of so many seconds, where the stage had
        so many left."""
        self.progress = progress(state_seconds=seconds, stage_seconds=left)
        self.pending = pending_tasks(
            pending=self.pending,
            parallelism=self.parallelism,
            state_seconds=seconds,
            task_seconds=time.seconds,
        )


def estimate_printed(
    activities: Sequence[Activity], machines: Machines, scheduler: Scheduler
) -> Course:
    """Algorithm 1 as printed: states end where stages start or end, and nowhere else.

    Raises:
        BadInput: for a task that needs more than a node, or the whole cluster, offers.
    """
    for entry in activities:
        if entry.tasks and machines.most_containers(entry) < 1.0:
            refuse(entry, machines)
    return _Estimate(activities, machines, scheduler).run()


class _Estimate:
    """The state of one `estimate_printed`: `live` stages are running."""

    def __init__(
        self, activities: Sequence[Activity], machines: Machines, scheduler: Scheduler
    ) -> None:
        self.activities, self.machines, self.scheduler = tuple(activities), machines, scheduler
        self.needs = [Needs.of(entry.work, machines.rates) for entry in activities]
        self.start = np.full(len(activities), math.nan)
        self.end = np.full(len(activities), math.nan)
        self.live: dict[int, _Stage] = {}
        self.now = 0.0

    def run(self) -> Course:
        states: list[State] = []
        while np.isnan(self.end).any():
            self._begin()
            order = sorted(self.live)
            if order:
                self._grant(order)
            running = self._running(order)
            left = [_left(stage, time) for _, stage, time in running]
            length = min([*left, self._next_start() - self.now])
            if not math.isfinite(length):
                if order:
                    refuse(self.activities[order[0]], self.machines)
                continue
            if length > 0.0:
                seen = tuple(_seen(*each) for each in running)
                states.append(State(self.now, self.now + length, seen))
            self.now += length
            self._advance(running, left, length)
        return Course(self.activities, self.start, self.end, tuple(states))

    def _running(self, order: Sequence[int]) -> list[tuple[int, _Stage, TaskTime]]:
        """The live stages with tasks, and the time of one task of each beside the others."""
        busy = [index for index in order if self.live[index].parallelism]
        if not busy:
            return []
        needs = [self.needs[index] for index in busy]
        at_once = [self.live[index].parallelism for index in busy]
        times = shared_task_times(needs, self.machines.capacity, at_once)
        return [(p, self.live[p], time) for p, time in zip(busy, times, strict=True)]

    def _advance(
        self,
        running: Sequence[tuple[int, _Stage, TaskTime]],
        left: Sequence[float],
        length: float,
    ) -> None:
        """The stages after a state of `length` seconds; those with no more `left` have ended."""
        for (index, stage, time), rest in zip(running, left, strict=True):
            if rest <= length * (1.0 + 1e-12):
                self.end[index] = self.now
                del self.live[index]
            else:
                stage.advance(length, rest, time)

    def _ready_at(self, index: int) -> float:
        """When an activity may begin; NaN while it still waits for another."""
        entry = self.activities[index]
        ends = [float(self.end[parent]) for parent in entry.after]
        return float(np.max(ends, initial=0.0)) + entry.delay_seconds

    def _waiting(self) -> list[int]:
        """The activities that have not begun."""
        return [p for p in np.flatnonzero(np.isnan(self.end)).tolist() if p not in self.live]

    def _begin(self) -> None:
        """Starts what is ready; moments end at once, and may let others begin."""
        for index in self._waiting():
            if self._ready_at(index) <= self.now * (1.0 + 1e-12) + 1e-12:
                self.start[index] = self.now
                if self.activities[index].tasks:
                    self.live[index] = _Stage(float(self.activities[index].tasks))
                else:
                    self.end[index] = self.now

    def _next_start(self) -> float:
        """When the next activity begins whose predecessors have all ended; inf without any."""
        ready = map(self._ready_at, self._waiting())
        return min((at for at in ready if at > self.now), default=math.inf)

    def _grant(self, order: Sequence[int]) -> None:
        """The parallelism of the state; tasks that start leave the pending ones."""
        claims = []
        for index in order:
            entry, stage = self.activities[index], self.live[index]
            wanted = math.ceil(stage.pending - 1e-9) + stage.parallelism
            most = int(min(self.machines.most_containers(entry), wanted))
            claims.append(Claim(entry.job, most, entry.cores, entry.memory_gib))
        for index, count in zip(order, self.scheduler(claims, self.machines.pool), strict=True):
            stage = self.live[index]
            # A stage that loses its last core has nothing in flight: what it had begun waits again.
            lost = 0 if count else stage.parallelism
            stage.pending = max(0.0, stage.pending + lost - max(0, count - stage.parallelism))
            stage.parallelism = count


def _left(stage: _Stage, time: TaskTime) -> float:
    """Seconds that a stage would still take if the state lasted (Eq. 7)."""
    return remaining_seconds(
        task_seconds=time.seconds,
        least_progress=stage.progress,
        pending=stage.pending,
        parallelism=stage.parallelism,
    )


def _seen(index: int, stage: _Stage, time: TaskTime) -> Running:
    """A stage in a state: all of its tasks are one track."""
    count = stage.parallelism
    return Running(index, count, (count,), math.ceil(stage.pending), time)
