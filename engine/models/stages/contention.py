"""How task times grow with the number of tasks that run at once: a prior."""

from __future__ import annotations

from engine.models.stages.disturbance import computes_elsewhere
from engine.models.stages.task_times import StageShape

GROWTH_CPU = 0.05
GROWTH_WAITING = 0.20
GROWTH_UNKNOWN = 0.10
"""Prior: growth of log task time per doubling of the tasks that run at once, of the part spent
computing and of the part spent waiting (where from: docs/models/sparkplan_rules_replay.md)."""


def contention_growth(shape: StageShape) -> float:
    """Growth of a stage's log task time per doubling of tasks at once: waiting (disk, network,
    remote blocks) grows faster than computing (shared caches and memory bandwidth). Where the log
    does not say how much a task computed, waiting for remote blocks at least is known."""
    stage = shape.stage
    cpu, ran, waited = stage.cpu_seconds, stage.run_seconds, stage.fetch_wait_seconds
    if ran is None or not ran.total:
        return GROWTH_UNKNOWN
    if cpu is not None and not computes_elsewhere(stage):
        share = min(1.0, cpu.total / ran.total)
        return share * GROWTH_CPU + (1.0 - share) * GROWTH_WAITING
    remote = min(1.0, waited.total / ran.total) if waited is not None else 0.0
    return remote * GROWTH_WAITING + (1.0 - remote) * GROWTH_UNKNOWN
