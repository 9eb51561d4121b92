"""Shuffle partitions that no number of cores divides: those of keys that have many rows.

Adaptive execution merges neighbouring partitions as long as they stay within a target size, and the
target follows the cores. So a task that read more than the target read one partition as it was
shuffled. Cut finer it keeps its share of the data, where the others get smaller; cut coarser it is
merged with others once the target is larger than it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.cutting.partitions import PartitioningSettings
from engine.models.stages.durations.drawn_times import drawn
from engine.stage_run import StageRun

BEYOND_TARGET = 1.2
"""A partition is larger than the target from so many times it on: the sizes that Spark merges by
are rounded up by a tenth at most (`MapStatus.compressSize`)."""

PIECE = 1.5
"""Pieces of a partition that a join was split into are no larger than so many advisory sizes."""


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """The partitions of a stage that were not merged.

    Args:
        shares: of the stage's data, the largest first.
        split_beyond: growth of the data from which on each is split (`OptimizeSkewedJoin`),
            infinite where Spark does not do that, 1 for pieces, which become more.
    """

    shares: tuple[float, ...]
    split_beyond: tuple[float, ...]

    def kept(self, tasks: int, growth: float, ordered: FloatArray) -> int:
        """How many stand out where the stage has so many tasks and `growth` times the data: those
        of more data or more time than the mean task, unless they are split. A key's rows may take
        more time than as many others (joins that multiply them): merged with others it still does.

        Args:
            ordered: (n,) times of the observed tasks, ascending.
        """
        work, apart = float(ordered.sum()), 0
        longest = ordered[::-1][: len(self.shares)].tolist()
        for share, limit, seconds in zip(self.shares, self.split_beyond, longest, strict=True):
            large = max(share * work, seconds) * tasks > BEYOND_TARGET * work
            apart += large and growth <= limit
        return apart if tasks > apart else 0

    def cut(
        self, ordered: FloatArray, tasks: int, growth: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """(tasks,) observed times of so many tasks, ascending by what becomes of them, and the
        (tasks,) relative work of each; None where they are as they were.

        The work of all is conserved: a hot partition has `growth` times its own, the others share
        theirs evenly. One that no longer stands out is like the others.

        Args:
            ordered: (n,) times of the observed tasks, ascending.
        """
        n, kept = len(ordered), self.kept(tasks, growth, ordered)
        usual, mean = ordered[: n - len(self.shares)], float(ordered[: n - kept].mean())
        typical = float(usual.mean())
        as_it_was = tasks == n and all(growth <= limit for limit in self.split_beyond)
        if as_it_was or typical <= 0.0:
            return None
        rest = drawn(usual * (mean / typical), tasks - kept, mean)
        times = np.concatenate((rest, ordered[n - kept :]))
        work = np.full(tasks, growth)
        work[: tasks - kept] *= (n - kept) / (tasks - kept)
        rank = np.argsort(times * work, kind="stable")
        return times[rank], work[rank]


def hot_partitions(
    stage: StageRun, settings: PartitioningSettings, *, map_output_bytes: float | None = None
) -> HotPartitions | None:
    """The partitions of a stage with merged shuffles that were not merged; None where none is
    larger than the target, or so many are that something else cut them.

    Of more tasks than a profile has quantiles the largest alone is known. A join splits a partition
    between the outputs of the tasks before it and no finer. So one that it would have split, and
    that is no larger than one such output, is a piece: it stays as large on more cores, but more
    data are more of them.

    Args:
        map_output_bytes: as in `StageShape`.
    """
    read = stage.shuffle_read_bytes
    if read is None or read.total <= 0.0 or stage.tasks < FEWEST_TASKS:
        return None
    largest = read.quantiles[::-1] if read.count <= len(read.quantiles) else read.quantiles[-1:]
    target = BEYOND_TARGET * settings.target_bytes(read.total, None)
    joins = len(stage.parents) > 1
    if joins and read.total > settings.skewed_bytes:
        target = max(target, PIECE * settings.advisory_bytes)
    hot = [size for size in largest if size > target]
    if not hot or 2 * len(hot) >= stage.tasks:
        return None
    beyond = [_split_beyond(size, settings, map_output_bytes) if joins else np.inf for size in hot]
    return HotPartitions(tuple(size / read.total for size in hot), tuple(beyond))


def _split_beyond(
    size: float, settings: PartitioningSettings, map_output_bytes: float | None
) -> float:
    """Growth of the data from which on a join has one in pieces, or in more of them."""
    if size <= settings.skewed_bytes:
        return settings.skewed_bytes / size
    is_piece = map_output_bytes is not None and size <= map_output_bytes
    return 1.0 if is_piece else np.inf


FEWEST_TASKS = 3
"""Of fewer partitions none stands out."""
