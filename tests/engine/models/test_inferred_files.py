"""Scans of which no plan tells how large their files are, of a real log (`df.rdd`)."""

import math
from dataclasses import replace

import pytest
from real_logs import log_pair, logged
from sparkplan_runs import executors, fit

from engine.models.replay.alternatives import alternatives_at_log_input
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.inferred_files import InferredFiles
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure
from engine.units import MIB

FEW, MORE = log_pair("columns")


def scans(run: Run) -> tuple[StageModel, StageModel]:
    """That of the RDD, and that of the query."""
    rdd, query = scans_of(run)
    return rdd, query


def scans_of(run: Run) -> list[StageModel]:
    assert run.cluster.slots
    models = stage_models(run, run.cluster.slots)
    return [model for model in models if "Scan parquet" in model.stage.operations]


def without_query(run: Run) -> Run:
    """The run as if nothing but the RDD had scanned the files."""
    kept = tuple(stage for stage in run.stages if not stage.files_bytes)
    return replace(run, stages=kept)


def test_the_log_tells_nothing_of_the_files_of_an_rdd() -> None:
    for run in (FEW, MORE):
        rdd, query = (model.stage for model in scans(run))
        assert (rdd.files_bytes, rdd.files_read) == (None, None)
        assert query.files_bytes
        assert query.files_read
        assert rdd.tasks == query.tasks
        assert rdd.outside_bytes < query.files_bytes / 5.0


def test_a_query_of_the_same_files_tells_their_size() -> None:
    """Both are cut alike, here and elsewhere: twelve files on eight slots tell of four on two."""
    for run in (FEW, MORE):
        rdd, query = scans(run)
        assert query.unplanned is None
        assert rdd.unplanned.total_bytes == query.stage.files_bytes
        for ratio in (0.3, 1.0, 3.0, 30.0):
            found, same = (model.partition_count(ratio, None) for model in (rdd, query))
            assert [found.at(n) for n in (2, 8, 50)] == [same.at(n) for n in (2, 8, 50)]
    assert scans(MORE)[0].scaled(1 / 3, None, 2).tasks == scans(FEW)[0].stage.tasks


def filtered(run: Run) -> Run:
    """The run as if its query had read some of the records."""
    fewer = [
        replace(stage, input_records=(stage.input_records or 0.0) / 2)
        if stage.files_bytes
        else stage
        for stage in run.stages
    ]
    return replace(run, stages=tuple(fewer))


def test_a_query_of_as_many_records_leaves_nothing_open() -> None:
    """The same files: nothing is inferred of them, and no interval reaches other sizes."""
    for run in (FEW, MORE):
        rdd, query = scans(run)
        assert rdd.unplanned is not None
        assert rdd.unplanned.is_known
        assert not rdd.file_sizes_uncertain
        assert rdd.unplanned.number == query.stage.files_read
        assert alternatives_at_log_input(Replay.of(run)) == ()
        held = scans(filtered(run))[0]
        assert held.file_sizes_uncertain
        assert held.unplanned is not None
        assert held.unplanned.total_bytes == query.stage.files_bytes
        assert len(alternatives_at_log_input(Replay.of(filtered(run)))) == 2


def test_of_several_files_those_of_as_many_records_are_the_same() -> None:
    query = scans(FEW)[1].stage
    larger = replace(
        query, stage_id=99, files_bytes=2.0 * (query.files_bytes or 0.0), input_records=16000.0
    )
    found = scans_of(replace(FEW, stages=(*FEW.stages, larger)))[0].unplanned
    assert found == scans(FEW)[0].unplanned
    assert found is not None
    assert found.is_known


