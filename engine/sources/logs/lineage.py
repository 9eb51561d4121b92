"""What a stage does and which persisted RDDs it reads, by its RDDs and call sites.

The rules (docs/from_logs.md states them for users): a stage belongs to the library whose package
is in its call stack; operations are the RDD scopes, which Spark names after the operation.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from engine.cluster import MOST_NODES
from engine.sources.logs.combined_inputs import (
    CHECKPOINTS,
    GENERATED,
    NO_INPUT,
    UNIONS,
    CombinedInputs,
    combined_in,
)
from engine.sources.logs.events import RddInfo

_PACKAGE = re.compile(rb"org\.apache\.spark\.(graphx|mllib|ml|streaming)\.")
_LIBRARIES = {b"graphx": "graphx", b"mllib": "mllib", b"ml": "mllib", b"streaming": "streaming"}
"""The first of these packages that is in a stage's call stack names its library."""

MOST_OPERATIONS = 64

_FOLDERS = re.compile(r"(?<![^\s()])[^\s()]*[/\\](?=[^\s()])")
_PYTHON = "PythonRDD"
"""What Spark calls an RDD whose functions run in Python; it gives it no scope."""

_TABLE = "JDBCRDD"
"""What Spark calls an RDD that reads a table of a database; it is made before the query runs, and
so has no scope."""

_TABLE_SCANS = frozenset({"FileScanRDD", "DataSourceRDD"})
"""What Spark calls RDDs that read tables for SQL, by the old and the new interface of sources."""

_COALESCED = "CoalescedRDD"
"""What Spark calls an RDD of fewer partitions without a shuffle, of SQL's `Coalesce` too."""


_COALESCE, _REPARTITION = "coalesce", "repartition"
"""What Spark calls the operation that does so, and the one that shuffles, by which Python's has the
name of the former."""

_CONNECT = "Spark Connect - "
"""How a stage that a client of Spark Connect asked for is named, before the request itself: its
session's random id and the beginning of its plan."""


