"""Explains a replayed run: its phases, which add up to the time, its stages with their bottlenecks,
and the warnings of idle slots and skew.

In: a replay, its outcome on one cluster and the predicted time, which may differ from the replayed
one. Out: an `Explanation`, and notices. The words are explained in docs/glossary.md.
"""

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
from engine.models.stages.durations.executor_starts import (
    first_task_seconds,
    read_skew,
    warm_and_cold,
)
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.stage_growth import follows_configured
from engine.models.stages.slots_over_time import executor_wait_seconds
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
"""Number of stage phases with a name, the longest; the others are added up."""

DRIVER_BOUND = 0.5
SKEWED = 3.0
LAUNCH_BOUND = 0.5
GC_BOUND = 0.15
FETCH_BOUND = 0.25
CPU_BOUND = 0.6
"""Thresholds of the bottlenecks: the driver's share of a run; the longest task of a stage over its
mean; the share of the tasks' slot time outside their run time; the shares of their run time in
garbage collection, waiting for shuffle blocks, and computing."""

SPARE_SHARE = 0.3
"""Share of the slots that has to be useless (`NEGLIGIBLE_FACTOR`) for a notice."""


def explanation(
    replay: Replay,
    outcome: ReplayOutcome,
    *,
    slots: int,
    seconds: float,
    cache_miss_seconds: float = 0.0,
) -> Explanation:
    """Phases and stages of a replayed run, stretched to the predicted `seconds`, of which
    `cache_miss_seconds` go to data that does not fit in memory."""
    exclusive = exclusive_seconds(outcome.start, outcome.end)
    factor, idle_factor = _stretch_factors(
        outcome.seconds, float(exclusive.sum()), seconds - cache_miss_seconds
    )
    stretched_moment = _stretched_clock(outcome.start, outcome.end, factor, idle_factor)
    exclusive *= factor
    bottlenecks = _bottlenecks(replay, outcome, slots)
    stages = _stage_forecasts(replay, outcome, bottlenecks, stretched_moment, slots=slots)
    driver = max(0.0, seconds - cache_miss_seconds - float(exclusive.sum()))
    waited = min(driver, executor_wait_seconds(replay.run) * idle_factor)
    names = [stage_label(model.stage) for model in replay.models]
    phases = dict(_phases(driver - waited, names, exclusive))
    if waited > 0.0:
        phases[WAITING] = waited
    if cache_miss_seconds > 0.0:
        phases[CACHE_MISSES] = cache_miss_seconds
    outside_stages = {DRIVER: driver, MEMORY: cache_miss_seconds}
    return Explanation(phases, stages, _bound(outside_stages, bottlenecks, exclusive, seconds))


def _bottlenecks(replay: Replay, outcome: ReplayOutcome, slots: int) -> list[str]:
    """(s,) the `bottleneck` of each stage of a replayed run."""
    rows = zip(replay.models, outcome.tasks, outcome.start, outcome.end, strict=True)
    return [
        bottleneck(model.stage, tasks, slots, float(end - start))
        for model, tasks, start, end in rows
    ]


def _stage_forecasts(
    replay: Replay,
    outcome: ReplayOutcome,
    bottlenecks: Sequence[str],
    stretched_moment: Callable[[float], float],
    *,
    slots: int,
) -> tuple[StageForecast, ...]:
    """(s,) the stages of a replayed run at stretched moments."""
    rows = zip(
        replay.models,
        outcome.tasks,
        outcome.work,
        outcome.start,
        outcome.end,
        bottlenecks,
        strict=True,
    )
    return tuple(
        StageForecast(
            stage_id=model.stage.stage_id,
            name=stage_label(model.stage),
            tasks=tasks,
            start_seconds=stretched_moment(float(start)),
            end_seconds=stretched_moment(float(end)),
            waves=tasks * model.stage.task_cpus / slots,
            bottleneck=word,
            busy_share=_busy_share(model.stage, float(work), slots, float(end - start)),
        )
        for model, tasks, work, start, end, word in rows
    )


