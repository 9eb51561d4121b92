"""The state-based estimate of a workflow: Algorithms 1 and 2 of BOE (sections 5 and 6.2).

A workflow goes through states. In each the scheduler says how many tasks of every running stage
run at once, and the task model how long they take; the state ends when a stage starts, ends, or
gives up a container. Tasks that started together are a track.

Progress is kept as the paper's text means it, not as its Eqs. 7 and 8 print it (that form is
`engine.models.boe.printed_states`): each stage has a clock that counts task times, slow or fast as
the state goes, and a track ends when the clock has advanced by one. Pending tasks then fall at the
ends of tracks and the rest of a running task is its own, which agrees with discrete events.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

import numpy as np

from engine.models.boe.sharing import shared_task_times
from engine.models.boe.task_draw import (
    COARSE_LANES,
    EXACT_TASKS,
    MOST_WAVES,
    TaskLaw,
    chunks_of,
    task_factors,
    task_law,
)
from engine.models.boe.task_time import Needs, TaskTime
from engine.models.boe.workflow_course import Activity, Course, Machines, Running, State, refuse
from engine.scheduling.dependencies import Dependencies
from engine.scheduling.drf import Claim, Scheduler, resources_of

SAME_MOMENT = 1e-9
"""Relative: tracks that end closer together end at once."""


def estimate(
    activities: Sequence[Activity],
    machines: Machines,
    scheduler: Scheduler,
    *,
    skew: bool = True,
    record: bool = True,
    tracks: int | None = None,
) -> Course:
    """The states of a workflow, with pending tasks that fall at the ends of tracks.

    Args:
        activities: in an order in which each stands behind those it waits for.
        skew: Algorithm 2, every task a track of its own with a time from the normal law of its
            stage; else Algorithm 1, all tasks of a stage alike.
        record: keep the states; without, only starts and ends are told.
        tracks: at most so many tracks of a stage at once, each of several tasks; None for as many
            as there are tasks, where those are not too many (`EXACT_TASKS`).

    Raises:
        BadInput: for a task that needs more than a node, or the whole cluster, offers.
    """
    estimated = _Estimate(activities, machines, scheduler, skew=skew, record=record, tracks=tracks)
    return estimated.run()


EQUAL_TASKS = TaskLaw(1.0, 0.0)
NO_TIME = TaskTime(0.0, None, False)


@dataclass(slots=True)
class _Live:
    """A stage that is running: its clock in task times, and the tracks that run by it.

    Args:
        ends: heap of (clock at the end, tasks).
        factors: times of the tasks to come, relative to the mean.
        tails: tasks in the last 0, 1, 2 ... chunks of a coarsened stage; else empty.
    """

    pending: int
    lump: int
    factors: Iterator[float]
    tails: tuple[int, ...] = ()
    clock: float = 0.0
    running: int = 0
    granted: int = 0
    ends: list[tuple[float, int]] = field(default_factory=list)
    time: TaskTime = NO_TIME

    def start(self, count: int) -> None:
        """Starts `count` pending tasks: one track, or tracks of `lump` tasks."""
        self.pending -= count
        self.running += count
        left = count
        while left > 0:
            size = min(left, self.lump)
            heapq.heappush(self.ends, (self.clock + next(self.factors), size))
            left -= size

    @property
    def pending_tasks(self) -> int:
        """Tasks that did not start yet, those in chunks counted singly."""
        return self.tails[-(-self.pending // self.lump)] if self.tails else self.pending

    def due(self) -> float:
        """Seconds until the first track ends; inf while every task waits for a container."""
        if not self.ends:
            return math.inf
        return max(0.0, self.ends[0][0] - self.clock) * self.time.seconds

    def advance(self, seconds: float) -> int:
        """Lets the clock go on by so much time, and removes the tracks that end by then; how many
        tasks they had. A task without any length ends at once."""
        ends, task_seconds = self.ends, self.time.seconds
        if not ends:
            return 0
        clock = self.clock + seconds / task_seconds if task_seconds > 0.0 else ends[0][0]
        ended, now = 0, clock + SAME_MOMENT * max(1.0, clock)
        while ends and ends[0][0] <= now:
            ended += heapq.heappop(ends)[1]
        self.clock = clock
        self.running -= ended
        return ended

    def keeps(self, ended: int) -> bool:
        """Whether so many pending tasks may take the place of those that ended, by what was
        granted when the state began."""
        return ended <= min(self.pending, max(0, self.granted - self.running))


class _Estimate:
    """The state of one `estimate`.

    `live` stages have tasks that run or wait; those of `busy` have some that run. The clocks of
    these alone go on: of many stages that wait for containers, few are touched at each moment.
    `owed` says that a stage was granted containers that others still hold: the next one that falls
    free is then for the scheduler to give.
    """

    def __init__(
        self,
        activities: Sequence[Activity],
        machines: Machines,
        scheduler: Scheduler,
        *,
        skew: bool,
        record: bool,
        tracks: int | None,
    ) -> None:
        self.activities, self.machines, self.scheduler = tuple(activities), machines, scheduler
        self.skew, self.record, self.tracks = skew, record, tracks
        self.capacity = machines.capacity
        self.most = [self._most_claimed(entry) for entry in activities]
        self.needs = [Needs.of(entry.work, machines.rates) for entry in activities]
        self.laws = [
            task_law(entry, needs) for entry, needs in zip(activities, self.needs, strict=True)
        ]
        self.now = 0.0
        self.start = np.full(len(activities), math.nan)
        self.end = np.full(len(activities), math.nan)
        self.live: dict[int, _Live] = {}
        self.busy: list[tuple[int, _Live]] = []
        self.dependencies = Dependencies(
            [entry.after for entry in activities], [entry.delay_seconds for entry in activities]
        )
        self.states: list[State] = []
        self.running: tuple[Running, ...] = ()
        self.since = 0.0
        self.owed = False
        self.known: dict[tuple[tuple[int, int], ...], list[TaskTime]] = {}
        self.granted: dict[tuple[Claim, ...], list[int]] = {}

    def run(self) -> Course:
        for entry, most in zip(self.activities, self.most, strict=True):
            if entry.tasks and most < 1.0:
                refuse(entry, self.machines)
        changed = self._activate()
        while self.live or self.dependencies.upcoming:
            if changed:
                self._new_state()
            changed = self._advance()
        self._close_state(())
        return Course(self.activities, self.start, self.end, tuple(self.states))

    def _advance(self) -> bool:
        """Goes to the next moment at which a track ends or a stage starts; whether the state
        ends there."""
        due = self.dependencies.next_start - self.now
        for _, live in self.busy:
            due = min(due, live.due())
        due = max(due, 0.0)
        self.now += due
        ended, over, kept = [], False, True
        for index, live in self.busy:
            count = live.advance(due)
            if not count:
                continue
            if not live.running and not live.pending:
                del self.live[index]
                self._finish(index)
                over = True
                continue
            ended.append((live, count))
            kept = kept and live.keeps(count) and not self._lets_others_start(index, count)
        if self._activate() or over or not kept or (self.owed and ended):
            return True
        for live, count in ended:
            live.start(count)
        return False

    def _lets_others_start(self, index: int, count: int) -> bool:
        """Whether a stage starts its last tasks while another one of its job waits, which may then
        have what is free."""
        if count < self.live[index].pending:
            return False
        job = self.activities[index].job
        others = (each for other, each in self.live.items() if self.activities[other].job == job)
        return any(each.pending for each in others if each is not self.live[index])

    def _activate(self) -> bool:
        """Lets the activities begin that are ready by now."""
        changed = False
        latest = self.now * (1.0 + SAME_MOMENT) + 1e-12
        for _, index in self.dependencies.started_by(latest):
            entry = self.activities[index]
            if entry.tasks < 1:
                self.start[index] = self.now
                self._finish(index)
                continue
            self.live[index] = self._live(entry, self.laws[index])
            changed = True
        return changed

    def _live(self, entry: Activity, law: TaskLaw) -> _Live:
        """A stage about to start: its tasks alike, or spread by the normal law."""
        mean, spread = law if self.skew else EQUAL_TASKS
        lanes = self.machines.parallelism_alone(entry)
        if spread <= 0.0 and entry.tasks <= MOST_WAVES * lanes:
            return _Live(entry.tasks, entry.tasks, repeat(mean))
        if entry.tasks <= EXACT_TASKS and self.tracks is None:
            drawn = mean * task_factors(spread, entry.tasks)
            return _Live(entry.tasks, 1, iter(drawn.tolist()))
        chunks, lump = chunks_of(entry.tasks, lanes, spread, self.tracks or COARSE_LANES)
        tails = np.cumsum([0, *(tasks for _, tasks in reversed(chunks))]) * lump
        # Where fewer containers fall free than make a track, a chunk is started in parts.
        factors = chain([mean * factor for factor, _ in chunks], repeat(mean))
        return _Live(lump * len(chunks), lump, factors, tuple(tails.tolist()))

    def _new_state(self) -> None:
        """Asks the scheduler where tasks wait, starts what it grants, and times the tasks."""
        live = sorted(self.live.items())
        if any(stage.pending for _, stage in live):
            claims = tuple([self._claim(index, stage) for index, stage in live])
            if claims not in self.granted:
                self.granted[claims] = self.scheduler(claims, self.machines.pool)
            self._start(live, claims, self.granted[claims])
        self.busy = busy = [(index, stage) for index, stage in live if stage.running]
        self.owed = any(stage.pending and stage.running < stage.granted for _, stage in live)
        if not busy and live:
            refuse(self.activities[live[0][0]], self.machines)
        key = tuple([(index, stage.running) for index, stage in busy])
        if key and key not in self.known:
            self.known[key] = shared_task_times(
                [self.needs[index] for index, _ in key], self.capacity, [n for _, n in key]
            )
        for (_, stage), time in zip(busy, self.known.get(key, ()), strict=True):
            stage.time = time
        if self.record:
            self._close_state(tuple(self._seen(index, stage) for index, stage in busy))

    def _most_claimed(self, entry: Activity) -> float:
        """How many containers a stage claims at most: as many as the nodes hold, or one more than
        fit the pool, which says as well as any more that the stage would take all of it. So most
        states of a long stage are equal to the scheduler."""
        most_tasks = 2 * entry.tasks  # The last track of a coarsened stage need not be full.
        alone = self.machines.pool.room(Claim(0, most_tasks, entry.cores, entry.memory_gib))
        return min(self.machines.most_containers(entry), alone + 1)

    def _claim(self, index: int, live: _Live) -> Claim:
        entry = self.activities[index]
        wanted = int(min(self.most[index], live.pending + live.running))
        return Claim(entry.job, wanted, entry.cores, entry.memory_gib)

    def _start(
        self, live: Sequence[tuple[int, _Live]], claims: Sequence[Claim], granted: Sequence[int]
    ) -> None:
        """Starts tasks up to what was granted, as far as containers are free: a job that holds
        more than its part gives it up only as its tasks end. What is free then goes where the
        scheduler gives it first."""
        held = [stage.running for _, stage in live]
        counts = [max(parts) for parts in zip(granted, held, strict=True)]
        if not self.machines.pool.holds(*resources_of(claims, counts)):
            claims = [
                claim._replace(tasks=count) for claim, count in zip(claims, counts, strict=True)
            ]
            counts = self.scheduler(claims, self.machines.pool, held)
        for (index, stage), part, count in zip(live, granted, counts, strict=True):
            stage.granted = part
            if count > stage.running:
                if math.isnan(self.start[index]):
                    self.start[index] = self.now
                stage.start(count - stage.running)

    def _seen(self, index: int, live: _Live) -> Running:
        tracks: list[int] = []
        last = math.nan
        for end, size in sorted(live.ends):
            if end - last <= SAME_MOMENT * max(1.0, end):
                tracks[-1] += size
            else:
                tracks.append(size)
            last = end
        return Running(index, live.running, tuple(tracks), live.pending_tasks, live.time)

    def _close_state(self, running: tuple[Running, ...]) -> None:
        """Ends the state that was, if it lasted, and begins another."""
        if self.now > self.since:
            self.states.append(State(self.since, self.now, self.running))
        self.since, self.running = self.now, running

    def _finish(self, index: int) -> None:
        self.end[index] = self.now
        self.dependencies.end(index, self.now)
