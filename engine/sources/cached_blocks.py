"""Blocks of persisted RDDs: what the executors hold of them, and what is missing there.

A block that finds no room in memory is not announced. So what an application wants to keep is what
is stored, and as much again for each partition that a stage needed and that was not there when the
stage had ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class _Stored:
    """What is known of one RDD: blocks that are stored, and those that ever were with their
    bytes."""

    blocks: int = 0
    seen: int = 0
    seen_bytes: int = 0


class CachedBlocks:
    """Follows block updates in the order of the log.

    `most_bytes` is what the application wanted to keep at once, in bytes in memory and on disk;
    `told` says whether the log had anything to say of it.
    """

    def __init__(self) -> None:
        self.told = False
        self.most_bytes = 0.0
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self._of_rdd: dict[int, _Stored] = {}

    def update(self, name: str, size: int) -> None:
        """A block has so many bytes from now on, 0 where it was evicted or found no room; only
        blocks of persisted RDDs count."""
        rdd_id = _rdd_of(name)
        if rdd_id is None:
            return
        self.told = True
        stored = self._of_rdd.setdefault(rdd_id, _Stored())
        before = self._sizes.pop(name, 0)
        if size > 0:
            self._sizes[name] = size
        size = self._sizes.get(name, 0)
        stored.blocks += (size > 0) - (before > 0)
        if size > 0 and not before:
            stored.seen += 1
            stored.seen_bytes += size
        self._bytes += size - before
        self.most_bytes = max(self.most_bytes, float(self._bytes))

    def stage_ended(self, needed: Iterable[tuple[int, int]], tasks: int) -> None:
        """A stage of so many tasks has computed or read RDDs of so many partitions each: those that
        are not stored found no room."""
        missing = 0.0
        for rdd_id, partitions in needed:
            stored = self._of_rdd.get(rdd_id)
            if stored is not None and stored.seen:
                lost = max(0, min(partitions, tasks) - stored.blocks)
                missing += lost * stored.seen_bytes / stored.seen
        self.most_bytes = max(self.most_bytes, self._bytes + missing)

    def unpersisted(self, rdd_id: int) -> None:
        """An RDD is wanted no more."""
        if self._of_rdd.pop(rdd_id, None) is None:
            return
        prefix = f"rdd_{rdd_id}_"
        for name in [name for name in self._sizes if name.startswith(prefix)]:
            self._bytes -= self._sizes.pop(name)


def _rdd_of(block: str) -> int | None:
    """The RDD of a block `rdd_<rdd>_<partition>`; None for other blocks."""
    kind, _, rest = block.partition("_")
    rdd_id = rest.partition("_")[0]
    return int(rdd_id) if kind == "rdd" and rdd_id.isascii() and rdd_id.isdigit() else None
