"""Time for which a slot stands idle between two tasks, of stages that do not tell it themselves.

A stage that ran alone tells it: what its tasks do not account for. One that shared its slots with
others does not, since between its tasks the slots ran theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray
from engine.stage_run import StageRun


def usual_idle(idle_seconds: FloatArray, stages: Sequence[StageRun], slots: int) -> FloatArray:
    """(s,) idle time before each task, as known or, where it is not, as is usual in the run.

    Args:
        idle_seconds: (s,) NaN for stages that did not run alone.

    What is usual is the median over the tasks of all stages that tell it and have more of them than
    slots: with few tasks it is not told from other things that delay a stage. It is no more than
    the run leaves room for: what of the slots' time the tasks of this stage and of those beside it
    did not take, over all of these tasks.
    """
    tasks = np.asarray([max(1, stage.tasks) for stage in stages], dtype=float)
    told = ~np.isnan(idle_seconds) & (tasks > slots)
    usual = _median(idle_seconds[told], tasks[told]) if told.any() else 0.0
    begins = np.asarray([stage.submitted_seconds for stage in stages])
    ends = np.maximum(begins, np.asarray([stage.completed_seconds for stage in stages]))
    held = np.asarray([stage.task_cpus * stage.task_seconds.total for stage in stages])
    free = np.maximum(0.0, slots * (ends - begins) - _between(begins, ends, held))
    cpus = np.asarray([stage.task_cpus for stage in stages])
    room = free / np.maximum(1.0, _between(begins, ends, cpus * tasks))
    return np.asarray(np.where(np.isnan(idle_seconds), np.minimum(usual, room), idle_seconds))


def _between(begins: FloatArray, ends: FloatArray, amounts: FloatArray) -> FloatArray:
    """(s,) how much falls between the begin and the end of each of s stages, of amounts that are
    spread evenly over theirs."""
    rates = amounts / np.maximum(ends - begins, SHORTEST_SECONDS)
    times = np.concatenate((begins, np.maximum(ends, begins + SHORTEST_SECONDS)))
    order = np.argsort(times)
    slopes = np.cumsum(np.concatenate((rates, -rates))[order])
    so_far = np.append(0.0, np.cumsum(slopes[:-1] * np.diff(times[order])))
    at = times[order]
    return np.asarray(np.interp(ends, at, so_far) - np.interp(begins, at, so_far))


SHORTEST_SECONDS = 1e-3
"""Logs tell times in milliseconds."""


def _median(values: FloatArray, weights: FloatArray) -> float:
    """The value up to which half of the weight lies."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, 0.5 * below[-1])])
