"""Formats a profile as YAML text: compact, without defaults and unknowns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from engine.catalog import InstanceType
from engine.cluster import BesideHeap, NodeGroup
from engine.profile import Profile, Run
from engine.sources.formats.profile_schema import BESIDE_KEYS, FORMAT, RunEntry


def format_profile(profile: Profile) -> str:
    """The text of a profile file."""
    lines = [f"format: {FORMAT}", f"name: {_scalar(profile.name)}"]
    for key in ("category", "deadline_seconds"):
        value = getattr(profile, key)
        if value is not None:
            lines.append(f"{key}: {_scalar(value)}")
    lines.insert(3 if profile.category else 2, f"input_unit: {_scalar(profile.input_unit)}")
    if profile.sources:
        lines.append(f"sources: {_flow(profile.sources)}")
    _list(lines, "notices", profile.notices, "")
    types = {
        group.instance.name: group.instance
        for run in profile.runs
        for group in run.cluster.groups
        if group.instance is not None
    }
    types |= {shape.name: shape for shape in profile.shapes if shape.name not in types}
    if types:
        lines.append("instance_types:")
        lines += [f"  {_scalar(name)}: {_flow_of(_shape(types[name]))}" for name in types]
    _blocks(lines, "optex", [_known(_entries(entry)) for entry in profile.optex])
    _blocks(lines, "runs", [_run_entries(run) for run in profile.runs])
    return "\n".join(lines) + "\n"


LISTS = frozenset(("jobs", "notices", "operations", "groups", "persisted_rdds"))
"""Keys whose values are lists of small mappings."""


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value is not None}


def _shape(instance: InstanceType) -> dict[str, Any]:
    """The known values of an instance type without its name; unknown numbers are NaN."""
    return {k: v for k, v in _entries(instance).items() if k != "name" and v == v}


def _run_entries(run: Run) -> dict[str, Any]:
    cluster, workload = run.cluster, run.workload
    entry: dict[str, Any] = {"seconds": run.seconds}
    if len(cluster.groups) == 1:
        entry |= _group(cluster.groups[0])
    elif cluster.groups:
        entry["groups"] = [_group(group) for group in cluster.groups]
    beside = cluster.beside or BesideHeap()
    amounts = (beside.overhead_gib, beside.pyspark_gib, beside.off_heap_gib)
    entry |= _known(
        {
            "executors": cluster.executors,
            "executor_cores": cluster.executor_cores,
            "executor_memory_gib": cluster.executor_memory_gib,
            **dict(zip(BESIDE_KEYS, amounts, strict=True)),
            "input_size": workload.input_bytes,
            "iterations": workload.iterations,
            "scale": workload.scale,
            "parameters": dict(workload.parameters) or None,
        }
    )
    entries = _entries(run)
    return entry | {name: entries[name] for name in RunEntry.__struct_fields__ if name in entries}


def _group(group: NodeGroup) -> dict[str, Any]:
    name = None if group.instance is None else group.instance.name
    price = group.price_usd_per_hour
    return _known({"nodes": group.nodes, "instance_type": name, "price_usd_per_hour": price})


def _entries(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    entries = {}
    for entry in fields(value):
        value_of_field = getattr(value, entry.name)
        if value_of_field != _default(entry) or entry.default is MISSING is entry.default_factory:
            entries[entry.name] = value_of_field
    return entries


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return entry.default_factory()
    return None if entry.default is MISSING else entry.default


def _blocks(lines: list[str], key: str, entries: Sequence[dict[str, Any]]) -> None:
    """A list of mappings, one key per line."""
    if not entries:
        return
    lines.append(f"{key}:")
    for entry in entries:
        lead = "- "
        for name, value in entry.items():
            if name == "stages":
                lines.append("  stages:")
                for stage in value:
                    _stage(lines, _entries(stage))
            elif name in LISTS and value:
                _list(lines, name, value, "  ")
            else:
                lines.append(f"{lead}{name}: {_flow(value)}")
            lead = "  "


def _stage(lines: list[str], entry: dict[str, Any]) -> None:
    lead = "  - "
    for name, value in entry.items():
        lines.append(f"{lead}{name}: {_flow(value)}")
        lead = "    "


def _list(lines: list[str], key: str, values: Sequence[Any], indent: str) -> None:
    """A list of small mappings, one per line."""
    if values:
        lines.append(f"{indent}{key}:")
        lines += [f"{indent}- {_flow(value)}" for value in values]


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return _flow_of(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if hasattr(value, "__dataclass_fields__"):
        return _flow_of(_entries(value))
    return _scalar(value)


def _flow_of(entries: Mapping[str, Any]) -> str:
    inner = ", ".join(f"{_scalar(key)}: {_flow(value)}" for key, value in entries.items())
    return "{" + inner + "}"


_PLAIN = re.compile(r"[A-Za-z_][\w./+@-]*(?: [\w./+@-]+)*\Z", re.ASCII)
_RESERVED = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _RESERVED:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _number(value: float) -> str:
    """The shortest text that reads back as the same number, valid in YAML 1.1 too."""
    if value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
