"""What one log tells of its cache: how much of it fitted, how much there is, what is missed."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, ITERATIONS, KEPT_PER_BYTE, PARSE, READ, cliff_of, run_of, storage_of
from depth import cases
from made_runs import BLOCK, measure

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.memory import cliffs_of_logs, memory_cliff
from engine.models.replay.memory.cache_readers import never_stored
from engine.models.replay.memory.cache_replay import SHARES
from engine.models.replay.memory.cliffs_of_logs import saturated_memory
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.replayed_run import Replay
from engine.profile import PersistedRdd, Profile, Run
from engine.stage_run import StageRun


def reading(run: Run, *read: float) -> Run:
    """The run whose stages after the first read so many bytes of its cache."""
    after = zip(run.stages[1:], read, strict=True)
    steps = [replace(stage, cached_input_bytes=amount) for stage, amount in after]
    return replace(run, stages=(run.stages[0], *steps))


def asked(executors: int, heap: float | None = HEAP, cores: int = 2) -> ClusterBatch:
    cluster = Cluster.of_executors(
        executors=executors, executor_cores=cores, executor_memory_gib=heap
    )
    return ClusterBatch.of([cluster], Profile("job", (run_of(20, 2),)))


@pytest.mark.parametrize(("full", "fits"), [(0.7, 1.0), (0.83, 1.0), (0.9, 0.8), (0.99, 0.8)])
def test_a_cache_that_nearly_fills_its_memory_may_have_lost_blocks(
    full: float, fits: float
) -> None:
    """Read are the blocks, and a fifth of the input again. Where there was room for more of them
    that is no loss, but other data."""
    run = run_of(40, 2)
    kept, source = full * storage_of(2), run.stages[0].input_bytes
    again = reading(run, *[kept + 0.2 * source.total] * ITERATIONS)
    found = cliff_of(replace(again, cached_bytes=kept))
    assert found.log_share == pytest.approx(fits)
    assert found.cached_bytes == pytest.approx(kept / fits)


@pytest.mark.parametrize("disk", [False, True])
def test_without_its_memory_a_log_tells_of_no_loss(disk: bool) -> None:
    found = cliff_of(replace(run_of(400, 4, disk=disk), storage_memory_bytes=None))
    assert found.log_share == 1.0
    assert cliff_of(run_of(20, 4, disk=disk)).log_share == 1.0


def test_the_most_that_a_stage_found_counts() -> None:
    """Blocks that tasks drove out are computed again, whatever memory holds. What is computed again
    in nearly all stages is 2 % that fitted, however much more these read."""
    run = run_of(40, 2)
    kept, source = 0.95 * storage_of(2), run.stages[0].input_bytes
    parts = (0.9, 0.3, 0.4, 0.6, 0.7)
    more = source.total * 4.0
    run = replace(
        run, stages=(replace(run.stages[0], input_bytes=measure([more])), *run.stages[1:])
    )
    read = [kept + part * more for part in parts]
    assert cliff_of(replace(reading(run, *read), cached_bytes=kept)).log_share == pytest.approx(0.7)
    read = [kept + 3.0 * more] * 5
    assert cliff_of(replace(reading(run, *read), cached_bytes=kept)).log_share == 0.02


def test_of_several_copies_a_stage_reads_one() -> None:
    """Memory that holds half of both copies of all blocks holds as much as half of one is read."""
    run, storage = run_of(40, 2, sizes=False), storage_of(2)
    files = measure([3.0 * storage])
    stages = [replace(run.stages[0], input_bytes=files), *run.stages[1:]]
    stages = [replace(stage, needed_rdds=(7,)) for stage in stages]
    twice = replace(run, stages=tuple(stages), persisted_rdds=(PersistedRdd(7, copies=2),))
    found = cliff_of(reading(twice, *[0.5 * storage + 0.5 * files.total] * ITERATIONS))
    assert found.log_share == pytest.approx(0.5)
    assert found.needed_bytes(1.0) == pytest.approx(2.0 * storage)
    assert found.needed_bytes(1.0, np.asarray([1.0, 2.0, 9.0])) == pytest.approx(
        np.asarray([storage, 2.0 * storage, 2.0 * storage])
    )


def test_of_two_sources_the_one_of_which_least_fitted_counts() -> None:
    """Each by the stage that found most of it, which read least where blocks are smaller than what
    they come from, and most where they are larger."""
    run = run_of(40, 2)
    kept = 0.95 * storage_of(2)
    large, small = 4.0 * kept, 0.8 * kept
    first = [replace(run.stages[0], input_bytes=measure([size])) for size in (large, small)]
    second = replace(first[1], stage_id=99, cached_rdds=(8,))
    rest = [
        replace(s, cached_rdds=(rdd,))
        for s, rdd in zip(run.stages[1:], (7, 7, 8, 8, 8), strict=True)
    ]
    both = replace(run, stages=(first[0], *rest[:2], second, *rest[2:]), cached_bytes=kept)
    amounts = {1: 0.1 * large, 2: 0.3 * large, 4: 0.2 * small, 5: 0.6 * small, 6: 0.1 * small}
    stages = [
        replace(s, cached_input_bytes=kept + amounts[place] if place in amounts else None)
        for place, s in enumerate(both.stages)
    ]
    assert cliff_of(replace(both, stages=tuple(stages))).log_share == pytest.approx(0.4)


def test_files_that_are_read_whole_tell_what_a_storing_stage_left_out() -> None:
    """A cached table of which half found no room: the stage that stores it ended its tasks early,
    and counted two thirds of the files that the others read."""
    run = run_of(40, 2, sizes=False)
    storage = storage_of(2)
    files, wanted = 3.0 * storage, 2.0 * storage
    first = replace(
        run.stages[0],
        input_bytes=measure([2.0 * storage]),
        files_bytes=files,
        operations=("mapPartitionsInternal", "Scan json"),
    )
    read = reading(replace(run, stages=(first, *run.stages[1:])), *[storage + 0.5 * files] * 5)
    assert cliff_of(read).cached_bytes == pytest.approx(wanted)
    columns = replace(first, operations=("Scan parquet",))
    assert cliff_of(replace(read, stages=(columns, *read.stages[1:]))).log_share == pytest.approx(
        0.25
    )


def test_a_source_that_reads_a_cache_itself_has_only_the_rest_from_outside() -> None:
    run = run_of(40, 2)
    first, kept = run.stages[0], 0.95 * storage_of(2)
    half = first.input_bytes.total / 2.0
    first = replace(first, cached_input_bytes=half)
    read = reading(replace(run, stages=(first, *run.stages[1:])), *[kept + 0.2 * half] * 5)
    assert cliff_of(replace(read, cached_bytes=kept)).log_share == pytest.approx(0.8)
    to_the_byte = reading(read, *[half] * ITERATIONS)
    assert MemoryCliff.of(Replay.of(to_the_byte)) is None
    assert never_stored(to_the_byte)
    assert not never_stored(read)
    all_cached = replace(first, cached_input_bytes=2.0 * half)
    unread = replace(run, stages=(all_cached, *run.stages[1:]))
    assert MemoryCliff.of(Replay.of(unread)) is not None
    assert not never_stored(replace(run, stages=run.stages[:1]))


def test_blocks_about_as_large_as_their_source_were_found() -> None:
    """Only what is read again to the byte was not there."""
    run = run_of(20, 4)
    source = run.stages[0].input_bytes
    nearly = reading(run, *[1.003 * source.total] * ITERATIONS)
    assert MemoryCliff.of(Replay.of(nearly)) is not None


def test_a_source_whose_input_nobody_tells_is_no_sign_that_nothing_was_found() -> None:
    run = run_of(20, 4)
    untold = replace(run, stages=(replace(run.stages[0], input_bytes=None), *run.stages[1:]))
    assert cliff_of(untold).sources == dict.fromkeys(range(1, 1 + ITERATIONS), 0)


def test_the_size_of_a_cache_is_the_most_that_a_stage_reads_or_stages_want_at_once() -> None:
    run = run_of(40, 20, sizes=False)
    assert cliff_of(reading(run, 1e9, 3e9, 2e9, 1e9, 1e9)).cached_bytes == 3e9
    needs = ((7,), (8,), (7,), (8,), (7,), (8,))
    stages = [replace(s, needed_rdds=own) for s, own in zip(run.stages, needs, strict=True)]
    both = reading(replace(run, stages=tuple(stages)), 0.0, 3e9, 2e9, 3e9, 2e9)
    found = cliff_of(both)
    assert found.inferred
    assert found.cached_bytes == pytest.approx(5e9)


def with_times(run: Run, seconds: float) -> Run:
    """The run whose readers' tasks all take so long."""
    steps = [replace(s, task_seconds=measure(np.full(s.tasks, seconds))) for s in run.stages[1:]]
    return replace(run, stages=(run.stages[0], *steps))


