"""Workflow YAML, `format: sparkplan-workflow/1`: jobs that wait for each other on one cluster.

A job is what was observed of it (event logs, profiles, samples) or a list of stages with explicit
amounts. Paths are relative to the file. docs/formats.md describes every key.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.catalog import InstanceType
from engine.errors import BadInput, UnknownName
from engine.files import read_text
from engine.models.boe.task_time import Step, TaskWork
from engine.models.boe.workflow import OwnNodes, Workflow, WorkflowJob
from engine.models.boe.workflow_course import Activity
from engine.profile import Profile
from engine.scheduling.drf import scheduler_named
from engine.sources.formats.workflow_values import (
    coefficient_of_variation,
    container_memory,
    core_count,
    instance_type,
    node_count,
    rate,
    task_bytes,
    task_duration,
    tasks,
)
from engine.sources.merge import merged_profile
from engine.sources.reader import WORKFLOW, Reader
from engine.sources.samples import sample_files, sample_named
from engine.text.located_yaml import Section
from engine.text.yaml_values import Schema, load

FORMAT = "sparkplan-workflow/1"
LARGEST_BYTES = 8 << 20
MOST_JOBS = 1000

SCHEMA: Schema = {
    "": frozenset({"format", "name", "scheduler", "cluster", "jobs"}),
    "cluster": frozenset({"nodes", "cores", "slots", "memory", "disk", "network"}),
    "jobs[]": frozenset(
        {"name", "after", "source", "sources", "ran_on", "input_size", "task_memory", "stages"}
    ),
    "jobs[].stages[]": frozenset(
        {
            "name",
            "tasks",
            "after",
            "task_cores",
            "task_memory",
            "load",
            "spread",
            "output_spread",
            "steps",
        }
    ),
    "jobs[].stages[].steps[]": frozenset({"cpu", "disk", "network"}),
}


def is_workflow(source: str | Path) -> bool:
    """Whether a source is a workflow file (or a workflow sample), by its content."""
    path = _path_of(str(source))
    if path is None:
        return False
    try:
        with path.open("rb") as file:
            return bool(WORKFLOW.search(file.read(1 << 16)))
    except OSError:
        return False


def read_workflow(source: str | Path, *, ran_on: InstanceType | None = None) -> Workflow:
    """The workflow in a file, with the evidence of its jobs.

    Args:
        ran_on: instance type for jobs that do not state their own.

    Raises:
        BadInput: in one line with `file:line`, for any invalid value.
        UnknownName: for an unknown key, job, stage, scheduler, sample or type.
    """
    path = _path_of(str(source))
    if path is None:
        raise BadInput(
            "no such file",
            where=str(source),
            remedy="give a workflow YAML, or the name of a sample",
        )
    text = read_text(path, most_bytes=LARGEST_BYTES)
    return parse_workflow(text, str(source), folder=path.parent, ran_on=ran_on)


def _path_of(source: str) -> Path | None:
    """The file behind a path or the name of a workflow sample; None where there is none."""
    try:
        path = Path(source)
        if path.is_file():
            return path
    except (OSError, ValueError):
        return None
    sample = sample_named(source)
    if sample is None or sample.kind != "workflow":
        return None
    return Path(str(sample_files(sample)[0]))


def parse_workflow(
    text: str, name: str, *, folder: Path | None = None, ran_on: InstanceType | None = None
) -> Workflow:
    """Parses a workflow; `name` is the file's name in errors, `folder` the base of relative paths.

    Raises:
        BadInput, UnknownName: as `read_workflow`.
    """
    located = load(text, name, SCHEMA)
    located.require_format(FORMAT)
    top = Section(located, located.value)
    scheduler = top.get("scheduler", str) or "drf"
    scheduler_named(scheduler, where=top.where_of("scheduler"))
    entries = top.sections("jobs")
    if len(entries) > MOST_JOBS:
        raise BadInput(f"more than {MOST_JOBS} jobs", where=top.where_of("jobs"))
    cache: dict[tuple[object, ...], Profile] = {}
    jobs = [_job(entry, folder, ran_on, cache) for entry in entries]
    return Workflow.of(
        top.get("name", str) or Path(name).stem,
        jobs,
        scheduler=scheduler,
        cluster=_cluster(top.section("cluster")),
        where=top.where_of("jobs"),
    )


def _cluster(entry: Section | None) -> OwnNodes | None:
    if entry is None:
        return None
    return OwnNodes(
        nodes=entry.need("nodes", node_count),
        cores=entry.need("cores", core_count),
        slots=entry.get("slots", node_count),
        memory_gib=entry.get("memory", container_memory),
        disk_bytes_per_second=entry.get("disk", rate),
        network_bytes_per_second=entry.get("network", rate),
    )


def _job(
    entry: Section,
    folder: Path | None,
    default: InstanceType | None,
    cache: dict[tuple[object, ...], Profile],
) -> WorkflowJob:
    name = entry.need("name", str)
    sources = (*entry.names("source"), *entry.names("sources"))
    memory = entry.get("task_memory", container_memory) or 0.0
    stages = _stages(entry.sections("stages"), memory)
    _check_job(entry, name, sources, stages)
    ran_on = entry.get("ran_on", instance_type) or default
    profile = None
    if sources:
        profile = _evidence(entry, sources, folder, ran_on, cache)
    elif entry.entries.get("input_size") is not None:
        raise BadInput(
            "input_size scales what was observed; stages say their own amounts",
            where=entry.where_of("input_size"),
            remedy="leave it out",
        )
    return WorkflowJob(
        name=name,
        after=entry.names("after"),
        profile=profile,
        stages=stages,
        workload=None if profile is None else entry.get("input_size", profile.workload_sized),
        memory_gib=memory,
        ran_on=ran_on,
        where=entry.where(),
    )


def _check_job(
    entry: Section, name: str, sources: Sequence[str], stages: Sequence[Activity]
) -> None:
    """Raises BadInput unless a job has either sources or stages."""
    if not sources and not stages:
        raise BadInput(
            f"job {name!r} has no tasks",
            where=entry.where(),
            remedy="give it a source (an event log, a profile, a sample) or stages",
        )
    if sources and stages:
        raise BadInput(
            f"job {name!r} has both a source and stages", where=entry.where_of("stages"),
            remedy="leave out one of them",
        )  # fmt: skip


def _evidence(
    entry: Section,
    sources: tuple[str, ...],
    folder: Path | None,
    ran_on: InstanceType | None,
    cache: dict[tuple[object, ...], Profile],
) -> Profile:
    """The profile of a job's sources; sources that several jobs name are read once."""
    where = entry.where_of("source" if "source" in entry.entries else "sources")
    named = tuple(_beside(source, folder, where) for source in sources)
    key = (named, ran_on)
    if key not in cache:
        reader = Reader(ran_on=ran_on)
        try:
            cache[key] = merged_profile(
                [contents for source in named for contents in reader.read(source)]
            )
        except BadInput as error:
            raise BadInput(
                f"{error.where}: {error.what}" if error.where else error.what,
                where=where,
                remedy=error.remedy,
            ) from None
    return cache[key]


