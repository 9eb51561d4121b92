"""Hot (skewed) shuffle partitions: those of keys with many rows, which more tasks do not divide.

Adaptive execution coalesces neighbouring partitions up to a target size that depends on the cores.
So a task that read more than the target read a single partition as it was shuffled. With more tasks
it keeps its share of the data while the others get smaller. With fewer it is coalesced with others
once the target is larger than it.

In: a stage and its partitioning settings. Out: the shares of its hot partitions, and the task times
with them. Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.stage_run import StageRun

HOT_FACTOR = 1.2
"""Factor on the target size above which a partition was certainly not coalesced: the sizes that
Spark goes by are rounded up by at most a tenth (`MapStatus.compressSize`)."""

MOST_PIECE = 1.5
"""Largest piece of a partition that a skew join split, in advisory sizes."""


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """The hot partitions of a stage.

    Args:
        shares: their shares of the stage's data, the largest first.
        split_growth: growth of the data beyond which each is split (`OptimizeSkewedJoin`); infinite
            if Spark does not split it, 1 for pieces of a split partition, whose number grows.
    """

    shares: tuple[float, ...]
    split_growth: tuple[float, ...]

    def kept(self, tasks: int, growth: float, ordered: FloatArray) -> int:
        """Number of hot partitions that remain in a stage of `tasks` tasks and `growth` times the
        data: those with more data or more time than the mean task, unless they are split. The rows
        of a key may take more time than other rows (joins that multiply them); coalesced with
        others it still does.

        Args:
            ordered: (n,) times of the observed tasks, ascending.
        """
        work, count = float(ordered.sum()), 0
        longest = ordered[::-1][: len(self.shares)].tolist()
        for share, limit, seconds in zip(self.shares, self.split_growth, longest, strict=True):
            large = max(share * work, seconds) * tasks > HOT_FACTOR * work
            count += large and growth <= limit
        return count if tasks > count else 0

    def divided(
        self, ordered: FloatArray, tasks: int, growth: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """(tasks,) times at the observed size and the (tasks,) relative work of each, ascending by
        their product; None if nothing changes.

        Total work is conserved: a hot partition has `growth` times its own, the others divide the
        rest evenly. One that no longer stands out is treated like the others.

        Args:
            ordered: (n,) times of the observed tasks, ascending.
        """
        n, kept = len(ordered), self.kept(tasks, growth, ordered)
        usual, mean = ordered[: n - len(self.shares)], float(ordered[: n - kept].mean())
        typical = float(usual.mean())
        as_it_was = tasks == n and all(growth <= limit for limit in self.split_growth)
        if as_it_was or typical <= 0.0:
            return None
        rest = times_from_quantiles(usual * (mean / typical), tasks - kept, mean)
        times = np.concatenate((rest, ordered[n - kept :]))
        work = np.full(tasks, growth)
        work[: tasks - kept] *= (n - kept) / (tasks - kept)
        rank = np.argsort(times * work, kind="stable")
        return times[rank], work[rank]


def hot_partitions(
    stage: StageRun,
    settings: PartitioningSettings,
    shuffle_partitions: int,
    *,
    map_output_bytes: float | None = None,
) -> HotPartitions | None:
    """The hot partitions of a stage with coalesced shuffles; None if none is larger than the
    target, or if so many are that something else partitioned them.

    If there are more tasks than stored quantiles, only the largest is known. A skew join splits a
    partition between the outputs of map tasks and no finer. So a partition that it would have split
    and that is no larger than one such output is a piece: it stays as large on more cores, but more
    data makes more pieces. It splits none that is not several times the others as well, for which
    the mean stands here: few partitions make a hot one of its key and of much else.

    Args:
        shuffle_partitions: number of partitions before coalescing.
        map_output_bytes: as in `StageModel`.
    """
    read = stage.shuffle_read_bytes
    if read is None or read.total <= 0.0 or stage.tasks < FEWEST_TASKS:
        return None
    largest = read.quantiles[::-1] if read.count <= len(read.quantiles) else read.quantiles[-1:]
    target = HOT_FACTOR * settings.target_bytes(read.total, None)
    splits = stage.rebalanced or len(stage.parents) > 1
    if splits and read.total > settings.skewed_bytes:
        target = max(target, MOST_PIECE * settings.advisory_bytes)
    hot = [size for size in largest if size > target]
    if not hot or 2 * len(hot) >= stage.tasks:
        return None
    others = max(1, shuffle_partitions - len(hot))
    skewed_from = settings.skewed_factor * (read.total - sum(hot)) / others
    beyond = [
        _split_beyond(size, settings, map_output_bytes) if splits and size > skewed_from else np.inf
        for size in hot
    ]
    return HotPartitions(tuple(size / read.total for size in hot), tuple(beyond))


def _split_beyond(
    size: float, settings: PartitioningSettings, map_output_bytes: float | None
) -> float:
    """Growth of the data beyond which a skew join splits a partition, or makes more pieces."""
    if size <= settings.skewed_bytes:
        return settings.skewed_bytes / size
    is_piece = map_output_bytes is not None and size <= map_output_bytes
    return 1.0 if is_piece else np.inf


FEWEST_TASKS = 3
"""Among fewer partitions none is called hot."""
