"""Attempts of tasks and stages in odd order: what counts as work, whenever it is summed up."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.sources.logs import application, eventlog, tasks
from engine.sources.logs.task_rows import ROW_BYTES
from engine.stage_run import StageRun


@pytest.fixture(params=["together", "each at once"])
def summed_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and stages are summed up many at a time: when that is must not matter."""
    if request.param == "each at once":
        monkeypatch.setattr(application, "WAITING_BYTES", 0)
        monkeypatch.setattr(eventlog, "BUFFER_BYTES", ROW_BYTES)


def only(folder: Path, events: list[log.Event]) -> StageRun:
    (stage,) = run_of(folder, [*log.header(), *events, log.end(20.0)]).stages
    return stage


def counted(stage: StageRun) -> tuple[int, int, float]:
    """Tasks of the stage, those that count, and their seconds."""
    return stage.tasks, stage.task_seconds.count, stage.task_seconds.total


@pytest.mark.usefixtures("summed_up")
def test_what_runs_after_a_stage_completed_is_no_work_of_it(tmp_path: Path) -> None:
    """The log has lost the end of task 1; a later attempt writes that partition again."""
    first, again = log.info(0, 2), log.info(0, 1, attempt=1)
    stage = only(
        tmp_path,
        [
            log.submitted(first, 1.0),
            log.task(0, 0, 2.0, 4.0, partition=0),
            log.completed(first, 1.0, 6.0),
            log.submitted(again, 10.0),
            log.task(0, 9, 10.0, 15.0, index=0, partition=1, attempt=1),
            log.completed(again, 10.0, 15.0),
        ],
    )
    assert counted(stage) == (2, 1, 2.0)
    assert stage.completed_seconds == 6.0


def test_a_stage_does_not_end_before_it_begins(tmp_path: Path) -> None:
    """A clock was set back in between."""
    begun, ended = log.submitted(log.info(0, 1), 3.0), log.completed(log.info(0, 1), 3.0, 1.0)
    stage = only(tmp_path, [begun, log.task(0, 0, 3.0, 4.0), ended])
    assert (stage.submitted_seconds, stage.completed_seconds) == (3.0, 3.0)


@pytest.mark.usefixtures("summed_up")
def test_work_that_the_log_tells_after_its_stage_is_kept_where_there_was_none(
    tmp_path: Path,
) -> None:
    stage = only(
        tmp_path,
        [
            log.submitted(log.info(0, 1), 1.0),
            log.completed(log.info(0, 1), 1.0, 6.0),
            log.task(0, 0, 2.0, 4.0, partition=0),
        ],
    )
    assert counted(stage) == (1, 1, 2.0)


@pytest.mark.usefixtures("summed_up")
def test_of_a_retry_that_names_no_partition_as_many_tasks_count_as_are_missing(
    tmp_path: Path,
) -> None:
    """Before Spark 3.3. The third task of attempt 0 ends after attempt 1 was asked for two."""
    first, again = log.info(0, 4), log.info(0, 2, attempt=1)
    stage = only(
        tmp_path,
        [
            log.submitted(first, 1.0),
            log.task(0, 0, 2.0, 3.0),
            log.task(0, 1, 2.0, 3.0),
            log.completed(first, 1.0, 3.0, failure="fetch failed"),
            log.submitted(again, 4.0),
            log.task(0, 2, 2.0, 6.0),
            log.task(0, 4, 5.0, 7.0, index=0, attempt=1),
            log.task(0, 5, 5.0, 8.0, index=1, attempt=1),
            log.completed(again, 4.0, 8.0),
        ],
    )
    assert counted(stage) == (4, 4, 1.0 + 1.0 + 4.0 + 2.0)
    assert (stage.waste.killed_tasks, stage.waste.seconds) == (1, 3.0)


def retried(*, barrier: bool) -> list[log.Event]:
    """A stage of three tasks of which the last fails, and an attempt that runs all of them again;
    task 1 of the first attempt ends only then."""
    rdds = [log.rdd(0, barrier=barrier)]
    first, again = log.info(0, 3, rdds=rdds), log.info(0, 3, attempt=1, rdds=rdds)
    return [
        log.submitted(first, 1.0),
        log.task(0, 0, 2.0, 3.0, partition=0),
        log.task(0, 2, 2.0, 5.0, partition=2, reason="ExceptionFailure"),
        log.completed(first, 1.0, 5.0, failure="a task failed"),
        log.submitted(again, 6.0),
        log.task(0, 1, 2.0, 6.5, partition=1),
        *(log.task(0, 3 + n, 7.0, 9.0 + n, partition=n, index=n, attempt=1) for n in range(3)),
        log.completed(again, 6.0, 11.0),
    ]


