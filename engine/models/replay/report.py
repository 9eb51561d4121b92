"""What a replayed run says of itself: phases that add up, stages, what bounds it, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.intervals import exclusive_seconds, interval_union
from engine.models.base import Explanation, StageForecast
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.replayed_run import Replay
from engine.models.stages.disturbance import computes_elsewhere
from engine.models.stages.partitioning.stage_growth import follows_configured
from engine.models.stages.slots_over_time import executor_wait_seconds
from engine.models.stages.stage_models import first_task_seconds, read_skew, warm_and_cold
from engine.notices import Notice
from engine.runs.stage_labels import numbered_label, stage_label
from engine.stage_run import StageRun, total_of
from engine.units import format_count

DRIVER = "driver"
WAITING = "wait for executors"
"""Phase: stages were submitted and no executor was there."""

OTHER_STAGES = "other stages"
MEMORY = "memory"
CACHE_MISSES = "cache does not fit"
NAMED_PHASES = 8
"""Number of stage phases that are shown by name, the longest; the others are shown together."""

DRIVER_BOUND = 0.5
SKEWED = 3.0
LAUNCH_BOUND = 0.5
GC_BOUND = 0.15
FETCH_BOUND = 0.25
CPU_BOUND = 0.6
"""What bounds a stage: its longest task is this many times the mean and decides its end; this share
of the time that its tasks hold slots lies outside their run time; these shares of their run time go
to collection, to waiting for shuffle blocks, or to computing."""

SPARE_SHARE = 0.3
"""Slots are reported as too many when this share of them could go without 5 % more time."""


def explanation(
    replay: Replay,
    replayed: ReplayOutcome,
    *,
    slots: int,
    seconds: float,
    cache_miss_seconds: float = 0.0,
) -> Explanation:
    """Phases and stages of a replayed run, stretched to the predicted `seconds`, of which
    `cache_miss_seconds` go to data that does not fit in memory."""
    exclusive = exclusive_seconds(replayed.start, replayed.end)
    factor, idle_factor = _stretched(
        replayed.seconds, float(exclusive.sum()), seconds - cache_miss_seconds
    )
    at = _moments(replayed.start, replayed.end, factor, idle_factor)
    exclusive *= factor
    bottlenecks = [
        bottleneck(model.stage, tasks, slots, float(end - start))
        for model, tasks, start, end in zip(
            replay.models, replayed.tasks, replayed.start, replayed.end, strict=True
        )
    ]
    stages = tuple(
        StageForecast(
            stage_id=model.stage.stage_id,
            name=stage_label(model.stage),
            tasks=tasks,
            start_seconds=at(float(start)),
            end_seconds=at(float(end)),
            waves=tasks * model.stage.task_cpus / slots,
            bottleneck=word,
            busy_share=_busy_share(model.stage, float(work), slots, float(end - start)),
        )
        for model, tasks, work, start, end, word in zip(
            replay.models,
            replayed.tasks,
            replayed.work,
            replayed.start,
            replayed.end,
            bottlenecks,
            strict=True,
        )
    )
    driver = max(0.0, seconds - cache_miss_seconds - float(exclusive.sum()))
    names = [stage_label(model.stage) for model in replay.models]
    bounds = {DRIVER: driver, MEMORY: cache_miss_seconds}
    waited = min(driver, executor_wait_seconds(replay.run) * idle_factor)
    phases = dict(_phases(driver - waited, names, exclusive))
    if waited > 0.0:
        phases[WAITING] = waited
    if cache_miss_seconds > 0.0:
        phases[CACHE_MISSES] = cache_miss_seconds
    return Explanation(phases, stages, _bound(bounds, bottlenecks, exclusive, seconds))


def _bound(
    bounds: Mapping[str, float], bottlenecks: Sequence[str], exclusive: FloatArray, seconds: float
) -> str:
    """What bounds a run of so many seconds: what most time goes to, the driver only where that is
    much of it.

    Args:
        bounds: seconds that go to what is no stage, by word.
        bottlenecks, exclusive: (s,) what bounds each stage, and its seconds.
    """
    spent = dict(bounds)
    for word, of_stage in zip(bottlenecks, exclusive.tolist(), strict=True):
        spent[word] = spent.get(word, 0.0) + of_stage
    if bounds[DRIVER] < DRIVER_BOUND * seconds and len(spent) > 1:
        del spent[DRIVER]
    return max(spent, key=spent.__getitem__)


def _stretched(replayed: float, of_stages: float, seconds: float) -> tuple[float, float]:
    """Factors on the time in which stages run and on the driver's. What a prediction adds to its
    replay, or takes off, is of tasks: the driver waits for no slot. Only where that is more than
    the stages can give are both stretched alike."""
    driver = replayed - of_stages
    if of_stages > 0.0 and seconds - driver > LEAST_STRETCH * of_stages:
        return (seconds - driver) / of_stages, 1.0
    return seconds / replayed, seconds / replayed


LEAST_STRETCH = 0.5
"""Stages are not shown shorter than this share of their replay while the driver keeps its time."""


def _moments(
    start: FloatArray, end: FloatArray, factor: float, idle_factor: float
) -> Callable[[float], float]:
    """A moment of the replay -> the same when stages take `factor` times as long, and the time in
    which none runs `idle_factor` times."""
    begun, ended = interval_union(start, end)
    moments = np.concatenate(([0.0], np.column_stack((begun, ended)).ravel()))
    lengths = np.diff(moments)
    lengths[0::2] *= idle_factor
    lengths[1::2] *= factor
    stretched = np.concatenate(([0.0], np.cumsum(lengths)))
    return lambda moment: float(np.interp(moment, moments, stretched))


def _busy_share(stage: StageRun, work: float, slots: int, seconds: float) -> float | None:
    """Mean share of the slots that a stage's tasks hold while it runs."""
    return min(1.0, work * stage.task_cpus / (seconds * slots)) if seconds > 0.0 else None


