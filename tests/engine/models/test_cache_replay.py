"""The replay of Spark's block store: what is lost in less memory than a run wants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.replay.memory.cache_replay import SHARES, CacheReplay
from engine.profile import PersistedRdd, Run

MB = 1e6


def run_of(*needed: tuple[int, ...], sizes: dict[int, float | None], drops: dict[int, int]) -> Run:
    """Stages one after the other, each needing so many RDDs; `drops` says after which stage an RDD
    is unpersisted."""
    stages = [
        Stage(np.full(4, 1.0), (), i, more={"needed_rdds": rdds, "cached_rdds": rdds})
        for i, rdds in enumerate(needed)
    ]
    jobs = [Job((place - 1,) if place else (), 0.1) for place in range(len(needed))]
    run = observed(stages, jobs, slots=4, input_bytes=1e9)
    kept = tuple(PersistedRdd(rdd, size, drops.get(rdd)) for rdd, size in sizes.items())
    return replace(run, persisted_rdds=kept)


def replay_of(*needed: tuple[int, ...], sizes: dict[int, float | None], **more: int) -> CacheReplay:
    drops = {int(name.removeprefix("rdd")): after for name, after in more.items()}
    found = CacheReplay.of(run_of(*needed, sizes=sizes, drops=drops))
    assert found is not None
    return found


def told(*needed: tuple[int, ...], reads: Sequence[float], sizes: dict[int, float | None]) -> Run:
    """Stages that say how much they read of cached blocks."""
    run = run_of(*needed, sizes=sizes, drops={})
    stages = tuple(
        replace(stage, cached_input_bytes=read)
        for stage, read in zip(run.stages, reads, strict=True)
    )
    return replace(run, stages=stages)


def test_what_is_read_beside_the_stage_that_computes_an_rdd_tells_no_size() -> None:
    """It computed some of it too, on other executors: a later stage tells."""
    run = told((1,), (1,), (1,), reads=(0.0, 300 * MB, 40 * MB), sizes={1: None})
    beside = replace(run.stages[1], submitted_seconds=run.stages[0].submitted_seconds)
    found = CacheReplay.of(replace(run, stages=(run.stages[0], beside, run.stages[2])))
    assert found.stored_bytes == {1: 40 * MB}


def step_by_step(
    needed: Sequence[tuple[int, ...]],
    sizes: Mapping[int, float],
    cost: Mapping[int, float],
    capacity: float,
    drops: Mapping[int, int],
) -> list[float]:
    """Spark's block store as a list of blocks, oldest use first: 16 of each RDD, and a quarter of a
    block more while it is stored."""
    origins: dict[int, int] = {}
    for place, rdds in enumerate(needed):
        for rdd in rdds:
            origins.setdefault(rdd, place)
    held: list[tuple[int, int]] = []
    given_up: set[int] = set()

    def store(block: tuple[int, int]) -> None:
        if block[0] in given_up:
            return
        free = capacity - sum(sizes[rdd] / 16 for rdd, _ in held)
        wanted = 1.25 * sizes[block[0]] / 16
        leaving = []
        for other in held:
            if free >= wanted - 1.0:
                break
            if other[0] != block[0]:
                leaving.append(other)
                free += sizes[other[0]] / 16
        if free >= wanted - 1.0:
            held[:] = [other for other in held if other not in leaving] + [block]

    def seconds_to_have(block: tuple[int, int]) -> float:
        if block in held:
            held.append(held.pop(held.index(block)))
            return 0.0
        rdd, index = block
        behind = needed[origins[rdd]]
        before = behind[behind.index(rdd) + 1 :]
        seconds = cost[rdd] / 16 + sum(seconds_to_have((other, index)) for other in before)
        store(block)
        return seconds

    found = []
    for place, rdds in enumerate(needed):
        seconds = 0.0
        for index in np.random.default_rng(place).permutation(16).tolist():
            seconds += sum(seconds_to_have((rdd, index)) for rdd in rdds if origins[rdd] != place)
            for rdd in reversed(rdds):
                if origins[rdd] == place:
                    store((rdd, index))
        found.append(seconds)
        given_up |= {rdd for rdd, after in drops.items() if after == place}
        held[:] = [block for block in held if block[0] not in given_up]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_replay_is_that_of_a_store_written_down_step_by_step(seed: int) -> None:
    random = np.random.default_rng(seed)
    needed = tuple(
        tuple(random.permutation(6)[: random.integers(0, 5)].tolist()) for _ in range(10)
    )
    rdds = {rdd for own in needed for rdd in own}
    sizes = {rdd: float(random.uniform(5, 50)) * MB for rdd in rdds}
    cost = {rdd: float(random.uniform(1, 9)) for rdd in rdds}
    drops = {rdd: int(random.integers(0, 10)) for rdd in rdds if random.random() < 0.4}
    cache = replay_of(*needed, sizes={**sizes}, **{f"rdd{rdd}": at for rdd, at in drops.items()})
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.1):
        capacity = share * sum(sizes.values())
        expected = step_by_step(needed, sizes, cost, capacity, drops)
        assert cache.recompute_seconds(cost, capacity) == pytest.approx(expected)


def test_an_rdd_that_is_persisted_again_was_not_there_in_between() -> None:
    """Two data sets that are never there together want no more than the larger, and lose nothing in
    as much; what the second time stores is read again, not what the first time stored."""
    run = run_of((1,), (1,), (2,), (2,), (1,), (1,), sizes={1: None, 2: None}, drops={})
    lives = (PersistedRdd(1, 60 * MB, 1), PersistedRdd(1, 60 * MB, 5), PersistedRdd(2, 40 * MB, 3))
    cache = CacheReplay.of(replace(run, persisted_rdds=lives))
    assert cache.peak_bytes == 60 * MB
    assert sorted(cache.origins.values()) == [0, 2, 4]
    cost = dict.fromkeys(cache.origins, 100.0)
    assert cache.recompute_seconds(cost, 1.25 * 60 * MB) == (0.0,) * 6
    found = cache.recompute_seconds(cost, 0.0)
    assert found == pytest.approx((0.0, 100.0, 0.0, 100.0, 0.0, 100.0))


def test_lives_of_several_rdds_are_each_their_own() -> None:
    """1 and 2 are each persisted twice, 1 with disk behind it the second time; 3 has a number that
    no log of persisted data names."""
    run = run_of((1,), (2,), (3,), (1,), (2,), (1, 2), sizes={}, drops={})
    stages = [*run.stages]
    for place in (3, 5):
        stages[place] = replace(stages[place], disk_backed_rdds=(1,))
    lives = tuple(
        PersistedRdd(rdd, size * MB, after)
        for rdd, size, after in ((1, 10, 0), (1, 20, None), (2, 30, 1), (2, 40, None))
    )
    reads = tuple(replace(stage, cached_input_bytes=60 * MB) for stage in stages)
    cache = CacheReplay.of(replace(run, stages=reads, persisted_rdds=lives))
    (one,), (two,), *_, (again_one,), (again_two,), last = cache.needed
    assert len({one, two, 3, again_one, again_two}) == 5
    assert last == (again_one, again_two)
    assert [cache.stored_bytes[rdd] for rdd in (one, two, *last)] == [
        10 * MB, 30 * MB, 20 * MB, 40 * MB
    ]  # fmt: skip
    assert cache.on_disk == {again_one}


def test_a_block_is_stored_where_there_is_a_quarter_more_room_than_it_takes() -> None:
    """Of 16 blocks 8 fit in the room of 8.3, and 7 in that of 8.2."""
    cache = replay_of((7,), (7,), sizes={7: 16 * MB})
    assert cache.recompute_seconds({7: 16.0}, 8.3 * MB)[1] == pytest.approx(8.0)
    assert cache.recompute_seconds({7: 16.0}, 8.2 * MB)[1] == pytest.approx(9.0)


def test_room_to_the_last_digit_is_enough() -> None:
    """Sums of sixteen times a tenth are not exact."""
    cache = replay_of((1,), (1,), (2,), (2,), (1,), sizes={1: 1.6, 2: 1.6})
    cost = {1: 16.0, 2: 16.0}
    assert cache.recompute_seconds(cost, 1.625)[:4] == (0.0, 0.0, 0.0, 0.0)


def test_executors_hold_a_seventh_more_or_less_than_their_part() -> None:
    """Of one data set the replay loses 17 - k of 16 blocks where k fit (15, 13, 11 ... 3, 2 at k of
    2, 4, 6 ... 14, 15, none at 16); executors with 15 % less or more memory are between these."""
    lost = replay_of((7,), (7,), sizes={7: 80 * MB}).miss_seconds({7: 16.0}, 80 * MB)[1]
    at = dict(zip((16 * SHARES).tolist(), lost.tolist(), strict=True))
    assert at[8.0] == pytest.approx((10.2 + 9.0 + 7.8) / 3)
    assert at[14.0] == pytest.approx((5.1 + 3.0 + 0.0) / 3)
    assert at[15.0] == pytest.approx((4.25 + 2.0 + 0.0) / 3)


def test_of_a_single_data_set_the_part_that_fits_stays() -> None:
    """Spark drops no block of an RDD for another of the same RDD. What is lost is what memory does
    not hold, and a little for the room that a block needs while it is stored, and for executors
    that get more of them than others."""
    cache = replay_of((7,), (7,), (7,), (7,), sizes={7: 80 * MB})
    lost = cache.miss_seconds({7: 100.0}, 80 * MB)
    assert sorted(lost) == [1, 2, 3]
    for table in lost.values():
        assert table == pytest.approx(100.0 * (1.0 - SHARES), abs=7.0)
        assert table[0] == pytest.approx(100.0)
        assert table[-1] == 0.0


def test_two_data_sets_read_in_turn_lose_twice_what_does_not_fit() -> None:
    """Each drops the other's oldest blocks, which are the next to be read."""
    turns = ((1,), (2,)) * 4
    cache = replay_of((1,), (2,), *turns, sizes={1: 50 * MB, 2: 50 * MB})
    lost = cache.miss_seconds({1: 100.0, 2: 100.0}, 100 * MB)
    at = {share: float(np.interp(share, SHARES, lost[6])) for share in (0.5, 0.75, 0.9375)}
    assert at[0.5] == pytest.approx(100.0, abs=5.0)
    assert at[0.75] == pytest.approx(2 * 25.0, abs=7.0)
    assert at[0.9375] == pytest.approx(2 * 6.25, abs=10.0)


