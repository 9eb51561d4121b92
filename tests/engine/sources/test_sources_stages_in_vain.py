"""Stages of which no task succeeded, and those that a query has no more need of."""

from pathlib import Path
from typing import Any

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine.profile import Run

FIRST, SECOND = log.info(0, 4), log.info(1, 8)


def first_job() -> list[log.Event]:
    return [
        *log.header(),
        log.job(0, [FIRST], 2.0),
        log.submitted(FIRST, 2.0),
        *(log.task(0, n, 2.0, 10.0) for n in range(4)),
        log.completed(FIRST, 2.0, 10.0),
        log.job_end(0, 10.0),
        log.job(1, [SECOND], 12.0),
        log.submitted(SECOND, 12.0),
    ]


def failing() -> list[log.Event]:
    return [
        log.task(1, n, 12.0, 100.0 + n, index=0, reason="ExceptionFailure") for n in range(10, 14)
    ]


def codes(run: Run) -> set[str]:
    return {notice.code for notice in run.notices}


def test_a_stage_that_was_given_up_without_a_task(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        [*first_job(), *failing(), log.completed(SECOND, 12.0, 113.0, failure="aborted"),
         log.job_end(1, 113.0), log.end(114.0)],
    )  # fmt: skip
    assert run.seconds == pytest.approx(13.0)
    assert run.driver_seconds == pytest.approx(5.0)
    assert run.has_failed
    assert {"failed-stages", "stage-without-tasks"} <= codes(run)


def test_a_log_that_breaks_off_before_the_first_task(tmp_path: Path) -> None:
    events = [*first_job(), *(log.task_start(1, n, 12.0, index=n) for n in range(4))]
    run = run_of(tmp_path, [*events, log.job(2, [], 112.0)])
    assert run.seconds == pytest.approx(12.0)
    assert run.driver_seconds == pytest.approx(4.0)
    assert not run.complete
    assert any("8 of 8 tasks of 1 stage are missing" in text for text in run.lost)


def test_what_runs_beside_it_counts(tmp_path: Path) -> None:
    third = log.info(2, 1)
    beside = [log.submitted(third, 20.0), log.task(2, 20, 20.0, 50.0),
              log.completed(third, 20.0, 50.0)]  # fmt: skip
    failed = log.completed(SECOND, 12.0, 113.0, failure="aborted")
    run = run_of(tmp_path, [*first_job(), *beside, *failing(), failed, log.end(114.0)])
    assert run.driver_seconds == pytest.approx(5.0)
    assert run.seconds == pytest.approx(13.0 + 30.0)
    (last,) = run.stages[1:]
    assert last.completed_seconds - last.submitted_seconds == pytest.approx(30.0)


def test_a_stage_that_completed_unseen_stays(tmp_path: Path) -> None:
    """The log has lost its tasks, which did their work."""
    run = run_of(tmp_path, [*first_job(), log.completed(SECOND, 12.0, 113.0), log.end(114.0)])
    assert run.seconds == pytest.approx(114.0)
    assert "stage-without-tasks" not in codes(run)


SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
CANCELLED = "[SPARK_JOB_CANCELLED] Job 1 cancelled The corresponding query stage is obsolete."


def query(*, ended: int, why: str = CANCELLED, **end: Any) -> list[log.Event]:
    """A join: one side is empty, so that the other, of ten tasks, is cancelled when some ended."""
    small, other, last = log.info(0, 2), log.info(1, 10), log.info(2, 1)
    of_query = {"spark.sql.execution.id": "7"}
    begun = {"Event": f"{SQL}Start", "executionId": 7, "time": log.ms(1.5)}
    return [
        *(*log.header(), begun, log.job(0, [small], 2.0, **of_query), log.submitted(small, 2.0)),
        *(log.job(1, [other], 2.1, **of_query), log.submitted(other, 2.1)),
        *(log.task(0, n, 2.0, 3.0, index=n) for n in range(2)),
        *(log.completed(small, 2.0, 3.0), log.job_end(0, 3.0)),
        *(log.task(1, 10 + n, 2.1, 3.2, index=n, executor="2") for n in range(ended)),
        log.task(1, 19, 2.1, 3.4, index=9, executor="2", reason="TaskKilled"),
        *(log.completed(other, 2.1, 3.5, failure=why), log.job_end(1, 3.5)),
        *(log.job(2, [last], 3.6, **of_query), log.submitted(last, 3.6)),
        *(log.task(2, 20, 3.6, 4.6, index=0), log.completed(last, 3.6, 4.6), log.job_end(2, 4.6)),
        {"Event": f"{SQL}End", "executionId": 7, "time": log.ms(4.7), **end},
        log.end(5.0),
    ]


def test_a_stage_that_a_successful_query_cancelled_has_not_failed(tmp_path: Path) -> None:
    """It did what it did: the run is whole, and nothing of it is missing."""
    run = run_of(tmp_path, query(ended=3, errorMessage=""))
    assert (run.complete, run.has_failed, run.lost) == (True, False, ())
    assert "failed-stages" not in codes(run)
    stage = stage_of(run, 1)
    assert (stage.tasks, stage.task_seconds.count, stage.waste.killed_tasks) == (3, 3, 1)


def test_nor_has_one_of_which_no_task_had_ended(tmp_path: Path) -> None:
    run = run_of(tmp_path, query(ended=0, errorMessage=""))
    assert not codes(run) & {"failed-stages", "stage-without-tasks"}
    assert [stage.stage_id for stage in run.stages] == [0, 2]
    assert run.seconds == 5.0


@pytest.mark.parametrize("end", [{"errorMessage": "Job 1 cancelled"}, {"errorMessage": None}, {}])
def test_of_a_query_that_failed_or_does_not_say_it_has(tmp_path: Path, end: dict[str, Any]) -> None:
    """Spark before 3.4 does not say how a query ended."""
    run = run_of(tmp_path, query(ended=3, **end))
    assert run.has_failed
    assert stage_of(run, 1).tasks == 10


def test_a_stage_that_was_aborted_has_failed_whatever_became_of_its_query(tmp_path: Path) -> None:
    why = "Job aborted due to stage failure: Task 3 in stage 1.0 failed 4 times"
    assert run_of(tmp_path, query(ended=3, why=why, errorMessage="")).has_failed
