"""The work of a Cartesian product of two inputs: evaluating pairs of rows, and reading both
inputs.

In: a stage. Out: growth of its work, the share of pairs in it, and their power. Explained in
docs/models/sparkplan_rules_replay.md#pairs-and-unions-of-inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.set_up import BYTES_PER_SECOND, RECORDS_PER_SECOND
from engine.stage_run import StageRun, total_of


def product_work_growth(
    ratio: float, tasks: float | FloatArray, *, share: float | FloatArray, power: float | FloatArray
) -> FloatArray:
    """() or (m,) growth of the work of a product, or of each of m, at `ratio` times both inputs in
    `tasks` times as many pairs of partitions.

    Args:
        share: share of its work that goes to pairs of rows. The rest goes to reading, where each
            partition is read once for each partition of the other input.
        power: power of the input with which the number of pairs grows.
    """
    reading = ratio * np.sqrt(tasks)
    return np.asarray(share * np.power(ratio, power) + (1.0 - share) * reading)


def pairs_share(stage: StageRun) -> float:
    """Share of a stage's work that goes to pairs of rows: its computing time beyond the time that a
    core takes for what it reads, by the prior of `set_up.py`; 1 if no time was counted."""
    computed, ran = total_of(stage.cpu_seconds), total_of(stage.run_seconds)
    seconds = ran if computes_in_python(stage) or not computed else computed
    records = stage.input_records or 0.0
    reading = max(stage.read_bytes / BYTES_PER_SECOND, records / RECORDS_PER_SECOND)
    return max(0.0, 1.0 - reading / seconds) if seconds > 0.0 else 1.0


def pairs_power(stage: StageRun, slower: Mapping[int, float] = MappingProxyType({})) -> float:
    """Power of the input with which the number of pairs grows: the sum over both inputs. Rows that
    the program makes stay as many.

    Args:
        slower: powers of inputs that do not grow in proportion, as dimension tables, by place.
    """
    if not stage.inputs:
        return 2.0
    growing = [place for place, one in enumerate(stage.inputs) if one.origin != "made"]
    return sum(slower.get(place, 1.0) for place in growing)


def keys_of_same_rows(stage: StageRun, before: Mapping[int, StageRun]) -> bool:
    """Whether both inputs of a product are keys of the same rows, stored after these were grouped
    by each key, as users and items of ratings. More rows are taken to have the same density among
    the pairs, so the number of pairs grows in proportion to the rows.

    Args:
        before: the earlier stages by id.
    """
    stored_ids = {one.stored_by for one in stage.inputs if one.origin == "stored"}
    sources = [before[one] for one in stored_ids if one is not None and one in before]
    if not stage.paired or len(sources) < len(stage.paired):
        return False
    grouped = all(not GROUPING.isdisjoint(one.operations) or one.groups for one in sources)
    return grouped and len({_roots(one, before) for one in sources}) == 1


def _roots(stage: StageRun, before: Mapping[int, StageRun]) -> frozenset[int]:
    """Ids of the stages at the beginning of a stage's lineage of shuffles."""
    roots, visited, pending = set[int](), set[int](), [stage]
    while pending:
        current = pending.pop()
        if current.stage_id not in visited:
            visited.add(current.stage_id)
            parents = [before[parent] for parent in current.parents if parent in before]
            pending.extend(parents)
            roots |= set() if parents else {current.stage_id}
    return frozenset(roots)


GROUPING = frozenset(("groupByKey", "reduceByKey", "aggregateByKey", "combineByKey", "foldByKey"))
"""RDD operations that leave one row per key."""
