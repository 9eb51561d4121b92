"""What one source gave, of whatever kind it was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.catalog import InstanceType
from engine.given_profiles import OptexProfile
from engine.notices import Notice
from engine.profile import Profile, Run

SAME_SHAPE = 0.05
"""Relative difference below which two memory sizes are one: 15.25 GiB are written as 15, or as 16
of 1000 MB each."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one source gave.

    `unit` is None where its sizes do not say their unit; `origins` are the sources that a profile
    was itself made from; `deadline_seconds` holds for all its runs, `deadlines` are those of single
    applications of them, by name.
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
        """What to name as the source of the evidence."""
        return self.profile_sources or (self.source,)


def of_profile(profile: Profile, source: str) -> Found:
    """What a profile YAML holds."""
    return Found(
        source, profile.runs, profile.name, profile.category, profile.optex,
        profile.input_unit, profile.deadline_seconds, profile.notices, profile.sources,
        profile.shapes,
    )  # fmt: skip


def noted(found: Sequence[Found], notices: Sequence[Notice]) -> list[Found]:
    """With what is to be said of the place that they are from: of each, since applications may be
    asked about one by one (together it is said once)."""
    return [replace(entry, notices=(*entry.notices, *notices)) for entry in found]


def iterating(found: Found, iterations: float | None) -> Found:
    """The runs with the iterations that their job was told to do, where that is known."""
    if iterations is None:
        return found
    runs = (replace(r, workload=replace(r.workload, iterations=iterations)) for r in found.runs)
    return replace(found, runs=tuple(runs))


def placed(found: Found, ran_on: InstanceType | None) -> Found:
    """The runs of a table or a profile on the nodes that the user named, as those of a log: where a
    run says itself what its nodes were, that stays. A shape that nobody named takes the name of a
    type of that shape."""
    if ran_on is None:
        return found
    return replace(found, runs=tuple(_placed(run, ran_on) for run in found.runs))


def _placed(run: Run, ran_on: InstanceType) -> Run:
    groups = tuple(
        replace(group, instance=ran_on) if _may_be(group.instance, ran_on) else group
        for group in run.cluster.groups
    )
    return replace(run, cluster=replace(run.cluster, groups=groups))


def _may_be(stated: InstanceType | None, ran_on: InstanceType) -> bool:
    """Whether a run does not name its type, nor says another shape than this one's."""
    if stated is None:
        return True
    pairs = (stated.vcpus, ran_on.vcpus), (stated.memory_gib, ran_on.memory_gib)
    return stated.is_called_by_shape and all(
        math.isnan(one) or math.isclose(one, other, rel_tol=SAME_SHAPE) for one, other in pairs
    )


def heeded(found: Sequence[Found], ran_on: InstanceType | None) -> list[Found]:
    """What sources gave; where all runs name other nodes than the user did, or say another shape,
    that is said."""
    groups = [group for entry in found for run in entry.runs for group in run.cluster.groups]
    stated = {group.instance.name: group.instance for group in groups if group.instance is not None}
    if ran_on is None or not stated or ran_on.name in stated:
        return list(found)
    text = f"that it ran on {ran_on.name} is not used: {found[0].source} "
    if all(kind.is_called_by_shape for kind in stated.values()):
        shape = InstanceType.of_shape(ran_on.vcpus, ran_on.memory_gib)
        text += f"says {', '.join(sorted(stated))}, {ran_on.name} is {shape.name}"
    else:
        text += "names the type of each run"
    return noted(
        found, [Notice("origin-already-named", text, "correct it there where it is wrong")]
    )
