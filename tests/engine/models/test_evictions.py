"""Blocks that stages in between drive out of memory: what it costs whoever reads the cache next."""

from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, PARSE, READ, ask, cliff_of, seconds_on, storage_of
from made_runs import BLOCK, Job, Stage, measure, observed
from sparkplan_runs import fit

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory.cliffs_of_logs import incomparable_readers, saturated_memory
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.profile import PersistedRdd, Profile, Run

EXECUTORS, BLOCKS, ROUNDS, RDD = 4, 80, 3, 7
ROOMY = 4.0 * HEAP
KEPT = 0.8 * storage_of(EXECUTORS)
LEFT = (0.5 * storage_of(EXECUTORS) - 0.5 * KEPT / BLOCKS * EXECUTORS) / KEPT
"""Tasks take all that they may, and half a block of each executor's room is empty."""


def sorts_between(heap: float, *, lost: float = 0.0, peak_bytes: float | None = None) -> Run:
    """Computes its input once and keeps it; then three times a sort, whose two tasks on an executor
    take all of its memory of 4 GiB, and two steps that read the cache, of which the first computes
    `lost` of it again."""
    kept = {"cached_rdds": (RDD,), "needed_rdds": (RDD,)}
    peak = storage_of(1) / 2.0 if peak_bytes is None else peak_bytes
    sorting = {"name": "sort", "peak_execution_memory_bytes": measure(np.full(BLOCKS, peak))}
    stages = [Stage(np.full(BLOCKS, PARSE), input_bytes=BLOCKS * BLOCK, more=kept)]
    for _ in range(ROUNDS):
        shuffled, job = BLOCKS * BLOCK, len(stages)
        stages.append(Stage(np.full(BLOCKS, 1.0), (), job, shuffle_bytes=shuffled, more=sorting))
        for again in (lost, 0.0):
            found = np.arange(BLOCKS) >= again * BLOCKS
            read = KEPT * (1.0 - again) + again * BLOCKS * BLOCK
            more = {"name": "step", "cached_input_bytes": read, **kept}
            seconds = READ + np.where(found, 0.0, PARSE)
            stages.append(Stage(seconds, (), len(stages), more=more))
    jobs = [Job((i - 1,) if i else (), 0.1) for i in range(len(stages))]
    run = observed(stages, jobs, slots=2 * EXECUTORS, input_bytes=BLOCKS * BLOCK)
    return replace(
        run,
        cluster=Cluster.of_executors(
            executors=EXECUTORS, executor_cores=2, executor_memory_gib=heap
        ),
        storage_memory_bytes=storage_of(EXECUTORS, heap),
        cached_bytes=KEPT,
        persisted_rdds=(PersistedRdd(RDD, KEPT),),
    )


def batch_of(run: Run, heap: float) -> ClusterBatch:
    cluster = Cluster.of_executors(executors=EXECUTORS, executor_cores=2, executor_memory_gib=heap)
    return ClusterBatch.of([cluster], Profile("job", (run,)))


def test_who_reads_next_computes_again_what_was_driven_out_and_the_one_after_finds_it() -> None:
    needed = ((1,), (1,), (), (1,), (1,), (), (1,))
    cache = CacheReplay(needed, {1: 0}, {1: 16e6}, frozenset(), {}, (1.0,) * 7)
    found = cache.eviction_seconds({1: 48.0}, 16e6, (2, 5))
    assert sorted(found) == [3, 6]
    for lost in found.values():
        assert lost == pytest.approx(48.0 * (1.0 - SHARES))


def test_tasks_of_other_stages_leave_the_protected_part_to_blocks() -> None:
    """And as much as they do not take: a tenth of what they want leaves all."""
    run = sorts_between(ROOMY)
    cliff = cliff_of(run)
    assert cliff.surviving_by_rule == 1.0
    assert cliff.surviving_share(batch_of(run, HEAP), 1.0) == pytest.approx([LEFT])
    assert cliff.fitting_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]
    few = cliff_of(sorts_between(ROOMY, peak_bytes=0.05 * storage_of(1)))
    assert few.surviving_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]
    protected = replace(run, config={"spark.memory.storageFraction": "0.9"})
    assert cliff_of(protected).surviving_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]


def test_twice_the_data_in_as_many_tasks_leaves_less() -> None:
    """Tasks that take a quarter of the memory leave three quarters, and of twice the data half."""
    run = sorts_between(HEAP, peak_bytes=storage_of(1) / 8.0)
    run = replace(run, config={"spark.default.parallelism": str(BLOCKS)})
    cliff, own = cliff_of(run), batch_of(run, HEAP)
    empty = 0.5 * KEPT / BLOCKS * EXECUTORS
    assert cliff.surviving_by_rule == pytest.approx((0.75 * storage_of(EXECUTORS) - empty) / KEPT)
    more = cliff.surviving_share(own, 2.0)
    assert more == pytest.approx([(0.5 * storage_of(EXECUTORS) - empty) / (2.0 * KEPT)])


