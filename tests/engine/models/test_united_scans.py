"""Unions of many scans, of one table and in a loop, in real logs: of five files on two slots, and
of fifteen on six."""

from dataclasses import replace

from real_logs import log_pair

from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import StageRun

FEW, MORE = log_pair("united")
FILES = 3.0
"""So many times the files has the larger run."""


def unions(run: Run) -> list[StageRun]:
    """The stages that unite scans: of one table, of folders of another, of single files."""
    return [stage for stage in run.stages if "Union" in stage.operations]


def test_the_logs_say_how_many_tables_their_unions_scan() -> None:
    assert [stage.tables_read for stage in unions(FEW)] == [1, 5, 5]
    assert [stage.tables_read for stage in unions(MORE)] == [1, 15, 15]
    others = [one.tables_read for one in FEW.stages if "Union" not in one.operations]
    assert set(others) == {None}


def tasks_of(run: Run, ratio: float, slots: int) -> list[int]:
    """Tasks predicted for its unions."""
    models = {one.stage.stage_id: one for one in stage_models(run, run.cluster.slots or 0)}
    return [models[one.stage_id].scaled(ratio, None, slots).tasks for one in unions(run)]


def test_the_larger_log_predicts_the_tasks_of_the_smaller() -> None:
    seen = [stage.tasks for stage in unions(FEW)]
    assert tasks_of(MORE, 1.0 / FILES, 2) == seen == [10, 10, 5]


def test_more_files_are_larger_scans_of_one_table_and_more_scans_of_others() -> None:
    assert tasks_of(FEW, FILES, 2) == [10, 30, 15]


def test_without_the_number_of_tables_many_scans_are_a_loop() -> None:
    stages = tuple(replace(stage, tables_read=None) for stage in FEW.stages)
    place = FEW.stages.index(unions(FEW)[0])
    model = stage_models(replace(FEW, stages=stages), 2)[place]
    assert model.partition_count(FILES, None).at(2) == FILES * model.stage.tasks
