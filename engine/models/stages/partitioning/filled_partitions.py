"""How many partitions of a coalesced shuffle hold rows, by how full the tasks of a log are.

Adaptive execution joins neighbouring partitions until the next one would not fit into the target.
Keys by the hundred fill all partitions alike, so that tasks fill the target but for less than one
of them. Tasks that leave more room, or hold several times the target, have few and large
partitions: of keys of few values (`repartition` by a region, windows for each kind), whose other
partitions are empty. More data makes them larger, not more.

In: a stage and the rule by which it was coalesced. Out: an estimate of its partitions that hold
rows. Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

import math

from engine.models.stages.partitioning.coalesced_partitions import REPORTED_SIZE_FACTOR
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.stage_run import Measure, StageRun

MOST_REPORTED = 1.1
"""Largest factor by which a reported block size exceeds the real one (`MapStatus.compressSize`)."""

FEW_SHARE = 0.2
"""Below this share of the configured partitions those that hold rows are few. Even ones of sizes
that spread by 80 % leave as much room as half as many of one size."""

ALIKE = 0.9
"""Sizes within this share of each other are alike."""

WELL_BEYOND = 5.0
"""Tasks all beyond the target are single partitions only from so many times of it: a target that a
table format asks for leaves the same. In use are up to 256 MiB for Spark's 64. Services fill
targets of any size."""

SIZES = 11
"""Most tasks whose sizes are looked at one by one; of more as many quantiles."""


def filled_partitions(
    stage: StageRun, initial: float, settings: PartitioningSettings
) -> float | None:
    """The most partitions of one size that explain how full the tasks of a stage are; None if its
    `initial` partitions do, another rule than that of the settings may have made its tasks, or some
    are beyond the target and others not: a key of many rows beside others
    (`hot_partitions.py`)."""
    sizes = stage.shuffle_read_bytes
    if sizes is None or sizes.count < 2:
        return None
    reported = REPORTED_SIZE_FACTOR * sizes.total
    target = settings.target_bytes(reported, None)
    tasks = _task_sizes(sizes)
    own_target = settings.by_service or tasks[0] < WELL_BEYOND * target
    if (
        (tasks[-1] > target and own_target)
        or _fill_alike(tasks)
        or stage.tasks > reported / target + 2.0
    ):
        return None
    joined = (_most_joined(size, target, settings.smallest_bytes) for size in tasks)
    most = sum(joined) * sizes.count / len(tasks)
    return most if most < FEW_SHARE * initial else None


def _task_sizes(sizes: Measure) -> list[float]:
    """Bytes of tasks, ascending; of more than `SIZES` as many quantiles."""
    number = min(sizes.count, SIZES)
    return [sizes.quantile(i / (number - 1)) for i in range(number)]


def _fill_alike(tasks: list[float]) -> bool:
    """Whether all tasks but a smaller one are of one size: even partitions fill another target than
    that of the settings so, and the last task has what is left."""
    smallest, *others = tasks
    return others[0] >= ALIKE * others[-1] and smallest < ALIKE * others[0]


def _most_joined(size: float, target: float, smallest: float) -> float:
    """The most partitions of one size that make a task of `size` bytes: a further one would not
    have fitted into the target. Beyond the target only a task takes a further one that holds less
    than the `smallest`. Infinite if it may be any number."""
    spare = size - smallest if size > target else target / MOST_REPORTED - size
    return max(1.0, float(math.floor(size / spare))) if spare > 0.0 else math.inf
