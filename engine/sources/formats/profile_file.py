"""Reads and writes profile YAML, `format: sparkplan-profile/1`: strict parsing, atomic writing.

A file contains the fields of a `Profile` without defaults and unknowns. Reading it back gives an
equal profile, and writing that gives the same text. docs/formats.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from math import nan
from pathlib import Path
from typing import Any

import msgspec

from engine.catalog import InstanceType
from engine.cluster import BesideHeap, Cluster, NodeGroup, Workload
from engine.errors import BadInput, UnknownName
from engine.files import write_text
from engine.profile import CATEGORIES, MOST_SECONDS, Profile, Run
from engine.sources.formats.profile_checks import check_optex, check_run, check_shape, checked
from engine.sources.formats.profile_schema import (
    BESIDE_KEYS,
    FORMAT,
    SCHEMA,
    Document,
    GroupEntry,
    RunEntry,
    keys_of,
)
from engine.sources.formats.profile_text import format_profile
from engine.sources.source_contents import SourceContents, from_profile
from engine.stage_run import Measure, StageRun
from engine.text.yaml_values import STAND_IN, Located, load


def contents(text: str, source: str) -> SourceContents:
    """The contents of a profile file; arguments and errors as of `parse`."""
    return from_profile(parse(text, source), Path(source).name)


def parse(text: str, name: str) -> Profile:
    """Parses the text of a profile file; `name` is the file's name in errors.

    Raises:
        BadInput: with `file:line`, for a wrong key, type or value.
    """
    without, measures = _cut_measures(text)
    located = load(without, name, SCHEMA, measures)
    located.require_format(FORMAT)
    _default_instance_types(located)
    try:
        document = msgspec.convert(located.value, Document, strict=False)
    except msgspec.ValidationError as error:
        raise _validation_error(str(error), located) from None
    except BadInput as error:
        raise BadInput(
            error.what, where=_contradiction_location(located), remedy=error.remedy
        ) from None
    if document.category is not None and document.category not in CATEGORIES:
        where = located.where("category")
        raise UnknownName("category", document.category, CATEGORIES, where=where)
    checked(document, ("deadline_seconds",), located, "", above=0.0, most=MOST_SECONDS)
    for index, job in enumerate(document.optex):
        check_optex(job, located, f"optex[{index}]")
    types = {key: _instance_type(key, located) for key in document.instance_types}
    runs = tuple(
        _run(entry, types, located, f"runs[{index}]") for index, entry in enumerate(document.runs)
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


def _cut_measures(text: str) -> tuple[str, list[dict[str, Any]]]:
    """The text with a placeholder for each measure as `write_profile` writes it, and the measures.
    They make up most of a file and are parsed faster without YAML."""
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


def _default_instance_types(located: Located) -> None:
    """Sets a missing `instance_type` of OptEx job profiles to None: their nodes are unnamed."""
    jobs = located.value.get("optex")
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            job.setdefault("instance_type", None)


_IN_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "empty",
    "object": "a mapping (key: value)",
    "str": "a text",
}
"""The kinds of values as msgspec names them, in words."""

_KIND = f"(?:{'|'.join(_IN_WORDS)})"
_KINDS = re.compile(rf"Expected `({_KIND}(?: \| {_KIND})*)`, got `({_KIND})`")

_SOME_KEY = "[...]"
"""How msgspec writes a key of a mapping of any keys: it does not say which."""

_PATH = re.compile(r" - at `\$\.?(.*)`$")


def _validation_error(message: str, located: Located, *, below: str = "") -> BadInput:
    """The error for a msgspec message, with the line in the file in place of the path."""
    match = _PATH.search(message)
    path = ".".join(part for part in (below, match[1] if match else "") if part)
    what = message[: match.start()] if match else message
    key = path.removesuffix(_SOME_KEY).rpartition(".")[2] or "the file"
    if path.endswith(_SOME_KEY):
        key = f"a value of {key}"
    missing = re.match(r"Object missing required field `(\w+)`", what)
    if missing:
        return BadInput(f"{missing[1]} is missing", where=located.where(path))
    kinds = _KINDS.fullmatch(what)
    if kinds:
        wanted = " or ".join(_IN_WORDS[kind] for kind in kinds[1].split(" | ") if kind != "null")
        value = _value_at(path, located.value)
        given = repr(value) if isinstance(value, str) else _IN_WORDS[kinds[2]]
        return BadInput(f"{key} must be {wanted}, not {given}", where=located.where(path))
    return BadInput(f"{key}: {what[:1].lower()}{what[1:]}", where=located.where(path))


def _value_at(path: str, value: Any) -> Any:
    """The value at a path such as `runs[0].seconds`; None where msgspec leaves its keys out."""
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal():
            value = value[int(step)]
        else:
            return None
    return value


def _contradiction_location(located: Located) -> str:
    """`file:line` of the first stage or measure with contradictory values, for which msgspec gives
    no path."""
    for index, run in enumerate(located.value["runs"]):
        for number, stage in enumerate(run.get("stages", ())):
            path = f"runs[{index}].stages[{number}]"
            for key, value in stage.items():
                if _contradicts(value, Measure):
                    return located.where(f"{path}.{key}")
            if _contradicts(stage, StageRun):
                return located.where(path)
    return located.name


def _contradicts(value: Any, kind: type) -> bool:
    try:
        msgspec.convert(value, kind, strict=False)
    except BadInput:
        return True
    except msgspec.ValidationError:
        return False
    return False


def _instance_type(name: str, located: Located) -> InstanceType:
    """An instance type; missing values are unknown."""
    path = f"instance_types.{name}"
    entry = located.value["instance_types"][name]
    known = keys_of(InstanceType) - {"name"}
    for key in entry:
        if key not in known:
            raise UnknownName("key", key, known, where=located.where(f"{path}.{key}"))
    try:
        shape = {"vcpus": nan, "memory_gib": nan, **entry, "name": name}
        instance = msgspec.convert(shape, InstanceType, strict=False)
    except msgspec.ValidationError as error:
        raise _validation_error(str(error), located, below=path) from None
    check_shape(instance, located, path)
    return instance


def _run(entry: RunEntry, types: Mapping[str, InstanceType], located: Located, path: str) -> Run:
    check_run(entry, located, path)
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
    """Writes a profile file atomically, through a temporary file next to it.

    Raises:
        BadInput: when it cannot be written.
    """
    write_text(path, format_profile(profile))
