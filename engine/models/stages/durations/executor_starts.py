"""Separates the times of a stage's tasks from the start of executors, which first tasks on a slot
wait for, and from that of Python workers, which each task waits for that gets its own.

In: a stage as observed. Out: times of its tasks on warm and on cold slots, and how unevenly its
tasks read. Explained in docs/models/sparkplan_rules_replay.md#first-tasks-on-a-slot
and #task-times.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.profile import Run
from engine.stage_run import StageRun


def warm_and_cold(stage: StageRun) -> tuple[FloatArray, float, FloatArray]:
    """Separates the times of a stage's tasks from the start of executors.

    A first task on a slot is taken to be one like the others plus the start of its executor. Its
    data is independent of its slot, so a long task stays long on any slot.

    Returns:
        (q,) ascending times in seconds of all tasks on warm slots, which ran tasks before; their
        mean; and (q,) those on cold slots, empty where all tasks but too few were first tasks.
    """
    measure = stage.task_seconds
    values, first = np.asarray(measure.quantiles, dtype=float), first_task_seconds(stage)
    mean = measure.mean or 0.0
    min_later = 1 if read_skew(stage) <= EVEN_READ_FACTOR else MIN_WARM
    if not 0 < len(first) <= measure.count - min_later:
        return values, mean, np.empty(0)
    later = _without(times_from_quantiles(values, measure.count, mean), first)
    excess = _executor_start_seconds(first, later)
    longest = max(float(later.max()), float(later.mean()) * read_skew(stage))
    shortest = np.minimum(first, later.min())
    started = np.clip(first - excess, shortest, np.maximum(shortest, longest))
    warm = np.sort(np.concatenate((later, started)))
    return warm, float(warm.mean()), warm + excess


def first_task_seconds(stage: StageRun) -> FloatArray:
    """(k,) times of the tasks that were the first on their slot."""
    first = stage.first_wave_seconds
    if first is None or not first.count:
        return np.empty(0)
    return times_from_quantiles(
        np.asarray(first.quantiles, dtype=float), first.count, first.mean or 0.0
    )


def _executor_start_seconds(first: FloatArray, later: FloatArray) -> float:
    """Median time by which first tasks are longer than later ones of the same rank; the median
    keeps one long task from dominating."""
    ranks = (np.arange(len(first)) + 0.5) / len(first)
    return max(0.0, float(np.median(np.sort(first) - np.quantile(later, ranks))))


def read_skew(stage: StageRun) -> float:
    """Bytes read by the largest task over the mean. The time of a first task beyond this factor,
    and beyond all later tasks, is a slow start of its executor and not due to its data."""
    read = (stage.shuffle_read_bytes, stage.input_bytes)
    skews = [
        measure.maximum / measure.mean
        for measure in read
        if measure is not None and measure.maximum and measure.mean
    ]
    return max(skews, default=1.0)


MIN_WARM, EVEN_READ_FACTOR = 3, 1.25
"""Fewer warm tasks tell how an executor starts only if none reads more than so many times the mean:
else a first task may be long for its data."""


def _without(values: FloatArray, removed: FloatArray) -> FloatArray:
    """Sorted values without, for each of `removed`, the nearest that remains."""
    remaining = values.tolist()
    for value in np.sort(removed)[::-1].tolist():
        index = bisect_left(remaining, value)
        neighbours = [i for i in (index - 1, index) if 0 <= i < len(remaining)]
        remaining.pop(min(neighbours, key=lambda i: abs(remaining[i] - value)))
    return np.asarray(remaining)


REUSE = "spark.python.worker.reuse"

MOST_START = 0.95
"""Largest share of a task's time: workers that start side by side may report more time than their
tasks took."""


def start_share(run: Run, stage: StageRun) -> float:
    """Share of each task's time in which its own Python worker started and loaded code.

    With `spark.python.worker.reuse`, the default, a worker serves one task after another, and its
    start belongs to the warm-up of its slot (`warm_up.py`). Without it each task waits for a new
    worker, which imports the modules of the functions again, however much data the task has. The
    share is about the same in first and later tasks: what slows one down slows the other. 0 if
    workers are reused, or if the log does not tell how long they took.
    """
    started, slot_seconds = stage.python_start_seconds, stage.task_seconds.total
    if not started or slot_seconds <= 0.0 or run.config.get(REUSE, "true").lower() != "false":
        return 0.0
    return min(MOST_START, started / slot_seconds)


def without_start(stage: StageRun) -> StageRun:
    """A stage without its worker starts, which are no warm-up if each task has one."""
    return replace(stage, python_start_seconds=0.0)
