"""Calibration of a replay on the stages of its log that ran alone: the launch order of their long
tasks, the dispatch delay between two tasks of a slot, and the work of wasted attempts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.application_graph import ApplicationGraph, ran_alone
from engine.models.stages.durations.launch_order import LONGEST_FIRST, rotated
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.locality import Locality
from engine.models.stages.partitioning.partitions import ScaledStage
from engine.models.stages.slots_over_time import (
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


def calibrated(
    run: Run, graph: ApplicationGraph, models: Sequence[StageModel], *, executor_slots: int
) -> Calibration:
    """Calibrates launch order and dispatch delay on the stages of a run that ran alone.

    Args:
        executor_slots: task slots of one executor.
    """
    slots, starts = run.cluster.slots or 0, np.asarray(graph.observed_start)[[*graph.stage_nodes]]
    idle, rotation, waste = np.zeros((3, len(models)))
    vain = wasted_seconds(run.stages)
    alone, tasks = ran_alone(run.stages), [model.stage.tasks for model in models]
    met = tasks_on_unused_slots(
        starts,
        tasks,
        slots,
        per_executor=executor_slots,
        near=Locality.of(run).near(tasks),
        cpus=[model.stage.task_cpus for model in models],
    )
    for index, model in enumerate(models):
        if alone[index] and model.stage.task_seconds.count == model.stage.tasks:
            cold, in_vain = int(met[index]), float(vain[index])
            fitted = _fitted(run, model, float(starts[index]), cold=cold, vain_seconds=in_vain)
            idle[index], rotation[index], waste[index] = fitted
    orders = log_launch_orders(
        models, dispatch_seconds=idle, rotation=rotation, tasks_on_unused_slots=met
    )
    return Calibration(idle, rotation, waste, orders)


def _fitted(
    run: Run, model: StageModel, start: float, *, cold: int, vain_seconds: float
) -> tuple[float, float, float]:
    """Idle time per task, turn of the launch order and work done in vain (as far as it
    lengthened the stage) that come closest to a stage's time.

    Args:
        start: of the stage, in seconds since the run's.
        cold: tasks on slots that never ran one, as a replay will have them. A first task that
            failed met one too, which is no work to be lost again.
        vain_seconds: of work in vain that the stage may have waited for.
    """
    stage = model.stage
    observed = stage.completed_seconds - start
    had = stage_slots(run.slot_steps, start, stage.completed_seconds, run.cluster.slots or 0)
    lanes = max(1, len(had.added_seconds) // stage.task_cpus)
    alike = ScaledStage(stage.tasks, 1.0)
    best, best_turn, taken = math.inf, 0.0, np.empty(0)
    # Where a replay takes the one order of so many tasks, half of the turns tell enough of it.
    turns = ROTATIONS if stage.tasks <= MOST_SHIFTED_TASKS else ROTATIONS[::2]
    turns = turns if stage.tasks > lanes else turns[:1]
    tasks = model.tasks(alike, dispatch_seconds=0.0, rotation=0.0)
    warm, first = tasks.seconds, tasks.cold_seconds
    for turn in turns:
        met = Tasks(rotated(warm, turn), None if first is None else rotated(first, turn))
        order = met.on(cold)
        ended = end_of_tasks(order, had, stage.task_cpus)
        if abs(ended - observed) < abs(best - observed):
            best, best_turn, taken = ended, turn, order
    missing = max(0.0, observed - best)
    work = stage.task_seconds.total
    lost = min(vain_seconds / work, missing / best) if work and best > 0.0 else 0.0
    idle = idle_after_tasks(taken, had, stage.task_cpus, max(0.0, missing - lost * best))
    if has_transient_executors(run):
        idle = min(idle, DYNAMIC_DISPATCH * model.mean_seconds)
    return idle, best_turn, lost


def wasted_seconds(stages: Sequence[StageRun]) -> FloatArray:
    """(s,) task time in vain that may have lengthened each stage.

    Where an executor is lost with its output, the stage that reads it is tried again, and waits for
    the tasks that write that output a second time: these count as in vain for the stage of which
    they are, which had ended before.
    """
    by_id = {stage.stage_id: stage for stage in stages}
    found = []
    for stage in stages:
        again = (by_id[parent].waste for parent in stage.parents if parent in by_id)
        repeated = sum(waste.seconds for waste in again if waste.retried_stages)
        found.append(stage.waste.seconds + (repeated if stage.waste.retried_stages else 0.0))
    return np.asarray(found)


def log_launch_orders(
    models: Sequence[StageModel],
    *,
    dispatch_seconds: FloatArray,
    rotation: FloatArray,
    tasks_on_unused_slots: IntArray,
) -> tuple[LaunchOrder, ...]:
    """(s,) the orders of the stages of a log on the slots that they had.

    Args:
        dispatch_seconds, rotation: (s,) as in `Replay`.
        tasks_on_unused_slots: (s,) their tasks on slots that never ran one.
    """
    columns = zip(models, dispatch_seconds, rotation, tasks_on_unused_slots, strict=True)
    return tuple(
        _order(model, float(idle), float(turn), int(met)) for model, idle, turn, met in columns
    )


def _order(model: StageModel, idle: float, turn: float, met: int) -> LaunchOrder:
    """That of a stage whose tasks are turned so far on its own slots."""
    by = 0.0 if turn == LONGEST_FIRST else turn
    if model.stage.tasks > MOST_SHIFTED_TASKS:
        return LaunchOrder(by)
    return LaunchOrder(
        by, partial(_observed_z_score, model, idle=idle, rotation=turn, met=met, turn=by)
    )


def _observed_z_score(
    model: StageModel, *, idle: float, rotation: float, met: int, turn: float
) -> float:
    alike = ScaledStage(model.stage.tasks, 1.0)
    tasks = model.tasks(alike, dispatch_seconds=idle, rotation=rotation)
    lanes = max(1, model.ran_on // model.stage.task_cpus)
    return order_z_score(tasks, lanes, unused=met, turn=turn)
