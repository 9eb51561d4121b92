"""Groups of which no two tasks have one in common: a table that was written by what they are."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from sparkplan_runs import executors, fit

from engine import Workload
from engine.models.replay.alternatives import group_growth_uncertain
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.data_flow import (
    PARTITIONED_BY_KEY_POWER,
    is_partitioned_by_key,
)
from engine.profile import Run
from engine.stage_run import Measure
from engine.units import MIB

ROWS = 320_000.0
QUERY = {"sql_execution_id": 0}


def by_folder(groups: float = 650.0, partial_groups: float = 650.0, *, written: bool = True) -> Run:
    """A table that is written by month and summed by month and country: two tasks of six months."""
    sums = {
        "operations": ("Exchange", "Scan parquet", "WholeStageCodegen (1)"),
        "shuffle_write_bytes": Measure(2, 8.0 * MIB, (4.0 * MIB,)),
        "ungrouped_rows": ROWS,
        "grouped_rows": partial_groups,
        "groups": groups,
        "files_by": 0 if written else None,
    }
    writer = {"operations": ("WriteFiles", "Scan parquet"), "written_files": 12.0}
    reader = {"operations": ("AQEShuffleRead", "WholeStageCodegen (2)")}
    stages = [
        Stage(np.full(2, 4.0), input_bytes=64.0 * MIB, more=QUERY | writer),
        Stage(np.full(2, 2.0), (0,), input_bytes=16.0 * MIB, more=QUERY | sums),
        Stage(np.full(2, 3.0), (1,), shuffle_bytes=8.0 * MIB, more=QUERY | reader),
    ]
    return replace(observed(stages, slots=2), spark_version="3.5.9")


def read_by_last(run: Run, ratio: float, cores: float = 2.0) -> float:
    return float(Replay.of(run).models[2].read_growth(ratio, cores))


def test_they_grow_half_way_between_none_and_all() -> None:
    assert is_partitioned_by_key(by_folder().stages[1])
    assert read_by_last(by_folder(), 4.0) == pytest.approx(4.0**PARTITIONED_BY_KEY_POWER)


def test_more_tasks_have_none_in_common_either() -> None:
    assert read_by_last(by_folder(), 1.0, 16.0) == pytest.approx(1.0)
    assert read_by_last(by_folder(partial_groups=1300.0), 1.0, 16.0) > 1.0, "each task has all"


@pytest.mark.parametrize(
    "run",
    [
        by_folder(groups=ROWS, partial_groups=ROWS),  # a key of its own for each row
        by_folder(written=False),  # files of more days are more days
    ],
)
def test_groups_of_other_files_are_as_many_more_as_rows(run: Run) -> None:
    assert not is_partitioned_by_key(run.stages[1])
    assert read_by_last(run, 4.0) == pytest.approx(4.0)


def test_one_group_in_two_tasks_tells_that_rows_were_not_divided() -> None:
    assert not is_partitioned_by_key(by_folder(partial_groups=651.0).stages[1])


def test_the_interval_reaches_growth_in_proportion() -> None:
    run = by_folder()
    assert group_growth_uncertain(Replay.of(run).models[2])
    size = run.workload.input_bytes
    assert size is not None
    asked = {"cluster": executors(2), "workload": Workload(4.0 * size)}
    held, grows = (
        fit(one).predict(**asked) for one in (run, by_folder(groups=ROWS, partial_groups=ROWS))
    )
    assert held.seconds < grows.seconds < held.high
