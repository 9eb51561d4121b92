"""From which cluster on the memory of more nodes changes no forecast: spills."""

import math
from dataclasses import replace

import numpy as np
from made_runs import Stage, measure, observed
from sparkplan_runs import fit

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.memory.spilling import TaskMemory, saturated_spills, spilling_stages
from engine.models.replay.model import ReplayModel
from engine.models.replay.replayed_run import Replay
from engine.models.workloads import with_defaults
from engine.profile import Run

MIB = 1024.0**2
TASKS, CORES = 40, 8
PEAK = 600 * MIB


def sort() -> Run:
    """A sort: 40 tasks that hold 600 MiB each, on 5 executors of 8 cores and 16 GiB."""
    held = {"peak_execution_memory_bytes": measure(np.full(TASKS, PEAK))}
    stages = [
        Stage(np.full(TASKS, 1.0), input_bytes=TASKS * 128 * MIB),
        Stage(np.full(TASKS, 10.0), (0,), shuffle_bytes=TASKS * 100 * MIB, more=held),
    ]
    run = observed(stages, slots=TASKS)
    cluster = Cluster.of_executors(executors=5, executor_cores=CORES, executor_memory_gib=16.0)
    return replace(run, cluster=cluster, config={"spark.default.parallelism": str(TASKS)})


def test_clusters_on_which_fewer_tasks_share_an_executor_are_not_alike() -> None:
    """Executors of 3 GiB hold 1.6 GiB of tasks: two of them. Five run all tasks at once, eight
    each, and from twenty on none spills."""
    model = fit(sort())
    assert isinstance(model, ReplayModel)
    clusters = [
        Cluster.of_executors(executors=n, executor_cores=CORES, executor_memory_gib=3.0)
        for n in (5, 7, 10, 20, 40, 60)
    ]
    batch = ClusterBatch.of(clusters, model.profile)
    wanted = with_defaults(Workload(TASKS * 128 * MIB), model.profile)
    shared, each = model.forecast(batch, wanted), model._forecast(batch, wanted)
    np.testing.assert_array_equal(shared.seconds, each.seconds)
    np.testing.assert_array_equal(shared.log_scale, each.log_scale)
    assert (np.diff(shared.seconds[:4]) < 0.0).all()
    assert len(set(shared.seconds[3:].tolist())) == 1


def test_spills_are_settled_where_nothing_spills_or_each_task_is_alone() -> None:
    stages = spilling_stages(Replay.of(sort()))
    slots = np.asarray([40.0, 160.0, 320.0, 400.0, 40.0, 40.0])
    task_bytes = np.asarray([50.0, 50.0, 50.0, 50.0, 700.0, math.nan]) * MIB
    memory = TaskMemory(task_bytes, slots, np.full(6, float(CORES)))
    settled = saturated_spills(stages, memory, 1.0)
    assert settled.tolist() == [False, False, True, True, True, True]
    none = TaskMemory(*(np.zeros(0) for _ in range(3)))
    unknown = TaskMemory(np.full(2, math.nan), np.full(2, 40.0), np.full(2, 8.0))
    assert saturated_spills(stages, none, 1.0).size == 0
    assert saturated_spills(stages, unknown, 1.0).all()
