"""The contents of one source, whatever its kind: runs, names, deadlines and notices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.catalog import InstanceType
from engine.given_profiles import OptexProfile
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.text.lists import abbreviated_list

SAME_SHAPE = 0.05
"""Relative difference below which two memory sizes count as equal: 15.25 GiB may be written as 15,
or as 16 of 1000 MB each."""


@dataclass(frozen=True, slots=True)
class SourceContents:
    """The contents of one source.

    `unit` is None where its input sizes have no unit. `profile_sources` are the sources that a
    profile was made from. `deadline_seconds` applies to all runs, `deadlines` to single
    applications, by name.
    """

    source: str
    runs: tuple[Run, ...] = ()
    name: str | None = None
    category: str | None = None
    optex: tuple[OptexProfile, ...] = ()
    unit: str | None = "bytes"
    deadline_seconds: float | None = None
    notices: tuple[Notice, ...] = ()
    profile_sources: tuple[str, ...] = ()
    shapes: tuple[InstanceType, ...] = ()
    deadlines: Mapping[str | None, float | None] = field(default_factory=dict)

    @property
    def origins(self) -> tuple[str, ...]:
        """The names to show as the sources of the evidence."""
        return self.profile_sources or (self.source,)


def from_profile(profile: Profile, source: str) -> SourceContents:
    """The contents of a profile YAML."""
    return SourceContents(
        source, profile.runs, profile.name, profile.category, profile.optex,
        profile.input_unit, profile.deadline_seconds, profile.notices, profile.sources,
        profile.shapes,
    )  # fmt: skip


def with_notices(
    contents: Sequence[SourceContents], notices: Sequence[Notice]
) -> list[SourceContents]:
    """The contents with notices about where they come from added to each entry, since applications
    may be answered one by one (merged, equal notices appear once)."""
    return [replace(entry, notices=(*entry.notices, *notices)) for entry in contents]


def with_iterations(contents: SourceContents, iterations: float | None) -> SourceContents:
    """The contents with the number of iterations of their job, where known."""
    if iterations is None:
        return contents
    runs = (replace(r, workload=replace(r.workload, iterations=iterations)) for r in contents.runs)
    return replace(contents, runs=tuple(runs))


def with_instance_type(contents: SourceContents, ran_on: InstanceType | None) -> SourceContents:
    """The contents of a table or profile with the instance type that the user named (`--ran-on`).

    Where a run names its own type, that stays. A type known only by its shape takes the name if the
    shapes agree.
    """
    if ran_on is None:
        return contents
    runs = (
        run.with_types(lambda stated: ran_on if _is_compatible(stated, ran_on) else stated)
        for run in contents.runs
    )
    return replace(contents, runs=tuple(runs))


def _is_compatible(stated: InstanceType | None, ran_on: InstanceType) -> bool:
    """Whether a run names no type, and no shape other than that of `ran_on`."""
    if stated is None:
        return True
    pairs = (stated.vcpus, ran_on.vcpus), (stated.memory_gib, ran_on.memory_gib)
    return stated.is_called_by_shape and all(
        math.isnan(one) or math.isclose(one, other, rel_tol=SAME_SHAPE) for one, other in pairs
    )


def _nodes_not_told(source: str, ran_on: InstanceType) -> Notice:
    """The notice that `ran_on` is unused because no run says on how many nodes it ran, as in a
    profile that was written by hand."""
    return Notice(
        "nodes-not-told",
        f"that it ran on {ran_on.name} is not used: {source} says on how many executors its runs "
        "ran, and not on how many nodes; their speed is taken to be the catalog's median per vCPU",
        "add nodes to its runs",
    )


def with_ran_on_notice(
    contents: Sequence[SourceContents], ran_on: InstanceType | None
) -> list[SourceContents]:
    """The contents, with a notice if `ran_on` is unused because all runs name other types, have
    another shape, or tell of executors alone."""
    groups = [group for entry in contents for run in entry.runs for group in run.cluster.groups]
    stated = {group.instance.name: group.instance for group in groups if group.instance is not None}
    if ran_on is not None and not groups and any(entry.runs for entry in contents):
        return with_notices(contents, [_nodes_not_told(contents[0].source, ran_on)])
    if ran_on is None or not stated or ran_on.name in stated:
        return list(contents)
    text = f"that it ran on {ran_on.name} is not used: {contents[0].source} "
    if all(kind.is_called_by_shape for kind in stated.values()):
        shape = InstanceType.of_shape(ran_on.vcpus, ran_on.memory_gib)
        text += f"says {', '.join(sorted(stated))}, {ran_on.name} is {shape.name}"
    else:
        text += f"names {abbreviated_list(sorted(stated))}"
    return with_notices(
        contents, [Notice("origin-already-named", text, "correct it there where it is wrong")]
    )
