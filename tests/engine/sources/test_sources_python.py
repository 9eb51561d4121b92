"""Stages that compute in Python although the names of their operations do not say so."""

import json
from pathlib import Path

from pitfall_logs import DATA, one, text_of

from engine.models.stages.disturbance import computes_elsewhere, computes_in_python
from engine.sources.logs.entities import Stage
from engine.sources.logs.python_workers import STARTS, WorkerStarts

LOG = DATA / "python_source.zstd"
"""A data source written in Python."""


def test_the_scan_of_a_source_in_python_computes_elsewhere():
    scan, rest = one(LOG).stages
    assert "BatchScan numbers" in scan.operations
    assert scan.operations[-1] == "Python"
    assert computes_elsewhere(scan)
    assert not computes_elsewhere(rest)


def test_without_the_metrics_of_python_it_is_a_scan_like_others(tmp_path: Path):
    path = tmp_path / "scala"
    path.write_bytes(text_of(LOG).replace(b" to Python workers", b" to others"))
    assert not any(computes_elsewhere(stage) for stage in one(path).stages)


def test_operations_that_say_python_are_left_as_they_are():
    for name in ("BatchEvalPython", "FlatMapGroupsInPandas", "MapInArrow"):
        stage = Stage(1, operations=("Exchange", name))
        stage.ran_python(starts_reported=False)
        assert stage.operations == ("Exchange", name)


def test_counts_of_operations_stay_beside_their_names():
    stage = Stage(1, operations=("Exchange", "BatchScan numbers"), operation_counts=(1, 2))
    stage.ran_python(starts_reported=False)
    assert stage.operations == ("Exchange", "BatchScan numbers", "Python")
    assert stage.operation_counts == (1, 2, 1)


def test_spark_4_tells_how_long_workers_took_to_start():
    """4.518 and 3.137 s, and 6.980 and 4.161 s of the task that started one, as the metrics of the
    log say. The other task of the second stage took over the worker of the first one, which had
    waited for 5.369 s: it says so of its initialization, and ran for 1.496 s in all."""
    stages = one(DATA / "python_workers.zstd").stages
    assert [stage.python_start_seconds for stage in stages] == [None, 7.655, 11.141, None]
    assert [computes_in_python(stage) for stage in stages] == [False, True, True, False]
    assert one(LOG).stages[0].python_start_seconds is None


def task_end(*metrics: tuple[str, object]) -> bytes:
    """The end of a task that added so much to metrics of these names."""
    told = [{"ID": n, "Name": name, "Update": add} for n, (name, add) in enumerate(metrics)]
    return json.dumps({"Task Info": {"Accumulables": told}}, separators=(",", ":")).encode()


def seconds_of(*lines: bytes) -> float:
    workers = WorkerStarts()
    for line in lines:
        workers.task_ended(line)
    return workers.seconds


def test_workers_of_one_task_start_beside_each_other():
    boot, load = STARTS
    line = task_end((boot, "400"), (boot, "1500"), (load, "700"), (load, "90"), ("n", "9" * 9))
    assert seconds_of(line) == 2.2
    assert seconds_of(line, line) == 4.4
    assert seconds_of(task_end((boot, "400"))) == 0.4


def test_a_worker_that_is_used_again_tells_how_long_it_waited():
    assert seconds_of(task_end((STARTS[1], "37659"))) == 0.0


def test_what_is_no_time_counts_as_none():
    """A program's own accumulator may have any name and any value."""
    for value in (None, "soon", [1, 2], {"a": 1}, "-5", "nan", "9" * 5000):
        assert seconds_of(task_end((STARTS[0], value))) == 0.0
    assert seconds_of(task_end((STARTS[0], "400"))[:-9]) == 0.0


def test_stages_that_started_no_worker_say_so_where_metrics_tell():
    stage = Stage(1, operations=("ArrowEvalPython",))
    stage.watch_workers()
    stage.ran_python(starts_reported=False)
    assert stage.python_start_seconds is None
    stage.ran_python(starts_reported=True)
    assert stage.python_start_seconds == 0.0


def test_starts_of_workers_in_an_attempt_that_does_not_count_count_no_more():
    stage = Stage(1, operations=("ArrowEvalPython",))
    stage.watch_workers()
    stage.tasks.workers.seconds = 3.0
    stage.tasks.begin_again(1, alone=False)
    stage.ran_python(starts_reported=True)
    assert stage.python_start_seconds == 0.0
