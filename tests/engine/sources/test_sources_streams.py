"""Streams: each micro-batch is a run."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.profile import completed_runs
from engine.sources import read, read_each
from engine.sources.formats.profile_file import write_profile
from engine.sources.peek import peek


def batch(
    number: int, start: float, seconds: float, *, reported: bool = True, query: str = "q"
) -> list[log.Event]:
    stage = log.info(number, 1)
    properties = {"streaming.sql.batchId": str(number), "sql.streaming.queryId": query}
    iso = f"2023-11-14T22:{13 + int(20 + start) // 60:02d}:{(20 + start) % 60:06.3f}Z"
    progress = {
        "Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
        "progress": {
            "id": query,
            "batchId": number,
            "timestamp": iso,
            "durationMs": {"triggerExecution": round(seconds * 1000)},
        },
    }
    return [
        log.job(number, [stage], start + 0.2, **properties),
        log.submitted(stage, start + 0.3),
        log.task(number, number, start + 0.3, start + 0.8, index=0),
        log.completed(stage, start + 0.3, start + 0.8),
        log.job_end(number, start + 0.9),
        *([progress] if reported else []),
    ]


def test_each_micro_batch_is_a_run_and_the_trigger_its_deadline(tmp_path: Path) -> None:
    """START_MS is 22:13:20: the trigger of 10 s fires at 10, 20, 30 s and so on from there."""
    starts = [(3.0, 4.0), (10.0, 2.0), (20.0, 15.0), (35.01, 3.0), (40.0, 2.0)]
    events = log.header()
    for number, (start, seconds) in enumerate(starts):
        events += batch(number, start, seconds)
    profile = read(log.write(tmp_path / "app", [*events, log.end(60.0)]))
    assert profile.category == "streaming"
    assert profile.deadline_seconds == 10.0
    assert [run.batch_id for run in profile.runs] == [0, 1, 2, 3, 4]
    assert [run.seconds for run in profile.runs] == [seconds for _, seconds in starts]
    assert all(len(run.stages) == 1 and len(run.jobs) == 1 for run in profile.runs)
    assert profile.runs[1].stages[0].submitted_seconds == pytest.approx(0.3)
    assert profile.runs[1].driver_seconds == 1.5


def test_times_of_micro_batches_are_said_to_be_those_of_one(tmp_path: Path) -> None:
    events = [*log.header(), *batch(0, 3.0, 4.0), *batch(1, 10.0, 2.0), log.end(60.0)]
    profile = read(log.write(tmp_path / "app", events))
    (said,) = (notice for notice in profile.notices if notice.code == "micro-batches")
    assert said.text.startswith("the runs are 2 micro-batches of a streaming query, 6 s together")
    stored = tmp_path / "stream.yaml"
    write_profile(profile, stored)
    assert said in read(stored).notices


def test_what_the_first_batch_takes_longer_is_told() -> None:
    """Who multiplies by the batches leaves out that the first starts executors: in this sample it
    takes 10.677 s, the two middle ones of the twelve others 1.969 and 2.155 s."""
    profile = read("order-stream-small")
    (said,) = (notice for notice in profile.notices if notice.code == "micro-batches")
    assert said.text.endswith("those of one batch after the first, which took 8.62 s longer")
    assert "cost (with the start-up of a cluster, paid once for all) are" in said.text
    assert said.remedy.endswith("multiply by its batches, and add what the first takes longer")


def test_two_logs_of_one_query_are_not_called_two_queries() -> None:
    profile = read("order-stream-small", "order-stream-large")
    (said,) = (notice for notice in profile.notices if notice.code == "micro-batches")
    assert " micro-batches of streaming queries in 2 logs, " in said.text


def test_batches_without_a_pause_have_no_trigger_interval(tmp_path: Path) -> None:
    events = log.header()
    for number in range(6):
        events += batch(number, 3.0 + 1.7 * number, 1.69)
    assert read(log.write(tmp_path / "app", [*events, log.end(60.0)])).deadline_seconds is None


def test_a_stream_that_was_killed_breaks_off_its_last_batch_alone(tmp_path: Path) -> None:
    """The last line is torn; the last batch has two of three tasks and lasts to their end."""
    stage = log.info(1, 3)
    properties = {"streaming.sql.batchId": "1", "sql.streaming.queryId": "q"}
    cut = [log.job(1, [stage], 10.0, **properties), log.submitted(stage, 10.1)]
    cut += [log.task(1, n, 10.1, 12.0 + n, index=n) for n in range(2)]
    path = log.write(tmp_path / "app", [*log.header(), *batch(0, 3.0, 4.0), *cut])
    with path.open("a") as out:
        out.write('{"Event":"SparkListenerTaskEnd","Stage')
    first, last = read(path).runs
    assert (first.complete, last.complete) == (True, False)
    assert last.seconds == pytest.approx(3.0)
    assert first.notices[0].text.endswith("every task of this micro-batch is there")
    assert "1 of 3 tasks of 1 stage is missing" in last.notices[0].text


def test_batches_that_nobody_reported_last_as_long_as_their_jobs(tmp_path: Path) -> None:
    events = [*log.header(), *batch(0, 3.0, 9.0, reported=False), log.end(60.0)]
    assert run_of(tmp_path, events).seconds == pytest.approx(0.7)


def test_a_batch_in_which_its_query_was_stopped_is_not_whole(tmp_path: Path) -> None:
    """Spark cancels its jobs, those of which a stage is done too, and reports no more; the
    application goes on to its end."""
    stopped = batch(2, 20.0, 5.0, reported=False)
    events = [*log.header(), *batch(0, 3.0, 4.0), *batch(1, 10.0, 2.0), *stopped, log.end(60.0)]
    path = log.write(tmp_path / "app", events)
    runs = read(path).runs
    assert [run.complete for run in runs] == [True, True, False]
    assert completed_runs(runs) == list(runs[:2])
    (said,) = (notice for notice in runs[2].notices if notice.code == "incomplete-log")
    assert said.text.startswith("this micro-batch's end is missing; the run counts to its last")
    assert peek(path).complete is True


def two_jobs(number: int, *, lost: tuple[int, ...] = (), reported: bool = True) -> list[log.Event]:
    """A batch of two jobs of one stage each, of which the log lost some."""
    start = 10.0 * number
    properties = {"streaming.sql.batchId": str(number), "sql.streaming.queryId": "q"}
    events = batch(number, start, 4.0)[-1:] if reported else []  # what its query reported
    for job in (2 * number, 2 * number + 1):
        if job not in lost:
            at, stage = start + 1.0 + job % 2, log.info(job, 1)
            events += [
                log.job(job, [stage], at, **properties),
                log.submitted(stage, at),
                log.task(job, job, at, at + 0.5, index=0),
                log.completed(stage, at, at + 0.5),
                log.job_end(job, at + 0.6),
            ]
    return events


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize(
    ("lost", "whole"),
    [
        ((5,), [True, True, False, True, True]),
        ((5, 6), [True, True, False, False, True]),
        ((4, 5), [True, True, True, True]),
        ((3, 4, 5, 6), [True, False, False, True]),
    ],
)
def test_a_batch_that_lost_jobs_is_not_whole(
    tmp_path: Path, lost: tuple[int, ...], whole: list[bool], reported: bool
) -> None:
    """Five batches of two jobs each: those beside the hole that kept both are whole."""
    events = log.header()
    for number in range(5):
        events += two_jobs(number, lost=lost, reported=reported)
    runs = read(log.write(tmp_path / "app", [*events, log.end(60.0)])).runs
    assert [run.complete for run in runs] == whole


def test_of_batches_that_all_lie_beside_holes_nobody_knows_what_they_lost(tmp_path: Path) -> None:
    events = [*log.header(), *two_jobs(0, lost=(1,)), *two_jobs(1)]
    runs = read(log.write(tmp_path / "app", [*events, log.end(60.0)])).runs
    assert [run.complete for run in runs] == [False, False]


@pytest.mark.parametrize("begin", ["", "[SPARK_JOB_CANCELLED] "])
def test_jobs_that_are_cancelled_with_their_query_have_not_failed(
    tmp_path: Path, begin: str
) -> None:
    """A query was stopped in a batch when one of two tasks was done (3.5.9 and 4.0.1 say so); in
    another application the batch failed."""
    why = f"{begin}Job 1 cancelled part of cancelled job group a46339e4-dfab-4c97-aaf7-99837ae7040f"

    def given_up(failure: str) -> set[str]:
        stage = log.info(1, 2)
        properties = {"streaming.sql.batchId": "1", "sql.streaming.queryId": "q"}
        batch_of = [log.job(1, [stage], 10.0, **properties), log.submitted(stage, 10.1)]
        batch_of += [log.task(1, 1, 10.1, 12.0, index=0)]
        batch_of += [log.completed(stage, 10.1, 13.0, failure=failure), log.job_end(1, 13.0)]
        path = log.write(tmp_path / "app", [*log.header(), *batch(0, 3.0, 4.0), *batch_of])
        return {notice.code for notice in read(path).runs[1].notices}

    assert given_up(why) == {"incomplete-log"}
    assert "failed-stages" in given_up("Job aborted due to stage failure: Task 0 in stage 1.0")


def test_queries_of_one_application_are_told_apart(tmp_path: Path) -> None:
    other = batch(1, 10.0, 2.0, query="another")
    events = [*log.header(), *batch(0, 3.0, 4.0), *other, *batch(2, 20.0, 2.0), log.end(30.0)]
    path = log.write(tmp_path / "app", events)
    profile = read(path)
    assert [run.application for run in profile.runs] == ["job #2", "job #1", "job #2"]
    (said,) = (notice for notice in profile.notices if notice.code == "mixed-applications")
    assert said.text.startswith("the log holds 2 streaming queries (job #2, job #1): ")
    assert said.remedy == "sparkplan fleet takes the queries of a log one by one"
    apart = [entry.profile for entry in read_each(path) if entry.profile is not None]
    assert [len(own.runs) for own in apart] == [2, 1]
    assert not any(notice.code == "mixed-applications" for own in apart for notice in own.notices)


def test_queries_beside_each_other_wait_for_their_own_triggers(tmp_path: Path) -> None:
    """The batches of two queries of the same interval begin in turn."""
    events = log.header()
    for number, start in enumerate((3.0, 10.0, 20.0, 30.0)):
        events += batch(2 * number, start, 4.0)
        events += batch(2 * number + 1, start + 0.05, 3.0, query="other")
    profile = read(log.write(tmp_path / "app", [*events, log.end(60.0)]))
    assert profile.deadline_seconds == 10.0
    (said,) = (notice for notice in profile.notices if notice.code == "micro-batches")
    assert said.text.startswith("the runs are 8 micro-batches of 2 streaming queries, 28 s")


def test_queries_have_a_trigger_interval_each(tmp_path: Path) -> None:
    """One every 5 s, the other every 20 s, of which there are fewer batches: together they tell no
    interval, and each by itself has its own."""
    events = log.header()
    for number in range(9):
        events += batch(number, 5.0 * (number + 1), 2.0, query="often")
    for number in range(3):
        events += batch(9 + number, 20.0 * (number + 1), 6.0, query="seldom")
    path = log.write(tmp_path / "app", [*events, log.end(90.0)])
    assert read(path).deadline_seconds is None
    apart = [entry.profile for entry in read_each(path) if entry.profile is not None]
    assert [(own.name, own.deadline_seconds) for own in apart] == [
        ("job #1", 5.0),
        ("job #2", 20.0),
    ]


def test_queries_of_one_trigger_interval_keep_it_when_taken_apart(tmp_path: Path) -> None:
    events = log.header()
    for number in range(3):
        events += batch(2 * number, 10.0 * (number + 1), 4.0)
        events += batch(2 * number + 1, 10.0 * (number + 1) + 0.05, 3.0, query="other")
    path = log.write(tmp_path / "app", [*events, log.end(60.0)])
    assert read(path).deadline_seconds == 10.0
    assert [each.profile and each.profile.deadline_seconds for each in read_each(path)] == [
        10.0
    ] * 2


def test_a_query_without_a_trigger_interval_leaves_the_log_without_one(tmp_path: Path) -> None:
    """Batches that follow each other at once are not to be done in the other query's interval."""
    events = log.header()
    for number in range(3):
        events += batch(number, 10.0 * (number + 1), 4.0, query="timed")
    for number in range(3):
        events += batch(3 + number, 10.0 + 15.0 * number, 15.0, query="at once")
    path = log.write(tmp_path / "app", [*events, log.end(60.0)])
    assert read(path).deadline_seconds is None
    apart = [entry.profile for entry in read_each(path) if entry.profile is not None]
    assert [len(own.runs) for own in apart] == [3, 3]
    assert {own.deadline_seconds for own in apart} == {10.0, None}


