"""Blocks of persisted RDDs: what the executors hold of them, and what is missing there.

A block that finds no room in memory is not announced. So what an application wants to keep is what
is stored, and as much again for each partition that a stage needed and that was not there when the
stage had ended: in proportion to what was read from outside for it, where a stage has shown that,
else the mean block. (Spark starts the largest partitions first, so that those that find no room are
smaller than the rest.) An RDD that no later stage needs makes room where there is none, and costs
nothing: it counts from the stage that stores it to the last one that needs it, whoever forgets to
unpersist it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from engine.profile import PersistedRdd
from engine.sources.logs.whole_numbers import whole_number

_Copy = tuple[str, str]
"""A block, and the executor that holds a copy of it."""


@dataclass(slots=True)
class _Stored:
    """What is known of one RDD.

    Args:
        rdd_id: its id.
        since: how many stages had ended when its first block was stored.
        on_heap: whether its storage level wants memory of the heap.
        sizes: of the copies that are stored, in bytes.
        on_disk: those that lie on disk alone.
        copies: how many there are of each block.
        now_bytes, disk_bytes: of all copies, and of those on disk alone.
        seen, seen_bytes: copies that ever were, and their bytes.
        asked, most_copies: of a block, by its storage level and that were there at once.
        had_bytes: most that it has.
        guessed_bytes, told_bytes: most that it would have with room for every partition that was
            needed, by the mean block and by what was read from outside for each.
        until: the last stage that needed it, counted in the order in which they end; None where no
            stage is known to.
    """

    rdd_id: int
    since: int
    on_heap: bool
    sizes: dict[_Copy, int] = field(default_factory=dict)
    on_disk: set[_Copy] = field(default_factory=set)
    copies: Counter[str] = field(default_factory=Counter)
    now_bytes: int = 0
    disk_bytes: int = 0
    seen: int = 0
    seen_bytes: int = 0
    asked: int = 1
    most_copies: int = 0
    had_bytes: int = 0
    guessed_bytes: float = 0.0
    told_bytes: float = 0.0
    until: int | None = None

    @property
    def wanted_bytes(self) -> float:
        """Most that it has, or would have with room for every partition that was needed."""
        return max(float(self.had_bytes), self.told_bytes or self.guessed_bytes)

    def put(self, copy: _Copy, size: int, *, on_disk: bool) -> None:
        """A copy has so many bytes from now on, 0 for none."""
        new = copy not in self.sizes
        self.drop(copy)
        if size <= 0:
            return
        self.sizes[copy] = size
        self.now_bytes += size
        if on_disk:
            self.on_disk.add(copy)
            self.disk_bytes += size
        if new:
            self.seen += 1
            self.seen_bytes += size
        self.copies[copy[0]] += 1
        self.most_copies = max(self.most_copies, self.copies[copy[0]])
        self.had_bytes = max(self.had_bytes, self.now_bytes)

    def drop(self, copy: _Copy) -> None:
        """A copy is there no more, if it was."""
        size = self.sizes.pop(copy, 0)
        if not size:
            return
        self.now_bytes -= size
        self.copies[copy[0]] -= 1
        if not self.copies[copy[0]]:
            del self.copies[copy[0]]
        if copy in self.on_disk:
            self.on_disk.discard(copy)
            self.disk_bytes -= size

    def disk_alone_bytes(self) -> int:
        """Of one copy of each block of which memory holds none."""
        if self.most_copies < 2:
            return self.disk_bytes
        on_disk = Counter(block for block, _ in self.on_disk)
        alone = {copy[0]: self.sizes[copy] for copy in self.on_disk}
        return sum(size for block, size in alone.items() if on_disk[block] == self.copies[block])

    def ended(self, partitions: int, read: Mapping[int, int]) -> None:
        """A stage has ended that needed so many partitions: what the copies would take that are not
        there is wanted too. Of each no more are missing than were ever there at once: a lone
        executor has nobody to give a second one to.

        Args:
            read: bytes that were read from outside for each; empty where nobody knows all of it.
        """
        most = min(self.asked, self.most_copies)
        there = Counter(
            {whole_number(name.rpartition("_")[2]): own for name, own in self.copies.items()}
        )
        missing = max(0, partitions * most - sum(min(own, most) for own in there.values()))
        mean_bytes = self.seen_bytes / self.seen
        self.guessed_bytes = max(self.guessed_bytes, self.now_bytes + missing * mean_bytes)
        held = sum(own * read.get(place, 0) for place, own in there.items() if place is not None)
        if held and len(read) == partitions and min(read.values()) > 0:
            lost = sum(max(0, most - there[place]) * size for place, size in read.items())
            told = self.now_bytes * (1.0 + lost / held)
            self.told_bytes = max(self.told_bytes, told)


@dataclass(slots=True)
class _Life:
    """An RDD from when it was persisted until it was unpersisted: after which stage, on how many
    executors each block was to lie, and what is known of its blocks."""

    rdd_id: int
    copies: int = 1
    ended: bool = False
    dropped_after: int | None = None
    stored: _Stored | None = None


class CachedBlocks:
    """Follows block updates in the order of the log; `told` says whether it had anything to say of
    persisted RDDs."""

    def __init__(self) -> None:
        self.told = False
        self._off_heap: set[int] = set()
        self._of_rdd: dict[int, _Stored] = {}
        self._past: list[_Stored] = []
        self._ended = 0
        self._last_ended: int | None = None
        self._lives: dict[int, list[_Life]] = {}

    def update(
        self, name: str, size: int, *, on_disk: bool, executor: str = "", copies: int = 1
    ) -> None:
        """A block has so many bytes on an executor from now on, 0 where it was evicted or found no
        room; only blocks of persisted RDDs count.

        Args:
            size: in memory, where that is known, else on disk.
            on_disk: whether it lies on disk alone.
            copies: how many executors are to hold one.
        """
        rdd_id = _rdd_of(name)
        if rdd_id is None:
            return
        self.told = True
        stored = self._of_rdd.get(rdd_id)
        if stored is None:
            on_heap = rdd_id not in self._off_heap
            stored = self._of_rdd[rdd_id] = _Stored(rdd_id, self._ended, on_heap)
        stored.asked = max(stored.asked, copies)
        stored.put((name, executor), size, on_disk=on_disk)

    def executor_lost(self, executor: str) -> None:
        """An executor is gone, and with it what it held."""
        for stored in self._of_rdd.values():
            for copy in [copy for copy in stored.sizes if copy[1] == executor]:
                stored.drop(copy)

    def stage_began(
        self,
        needed: Iterable[tuple[int, int]],
        off_heap: Collection[int] = (),
        copies: Mapping[int, int] | None = None,
    ) -> float | None:
        """A stage is submitted that needs these RDDs, which are persisted then: one that had been
        unpersisted is so again. Returns how much of them lies on disk alone; None where the log has
        not told of any block yet.

        Args:
            off_heap: those that want no memory of the heap.
            copies: on how many executors each block is to lie, where that is not one.
        """
        wanted = dict.fromkeys(rdd_id for rdd_id, _ in needed)
        self._off_heap.difference_update(wanted)
        self._off_heap.update(off_heap)
        for rdd_id in wanted:
            lives = self._lives.setdefault(rdd_id, [])
            if not lives or lives[-1].ended:
                lives.append(_Life(rdd_id, (copies or {}).get(rdd_id, 1)))
        if not self.told:
            return None
        known = (self._of_rdd[rdd_id] for rdd_id in wanted if rdd_id in self._of_rdd)
        return float(sum(stored.disk_alone_bytes() for stored in known))

    def held(self, rdds: Iterable[tuple[int, int]]) -> frozenset[int] | None:
        """The partitions of which a block of any of these RDDs, of so many partitions each, is
        there; None where the log has not told of any block yet, or one of them is there whole."""
        known = [(self._of_rdd.get(rdd_id), partitions) for rdd_id, partitions in rdds]
        stored = [(rdd, partitions) for rdd, partitions in known if rdd is not None]
        if not self.told or any(len(rdd.copies) >= partitions for rdd, partitions in stored):
            return None
        places = (whole_number(name.rpartition("_")[2]) for rdd, _ in stored for name in rdd.copies)
        return frozenset(place for place in places if place is not None)

    def stage_ended(
        self,
        stage_id: int,
        needed: Iterable[tuple[int, int]],
        tasks: int,
        read: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """A stage of so many tasks has computed or read RDDs of so many partitions each: those that
        are not stored found no room.

        Args:
            read: RDD -> bytes that were read from outside for each of its partitions, of those of
                which it is known.
        """
        self._last_ended = stage_id
        for rdd_id, partitions in needed:
            self._outlive(rdd_id, stage_id)
            stored = self._of_rdd.get(rdd_id)
            if stored is None or not stored.seen:
                continue
            stored.ended(min(partitions, tasks), (read or {}).get(rdd_id, {}))
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
        stored.sizes, stored.copies = {}, Counter()

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
                found.append(PersistedRdd(rdd_id, size, life.dropped_after, life.copies))
        return tuple(found)

    @property
    def most_bytes(self) -> float:
        """What the application wanted to keep on the heap at once, in bytes as they are in memory
        where they ever were there, else as they are on disk."""
        steps: defaultdict[int, float] = defaultdict(float)
        for stored in (*self._past, *self._of_rdd.values()):
            if not stored.on_heap:
                continue
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
