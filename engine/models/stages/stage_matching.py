"""Matches the stages of two runs: the same code on other data or another cluster.

A stage is identified by its call site, its operations (nodes of the SQL plan, or RDD scopes) and
the kinds of data that it reads and writes; a scan also by its share of the input. Then its whole
lineage counts, then its parents, and among equals the order. What adaptive execution changes from
run to run (numbers of generated code, coalesced reads) does not count, unless both runs have the
same numbers: if threads submit scans of one table side by side in any order, only these numbers
tell the scans apart.

In: two runs. Out: the index of the counterpart of each stage. Explained in
docs/models/sparkplan_rules_logs.md#what-several-logs-show-of-each-stage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence

from engine.models.stages.partitioning.data_flow import aggregates_in_a_tree
from engine.models.stages.partitioning.partitions import spark_version
from engine.profile import Run
from engine.runs.stage_labels import asked_in_a_pool
from engine.stage_run import StageRun

_CODEGEN = re.compile(r"WholeStageCodegen.*|AQEShuffleRead|mapPartitions|ShuffleQueryStage")

SHARE_FACTOR = 1.1
"""Scans of the same columns of a table read shares of the input within this factor: files of other
lengths are compressed a little more or less."""

POOLED_SINCE = 4
"""Spark version since which the shuffles of a query are submitted by threads of a pool."""

Key = Hashable
Keys = tuple[Sequence[Key], Sequence[Key]]
"""The keys of the stages of either run. Stages with equal keys may be counterparts."""


def stage_counterparts(run: Run, other: Run) -> list[int | None]:
    """For each stage of `run` the index of its counterpart in `other`, or None.

    If a step is repeated more often in `run`, the surplus repetitions match the last one in
    `other`.
    """
    matches: list[int | None] = [None] * len(run.stages)
    runs = run, other
    same_naming = _same_naming(run, other)
    codes = _code_keys(run, same_naming=same_naming), _code_keys(other, same_naming=same_naming)
    parents = _parent_keys(run, codes[0]), _parent_keys(other, codes[1])
    sites = (
        _call_site_keys(run, same_naming=same_naming),
        _call_site_keys(other, same_naming=same_naming),
    )
    _match_in_order(runs, _lineages(runs, codes), matches)
    for keys in (parents, codes, sites):
        _match_in_order(runs, _with_input_share(runs, keys), matches)
    _match_in_order(runs, parents, matches)
    last = _last_repetitions(runs, parents)
    scans = _input_share_classes(runs, codes)[0]
    # Otherwise a step could match a stage of another plan, since all SQL stages share a call site.
    matches = [
        repeated if index is None and scan is None else index
        for index, scan, repeated in zip(matches, scans, last, strict=True)
    ]
    for keys in (codes, sites):
        _match_in_order(runs, keys, matches)
    return [
        repeated if index is None else index for index, repeated in zip(matches, last, strict=True)
    ]


def _same_naming(run: Run, other: Run) -> bool:
    """Whether queries of both runs name their stages alike: both before Spark 4, or both since. A
    run of unknown version is taken to be of the other's."""
    versions = [spark_version(one)[0] for one in (run, other)]
    return len({version >= POOLED_SINCE for version in versions if version}) < 2


def _last_repetitions(runs: tuple[Run, Run], keys: Keys) -> list[int | None]:
    """For each stage of the first run the index of the last one in the other with its key."""
    own_keys, other_keys = _with_codegen_numbers(runs, keys)
    last = {key: index for index, key in enumerate(other_keys)}
    return [last.get(key) for key in own_keys]


