"""What a heap leaves to cached blocks and to tasks, by Spark's own account of it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed

from engine.batch import ClusterBatch
from engine.cluster import BesideHeap, Cluster, Workload
from engine.memory import REPORTED_HEAP_SHARE, unified_memory_gib
from engine.models.replay.memory.executor_memory import (
    ExecutorMemory,
    concurrent_tasks_per_executor,
)
from engine.profile import Profile, Run
from engine.stage_run import StageRun

GIB, MIB = 2.0**30, 2.0**20
ON_4_GIB = Cluster.of_executors(executors=2, executor_cores=4, executor_memory_gib=4.0)
SEEN_WHOLE = 0.6 * (4096 - 300) * MIB
"""Storage memory that Spark 1.6 and later shows of a heap of 4 GiB."""


def run(storage_bytes: float | None = 2 * SEEN_WHOLE, **settings: str) -> Run:
    config = {f"spark.memory.{key}": value for key, value in settings.items()}
    return Run(
        100.0, ON_4_GIB, Workload(1e9), spark_version="3.5.1", config=config,
        storage_memory_bytes=storage_bytes,
    )  # fmt: skip


def query_stage() -> StageRun:
    found = observed([Stage(np.full(4, 1.0), more={"sql_execution_id": 0})], slots=4)
    return found.stages[0]


def batch(run: Run, *clusters: Cluster) -> ClusterBatch:
    return ClusterBatch.of(clusters, Profile("job", (run,)))


def of_cores(cores: int, gib: float | None, executors: int = 3) -> Cluster:
    return Cluster.of_executors(executors=executors, executor_cores=cores, executor_memory_gib=gib)


def test_unified_memory_is_spark_s_rule() -> None:
    """As in logs of 1 GiB executors: 455,501,414 bytes with G1, 434,031,820 where the collector
    holds back a survivor space (a heap of 1,037,959,168 bytes is seen)."""
    one = np.ones(1)
    assert unified_memory_gib(one, heap_seen=1.0)[0] * GIB == pytest.approx(455_501_414, abs=2)
    seen = 1_037_959_168 / GIB
    assert unified_memory_gib(one, heap_seen=seen)[0] * GIB == pytest.approx(434_031_820, abs=2)
    assert unified_memory_gib(np.asarray([0.2]))[0] == 0.0


def test_storage_memory_of_the_log_says_what_the_heap_is() -> None:
    assert ExecutorMemory.of(run()).heap_seen == pytest.approx(1.0)
    smaller = 0.6 * (0.9 * 4096 - 300) * MIB
    assert ExecutorMemory.of(run(2 * smaller)).heap_seen == pytest.approx(0.9)
    larger = 0.75 * (4096 - 300) * MIB
    assert ExecutorMemory.of(run(2 * larger, fraction="0.75")).heap_seen == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("version", "fraction"), [("1.6.0", 0.75), ("1.6", 0.75), ("2.0.0", 0.6), ("1.60.1", 0.6)]
)
def test_executors_of_a_log_have_the_storage_memory_that_it_tells(
    version: str, fraction: float
) -> None:
    told = 2 * fraction * (0.96 * 4096 - 300) * MIB
    seen = replace(run(told), spark_version=version)
    found = ExecutorMemory.of(seen).storage_bytes(batch(seen, ON_4_GIB), 0.0)
    assert found[0] == pytest.approx(told)


def test_the_legacy_mode_keeps_the_shares_of_before() -> None:
    told = 2 * 0.54 * 4096 * MIB
    seen = run(told, useLegacyMode="true")
    found = ExecutorMemory.of(seen).storage_bytes(batch(seen, ON_4_GIB), 1e9)
    assert found[0] == pytest.approx(told)


@pytest.mark.parametrize("share", [0.5, 0.79, 1.06, 2.0])
def test_storage_memory_of_another_heap_than_the_configured_says_nothing(share: float) -> None:
    storage = 2 * 0.6 * (share * 4096 - 300) * MIB
    assert ExecutorMemory.of(run(storage)).heap_seen == REPORTED_HEAP_SHARE
    assert ExecutorMemory.of(run(None)).heap_seen == REPORTED_HEAP_SHARE


@pytest.mark.parametrize("version", ["1.4.1", "1.6.1", "3.5.1"])
def test_executors_of_an_unsaid_heap_have_the_storage_memory_of_the_log_s(version: str) -> None:
    """Four such executors hold twice what two of them told: the cliff was not seen at all."""
    unsaid = Cluster.of_executors(executors=2, executor_cores=4)
    seen = replace(run(2e9), cluster=unsaid, spark_version=version)
    asked = batch(seen, unsaid, of_cores(4, None, 4), of_cores(2, None, 4))
    found = ExecutorMemory.of(seen).storage_bytes(asked, 0.0)
    assert found[:2] == pytest.approx([2e9, 4e9])
    assert math.isnan(found[2])


def test_a_heap_that_nobody_said_says_nothing() -> None:
    unsaid = Cluster.of_executors(executors=2, executor_cores=4)
    found = ExecutorMemory.of(replace(run(), cluster=unsaid))
    assert (found.heap_gib, found.heap_seen) == (None, REPORTED_HEAP_SHARE)
    assert found.legacy_storage is None


@pytest.mark.parametrize("text", ["-0.2", "1.5", "nan", "much", ""])
def test_shares_that_spark_would_not_take_are_its_defaults(text: str) -> None:
    found = ExecutorMemory.of(run(fraction=text, storageFraction=text))
    assert (found.fraction, found.protected) == (0.6, 0.5)


@pytest.mark.parametrize(
    ("fraction", "protected", "kept"), [("0", "0", (0.6, 0.0)), ("1.0", "0.3", (1.0, 0.3))]
)
def test_shares_that_were_set_are_kept(
    fraction: str, protected: str, kept: tuple[float, float]
) -> None:
    """Spark starts with 0 of the memory protected (seen with 3.5.9), not with none at all."""
    found = ExecutorMemory.of(run(fraction=fraction, storageFraction=protected))
    assert (found.fraction, found.protected) == kept


def test_a_task_has_its_share_of_the_common_memory() -> None:
    """3,796 MiB x 0.6 for 4 tasks at once; twice the heap for one."""
    job = run()
    asked = batch(job, of_cores(4, 4.0), of_cores(1, 8.0))
    found = ExecutorMemory.of(job).task_bytes(asked)
    assert found / MIB == pytest.approx([0.6 * 3796 / 4, 0.6 * (8192 - 300)])


def test_tasks_drive_blocks_out_down_to_the_protected_share() -> None:
    job = run()
    asked, whole = batch(job, of_cores(4, 4.0)), 0.6 * 3796 * MIB
    memory = ExecutorMemory.of(job)
    for task_mib, kept in ((0.0, whole), (100.0, whole - 400 * MIB), (2000.0, whole / 2)):
        found = memory.storage_bytes(asked, task_mib * MIB)
        assert found == pytest.approx([3 * kept])


def test_a_heap_left_open_is_the_runs_own_for_executors_of_its_size() -> None:
    job = run()
    asked = replace(
        batch(job, of_cores(4, 8.0), of_cores(4, 8.0), of_cores(2, 8.0)),
        executor_memory_gib=np.array([8.0, math.nan, math.nan]),
    )
    memory = ExecutorMemory.of(job)
    assert memory.heaps_gib(asked) == pytest.approx([8.0, 4.0, math.nan], nan_ok=True)
    assert np.isnan(memory.storage_bytes(asked, 0.0)).tolist() == [False, False, True]
    assert np.isnan(memory.task_bytes(asked)).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("version", "legacy"),
    [("1.2.0", True), ("1.5.2", True), ("1.6.0", False), ("2.4.0", False), ("1", False)],
)
def test_before_1_6_blocks_had_a_share_of_their_own(version: str, legacy: bool) -> None:
    job = replace(run(None), spark_version=version)
    memory, asked = ExecutorMemory.of(job), batch(job, of_cores(4, 4.0))
    assert (memory.legacy_storage is not None) == legacy
    if legacy:
        # 0.6 of 0.9 for blocks, whatever the tasks take; 0.2 of 0.8 for all tasks.
        assert memory.storage_bytes(asked, 1e12) == pytest.approx([3 * 0.54 * 4 * GIB])
        assert memory.task_bytes(asked) == pytest.approx([0.16 * 4 * GIB / 4])
        told = ExecutorMemory.of(replace(job, storage_memory_bytes=2 * 2.0 * GIB))
        assert told.storage_bytes(asked, 0.0) == pytest.approx([3 * 2.0 * GIB])


def test_queries_have_their_memory_off_the_heap_alone_and_leave_the_heap_to_blocks() -> None:
    """2 GiB off the heap of executors of 4 cores: 512 MiB for each task, on any executor. A sort of
    Spark 3.5.9 that held 271 MiB of its heap held 36 MiB with 64 MiB off it, and spilled the rest,
    with as much of the heap free as before."""
    job = replace(run(), stages=(query_stage(),))
    own = replace(job, cluster=replace(ON_4_GIB, beside=BesideHeap(off_heap_gib=2.0)))
    asked = batch(own, of_cores(4, 4.0), of_cores(1, 8.0))
    plain, found = ExecutorMemory.of(job), ExecutorMemory.of(own)
    assert found.task_bytes(asked) == pytest.approx([512 * MIB, 512 * MIB])
    assert found.heap_seen == pytest.approx(1.0)
    for task_mib in (0.0, 500.0, 4000.0):
        kept = found.storage_bytes(asked, task_mib * MIB)
        assert kept == pytest.approx(plain.storage_bytes(asked, 0.0))


def test_rdds_have_the_memory_of_their_tasks_on_the_heap_whatever_is_beside_it() -> None:
    """A `distinct` of Spark 3.5.9 held 179 MiB of its heap beside 16 MiB off it."""
    job = run()
    own = replace(job, cluster=replace(ON_4_GIB, beside=BesideHeap(off_heap_gib=2.0)))
    asked = batch(own, of_cores(4, 4.0))
    plain, found = ExecutorMemory.of(job), ExecutorMemory.of(own)
    assert found.task_bytes(asked) == pytest.approx(plain.task_bytes(asked))
    kept = found.storage_bytes(asked, 400.0 * MIB)
    assert kept == pytest.approx(plain.storage_bytes(asked, 400.0 * MIB))


def test_no_task_has_more_than_an_executor() -> None:
    """Of one task on ten executors a tenth is on each, and still it is a whole one where it runs;
    so is one that holds more cores than an executor has, by whatever the log said."""

    def beside(tasks: float, cpus: int = 1) -> float:
        return float(
            concurrent_tasks_per_executor(tasks, cpus=cpus, slots=40.0, executor_cores=4.0)
        )

    assert [beside(tasks) for tasks in (1.0, 20.0, 40.0, 100.0)] == [1.0, 2.0, 4.0, 4.0]
    assert [beside(100.0, cpus) for cpus in (2, 3, 4, 8)] == [2.0, 1.0, 1.0, 1.0]
