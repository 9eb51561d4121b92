"""Infers the time of warm tasks (whose code is loaded) if a log shows only first tasks.

A first task loads and interprets code that later ones find compiled: the first tasks of an executor
take 1 to 34 s longer, depending on how busy its machine is. No fixed time fits them all. The
predictor is the overhead, the time that a task spends outside its run time: mostly the same loading
on the same machine at the same moment. In complete logs the extra time of first tasks is a steady
multiple of their overhead, whatever the data. So the overhead distinguishes a first task that
mostly starts up from one that mostly works.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.stage_run import StageRun


class WarmTaskTime(NamedTuple):
    """Log-normal distribution of the time of a warm task: its median in seconds and the standard
    deviation of its logarithm."""

    seconds: float
    log_scale: float

    def combined_with(self, other: WarmTaskTime) -> WarmTaskTime:
        """Combination of two independent observations, weighted by their precision."""
        own_precision, precision = self.log_scale**-2.0, other.log_scale**-2.0
        total = own_precision + precision
        weighted = own_precision * math.log(self.seconds) + precision * math.log(other.seconds)
        return WarmTaskTime(math.exp(weighted / total), total**-0.5)


class NewCodePrior(NamedTuple):
    """Prior of the extra time of a first task over later ones of its stage: log-Student.

    Args:
        per_overhead: median of the extra time over the task's overhead (outside its run time).
        log_scale: scale of the logarithm.
        least: least time of a later task, as a share of the first.
    """

    per_overhead: float
    log_scale: float
    least: float


NEW_EXECUTOR = NewCodePrior(2.7, 0.4, 0.02)
NEW_STAGE = NewCodePrior(4.0, 1.0, 0.05)
SEEN_STAGE = NewCodePrior(2.0, 1.0, 0.10)
"""Priors for the first tasks of an executor, of code that is new to a used executor, and of code
that ran there before (docs/models/sparkplan_measured_parts.md, First tasks of whole logs)."""

TAIL_DOF = 4.0
"""Degrees of freedom of these Student distributions: other programs and machines vary more than the
available logs."""

DECAY_POWER = 0.2
SECOND_SCALE = 0.4
"""If tasks of the waves after the first take a share s of the first wave's time, still later ones
take s to the power `DECAY_POWER` of theirs, with the standard deviation `SECOND_SCALE` of the
logarithm. Both are the same whether one such wave was seen or seven."""

TASK_SCALE = 0.3
"""Standard deviation of the logarithm between tasks of a stage."""

SISTER_SCALE = 0.55
"""Standard deviation of the logarithm between the later tasks of two stages of the same code. The
bytes that they read do not explain the difference (scaled by these it is 1.2)."""

LEAST_OVERHEAD_SECONDS = 1e-3
"""Least overhead: logs have whole milliseconds."""

MOST_WAVES_INFERRED = 8
"""With so many observed tasks per slot or more, the launch order of the stage's own tasks shows the
warm-up as well (`warm_up.py`)."""


def warm_given_first(
    first_seconds: float, overhead_seconds: float, new: NewCodePrior
) -> WarmTaskTime:
    """Posterior of the time of a later task, given that of a first one and its overhead.

    The first task takes T = W + X: a warm task and the extra time. The prior of log X is Student's
    distribution around a multiple of the overhead, that of log W is uniform. So the posterior
    density of log W, between its least value and log T, is proportional to that of X = T - W.
    """
    warm_share = np.exp(np.linspace(math.log(new.least), math.log(MOST_WARM), GRID))
    extra_seconds = (1.0 - warm_share) * first_seconds
    deviation = np.log(extra_seconds / (new.per_overhead * overhead_seconds)) / new.log_scale
    log_density = -0.5 * (TAIL_DOF + 1.0) * np.log1p(deviation**2 / TAIL_DOF)
    log_density -= np.log(extra_seconds)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    log_mean = float(weights @ np.log(warm_share))
    variance = float(weights @ (np.log(warm_share) - log_mean) ** 2)
    return WarmTaskTime(first_seconds * math.exp(log_mean), math.sqrt(variance + TASK_SCALE**2))


MOST_WARM = 0.999
GRID = 300
"""Largest time of a later task as a share of the first, and the number of grid points."""


def lost_to_new_code(stage: StageRun, lanes: int) -> float | None:
    """Extra seconds per task due to new code, for a stage of one or two waves, all of whose tasks
    count as first ones; None if the log does not tell their overhead."""
    mean, overhead = stage.task_seconds.mean, stage.overhead_seconds
    if not mean or overhead is None or not overhead.mean:
        return None
    prior = _new_code_prior(stage, min(lanes, stage.task_seconds.count), before=0)
    warm = warm_given_first(mean, max(LEAST_OVERHEAD_SECONDS, overhead.mean), prior)
    return mean - warm.seconds


def warm_task(
    stage: StageRun, lanes: int, *, before: int, sister_seconds: float | None
) -> WarmTaskTime | None:
    """Time of the remaining tasks of a stage of which the log saw a part.

    None if all were seen, or enough to show the warm-up themselves, or if the log tells no
    overhead.

    Args:
        lanes: tasks of the stage that run at once.
        before: number of stages of the same code that ran before.
        sister_seconds: time of later tasks of the last of these.
    """
    ended, overhead = stage.task_seconds, stage.overhead_seconds
    if not 0 < ended.count < stage.tasks or ended.count >= MOST_WAVES_INFERRED * lanes:
        return None
    if overhead is None or not overhead.count or not ended.total:
        return None
    times = times_from_quantiles(np.asarray(ended.quantiles), ended.count, ended.mean or 0.0)
    first, later = np.split(times[::-1], [_first_tasks(stage, lanes)])
    overheads = times_from_quantiles(
        np.asarray(overhead.quantiles), ended.count, overhead.mean or 0.0
    )
    overhead_seconds = max(LEAST_OVERHEAD_SECONDS, float(overheads[-len(first) :].mean()))
    prior = _new_code_prior(stage, len(first), before)
    posterior = warm_given_first(float(first.mean()), overhead_seconds, prior)
    if len(later) and later.mean() > 0.0:
        posterior = posterior.combined_with(_given_second(first, later))
    if sister_seconds:
        posterior = posterior.combined_with(WarmTaskTime(sister_seconds, SISTER_SCALE))
    return posterior


def starts_executors(stage: StageRun) -> bool:
    """Whether all ended tasks of a stage were the first ones on slots of their executors."""
    first = stage.first_wave_seconds
    return first is not None and first.count >= stage.task_seconds.count


def _given_second(first: FloatArray, second: FloatArray) -> WarmTaskTime:
    """Time of still later tasks, given those of the first and of the following waves."""
    mean = float(second.mean())
    scale = math.hypot(SECOND_SCALE, TASK_SCALE / math.sqrt(len(second)))
    return WarmTaskTime(mean * (mean / float(first.mean())) ** DECAY_POWER, scale)


def _new_code_prior(stage: StageRun, first_tasks: int, before: int) -> NewCodePrior:
    """The prior for a stage's first tasks: by whether most of them started executors, and whether
    the same code ran before."""
    new_slots = stage.first_wave_seconds
    if new_slots is not None and 2 * new_slots.count > first_tasks:
        return NEW_EXECUTOR
    return SEEN_STAGE if before else NEW_STAGE


def _first_tasks(stage: StageRun, lanes: int) -> int:
    """How many of the ended tasks were the first ones on their slots: one per slot, without slots
    whose first task still runs, as it has since before any other ended."""
    ended, running = stage.task_seconds, stage.running_seconds
    if running is None:
        return min(lanes, ended.count)
    first_end = stage.completed_seconds - stage.submitted_seconds - ended.quantiles[0]
    still_running = sum(age > first_end for age in running.quantiles)
    return max(1, min(lanes - still_running, ended.count))
