"""What stages read from outside for RDDs that they persist, each partition once."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.profile import Run
from engine.sources import read
from engine.sources.logs.entities import SourceReads
from engine.sources.logs.task_rows import COLUMNS, PACK
from engine.sources.logs.tasks import StageTasks

DATA = Path(__file__).parents[2] / "data"


def test_a_row_taken_of_cached_data_before_all_leaves_the_rest_to_be_read() -> None:
    """Spark 3.5: `first` computed one partition of four; of six of a table, two found no room, and
    the stage that stored it read them in part. The texts have 6.5 and 52 MB, and each split reads
    on to the end of a line."""
    run = read(DATA / "taken.zstd").runs[0]
    assert run.workload.input_bytes == pytest.approx(6.5e6 + 52e6, rel=0.02)
    first, rest, again = run.stages[2:5]
    assert first.in_part
    assert first.input_bytes is not None
    assert rest.input_bytes is not None
    assert rest.cached_input_bytes == pytest.approx(again.input_bytes.total / 4, rel=1e-3)
    assert rest.operation_counts == first.operation_counts
    assert again.operation_counts != first.operation_counts


def test_of_files_whose_reads_spark_does_not_count_new_partitions_are_input_too() -> None:
    """Spark 4.3 counts of them the footers alone: of the stage that reads the rest of a cached
    table, what it found of blocks is no sign that its reads were counted."""
    run = read(DATA / "taken_table.zstd").runs[0]
    (written,) = [stage.output_bytes for stage in run.stages if stage.output_bytes is not None]
    assert run.workload.input_bytes == pytest.approx(written.total)
    assert "input-size-inferred" in {notice.code for notice in run.notices}


@pytest.mark.parametrize("told", [True, False])
def test_partitions_that_no_stage_has_computed_are_input(tmp_path: Path, told: bool) -> None:
    """Of four partitions `first` reads one and `take` another; a count reads blocks of these."""
    kept = log.rdd(5, [1], cached=True) | {"Number of Partitions": 4}
    rdds = [log.rdd(9, [5]), kept, log.rdd(1)]
    for rdd in rdds:
        rdd["Number of Partitions"] = 4

    def reading(number: int, at: float, sizes: dict[int, int]) -> list[log.Event]:
        stage = log.info(number, len(sizes), rdds=rdds)
        tasks = []
        for index, (place, size) in enumerate(sizes.items()):
            metrics = {"Input Metrics": {"Bytes Read": size}}
            task = log.task(number, 10 * number + index, at, at + 1, index=index, metrics=metrics)
            task["Task Info"] = {**task["Task Info"], "Partition ID": place}
            tasks.append(task)
        return [log.submitted(stage, at), *tasks, log.completed(stage, at, at + 1.0)]

    def stored(place: int) -> list[log.Event]:
        block = {"Block ID": f"rdd_5_{place}", "Memory Size": 70, "Disk Size": 0}
        return [{"Event": "SparkListenerBlockUpdated", "Block Updated Info": block}] * told

    gone = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 5}
    events = [
        *reading(0, 2.0, {0: 100}), *stored(0),
        *reading(1, 4.0, {2: 300}), *stored(2),
        *reading(2, 6.0, {0: 70, 1: 200, 2: 70, 3: 400}), *stored(1), *stored(3),
        *reading(3, 8.0, {0: 70, 1: 70, 2: 70, 3: 70}),
    ]  # fmt: skip
    run = run_of(tmp_path, [*log.header(), *events, log.end(12.0)])
    assert run.workload.input_bytes == 1000.0
    assert [stage.cached_input_bytes for stage in run.stages] == [0.0, 0.0, 140.0, 280.0]
    again = [*events, gone, *reading(4, 10.0, {0: 100, 1: 200, 2: 300, 3: 400})]
    run = run_of(tmp_path, [*log.header(), *again, log.end(12.0)])
    assert run.workload.input_bytes == 2000.0


def test_a_task_that_is_told_after_its_stage_completed_is_none_of_its_inputs() -> None:
    """Its bytes are none of the stage's input either, and less than nothing would be cached."""

    def told(place: int) -> bytes:
        known = {"partition": place, "index": place, "launch": 1, "finish": 2, "input": 100}
        return PACK(*(known.get(name, 0) for name in COLUMNS))

    tasks = StageTasks()
    tasks.tasks = 3
    tasks.buffer += told(0) + told(1)
    assert tasks.inputs() == {0: 100, 1: 100}
    tasks.close()
    tasks.buffer += told(2)
    assert tasks.inputs() == {0: 100, 1: 100}
    tasks.flush()
    tasks.buffer += told(2)
    assert tasks.inputs() == {0: 100, 1: 100}


