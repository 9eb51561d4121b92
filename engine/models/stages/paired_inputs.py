"""The work of a stage that pairs every row of two inputs: pairs, and reading what is paired."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.set_up import BYTES_PER_SECOND, RECORDS_PER_SECOND
from engine.stage_run import StageRun, total_of


def grown_pairs(
    ratio: float, cut: float | FloatArray, *, share: float | FloatArray, power: float | FloatArray
) -> FloatArray:
    """() or (m,) work of a stage that pairs two inputs, or of each of m, relative to the observed,
    at `ratio` times both in `cut` times as many pairs of partitions.

    Args:
        share: of its work that goes to pairs; the rest reads, each partition once for each of the
            other input's.
        power: of the input with which pairs grow.
    """
    reading = ratio * np.sqrt(cut)
    return np.asarray(share * np.power(ratio, power) + (1.0 - share) * reading)


def pairs_share(stage: StageRun) -> float:
    """How much of a stage's work goes to pairs: what it computes beyond what a core takes for what
    it reads, by the prior of `set_up.py`; all of it where nothing was counted."""
    computed, ran = total_of(stage.cpu_seconds), total_of(stage.run_seconds)
    seconds = ran if computes_in_python(stage) or not computed else computed
    records = stage.input_records or 0.0
    reading = max(stage.read_bytes / BYTES_PER_SECOND, records / RECORDS_PER_SECOND)
    return max(0.0, 1.0 - reading / seconds) if seconds > 0.0 else 1.0


def pairs_power(stage: StageRun) -> float:
    """The power of the input with which pairs grow: rows that the program makes itself stay as
    many, and all others are taken to grow."""
    return 1.0 if any(one.origin == "made" for one in stage.inputs) else 2.0


def keys_of_same_rows(stage: StageRun, before: Mapping[int, StageRun]) -> bool:
    """Whether both inputs that a stage pairs are the keys of the same rows, each stored once these
    had been grouped by it: users and items of ratings. More rows are as dense among their pairs as
    those of the log, so that pairs grow as the rows do.

    Args:
        before: the stages before it, by their number.
    """
    makers = {one.stored_by for one in stage.inputs if one.origin == "stored"}
    found = [before[one] for one in makers if one is not None and one in before]
    if not stage.paired or len(found) < len(stage.paired):
        return False
    grouped = all(not GROUPING.isdisjoint(one.operations) or one.groups for one in found)
    return grouped and len({_roots(one, before) for one in found}) == 1


def _roots(stage: StageRun, before: Mapping[int, StageRun]) -> frozenset[int]:
    """The stages that all which one reads of shuffles comes from at first."""
    roots, visited, waiting = set[int](), set[int](), [stage]
    while waiting:
        one = waiting.pop()
        if one.stage_id not in visited:
            visited.add(one.stage_id)
            above = [before[parent] for parent in one.parents if parent in before]
            waiting.extend(above)
            roots |= set() if above else {one.stage_id}
    return frozenset(roots)


GROUPING = frozenset(("groupByKey", "reduceByKey", "aggregateByKey", "combineByKey", "foldByKey"))
"""Operations of RDDs that leave one row of each key."""
