"""Planned training runs as text to paste: for `sparkplan collect`, for spark-submit, as JSON."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import engine

if TYPE_CHECKING:
    from engine import Experiment, Layout

APP = "--master yarn --deploy-mode client YOUR_APPLICATION --sample {fraction} --seed {seed}"
"""Placeholder for what follows spark-submit: how a job samples its input is up to the job."""

TARGETS = (
    ("collect", "one line for sparkplan collect: makes the runs, keeps their logs", ".sh"),
    ("spark-submit", "one submission for each run, to make them oneself", ".sh"),
    ("plan", "JSON for sparkplan collect --plan FILE", ".json"),
)


def collect_line(runs: Sequence[Experiment], layout: Layout | None) -> str:
    """The `sparkplan collect` command that makes these runs; the application is to be filled in."""
    arguments = ["sparkplan", "collect"]
    layout = _for_cores(runs, layout)
    for run in runs:
        where = str(run.nodes) if run.cores is None or run.nodes else f"{run.cores}c"
        arguments += ["--run", f"{where}@{run.fraction * 100:.6g}%"]
    arguments += ["--into", folder_of(runs)]
    if layout is not None:
        arguments += ["--executors-per-node", str(layout.executors_per_node)]
        arguments += ["--executor-cores", str(layout.executor_cores)]
        for key, value in _memory(layout).items():
            arguments += ["--conf", f"{key}={value}"]
    return shlex.join([*arguments, "--app", APP])


def _for_cores(runs: Sequence[Experiment], layout: Layout | None) -> Layout | None:
    """The layout for runs given in cores: executors of one core, each with its share of the
    memory."""
    if layout is None or all(run.nodes for run in runs):
        return layout
    memory, cores = layout.executor_memory_gib, layout.executor_cores
    share = None if memory is None else memory / cores
    beside = layout.beside.times(1.0 / cores) if layout.beside else None
    return engine.Layout(layout.executors_per_node * cores, 1, share, beside)


def folder_of(runs: Sequence[Experiment]) -> str:
    """A folder for the logs of runs on one type."""
    return f"runs-{re.sub(r'[^A-Za-z0-9_.-]', '-', runs[0].instance or 'training')}"


def _memory(layout: Layout) -> dict[str, str]:
    """Spark properties of an executor's memory: the heap in whole MiB, rounded down so that the
    container still fits, and what lies beside it where that exceeds Spark's default."""
    if layout.executor_memory_gib is None:
        return {}
    heap = {"spark.executor.memory": f"{int(layout.executor_memory_gib * 1024.0)}m"}
    return heap | (layout.beside.properties if layout.beside else {})


def render(target: str, runs: Sequence[Experiment], layout: Layout | None) -> str:
    """The runs as text for one of `TARGETS`.

    Raises:
        BadInput: for runs that cannot be submitted.
    """
    if target == "plan":
        return _plan(runs)
    lines = cluster_comments(runs)
    if target == "collect":
        return "\n".join([*lines, collect_line(runs, layout), *next_step_comments(runs)]) + "\n"
    folder = Path(folder_of(runs)).absolute()
    made = shlex.join(["mkdir", "-p", str(folder)])  # Spark does not make the folder of its logs
    submissions = _submissions(runs, layout, folder)
    return "\n".join([*lines, made, *submissions, *next_step_comments(runs)]) + "\n"


def cluster_comments(runs: Sequence[Experiment]) -> list[str]:
    """Comments on the cluster that the runs need."""
    nodes = max(run.nodes or 0 for run in runs)
    cores = max(run.cores or 0 for run in runs)
    named = engine.printable(runs[0].instance or "nodes")
    size = f"{nodes} x {named}" if nodes else f"{named} with {cores} cores for tasks"
    return [
        f"# on a cluster of {size}; a run with fewer takes part of it",
        "# replace YOUR_APPLICATION and its arguments; sample whole partitions of the input",
    ]


def next_step_comments(runs: Sequence[Experiment]) -> list[str]:
    """Comments on what to do with the logs: their type is named separately from that of other
    logs."""
    folder = folder_of(runs)
    if runs[0].instance is None:
        return [f"# then: sparkplan {folder}"]
    read = ["sparkplan", "profile", folder, "--ran-on", runs[0].instance, "-o", f"{folder}.yaml"]
    then = engine.printable(shlex.join(read))
    return [f"# then: {then}", f"# and add {folder}.yaml to the evidence"]


def _submissions(runs: Sequence[Experiment], layout: Layout | None, folder: Path) -> list[str]:
    layout = _for_cores(runs, layout)
    job = engine.Job(
        template=engine.template_of(APP),
        executors_per_node=layout.executors_per_node if layout else 1,
        executor_cores=layout.executor_cores if layout else 1,
        conf=_memory(layout) if layout else None,
    )
    planned = engine.training_runs(runs, job)
    return [
        shlex.join(outcome.command)
        for outcome in engine.collect_runs(planned, job, folder, dry_run=True)
    ]


def _plan(runs: Sequence[Experiment]) -> str:
    names = (
        "nodes", "fraction", "instance", "partitions", "cores", "iterations", "seconds", "usd",
    )  # fmt: skip
    entries = [{name: getattr(run, name) for name in names} for run in runs]
    return json.dumps({"plan": {"runs": entries}, "next": []}, indent=1) + "\n"
