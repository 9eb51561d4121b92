"""Profile YAML, `format: sparkplan-profile/1`: read strictly, written whole or not at all.

What is written is what a `Profile` holds, without defaults and unknowns, so that reading it back
gives an equal profile and writing that gives the same text. docs/formats.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Any

import msgspec

from engine.catalog import MOST_MEMORY_GIB, MOST_VCPUS, InstanceType
from engine.cluster import MOST_NODES, BesideHeap, Cluster, NodeGroup, Workload, checked_heap_gib
from engine.errors import BadInput, UnknownName
from engine.files import write_text
from engine.profile import CATEGORIES, STAGE_AMOUNTS, Profile, Run, StageRun
from engine.sources.profile_schema import (
    BESIDE_KEYS,
    FORMAT,
    SCHEMA,
    Document,
    GroupEntry,
    RunEntry,
    keys_of,
)
from engine.sources.profile_text import format_profile
from engine.yaml_values import STAND_IN, Located, load


def parse(text: str, name: str) -> Profile:
    """The profile in `text`; `name` is what errors call the file.

    Raises:
        BadInput: with `file:line`, for a wrong key, type or value.
    """
    without, measures = _without_measures(text)
    located = load(without, name, SCHEMA, measures)
    _check_format(located)
    _leave_unnamed(located)
    try:
        document = msgspec.convert(located.value, Document, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(str(error), located) from None
    except BadInput as error:
        raise BadInput(error.what, where=error.where or name, remedy=error.remedy) from None
    if document.category is not None and document.category not in CATEGORIES:
        where = located.where("category")
        raise UnknownName("category", document.category, CATEGORIES, where=where)
    types = {key: _instance_type(key, located) for key in document.instance_types}
    runs = tuple(
        _run(entry, types, located, f"runs[{place}]") for place, entry in enumerate(document.runs)
    )
    named = {name for run in runs for name in run.cluster.composition}
    return Profile(
        name=document.name,
        runs=runs,
        category=document.category,
        optex=document.optex,
        input_unit=document.input_unit,
        deadline_seconds=document.deadline_seconds,
        notices=document.notices,
        sources=document.sources,
        shapes=tuple(shape for name, shape in types.items() if name not in named),
    )


_MEASURE = re.compile(
    r"^(?P<key>[ ]+[a-z_]+: )\{count: (?P<count>\d{1,15}), total: (?P<total>[-+.\de]+), "
    r"quantiles: \[(?P<quantiles>[-+.\de, ]*)\]\}[ ]*$",
    re.MULTILINE,
)


def _without_measures(text: str) -> tuple[str, list[dict[str, Any]]]:
    """The text with a stand-in for each measure in the form that `write_profile` gives it."""
    measures: list[dict[str, Any]] = []

    def cut(match: re.Match[str]) -> str:
        try:
            measures.append(_measure(match))
        except ValueError:
            return match[0]
        return f"{match['key']}{STAND_IN} {len(measures) - 1}"

    return _MEASURE.sub(cut, text), measures


def _measure(match: re.Match[str]) -> dict[str, Any]:
    quantiles = match["quantiles"]
    values = [float(value) for value in quantiles.split(",")] if quantiles.strip() else []
    return {
        "count": int(match["count"]),
        "total": float(match["total"]),
        "quantiles": values,
    }


def _check_format(located: Located) -> None:
    found = located.value.get("format")
    if found != FORMAT:
        raise BadInput(
            f"format {found!r} is not read", where=located.where("format"),
            remedy=f"this version reads {FORMAT}",
        )  # fmt: skip


def _leave_unnamed(located: Located) -> None:
    """A job profile without `instance_type` is of nodes that nobody named."""
    jobs = located.value.get("optex")
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            job.setdefault("instance_type", None)


_PATH = re.compile(r" - at `\$\.?(.*)`$")


def _wrong(message: str, located: Located, *, below: str = "") -> BadInput:
    """msgspec's message, about something below a path, with the line instead of its path."""
    match = _PATH.search(message)
    path = ".".join(part for part in (below, match[1] if match else "") if part)
    what = message[: match.start()] if match else message
    key = path.rpartition(".")[2] or "the file"
    missing = re.match(r"Object missing required field `(\w+)`", what)
    if missing:
        return BadInput(f"{missing[1]} is missing", where=located.where(path))
    return BadInput(f"{key}: {what[:1].lower()}{what[1:]}", where=located.where(path))


