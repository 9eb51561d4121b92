"""RDD lineage of stages: library, operations, and which persisted RDDs they compute or read.

The rules (docs/from_logs.md states them for users): a stage belongs to the library whose package
is in its call stack; operations are the RDD scopes, which Spark names after the operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from engine.sources.logs.combined_inputs import (
    CHECKPOINTS,
    GENERATED,
    NO_INPUT,
    UNIONS,
    CombinedInputs,
    combined_in,
    connected_rdds,
)
from engine.sources.logs.events import RddInfo
from engine.sources.logs.plan_events import CACHE_SCAN, NAMED_CACHE_SCAN

_PACKAGE = re.compile(rb"org\.apache\.spark\.(graphx|mllib|ml|streaming)\.")
_LIBRARIES = {b"graphx": "graphx", b"mllib": "mllib", b"ml": "mllib", b"streaming": "streaming"}
"""Package -> library; the first of them found in a stage's call stack is its library."""

MOST_OPERATIONS = 64

_FOLDERS = re.compile(r"(?<![^\s()])[^\s()]*[/\\](?=[^\s()])")
_PYTHON = "PythonRDD"
"""RDD name of functions that run in Python; it has no scope."""

_TABLE = "JDBCRDD"
"""RDD name of a JDBC table scan; it is created before the query runs and so has no scope."""

_FILE_SCAN = "FileScanRDD"
_TABLE_SCANS = frozenset({_FILE_SCAN, "DataSourceRDD"})
"""RDD names of SQL table scans, by DataSource V1 and V2."""

_GENERATED_CODE = "WholeStageCodegen"
SCANNED_FILES = "Scan files"
"""Operation of a file scan of Spark 2, whose scope is that of the generated code around it: the
format is known from the plan alone."""

_COALESCED = "CoalescedRDD"
"""RDD name of a coalesce without a shuffle, of SQL's `Coalesce` too."""


_COALESCE, _REPARTITION = "coalesce", "repartition"
"""Operation names without and with a shuffle; PySpark's `repartition` has the scope `coalesce`."""

_SCAN = "Scan "
"""Beginning of the names of operations that read a source."""

_CONNECT = "Spark Connect - "
"""Start of a Spark Connect stage's name. The request follows: the session's random id and the
beginning of its plan."""


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
    """A stage's name without paths, and without a Spark Connect request: that is not a call site,
    may contain a client's data, and differs from run to run."""
    return _CONNECT.rstrip(" -") if text.startswith(_CONNECT) else without_paths(text)


@lru_cache(maxsize=1024)
def _scope_of(text: str) -> _Scope:
    """An RDD scope; one without a name where it is damaged."""
    try:
        return _decode_scope(text)
    except msgspec.MsgspecError:
        return _Scope()


def _operation_of(rdd: RddInfo) -> tuple[str, str] | None:
    """Name and id of the operation that created an RDD; None where not logged."""
    if rdd.name == _PYTHON or (rdd.name == _TABLE and not rdd.scope):
        return rdd.name, str(rdd.rdd_id)
    scope = _scope_of(rdd.scope) if rdd.scope else _Scope()
    if _scans_in_generated_code(rdd, scope):
        return SCANNED_FILES, str(rdd.rdd_id)
    name = without_paths(scope.name).strip()
    if name.startswith(NAMED_CACHE_SCAN):  # else it would be taken for a scan of files
        name = CACHE_SCAN
    return (name, scope.id) if name else None


def _scans_in_generated_code(rdd: RddInfo, scope: _Scope) -> bool:
    return rdd.name == _FILE_SCAN and scope.name.startswith(_GENERATED_CODE)


def _goes_on_with(rdd: RddInfo, name: str, by_id: Mapping[int, RddInfo]) -> bool:
    """Whether an RDD has a parent that an operation of this name created as well."""
    parents = (_operation_of(by_id[parent]) for parent in rdd.parents if parent in by_id)
    return any(parent is not None and parent[0] == name for parent in parents)


def _repartitions(rdds: Sequence[RddInfo]) -> set[tuple[str, str]]:
    """The operations named `coalesce` of a stage that have no coalesced RDD there: these shuffle,
    and are what PySpark calls `repartition`."""
    operations = {rdd.rdd_id: operation for rdd in rdds if (operation := _operation_of(rdd))}
    coalesced = {operations.get(rdd.rdd_id) for rdd in rdds if rdd.name == _COALESCED}
    return {one for one in operations.values() if one[0] == _COALESCE and one not in coalesced}


def is_persisted(rdd: RddInfo) -> bool:
    """Whether the program asked for blocks of an RDD to be kept."""
    return rdd.level.memory or rdd.level.disk


