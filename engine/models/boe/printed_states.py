"""Algorithm 1 of BOE with Eqs. 7 and 8 as printed, offered by name.

They disagree with discrete events: of 4 tasks of 10 s on 2 containers, in a state that ends after
5 s, 17.5 s are said to remain where 15 s do. `engine.models.boe.states` is what is used otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
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
    needs = [Needs.of(entry.work, machines.rates) for entry in activities]
    start = np.full(len(activities), math.nan)
    end = np.full(len(activities), math.nan)
    live: dict[int, _Stage] = {}
    states: list[State] = []
    now = 0.0
    while np.isnan(end).any():
        _begin(activities, live, start, end, now)
        order = sorted(live)
        if order:
            _grant(order, live, activities, machines, scheduler)
        busy = [place for place in order if live[place].parallelism]
        times = shared_task_times(
            [needs[place] for place in busy],
            machines.capacity,
            [live[place].parallelism for place in busy],
        ) if busy else []  # fmt: skip
        left = [_left(live[place], time) for place, time in zip(busy, times, strict=True)]
        arrival = _next_start(activities, end, live, now)
        length = min([*left, arrival - now])
        if not math.isfinite(length):
            if order:
                refuse(activities[order[0]], machines)
            continue
        if length > 0.0:
            seen = [_seen(p, live[p], time) for p, time in zip(busy, times, strict=True)]
            states.append(State(now, now + length, tuple(seen)))
        now += length
        _update(busy, times, left, live, end, length, now)
    return Course(tuple(activities), start, end, tuple(states))


def _left(stage: _Stage, time: TaskTime) -> float:
    """Seconds that a stage would still take if the state lasted (Eq. 7)."""
    return remaining_seconds(
        task_seconds=time.seconds,
        least_progress=stage.progress,
        pending=stage.pending,
        parallelism=stage.parallelism,
    )


def _seen(place: int, stage: _Stage, time: TaskTime) -> Running:
    """A stage in a state: all of its tasks are one track."""
    count = stage.parallelism
    return Running(place, count, (count,), math.ceil(stage.pending), time)


def _ready_at(activities: Sequence[Activity], end: FloatArray, place: int) -> float:
    """When an activity may begin; NaN while it still waits for another."""
    entry = activities[place]
    ends = [float(end[parent]) for parent in entry.after]
    return float(np.max(ends, initial=0.0)) + entry.delay_seconds


def _begin(
    activities: Sequence[Activity],
    live: dict[int, _Stage],
    start: FloatArray,
    end: FloatArray,
    now: float,
) -> None:
    """Starts what is ready; moments end at once, and may let others begin."""
    for place, entry in enumerate(activities):
        if not math.isnan(end[place]) or place in live:
            continue
        if _ready_at(activities, end, place) <= now * (1.0 + 1e-12) + 1e-12:
            start[place] = now
            if entry.tasks < 1:
                end[place] = now
            else:
                live[place] = _Stage(float(entry.tasks))


def _next_start(
    activities: Sequence[Activity], end: FloatArray, live: dict[int, _Stage], now: float
) -> float:
    """When the next activity begins whose predecessors have all ended; inf without any."""
    ready = [
        _ready_at(activities, end, place)
        for place in range(len(activities))
        if math.isnan(end[place]) and place not in live
    ]
    return min((at for at in ready if at > now), default=math.inf)


def _grant(
    order: Sequence[int],
    live: dict[int, _Stage],
    activities: Sequence[Activity],
    machines: Machines,
    scheduler: Scheduler,
) -> None:
    """The parallelism of the state; tasks that start leave the pending ones."""
    claims = [
        Claim(
            activities[place].job,
            int(
                min(
                    machines.most_containers(activities[place]),
                    math.ceil(live[place].pending - 1e-9) + live[place].parallelism,
                )
            ),
            activities[place].cores,
            activities[place].memory_gib,
        )
        for place in order
    ]
    for place, count in zip(order, scheduler(claims, machines.pool), strict=True):
        stage = live[place]
        # A stage that loses its last core has nothing in flight: what it had begun waits again.
        lost = 0 if count else stage.parallelism
        stage.pending = max(0.0, stage.pending + lost - max(0, count - stage.parallelism))
        stage.parallelism = count


def _update(
    busy: Sequence[int],
    times: Sequence[TaskTime],
    left: Sequence[float],
    live: dict[int, _Stage],
    end: FloatArray,
    length: float,
    now: float,
) -> None:
    """Progress and pending tasks at the end of the state; stages that are done leave."""
    for place, time, rest in zip(busy, times, left, strict=True):
        stage = live[place]
        if rest <= length * (1.0 + 1e-12):
            end[place] = now
            del live[place]
            continue
        stage.progress = progress(state_seconds=length, stage_seconds=rest)
        stage.pending = pending_tasks(
            pending=stage.pending,
            parallelism=stage.parallelism,
            state_seconds=length,
            task_seconds=time.seconds,
        )