def test_generations_are_computed_again_from_further_and_further_back() -> None:
    """Without memory the k-th generation costs k: each comes from the one before."""
    count = 6
    chain = tuple((k, k - 1) if k else (0,) for k in range(count))
    sizes: dict[int, float | None] = dict.fromkeys(range(count), 10 * MB)
    cache = replay_of(*chain, sizes=sizes)
    cost = dict.fromkeys(range(count), 3.0)
    assert cache.recompute_seconds(cost, 0.0) == pytest.approx(
        [0.0, *(3.0 * k for k in range(1, 6))]
    )
    lost = cache.recompute_seconds(cost, 15 * MB)
    assert 3.0 < lost[-1] < 15.0
    drops = {f"rdd{k}": k + 1 for k in range(count - 1)}
    tidy = replay_of(*chain, sizes=sizes, **drops)
    assert tidy.recompute_seconds(cost, 21 * MB) == pytest.approx([0.0] * count)


def test_generations_that_were_given_up_are_computed_again_to_a_depth_of_200() -> None:
    """What the task reads and 200 before it."""
    count = 300
    chain = tuple((k, k - 1) if k else (0,) for k in range(count))
    sizes: dict[int, float | None] = dict.fromkeys(range(count), 1 * MB)
    drops = {f"rdd{k}": count - 1 for k in range(count)}
    cache = replay_of(*chain, (count - 1,), sizes=sizes, **drops)
    found = cache.recompute_seconds(dict.fromkeys(range(count), 2.0), 1000 * MB)
    assert found[:count] == (0.0,) * count
    assert found[count] == pytest.approx(2.0 * 201)