def _instance_type(name: str, located: Located) -> InstanceType:
    """A shape; what it does not say is not known."""
    path = f"instance_types.{name}"
    entry = located.value["instance_types"][name] or {}
    known = keys_of(InstanceType) - {"name"}
    for key in entry:
        if key not in known:
            raise UnknownName("key", key, known, where=located.where(f"{path}.{key}"))
    try:
        shape = {"vcpus": nan, "memory_gib": nan, **entry, "name": name}
        found = msgspec.convert(shape, InstanceType, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(str(error), located, below=path) from None
    for key, most in (("vcpus", MOST_VCPUS), ("memory_gib", MOST_MEMORY_GIB)):
        value = getattr(found, key)
        if not isnan(value) and not 0.0 < value <= most:
            raise BadInput(
                f"{key} must be more than zero and at most {most:,.0f}, not {value:g}",
                where=located.where(f"{path}.{key}"),
                remedy="correct it, or leave it out where it is not known",
            )
    return found


def _run(entry: RunEntry, types: Mapping[str, InstanceType], located: Located, path: str) -> Run:
    _check_numbers(entry, located, path)
    return Run(
        seconds=entry.seconds,
        cluster=Cluster(
            groups=_groups(entry, types, located, path),
            executors=entry.executors,
            executor_cores=entry.executor_cores,
            executor_memory_gib=entry.executor_memory_gib,
            beside=BesideHeap(*(getattr(entry, key) for key in BESIDE_KEYS)) or None,
        ),
        workload=Workload(entry.input_size, entry.iterations, entry.parameters, entry.scale),
        **{name: getattr(entry, name) for name in _SHARED},
    )


def _check_numbers(entry: RunEntry, located: Located, path: str) -> None:
    """Sizes, counts and times must be more than zero and finite; what a log tells of memory may be
    none."""
    for name in _POSITIVE:
        value = getattr(entry, name)
        if value is not None and not (isfinite(value) and value > 0):
            raise BadInput(
                f"{name} must be more than zero, not {value:g}",
                where=located.where(f"{path}.{name}"),
            )
    for name in _COUNTS:
        if (getattr(entry, name) or 0) > MOST_NODES:
            raise BadInput(
                f"{name} must be at most {MOST_NODES:,}, not {getattr(entry, name)}",
                where=located.where(f"{path}.{name}"),
            )
    _check_amounts(entry, ("driver_seconds", *_MEMORY), located, path)
    for place, rdd in enumerate(entry.persisted_rdds):
        _check_amounts(rdd, ("stored_bytes",), located, f"{path}.persisted_rdds[{place}]")
    for place, stage in enumerate(entry.stages):
        _check_stage(stage, located, f"{path}.stages[{place}]")
    heap = entry.executor_memory_gib
    # Runs of a log keep what the log says: before Spark 1.6 an executor could have less.
    if heap is not None and entry.spark_version is None and not entry.stages:
        checked_heap_gib(
            heap, where=located.where(f"{path}.executor_memory_gib"),
            remedy="executor_memory_gib counts GiB: correct it, or leave it out",
        )  # fmt: skip
    for name, value in entry.parameters.items():
        if not isfinite(value):
            where = located.where(f"{path}.parameters.{name}")
            raise BadInput(f"{name} must be a number, not {value}", where=where)


def _check_amounts(entry: object, names: Sequence[str], located: Located, path: str) -> None:
    """These are finite and no less than zero, or not known."""
    for name in names:
        value = getattr(entry, name)
        if value is not None and not (isfinite(value) and value >= 0):
            raise BadInput(
                f"{name} must be at least 0, not {value:g}",
                where=located.where(f"{path}.{name}"),
                remedy="correct it, or leave it out where it is not known",
            )


def _check_stage(stage: StageRun, located: Located, path: str) -> None:
    """A stage has tasks, which hold cores: a log leaves out stages without any."""
    _check_amounts(stage, (*STAGE_AMOUNTS, *_FILES), located, path)
    _check_measures(stage, located, path)
    numbers = (
        ("tasks", "tasks", stage.tasks),
        ("task_cpus", "task_cpus", stage.task_cpus),
        ("count of task_seconds", "task_seconds", stage.task_seconds.count),
    )
    for name, key, number in numbers:
        if number < 1:
            raise BadInput(
                f"{name} must be at least 1, not {number}",
                where=located.where(f"{path}.{key}"),
                remedy="correct it, or leave out a stage that ran no task",
            )


def _check_measures(stage: StageRun, located: Located, path: str) -> None:
    """Amounts are none below zero, and no time is more than a log can tell."""
    correct = "correct it, or leave it out where it is not known"
    for name in _MEASURES:
        measure = getattr(stage, name)
        most = MOST_CLOCK_SECONDS if name.endswith("_seconds") else MOST_BYTES
        values = (
            () if measure is None else (measure.total / (measure.count or 1), *measure.quantiles)
        )
        if not all(0.0 <= value <= most for value in values):
            raise BadInput(
                f"{name} must lie between 0 and {most:g}",
                where=located.where(f"{path}.{name}"),
                remedy=correct,
            )
    for name in ("submitted_seconds", "completed_seconds"):
        if not abs(getattr(stage, name)) <= MOST_CLOCK_SECONDS:
            raise BadInput(
                f"{name} must be at most {MOST_CLOCK_SECONDS:g}, not {getattr(stage, name):g}",
                where=located.where(f"{path}.{name}"),
                remedy=correct,
            )
    if not all(0.0 < part <= MOST_CLOCK_SECONDS for part in stage.warm_up):
        raise BadInput(
            "warm_up must be more than zero", where=located.where(f"{path}.warm_up"), remedy=correct
        )


_POSITIVE = (
    "seconds", "nodes", "price_usd_per_hour", "executors", "executor_cores",
    "executor_memory_gib", *BESIDE_KEYS, "input_size", "iterations", "scale",
)  # fmt: skip
MOST_CLOCK_SECONDS = 1e16
"""Milliseconds in 64 bits, as Spark writes them, end before."""
MOST_BYTES = 1e20
"""Bytes in 64 bits, as Spark writes them, end before, and so do sums of some: what is read from a
log, damaged counts included, can be read from its profile."""
_COUNTS = ("nodes", "executors", "executor_cores")
_MEASURES = tuple(f.name for f in fields(StageRun) if "Measure" in str(f.type))
_FILES = ("files_bytes", "files_read")
_MEMORY = ("storage_memory_bytes", "cached_bytes")
_SHARED = tuple(f.name for f in fields(Run) if f.name in keys_of(RunEntry) and f.name != "seconds")


def _groups(
    entry: RunEntry, types: Mapping[str, InstanceType], located: Located, path: str
) -> tuple[NodeGroup, ...]:
    groups = entry.groups
    if entry.nodes is not None:
        own = GroupEntry(
            nodes=entry.nodes,
            instance_type=entry.instance_type,
            price_usd_per_hour=entry.price_usd_per_hour,
        )
        groups = (own, *groups)
    elif entry.instance_type is not None:
        raise BadInput("nodes is missing", where=located.where(f"{path}.instance_type"))
    return tuple(
        NodeGroup(group.nodes, _named(group.instance_type, types), group.price_usd_per_hour)
        for group in groups
    )


def _named(name: str | None, types: Mapping[str, InstanceType]) -> InstanceType | None:
    if name is None:
        return None
    return types.get(name) or InstanceType(name, nan, nan)


def write_profile(profile: Profile, path: str | Path) -> None:
    """Writes a profile file: to a temporary file beside it, which then takes its name.

    Raises:
        BadInput: when it cannot be written.
    """
    write_text(path, format_profile(profile))