def _phases(driver: float, names: list[str], exclusive: FloatArray) -> Mapping[str, float]:
    """Driver time and the stages' own time by name, the longest first."""
    by_name: dict[str, float] = {}
    for name, spent in zip(names, exclusive.tolist(), strict=True):
        by_name[name] = by_name.get(name, 0.0) + spent
    ordered = sorted(by_name.items(), key=lambda item: -item[1])
    phases = {DRIVER: driver}
    for index, (name, spent) in enumerate(ordered):
        kept = name if index < NAMED_PHASES else OTHER_STAGES
        phases[kept] = phases.get(kept, 0.0) + spent
    return phases


def bottleneck(stage: StageRun, tasks: int, slots: int, seconds: float) -> str:
    """One word for what decides how long a stage takes: skew (its longest task), tasks (fewer than
    slots), launch (handing tasks out, loading their code, giving back results), gc, shuffle, cpu or
    io; waves where nothing was measured, as of Python functions."""
    longest = stage.task_seconds.maximum or 0.0
    if tasks > 1 and longest > 0.8 * seconds and time_skew(stage) > SKEWED:
        return "skew"
    if tasks * stage.task_cpus < slots:
        return "tasks"
    if total_of(stage.overhead_seconds) > LAUNCH_BOUND * stage.task_seconds.total:
        return "launch"
    ran = total_of(stage.run_seconds)
    if ran <= 0.0:
        return "waves"
    if stage.gc_seconds and stage.gc_seconds.total > GC_BOUND * ran:
        return "gc"
    if stage.fetch_wait_seconds and stage.fetch_wait_seconds.total > FETCH_BOUND * ran:
        return "shuffle"
    if stage.cpu_seconds is None or computes_elsewhere(stage):
        return "waves"
    return "cpu" if stage.cpu_seconds.total > CPU_BOUND * ran else "io"


def time_skew(stage: StageRun) -> float:
    """How many times the mean the longest task of a stage takes. First tasks on a slot start an
    executor's work, however little data they have: they are held against each other."""
    mean, longest = stage.task_seconds.mean or 0.0, stage.task_seconds.maximum or 0.0
    if longest <= SKEWED * mean or not mean:
        return longest / mean if mean else 1.0
    warm, mean, cold = warm_and_cold(stage)
    found = float(warm.max()) / mean if mean else 1.0
    firsts = first_task_seconds(stage) if len(cold) else cold
    if len(firsts) > 1:
        first = float(firsts.max())
        found = max(
            found, first * (len(firsts) - 1) / max(float(firsts.sum()) - first, LEAST_TASK_SECONDS)
        )
    return found


LEAST_TASK_SECONDS = 1e-3
"""A log counts milliseconds: no task takes less."""

NEGLIGIBLE_FACTOR = 1.05
"""Slots that save less than this factor of the time are not worth having."""

LEAST_SAVED_SHARE = 0.01
"""Fewer slots that save this share of the time are named."""


class UsefulSlots(NamedTuple):
    """How many slots are worth having.

    Args:
        slots: the fewest with at most `NEGLIGIBLE_FACTOR` times the time, as far as evaluated.
        best: of all evaluated, those on which the time is shortest.
        saves: share of the time that these save.
    """

    slots: int
    best: int
    saves: float