def test_generations_that_each_need_two_before_them_come_to_an_end() -> None:
    """Counted one by one they would be as many as the Fibonacci numbers."""
    count = 90
    chain = tuple(tuple(k - back for back in range(min(k, 2) + 1)) for k in range(count))
    sizes: dict[int, float | None] = dict.fromkeys(range(count), 1 * MB)
    drops = {f"rdd{k}": count - 1 for k in range(count)}
    cache = replay_of(*chain, (count - 1,), (), sizes=sizes, **drops)
    found = cache.recompute_seconds(dict.fromkeys(range(count), 16.0), 1000 * MB)
    assert 4_000 <= found[count] < 10_000
    assert found[count + 1] == 0.0


def test_what_lies_on_disk_is_read_there_and_not_computed_again() -> None:
    count = 4
    chain = tuple((k, k - 1) if k else (0,) for k in range(count))
    sizes: dict[int, float | None] = dict.fromkeys(range(count), 10 * MB)
    run = run_of(*chain, sizes=sizes, drops={})
    stages = tuple(replace(s, disk_backed_rdds=s.cached_rdds) for s in run.stages)
    cache = CacheReplay.of(replace(run, stages=stages))
    cost = dict.fromkeys(range(count), 3.0)
    assert cache.recompute_seconds(cost, 0.0) == pytest.approx([0.0, 3.0, 3.0, 3.0])


