"""Into how many splits scans are cut: by their files, whatever of these was read."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import measure
from test_partitions import models, plan

from engine.models.stages.durations.task_times import StageModel
from engine.units import MIB


def wide(*, scan_tasks: int, read_mib: float, files_mib: float | None, slots: int) -> StageModel:
    """A scan of few of the columns of its files."""
    run = plan(scan_tasks=scan_tasks, scan_mib=read_mib, slots=slots)
    files = None if files_mib is None else files_mib * MIB
    scan = replace(run.stages[0], files_bytes=files, operations=("Scan parquet", "Exchange"))
    stages = (scan, *run.stages[1:])
    return models(replace(run, stages=stages))[0]


@pytest.mark.parametrize("tasks", [2, 8, 32])
def test_a_scan_is_cut_by_its_files_and_not_by_the_columns_that_were_read(tasks: int) -> None:
    """218 MiB in ten columns, of which one was read, on as many slots as tasks: Spark 3.5.9 cut
    them in 2, 8, 32 and, on 100 slots, 56 (54.4 and what files do not share)."""
    model = wide(scan_tasks=tasks, read_mib=11.6, files_mib=217.56, slots=tasks)
    count = model.partition_count(1.0, None)
    assert [count.at(slots) for slots in (2, 8, 32, 100)] == pytest.approx([2, 8, 32, 54.39])
    unknown = wide(scan_tasks=tasks, read_mib=11.6, files_mib=None, slots=tasks)
    inferred = math.sqrt(11.6 * 128.0 * tasks)
    assert unknown.partition_count(1.0, None).at(100) == pytest.approx(inferred / 4.0)


def test_more_of_such_files_are_more_splits() -> None:
    """2,176 MiB on eight slots are 17 splits of 128 MiB, 5 % of which is read."""
    model = wide(scan_tasks=8, read_mib=11.6, files_mib=217.56, slots=8)
    assert model.partition_count(10.0, None).at(None) == pytest.approx(2175.6 / 128.0)
    assert model.partition_count(10.0, None).at(200) == 200.0
    assert model.partition_count(0.1, None).at(None) == pytest.approx(21.756 / 4.0)


def test_a_configured_number_of_splits_is_the_most_there_are() -> None:
    """217.6 MiB on eight slots: eight splits, and up to 17 and 54 with more data or slots."""
    run = plan(scan_tasks=8, scan_mib=217.6, slots=8, spark_sql_files_maxPartitionNum="12")
    scan = replace(run.stages[0], files_bytes=217.6 * MIB, operations=("Scan parquet", "Exchange"))
    model = models(replace(run, stages=(scan, *run.stages[1:])))[0]
    assert model.partition_count(1.0, None).at(None) == 8.0
    assert model.partition_count(1.0, None).at(100) == 12.0
    assert model.partition_count(10.0, None).at(None) == 12.0
    packed = replace(scan, files_read=4.0)
    assert (
        models(replace(run, stages=(packed, *run.stages[1:])))[0].scaled(1.0, None, 100).tasks == 12
    )


@pytest.mark.parametrize(("ratio", "splits"), [(1.5, 8.0), (4.0, 8.0), (8.0, 13.6)])
def test_somewhat_more_of_a_small_input_is_as_many_larger_splits(
    ratio: float, splits: float
) -> None:
    """217.6 MiB on eight slots are 8 splits of 27; there is a ninth once they hold 128 MiB."""
    model = wide(scan_tasks=8, read_mib=217.6, files_mib=217.6, slots=8)
    assert model.partition_count(ratio, None).at(None) == pytest.approx(splits)


def test_splits_that_were_cut_by_size_tell_the_size_of_the_files() -> None:
    """64 splits on eight slots are 8 GiB, whatever of them was read: one for each of 512 slots."""
    model = wide(scan_tasks=64, read_mib=400.0, files_mib=None, slots=8)
    count = model.partition_count(1.0, None)
    assert [count.at(slots) for slots in (8, 64, 512, 4096)] == [64.0, 64.0, 512.0, 2048.0]
    few = wide(scan_tasks=64, read_mib=6000.0, files_mib=None, slots=8)
    assert few.partition_count(1.0, None).at(4096) == 1500.0


@pytest.mark.parametrize("scans", [2, 3])
def test_each_scan_of_a_union_is_cut_for_the_cores(scans: int) -> None:
    """Two or three scans of 92 MiB each: Spark 3.5.9 cut each in 2, 8, 20 and, on 100 slots, 24
    (22.9 and what files do not share)."""
    mib = 91.63 * scans
    run = plan(scan_tasks=8 * scans, scan_mib=0.75 * mib, slots=8)
    names = ("Exchange", "Scan parquet ", "Union")
    union = replace(
        run.stages[0], operations=names, operation_counts=(1, scans, 1), files_bytes=mib * MIB
    )
    model = models(replace(run, stages=(union, *run.stages[1:])))[0]
    count = model.partition_count(1.0, None)
    own = [2.0 * scans, 8.0 * scans, 20.0 * scans, mib / 4.0]
    assert [count.at(slots) for slots in (2, 8, 20, 100)] == pytest.approx(own)
    assert count.on(np.asarray([2.0, 8.0, 20.0, 100.0])).tolist() == pytest.approx(own)
    assert model.partition_count(4.0, None).at(None) == 8 * scans
    assert model.partition_count(0.5, None).at(None) == 8 * scans
    assert model.partition_count(100.0, None).at(None) == pytest.approx(100 * mib / 128.0)


def test_more_data_of_a_union_in_a_loop_is_more_scans() -> None:
    """Twelve files of 20 MiB, each a scan of its own, in two splits each on two slots."""
    run = plan(scan_tasks=24, scan_mib=240.0, slots=2)
    names = ("Exchange", "Scan json ", "Union")
    union = replace(run.stages[0], operations=names, operation_counts=(1, 12, 1))
    model = models(replace(run, stages=(union, *run.stages[1:])))[0]
    count = model.partition_count(3.0, None)
    assert [count.at(slots) for slots in (None, 2, 4, 100)] == pytest.approx([72, 72, 144, 180])
    few = model.partition_count(1.0 / 3.0, None)
    assert [few.at(slots) for slots in (None, 4)] == pytest.approx([8, 16])


def test_files_in_columns_that_were_not_read_fill_the_splits_too() -> None:
    """A tenth of 24 MiB in eight splits on eight slots: sixteen times that fills them."""
    model = wide(scan_tasks=8, read_mib=2.4, files_mib=24.0, slots=8)
    more = [model.partition_count(ratio, None).at(None) for ratio in (16.0, 64.0)]
    assert more == pytest.approx([8.0, 12.0])


@pytest.mark.parametrize("of_file", [1.0, 0.5])
def test_a_large_split_of_the_log_tells_what_one_may_hold(of_file: float) -> None:
    """Of 470 MiB 400 are one split, read in whole or by half: four times as much is eight still."""
    run = plan(scan_tasks=8, scan_mib=470.0, slots=8)
    read = measure(of_file * MIB * np.asarray([10.0] * 7 + [400.0]))
    stage = replace(run.stages[0], input_bytes=read, files_bytes=470.0 * MIB)
    model = models(replace(run, stages=(stage, *run.stages[1:])))[0]
    assert model.partition_count(4.0, None).at(None) == 8.0
    assert model.partition_count(16.0, None).at(None) == pytest.approx(16.0 * 470.0 / 400.0)


def test_more_files_that_are_not_cut_are_more_splits_however_large_one_is() -> None:
    """Sixteen gzipped texts on two slots, one of 400 MiB and the others of 100: four times as many
    of them are 64, though 64 splits of 400 MiB would hold more."""
    run = plan(scan_tasks=16, scan_mib=1900.0, slots=2)
    stage = replace(run.stages[0], input_bytes=measure(MIB * np.asarray([100.0] * 15 + [400.0])))
    model = models(replace(run, stages=(stage, *run.stages[1:])))[0]
    assert model.partition_count(4.0, None).at(None) == 64.0
