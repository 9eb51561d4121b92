"""Coalesced shuffle partitions: as many as real Spark 3.5.9 had, on any number of cores."""

from pathlib import Path

import numpy as np
import pytest
from test_partitions import models, plan

from engine import read
from engine.forecast import FloatArray
from engine.models.stages.partitioning.coalesced_partitions import (
    CoalescedPartitions,
    coalesced_within,
)
from engine.models.stages.stage_models import stage_models
from engine.stage_run import total_of
from engine.units import MIB

CORES = np.asarray([2, 4, 8, 16, 24, 32, 40, 50, 64, 80, 100, 128, 160, 200, 250], dtype=float)
SAMPLES = Path(__file__).parents[3] / "sample_logs"
SIZES, SHORT = ("small", "large"), 18
FEATURES, JOINED = ("nightly-features.zstd", "nightly-features-small.zstd"), 5
OF_200 = [3, 5, 9, 17, 25, 34, 45, 59, 67, 100, 132, 200, 200, 200, 200]
"""Tasks after a shuffle of two million keys in 200 partitions, by `minPartitionNum`, with no least
size of a partition."""


def coalesced(
    partitions: float = 200.0, *, least: float = 1.0, seen: float = 3.0
) -> CoalescedPartitions:
    """A shuffle of 1 GiB, known from two cores."""
    return CoalescedPartitions(
        partitions, 1024.0 * MIB, least, 1e6 * MIB, 2.0, seen, observed_initial=partitions
    )


def test_whole_partitions_are_coalesced_as_spark_coalesced_them() -> None:
    found = np.ceil(coalesced().count(CORES, 1.0))
    assert found == pytest.approx(OF_200, rel=0.05, abs=1.0)


def test_a_share_of_a_whole_number_holds_one_fewer_as_often_as_not() -> None:
    found = coalesced_within(np.asarray([0.5, 1.0, 2.0, 2.5, 3.9, 4.0, 4.1]))
    assert found == pytest.approx([1.0, 1.0, 1.5, 2.0, 3.15, 3.5, 3.85], abs=0.02)


def test_a_small_last_one_is_coalesced_with_that_before() -> None:
    """Half a per cent of 4 MiB; of 400 MiB it is a task of its own."""
    small = CoalescedPartitions(200.0, 4.0 * MIB, MIB, 1024.0 * MIB, 2.0, 2.0, 200.0)
    assert small.count(np.asarray([2.0]), 1.0).tolist() == [2.0]
    assert 2.0 < small.count(np.asarray([2.0]), 100.0)[0] < 2.1
    assert small.count(np.asarray([40.0]), 1.0).tolist() == [4.0], "none is below 1 MiB"


@pytest.mark.parametrize(
    ("partitions", "cores", "spark"),
    [
        (200.0, 100.0, {1.78: 1, 2.17: 2, 5.83: 5, 6.13: 6, 8.9: 8, 12.85: 13, 19.77: 20,
                        26.69: 25, 39.54: 39, 48.43: 47, 59.31: 50, 79.08: 66}),
        (24.0, 100.0, {1.78: 1, 5.83: 5, 8.9: 8, 12.85: 12, 19.77: 12, 26.69: 24, 79.08: 24}),
        (200.0, 20.0, {1.78: 1, 8.9: 8, 12.85: 13, 19.77: 20, 26.69: 21, 79.08: 21}),
    ],
)  # fmt: skip
def test_what_holds_less_than_the_least_size_takes_the_next_one_too(
    partitions: float, cores: float, spark: dict[float, int]
) -> None:
    """Shuffles of so many MiB in Spark 3.5.9, and (20 cores) in 4.0.5: a task for each whole MiB at
    most, and of few large partitions each second or third. By the sum alone 1.78 MiB are 2 tasks,
    59.31 are 60 and 79.08 are 80."""
    for mib, tasks in spark.items():
        shuffle = CoalescedPartitions(
            partitions, mib * MIB, MIB, 64.0 * MIB, 2.0, min(2.0, tasks), partitions
        )
        found = np.ceil(shuffle.count(np.asarray(cores), 1.0))
        assert found == pytest.approx(tasks, abs=1.0 if mib > 2.0 else 0.0), mib


