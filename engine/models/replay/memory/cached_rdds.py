"""The persisted RDDs of a run: which of them each stage needs, which stage computed them first, and
their sizes.

In: a run. Out: RDD ids by stage, stages by RDD id, and bytes. Explained in
docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.profile import Run
from engine.stage_run import StageRun

LEAST_SHARE = 0.02
"""A stage that reads less than this beyond RDDs of known sizes reads nothing else: bytes read and
stored are not counted quite alike."""


def with_id_per_persist(run: Run) -> Run:
    """The run with a new id for an RDD each time that it is persisted again after an unpersist: its
    blocks are stored anew by the stage that first needs it, and were missing in between."""
    index_of = {stage.stage_id: index for index, stage in enumerate(run.stages)}
    ends: dict[int, list[int]] = {}
    for rdd in run.persisted_rdds:
        if rdd.unpersisted_after in index_of:
            ends.setdefault(rdd.rdd_id, []).append(index_of[rdd.unpersisted_after])
    lifetimes = Counter(rdd.rdd_id for rdd in run.persisted_rdds)
    persisted_again = {rdd_id for rdd_id, count in lifetimes.items() if count > 1}
    if not persisted_again:
        return run
    first_unused_id = 1 + max(
        (*lifetimes, *(rdd for stage in run.stages for rdd in stage.needed_rdds))
    )
    id_of: dict[tuple[int, int], int] = {}

    def id_in_life(rdd_id: int, lifetime: int) -> int:
        if rdd_id not in persisted_again or not lifetime:
            return rdd_id
        return id_of.setdefault((rdd_id, lifetime), first_unused_id + len(id_of))

    def ids_at(rdds: Sequence[int], index: int) -> tuple[int, ...]:
        return tuple(id_in_life(rdd, sum(end < index for end in ends.get(rdd, ()))) for rdd in rdds)

    stages = tuple(
        replace(
            stage,
            needed_rdds=ids_at(stage.needed_rdds, index),
            disk_backed_rdds=ids_at(stage.disk_backed_rdds, index),
        )
        for index, stage in enumerate(run.stages)
    )
    occurrences: Counter[int] = Counter()
    kept = []
    for rdd in run.persisted_rdds:
        kept.append(replace(rdd, rdd_id=id_in_life(rdd.rdd_id, occurrences[rdd.rdd_id])))
        occurrences[rdd.rdd_id] += 1
    return replace(run, stages=stages, persisted_rdds=tuple(kept))


def needed_of(run: Run) -> tuple[tuple[int, ...], ...]:
    """The RDDs with blocks of their own that each stage needs. Where a log reports blocks, RDDs
    without any are wrappers (the vertices and edges of GraphX) and are replaced by the RDDs behind
    them in the lineage."""
    stored = {rdd.rdd_id for rdd in run.persisted_rdds if rdd.stored_bytes}
    stored_behind: dict[int, tuple[int, ...]] = {}
    needed: list[tuple[int, ...]] = []
    for stage in run.stages:
        needed_here: dict[int, None] = {}
        for position, rdd_id in enumerate(stage.needed_rdds):
            if stored and rdd_id not in stored:
                further = stage.needed_rdds[position + 1 :]
                needed_here |= dict.fromkeys(stored_behind.get(rdd_id, ()))
                stored_behind.setdefault(rdd_id, tuple(rdd for rdd in further if rdd in stored))
            else:
                needed_here[rdd_id] = None
        needed.append(tuple(needed_here))
    return tuple(needed)


def first_complete_stage(
    stages: Sequence[StageRun], rdds: Sequence[Sequence[int]]
) -> dict[int, int]:
    """RDD -> the first stage that has it among its RDDs and ran all of its partitions: what `first`
    or `take` computed before is not what computing the RDD takes. Of RDDs that only such stages
    have, the first of them."""
    order = sorted(range(len(stages)), key=lambda index: (stages[index].in_part, index))
    first: dict[int, int] = {}
    for index in order:
        for rdd_id in rdds[index]:
            first.setdefault(rdd_id, index)
    return first


def overlaps_origin(stages: Sequence[StageRun], index: int, origin: int) -> bool:
    """Whether a stage overlapped with the stage `origin` that computed its cached data: it computed
    some of it too, on other executors, so that its bytes read say nothing of block sizes."""
    return stages[index].submitted_seconds < stages[origin].completed_seconds


def part_of(stages: Sequence[StageRun], index: int, origins: Sequence[int]) -> float:
    """The share of an RDD's partitions that a stage ran: below 1 only for stages that took the
    first rows (`first`, `take`), by their number of tasks.

    Args:
        origins: indices of the stages that computed the RDDs.
    """
    most = max((stages[origin].tasks for origin in origins), default=0)
    if not stages[index].in_part or not most:
        return 1.0
    return min(1.0, stages[index].tasks / most)


def sizes_of(
    run: Run, stored: Sequence[tuple[int, ...]], origins: Mapping[int, int]
) -> dict[int, float] | None:
    """RDD -> bytes of all copies of its blocks; None where no stage reads cached data.

    The size is the one in the log, or else is inferred from the bytes that the stages which need
    the RDD read beyond those of RDDs of known sizes (from one copy of each block), divided equally
    among unknown ones. 0 for RDDs that no stage reads, or that add nothing to the others."""
    copies = copies_held(run)
    known_sizes = {
        r.rdd_id: r.stored_bytes / copies.get(r.rdd_id, 1)
        for r in run.persisted_rdds
        if r.stored_bytes
    }

    def complete_and_few_first(index: int) -> tuple[bool, int]:
        return run.stages[index].in_part, len(stored[index])

    for index in sorted(range(len(stored)), key=complete_and_few_first):
        read = [rdd for rdd in stored[index] if origins[rdd] != index]
        if any(overlaps_origin(run.stages, index, origins[rdd]) for rdd in read):
            continue
        unknown = [rdd for rdd in read if rdd not in known_sizes]
        unknown_bytes = (run.stages[index].cached_input_bytes or 0.0) - sum(
            known_sizes.get(r, 0.0) for r in read
        )
        if unknown_bytes > LEAST_SHARE * sum(known_sizes.get(rdd, 0.0) for rdd in read):
            known_sizes |= {rdd: unknown_bytes / len(unknown) for rdd in unknown}
    if not known_sizes:
        return None
    return {rdd: known_sizes.get(rdd, 0.0) * copies.get(rdd, 1) for rdd in origins}


def copies_held(run: Run) -> dict[int, float]:
    """RDD -> how many executors of a run each block lies on, of those that ask for several."""
    executors = run.cluster.executors or math.inf
    return {rdd.rdd_id: min(rdd.copies, executors) for rdd in run.persisted_rdds if rdd.copies > 1}
