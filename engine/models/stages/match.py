"""Which stage of one run is which of another: the same code on other data or another cluster.

Stages are known by their call site, their operations (the nodes of the SQL plan, or RDD scopes) and
what they read and write, and scans also by how much of the input they read; then by all that they
come from, by what their parents are, and among equals by their order. What adaptive execution
changes from run to run (numbers of generated code, merged reads) does not count, but where both
runs have the same numbers: of scans of one table that threads submit side by side in any order
these alone tell which is which.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence

from engine.models.stages.cutting.data_flow import aggregates_in_a_tree
from engine.models.stages.cutting.partitions import spark_version
from engine.profile import Run
from engine.runs.stage_labels import asked_in_a_pool
from engine.stage_run import StageRun

_CODEGEN = re.compile(r"WholeStageCodegen.*|AQEShuffleRead|mapPartitions|ShuffleQueryStage")

ALIKE = 1.1
"""Scans of the same columns of a table read shares of the input within so much of each other: files
of other lengths pack them a little closer or less."""

POOLED_SINCE = 4
"""The version of Spark from which on the shuffles of a query are asked for in threads of a pool."""

Key = Hashable
Keys = tuple[Sequence[Key], Sequence[Key]]
"""Of the stages of either run."""


def matches(run: Run, other: Run) -> list[int | None]:
    """For each stage of `run` the place of its counterpart in `other`, or None.

    A step that is repeated more often than in `other` goes with its last repetition there.
    """
    found: list[int | None] = [None] * len(run.stages)
    runs = run, other
    named = _named_alike(run, other)
    codes = _own_keys(run, named=named), _own_keys(other, named=named)
    parents = _with_parents(run, codes[0]), _with_parents(other, codes[1])
    sites = _call_sites(run, named=named), _call_sites(other, named=named)
    _match(runs, _lineages(runs, codes), found)
    for keys in (parents, codes, sites):
        _match(runs, _of_scans(runs, keys), found)
    _match(runs, parents, found)
    last = _last_repetitions(runs, parents)
    scans = _amounts(runs, codes)[0]
    # A step would else be taken for a stage of another plan, as all of SQL have one call site.
    found = [
        repeated if place is None and scan is None else place
        for place, scan, repeated in zip(found, scans, last, strict=True)
    ]
    for keys in (codes, sites):
        _match(runs, keys, found)
    return [
        repeated if place is None else place for place, repeated in zip(found, last, strict=True)
    ]


def _named_alike(run: Run, other: Run) -> bool:
    """Whether queries of both runs name their stages alike: before Spark 4, or since. A log that
    does not tell its version is taken to be of the other's."""
    versions = [spark_version(one)[0] for one in (run, other)]
    return len({version >= POOLED_SINCE for version in versions if version}) < 2


def _last_repetitions(runs: tuple[Run, Run], keys: Keys) -> list[int | None]:
    """For each stage of the first run the last one in the other that has its key."""
    ours, theirs = _told_by_numbers(runs, keys)
    last = {key: place for place, key in enumerate(theirs)}
    return [last.get(key) for key in ours]


