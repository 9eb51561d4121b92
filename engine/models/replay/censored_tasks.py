"""Right-censored tasks, whose end a log does not show: of a stage in which the log breaks off, or
that was aborted.

Such a stage has the number of all its tasks, the times of those that ended, and a duration that
covers only these. The times of the others are estimated: from those that ended, from the elapsed
time of the running ones, and from how much colder the code was for the first ones. A notice says
so, and the interval is wider. In: a run. Out: runs with other task times or without the censored
tasks. Explained in docs/models/sparkplan_rules_logs.md#logs-that-break-off.
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
"""Measures that the censored tasks do not change."""

RUNNING_ELAPSED_SHARE = 0.5
"""Elapsed share of the time of a running task, where the log does not say when it started."""


def censored_stages(run: Run) -> list[StageRun]:
    """The stages with censored tasks."""
    return [stage for stage in run.stages if stage.task_seconds.count < stage.tasks]


def without_censored_tasks(run: Run) -> Run:
    """The run with only the tasks that its run time covers: those that ended, and all of a stage
    that did its work, of which Spark dropped ends."""
    if not censored_stages(run):
        return run
    whole = _stages_done(run)
    stages = (
        s if s.stage_id in whole else replace(s, tasks=min(s.tasks, s.task_seconds.count))
        for s in run.stages
    )
    return replace(run, stages=tuple(stages))


def _stages_done(run: Run) -> set[int]:
    """The stages that are over and are known to have run all of their tasks: another one reads
    them, or none was aborted."""
    read = {parent for stage in run.stages for parent in stage.parents}
    return read if run.has_failed else _stages_over(run)


def with_censored_times(run: Run) -> Run:
    """The run with task times corrected for censored tasks, mostly long ones
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
    observed, running = stage.task_seconds, stage.running_seconds
    if running is None or not running.count or not observed.count:
        return observed
    ended, elapsed = np.asarray(observed.quantiles), np.asarray(running.quantiles)
    values = np.concatenate((ended, elapsed))
    mass = _mass((observed.count, len(ended)), (running.count, len(elapsed)))
    censored = np.concatenate((np.zeros(len(ended), bool), np.ones(len(elapsed), bool)))
    order = np.lexsort((censored, values))
    values, mass = values[order], _redistributed(mass[order], censored[order])
    mean = float(values @ mass) / float(mass.sum())
    kept = np.flatnonzero(mass > 0.0)
    points = _points(values[kept], mass[kept], len(ended))
    return Measure(observed.count, observed.count * mean, points)


def _redistributed(mass: FloatArray, censored: FloatArray) -> FloatArray:
    """(n,) mass of ascending times after that of each censored one was redistributed to the larger
    ones, in proportion to their mass; the last keeps its own."""
    remaining = mass.copy()
    for index in np.flatnonzero(censored).tolist():
        larger_mass = float(remaining[index + 1 :].sum())
        if larger_mass > 0.0:
            remaining[index + 1 :] *= 1.0 + remaining[index] / larger_mass
            remaining[index] = 0.0
    return remaining


def with_all_tasks(run: Run) -> Run:
    """The run as it would have been with all tasks of its stages: bytes, task times and durations.
    For models that use the observed stages without a replay."""
    slots = run.cluster.slots
    if not slots or not censored_stages(run):
        return run
    stages, added, over = [], 0.0, _stages_over(run)
    for stage, model in zip(run.stages, stage_models(with_censored_times(run), slots), strict=True):
        added_seconds = 0.0
        if 0 < stage.task_seconds.count < stage.tasks:
            whole, added_seconds = _with_all_tasks_of(stage, model, slots)
            if stage.stage_id in over:
                whole, added_seconds = (
                    replace(whole, completed_seconds=stage.completed_seconds),
                    0.0,
                )
            stage = whole
        stages.append(stage)
        added = max(added, added_seconds)
    return replace(run, seconds=run.seconds + added, stages=tuple(stages))


