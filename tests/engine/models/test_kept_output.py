"""Stages that read a cache or a checkpoint: their partitions, and first rows alone."""

from collections.abc import Sequence
from dataclasses import replace

import cached_runs
import numpy as np
import pytest
from cached_runs import HEAP, KEPT_PER_BYTE, PARSE, READ, ask, storage_of
from made_runs import BLOCK, Job, Stage, measure, observed, without_growth
from sparkplan_runs import fit
from test_partitions import COALESCED_READ, SCAN

from engine.cluster import Cluster
from engine.models.replay.memory.cache_readers import sources_of
from engine.models.replay.memory.cache_replay import CacheReplay
from engine.models.replay.memory.cached_rdds import first_complete_stage, part_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.partitions import Growth
from engine.profile import PersistedRdd, Run
from engine.units import MIB

READS = {"sql_execution_id": 0, "stored_by": 1, "operations": ("Exchange", "checkpoint", "map")}


def kept_frame(**reader: object) -> Run:
    """A scan, its coalesced shuffle, which is kept, and a stage that reads that and counts no
    bytes."""
    stages = [
        Stage(np.full(2, 4.0), input_bytes=256.0 * MIB, more=SCAN),
        Stage(np.full(2, 4.0), (0,), shuffle_bytes=64.0 * MIB, more=COALESCED_READ),
        Stage(np.full(2, 4.0), more=READS | reader),
    ]
    return replace(observed(stages, slots=2), spark_version="3.5.9")


def test_a_checkpoint_has_the_partitions_of_the_stage_that_wrote_it() -> None:
    replay = Replay.of(kept_frame())
    assert replay.models[2].growth is Growth.WORK
    for slots, ratio in ((2, 1.0), (6, 1.0), (1, 1.0), (2, 8.0), (40, 20.0)):
        tasks = replay.replayed(slots, ratio=ratio).tasks
        assert tasks[2] == tasks[1]
    assert replay.replayed(6).tasks[2] == 6


def test_reading_it_takes_as_much_longer_as_there_is_more_of_it() -> None:
    """It had stayed what it was, whatever the input: of a checkpoint Spark counts no bytes."""
    small, large = (without_growth(kept_frame()).replayed(2, ratio=ratio) for ratio in (1.0, 10.0))
    spans = [one.end[2] - one.start[2] for one in (small, large)]
    assert spans[1] == pytest.approx(10.0 * spans[0], rel=0.1)


def test_a_cache_of_a_coalesced_shuffle_has_its_partitions_too() -> None:
    """As many as the scan of files has in the log by chance, they had been cut as files are."""
    run = kept_frame(cached_input_bytes=256.0 * MIB, cached_rdds=(7,), needed_rdds=(7,))
    scan, coalesced, reader = run.stages
    cached = replace(reader, input_bytes=scan.input_bytes)
    replay = Replay.of(replace(run, stages=(scan, coalesced, cached)))
    assert replay.replayed(6).tasks[1:] == (6, 6)


def test_other_shuffle_partitions_are_those_of_its_readers() -> None:
    plain = {"sql_execution_id": 0, "operations": ("Exchange", "WholeStageCodegen (2)")}
    stages = [
        Stage(np.full(2, 4.0), input_bytes=256.0 * MIB, more=SCAN),
        Stage(np.full(200, 0.5), (0,), shuffle_bytes=64.0 * MIB, more=plain),
        Stage(np.full(200, 0.5), more=READS),
    ]
    replay = Replay.of(replace(observed(stages, slots=2), spark_version="3.5.9"))
    assert replay.replayed(8).tasks[1:] == (200, 200)
    assert replay.replayed(8, shuffle_partitions=80).tasks[1:] == (80, 80)


@pytest.mark.parametrize(
    ("operations", "config", "asked"),
    [
        (("saveAsTextFile", "reduceByKey"), {}, 16),
        (("PythonRDD", "partitionBy", "mapPartitions"), {}, 16),
        (("PythonRDD", "WholeStageCodegen (2)", "AQEShuffleRead"), {}, 80),
        (("reduceByKey", "map"), {"spark.sql.shuffle.partitions": "16"}, 80),  # a query's, perhaps
        (("AQEShuffleRead", "map", "treeAggregate"), {}, 80),  # the RDD of a query
        ((), {}, 80),  # the log does not say
    ],
)
def test_shuffles_of_rdds_have_no_configured_number(
    operations: tuple[str, ...], config: dict[str, str], asked: int
) -> None:
    """`spark.sql.shuffle.partitions` is a setting of queries."""
    stages = [
        Stage(np.full(4, 4.0), input_bytes=512.0 * MIB, more={"operations": ("textFile", "map")}),
        Stage(np.full(16, 1.0), (0,), shuffle_bytes=64.0 * MIB, more={"operations": operations}),
    ]
    replay = Replay.of(observed(stages, slots=4, config=config))
    assert replay.replayed(4, shuffle_partitions=80).tasks[1] == asked


BLOCKS, EXECUTORS, STEPS = 200, 10, 3
KEPT = KEPT_PER_BYTE * BLOCK * BLOCKS
ROW = 0.02


