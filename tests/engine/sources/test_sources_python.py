"""Stages that compute in Python although the names of their operations do not say so."""

from __future__ import annotations

from pathlib import Path

from pitfall_logs import DATA, one, text_of

from engine.models.stages.disturbance import computes_elsewhere, computes_in_python
from engine.sources.entities import Stage
from engine.sources.plan_events import NamedAccumulable
from engine.sources.python_workers import STARTS, python_start_seconds

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
        stage.ran_python(None)
        assert stage.operations == ("Exchange", name)


def test_counts_of_operations_stay_beside_their_names():
    stage = Stage(1, operations=("Exchange", "BatchScan numbers"), operation_counts=(1, 2))
    stage.ran_python(None)
    assert stage.operations == ("Exchange", "BatchScan numbers", "Python")
    assert stage.operation_counts == (1, 2, 1)


def test_spark_4_tells_how_long_workers_took_to_start():
    """4.518 and 3.137 s, 6.980 and 9.530 s, as the metrics of the log say."""
    stages = one(DATA / "python_workers.zstd").stages
    assert [stage.python_start_seconds for stage in stages] == [None, 7.655, 16.51, None]
    assert [computes_in_python(stage) for stage in stages] == [False, True, True, False]
    assert one(LOG).stages[0].python_start_seconds is None


def test_workers_of_one_task_start_beside_each_other():
    metrics = [
        NamedAccumulable(place, name, str(value))
        for place, (name, value) in enumerate(
            [(STARTS[0], 400), (STARTS[0], 1500), (STARTS[1], 700), (STARTS[1], 90), ("n", 10**9)]
        )
    ]
    assert python_start_seconds(metrics) == 2.2
    assert python_start_seconds(metrics[:1]) == 0.4
    assert python_start_seconds(metrics[4:]) is None


def test_what_is_no_time_counts_as_none():
    """A program's own accumulator may have any name and any value."""
    for value in (None, "soon", [1, 2], {"a": 1}, "-5", "nan", "9" * 5000):
        assert python_start_seconds([NamedAccumulable(1, STARTS[0], value)]) == 0.0


def test_attempts_of_a_stage_tell_of_those_before_them():
    stage = Stage(1, operations=("ArrowEvalPython",))
    for told in (2.0, None, 5.0, 4.0):
        stage.ran_python(told)
    assert stage.python_start_seconds == 5.0
