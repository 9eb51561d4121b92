"""The number of partitions of a union or Cartesian product of several inputs.

A union has the sum of its inputs' partitions. `crossJoin` and `cartesian` have the product: each
task gets one partition of either input (Spark's `CartesianRDD`). Each input is partitioned by its
own rule. Files are split as if each scan read them alone, rows that the program makes are divided
for the cores, each shuffle is coalesced by itself, and stored data has the partitions of the stage
that stored it.

In: a stage, and the partitions of its inputs as far as known. Out: its number of partitions.
Explained in docs/models/sparkplan_rules_replay.md#pairs-and-unions-of-inputs.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.partitioning.input_splits import InputSplits
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitioningSettings,
    PartitionRule,
    PartitionsPerCore,
)
from engine.models.stages.partitioning.stage_growth import UNIONS_AND_PRODUCTS
from engine.stage_run import Measure, StageInput, StageRun


@dataclass(frozen=True)
class CombinedPartitions:
    """The partitions of a union or product of two inputs, of one stage or (as arrays) of m.

    Args:
        one, other: the partition rule of either input.
        paired: whether it is their product; else their union.
    """

    one: PartitionRule
    other: PartitionRule
    paired: bool | BoolArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions at `ratio` times both inputs on (n,) cores."""
        sides = (side.count(cores, ratio) for side in (self.one, self.other))
        one, other = (np.ceil(partitions - WHOLE) for partitions in sides)
        return np.asarray(np.where(self.paired, one * other, one + other))


def combined_count(
    stage: StageRun,
    settings: PartitioningSettings,
    ratio: float,
    known: Sequence[PartitionCount | None],
    small: Container[int] = (),
) -> PartitionCount:
    """Partitions of a union or product.

    Args:
        ratio: growth of its inputs, without rows that the program makes.
        known: (k,) partitions of each of k inputs at that ratio, if other stages or a shuffle's
            rule determine them; else None.
        small: places of inputs that are dimension tables (`small_tables.py`).
    """
    sides = [
        one or _input_count(stage, index, settings, ratio, small_table=index in small)
        for index, one in enumerate(known)
    ]
    whole = [math.ceil(side.own - WHOLE) for side in sides]
    own = float(math.prod(whole) if stage.paired else sum(whole))
    if not any(side.depends_on_cluster for side in sides):
        return PartitionCount(own)
    rules: list[PartitionRule] = [
        side.rule or PartitionsPerCore.constant(side.own) for side in sides
    ]
    together = partial(CombinedPartitions, paired=bool(stage.paired))
    return PartitionCount(own, settings.log_cores, reduce(together, rules), ratio)


def _numbers(stage: StageRun) -> tuple[int, ...]:
    """Observed partitions of each input of a union or product."""
    return stage.paired or stage.united


def _input_count(
    stage: StageRun,
    index: int,
    settings: PartitioningSettings,
    ratio: float,
    *,
    small_table: bool,
) -> PartitionCount:
    """Partitions of one input of a union or product, as if a stage of its own read it."""
    tasks = _numbers(stage)[index]
    source = stage.inputs[index] if stage.inputs else StageInput("files")
    if source.origin in ("stored", "shuffled"):
        return PartitionCount(float(tasks))
    made = source.origin == "made"
    alone = replace(
        stage if made else _read_alone(stage, index, source),
        tasks=tasks,
        paired=(),
        united=(),
        inputs=(),
        generated=made,
        operations=tuple(name for name in stage.operations if name not in UNIONS_AND_PRODUCTS),
        operation_counts=(),
    )
    splits = InputSplits.of(alone, settings, reads_splits=not made)
    if made:
        return splits.per_core_count() if splits.one_per_core else PartitionCount(float(tasks))
    return splits.splits_at(ratio, small_table=small_table)


def _read_alone(stage: StageRun, index: int, source: StageInput) -> StageRun:
    """The stage reduced to what it reads of one input of files.

    If the log does not say how large the files of each input are, they are divided by the inputs'
    partitions. Each partition of a product is read once for each partition of the other input; the
    partitions of both inputs are taken to be of one size if nothing says how large they are.
    """
    numbers, read = _numbers(stage), stage.input_bytes
    tasks, reading = numbers[index], sum(numbers[one] for one in _file_inputs(stage))
    files, size = source.files_read, source.files_bytes
    files = _shared(stage.files_read, tasks / reading) if files is None else files
    size = _shared(stage.files_bytes, tasks / reading) if size is None else size
    each = None
    if read is not None:
        of_task = _share_of_task(stage, index) if stage.paired else 1.0
        quantiles = tuple(value * of_task for value in read.quantiles)
        tasks_together = stage.tasks if stage.paired else reading
        each = Measure(tasks, tasks * stage.outside_bytes * of_task / tasks_together, quantiles)
    return replace(
        stage, input_bytes=each, cached_input_bytes=None, files_read=files, files_bytes=size
    )


def _file_inputs(stage: StageRun) -> list[int]:
    """Indices of the inputs that are files; all inputs if the log does not say what they are."""
    indices = range(len(_numbers(stage)))
    return [one for one in indices if not stage.inputs or stage.inputs[one].origin == "files"]


def _share_of_task(stage: StageRun, index: int) -> float:
    """Share of one input in the bytes of files that a task of a product reads."""
    indices = _file_inputs(stage)
    totals = {one: stage.inputs[one].files_bytes for one in indices} if stage.inputs else {}
    sizes = {one: (size or 0.0) / stage.paired[one] for one, size in totals.items()}
    known = sizes and all(sizes.values())
    return sizes[index] / sum(sizes.values()) if known else 1.0 / len(indices)


def _shared(amount: float | None, share: float) -> float | None:
    return None if amount is None else amount * share
