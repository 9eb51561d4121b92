"""What tasks take once their code is known, where a log shows only the first ones.

A first task loads and interprets code that later ones find compiled: an executor's first tasks take
1 to 40 s longer, by how busy its machine is. No time fits them all. What fits is the time that a
task spends outside its run time: mostly the same loading on the same machine at the same moment.
Over whole logs the one is a steady multiple of the other, whatever the data; so it tells a first
task that only starts up from one that works.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.drawn_times import drawn
from engine.stage_run import StageRun


class WarmTask(NamedTuple):
    """Time of a task whose code is known: its median in seconds, and the standard deviation of its
    logarithm."""

    seconds: float
    log_scale: float

    def beside(self, other: WarmTask) -> WarmTask:
        """What two independent observations say, each by its precision."""
        own, more = self.log_scale**-2.0, other.log_scale**-2.0
        middle = own * math.log(self.seconds) + more * math.log(other.seconds)
        return WarmTask(math.exp(middle / (own + more)), (own + more) ** -0.5)


class NewCode(NamedTuple):
    """Prior of what a first task takes longer than later ones of its stage.

    Args:
        per_overhead: median, as a multiple of its time outside its run time.
        log_scale: scale of the logarithm.
        least: share of a first task below which no later one is taken to be.
    """

    per_overhead: float
    log_scale: float
    least: float


NEW_EXECUTOR = NewCode(2.7, 0.4, 0.02)
NEW_STAGE = NewCode(4.0, 1.0, 0.05)
SEEN_STAGE = NewCode(2.0, 1.0, 0.10)
"""First tasks of an executor, of code that is new to a used one, and of code that ran before
(docs/models/sparkplan_measured_parts.md, First tasks of whole logs)."""

TAIL_DOF = 4.0
"""Degrees of freedom of these: other programs and machines differ by more than the logs at hand."""

FALLS_ON = 0.2
SECOND_SCALE = 0.4
"""Tasks of the waves after the first took a share of it; later ones take less than these by that
share to this power, with such a standard deviation of the logarithm. Both are the same whether one
such wave was seen or seven."""

TASK_SCALE = 0.3
"""Standard deviation of the logarithm between tasks of a stage."""

SISTER_SCALE = 0.55
"""The same between the later tasks of two stages of the same code. The bytes that they read do not
tell them apart (in proportion to these it is 1.2)."""

LEAST_OVERHEAD_SECONDS = 1e-3
"""What clocks of whole milliseconds show as none."""

WAVES = 8
"""From so many tasks per slot on the order of a stage's own tasks tells as much (`warm_up.py`)."""


def warm_given_first(first_seconds: float, overhead_seconds: float, new: NewCode) -> WarmTask:
    """A later task, given a first one and how long it was outside its run time.

    The first takes T = W + X. The log of X has Student's distribution around a multiple of the
    overhead; before that is known every W is as likely as its double. So log W between the least
    and T has a density proportional to that of X = T - W (Bayes).
    """
    share = np.exp(np.linspace(math.log(new.least), math.log(MOST_WARM), GRID))
    excess = (1.0 - share) * first_seconds
    away = np.log(excess / (new.per_overhead * overhead_seconds)) / new.log_scale
    density = -0.5 * (TAIL_DOF + 1.0) * np.log1p(away**2 / TAIL_DOF) - np.log(excess)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    middle = float(weight @ np.log(share))
    variance = float(weight @ (np.log(share) - middle) ** 2)
    return WarmTask(first_seconds * math.exp(middle), math.sqrt(variance + TASK_SCALE**2))


MOST_WARM = 0.999
GRID = 300
"""Largest share of a first task that a later one takes, and how many are weighed."""


def lost_to_new_code(stage: StageRun, lanes: int) -> float | None:
    """Seconds by which the tasks of a stage of one wave or two took longer than later ones of the
    same data would, since its code was new; None where the log does not tell what they spent
    outside their run time."""
    mean, outside = stage.task_seconds.mean, stage.overhead_seconds
    if not mean or outside is None or not outside.mean:
        return None
    new = _new_code(stage, min(lanes, stage.task_seconds.count), before=0)
    later = warm_given_first(mean, max(LEAST_OVERHEAD_SECONDS, outside.mean), new)
    return mean - later.seconds


def warm_task(
    stage: StageRun, lanes: int, *, before: int, sister_seconds: float | None
) -> WarmTask | None:
    """What the tasks to come of a stage take that was seen in part; None where all were seen, or so
    many that they show it themselves, or where nothing tells how long new code took.

    Args:
        lanes: tasks of it that run at once.
        before: how many stages of the same code ran before.
        sister_seconds: what later tasks of the last of these take.
    """
    seen, outside = stage.task_seconds, stage.overhead_seconds
    if not 0 < seen.count < stage.tasks or seen.count >= WAVES * lanes:
        return None
    if outside is None or not outside.count or not seen.total:
        return None
    times = drawn(np.asarray(seen.quantiles), seen.count, seen.mean or 0.0)
    first, later = np.split(times[::-1], [_first_tasks(stage, lanes)])
    overhead = drawn(np.asarray(outside.quantiles), seen.count, outside.mean or 0.0)
    lost = max(LEAST_OVERHEAD_SECONDS, float(overhead[-len(first) :].mean()))
    found = warm_given_first(float(first.mean()), lost, _new_code(stage, len(first), before))
    if len(later) and later.mean() > 0.0:
        found = found.beside(_given_second(first, later))
    if sister_seconds:
        found = found.beside(WarmTask(sister_seconds, SISTER_SCALE))
    return found


def starts_executors(stage: StageRun) -> bool:
    """Whether all of its tasks that ended were the first ones on slots of executors."""
    first = stage.first_wave_seconds
    return first is not None and first.count >= stage.task_seconds.count


def _given_second(first: FloatArray, second: FloatArray) -> WarmTask:
    """What tasks of the waves after the first tell of later ones."""
    mean = float(second.mean())
    scale = math.hypot(SECOND_SCALE, TASK_SCALE / math.sqrt(len(second)))
    return WarmTask(mean * (mean / float(first.mean())) ** FALLS_ON, scale)


def _new_code(stage: StageRun, first_tasks: int, before: int) -> NewCode:
    new_slots = stage.first_wave_seconds
    if new_slots is not None and 2 * new_slots.count > first_tasks:
        return NEW_EXECUTOR
    return SEEN_STAGE if before else NEW_STAGE


def _first_tasks(stage: StageRun, lanes: int) -> int:
    """How many of the tasks that ended were the first ones on their slots: as many as there are
    slots, but for those whose first one still runs, since before any other ended."""
    ended, running = stage.task_seconds, stage.running_seconds
    if running is None:
        return min(lanes, ended.count)
    first_end = stage.completed_seconds - stage.submitted_seconds - ended.quantiles[0]
    still = sum(age > first_end for age in running.quantiles)
    return max(1, min(lanes - still, ended.count))
