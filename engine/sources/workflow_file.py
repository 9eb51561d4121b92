"""Workflow YAML, `format: sparkplan-workflow/1`: jobs that wait for each other on one cluster.

A job is what was observed of it (event logs, profiles, samples) or a list of stages with explicit
amounts. Paths are relative to the file. docs/formats.md describes every key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import BadInput, UnknownName
from engine.files import unreadable
from engine.models.boe.task_time import Step, TaskWork
from engine.models.boe.workflow import ExplicitStage, OwnNodes, Workflow, WorkflowJob
from engine.profile import Profile
from engine.scheduling.drf import scheduler_named
from engine.sources.merge import together
from engine.sources.reader import WORKFLOW, Reader
from engine.sources.samples import sample_files, sample_named
from engine.sources.workflow_values import (
    container_memory,
    core_count,
    input_bytes,
    input_times,
    instance_type,
    node_count,
    rate,
    share,
    task_bytes,
    task_duration,
    tasks,
)
from engine.text.yaml_values import Located, Schema, load

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

T = TypeVar("T")


def is_workflow(source: str | Path) -> bool:
    """Whether a source is a workflow file (or the sample of one), told by its content."""
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
        ran_on: type of the nodes of jobs that do not say it themselves.

    Raises:
        BadInput: in one line with `file:line`, for anything that cannot be used.
        UnknownName: for an unknown key, job, stage, scheduler, sample or type.
    """
    path = _path_of(str(source))
    if path is None:
        raise BadInput(
            "no such file",
            where=str(source),
            remedy="give a workflow YAML, or the name of a sample",
        )
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadInput(f"is larger than {LARGEST_BYTES >> 20} MiB", where=str(path))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(error, path) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start} is not UTF-8", where=str(path)) from None
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
    """The workflow in `text`; `name` is what errors call the file, `folder` what paths start at.

    Raises:
        BadInput, UnknownName: as `read_workflow`.
    """
    located = load(text, name, SCHEMA)
    located.require_format(FORMAT)
    top = _Reader(located, "")
    scheduler = top.text("scheduler") or "drf"
    scheduler_named(scheduler, where=located.where("scheduler"))
    entries = top.listed("jobs")
    if len(entries) > MOST_JOBS:
        raise BadInput(f"more than {MOST_JOBS} jobs", where=located.where("jobs"))
    cache: dict[tuple[object, ...], Profile] = {}
    jobs = [_job(entry, folder, ran_on, cache) for entry in entries]
    return Workflow.of(
        top.text("name") or Path(name).stem,
        jobs,
        scheduler=scheduler,
        cluster=_cluster(located),
        where=located.where("jobs"),
    )


