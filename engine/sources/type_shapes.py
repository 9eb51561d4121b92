"""Reconciles the shapes (vCPUs, memory) that several sources give for the same instance type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import isnan
from typing import TYPE_CHECKING

from engine.catalog import InstanceType
from engine.errors import BadInput
from engine.machines.named_types import contradiction_notice, is_different_shape, is_from_catalog
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.sources.source_contents import SourceContents

if TYPE_CHECKING:
    from engine.catalog import Catalog

MIN_MEMORY_SHARE = 0.65
"""Smallest share of a type's memory that any platform leaves to executors."""

CATALOG = "the catalog of where the log ran"


def with_shapes_of(profile: Profile, catalog: Catalog) -> Profile:
    """The profile with the catalog's shapes for types whose shape it lacks."""
    groups = [group for run in profile.runs for group in run.cluster.groups]
    named = {group.instance.name: group.instance for group in groups if group.instance}
    shapes = {
        name: catalog.offers[name].instance
        if name in catalog.offers and (isnan(stated.vcpus) or isnan(stated.memory_gib))
        else stated
        for name, stated in named.items()
    }
    runs = (run.with_types(lambda one: one and shapes[one.name]) for run in profile.runs)
    return replace(profile, runs=tuple(runs))


@dataclass(frozen=True, slots=True)
class _SourceShape:
    """An instance type as one source describes it."""

    instance: InstanceType
    where: str


def with_consistent_shapes(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs with one shape per type: that of a catalog (given by `--ran-on`), else the most
    complete description. Contradictions with the catalog give a notice."""
    shapes: dict[str, _SourceShape] = {}
    contradicted = set[str]()
    stated = [
        _SourceShape(group.instance, run.source or "another source")
        for run in runs
        for group in run.cluster.groups
        if group.instance is not None
    ]
    for entry in sorted(stated, key=lambda entry: not is_from_catalog(entry.instance)):
        name = entry.instance.name
        known = shapes.setdefault(name, entry)
        if is_from_catalog(known.instance) and not is_from_catalog(entry.instance):
            least_gib = MIN_MEMORY_SHARE * known.instance.memory_gib
            if name not in contradicted and is_different_shape(
                entry.instance, known.instance, least_gib
            ):
                contradicted.add(name)
                notices.append(
                    contradiction_notice(entry.instance, known.instance, entry.where, CATALOG)
                )
        else:
            shapes[name] = _more_complete(known, entry)
    return [run.with_types(lambda one: one and shapes[one.name].instance) for run in runs]


def unused_shapes(
    runs: Sequence[Run], contents: Sequence[SourceContents]
) -> tuple[InstanceType, ...]:
    """The shapes, one per type, of types that sources describe but no run uses."""
    named = {name for run in runs for name in run.cluster.composition}
    shapes: dict[str, _SourceShape] = {}
    for part in contents:
        for shape in part.shapes:
            if shape.name not in named:
                candidate = _SourceShape(shape, part.source)
                shapes[shape.name] = _more_complete(shapes.get(shape.name, candidate), candidate)
    return tuple(entry.instance for entry in shapes.values())


def _more_complete(one: _SourceShape, other: _SourceShape) -> _SourceShape:
    """The more complete of two descriptions of a type.

    Raises:
        BadInput: if they contradict each other.
    """
    for name, what in (("vcpus", "vCPUs"), ("memory_gib", "GiB of memory")):
        a, b = getattr(one.instance, name), getattr(other.instance, name)
        if not isnan(a) and not isnan(b) and a != b:
            raise BadInput(
                f"{one.instance.name} has {b:g} {what} here and {a:g} in {one.where}",
                where=other.where,
                remedy="correct one of them, or give the types different names",
            )

    def known_fields(entry: _SourceShape) -> int:
        values = (getattr(entry.instance, field.name) for field in fields(InstanceType))
        return sum(value is not None and value == value for value in values)

    return max(one, other, key=known_fields)