def test_one_task_of_a_little_more_than_the_least_size_does_not_say_size_alone() -> None:
    """1.2 MB in one task on two slots, since a last partition of less than 1 MiB goes with that
    before: in the larger log its 3.8 MB are two tasks, one for each core."""
    small, large = (read(SAMPLES / f"sales-report-{size}.zstd").runs[0] for size in SIZES)
    known, seen = (next(s for s in run.stages if s.stage_id == SHORT) for run in (small, large))
    assert (known.tasks, seen.tasks) == (1, 2)
    assert small.cluster.slots == large.cluster.slots == 2
    (model,) = [one for one in stage_models(small, 2) if one.stage.stage_id == SHORT]
    assert model.depends_on_cluster
    assert model.scaled(total_of(seen.shuffle_read_bytes) / total_of(known.shuffle_read_bytes),
                        None).tasks == seen.tasks  # fmt: skip
    assert model.scaled(9.0, None, 16).tasks > 8


def test_an_advisory_size_of_the_least_size_leaves_each_partition_the_least_size() -> None:
    """785 MiB in 200 partitions stay 200, and 131 MiB are 100, since two of them are joined until
    they have 1 MiB. By the advisory size alone the latter are 131."""
    large, small = (read(SAMPLES / name).runs[0] for name in FEATURES)
    known, seen = (next(s for s in run.stages if s.stage_id == JOINED) for run in (large, small))
    assert (known.tasks, seen.tasks) == (200, 100)
    (model,) = [one for one in stage_models(large, 2) if one.stage.stage_id == JOINED]
    read_share = total_of(seen.shuffle_read_bytes) / total_of(known.shuffle_read_bytes)
    assert model.scaled(read_share, None).tasks == seen.tasks


@pytest.mark.parametrize("seen", [2.0, 3.0, 8.0])
@pytest.mark.parametrize("partitions", [7.0, 40.0, 200.0])
@pytest.mark.parametrize(("least", "advisory"), [(0.0, 64.0), (MIB, 64.0), (MIB, 1.0)])
def test_more_input_never_has_fewer_partitions(
    seen: float, partitions: float, least: float, advisory: float
) -> None:
    shuffle = CoalescedPartitions(
        partitions, 300.0 * MIB, least, advisory * MIB, 4.0, seen, observed_initial=partitions
    )
    ratios = np.geomspace(0.01, 100.0, 300)
    by_cores = np.asarray([shuffle.count(CORES, ratio) for ratio in ratios]).T
    own = np.asarray([shuffle.on_log_cores(ratio) for ratio in ratios])
    assert own[ratios.searchsorted(1.0)] == pytest.approx(min(seen, partitions), rel=0.05)
    for found in (own, *by_cores):
        assert (np.diff(found) >= -1e-9).all()
        assert found.max() <= partitions


def test_a_log_with_one_more_than_the_rule_has_no_more_for_each_core() -> None:
    """Three tasks on two cores, of which the last is small, are not 1.5 for each core."""
    assert coalesced(seen=3.0).count(CORES, 1.0) == pytest.approx(
        coalesced(seen=2.0).count(CORES, 1.0)
    )
    assert coalesced(seen=6.0).count(np.asarray([50.0]), 1.0)[0] > 150.0


def test_a_log_with_twice_the_rule_s_number_has_twice_as_many_everywhere() -> None:
    """Two for each of two cores: no count of leftovers explains that."""
    cores = np.asarray([2.0, 4.0, 10.0, 24.0])
    found, ruled = coalesced(seen=4.0).count(cores, 1.0), coalesced(seen=2.0).count(cores, 1.0)
    assert found / ruled == pytest.approx([2.0] * 4, rel=0.01)


def by_size(mib: float, seen: float) -> CoalescedPartitions:
    """A shuffle in 200 partitions, to be coalesced to 64 MiB each."""
    return CoalescedPartitions(200.0, mib * MIB, MIB, 64.0 * MIB, 2.0, seen, observed_initial=200.0)


@pytest.mark.parametrize(("mib", "seen"), [(1024.0, 18.0), (1040.0, 19.0), (3072.0, 66.7)])
def test_up_to_one_more_than_the_rule_is_as_many_more_of_more_input(
    mib: float, seen: float
) -> None:
    """Of 5.12 MiB each 11 or 12 fill 64 MiB: 17.7 tasks. A leftover makes 18, and 37.75 of twice as
    much, where the rule has 37.45."""
    shuffle, cores = by_size(mib, seen), np.asarray([2.0])
    more = seen - shuffle.count(cores, 1.0)[0]
    assert 0.0 <= more < 1.0
    for ratio in (1.05, 2.0):
        assert shuffle.on_log_cores(ratio) - shuffle.count(cores, ratio)[0] == pytest.approx(more)


