"""Checks the instance types that run tables name against the catalogs, and completes their shapes.

A name stands for one machine. Its speed comes from the catalog as a score of the whole machine;
divided by a wrong number of vCPUs it would be that of a machine that does not exist, and the
prediction off by the same factor. Where table and catalog contradict each other the catalog's shape
counts. Values that a table does not state are the catalog's too: without them, types of different
sizes would count as equal machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import isclose, isnan

from engine.catalog import Catalog, InstanceType
from engine.catalog_files.index import list_catalogs
from engine.catalog_files.reader import load_catalog
from engine.memory import usable_memory_gib
from engine.notices import Notice
from engine.profile import Profile

MIN_MEMORY_SHARE, MAX_MEMORY_SHARE = 0.75, 1.25
"""Range of a type's memory, as shares, that a table may state: less is what YARN allocates, more is
GB taken for GiB. The catalog's own memory rule may leave still less."""

TWO_EDITS_LENGTH = 14
"""Minimum length of a name in which two edits still count as a misspelling; in shorter names it is
one: with two, `ab.2xlarge` would resemble `m5.2xlarge`."""


def held_against(profile: Profile, first: Catalog | str) -> Profile:
    """The profile with the shapes of named types checked against the catalogs, with notices.

    Types of event logs are left alone: they have no shape of their own, or that of `--ran-on`. A
    name in no catalog is taken as the user's own machine, with a warning only where it resembles a
    known name.

    Args:
        first: the catalog to look in first, itself or by name; then all bundled ones.

    Raises:
        BadInput: for an invalid catalog `first`.
        UnknownName: where there is no catalog of that name.
    """
    stated = _named_types(profile)
    if not stated:
        return profile
    catalogs, notices = _Catalogs(first), list(profile.notices)
    shapes: dict[str, InstanceType] = {}
    for name, (instance, where) in stated.items():
        catalog = catalogs.with_type(name)
        if catalog is None:
            meant = _close_names(instance, catalogs.types())
            notices += [_misspelt_notice(name, meant, where)] if meant else []
            continue
        known = catalog.offers[name].instance
        if _contradicts(instance, catalog):
            shapes[name] = replace(instance, vcpus=known.vcpus, memory_gib=known.memory_gib)
            notices.append(contradiction_notice(instance, known, where, f"catalog {catalog.name}"))
        elif isnan(instance.vcpus) or isnan(instance.memory_gib):
            shapes[name] = _completed(instance, known)
    if not shapes and len(notices) == len(profile.notices):
        return profile
    runs = tuple(
        run.with_types(lambda stated: stated and shapes.get(stated.name, stated))
        for run in profile.runs
    )
    return replace(profile, runs=runs, notices=tuple(dict.fromkeys(notices)))


def _named_types(profile: Profile) -> dict[str, tuple[InstanceType, str]]:
    """The types that run tables or hand-written profiles name, and where each occurs first.

    A type with a CPU benchmark already has the shape and the score of a catalog.
    """
    types: dict[str, tuple[InstanceType, str]] = {}
    for run in profile.runs:
        for group in run.cluster.groups:
            instance = group.instance
            if instance is not None and instance.cpu_benchmark is None and not run.stages:
                where = run.source or next(iter(profile.sources), profile.name)
                types.setdefault(instance.name, (instance, where))
    return types


class _Catalogs:
    """The first catalog and the bundled ones, loaded lazily as far as a lookup needs."""

    def __init__(self, first: Catalog | str) -> None:
        self._opened: list[Catalog] = []
        self._others = _catalogs_in_order(first)

    def with_type(self, name: str) -> Catalog | None:
        """The first catalog that has the type."""
        for catalog in self._all():
            if name in catalog.offers:
                return catalog
        return None

    def types(self) -> list[InstanceType]:
        return [offer.instance for catalog in self._all() for offer in catalog.offers.values()]

    def _all(self) -> Iterator[Catalog]:
        yield from self._opened
        for catalog in self._others:
            self._opened.append(catalog)
            yield catalog


def _catalogs_in_order(first: Catalog | str) -> Iterator[Catalog]:
    first_catalog = first if isinstance(first, Catalog) else load_catalog(first)
    first_key = (first_catalog.name, first_catalog.region, first_catalog.date)
    others = (
        entry for entry in list_catalogs() if (entry.name, entry.region, entry.date) != first_key
    )
    yield from chain([first_catalog], (load_catalog(entry.path) for entry in others))