class Lineage:
    """Tracks which persisted RDDs are computed so far, to tell cached reads from source reads."""

    def __init__(self) -> None:
        self._computed: set[int] = set()
        self._computed_partitions: dict[int, set[int]] = {}
        self._being_computed: set[int] = set()

    def computation_started(self, rdd_ids: Iterable[int]) -> None:
        """A submitted stage computes all partitions of these persisted RDDs."""
        self._being_computed.update(rdd_ids)

    def computation_failed(self, rdd_ids: Iterable[int]) -> None:
        """A stage that was computing these has failed."""
        self._being_computed.difference_update(rdd_ids)

    def partitions_computed(self, rdds: Iterable[tuple[int, int]], indices: Iterable[int]) -> None:
        """A completed stage has computed some partitions of persisted RDDs.

        Args:
            rdds: RDD ids with their numbers of partitions.
            indices: the partitions that the stage computed.
        """
        for rdd_id, partitions in rdds:
            if rdd_id in self._computed:
                continue
            known = self._computed_partitions.setdefault(rdd_id, set())
            known.update(indices)
            if len(known) >= partitions:
                self.computed([rdd_id])

    def is_computed(self, rdd_id: int) -> bool:
        """Whether all partitions of a persisted RDD have been computed."""
        return rdd_id in self._computed

    def computed(self, rdd_ids: Iterable[int]) -> None:
        """A completed stage has computed all partitions of these persisted RDDs."""
        for rdd_id in rdd_ids:
            self._computed.add(rdd_id)
            self._computed_partitions.pop(rdd_id, None)
            self._being_computed.discard(rdd_id)

    def unpersisted(self, rdd_id: int) -> None:
        """An RDD was unpersisted."""
        self._computed.discard(rdd_id)
        self._computed_partitions.pop(rdd_id, None)
        self._being_computed.discard(rdd_id)

    @staticmethod
    def library_of(line: bytes) -> str | None:
        """The library in the call stack of a stage event, None for plain RDD and SQL work."""
        packages = set(_PACKAGE.findall(line))
        return next((name for package, name in _LIBRARIES.items() if package in packages), None)

    @staticmethod
    def operations_of(rdds: Sequence[RddInfo]) -> tuple[str, ...]:
        """Names of the operations of a stage (RDD scopes, and Python functions), in the log's
        order, each once."""
        names, shuffling = dict[str, None](), _repartitions(rdds)
        for rdd in rdds:
            operation = _operation_of(rdd) if len(names) < MOST_OPERATIONS else None
            if operation is not None:
                names[_REPARTITION if operation in shuffling else operation[0]] = None
        return tuple(names)

    def operation_counts(
        self, rdds: Sequence[RddInfo], operations: Sequence[str]
    ) -> tuple[int, ...]:
        """How often a task of the stage runs each of its operations; () for once each.

        Counts the RDD scopes of that name from the stage's RDD up to persisted RDDs that are
        already computed, which are read instead. A scan that reads another of its name is that one:
        a plan that is executed again (`df.rdd` after a query of `df`) keeps its RDD of files.
        """
        scopes: dict[str, set[str]] = {name: set() for name in operations}
        shuffling, computed = _repartitions(rdds), self._computed_in(rdds)
        by_id = {rdd.rdd_id: rdd for rdd in computed}
        for rdd in computed:
            operation = _operation_of(rdd)
            name = _REPARTITION if operation in shuffling else operation and operation[0]
            if operation is None or name not in scopes:
                continue
            if name.startswith(_SCAN) and _goes_on_with(rdd, operation[0], by_id):
                continue
            scopes[name].add(operation[1])
        counts = tuple(len(ids) for ids in scopes.values())
        return () if all(count == 1 for count in counts) else counts

    def _computed_in(self, rdds: Sequence[RddInfo]) -> list[RddInfo]:
        """The RDDs that the tasks of a stage compute; all where the log has no RDD parents."""
        if not any(rdd.parents for rdd in rdds):
            return list(rdds)
        return [rdd for rdd in self._needed(rdds) if rdd.rdd_id not in self._computed]

    def _needed(self, rdds: Sequence[RddInfo]) -> Iterator[RddInfo]:
        """The RDDs from a stage's own up to those that are already computed, which it reads."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        start = [rdd.rdd_id for rdd in rdds[:1]]
        return connected_rdds(
            start, by_id, lambda rdd: () if rdd.rdd_id in self._computed else rdd.parents
        )

    @staticmethod
    def coalesces(rdds: Sequence[RddInfo]) -> bool:
        """Whether a `coalesce` sets the stage's number of partitions by merging those of an RDD of
        the same stage. One that did not reduce them does not count."""
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        return any(
            rdd.name == _COALESCED
            and 0 < rdd.partitions == rdds[0].partitions
            and any(by_id[p].partitions > rdd.partitions for p in rdd.parents if p in by_id)
            for rdd in rdds
        )

    def generated_in(self, rdds: Sequence[RddInfo]) -> tuple[int, ...]:
        """The numbers of partitions of the ranges and collections that a stage reads, if these are
        its only inputs and each task works on one partition of one of them; else empty."""
        computed = {rdd.rdd_id: rdd for rdd in self._computed_in(rdds)}
        leaves = [
            r for r in computed.values() if not r.parents or not computed.keys() >= set(r.parents)
        ]
        if not leaves or any(rdd.name != GENERATED for rdd in leaves):
            return ()
        partitions, tasks = tuple(rdd.partitions for rdd in leaves), rdds[0].partitions
        united = any(rdd.name in UNIONS for rdd in computed.values())
        if united and sum(partitions) == tasks:
            return partitions
        return partitions[:1] if set(partitions) == {tasks} else ()

    def combined_in(self, rdds: Sequence[RddInfo]) -> CombinedInputs | None:
        """The inputs of a stage's union or product, given the RDDs computed so far."""
        return combined_in(rdds, self._computed)

    def file_scans_in(self, rdds: Sequence[RddInfo]) -> tuple[str, ...]:
        """The names, paths included, of the SQL scans of a stage: one per table it scans."""
        if not any(rdd.name in _TABLE_SCANS for rdd in rdds):
            return ()
        read = (rdd for rdd in self._computed_in(rdds) if rdd.name in _TABLE_SCANS and rdd.scope)
        scopes = ((rdd, _scope_of(rdd.scope)) for rdd in read)
        return tuple(
            SCANNED_FILES if _scans_in_generated_code(rdd, scope) else scope.name
            for rdd, scope in scopes
        )

    @staticmethod
    def source_fed_in(rdds: Sequence[RddInfo]) -> int | None:
        """The persisted RDD through which a stage gets all that it reads from sources.

        None where several persisted RDDs, or none, lie between the sources and the stage's RDD, or
        where its number of partitions differs from the stage's.
        """
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        sources = [rdd.rdd_id for rdd in rdds if not rdd.parents and rdd.name not in NO_INPUT]
        if not sources or len(sources) == len(rdds):
            return None
        children: dict[int, list[int]] = {}
        for rdd in rdds:
            for parent in rdd.parents:
                children.setdefault(parent, []).append(rdd.rdd_id)
        fed_rdds = set[int]()
        for rdd in connected_rdds(
            sources, by_id, lambda rdd: () if is_persisted(rdd) else children.get(rdd.rdd_id, ())
        ):
            if is_persisted(rdd):
                fed_rdds.add(rdd.rdd_id)
            elif rdd is rdds[0]:
                return None
        partition_counts = {r.partitions for r in rdds if is_persisted(r) or r is rdds[0]}
        return fed_rdds.pop() if len(fed_rdds) == 1 == len(partition_counts) else None

    def input_rdds_in(self, rdds: Sequence[RddInfo]) -> tuple[int, ...]:
        """The RDDs, persisted or checkpointed by earlier stages, of which each task of a stage
        reads one partition, nearest first. Shuffles and others may be read besides: Spark zips
        inputs with equal numbers of partitions. Empty where the stage reads a source."""
        by_id, stored = {rdd.rdd_id: rdd for rdd in rdds}, list[RddInfo]()

        def is_stored(rdd: RddInfo) -> bool:
            cut_off = any(by_id[one].name in CHECKPOINTS for one in rdd.parents if one in by_id)
            return cut_off or rdd.rdd_id in self._computed

        for rdd in connected_rdds(
            [rdd.rdd_id for rdd in rdds[:1]],
            by_id,
            lambda rdd: () if is_stored(rdd) else rdd.parents,
            nearest_first=True,
        ):
            if is_stored(rdd):
                stored.append(rdd)
            elif not rdd.parents:
                return ()
        return tuple(one.rdd_id for one in stored if one.partitions == rdds[0].partitions)

    def needed_in(self, rdds: Sequence[RddInfo]) -> tuple[tuple[int, int], ...]:
        """The persisted RDDs that the tasks of a stage read or compute, with their numbers of
        partitions; without RDD parents in the log only the stage's own RDD is seen."""
        return tuple((r.rdd_id, r.partitions) for r in self._needed(rdds) if is_persisted(r))

    def reads_cache(self, rdds: Sequence[RddInfo], *, include_being_computed: bool = False) -> bool:
        """Whether all input of a stage comes from RDDs persisted by an earlier stage or by itself
        (a block that a task caches and needs again counts as read too).

        Walks from the stage's RDD up its narrow dependencies and stops at computed persisted RDDs;
        a source that is still reached is read again. Logs without RDD parents (before Spark 1.5)
        only show that a persisted RDD is present.

        Args:
            include_being_computed: whether RDDs that other running stages compute count too.
        """
        by_id = {rdd.rdd_id: rdd for rdd in rdds}
        stored = (by_id.keys() & self._computed) | (by_id.keys() & self._computed_partitions.keys())
        stored |= by_id.keys() & self._being_computed if include_being_computed else set()
        any_stored = bool(stored)
        if not any(rdd.parents for rdd in rdds):
            return any_stored
        if not any_stored and not any(map(is_persisted, rdds)):
            return False
        needed = connected_rdds(
            [rdds[0].rdd_id], by_id, lambda rdd: () if rdd.rdd_id in stored else rdd.parents
        )
        return all(rdd.rdd_id in stored or rdd.parents or rdd.name in NO_INPUT for rdd in needed)
