"""Into how many partitions a product of two inputs is cut: one for each pair of theirs.

`crossJoin` and `cartesian` give each task one partition of either input (Spark's `CartesianRDD`),
which are cut as if each were read alone. A log tells how many either had, and what all tasks read
together: partitions are taken to be as large on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.input_splits import InputSplits
from engine.models.stages.partitions import (
    WHOLE,
    ByCores,
    PartitionCount,
    Partitioning,
    PerCore,
)
from engine.models.stages.set_up import BYTES_PER_SECOND, RECORDS_PER_SECOND
from engine.stage_run import Measure, StageRun, total_of


@dataclass(frozen=True)
class PairedPartitions:
    """The pairs of the partitions of two inputs, of one stage or (as arrays) of each of m.

    Args:
        one, other: what says how many either has.
    """

    one: ByCores
    other: ByCores

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) pairs of `ratio` times both inputs on so many cores."""
        sides = (side.count(cores, ratio) for side in (self.one, self.other))
        one, other = (np.ceil(found - WHOLE) for found in sides)
        return np.asarray(one * other)


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


def paired_count(stage: StageRun, rule: Partitioning, ratio: float) -> PartitionCount:
    """Partitions of a stage that pairs two inputs, at `ratio` times both."""
    sides = [_side(stage, tasks, rule).alone(ratio) for tasks in stage.paired]
    one, other = (side.by_cores or _same(side.own) for side in sides)
    both = PairedPartitions(one, other)
    own = float(np.prod([np.ceil(side.own - WHOLE) for side in sides]))
    if not any(side.counts_slots for side in sides):
        return PartitionCount(own)
    return PartitionCount(own, rule.slots, both, ratio)


def _same(partitions: float) -> PerCore:
    """So many on any cluster."""
    return PerCore(0.0, partitions, 1.0, 1.0, 1.0, 1.0)


def _side(stage: StageRun, tasks: int, rule: Partitioning) -> InputSplits:
    """One of the inputs as a stage of its own: each of its partitions was read once for each of the
    other's, and it has its share of the files."""
    pairs, share = stage.tasks, tasks / sum(stage.paired)
    read = stage.input_bytes
    each = None
    if read is not None:
        halves = tuple(value / len(stage.paired) for value in read.quantiles)
        each = Measure(tasks, tasks * read.total / (len(stage.paired) * pairs), halves)
    files, size = stage.files_read, stage.files_bytes
    alone = replace(
        stage,
        tasks=tasks,
        paired=(),
        input_bytes=each,
        files_read=None if files is None else files * share,
        files_bytes=None if size is None else size * share,
        operations=tuple(name for name in stage.operations if name not in PRODUCTS),
        operation_counts=(),
    )
    return InputSplits.of(alone, rule, in_splits=True)


PRODUCTS = frozenset(("CartesianProduct", "cartesian"))
"""How Spark calls the operation, in SQL and of RDDs."""
