"""Task memory: spills predicted where tasks have less of it, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed

from engine.batch import ClusterBatch
from engine.cluster import BesideHeap, Cluster, Workload
from engine.models import MODELS
from engine.models.base import Prediction
from engine.models.replay.memory.executor_memory import ExecutorMemory
from engine.models.replay.memory.spilling import (
    DISK_BYTES_PER_SECOND,
    SPILLED_SIZE,
    Spills,
    TaskMemory,
    spilling_stages,
)
from engine.models.replay.replayed_run import Replay
from engine.models.sparkplan import Sparkplan
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.models.stages.stage_law import StageLaw
from engine.profile import Profile, Run

MIB = 1024.0**2
TASKS = 40
PEAK = 300 * MIB
WIDE = PartitioningSettings(8, advisory_bytes=4096 * MIB)


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


def offered(task_bytes: float, slots: float = 4.0, cores: float = 2.0) -> TaskMemory:
    """One cluster whose tasks have so much memory when all its cores are busy."""
    return TaskMemory(np.asarray([task_bytes]), np.asarray([slots]), np.asarray([cores]))


def beyond(need: float, memory: float) -> float:
    """What a task of a log without spills writes that has so much memory and needs more: all that
    it holds, but for half a filling that is left."""
    return need - memory / 2.0 if need > memory else 0.0


def codes(found: Prediction) -> set[str]:
    return {notice.code for notice in found.warnings}


def test_a_log_without_spills_predicts_them_on_less_memory() -> None:
    run = run_of()
    (stage,) = spilling_stages(Replay.of(run))
    assert stage.task_bytes == PEAK
    roomy, tight = ask(run, heap=4.0), ask(run, heap=1.0)
    assert "memory-spill" not in codes(roomy)
    assert "memory-spill" in codes(tight)
    assert tight.seconds > roomy.seconds
    assert (tight.high or 0.0) / (tight.low or 1.0) > (roomy.high or 0.0) / (roomy.low or 1.0)


def test_queries_that_had_their_memory_off_the_heap_spill_no_more_than_in_their_log() -> None:
    """Two tasks of 300 MiB share 1 GiB off a heap of 512 MiB, of which 64 MiB are theirs."""
    rdds = run_of()
    run = replace(rdds, stages=tuple(replace(one, sql_execution_id=0) for one in rdds.stages))
    on_heap = replace(run.cluster, executor_memory_gib=0.5)
    off_heap = replace(on_heap, beside=BesideHeap(off_heap_gib=1.0))
    for given, cluster, suffices in (
        (run, on_heap, False), (run, off_heap, True), (rdds, off_heap, False),
    ):  # fmt: skip
        one = replace(given, cluster=cluster)
        told = TaskMemory.of(one, ClusterBatch.of([cluster], Profile("", (one,))))
        assert bool(told.task_bytes[0] >= PEAK) == suffices
        assert (spilling_stages(Replay.of(one))[0].fill_factor == 1.0) == suffices
    own = ask(replace(run, cluster=off_heap), heap=0.5)
    assert "memory-spill" not in codes(own)
    assert own.seconds == pytest.approx(ask(run, heap=4.0).seconds)


def test_little_memory_off_the_heap_is_all_that_queries_have() -> None:
    """A heap of 4 GiB holds a task's 300 MiB; 256 MiB for two of them off it do not."""
    rdds = run_of()
    run = replace(rdds, stages=tuple(replace(one, sql_execution_id=0) for one in rdds.stages))
    little = replace(run.cluster, beside=BesideHeap(off_heap_gib=0.25))
    one = replace(run, cluster=little)
    told = TaskMemory.of(one, ClusterBatch.of([little], Profile("", (one,))))
    assert told.task_bytes[0] == pytest.approx(128 * MIB)


