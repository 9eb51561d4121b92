"""Runs that keep their input in memory and read it five times, as their logs tell them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from made_runs import BLOCK, Job, Stage, measure, observed

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.models.base import FittedModel, Prediction
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.model import ReplayModel
from engine.models.replay.replayed_run import Replay
from engine.models.workloads import with_defaults
from engine.profile import Run
from engine.units import GIB

HEAP = 4.0
KEPT_PER_BYTE = 0.7
PARSE, READ = 3.0, 0.5
ITERATIONS = 5


def cliff_of(run: Run) -> MemoryCliff:
    found = MemoryCliff.of(Replay.of(run))
    assert found is not None
    return found


def storage_of(executors: int, heap: float = HEAP) -> float:
    return executors * 0.6 * (0.95 * heap * GIB - 300 * 1024**2)


def run_of(
    blocks: int, executors: int, *, sizes: bool = True, disk: bool = False, heap: float = HEAP
) -> Run:
    """Parses its input, keeps it and reads it five times on executors of 2 cores; each partition
    takes 3 s to parse and 0.5 s to read from memory."""
    kept = KEPT_PER_BYTE * BLOCK * blocks
    storage = storage_of(executors, heap)
    fits = min(1.0, storage / kept)
    random = np.random.default_rng(3)
    again = (np.arange(blocks) >= fits * blocks) * (1.28 if disk else PARSE)
    again = random.permutation(again)
    read = kept if disk else kept * fits + (1.0 - fits) * blocks * BLOCK
    more = {"cached_rdds": (7,), "disk_backed_rdds": (7,) if disk else ()}
    stages = [
        Stage(np.full(blocks, PARSE), input_bytes=blocks * BLOCK, more={"name": "load", **more})
    ]
    for i in range(ITERATIONS):
        reads = {
            "name": "step",
            "cached_input_bytes": read,
            "input_bytes": measure(np.full(blocks, read / blocks)),
            **more,
        }
        stages.append(Stage(READ + again, (), i + 1, more=reads))
    jobs = [Job(), *(Job((i,), 0.1) for i in range(ITERATIONS))]
    run = observed(stages, jobs, slots=2 * executors, input_bytes=blocks * BLOCK)
    cluster = Cluster.of_executors(executors=executors, executor_cores=2, executor_memory_gib=heap)
    return replace(
        run,
        cluster=cluster,
        storage_memory_bytes=storage,
        cached_bytes=(kept if disk else min(kept, storage)) if sizes else None,
    )


def ask(model: FittedModel, blocks: int, executors: int, heap: float = HEAP) -> Prediction:
    cluster = Cluster.of_executors(executors=executors, executor_cores=2, executor_memory_gib=heap)
    return model.predict(cluster=cluster, workload=Workload(blocks * BLOCK))


def seconds_on(
    model: FittedModel, *, executors: Sequence[int], cores: int, heap: float, input_bytes: float
) -> FloatArray:
    """Seconds on so many executors, of which those with enough memory share answers: each of them
    alone has the same."""
    assert isinstance(model, ReplayModel)
    clusters = [
        Cluster.of_executors(executors=n, executor_cores=cores, executor_memory_gib=heap)
        for n in executors
    ]
    batch = ClusterBatch.of(clusters, model.profile)
    wanted = with_defaults(Workload(input_bytes), model.profile)
    shared, each = model.forecast(batch, wanted), model._forecast(batch, wanted)
    np.testing.assert_array_equal(shared.seconds, each.seconds)
    np.testing.assert_array_equal(shared.log_scale, each.log_scale)
    return shared.seconds