def _beside(source: str, folder: Path | None, where: str) -> str:
    """The path relative to the workflow file, if that exists; else the source unchanged."""
    if source == "-":
        raise BadInput(
            "a job cannot be read from standard input", where=where, remedy="give a file"
        )
    if folder is not None:
        try:
            if (folder / source).exists():
                return str(folder / source)
        except OSError:
            return source
    return source


def _stages(entries: list[Section], memory_gib: float) -> tuple[Activity, ...]:
    """The stages in order; each depends on the previous one unless it names its dependencies."""
    activities: list[Activity] = []
    for index, entry in enumerate(entries):
        name = entry.get("name", str) or f"stage {index + 1}"
        known = [stage.name for stage in activities]
        if name in known:
            raise BadInput(f"two stages are named {name!r}", where=entry.where_of("name"))
        after = _waits_for(entry, known)
        activities.append(
            Activity(
                job=0,
                name=name,
                tasks=entry.need("tasks", tasks),
                work=_work(entry),
                after=after,
                cores=entry.get("task_cores", core_count) or 1.0,
                memory_gib=entry.get("task_memory", container_memory) or memory_gib,
                spread=entry.get("spread", coefficient_of_variation) or 0.0,
                output_spread=entry.get("output_spread", coefficient_of_variation) or 0.0,
            )
        )
    return tuple(activities)


def _waits_for(entry: Section, known: list[str]) -> tuple[int, ...]:
    """The stages that one waits for: those named under `after`, else the one before it; `known` are
    the names of those before it."""
    if "after" not in entry.entries:
        return (len(known) - 1,) if known else ()
    for other in entry.names("after"):
        if other not in known:
            raise UnknownName(
                "stage", other, known, where=entry.where_of("after"),
                remedy="a stage waits for stages that stand before it",
            )  # fmt: skip
    return tuple(known.index(other) for other in entry.names("after"))


def _work(entry: Section) -> TaskWork:
    steps = tuple(
        Step(
            step.get("cpu", task_duration) or 0.0,
            step.get("disk", task_bytes) or 0.0,
            step.get("network", task_bytes) or 0.0,
        )
        for step in entry.sections("steps")
    )
    work = TaskWork(entry.get("load", task_duration) or 0.0, steps)
    if work.load_seconds <= 0.0 and not any(sum(step) > 0.0 for step in steps):
        raise BadInput(
            "the tasks of this stage do nothing",
            where=entry.where(),
            remedy="give load, or steps such as {cpu: 20s, disk: 128MB}",
        )
    return work
