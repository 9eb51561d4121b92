"""Task memory: spills foretold where tasks have less of it, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed

from engine.cluster import Cluster, Workload
from engine.models import MODELS
from engine.models.base import Prediction
from engine.models.replay import Replay
from engine.models.sparkplan import Sparkplan
from engine.models.spilling import (
    DISK_BYTES_PER_SECOND,
    SPILLED_SIZE,
    spill_seconds,
    spilled_bytes,
    spilling_stages,
)
from engine.profile import Profile, Run

MIB = 1024.0**2
TASKS = 40
PEAK = 300 * MIB


def run_of(*, spilled: float = 0.0, disk: float = 0.0, waited: float = 0.0) -> Run:
    """A sort: 40 tasks of 10 s that hold 300 MiB each, on 2 executors of 2 cores and 4 GiB."""
    more = {
        "peak_execution_memory_bytes": measure(np.full(TASKS, PEAK)),
        "cpu_seconds": measure(np.full(TASKS, 10.0 - waited)),
        "memory_spilled_bytes": spilled,
        "disk_spilled_bytes": disk,
    }
    stages = [
        Stage(np.full(TASKS, 1.0), input_bytes=TASKS * 128 * MIB),
        Stage(np.full(TASKS, 10.0), (0,), shuffle_bytes=TASKS * 100 * MIB, more=more),
    ]
    run = observed(stages, slots=4)
    cluster = Cluster.of_executors(executors=2, executor_cores=2, executor_memory_gib=4.0)
    return replace(run, cluster=cluster, config={"spark.default.parallelism": "40"})


def ask(run: Run, *, heap: float, scale: float = 1.0, cores: int = 2) -> Prediction:
    fitted = Sparkplan().fit(Profile("sort", (run,)), models={m.name: m for m in MODELS})
    cluster = Cluster.of_executors(executors=2, executor_cores=cores, executor_memory_gib=heap)
    size = run.workload.input_bytes or 0.0
    return fitted.predict(cluster=cluster, workload=Workload(size * scale))


def codes(found: Prediction) -> set[str]:
    return {notice.code for notice in found.warnings}


def test_a_log_without_spills_foretells_them_on_less_memory() -> None:
    run = run_of()
    (stage,) = spilling_stages(Replay.of(run))
    assert stage.task_bytes == PEAK
    roomy, tight = ask(run, heap=4.0), ask(run, heap=1.0)
    assert "memory-spill" not in codes(roomy)
    assert "memory-spill" in codes(tight)
    assert tight.seconds > roomy.seconds
    assert (tight.high or 0.0) / (tight.low or 1.0) > (roomy.high or 0.0) / (roomy.low or 1.0)


def test_a_fixed_number_of_partitions_spills_as_the_input_grows() -> None:
    run = run_of()
    assert "memory-spill" not in codes(ask(run, heap=4.0, scale=2.0))
    (notice,) = [n for n in ask(run, heap=4.0, scale=8.0).warnings if n.code == "memory-spill"]
    assert "stage 1" in notice.text
    assert "--shuffle-partitions" in notice.remedy


def test_spilled_bytes_and_their_time() -> None:
    (stage,) = spilling_stages(Replay.of(run_of()))
    available = np.asarray([100 * MIB, 300 * MIB, np.nan])
    beyond, grown = spilled_bytes(stage, available, 1.0)
    assert beyond[:2] == pytest.approx([TASKS * 200 * MIB, 0.0])
    assert grown == 0.0
    seconds = spill_seconds((stage,), available, np.asarray([4.0, 4.0, 4.0]), 1.0)
    moved = 2.0 * SPILLED_SIZE * TASKS * 200 * MIB
    assert seconds == pytest.approx([moved / DISK_BYTES_PER_SECOND / 4.0, 0.0, 0.0])


def test_the_disk_s_rate_and_compression_come_from_a_log_that_spilled() -> None:
    """40 x 2 s of waiting for 80 x 50 MiB written and read again: 50 MiB/s."""
    run = run_of(spilled=TASKS * 200 * MIB, disk=TASKS * 50 * MIB, waited=2.0)
    (stage,) = spilling_stages(Replay.of(run))
    assert stage.disk_share == pytest.approx(0.25)
    assert stage.disk_bytes_per_second == pytest.approx(50 * MIB)
    assert stage.task_bytes == PEAK + 200 * MIB
    more = spill_seconds((stage,), np.asarray([1e12]), np.asarray([4.0]), 1.0)
    assert more[0] == pytest.approx(-TASKS * 2.0 / 4.0)
    same = spill_seconds((stage,), np.asarray([PEAK]), np.asarray([4.0]), 1.0)
    assert same[0] == pytest.approx(0.0, abs=1e-9)


def test_memory_allocated_beforehand_is_not_need() -> None:
    """Tasks that read 1 MiB each hold 300 MiB: pages that Spark allocates whatever the data."""
    run = run_of()
    stage = replace(run.stages[1], shuffle_read_bytes=measure(np.full(TASKS, MIB)))
    (found,) = spilling_stages(Replay.of(replace(run, stages=(run.stages[0], stage))))
    assert found.task_bytes == 8 * MIB
    assert "memory-spill" not in codes(ask(replace(run, stages=(run.stages[0], stage)), heap=1.0))


@pytest.mark.parametrize("heap", [0.7, 1.0, 4.0])
def test_more_input_never_takes_less(heap: float) -> None:
    for run in (run_of(), run_of(spilled=TASKS * 200 * MIB, disk=TASKS * 50 * MIB, waited=2.0)):
        times = [ask(run, heap=heap, scale=scale).seconds for scale in (0.5, 1, 1.5, 2, 4, 8, 30)]
        assert times == sorted(times)