class _Reader:
    """A mapping of the file at `path`, whose values are read by key."""

    def __init__(self, located: Located, path: str) -> None:
        self.located, self.path = located, path
        value: Any = located.value
        for part in re.findall(r"[^.\[\]]+", path):
            value = value[int(part)] if isinstance(value, list) else value[part]
        if not isinstance(value, dict):
            raise BadInput("must be a mapping (key: value)", where=located.where(path))
        self.value: Mapping[str, Any] = value

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def where(self, name: str = "") -> str:
        return self.located.where(self.key(name) if name else self.path)

    def text(self, name: str) -> str | None:
        """A plain value; None where it is absent or empty."""
        value = self.value.get(name)
        if isinstance(value, dict | list):
            raise BadInput(f"{name} must be a plain value", where=self.where(name))
        return None if value is None else str(value)

    def get(self, name: str, parse: Callable[[str], T]) -> T | None:
        """A plain value through a parser, whose error gets the line."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except BadInput as error:
            raise BadInput(
                f"{name}: {error.what}", where=self.where(name), remedy=error.remedy
            ) from None

    def need(self, name: str, parse: Callable[[str], T]) -> T:
        value = self.get(name, parse)
        if value is None:
            raise BadInput(f"{name} is missing", where=self.where())
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """A list of plain values, or one of them."""
        value = self.value.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            value = [value]
        if any(not isinstance(entry, str) for entry in value):
            raise BadInput(f"{name} must be a list of names", where=self.where(name))
        return tuple(value)

    def listed(self, name: str) -> list[_Reader]:
        """A list of mappings."""
        value = self.value.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadInput(f"{name} must be a list", where=self.where(name))
        return [_Reader(self.located, f"{self.key(name)}[{i}]") for i in range(len(value))]


def _cluster(located: Located) -> OwnNodes | None:
    if located.value.get("cluster") is None:
        return None
    entry = _Reader(located, "cluster")
    return OwnNodes(
        nodes=entry.need("nodes", node_count),
        cores=entry.need("cores", core_count),
        slots=entry.get("slots", node_count),
        memory_gib=entry.get("memory", container_memory),
        disk_bytes_per_second=entry.get("disk", rate),
        network_bytes_per_second=entry.get("network", rate),
    )


def _job(
    entry: _Reader,
    folder: Path | None,
    default: InstanceType | None,
    cache: dict[tuple[object, ...], Profile],
) -> WorkflowJob:
    name = entry.need("name", str)
    sources = (*entry.names("source"), *entry.names("sources"))
    memory = entry.get("task_memory", container_memory) or 0.0
    stages = _stages(entry.listed("stages"), memory)
    if not sources and not stages:
        raise BadInput(
            f"job {name!r} has no tasks",
            where=entry.where(),
            remedy="give it a source (an event log, a profile, a sample) or stages",
        )
    if sources and stages:
        raise BadInput(
            f"job {name!r} has both a source and stages", where=entry.where("stages"),
            remedy="leave out one of them",
        )  # fmt: skip
    ran_on = entry.get("ran_on", instance_type) or default
    profile = None
    if sources:
        profile = _evidence(entry, sources, folder, ran_on, cache)
    elif entry.text("input_size") is not None:
        raise BadInput(
            "input_size scales what was observed; stages say their own amounts",
            where=entry.where("input_size"),
            remedy="leave it out",
        )
    return WorkflowJob(
        name=name,
        after=entry.names("after"),
        profile=profile,
        stages=stages,
        workload=_workload(entry, profile) if profile is not None else None,
        memory_gib=memory,
        ran_on=ran_on,
        where=entry.where(),
    )


def _evidence(
    entry: _Reader,
    sources: tuple[str, ...],
    folder: Path | None,
    ran_on: InstanceType | None,
    cache: dict[tuple[object, ...], Profile],
) -> Profile:
    """What the sources of a job hold; sources that several jobs name are read once."""
    place = entry.where("source" if "source" in entry.value else "sources")
    named = tuple(_beside(source, folder, place) for source in sources)
    key = (named, ran_on)
    if key not in cache:
        reader = Reader(ran_on=ran_on)
        try:
            cache[key] = together([found for source in named for found in reader.read(source)])
        except BadInput as error:
            raise BadInput(
                f"{error.where}: {error.what}" if error.where else error.what,
                where=place,
                remedy=error.remedy,
            ) from None
    return cache[key]


def _beside(source: str, folder: Path | None, where: str) -> str:
    """A path relative to the file, where there is such a file; else what it says."""
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


def _workload(entry: _Reader, profile: Profile) -> Workload | None:
    text = entry.text("input_size")
    if text is None:
        return None
    times = entry.get("input_size", input_times)
    if times is not None:
        return profile.workload_at(times)
    reference = profile.reference_workload
    if reference.input_bytes is None:
        raise BadInput(
            "the runs do not say how large their input was",
            where=entry.where("input_size"),
            remedy="give a factor such as 2x (times the largest run)",
        )
    largest = reference.input_bytes
    size = entry.need("input_size", lambda text: input_bytes(text, largest))
    return Workload(size, reference.iterations, reference.parameters)


def _stages(entries: list[_Reader], memory_gib: float) -> tuple[ExplicitStage, ...]:
    """Stages in their order; each waits for the one before it, unless it says for which."""
    found: list[ExplicitStage] = []
    for place, entry in enumerate(entries):
        name = entry.text("name") or f"stage {place + 1}"
        known = [stage.name for stage in found]
        if name in known:
            raise BadInput(f"two stages are named {name!r}", where=entry.where("name"))
        after: tuple[int, ...] = (place - 1,) if place else ()
        if "after" in entry.value:
            for other in entry.names("after"):
                if other not in known:
                    raise UnknownName(
                        "stage", other, known, where=entry.where("after"),
                        remedy="a stage waits for stages that stand before it",
                    )  # fmt: skip
            after = tuple(known.index(other) for other in entry.names("after"))
        found.append(
            ExplicitStage(
                name=name,
                tasks=entry.need("tasks", tasks),
                work=_work(entry),
                after=after,
                cores=entry.get("task_cores", core_count) or 1.0,
                memory_gib=entry.get("task_memory", container_memory) or memory_gib,
                spread=entry.get("spread", share) or 0.0,
                output_spread=entry.get("output_spread", share) or 0.0,
            )
        )
    return tuple(found)


def _work(entry: _Reader) -> TaskWork:
    steps = tuple(
        Step(
            step.get("cpu", task_duration) or 0.0,
            step.get("disk", task_bytes) or 0.0,
            step.get("network", task_bytes) or 0.0,
        )
        for step in entry.listed("steps")
    )
    work = TaskWork(entry.get("load", task_duration) or 0.0, steps)
    if work.load_seconds <= 0.0 and not any(sum(step) > 0.0 for step in steps):
        raise BadInput(
            "the tasks of this stage do nothing",
            where=entry.where(),
            remedy="give load, or steps such as {cpu: 20s, disk: 128MB}",
        )
    return work