def test_unpersisted_data_makes_room() -> None:
    """RDD 1 is dropped before the loop over 2 begins: both never have to fit at once."""
    needed = ((1,), (2, 1), (2,), (2,))
    sizes: dict[int, float | None] = {1: 60 * MB, 2: 60 * MB}
    cost = {1: 10.0, 2: 10.0}
    kept = replay_of(*needed, sizes=sizes).recompute_seconds(cost, 61 * MB)
    dropped = replay_of(*needed, sizes=sizes, rdd1=1).recompute_seconds(cost, 61 * MB)
    assert sum(dropped) <= sum(kept)
    assert dropped[3] < 0.2 * cost[2]


def test_several_rdds_may_be_unpersisted_at_once() -> None:
    needed = ((2, 1), (3, 2, 1), (3,))
    cache = replay_of(*needed, sizes={1: 30 * MB, 2: 30 * MB, 3: 60 * MB}, rdd1=0, rdd2=0)
    cost = {1: 10.0, 2: 10.0, 3: 10.0}
    assert cache.recompute_seconds(cost, 76 * MB) == pytest.approx((0.0, 30.0, 0.0))


def test_what_is_wanted_at_once_counts_the_stage_that_needs_it_last() -> None:
    sizes: dict[int, float | None] = {1: 60 * MB, 2: 50 * MB, 3: 40 * MB}
    assert replay_of((1,), (2, 1), (3,), sizes=sizes).peak_bytes == 110 * MB


def test_sizes_follow_from_what_stages_read_where_the_log_has_none() -> None:
    run = run_of((1,), (2, 1), (2,), (3, 2, 1), sizes={1: None, 2: None, 3: None}, drops={})
    reads = (0.0, 30 * MB, 20 * MB, 50 * MB)
    stages = tuple(
        replace(stage, cached_input_bytes=read)
        for stage, read in zip(run.stages, reads, strict=True)
    )
    cache = CacheReplay.of(replace(run, stages=stages))
    assert cache.stored_bytes == {1: 30 * MB, 2: 20 * MB, 3: 0.0}
    assert cache.peak_bytes == 50 * MB


