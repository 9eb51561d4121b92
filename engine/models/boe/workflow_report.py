"""The estimated course of a workflow as values to show: jobs, states, bottlenecks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from engine.models.base import Explanation, Prediction, StageForecast
from engine.models.boe.sharing import shared_task_times
from engine.models.boe.skew import gain_bounds
from engine.models.boe.task_draw import task_law
from engine.models.boe.task_time import Needs
from engine.models.boe.workflow import Workflow
from engine.models.boe.workflow_course import Activity, Course, Machines, Running, State
from engine.notices import Notice

if TYPE_CHECKING:
    from engine.models.boe.plan import WorkflowPlan

DRIVER, LOAD = "driver", "load"
"""Phases that no resource bounds: nothing runs; tasks run, but wait for none of the three."""

SAME_TASK_TIME = 0.05
"""Neighbouring states whose task times differ by less are shown as one where skew alone divides
them."""


@dataclass(frozen=True, slots=True)
class StageInState:
    """One stage in one state.

    Args:
        parallelism: tasks at once when the state begins. tracks: sizes of its task tracks.
        pending: tasks that had not started by then.
        bottleneck: "cpu", "disk", "network", or None for tasks that only load.
        contended: whether that resource is full.
    """

    job: str
    stage: str
    parallelism: int
    tracks: tuple[int, ...]
    pending: int
    task_seconds: float
    bottleneck: str | None
    contended: bool


@dataclass(frozen=True, slots=True)
class WorkflowState:
    """A span of time in which nothing changes but, where tasks differ, who has ended."""

    start_seconds: float
    end_seconds: float
    running: tuple[StageInState, ...]


@dataclass(frozen=True, slots=True)
class JobSpan:
    """When a job starts and ends, and what it waits for; seconds from the workflow's start."""

    name: str
    start_seconds: float
    end_seconds: float
    after: tuple[str, ...]
    tasks: int


@dataclass(frozen=True, slots=True)
class StageSkew:
    """Theorem 1 of one stage: between how much and how much its unlike tasks add, if it is alone
    on the cluster (section 6.2.1). It is known before any state is estimated, and no interval."""

    job: str
    stage: str
    low_seconds: float
    high_seconds: float


@dataclass(frozen=True, eq=False)
class WorkflowReport:
    """The answer: the end with its interval, the jobs, and the sequence of states.

    Args:
        skew_seconds: what tasks of unlike length add to the time (below 0: spare); None where they
            are taken as alike. A difference of two estimates, without an interval of its own.
        skew_bounds: of each stage whose tasks are unlike, in the order of the activities; none of
            one that runs a task at a time when it is alone, which the theorem does not cover.
    """

    name: str
    scheduler: str
    task_profile: str
    prediction: Prediction
    jobs: tuple[JobSpan, ...]
    states: tuple[WorkflowState, ...]
    skew_seconds: float | None = None
    skew_bounds: tuple[StageSkew, ...] = ()

    @property
    def seconds(self) -> float:
        """The end of the last job."""
        return self.prediction.seconds

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What the estimate should be taken with."""
        return self.prediction.warnings

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the object of `workflow --json`."""
        prediction = self.prediction
        return {
            "model": prediction.model,
            "workflow": self.name,
            "scheduler": self.scheduler,
            "task_profile": self.task_profile,
            "seconds": prediction.seconds,
            "low": prediction.low,
            "high": prediction.high,
            "confidence": prediction.confidence,
            "skew_seconds": self.skew_seconds,
            "skew_bounds": [asdict(stage) for stage in self.skew_bounds],
            "phases": dict(prediction.phases) if prediction.phases is not None else None,
            "bottleneck": prediction.bottleneck,
            "jobs": [asdict(job) for job in self.jobs],
            "states": [
                {"state": number, **asdict(state)} for number, state in enumerate(self.states, 1)
            ],
            "warnings": [notice.to_dict() for notice in prediction.warnings],
        }


def report_of(
    workflow: Workflow,
    labels: Sequence[str],
    plan: WorkflowPlan,
    course: Course,
    prediction: Prediction,
    *,
    machines: Machines,
    skew_seconds: float | None,
) -> WorkflowReport:
    """A course in words; times are stretched to the prediction (its own error corrected).

    Args:
        labels: the name of each activity's job; "" for what belongs to none.
        machines: of the course.
        skew_seconds: of the course, not stretched; None where all tasks are taken as alike.
    """
    factor = prediction.seconds / course.seconds if course.seconds > 0.0 else 1.0
    states = tuple(
        WorkflowState(
            state.start_seconds * factor,
            state.end_seconds * factor,
            tuple(_stage(entry, labels, course.activities, factor) for entry in state.running),
        )
        for state in merged(course)
    )
    after = {job.name: job.after for job in workflow.jobs}
    return WorkflowReport(
        workflow.name,
        plan.scheduler,
        plan.profile,
        prediction,
        tuple(_spans(labels, after, course, factor)),
        states,
        None if skew_seconds is None else skew_seconds * factor,
        () if skew_seconds is None else tuple(_skew_bounds(labels, course, machines, factor)),
    )


