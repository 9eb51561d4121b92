"""A stage that several jobs need is run by one of them, as Spark's scheduler chooses."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.stages.application_graph import graph_of, job_at
from engine.profile import JobRun


def job(number: int, began: float, ended: float | None) -> JobRun:
    return JobRun(number, began, ended, (0,))


@pytest.mark.parametrize(
    ("jobs", "owner"),
    [
        ([job(0, 0.0, 9.0), job(1, 1.0, 9.0)], 0),  # both wait for it: the first by id
        ([job(0, 0.0, 2.0), job(1, 1.0, 9.0)], 1),  # the first has ended
        ([job(0, 0.0, None), job(1, 1.0, 9.0)], 0),  # the log ends before the first
        ([job(0, 0.0, 2.0), job(1, 1.0, 3.0)], 1),  # damaged: none goes on
        ([job(0, 0.0, 9.0), job(1, 6.0, 9.0)], 0),  # the second came later
        ([job(1, 6.0, 9.0)], 1),  # damaged: it came before its job
    ],
)
def test_the_first_active_job_runs_a_stage(jobs: list[JobRun], owner: int) -> None:
    assert job_at(5.0, jobs).job_id == owner


def test_a_shared_stage_has_the_priority_of_the_first_job() -> None:
    """It comes before every stage of the second job: slots are given to the first job first."""
    stages = [Stage(np.full(4, 1.0)), Stage(np.full(4, 1.0), (), 1), Stage(np.full(4, 1.0), (0,))]
    run = observed(stages, [Job(), Job()], slots=4)
    jobs = tuple(
        replace(each, submitted_seconds=0.0, completed_seconds=run.seconds) for each in run.jobs
    )
    shared = replace(run.stages[2], job_ids=(0, 1))
    run = replace(run, jobs=jobs, stages=(*run.stages[:2], shared))
    graph = graph_of(run)
    first, second, both = (graph.nodes[index].priority for index in graph.stage_nodes)
    assert first < both < second
