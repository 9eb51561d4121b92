"""What waited for what in an observed run: stages, jobs and the driver's time between them.

Stages wait for their parents and for the submission of their job. A job's submission waits for the
driver, and a log does not say for what the driver waited:

- when no other job was in flight, for everything that had ended;
- when others were (AQE's query stages, broadcasts, thread pools), for the event that came last: the
  end of a job, or the submission of one.

The time from there to the submission is driver time and stays the same on any cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.models.stages.slots_over_time import first_executor_seconds
from engine.profile import JobRun, Run
from engine.scheduling.stages import Node
from engine.stage_run import StageRun

SAME_MOMENT = 0.0015
"""Times in a log are whole milliseconds: events less than this apart are one."""


@dataclass(frozen=True, eq=False)
class ApplicationGraph:
    """The steps of a run; predecessors stand before their successors.

    Args:
        nodes: as observed, without tasks; the last one is the end of the application.
        stage_nodes: for each stage of the run, in its order, the place of its node.
        observed_start: when each node became ready in the run, in seconds.
    """

    nodes: tuple[Node, ...]
    stage_nodes: tuple[int, ...]
    observed_start: tuple[float, ...]


def graph_of(run: Run) -> ApplicationGraph:
    """The graph of an observed run."""
    return _Builder(run).graph()


@dataclass(slots=True)
class _Job:
    """A job while the graph is built: its node, and what of it has ended when."""

    gate: int
    end_seconds: float
    steps: list[int]


class _Builder:
    """Adds jobs and stages in the order of their submission."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.nodes: list[Node] = []
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.sinks: set[int] = set()
        self.node_of_stage: dict[int, int] = {}
        self.jobs: dict[int, _Job] = {}
        self.running: list[_Job] = []
        self.last_ended: _Job | None = None

    def graph(self) -> ApplicationGraph:
        jobs = sorted(_jobs(self.run), key=lambda j: (j.submitted_seconds, j.job_id))
        owners = _owners(jobs, self.run.stages)
        stages_of: dict[int, list[StageRun]] = {job.job_id: [] for job in jobs}
        for stage in self.run.stages:
            stages_of[owners[stage.stage_id].job_id].append(stage)
        fifo = sorted(self.run.stages, key=lambda s: (owners[s.stage_id].job_id, s.stage_id))
        priority = {stage.stage_id: rank for rank, stage in enumerate(fifo)}
        order: list[tuple[float, int, int, JobRun, StageRun | None]] = [
            (job.submitted_seconds, 0, job.job_id, job, None) for job in jobs
        ]
        for stage in self.run.stages:
            owner = owners[stage.stage_id]
            at = max(stage.submitted_seconds, owner.submitted_seconds)
            order.append((at, 1, stage.stage_id, owner, stage))
        for _, _, _, job, step in sorted(order, key=lambda entry: entry[:3]):
            if step is None:
                self._add_job(job, stages_of[job.job_id])
            else:
                self._add_stage(step, job.job_id, priority[step.stage_id])
        self._add(tuple(self.sinks), at=self.run.seconds, end=self.run.seconds)
        places = tuple(self.node_of_stage[s.stage_id] for s in self.run.stages)
        return ApplicationGraph(tuple(self.nodes), places, tuple(self.starts))

    def _add(
        self, after: Sequence[int], *, at: float, end: float, priority: int = 0, cpus: int = 1
    ) -> int:
        """A node that became ready at `at`, after what it waited for and a constant delay."""
        base = max((self.ends[place] for place in after), default=0.0)
        delay = max(0.0, at - base)
        self.nodes.append(Node(tuple(sorted(after)), delay, priority, cpus=cpus))
        self.starts.append(max(at, base))
        self.ends.append(end)
        self.sinks -= set(after)
        self.sinks.add(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def _add_job(self, job: JobRun, stages: Sequence[StageRun]) -> None:
        at = job.submitted_seconds
        gate = self._add(self._awaited(at), at=at, end=at)
        ends = [stage.completed_seconds for stage in stages]
        if job.completed_seconds is not None:
            ends.append(job.completed_seconds)
        self.jobs[job.job_id] = _Job(gate, max(ends, default=at), [gate])
        self.running.append(self.jobs[job.job_id])

    def _awaited(self, at: float) -> tuple[int, ...]:
        """What the driver waited for before it submitted a job."""
        for job in [job for job in self.running if job.end_seconds <= at + SAME_MOMENT]:
            self.running.remove(job)
            if self.last_ended is None or job.end_seconds >= self.last_ended.end_seconds:
                self.last_ended = job
        if not self.running:
            return tuple(self.sinks)
        gate = max((job.gate for job in self.running), key=lambda place: self.starts[place])
        ended = self.last_ended
        if ended is not None and ended.end_seconds >= self.starts[gate]:
            return tuple(ended.steps)
        return (gate,)

    def _add_stage(self, stage: StageRun, owner: int, priority: int) -> None:
        """A stage waits for its parents and its job; where the log does not tell parents, for the
        last stage of its job that ended before."""
        job = self.jobs[owner]
        at = max(stage.submitted_seconds, first_executor_seconds(self.run))
        after = {self.node_of_stage[p] for p in stage.parents if p in self.node_of_stage}
        after.add(job.gate)
        base = max(self.ends[place] for place in after)
        siblings = [p for p in job.steps if base + SAME_MOMENT < self.ends[p] <= at + SAME_MOMENT]
        if siblings:
            after.add(max(siblings, key=lambda place: self.ends[place]))
        node = self._add(
            tuple(after),
            at=at,
            end=max(at, stage.completed_seconds),
            priority=priority,
            cpus=max(1, stage.task_cpus),
        )
        self.node_of_stage[stage.stage_id] = node
        job.steps.append(node)


def _jobs(run: Run) -> list[JobRun]:
    """The run's jobs; stages of no known job get one each, which starts with them, under numbers
    that no other job has: Spark 1.2 tells which job a stage is of, but not when that began."""
    known = {job.job_id for job in run.jobs}
    listed = {stage_id for job in run.jobs for stage_id in job.stage_ids}
    lone = [s for s in run.stages if not known & set(s.job_ids) and s.stage_id not in listed]
    free = max(known.union(*(stage.job_ids for stage in run.stages)), default=-1) + 1
    return [
        *run.jobs,
        *(
            JobRun(free + place, s.submitted_seconds, s.completed_seconds, (s.stage_id,))
            for place, s in enumerate(lone)
        ),
    ]


def _owners(jobs: Sequence[JobRun], stages: Sequence[StageRun]) -> dict[int, JobRun]:
    """The job that ran each stage: of those that hold it the last one submitted before it."""
    by_id = {job.job_id: job for job in jobs}
    holders: dict[int, list[JobRun]] = {}
    for job in jobs:
        for stage_id in job.stage_ids:
            holders.setdefault(stage_id, []).append(job)
    owners: dict[int, JobRun] = {}
    for stage in stages:
        named = [by_id[job_id] for job_id in stage.job_ids if job_id in by_id]
        candidates = named or holders[stage.stage_id]
        latest = stage.submitted_seconds + SAME_MOMENT
        before = [job for job in candidates if job.submitted_seconds <= latest]
        owners[stage.stage_id] = before[-1] if before else candidates[0]
    return owners


def ran_alone(stages: Sequence[StageRun]) -> list[bool]:
    """(s,) whether no other stage ran during more than a twentieth of each stage's time."""
    spans = [(s.submitted_seconds, s.completed_seconds) for s in stages]
    order = sorted(range(len(spans)), key=lambda place: spans[place])
    shared = np.zeros(len(spans))
    for rank, place in enumerate(order):
        end = spans[place][1]
        for other in order[rank + 1 :]:
            if spans[other][0] >= end:
                break
            both = min(end, spans[other][1]) - spans[other][0]
            shared[place] += both
            shared[other] += both
    lengths = np.asarray([end - start for start, end in spans])
    return [bool(part <= 0.05 * length) for part, length in zip(shared, lengths, strict=True)]