def test_each_partition_counts_at_the_most_that_was_read_of_it() -> None:
    sources = SourceReads()
    sources.record_first(5, {0: 100, 1: 30})
    found = sources.read(5, {0: 70, 1: 100, 2: 90}, cached={0}, fully_computed=True)
    assert (found.bytes, found.first_bytes, found.first_share) == (70.0, 0.0, 0.0)
    assert sources.read(5, {0: 70, 1: 100}, cached={0}, fully_computed=True).bytes == 0.0
    assert sources.read(5, {0: 120, 1: 100}, cached=(), fully_computed=True).bytes == 20.0


def test_without_blocks_only_partitions_that_are_new_count() -> None:
    sources = SourceReads()
    sources.record_first(5, {0: 100})
    found = sources.read(5, {0: 400, 1: 60}, cached=None, fully_computed=False)
    assert (found.bytes, found.first_bytes, found.first_share) == (60.0, 60.0, 0.5)
    assert sources.read(5, {0: 400, 1: 60}, cached=None, fully_computed=True).bytes == 0.0
    sources.unpersisted(5)
    assert sources.read(5, {0: 400}, cached=None, fully_computed=False).bytes == 400.0
    assert sources.read(5, {}, cached=None, fully_computed=False).first_share == 0.0


def partitioned(number: int, places: int, *, cached: bool = False) -> log.Event:
    """RDD 5 is kept and comes from RDD 1; every other reads it."""
    above = {1: [], 5: [1]}.get(number, [5])
    return log.rdd(number, above, cached=cached) | {"Number of Partitions": places}


def beside(tmp_path: Path, *, begins: float, fails: bool = False) -> Run:
    """A stage that stores two partitions from second 2 to 6, and one over the same that begins
    then, reads one of them from outside once more and a block of 30 bytes."""
    kept = [partitioned(5, 2, cached=True), partitioned(1, 2)]
    maker, reader = (log.info(n, 2, rdds=[partitioned(9 + n, 2), *kept]) for n in range(2))

    def task(number: int, index: int, start: float, end: float, size: int) -> log.Event:
        metrics = {"Input Metrics": {"Bytes Read": size}}
        return log.task(number, 2 * number + index, start, end, index=index, metrics=metrics)

    failure = "lost" if fails else None
    events = [
        (2.0, log.submitted(maker, 2.0)),
        (4.0, task(0, 0, 2.0, 4.0, 100)),
        (6.0, task(0, 1, 2.0, 6.0, 100)),
        (6.0, log.completed(maker, 2.0, 6.0, failure=failure)),
        (begins, log.submitted(reader, begins)),
        (begins + 1.0, task(1, 0, begins, begins + 1.0, 30)),
        (begins + 9.0, task(1, 1, begins, begins + 9.0, 100)),
        (begins + 9.0, log.completed(reader, begins, begins + 9.0)),
    ]
    ordered = [event for _, event in sorted(events, key=lambda one: one[0])]
    return run_of(tmp_path, [*log.header(), *ordered, log.end(20.0)])


@pytest.mark.parametrize("begins", [3.0, 5.0, 7.0])
def test_what_stages_read_beside_the_one_that_stores_it_is_no_more_input(
    tmp_path: Path, begins: float
) -> None:
    """A query that uses a cached table for the first time has a stage for each use, which all begin
    at once."""
    run = beside(tmp_path, begins=begins)
    assert run.workload.input_bytes == 200.0
    assert [stage.cached_input_bytes for stage in run.stages] == [0.0, 130.0]


def test_where_the_stage_that_was_to_store_it_failed_before_it_is_input(tmp_path: Path) -> None:
    run = beside(tmp_path, begins=7.0, fails=True)
    assert [stage.cached_input_bytes for stage in run.stages][-1] == 0.0
