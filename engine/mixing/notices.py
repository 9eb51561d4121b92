"""Notices about a cluster of several types: each once, and true of that cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.choosing.choices import ChoiceBuilder
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.notices import Notice, worst_of_each
from engine.units import format_count

MIXED = Notice(
    "mixed-cluster",
    "the time of unlike nodes is averaged over what the model says of each type at the same "
    "capacity; no run on unlike nodes was measured",
    "ask for one type: --mix 1",
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
        f"{name} ran with executors of {format_count(own, 'core')}, the other types get "
        f"executors of {common}: all executors of an application are alike, so {name} is not "
        f"mixed with them; if it were as fast with executors of {common}, the answer would be "
        f"{most}",
        f"plan its nodes like theirs with --fill-nodes, or add a run on {name} with executors of "
        f"{common} cores",
    )


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
    found = worst_of_each(notice for point in points for notice in surface.notices(point))
    sized = [notice for notice in found if notice.code == _CLUSTER_SIZE_CODE]
    if not sized:
        return found
    rows = [row for row, _ in members]
    slots = sum(surface.slots[row] * nodes for row, nodes in members)
    smallest = rows[int(np.argmin(surface.slots[rows]))]
    nodes = round(float(slots / surface.slots[smallest]))
    whole = smallest * surface.max_nodes + min(max(nodes, 1), surface.max_nodes) - 1
    own = [notice for notice in surface.notices(whole) if notice.code == _CLUSTER_SIZE_CODE]
    return [*(notice for notice in found if notice.code != _CLUSTER_SIZE_CODE), *(own or sized)[:1]]


def paid_price_notices(
    answers: ChoiceBuilder, paid: Sequence[tuple[int, bool, int]]
) -> list[Notice]:
    """Warnings of the price list about the paid nodes, as they are rented, and about the master.

    Args:
        paid: (row of the surface, spot or not, nodes).
    """
    found: list[Notice] = []
    for row, spot, nodes in paid:
        rented = replace(answers, billing=replace(answers.billing, spot=spot))
        found += rented.price_notices(row) if nodes else []
    return [*found, *answers.master_notices(found)]
