"""Planned runs as spark-submit commands: the application's template, filled in for each run."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadInput

if TYPE_CHECKING:
    from engine.experiments.plans import Experiment

PLACEHOLDERS = (
    "fraction", "percent", "nodes", "executors", "executor_cores", "total_cores", "partitions",
    "iterations", "instance", "seed", "name",
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")

MOST_RUNS = 10_000


@dataclass(frozen=True)
class Job:
    """How the application is submitted.

    Args:
        template: everything after `spark-submit`, with placeholders such as {fraction}.
        executors_per_node, executor_cores: the layout of executors.
        conf: further Spark settings.
    """

    template: tuple[str, ...]
    spark_submit: str = "spark-submit"
    executors_per_node: int = 1
    executor_cores: int = 1
    conf: Mapping[str, str] | None = None


@dataclass(frozen=True)
class TrainingRun:
    """One run to submit: its name in the folder, and the values of its placeholders."""

    name: str
    experiment: Experiment
    seed: int
    values: Mapping[str, str]


def template_of(text: str) -> tuple[str, ...]:
    """The application's template as words.

    Raises:
        BadInput: for an empty template, unbalanced quotes, or an unknown placeholder.
    """
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(f"the template cannot be read: {error}", where="--app") from None
    if not arguments:
        raise BadInput("the application is empty", where="--app")
    for name in _PLACEHOLDER.findall(text):
        if name not in PLACEHOLDERS:
            raise BadInput(f"unknown placeholder {{{name}}}", where="--app", choices=PLACEHOLDERS)
    return arguments


def experiments_in(text: str, *, where: str) -> tuple[Experiment, ...]:
    """The runs of a plan, as `sparkplan experiments --json` prints it.

    Raises:
        BadInput: for any other text.
    """
    try:
        content = json.loads(text)
        plan = content["plan"] or {"runs": content["next"]}
        runs = tuple(_experiment(entry) for entry in plan["runs"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise BadInput(
            "is not a plan of runs",
            where=where,
            remedy="make one: sparkplan experiments ... --json",
        ) from None
    if not runs:
        raise BadInput("the plan holds no run", where=where)
    return runs


def _experiment(entry: Mapping[str, Any]) -> Experiment:
    from engine.experiments.plans import Experiment  # loads numpy; the placeholders need none

    fraction, iterations = _number(entry["fraction"]), entry.get("iterations")
    nodes, cores, instance = entry.get("nodes"), entry.get("cores"), entry.get("instance")
    if not fraction <= 1.0 or (nodes is None and cores is None):
        raise ValueError
    if instance is not None and not isinstance(instance, str):
        raise ValueError
    return Experiment(
        nodes=None if nodes is None else _count(nodes),
        fraction=fraction,
        instance=instance,
        partitions=None if entry.get("partitions") is None else _count(entry["partitions"]),
        cores=None if cores is None else _count(cores),
        iterations=None if iterations is None else _number(iterations),
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not 0.0 < float(value) < math.inf:
        raise ValueError
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError
    return int(value)


def training_runs(
    experiments: Sequence[Experiment], job: Job, *, repeat: int = 1
) -> tuple[TrainingRun, ...]:
    """Every experiment `repeat` times, each time with its own seed (SimCost draws each sample
    anew). Equal experiments count as repetitions.

    Raises:
        BadInput: for cores that do not divide into executors, a placeholder for which the
            experiment has no value, and too many runs.
    """
    if len(experiments) * repeat > MOST_RUNS:
        raise BadInput(f"more than {MOST_RUNS:,} runs", remedy="plan fewer")
    seen: dict[str, int] = {}
    runs = []
    for experiment in experiments:
        for _ in range(repeat):
            stem = _stem(experiment)
            seed = seen[stem] = seen.get(stem, 0) + 1
            runs.append(_training_run(experiment, job, f"{stem}-seed{seed}", seed))
    return tuple(runs)


def _stem(experiment: Experiment) -> str:
    parts = [] if experiment.nodes is None else [f"nodes{experiment.nodes}"]
    parts += [] if experiment.cores is None else [f"cores{experiment.cores}"]
    parts += [f"input{experiment.fraction * 100:.6g}pc"]
    if experiment.iterations is not None:
        parts.append(f"iter{experiment.iterations:.10g}")
    if experiment.instance is not None:
        parts.insert(0, re.sub(r"[^\w.-]", "_", experiment.instance).lstrip("."))
    return "-".join(parts)


def _training_run(experiment: Experiment, job: Job, name: str, seed: int) -> TrainingRun:
    if experiment.cores is not None:
        executors, rest = divmod(experiment.cores, job.executor_cores)
        if rest:
            raise BadInput(
                f"{experiment.cores} cores do not divide into executors of {job.executor_cores}",
                where="--executor-cores",
            )
    else:
        executors = (experiment.nodes or 1) * job.executors_per_node
    known: dict[str, object | None] = {
        "fraction": f"{experiment.fraction:.10g}",
        "percent": f"{experiment.fraction * 100:.10g}",
        "nodes": experiment.nodes,
        "executors": executors,
        "executor_cores": job.executor_cores,
        "total_cores": executors * job.executor_cores,
        "partitions": experiment.partitions,
        "iterations": None if experiment.iterations is None else f"{experiment.iterations:.10g}",
        "instance": experiment.instance,
        "seed": seed,
        "name": name,
    }
    values = {key: str(value) for key, value in known.items() if value is not None}
    for placeholder in _PLACEHOLDER.findall(" ".join(job.template)):
        if placeholder not in values:
            raise BadInput(
                f"the plan does not say {placeholder}, which the template asks for",
                where="--app",
                remedy=f"make a plan that does, or leave {{{placeholder}}} out",
            )
    return TrainingRun(name, experiment, seed, values)


def command_of(run: TrainingRun, job: Job, log_folder: Path) -> tuple[str, ...]:
    """The words of one submission. Its event log is one plain file in `log_folder` and includes the
    sizes of cached blocks, without which it is unknown where a cache ceases to fit."""
    settings = {
        "spark.executor.instances": run.values["executors"],
        "spark.executor.cores": run.values["executor_cores"],
        "spark.cores.max": run.values["total_cores"],
        "spark.dynamicAllocation.enabled": "false",
        "spark.eventLog.logBlockUpdates.enabled": "true",
        **(job.conf or {}),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log_folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
    }
    confs = [
        argument for key, value in settings.items() for argument in ("--conf", f"{key}={value}")
    ]
    arguments = [
        _PLACEHOLDER.sub(lambda match: run.values.get(match[1], match[0]), argument)
        for argument in job.template
    ]
    return (job.spark_submit, *confs, *arguments)


def find_spark_submit(named: str | None) -> str:
    """The spark-submit to use: the one named, that of SPARK_HOME, or the one on the path.

    Raises:
        BadInput: when there is none.
    """
    home = os.environ.get("SPARK_HOME")
    wanted = named or (str(Path(home) / "bin" / "spark-submit") if home else "spark-submit")
    path = shutil.which(wanted)
    if path is None:
        raise BadInput(
            f"{wanted!r} is not a command that can be run",
            where="--spark-submit",
            remedy="name it with --spark-submit, or set SPARK_HOME",
        )
    return path
