"""Timelines: when the stages of a run ran, in the same form for measured and predicted runs.

Driver time is the time in which no stage runs. Idle cores follow from the work of each stage if it
is known, else from its waves: a last wave that is not full leaves slots empty.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine import intervals
from engine.models.base import Prediction, StageForecast
from engine.models.replay.report import bottleneck
from engine.profile import Run
from engine.runs.stage_labels import stage_label
from engine.stage_run import StageRun

CLOCK_SECONDS = 2e-3
"""Clock tolerance, since logs have whole milliseconds: a stage that ends so little after another
began counts as ended before it."""

FULL_SHARE = 0.9
"""If running stages hold this share of the slots, too few are left for another stage to begin."""


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One stage of a run; times are seconds since its start.

    Args:
        waves: tasks x CPUs per task, over slots; None if the slots are unknown.
        busy_share: mean share of all slots that its tasks hold while it runs; None as `waves`.
        bottleneck: one word; None if unknown.
        critical: whether it is on the critical path (see `critical_path`).
    """

    stage_id: int
    name: str
    tasks: int
    start_seconds: float
    end_seconds: float
    waves: float | None
    busy_share: float | None
    bottleneck: str | None
    critical: bool = False

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


@dataclass(frozen=True)
class Timeline:
    """The stages of a run, and the stretches (start, end) in which none ran."""

    seconds: float
    stages: tuple[StageSpan, ...]
    driver: tuple[tuple[float, float], ...]

    @property
    def driver_seconds(self) -> float:
        """Time in which no stage runs."""
        return sum(end - start for start, end in self.driver)

    @property
    def idle_share(self) -> float | None:
        """Mean share of slots without a task over the whole run."""
        return self.idle_shares([0.0, self.seconds])[0]

    @property
    def bottleneck_shares(self) -> Mapping[str, float]:
        """What bounds the stages -> its share of the summed time of all stages, greatest first;
        empty where that of a stage is unknown."""
        bound: dict[str, float] = {}
        for stage in self.stages:
            if stage.bottleneck is None:
                return {}
            bound[stage.bottleneck] = bound.get(stage.bottleneck, 0.0) + stage.seconds
        whole = sum(bound.values())
        greatest_first = sorted(bound, key=lambda what: -bound[what])
        return {what: bound[what] / whole for what in greatest_first} if whole > 0.0 else {}

    def idle_shares(self, moments: Sequence[float]) -> tuple[float | None, ...]:
        """Mean share of slots without a task between each of m ascending moments and the next.

        Returns:
            (m - 1,) shares; None where that of a running stage is unknown.
        """
        at, length = np.asarray(moments, dtype=float), np.diff(moments)
        starts = np.asarray([stage.start_seconds for stage in self.stages])
        ran = np.asarray([stage.seconds for stage in self.stages])
        shares = np.asarray([stage.busy_share for stage in self.stages], dtype=float)
        known = np.isfinite(shares)
        reached = np.clip(at[:, None] - starts, 0.0, ran)
        busy = np.diff(reached @ np.where(known, shares, 0.0)) / length
        complete = np.diff(reached @ np.where(known, 0.0, 1.0)) <= 0.0
        idle = 1.0 - np.minimum(1.0, busy)
        return tuple(float(i) if k else None for i, k in zip(idle, complete, strict=True))


def measured_timeline(run: Run) -> Timeline | None:
    """A run as logged; None without stages."""
    if not run.stages:
        return None
    return _timeline(run.seconds, [_measured(stage, run.cluster.slots) for stage in run.stages])


def predicted_timeline(prediction: Prediction) -> Timeline | None:
    """A run as predicted; None if the model predicts no single stages."""
    if not prediction.stages:
        return None
    return _timeline(prediction.seconds, [_predicted(stage) for stage in prediction.stages])


def critical_path(stages: Sequence[StageSpan]) -> tuple[int, ...]:
    """Indices of the stages that decide when the last one ends, in order of time.

    It is traced from the end: a stage waited for the one that ended last before it began or, if
    others held all cores at that moment (`FULL_SHARE`), for the one that held most of them. Time
    between two stages of the path is driver time.
    """
    if not stages:
        return ()
    order = sorted(range(len(stages)), key=lambda index: stages[index].end_seconds)
    ends = [stages[index].end_seconds for index in order]
    path = [order[-1]]
    while True:
        start = stages[path[-1]].start_seconds
        rank = bisect_right(ends, start + CLOCK_SECONDS) - 1
        while rank >= 0 and stages[order[rank]].start_seconds >= start:
            rank -= 1
        ended = stages[order[rank]].end_seconds if rank >= 0 else 0.0
        holder = _holder(stages, start) if start - ended > CLOCK_SECONDS else None
        if holder is None and rank < 0:
            return tuple(reversed(path))
        path.append(order[rank] if holder is None else holder)


def _holder(stages: Sequence[StageSpan], moment: float) -> int | None:
    """Index of the stage that holds most cores at a moment; None if not all cores are held."""
    running = [
        (stage.busy_share or 0.0, index)
        for index, stage in enumerate(stages)
        if stage.start_seconds < moment < stage.end_seconds - CLOCK_SECONDS
    ]
    if sum(share for share, _ in running) < FULL_SHARE:
        return None
    return max(running)[1]


def gaps(stages: Sequence[StageSpan], seconds: float) -> tuple[tuple[float, float], ...]:
    """Intervals of a run of `seconds` in which no stage runs."""
    ran = intervals.united((stage.start_seconds, stage.end_seconds) for stage in stages)
    return tuple(intervals.gaps(ran, 0.0, seconds))


def full_share(waves: float) -> float:
    """Mean share of the slots that hold a task during a number of waves of equal length."""
    return waves / max(1.0, math.ceil(waves - 1e-9))


def _timeline(seconds: float, stages: list[StageSpan]) -> Timeline:
    path = set(critical_path(stages))
    marked = (replace(stage, critical=index in path) for index, stage in enumerate(stages))
    ordered = sorted(marked, key=lambda stage: (stage.start_seconds, stage.stage_id))
    return Timeline(seconds, tuple(ordered), gaps(stages, seconds))


def _measured(stage: StageRun, slots: int | None) -> StageSpan:
    length = stage.completed_seconds - stage.submitted_seconds
    waves = busy = bound = None
    if slots:
        waves = stage.tasks * stage.task_cpus / slots
        bound = bottleneck(stage, stage.tasks, slots, length)
        if length > 0.0:
            busy = min(1.0, stage.task_seconds.total * stage.task_cpus / (length * slots))
        else:
            busy = min(1.0, waves)
    return StageSpan(
        stage_id=stage.stage_id,
        name=stage_label(stage),
        tasks=stage.tasks,
        start_seconds=stage.submitted_seconds,
        end_seconds=max(stage.submitted_seconds, stage.completed_seconds),
        waves=waves,
        busy_share=busy,
        bottleneck=bound,
    )


def _predicted(stage: StageForecast) -> StageSpan:
    busy = stage.busy_share
    if busy is None and math.isfinite(stage.waves):
        busy = full_share(stage.waves)
    return StageSpan(
        stage_id=stage.stage_id,
        name=stage.name,
        tasks=stage.tasks,
        start_seconds=stage.start_seconds,
        end_seconds=stage.end_seconds,
        waves=stage.waves if math.isfinite(stage.waves) else None,
        busy_share=busy,
        bottleneck=stage.bottleneck,
    )
