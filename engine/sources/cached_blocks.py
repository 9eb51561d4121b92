"""Blocks of persisted RDDs: what the executors hold of them, and what is missing there.

A block that finds no room in memory is not announced. So what an application wants to keep is what
is stored, and as much again for each partition that a stage needed and that was not there when the
stage had ended. An RDD that no later stage needs makes room where there is none, and costs nothing:
it counts from the stage that stores it to the last one that needs it, whoever forgets to unpersist
it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from engine.profile import PersistedRdd
from engine.sources.whole_numbers import whole_number


@dataclass(slots=True)
class _Stored:
    """What is known of one RDD.

    Args:
        rdd_id: its id.
        since: how many stages had ended when its first block was stored.
        blocks, now_bytes: that are stored.
        disk_bytes: of them, on disk alone.
        seen, seen_bytes: blocks that ever were, and their bytes.
        wanted_bytes: most that it has, or would have with room for every partition that was needed.
        until: the last stage that needed it, counted in the order in which they end; None where no
            stage is known to.
    """

    rdd_id: int
    since: int
    blocks: int = 0
    now_bytes: int = 0
    disk_bytes: int = 0
    seen: int = 0
    seen_bytes: int = 0
    wanted_bytes: float = 0.0
    until: int | None = None


@dataclass(slots=True)
class _Life:
    """An RDD from when it was persisted until it was unpersisted: after which stage, and what is
    known of its blocks."""

    rdd_id: int
    ended: bool = False
    dropped_after: int | None = None
    stored: _Stored | None = None


class CachedBlocks:
    """Follows block updates in the order of the log; `told` says whether it had anything to say of
    persisted RDDs."""

    def __init__(self) -> None:
        self.told = False
        self._sizes: dict[str, int] = {}
        self._on_disk: dict[str, int] = {}
        self._of_rdd: dict[int, _Stored] = {}
        self._past: list[_Stored] = []
        self._ended = 0
        self._last_ended: int | None = None
        self._lives: dict[int, list[_Life]] = {}

    def update(self, name: str, size: int, *, on_disk: bool) -> None:
        """A block has so many bytes from now on, 0 where it was evicted or found no room; only
        blocks of persisted RDDs count.

        Args:
            size: in memory, where that is known, else on disk.
            on_disk: whether it lies on disk alone.
        """
        rdd_id = _rdd_of(name)
        if rdd_id is None:
            return
        self.told = True
        stored = self._of_rdd.setdefault(rdd_id, _Stored(rdd_id, self._ended))
        before, size = self._sizes.pop(name, 0), max(0, size)
        stored.disk_bytes -= self._on_disk.pop(name, 0)
        if size > 0:
            self._sizes[name] = size
            if on_disk:
                self._on_disk[name] = size
                stored.disk_bytes += size
        stored.blocks += (size > 0) - (before > 0)
        if size > 0 and not before:
            stored.seen += 1
            stored.seen_bytes += size
        stored.now_bytes += size - before
        stored.wanted_bytes = max(stored.wanted_bytes, float(stored.now_bytes))

    def stage_began(self, needed: Iterable[tuple[int, int]]) -> float | None:
        """A stage is submitted that needs these RDDs, which are persisted then: one that had been
        unpersisted is so again. Returns how much of them lies on disk alone; None where the log has
        not told of any block yet."""
        wanted = dict.fromkeys(rdd_id for rdd_id, _ in needed)
        for rdd_id in wanted:
            lives = self._lives.setdefault(rdd_id, [])
            if not lives or lives[-1].ended:
                lives.append(_Life(rdd_id))
        if not self.told:
            return None
        known = (self._of_rdd[rdd_id] for rdd_id in wanted if rdd_id in self._of_rdd)
        return float(sum(stored.disk_bytes for stored in known))

    def stage_ended(self, stage_id: int, needed: Iterable[tuple[int, int]], tasks: int) -> None:
        """A stage of so many tasks has computed or read RDDs of so many partitions each: those that
        are not stored found no room."""
        self._last_ended = stage_id
        for rdd_id, partitions in needed:
            self._outlive(rdd_id, stage_id)
            stored = self._of_rdd.get(rdd_id)
            if stored is None or not stored.seen:
                continue
            lost = max(0, min(partitions, tasks) - stored.blocks)
            missing = lost * stored.seen_bytes / stored.seen
            stored.wanted_bytes = max(stored.wanted_bytes, stored.now_bytes + missing)
            stored.until = self._ended
        self._ended += 1

    def _outlive(self, rdd_id: int, stage_id: int) -> None:
        """An RDD that was unpersisted while a stage ran that needs it was wanted until its end."""
        lives = self._lives.get(rdd_id)
        if lives and lives[-1].ended:
            lives[-1].dropped_after = stage_id

    def unpersisted(self, rdd_id: int) -> None:
        """An RDD is wanted no more."""
        stored = self._of_rdd.pop(rdd_id, None)
        lives = self._lives.get(rdd_id)
        if lives and not lives[-1].ended:
            life = lives[-1]
            life.ended, life.dropped_after, life.stored = True, self._last_ended, stored
        if stored is None:
            return
        stored.until = self._ended if stored.until is None else stored.until
        self._past.append(stored)
        prefix = f"rdd_{rdd_id}_"
        for name in [name for name in self._sizes if name.startswith(prefix)]:
            del self._sizes[name]
            self._on_disk.pop(name, None)

    def persisted(self) -> tuple[PersistedRdd, ...]:
        """The persisted RDDs that stages needed, in the order in which they first did, once for
        each time that they were persisted; their bytes are those of another time where no block
        was seen, None where none ever was."""
        most: dict[int, float] = {}
        for stored in (*self._past, *self._of_rdd.values()):
            most[stored.rdd_id] = max(stored.wanted_bytes, most.get(stored.rdd_id, 0.0))
        found = []
        for rdd_id, lives in self._lives.items():
            for life in lives:
                known = life.stored if life.ended else self._of_rdd.get(rdd_id)
                size = most.get(rdd_id) if known is None else known.wanted_bytes
                found.append(PersistedRdd(rdd_id, size, life.dropped_after))
        return tuple(found)

    @property
    def most_bytes(self) -> float:
        """What the application wanted to keep at once, in bytes as they are in memory where they
        ever were there, else as they are on disk."""
        steps: defaultdict[int, float] = defaultdict(float)
        for stored in (*self._past, *self._of_rdd.values()):
            until = self._ended if stored.until is None else stored.until
            steps[stored.since] += stored.wanted_bytes
            steps[max(stored.since, until) + 1] -= stored.wanted_bytes
        most = now = 0.0
        for _, change in sorted(steps.items()):
            now += change
            most = max(most, now)
        return most


def _rdd_of(block: str) -> int | None:
    """The RDD of a block `rdd_<rdd>_<partition>`; None for other blocks."""
    kind, _, rest = block.partition("_")
    return whole_number(rest.partition("_")[0]) if kind == "rdd" else None
