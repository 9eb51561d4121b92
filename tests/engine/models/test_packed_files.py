"""Files packed into splits: as many as real Spark 3.5.9 made of real files, on any slots."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_runs import Values
from test_partitions import models, plan

import engine
from engine.cluster import Workload
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.packed_files import FileSizes, PackedFiles
from engine.profile import Profile
from engine.units import MIB

SLOTS = np.asarray([2, 4, 8, 12, 16, 20, 24, 30, 36, 40, 50, 64, 100, 150, 200], dtype=float)
FILE_MIB = 16.39
OF_36 = [6, 6, 9, 12, 18, 36, 36, 36, 36, 36, 48, 72, 108, 144, 180]
OF_10 = [2, 5, 10, 10, 15, 20, 20, 30, 30, 40, 50, 50, 50, 50, 50]
"""Partitions of a scan of 36 and of 10 Parquet files of one size, by
`spark.sql.leafNodeDefaultParallelism`."""


def scan(files: int, *, slots: int, tasks: int, counted: bool = True, **config: str) -> StageModel:
    """A scan of so many of these files, a fifth of which is read."""
    mib = files * FILE_MIB
    run = plan(scan_tasks=tasks, scan_mib=mib / 5.0, slots=slots, **config)
    stage = replace(
        run.stages[0], files_bytes=mib * MIB, files_read=float(files) if counted else None
    )
    return models(replace(run, stages=(stage, *run.stages[1:])))[0]


def splits(model: StageModel, ratio: float = 1.0) -> Values:
    return model.partition_count(ratio, None).on(SLOTS)


@pytest.mark.parametrize(("files", "expected"), [(36, OF_36), (10, OF_10)])
@pytest.mark.parametrize("place", range(0, len(SLOTS), 3))
def test_every_log_predicts_the_splits_of_all_slots(
    files: int, expected: list[int], place: int
) -> None:
    model = scan(files, slots=int(SLOTS[place]), tasks=expected[place])
    assert splits(model).tolist() == pytest.approx(expected)
    count = model.partition_count(1.0, None)
    assert [count.at(slots) for slots in SLOTS] == pytest.approx(expected)
    assert count.at(None) == expected[place]
    assert model.depends_on_cluster


def test_without_their_number_a_split_for_every_core_is_all_that_is_known() -> None:
    assert models(plan(scan_tasks=8, scan_mib=600.0, slots=8))[0].partition_count(1.0, None).at(
        20
    ) == pytest.approx(20.0)
    assert scan(36, slots=8, tasks=9, counted=False).partition_count(1.0, None).at(20) == 20.0


def test_files_that_are_not_cut_stay_whole() -> None:
    """Twelve gzipped texts of 20 MiB: Spark had 3, 4 and 12 splits on 2, 4 and 8 slots, and 12 on
    any number from there on."""
    sizes = FileSizes(12.0, 20.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=100, splits=12)
    assert not packed.sizes.splittable
    found = packed.count(np.asarray([2.0, 4.0, 8.0, 36.0, 200.0]), 1.0)
    assert np.ceil(found).tolist() == [3, 4, 12, 12, 12]
    assert packed.count(np.asarray([20.0, 200.0]), 3.0).tolist() == [20.0, 36.0]


@pytest.mark.parametrize("splits", [64, 6])
def test_splits_that_no_packing_makes_are_told_by_the_older_rules(splits: int) -> None:
    """A table in 64 buckets has 64 splits, whatever its files, and one in six has six, where on two
    slots the packing of these files would make three."""
    sizes = FileSizes(12.0, 20.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    assert PackedFiles.of(sizes, scans=1, cores=2, splits=splits) is None


def test_one_split_more_than_equal_files_make_is_packing() -> None:
    """Files of 100, 5, 5, 5 and 5 MiB: with what opening each counts for, the last no longer fits.
    Five of 24 MiB would be 1.25 splits, four in each."""
    sizes = FileSizes(5.0, 24.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=1, splits=2)
    assert packed.count(np.asarray([1.0, 10.0]), 1.0).tolist() == [2.0, 10.0]


def test_files_that_are_not_quite_of_one_size_keep_what_was_seen() -> None:
    """17 splits where equal files would be 12.5: on 16 slots no other split is allowed, so that
    the files are packed in the same way there."""
    sizes = FileSizes(200.0, 60.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=8, splits=137)
    assert packed.count(np.asarray([8.0, 16.0, 24.0]), 1.0).tolist() == [137.0] * 3
    assert packed.count(np.asarray([16.0]), 3.0).tolist() == [3.0 * 137.0]


@pytest.mark.parametrize("place", range(len(SLOTS)))
def test_more_input_has_no_fewer_splits_than_cores_nor_smaller_ones(place: int) -> None:
    """The time of a stage grows with its splits and with what each of them holds. More files that
    fill splits better may be fewer."""
    model = scan(36, slots=8, tasks=9)
    ratios = np.geomspace(0.05, 60.0, 200)
    found = np.asarray([splits(model, ratio)[place] for ratio in ratios])
    per_core = np.minimum(found, SLOTS[place])
    assert (np.diff(per_core) >= -1e-9).all()
    assert (np.diff(ratios / per_core) >= -1e-9).all()
    filled = OF_36[place] > SLOTS[place]
    assert filled or (np.diff(found) >= -1e-9).all()
    assert filled or (np.diff(ratios / found) >= -1e-9).all()
    assert found[-1] == pytest.approx(60.0 * 6.0)


def packed_one_by_one(files: int, file_bytes: float, cores: int) -> int:
    """The splits that Spark makes of files smaller than one, file by file
    (`FilePartition.getFilePartitions`)."""
    cost = 4.0 * MIB
    most = min(128.0 * MIB, max(cost, files * (file_bytes + cost) / cores))
    found, held = 1, 0.0
    for _ in range(files):
        if held and held + file_bytes > most:
            found, held = found + 1, 0.0
        held += file_bytes + cost
    return found


@pytest.mark.parametrize(("files", "cores"), [(5, 4), (6, 4), (3, 2), (9, 8), (12, 8), (9, 4)])
@pytest.mark.parametrize("times", [1, 2, 3, 4, 7])
def test_more_files_are_packed_as_spark_packs_them(files: int, cores: int, times: int) -> None:
    """Five files on four cores are five splits, and twenty are four. Of three files of 4.4 MB Spark
    3.3.4 made three splits for two cores, and of twelve two."""
    each, own = 4.4e6, packed_one_by_one(files, 4.4e6, cores)
    assert own > cores
    sizes = FileSizes(float(files), each, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=cores, splits=own)
    found = packed.count(np.asarray([float(cores)]), float(times))
    assert math.ceil(found[0] - 1e-9) == packed_one_by_one(times * files, each, cores)


def test_more_of_the_input_is_more_files() -> None:
    """Four files are two splits on two slots; nine times as many are six, not five by their bytes
    alone: opening a file counts."""
    assert scan(4, slots=2, tasks=2).partition_count(9.0, None).at(None) == pytest.approx(6.0)


def test_fewer_splits_than_cores_become_one_for_each_with_more_files() -> None:
    """Eight files of 0.6 MiB, two splits on two slots, are packed two by two on six. Of three times
    as many Spark 3.5.9 made six there."""
    sizes = FileSizes(8.0, 631_315.0, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=2, splits=2)
    found = [packed.count(np.asarray([2.0, 6.0]), ratio).tolist() for ratio in (1.0, 1.25, 3.0)]
    assert found == [[2.0, 4.0], [2.0, 5.0], [2.0, 6.0]]


def test_on_more_cores_there_are_no_fewer_splits_than_were_seen() -> None:
    """19 splits where files of one size would be 15. These would be 16 on 16 cores: less by a hair
    than the observed input had 16 there, and the input itself 19 smaller ones, in less time."""
    sizes = FileSizes(3.0, 5000.0 * MIB, 1024.0 * MIB, 1.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=2, splits=19)
    slots, less = np.asarray([2.0, 16.0, 20.0]), 1.0 - 1e-9
    assert packed.count(slots, 1.0).tolist() == [19.0, 19.0, 21.0]
    assert packed.count(slots, less) == pytest.approx([19.0, 19.0, 21.0])


def test_on_fewer_cores_there_are_no_more_splits_than_were_seen() -> None:
    sizes = FileSizes(36.0, FILE_MIB * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=40, splits=30)
    assert packed.count(np.asarray([24.0, 40.0, 50.0]), 1.0).tolist() == [30.0, 30.0, 48.0]


@pytest.mark.parametrize(
    ("ratio", "spark"), [(0.1, [4, 4, 6, 8, 100]), (0.3, [10, 10, 10, 10, 100])]
)
def test_fewer_small_files_are_spread_over_the_cores(ratio: float, spark: list[int]) -> None:
    """A thousand files of 10 kB were 32 splits on 2 to 30 slots. 100 and 300 of them on 2, 4, 6, 8
    and 100 slots: what a file counts for decides, not the few bytes that it has."""
    sizes = FileSizes(1000.0, 10_000.0, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=2, splits=32)
    found = packed.count(np.asarray([2.0, 4.0, 6.0, 8.0, 100.0]), ratio)
    assert np.ceil(found).tolist() == spark


def test_fewer_files_that_are_not_cut_are_fewer_splits() -> None:
    sizes = FileSizes(12.0, 20.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=100, splits=12)
    assert packed.count(np.asarray([36.0, 200.0]), 0.25).tolist() == [3.0, 3.0]


def test_files_without_a_byte_say_nothing() -> None:
    """The size of files is none where they are empty, or where a store does not tell it."""
    run = plan(scan_tasks=1, scan_mib=1.0, slots=2)
    empty = replace(run.stages[0], files_bytes=0.0, files_read=5.0)
    before, after = (
        models(replace(run, stages=(stage, *run.stages[1:])))[0] for stage in (run.stages[0], empty)
    )
    assert splits(after).tolist() == splits(before).tolist()


@pytest.mark.parametrize("key", ["files_minPartitionNum", "leafNodeDefaultParallelism"])
def test_cores_that_are_set_for_scans_count_and_not_the_slots(key: str) -> None:
    """36 files of 17 MiB were 12 splits on any number of slots where they were cut for 10."""
    model = scan(36, slots=2, tasks=12, **{f"spark_sql_{key}": "10"})
    assert not model.depends_on_cluster
    assert splits(model).tolist() == [12.0] * len(SLOTS)
    assert splits(model, 10.0).tolist() == [60.0] * len(SLOTS)


def test_one_core_that_is_set_for_scans_is_one() -> None:
    """Four files are 82 MiB with what opening them counts for, six are 122: one split."""
    model = scan(4, slots=8, tasks=1, spark_sql_files_minPartitionNum="1")
    assert splits(model, 1.5).tolist() == [1.0] * len(SLOTS)


def test_opening_a_file_may_count_for_nothing() -> None:
    """As many splits as Spark had of 36 files of 17 MiB, on 200 slots smaller ones than 4 MiB."""
    model = scan(36, slots=2, tasks=6, spark_sql_files_openCostInBytes="0")
    count = model.partition_count(1.0, None)
    found = [count.at(slots) for slots in (16, 30, 50, 64, 100, 200)]
    assert found == pytest.approx([18.0, 36.0, 54.0, 72.0, 108.0, 216.0], rel=0.01)


def test_a_parallelism_that_is_set_counts_and_not_the_slots() -> None:
    model = scan(36, slots=2, tasks=9, spark_default_parallelism="8")
    assert not model.depends_on_cluster
    assert splits(model).tolist() == [9.0] * len(SLOTS)


def test_each_scan_of_a_union_is_packed_for_itself() -> None:
    sizes = FileSizes(18.0, FILE_MIB * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=2, cores=8, splits=18)
    one = PackedFiles.of(sizes, scans=1, cores=8, splits=9)
    assert packed.count(SLOTS, 1.0) == pytest.approx(2.0 * one.count(SLOTS, 1.0))


UNCUT = engine.read(Path(__file__).parents[2] / "data" / "one_gzip.zstd").runs[0]
"""A gzipped CSV file of 6 MB on two slots."""


def test_one_file_that_is_not_cut_is_one_task_on_any_cluster() -> None:
    """Spark would have cut it in two on two slots if it could, and in 45 MB of text as well."""
    (model, _) = models(UNCUT)
    assert model.stage.files_read == 1.0
    assert model.stage.tasks == 1
    assert splits(model).tolist() == [1.0] * len(SLOTS)
    text = FileSizes(1.0, 45.4e6, 128.0 * MIB, 4.0 * MIB)
    for seen, counts in ((1, [1.0, 1.0, 1.0]), (2, [2.0, 4.0, 8.0])):
        packed = PackedFiles.of(text, scans=1, cores=2, splits=seen)
        assert packed.may_keep_split_count is (seen == 1)
        wanted = packed.count(np.asarray([2.0, 4.0, 8.0]), 1.0)
        assert np.ceil(wanted).tolist() == counts


def test_where_no_plan_tells_of_files_a_split_that_is_too_large_does() -> None:
    """As where Spark reads a file to find its schema."""
    (stage, other) = UNCUT.stages
    untold = replace(stage, files_read=None, files_bytes=None)
    model = models(replace(UNCUT, stages=(untold, other)))[0]
    assert splits(model).tolist() == [1.0] * len(SLOTS)
    assert model.may_keep_split_count


def test_that_it_may_get_larger_is_within_the_interval() -> None:
    """Eight times the input are eight such files, or one that a single task reads."""
    fitted = engine.fit(Profile("one file", (UNCUT,)))
    many = engine.Cluster.of_executors(executors=16, executor_cores=1)
    size = Workload(64.0 * UNCUT.workload.input_bytes)
    found = fitted.predict(cluster=many, workload=size)
    alone = fitted.predict(
        cluster=engine.Cluster.of_executors(executors=1, executor_cores=1), workload=size
    )
    assert found.high > 0.9 * alone.seconds > 2.0 * found.seconds