def _contradicts(stated: InstanceType, catalog: Catalog) -> bool:
    """Whether a stated shape contradicts the catalog's; unstated values never do."""
    known = catalog.offers[stated.name].instance
    least = min(MIN_MEMORY_SHARE * known.memory_gib, usable_memory_gib(known, catalog.memory_rule))
    return is_different_shape(stated, known, least)


def is_different_shape(stated: InstanceType, known: InstanceType, least_gib: float) -> bool:
    """Whether a stated shape is not that of the known machine; its memory may be stated as little
    as `least_gib`, what executors get of it."""
    if not isnan(stated.vcpus) and not isclose(stated.vcpus, known.vcpus):
        return True
    if isnan(stated.memory_gib):
        return False
    return not least_gib <= stated.memory_gib <= MAX_MEMORY_SHARE * known.memory_gib


def is_from_catalog(instance: InstanceType) -> bool:
    """Whether a shape comes from a catalog: tables and logs state no architecture, family,
    benchmark or network."""
    values = (instance.arch, instance.family, instance.cpu_benchmark, instance.network_gbps)
    return any(value is not None for value in values)


def _completed(stated: InstanceType, known: InstanceType) -> InstanceType:
    """The stated shape, completed by the known one."""
    return replace(
        stated,
        vcpus=known.vcpus if isnan(stated.vcpus) else stated.vcpus,
        memory_gib=known.memory_gib if isnan(stated.memory_gib) else stated.memory_gib,
    )


def contradiction_notice(
    stated: InstanceType, known: InstanceType, where: str, whose: str
) -> Notice:
    """The warning that a stated shape is not the catalog's; `whose`: which catalog, in words."""
    return Notice(
        "shape-contradicts-catalog",
        f"{where} says that {stated.name} has {_shape(stated)}, {whose} that it has "
        f"{_shape(known)}: the catalog's shape counts",
        "correct vcpus and memory_gib (what executors take of a node goes into executors and "
        "executor_cores), or give another machine another name",
    )


def _shape(instance: InstanceType) -> str:
    vcpus = "" if isnan(instance.vcpus) else f"{instance.vcpus:g} vCPUs"
    memory = "" if isnan(instance.memory_gib) else f"{instance.memory_gib:g} GiB"
    return " and ".join(part for part in (vcpus, memory) if part)


def _misspelt_notice(name: str, meant: list[str], where: str) -> Notice:
    return Notice(
        "misspelt-type",
        f"{where} names {name}, which no catalog knows: it counts as a machine of your own, of "
        "unknown speed",
        f"did you mean {' or '.join(meant)}? Else give it a name less like that",
    )


def _close_names(stated: InstanceType, known: Iterable[InstanceType]) -> list[str]:
    """Up to three known types whose names are nearest to the stated one, within the allowed edits;
    of these, the ones with its vCPUs if there are any."""
    distances = {entry.name: (entry, _edit_distance(stated.name, entry.name)) for entry in known}
    fewest = min(count for _, count in distances.values())
    close = [entry for entry, count in distances.values() if count == fewest < TOO_MANY_EDITS]
    same_vcpus = [entry for entry in close if isclose(entry.vcpus, stated.vcpus)]
    return [entry.name for entry in same_vcpus or close][:3]


TOO_MANY_EDITS = 3
"""Edit distance that is never a misspelling."""


def _edit_distance(name: str, known: str) -> int:
    """Case-insensitive edit distance of two names; `TOO_MANY_EDITS` above the allowed number."""
    most = 1 if len(known) < TWO_EDITS_LENGTH else 2
    one, other = name.casefold(), known.casefold()
    count = TOO_MANY_EDITS if abs(len(one) - len(other)) > most else _edits(one, other)
    return count if count <= most else TOO_MANY_EDITS


def _edits(one: str, other: str) -> int:
    """Edit distance with transpositions (optimal string alignment)."""
    previous: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        previous, before_previous, row = row, previous, [i]
        for j, other_letter in enumerate(other, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other_letter:
                cost = min(cost, before_previous[j - 2] + 1)
            row.append(cost)
    return row[-1]