@pytest.mark.parametrize(("mib", "seen"), [(1024.0, 17.0), (2.0, 1.0), (160.0, 2.0)])
def test_up_to_one_fewer_than_the_rule_is_as_many_fewer_of_more_input(
    mib: float, seen: float
) -> None:
    """One task where the rule has two says that a leftover fitted, not that half as many are
    enough for ten times the data."""
    shuffle, cores = by_size(mib, seen), np.asarray([2.0])
    fewer = shuffle.count(cores, 1.0)[0] - seen
    assert 0.0 < fewer <= 1.0
    assert shuffle.on_log_cores(1.0) == seen
    for ratio in (1.05, 2.0, 10.0):
        ruled = shuffle.count(cores, ratio)[0]
        assert ruled - shuffle.on_log_cores(ratio) == pytest.approx(fewer)


def test_more_than_one_above_the_rule_is_that_share_of_any_input() -> None:
    shuffle, cores = by_size(1024.0, 20.0), np.asarray([2.0])
    assert shuffle.count(cores, 1.0) == pytest.approx([20.0])
    assert shuffle.on_log_cores(2.0) == pytest.approx(20.0 / 17.73 * 37.45, rel=1e-3)


@pytest.mark.parametrize("seen", [1.0, 4.0, 8.0])
def test_fewer_than_fill_the_advisory_size_still_grow_up_to_the_configured_number(
    seen: float,
) -> None:
    """1 GiB in so few of 200: a hundred times as much fills 1,600 of 64 MiB."""
    shuffle, cores = by_size(1024.0, seen), np.asarray([2.0])
    for found in (shuffle.on_log_cores(100.0), shuffle.count(cores, 100.0)[0]):
        assert found == pytest.approx(min(200.0, 100.0 * seen))
    assert shuffle.count(cores, 0.001).tolist() == [1.0]


def spark_joins(sizes: FloatArray, cores: float) -> int:
    """Tasks of `ShufflePartitionsUtil.coalescePartitions` for partitions of so many MiB."""
    target, tasks, current = max(1.0, min(64.0, sizes.sum() / cores)), 1, 0.0
    for size in sizes:
        if 0.0 < current < 1.0 or current + size <= target:
            current += size
        else:
            tasks, current = tasks + (current > 0.0), size
    return tasks


@pytest.mark.parametrize("mean", [20.0, 34.0, 45.0])
@pytest.mark.parametrize("spread", [0.05, 0.2, 0.4, 0.8])
def test_partitions_of_unlike_sizes_are_joined_as_in_spark(spread: float, mean: float) -> None:
    """Some fit together where two mean ones do not: in the log, so elsewhere."""
    sizes = np.random.default_rng(1).lognormal(0.0, np.sqrt(np.log1p(spread**2)), 200)
    sizes *= mean / sizes.mean()
    total = sizes.sum()
    seen = spark_joins(sizes, 2.0)
    shuffle = CoalescedPartitions(
        200.0, total * MIB, MIB, 64.0 * MIB, 2.0, float(seen), observed_initial=200.0
    )
    for cores, ratio in ((2.0, 1.0), (64.0, 1.0), (400.0, 1.0), (64.0, 0.1)):
        found = shuffle.count(np.asarray([cores]), ratio)[0]
        assert found == pytest.approx(spark_joins(ratio * sizes, cores), rel=0.2), (cores, ratio)


OF_ADVISORY = {
    200: {0.53: 200, 1.53: 200, 1.87: 200, 2.13: 121, 3.0: 100, 3.67: 67, 4.17: 61, 4.87: 50,
          6.07: 40, 7.93: 29, 8.33: 28},
    40: {0.53: 40, 1.53: 40, 1.87: 40, 2.13: 20, 3.0: 20, 3.67: 14, 4.17: 11, 4.87: 10, 6.07: 8,
         7.93: 6, 8.33: 6},
}  # fmt: skip
"""Tasks of Spark 3.5.9 after a shuffle of 13.8 MB in 200 and in 40 partitions, by how many times
the mean partition is advised."""

