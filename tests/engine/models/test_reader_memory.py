"""Memory that tasks take for themselves which read cached blocks."""

from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, PARSE, READ, cliff_of, run_of
from made_runs import BLOCK, measure
from real_logs import logged

from engine.batch import ClusterBatch
from engine.cluster import Cluster
from engine.models.replay.memory.cache_readers import missed_share
from engine.models.replay.memory.cliffs_of_logs import incomparable_readers
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.profile import PersistedRdd, Profile, Run

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


BLOCKS, MISSED = 20, 0.5
ROOM = 3e8
"""What each core of the last reader takes: of 2.26 GB beside 1.88 of blocks, so that 0.88 fit."""


def drove_out_its_own(*, told: bool = True, missed: float = MISSED) -> Run:
    """A cache that fits, of which the last reader missed a part: its tasks took the memory of
    blocks that they came to later."""
    run = run_of(BLOCKS, 1)
    *before, last = run.stages
    kept, original = run.cached_bytes or 0.0, BLOCKS * BLOCK
    read = kept * (1.0 - missed) + missed * original
    computing = np.arange(BLOCKS) < missed * BLOCKS
    last = replace(
        last,
        peak_execution_memory_bytes=measure(np.full(BLOCKS, ROOM)),
        cached_input_bytes=read,
        input_bytes=measure(np.full(BLOCKS, read / BLOCKS)),
        task_seconds=measure(READ + PARSE * computing),
    )
    rdds = (PersistedRdd(7, stored_bytes=kept),) if told else ()
    return replace(run, stages=(*before, last), persisted_rdds=rdds)


def test_what_a_reader_missed_of_blocks_follows_from_what_it_read() -> None:
    run = drove_out_its_own()
    assert missed_share(run, 5, 0) == pytest.approx(MISSED)
    assert missed_share(run, 4, 0) == pytest.approx(0.0)
    assert missed_share(drove_out_its_own(told=False), 5, 0) is None
    *others, last = run.stages
    on_disk = replace(last, disk_backed_rdds=(7,))
    assert missed_share(replace(run, stages=(*others, on_disk)), 5, 0) is None


def test_that_is_in_its_time_in_the_log_and_in_no_other_reader() -> None:
    """Half of the blocks, of which each takes three seconds."""
    cliff = cliff_of(drove_out_its_own())
    assert cliff.log_share == 1.0
    assert cliff.share_by_rule == pytest.approx(0.88, abs=0.01)
    own = [reread.crowded_out_in_log for reread in cliff.cache_readers]
    assert own[:-1] == [0.0] * 4
    assert own[-1] == pytest.approx(MISSED * BLOCKS * PARSE, rel=0.05)
    assert cliff.full_cache_replay.models[5].mean_seconds == pytest.approx(READ, rel=0.1)
    assert cliff.full_cache_replay.models[4] is cliff.replay.models[4]


def test_it_is_found_again_where_more_memory_is_left() -> None:
    cliff = cliff_of(drove_out_its_own())
    found = cliff.recovered_share(np.asarray([0.5, cliff.share_by_rule, 0.95, 1.0]), 1.0)
    assert found[:2].tolist() == [0.0, 0.0]
    assert 0.0 < found[2] < 1.0
    assert found[3] == 1.0


@pytest.mark.parametrize(("told", "missed"), [(False, MISSED), (True, 0.0)])
def test_a_log_that_does_not_tell_it_or_lost_nothing_is_taken_as_it_is(
    told: bool, missed: float
) -> None:
    cliff = cliff_of(drove_out_its_own(told=told, missed=missed))
    assert all(reread.crowded_out_in_log == 0.0 for reread in cliff.cache_readers)
    assert cliff.recovered_share(np.ones(1), 1.0).tolist() == [0.0]


def test_less_of_the_data_takes_as_long_as_where_nothing_was_lost() -> None:
    """It had taken so much longer for each block as the reader that lost them."""
    lost, whole = (cliff_of(drove_out_its_own(missed=missed)) for missed in (MISSED, 0.0))
    replays = (lost.full_cache_replay, whole.replay, lost.replay)
    found, never, as_it_was = (replay.replayed(2, ratio=0.3).seconds for replay in replays)
    assert found == pytest.approx(never, rel=0.02)
    assert as_it_was > 1.2 * never


def test_a_real_log_tells_which_reader_drove_out_its_own_blocks() -> None:
    """36.4 MB of blocks on executors that hold 40.9, computed from 40.8: sums of columns found
    nearly all of them, and groups of all rows hardly any, whose tasks took 6.3 MB each (3.5.9)."""
    cliff = cliff_of(logged("read_beside"))
    missed = [missed_share(cliff.replay.run, *one) for one in cliff.sources.items()]
    assert missed == pytest.approx([0.16, 0.08, 0.83], abs=0.01)
    *others, last = [reread.crowded_out_in_log for reread in cliff.cache_readers]
    assert max(others) < last / 4
    assert cliff.recovered_share(np.ones(1), 1.0).tolist() == [1.0]


def test_logs_of_which_one_lost_blocks_teach_nothing_of_each_others_readers() -> None:
    lost, whole = cliff_of(drove_out_its_own()), cliff_of(run_of(BLOCKS, 1))
    assert incomparable_readers(lost, whole) == {1, 2, 3, 4, 5}
    assert incomparable_readers(whole, whole) == frozenset()
