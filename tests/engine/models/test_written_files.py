"""Tables that a run writes and reads again, on real logs of which each predicts the other (four
files on two slots, eight on eight)."""

from dataclasses import replace

import pytest
from depth import cases
from real_logs import log_pair

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

FEW, MORE = log_pair("written")
FILES = 2.0
"""So many times the files has the larger run."""

BY_TASK, BY_FOLDER_AND_TASK, BY_FOLDER, BY_ROWS, SOME_FOLDERS = range(5)


def readers(run: Run) -> list[StageModel]:
    """The stages that read what others wrote."""
    assert run.cluster.slots
    models = stage_models(run, run.cluster.slots)
    return [model for model in models if model.stage.files_by is not None]


def untold(run: Run) -> Run:
    """The run as if nothing told who wrote which files."""
    stages = tuple(replace(stage, files_by=None) for stage in run.stages)
    return replace(run, stages=stages)


def predicted(known: Run, asked: Run) -> list[int]:
    """Tasks of each reader of one run by the log of the other."""
    ratio = FILES if asked is MORE else 1.0 / FILES
    return [model.scaled(ratio, None, asked.cluster.slots).tasks for model in readers(known)]


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_files_follow_the_tasks_of_their_writer(known: Run, asked: Run) -> None:
    seen = [model.stage.tasks for model in readers(asked)]
    assert seen == ([8, 36, 5, 56, 12] if asked is MORE else [2, 9, 5, 27, 3])
    found = predicted(known, asked)
    assert found[BY_ROWS] == pytest.approx(seen[BY_ROWS], rel=0.05), "a last file is no whole one"
    del found[BY_ROWS], seen[BY_ROWS]
    assert found == seen


def test_files_of_anyone_else_become_more_with_the_data_alone() -> None:
    scans = [model.stage.stage_id for model in readers(FEW)]
    models = [model for model in stage_models(untold(FEW), 2) if model.stage.stage_id in scans]
    assert [model.scaled(FILES, None, 8).tasks for model in models] == [4, 18, 10, 54, 8]


def test_a_scan_is_as_it_was_for_the_same_input_on_the_same_slots() -> None:
    for run in (FEW, MORE):
        for model in readers(run):
            assert model.partition_count(1.0, None).at(run.cluster.slots) == model.stage.tasks
            assert model.written_by is not None
            assert model.written_by.stage.stage_id == model.stage.files_by


def test_a_single_writer_of_folders_may_become_several() -> None:
    """One task leaves one file in each folder, whether or not rows are brought together first."""
    few = readers(FEW)[BY_FOLDER_AND_TASK]
    assert few.written_by is not None
    writer = replace(few.written_by.stage, tasks=1, written_files=9.0)
    alone = replace(few, written_by=replace(few.written_by, stage=writer))
    assert alone.written_by is not None
    tasks = alone.written_by.scaled(FILES, None, 8).tasks
    assert tasks > 1
    assert alone.partition_count(FILES, None).at(8) > 9.0


def test_what_changes_of_a_writer_changes_of_its_readers() -> None:
    """A `coalesce` before a write may have asked for as many tasks, which leave as many files."""
    place = next(i for i, s in enumerate(FEW.stages) if s.written_files == 2.0)
    writer = replace(FEW.stages[place], operations=(*FEW.stages[place].operations, "Coalesce"))
    run = replace(FEW, stages=(*FEW.stages[:place], writer, *FEW.stages[place + 1 :]))
    stays, *_ = alternatives_of(Replay.of(run))
    first = next(s for s in stays.models if s.stage.files_by == writer.stage_id)
    assert first.written_by is not None
    assert first.written_by.scaled(FILES, None, 2).tasks == 2


def test_a_loop_that_reads_what_it_wrote_is_predicted() -> None:
    """Each of hundreds of stages scans the files of the one before: many more than calls may be
    within each other."""
    first = readers(FEW)[BY_TASK].stage
    turns = range(first.stage_id + 1000, first.stage_id + 1000 + cases(400, deep=1000))
    loop = [replace(first, stage_id=i, files_by=i - 1, written_files=2.0) for i in turns]
    loop[0] = replace(loop[0], files_by=first.files_by)
    run = replace(FEW, stages=(*FEW.stages, *loop))
    last = stage_models(run, 2)[-1]
    assert last.partition_count(1.0, None).at(2) == first.tasks
    assert last.partition_count(FILES, None).at(8) > first.tasks


def test_partitions_fetched_one_by_one_are_never_side_by_side() -> None:
    """Of twelve files four were fetched, of four files two: each in a stage of its own."""
    few, more = log_pair("rewritten")
    for run, other in ((few, more), (more, few)):
        assert run.cluster.slots
        fetched = [
            model
            for model in stage_models(run, run.cluster.slots)
            if model.stage.name.startswith("toLocalIterator")
        ]
        assert len(fetched) == run.cluster.slots
        tasks = {model.scaled(3.0, None, other.cluster.slots).tasks for model in fetched}
        assert tasks == {1}
        assert all(model.scaled(3.0, None, run.cluster.slots).work > 1.0 for model in fetched)
