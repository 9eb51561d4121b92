"""Scans that were cut for fewer cores than the log's: executors came after their query was planned.
One slot more or less than the log's is no jump."""

from dataclasses import replace

import numpy as np
import pytest
from real_logs import logged
from sparkplan_runs import executors, fit
from test_partitions import plan

from engine.models.replay.alternatives import alternatives_at_log_input
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.packed_files import FileSizes, PackedFiles
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.units import MIB


def scan(*, tasks: int, mib: float, slots: int, files: float | None = None) -> Run:
    """A scan of files, of which the plan says how many there are or does not."""
    run = plan(scan_tasks=tasks, scan_mib=mib, slots=slots)
    stage = replace(run.stages[0], files_bytes=mib * MIB, files_read=files)
    return replace(run, stages=(stage, *run.stages[1:]))


def first(run: Run) -> StageModel:
    assert run.cluster.slots
    return stage_models(run, run.cluster.slots)[0]


def test_what_was_planned_before_executors_came_is_cut_for_the_least_cores_anywhere() -> None:
    """A real log: twelve files in two splits, though up to six executors came for what followed."""
    run = logged("planned_early")
    assert run.cluster.slots == 4
    count = first(run).partition_count(1.0, None)
    assert [count.at(slots) for slots in (2, 3, None, 5, 8, 32)] == [2.0] * 6


@pytest.mark.parametrize("files", [None, 40.0])
@pytest.mark.parametrize("tasks", range(1, 17))
def test_one_slot_more_or_less_is_no_jump(tasks: int, files: float | None) -> None:
    """Of 80 MiB on 16 slots, whatever the log has of them: but for the steps of packing itself."""
    count = first(scan(tasks=tasks, mib=80.0, slots=16, files=files)).partition_count(1.0, None)
    for slots in (15, 17):
        assert count.at(slots) == pytest.approx(tasks, abs=1.0, rel=0.5)
    found = count.on(np.arange(1.0, 200.0))
    assert (np.diff(found) >= -1e-9).all()


def test_cores_that_were_there_are_as_large_a_share_of_another_cluster() -> None:
    """Three splits for 16 slots: what three cores make of these files, or a sixth of 96."""
    sizes = FileSizes(40.0, 2.0 * MIB, 128.0 * MIB, 4.0 * MIB)
    packed = PackedFiles.of(sizes, scans=1, cores=16, splits=3, may_be_early=True)
    assert packed.counted_share == pytest.approx(3.0 / 16.0)
    found = packed.count(np.asarray([16.0, 96.0]), 1.0)
    assert found[0] == 3.0
    assert found[1] == pytest.approx(float(sizes.splits(np.asarray(18.0))))
    assert PackedFiles.of(sizes, scans=1, cores=16, splits=3) is None


def test_a_set_parallelism_counts_however_few_executors_are_there() -> None:
    run = scan(tasks=3, mib=80.0, slots=16, files=40.0)
    named = replace(run, config={**run.config, "spark.default.parallelism": "16"})
    assert first(run).planning_cores == 3
    assert first(named).planning_cores is None


@pytest.mark.parametrize(
    ("operation", "tasks", "more"),
    [
        ("Scan binaryFile ", 3, 5.0),  # five files of 5 MB on two slots, never cut
        ("Scan parquet ", 3, 10.0),  # always cut
    ],
)
def test_the_format_says_whether_files_are_cut(operation: str, tasks: int, more: float) -> None:
    run = scan(tasks=tasks, mib=25.0, slots=2, files=5.0)
    stage = replace(run.stages[0], operations=(operation,), operation_counts=())
    count = first(replace(run, stages=(stage,))).partition_count(1.0, None)
    assert np.ceil(count.at(64)) == pytest.approx(more, abs=1.0)


def test_the_interval_reaches_as_many_splits_on_any_cluster() -> None:
    run = scan(tasks=3, mib=80.0, slots=16, files=40.0)
    (other,) = alternatives_at_log_input(Replay.of(run))
    stays, grows = (one.replayed(64) for one in (other, Replay.of(run)))
    assert stays.tasks[0] == 3
    assert grows.tasks[0] == 10
    assert (
        alternatives_at_log_input(Replay.of(scan(tasks=16, mib=80.0, slots=16, files=40.0))) == ()
    )
    found = fit(run).predict(cluster=executors(64), confidence=0.9)
    assert found.high is not None
    assert found.low < found.seconds < stays.seconds < found.high