def _with_input_share(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """Keys of scans with the class of their share of the input (`_input_share_classes`); None for
    others."""
    own_keys, other_keys = (
        [None if amount is None else (key, amount) for key, amount in zip(*one, strict=True)]
        for one in zip(keys, _input_share_classes(runs, keys), strict=True)
    )
    return own_keys, other_keys


def _match_in_order(runs: tuple[Run, Run], keys: Keys, matches: list[int | None]) -> None:
    """Matches, in place, stages without a counterpart in `matches` to unmatched stages of the same
    key, in their order. Stages whose key is None stay unmatched."""
    matched_indices = set(matches)
    own_keys, other_keys = _with_codegen_numbers(runs, keys)
    unmatched: dict[Key, list[int]] = {}
    for index, key in enumerate(other_keys):
        if index not in matched_indices and keys[1][index] is not None:
            unmatched.setdefault(key, []).append(index)
    matched: dict[Key, int] = {}
    for index, key in enumerate(own_keys):
        if matches[index] is not None or key not in unmatched:
            continue
        rank = matched.get(key, 0)
        matched[key] = rank + 1
        matches[index] = unmatched[key][min(rank, len(unmatched[key]) - 1)]


def _input_share_classes(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """Classes of scans of one key by their share of the input.

    Scans with the same number read the same columns of a table in both runs. None for other stages.
    Files that a run wrote itself are not part of its input.
    """
    inputs = [run.workload.input_bytes for run in runs]
    if not all(inputs):
        inputs = [sum(stage.outside_bytes for stage in run.stages) for run in runs]
    scans: dict[Key, list[tuple[float, int, int]]] = {}
    for side, (run, input_bytes) in enumerate(zip(runs, inputs, strict=True)):
        for index, stage in enumerate(run.stages):
            if input_bytes and stage.outside_bytes > 0.0 and stage.files_by is None:
                share = stage.outside_bytes / input_bytes
                scans.setdefault(keys[side][index], []).append((share, side, index))
    classes = list[Key]([None] * len(keys[0])), list[Key]([None] * len(keys[1]))
    for same_key in scans.values():
        number, last = 0, math.inf
        for share, side, index in sorted(same_key):
            number += share > SHARE_FACTOR * last
            classes[side][index], last = number, share
    return classes


def _lineages(runs: tuple[Run, Run], codes: Keys) -> Keys:
    """A number for each stage that identifies its whole lineage in both runs: its code and, by
    recursion, the numbers of its parents.

    So equal steps differ by their position in a chain and by the tables at its beginning.
    """
    numbers, amounts = dict[Key, int](), _input_share_classes(runs, codes)
    lineages = list[Key](), list[Key]()
    for side, run in enumerate(runs):
        by_id: dict[int, int] = {}
        for stage, code, amount in zip(run.stages, codes[side], amounts[side], strict=True):
            parents = tuple(sorted(by_id.get(parent, -1) for parent in stage.parents))
            by_id[stage.stage_id] = numbers.setdefault((code, amount, parents), len(numbers))
            lineages[side].append(by_id[stage.stage_id])
    return lineages


def _with_codegen_numbers(runs: tuple[Run, Run], keys: Keys) -> Keys:
    """Keys extended by the numbers of generated code, for keys whose stages have the same numbers
    in both runs."""
    pairs = list(zip(runs, keys, strict=True))
    own_numbers, other_numbers = (_codegen_numbers_by_key(run, run_keys) for run, run_keys in pairs)
    stable = {
        key: numbers for key, numbers in own_numbers.items() if other_numbers.get(key) == numbers
    }
    own_keys, other_keys = (_extended(run, run_keys, stable) for run, run_keys in pairs)
    return own_keys, other_keys


def _extended(run: Run, keys: Sequence[Key], stable: Mapping[Key, object]) -> list[Key]:
    """The keys of a run, those in `stable` extended by the numbers of generated code."""
    pairs = zip(keys, run.stages, strict=True)
    return [(key, _codegen_numbers(stage) if key in stable else ()) for key, stage in pairs]


def _codegen_numbers_by_key(run: Run, keys: Sequence[Key]) -> dict[Key, set[Key]]:
    """For each key the numbers of generated code of its stages."""
    numbers: dict[Key, set[Key]] = {}
    for key, stage in zip(keys, run.stages, strict=True):
        numbers.setdefault(key, set()).add(_codegen_numbers(stage))
    return numbers


def _codegen_numbers(stage: StageRun) -> Key:
    """A stage's numbers of generated code, such as "WholeStageCodegen (3)"."""
    return tuple(sorted(name for name in stage.operations if name.startswith("WholeStageCodegen")))


def _code_keys(run: Run, *, same_naming: bool) -> list[Key]:
    """Keys by code alone. A stage that only recomputed lost output matches only such stages."""
    return [(stage.recomputed, code_of(stage, same_naming=same_naming)) for stage in run.stages]


def _parent_keys(run: Run, codes: Sequence[Key]) -> list[Key]:
    """Keys by code and by the codes of the parents."""
    by_id = {stage.stage_id: code for stage, code in zip(run.stages, codes, strict=True)}
    return [
        (code, tuple(sorted(repr(by_id.get(parent)) for parent in stage.parents)))
        for stage, code in zip(run.stages, codes, strict=True)
    ]


def _call_site_keys(run: Run, *, same_naming: bool) -> list[Key]:
    """Keys by call site and kind alone, for stages whose plan changes with the data."""
    return [
        (stage.recomputed, _call_site(stage, same_naming), _data_kinds(stage))
        for stage in run.stages
    ]


def code_of(stage: StageRun, *, same_naming: bool = True) -> Key:
    """A key of the code of a stage: call site, operations and kind.

    Args:
        same_naming: whether call sites of queries count: only if both runs name their stages alike.
    """
    operations = {name for name in stage.operations if not _CODEGEN.fullmatch(name)}
    return (_call_site(stage, same_naming), tuple(sorted(operations)), _data_kinds(stage))


def _call_site(stage: StageRun, same_naming: bool) -> str:
    """The stage's name without generated numbers ("$12").

    Spark 4 submits the shuffles of a query in threads of a pool, Spark 3 where the program asks for
    them; between the two the names of SQL stages do not count.
    """
    if not same_naming and (stage.sql_execution_id is not None or asked_in_a_pool(stage)):
        return ""
    return re.sub(r"\$\d+", "$", stage.name)


def _data_kinds(stage: StageRun) -> tuple[bool, bool, bool]:
    """Whether a stage reads input or a cache, reads a shuffle, and writes a shuffle.

    Tree aggregations write a shuffle only if they have more than a few partitions
    (`RDD.treeAggregate`), so for them writing does not count.
    """
    read: Callable[[object], bool] = bool
    return (
        read(stage.input_bytes and stage.input_bytes.total),
        read(stage.shuffle_read_bytes and stage.shuffle_read_bytes.total),
        read(stage.shuffle_write_bytes and stage.shuffle_write_bytes.total)
        and not aggregates_in_a_tree(stage),
    )
