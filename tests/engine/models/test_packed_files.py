"""Files packed into splits: as many as real Spark 3.5.9 made of real files, on any slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Values
from test_partitions import plan, shapes

from engine.models.stages.packed_files import FileSizes, PackedFiles
from engine.models.stages.task_times import StageShape
from engine.units import MIB

SLOTS = np.asarray([2, 4, 8, 12, 16, 20, 24, 30, 36, 40, 50, 64, 100, 150, 200], dtype=float)
FILE_MIB = 16.39
OF_36 = [6, 6, 9, 12, 18, 36, 36, 36, 36, 36, 48, 72, 108, 144, 180]
OF_10 = [2, 5, 10, 10, 15, 20, 20, 30, 30, 40, 50, 50, 50, 50, 50]
"""Partitions of a scan of 36 and of 10 Parquet files of one size, by
`spark.sql.leafNodeDefaultParallelism`."""


def scan(files: int, *, slots: int, tasks: int, counted: bool = True, **config: str) -> StageShape:
    """A scan of so many of these files, a fifth of which is read."""
    mib = files * FILE_MIB
    run = plan(scan_tasks=tasks, scan_mib=mib / 5.0, slots=slots, **config)
    stage = replace(
        run.stages[0], files_bytes=mib * MIB, files_read=float(files) if counted else None
    )
    return shapes(replace(run, stages=(stage, *run.stages[1:])))[0]


def splits(shape: StageShape, ratio: float = 1.0) -> Values:
    return shape.partition_count(ratio, None).on(SLOTS)


@pytest.mark.parametrize(("files", "expected"), [(36, OF_36), (10, OF_10)])
@pytest.mark.parametrize("place", range(0, len(SLOTS), 3))
def test_every_log_foretells_the_splits_of_all_slots(
    files: int, expected: list[int], place: int
) -> None:
    shape = scan(files, slots=int(SLOTS[place]), tasks=expected[place])
    assert splits(shape).tolist() == pytest.approx(expected)
    count = shape.partition_count(1.0, None)
    assert [count.at(slots) for slots in SLOTS] == pytest.approx(expected)
    assert count.at(None) == expected[place]
    assert shape.counts_slots


def test_without_their_number_a_split_for_every_core_is_all_that_is_known() -> None:
    assert shapes(plan(scan_tasks=8, scan_mib=600.0, slots=8))[0].partition_count(1.0, None).at(
        20
    ) == pytest.approx(20.0)
    assert scan(36, slots=8, tasks=9, counted=False).partition_count(1.0, None).at(20) == 20.0


def test_files_that_are_not_cut_stay_whole() -> None:
    """Twelve gzipped texts of 20 MiB: Spark had 3, 4 and 12 splits on 2, 4 and 8 slots, and 12 on
    any number from there on."""
    sizes = FileSizes(12.0, 20.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=100, splits=12)
    assert packed is not None
    assert not packed.sizes.cut
    found = packed.count(np.asarray([2.0, 4.0, 8.0, 36.0, 200.0]), 1.0)
    assert np.ceil(found).tolist() == [3, 4, 12, 12, 12]
    assert packed.count(np.asarray([20.0, 200.0]), 3.0).tolist() == [20.0, 36.0]


def test_splits_that_no_packing_makes_are_told_by_the_older_rules() -> None:
    """A table in 64 buckets has 64 splits, whatever its files."""
    sizes = FileSizes(12.0, 20.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    assert PackedFiles.of(sizes, scans=1, cores=2, splits=64) is None


def test_files_that_are_not_quite_of_one_size_keep_what_was_seen() -> None:
    """17 splits where equal files would be 12.5: on 16 slots no other split is allowed, so that
    the files are packed in the same way there."""
    sizes = FileSizes(200.0, 60.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=8, splits=137)
    assert packed is not None
    assert packed.count(np.asarray([8.0, 16.0, 24.0]), 1.0).tolist() == [137.0] * 3
    assert packed.count(np.asarray([16.0]), 3.0).tolist() == [3.0 * 137.0]


@pytest.mark.parametrize("place", range(len(SLOTS)))
def test_more_input_never_has_fewer_splits_nor_smaller_ones(place: int) -> None:
    """The time of a stage grows with its splits and with what each of them holds."""
    shape = scan(36, slots=8, tasks=9)
    ratios = np.geomspace(0.05, 60.0, 200)
    found = np.asarray([splits(shape, ratio)[place] for ratio in ratios])
    assert (np.diff(found) >= -1e-9).all()
    assert (np.diff(ratios / found) >= -1e-9).all()
    assert found[-1] == pytest.approx(60.0 * 6.0)


def test_more_of_the_input_is_more_files() -> None:
    """Four files are two splits on two slots; nine times as many are six, not five by their bytes
    alone: opening a file counts."""
    assert scan(4, slots=2, tasks=2).partition_count(9.0, None).at(None) == pytest.approx(6.0)


def test_a_parallelism_that_is_set_counts_and_not_the_slots() -> None:
    shape = scan(36, slots=2, tasks=9, spark_default_parallelism="8")
    assert not shape.counts_slots
    assert splits(shape).tolist() == [9.0] * len(SLOTS)


def test_each_scan_of_a_union_is_packed_for_itself() -> None:
    sizes = FileSizes(18.0, FILE_MIB * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=2, cores=8, splits=18)
    assert packed is not None
    one = PackedFiles.of(sizes, scans=1, cores=8, splits=9)
    assert one is not None
    assert packed.count(SLOTS, 1.0) == pytest.approx(2.0 * one.count(SLOTS, 1.0))
