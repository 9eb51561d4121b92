"""Runs of applications as PERIDOT assumes them, with known parameters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from made_runs import Job, Stage, observed, simulated

from engine.cluster import Cluster
from engine.models import MODELS
from engine.models.peridot.model import Peridot, PeridotFitted
from engine.notices import Notice
from engine.profile import Profile, Run

BY_NAME = {model.name: model for model in MODELS}


# Table II: application -> (parallel groups, variable groups, fixed groups, stages in a parallel
# one). In the SQL queries the parallel group is the variable one.
TABLE_2 = {
    "Wc": (0, 2, 0, 1),
    "Mm": (0, 1, 1, 1),
    "So": (0, 2, 0, 1),
    "Co": (0, 22, 31, 1),
    "Lr": (0, 6, 3, 1),
    "Q26": (1, 1, 30, 5),
    "Q52": (1, 1, 28, 3),
    "Q64": (1, 1, 60, 15),
}


REFERENCE_CORES, REFERENCE_SIZES = 5, (1.0, 2.0)


BLOCKS_PER_GB = 10


def fit(*runs: Run) -> PeridotFitted:
    fitted = Peridot().fit(Profile("job", runs), models=BY_NAME)
    assert isinstance(fitted, PeridotFitted)
    return fitted


def executors(cores: int) -> Cluster:
    return Cluster.of_executors(executors=cores, executor_cores=1)


def application(
    size: float, *, variable: int = 2, fixed: int = 1, parallel: int = 1, noise: float = 0.0
) -> tuple[list[Stage], list[Job]]:
    """Variable and fixed groups, each a job of its own, the variable ones of `parallel` stages."""
    random = np.random.default_rng(7)
    stages, jobs = [], []
    for number in range(variable + fixed):
        jobs.append(Job((number - 1,) if number else (), 0.3))
        if number < variable:
            tasks = round(BLOCKS_PER_GB * size)
            each = [2.0 + 0.1 * number] * parallel
        else:
            tasks, each = 4, [0.4]
        for seconds in each:
            noisy = seconds * np.exp(noise * random.normal(size=tasks))
            stages.append(Stage(noisy, job=number, input_bytes=1.0))
    return stages, jobs


def run_of(size: float, cores: int = REFERENCE_CORES, **groups: Any) -> Run:
    stages, jobs = application(size, **groups)
    found = observed(stages, jobs, slots=cores, tail_seconds=1.0, input_bytes=size)
    return replace(found, source=f"{size:g} GB on {cores}", application="app")


def truth(size: float, cores: int, **groups: Any) -> float:
    stages, jobs = application(size, **groups)
    return float(simulated(stages, jobs, slots=cores, tail_seconds=1.0)[0])


def references(**groups: Any) -> list[Run]:
    return [run_of(size, **groups) for size in REFERENCE_SIZES]


def codes(notices: Sequence[Notice]) -> set[str]:
    return {notice.code for notice in notices}


def slowed(run: Run, factor: float) -> Run:
    """The run with all its times multiplied."""
    stages = tuple(
        replace(
            stage,
            submitted_seconds=factor * stage.submitted_seconds,
            completed_seconds=factor * stage.completed_seconds,
        )
        for stage in run.stages
    )
    return replace(run, seconds=factor * run.seconds, stages=stages)
