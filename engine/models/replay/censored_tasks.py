"""Tasks whose end a log does not show (right-censored): of a stage in which the log breaks off, or
that was aborted.

Such a stage has the number of all its tasks, the times of those that ended, and a duration that
only these filled. The times of the others are estimated: from those that ended, from how long the
running ones had run, and from how much colder the code was for the first ones. A notice says so,
and the interval is wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from engine.forecast import FloatArray
from engine.intervals import exclusive_seconds
from engine.models.replay.priors import ERROR_PER_DOUBLING_INPUT
from engine.models.stages.durations.first_tasks import starts_executors
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.stage_models import stage_models
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import EXACT_VALUES, STAGE_AMOUNTS, Measure, StageRun

_TIMES = ("task_seconds", "overhead_seconds", "run_seconds", "cpu_seconds", "gc_seconds")
_UNCHANGED = ("first_wave_seconds", "running_seconds")
"""Measures that the unseen tasks do not change."""

RUNNING_ELAPSED_SHARE = 0.5
"""Elapsed share of the time of a running task, where the log does not say when it started."""


def censored_stages(run: Run) -> list[StageRun]:
    """The stages with tasks whose end the log does not show."""
    return [stage for stage in run.stages if stage.task_seconds.count < stage.tasks]


def without_censored_tasks(run: Run) -> Run:
    """The run with only the tasks that were seen to end: those that its run time covers, where the
    log breaks off or a stage was aborted."""
    if not censored_stages(run):
        return run
    stages = (replace(s, tasks=min(s.tasks, s.task_seconds.count)) for s in run.stages)
    return replace(run, stages=tuple(stages))


def with_censored_times(run: Run) -> Run:
    """The run with task times corrected for running tasks, which are the long ones
    (`censored_seconds`)."""
    if not any(stage.running_seconds for stage in run.stages):
        return run
    stages = (replace(stage, task_seconds=censored_seconds(stage)) for stage in run.stages)
    return replace(run, stages=tuple(stages))


def censored_seconds(stage: StageRun) -> Measure:
    """Task times of a stage, corrected for tasks that were running when the log broke off: short
    tasks end first, so that those that ended underestimate the times.

    The Kaplan-Meier estimator (1958), by redistribution to the right (Efron 1967): the mass of each
    running task goes to the ended ones that took longer than it has run, or stays at its own
    elapsed time where none did. That is a lower bound for the longest, which may take longer.
    """
    seen, running = stage.task_seconds, stage.running_seconds
    if running is None or not running.count or not seen.count:
        return seen
    ended, ages = np.asarray(seen.quantiles), np.asarray(running.quantiles)
    values = np.concatenate((ended, ages))
    mass = np.concatenate(
        (
            np.full(len(ended), seen.count / len(ended)),
            np.full(len(ages), running.count / len(ages)),
        )
    )
    open_ended = np.concatenate((np.zeros(len(ended), bool), np.ones(len(ages), bool)))
    order = np.lexsort((open_ended, values))
    values, mass = values[order], _redistributed(mass[order], open_ended[order])
    mean = float(values @ mass) / float(mass.sum())
    kept = np.flatnonzero(mass > 0.0)
    points = _points(values[kept], mass[kept], len(ended))
    return Measure(seen.count, seen.count * mean, points)


def _redistributed(mass: FloatArray, open_ended: FloatArray) -> FloatArray:
    """(n,) mass of ascending times after that of each censored (open-ended) one was redistributed
    to the larger ones, in proportion to their mass; the last keeps its own."""
    left = mass.copy()
    for index in np.flatnonzero(open_ended).tolist():
        behind = float(left[index + 1 :].sum())
        if behind > 0.0:
            left[index + 1 :] *= 1.0 + left[index] / behind
            left[index] = 0.0
    return left


def with_all_tasks(run: Run) -> Run:
    """The run as it would have been with all tasks of its stages: bytes, task times and durations.
    For models that use the observed stages without a replay."""
    slots = run.cluster.slots
    if not slots or not censored_stages(run):
        return run
    stages, later = [], 0.0
    for stage, model in zip(run.stages, stage_models(with_censored_times(run), slots), strict=True):
        more = 0.0
        if 0 < stage.task_seconds.count < stage.tasks:
            stage, more = _whole(stage, model, slots)
        stages.append(stage)
        later = max(later, more)
    return replace(run, seconds=run.seconds + later, stages=tuple(stages))


def _whole(stage: StageRun, model: StageModel, slots: int) -> tuple[StageRun, float]:
    """A stage with all of its tasks, and the seconds by which that lengthens it. The unseen tasks
    run warm code on started executors, except on slots whose first task is still running."""
    lanes, seen, tasks = max(1, slots // stage.task_cpus), stage.task_seconds, stage.tasks
    known = model.stage.task_seconds
    relative = 1.0 if model.warm_up is None else model.warm_up.mean(tasks / lanes)
    unseen = tasks - known.count
    to_come = max(0.0, relative * tasks - known.count) * model.mean_seconds
    if starts_executors(stage):
        to_come += max(0, min(lanes, tasks) - known.count) * model.cold_excess
    times = _joined(known, model.warm, unseen, to_come)
    slower = (times.mean or 0.0) / (seen.mean or 1.0) if seen.total else 1.0
    more: dict[str, Any] = {}
    for name in (field.name for field in fields(stage)):
        found = getattr(stage, name)
        if isinstance(found, Measure) and name not in _UNCHANGED:
            more[name] = _more(found, tasks / seen.count, slower if name in _TIMES else 1.0)
    for name in STAGE_AMOUNTS:
        amount = getattr(stage, name)
        more[name] = None if amount is None else amount * tasks / seen.count
    more["task_seconds"] = times
    later = _seconds_left(stage, lanes, mean=model.mean_seconds, total=times.total)
    return replace(stage, completed_seconds=stage.completed_seconds + later, **more), later


def _joined(known: Measure, like: FloatArray, unseen: int, total: float) -> Measure:
    """The times of known tasks and of `unseen` others, which take `total` seconds together and have
    the distribution of `like`, scaled."""
    scale = total / (unseen * float(like.mean())) if like.any() else 1.0
    values = np.concatenate((known.quantiles, like * scale))
    mass = np.concatenate(
        (
            np.full(len(known.quantiles), known.count / len(known.quantiles)),
            np.full(len(like), unseen / len(like)),
        )
    )
    order = np.argsort(values, kind="stable")
    count = known.count + unseen
    points = _points(values[order], mass[order], min(count, EXACT_VALUES))
    return Measure(count, known.total + total, points)


def _points(values: FloatArray, mass: FloatArray, count: int) -> tuple[float, ...]:
    """`count` evenly spaced quantiles of ascending weighted values."""
    at = (np.cumsum(mass) - 0.5 * mass) / float(mass.sum())
    wanted = (np.arange(count) + 0.5) / count
    return tuple(np.interp(wanted, at, values).tolist())


def _more(measure: Measure, times: float, factor: float) -> Measure:
    """The measure with `times` as many tasks, each with `factor` times as much."""
    values = tuple(value * factor for value in measure.quantiles)
    return Measure(round(measure.count * times), measure.total * times * factor, values)


def _seconds_left(stage: StageRun, lanes: int, *, mean: float, total: float) -> float:
    """Seconds that a stage would still have run, on the slots that it held when the log broke off:
    all slots where that is not known (executors may have come while it ran).

    Args:
        mean, total: seconds of one unseen task, and of all tasks.
    """
    ended, running = stage.task_seconds, stage.running_seconds
    at_once = min(lanes, stage.tasks - ended.count)
    if running is None:
        under_way = RUNNING_ELAPSED_SHARE * mean * at_once
    else:
        under_way, at_once = running.total, min(running.count, at_once)
    return max(0.0, total - ended.total - under_way) / at_once


def censored_log_scale(run: Run) -> float:
    """Standard deviation of log time that unseen tasks add.

    Per stage it is the larger of the error for as much more input, and the error of later tasks
    inferred from first ones (`first_tasks.py`); weighted by the stage's share of the run time."""
    whole = with_all_tasks(run)
    if whole is run:
        return 0.0
    seen = np.asarray([max(1, stage.task_seconds.count) for stage in run.stages])
    tasks = np.asarray([stage.tasks for stage in run.stages])
    away = np.log2(np.maximum(1.0, tasks / seen))
    models = stage_models(with_censored_times(run), run.cluster.slots or 1)
    late = np.asarray([model.late_scale for model in models])
    start = np.asarray([stage.submitted_seconds for stage in whole.stages])
    end = np.asarray([stage.completed_seconds for stage in whole.stages])
    alone = exclusive_seconds(start, np.maximum(start, end))
    share = alone / max(whole.seconds, float(alone.sum()))
    return float(share @ np.maximum(ERROR_PER_DOUBLING_INPUT * away, late))