def taking(*, before: bool = False, after: int = 0, needed: bool = True) -> Run:
    """A run that parses and keeps its input, which fits, and reads it three times. The first row is
    asked for before all, which parses one block, or after it, which reads one of memory.

    Args:
        needed: whether the log tells what its stages need.
    """
    more: dict[str, object] = {"cached_rdds": (7,), "needed_rdds": (7,) if needed else ()}
    rows = {**more, "name": "first", "in_part": True}
    one, every = measure(np.full(1, KEPT / BLOCKS)), measure(np.full(BLOCKS, KEPT / BLOCKS))
    stages = [Stage(np.full(1, PARSE), input_bytes=BLOCK, more=rows)] if before else []
    load = {**more, "name": "load"}
    if before:
        load["cached_input_bytes"] = KEPT / BLOCKS
    stages.append(Stage(np.full(BLOCKS, PARSE), input_bytes=BLOCK * BLOCKS, more=load))
    found = {**rows, "cached_input_bytes": KEPT / BLOCKS, "input_bytes": one}
    stages += [Stage(np.full(1, ROW), more=found)] * after
    step = {**more, "name": "step", "cached_input_bytes": KEPT, "input_bytes": every}
    stages += [Stage(np.full(BLOCKS, READ), more=step)] * STEPS
    stages = [replace(stage, job=number) for number, stage in enumerate(stages)]
    jobs = [Job((number - 1,) if number else (), 0.1) for number in range(len(stages))]
    run = observed(stages, jobs, slots=2 * EXECUTORS, input_bytes=BLOCKS * BLOCK)
    return replace(
        run,
        cluster=Cluster.of_executors(
            executors=EXECUTORS, executor_cores=2, executor_memory_gib=HEAP
        ),
        storage_memory_bytes=storage_of(EXECUTORS),
        cached_bytes=KEPT,
        persisted_rdds=(PersistedRdd(7, KEPT),) if needed else (),
    )


def seconds(run: Run, heaps: Sequence[float]) -> np.ndarray:
    model = fit(run)
    return np.asarray([ask(model, BLOCKS, EXECUTORS, heap).seconds for heap in heaps])


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("heap", [3.0, 2.0, 1.5])
def test_a_row_that_is_taken_of_a_lost_block_costs_that_block(heap: float, needed: bool) -> None:
    """Not all blocks, one after the other on one slot."""
    plain, rows = (seconds(taking(after=n, needed=needed), [HEAP, heap]) for n in (0, 5))
    added = (rows[1] - rows[0]) - (plain[1] - plain[0])
    assert -0.01 <= added <= 5 * PARSE * 1.1
    assert plain[1] > 1.15 * plain[0]


@pytest.mark.parametrize("needed", [True, False])
def test_what_a_row_took_before_all_were_computed_is_not_what_all_take(needed: bool) -> None:
    heaps = [HEAP, 3.0, 2.0, 1.5]
    plain = seconds(taking(needed=needed), heaps)
    rows = seconds(taking(before=True, needed=needed), heaps)
    assert rows - rows[0] == pytest.approx(plain - plain[0], rel=0.02, abs=0.1)


def test_the_stage_that_computed_all_of_an_rdd_is_its_origin() -> None:
    run = taking(before=True, after=1)
    needed = [stage.needed_rdds for stage in run.stages]
    assert first_complete_stage(run.stages, needed) == {7: 1}
    assert first_complete_stage(run.stages[:1], needed[:1]) == {7: 0}
    assert [part_of(run.stages, place, [1]) for place in range(3)] == [1 / BLOCKS, 1.0, 1 / BLOCKS]
    assert part_of(run.stages, 0, []) == 1.0
    cache = CacheReplay.of(run)
    assert cache.stored_bytes == {7: KEPT}
    unsized = CacheReplay.of(replace(run, persisted_rdds=()))
    assert unsized.stored_bytes == {7: pytest.approx(KEPT)}


@pytest.mark.parametrize("before", [True, False])
def test_more_memory_or_more_executors_never_take_longer(before: bool) -> None:
    """Up to where all fits; beyond, an executor more has its own start and waves."""
    model = fit(taking(before=before, after=2))
    table = np.asarray(
        [[ask(model, BLOCKS, n, heap).seconds for n in range(2, 9)] for heap in (1.5, 2, 3, 4)]
    )
    assert (np.diff(table, axis=0) <= 1e-6).all()
    assert (np.diff(table, axis=1) <= 1e-6).all()


def test_a_stage_beside_the_one_that_computes_the_cache_is_no_reader() -> None:
    """What it read is no measure of the blocks, nor what it took of finding them."""
    run = cached_runs.run_of(20, 2)
    maker, reader, *later = run.stages
    beside = replace(reader, submitted_seconds=maker.completed_seconds - 0.1)
    assert sorted(sources_of(run.stages)) == [1, 2, 3, 4, 5]
    assert sorted(sources_of((maker, beside, *later))) == [2, 3, 4, 5]
