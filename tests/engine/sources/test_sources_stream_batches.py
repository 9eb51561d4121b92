"""When a micro-batch began, and which jobs are its own: waiting, idle and repeated batches."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import sparklog as log

from engine.profile import Profile, completed_runs
from engine.sources import read
from engine.sources.distilling import settings_notices
from engine.sources.logs.application import Application


def outside(profile: Profile) -> list[str]:
    """The share of the task time that is said to be in jobs of no batch; empty if nothing is."""
    texts = [n.text for n in profile.notices if n.code == "jobs-outside-batches"]
    return [text.partition(" of the task time")[0] for text in texts]


def dstream_batch(number: int, batch_time: float, start: float, seconds: float) -> list[log.Event]:
    """A batch of a DStream: its batch time, when its job was submitted, and how long that took."""
    stage, end = log.info(number, 1), start + seconds
    properties = {"spark.streaming.internal.batchTime": str(log.ms(batch_time))}
    return [
        log.job(number, [stage], start, **properties),
        log.submitted(stage, start),
        log.task(number, number, start, end, index=0),
        log.completed(stage, start, end),
        log.job_end(number, end),
    ]


def seconds_of_dstream(folder: Path, batches: Sequence[tuple[float, float, float]]) -> list[float]:
    events = log.header()
    for number, (batch_time, start, seconds) in enumerate(batches):
        events += dstream_batch(number, batch_time, start, seconds)
    profile = read(log.write(folder / "app", [*events, log.end(60.0)]))
    return [run.seconds for run in profile.runs]


def test_a_batch_of_a_dstream_begins_at_its_batch_time(tmp_path: Path) -> None:
    """The driver plans its jobs first, for 0.2 s here."""
    batches = [(4.0, 4.2, 1.0), (8.0, 8.2, 1.5)]
    assert seconds_of_dstream(tmp_path, batches) == pytest.approx([1.2, 1.7])


def test_batches_of_a_dstream_that_wait_for_each_other_take_no_longer(tmp_path: Path) -> None:
    """One every 2 s, of which each takes 3: the fourth is done 6 s after its batch time, of which
    it waited for three."""
    batches = [(4.0 + 2.0 * n, 4.1 + 3.0 * n, 2.9) for n in range(4)]
    assert seconds_of_dstream(tmp_path, batches) == pytest.approx([3.0] * 4)


def test_batches_of_a_dstream_side_by_side_have_times_of_their_own(tmp_path: Path) -> None:
    """With spark.streaming.concurrentJobs the second begins before the first has ended."""
    assert seconds_of_dstream(tmp_path, [(4.0, 4.0, 8.0), (6.0, 6.1, 4.9)]) == pytest.approx(
        [8.0, 4.9]
    )


def test_batches_taken_over_from_a_checkpoint_begin_with_their_jobs(tmp_path: Path) -> None:
    """They keep the batch times at which the application was down, an hour before it started."""
    batches = [(-3600.0, 5.0, 2.0), (-3598.0, 7.1, 2.0), (10.0, 10.1, 2.0)]
    assert seconds_of_dstream(tmp_path, batches) == pytest.approx([2.0, 2.1, 2.1])


def query_jobs(
    batch: int, job: int, start: float, seconds: float, *, failure: str | None = None
) -> list[log.Event]:
    """A job of a batch with two tasks, of which one ends where the stage fails."""
    stage, end = log.info(job, 2), start + seconds
    properties = {"streaming.sql.batchId": str(batch), "sql.streaming.queryId": "q"}
    return [
        log.job(job, [stage], start, **properties),
        log.submitted(stage, start),
        *(log.task(job, 10 * job + n, start, end, index=n) for n in range(1 if failure else 2)),
        log.completed(stage, start, end, failure=failure),
        log.job_end(job, end),
    ]


def report(batch: int, start: float, seconds: float) -> log.Event:
    """What the query reports of a trigger; the log starts at 22:13:20."""
    iso = f"2023-11-14T22:{13 + int(20 + start) // 60:02d}:{(20 + start) % 60:06.3f}Z"
    duration = {"triggerExecution": round(seconds * 1000)}
    return {
        "Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
        "progress": {"id": "q", "batchId": batch, "timestamp": iso, "durationMs": duration},
    }


CANCELLED = "Job 2 cancelled part of cancelled job group a46339e4-dfab-4c97-aaf7-99837ae7040f"


def test_an_idle_trigger_is_no_report_of_the_batch_to_come(tmp_path: Path) -> None:
    """Up to Spark 3.3 a query without data reports a trigger of some milliseconds under the number
    of its next batch. In that one it was stopped here, after 8 s."""
    events = [
        *(*log.header(), *query_jobs(0, 0, 3.2, 1.5), report(0, 3.0, 2.0)),
        *(*query_jobs(1, 1, 5.2, 1.5), report(1, 5.0, 2.0), report(2, 20.0, 0.012)),
        *(*query_jobs(2, 2, 30.0, 8.0, failure=CANCELLED), log.end(60.0)),
    ]
    runs = read(log.write(tmp_path / "app", events)).runs
    assert [run.seconds for run in runs] == [2.0, 2.0, 8.0]
    assert [run.complete for run in runs] == [True, True, False]
    assert completed_runs(runs) == list(runs[:2])


def test_a_batch_without_jobs_has_none_of_those_that_name_it_later(tmp_path: Path) -> None:
    """A thread that was made in batch 1 runs a job between the triggers of two later ones."""
    events = [
        *(*log.header(), *query_jobs(0, 0, 3.2, 1.5), report(0, 3.0, 2.0), report(1, 10.0, 0.4)),
        *(*query_jobs(2, 1, 20.2, 2.5), report(2, 20.0, 3.0), *query_jobs(1, 2, 25.0, 0.5)),
        *(*query_jobs(3, 3, 30.2, 2.5), report(3, 30.0, 3.0), log.end(60.0)),
    ]
    profile = read(log.write(tmp_path / "app", events))
    assert [(run.batch_id, run.seconds) for run in profile.runs] == [(0, 2.0), (2, 3.0), (3, 3.0)]
    assert all(run.complete for run in profile.runs)


def test_an_idle_trigger_does_not_outlive_the_report_of_its_batch(tmp_path: Path) -> None:
    events = [
        *(*log.header(), *query_jobs(0, 0, 3.2, 1.5), report(0, 3.0, 2.0), report(1, 10.0, 0.012)),
        *(*query_jobs(1, 1, 20.2, 1.5), report(1, 20.0, 2.5), log.end(60.0)),
    ]
    runs = read(log.write(tmp_path / "app", events)).runs
    assert [(run.seconds, run.complete) for run in runs] == [(2.0, True), (2.5, True)]


def test_a_batch_that_is_repeated_counts_as_it_succeeded(tmp_path: Path) -> None:
    """A query failed in batch 1, and was started again: its first attempt is no part of the run,
    whose times would lie before its start."""
    why = "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times"
    events = [
        *(*log.header(), *query_jobs(0, 0, 3.2, 1.5), report(0, 3.0, 2.0)),
        *query_jobs(1, 1, 5.2, 15.0, failure=why),
        *(*query_jobs(1, 2, 40.2, 2.5), report(1, 40.0, 3.0), log.end(60.0)),
    ]
    profile = read(log.write(tmp_path / "app", events))
    runs = profile.runs
    assert [(run.seconds, run.complete) for run in runs] == [(2.0, True), (3.0, True)]
    assert not outside(profile)
    (stage,) = runs[1].stages
    assert (stage.stage_id, stage.submitted_seconds) == (2, pytest.approx(0.2))
    assert [job.job_id for job in runs[1].jobs] == [2]
    assert not runs[1].has_failed


def other_job(number: int, start: float, seconds: float) -> list[log.Event]:
    """A job of one task that belongs to no batch."""
    stage, end = log.info(number, 1), start + seconds
    return [
        *(log.job(number, [stage], start), log.submitted(stage, start)),
        *(log.task(number, number, start, end, index=0), log.completed(stage, start, end)),
        log.job_end(number, end),
    ]


def test_a_stream_that_mostly_waits_is_no_part_of_one_run(tmp_path: Path) -> None:
    """As one run it would be a minute of waiting, whatever the cluster."""
    late = [*query_jobs(2, 3, 80.2, 2.0), report(2, 80.0, 3.0)]
    events = [*log.header(), *other_job(2, 3.0, 16.0), *two_batches(), *late, log.end(90.0)]
    profile = read(log.write(tmp_path / "app", events))
    assert [run.batch_id for run in profile.runs] == [0, 1, 2]
    assert outside(profile) == ["57 %"]


FIRST_BATCH = {"streaming.sql.batchId": "0", "sql.streaming.queryId": "q"}


def two_batches() -> list[log.Event]:
    """Batches 0 and 1 with two tasks of 2 s each: 8 s of task time, between 20 and 30 s."""
    return [
        *(*query_jobs(0, 0, 20.2, 2.0), report(0, 20.0, 3.0)),
        *(*query_jobs(1, 1, 25.2, 2.0), report(1, 25.0, 3.0)),
    ]


@pytest.mark.parametrize(
    ("seconds", "runs", "said"), [(0.5, 2, None), (2.0, 2, "20 %"), (12.0, 1, None)]
)
def test_jobs_of_no_batch_are_told_or_make_the_application_one_run(
    tmp_path: Path, seconds: float, runs: int, said: str | None
) -> None:
    """A load before the stream, of half a second, 2 s or 12 s of task time beside its 8 s."""
    events = [*log.header(), *other_job(2, 3.0, seconds), *two_batches(), log.end(40.0)]
    profile = read(log.write(tmp_path / "app", events))
    assert len(profile.runs) == runs
    assert profile.category == ("streaming" if runs == 2 else "core")
    assert outside(profile) == ([said] if said else [])
    if runs == 1:
        (whole,) = profile.runs
        assert (whole.batch_id, whole.seconds, len(whole.stages)) == (None, 40.0, 3)


@pytest.mark.parametrize("properties", [{}, {"sql.streaming.queryId": "q"}, FIRST_BATCH])
def test_a_job_is_of_the_batch_in_which_it_began(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    """Threads of Python have no properties, the first files are listed before a batch has a number,
    and threads of a pool keep the number of the batch that started them."""
    late = query_jobs(0, 2, 26.0, 1.0)
    late[0]["Properties"] = properties
    events = [*log.header(), *two_batches(), *late, log.end(40.0)]
    profile = read(log.write(tmp_path / "app", events))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1, 2]]
    assert [job.batch_id for run in profile.runs for job in run.jobs] == [0, 1, 1]
    assert not outside(profile)


@pytest.mark.parametrize(("session", "seconds"), [(True, 1.0), (False, 9.0)])
def test_a_job_that_may_be_of_no_query_is_left_out(
    tmp_path: Path, session: bool, seconds: float
) -> None:
    """Somebody at a shell asks beside a stream; or the job goes on after the batch, which would
    wait for work of its own."""
    properties = {"spark_repl_class_outputDir": "x"} if session else {}
    other = other_job(2, 26.0, seconds)
    events = [*log.header(**properties), *two_batches(), *query_jobs(2, 3, 40.2, 8.0), *other]
    path = log.write(tmp_path / "app", [*events, report(2, 40.0, 9.0), log.end(60.0)])
    assert [[job.job_id for job in run.jobs] for run in read(path).runs] == [[0], [1], [3]]


def test_of_two_queries_at_work_a_job_without_properties_is_of_neither(tmp_path: Path) -> None:
    events = [*two_batches(), *query_jobs(0, 2, 26.0, 2.0), *query_jobs(1, 3, 26.0, 4.0)]
    for event in events:
        if event["Event"].endswith("JobStart") and event["Job ID"] == 2:
            event["Properties"]["sql.streaming.queryId"] = "other"
        if event["Event"].endswith("JobStart") and event["Job ID"] == 3:
            event["Properties"] = {}
    other = report(0, 25.5, 5.0)
    other["progress"]["id"] = "other"
    profile = read(log.write(tmp_path / "app", [*log.header(), *events, other, log.end(40.0)]))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1], [2]]
    assert outside(profile) == ["40 %"]


@pytest.mark.parametrize(("batch", "start"), [(0, 24.0), (0, 35.0), (1, 28.05)])
def test_a_job_outside_the_trigger_of_its_batch_is_told(
    tmp_path: Path, batch: int, start: float
) -> None:
    """Work that foreachBatch hands to threads goes on when the batch has ended: 2 of 10 s here."""
    late = [*query_jobs(batch, 2, start, 1.0), *two_batches()]
    profile = read(log.write(tmp_path / "app", [*log.header(), *late, log.end(40.0)]))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1]]
    assert outside(profile) == ["20 %"]


def test_batches_that_leave_most_of_their_work_to_later_are_one_run(tmp_path: Path) -> None:
    """Four batches of 1.45 s, each with a job that begins 50 ms after it and has two thirds of the
    task time."""
    events = log.header()
    for batch in range(4):
        start = 10.0 + 3.0 * batch
        events += [*query_jobs(batch, 2 * batch, start + 0.2, 0.7), report(batch, start, 1.45)]
        events += query_jobs(batch, 2 * batch + 1, start + 1.5, 1.4)
    profile = read(log.write(tmp_path / "app", [*events, log.end(30.0)]))
    (whole,) = profile.runs
    assert (whole.batch_id, len(whole.jobs)) == (None, 8)
    assert not outside(profile)


@pytest.mark.parametrize("properties", [{}, {"sql.streaming.queryId": "q"}, FIRST_BATCH])
@pytest.mark.parametrize("lost", [(), ("JobEnd",), ("JobEnd", "StageCompleted")])
def test_a_job_that_goes_on_after_the_batch_is_no_part_of_it(
    tmp_path: Path, properties: dict[str, str], lost: tuple[str, ...]
) -> None:
    """It begins 1 s into the 3 s of batch 1 and takes 6: the batch does not wait for it. Its ends
    may be lost; then the last one that is there tells."""
    late = [e for e in query_jobs(1, 2, 26.0, 6.0) if not e["Event"].endswith(lost or "none")]
    late[0]["Properties"] = properties
    events = [*log.header(), *two_batches(), *late, *query_jobs(2, 3, 40.2, 8.0)]
    profile = read(log.write(tmp_path / "app", [*events, report(2, 40.0, 9.0), log.end(60.0)]))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1], [3]]
    ends = [stage.completed_seconds for run in profile.runs for stage in run.stages]
    assert ends == pytest.approx([2.2, 2.2, 8.2])
    assert [run.seconds for run in profile.runs] == [3.0, 3.0, 9.0]
    assert outside(profile) == ["33 %"]


def test_a_job_that_goes_on_is_no_failed_attempt_where_clocks_round(tmp_path: Path) -> None:
    """It seems to begin 10 ms before its batch, and ends half a second after it: 7 of 15 s."""
    events = [*two_batches(), *query_jobs(1, 2, 24.99, 3.5)]
    profile = read(log.write(tmp_path / "app", [*log.header(), *events, log.end(40.0)]))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1]]
    assert outside(profile) == ["47 %"]


def test_rounding_of_clocks_takes_no_job_from_its_batch(tmp_path: Path) -> None:
    """Its jobs seem to begin 10 ms before it, and to end 10 ms after it."""
    jobs = [*query_jobs(1, 1, 24.99, 1.0), *query_jobs(1, 2, 27.0, 1.01), report(1, 25.0, 3.0)]
    first = [*query_jobs(0, 0, 20.2, 2.0), report(0, 20.0, 3.0)]
    profile = read(log.write(tmp_path / "app", [*log.header(), *first, *jobs, log.end(40.0)]))
    assert [[job.job_id for job in run.jobs] for run in profile.runs] == [[0], [1, 2]]
    assert not outside(profile)


def test_a_job_at_the_beginning_of_a_batch_is_not_of_the_one_before(tmp_path: Path) -> None:
    """Batches without a pause: a thread of the first begins a job 10 ms into the second."""
    events = [
        *(*query_jobs(0, 0, 20.2, 2.0), report(0, 20.0, 3.0)),
        *(*query_jobs(1, 1, 23.2, 2.0), report(1, 23.0, 3.0), *query_jobs(0, 2, 23.01, 1.0)),
    ]
    runs = read(log.write(tmp_path / "app", [*log.header(), *events, log.end(40.0)])).runs
    assert [[job.job_id for job in run.jobs] for run in runs] == [[0], [1, 2]]


def test_what_all_batches_share_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of days has ten thousands of batches: going through all stages for each would take
    minutes."""
    looked: list[Application] = []

    def counted(application: Application) -> None:
        looked.append(application)

    monkeypatch.setattr(settings_notices, "other_engine_notice", counted)
    events = [*log.header(), *two_batches(), log.end(40.0)]
    assert len(read(log.write(tmp_path / "app", events)).runs) == 2
    assert len(looked) == 1