def _stages_over(run: Run) -> set[int]:
    """The stages that would not have run longer: Spark dropped the ends of their tasks, or the run
    went on after they were aborted. What came then did not wait for more.

    A job that ended without a failed stage has done all of its work. The last job of a micro-batch
    may have been cancelled: Spark then says no failure of its stages.
    """
    work_is_done = not run.has_failed and run.batch_id is None
    starts = [job.submitted_seconds for job in run.jobs]
    starts += [stage.submitted_seconds for stage in run.stages]
    last_start = max(starts)
    of_ended_jobs = {
        stage for job in run.jobs if job.completed_seconds is not None for stage in job.stage_ids
    }
    over = {parent for stage in run.stages for parent in stage.parents}
    over |= {
        stage.stage_id
        for stage in run.stages
        if stage.stage_id in of_ended_jobs
        and (work_is_done or last_start >= stage.completed_seconds)
    }
    return over


def _with_all_tasks_of(stage: StageRun, model: StageModel, slots: int) -> tuple[StageRun, float]:
    """A stage with all of its tasks, and the seconds by which that lengthens it. The censored tasks
    run warm code on started executors, except on slots whose first task is still running."""
    lanes, observed, tasks = max(1, slots // stage.task_cpus), stage.task_seconds, stage.tasks
    corrected = model.stage.task_seconds
    waves = np.asarray(tasks / lanes)
    relative_warm_up = 1.0 if model.warm_up is None else float(model.warm_up.mean(waves))
    censored = tasks - corrected.count
    censored_work = max(0.0, relative_warm_up * tasks - corrected.count) * model.mean_seconds
    if starts_executors(stage):
        censored_work += max(0, min(lanes, tasks) - corrected.count) * model.cold_excess
    all_times = _with_censored(corrected, model.warm, censored, censored_work)
    time_factor = (all_times.mean or 0.0) / (observed.mean or 1.0) if observed.total else 1.0
    changes: dict[str, Any] = {}
    for name in (field.name for field in fields(stage)):
        value = getattr(stage, name)
        if isinstance(value, Measure) and name not in _UNCHANGED:
            size_factor = time_factor if name in _TIMES else 1.0
            changes[name] = _scaled_measure(value, tasks / observed.count, size_factor)
    for name in STAGE_AMOUNTS:
        amount = getattr(stage, name)
        changes[name] = None if amount is None else amount * tasks / observed.count
    changes["task_seconds"] = all_times
    added_seconds = _seconds_left(stage, lanes, mean=model.mean_seconds, total=all_times.total)
    completed = stage.completed_seconds + added_seconds
    return replace(stage, completed_seconds=completed, **changes), added_seconds


def _with_censored(known: Measure, like: FloatArray, censored: int, total: float) -> Measure:
    """The times of known tasks and of so many censored ones, which take `total` seconds together
    and have the distribution of `like`, scaled."""
    scale = total / (censored * float(like.mean())) if like.any() else 1.0
    values = np.concatenate((known.quantiles, like * scale))
    mass = _mass((known.count, len(known.quantiles)), (censored, len(like)))
    order = np.argsort(values, kind="stable")
    count = known.count + censored
    points = _points(values[order], mass[order], min(count, EXACT_VALUES))
    return Measure(count, known.total + total, points)


def _mass(*groups: tuple[int, int]) -> FloatArray:
    """The number of tasks that each quantile stands for.

    Args:
        groups: numbers of tasks and of their quantiles, of which each stands for as many.
    """
    return np.concatenate([np.full(quantiles, tasks / quantiles) for tasks, quantiles in groups])


def _points(values: FloatArray, mass: FloatArray, count: int) -> tuple[float, ...]:
    """`count` evenly spaced quantiles of ascending weighted values."""
    at = (np.cumsum(mass) - 0.5 * mass) / float(mass.sum())
    wanted = (np.arange(count) + 0.5) / count
    return tuple(np.interp(wanted, at, values).tolist())


def _scaled_measure(measure: Measure, task_factor: float, size_factor: float) -> Measure:
    """The measure with `task_factor` as many tasks, each with `size_factor` times as much."""
    values = tuple(value * size_factor for value in measure.quantiles)
    count, total = round(measure.count * task_factor), measure.total * task_factor * size_factor
    return Measure(count, total, values)


def _seconds_left(stage: StageRun, lanes: int, *, mean: float, total: float) -> float:
    """Seconds that a stage would still have run, on the slots that it held when the log broke off:
    all slots where that is not known (executors may have come while it ran).

    Args:
        mean, total: seconds of one censored task, and of all tasks.
    """
    ended, running = stage.task_seconds, stage.running_seconds
    running_slots = min(lanes, stage.tasks - ended.count)
    if running is None:
        elapsed = RUNNING_ELAPSED_SHARE * mean * running_slots
    else:
        elapsed, running_slots = running.total, min(running.count, running_slots)
    return max(0.0, total - ended.total - elapsed) / running_slots


def censored_log_scale(run: Run) -> float:
    """Standard deviation of log time that censored tasks add.

    Per stage it is the larger of the error for as much more input, and the error of later tasks
    inferred from first ones (`first_tasks.py`); weighted by the stage's share of the run time."""
    all_tasks = with_all_tasks(run)
    if all_tasks is run:
        return 0.0
    observed = np.asarray([max(1, stage.task_seconds.count) for stage in run.stages])
    tasks = np.asarray([stage.tasks for stage in run.stages])
    doublings = np.log2(np.maximum(1.0, tasks / observed))
    models = stage_models(with_censored_times(run), run.cluster.slots or 1)
    late_scale = np.asarray([model.late_scale for model in models])
    start = np.asarray([stage.submitted_seconds for stage in all_tasks.stages])
    end = np.asarray([stage.completed_seconds for stage in all_tasks.stages])
    exclusive = exclusive_seconds(start, np.maximum(start, end))
    share = exclusive / max(all_tasks.seconds, float(exclusive.sum()))
    return float(share @ np.maximum(ERROR_PER_DOUBLING_INPUT * doublings, late_scale))


_UNFINISHED_REMEDY = "let the application end, or give the log of a run that did"

FROM_FIRST = ", hardly more than the first ones: how much of these was start-up is inferred too"


def _from_first_tasks(run: Run) -> bool:
    """Whether all tasks of a stage that ended may be the first ones on their slots."""
    slots = run.cluster.slots or 0
    return any(0 < s.task_seconds.count * s.task_cpus <= slots for s in censored_stages(run))


def partial_stages_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that the time of stages is inferred from part of their tasks; None where none is
    censored."""
    censored_runs = [run for run in runs if censored_stages(run)]
    stages = [stage for run in censored_runs for stage in censored_stages(run)]
    if not stages:
        return None
    tasks = sum(stage.tasks for stage in stages)
    ended = sum(stage.task_seconds.count for stage in stages)
    single = len(stages) == 1
    from_first = any(_from_first_tasks(run) for run in runs)
    return Notice(
        "stage-in-part",
        f"{len(stages)} {'stage was' if single else 'stages were'} seen in part: "
        f"{'its time is' if single else 'their times are'} inferred from the {ended} of {tasks} "
        f"tasks that ended{FROM_FIRST if from_first else ''}",
        _remedy(censored_runs),
    )


def _remedy(censored_runs: Sequence[Run]) -> str:
    """That of what their logs lack, where it is the same for all."""
    if all(run.complete and run.has_failed for run in censored_runs):
        return "give the log of a run that succeeded"
    notices = [notice for run in censored_runs for notice in run.notices]
    remedies = {notice.remedy for notice in notices if notice.code == "incomplete-log"}
    return remedies.pop() if len(remedies) == 1 else _UNFINISHED_REMEDY
