"""Calibration of a replay on the stages of its log that ran alone: the launch order of their long
tasks, the dispatch delay between two tasks of a slot, and the work of wasted attempts.

In: a run, its dependency graph and the models of its stages. Out: one value of each parameter per
stage (`Calibration`). Explained in docs/models/sparkplan_rules_replay.md#task-times and
#wasted-work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.application_graph import ApplicationGraph, ran_alone
from engine.models.stages.durations.launches import LONGEST_FIRST, rotated
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.locality import Locality
from engine.models.stages.partitioning.partitions import ScaledStage
from engine.models.stages.slots_over_time import (
    SlotTimeline,
    end_of_tasks,
    has_transient_executors,
    idle_after_tasks,
    stage_slots,
)
from engine.profile import Run
from engine.runs.unused_slots import tasks_on_unused_slots
from engine.scheduling.launch_orders import MOST_SHIFTED_TASKS, ORDERS, LaunchOrder, order_z_score
from engine.scheduling.waves import Tasks
from engine.stage_run import StageRun

ROTATIONS = (*(part / ORDERS for part in range(ORDERS)), LONGEST_FIRST)
"""Launch orders of a stage (cyclic shifts, and longest tasks first) that are tried on the observed
cluster: the duration of the stage shows where in the order its longest tasks were."""

DYNAMIC_DISPATCH = 0.10
"""Largest dispatch delay, as a share of the mean task time, where executors came and went: idle
slots are then mostly slots that were not there."""


class Calibration(NamedTuple):
    """The calibrated parameters, named as in `Replay`."""

    dispatch_seconds: FloatArray
    rotation: FloatArray
    waste: FloatArray
    orders: tuple[LaunchOrder, ...]


class StageCalibration(NamedTuple):
    """The calibrated parameters of one stage, named as in `Replay`."""

    dispatch_seconds: float
    rotation: float
    waste: float


def calibrated(
    run: Run, graph: ApplicationGraph, models: Sequence[StageModel], *, executor_slots: int
) -> Calibration:
    """Calibrates launch order, dispatch delay and waste on the stages of a run that ran alone.

    Args:
        executor_slots: task slots of one executor.
    """
    slots, starts = run.cluster.slots or 0, np.asarray(graph.observed_start)[[*graph.stage_nodes]]
    dispatch_seconds, rotation, waste = np.zeros((3, len(models)))
    wasted = wasted_seconds(run.stages)
    alone, tasks = ran_alone(run.stages), [model.stage.tasks for model in models]
    cold_tasks = tasks_on_unused_slots(
        starts,
        tasks,
        slots,
        per_executor=executor_slots,
        near=Locality.of(run).local_stages(tasks),
        cpus=[model.stage.task_cpus for model in models],
    )
    for index, model in enumerate(models):
        if alone[index] and model.stage.task_seconds.count == model.stage.tasks:
            dispatch_seconds[index], rotation[index], waste[index] = _stage_calibration(
                run,
                model,
                float(starts[index]),
                cold_tasks=int(cold_tasks[index]),
                wasted=float(wasted[index]),
            )
    orders = log_launch_orders(
        models,
        dispatch_seconds=dispatch_seconds,
        rotation=rotation,
        tasks_on_unused_slots=cold_tasks,
    )
    return Calibration(dispatch_seconds, rotation, waste, orders)


def _stage_calibration(
    run: Run, model: StageModel, start: float, *, cold_tasks: int, wasted: float
) -> StageCalibration:
    """The rotation of the launch order that comes closest to a stage's duration; of the rest of it,
    the waste as far as it lengthened the stage, and the dispatch delay.

    Args:
        start: of the stage, in seconds since the run's.
        cold_tasks: tasks on slots that never ran one, as a replay will have them. A first task that
            failed was on one too, and is no work to be wasted again.
        wasted: seconds of wasted work that the stage may have waited for.
    """
    stage = model.stage
    duration = stage.completed_seconds - start
    slots = stage_slots(run.slot_steps, start, stage.completed_seconds, run.cluster.slots or 0)
    rotation, makespan, seconds = _closest_rotation(model, slots, duration, cold_tasks)
    missing, work = max(0.0, duration - makespan), stage.task_seconds.total
    waste = min(wasted / work, missing / makespan) if work and makespan > 0.0 else 0.0
    missing = max(0.0, missing - waste * makespan)
    dispatch_seconds = idle_after_tasks(seconds, slots, stage.task_cpus, missing)
    if has_transient_executors(run):
        dispatch_seconds = min(dispatch_seconds, DYNAMIC_DISPATCH * model.mean_seconds)
    return StageCalibration(dispatch_seconds, rotation, waste)


def _closest_rotation(
    model: StageModel, slots: SlotTimeline, duration: float, cold_tasks: int
) -> tuple[float, float, FloatArray]:
    """The rotation with which the tasks of a stage take closest to `duration` on its slots, their
    makespan with it, and their (n,) times in launch order."""
    stage = model.stage
    lanes = max(1, len(slots.added_seconds) // stage.task_cpus)
    tasks = model.tasks(ScaledStage(stage.tasks, 1.0), dispatch_seconds=0.0, rotation=0.0)
    warm, cold = tasks.seconds, tasks.cold_seconds
    # A replay takes the one order of so many tasks: half of the rotations resolve it well enough.
    rotations = ROTATIONS if stage.tasks <= MOST_SHIFTED_TASKS else ROTATIONS[::2]
    rotations = rotations if stage.tasks > lanes else rotations[:1]
    closest, makespan, seconds = 0.0, math.inf, np.empty(0)
    for rotation in rotations:
        shifted_cold = None if cold is None else rotated(cold, rotation)
        order = Tasks(rotated(warm, rotation), shifted_cold).on(cold_tasks)
        end = end_of_tasks(order, slots, stage.task_cpus)
        if abs(end - duration) < abs(makespan - duration):
            closest, makespan, seconds = rotation, end, order
    return closest, makespan, seconds


def wasted_seconds(stages: Sequence[StageRun]) -> FloatArray:
    """(s,) task time of wasted attempts that may have lengthened each stage.

    Where an executor is lost with its output, the stage that reads it is retried, and waits for the
    tasks that write that output a second time: these count as waste of the stage that they belong
    to, which had ended before.
    """
    by_id = {stage.stage_id: stage for stage in stages}
    seconds = []
    for stage in stages:
        parents = (by_id[parent].waste for parent in stage.parents if parent in by_id)
        repeated = sum(waste.seconds for waste in parents if waste.retried_stages)
        seconds.append(stage.waste.seconds + (repeated if stage.waste.retried_stages else 0.0))
    return np.asarray(seconds)


def log_launch_orders(
    models: Sequence[StageModel],
    *,
    dispatch_seconds: FloatArray,
    rotation: FloatArray,
    tasks_on_unused_slots: IntArray,
) -> tuple[LaunchOrder, ...]:
    """(s,) the launch orders of the stages of a log on the slots that they had.

    Args:
        dispatch_seconds, rotation: (s,) as in `Replay`.
        tasks_on_unused_slots: (s,) their tasks on slots that never ran one.
    """
    columns = zip(models, dispatch_seconds, rotation, tasks_on_unused_slots, strict=True)
    return tuple(
        _launch_order(model, float(idle), float(shift), int(cold))
        for model, idle, shift, cold in columns
    )


def _launch_order(
    model: StageModel, dispatch_seconds: float, rotation: float, cold_tasks: int
) -> LaunchOrder:
    """The launch order of a stage with this rotation on its own slots."""
    turn = 0.0 if rotation == LONGEST_FIRST else rotation
    if model.stage.tasks > MOST_SHIFTED_TASKS:
        return LaunchOrder(turn)
    z_score = partial(
        _observed_z_score,
        model,
        dispatch_seconds=dispatch_seconds,
        rotation=rotation,
        cold_tasks=cold_tasks,
        turn=turn,
    )
    return LaunchOrder(turn, z_score)


def _observed_z_score(
    model: StageModel, *, dispatch_seconds: float, rotation: float, cold_tasks: int, turn: float
) -> float:
    """The z-score of the stage's observed makespan among those of its shifted launch orders."""
    same_size = ScaledStage(model.stage.tasks, 1.0)
    tasks = model.tasks(same_size, dispatch_seconds=dispatch_seconds, rotation=rotation)
    lanes = max(1, model.ran_on // model.stage.task_cpus)
    return order_z_score(tasks, lanes, unused=cold_tasks, turn=turn)