def test_what_a_stage_missed_in_its_log_is_no_more_than_nearly_all_of_its_time() -> None:
    """To compute the missing blocks once took longer than the stages that read them: at the log's
    share 95 % of their time is theirs, and the other shares follow."""
    short, long = with_times(run_of(400, 4), 0.1), with_times(run_of(400, 4), 10.0)
    cliff, of_long = cliff_of(short), cliff_of(long)
    assert len(cliff.cache_readers) == len(of_long.cache_readers) == ITERATIONS
    for reread in cliff.cache_readers:
        seen = np.interp(cliff.log_share, SHARES, reread.miss_seconds)
        assert seen == pytest.approx(0.95 * 400 * 0.1)
    for reread in of_long.cache_readers:
        assert reread.miss_seconds == pytest.approx(400 * PARSE * (1.0 - SHARES))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_time_is_added_for_what_is_missed_beyond_the_log_alone(share: float) -> None:
    cliff = cliff_of(run_of(400, 4))
    added = cliff.added_seconds(np.full(1, 4.0), np.full(1, share), 1.0)
    more = max(0.0, cliff.log_share - share) * ITERATIONS * 400 * PARSE / 4.0
    assert added == pytest.approx([more])
    assert cliff.added_seconds(np.full(1, 4.0), np.full(1, 1.0), 1.0) == [0.0]


