"""Whether stages that may run at the same time claim slots in different ways: tasks of one core
beside tasks of several, or a barrier stage, whose tasks start together, beside any other.

Spark offers free slots to the first stage, and what does not fit it to the next one
(`TaskSchedulerImpl.resourceOffers`). So a stage that waits for several slots at once holds none
back: tasks of later stages take them. Slots are those of all executors here. Between stages that
claim alike the first in line takes every slot, and all of its tasks can be placed in one step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_TASKS_OF_UNLIKE_CLAIMS = 5_000
"""Tasks of a log with more are placed in blocks all the same, and where an answer has more, about
so many are placed, neighbours as one. One by one tasks take 1 to 2 us each, 5 us on thousands of
slots: mostly two to four times as long as blocks of so many tasks, and more of more."""


class SlotClaim(NamedTuple):
    """What the tasks of a stage claim.

    Args:
        cpus: slots that one task holds.
        barrier: its tasks start together.
    """

    cpus: int
    barrier: bool


class UnlikeClaims(NamedTuple):
    """Whether the tasks of a graph must be placed one after the other because of what they claim.

    Args:
        always: on any slots.
        where_slots_vary: on slots of which some come late or go.
    """

    always: bool
    where_slots_vary: bool


def claim_unlike(
    after: Sequence[Sequence[int]], claims: Mapping[int, SlotClaim], *, slots_vary: bool
) -> bool:
    """Whether tasks must be placed one after the other because of what they claim.

    Args:
        after: for each node of a dependency graph, in topological order, its predecessors.
        claims: index of a node with tasks -> what these claim.
        slots_vary: whether slots come late or go, so that a barrier stage may have to wait for
            them.
    """
    usual = Counter(claim.cpus for claim in claims.values()).most_common(1)
    unusual = [
        index for index, claim in claims.items() if claim.barrier or claim.cpus != usual[0][0]
    ]
    if not unusual:
        return False
    if slots_vary and any(claims[index].barrier for index in unusual):
        return True
    alike: dict[SlotClaim, int] = defaultdict(int)
    for index, claim in claims.items():
        alike[claim] |= 1 << index
    every, related = sum(alike.values()), _related(after)
    return any(
        every & ~related[index] & ~(0 if claims[index].barrier else alike[claims[index]])
        for index in unusual
    )


def unlike_claims(after: Sequence[Sequence[int]], claims: Mapping[int, SlotClaim]) -> UnlikeClaims:
    """`claim_unlike` of a graph on any slots."""
    always = claim_unlike(after, claims, slots_vary=False)
    return UnlikeClaims(always, always or claim_unlike(after, claims, slots_vary=True))


def _related(after: Sequence[Sequence[int]]) -> list[int]:
    """For each node itself, the nodes that end before it starts and those that start after it ends,
    as a set of bits."""
    before, later = [1 << index for index in range(len(after))], [0] * len(after)
    for index, parents in enumerate(after):
        for parent in parents:
            before[index] |= before[parent]
    for index in reversed(range(len(after))):
        for parent in after[index]:
            later[parent] |= later[index] | 1 << index
    return [one | other for one, other in zip(before, later, strict=True)]
