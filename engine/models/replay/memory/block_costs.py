"""Cost of cache misses: task time to recompute cached blocks, or to read them from disk.

In: the replay of a log, and which RDDs its stages need. Out: task seconds per RDD and per stage.
Explained in docs/models/sparkplan_rules_memory.md#the-cache.
"""

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
"""Prior: rate at which one task reads cached blocks from disk, in bytes of their size in memory,
for logs that do not show it. It lies between a volume shared by the cores of a node (40 to 150 MB/s
for each) and files in the page cache (400 to 1,000 MB/s, mostly deserialisation)."""


def all_miss_seconds(replay: Replay, index: int, source: int, disk_rate: float) -> float:
    """Task time that a stage needs if it finds none of its cached data: to read it from disk if it
    lies there, else to recompute it.

    Args:
        index: index of the stage; source: of the stage that computed its cached data.
        disk_rate: bytes per second in which a task reads blocks from disk.
    """
    stage = replay.run.stages[index]
    if set(stage.cached_rdds) & set(stage.disk_backed_rdds):
        return (stage.cached_input_bytes or 0.0) / disk_rate
    part = part_of(replay.run.stages, index, [source])
    return part * _computing_seconds(replay, source)


def _computing_seconds(replay: Replay, index: int) -> float:
    """Task time of a stage once its code is warm (JIT-compiled)."""
    model = replay.models[index]
    late = model.warm_up.late if model.warm_up is not None else 1.0
    return model.mean_seconds * model.stage.tasks * late


def recompute_costs(replay: Replay, cache: CacheReplay, disk_rate: float) -> dict[int, float]:
    """RDD -> task time to obtain all of it again: from disk, or by recomputing it. Of the time of
    the stage that first computed several RDDs each gets an equal part."""
    rdds_computed = Counter(cache.origins.values())
    return {
        rdd: cache.stored_bytes[rdd] / disk_rate
        if rdd in cache.on_disk
        else _computing_seconds(replay, index) / rdds_computed[index]
        for rdd, index in cache.origins.items()
    }


def disk_rate_of(stages: Sequence[StageRun]) -> float:
    """Rate in bytes per second at which a task reads cached blocks from disk: the largest of the
    prior and the lower bounds that the stages show, bytes read from disk over all their task time.
    Stages that took only the first rows do not tell which blocks they came to."""
    observed_rates = [
        min(stage.cached_disk_bytes, stage.cached_input_bytes) / stage.task_seconds.total
        for stage in stages
        if stage.cached_disk_bytes and stage.cached_input_bytes and not stage.in_part
        if stage.task_seconds.total > 0.0
    ]
    return max([CACHED_BYTES_PER_SECOND, *observed_rates])


@dataclass(frozen=True, slots=True)
class CacheReader:
    """Costs of cache misses of one stage that reads cached data.

    Args:
        stage_index: index of the stage in its run.
        miss_seconds: (`len(SHARES)`,) task time to recompute the blocks that it does not find, or
            to read them from disk, at the observed input, where storage memory holds these shares
            of the cache.
        evicted_seconds: (`len(SHARES)`,) the same where storage memory holds all of the cache and
            earlier stages evicted all but these shares. Where the log shows that nothing was
            missed, less the value for the log's own share, and so below 0 where more is left.
        evicted_in_log: what of the latter is part of its time in the log.
        crowded_out_in_log: task time in the log of misses because the tasks that read the cache,
            its own and others, took the memory of blocks: of a cache that fits without them.
    """

    stage_index: int
    miss_seconds: FloatArray
    evicted_seconds: FloatArray
    evicted_in_log: float = 0.0
    crowded_out_in_log: float = 0.0

    def crowded_out_seconds(self, share: FloatArray, share_by_rule: float) -> FloatArray:
        """(n,) what remains of `crowded_out_in_log` where (n,) shares of the cache fit beside the
        tasks that read it; `share_by_rule` fitted on the log's cluster."""
        miss_seconds_in_log = float(np.interp(share_by_rule, SHARES, self.miss_seconds))
        if self.crowded_out_in_log <= 0.0 or miss_seconds_in_log <= 0.0:
            return np.full(len(share), self.crowded_out_in_log)
        part = np.interp(share, SHARES, self.miss_seconds) / miss_seconds_in_log
        return np.asarray(self.crowded_out_in_log * np.minimum(1.0, part))

    def eviction_cost(self, share: FloatArray | float, surviving: FloatArray | float) -> FloatArray:
        """(n,) task time of misses of evicted blocks, beyond that of blocks that do not fit, where
        (n,) shares of the cache fit and the shares `surviving` survive evictions."""
        miss_seconds = miss_seconds_at((self.miss_seconds, self.evicted_seconds), share, surviving)
        return miss_seconds - np.interp(share, SHARES, self.miss_seconds)


def miss_seconds_at(
    miss_seconds: FloatArray | tuple[FloatArray, FloatArray],
    share: FloatArray | float,
    surviving: FloatArray | float,
) -> FloatArray:
    """(n,) task time of cache misses where such shares of the cache fit, and the shares `surviving`
    survive evictions: the maximum of both costs. A sum would count twice the blocks that neither
    leaves, and less memory would come out faster where one of the two hardly grows.

    Args:
        miss_seconds: (2, `len(SHARES)`) for blocks that do not fit, and for evicted ones.
    """
    not_fitting, evicted = miss_seconds
    return np.maximum(np.interp(share, SHARES, not_fitting), np.interp(surviving, SHARES, evicted))
