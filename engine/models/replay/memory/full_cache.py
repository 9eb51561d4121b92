"""The replay of a log whose cache did not fit, as if every block had been found in memory.

Such a log mixes tasks that hit the cache with tasks that missed and computed their block again. On
a cluster where everything fits there are only hits. The mean cost of a miss does not tell how long
a stage takes without misses: where each slot runs only a task or two, the stage lasts as long as
its slowest task, and that is one that missed. So the task times of the hits are separated from
those of the misses.

In: a replay, and the cache misses of its stages in the log. Out: a replay with other task times.
Explained in docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.models.stages.durations.task_times import StageModel

MIN_HITS = 3
"""Fewer tasks that hit the cache do not show the distribution of their times."""

MISS_COUNT_TOLERANCE = 0.1
"""Tolerance for the number of misses, as a share of the stage's tasks: executors do not fill alike,
nor up to the last byte, so that more or fewer tasks may have missed than memory says."""


def with_full_cache(replay: Replay, misses: Mapping[int, tuple[float, float]]) -> Replay:
    """The replay of a log as if each stage had found all of the cache that it read.

    Args:
        misses: index of a stage -> task seconds that its cache misses took in the log, and the
            share of its cached data that it missed.
    """
    models = list(replay.models)
    for index, (seconds, share) in misses.items():
        models[index] = _without_misses(models[index], seconds, share)
    return replace(replay, models=tuple(models)).with_empty_cache()


def _without_misses(model: StageModel, miss_seconds: float, missed_share: float) -> StageModel:
    """The stage with the task times of its cache hits alone, its shortest tasks.

    The hits end where the sorted task times jump (`_hits_before_jump`). Where no jump shows it, the
    time saved is at most `miss_seconds`: the shortest of equal tasks are short by chance alone.
    """
    n = model.stage.tasks
    times = times_from_quantiles(model.warm, n, model.mean_seconds)
    hits = n - math.ceil(missed_share * n)
    quantiles = len(model.stage.task_seconds.quantiles)
    span = 1 if quantiles >= n else math.ceil(n / max(1, quantiles - 1)) + 1
    cost_seconds = miss_seconds / max(1, n - hits)
    jump = _hits_before_jump(times, hits, span=span, cost_seconds=cost_seconds)
    hit_times = times[:jump] if jump else times[:hits] if hits >= MIN_HITS else times
    hit_mean = float(hit_times.mean())
    mean_less_misses = max(0.0, float(times.sum()) - miss_seconds) / n
    if jump:
        mean = hit_mean
    else:
        mean = max(mean_less_misses, hit_mean) if hits >= MIN_HITS else mean_less_misses
    warm = hit_times * (mean / hit_mean) if hit_mean > 0.0 else hit_times
    cold = warm + model.cold_excess if len(model.cold) else model.cold
    return replace(model, warm=warm, mean_seconds=mean, cold=cold, warm_up=None)


def _hits_before_jump(
    times: FloatArray, expected: int, *, span: int, cost_seconds: float
) -> int | None:
    """How many of the sorted task times belong to cache hits: those before the widest jump near the
    expected number, if it is at least half of the cost of a miss; None if there is no such jump.

    Args:
        expected: number of hits by the missing share of the cache.
        span: tasks over which a jump extends, where times are interpolated between quantiles.
        cost_seconds: mean time of computing one block again.
    """
    tolerance = max(1, round(MISS_COUNT_TOLERANCE * len(times)))
    first, last = max(MIN_HITS, expected - tolerance), min(len(times) - span, expected + tolerance)
    if first > last:
        return None
    counts = np.arange(first, last + 1)
    jumps = times[counts - 1 + span] - times[counts - 1]
    widest = int(jumps.argmax())
    return first + widest if jumps[widest] >= 0.5 * cost_seconds > 0.0 else None
