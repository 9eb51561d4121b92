"""Storage memory that persisted RDDs take or would take, from the block updates of a log.

A block that does not fit in memory is not reported. The size of an RDD is therefore estimated: the
bytes stored, plus an amount for each partition that a stage needed and that was not stored when the
stage ended. That amount is proportional to the bytes read from the source for the partition, where
a stage has shown them, else it is the mean block. (Spark starts the largest partitions first, so
those that do not fit are smaller than the rest.) An RDD that no later stage needs is evicted first
and costs nothing: it counts from the stage that stores it to the last one that needs it, even where
the program never unpersists it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from engine.profile import PersistedRdd
from engine.sources.logs.whole_numbers import whole_number

_BlockCopy = tuple[str, str]
"""A block id, and the executor that stores this copy (replica) of it."""


@dataclass(slots=True)
class _RddBlocks:
    """The stored blocks of one persisted RDD, and how large it would be if all of it were stored.

    Args:
        rdd_id: its id.
        first_stored: how many stages had ended when its first block was stored.
        on_heap: whether its storage level takes heap memory.
        sizes: bytes of each stored copy.
        on_disk: the copies that are on disk alone.
        copies: number of stored copies of each block.
        current_bytes, disk_bytes: of all copies, and of those on disk alone.
        copies_seen, copies_seen_bytes: copies that were ever stored, and their bytes.
        replication, max_copies: copies of a block by its storage level, and most stored at once.
        stored_peak_bytes: most bytes stored at once.
        mean_estimate_bytes, source_estimate_bytes: peak with every needed partition stored, by the
            mean block size and by the bytes read from the source for each partition.
        last_needed: the last stage that needed it, as a count of stages ended; None if none did.
    """

    rdd_id: int
    first_stored: int
    on_heap: bool
    sizes: dict[_BlockCopy, int] = field(default_factory=dict)
    on_disk: set[_BlockCopy] = field(default_factory=set)
    copies: Counter[str] = field(default_factory=Counter)
    current_bytes: int = 0
    disk_bytes: int = 0
    copies_seen: int = 0
    copies_seen_bytes: int = 0
    replication: int = 1
    max_copies: int = 0
    stored_peak_bytes: int = 0
    mean_estimate_bytes: float = 0.0
    source_estimate_bytes: float = 0.0
    last_needed: int | None = None

    @property
    def wanted_bytes(self) -> float:
        """Bytes that it would take with every needed partition stored; at least its peak."""
        return max(
            float(self.stored_peak_bytes), self.source_estimate_bytes or self.mean_estimate_bytes
        )

    def put(self, copy: _BlockCopy, size: int, *, on_disk: bool) -> None:
        """Sets the size of a copy in bytes; 0 removes it."""
        new = copy not in self.sizes
        self.remove(copy)
        if size <= 0:
            return
        self.sizes[copy] = size
        self.current_bytes += size
        if on_disk:
            self.on_disk.add(copy)
            self.disk_bytes += size
        if new:
            self.copies_seen += 1
            self.copies_seen_bytes += size
        self.copies[copy[0]] += 1
        self.max_copies = max(self.max_copies, self.copies[copy[0]])
        self.stored_peak_bytes = max(self.stored_peak_bytes, self.current_bytes)

    def remove(self, copy: _BlockCopy) -> None:
        """Removes a copy, if it is stored."""
        size = self.sizes.pop(copy, 0)
        if not size:
            return
        self.current_bytes -= size
        self.copies[copy[0]] -= 1
        if not self.copies[copy[0]]:
            del self.copies[copy[0]]
        if copy in self.on_disk:
            self.on_disk.discard(copy)
            self.disk_bytes -= size

    def disk_only_bytes(self) -> int:
        """Bytes of the blocks that are on disk and not in memory, one copy of each."""
        if self.max_copies < 2:
            return self.disk_bytes
        on_disk = Counter(block for block, _ in self.on_disk)
        sizes = {copy[0]: self.sizes[copy] for copy in self.on_disk}
        return sum(size for block, size in sizes.items() if on_disk[block] == self.copies[block])

    def stage_ended(self, partitions: int, read: Mapping[int, int]) -> None:
        """Updates both size estimates after a stage that needed so many partitions.

        Missing copies count as wanted. Of each block at most as many copies are missing as ever
        existed at once: a single executor cannot replicate.

        Args:
            read: partition -> bytes read from the source; empty where not all are known.
        """
        copies_wanted = min(self.replication, self.max_copies)
        copies_of = Counter(
            {whole_number(name.rpartition("_")[2]): number for name, number in self.copies.items()}
        )
        missing = max(
            0,
            partitions * copies_wanted
            - sum(min(number, copies_wanted) for number in copies_of.values()),
        )
        mean_bytes = self.copies_seen_bytes / self.copies_seen
        self.mean_estimate_bytes = max(
            self.mean_estimate_bytes, self.current_bytes + missing * mean_bytes
        )
        stored_source_bytes = sum(
            number * read.get(index, 0) for index, number in copies_of.items() if index is not None
        )
        if stored_source_bytes and len(read) == partitions and min(read.values()) > 0:
            missing_source_bytes = sum(
                max(0, copies_wanted - copies_of[index]) * size for index, size in read.items()
            )
            estimate = self.current_bytes * (1.0 + missing_source_bytes / stored_source_bytes)
            self.source_estimate_bytes = max(self.source_estimate_bytes, estimate)


@dataclass(slots=True)
class _PersistedSpan:
    """The life of an RDD from being persisted to being unpersisted: the replication of its blocks,
    after which stage it was unpersisted, and its blocks."""

    rdd_id: int
    copies: int = 1
    unpersisted: bool = False
    dropped_after: int | None = None
    stored: _RddBlocks | None = None


class CachedBlocks:
    """Tracks block updates in log order; `any_reported` is whether the log has any for a persisted
    RDD."""

    def __init__(self) -> None:
        self.any_reported = False
        self._off_heap: set[int] = set()
        self._of_rdd: dict[int, _RddBlocks] = {}
        self._unpersisted: list[_RddBlocks] = []
        self._stages_ended = 0
        self._last_ended: int | None = None
        self._spans: dict[int, list[_PersistedSpan]] = {}

    def update(
        self, name: str, size: int, *, on_disk: bool, executor: str = "", copies: int = 1
    ) -> None:
        """Sets the size of a block on an executor; blocks other than of persisted RDDs are ignored.

        Args:
            size: bytes in memory where known, else on disk; 0 where it was evicted or did not fit.
            on_disk: whether it is on disk alone.
            copies: the replication of its storage level.
        """
        rdd_id = _rdd_of(name)
        if rdd_id is None:
            return
        self.any_reported = True
        stored = self._of_rdd.get(rdd_id)
        if stored is None:
            on_heap = rdd_id not in self._off_heap
            stored = self._of_rdd[rdd_id] = _RddBlocks(rdd_id, self._stages_ended, on_heap)
        stored.replication = max(stored.replication, copies)
        stored.put((name, executor), size, on_disk=on_disk)

    def executor_lost(self, executor: str) -> None:
        """Removes all blocks of a lost executor."""
        for stored in self._of_rdd.values():
            for copy in [copy for copy in stored.sizes if copy[1] == executor]:
                stored.remove(copy)

    def stage_began(
        self,
        needed: Iterable[tuple[int, int]],
        off_heap: Collection[int],
        copies: Mapping[int, int],
    ) -> float | None:
        """Records the persisted RDDs that a submitted stage needs.

        An RDD that had been unpersisted starts a new span. Returns their bytes that are on disk
        alone; None while the log has reported no block.

        Args:
            needed: RDD ids and their partitions.
            off_heap: those that take no heap memory.
            copies: replication of their blocks, where it is not 1.
        """
        wanted = dict.fromkeys(rdd_id for rdd_id, _ in needed)
        self._off_heap.difference_update(wanted)
        self._off_heap.update(off_heap)
        for rdd_id in wanted:
            spans = self._spans.setdefault(rdd_id, [])
            if not spans or spans[-1].unpersisted:
                spans.append(_PersistedSpan(rdd_id, copies.get(rdd_id, 1)))
        if not self.any_reported:
            return None
        known = (self._of_rdd[rdd_id] for rdd_id in wanted if rdd_id in self._of_rdd)
        return float(sum(stored.disk_only_bytes() for stored in known))

    def cached_partitions(self, rdds: Iterable[tuple[int, int]]) -> frozenset[int] | None:
        """The partitions with a stored block of any of these RDDs (ids with their partitions).
        None while the log has reported no block, or where one of the RDDs is stored completely."""
        known = [(self._of_rdd.get(rdd_id), partitions) for rdd_id, partitions in rdds]
        stored = [(rdd, partitions) for rdd, partitions in known if rdd is not None]
        if not self.any_reported or any(
            len(rdd.copies) >= partitions for rdd, partitions in stored
        ):
            return None
        indices = (
            whole_number(name.rpartition("_")[2]) for rdd, _ in stored for name in rdd.copies
        )
        return frozenset(index for index in indices if index is not None)

    def stage_ended(
        self,
        stage_id: int,
        needed: Iterable[tuple[int, int]],
        tasks: int,
        read: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """Records that a stage computed or read these RDDs: partitions not stored now do not fit.

        Args:
            needed: RDD ids and their partitions.
            tasks: number of tasks of the stage.
            read: RDD -> partition -> bytes read from the source, where known.
        """
        self._last_ended = stage_id
        for rdd_id, partitions in needed:
            spans, stored = self._spans.get(rdd_id), self._of_rdd.get(rdd_id)
            if spans and spans[-1].unpersisted:  # during this stage
                spans[-1].dropped_after = stage_id
            if stored is None or not stored.copies_seen:
                continue
            stored.stage_ended(min(partitions, tasks), (read or {}).get(rdd_id, {}))
            stored.last_needed = self._stages_ended
        self._stages_ended += 1

    def unpersisted(self, rdd_id: int) -> None:
        """Ends the span of an RDD."""
        stored = self._of_rdd.pop(rdd_id, None)
        spans = self._spans.get(rdd_id)
        if spans and not spans[-1].unpersisted:
            span = spans[-1]
            span.unpersisted, span.dropped_after, span.stored = True, self._last_ended, stored
        if stored is None:
            return
        if stored.last_needed is None:
            stored.last_needed = self._stages_ended
        self._unpersisted.append(stored)
        stored.sizes, stored.copies = {}, Counter()

    def persisted(self) -> tuple[PersistedRdd, ...]:
        """The persisted RDDs that stages needed, by first use, one entry per span. Where no block
        was seen in a span the bytes are those of another span; None where none ever was."""
        max_bytes: dict[int, float] = {}
        for stored in (*self._unpersisted, *self._of_rdd.values()):
            max_bytes[stored.rdd_id] = max(stored.wanted_bytes, max_bytes.get(stored.rdd_id, 0.0))
        rdds = []
        for rdd_id, spans in self._spans.items():
            for span in spans:
                known = span.stored if span.unpersisted else self._of_rdd.get(rdd_id)
                size = max_bytes.get(rdd_id) if known is None else known.wanted_bytes
                rdds.append(PersistedRdd(rdd_id, size, span.dropped_after, span.copies))
        return tuple(rdds)

    @property
    def peak_bytes(self) -> float:
        """Peak storage memory on the heap that the application would need to store all its
        persisted RDDs: bytes in memory where blocks ever were there, else bytes on disk."""
        steps: defaultdict[int, float] = defaultdict(float)
        for stored in (*self._unpersisted, *self._of_rdd.values()):
            if not stored.on_heap:
                continue
            last_needed = self._stages_ended if stored.last_needed is None else stored.last_needed
            steps[stored.first_stored] += stored.wanted_bytes
            steps[max(stored.first_stored, last_needed) + 1] -= stored.wanted_bytes
        peak = current = 0.0
        for _, change in sorted(steps.items()):
            current += change
            peak = max(peak, current)
        return peak


def _rdd_of(block: str) -> int | None:
    """The RDD of a block `rdd_<rdd>_<partition>`; None for other blocks."""
    kind, _, rest = block.partition("_")
    return whole_number(rest.partition("_")[0]) if kind == "rdd" else None