def test_few_tasks_share_an_executor_with_few_others() -> None:
    """The one task of a last stage held 1.5 GiB, of 2.2 GiB that two cores share, and spilled
    nothing. It has all of its executor's memory on any cluster."""
    run, held = run_of(), 1536 * MIB
    more = {"peak_execution_memory_bytes": measure(np.full(1, held))}
    stages = [
        Stage(np.full(TASKS, 1.0), input_bytes=TASKS * 128 * MIB),
        Stage(np.full(1, 20.0), (0,), shuffle_bytes=held, more=more),
    ]
    last = replace(observed(stages, slots=4), cluster=run.cluster)
    own = ask(last, heap=4.0)
    assert own.seconds == pytest.approx(last.seconds)
    assert "memory-spill" not in codes(own)
    (stage,) = spilling_stages(Replay.of(last))
    assert stage.fill_factor == 1.0
    assert Spills(offered(400 * MIB, cores=4.0), 1.0).bytes_of(stage)[0] == 0.0
    spilled = Spills(offered(400 * MIB), 1.0).bytes_of(stage)[0]
    assert spilled == pytest.approx(beyond(held, 800 * MIB))
    assert "memory-spill" in codes(ask(last, heap=1.0))


def test_tasks_between_one_for_each_executor_and_one_for_each_slot() -> None:
    """On 3 executors of 4 cores: 2 tasks have an executor each, of 6 two share one."""
    three = offered(100.0, slots=12.0, cores=4.0)
    shares = [float(three.bytes_per_task(tasks, 1)[0]) for tasks in (1, 2, 3, 6, 12, 100)]
    assert shares == pytest.approx([400.0, 400.0, 400.0, 200.0, 100.0, 100.0])
    assert [float(three.bytes_per_task(tasks, 2)[0]) for tasks in (2, 100)] == pytest.approx(
        [400, 200]
    )


def test_tasks_of_several_cores_share_an_executor_with_fewer_others() -> None:
    """`spark.task.cpus` of 2: 40 tasks of 1.5 GiB, one at a time on each executor of two cores."""
    run, held = run_of(), 1536 * MIB
    peak = measure(np.full(TASKS, held))
    two = replace(run.stages[1], task_cpus=2, peak_execution_memory_bytes=peak)
    shuffled = replace(two, shuffle_read_bytes=measure(np.full(TASKS, held)))
    wide = replace(run, stages=(run.stages[0], shuffled))
    (stage,) = spilling_stages(Replay.of(wide))
    assert stage.fill_factor == 1.0
    assert "memory-spill" not in codes(ask(wide, heap=4.0))
    spilled = Spills(offered(500 * MIB), 1.0).bytes_of(stage)[0]
    assert spilled == pytest.approx(TASKS * beyond(held, 1000 * MIB))
    seconds = Spills(offered(500 * MIB), 1.0).added_seconds((stage,))
    assert seconds == pytest.approx(stage.seconds(np.asarray([spilled])) / 2.0)


def test_what_did_not_spill_in_a_log_does_not_on_its_own_executors() -> None:
    """Tasks of 300 MiB on executors that have 49 MiB for each by the rule: others needed less."""
    run = run_of()
    small = replace(run, cluster=replace(run.cluster, executor_memory_gib=0.5))
    (stage,) = spilling_stages(Replay.of(small))
    assert stage.fill_factor > 1.0
    own = ask(small, heap=0.5)
    assert own.seconds == pytest.approx(run.seconds)
    assert "memory-spill" not in codes(own)
    assert "memory-spill" in codes(ask(small, heap=0.45))


def test_a_fixed_number_of_partitions_spills_as_the_input_grows() -> None:
    run = run_of()
    assert "memory-spill" not in codes(ask(run, heap=4.0, scale=2.0))
    (notice,) = [n for n in ask(run, heap=4.0, scale=8.0).warnings if n.code == "memory-spill"]
    assert "stage 1" in notice.text
    assert "--shuffle-partitions" in notice.remedy


def test_spilled_bytes_and_their_time() -> None:
    (stage,) = spilling_stages(Replay.of(run_of()))
    available = np.asarray([100 * MIB, 300 * MIB, np.nan])
    spilled = TASKS * beyond(PEAK, 100 * MIB)
    assert Spills(offered(100 * MIB), 1.0).bytes_of(stage)[0] == pytest.approx(spilled)
    assert Spills(offered(300 * MIB), 1.0).bytes_of(stage)[0] == 0.0
    assert stage.replayed_spill_bytes(1.0) == 0.0
    memory = TaskMemory(available, np.full(3, 4.0), np.full(3, 2.0))
    seconds = Spills(memory, 1.0).added_seconds((stage,))
    moved = 2.0 * SPILLED_SIZE * spilled
    assert seconds == pytest.approx([moved / DISK_BYTES_PER_SECOND / 4.0, 0.0, 0.0])


