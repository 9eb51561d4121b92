"""The shapes of instance types as several sources describe them: one for each type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isnan
from typing import TYPE_CHECKING

from engine.catalog import InstanceType
from engine.cluster import Cluster
from engine.errors import BadInput
from engine.machines.named_types import contradiction, of_catalog, outside
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.sources.found import Found

if TYPE_CHECKING:
    from engine.catalog import Catalog

LEAST_MEMORY = 0.65
"""Share of a type's memory that executors get of it by the platform that leaves them least."""

CATALOG = "the catalog of where the log ran"


def with_shapes_of(profile: Profile, catalog: Catalog) -> Profile:
    """The profile with the catalog's shape for types whose own it does not give."""
    groups = [group for run in profile.runs for group in run.cluster.groups]
    named = {group.instance.name: group.instance for group in groups if group.instance}
    shapes = {
        name: catalog.offers[name].instance
        if name in catalog.offers and (isnan(stated.vcpus) or isnan(stated.memory_gib))
        else stated
        for name, stated in named.items()
    }
    return replace(profile, runs=tuple(_shaped(profile.runs, shapes)))


@dataclass(frozen=True, slots=True)
class _Stated:
    """A type as a source describes it."""

    instance: InstanceType
    where: str


def with_one_shape_each(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs with one shape for each type: a catalog's, which `--ran-on` gives to logs, else the
    fullest that is known of it."""
    shapes: dict[str, _Stated] = {}
    contradicted = set[str]()
    stated = [
        _Stated(group.instance, run.source or "another source")
        for run in runs
        for group in run.cluster.groups
        if group.instance is not None
    ]
    for entry in sorted(stated, key=lambda entry: not of_catalog(entry.instance)):
        name = entry.instance.name
        known = shapes.setdefault(name, entry)
        if of_catalog(known.instance) and not of_catalog(entry.instance):
            least = LEAST_MEMORY * known.instance.memory_gib
            if name not in contradicted and outside(entry.instance, known.instance, least):
                contradicted.add(name)
                notices.append(contradiction(entry.instance, known.instance, entry.where, CATALOG))
        else:
            shapes[name] = _fuller(known, entry)
    told = {name: entry.instance for name, entry in shapes.items()}
    return _shaped(runs, told)


def shapes_beside(runs: Sequence[Run], found: Sequence[Found]) -> tuple[InstanceType, ...]:
    """The shapes that sources give of types that no run names, one of each."""
    named = {name for run in runs for name in run.cluster.composition}
    told: dict[str, _Stated] = {}
    for part in found:
        for shape in part.shapes:
            if shape.name not in named:
                own = _Stated(shape, part.source)
                told[shape.name] = _fuller(told.get(shape.name, own), own)
    return tuple(entry.instance for entry in told.values())


def _fuller(one: _Stated, other: _Stated) -> _Stated:
    """Of two descriptions of a type the one that says more; they may not contradict."""
    for name, what in (("vcpus", "vCPUs"), ("memory_gib", "GiB of memory")):
        a, b = getattr(one.instance, name), getattr(other.instance, name)
        if not isnan(a) and not isnan(b) and a != b:
            raise BadInput(
                f"{one.instance.name} has {b:g} {what} here and {a:g} in {one.where}",
                where=other.where,
                remedy="correct one of them, or give the types different names",
            )
    return max(one, other, key=lambda entry: _known_fields(entry.instance))


def _known_fields(instance: InstanceType) -> int:
    values = (getattr(instance, entry.name) for entry in fields(instance))
    return sum(value is not None and value == value for value in values)


def _shaped(runs: Sequence[Run], shapes: Mapping[str, InstanceType]) -> list[Run]:
    """The runs with these shapes of their types."""

    def of(cluster: Cluster) -> Cluster:
        groups = tuple(
            replace(group, instance=shapes[group.instance.name]) if group.instance else group
            for group in cluster.groups
        )
        return replace(cluster, groups=groups)

    return [replace(run, cluster=of(run.cluster)) for run in runs]