def _of_scans(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """The keys of scans with how much of the input they read; None for other stages."""
    ours, theirs = (
        [None if amount is None else (key, amount) for key, amount in zip(*one, strict=True)]
        for one in zip(keys, _amounts(runs, keys), strict=True)
    )
    return ours, theirs


def _match(runs: tuple[Run, Run], keys: Keys, found: list[int | None]) -> None:
    """Fills in what is not found yet, by the order of the stages that have a key in either run and
    are none's counterpart before; those without one (None) stay."""
    taken = set(found)
    ours, theirs = _told_by_numbers(runs, keys)
    free: dict[Key, list[int]] = {}
    for place, key in enumerate(theirs):
        if place not in taken and keys[1][place] is not None:
            free.setdefault(key, []).append(place)
    seen: dict[Key, int] = {}
    for place, key in enumerate(ours):
        if found[place] is not None or key not in free:
            continue
        rank = seen.get(key, 0)
        seen[key] = rank + 1
        found[place] = free[key][min(rank, len(free[key]) - 1)]


def _amounts(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """Which scans of one key read as much of the input, a number for those of the same columns of
    a table in both runs; None for other stages. What a run reads of files that it wrote itself is
    none of its input."""
    inputs = [run.workload.input_bytes for run in runs]
    if not all(inputs):
        inputs = [sum(stage.outside_bytes for stage in run.stages) for run in runs]
    scans: dict[Key, list[tuple[float, int, int]]] = {}
    for side, (run, whole) in enumerate(zip(runs, inputs, strict=True)):
        for place, stage in enumerate(run.stages):
            if whole and stage.outside_bytes > 0.0 and stage.files_by is None:
                share = stage.outside_bytes / whole
                scans.setdefault(keys[side][place], []).append((share, side, place))
    found = list[Key]([None] * len(keys[0])), list[Key]([None] * len(keys[1]))
    for alike in scans.values():
        number, last = 0, math.inf
        for share, side, place in sorted(alike):
            number += share > ALIKE * last
            found[side][place], last = number, share
    return found


def _lineages(runs: tuple[Run, Run], codes: Keys) -> Keys:
    """A number for each stage, the same in both runs for the same code over what has the same
    numbers: steps are told apart by where in a chain they are, and by the tables at its beginning.
    """
    numbers, amounts = dict[Key, int](), _amounts(runs, codes)
    found = list[Key](), list[Key]()
    for side, run in enumerate(runs):
        by_id: dict[int, int] = {}
        for stage, code, amount in zip(run.stages, codes[side], amounts[side], strict=True):
            parents = tuple(sorted(by_id.get(parent, -1) for parent in stage.parents))
            by_id[stage.stage_id] = numbers.setdefault((code, amount, parents), len(numbers))
            found[side].append(by_id[stage.stage_id])
    return found


def _told_by_numbers(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """Keys with the numbers of generated code, where both runs have the same under one."""
    pairs = list(zip(runs, keys, strict=True))
    here, there = (_numbers_under(run, own) for run, own in pairs)
    told = {key: numbers for key, numbers in here.items() if there.get(key) == numbers}
    ours, theirs = (_numbered(run, own, told) for run, own in pairs)
    return ours, theirs


def _numbered(run: Run, keys: Sequence[Key], told: Mapping[Key, object]) -> list[Key]:
    """The keys of a run with the numbers of generated code, of those that are `told` apart."""
    pairs = zip(keys, run.stages, strict=True)
    return [(key, _numbers(stage) if key in told else ()) for key, stage in pairs]


def _numbers_under(run: Run, keys: Sequence[Key]) -> dict[Key, set[Key]]:
    """The numbers of generated code that stages of each key have."""
    found: dict[Key, set[Key]] = {}
    for key, stage in zip(keys, run.stages, strict=True):
        found.setdefault(key, set()).add(_numbers(stage))
    return found


def _numbers(stage: StageRun) -> Key:
    return tuple(sorted(name for name in stage.operations if name.startswith("WholeStageCodegen")))


def _own_keys(run: Run, *, named: bool) -> list[Key]:
    """By its code. A stage that only wrote again what was lost is no other's counterpart."""
    return [(stage.recomputed, code_of(stage, named=named)) for stage in run.stages]


def _with_parents(run: Run, codes: Sequence[Key]) -> list[Key]:
    """Own key and those of the parents."""
    by_id = {stage.stage_id: code for stage, code in zip(run.stages, codes, strict=True)}
    return [
        (code, tuple(sorted(repr(by_id.get(parent)) for parent in stage.parents)))
        for stage, code in zip(run.stages, codes, strict=True)
    ]


def _call_sites(run: Run, *, named: bool) -> list[Key]:
    """Plans change with the data: what is left is matched by call site and kind."""
    return [(stage.recomputed, _call_site(stage, named), _kind(stage)) for stage in run.stages]


def code_of(stage: StageRun, *, named: bool = True) -> Key:
    """Call site, operations and kind: equal for stages that run the same code.

    Args:
        named: whether queries of the other run name their stages alike.
    """
    operations = {name for name in stage.operations if not _CODEGEN.fullmatch(name)}
    return (_call_site(stage, named), tuple(sorted(operations)), _kind(stage))


def _call_site(stage: StageRun, named: bool) -> str:
    """The stage's name without line numbers' neighbours that a plan generates. Spark 4 asks for the
    shuffles of a query in threads of a pool, and Spark 3 where the program does."""
    if not named and (stage.sql_execution_id is not None or asked_in_a_pool(stage)):
        return ""
    return re.sub(r"\$\d+", "$", stage.name)


def _kind(stage: StageRun) -> tuple[bool, bool, bool]:
    """Whether it reads data from outside or a cache, reads a shuffle, writes a shuffle. Those that
    aggregate in a tree write one where they have more than a few partitions
    (`RDD.treeAggregate`), and are the same code."""
    read: Callable[[object], bool] = bool
    return (
        read(stage.input_bytes and stage.input_bytes.total),
        read(stage.shuffle_read_bytes and stage.shuffle_read_bytes.total),
        read(stage.shuffle_write_bytes and stage.shuffle_write_bytes.total)
        and not aggregates_in_a_tree(stage),
    )