@pytest.mark.usefixtures("summed_up")
def test_a_barrier_stage_that_is_retried_keeps_nothing_of_what_it_did(tmp_path: Path) -> None:
    stage = only(tmp_path, retried(barrier=True))
    assert counted(stage) == (3, 3, 2.0 + 3.0 + 4.0)
    waste = stage.waste
    assert (waste.failed_tasks, waste.killed_tasks, waste.retried_stages) == (1, 2, 1)
    assert waste.seconds == 1.0 + 3.0 + 4.5


@pytest.mark.usefixtures("summed_up")
def test_an_attempt_that_runs_all_tasks_again_replaces_what_was_done_before(tmp_path: Path) -> None:
    """All output was lost with its executors. What the first attempt still does is used."""
    stage = only(tmp_path, retried(barrier=False))
    assert counted(stage) == (3, 3, 2.0 + 4.5 + 4.0)
    assert (stage.waste.killed_tasks, stage.waste.seconds) == (2, 1.0 + 3.0 + 3.0)


def test_a_sketched_stage_that_begins_again_is_sketched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "EXACT_TASKS", 0)
    stage = only(tmp_path, retried(barrier=True))
    assert (counted(stage), stage.waste.seconds) == ((3, 3, 9.0), 8.5)


def test_tasks_of_an_attempt_that_was_begun_again_do_not_run_on(tmp_path: Path) -> None:
    """The log breaks off before partition 0 is launched a second time. Task 1 of the first attempt
    still runs: it is of use, but not in a barrier stage."""
    for barrier, count, seconds in ((False, 2, 2.0 + 7.0), (True, 1, 2.0)):
        events = retried(barrier=barrier)[:5]
        started = [log.task_start(0, n, 2.0, index=n) for n in range(2)]
        again = log.task_start(0, 5, 7.0, index=2)
        ended = log.task(0, 4, 7.0, 9.0, partition=3, index=3, attempt=1)
        run = run_of(tmp_path, [*log.header(), *started, *events, again, ended])
        running = run.stages[0].running_seconds
        assert running is not None
        assert (running.count, running.total) == (count, seconds)


def test_a_retry_of_which_nothing_else_is_told_counts_as_it_is(tmp_path: Path) -> None:
    stage = only(tmp_path, [log.task(0, n, 2.0, 4.0, index=n, attempt=1) for n in range(3)])
    assert counted(stage) == (3, 3, 6.0)


@pytest.mark.parametrize("finish", [0.0, 4.0])
def test_what_was_resubmitted_is_not_wasted_a_second_time(tmp_path: Path, finish: float) -> None:
    """The event repeats the task that had succeeded, with its times or without an end."""
    resubmitted = log.task(0, 0, 2.0, 4.0, index=0, reason="Resubmitted")
    resubmitted["Task Info"]["Finish Time"] = log.ms(finish) if finish else 0
    stage = only(
        tmp_path,
        [
            log.submitted(log.info(0, 1), 1.0),
            log.task(0, 0, 2.0, 4.0, index=0),
            resubmitted,
            log.task(0, 2, 5.0, 8.0, index=0),
            log.completed(log.info(0, 1), 1.0, 8.0),
        ],
    )
    assert counted(stage) == (1, 1, 2.0)
    assert (stage.waste.failed_tasks, stage.waste.killed_tasks) == (1, 0)
    assert stage.waste.seconds == 3.0


def test_a_failed_task_without_an_end_wasted_nothing_that_is_known(tmp_path: Path) -> None:
    failed = log.task(0, 1, 2.0, 4.0, reason="ExecutorLostFailure")
    failed["Task Info"]["Finish Time"] = 0
    stage = only(tmp_path, [log.task(0, 0, 2.0, 4.0), failed])
    assert (stage.waste.failed_tasks, stage.waste.seconds) == (1, 0.0)


def test_what_tasks_of_a_sketched_stage_do_not_report_is_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "EXACT_TASKS", 1)
    reported = {"Executor CPU Time": 10**9}
    ended = [log.task(0, n, 2.0, 4.0, metrics=reported if n else None) for n in range(4)]
    cpu = only(tmp_path, ended).cpu_seconds
    assert (cpu.count, cpu.total, cpu.quantiles[0]) == (3, 3.0, pytest.approx(1.0, rel=0.01))


