"""Ends of jobs that the log lacks: Spark drops events where it has too many of them."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.profile import Run

SESSION = log.header(spark_repl_class_outputDir="x")


def job(
    number: int, start: float, *, ended: bool = True, failure: str | None = None
) -> list[log.Event]:
    """A job of two stages of ten seconds each; its end event is lost if not `ended`."""
    first, last = log.info(2 * number, 1), log.info(2 * number + 1, 1, parents=[2 * number])
    events = [log.job(number, [last, first], start)]
    for place, stage in enumerate((first, last)):
        at, name = start + 10.0 * place, stage["Stage ID"]
        events += [
            *(log.submitted(stage, at), log.task(name, name, at, at + 10.0, index=0)),
            log.completed(stage, at, at + 10.0, failure=failure if place else None),
        ]
    return [*events, *([log.job_end(number, start + 20.0)] if ended else [])]


def codes(run: Run) -> set[str]:
    return {notice.code for notice in run.notices}


def test_a_job_without_an_end_ends_with_its_last_stage(tmp_path: Path) -> None:
    """Of a session of an hour and a half nearly all is idle, whether or not the log has the end of
    the job before."""
    events = [*SESSION, *job(0, 5.0, ended=False), *job(1, 5000.0), log.end(5030.0)]
    run = run_of(tmp_path, events)
    assert run.seconds == 55.0
    assert "idle-time" in codes(run)
    assert [job.completed_seconds for job in run.jobs] == [25.0, 45.0]
    assert (run.complete, run.lost) == (True, ())


def test_a_batch_of_a_dstream_whose_job_lost_its_end_is_whole(tmp_path: Path) -> None:
    events = job(0, 5.0, ended=False)
    events[0]["Properties"] = {"spark.streaming.internal.batchTime": str(log.ms(4.0))}
    run = run_of(tmp_path, [*log.header(), *events, log.end(60.0)])
    assert (run.batch_id, run.seconds) == (log.ms(4.0), 21.0)
    assert [job.completed_seconds for job in run.jobs] == [21.0]
    assert (run.complete, run.lost) == (True, ())
    assert "incomplete-log" not in codes(run)


@pytest.mark.parametrize("failure", ["Job aborted due to stage failure", None])
def test_a_job_whose_last_stage_did_not_succeed_may_go_on(
    tmp_path: Path, failure: str | None
) -> None:
    """It may be tried again; nor is anything known of one whose last stage has no end either."""
    first = job(0, 5.0, ended=False, failure=failure)
    first = first if failure else first[:-1]
    run = run_of(tmp_path, [*SESSION, *first, *job(1, 5000.0), log.end(5030.0)])
    assert run.jobs[0].completed_seconds is None
    assert run.seconds == 5030.0


def test_a_job_does_not_end_before_it_began(tmp_path: Path) -> None:
    """Its last stage was computed for an earlier job."""
    stage = log.info(0, 1)
    events = [
        *(*log.header(), log.job(0, [stage], 2.0), log.submitted(stage, 2.0)),
        *(log.task(0, 0, 2.0, 4.0, index=0), log.completed(stage, 2.0, 4.0), log.job_end(0, 4.0)),
        *(log.job(1, [stage], 6.0), log.end(8.0)),
    ]
    run = run_of(tmp_path, events)
    assert [job.completed_seconds for job in run.jobs] == [4.0, 6.0]
