"""Barrier stages, whose tasks all start at once (Spark's barrier mode, used by distributed
training).

Spark starts such a stage only if there is a slot for each of its tasks: on fewer it retries for a
while and then ends the job (SPARK-24819). With dynamic allocation it refuses the stage
(SPARK-24942).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.notices import Notice
from engine.profile import Profile, Run, completed_runs
from engine.runs.stage_labels import numbered_label


@dataclass(frozen=True, slots=True)
class BarrierStage:
    """A stage whose tasks all start at once, or not at all.

    Args:
        label: the stage's label.
        task_cpus: cores that each task holds.
    """

    label: str
    tasks: int
    task_cpus: int = 1

    def room(self, executors: float, executor_cores: float) -> float:
        """Number of such tasks that run at once on the executors, at least one on each, since a
        task is taken to get no more cores than its executor has. NaN if these are unknown."""
        if math.isnan(executors) or math.isnan(executor_cores):
            return math.nan
        return executors * max(1.0, executor_cores // self.task_cpus)

    @property
    def slots(self) -> int:
        """Cores that all of its tasks hold together."""
        return self.tasks * self.task_cpus

    def covers(self, other: BarrierStage) -> bool:
        """Whether every cluster that can start this stage can start the other one."""
        return self.tasks >= other.tasks and self.task_cpus >= other.task_cpus


def barrier_stages(profile: Profile) -> tuple[BarrierStage, ...]:
    """The barrier stages that a cluster must be able to start, the most demanding first.

    They are those of the run that needed the fewest slots, since programs often take as many tasks
    as there are slots. Empty if a run had none, or if no run has stages.
    """
    needs = [_stages_of(run) for run in completed_runs(profile.runs) if run.stages]
    if not all(needs):
        return ()
    return min(needs, key=lambda stages: stages[0].slots, default=())


def decisive(stages: Iterable[BarrierStage]) -> tuple[BarrierStage, ...]:
    """The stages that no other one covers, the most demanding first. With different `task_cpus`
    several may remain: which of them is binding depends on the cores of an executor."""
    largest: list[BarrierStage] = []
    for stage in sorted(stages, key=lambda stage: (stage.slots, stage.task_cpus), reverse=True):
        if not any(other.covers(stage) for other in largest):
            largest.append(stage)
    return tuple(largest)


def not_started(
    stages: Sequence[BarrierStage], executors: float, executor_cores: float
) -> BarrierStage | None:
    """The stage that lacks the largest share of its slots on the executors; None if all start, or
    if the number or the cores of the executors are unknown (NaN)."""
    stuck = [stage for stage in stages if stage.room(executors, executor_cores) < stage.tasks]
    return min(
        stuck, key=lambda stage: stage.room(executors, executor_cores) / stage.tasks, default=None
    )


def barrier_notice(
    stages: Sequence[BarrierStage], executors: float, executor_cores: float
) -> Notice | None:
    """The warning that executors have fewer slots than a barrier stage has tasks; None as for
    `not_started`."""
    stage = not_started(stages, executors, executor_cores)
    if stage is None:
        return None
    capacity = stage.room(executors, executor_cores)
    return Notice(
        "barrier-needs-slots",
        f"{stage.label} runs its {stage.tasks} tasks all at once (barrier mode), and here is room "
        f"for {capacity:.0f}: Spark ends the job with an error",
        f"take executors for {stage.tasks} tasks at once, or have the program take fewer tasks",
        subject=stage.label,
        severity=-capacity,
    )


def _stages_of(run: Run) -> tuple[BarrierStage, ...]:
    """The barrier stages of a run for which, by its log, it had the slots. Where it had not, the
    log does not tell of every executor, since the stage did run."""
    slots = math.inf if run.cluster.slots is None else run.cluster.slots
    return decisive(
        BarrierStage(numbered_label(stage), stage.tasks, stage.task_cpus)
        for stage in run.stages
        if stage.barrier and slots >= stage.tasks * stage.task_cpus
    )