def useful_slots(
    seconds: Callable[[int], float], slots: int, most: int, *, least: int
) -> UsefulSlots:
    """The fewest slots with at most `NEGLIGIBLE_FACTOR` times the time on `slots` (bisection), or
    `most` where one fewer than those take longer.

    Args:
        seconds: time on so many slots.
        least: no fewer are evaluated.
    """
    evaluated = dict[int, float]()

    def enough(m: int) -> bool:
        evaluated[m] = seconds(m)
        return evaluated[m] <= evaluated[slots] * NEGLIGIBLE_FACTOR

    enough(slots)
    low, high = least, slots
    if most > least and not enough(most - 1):
        high = most
    elif enough(low):
        high = low
    else:
        while high - low > max(1, high // 32):
            middle = round(math.sqrt(low * high))
            low, high = (low, middle) if enough(middle) else (middle, high)
    best = min(evaluated, key=lambda m: (evaluated[m], m))
    return UsefulSlots(high, best, 1.0 - evaluated[best] / evaluated[slots])


def fewer_slots(batch: ClusterBatch) -> str:
    """What to ask for instead of one cluster to have fewer slots, in the words in which it was
    given."""
    if math.isnan(batch.nodes[0]):
        return "fewer executors" if batch.executors[0] > 1.0 else "an executor of fewer cores"
    return "fewer nodes" if batch.nodes[0] > 1.0 else "a node of fewer vCPUs"


def too_few_tasks_notice(
    replay: Replay,
    replayed: ReplayOutcome,
    batch: ClusterBatch,
    *,
    slots: int,
    useful: Callable[[int], UsefulSlots],
    shuffle_partitions: int | None,
) -> Notice | None:
    """Whether slots of the one cluster in the batch idle for want of tasks.

    Args:
        useful: `useful_slots` of the given number as `most`.
    """
    models = replay.models
    few = [p for p, tasks in enumerate(replayed.tasks) if tasks * models[p].stage.task_cpus < slots]
    if not few:
        return None
    exclusive = exclusive_seconds(replayed.start, replayed.end)
    most = math.floor((1.0 - SPARE_SHARE) * slots)
    enough, best, saves = useful(most + 1)
    if enough > most:
        return None
    worst = max(few, key=lambda index: exclusive[index])
    stage, tasks = models[worst].stage, replayed.tasks[worst]
    each = f" of {stage.task_cpus} slots" if stage.task_cpus > 1 else ""
    change = "the time hardly falls"
    if saves >= LEAST_SAVED_SHARE:
        rises = "rises: new executors start cold, and tasks at once slow each other down"
        change = (
            f"the time {rises}" if best == enough else f"{change}, and beyond {best} it {rises}"
        )
    text = (
        f"{numbered_label(stage)} has {format_count(tasks, 'task')}{each} for {slots} slots: "
        f"beyond {format_count(enough, 'slot')} {change}"
    )
    above = f" above {shuffle_partitions}" if shuffle_partitions else ""
    rdds = total_of(stage.shuffle_read_bytes) > 0.0
    more = "name more partitions in the program" if rdds else "smaller splits"
    if follows_configured(stage, models[worst].shuffle_partitions):
        more = f"raise --shuffle-partitions{above}"
    remedy = f"use {fewer_slots(batch)}, or {more}"
    label = numbered_label(stage)
    return Notice("too-few-tasks", text, remedy, subject=label, severity=slots)


def skewed_stage_notices(replay: Replay, replayed: ReplayOutcome, *, slots: int) -> list[Notice]:
    """Stages of at least a tenth of the time whose end one long task decides."""
    exclusive = exclusive_seconds(replayed.start, replayed.end)
    notices = []
    for index in np.argsort(-exclusive, kind="stable")[:3].tolist():
        stage = replay.models[index].stage
        length = float(replayed.end[index] - replayed.start[index])
        if exclusive[index] < 0.1 * replayed.seconds:
            continue
        if bottleneck(stage, replayed.tasks[index], slots, length) != "skew":
            continue
        notices.append(
            Notice(
                "skewed-stage",
                f"{numbered_label(stage)} waits for one task that takes "
                f"{time_skew(stage):.0f} times the mean",
                SPLIT_REMEDY
                if SKEW_OF_DATA * read_skew(stage) >= time_skew(stage)
                else INSPECT_REMEDY,
                subject=numbered_label(stage),
                severity=time_skew(stage),
            )
        )
    return notices


SKEW_OF_DATA = 2.0
"""Data is what makes a task long that takes no more than so many times as much longer than others
as it reads more than they do."""

SPLIT_REMEDY = "split its largest partition (salt the key, spark.sql.adaptive.skewJoin.enabled)"
INSPECT_REMEDY = (
    "no task is known to read as much more than the others: see what this one does, or whether its "
    "machine was slow (spark.speculation=true starts a copy elsewhere)"
)