def _bound(
    outside_stages: Mapping[str, float],
    bottlenecks: Sequence[str],
    exclusive: FloatArray,
    seconds: float,
) -> str:
    """The bottleneck of a run of so many seconds: the one to which most time goes; the driver only
    from a share of `DRIVER_BOUND` on.

    Args:
        outside_stages: seconds of the driver and of memory, by bottleneck.
        bottlenecks, exclusive: (s,) the bottleneck of each stage, and its seconds.
    """
    spent = dict(outside_stages)
    for word, of_stage in zip(bottlenecks, exclusive.tolist(), strict=True):
        spent[word] = spent.get(word, 0.0) + of_stage
    if outside_stages[DRIVER] < DRIVER_BOUND * seconds and len(spent) > 1:
        del spent[DRIVER]
    return max(spent, key=spent.__getitem__)


def _stretch_factors(
    replayed_seconds: float, stage_seconds: float, seconds: float
) -> tuple[float, float]:
    """Factors on the time in which stages run and on the driver's. A prediction differs from its
    replay in the time of tasks: the driver waits for no slot. Both get the same factor only where
    the stages would fall below `LEAST_STRETCH`."""
    driver = replayed_seconds - stage_seconds
    if stage_seconds > 0.0 and seconds - driver > LEAST_STRETCH * stage_seconds:
        return (seconds - driver) / stage_seconds, 1.0
    return seconds / replayed_seconds, seconds / replayed_seconds


LEAST_STRETCH = 0.5
"""Least factor on the time of stages with which the driver keeps its time."""


def _stretched_clock(
    start: FloatArray, end: FloatArray, factor: float, idle_factor: float
) -> Callable[[float], float]:
    """A moment of the replay -> the same moment with `factor` times the time in which stages run,
    and `idle_factor` times the time in which none does."""
    starts, ends = interval_union(start, end)
    moments = np.concatenate(([0.0], np.column_stack((starts, ends)).ravel()))
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
    """The bottleneck of a stage in one word: skew (its longest task), tasks (fewer than slots),
    launch (launching tasks, loading their code, returning results), gc, shuffle, cpu or io; waves
    where nothing was measured, as for Python functions."""
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
    """The time of a stage's longest task over the mean. First tasks on a slot start an executor,
    however little data they have: they are compared with each other only."""
    mean, longest = stage.task_seconds.mean or 0.0, stage.task_seconds.maximum or 0.0
    if longest <= SKEWED * mean or not mean:
        return longest / mean if mean else 1.0
    warm, mean, cold = warm_and_cold(stage)
    warm_skew = float(warm.max()) / mean if mean else 1.0
    first = first_task_seconds(stage) if len(cold) else cold
    if len(first) <= 1:
        return warm_skew
    longest = float(first.max())
    others = max(float(first.sum()) - longest, LEAST_TASK_SECONDS)
    return max(warm_skew, longest * (len(first) - 1) / others)


LEAST_TASK_SECONDS = 1e-3
"""Resolution of the times in a log."""

NEGLIGIBLE_FACTOR = 1.05
"""Factor of the time below which more slots count as useless."""

LEAST_SAVED_SHARE = 0.01
"""Share of the time that fewer slots save, from which on a notice names their number."""


class UsefulSlots(NamedTuple):
    """The number of useful slots.

    Args:
        slots: the fewest with at most `NEGLIGIBLE_FACTOR` times the time, as far as evaluated.
        fastest: of all evaluated, the number on which the time is shortest.
        saved_share: share of the time that it saves.
    """

    slots: int
    fastest: int
    saved_share: float


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
    fastest = min(evaluated, key=lambda m: (evaluated[m], m))
    return UsefulSlots(high, fastest, 1.0 - evaluated[fastest] / evaluated[slots])


def fewer_slots(batch: ClusterBatch) -> str:
    """What to ask for instead of one cluster to have fewer slots, in the words in which it was
    given."""
    if math.isnan(batch.nodes[0]):
        return "fewer executors" if batch.executors[0] > 1.0 else "an executor of fewer cores"
    return "fewer nodes" if batch.nodes[0] > 1.0 else "a node of fewer vCPUs"