FROM_FIRST = ", hardly more than the first ones: how much of these was start-up is inferred too"


def _from_first_tasks(run: Run) -> bool:
    """Whether no more tasks of a stage ended than can be first ones on their slots."""
    slots = run.cluster.slots or 0
    return any(0 < s.task_seconds.count * s.task_cpus <= slots for s in censored_stages(run))


def partial_stages_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that the time of stages is inferred from part of their tasks; None where every
    task was seen."""
    partly = [run for run in runs if censored_stages(run)]
    stages = [stage for run in partly for stage in censored_stages(run)]
    if not stages:
        return None
    ended_in_failure = all(run.complete and run.has_failed for run in partly)
    remedy = "let the application end, or give the log of a run that did"
    tasks = sum(stage.tasks for stage in stages)
    ended = sum(stage.task_seconds.count for stage in stages)
    one = len(stages) == 1
    first = any(_from_first_tasks(run) for run in runs)
    return Notice(
        "stage-in-part",
        f"{len(stages)} {'stage was' if one else 'stages were'} seen in part: "
        f"{'its time is' if one else 'their times are'} inferred from the {ended} of {tasks} tasks "
        f"that ended{FROM_FIRST if first else ''}",
        "give the log of a run that succeeded" if ended_in_failure else remedy,
    )
