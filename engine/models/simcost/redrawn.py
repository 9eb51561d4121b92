"""SimCost's simulation of a log (4.1): its time when its tasks are drawn again."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.simcost.learning import RunCosts
from engine.models.simcost.sampling import CONFIDENCE, EPSILON, Estimate, draw, simulate

MOST_DRAWN = 201
"""Tasks that are drawn per stage and round; the spread of the mean of more follows from theirs."""


def simulated(run: RunCosts) -> Estimate:
    """4.1: a run's time when its tasks are drawn again from those observed, with replacement, until
    the stopping rule holds."""
    estimate = simulate(partial(_redrawn, run), epsilon=EPSILON, confidence=CONFIDENCE)
    return replace(estimate, mean=max(estimate.mean, 1e-9))


def _redrawn(run: RunCosts, rounds: int, seed: int) -> FloatArray:
    """(rounds,) seconds of the run, each with the tasks of every stage drawn anew."""
    seconds = np.full(rounds, run.run.seconds)
    for pool in run.pools:
        tasks = sum(shape.stage.tasks * shape.stage.task_cpus for shape in pool)
        waves = math.ceil(tasks / run.slots)
        for shape in pool:
            stage = shape.stage
            values = np.asarray(stage.task_seconds.quantiles)
            if not len(values):
                continue
            size = min(stage.tasks, MOST_DRAWN)
            places = draw(
                partitions=len(values), probability=min(1.0, size / len(values)),
                seed=(seed, stage.stage_id), rounds=rounds,
            )  # fmt: skip
            off = values[places].mean(axis=1) - values.mean()
            seconds += (
                waves
                * off
                * (stage.tasks * stage.task_cpus / tasks)
                * math.sqrt(size / stage.tasks)
            )
    return np.asarray(np.maximum(seconds, run.overhead_seconds + 1e-3))