def test_a_log_without_losses_predicts_them_on_smaller_heaps() -> None:
    run = sorts_between(ROOMY)
    model = fit(run)
    same, short = ask(model, BLOCKS, EXECUTORS, ROOMY), ask(model, BLOCKS, EXECUTORS, HEAP)
    lost = ROUNDS * (1.0 - LEFT) * BLOCKS * PARSE / (2 * EXECUTORS)
    assert same.seconds == pytest.approx(run.seconds, rel=0.01)
    assert short.seconds - same.seconds == pytest.approx(lost, rel=0.15)
    said = next(n for n in short.warnings if n.code == "cache-driven-out")
    assert "stage 1 (sort) and 2 other stages leave" in said.text
    assert not any(n.code == "cache-driven-out" for n in same.warnings)


def test_a_log_with_losses_predicts_none_on_larger_heaps() -> None:
    run = sorts_between(HEAP, lost=1.0 - LEFT)
    model = fit(run)
    same, roomy = ask(model, BLOCKS, EXECUTORS, HEAP), ask(model, BLOCKS, EXECUTORS, ROOMY)
    assert same.seconds == pytest.approx(run.seconds, rel=0.01)
    assert roomy.seconds == pytest.approx(sorts_between(ROOMY).seconds, rel=0.1)


def test_a_stage_that_found_all_of_its_blocks_gains_nothing_from_more_memory() -> None:
    """Its log says that it read as many bytes as they take."""
    found, lost = (cliff_of(sorts_between(HEAP, lost=part)) for part in (0.0, 1.0 - LEFT))
    assert {reread.evicted_in_log for reread in found.cache_readers} == {0.0}
    assert [reread.stage_index for reread in lost.cache_readers if reread.evicted_in_log] == [
        2,
        5,
        8,
    ]
    assert found.recovered_share(np.ones(1), np.ones(1)).tolist() == [0.0]
    assert lost.recovered_share(np.ones(1), np.ones(1)).tolist() == [1.0]


def test_less_memory_finds_nothing_again_that_was_driven_out() -> None:
    """Beside clusters of more memory, as in a grid, no more than asked about alone."""
    cliff = cliff_of(sorts_between(HEAP, lost=1.0 - LEFT))
    share = np.asarray([0.2, 0.5, 0.9, 1.0, 1.0])
    left = np.asarray([0.1, 0.3, cliff.surviving_by_rule, cliff.surviving_by_rule, 1.0])
    assert cliff.recovered_share(share, left) == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.0])
    alone = [cliff.recovered_share(share[n : n + 1], left[n : n + 1])[0] for n in range(5)]
    assert alone == pytest.approx(cliff.recovered_share(share, left))


def test_logs_of_which_one_lost_blocks_teach_nothing_of_each_others_readers() -> None:
    short, roomy = cliff_of(sorts_between(HEAP, lost=1.0 - LEFT)), cliff_of(sorts_between(ROOMY))
    assert incomparable_readers(short, roomy) == frozenset(short.sources)
    assert incomparable_readers(roomy, roomy) == frozenset()


def three_caches() -> Run:
    """Keeps three RDDs, sorts, and reads all three: in less memory than they take it loses most of
    them at once, in turn."""
    rdds, stages = (10, 11, 12), []
    for rdd in rdds:
        kept = {"cached_rdds": (rdd,), "needed_rdds": (rdd,)}
        job, read = len(stages), BLOCKS * BLOCK
        stages.append(Stage(np.full(BLOCKS, PARSE), (), job, input_bytes=read, more=kept))
    peaks = {"peak_execution_memory_bytes": measure(np.full(BLOCKS, storage_of(1)))}
    stages.append(Stage(np.full(BLOCKS, 1.0), (), 3, shuffle_bytes=BLOCKS * BLOCK, more=peaks))
    kept = {"cached_rdds": rdds, "needed_rdds": rdds, "cached_input_bytes": KEPT}
    stages.append(Stage(np.full(BLOCKS, 10.0 * PARSE), (), 4, more=kept))
    jobs = [Job((i - 1,) if i else (), 0.1) for i in range(len(stages))]
    run = observed(stages, jobs, slots=2 * EXECUTORS, input_bytes=BLOCKS * BLOCK)
    persisted = tuple(PersistedRdd(rdd, KEPT / 3.0) for rdd in rdds)
    cluster = Cluster.of_executors(executors=EXECUTORS, executor_cores=2, executor_memory_gib=ROOMY)
    return replace(
        run,
        cluster=cluster,
        storage_memory_bytes=storage_of(EXECUTORS, ROOMY),
        cached_bytes=KEPT,
        persisted_rdds=persisted,
    )