def test_the_disk_s_rate_and_compression_come_from_a_log_that_spilled() -> None:
    """40 x 2 s of waiting for 80 x 50 MiB written and read again: 50 MiB/s."""
    run = run_of(spilled=TASKS * 200 * MIB, disk=TASKS * 50 * MIB, waited=2.0)
    (stage,) = spilling_stages(Replay.of(run))
    assert stage.disk_share == pytest.approx(0.25)
    assert stage.disk_bytes_per_second == pytest.approx(50 * MIB)
    assert stage.task_bytes == PEAK + 200 * MIB
    more = Spills(offered(1e12), 1.0).added_seconds((stage,))
    assert more[0] == pytest.approx(-TASKS * 2.0 / 4.0)
    own = ExecutorMemory.of(run).task_bytes(ClusterBatch.of([run.cluster], Profile("", (run,))))
    assert stage.fill_factor == pytest.approx(PEAK / own[0])
    same = Spills(offered(own[0]), 1.0).added_seconds((stage,))
    assert same[0] == pytest.approx(0.0, abs=1e-9)


def test_a_log_that_spilled_spills_as_much_on_its_own_executors() -> None:
    """Its tasks had 1 GiB each by the rule, and spilled from 300 MiB on."""
    run = run_of(spilled=TASKS * 200 * MIB, disk=TASKS * 50 * MIB, waited=2.0)
    own = ask(run, heap=4.0)
    assert own.seconds == pytest.approx(run.seconds)
    assert "memory-spill" in codes(own)
    times = [ask(run, heap=heap).seconds for heap in (1.0, 2.0, 4.0, 6.0, 12.0)]
    assert times == sorted(times, reverse=True)
    assert times[0] > own.seconds > times[-1]


def test_a_task_that_spilled_and_tells_no_peak_had_filled_its_memory() -> None:
    run = run_of(spilled=TASKS * 200 * MIB)
    untold = replace(run.stages[1], peak_execution_memory_bytes=None)
    run = replace(run, stages=(run.stages[0], untold))
    (stage,) = spilling_stages(Replay.of(run))
    own = ExecutorMemory.of(run).task_bytes(ClusterBatch.of([run.cluster], Profile("", (run,))))
    assert stage.fill_factor == 1.0
    assert stage.task_bytes == pytest.approx(own[0] + 200 * MIB)
    assert ask(run, heap=4.0).seconds == pytest.approx(run.seconds)


def test_memory_allocated_beforehand_is_not_need() -> None:
    """Tasks that read 1 MiB each hold 300 MiB: pages that Spark allocates whatever the data."""
    run = run_of()
    stage = replace(run.stages[1], shuffle_read_bytes=measure(np.full(TASKS, MIB)))
    (found,) = spilling_stages(Replay.of(replace(run, stages=(run.stages[0], stage))))
    assert found.task_bytes == 8 * MIB
    assert "memory-spill" not in codes(ask(replace(run, stages=(run.stages[0], stage)), heap=1.0))


def test_rows_that_a_task_makes_of_few_are_need() -> None:
    """Tasks that read 1 MiB each and write 80 hold 300 MiB: rows that `explode` made, which an
    aggregation holds."""
    run = run_of()
    few = measure(np.full(TASKS, MIB))
    stage = replace(run.stages[1], shuffle_read_bytes=few)
    made = replace(stage, shuffle_write_bytes=measure(np.full(TASKS, 80 * MIB)))
    (found,) = spilling_stages(Replay.of(replace(run, stages=(run.stages[0], made))))
    assert found.task_bytes == PEAK


def test_more_shuffle_partitions_cure_a_spill() -> None:
    run = run_of()
    fitted = Sparkplan().fit(Profile("sort", (run,)), models={m.name: m for m in MODELS})
    cluster = Cluster.of_executors(executors=2, executor_cores=2, executor_memory_gib=4.0)
    size = 8.0 * (run.workload.input_bytes or 0.0)
    as_it_is, smaller = (
        fitted.predict(cluster=cluster, workload=Workload(size, shuffle_partitions=partitions))
        for partitions in (None, 8 * TASKS)
    )
    assert "memory-spill" in codes(as_it_is)
    assert "memory-spill" not in codes(smaller)
    assert smaller.seconds < as_it_is.seconds
    (stage,) = spilling_stages(Replay.of(run))
    counts, memory = (40, 80, 160, 320), offered(400 * MIB)
    spilled = [Spills(memory, 8.0, count).bytes_of(stage)[0] for count in counts]
    counts = (40, 80, 160, 320)
    each = [beyond(8 * PEAK * TASKS / count, 400 * MIB) for count in counts]
    assert spilled == pytest.approx([n * one for n, one in zip(counts, each, strict=True)])
    assert each[-1] == 0.0