def test_what_is_found_again_follows_what_was_missed() -> None:
    cliff = cliff_of(run_of(400, 4))
    between = np.asarray([0.0, cliff.log_share, 0.5, 0.9, 1.0])
    expected = np.maximum(0.0, (between - cliff.log_share) / (1.0 - cliff.log_share))
    assert cliff.recovered_share(between) == pytest.approx(expected)
    nothing = replace(cliff, sources={}, cache=None)
    assert nothing.recovered_share(between).tolist() == [0.0] * 5


def test_where_all_was_found_the_replay_stays() -> None:
    cliff = cliff_of(run_of(20, 2))
    assert cliff.full_cache_replay.replayed(4).seconds == cliff.replay.replayed(4).seconds


def test_each_stage_misses_its_own_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two RDDs that are read in turn lose more than what does not fit, each stage of its own."""
    run = run_of(400, 9)
    needs = ((7,), (8,), (7,), (8,), (7,), (8,))
    stages = tuple(replace(s, needed_rdds=own) for s, own in zip(run.stages, needs, strict=True))
    half = run.cached_bytes or 0.0
    persisted = (PersistedRdd(7, half), PersistedRdd(8, half))
    told = replace(run, stages=stages, persisted_rdds=persisted, cached_bytes=2.0 * half)
    cliff, seen = cliff_of(told), {}

    def kept(replay: Replay, lost: Mapping[int, tuple[float, float]]) -> Replay:
        seen.update(lost)
        return replay

    monkeypatch.setattr(memory_cliff, "with_full_cache", kept)
    assert cliff.full_cache_replay is cliff.replay
    for reread in cliff.cache_readers:
        seconds, missing = seen[reread.stage_index]
        assert seconds == pytest.approx(np.interp(cliff.log_share, SHARES, reread.miss_seconds))
        assert missing == pytest.approx(seconds / reread.miss_seconds[0])
        assert missing > 1.1 * (1.0 - cliff.log_share)


def test_running_tasks_leave_less_memory_to_the_cache() -> None:
    """The mean of the stage that needs most, twice for two cores; no others' but the readers'."""
    run = run_of(20, 2)
    peaks = (9e9, 1e8, 4e8, 2e8, 0.0, 1e8)
    stages = [
        replace(s, peak_execution_memory_bytes=measure(np.asarray([0.5, 1.5]) * peak))
        for s, peak in zip(run.stages, peaks, strict=True)
    ]
    plain, busy = cliff_of(run), cliff_of(replace(run, stages=tuple(stages)))
    taken = plain.storage_bytes(asked(3), 1.0) - busy.storage_bytes(asked(3), 1.0)
    assert taken == pytest.approx([3 * 2 * 4e8])


def test_what_tasks_drove_out_in_the_log_is_not_lost_again() -> None:
    """Blocks of 0.8 of the memory fitted, and tasks of one stage took two fifths of it. What that
    cost is in the log: on its own cluster nothing is added, on a larger one nothing taken off, and
    on one of half the memory what it loses beyond the log's."""
    run = replace(run_of(20, 2), cached_bytes=0.8 * storage_of(2))
    hungry = replace(
        run.stages[3], peak_execution_memory_bytes=measure(np.full(20, 0.1 * storage_of(2)))
    )
    cliff = cliff_of(replace(run, stages=(*run.stages[:3], hungry, *run.stages[4:])))
    own, slots = cliff.fitting_share(asked(2), 1.0), np.full(1, 4.0)
    assert cliff.log_share == 1.0
    assert own == pytest.approx([0.75])
    assert cliff.added_seconds(slots, own, 1.0).tolist() == [0.0]
    assert cliff.added_seconds(slots, np.full(1, 1.0), 1.0).tolist() == [0.0]
    lost = ITERATIONS * 20 * PARSE / 4.0
    assert cliff.added_seconds(slots, np.full(1, 0.25), 1.0) == pytest.approx([0.5 * lost])


