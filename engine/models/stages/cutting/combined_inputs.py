"""Into how many partitions a union or a product of several inputs is cut, each cut by rules of its
own.

A union has the partitions of all of its inputs beside each other. `crossJoin` and `cartesian` give
each task one partition of either input (Spark's `CartesianRDD`). Files are cut as if each scan read
them alone, rows that the program makes for the cores, shuffles are merged each for itself, and what
is stored has the partitions of the stage that stored it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.cutting.input_splits import InputSplits
from engine.models.stages.cutting.partitions import (
    WHOLE,
    ByCores,
    PartitionCount,
    Partitioning,
    PerCore,
)
from engine.stage_run import Measure, StageInput, StageRun


@dataclass(frozen=True)
class CombinedPartitions:
    """The partitions of two inputs together, of one stage or (as arrays) of each of m.

    Args:
        one, other: what says how many either has.
        paired: whether each of one is paired with each of the other, or they lie beside each other.
    """

    one: ByCores
    other: ByCores
    paired: bool | BoolArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) of `ratio` times both inputs on so many cores."""
        sides = (side.count(cores, ratio) for side in (self.one, self.other))
        one, other = (np.ceil(found - WHOLE) for found in sides)
        return np.asarray(np.where(self.paired, one * other, one + other))


def combined_count(
    stage: StageRun, rule: Partitioning, ratio: float, known: Sequence[PartitionCount | None]
) -> PartitionCount:
    """Partitions of a stage that unites or pairs inputs, at `ratio` times what is not made by the
    program.

    Args:
        known: (k,) those of the k inputs that other stages or rules of shuffles tell, at that
            ratio; None for others, and where nobody knows.
    """
    sides = [told or _side(stage, place, rule, ratio) for place, told in enumerate(known)]
    whole = [math.ceil(side.own - WHOLE) for side in sides]
    own = float(math.prod(whole) if stage.paired else sum(whole))
    if not any(side.counts_slots for side in sides):
        return PartitionCount(own)
    rules: list[ByCores] = [side.by_cores or _same(side.own) for side in sides]
    together = partial(CombinedPartitions, paired=bool(stage.paired))
    return PartitionCount(own, rule.own_cores, reduce(together, rules), ratio)


def _numbers(stage: StageRun) -> tuple[int, ...]:
    """The partitions of each input that a stage combines."""
    return stage.paired or stage.united


def _same(partitions: float) -> PerCore:
    """So many on any cluster."""
    return PerCore(0.0, partitions, 1.0, 1.0, 1.0, 1.0)


def _side(stage: StageRun, place: int, rule: Partitioning, ratio: float) -> PartitionCount:
    """The partitions of one of the inputs: as if a stage of its own read it."""
    tasks = _numbers(stage)[place]
    told = stage.inputs[place] if stage.inputs else StageInput("files")
    if told.origin in ("stored", "shuffled"):
        return PartitionCount(float(tasks))
    made = told.origin == "made"
    alone = replace(
        stage if made else _read_alone(stage, place, told),
        tasks=tasks,
        paired=(),
        united=(),
        inputs=(),
        generated=made,
        operations=tuple(name for name in stage.operations if name not in COMBINING),
        operation_counts=(),
    )
    splits = InputSplits.of(alone, rule, in_splits=not made)
    if made:
        return splits.one_each() if splits.for_cores else PartitionCount(float(tasks))
    return splits.alone(ratio)


def _read_alone(stage: StageRun, place: int, told: StageInput) -> StageRun:
    """The stage with what it read of one input. Where the log does not tell how large the files of
    each are, they share them by their partitions, among those that are files. Each partition of a
    product was read once for each of the other's, and is taken to be as large on both sides where
    nothing says how large."""
    numbers, read = _numbers(stage), stage.input_bytes
    tasks, reading = numbers[place], sum(numbers[one] for one in _of_files(stage))
    files, size = told.files_read, told.files_bytes
    files = _shared(stage.files_read, tasks / reading) if files is None else files
    size = _shared(stage.files_bytes, tasks / reading) if size is None else size
    each = None
    if read is not None:
        of_task = _share_of_task(stage, place) if stage.paired else 1.0
        quantiles = tuple(value * of_task for value in read.quantiles)
        tasks_together = stage.tasks if stage.paired else reading
        each = Measure(tasks, tasks * stage.outside_bytes * of_task / tasks_together, quantiles)
    return replace(
        stage, input_bytes=each, cached_input_bytes=None, files_read=files, files_bytes=size
    )


def _of_files(stage: StageRun) -> list[int]:
    """The places of the inputs that are files; all, where the log does not say what they are."""
    places = range(len(_numbers(stage)))
    return [one for one in places if not stage.inputs or stage.inputs[one].origin == "files"]


def _share_of_task(stage: StageRun, place: int) -> float:
    """How much of what a task of a product reads of files is of one of its inputs."""
    places = _of_files(stage)
    told = {one: stage.inputs[one].files_bytes for one in places} if stage.inputs else {}
    sizes = {one: (size or 0.0) / stage.paired[one] for one, size in told.items()}
    known = sizes and all(sizes.values())
    return sizes[place] / sum(sizes.values()) if known else 1.0 / len(places)


def _shared(amount: float | None, share: float) -> float | None:
    return None if amount is None else amount * share


COMBINING = frozenset(("CartesianProduct", "cartesian", "Union", "union"))
"""How Spark calls the operations that pair inputs or put them beside each other, in SQL and of
RDDs."""
