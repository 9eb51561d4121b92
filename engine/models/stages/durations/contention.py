"""Contention: the prior growth of task times with the number of concurrent tasks, combined with the
warm-up of the slots."""

from __future__ import annotations

import math

from engine.models.stages.disturbance import computes_elsewhere
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import (
    ScaledTasks,
    Slowdown,
    combined,
    warmed,
    work_of_slots,
)

GROWTH_CPU = 0.05
GROWTH_WAITING = 0.20
GROWTH_UNKNOWN = 0.10
"""Prior growth of log task time per doubling of the concurrent tasks, of the part spent computing,
of the part spent waiting, and if neither is known (sources in
docs/models/sparkplan_rules_replay.md)."""


def contention_growth(model: StageModel) -> float:
    """Prior growth of a stage's log task time per doubling of concurrent tasks.

    Waiting (disk, network, remote blocks) grows faster than computing (shared caches and memory
    bandwidth). If the log does not say how much a task computed, its wait for remote blocks at
    least is known.
    """
    stage = model.stage
    cpu, run, fetch_wait = stage.cpu_seconds, stage.run_seconds, stage.fetch_wait_seconds
    if run is None or not run.total:
        return GROWTH_UNKNOWN
    if cpu is not None and not computes_elsewhere(stage):
        cpu_share = min(1.0, cpu.total / run.total)
        return cpu_share * GROWTH_CPU + (1.0 - cpu_share) * GROWTH_WAITING
    wait_share = min(1.0, fetch_wait.total / run.total) if fetch_wait is not None else 0.0
    return wait_share * GROWTH_WAITING + (1.0 - wait_share) * GROWTH_UNKNOWN


def slowdown_of(
    model: StageModel, per_doubling: float, here: ScaledTasks, in_log: ScaledTasks, slots: int
) -> Slowdown:
    """Factors on the task times of a stage on `slots`, relative to observed tasks of the same size:
    by the number of concurrent tasks, and by the warm-up of the slots.

    Args:
        per_doubling: its `contention_growth`.
        here, in_log: its tasks on these slots, and on the log's, where their number may differ.
    """
    work, concurrent = here[0].work, model.concurrent_tasks(slots, here[0].tasks)
    doublings = math.log2(concurrent / model.concurrent_tasks(model.ran_on))
    warm = 0.0
    if model.warm_up is not None:
        task_cpus = model.stage.task_cpus
        lanes, lanes_in_log = max(1, slots // task_cpus), max(1, model.ran_on // task_cpus)
        beyond = max(0.0, work - 1.0)
        waves, busiest_in_log = work_of_slots(in_log, lanes_in_log)
        factor = warmed(
            model.warm_up.mean,
            waves,
            busiest=work_of_slots(here, lanes)[1],
            busiest_in_log=busiest_in_log,
            typical_seconds=model.mean_seconds * work,
            fixed_seconds=model.fixed_seconds * beyond,
            late_fixed_seconds=model.late_fixed_seconds * beyond,
        )
        warm = math.log(factor)
    contention, warm = combined(per_doubling * doublings, warm)
    return Slowdown(math.exp(contention + model.law.slots * doublings), math.exp(warm))
