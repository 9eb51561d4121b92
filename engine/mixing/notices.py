"""Notices about a cluster of several types: each once, and true of that cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.catalog import InstanceType
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.notices import Notice, worst_of_each
from engine.units import format_count

MIXED = Notice(
    "mixed-cluster",
    "the time of a mix is averaged from what the model predicts for each of its types at the same "
    "capacity; no run on a mix was measured",
    "ask for one type: --mix 1",
)


def mixed_architectures(instances: Iterable[InstanceType]) -> Notice | None:
    """The notice about nodes whose processors run different machine code; None if they agree, as
    far as is known.

    YARN, Kubernetes and standalone masters have workers of both; whether EMR starts such a cluster
    was found in no source. Whether the job runs on both depends on what it brings.
    """
    named = {each.name: each.arch for each in instances if each.arch is not None}
    names = {arch: name for name, arch in sorted(named.items(), reverse=True)}
    if len(names) < 2:
        return None
    kinds = " and ".join(f"{name} is {arch}" for arch, name in sorted(names.items()))
    return Notice(
        "mixed-architectures",
        f"{kinds}: executors on both need every native library, compiled Python package and "
        "machine or container image for both",
        "check that the job has them, or ask for one with --arch",
    )


_CLUSTER_SIZE_CODE = "extrapolating-nodes"
"""The code of the notice about the size of a whole cluster, not of a member."""


def not_mixed(surface: Surface, row: int, common: int, largest_gain: float) -> Notice:
    """The notice about a type that is left out of mixes.

    Args:
        largest_gain: upper bound on the share by which the answer would be better with it.
    """
    candidates = surface.candidates
    name, own = candidates.names[row], candidates.layouts[row].executor_cores
    most = f"at most {100.0 * largest_gain:.2g} % better" if largest_gain > TIE else "no better"
    return Notice(
        "layout-not-mixed",
        f"{name} ran with executors of {format_count(own, 'core')} and is in no mix: the other "
        f"types get executors of {common}, and an application has executors of one size. If {name} "
        f"were as fast with these, the answer would be {most}",
        f"plan its nodes like theirs with --fill-nodes, or add a run on {name} with executors of "
        f"{common} cores",
    )


def notices_at(surface: Surface, points: Sequence[int]) -> list[Notice]:
    """The model's warnings at the surface points of a composition, but for `barrier-needs-slots`:
    points have other slots than the composition, of which it is known exactly."""
    found = (notice for point in points for notice in surface.notices(point))
    return [notice for notice in found if notice.code != "barrier-needs-slots"]


def member_notices(
    surface: Surface, points: Sequence[int], members: Sequence[tuple[int, int]]
) -> list[Notice]:
    """The model's warnings at the surface points of a mix.

    A member is evaluated at the capacity of the whole mix, a number of its own nodes and slots that
    the mix does not have. Warnings about cluster size are therefore taken for the slots of the mix.

    Args:
        points: of the surface, clusters of one type each.
        members: (row of the surface, nodes).
    """
    warnings = worst_of_each(notices_at(surface, points))
    sized = [notice for notice in warnings if notice.code == _CLUSTER_SIZE_CODE]
    if not sized:
        return warnings
    rows = [row for row, _ in members]
    slots = sum(surface.slots[row] * nodes for row, nodes in members)
    smallest = rows[int(np.argmin(surface.slots[rows]))]
    nodes = round(float(slots / surface.slots[smallest]))
    whole = smallest * surface.max_nodes + min(max(nodes, 1), surface.max_nodes) - 1
    own = [notice for notice in surface.notices(whole) if notice.code == _CLUSTER_SIZE_CODE]
    return [
        *(notice for notice in warnings if notice.code != _CLUSTER_SIZE_CODE),
        *(own or sized)[:1],
    ]