def test_shares_that_fit() -> None:
    """All of it at most; as in the log where nobody knows the memory."""
    cliff = cliff_of(run_of(400, 4))
    assert cliff.fitting_share(asked(4), 1.0) == pytest.approx([cliff.log_share])
    assert cliff.fitting_share(asked(400), 1.0).tolist() == [1.0]
    assert cliff.fitting_share(asked(4, None, 8), 1.0) == pytest.approx([cliff.log_share])


@pytest.mark.parametrize("executors", range(2, 9))
def test_as_much_fits_on_its_own_cluster_as_in_the_log(executors: int) -> None:
    """To the last digit: what rounding leaves was told as time of a cache that does not fit."""
    run = run_of(400, executors, sizes=False)
    files = 3.0 * storage_of(executors)
    for more in np.linspace(0.1, 0.9, cases(10, deep=40)):
        first = replace(run.stages[0], input_bytes=measure([files]))
        steps = [storage_of(executors) + more * files] * ITERATIONS
        cliff = cliff_of(reading(replace(run, stages=(first, *run.stages[1:])), *steps))
        assert cliff.log_share < 1.0
        assert cliff.fitting_share(asked(executors), 1.0).tolist() == [cliff.log_share]


def test_more_nodes_hold_no_more_where_all_fits_whichever_input_is_asked_about() -> None:
    """Nor where nobody knows the memory; and not before every log's cache fits."""
    small, large = cliff_of(run_of(20, 2)), cliff_of(run_of(40, 2))
    blocks = storage_of(4) / (KEPT_PER_BYTE * BLOCK)
    few, many = Workload(0.9 * blocks * BLOCK), Workload(1.1 * blocks * BLOCK)
    for inputs, roomy in (((few,), True), ((few, many), False)):
        assert saturated_memory((small, None), (), (), asked(4), inputs, slots=1.0) == np.asarray(
            [roomy]
        )
    assert saturated_memory((small,), (), (), asked(4, None, 8), (many,), slots=1.0) == np.asarray(
        [True]
    )
    greedy = replace(large, cached_bytes=2.0 * large.cached_bytes)
    assert saturated_memory((small, greedy), (), (), asked(4), (few,), slots=1.0) == np.asarray(
        [False]
    )
    assert saturated_memory((None, None), (), (), asked(4), (few,), slots=1.0).all()
    exact = replace(small, cached_bytes=float(small.storage_bytes(asked(4), 1.0)[0]))
    assert exact.saturated(asked(4), 1.0).tolist() == [True]


def two_sources(*, first: float, second: float) -> Run:
    """Stages 0 and 1 each compute one of the two RDDs that the others read."""
    run = run_of(20, 4)
    times = (first, second, *[READ] * 4)
    rdds = ((7,), (8,), *[(7, 8)] * 4)
    stages: list[StageRun] = [
        replace(s, task_seconds=measure(np.full(20, seconds)), cached_rdds=own)
        for s, seconds, own in zip(run.stages, times, rdds, strict=True)
    ]
    return replace(run, stages=tuple(stages))


