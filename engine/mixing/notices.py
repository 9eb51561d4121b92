"""What is to be said of a cluster of unlike nodes: each thing once, and true of that cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.choosing.choices import Answers
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

_OF_SIZE = "extrapolating-nodes"
"""What is warned of the size of a whole cluster, and of no member of it."""


def not_mixed(surface: Surface, row: int, common: int, share: float) -> Notice:
    """What is to be said of a type that is left out of mixes.

    Args:
        share: of its cost or time, what the answer would be better at most if it were not.
    """
    candidates = surface.candidates
    name, own = candidates.names[row], candidates.layouts[row].executor_cores
    most = f"at most {100.0 * share:.2g} % better" if share > TIE else "no better"
    return Notice(
        "layout-not-mixed",
        f"{name} ran with executors of {format_count(own, 'core')}, the other types get "
        f"executors of {common}: all executors of an application are alike, so {name} is not "
        f"mixed with them; if it were as fast with executors of {common}, the answer would be "
        f"{most}",
        f"plan its nodes like theirs with --fill-nodes, or add a run on {name} with executors of "
        f"{common} cores",
    )


def of_members(
    surface: Surface, points: Sequence[int], members: Sequence[tuple[int, int]]
) -> list[Notice]:
    """What the model warns of at the points behind a mix.

    A member is asked at the capacity of the whole, which is a number of its own nodes and slots
    that the mix does not have: what a model says of those is asked for the slots of the mix.

    Args:
        points: of the surface, clusters of one type each.
        members: (row of the surface, nodes).
    """
    found = worst_of_each(notice for point in points for notice in surface.notices(point))
    sized = [notice for notice in found if notice.code == _OF_SIZE]
    if not sized:
        return found
    rows = [row for row, _ in members]
    slots = sum(surface.slots[row] * nodes for row, nodes in members)
    smallest = rows[int(np.argmin(surface.slots[rows]))]
    nodes = round(float(slots / surface.slots[smallest]))
    whole = smallest * surface.max_nodes + min(max(nodes, 1), surface.max_nodes) - 1
    own = [notice for notice in surface.notices(whole) if notice.code == _OF_SIZE]
    return [*(notice for notice in found if notice.code != _OF_SIZE), *(own or sized)[:1]]


def of_prices(answers: Answers, paid: Sequence[tuple[int, bool, int]]) -> list[Notice]:
    """What the price list warns of, for the nodes that are paid for and as they are rented, and for
    the master.

    Args:
        paid: (row of the surface, spot or not, nodes).
    """
    found: list[Notice] = []
    for row, spot, nodes in paid:
        rented = replace(answers, billing=replace(answers.billing, spot=spot))
        found += rented.price_notices(row) if nodes else []
    return [*found, *answers.master_notices(found)]