def _skew_bounds(
    labels: Sequence[str], course: Course, machines: Machines, factor: float
) -> Iterator[StageSkew]:
    """Theorem 1 of each stage whose tasks are unlike, with the parallelism and the task time that
    it has alone on the machines. At a parallelism of 1 there are no tracks to be unlike."""
    for label, entry in zip(labels, course.activities, strict=True):
        parallelism = machines.parallelism_alone(entry)
        if parallelism == 1:
            continue
        needs = Needs.of(entry.work, machines.rates)
        law = task_law(entry, needs)
        (time,) = shared_task_times([needs], machines.capacity, [parallelism])
        deviation = law.mean * law.spread * time.seconds * factor
        if deviation > 0.0:
            low, high = gain_bounds(tasks=entry.tasks, parallelism=parallelism, deviation=deviation)
            yield StageSkew(label, entry.name, low, high)


def _stage(
    entry: Running, labels: Sequence[str], activities: Sequence[Activity], factor: float
) -> StageInState:
    activity = activities[entry.activity]
    return StageInState(
        job=labels[entry.activity],
        stage=activity.name,
        parallelism=entry.parallelism,
        tracks=entry.tracks,
        pending=entry.pending,
        task_seconds=entry.time.seconds * factor,
        bottleneck=entry.time.bottleneck,
        contended=entry.time.contended,
    )


def _spans(
    labels: Sequence[str], after: Mapping[str, tuple[str, ...]], course: Course, factor: float
) -> list[JobSpan]:
    """One span per job, in the order of their first activities."""
    indices: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        if label:
            indices.setdefault(label, []).append(index)
    spans = []
    for name, own in indices.items():
        starts = [float(course.start[p]) for p in own if course.activities[p].tasks]
        ends = [float(course.end[p]) for p in own]
        tasks = sum(course.activities[p].tasks for p in own)
        start = min(starts, default=min(ends))
        spans.append(JobSpan(name, start * factor, max(ends) * factor, after.get(name, ()), tasks))
    return spans


def merged(course: Course) -> list[State]:
    """The states without those that skew alone divides: the same stages run, bound by the same,
    and only tasks of different length end one by one. Where a stage has come to run twice as many
    tasks as at the beginning (containers change hands), another state begins."""
    merged: list[State] = []
    for state in course.states:
        if merged and _alike(merged[-1], state, course.activities):
            before = merged[-1]
            merged[-1] = State(before.start_seconds, state.end_seconds, before.running)
        else:
            merged.append(state)
    return merged


def _alike(first: State, second: State, activities: Sequence[Activity]) -> bool:
    if len(first.running) != len(second.running):
        return False
    for a, b in zip(first.running, second.running, strict=True):
        if a.activity != b.activity or a.time.bottleneck != b.time.bottleneck:
            return False
        if a.time.contended != b.time.contended:
            return False
        if abs(a.time.seconds - b.time.seconds) > SAME_TASK_TIME * a.time.seconds:
            return False
        if a.parallelism != b.parallelism and not _spread(activities[a.activity]):
            return False
        if b.parallelism >= 2 * a.parallelism:
            return False
    return True


def _spread(entry: Activity) -> bool:
    """Whether the tasks of a stage differ."""
    return entry.spread > 0.0 or entry.output_spread > 0.0


def explanation(course: Course, *, seconds: float, slots: float) -> Explanation:
    """Time by what bounds it (driver, cpu, disk, network, load), and the stages.

    Where several stages run, a state's time is divided by their parallelism.
    """
    factor = seconds / course.seconds if course.seconds > 0.0 else 1.0
    phases: dict[str, float] = {DRIVER: 0.0}
    by_stage: dict[int, dict[str, float]] = {}
    for state in course.states:
        length = (state.end_seconds - state.start_seconds) * factor
        tasks = sum(entry.parallelism for entry in state.running)
        if not tasks:
            phases[DRIVER] += length
        for entry in state.running:
            phase = entry.time.bottleneck or LOAD
            part = length * entry.parallelism / tasks
            phases[phase] = phases.get(phase, 0.0) + part
            own = by_stage.setdefault(entry.activity, {})
            own[phase] = own.get(phase, 0.0) + part
    stages = tuple(
        StageForecast(
            stage_id=number,
            name=entry.name,
            tasks=entry.tasks,
            start_seconds=float(course.start[index]) * factor,
            end_seconds=float(course.end[index]) * factor,
            waves=entry.tasks * entry.cores / slots,
            bottleneck=max(by_stage[index], key=by_stage[index].__getitem__)
            if index in by_stage
            else None,
        )
        for number, (index, entry) in enumerate(
            (index, entry) for index, entry in enumerate(course.activities) if entry.tasks
        )
    )
    phases[DRIVER] += max(0.0, seconds - math.fsum(phases.values()))
    return Explanation(phases, stages, max(phases, key=phases.__getitem__))
