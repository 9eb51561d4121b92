"""Blocks that stages in between drive out of memory: what it costs whoever reads the cache next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, PARSE, READ, ask, storage_of
from made_runs import BLOCK, Job, Stage, measure, observed
from sparkplan_runs import fit

from engine.batch import ClusterBatch
from engine.cluster import Cluster
from engine.models.replay.cache_replay import SHARES, CacheReplay
from engine.models.replay.memory_cliff import MemoryCliff, unlike
from engine.models.replay.replayed_run import Replay
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


def cliff_of(run: Run) -> MemoryCliff:
    found = MemoryCliff.of(Replay.of(run))
    assert found is not None
    return found


def batch_of(run: Run, heap: float) -> ClusterBatch:
    cluster = Cluster.of_executors(executors=EXECUTORS, executor_cores=2, executor_memory_gib=heap)
    return ClusterBatch.of([cluster], Profile("job", (run,)))


def test_who_reads_next_computes_again_what_was_driven_out_and_the_one_after_finds_it() -> None:
    needed = ((1,), (1,), (), (1,), (1,), (), (1,))
    cache = CacheReplay(needed, {1: 0}, {1: 16e6}, frozenset(), {}, (1.0,) * 7)
    found = cache.driven_out_seconds({1: 48.0}, 16e6, (2, 5))
    assert sorted(found) == [3, 6]
    for lost in found.values():
        assert lost == pytest.approx(48.0 * (1.0 - SHARES))


def test_tasks_of_other_stages_leave_the_protected_part_to_blocks() -> None:
    """And as much as they do not take: a tenth of what they want leaves all."""
    run = sorts_between(ROOMY)
    cliff = cliff_of(run)
    assert cliff.own_left == 1.0
    assert cliff.left_share(batch_of(run, HEAP), 1.0) == pytest.approx([LEFT])
    assert cliff.fitting_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]
    few = cliff_of(sorts_between(ROOMY, peak_bytes=0.05 * storage_of(1)))
    assert few.left_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]
    protected = replace(run, config={"spark.memory.storageFraction": "0.9"})
    assert cliff_of(protected).left_share(batch_of(run, HEAP), 1.0).tolist() == [1.0]


def test_twice_the_data_in_as_many_tasks_leaves_less() -> None:
    """Tasks that take a quarter of the memory leave three quarters, and of twice the data half."""
    run = sorts_between(HEAP, peak_bytes=storage_of(1) / 8.0)
    run = replace(run, config={"spark.default.parallelism": str(BLOCKS)})
    cliff, own = cliff_of(run), batch_of(run, HEAP)
    empty = 0.5 * KEPT / BLOCKS * EXECUTORS
    assert cliff.own_left == pytest.approx((0.75 * storage_of(EXECUTORS) - empty) / KEPT)
    more = cliff.left_share(own, 2.0)
    assert more == pytest.approx([(0.5 * storage_of(EXECUTORS) - empty) / (2.0 * KEPT)])


def test_a_log_without_losses_foretells_them_on_smaller_heaps() -> None:
    run = sorts_between(ROOMY)
    model = fit(run)
    same, short = ask(model, BLOCKS, EXECUTORS, ROOMY), ask(model, BLOCKS, EXECUTORS, HEAP)
    lost = ROUNDS * (1.0 - LEFT) * BLOCKS * PARSE / (2 * EXECUTORS)
    assert same.seconds == pytest.approx(run.seconds, rel=0.01)
    assert short.seconds - same.seconds == pytest.approx(lost, rel=0.15)
    said = next(n for n in short.warnings if n.code == "cache-driven-out")
    assert "stage 1 (sort) and 2 other stages leave" in said.text
    assert not any(n.code == "cache-driven-out" for n in same.warnings)


def test_a_log_with_losses_foretells_none_on_larger_heaps() -> None:
    run = sorts_between(HEAP, lost=1.0 - LEFT)
    model = fit(run)
    same, roomy = ask(model, BLOCKS, EXECUTORS, HEAP), ask(model, BLOCKS, EXECUTORS, ROOMY)
    assert same.seconds == pytest.approx(run.seconds, rel=0.01)
    assert roomy.seconds == pytest.approx(sorts_between(ROOMY).seconds, rel=0.1)


def test_a_stage_that_found_all_of_its_blocks_gains_nothing_from_more_memory() -> None:
    """Its log says that it read as many bytes as they take."""
    found, lost = (cliff_of(sorts_between(HEAP, lost=part)) for part in (0.0, 1.0 - LEFT))
    assert {reread.driven_in_log for reread in found.rereads} == {0.0}
    assert [reread.place for reread in lost.rereads if reread.driven_in_log] == [2, 5, 8]
    assert found.found_again(np.ones(1), np.ones(1)).tolist() == [0.0]
    assert lost.found_again(np.ones(1), np.ones(1)).tolist() == [1.0]


def test_logs_of_which_one_lost_blocks_teach_nothing_of_each_others_readers() -> None:
    short, roomy = cliff_of(sorts_between(HEAP, lost=1.0 - LEFT)), cliff_of(sorts_between(ROOMY))
    assert unlike(short, roomy) == frozenset(short.sources)
    assert unlike(roomy, roomy) == frozenset()