def test_partitions_that_the_cores_decide_are_counted_on_each_cluster() -> None:
    """A coalesced shuffle of 2,400 MiB: 8 tasks of 300 MiB on 8 slots, 16 of 150 MiB on 16. Of so
    many small partitions a share is always full."""
    coalesced = {
        "sql_execution_id": 0,
        "operations": ("AQEShuffleRead", "Sort"),
        "peak_execution_memory_bytes": measure(np.full(8, PEAK)),
    }
    stages = [
        Stage(np.full(8, 1.0), input_bytes=8 * 128 * MIB),
        Stage(np.full(8, 10.0), (0,), shuffle_bytes=2400 * MIB, more=coalesced),
    ]
    config = {"spark.sql.shuffle.partitions": "100000"}
    run = replace(observed(stages, slots=8, config=config), spark_version="3.5.1")
    (stage,) = spilling_stages(Replay.of(run))
    wide = replace(stage, model=replace(stage.model, partitioning=WIDE))
    slots = np.asarray([4.0, 8.0, 16.0, 16.0, 16.0])
    available = np.asarray([200.0, 200.0, 200.0, 100.0, np.nan]) * MIB
    found = Spills(TaskMemory(available, slots, np.full(5, 4.0)), 1.0).added_seconds((wide,))
    asked = ((4, 600.0, 200.0), (8, 300.0, 200.0), (16, 150.0, 200.0), (16, 150.0, 100.0))
    each = [tasks * beyond(need, memory) for tasks, need, memory in asked]
    assert each[2] == 0.0
    spilled = np.asarray([*each, 0.0]) * MIB
    moved = 2.0 * SPILLED_SIZE * spilled / DISK_BYTES_PER_SECOND
    assert found == pytest.approx(moved / np.asarray([4.0, 8.0, 16.0, 16.0, 16.0]))
    for at in range(4):
        one = Spills(offered(available[at], slots[at]), 1.0).bytes_of(wide)[0]
        assert one == pytest.approx(spilled[at])


@pytest.mark.parametrize("work", [-0.7, -0.3, 0.4])
@pytest.mark.parametrize("ratio", [1 / 64, 0.5, 64.0])
def test_seconds_that_do_not_grow_are_not_bytes(work: float, ratio: float) -> None:
    (plain,) = spilling_stages(Replay.of(run_of(spilled=TASKS * 200 * MIB)))
    slow = replace(plain, model=replace(plain.model, law=StageLaw(work)))
    assert slow.replayed_spill_bytes(ratio) == pytest.approx(ratio * TASKS * 200 * MIB)
    need = ratio * (PEAK + 200 * MIB)
    assert Spills(offered(0.0), ratio).bytes_of(slow)[0] == pytest.approx(TASKS * need)
    seconds = [
        Spills(offered(400 * MIB), ratio).added_seconds((stage,))[0] for stage in (plain, slow)
    ]
    assert seconds[0] == seconds[1]


def test_bytes_grow_with_the_power_that_logs_tell() -> None:
    (stage,) = spilling_stages(Replay.of(run_of(spilled=TASKS * 200 * MIB)))
    half = replace(stage, model=replace(stage.model, law=StageLaw(data_power=0.5)))
    assert half.replayed_spill_bytes(64.0) == pytest.approx(8.0 * TASKS * 200 * MIB)
    assert Spills(offered(0.0), 64.0).bytes_of(half)[0] == pytest.approx(
        8.0 * TASKS * (PEAK + 200 * MIB)
    )


def test_part_of_a_partition_needs_part_of_its_memory() -> None:
    """An input of 40 blocks at 1/100: one task with 0.4 of a block."""
    peak = measure(np.full(TASKS, PEAK))
    first = replace(run_of().stages[0], peak_execution_memory_bytes=peak)
    stages = spilling_stages(Replay.of(replace(run_of(), stages=(first, run_of().stages[1]))))
    assert Spills(offered(0.0), 0.01).bytes_of(stages[0])[0] == pytest.approx(0.4 * PEAK)


