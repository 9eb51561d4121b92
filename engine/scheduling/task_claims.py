"""Whether stages that may run at the same time claim slots in different ways: tasks of one core
beside tasks of several, or a barrier stage, whose tasks start together, beside any other.

Spark offers free slots to the first stage, and what does not fit it to the next one
(`TaskSchedulerImpl.resourceOffers`). So a stage that waits for several slots at once holds none
back: tasks of later stages take them. Between stages that claim alike the first in line takes
every slot, and all of its tasks can be placed in one step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Claim(NamedTuple):
    """What the tasks of a stage claim.

    Args:
        cpus: slots that one task holds.
        barrier: its tasks start together.
    """

    cpus: int
    barrier: bool


def claim_unlike(
    after: Sequence[Sequence[int]], claims: Mapping[int, Claim], *, slots_vary: bool
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
    before = _ancestors(after)
    return any(
        claims[index].barrier or claims[index] != claims[other]
        for index in unusual
        for other in claims
        if other != index and not (before[index] >> other | before[other] >> index) & 1
    )


def _ancestors(after: Sequence[Sequence[int]]) -> list[int]:
    """For each node the nodes that end before it starts, as a set of bits."""
    before: list[int] = []
    for parents in after:
        bits = 0
        for parent in parents:
            bits |= before[parent] | 1 << parent
        before.append(bits)
    return before
