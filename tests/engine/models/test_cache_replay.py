"""The replay of Spark's block store: what is lost in less memory than a run wants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.replay.cache_replay import SHARES, CacheReplay
from engine.profile import PersistedRdd, Run

MB = 1e6


def run_of(*needed: tuple[int, ...], sizes: dict[int, float | None], drops: dict[int, int]) -> Run:
    """Stages one after the other, each needing so many RDDs; `drops` says after which stage an RDD
    is unpersisted."""
    stages = [
        Stage(np.full(4, 1.0), (), i, more={"needed_rdds": rdds, "cached_rdds": rdds})
        for i, rdds in enumerate(needed)
    ]
    run = observed(stages, [Job((), 0.1) for _ in needed], slots=4, input_bytes=1e9)
    kept = tuple(PersistedRdd(rdd, size, drops.get(rdd)) for rdd, size in sizes.items())
    return replace(run, persisted_rdds=kept)


def replay_of(*needed: tuple[int, ...], sizes: dict[int, float | None], **more: int) -> CacheReplay:
    drops = {int(name.removeprefix("rdd")): after for name, after in more.items()}
    found = CacheReplay.of(run_of(*needed, sizes=sizes, drops=drops))
    assert found is not None
    return found


def test_an_rdd_that_is_persisted_again_was_not_there_in_between() -> None:
    """Two data sets that are never there together want no more than the larger, and lose nothing in
    as much; what the second time stores is read again, not what the first time stored."""
    run = run_of((1,), (1,), (2,), (2,), (1,), (1,), sizes={1: None, 2: None}, drops={})
    lives = (PersistedRdd(1, 60 * MB, 1), PersistedRdd(1, 60 * MB, 5), PersistedRdd(2, 40 * MB, 3))
    cache = CacheReplay.of(replace(run, persisted_rdds=lives))
    assert cache is not None
    assert cache.most_bytes == 60 * MB
    assert sorted(cache.origins.values()) == [0, 2, 4]
    cost = dict.fromkeys(cache.origins, 100.0)
    assert cache.again_seconds(cost, 1.25 * 60 * MB) == (0.0,) * 6
    found = cache.again_seconds(cost, 0.0)
    assert found == pytest.approx((0.0, 100.0, 0.0, 100.0, 0.0, 100.0))


def test_of_a_single_data_set_the_part_that_fits_stays() -> None:
    """Spark drops no block of an RDD for another of the same RDD. What is lost is what memory does
    not hold, and a little for the room that a block needs while it is stored, and for executors
    that get more of them than others."""
    cache = replay_of((7,), (7,), (7,), (7,), sizes={7: 80 * MB})
    lost = cache.lost_seconds({7: 100.0}, 80 * MB)
    assert sorted(lost) == [1, 2, 3]
    for table in lost.values():
        assert table == pytest.approx(100.0 * (1.0 - SHARES), abs=7.0)
        assert table[0] == pytest.approx(100.0)
        assert table[-1] == 0.0


def test_two_data_sets_read_in_turn_lose_twice_what_does_not_fit() -> None:
    """Each drops the other's oldest blocks, which are the next to be read."""
    turns = ((1,), (2,)) * 4
    cache = replay_of((1,), (2,), *turns, sizes={1: 50 * MB, 2: 50 * MB})
    lost = cache.lost_seconds({1: 100.0, 2: 100.0}, 100 * MB)
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
    assert cache.again_seconds(cost, 0.0) == pytest.approx([0.0, *(3.0 * k for k in range(1, 6))])
    lost = cache.again_seconds(cost, 15 * MB)
    assert 3.0 < lost[-1] < 15.0
    drops = {f"rdd{k}": k + 1 for k in range(count - 1)}
    tidy = replay_of(*chain, sizes=sizes, **drops)
    assert tidy.again_seconds(cost, 21 * MB) == pytest.approx([0.0] * count)