@pytest.mark.parametrize(
    ("largest", "total_mib"), [("128m", 256.0), ("128m", 255.8), ("1m", 1.6), ("1m", 2.0)]
)
def test_a_query_whose_splits_are_full_tells_their_size(largest: str, total_mib: float) -> None:
    """What tasks may read beyond their splits is no part of what the splits hold."""
    rdd, query = (model.stage for model in scans(FEW))
    full = replace(query, files_bytes=total_mib * MIB)
    config = {**FEW.config, "spark.sql.files.maxPartitionBytes": largest}
    run = replace(FEW, stages=(rdd, full), config=config)
    (found, same) = stage_models(run, 2)
    assert found.unplanned is not None
    assert found.unplanned.is_known
    assert (found.unplanned.total_bytes, found.unplanned.number) == (total_mib * MIB, 4.0)
    tasks = [one.scaled(10.0, None, 8).tasks for one in (found, same)]
    assert tasks[0] == tasks[1] >= 20
    larger = replace(query, files_bytes=2.01 * (128.0 if largest == "128m" else 1.0) * MIB)
    beyond = stage_models(replace(run, stages=(rdd, larger)), 2)[0].unplanned
    assert beyond is not None
    assert not beyond.is_known


@pytest.mark.parametrize(
    ("read_kib", "total_kib", "same"),
    [(600.0, 590.0, True), (600.0, 310.0, True), (600.0, 290.0, False), (1e4, 9400.0, False)],
)
def test_a_table_far_smaller_than_what_was_read_is_another(
    read_kib: float, total_kib: float, same: bool
) -> None:
    """Beyond their splits two tasks read up to 256 KiB each, and no more than half of all."""
    rdd, query = (model.stage for model in scans(FEW))
    half = read_kib * 512.0
    rdd = replace(rdd, input_bytes=Measure(2, 2.0 * half, (half,)), cached_input_bytes=None)
    for records in (query.input_records, 1.0):
        other = replace(query, files_bytes=total_kib * 1024.0, input_records=records)
        found = stage_models(replace(FEW, stages=(rdd, other)), 2)[0].unplanned
        assert found is not None
        assert (found.total_bytes == total_kib * 1024.0) == same
        assert found.is_known == (same and records != 1.0)
        assert found.least_bytes == min(2.0 * half, found.total_bytes)
        assert found.least_bytes <= found.total_bytes <= found.most_bytes


def test_files_that_are_not_cut_are_told_by_the_query_that_reads_as_much() -> None:
    """Two of 500 MiB in two tasks: more than splits hold, and all of it was read."""
    rdd, query = (
        replace(
            model.stage,
            operations=("Scan csv",),
            input_bytes=Measure(2, 1000.0 * MIB, (500.0 * MIB,)),
            cached_input_bytes=None,
        )
        for model in scans(FEW)
    )
    whole = replace(query, files_bytes=1000.0 * MIB, files_read=2.0)
    found = stage_models(replace(FEW, stages=(rdd, whole)), 2)[0].unplanned
    assert found == InferredFiles(1000.0 * MIB, 1000.0 * MIB, 1000.0 * MIB, 2.0)


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
def test_the_files_of_a_table_are_told_by_queries_of_it(format_name: str) -> None:
    """Spark puts the name of a table behind the format."""
    ours, others = (f"Scan {format_name} spark_catalog.default.{name}" for name in ("a", "b"))
    rdd, query = (replace(one.stage, operations=("PythonRDD", ours)) for one in scans(FEW))
    other = replace(query, stage_id=99, operations=("PythonRDD", others), files_bytes=5e7)
    run = replace(FEW, stages=(rdd, query, other))
    assert stage_models(run, 2)[0].unplanned == scans(FEW)[0].unplanned
    alone = stage_models(replace(run, stages=(rdd, other)), 2)[0].unplanned
    assert alone == scans_of(without_query(FEW))[0].unplanned


def test_queries_of_several_tables_tell_nothing() -> None:
    """In as many splits: nobody knows which of them the RDD reads."""
    query = scans(FEW)[1].stage
    other = replace(query, stage_id=99, files_bytes=2.0 * (query.files_bytes or 0.0))
    both = scans_of(replace(FEW, stages=(*FEW.stages, other)))
    alone = scans_of(without_query(FEW))
    assert both[0].unplanned == alone[0].unplanned
    assert both[0].unplanned.number is None


