"""Bytes that stages read from sources to compute persisted RDDs, counted once per partition.

A stage that takes the first rows computes only some partitions, and stops early in a partition
whose block does not fit in memory; later stages read the rest. The input metric of a task counts
cached blocks and sources alike. The two are told apart by which partitions no stage has computed
before and, where block updates are logged, by which blocks were stored when the stage began.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceRead:
    """The source reads of a stage that also reads cached blocks.

    Args:
        bytes: source bytes that no earlier stage had read.
        first_bytes: bytes read for partitions that no earlier stage had computed.
        first_share: those partitions as a share of the stage's partitions.
    """

    bytes: float
    first_bytes: float
    first_share: float


class SourceReads:
    """Tracks, per persisted RDD and partition, the most source bytes that a stage has read."""

    def __init__(self) -> None:
        self._max_bytes: dict[int, dict[int, int]] = {}

    def record_first(self, rdd_id: int, read: Mapping[int, int]) -> None:
        """Records the source bytes per partition of a stage that found no block of the RDD."""
        max_bytes = self._max_bytes.setdefault(rdd_id, {})
        for index, size in read.items():
            max_bytes.setdefault(index, size)

    def read(
        self,
        rdd_id: int,
        read: Mapping[int, int],
        *,
        cached: Collection[int] | None,
        fully_computed: bool,
    ) -> SourceRead:
        """Records the bytes per partition read by a stage after others had computed partitions.

        Args:
            cached: partitions with a stored block; None where unknown, or where all were stored.
            fully_computed: whether all partitions had been computed before.
        """
        max_bytes = self._max_bytes.setdefault(rdd_id, {})
        missing = read.keys() if cached is None else read.keys() - set(cached)
        first = set() if fully_computed else missing - max_bytes.keys()
        reread = set() if cached is None else missing & max_bytes.keys()
        extra_bytes = sum(max(0, read[index] - max_bytes[index]) for index in reread)
        first_bytes = sum(read[index] for index in first)
        for index in (*first, *reread):
            max_bytes[index] = max(read[index], max_bytes.get(index, 0))
        share = len(first) / len(read) if read else 0.0
        return SourceRead(float(first_bytes + extra_bytes), float(first_bytes), share)

    def of(self, rdd_id: int) -> Mapping[int, int]:
        """Partition -> the most source bytes that a stage has read for it."""
        return self._max_bytes.get(rdd_id, {})

    def unpersisted(self, rdd_id: int) -> None:
        """Forgets an RDD: later reads of its sources count anew."""
        self._max_bytes.pop(rdd_id, None)
