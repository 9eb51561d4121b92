"""Shapes of instance types: their columns, files of shapes without prices, and the type of a row.

The columns stand in the order of the fields of `InstanceType`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.catalog import MOST_MEMORY_GIB, MOST_VCPUS, InstanceType
from engine.catalog_files.index import SHAPES, bundled_folder
from engine.catalog_files.rules import NOT_NEGATIVE, POSITIVE
from engine.errors import BadInput, UnknownName
from engine.text.cells import (
    collecting_errors,
    number_above,
    one_line,
    one_of,
    positive_whole_number,
    typed_table,
    whole_number,
    yes_or_no,
)
from engine.text.located_yaml import Convert, Section, read_yaml

K = TypeVar("K")
V = TypeVar("V")

SHAPE_COLUMNS: Mapping[str, Convert[Any]] = {
    "vcpus": number_above(0.0, at_most=MOST_VCPUS),
    "memory_gib": number_above(0.0, at_most=MOST_MEMORY_GIB),
    "family": str,
    "arch": one_of("x86_64", "arm64"),
    "generation": whole_number,
    "network_gbps": POSITIVE,
    "local_disk_gb": NOT_NEGATIVE,
    "local_disk_kind": str,
    "ebs_gbps": POSITIVE,
    "cpu_score": POSITIVE,
    "emr_supported": yes_or_no,
    "cpu_score_spread": NOT_NEGATIVE,
    "threads_per_core": positive_whole_number,
}
_CPU_SCORE = list(SHAPE_COLUMNS).index("cpu_score")

_SHAPE_FILE_COLUMNS: Mapping[str, Convert[Any]] = {"name": one_line, **SHAPE_COLUMNS}
_SHAPE_FILE_KEYS = ("shapes_of", "source", "note", "cpu_benchmark", "instances")


def named_shapes(top: Section, problems: list[BadInput]) -> Mapping[str, InstanceType]:
    """The shapes file that the price file refers to; empty when its own rows have the shapes."""
    named = top.get("shapes", str)
    if named is None:
        return {}
    return shapes_in(read_yaml(_shapes_path(top, named)), problems)


def shapes_in(shapes_file: Section, problems: list[BadInput]) -> Mapping[str, InstanceType]:
    """The types of a shapes file, by name."""
    shapes_file.check_keys(_SHAPE_FILE_KEYS)
    benchmark = shapes_file.get("cpu_benchmark", str)
    shapes: dict[str, InstanceType] = {}
    table = typed_table(shapes_file, "instances", _SHAPE_FILE_COLUMNS, problems)
    for line, name, shape in zip(table.lines, table.names, table.rows(SHAPE_COLUMNS), strict=True):
        with collecting_errors(shapes_file, line, problems):
            add_once(shapes, name, _instance(name, shape, benchmark))
    return shapes


def _shapes_path(top: Section, named: str) -> Path:
    """The shapes file next to the price file, or a bundled one by name ("aws")."""
    beside = top.path.parent / named
    if beside.is_file():
        return beside
    folder = bundled_folder()
    bundled = folder / (named.removesuffix(SHAPES) + SHAPES)
    if len(Path(named).parts) == 1 and bundled.is_file():
        return bundled
    names = [path.name.removesuffix(SHAPES) for path in folder.glob(f"*{SHAPES}")]
    raise UnknownName("shapes file", named, names, where=top.where_of("shapes"))


def shape_of(
    name: str, shape: Sequence[Any], shapes: Mapping[str, InstanceType], benchmark: str | None
) -> InstanceType:
    """The shape of a type, from the shapes file or from its own row, but not from both."""
    instance = shapes.get(name)
    if instance is None:
        return _instance(name, shape, benchmark)
    if any(value is not None for value in shape):
        raise BadInput(f"{name}: its shape stands in the shapes file already")
    return instance


def _instance(name: str, shape: Sequence[Any], benchmark: str | None) -> InstanceType:
    """A type from the cells of `SHAPE_COLUMNS`, which are in the order of its fields."""
    if shape[0] is None or shape[1] is None:
        raise BadInput(f"{name}: {'vcpus' if shape[0] is None else 'memory_gib'} is missing")
    return InstanceType(name, *(*shape, benchmark if shape[_CPU_SCORE] else None))


def add_once(known: dict[K, V], key: K, value: V) -> None:
    """Takes a row, unless one of that name stands in the file already."""
    if key in known:
        raise BadInput(f"{key} stands here for the second time", remedy="keep one of the two")
    known[key] = value
