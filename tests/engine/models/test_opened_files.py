"""Files of folders that a stage opens: tables that a run writes by folder and reads again."""

from dataclasses import replace

import pytest
from real_logs import log_pair, logged

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.opened_files import FILE_SECONDS, files_power, opened_files
from engine.models.stages.set_up import SET_UP_SECONDS
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure, StageRun, total_of

FOLDERS = 9.0
"""So many folders has a table of the run: each of two tasks wrote a file in each of them."""


def with_writer(run: Run, **changes: object) -> Run:
    """The run with the writer of that table changed."""
    stages = (replace(s, **changes) if s.written_folders == FOLDERS else s for s in run.stages)
    return replace(run, stages=tuple(stages))


SPLITS = logged("written")
"""As it ran: the writer's tasks are splits of its input."""

RUN = with_writer(SPLITS, coalesced=True)
"""As if its program had asked for the writer's two tasks."""


def openers(run: Run) -> tuple[StageModel, StageModel]:
    """The stage that writes the table in folders, and the one that reads all of its files."""
    models = stage_models(run, 2)
    writer = next(one for one in models if one.stage.written_folders == FOLDERS)
    readers = [one for one in models if one.stage.files_by == writer.stage.stage_id]
    return writer, next(one for one in readers if one.stage.files_read == 2 * FOLDERS)


WRITER, READER = openers(RUN)


def opening(seconds: float, *, files: float = 2 * FOLDERS, computed: bool = True) -> float:
    """Share of opening in tasks of so many seconds that read 10 kB of so many files."""
    times = Measure(2, 2 * seconds, (seconds, seconds))
    stage = replace(
        READER.stage, tasks=2, files_read=files, input_bytes=Measure(2, 2e4, (1e4, 1e4)),
        input_records=200.0, task_seconds=times if computed else Measure(2, 200.0, (100.0, 100.0)),
        cpu_seconds=times if computed else Measure(2, 2 * seconds, (seconds, seconds)),
    )  # fmt: skip
    opened = opened_files(stage, WRITER.stage)
    return 0.0 if opened is None else opened.share


def wrote(tasks: int, files: float | None, folders: float | None) -> StageRun:
    return replace(WRITER.stage, tasks=tasks, written_files=files, written_folders=folders)


@pytest.mark.parametrize(
    ("writer", "power"),
    [(wrote(10, 400.0, 40.0), 0.0), (wrote(10, 400.0 / 10**0.25, 40.0), 0.25)],
)
def test_files_follow_the_folders_that_tasks_share(writer: StageRun, power: float) -> None:
    """By Heaps' law, of which each task is a sample."""
    assert files_power(writer) == pytest.approx(power)


@pytest.mark.parametrize(
    "writer",
    [
        wrote(10, 40.0, 40.0),
        wrote(1, 40.0, 40.0),
        wrote(10, 401.0, 40.0),
        wrote(10, 10.0, 0.0),
        wrote(10, None, None),
    ],
    ids=["brought-together", "one-task", "cut-by-rows", "no-folders", "unknown"],
)
def test_files_whose_growth_no_task_shows_follow_the_data(writer: StageRun) -> None:
    assert files_power(writer) is None
    assert opened_files(READER.stage, writer) is None


def test_the_more_files_the_more_of_the_work_is_opening_them() -> None:
    shares = [opening(1.0, files=files) for files in (2.0, 4.0, 40.0, 400.0, 4000.0)]
    assert shares[0] == 0.0, "one file for each task is its set-up"
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_opening_a_file_takes_no_longer_than_the_set_up_of_a_task() -> None:
    assert opening(3600.0) <= (FOLDERS - 1.0) * SET_UP_SECONDS / 3600.0
    assert opening(FOLDERS * FILE_SECONDS) > 0.5


def test_waiting_for_a_core_is_no_work_on_data() -> None:
    assert opening(0.1, computed=False) == pytest.approx(opening(0.1))


@pytest.mark.parametrize("model", [WRITER, READER], ids=["writer", "reader"])
def test_opening_files_stays_with_more_data(model: StageModel) -> None:
    opened = model.opened_files
    assert opened is not None
    assert opened.share > 0.1
    for ratio in (0.2, 3.0, 10.0):
        assert model.read_growth(ratio) == ratio, "bytes grow as ever"
        expected = opened.share + (1.0 - opened.share) * ratio
        assert model.prior_work_growth(ratio, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("of_writer", [True, False], ids=["writer", "reader"])
def test_each_task_more_of_the_writer_opens_a_file_in_each_folder(of_writer: bool) -> None:
    """Eight slots make more tasks of it than two."""
    writer, reader = openers(SPLITS)
    model = writer if of_writer else reader
    opened, tasks = model.opened_files, writer.scaled(2.0, None, 8).tasks
    assert opened is not None
    assert tasks > writer.scaled(2.0, None).tasks > writer.stage.tasks
    expected = opened.share * tasks / writer.stage.tasks + (1.0 - opened.share) * 2.0
    assert model.prior_work_growth(2.0, 1.0, 8.0) == pytest.approx(expected)
    assert model.prior_work_growth(1.0, 1.0) == 1.0


def test_folders_that_the_run_does_not_read_again_count_too() -> None:
    """Three times the rows in 300 files again, two in each of 150 folders, took 1.07 times the CPU
    time (3.5 and 3.8 s), where 2.5 times was predicted."""
    few, more = log_pair("foldered")
    (model,) = (one for one in stage_models(few, 2) if one.stage.written_folders)
    (seen,) = (one for one in more.stages if one.written_folders)
    assert model.opened_files is not None
    assert model.stage.written_files == seen.written_files == 300.0
    assert total_of(seen.input_bytes) == pytest.approx(3.0 * total_of(model.stage.input_bytes))
    computed = total_of(seen.cpu_seconds) / total_of(model.stage.cpu_seconds)
    assert model.prior_work_growth(3.0, 1.0) == pytest.approx(computed, rel=0.2)


def test_more_data_may_have_more_folders() -> None:
    """Then its work grows with the data; unless logs of other inputs show how it does."""
    replay = Replay.of(RUN)
    place = next(i for i, s in enumerate(RUN.stages) if s.stage_id == READER.stage.stage_id)
    others = [other for other in alternatives_of(replay) if other.models[place].files_follow_data]
    growths = [other.models[place].prior_work_growth(3.0, 1.0) for other in others]
    assert growths == [READER.read_growth(3.0)]
    with_more = others[0].replayed(2, ratio=3.0).work[place]
    assert replay.replayed(2, ratio=3.0).work[place] < with_more
    known = replace(READER, law=replace(READER.law, task_power=1.0))
    assert READER.folders_uncertain
    assert not known.folders_uncertain
