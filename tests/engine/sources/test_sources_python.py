"""Stages that compute in Python although the names of their operations do not say so."""

from __future__ import annotations

from pathlib import Path

from pitfall_logs import DATA, one, text_of

from engine.models.stages.disturbance import computes_elsewhere
from engine.sources.entities import Stage

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
        stage.ran_python()
        assert stage.operations == ("Exchange", name)


def test_counts_of_operations_stay_beside_their_names():
    stage = Stage(1, operations=("Exchange", "BatchScan numbers"), operation_counts=(1, 2))
    stage.ran_python()
    assert stage.operations == ("Exchange", "BatchScan numbers", "Python")
    assert stage.operation_counts == (1, 2, 1)
