"""Task slots as a function of time: when those of a run came and went, and when another cluster's
will come.

Executors that arrive one after the other (a resource manager that grants them slowly, hosts that
join late) cost a run the time in which slots were missing. That time is the same for any input and
for any number of executors requested at once. So it is a fixed delay, not a factor on the work.

In: a run. Out: slots as arrays of moments, and seconds in which they were missing. Explained in
docs/models/sparkplan_rules_replay.md#executors-that-come-late.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.profile import Run
from engine.scheduling.list_scheduling import list_schedule_fast
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks, waves

NEGLIGIBLE = 0.002
"""Slots that are missing for less than this share of a run on average count as there at its start.
"""

HALVINGS = 12
"""Bisection steps for the idle time after each task."""

Steps = Sequence[tuple[float, int]]
"""A step function of time: (seconds, cores or slots from then on)."""


@dataclass(frozen=True, eq=False)
class SlotTimeline:
    """All slots that a run ever had.

    Args:
        added_seconds: (n,) when each slot came.
        removed: moments in ascending order, and how many slots went then.
    """

    added_seconds: FloatArray
    removed: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, cores: Steps, slots: int) -> SlotTimeline:
        """From a step function of slots; `slots` from the start on if it is empty."""
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
    def is_constant(self) -> bool:
        """Whether all slots come at once and none goes."""
        return not self.removed and bool(np.ptp(self.added_seconds) == 0.0)


def stage_slots(cores: Steps, start: float, end: float, slots: int) -> SlotTimeline:
    """The slots that were there while a stage ran, in seconds since its start; `slots` of them if
    the step function `cores` is empty."""
    initial, steps = 0, []
    for at, now in cores:
        if at <= start:
            initial = now
        elif at < end:
            steps.append((at - start, now))
    return SlotTimeline.of([(0.0, initial), *steps], slots)


def end_of_tasks(seconds: FloatArray, slots: SlotTimeline, task_cpus: int) -> float:
    """When the last of (n,) tasks ends that hold `task_cpus` slots each, by list scheduling."""
    lanes = slots.added_seconds
    if slots.removed:
        node = ScheduledNode((), 0.0, 0, Tasks(seconds), cpus=task_cpus)
        return schedule([node], len(lanes), added_seconds=lanes, removed=slots.removed).seconds
    together = lanes[task_cpus - 1 :: task_cpus] if len(lanes) >= task_cpus else lanes[-1:]
    return list_schedule_fast(seconds, together, 0.0)[2]


def idle_after_tasks(
    seconds: FloatArray, slots: SlotTimeline, task_cpus: int, missing: float
) -> float:
    """Idle time after each of (n,) tasks that makes the last one end `missing` seconds later.

    On slots that stay it is `missing` divided by the number of waves. On slots that come and go the
    tasks are placed, and the time is found by bisection.
    """
    if slots.is_constant or not missing:
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
    """(slots,) when each of a run's slots first came.

    None if slots were hardly missing, or if they came on demand: dynamic allocation, or a cluster
    that scales itself, which shows in the run's notices only.
    """
    allocated = run.config.get("spark.dynamicAllocation.enabled", "").lower() == "true"
    if allocated or any(notice.code == "dynamic-allocation" for notice in run.notices):
        return None
    added: list[float] = []
    for at, now in run.slot_steps:
        added += [at] * (min(now, slots) - len(added))
    if not added:
        return None
    added_seconds = np.asarray(added + [added[-1]] * (slots - len(added)))
    return added_seconds if missing_seconds(added_seconds, run) > NEGLIGIBLE * run.seconds else None


def has_transient_executors(run: Run) -> bool:
    """Whether executors came and went during the run, released or lost, by its notices."""
    return any(notice.code in ("dynamic-allocation", "lost-executors") for notice in run.notices)


def planned_on(run: Run) -> dict[int, int]:
    """By stage id, the cores that were there when the stage was planned, at the submission of its
    job: Spark counts those for splits and coalesced partitions (`CoarseGrainedSchedulerBackend`).

    Stages that were planned before any executor came are left out. Empty for a run whose executors
    stay: there the run's own cores count.
    """
    if not has_transient_executors(run):
        return {}
    submitted = {job.job_id: job.submitted_seconds for job in run.jobs}
    cores = {}
    for stage in run.stages:
        jobs = [submitted[job] for job in stage.job_ids if job in submitted]
        at = max((one for one in jobs if one <= stage.submitted_seconds), default=None)
        present = cores_at(run.cores, stage.submitted_seconds if at is None else at)
        if present:
            cores[stage.stage_id] = present
    return cores


def slots_of_stages(run: Run) -> dict[int, int]:
    """By stage id, the mean number of slots while the stage ran and there were any. Empty for a run
    whose executors stay."""
    mean_slots = dict[int, int]()
    for stage in run.stages if has_transient_executors(run) else ():
        end = stage.completed_seconds
        steps = [step for step in run.slot_steps if stage.submitted_seconds < step[0] < end]
        first = cores_at(run.slot_steps, stage.submitted_seconds)
        steps = [(stage.submitted_seconds, first), *steps]
        until = [at for at, _ in steps[1:]] + [end]
        spans = [(now, to - at) for (at, now), to in zip(steps, until, strict=True) if now]
        seconds = sum(lasted for _, lasted in spans)
        if seconds > 0.0:
            mean_slots[stage.stage_id] = max(1, round(sum(n * s for n, s in spans) / seconds))
    return mean_slots


def recomputed_stages(run: Run) -> frozenset[int]:
    """Indices of the stages that only recomputed output of executors released as idle.

    On executors that stay such stages do not recur. Empty if executors were also lost.
    """
    codes = {notice.code for notice in run.notices}
    if "dynamic-allocation" not in codes or "lost-executors" in codes:
        return frozenset()
    return frozenset(index for index, stage in enumerate(run.stages) if stage.recomputed)


def cores_at(cores: Steps, moment: float) -> int:
    """Value of a step function of cores at a moment; 0 before its first step."""
    index = bisect_right(cores, moment, key=lambda step: step[0])
    return cores[index - 1][1] if index else 0


def missing_seconds(added_seconds: FloatArray, run: Run) -> float:
    """Mean time for which a slot was missing after the first task could run."""
    first = min(max(stage.submitted_seconds, float(added_seconds[0])) for stage in run.stages)
    return float(np.maximum(0.0, added_seconds - first).mean())


def first_executor_seconds(run: Run) -> float:
    """When the first executor of a run came; 0 if the log does not tell its cores.

    Stages that were submitted before wait as long on any cluster. A later wait, for executors that
    come again after all were released in a pause, does not occur on a cluster that stays.
    """
    return next((at for at, cores in run.cores if cores), 0.0)


def executor_wait_seconds(run: Run) -> float:
    """Time from the first stage's submission to the first executor."""
    begun = min((stage.submitted_seconds for stage in run.stages), default=0.0)
    return max(0.0, first_executor_seconds(run) - begun)


def arrivals(added_seconds: FloatArray | None, slots: int) -> FloatArray | None:
    """(slots,) when the slots of another cluster come: the same shares at the same times."""
    if added_seconds is None:
        return None
    return added_seconds[np.arange(slots) * len(added_seconds) // slots]