def test_what_lies_on_disk_is_read_there_and_not_computed_again() -> None:
    count = 4
    chain = tuple((k, k - 1) if k else (0,) for k in range(count))
    sizes: dict[int, float | None] = dict.fromkeys(range(count), 10 * MB)
    run = run_of(*chain, sizes=sizes, drops={})
    stages = tuple(replace(s, disk_backed_rdds=s.cached_rdds) for s in run.stages)
    cache = CacheReplay.of(replace(run, stages=stages))
    assert cache is not None
    cost = dict.fromkeys(range(count), 3.0)
    assert cache.again_seconds(cost, 0.0) == pytest.approx([0.0, 3.0, 3.0, 3.0])


def test_unpersisted_data_makes_room() -> None:
    """RDD 1 is dropped before the loop over 2 begins: both never have to fit at once."""
    needed = ((1,), (2, 1), (2,), (2,))
    sizes: dict[int, float | None] = {1: 60 * MB, 2: 60 * MB}
    cost = {1: 10.0, 2: 10.0}
    kept = replay_of(*needed, sizes=sizes).again_seconds(cost, 61 * MB)
    dropped = replay_of(*needed, sizes=sizes, rdd1=1).again_seconds(cost, 61 * MB)
    assert sum(dropped) <= sum(kept)
    assert dropped[3] < 0.2 * cost[2]


def test_sizes_follow_from_what_stages_read_where_the_log_has_none() -> None:
    run = run_of((1,), (2, 1), (2,), (3, 2, 1), sizes={1: None, 2: None, 3: None}, drops={})
    reads = (0.0, 30 * MB, 20 * MB, 50 * MB)
    stages = tuple(
        replace(stage, cached_input_bytes=read)
        for stage, read in zip(run.stages, reads, strict=True)
    )
    cache = CacheReplay.of(replace(run, stages=stages))
    assert cache is not None
    assert cache.stored_bytes == {1: 30 * MB, 2: 20 * MB, 3: 0.0}
    assert cache.most_bytes == 50 * MB


def test_wrappers_without_blocks_of_their_own_stand_for_what_lies_behind() -> None:
    """Edges of GraphX say that they are persisted; what is stored is the RDD that they wrap."""
    sizes: dict[int, float | None] = {2: None, 1: 40 * MB, 4: None, 3: 10 * MB}
    cache = replay_of((2, 1), (4, 3, 2), (4,), (3, 2), sizes=sizes)
    assert cache.needed == ((1,), (3, 1), (3,), (3, 1))
    assert cache.origins == {1: 0, 3: 1}


def test_no_answer_where_sizes_or_needs_are_unknown() -> None:
    assert CacheReplay.of(run_of((1,), (1,), sizes={1: None}, drops={})) is None
    assert CacheReplay.of(run_of((), (), sizes={}, drops={})) is None
    untold = run_of((1,), (), sizes={1: 10 * MB}, drops={})
    reads = replace(untold.stages[1], cached_rdds=(1,), cached_input_bytes=10 * MB)
    assert CacheReplay.of(replace(untold, stages=(untold.stages[0], reads))) is None


def test_more_memory_never_loses_more() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        needed = tuple(
            tuple(int(r) for r in random.permutation(6)[: random.integers(1, 4)]) for _ in range(12)
        )
        sizes: dict[int, float | None] = {r: float(random.uniform(5, 50)) * MB for r in range(6)}
        cache = replay_of(*needed, sizes=sizes)
        cost = {r: float(random.uniform(1, 9)) for r in range(6)}
        for table in cache.lost_seconds(cost, 150 * MB).values():
            assert (np.diff(table) <= 0.0).all()
            assert table[-1] == 0.0


def test_many_generations_end_soon() -> None:
    """A thousand generations in no memory at all are counted as far as that goes, not for ever."""
    chain = tuple((k, k - 1) if k else (0,) for k in range(1000))
    sizes: dict[int, float | None] = dict.fromkeys(range(1000), 10 * MB)
    found = replay_of(*chain, sizes=sizes).again_seconds(dict.fromkeys(range(1000), 1.0), 0.0)
    assert len(found) == 1000
    assert found[0] == 0.0
    assert found[-1] == max(found) >= 10.0
