"""Which stage of one run is which of another: the same code on other data or another cluster.

Stages are known by their call site, their operations (the nodes of the SQL plan, or RDD scopes) and
what they read and write, then by what their parents are, and among equals by their order. What
adaptive execution changes from run to run (numbers of generated code, merged reads) does not count,
but where both runs have the same numbers: of scans that threads submit side by side in any order
these alone tell which is which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence

from engine.profile import Run
from engine.stage_run import StageRun

_CODEGEN = re.compile(r"WholeStageCodegen.*|AQEShuffleRead|mapPartitions|ShuffleQueryStage")

Key = Hashable


def matches(run: Run, other: Run) -> list[int | None]:
    """For each stage of `run` the place of its counterpart in `other`, or None.

    A step that is repeated more often than in `other` goes with its last repetition there.
    """
    found: list[int | None] = [None] * len(run.stages)
    taken: set[int] = set()
    for keys_of in (_with_parents, _own_keys, _call_sites):
        ours, theirs = _apart(run, keys_of(run)), _apart(other, keys_of(other))
        here, there = _numbers_under(run, ours), _numbers_under(other, theirs)
        told = {key: numbers for key, numbers in here.items() if there.get(key) == numbers}
        ours, theirs = _numbered(run, ours, told), _numbered(other, theirs, told)
        free: dict[Key, list[int]] = {}
        for place, key in enumerate(theirs):
            if place not in taken:
                free.setdefault(key, []).append(place)
        seen: dict[Key, int] = {}
        for place, key in enumerate(ours):
            if found[place] is not None or key not in free:
                continue
            rank = seen.get(key, 0)
            seen[key] = rank + 1
            found[place] = free[key][min(rank, len(free[key]) - 1)]
        taken.update(place for place in found if place is not None)
    return found


def _apart(run: Run, keys: Sequence[Key]) -> list[Key]:
    """Keys by which a stage that only wrote again what was lost is no other's counterpart."""
    return [(stage.recomputed, key) for stage, key in zip(run.stages, keys, strict=True)]


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


def _own_keys(run: Run) -> list[Key]:
    return [code_of(stage) for stage in run.stages]


def _with_parents(run: Run) -> list[Key]:
    """Own key and those of the parents."""
    own = {stage.stage_id: code_of(stage) for stage in run.stages}
    return [
        (own[stage.stage_id], tuple(sorted(repr(own.get(parent)) for parent in stage.parents)))
        for stage in run.stages
    ]


def _call_sites(run: Run) -> list[Key]:
    """Plans change with the data: what is left is matched by call site and kind."""
    return [(_call_site(stage), _kind(stage)) for stage in run.stages]


def code_of(stage: StageRun) -> Key:
    """Call site, operations and kind: equal for stages that run the same code."""
    operations = {name for name in stage.operations if not _CODEGEN.fullmatch(name)}
    return (_call_site(stage), tuple(sorted(operations)), _kind(stage))


def _call_site(stage: StageRun) -> str:
    """The stage's name without line numbers' neighbours that a plan generates."""
    return re.sub(r"\$\d+", "$", stage.name)


def _kind(stage: StageRun) -> tuple[bool, bool, bool]:
    """Whether it reads data from outside or a cache, reads a shuffle, writes a shuffle."""
    read: Callable[[object], bool] = bool
    return (
        read(stage.input_bytes and stage.input_bytes.total),
        read(stage.shuffle_read_bytes and stage.shuffle_read_bytes.total),
        read(stage.shuffle_write_bytes and stage.shuffle_write_bytes.total),
    )