WRONG = (40, 2.13)
"""The shuffle whose sizes are more alike than expected: the rule has 24 tasks for 20."""


@pytest.mark.parametrize("partitions", OF_ADVISORY)
def test_whole_partitions_fill_the_advisory_size(partitions: int) -> None:
    """Of those above half of it none are joined. By the sum alone 200 are 107, 94, 67 and 54 where
    they stay 200 and are 121, 100 and 67. From log to log counts are within a tenth or two."""
    measured = OF_ADVISORY[partitions]
    for known, seen in measured.items():
        if (partitions, known) == WRONG:
            continue
        shuffle = CoalescedPartitions(
            float(partitions), 13.764e6, 1024.0, known * 13.764e6 / partitions, 2.0, float(seen),
            float(partitions),
        )  # fmt: skip
        for advised, tasks in measured.items():
            found = float(shuffle.on_log_cores(known / advised))
            if (partitions, advised) == WRONG:
                assert found == pytest.approx(24.0, abs=2.5)
                continue
            assert found == pytest.approx(tasks, rel=0.1, abs=2.0), (known, advised)


def test_fewer_than_the_rule_s_number_is_never_less_than_one() -> None:
    """One where the rule has 17 says a seventeenth everywhere."""
    one = CoalescedPartitions(
        200.0, 1024.0 * MIB, 1.0, 1e6 * MIB, 16.0, 1.0, observed_initial=200.0
    )
    assert one.count(np.asarray([2.0, 8.0]), 1.0) == pytest.approx([1.0, 1.0])
    assert one.count(np.asarray([64.0]), 1.0) > 3.0


def test_the_log_s_own_cluster_has_what_was_seen() -> None:
    for seen in (2.0, 3.0, 7.0):
        assert coalesced(seen=seen).on_log_cores(1.0) == pytest.approx(seen)


@pytest.mark.parametrize("seen", [1.0, 8.0, 199.0])
def test_partitions_too_large_to_coalesce_are_those_that_hold_anything(seen: float) -> None:
    """48 GiB ask for 768 partitions of 64 MiB, so that none of 200 is coalesced: a log with 8 tasks
    has 192 empty ones (keys of few values), on any cluster and of more data."""
    keys = CoalescedPartitions(
        200.0, 48.0 * 1024.0 * MIB, MIB, 64.0 * MIB, 16.0, seen, observed_initial=200.0
    )
    assert keys.on_log_cores(1.0) == pytest.approx(seen)
    assert keys.on_log_cores(30.0) == pytest.approx(seen)
    assert keys.count(CORES, 1.0) == pytest.approx([seen] * len(CORES))


@pytest.mark.parametrize(
    ("seen", "spark"), [(8.0, {4: 3, 200: 8, 1000: 8}), (156.0, {4: 4, 200: 156, 1000: 262})]
)
def test_as_many_keys_fill_another_number_of_partitions(seen: float, spark: dict[int, int]) -> None:
    """8 and 300 keys in Spark 3.5.9, of two amounts of data: a key often finds its partition filled
    by another one."""
    for partitions, tasks in spark.items():
        keys = CoalescedPartitions(
            float(partitions), 48e3 * MIB, MIB, 64.0 * MIB, 16.0, seen, 200.0
        )
        found = [float(keys.on_log_cores(1.0)), float(keys.count(np.asarray(64.0), 3.0))]
        assert found == pytest.approx([tasks] * 2, rel=0.03, abs=0.5)


def test_another_number_of_shuffle_partitions_is_coalesced_anew() -> None:
    reader = models(plan())[1]
    assert reader.partition_count(1.0, 40).at(16) == pytest.approx(40.0 / 2.0, rel=0.02)
    assert reader.partition_count(1.0, 12).at(64) == 12.0
    on = reader.partition_count(2.5, None).on(CORES)
    assert [reader.partition_count(2.5, None).at(cores) for cores in CORES] == pytest.approx(on)


def test_a_number_of_partitions_to_begin_with_counts_before_the_usual_one() -> None:
    """Of 64 partitions two are coalesced for each of 30 cores, of 200 six or seven."""
    first = {"spark_sql_adaptive_coalescePartitions_initialPartitionNum": "64"}
    found = [models(plan(**config))[1].partition_count(1.0, None).at(30) for config in ({}, first)]
    assert found == pytest.approx([200.0 / 6.0, 32.0], rel=0.02)
