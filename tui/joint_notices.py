"""Notices that say one thing with several codes, told together: in JSON each stays its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import Notice

LITTLE_EVIDENCE = ("single-run", "few-runs", "extrapolating-nodes", "extrapolating-size")
"""Codes that all say how far the question is from the few runs there are: whoever has one run reads
it three times. The first that holds leads, and has the remedy of all."""

NEARER = "add a run on a cluster and with an input nearer to these"
"""The remedy where cluster and input are both far from runs that are not few."""


def joint_groups(in_order: Iterable[Notice]) -> list[tuple[Notice, ...]]:
    """The notices in their order, those of `LITTLE_EVIDENCE` as one group where the first of them
    stands, the leading one first."""
    everything = list(in_order)
    little = sorted(
        (notice for notice in everything if notice.code in LITTLE_EVIDENCE),
        key=lambda notice: LITTLE_EVIDENCE.index(notice.code),
    )
    groups: list[tuple[Notice, ...]] = []
    for notice in everything:
        if notice.code not in LITTLE_EVIDENCE:
            groups.append((notice,))
        elif little:
            groups.append(tuple(little))
            little = []
    return groups


def joint_text(group: tuple[Notice, ...]) -> str:
    """What a group says: its texts, in its order."""
    return "; ".join(notice.text for notice in group)


def joint_remedy(group: tuple[Notice, ...]) -> str:
    """What helps against all of a group."""
    first = group[0]
    both_far = first.code == "extrapolating-nodes" and group[-1].code == "extrapolating-size"
    return NEARER if both_far else first.remedy
