"""Run times and logs that tests of sparkplan share, and how they ask of them."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from made_runs import BLOCK, Job, Stage, observed

from engine.cluster import Cluster, Workload
from engine.models import MODELS
from engine.models.base import FittedModel, Prediction
from engine.models.sparkplan import Sparkplan
from engine.notices import Notice
from engine.profile import Profile, Run

BY_NAME = {model.name: model for model in MODELS}
GRID = [(count, size) for count in (2, 4, 8, 16) for size in (0.5, 1.0)]


def fit(*runs: Run) -> FittedModel:
    return Sparkplan().fit(Profile("job", runs), models=BY_NAME)


def width(found: Prediction) -> float:
    """Of an interval, in log time."""
    return math.log(found.high / found.low)


def codes(warnings: Iterable[Notice]) -> set[str]:
    return {notice.code for notice in warnings}


def nodes(count: int, instance: str = "m") -> Cluster:
    return Cluster.of_nodes(instance_type=instance, nodes=count, vcpus=4.0, memory_gib=16.0)


def run(count: int, size: float = 1.0, *, instance: str = "m", **parameters: float) -> Run:
    """30 s serial, 600 s of work per unit of size shared by the nodes, times k^0.5 and 2^p."""
    factor = parameters.get("k", 1.0) ** 0.5 * 2.0 ** parameters.get("p", 0.0)
    seconds = (30.0 + 600.0 * size / count) * factor
    return Run(seconds, nodes(count, instance), Workload(size, parameters=parameters))


def executors(slots: int) -> Cluster:
    return Cluster.of_executors(executors=slots, executor_cores=1)


def job(scale: float = 1.0, *, slow: float = 1.0) -> tuple[list[Stage], list[Job]]:
    """240 tasks read and 80 aggregate at scale 1, after 5 s of the driver."""
    random = np.random.default_rng(11)
    count = round(240 * scale)
    return [
        Stage(random.gamma(16.0, 0.25, count) * slow, input_bytes=count * BLOCK),
        Stage(random.gamma(16.0, 0.1, 80) * scale * slow, (0,), shuffle_bytes=1e9 * scale),
    ], [Job((), 5.0)]


def run_of(slots: int, scale: float = 1.0, *, slow: float = 1.0) -> Run:
    stages, jobs = job(scale, slow=slow)
    return observed(stages, jobs, slots=slots, tail_seconds=1.0)


def noisy(one: Run, scatter: float, random: np.random.Generator) -> Run:
    """The run with another time: `scatter` is the standard deviation of its log."""
    return replace(one, seconds=one.seconds * float(np.exp(scatter * random.normal())))
