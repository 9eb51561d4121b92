"""What a log has lost: ends of jobs that Spark dropped, makers of caches that were compacted."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine import Cluster, Profile, fit
from engine.profile import Run
from engine.sources import read

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


MB = 1_000_000
MAKING_UNKNOWN = "how long computing it takes is not known, as the log has lost the stage that did"


def over_cache(number: int, start: float, size: int, *, disk: bool = False) -> list[log.Event]:
    """A job over a persisted RDD, of two tasks."""
    kept = log.rdd(5, [1], cached=True, partitions=2)
    kept["Storage Level"]["Use Disk"] = disk
    stage = log.info(number, 2, rdds=[log.rdd(50 + number, [5]), kept, log.rdd(1)])
    metrics = {"Input Metrics": {"Bytes Read": size // 2}}
    return [
        log.job(number, [stage], start),
        log.submitted(stage, start),
        *(log.task(number, 10 * number + n, start, start + 2.0, index=n, metrics=metrics)
          for n in range(2)),
        log.completed(stage, start, start + 2.0),
        log.job_end(number, start + 2.0),
    ]  # fmt: skip


def compacted(path: Path, *sizes: int, first: int = 4, disk: bool = False) -> Profile:
    """Of jobs that read so much those before `first` are gone; executors hold 55 MB each."""
    storage = {
        "Event": "SparkListenerBlockManagerAdded",
        "Block Manager ID": {"Executor ID": "1", "Host": "h0", "Port": 1},
        "Maximum Memory": 110 * MB,
        "Timestamp": log.ms(1.0),
    }
    events = [*log.header(executors=1, spark_executor_memory="494m"), storage]
    for place, size in enumerate(sizes):
        events += over_cache(first + place, 10.0 + 3.0 * place, size, disk=disk)
    return read(log.write(path / "app", [*events, log.end(60.0)]))


def said(profile: Profile, memory_gib: float) -> list[str]:
    cluster = Cluster.of_executors(executors=1, executor_cores=2, executor_memory_gib=memory_gib)
    found = fit(profile, model="sparkplan").predict(cluster=cluster, confidence=0.9)
    return [notice.text for notice in found.warnings if notice.code == "cache-does-not-fit"]


def test_blocks_whose_making_is_lost_are_no_input(tmp_path: Path) -> None:
    """All three read 104 MB to the byte: the first did not compute what the others found."""
    profile = compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB)
    (run,) = profile.runs
    assert run.workload.input_bytes is None
    assert [stage.cached_input_bytes for stage in run.stages] == [104.0 * MB] * 3
    assert said(profile, 1.0) == [], "they found it all"


def test_what_computing_it_costs_is_said_to_be_unknown(tmp_path: Path) -> None:
    (text,) = said(compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB), 0.44)
    assert text.startswith("104 MB are to be cached, ")
    assert MAKING_UNKNOWN in text


def test_what_is_on_disk_as_well_is_not_computed(tmp_path: Path) -> None:
    (text,) = said(compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB, disk=True), 0.44)
    assert MAKING_UNKNOWN not in text


@pytest.mark.parametrize(("first", "sizes"), [(0, (104, 104, 104)), (4, (200, 104, 104))])
def test_the_first_stage_computes_it_where_the_log_says_so(
    tmp_path: Path, first: int, sizes: tuple[int, ...]
) -> None:
    """Of a whole log the first that needs it does, and one that reads otherwise than the next."""
    profile = compacted(tmp_path, *(size * MB for size in sizes), first=first)
    assert profile.runs[0].workload.input_bytes == sizes[0] * MB
    assert not any(MAKING_UNKNOWN in text for text in said(profile, 0.44))
