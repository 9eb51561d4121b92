"""An RDD of a plan that a query executed before, on real logs of which each predicts the other:
four files on two slots and twelve on six (Spark 3.5.9)."""

from dataclasses import replace

import pytest
from real_logs import log_pair

from engine.models.replay.replayed_run import Replay
from engine.profile import Run

FEW, MORE = log_pair("planned_again")
FILES = 3.0
RDD = slice(-2, None)
"""The stage that scans the files again, and the shuffle of its rows."""


def given(run: Run) -> Run:
    """The run as if it had found its files, whose number the program decides here."""
    return replace(run, stages=tuple(replace(stage, files_by=None) for stage in run.stages))


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_it_is_cut_as_the_files_are(known: Run, asked: Run) -> None:
    """Taken for a join of two tables in buckets the scan kept its number of tasks."""
    assert asked.cluster.slots
    ratio = FILES if asked is MORE else 1.0 / FILES
    tasks = Replay.of(given(known)).replayed(asked.cluster.slots, ratio=ratio).tasks[RDD]
    seen = tuple(stage.tasks for stage in asked.stages[RDD])
    assert seen == ((6, 6) if asked is MORE else (2, 2))
    assert tasks == seen


def test_its_scan_is_one() -> None:
    scan = FEW.stages[RDD][0]
    assert "Scan parquet" in scan.operations
    assert scan.operation_counts == ()
