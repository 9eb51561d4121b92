"""When the slots of a run came and went, and when those of a cluster that is asked for will come.

Executors that come one after the other (a resource manager that grants them slowly, hosts that join
late) cost a run the time in which slots were missing. That time is the same for any input, and for
any number of executors that are asked for at once: it is no factor on the work.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.profile import Run
from engine.scheduling.list_scheduling import place_fast
from engine.scheduling.stages import Node, schedule
from engine.scheduling.waves import Tasks, waves

NEGLIGIBLE = 0.002
"""Slots that are missing for less than this share of a run, in the mean, are there at its start."""

HALVINGS = 12
"""How often what a task idles is halved between nothing and all that a stage misses."""

Steps = Sequence[tuple[float, int]]


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots that a run ever had.

    Args:
        added_seconds: (n,) when each came.
        removed: moments in ascending order, and how many went then.
    """

    added_seconds: FloatArray
    removed: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, cores: Steps, slots: int) -> Slots:
        """From the step function of cores; so many from the start on where there is none."""
        added: list[float] = []
        removed: list[tuple[float, int]] = []
        before = 0
        for at, now in cores:
            if now > before:
                added += [at] * (now - before)
            elif now < before:
                removed.append((at, before - now))
            before = now
        return cls(np.asarray(added), tuple(removed)) if added else cls(np.zeros(slots))

    @property
    def stay(self) -> bool:
        """Whether all are there from first to last."""
        return not self.removed and bool(np.ptp(self.added_seconds) == 0.0)


def stage_slots(cores: Steps, start: float, end: float, slots: int) -> Slots:
    """The slots that a stage had, in seconds since its start; `slots` of them where no step
    function tells."""
    there, steps = 0, []
    for at, now in cores:
        if at <= start:
            there = now
        elif at < end:
            steps.append((at - start, now))
    return Slots.of([(0.0, there), *steps], slots)


def end_of_tasks(seconds: FloatArray, slots: Slots, task_cpus: int) -> float:
    """When the last of (n,) tasks ends that hold so many slots each."""
    lanes = slots.added_seconds
    if slots.removed:
        node = Node((), 0.0, 0, Tasks(seconds), cpus=task_cpus)
        return schedule([node], len(lanes), added_seconds=lanes, removed=slots.removed).seconds
    together = lanes[task_cpus - 1 :: task_cpus] if len(lanes) >= task_cpus else lanes[-1:]
    return place_fast(seconds, together, 0.0)[2]


def idle_seconds(seconds: FloatArray, slots: Slots, task_cpus: int, missing: float) -> float:
    """Time that slots idle after each of (n,) tasks for the last to end so much later.

    On slots that stay it is that per wave. How many tasks follow one another on slots that come and
    go is only found by placing them.
    """
    if slots.stay or not missing:
        return missing / waves(len(seconds), max(1, len(slots.added_seconds) // task_cpus))
    ended = end_of_tasks(seconds, slots, task_cpus) + missing
    low, high = 0.0, missing
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if end_of_tasks(seconds + middle, slots, task_cpus) < ended:
            low = middle
        else:
            high = middle
    return high


def first_arrivals(run: Run, slots: int) -> FloatArray | None:
    """(slots,) when a run's slots came for the first time; None where none was missing to speak of,
    and where they came as stages asked for them (dynamic allocation, or a cluster that scales
    itself, which no setting tells that is kept)."""
    allocated = run.config.get("spark.dynamicAllocation.enabled", "").lower() == "true"
    if allocated or any(notice.code == "dynamic-allocation" for notice in run.notices):
        return None
    added: list[float] = []
    for at, now in run.slot_steps:
        added += [at] * (min(now, slots) - len(added))
    if not added:
        return None
    found = np.asarray(added + [added[-1]] * (slots - len(added)))
    return found if missing_seconds(found, run) > NEGLIGIBLE * run.seconds else None


def came_and_went(run: Run) -> bool:
    """Whether executors did during the run, sent away or lost, by its notices."""
    return any(notice.code in ("dynamic-allocation", "lost-executors") for notice in run.notices)


def planned_on(run: Run) -> dict[int, int]:
    """By stage, the cores that were there when it was planned, which is when its job was submitted:
    Spark counts those for its splits and merged partitions (`CoarseGrainedSchedulerBackend`). None
    of stages planned before any came, nor of a run whose executors stay, which has its own."""
    if not came_and_went(run):
        return {}
    submitted = {job.job_id: job.submitted_seconds for job in run.jobs}
    found = {}
    for stage in run.stages:
        begun = [submitted[job] for job in stage.job_ids if job in submitted]
        at = max((one for one in begun if one <= stage.submitted_seconds), default=None)
        there = cores_at(run.cores, stage.submitted_seconds if at is None else at)
        if there:
            found[stage.stage_id] = there
    return found


def slots_of_stages(run: Run) -> dict[int, int]:
    """By stage, the slots that it had: the mean while it ran and there were any. None of a run
    whose executors stay."""
    found = dict[int, int]()
    for stage in run.stages if came_and_went(run) else ():
        end = stage.completed_seconds
        steps = [step for step in run.slot_steps if stage.submitted_seconds < step[0] < end]
        first = cores_at(run.slot_steps, stage.submitted_seconds)
        steps = [(stage.submitted_seconds, first), *steps]
        until = [at for at, _ in steps[1:]] + [end]
        held = [(now, to - at) for (at, now), to in zip(steps, until, strict=True) if now]
        seconds = sum(lasted for _, lasted in held)
        if seconds > 0.0:
            found[stage.stage_id] = max(1, round(sum(n * s for n, s in held) / seconds))
    return found


def written_again(run: Run) -> frozenset[int]:
    """Places of the stages that wrote again what executors took with them which were sent away when
    they were idle, and none was lost: executors that stay keep what they wrote."""
    codes = {notice.code for notice in run.notices}
    if "dynamic-allocation" not in codes or "lost-executors" in codes:
        return frozenset()
    return frozenset(place for place, stage in enumerate(run.stages) if stage.recomputed)


def cores_at(cores: Steps, moment: float) -> int:
    """What a step function of cores has at a moment; none before its first step."""
    place = bisect_right(cores, moment, key=lambda step: step[0])
    return cores[place - 1][1] if place else 0


def missing_seconds(added_seconds: FloatArray, run: Run) -> float:
    """For how long a slot was missing in the mean after the first task could run."""
    first = min(max(stage.submitted_seconds, float(added_seconds[0])) for stage in run.stages)
    return float(np.maximum(0.0, added_seconds - first).mean())


def first_executor_seconds(run: Run) -> float:
    """When the first executor of a run came; 0 where the log does not tell its cores. Stages that
    were submitted before wait as long on any cluster. For those that come again after a pause that
    sent all away no cluster waits that stays."""
    return next((at for at, cores in run.cores if cores), 0.0)


def waited_seconds(run: Run) -> float:
    """Time in which stages had been submitted and no executor had come yet to run them."""
    begun = min((stage.submitted_seconds for stage in run.stages), default=0.0)
    return max(0.0, first_executor_seconds(run) - begun)


def arrivals(added_seconds: FloatArray | None, slots: int) -> FloatArray | None:
    """(slots,) when those of another cluster come: the same shares of them at the same times."""
    if added_seconds is None:
        return None
    return added_seconds[np.arange(slots) * len(added_seconds) // slots]