def test_nothing_that_spilled_is_not_unknown(tmp_path: Path) -> None:
    spilled = {"Memory Bytes Spilled": 0, "Disk Bytes Spilled": 0}
    metrics = spilled | {"Input Metrics": {"Bytes Read": 0, "Records Read": 0}}
    stage = only(tmp_path, [log.task(0, 0, 2.0, 4.0, metrics=metrics)])
    assert (stage.memory_spilled_bytes, stage.disk_spilled_bytes) == (0.0, 0.0)
    assert (stage.input_bytes, stage.input_records) == (None, None)


def test_what_loading_code_computed_is_not_known_before_spark_2_1(tmp_path: Path) -> None:
    stage = only(tmp_path, [log.task(0, 0, 2.0, 4.0, metrics={"Executor Deserialize Time": 50})])
    assert (stage.deserialize_seconds, stage.deserialize_cpu_seconds) == (0.05, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("Index", place) for place in (-5, 1 << 26, 1 << 62)),
        *(("Launch Time", time) for time in (-1, 0, 10**14)),
        *(("Finish Time", time) for time in (log.ms(1.9), 10**14)),
    ],
)
def test_a_task_that_makes_no_sense_is_said_of_a_stage_under_way_too(
    tmp_path: Path, key: str, value: int
) -> None:
    odd = log.task(0, 1, 2.0, 4.0)
    odd["Task Info"][key] = value
    run = run_of(tmp_path, [*log.header(), log.task(0, 0, 2.0, 4.0), odd, log.end(20.0)])
    assert counted(run.stages[0]) == (1, 1, 2.0)
    assert run.lost == ("1 task event made no sense",)
    assert not run.complete


def test_a_task_of_no_millisecond_counts(tmp_path: Path) -> None:
    stage = only(tmp_path, [log.task(0, 0, 2.0, 2.0), log.task(0, 1, 2.0, 4.0)])
    assert counted(stage) == (2, 2, 2.0)


@pytest.mark.usefixtures("summed_up")
def test_a_stage_whose_events_are_lost_spans_its_tasks(tmp_path: Path) -> None:
    times = [(4.0, 5.0), (2.0, 9.0), (3.0, 6.0)]
    stage = only(tmp_path, [log.task(0, n, *time) for n, time in enumerate(times)])
    assert (stage.submitted_seconds, stage.completed_seconds) == (2.0, 9.0)


@pytest.mark.parametrize("number", [-1, 10**9])
def test_a_number_of_tasks_that_no_stage_has_is_not_believed(tmp_path: Path, number: int) -> None:
    stage = log.info(0, number)
    begun, ended = log.submitted(stage, 1.0), log.completed(stage, 1.0, 4.0)
    assert counted(only(tmp_path, [begun, log.task(0, 0, 2.0, 4.0), ended])) == (1, 1, 2.0)


@pytest.mark.parametrize("cores", [0, -4, 10**6])
def test_a_number_of_cores_that_no_executor_has_is_not_believed(tmp_path: Path, cores: int) -> None:
    ran = [log.task_start(0, 0, 2.0), log.task(0, 0, 2.0, 4.0)]
    run = run_of(tmp_path, [*log.header(executors=1, cores=cores), *ran, log.end(20.0)])
    assert run.cluster.executor_cores == 1
    assert "cores-inferred" in [notice.code for notice in run.notices]


@pytest.mark.parametrize("number", [-1, 1 << 31])
def test_numbers_beyond_those_of_spark_are_no_jobs_and_no_stages(
    tmp_path: Path, number: int
) -> None:
    odd = [log.job(number, [log.info(7, 1)], 1.0), log.task(number, 9, 2.0, 4.0)]
    run = run_of(tmp_path, [*log.header(), log.task(0, 0, 2.0, 4.0), *odd, log.end(20.0)])
    assert ([stage.stage_id for stage in run.stages], run.jobs) == ([0], ())
    assert run.lost == ("2 of 9 events could not be read",)


def test_a_stage_of_several_readers_wrote_again_what_the_first_had_begun_to_read(
    tmp_path: Path,
) -> None:
    wrote = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 100}}
    again, reader = log.info(2, 1), log.info(3, 1, parents=[2])
    later = log.info(4, 1, parents=[2])
    run = run_of(
        tmp_path,
        [
            *log.header(),
            log.submitted(reader, 4.0),
            log.submitted(again, 5.0),
            log.task(2, 0, 5.0, 6.0, index=0, metrics=wrote),
            log.completed(again, 5.0, 6.0),
            *(log.task(3, 1, 6.0, 7.0, index=0), log.completed(reader, 4.0, 7.0)),
            *(log.submitted(later, 8.0), log.task(4, 2, 8.0, 9.0, index=0)),
            log.completed(later, 8.0, 9.0),
            log.end(20.0),
        ],
    )
    assert [stage.stage_id for stage in run.stages if stage.recomputed] == [2]