def test_less_memory_is_never_faster_where_a_part_fits_and_other_stages_press() -> None:
    run = three_caches()
    cliff = cliff_of(run)
    for ratio in (0.5, 1.0, 3.0):
        times = []
        for heap in np.geomspace(0.6, ROOMY, 60):
            batch = batch_of(run, float(heap))
            share, left = cliff.fitting_share(batch, ratio), cliff.surviving_share(batch, ratio)
            times.append(float(cliff.added_seconds(batch.slots, share, ratio, None, left)[0]))
        assert times[0] > 10.0
        assert all(np.diff(times) <= 1e-9)


def test_it_is_said_of_no_cluster_on_which_no_stage_loses_blocks() -> None:
    """As a log shows of its own by what its stages read, whatever the rule says, or where none
    reads on what was there."""

    def said(run: Run, heap: float) -> bool:
        warnings = ask(fit(run), BLOCKS, EXECUTORS, heap).warnings
        return any(notice.code == "cache-driven-out" for notice in warnings)

    found, lost = sorts_between(HEAP), sorts_between(HEAP, lost=1.0 - LEFT)
    assert cliff_of(found).surviving_by_rule == pytest.approx(LEFT)
    assert [said(found, HEAP), said(found, 0.9 * HEAP)] == [False, True]
    assert [said(lost, HEAP), said(lost, ROOMY)] == [True, False]


def test_nothing_is_driven_out_of_a_cache_that_none_reads_on() -> None:
    """The sort comes after its last reader, and before another cache."""
    run = sorts_between(ROOMY)
    other = {"cached_rdds": (8,), "needed_rdds": (8,)}
    stages = list(run.stages)
    stages[5:] = [replace(stage, **(other if stage.needed_rdds else {})) for stage in stages[5:]]
    stages[4] = replace(stages[4], needed_rdds=(), cached_rdds=(), cached_input_bytes=None)
    ended = (PersistedRdd(RDD, KEPT / 2.0), PersistedRdd(8, KEPT / 2.0))
    run = replace(run, stages=tuple(stages[i] for i in (0, 2, 3, 4, 5, 6)), persisted_rdds=ended)
    cliff = cliff_of(run)
    assert cliff.evicting_stages is not None
    assert not cliff.evicts(0.5)


def test_blocks_that_were_read_from_disk_were_not_in_memory() -> None:
    """Though a stage reads as many bytes as they take."""

    def backed(from_disk: float | None) -> MemoryCliff:
        run = sorts_between(HEAP)
        stages = tuple(
            replace(stage, disk_backed_rdds=stage.cached_rdds, cached_disk_bytes=from_disk)
            for stage in run.stages
        )
        return cliff_of(replace(run, stages=stages))

    in_memory = backed(0.0)
    assert not in_memory.evicts(in_memory.surviving_by_rule)
    for from_disk in (None, (1.0 - LEFT) * KEPT):
        cliff = backed(from_disk)
        assert cliff.evicts(cliff.surviving_by_rule)
        assert [reread.stage_index for reread in cliff.cache_readers if reread.evicted_in_log] == [
            2,
            5,
            8,
        ]


def test_more_nodes_are_worth_asking_about_where_fewer_partitions_drive_out_blocks() -> None:
    run = replace(
        sorts_between(HEAP, peak_bytes=0.02 * storage_of(1)),
        config={"spark.sql.shuffle.partitions": str(BLOCKS)},
    )
    batch = batch_of(run, HEAP)
    for partitions, roomy in ((None, True), (BLOCKS // 8, False)):
        asked = (Workload(BLOCKS * BLOCK, shuffle_partitions=partitions),)
        assert saturated_memory((cliff_of(run),), (), (), batch, asked, slots=1.0) == np.asarray(
            [roomy]
        )


def test_clusters_that_hold_more_of_the_cache_are_not_taken_for_one_another() -> None:
    """Executors of many cores and a small heap: five run all tasks at once, twelve hold what the
    job keeps, and on forty, where no three tasks share one, none spills or drives out blocks."""
    executors = (2, 5, 8, 16, 30, 40, 60, 80, 100)
    found = seconds_on(
        fit(sorts_between(HEAP)), executors=executors, cores=BLOCKS // 5, heap=HEAP,
        input_bytes=BLOCKS * BLOCK,
    )  # fmt: skip
    assert (np.diff(found[:6]) < 0.0).all()
    assert len(set(found[5:].tolist())) == 1


def test_clusters_that_hold_more_of_a_cache_without_spills_are_not_alike_either() -> None:
    model = fit(sorts_between(HEAP, peak_bytes=0.0))
    found = seconds_on(
        model, executors=(5, 8, 12, 20), cores=BLOCKS // 5, heap=1.5, input_bytes=BLOCKS * BLOCK
    )
    assert found[0] > found[1] > found[2] == found[3]
