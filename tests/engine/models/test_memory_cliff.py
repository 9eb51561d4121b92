"""Caches that do not fit: predicted from small logs, to the node, and what they cost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cached_runs import HEAP, ITERATIONS, KEPT_PER_BYTE, PARSE, READ, ask, run_of, storage_of
from made_runs import BLOCK, Stage, measure, observed
from sparkplan_runs import fit

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.memory.block_costs import CACHED_BYTES_PER_SECOND
from engine.models.replay.memory.cache_replay import SHARES
from engine.models.replay.memory.cliffs_of_logs import cliffs_of, incomparable_readers
from engine.models.replay.memory.full_cache import with_full_cache
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.priors import POWER_SPREAD, SIZE_NOISE
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.profile import PersistedRdd, Profile
from engine.stage_run import Measure, StageRun
from engine.units import GIB


@pytest.mark.parametrize("sizes", [True, False])
def test_two_small_logs_predict_the_cliff_to_the_executor(sizes: bool) -> None:
    """400 blocks keep 35 GiB; an executor holds 2.1 GiB."""
    model = fit(run_of(20, 2, sizes=sizes), run_of(40, 2, sizes=sizes))
    least = math.ceil(400 * KEPT_PER_BYTE * BLOCK / storage_of(1))
    short, enough = ask(model, 400, least - 1), ask(model, 400, least)
    (notice,) = [n for n in short.warnings if n.code == "cache-does-not-fit"]
    assert f"at least {least} such executors" in notice.remedy
    assert "37.6 GB" in notice.text
    assert "cache-does-not-fit" not in {n.code for n in enough.warnings}
    inferred = "cache-size-inferred" in {n.code for n in short.warnings}
    assert inferred is not sizes


@pytest.mark.parametrize("executors", [4, 8, 12, 20])
@pytest.mark.parametrize("disk", [False, True])
def test_time_with_a_cache_that_does_not_fit(executors: int, disk: bool) -> None:
    model = fit(run_of(20, 2, disk=disk), run_of(40, 2, disk=disk))
    truth = run_of(400, executors, disk=disk)
    found = ask(model, 400, executors)
    assert found.high is not None
    assert found.low < truth.seconds < found.high
    if executors < 20:  # beyond, the prior's growth of work with slots shows more
        assert found.seconds == pytest.approx(truth.seconds, rel=0.25)
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert ("cache does not fit" in found.phases) is (executors < 18)


@pytest.mark.parametrize("sizes", [True, False])
def test_more_memory_brings_a_log_back_over_the_cliff(sizes: bool) -> None:
    """A single log of a run whose cache did not fit: its share and its size are found."""
    run = run_of(400, 4, sizes=sizes)
    cliff = MemoryCliff.of(Replay.of(run))
    assert cliff.log_share == pytest.approx(storage_of(4) / (400 * KEPT_PER_BYTE * BLOCK), rel=0.02)
    assert cliff.cached_bytes == pytest.approx(400 * KEPT_PER_BYTE * BLOCK, rel=0.02)
    truth = run_of(400, 4, heap=20.0)
    found = ask(fit(run), 400, 4, heap=20.0)
    assert found.seconds == pytest.approx(truth.seconds, rel=0.15)
    assert "cache-does-not-fit" not in {n.code for n in found.warnings}


@pytest.mark.parametrize("off", [-0.06, -0.01, 0.0, 0.01, 0.06])
def test_a_break_in_their_times_tells_which_tasks_found_their_blocks(off: float) -> None:
    """Memory does not say it to the task: executors do not fill alike."""
    run = run_of(400, 9)
    again = float(np.mean(times_from_quantiles(*_times(run.stages[1], 400)) > READ + 0.5 * PARSE))
    missing = again + off
    lost = dict.fromkeys(range(1, 1 + ITERATIONS), (missing * 400 * PARSE, missing))
    found = with_full_cache(Replay.of(run), lost)
    for place in lost:
        assert found.models[place].mean_seconds == pytest.approx(READ, rel=0.05)
        assert found.models[place].warm.max() == pytest.approx(READ, rel=0.05)


def _times(stage: StageRun, tasks: int) -> tuple[np.ndarray, int, float]:
    every = stage.task_seconds
    return np.asarray(every.quantiles), tasks, every.mean or 0.0


@pytest.mark.parametrize("executors", [18, 50, 200])
def test_tasks_that_compute_again_are_gone_where_the_cache_fits(executors: int) -> None:
    """Where each slot runs a task or a few, a stage of the log took as long as one task that
    computed its block again. Half of the cache fitted: the mean that they cost is half of that."""
    run, truth = run_of(400, 9), run_of(400, executors)
    found = replace(fit(run), covariance=np.zeros((2, 2)))
    calm = tuple(
        replace(
            replay, contention_growth=np.zeros(len(replay.contention_growth))
        ).with_empty_cache()
        for replay in found.replays
    )
    cliffs = tuple(replace(found.cliffs[0], replay=replay) for replay in calm)
    found = replace(found, replays=calm, cliffs=cliffs)
    assert ask(found, 400, executors).seconds == pytest.approx(truth.seconds, rel=0.2)
    assert ask(found, 400, 9).seconds == pytest.approx(run.seconds, rel=0.02)


def test_a_profile_may_tell_no_more_of_a_stage_than_one_time() -> None:
    """All tasks are alike then, and none is seen that found its block sooner: nothing is saved."""
    run = run_of(400, 9)
    steps = [
        replace(stage, task_seconds=Measure(400, 400 * 2.0, (2.0,))) for stage in run.stages[1:]
    ]
    replay = Replay.of(replace(run, stages=(run.stages[0], *steps)))
    found = with_full_cache(replay, {1: (300.0, 0.25)})
    assert found.models[1].mean_seconds == pytest.approx(2.0)
    assert found.models[2].mean_seconds == replay.models[2].mean_seconds


@pytest.mark.parametrize("executors", [2, 9, 14])
def test_what_is_missed_is_the_same_where_no_sizes_are_told(executors: int) -> None:
    """A stage that computes part of its blocks again reads less of blocks, and more of the input,
    than they take: what it reads is not what memory has to hold."""
    run, kept, found = run_of(400, executors), 400 * KEPT_PER_BYTE * BLOCK, []
    stages = tuple(replace(stage, needed_rdds=(7,)) for stage in run.stages)
    for size in (kept, None):
        persisted = (PersistedRdd(7, size),)
        told = replace(run, stages=stages, cached_bytes=size, persisted_rdds=persisted)
        cliff = MemoryCliff.of(Replay.of(told))
        assert cliff.cache.peak_bytes == pytest.approx(cliff.cached_bytes)
        found.append(np.stack([reread.miss_seconds for reread in cliff.cache_readers]))
    assert found[1] == pytest.approx(found[0], rel=0.03)


@pytest.mark.parametrize("sizes", [True, False])
def test_a_log_whose_cache_lay_on_disk_in_part_tells_its_whole_size(sizes: bool) -> None:
    """What memory does not hold is stored and read all the same: nothing of it is missing."""
    run = run_of(400, 4, disk=True, sizes=sizes)
    cliff = MemoryCliff.of(Replay.of(run))
    assert cliff.cached_bytes == pytest.approx(400 * KEPT_PER_BYTE * BLOCK)
    assert cliff.log_share == pytest.approx(storage_of(4) / cliff.cached_bytes)
    least = math.ceil(cliff.cached_bytes / storage_of(1))
    (notice,) = [n for n in ask(fit(run), 400, 4).warnings if n.code == "cache-does-not-fit"]
    assert f"at least {least} such executors" in notice.remedy
    assert ask(fit(run), 400, 4).seconds == pytest.approx(run.seconds, rel=0.02)


def test_a_cache_of_which_nothing_found_room_is_computed_each_time() -> None:
    """Partitions larger than an executor's memory: Spark 3.5 announces no block, and each stage
    reads the source to the byte. Taken for a cache of the size of its source that fitted, the loss
    of it was added to stages that had never had it."""
    loop = run_of(20, 4, sizes=False)
    first = loop.stages[0]
    stages = [first]
    for step in loop.stages[1:]:
        seconds = measure(np.full(20, PARSE + READ))
        again = replace(step, input_bytes=first.input_bytes, task_seconds=seconds)
        stages.append(replace(again, cached_input_bytes=first.input_bytes.total))
    never = replace(loop, stages=tuple(stages))
    assert MemoryCliff.of(Replay.of(never)) is None
    codes = {notice.code: notice.text for notice in ask(fit(never), 20, 4).warnings}
    assert "no stage of the log found the data that it persists" in codes["cache-does-not-fit"]
    small, large = (ask(fit(never), 80, 4, heap).seconds for heap in (1.0, 16.0))
    assert small == pytest.approx(large)
    alone = replace(never, stages=tuple(stages[1:]))
    assert "cache-does-not-fit" not in {notice.code for notice in ask(fit(alone), 20, 4).warnings}


def test_many_clusters_see_the_cliff_too() -> None:
    model = fit(run_of(20, 2), run_of(40, 2))
    n = np.arange(1.0, 301.0)
    batch = ClusterBatch(
        types=(None,),
        type_index=np.zeros(300, dtype=np.int64),
        nodes=np.full(300, np.nan),
        executors=n,
        executor_cores=np.full(300, 2.0),
        executor_memory_gib=np.where(n == 300, np.nan, HEAP),
    )
    many = model.forecast(batch, Workload(400 * BLOCK))
    for executors in (4, 10, 17, 18, 40):
        one = ask(model, 400, executors)
        assert many.seconds[executors - 1] == pytest.approx(one.seconds, rel=0.04)
    roomy = replace(batch, executor_memory_gib=np.full(300, 100.0))
    fits = model.forecast(roomy, Workload(400 * BLOCK)).seconds
    assert (many.seconds >= fits * (1 - 1e-9)).all()
    assert many.seconds[3] > 2.0 * fits[3]
    assert many.seconds[20] == pytest.approx(fits[20])


@pytest.mark.parametrize("heap", [1.0, 2.0, 4.0, 64.0])
def test_more_input_never_takes_less_time(heap: float) -> None:
    model = fit(run_of(20, 2), run_of(40, 2))
    times = [ask(model, blocks, 3, heap).seconds for blocks in (20, 30, 40, 80, 160, 400, 1000)]
    assert times == sorted(times)


def test_growth_of_cached_bytes_is_learnt() -> None:
    """What is kept does not grow with the input: a table of customers."""
    runs = [replace(run_of(blocks, 2), cached_bytes=2e9) for blocks in (20, 80)]
    cliffs = cliffs_of([Replay.of(run) for run in runs])
    for cliff in cliffs:
        assert cliff.needed_bytes(10.0) == pytest.approx(2e9, rel=0.2)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("blocks", [(20, 22), (20, 80), (10, 20, 80)])
def test_growth_of_cached_bytes_is_the_posterior_mean(
    power: float, blocks: tuple[int, ...]
) -> None:
    """Bayes' rule on a grid: a line in logarithms about a prior of proportion. Beyond 0 and 1.5
    no growth is believed."""
    sizes = np.asarray([count * BLOCK for count in blocks])
    kept = 1e9 * (sizes / sizes[0]) ** power
    runs = [
        replace(run_of(count, 40), cached_bytes=float(bytes_))
        for count, bytes_ in zip(blocks, kept, strict=True)
    ]
    grid = np.linspace(-5.0, 7.0, 24_001)
    x, y = np.log(sizes / sizes[0]), np.log(kept / kept[0])
    off = (y - y.mean())[:, None] - grid * (x - x.mean())[:, None]
    log_density = -0.5 * ((off / SIZE_NOISE) ** 2).sum(axis=0)
    log_density -= 0.5 * ((grid - 1.0) / POWER_SPREAD) ** 2
    weights = np.exp(log_density - log_density.max())
    expected = float(np.clip(weights @ grid / weights.sum(), 0.0, 1.5))
    for cliff in cliffs_of([Replay.of(run) for run in runs]):
        grown = cliff.needed_bytes(10.0) / cliff.needed_bytes(1.0)
        assert math.log10(grown) == pytest.approx(expected, abs=1e-4)


def test_only_logs_whose_caches_fitted_otherwise_are_unlike() -> None:
    short, whole, roomy = (
        MemoryCliff.of(Replay.of(run)) for run in (run_of(400, 4), run_of(40, 2), run_of(20, 2))
    )
    readers = frozenset(range(1, 1 + ITERATIONS))
    assert incomparable_readers(short, whole) == incomparable_readers(whole, short) == readers
    assert incomparable_readers(whole, roomy) == incomparable_readers(short, short) == frozenset()
    assert (
        incomparable_readers(None, whole)
        == incomparable_readers(short, None)
        == incomparable_readers(None, None)
        == frozenset()
    )


@pytest.mark.parametrize("again", [0.2, 1.2])
def test_no_stage_saves_more_than_the_tasks_show_that_computed_again(again: float) -> None:
    """What the readers read took longer to compute, once, than they all do: where it fits they save
    what sets their longer tasks apart from the shorter, which is nothing where all are alike."""
    run = run_of(400, 4)
    cliff = MemoryCliff.of(Replay.of(run))
    found = int(400 * cliff.log_share)
    times = np.concatenate((np.full(found, 0.2), np.full(400 - found, again)))
    steps = [replace(stage, task_seconds=measure(times)) for stage in run.stages[1:]]
    cliff = MemoryCliff.of(Replay.of(replace(run, stages=(run.stages[0], *steps))))
    slots = 8
    saved = cliff.replay.replayed(slots).seconds - cliff.full_cache_replay.replayed(slots).seconds
    more = len(steps) * (400 - found) * (again - 0.2) / slots
    assert saved == pytest.approx(more, rel=0.05)


@pytest.mark.parametrize("cut", ["with the input", "as the program says"])
def test_twice_the_input_is_twice_the_work_to_compute_again(cut: str) -> None:
    """Whether there are twice as many tasks, or as many with twice the data each."""
    run = run_of(40, 4)
    if cut == "as the program says":
        stages = [
            replace(stage, input_bytes=None, shuffle_read_bytes=measure(np.full(40, 1e6)))
            for stage in run.stages
        ]
        run = replace(run, stages=tuple(stages))
    cliff = MemoryCliff.of(Replay.of(run))
    assert cliff is not None
    one, two = (cliff.added_seconds(np.ones(1), np.full(1, 0.5), ratio)[0] for ratio in (1.0, 2.0))
    assert one > 0.0
    assert two == pytest.approx(2.0 * one)


def test_blocks_of_which_some_lie_nowhere_else_are_not_all_stored() -> None:
    """One stage finds on disk what memory does not hold, the others compute it again."""
    run = run_of(400, 4)
    first, second, *others = run.stages
    mixed = replace(run, stages=(first, replace(second, disk_backed_rdds=(7,)), *others))
    cliff, plain = MemoryCliff.of(Replay.of(mixed)), MemoryCliff.of(Replay.of(run))
    assert (cliff.log_share, cliff.cached_bytes) == (plain.log_share, plain.cached_bytes)


def test_what_lies_on_disk_is_read_as_fast_as_the_logs_show() -> None:
    """The stages of one log found half of their blocks on disk, in a tenth of a second each; of
    the other, of the same job, all in memory."""
    run, fitting = run_of(400, 4, disk=True), run_of(40, 4, disk=True)
    first, *reading = run.stages
    size = KEPT_PER_BYTE * BLOCK
    told = tuple(
        replace(stage, cached_disk_bytes=200 * size, task_seconds=measure(np.full(400, 0.1)))
        for stage in reading
    )
    shown = replace(run, stages=(first, *told))
    prior, learnt = MemoryCliff.of(Replay.of(run)), MemoryCliff.of(Replay.of(shown))
    assert prior.disk_rate == CACHED_BYTES_PER_SECOND
    assert learnt.disk_rate == pytest.approx(200 * size / 40.0)
    assert learnt.disk_rate > CACHED_BYTES_PER_SECOND
    slow = tuple(replace(stage, cached_disk_bytes=10 * size) for stage in told)
    slower = MemoryCliff.of(Replay.of(replace(run, stages=(first, *slow))))
    assert slower.disk_rate == CACHED_BYTES_PER_SECOND, "its tasks had other things to do as well"
    for hasty in ({"in_part": True}, {"cached_input_bytes": 10 * size}):
        quick = tuple(replace(stage, **hasty) for stage in told)
        found = MemoryCliff.of(Replay.of(replace(run, stages=(first, *quick))))
        assert found.disk_rate == CACHED_BYTES_PER_SECOND, "it read few of them"
    both = cliffs_of([Replay.of(fitting), Replay.of(shown)])
    assert [cliff.disk_rate for cliff in both if cliff] == [learnt.disk_rate] * 2
    alone = MemoryCliff.of(Replay.of(fitting))
    assert both[0] is not None
    assert alone is not None
    none = np.zeros(1)
    added = [cliff.added_seconds(np.ones(1), none, 1.0)[0] for cliff in (both[0], alone)]
    assert added[0] == pytest.approx(added[1] * CACHED_BYTES_PER_SECOND / learnt.disk_rate)


def test_no_cache_no_cliff() -> None:
    run = observed([Stage(np.full(8, 1.0), input_bytes=8 * BLOCK)], slots=2)
    assert MemoryCliff.of(Replay.of(run)) is None


def test_old_spark_gives_a_fixed_share_to_storage() -> None:
    run = replace(run_of(20, 2), spark_version="1.5.2")
    run = replace(run, storage_memory_bytes=2 * 0.54 * HEAP * GIB)
    cliff = MemoryCliff.of(Replay.of(run))
    cluster = Cluster.of_executors(executors=3, executor_cores=2, executor_memory_gib=10.0)
    batch = ClusterBatch.of([cluster], Profile("job", (run,)))
    assert cliff.storage_bytes(batch, 1.0)[0] == pytest.approx(3 * 0.54 * 10.0 * GIB)


def test_unknown_memory_is_taken_as_the_log_s_where_executors_are_alike() -> None:
    run = run_of(20, 2)
    cliff = MemoryCliff.of(Replay.of(run))
    assert cliff is not None
    profile = Profile("job", (run,))
    for cores, known in ((2, True), (8, False)):
        cluster = Cluster.of_executors(executors=3, executor_cores=cores)
        storage = cliff.storage_bytes(ClusterBatch.of([cluster], profile), 1.0)[0]
        assert math.isnan(storage) is not known
    alike = ClusterBatch.of([Cluster.of_executors(executors=3, executor_cores=2)], profile)
    assert storage_of(3) == pytest.approx(cliff.storage_bytes(alike, 1.0)[0], rel=1e-6)


def test_what_is_computed_again_is_shared_by_the_tasks_that_each_cluster_has() -> None:
    """Re-reads of a scan that has a split for every core: the whole cluster shares them."""
    run = run_of(8, 4)
    scans = tuple(replace(stage, operations=("Scan parquet",)) for stage in run.stages)
    cliff = MemoryCliff.of(Replay.of(replace(run, stages=scans)))
    fixed = MemoryCliff.of(Replay.of(run))
    assert fixed is not None
    slots = np.asarray([4.0, 8.0, 32.0, 16.0])
    share = np.full(4, 0.5)
    again = float(
        sum(np.interp(0.5, SHARES, reread.miss_seconds) for reread in fixed.cache_readers)
    )
    assert again > 0.0
    assert fixed.added_seconds(slots, share, 1.0) == pytest.approx(again / np.minimum(slots, 8))
    assert cliff.added_seconds(slots, share, 1.0) == pytest.approx(again / slots)
    one_by_one = [cliff.added_seconds(slots[k : k + 1], share[:1], 1.0)[0] for k in range(4)]
    assert cliff.added_seconds(slots, share, 1.0) == pytest.approx(one_by_one)
    two = tuple(replace(stage, task_cpus=2) for stage in run.stages)
    pairs = MemoryCliff.of(Replay.of(replace(run, stages=two)))
    assert pairs is not None
    again = float(
        sum(np.interp(0.5, SHARES, reread.miss_seconds) for reread in pairs.cache_readers)
    )
    at_once = np.asarray([2.0, 4.0, 8.0, 8.0])
    assert pairs.added_seconds(slots, share, 1.0) == pytest.approx(again / at_once)