def test_else_they_lie_between_what_was_read_and_what_splits_hold() -> None:
    """Their geometric mean, of columns alone."""
    run = without_query(FEW)
    (rdd,) = scans_of(run)
    read_bytes = rdd.stage.outside_bytes
    most = rdd.stage.tasks * 128.0 * MIB
    assert rdd.unplanned == InferredFiles(math.sqrt(read_bytes * most), read_bytes, most)
    in_rows = replace(rdd.stage, operations=("Scan csv", "PythonRDD"))
    (whole,) = stage_models(replace(run, stages=(in_rows,)), 2)
    assert whole.unplanned is None


@pytest.mark.parametrize("slots", [64, 512])
def test_the_interval_reaches_files_of_any_size_between(slots: int) -> None:
    run = without_query(FEW)
    held, found = Replay.of(run), fit(run).predict(cluster=executors(slots))
    small, large = (other.replayed(slots) for other in alternatives_at_log_input(held))
    assert sum(small.tasks) < sum(held.replayed(slots).tasks) <= sum(large.tasks)
    assert found.low is not None
    assert found.high is not None
    for other in (small, large):
        relative = other.seconds / held.replayed(slots).seconds
        assert found.low <= found.seconds * relative <= found.high


def test_what_is_inferred_of_them_is_said_where_tasks_hang_on_it() -> None:
    alone, own = without_query(FEW), FEW.cluster.executors or 0
    cores = FEW.cluster.executor_cores or 0

    def said(run: Run, slots: int) -> list[str]:
        found = fit(run).predict(cluster=executors(slots))
        return [notice.text for notice in found.warnings if notice.code == "scan-size-inferred"]

    (rdd,) = scans_of(alone)
    assert rdd.unplanned is not None
    fewest, held, most = (
        replace(rdd, unplanned=files).scaled(1.0, None, 64).tasks
        for files in (rdd.unplanned.others[0], rdd.unplanned, rdd.unplanned.others[1])
    )
    assert fewest < held <= most
    (text,) = said(alone, 64)
    assert f"which makes {held} tasks here" in text
    assert f"{fewest} to {most} tasks" in text
    assert "another query" not in text
    assert "as those of another query" in said(filtered(FEW), 64)[0]
    assert said(FEW, 64) == [], "the query tells"
    assert said(alone, own * cores) == [], "the log's own number of tasks is known"


def test_of_text_a_query_of_as_many_records_tells_how_many_files_there_are() -> None:
    """All of it is read. An RDD of three CSV files, three splits for two cores, was predicted in
    three for twelve, and came in two, as a query of them in 3.3.4."""
    rdd, query = (replace(one.stage, operations=("Scan csv",)) for one in scans(FEW))
    run = replace(FEW, stages=(rdd, query))
    ours, theirs = stage_models(run, 2)
    assert ours.unplanned is not None
    assert ours.unplanned.number == theirs.stage.files_read
    assert ours.partition_count(4.0, None).at(8) == theirs.partition_count(4.0, None).at(8)
    fewer = replace(query, input_records=(query.input_records or 0.0) / 2)
    assert stage_models(replace(run, stages=(rdd, fewer)), 2)[0].unplanned is None


@pytest.mark.parametrize("name", ["own_settings", "own_settings_more"])
def test_a_schema_is_inferred_from_the_files_of_the_scan_that_reads_as_many_bytes(
    name: str,
) -> None:
    """Four and twelve CSV files on two and on six slots: two splits and six, of which either log
    predicts the other. By size alone the two stay."""
    run = logged(name)
    schema, query = (
        next(
            one for one in stage_models(run, run.cluster.slots or 0) if one.stage.stage_id == number
        )
        for number in (1, 2)
    )
    assert schema.unplanned is not None
    assert schema.unplanned.is_known
    assert (schema.unplanned.number, schema.unplanned.total_bytes) == (
        query.stage.files_read,
        query.stage.files_bytes,
    )
    for ratio, slots, tasks in ((3.0, 6, 6), (1 / 3, 2, 2)):
        if tasks != schema.stage.tasks:
            assert schema.scaled(ratio, None, slots).tasks == tasks
    other = replace(query.stage, input_bytes=None)
    stages = (schema.stage, other)
    assert stage_models(replace(run, stages=stages), run.cluster.slots or 0)[0].unplanned is None
