"""How many partitions Spark makes: its rules, and what a replay does with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitions import (
    SKEWED_BYTES,
    Growth,
    PartitioningSettings,
    configured_number,
    spark_version,
)
from engine.models.stages.stage_law import StageLaw
from engine.profile import Run
from engine.units import MIB

COALESCED_READ = {"sql_execution_id": 0, "operations": ("AQEShuffleRead", "Exchange")}
SCAN = {"sql_execution_id": 0, "operations": ("Scan csv", "Exchange")}


def plan(
    *, scan_tasks: int = 4, scan_mib: float = 256.0, coalesced_tasks: int = 4,
    shuffle_mib: float = 64.0, slots: int = 4, **config: str,
) -> Run:  # fmt: skip
    """A scan of files and the reader of its coalesced shuffle, on so many slots."""
    stages = [
        Stage(np.full(scan_tasks, 4.0), input_bytes=scan_mib * MIB, more=SCAN),
        Stage(
            np.full(coalesced_tasks, 4.0), (0,), shuffle_bytes=shuffle_mib * MIB,
            more=COALESCED_READ,
        ),
    ]  # fmt: skip
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return replace(observed(stages, slots=slots, config=settings), spark_version="3.5.1")


def models(run: Run) -> tuple[StageModel, ...]:
    return Replay.of(run).models


@pytest.mark.parametrize(
    ("total_mib", "slots", "partitions"),
    [
        (10.0, 4, 4.0),  # one for each core
        (10.0, 40, 10.0),  # none smaller than 1 MiB
        (0.2, 4, 1.0),
        (1024.0, 4, 16.0),  # none larger than 64 MiB
        (1024.0, 100, 100.0),
    ],
)
def test_coalesced_partitions(total_mib: float, slots: int, partitions: float) -> None:
    """Spark 3.5, ShufflePartitionsUtil.coalescePartitions with its defaults."""
    found = PartitioningSettings(4).coalesced_count(total_mib * MIB, slots)
    assert found == pytest.approx(partitions)


def test_coalescing_by_size_alone_looks_at_no_cores() -> None:
    run = plan(coalesced_tasks=1, spark_sql_adaptive_coalescePartitions_parallelismFirst="false")
    coalesced = models(run)[1]
    assert not coalesced.depends_on_cluster
    assert coalesced.scaled(8.0, None).tasks == coalesced.scaled(8.0, None, 400).tasks == 9


def test_a_log_that_coalesced_by_size_goes_on_so() -> None:
    """1 GiB in 16 partitions on 100 cores: 64 MiB each, whatever the settings do not say."""
    coalesced = models(plan(coalesced_tasks=16, shuffle_mib=1024.0, slots=100))[1]
    assert not coalesced.depends_on_cluster
    assert coalesced.scaled(2.0, None, 400).tasks == 32


def test_a_small_shuffle_is_cut_for_the_cores_whatever_its_size() -> None:
    """Half as much data again on the same cluster: as many partitions, each half as large again.
    Twice the data leave more than 1 MiB for a fifth, which stays by itself."""
    coalesced = models(plan())[1]
    same, more = coalesced.scaled(1.5, None), coalesced.scaled(2.0, None)
    assert (same.tasks, same.work) == (4, pytest.approx(1.5))
    assert (more.tasks, more.work) == (5, pytest.approx(2.0, rel=0.02))
    assert coalesced.scaled(1.0, None, 16).tasks == 17
    assert coalesced.scaled(100.0, None).tasks == 184  # two of 32 MiB seldom fit


def test_a_leftover_of_a_small_shuffle_is_no_other_rule() -> None:
    """1.25 MiB are one partition of the smallest size and a quarter more, two tasks; ten times as
    much is cut for the four cores and not in twenty."""
    coalesced = models(plan(coalesced_tasks=2, shuffle_mib=1.25))[1]
    assert coalesced.depends_on_cluster
    assert coalesced.scaled(10.0, None).tasks <= 5


def test_work_is_conserved_however_it_is_cut() -> None:
    coalesced = models(plan())[1]
    for slots in (1, 3, 16, 1000):
        scaled = coalesced.scaled(3.0, None, slots)
        assert scaled.partitions * scaled.work == pytest.approx(3.0 * coalesced.stage.tasks)


def test_a_small_input_is_cut_for_the_cores() -> None:
    """256 MiB on 4 cores are 4 splits; on 32 they are 32, on 1,000 none is below 4 MiB."""
    scan = models(plan())[0]
    assert [scan.scaled(1.0, None, slots).tasks for slots in (4, 32, 1000)] == [4, 32, 64]
    assert scan.scaled(1.0, None, 2).tasks == 2
    assert scan.scaled(16.0, None, 2).tasks == 32


@pytest.mark.parametrize(("tasks", "at_four_times"), [(4, 4), (6, 6), (7, 7), (8, 32), (24, 96)])
def test_two_splits_for_each_core_are_not_cut_for_the_cores(tasks: int, at_four_times: int) -> None:
    """A scan of one column reads little of each file: 1 MiB of each of 8 splits on 4 cores is no
    small input. Packed for 4 cores there are at most 7."""
    scan = models(plan(scan_tasks=tasks, scan_mib=float(tasks)))[0]
    assert scan.scaled(4.0, None).tasks == at_four_times


def test_less_of_a_large_input_is_cut_for_the_cores() -> None:
    """3 GiB are 24 splits of 128 MiB; of 128 MiB each of 4 cores gets one, and of 8 MiB two do. So
    it is on a core less or more."""
    scan = models(plan(scan_tasks=24, scan_mib=3072.0))[0]
    assert [scan.scaled(1 / 24, None, slots).tasks for slots in (None, 3, 4, 5)] == [4, 3, 4, 5]
    assert scan.scaled(1 / 384, None).tasks == 2
    assert scan.scaled(0.5, None).tasks == 12


def test_less_of_a_small_input_is_cut_for_the_cores_too() -> None:
    """256 MiB in 4 splits for 4 cores: of half of it each core gets half as much."""
    scan = models(plan())[0]
    half = scan.scaled(0.5, None)
    assert (half.tasks, half.work) == (4, pytest.approx(0.5))


def test_partitions_of_which_none_was_coalesced_may_be_elsewhere() -> None:
    """20 GB in the 200 partitions that are configured leave nothing to coalesce: plans then name no
    reader of coalesced ones. A hundredth of it is coalesced for the cores."""
    run = plan(coalesced_tasks=200, shuffle_mib=20_000.0, slots=8)
    not_coalesced = replace(run.stages[1], operations=("Exchange",))
    coalesced = models(replace(run, stages=(run.stages[0], not_coalesced)))[1]
    assert [coalesced.scaled(r, None).tasks for r in (1.0, 8.0, 0.1, 0.01)] == [200, 200, 35, 9]
    few = replace(
        not_coalesced, shuffle_read_bytes=plan(shuffle_mib=50.0).stages[1].shuffle_read_bytes
    )
    asked = models(replace(run, stages=(run.stages[0], few)))[1]
    assert [asked.scaled(r, None).tasks for r in (1.0, 0.01)] == [200, 200]


@pytest.mark.parametrize(("operations", "initial"), [(("Exchange",), ""), ((), ""), ((), "400")])
def test_without_coalescing_the_configured_partitions_stay(
    operations: tuple[str, ...], initial: str
) -> None:
    """All of 16 small partitions run, on few cores too; the number that coalescing would begin with
    is none (`SQLConf.numShufflePartitions`)."""
    coalescing = "spark_sql_adaptive_coalescePartitions_"
    off = {
        "spark_sql_shuffle_partitions": "16",
        f"{coalescing}enabled": "false",
        f"{coalescing}initialPartitionNum": initial,
    }
    run = plan(coalesced_tasks=16, slots=16, **off)
    not_coalesced = replace(
        run, stages=(run.stages[0], replace(run.stages[1], operations=operations))
    )
    reader = models(not_coalesced)[1]
    assert [reader.scaled(ratio, None, 2).tasks for ratio in (0.1, 1.0, 8.0)] == [16, 16, 16]


def test_spaces_around_a_setting_that_is_on_or_off_count_nothing() -> None:
    """Spark 3.1 coalesces where it is told to (`ConfigHelpers.toBoolean`)."""
    on = replace(plan(spark_sql_adaptive_enabled=" true "), spark_version="3.1.3")
    assert models(on)[1].growth is Growth.COALESCED
    by_size = plan(spark_sql_adaptive_coalescePartitions_parallelismFirst=" False ")
    assert PartitioningSettings.of(by_size, 4).min_coalesced_partitions == 1
    whole = plan(spark_sql_adaptive_skewJoin_enabled=" true ")
    assert PartitioningSettings.of(whole, 4).skewed_bytes == SKEWED_BYTES


@pytest.mark.parametrize("master", ["local", "local[1]", "local[*]"])
def test_one_core_in_the_driver_is_one(master: str) -> None:
    """64 MiB in one split and 20 MiB coalesced to one partition were cut for the cores, of which
    only executors count as two at least (`LocalSchedulerBackend.defaultParallelism`)."""
    run = plan(
        scan_tasks=1,
        scan_mib=64.0,
        coalesced_tasks=1,
        shuffle_mib=20.0,
        slots=1,
        spark_master=master,
    )
    made = Stage(np.full(1, 2.0), more={"generated": True})
    rows = observed([made], slots=1, config={"spark.master": master})
    found = [*models(run), *models(rows)]
    assert [model.scaled(1.0, None, 1).tasks for model in found] == [1, 1, 1]
    assert [model.scaled(1.0, None, 8).tasks for model in found] == [8, 8, 8]


def test_many_splits_stay_as_they_are() -> None:
    scan = models(plan(scan_tasks=50, scan_mib=6400.0))[0]
    assert [scan.scaled(1.0, None, slots).tasks for slots in (1, 4, 40)] == [50, 50, 50]
    assert scan.scaled(1.0, None, 200).tasks == 200


def test_a_set_parallelism_is_that_of_every_cluster() -> None:
    scan, coalesced = models(plan(spark_default_parallelism="4"))
    assert not scan.depends_on_cluster
    assert coalesced.scaled(1.0, None, 64).tasks == 4


def test_numbers_that_no_rule_explains_grow_with_the_input() -> None:
    """A local read has a partition for each task before it."""
    coalesced = models(plan(coalesced_tasks=40))[1]
    assert not coalesced.depends_on_cluster
    assert coalesced.scaled(3.0, None).tasks == 120


def test_a_number_that_the_query_asked_for_stays() -> None:
    asked = {"sql_execution_id": 0, "operations": ("Exchange", "WholeStageCodegen (2)")}
    stages = [
        Stage(np.full(4, 4.0), input_bytes=256 * MIB, more=SCAN),
        Stage(np.full(8, 4.0), (0,), shuffle_bytes=64 * MIB, more=asked),
    ]
    run = replace(observed(stages, slots=4), spark_version="3.5.1")
    model = models(run)[1]
    assert (model.scaled(9.0, None).tasks, model.scaled(9.0, None, 32).tasks) == (8, 8)


@pytest.mark.parametrize(
    "reads",
    [
        {"input_bytes": 2 * 512 * MIB, "more": SCAN | {"coalesced": True}},
        {"shuffle_bytes": 64 * MIB, "more": COALESCED_READ | {"coalesced": True}},
    ],
)
def test_what_is_coalesced_to_a_number_stays_there(reads: dict[str, Any]) -> None:
    """`coalesce(2)` leaves two tasks on any cluster, of any input, each of which grows."""
    run = replace(observed([Stage(np.full(2, 4.0), **reads)], slots=2), spark_version="3.5.1")
    model = models(run)[0]
    asked = [model.scaled(8.0, partitions, slots) for partitions in (None, 50) for slots in (2, 64)]
    assert all((each.tasks, each.work) == (2, pytest.approx(8.0)) for each in asked)
    replay = Replay.of(run)
    assert replay.replayed(64).seconds == pytest.approx(replay.replayed(2).seconds, rel=0.1)


def test_what_is_coalesced_is_not_cut_for_the_cores_where_logs_tell_its_number() -> None:
    """Two logs of other sizes had two tasks each: a power of none, and two on 64 slots."""
    reads = Stage(np.full(2, 4.0), input_bytes=1024 * MIB, more=SCAN | {"coalesced": True})
    run = replace(observed([reads], slots=2), spark_version="3.5.1")
    model = replace(models(run)[0], law=StageLaw(partition_power=0.0))
    assert [model.partition_count(8.0, None).at(slots) for slots in (None, 64)] == [2.0, 2.0]


def test_the_first_rows_of_an_input_are_no_more_of_a_larger_one() -> None:
    """`take`, `first` and `show` run one of many partitions, however many there are; of a cache
    with a fixed number of them that one grows."""
    whole = Stage(np.full(16, 4.0), input_bytes=16 * 128 * MIB, more=SCAN)
    first = Stage(np.full(1, 4.0), job=1, input_bytes=1 * MIB, more=SCAN | {"in_part": True})
    cached = {"cached_input_bytes": 8.0 * MIB, "in_part": True}
    again = Stage(np.full(1, 4.0), job=2, input_bytes=8 * MIB, more=cached)
    jobs = [Job(), Job((0,)), Job((1,))]
    run = replace(observed([whole, first, again], jobs, slots=4), spark_version="3.5.1")
    each = [model.scaled(100.0, None, 64) for model in models(run)]
    assert [(one.tasks, one.work) for one in each] == [(1600, 1.0), (1, 1.0), (1, 100.0)]


def test_a_cached_result_of_coalesce_is_no_input_that_grows() -> None:
    """Reading it again keeps its number, though the stage that read the files had as many."""
    cached = {"cached_input_bytes": 64.0 * MIB}
    stages = [
        Stage(np.full(2, 4.0), input_bytes=64 * MIB, more=SCAN | {"coalesced": True}),
        Stage(np.full(2, 1.0), input_bytes=64 * MIB, more=cached),
    ]
    again = models(replace(observed(stages, slots=2), spark_version="3.5.1"))[1]
    assert again.scaled(8.0, None, 64).tasks == 2


@pytest.mark.parametrize(
    ("operations", "counts", "fixed"),
    [
        (("Exchange", "Scan parquet a", "Scan parquet b"), (), True),
        (("SortMergeJoin", "Scan parquet a"), (1, 2), True),  # with itself
        (("Union", "Scan parquet a", "Scan parquet b"), (), False),
        (("Exchange", "Scan parquet a"), (), False),
    ],
)
def test_tables_in_buckets_keep_their_number(
    operations: tuple[str, ...], counts: tuple[int, ...], fixed: bool
) -> None:
    """Two scans in one stage without a shuffle between them lie in as many buckets each."""
    more = {"sql_execution_id": 0, "operations": operations, "operation_counts": counts}
    stage = Stage(np.full(6, 4.0), input_bytes=6 * 256 * MIB, more=more)
    model = models(replace(observed([stage], slots=2), spark_version="3.5.1"))[0]
    asked = [model.scaled(4.0, None, slots) for slots in (2, 64)]
    assert ([each.tasks for each in asked] == [6, 6]) is fixed
    assert all(each.tasks * each.work == pytest.approx(24.0) for each in asked)


def test_more_slots_use_their_partitions() -> None:
    """The replay on more slots places the tasks that it would have there."""
    replay = Replay.of(plan())
    assert replay.replayed(4).tasks == (4, 4)
    assert replay.replayed(16).tasks == (16, 17)
    assert replay.replayed(16).seconds < replay.replayed(8).seconds < replay.replayed(4).seconds


SLOTS = (1, 2, 3, 4, 5, 8, 31, 64, 200, 5000)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 2.5, 40.0])
def test_scans_on_every_cluster_are_cut_for_the_cores_down_to_the_cost_of_opening(
    ratio: float,
) -> None:
    for run in (plan(), plan(scan_tasks=50, scan_mib=6400.0), plan(scan_tasks=9, scan_mib=900.0)):
        model = models(run)[0]
        read, rule = model.stage.input_bytes, model.partitioning
        size, own = read.total * ratio, model.partition_count(ratio, None).at(None)
        for slots in SLOTS:
            least = min(max(2.0, slots), size / rule.open_cost_bytes)
            expected = max(min(own, model.stage.tasks * ratio) if ratio < 1.0 else own, least)
            if slots < rule.log_cores and model.stage.tasks <= 1.5 * rule.log_cores:
                expected = min(own, max(least, size / rule.split_bytes))
            if slots == rule.log_cores:
                expected = own
            assert model.partition_count(ratio, None).at(slots) == pytest.approx(expected)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("configured", [None, 7])
def test_many_clusters_at_once_are_the_same_as_one_by_one(
    ratio: float, configured: int | None
) -> None:
    for run in (plan(), plan(coalesced_tasks=16, shuffle_mib=1024.0, slots=100)):
        for model in models(run):
            each = [model.scaled(ratio, configured, slots) for slots in SLOTS]
            tasks, data = model.largest_task_bytes(
                ratio, configured, np.asarray(SLOTS, dtype=float)
            )
            assert tasks.tolist() == [scaled.tasks for scaled in each]
            whole = [scaled.work * min(1.0, scaled.partitions) for scaled in each]
            assert data == pytest.approx(whole)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4096", 4096), ("4096b", 4096), ("64k", 64 * 1024), ("64kb", 64 * 1024),
        ("64MB", 64 * MIB), (" 2g ", 2048 * MIB), ("1t", 1024**2 * MIB), ("1pb", 1024**3 * MIB),
        ("0", None), ("", None), ("b", None), ("64mg", None), ("-1", None), ("1.5g", None),
        ("\u00b2", None), pytest.param("9" * 5000, None, id="many digits"),
    ],
)  # fmt: skip
def test_sizes_as_spark_reads_them(text: str, number: float | None) -> None:
    """JavaUtils.byteStringAs: whole numbers, units of 1024. What it would refuse is not set."""
    assert configured_number({"key": text}, "key") == number


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.5.1", (3, 5)), ("3.3.0-amzn-1", (3, 3)), ("4", (4,)), (None, (0,)), ("", (0,)),
        ("3.x", (0,)), ("3.\u00b2", (0,)), pytest.param("3." + "9" * 5000, (0,), id="many digits"),
    ],
)  # fmt: skip
def test_a_version_that_is_none_is_not_known(text: str | None, version: tuple[int, ...]) -> None:
    """A superscript is a digit to Python, and no number."""
    assert spark_version(replace(plan(), spark_version=text)) == version


@pytest.mark.parametrize(
    ("version", "partitions"), [("3.1.3", 40.0), ("3.2.0", 10.0), ("4.0.0", 10.0), (None, 40.0)]
)
def test_a_smallest_coalesced_partition_is_known_since_3_2(
    version: str | None, partitions: float
) -> None:
    run = replace(plan(), spark_version=version)
    assert PartitioningSettings.of(run, 4).coalesced_count(10.0 * MIB, 40) == pytest.approx(
        partitions
    )


def test_settings_of_the_log_decide() -> None:
    coalescing = "spark_sql_adaptive_coalescePartitions_"
    run = plan(
        **{
            "spark_default_parallelism": "7",
            "spark_sql_adaptive_advisoryPartitionSizeInBytes": "32m",
            f"{coalescing}minPartitionSize": "2m",
            f"{coalescing}minPartitionNum": "3",
            "spark_sql_files_maxPartitionBytes": "256m",
            "spark_sql_files_openCostInBytes": "8m",
            "spark_sql_files_minPartitionNum": "5",
            "spark_sql_leafNodeDefaultParallelism": "6",
        }
    )
    found = PartitioningSettings(
        4, 7, 32 * MIB, 2 * MIB, 3, 256 * MIB, 8 * MIB, min_scan_partitions=5
    )
    assert PartitioningSettings.of(run, 4) == found
    older = plan(spark_sql_adaptive_shuffle_targetPostShuffleInputSize="16m")
    assert PartitioningSettings.of(older, 4).advisory_bytes == 16 * MIB