@pytest.mark.parametrize(("first", "second"), [(4.0, 2.0), (2.0, 4.0)])
def test_of_several_sources_the_one_that_took_longest_is_computed_again(
    first: float, second: float
) -> None:
    cliff = cliff_of(two_sources(first=first, second=second))
    dear = 0 if first > second else 1
    assert cliff.sources == dict.fromkeys(range(2, 6), dear)
    assert {float(reread.miss_seconds[0]) for reread in cliff.cache_readers} == {80.0}


def test_a_stage_that_read_none_of_its_rdd_is_no_reader() -> None:
    run = run_of(20, 4)
    for read in (None, 0.0):
        other = replace(run.stages[3], cached_input_bytes=read)
        found = cliff_of(replace(run, stages=(*run.stages[:3], other, *run.stages[4:])))
        assert sorted(found.sources) == [1, 2, 4, 5]


def test_shuffle_partitions_that_are_asked_for_share_what_is_computed_again() -> None:
    """Four of them on 32 slots, where the log had 40 tasks."""
    run = run_of(40, 4)
    stages = tuple(
        replace(
            stage,
            input_bytes=None,
            shuffle_read_bytes=measure(np.full(40, 1e6)),
            operations=("Exchange",),
            sql_execution_id=1,
        )
        for stage in run.stages
    )
    config = {"spark.sql.shuffle.partitions": "40"}
    cliff = cliff_of(replace(run, stages=stages, config=config))
    slots, share = np.full(1, 32.0), np.full(1, 0.5)
    own, four = (cliff.added_seconds(slots, share, 1.0, count)[0] for count in (None, 4))
    assert four == pytest.approx(8.0 * own)


def test_shares_closer_than_two_in_a_hundred_are_alike() -> None:
    one = cliff_of(run_of(400, 9))
    readers = frozenset(range(1, 1 + ITERATIONS))
    for off, found in ((0.01, frozenset()), (0.05, readers)):
        assert (
            cliffs_of_logs.incomparable_readers(one, replace(one, log_share=one.log_share + off))
            == found
        )


def test_a_stage_that_computes_an_rdd_again_is_not_its_source() -> None:
    run = run_of(20, 4)
    third = replace(run.stages[2], task_seconds=measure(np.full(20, 9.0)))
    again = replace(run, stages=(*run.stages[:2], third, *run.stages[3:]))
    assert set(cliff_of(again).sources.values()) == {0}


def test_what_one_stage_computed_is_computed_again_in_even_parts_or_read_from_disk() -> None:
    """Of two RDDs of one stage of 20 x 3 s the first comes from the second: 30 s each, or for the
    second, with disk behind it, its bytes at 200 MB/s."""
    run = run_of(20, 4)
    needs = ((7, 8), (7,), (8,), (7,), (8,), (7,))
    stages = [replace(s, needed_rdds=own) for s, own in zip(run.stages, needs, strict=True)]
    persisted = (PersistedRdd(7, 1e9), PersistedRdd(8, 2e9))
    plain = replace(run, stages=tuple(stages), persisted_rdds=persisted)
    disk = tuple(replace(s, disk_backed_rdds=(8,)) for s in stages)
    for told, second in ((plain, 30.0), (replace(plain, stages=disk), 10.0)):
        lost = {r.stage_index: float(r.miss_seconds[0]) for r in cliff_of(told).cache_readers}
        assert [lost[place] for place in (1, 3, 5)] == pytest.approx([30.0 + second] * 3)
        assert [lost[place] for place in (2, 4)] == pytest.approx([second] * 2)


def test_growth_beyond_one_and_a_half_is_not_believed() -> None:
    runs = [
        replace(run_of(blocks, 40), cached_bytes=1e7 * blocks**power)
        for blocks, power in ((10, 1.0), (80, 2.5))
    ]
    first = cliffs_of_logs.cliffs_of([Replay.of(run) for run in runs])[0]
    assert first.power == 1.5
    assert first.needed_bytes(4.0) / first.needed_bytes(1.0) == pytest.approx(8.0)