def too_few_tasks_notice(
    replay: Replay,
    outcome: ReplayOutcome,
    batch: ClusterBatch,
    *,
    slots: int,
    useful: Callable[[int], UsefulSlots],
    shuffle_partitions: int | None,
) -> Notice | None:
    """The warning that slots of the one cluster in the batch idle because a stage has fewer tasks.

    Args:
        useful: `useful_slots` of the given number as `most`.
    """
    models = replay.models
    few = [p for p, tasks in enumerate(outcome.tasks) if tasks * models[p].stage.task_cpus < slots]
    if not few:
        return None
    most = math.floor((1.0 - SPARE_SHARE) * slots)
    enough = useful(most + 1)
    if enough.slots > most:
        return None
    exclusive = exclusive_seconds(outcome.start, outcome.end)
    longest = max(few, key=lambda index: exclusive[index])
    model, tasks = models[longest], outcome.tasks[longest]
    label, cpus = numbered_label(model.stage), model.stage.task_cpus
    each = f" of {cpus} slots" if cpus > 1 else ""
    return Notice(
        "too-few-tasks",
        f"{label} has {format_count(tasks, 'task')}{each} for {slots} slots: "
        f"beyond {format_count(enough.slots, 'slot')} {_time_beyond(enough)}",
        f"use {fewer_slots(batch)}, or {_more_tasks_remedy(model, shuffle_partitions)}",
        subject=label,
        severity=slots,
    )


def _time_beyond(useful: UsefulSlots) -> str:
    """How the time changes with more than the useful slots, in words."""
    falls = "the time hardly falls"
    if useful.saved_share < LEAST_SAVED_SHARE:
        return falls
    rises = "rises: new executors start cold, and tasks at once slow each other down"
    if useful.fastest == useful.slots:
        return f"the time {rises}"
    return f"{falls}, and beyond {useful.fastest} it {rises}"


def _more_tasks_remedy(model: StageModel, shuffle_partitions: int | None) -> str:
    """What gives a stage more tasks, by the origin of its partitions."""
    if follows_configured(model.stage, model.shuffle_partitions):
        above = f" above {shuffle_partitions}" if shuffle_partitions else ""
        return f"raise --shuffle-partitions{above}"
    if total_of(model.stage.shuffle_read_bytes) > 0.0:
        return "name more partitions in the program"
    return "smaller splits"


def skewed_stage_notices(replay: Replay, outcome: ReplayOutcome, *, slots: int) -> list[Notice]:
    """Warnings of the longest stages, of at least `SKEWED_STAGE_SHARE` of the time, whose end one
    long task decides."""
    exclusive = exclusive_seconds(outcome.start, outcome.end)
    notices = []
    for index in np.argsort(-exclusive, kind="stable")[:SKEWED_STAGES].tolist():
        stage = replay.models[index].stage
        length = float(outcome.end[index] - outcome.start[index])
        if exclusive[index] < SKEWED_STAGE_SHARE * outcome.seconds:
            continue
        if bottleneck(stage, outcome.tasks[index], slots, length) != "skew":
            continue
        label, skew = numbered_label(stage), time_skew(stage)
        by_data = SKEW_OF_DATA * read_skew(stage) >= skew
        notices.append(
            Notice(
                "skewed-stage",
                f"{label} waits for one task that takes {skew:.0f} times the mean",
                SPLIT_REMEDY if by_data else INSPECT_REMEDY,
                subject=label,
                severity=skew,
            )
        )
    return notices


SKEWED_STAGES, SKEWED_STAGE_SHARE = 3, 0.1
"""Number of stages that are checked for skew, the longest, and their least share of the time."""

SKEW_OF_DATA = 2.0
"""Largest ratio of the skew of a stage's times to that of the bytes that its tasks read, up to
which the data explains the long task."""

SPLIT_REMEDY = "split its largest partition (salt the key, spark.sql.adaptive.skewJoin.enabled)"
INSPECT_REMEDY = (
    "no task is known to read as much more than the others: see what this one does, or whether its "
    "machine was slow (spark.speculation=true starts a copy elsewhere)"
)