class _Scope(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    id: str = ""


_decode_scope = msgspec.json.Decoder(_Scope).decode


@lru_cache(maxsize=1024)
def without_paths(text: str) -> str:
    """The text with `/home/someone/job.py:42`, `../jobs/job.py:42` and `C:\\jobs\\job.py:42`
    shortened to `job.py:42`."""
    return _FOLDERS.sub("", text)


def stage_name(text: str) -> str:
    """A stage's name as it is kept: without paths, and without a request that is no place in a
    program, holds what a client may have in its plan and is never the same twice."""
    return _CONNECT.rstrip(" -") if text.startswith(_CONNECT) else without_paths(text)


@lru_cache(maxsize=1024)
def _operation(scope: str) -> tuple[str, str] | None:
    """Name and id of the operation that an RDD scope stands for; None for none."""
    try:
        decoded = _decode_scope(scope)
    except msgspec.MsgspecError:
        return None
    name = without_paths(decoded.name).strip()
    return (name, decoded.id) if name else None


def _scope_name(scope: str) -> str:
    """The name of an RDD scope as it stands; empty where it is damaged."""
    try:
        return _decode_scope(scope).name
    except msgspec.MsgspecError:
        return ""


def _operation_of(rdd: RddInfo) -> tuple[str, str] | None:
    """Name and id of the operation that made an RDD; None where the log does not say."""
    if rdd.name == _PYTHON or (rdd.name == _TABLE and not rdd.scope):
        return rdd.name, str(rdd.rdd_id)
    return _operation(rdd.scope) if rdd.scope else None


def _shuffling(rdds: Sequence[RddInfo]) -> set[tuple[str, str]]:
    """The operations `coalesce` of a stage that shuffle, and put no partitions together there: what
    Python calls `repartition`."""
    named = {rdd.rdd_id: operation for rdd in rdds if (operation := _operation_of(rdd))}
    together = {named.get(rdd.rdd_id) for rdd in rdds if rdd.name == _COALESCED}
    return {one for one in named.values() if one[0] == _COALESCE and one not in together}


class Lineage:
    """Which RDDs are persisted and computed by now, so that cached reads can be told apart."""

    def __init__(self) -> None:
        self._computed: set[int] = set()
        self._in_part: dict[int, set[int]] = {}
        self._under_way: set[int] = set()

    def begun(self, rdd_ids: Iterable[int]) -> None:
        """A stage was submitted that computes all partitions of these persisted RDDs."""
        self._under_way.update(rdd_ids)

    def given_up(self, rdd_ids: Iterable[int]) -> None:
        """A stage has failed that was to compute these."""
        self._under_way.difference_update(rdd_ids)

    def computed_in_part(self, rdds: Iterable[tuple[int, int]], places: Iterable[int]) -> None:
        """These partitions of persisted RDDs of so many each have been computed by a completed
        stage, which had no others."""
        for rdd_id, partitions in rdds:
            if rdd_id in self._computed:
                continue
            known = self._in_part.setdefault(rdd_id, set())
            known.update(places)
            if len(known) >= partitions:
                self.computed([rdd_id])

    def is_computed(self, rdd_id: int) -> bool:
        """Whether all partitions of a persisted RDD have been computed."""
        return rdd_id in self._computed

    def computed(self, rdd_ids: Iterable[int]) -> None:
        """These persisted RDDs have been computed by a completed stage."""
        for rdd_id in rdd_ids:
            self._computed.add(rdd_id)
            self._in_part.pop(rdd_id, None)
            self._under_way.discard(rdd_id)

    def dropped(self, rdd_id: int) -> None:
        """An RDD was unpersisted."""
        self._computed.discard(rdd_id)
        self._in_part.pop(rdd_id, None)
        self._under_way.discard(rdd_id)

    @staticmethod
    def library_of(line: bytes) -> str | None:
        """The library in the call stack of a stage event, None for plain RDD and SQL work."""
        found = set(_PACKAGE.findall(line))
        return next((name for package, name in _LIBRARIES.items() if package in found), None)

    @staticmethod
    def operations_of(rdds: Sequence[RddInfo]) -> tuple[str, ...]:
        """Names of the operations of a stage (RDD scopes, and Python functions), in the log's
        order, each once."""
        names, shuffling = dict[str, None](), _shuffling(rdds)
        for rdd in rdds:
            operation = _operation_of(rdd) if len(names) < MOST_OPERATIONS else None
            if operation is not None:
                names[_REPARTITION if operation in shuffling else operation[0]] = None
        return tuple(names)

    def operation_counts(
        self, rdds: Sequence[RddInfo], operations: Sequence[str]
    ) -> tuple[int, ...]:
        """How often a task of the stage does each of its operations: RDD scopes of that name from
        the stage's RDD up to persisted, computed ones, which are read instead; () for once each.
        """
        scopes: dict[str, set[str]] = {name: set() for name in operations}
        shuffling = _shuffling(rdds)
        for rdd in self._computed_in(rdds):
            operation = _operation_of(rdd)
            name = _REPARTITION if operation in shuffling else operation and operation[0]
            if operation is not None and name in scopes:
                scopes[name].add(operation[1])
        counts = tuple(len(ids) for ids in scopes.values())
        return () if all(count == 1 for count in counts) else counts

    def _computed_in(self, rdds: Sequence[RddInfo]) -> list[RddInfo]:
        """The RDDs that the tasks of a stage compute; all where the log tells no RDD parents."""
        if not any(rdd.parents for rdd in rdds):
            return list(rdds)
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        pending, found = [rdds[0].rdd_id], dict[int, RddInfo]()
        while pending:
            rdd = by_id.get(pending.pop())
            if rdd is not None and rdd.rdd_id not in found and rdd.rdd_id not in self._computed:
                found[rdd.rdd_id] = rdd
                pending.extend(rdd.parents)
        return list(found.values())

    @staticmethod
    def coalesces(rdds: Sequence[RddInfo]) -> bool:
        """Whether the program asked for the number of partitions of a stage: `coalesce` put those
        of an RDD of the same stage together to fewer. One that left them as they were binds
        nothing here, and is none."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        return any(
            rdd.name == _COALESCED
            and 0 < rdd.partitions == rdds[0].partitions
            and any(by_id[p].partitions > rdd.partitions for p in rdd.parents if p in by_id)
            for rdd in rdds
        )

    def generated_in(self, rdds: Sequence[RddInfo]) -> tuple[int, ...]:
        """The partitions of each range or collection of the program's own that a stage works on,
        each of its tasks on one partition of one of them; none where it works on anything else."""
        found = {rdd.rdd_id: rdd for rdd in self._computed_in(rdds)}
        begins = [r for r in found.values() if not r.parents or not found.keys() >= set(r.parents)]
        if not begins or any(rdd.name != GENERATED for rdd in begins):
            return ()
        made, tasks = tuple(rdd.partitions for rdd in begins), rdds[0].partitions
        united = any(rdd.name in UNIONS for rdd in found.values())
        if united and sum(made) == tasks:
            return made
        return made[:1] if set(made) == {tasks} else ()

    def combined_in(self, rdds: Sequence[RddInfo]) -> CombinedInputs | None:
        """The inputs that a stage puts beside each other or pairs, by what was computed by now."""
        return combined_in(rdds, self._computed)

    def file_scans_in(self, rdds: Sequence[RddInfo]) -> tuple[str, ...]:
        """The operations of SQL that read files or other sources for a stage, one for each table
        that it scans, with the paths in their names."""
        if not any(rdd.name in _TABLE_SCANS for rdd in rdds):
            return ()
        read = (rdd.scope for rdd in self._computed_in(rdds) if rdd.name in _TABLE_SCANS)
        return tuple(_scope_name(scope) for scope in read if scope)

    @staticmethod
    def persisted_in(rdds: Sequence[RddInfo]) -> tuple[tuple[int, int], ...]:
        """The persisted RDDs of a stage, with their partitions."""
        return tuple((r.rdd_id, r.partitions) for r in rdds if r.level.memory or r.level.disk)

    @staticmethod
    def fed_in(rdds: Sequence[RddInfo]) -> int | None:
        """The persisted RDD through which a stage gets all that it reads from outside; None where
        it is not that of one source, has not the partitions of the stage, or is not there."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        pending = [rdd.rdd_id for rdd in rdds if not rdd.parents and rdd.name not in NO_INPUT]
        if not pending or len(pending) == len(rdds):
            return None
        children: dict[int, list[int]] = {}
        for rdd in rdds:
            for parent in rdd.parents:
                children.setdefault(parent, []).append(rdd.rdd_id)
        visited, fed = set[int](), set[int]()
        while pending:
            rdd = by_id[pending.pop()]
            if rdd.rdd_id in visited:
                continue
            visited.add(rdd.rdd_id)
            if rdd.level.memory or rdd.level.disk:
                fed.add(rdd.rdd_id)
            elif rdd is rdds[0]:
                return None
            else:
                pending.extend(children.get(rdd.rdd_id, ()))
        alike = {r.partitions for r in rdds if r.level.memory or r.level.disk or r is rdds[0]}
        return fed.pop() if len(fed) == 1 == len(alike) else None

    def kept_in(self, rdds: Sequence[RddInfo]) -> tuple[int, ...]:
        """The RDDs of which each task of a stage reads one partition that an earlier stage has
        persisted or checkpointed, nearest first, whatever else of other stages it reads beside
        them: Spark puts side by side what has as many partitions. Empty where it reads a source."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        pending, visited, kept = deque(rdd.rdd_id for rdd in rdds[:1]), set[int](), list[int]()
        while pending:
            rdd = by_id[pending.popleft()]
            if rdd.rdd_id in visited:
                continue
            visited.add(rdd.rdd_id)
            above = [by_id[parent] for parent in rdd.parents if parent in by_id]
            cut_off = any(parent.name in CHECKPOINTS for parent in above)
            if cut_off or rdd.rdd_id in self._computed:
                kept.append(rdd.rdd_id)
            elif not rdd.parents:
                return ()
            else:
                pending.extend(parent.rdd_id for parent in above)
        return tuple(one for one in kept if by_id[one].partitions == rdds[0].partitions)

    @staticmethod
    def disk_backed_in(rdds: Sequence[RddInfo]) -> tuple[int, ...]:
        """Those persisted RDDs whose blocks may lie on disk."""
        return tuple(rdd.rdd_id for rdd in rdds if rdd.level.disk)

    @staticmethod
    def copies_in(rdds: Sequence[RddInfo]) -> dict[int, int]:
        """On how many executors each block is to lie, of RDDs with more than one copy; no cluster
        has more executors than it may have nodes, of which a damaged log may tell."""
        return {r.rdd_id: r.level.copies for r in rdds if 1 < r.level.copies <= MOST_NODES}

    @staticmethod
    def off_heap_in(rdds: Sequence[RddInfo]) -> frozenset[int]:
        """Those persisted RDDs that want no memory of the heap: DISK_ONLY and OFF_HEAP."""
        return frozenset(
            r.rdd_id for r in rdds if r.level.off_heap or (r.level.disk and not r.level.memory)
        )

    def needed_in(self, rdds: Sequence[RddInfo]) -> tuple[tuple[int, int], ...]:
        """The persisted RDDs that the tasks of a stage read or compute, with their partitions; none
        where the log tells no RDD parents."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        pending, visited = [rdds[0].rdd_id] if rdds else [], set[int]()
        found = []
        while pending:
            rdd = by_id.get(pending.pop())
            if rdd is None or rdd.rdd_id in visited:
                continue
            visited.add(rdd.rdd_id)
            if rdd.level.memory or rdd.level.disk:
                found.append((rdd.rdd_id, rdd.partitions))
            if rdd.rdd_id not in self._computed:
                pending.extend(rdd.parents)
        return tuple(found)

    def reads_cache(self, rdds: Sequence[RddInfo], *, under_way: bool = False) -> bool:
        """Whether all input of a stage comes from RDDs that an earlier stage has persisted, or it
        itself: what a task has cached and needs a second time counts as read too.

        Walks from the stage's RDD up its narrow parents and stops at persisted, computed ones;
        a source that it still reaches is read again. Logs without RDD parents (before Spark
        1.5) say no more than that a persisted RDD is there.

        Args:
            under_way: whether those count that other stages are just computing.
        """
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        begun = (by_id.keys() & self._computed) | (by_id.keys() & self._in_part.keys())
        begun |= by_id.keys() & self._under_way if under_way else set()
        ready = bool(begun)
        if not any(rdd.parents for rdd in rdds):
            return ready
        if not ready and not any(rdd.level.memory or rdd.level.disk for rdd in rdds):
            return False
        pending, visited = [rdds[0].rdd_id], set()
        while pending:
            rdd = by_id.get(pending.pop())
            if rdd is None or rdd.rdd_id in visited or rdd.rdd_id in begun:
                continue
            visited.add(rdd.rdd_id)
            if not rdd.parents and rdd.name not in NO_INPUT:
                return False
            pending.extend(rdd.parents)
        return True