def test_rdds_that_are_only_read_together_take_equal_parts() -> None:
    """Bytes read and stored are not counted quite alike: 1 % beyond what is known is no other."""
    run = told((1,), (3, 2), (1,), (3, 2, 1), reads=(0.0, 0.0, 10 * MB, 70 * MB), sizes={})
    cache = CacheReplay.of(run)
    assert cache.stored_bytes == {1: 10 * MB, 2: 30 * MB, 3: 30 * MB}
    alike = told((1,), (2,), (1,), (2, 1), reads=(0.0, 0.0, 10 * MB, 10.1 * MB), sizes={})
    cache = CacheReplay.of(alike)
    assert cache.stored_bytes == {1: 10 * MB, 2: 0.0}
    more = CacheReplay.of(told((1,), (2,), (1,), (2, 1), reads=(0, 0, 10 * MB, 12 * MB), sizes={}))
    assert more.stored_bytes == {1: 10 * MB, 2: 2 * MB}


def test_wrappers_without_blocks_of_their_own_stand_for_what_lies_behind() -> None:
    """Edges of GraphX say that they are persisted; what is stored is the RDD that they wrap."""
    sizes: dict[int, float | None] = {2: None, 1: 40 * MB, 4: None, 3: 10 * MB}
    cache = replay_of((2, 1), (4, 3, 2), (4,), (3, 2), sizes=sizes)
    assert cache.needed == ((1,), (3, 1), (3,), (3, 1))
    assert cache.origins == {1: 0, 3: 1}


def test_no_answer_where_sizes_or_needs_are_unknown() -> None:
    assert CacheReplay.of(run_of((1,), (1,), sizes={1: None}, drops={})) is None
    assert CacheReplay.of(run_of((), (), sizes={}, drops={})) is None
    assert CacheReplay.of(run_of((), (), sizes={1: 10 * MB}, drops={})) is None
    untold = run_of((1,), (), sizes={1: 10 * MB}, drops={})
    reads = replace(untold.stages[1], cached_rdds=(1,), cached_input_bytes=10 * MB)
    assert CacheReplay.of(replace(untold, stages=(untold.stages[0], reads))) is None
    for harmless in (replace(reads, cached_rdds=()), replace(reads, cached_input_bytes=None)):
        assert CacheReplay.of(replace(untold, stages=(untold.stages[0], harmless))) is not None


def test_more_memory_never_loses_more() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        needed = tuple(
            tuple(int(r) for r in random.permutation(6)[: random.integers(1, 4)]) for _ in range(12)
        )
        sizes: dict[int, float | None] = {r: float(random.uniform(5, 50)) * MB for r in range(6)}
        cache = replay_of(*needed, sizes=sizes)
        cost = {r: float(random.uniform(1, 9)) for r in range(6)}
        tables = cache.miss_seconds(cost, 150 * MB)
        assert tables
        for table in tables.values():
            assert (np.diff(table) <= 0.0).all()
            assert table[-1] == 0.0


def test_many_generations_end_soon() -> None:
    """A thousand generations in no memory at all are counted as far as 4,000 lost blocks go: 16 of
    each of 1 + 2 + ... + 22."""
    chain = tuple((k, k - 1) if k else (0,) for k in range(1000))
    sizes: dict[int, float | None] = dict.fromkeys(range(1000), 10 * MB)
    cache = replay_of(*chain, (), sizes=sizes)
    found = cache.recompute_seconds(dict.fromkeys(range(1000), 1.0), 0.0)
    assert found[:23] == pytest.approx(range(23))
    assert found[23:] == pytest.approx([22.0] * 977 + [0.0])