def test_stages_of_another_query_are_no_work_of_a_batch(tmp_path: Path) -> None:
    """While the driver works for batch 0, from 3.8 s on, the other query has a stage."""
    other = batch(1, 4.0, 2.0, query="other")
    path = log.write(tmp_path / "app", [*log.header(), *batch(0, 3.0, 4.0), *other, log.end(9.0)])
    assert [run.driver_seconds for run in read(path).runs] == [3.5, 1.5]


def test_a_batch_that_had_only_begun_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """The log breaks off in batch 1, before any of its tasks ended."""
    events = [*log.header(), *batch(0, 3.0, 4.0), *batch(1, 10.0, 2.0)[:2]]
    (run,) = read(log.write(tmp_path / "app", events)).runs
    assert (run.batch_id, run.complete, run.lost) == (0, True, ())
    assert (run.application, run.seconds) == ("job", 4.0)


def test_a_stream_whose_batches_had_nothing_to_do_is_one_run(tmp_path: Path) -> None:
    """Their jobs were skipped; what else the application ran is what there is."""
    nothing = [e for e in batch(1, 10.0, 2.0) if "JobStart" in e["Event"] or "JobEnd" in e["Event"]]
    events = [*log.one_stage()[:-1], *nothing, log.end(20.0)]
    (run,) = read(log.write(tmp_path / "app", events)).runs
    assert (run.batch_id, run.seconds, len(run.stages)) == (None, 20.0, 1)


def test_batches_of_two_queries_that_begin_together_are_two(tmp_path: Path) -> None:
    """Triggers of one interval fire at the same millisecond, and count their batches alike."""
    log_of = [*log.header()]
    for query, place in (("one", 0), ("other", 1)):
        events = batch(place, 3.0, 4.0 + place)
        events[0]["Properties"] = {"streaming.sql.batchId": "0", "sql.streaming.queryId": query}
        events[-1]["progress"] |= {"id": query, "batchId": 0}
        log_of += events
    path = log.write(tmp_path / "app", [*log_of, log.end(30.0)])
    for profile in (read(path), read(path, path)):
        assert [(run.application, run.seconds) for run in profile.runs] == [
            ("job #1", 4.0),
            ("job #2", 5.0),
        ]
