"""The dependency graph of an observed run: its stages, job submissions, and driver time between.

A stage depends on its parents and on the submission of its job. A job's submission depends on the
driver. A log does not say for what the driver waited, so it is inferred:

- if no other job was in flight, it waited for everything that had ended;
- if others were (AQE's query stages, broadcasts, thread pools), it waited for the last event: the
  end of a job, or the submission of one.

The time from there to the submission is driver time and stays the same on any cluster.

In: a run. Out: its graph, without tasks. Explained in
docs/models/sparkplan_rules_replay.md#what-waits-for-what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.models.stages.slots_over_time import first_executor_seconds
from engine.profile import JobRun, Run
from engine.scheduling.stages import ScheduledNode
from engine.scheduling.task_claims import (
    MOST_TASKS_OF_UNLIKE_CLAIMS,
    SlotClaim,
    UnlikeClaims,
    unlike_claims,
)
from engine.stage_run import StageRun

SIMULTANEOUS_SECONDS = 0.0015
"""Events less than so many seconds apart count as simultaneous: logs have whole milliseconds."""

MOST_TASKS_IN_POOLS = 50_000
"""Where a log has more tasks its scheduler pools are not told apart: placing so many one by one
takes 0.05 to 0.2 s. It is decided once by the log, so that answers over clusters and inputs have no
step."""


@dataclass(frozen=True, eq=False)
class ApplicationGraph:
    """The nodes of a run in topological order.

    Args:
        nodes: as observed, without tasks; the last one is the end of the application.
        stage_nodes: for each stage of the run, in its order, the index of its node.
        observed_start: when each node became ready in the run, in seconds.
        tasks: tasks of all its stages.
    """

    nodes: tuple[ScheduledNode, ...]
    stage_nodes: tuple[int, ...]
    observed_start: tuple[float, ...]
    tasks: int

    @cached_property
    def claims(self) -> UnlikeClaims:
        """Whether its tasks are placed one by one because of what they claim. Those of a log of
        more than `MOST_TASKS_OF_UNLIKE_CLAIMS` are not, whatever the cluster and the input."""
        if self.tasks > MOST_TASKS_OF_UNLIKE_CLAIMS:
            return UnlikeClaims(always=False, where_slots_vary=False)
        of_stages = ((index, self.nodes[index]) for index in self.stage_nodes)
        claims = {index: SlotClaim(node.cpus, node.barrier) for index, node in of_stages}
        return unlike_claims([node.after for node in self.nodes], claims)


def graph_of(run: Run) -> ApplicationGraph:
    """The dependency graph of an observed run."""
    return _Builder(run).graph()


@dataclass(slots=True)
class _Job:
    """A job while the graph is built.

    Args:
        submission_node: index of the node of its submission.
        end_seconds: when the job ended.
        nodes: indices of its nodes: the submission and its stages.
    """

    submission_node: int
    end_seconds: float
    nodes: list[int]


class _Builder:
    """Builds the graph by adding jobs and stages in the order of their submission."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.tasks = sum(stage.tasks for stage in run.stages)
        fair = run.config.get("spark.scheduler.mode", "").upper() == "FAIR"
        self.fair = fair and self.tasks <= MOST_TASKS_IN_POOLS
        self.nodes: list[ScheduledNode] = []
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.sinks: set[int] = set()
        self.node_of_stage: dict[int, int] = {}
        self.jobs: dict[int, _Job] = {}
        self.running: list[_Job] = []
        self.last_ended: _Job | None = None

    def graph(self) -> ApplicationGraph:
        jobs = sorted(_jobs(self.run), key=lambda j: (j.submitted_seconds, j.job_id))
        job_of_stage = _job_of_stage(jobs, self.run.stages)
        stages_of: dict[int, list[StageRun]] = {job.job_id: [] for job in jobs}
        for stage in self.run.stages:
            stages_of[job_of_stage[stage.stage_id].job_id].append(stage)
        fifo = sorted(self.run.stages, key=lambda s: (job_of_stage[s.stage_id].job_id, s.stage_id))
        priority = {stage.stage_id: rank for rank, stage in enumerate(fifo)}
        order: list[tuple[float, int, int, JobRun, StageRun | None]] = [
            (job.submitted_seconds, 0, job.job_id, job, None) for job in jobs
        ]
        for stage in self.run.stages:
            owner = job_of_stage[stage.stage_id]
            at = max(stage.submitted_seconds, owner.submitted_seconds)
            order.append((at, 1, stage.stage_id, owner, stage))
        for _, _, _, job, step in sorted(order, key=lambda entry: entry[:3]):
            if step is None:
                self._add_job(job, stages_of[job.job_id])
            else:
                self._add_stage(step, job, priority[step.stage_id])
        self._add(tuple(self.sinks), at=self.run.seconds, end=self.run.seconds)
        indices = tuple(self.node_of_stage[s.stage_id] for s in self.run.stages)
        return ApplicationGraph(tuple(self.nodes), indices, tuple(self.starts), self.tasks)

    def _add(
        self,
        after: Sequence[int],
        *,
        at: float,
        end: float,
        priority: int = 0,
        cpus: int = 1,
        pool: int = 0,
        barrier: bool = False,
    ) -> int:
        """Adds a node that became ready at `at`, a constant delay after its predecessors; returns
        its index."""
        base = max((self.ends[index] for index in after), default=0.0)
        delay = max(0.0, at - base)
        self.nodes.append(
            ScheduledNode(
                tuple(sorted(after)), delay, priority, cpus=cpus, pool=pool, barrier=barrier
            )
        )
        self.starts.append(max(at, base))
        self.ends.append(end)
        self.sinks -= set(after)
        self.sinks.add(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def _add_job(self, job: JobRun, stages: Sequence[StageRun]) -> None:
        at = job.submitted_seconds
        submission_node = self._add(self._driver_dependencies(at), at=at, end=at)
        ends = [stage.completed_seconds for stage in stages]
        if job.completed_seconds is not None:
            ends.append(job.completed_seconds)
        self.jobs[job.job_id] = _Job(submission_node, max(ends, default=at), [submission_node])
        self.running.append(self.jobs[job.job_id])

    def _driver_dependencies(self, at: float) -> tuple[int, ...]:
        """Indices of the nodes for which the driver waited before it submitted a job."""
        for job in [job for job in self.running if job.end_seconds <= at + SIMULTANEOUS_SECONDS]:
            self.running.remove(job)
            if self.last_ended is None or job.end_seconds >= self.last_ended.end_seconds:
                self.last_ended = job
        if not self.running:
            return tuple(self.sinks)
        submission_node = max(
            (job.submission_node for job in self.running), key=lambda index: self.starts[index]
        )
        ended = self.last_ended
        if ended is not None and ended.end_seconds >= self.starts[submission_node]:
            return tuple(ended.nodes)
        return (submission_node,)

    def _add_stage(self, stage: StageRun, owner: JobRun, priority: int) -> None:
        """Adds a stage, which waits for its parents and its job's submission. If it started later
        than these ended, as without parents in the log, it also waits for the last stage of its job
        that ended before."""
        job = self.jobs[owner.job_id]
        at = max(stage.submitted_seconds, first_executor_seconds(self.run))
        after = {self.node_of_stage[p] for p in stage.parents if p in self.node_of_stage}
        after.add(job.submission_node)
        base = max(self.ends[index] for index in after)
        siblings = [
            p
            for p in job.nodes
            if base + SIMULTANEOUS_SECONDS < self.ends[p] <= at + SIMULTANEOUS_SECONDS
        ]
        if siblings:
            after.add(max(siblings, key=lambda index: self.ends[index]))
        node = self._add(
            tuple(after),
            at=at,
            end=max(at, stage.completed_seconds),
            priority=priority,
            cpus=max(1, stage.task_cpus),
            pool=(owner.pool or 0) if self.fair else 0,
            barrier=stage.barrier,
        )
        self.node_of_stage[stage.stage_id] = node
        job.nodes.append(node)


def _jobs(run: Run) -> list[JobRun]:
    """The run's jobs. Each stage of no known job gets a job of its own that starts with it, under
    an unused id: Spark 1.2 logs the job of a stage, but not when that began."""
    job_ids = {job.job_id for job in run.jobs}
    listed_stages = {stage_id for job in run.jobs for stage_id in job.stage_ids}
    jobless = [
        s for s in run.stages if not job_ids & set(s.job_ids) and s.stage_id not in listed_stages
    ]
    unused_id = max(job_ids.union(*(stage.job_ids for stage in run.stages)), default=-1) + 1
    return [
        *run.jobs,
        *(
            JobRun(unused_id + number, s.submitted_seconds, s.completed_seconds, (s.stage_id,))
            for number, s in enumerate(jobless)
        ),
    ]


def _job_of_stage(jobs: Sequence[JobRun], stages: Sequence[StageRun]) -> dict[int, JobRun]:
    """By stage id the job that ran it."""
    by_id = {job.job_id: job for job in jobs}
    holders: dict[int, list[JobRun]] = {}
    for job in jobs:
        for stage_id in job.stage_ids:
            holders.setdefault(stage_id, []).append(job)
    job_of_stage: dict[int, JobRun] = {}
    for stage in stages:
        named = [by_id[job_id] for job_id in stage.job_ids if job_id in by_id]
        candidates = named or holders[stage.stage_id]
        job_of_stage[stage.stage_id] = job_at(stage.submitted_seconds, candidates)
    return job_of_stage


def job_at(seconds: float, jobs: Sequence[JobRun]) -> JobRun:
    """Which of a stage's jobs, in the order of their submission, runs it at this time.

    As in Spark (`activeJobForStage`) it is the first by id of those that go on; a later job that
    needs the stage too waits for it. Where the log tells none to go on, the last one submitted.
    """
    latest = seconds + SIMULTANEOUS_SECONDS
    submitted = [job for job in jobs if job.submitted_seconds <= latest]
    active = [
        job for job in submitted if job.completed_seconds is None or job.completed_seconds > seconds
    ]
    if active:
        return min(active, key=lambda job: job.job_id)
    return submitted[-1] if submitted else jobs[0]


def ran_alone(stages: Sequence[StageRun]) -> list[bool]:
    """(s,) whether other stages ran for at most a twentieth of each stage's time."""
    intervals = [(s.submitted_seconds, s.completed_seconds) for s in stages]
    order = sorted(range(len(intervals)), key=lambda index: intervals[index])
    shared_by_stage = np.zeros(len(intervals))
    for rank, first in enumerate(order):
        end = intervals[first][1]
        for other in order[rank + 1 :]:
            if intervals[other][0] >= end:
                break
            overlap = min(end, intervals[other][1]) - intervals[other][0]
            shared_by_stage[first] += overlap
            shared_by_stage[other] += overlap
    lengths = np.asarray([end - start for start, end in intervals])
    return [
        bool(shared_seconds <= 0.05 * length)
        for shared_seconds, length in zip(shared_by_stage, lengths, strict=True)
    ]
