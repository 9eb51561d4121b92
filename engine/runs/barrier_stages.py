"""Stages whose tasks all run at once: Spark's barrier mode, as distributed training uses it.

Spark starts such a stage on a slot for each of its tasks or not at all: on fewer it asks again for
a while and then ends the job (SPARK-24819). With dynamic allocation it refuses the stage
(SPARK-24820).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.cluster import Cluster
from engine.profile import Notice, Profile, Run, StageRun, completed_runs
from engine.runs.stage_labels import stage_label


@dataclass(frozen=True, slots=True)
class AtOnce:
    """What a job, or a workflow of several, needs for its barrier stages.

    Args:
        stage: which of them needs most, in words.
        tasks: that run at once.
        task_cpus: cores that each of them holds.
    """

    stage: str
    tasks: int
    task_cpus: int = 1

    def tasks_of(self, executors: float, executor_cores: float) -> float:
        """How many such tasks run at once on these executors, at least one on each: a task gets
        no more cores than its executor has. NaN where these are not known."""
        if math.isnan(executors) or math.isnan(executor_cores):
            return math.nan
        return executors * max(1.0, executor_cores // self.task_cpus)


def at_once(profile: Profile) -> AtOnce | None:
    """What the runs tell of barrier stages: the least that one of them did with, since programs
    often take as many tasks as there are slots. None where one did without, or where none tells
    its stages."""
    needs = [_most_at_once(run) for run in completed_runs(profile.runs) if run.stages]
    known = [need for need in needs if need is not None]
    if not known or len(known) < len(needs):
        return None
    return min(known, key=lambda need: need.tasks * need.task_cpus)


def at_once_notice(executors: float, executor_cores: float, need: AtOnce | None) -> Notice | None:
    """The warning that executors have fewer slots than a barrier stage has tasks; None where they
    have enough, and where their number or cores are not known (NaN)."""
    if need is None:
        return None
    held = need.tasks_of(executors, executor_cores)
    if not held < need.tasks:
        return None
    return Notice(
        "barrier-needs-slots",
        f"{need.stage} runs its {need.tasks} tasks all at once (barrier mode), and here is room "
        f"for {held:.0f}: Spark ends the job with an error",
        f"take executors for {need.tasks} tasks at once, or have the program take fewer tasks",
    )


def _most_at_once(run: Run) -> AtOnce | None:
    """Of the barrier stages of a run that it had the slots for, as far as its log tells of them."""
    stages = [stage for stage in run.stages if stage.barrier and _had_room(run.cluster, stage)]
    most = max(stages, key=lambda stage: stage.tasks * stage.task_cpus, default=None)
    if most is None:
        return None
    label = f"stage {most.stage_id} ({stage_label(most)})"
    return AtOnce(label, most.tasks, most.task_cpus)


def _had_room(cluster: Cluster, stage: StageRun) -> bool:
    """A stage that ran on fewer slots than it had tasks shows that these are not all that it had:
    the log does not tell of every executor."""
    return cluster.slots is None or cluster.slots >= stage.tasks * stage.task_cpus
