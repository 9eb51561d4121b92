"""What a run says of itself where its log is not whole, not Spark's, or tells of several things."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of
from pitfall_logs import notice
from test_sources_streams import batch

from engine.errors import BadInput
from engine.sources import read


def ran(
    stage: log.Event, start: float, end: float, *, tasks: int | None = None,
    failure: str | None = None, completed: bool = True,
) -> list[log.Event]:  # fmt: skip
    """A stage of which so many tasks end with it, all unless told."""
    number, count = stage["Stage ID"], stage["Number of Tasks"] if tasks is None else tasks
    return [
        log.submitted(stage, start),
        *(log.task(number, 10 * number + n, start, end, index=n) for n in range(count)),
        *([log.completed(stage, start, end, failure=failure)] if completed else []),
    ]


def test_what_spark_did_not_write_is_told_from_a_run_without_tasks(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a Spark event log"):
        run_of(tmp_path, [{"Event": "SparkListenerBlockManagerAdded", "Timestamp": 1}])
    stage = log.info(0, 1)
    start, job, submitted = log.header()[2], log.job(0, [stage], 1.0), log.submitted(stage, 1.0)
    for events in ([start], [job], [submitted], [log.header()[0]]):
        with pytest.raises(BadInput, match="no finished task in this log"):
            run_of(tmp_path, events)


def test_tasks_that_could_not_be_read_are_not_said_to_have_never_finished(tmp_path: Path) -> None:
    ended = log.one_stage(tasks=2)
    for event in ended:
        event.get("Task Metrics", {})["Executor CPU Time"] = None
    with pytest.raises(BadInput, match=f"in this log: 2 of {len(ended)} events could not be read"):
        run_of(tmp_path, ended)


@pytest.mark.parametrize("damaged", [-1, 0, 10**15, 2**62])
def test_times_that_cannot_be_meant_are_not_known(tmp_path: Path, damaged: int) -> None:
    """Of the application, a job, a stage: the rest of the log stands in."""
    said = {
        ("SparkListenerApplicationStart", "Timestamp"): 8.1,
        ("SparkListenerApplicationEnd", "Timestamp"): 10.0,
        ("SparkListenerJobStart", "Submission Time"): 11.0,
        ("SparkListenerJobEnd", "Completion Time"): 11.0,
        ("SparkListenerStageSubmitted", "Submission Time"): 11.0,
        ("SparkListenerStageCompleted", "Completion Time"): 11.0,
    }
    for (kind, key), seconds in said.items():
        events = log.one_stage()
        event = next(e for e in events if e["Event"] == kind)
        event.get("Stage Info", event)[key] = damaged
        run = run_of(tmp_path, events)
        assert run.seconds == pytest.approx(seconds + (kind == "SparkListenerApplicationStart"))
        assert run.complete == ("Application" not in kind)
        (stage,) = run.stages
        start = 0.1 if kind == "SparkListenerApplicationStart" else 2.0
        assert stage.submitted_seconds == pytest.approx(start)
        assert stage.completed_seconds == pytest.approx(start + 8.0)
        assert all(0.0 <= job.submitted_seconds <= 2.0 for job in run.jobs)
        assert all(0.0 < (job.completed_seconds or 10.0) <= 10.0 for job in run.jobs)


def test_an_end_before_the_start_is_no_end(tmp_path: Path) -> None:
    run = run_of(tmp_path, [*log.one_stage()[:-1], log.end(-3600.0)])
    assert run.seconds == 10.0
    assert not run.complete


@pytest.mark.parametrize("kept", ["application", "stage", "tasks"])
def test_a_run_begins_with_the_first_thing_that_the_log_tells(tmp_path: Path, kept: str) -> None:
    """Of the application, else of any event, else of the stages."""
    events = [*ran(log.info(0, 1), 2.0, 6.0), log.end(8.0)]
    first = {"application": log.header(), "stage": [log.job(0, [log.info(0, 1)], 1.5)], "tasks": []}
    run = run_of(tmp_path, [*first[kept], *events])
    began = {"application": 0.0, "stage": 1.5, "tasks": 2.0}[kept]
    assert run.started_epoch_seconds == pytest.approx(log.START_MS / 1000.0 + began)
    assert run.seconds == pytest.approx(8.0 - began)


def test_tasks_that_are_missing_are_counted_and_since_when(tmp_path: Path) -> None:
    """Stage 0 is whole; of 1 the log holds one task of three, of 2 none of four."""
    stages = [log.info(number, count) for number, count in ((0, 2), (1, 3), (2, 4))]
    events = [
        *log.header(),
        log.job(0, stages, 1.0),
        *ran(stages[0], 2.0, 4.0),
        *ran(stages[1], 5.0, 7.0, tasks=1, completed=False),
        *ran(stages[2], 6.0, 7.0, tasks=0, completed=False),
    ]
    run = run_of(tmp_path, events)
    assert run.lost == ("6 of 7 tasks of 2 stages are missing, begun in the last 2 s",)
    assert not run.complete
    (whole,) = run_of(tmp_path, [*events, log.end(9.0)]).lost
    assert whole == "6 of 7 tasks of 2 stages are missing", "it is known when the run ended"


def test_one_missing_task_is_one(tmp_path: Path) -> None:
    stage = log.info(0, 3)
    run = run_of(tmp_path, [*log.header(), *ran(stage, 2.0, 4.0, tasks=2), log.end(5.0)])
    assert run.lost == ("1 of 3 tasks of 1 stage is missing",)


def test_stages_that_were_given_up_miss_nothing_and_did_less(tmp_path: Path) -> None:
    """Of one two of five tasks ended, of the other none: that is no fault of the log."""
    stages = [log.info(0, 5), log.info(1, 4), log.info(2, 1)]
    run = run_of(
        tmp_path,
        [
            *log.header(),
            log.job(0, stages, 1.0),
            *ran(stages[0], 2.0, 4.0, tasks=2, failure="cancelled"),
            *ran(stages[1], 4.0, 5.0, tasks=0, failure="cancelled"),
            *ran(stages[2], 5.0, 6.0),
            log.end(7.0),
        ],
    )
    assert (run.lost, run.complete) == ((), True)
    assert notice(run, "failed-stages").endswith(": 2 stages failed with 2 of 9 tasks done")
    alone = run_of(
        tmp_path,
        [*log.header(), *ran(stages[0], 2.0, 4.0, tasks=2, failure="cancelled"), log.end(7.0)],
    )
    assert notice(alone, "failed-stages").endswith(": 1 stage failed with 2 of 5 tasks done")
    whole = run_of(tmp_path, [*log.header(), *ran(stages[2], 2.0, 4.0), log.end(7.0)])
    assert not [said for said in whole.notices if said.code == "failed-stages"]


def test_a_log_that_is_cut_or_damaged_is_no_complete_run(tmp_path: Path) -> None:
    events = [*log.header(), *ran(log.info(0, 1), 2.0, 4.0)]
    assert run_of(tmp_path, [*events, log.end(5.0)]).complete
    assert not run_of(tmp_path, events).complete
    path = log.write(tmp_path / "damaged", [*events, log.end(5.0)])
    path.write_bytes(path.read_bytes().replace(b'"SparkListenerApplicationStart"', b'"Spark', 1))
    (damaged,) = read(path).runs
    assert damaged.lost
    assert not damaged.complete


@pytest.mark.parametrize(
    ("ends", "busy"), [((6.0, 8.0), 6.0), ((8.0, 6.0), 6.0), ((6.0, None), 7.0), ((), 7.0)]
)
def test_a_stage_whose_end_is_lost_was_at_work_until_its_jobs_ended(
    tmp_path: Path, ends: tuple[float | None, ...], busy: float
) -> None:
    """From second 2 to the end of the last job, or to second 9 while one has not ended."""
    stage = log.info(0, 1)
    jobs = [log.job(number, [stage], 1.0) for number in range(len(ends))]
    over = [log.job_end(number, at) for number, at in enumerate(ends) if at is not None]
    began = ran(stage, 2.0, 4.0, completed=False)
    run = run_of(tmp_path, [*log.header(), *jobs, *began, *over, log.end(9.0)])
    assert run.driver_seconds == pytest.approx(9.0 - busy)


def test_stages_of_which_only_the_tasks_are_told_were_at_work_with_these(tmp_path: Path) -> None:
    """One attempt without its beginning hides no other stage."""
    ended = [log.completed(log.info(1, 1), 0.0, 3.0), *ran(log.info(2, 1), 7.0, 8.0)]
    del ended[0]["Stage Info"]["Submission Time"]
    events = [*log.header(), log.task(0, 0, 2.0, 6.0), ended[0], log.task(1, 1, 2.0, 3.0)]
    run = run_of(tmp_path, [*events, *ended[1:], log.end(9.0)])
    assert run.driver_seconds == pytest.approx(9.0 - 4.0 - 1.0)


def test_a_stage_of_several_jobs_is_of_the_first_query_among_them(tmp_path: Path) -> None:
    stage = log.info(0, 1)
    queries = [{}, {"spark.sql.execution.id": "5"}, {"spark.sql.execution.id": "6"}]
    jobs = [log.job(number, [stage], 1.0, **query) for number, query in enumerate(queries)]
    run = run_of(tmp_path, [*log.header(), *jobs, *ran(stage, 2.0, 4.0), log.end(5.0)])
    assert stage_of(run, 0).sql_execution_id == 5
    assert stage_of(run, 0).job_ids == (0, 1, 2)


def test_a_batch_without_a_stage_is_no_run(tmp_path: Path) -> None:
    """Nothing was there for it to do: its job was skipped."""
    nothing = [event for event in batch(1, 10.0, 2.0) if "Stage" not in event["Event"]]
    nothing = [event for event in nothing if not event["Event"].endswith("TaskEnd")]
    events = [*log.header(), *batch(0, 3.0, 4.0), *nothing, *batch(2, 20.0, 2.0), log.end(60.0)]
    profile = read(log.write(tmp_path / "app", events))
    assert [run.batch_id for run in profile.runs] == [0, 2]


@pytest.mark.parametrize(("of_sql", "category"), [(0.9, "core"), (1.1, "sql")])
def test_the_category_is_what_holds_more_than_a_tenth_of_the_task_time(
    tmp_path: Path, of_sql: float, category: str
) -> None:
    """By time, not by stages: one query beside a job of 9 s."""
    query, plain = log.info(0, 1), log.info(1, 1)
    events = [
        *log.header(),
        log.job(0, [query], 1.0, **{"spark.sql.execution.id": "1"}),
        log.job(1, [plain], 1.0),
        *ran(query, 2.0, 2.0 + of_sql),
        *ran(plain, 4.0, 4.0 + 10.0 - of_sql),
        log.end(20.0),
    ]
    assert read(log.write(tmp_path / "app", events)).category == category


def test_cores_that_come_and_go_are_told_from_the_start_on(tmp_path: Path) -> None:
    """Two executors come at once in second 1, one in second 3; one goes in second 5."""
    events = [
        *log.header(executors=2, cores=2),
        *(log.submitted(log.info(0, 1), 2.0), log.added("3", 3.0, cores=4)),
        *(log.removed("1", 5.0), log.task(0, 0, 2.0, 8.0)),
        *(log.completed(log.info(0, 1), 2.0, 8.0), log.end(9.0)),
    ]
    assert run_of(tmp_path, events).cores == ((1.0, 4), (3.0, 8), (5.0, 6))


def test_a_stage_of_which_only_the_end_is_told_is_described_by_it(tmp_path: Path) -> None:
    first, second = log.info(0, 1), log.info(1, 1, parents=[0])
    events = [*ran(first, 2.0, 4.0), *ran(second, 4.0, 6.0)[1:], log.end(8.0)]
    stage = stage_of(run_of(tmp_path, [*log.header(), *events]), 1)
    assert (stage.name, stage.parents) == ("count at job.py:1", (0,))
    assert (stage.submitted_seconds, stage.completed_seconds) == (4.0, 6.0)
