"""Stages of which no task succeeded: their time is not the driver's."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

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
