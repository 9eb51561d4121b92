"""Long tasks in SimCost: what they add is told apart from computing, stage by stage."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed, of_type

from engine.cluster import Cluster
from engine.models import MODELS
from engine.models.base import FittedModel
from engine.models.simcost.model import Simcost
from engine.models.stages.set_up import SET_UP_SECONDS
from engine.profile import Profile

LONG = Stage(np.append(6.0, np.full(39, 1.0)), input_bytes=1e9)
"""40 tasks of 1 s but for the first: on 4 slots 12 s, of which 0.75 s is waiting for it."""

EVEN = Stage(np.full(40, 10.0), input_bytes=1e9)


def taught(*stages: Stage) -> FittedModel:
    """On 4 slots, stages one after the other."""
    chain = [replace(stage, parents=tuple(range(i))) for i, stage in enumerate(stages)]
    profile = Profile("made", (observed(chain, slots=4),))
    return Simcost().fit(profile, models={model.name: model for model in MODELS})


def on(slots: int) -> Cluster:
    return Cluster.of_executors(executors=slots, executor_cores=1)


def test_waiting_for_long_tasks_is_not_taken_for_computing() -> None:
    """Ten waves of 1.125 s, of which 0.2 s is set-up; what is left is the long task's."""
    phases = taught(LONG).predict(cluster=on(4)).phases
    assert phases["compute"] == pytest.approx(10 * (1.125 - SET_UP_SECONDS))
    assert phases["overhead"] == pytest.approx(10 * SET_UP_SECONDS)
    assert phases["stragglers"] == pytest.approx(0.75)


@pytest.mark.parametrize("slots", [1, 8, 12, 20, 39, 100])
def test_a_chain_takes_the_sum_of_its_stages(slots: int) -> None:
    """Stages of as many tasks are computed as one; the longest task of each is waited for in it."""
    alone = sum(taught(stage).predict(cluster=on(slots)).seconds for stage in (LONG, EVEN))
    chain = taught(LONG, EVEN).predict(cluster=on(slots)).seconds
    assert chain == pytest.approx(alone, rel=1e-9)


def test_the_shortest_possible_time_is_that_of_any_number_of_vcores() -> None:
    """Eq. 13: no cluster is faster, and on which it is asked makes no difference."""
    model = taught(LONG, EVEN)
    least = set()
    for slots in (1, 4, 15, 40, 400):
        found = model.predict(cluster=on(slots))
        least.add(round(found.job_profile["fastest_possible_seconds"], 9))
        assert found.seconds >= found.job_profile["fastest_possible_seconds"]
    assert least == {0.75}


def test_the_longest_task_of_a_stage_takes_less_on_faster_cores() -> None:
    run = observed([Stage(np.append(np.full(99, 1.0), 60.0), input_bytes=1e9)], slots=4)
    profile = Profile("made", (replace(run, cluster=of_type("own", 1.0, 4)),))
    model = Simcost().fit(profile, models={model.name: model for model in MODELS})
    found = model.predict(cluster=of_type("other", 2.0, 300)).seconds
    assert 30.0 <= found < 40.0
