"""Notices that say one thing with several codes, told together: in JSON each stays its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import Notice

LITTLE_EVIDENCE = ("single-run", "few-runs", "extrapolating-nodes", "extrapolating-size")
"""Codes that all say how far the question is from the few runs there are: whoever has one run reads
it three times. The first that holds leads, and has the remedy of all."""

UNKNOWN_MACHINES = ("assumed-architecture", "unknown-source-type")
"""Codes of what is assumed where nothing says where the job ran; led likewise."""

UNFINISHED = ("failed-stages", "incomplete-log", "stage-in-part", "stage-without-tasks")
"""Codes that all say what the log of a run lacks that broke off: those of one remedy are told
together."""

NEARER = "add a run on a cluster and with an input nearer to these"
"""The remedy where cluster and input are both far from runs that are not few."""


def joint_groups(in_order: Iterable[Notice]) -> list[tuple[Notice, ...]]:
    """The notices in their order, those that say one thing as one group where the first of them
    stands; the one that leads them first."""
    groups: dict[object, list[Notice]] = {}
    for at, notice in enumerate(in_order):
        groups.setdefault(_said(notice) or at, []).append(notice)
    return [tuple(sorted(group, key=_lead)) for group in groups.values()]


def _said(notice: Notice) -> object:
    """What a notice says together with others; None where it stands alone."""
    for codes in (LITTLE_EVIDENCE, UNKNOWN_MACHINES):
        if notice.code in codes:
            return codes
    return notice.remedy if notice.code in UNFINISHED else None


def _lead(notice: Notice) -> int:
    codes = _said(notice)
    return codes.index(notice.code) if isinstance(codes, tuple) else 0


def joint_text(group: tuple[Notice, ...]) -> str:
    """What a group says: its texts, in its order."""
    return "; ".join(notice.text for notice in group)


def joint_remedy(group: tuple[Notice, ...]) -> str:
    """What helps against all of a group."""
    first = group[0]
    both_far = first.code == "extrapolating-nodes" and group[-1].code == "extrapolating-size"
    return NEARER if both_far else first.remedy
