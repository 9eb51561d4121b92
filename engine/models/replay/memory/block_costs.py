"""What a task spends on cached blocks that it does not find: computing them, or reading them from
disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory.cached_rdds import part_of
from engine.models.replay.replayed_run import Replay
from engine.stage_run import StageRun

CACHED_BYTES_PER_SECOND = 200e6
"""Prior: what one task reads of cached blocks that lie on disk, in bytes as they are in memory, for
logs that do not show it: between a volume that the cores of a node share (40 to 150 MB/s for each)
and files that the system still has in memory (400 to 1,000 MB/s, most of it for making objects)."""


def whole_seconds(replay: Replay, place: int, source: int, disk_rate: float) -> float:
    """Task time of doing without all cached data of a stage, which another computed."""
    stage = replay.run.stages[place]
    if set(stage.cached_rdds) & set(stage.disk_backed_rdds):
        return (stage.cached_input_bytes or 0.0) / disk_rate
    part = part_of(replay.run.stages, place, [source])
    return part * _computing_seconds(replay, source)


def _computing_seconds(replay: Replay, place: int) -> float:
    """Task time of a stage when its code is no longer new."""
    shape = replay.shapes[place]
    late = shape.warm_up.late if shape.warm_up is not None else 1.0
    return shape.mean_seconds * shape.stage.tasks * late


def costs_of(replay: Replay, cache: CacheReplay, disk_rate: float) -> dict[int, float]:
    """RDD -> task time of having all of it again: from disk, or an even part of what the stage took
    that computed it first."""
    alike = Counter(cache.origins.values())
    return {
        rdd: cache.stored_bytes[rdd] / disk_rate
        if rdd in cache.on_disk
        else _computing_seconds(replay, place) / alike[place]
        for rdd, place in cache.origins.items()
    }


def disk_rate_of(stages: Sequence[StageRun]) -> float:
    """Bytes per second in which a task reads blocks from disk: as the prior says, or as the stage
    shows that read most of them in its time, which it had for everything else as well. One that
    took the first rows does not tell which blocks it came to."""
    shown = [
        min(stage.cached_disk_bytes, stage.cached_input_bytes) / stage.task_seconds.total
        for stage in stages
        if stage.cached_disk_bytes and stage.cached_input_bytes and not stage.in_part
        if stage.task_seconds.total > 0.0
    ]
    return max([CACHED_BYTES_PER_SECOND, *shown])


@dataclass(frozen=True, slots=True)
class Reread:
    """A stage that reads cached data.

    Args:
        place: of the stage in its run.
        lost_seconds: (`len(SHARES)`,) task time of computing again what it does not find, or of
            reading it from disk, at the observed input, where memory holds so much of the cache.
        driven_seconds: (`len(SHARES)`,) the same where memory holds all of it, and stages before
            this one drove out all but so much; less what it would be in the log where that shows
            that nothing was lost, and so below 0 where more is left.
        driven_in_log: what of the latter is in its time in the log.
        own_in_log: what is in its time in the log because its own tasks, and others that read the
            cache, took the memory of blocks: of a cache that fits without them.
    """

    place: int
    lost_seconds: FloatArray
    driven_seconds: FloatArray
    driven_in_log: float = 0.0
    own_in_log: float = 0.0

    def own_left(self, share: FloatArray, own_share: float) -> FloatArray:
        """(n,) what is left of `own_in_log` where (n,) shares of the cache fit beside the tasks
        that read it; such a share did in the log."""
        there = float(np.interp(own_share, SHARES, self.lost_seconds))
        if self.own_in_log <= 0.0 or there <= 0.0:
            return np.full(len(share), self.own_in_log)
        part = np.interp(share, SHARES, self.lost_seconds) / there
        return np.asarray(self.own_in_log * np.minimum(1.0, part))

    def driven_out(self, share: FloatArray | float, left: FloatArray | float) -> FloatArray:
        """(n,) task time for what was driven out, beyond that for what does not fit, where (n,)
        shares of the cache fit, and such shares are left of it."""
        here = lost_where((self.lost_seconds, self.driven_seconds), share, left)
        return here - np.interp(share, SHARES, self.lost_seconds)


def lost_where(
    lost_seconds: FloatArray | tuple[FloatArray, FloatArray],
    share: FloatArray | float,
    left: FloatArray | float,
) -> FloatArray:
    """(n,) task time for what is not found where such shares of the cache fit, and are left while
    other stages press: the more of what either alone costs. A sum would count blocks twice that
    neither leaves, and less memory would come out faster where one of the two hardly grows.

    Args:
        lost_seconds: (2, `len(SHARES)`) for what does not fit, and for what is driven out.
    """
    lost, driven = lost_seconds
    return np.maximum(np.interp(share, SHARES, lost), np.interp(left, SHARES, driven))
