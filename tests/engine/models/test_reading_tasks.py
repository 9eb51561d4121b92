"""Memory that tasks take for themselves which read cached blocks."""

from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, cliff_of, run_of
from made_runs import measure

from engine.batch import ClusterBatch
from engine.cluster import Cluster
from engine.models.replay.memory_cliff import MemoryCliff
from engine.profile import Profile

TAKEN, EXECUTORS, CORES = 1e8, 3, 2


def sorting(*, asked_for: bool, read_bytes: float | None = None) -> MemoryCliff:
    """A cache whose last reader sorts, in partitions that are as many as the input's or were asked
    for, and reads so much with each task."""
    run = run_of(20, EXECUTORS)
    last = run.stages[-1]
    read = last.input_bytes if read_bytes is None else measure(np.full(20, read_bytes))
    peak = measure(np.full(20, TAKEN))
    last = replace(last, peak_execution_memory_bytes=peak, coalesced=asked_for, input_bytes=read)
    return cliff_of(replace(run, stages=(*run.stages[:-1], last)))


def taken(cliff: MemoryCliff, ratio: float) -> float:
    """By each task, of what an executor has for blocks."""
    cluster = Cluster.of_executors(
        executors=EXECUTORS, executor_cores=CORES, executor_memory_gib=HEAP
    )
    batch = ClusterBatch.of([cluster], Profile("job", (cliff.replay.run,)))
    most = float(cliff.memory.storage_bytes(batch, 0.0)[0])
    return (most - float(cliff.storage_bytes(batch, ratio)[0])) / EXECUTORS / CORES


@pytest.mark.parametrize(("asked_for", "grown"), [(False, 1.0), (True, 3.0)])
def test_what_they_take_grows_with_the_data_of_a_task(asked_for: bool, grown: float) -> None:
    """A frame of 215 MB in three tasks that each sorted in 103 MB (3.5.9), three times the rows in
    seven tasks that took 131: of 644 MB on two executors that hold 434 each, blocks were lost."""
    cliff = sorting(asked_for=asked_for)
    assert taken(cliff, 1.0) == pytest.approx(TAKEN)
    assert taken(cliff, 3.0) == pytest.approx(grown * TAKEN)


def test_what_was_allocated_beforehand_does_not() -> None:
    """Beyond eight times what a task reads it is no need of its data: 92 of 100 MB here."""
    cliff = sorting(asked_for=True, read_bytes=1e6)
    assert taken(cliff, 1.0) == pytest.approx(TAKEN)
    assert taken(cliff, 3.0) == pytest.approx(TAKEN + 2.0 * 8e6)
