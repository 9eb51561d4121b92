"""The persisted RDDs of a run: which of them each stage needs, which stage computed them first, and
their sizes."""

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
    places = {stage.stage_id: place for place, stage in enumerate(run.stages)}
    ends: dict[int, list[int]] = {}
    for rdd in run.persisted_rdds:
        if rdd.unpersisted_after in places:
            ends.setdefault(rdd.rdd_id, []).append(places[rdd.unpersisted_after])
    lives = Counter(rdd.rdd_id for rdd in run.persisted_rdds)
    again = {rdd_id for rdd_id, count in lives.items() if count > 1}
    if not again:
        return run
    free = 1 + max((*lives, *(rdd for stage in run.stages for rdd in stage.needed_rdds)))
    names: dict[tuple[int, int], int] = {}

    def name(rdd_id: int, life: int) -> int:
        if rdd_id not in again or not life:
            return rdd_id
        return names.setdefault((rdd_id, life), free + len(names))

    def at(rdds: Sequence[int], place: int) -> tuple[int, ...]:
        return tuple(name(rdd, sum(end < place for end in ends.get(rdd, ()))) for rdd in rdds)

    stages = tuple(
        replace(
            stage,
            needed_rdds=at(stage.needed_rdds, place),
            disk_backed_rdds=at(stage.disk_backed_rdds, place),
        )
        for place, stage in enumerate(run.stages)
    )
    seen: Counter[int] = Counter()
    kept = []
    for rdd in run.persisted_rdds:
        kept.append(replace(rdd, rdd_id=name(rdd.rdd_id, seen[rdd.rdd_id])))
        seen[rdd.rdd_id] += 1
    return replace(run, stages=stages, persisted_rdds=tuple(kept))


def needed_of(run: Run) -> tuple[tuple[int, ...], ...]:
    """The RDDs with blocks of their own that each stage needs. Where a log reports blocks, RDDs
    without any are wrappers (the vertices and edges of GraphX) and are replaced by the RDDs behind
    them in the lineage."""
    stored = {rdd.rdd_id for rdd in run.persisted_rdds if rdd.stored_bytes}
    behind: dict[int, tuple[int, ...]] = {}
    found: list[tuple[int, ...]] = []
    for stage in run.stages:
        own: dict[int, None] = {}
        for position, rdd_id in enumerate(stage.needed_rdds):
            if stored and rdd_id not in stored:
                rest = stage.needed_rdds[position + 1 :]
                own |= dict.fromkeys(behind.get(rdd_id, ()))
                behind.setdefault(rdd_id, tuple(rdd for rdd in rest if rdd in stored))
            else:
                own[rdd_id] = None
        found.append(tuple(own))
    return tuple(found)


def first_complete_stage(
    stages: Sequence[StageRun], rdds: Sequence[Sequence[int]]
) -> dict[int, int]:
    """RDD -> the first stage that has it among its RDDs and ran all of its partitions: what `first`
    or `take` computed before is not what computing the RDD takes. Of RDDs that only such stages
    have, the first of them."""
    places = sorted(range(len(stages)), key=lambda place: (stages[place].in_part, place))
    found: dict[int, int] = {}
    for place in places:
        for rdd_id in rdds[place]:
            found.setdefault(rdd_id, place)
    return found


def overlaps_origin(stages: Sequence[StageRun], place: int, maker: int) -> bool:
    """Whether a stage overlapped with the stage `maker` that computed its cached data: it computed
    some of it too, on other executors, so that its bytes read say nothing of block sizes."""
    return stages[place].submitted_seconds < stages[maker].completed_seconds


def part_of(stages: Sequence[StageRun], place: int, origins: Sequence[int]) -> float:
    """The share of an RDD's partitions that a stage ran: below 1 only for stages that took the
    first rows (`first`, `take`), by their number of tasks.

    Args:
        origins: indices of the stages that computed the RDDs.
    """
    most = max((stages[origin].tasks for origin in origins), default=0)
    if not stages[place].in_part or not most:
        return 1.0
    return min(1.0, stages[place].tasks / most)


def sizes_of(
    run: Run, stored: Sequence[tuple[int, ...]], origins: Mapping[int, int]
) -> dict[int, float] | None:
    """RDD -> bytes of all copies of its blocks; None where no stage reads cached data.

    The size is the one in the log, or else is inferred from the bytes that the stages which need
    the RDD read beyond those of RDDs of known sizes (from one copy of each block), divided equally
    among unknown ones. 0 for RDDs that no stage reads, or that add nothing to the others."""
    held = copies_held(run)
    known = {
        r.rdd_id: r.stored_bytes / held.get(r.rdd_id, 1)
        for r in run.persisted_rdds
        if r.stored_bytes
    }

    def clearness(place: int) -> tuple[bool, int]:
        return run.stages[place].in_part, len(stored[place])

    for place in sorted(range(len(stored)), key=clearness):
        read = [rdd for rdd in stored[place] if origins[rdd] != place]
        if any(overlaps_origin(run.stages, place, origins[rdd]) for rdd in read):
            continue
        unknown = [rdd for rdd in read if rdd not in known]
        rest = (run.stages[place].cached_input_bytes or 0.0) - sum(known.get(r, 0.0) for r in read)
        if rest > LEAST_SHARE * sum(known.get(rdd, 0.0) for rdd in read):
            known |= {rdd: rest / len(unknown) for rdd in unknown}
    return {rdd: known.get(rdd, 0.0) * held.get(rdd, 1) for rdd in origins} if known else None


def copies_held(run: Run) -> dict[int, float]:
    """RDD -> how many executors of a run each block lies on, of those that ask for several."""
    executors = run.cluster.executors or math.inf
    return {rdd.rdd_id: min(rdd.copies, executors) for rdd in run.persisted_rdds if rdd.copies > 1}
