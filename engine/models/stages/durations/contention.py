"""Contention: the prior growth of task times with the number of concurrent tasks."""

from __future__ import annotations

from engine.models.stages.disturbance import computes_elsewhere
from engine.models.stages.durations.task_times import StageModel

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
