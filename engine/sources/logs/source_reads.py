"""What stages read from outside for RDDs that they persist, each partition once.

A stage that takes the first rows computes some partitions alone, and reads a partition whose block
finds no room no further than it must: stages that come later read the rest. One metric of a task
counts the bytes of blocks and of sources. Which of the two they are follows from which partitions
no stage has computed before and, where the log tells of blocks, from which of them were there when
the stage began.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceRead:
    """What a stage that also reads cached blocks reads from outside.

    Args:
        bytes: by how much more of the source was read than by the stages before.
        first_bytes: what it read for partitions that no stage had computed.
        first_share: these, as a share of its own.
    """

    bytes: float
    first_bytes: float
    first_share: float


class SourceReads:
    """Follows persisted RDDs that are computed from sources, stage by stage."""

    def __init__(self) -> None:
        self._most: dict[int, dict[int, int]] = {}

    def computed(self, rdd_id: int, read: Mapping[int, int]) -> None:
        """A stage that found nothing of an RDD has read so many bytes for each partition."""
        most = self._most.setdefault(rdd_id, {})
        for place, size in read.items():
            most.setdefault(place, size)

    def read(
        self,
        rdd_id: int,
        read: Mapping[int, int],
        *,
        held: Collection[int] | None,
        whole: bool,
    ) -> SourceRead:
        """A stage has read so many bytes for each partition of an RDD of which others had computed
        some.

        Args:
            held: partitions whose blocks were there; None where nobody knows, or all were.
            whole: whether all of them had been computed.
        """
        most = self._most.setdefault(rdd_id, {})
        missing = read.keys() if held is None else read.keys() - set(held)
        first = set() if whole else missing - most.keys()
        again = set() if held is None else missing & most.keys()
        more = sum(max(0, read[place] - most[place]) for place in again)
        first_bytes = sum(read[place] for place in first)
        for place in (*first, *again):
            most[place] = max(read[place], most.get(place, 0))
        share = len(first) / len(read) if read else 0.0
        return SourceRead(float(first_bytes + more), float(first_bytes), share)

    def of(self, rdd_id: int) -> Mapping[int, int]:
        """The most that a stage has read for each partition of an RDD."""
        return self._most.get(rdd_id, {})

    def dropped(self, rdd_id: int) -> None:
        """An RDD was unpersisted: what is read for it from now on is read anew."""
        self._most.pop(rdd_id, None)