@pytest.mark.parametrize("ratio", [0.02, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("partitions", [None, 7, 400])
def test_many_stages_and_clusters_spill_as_each_by_itself(
    ratio: float, partitions: int | None
) -> None:
    """Those that cannot spill are left out by plain numbers: the same answer."""
    random = np.random.default_rng(3)
    stages = []
    for i in range(30):
        coalesced = {"sql_execution_id": 0, "operations": ("AQEShuffleRead", "Sort")}
        count = int(random.integers(2, 60))
        more = {
            "peak_execution_memory_bytes": measure(random.uniform(10, 900, count) * MIB),
            "memory_spilled_bytes": float(random.choice([0.0, 500 * MIB])),
            **(coalesced if i % 2 else {}),
        }
        shuffle = count * float(random.uniform(1, 120)) * MIB
        stages.append(Stage(np.full(count, 1.0), (), shuffle_bytes=shuffle, more=more))
    known = spilling_stages(Replay.of(observed(stages, slots=8)))
    assert len(known) == len(stages)
    slots = np.asarray([1.0, 4.0, 8.0, 30.0, 30.0, 200.0])
    available = np.asarray([50.0, 300.0, 800.0, 100.0, 3000.0, 20.0]) * MIB
    cores = np.asarray([1.0, 2.0, 4.0, 4.0, 2.0, 4.0])
    found = Spills(TaskMemory(available, slots, cores), ratio, partitions).added_seconds(known)
    for at, count in enumerate(slots.tolist()):
        alone = offered(available[at], count, cores[at])
        expected = 0.0
        for stage in known:
            beyond = Spills(alone, ratio, partitions).bytes_of(stage)[0]
            tasks, _ = stage.model.largest_task_bytes(ratio, partitions, slots[at : at + 1])
            moved = np.asarray([beyond - stage.replayed_spill_bytes(ratio)])
            expected += float(stage.seconds(moved)[0] / min(count, tasks[0]))
        assert found[at] == pytest.approx(expected)
        one = Spills(alone, ratio, partitions).added_seconds(known)
        assert one[0] == pytest.approx(expected)


@pytest.mark.parametrize("heap", [0.7, 1.0, 4.0])
def test_more_input_never_takes_less(heap: float) -> None:
    for run in (run_of(), run_of(spilled=TASKS * 200 * MIB, disk=TASKS * 50 * MIB, waited=2.0)):
        times = [ask(run, heap=heap, scale=scale).seconds for scale in (0.5, 1, 1.5, 2, 4, 8, 30)]
        assert times == sorted(times)


@pytest.mark.parametrize(
    ("waited", "rate"),
    [(6.0, 100e6 / 6.0), (5.0, 20e6), (0.1, 1e9), (0.09, 100e6 / 0.09), (0.0, 0.0)],
)
def test_a_rate_that_no_disk_has_is_not_taken(waited: float, rate: float) -> None:
    """50 MB of each task written and read again in the time that it waited."""
    (stage,) = spilling_stages(
        Replay.of(run_of(spilled=TASKS * 1e8, disk=TASKS * 5e7, waited=waited))
    )
    told = rate if 19e6 < rate < 1.01e9 else DISK_BYTES_PER_SECOND
    assert stage.disk_bytes_per_second == pytest.approx(told)
    assert stage.disk_share == pytest.approx(0.5)


def test_without_cpu_times_the_rate_of_the_disk_is_not_known() -> None:
    """All 10 s of a task would count as waiting: 40 MB/s, which a disk could have."""
    run = run_of(spilled=TASKS * 4e8, disk=TASKS * 2e8, waited=9.0)
    untold = replace(run.stages[1], cpu_seconds=None)
    (stage,) = spilling_stages(Replay.of(replace(run, stages=(run.stages[0], untold))))
    assert stage.disk_bytes_per_second == DISK_BYTES_PER_SECOND
    (told,) = spilling_stages(Replay.of(run))
    assert told.disk_bytes_per_second == pytest.approx(4e8 / 9.0)


def test_no_more_is_written_than_was_in_memory() -> None:
    (stage,) = spilling_stages(Replay.of(run_of(spilled=TASKS * 1e8, disk=TASKS * 2e8)))
    assert stage.disk_share == 1.0
