"""Logs of which a part is missing."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sparklog as log
from pitfall_logs import DATA, PLAIN, RETRIES, codes, one, stages_of

from engine.sources import read
from engine.sources.distilling.distill import distil
from engine.sources.logs.eventlog import EventLog


def write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def place_of(lines: list[bytes], event: str, number: int = 0) -> int:
    """The place of one of the events of a kind; a negative number counts from the last."""
    found = [n for n, line in enumerate(lines) if f'SparkListener{event}"'.encode() in line[:60]]
    return found[number]


def rolling(folder: Path, *, without: int = 0, parts: int = 5, first: int = 1) -> Path:
    """The plain log in parts, one of them missing; `first` is the number of the first."""
    lines = PLAIN.splitlines(keepends=True)
    target = folder / "eventlog_v2_app-1"
    target.mkdir()
    for number in range(1, parts + 1):
        cut = lines[len(lines) * (number - 1) // parts : len(lines) * number // parts]
        if number != without:
            write(target / f"events_{number - 1 + first}_app-1", cut)
    return target


@pytest.mark.parametrize("without", [1, 2, 3, 4, 5])
def test_a_rolling_log_without_one_of_its_parts(tmp_path: Path, without: int) -> None:
    whole = one(rolling(tmp_path, without=without))
    assert not whole.complete
    assert codes(whole)[0] == "incomplete-log"
    if without < 5:
        assert f"part {without} of 5 missing" in whole.lost[0]
    if without in (2, 3, 4):
        found = re.search(r"about (\d+) of (\d+) events, ([\d.]+ s)", whole.lost[0])
        assert int(found[2]) == pytest.approx(len(PLAIN.splitlines()), abs=2)
    if without == 1:
        assert any("beginning of the application is missing" in text for text in whole.lost)


def test_parts_that_are_numbered_from_0(tmp_path: Path) -> None:
    """As EMR Serverless and EMR on EKS number them."""
    run = one(rolling(tmp_path, first=0))
    assert (run.complete, run.lost) == (True, ())
    assert run.stages == one(DATA / "plain.zstd").stages


def test_a_part_that_is_missing_after_part_0(tmp_path: Path) -> None:
    lost = one(rolling(tmp_path, without=2, first=0)).lost
    assert lost[0].startswith("part 1 of 5 missing (about")
    assert not any("beginning" in text for text in lost)


@pytest.mark.parametrize("first", [0, 1])
def test_the_only_part_of_a_rolling_log_given_by_itself(tmp_path: Path, first: int) -> None:
    run = one(rolling(tmp_path, parts=1, first=first) / f"events_{first}_app-1")
    assert (run.complete, run.lost) == (True, ())


def test_a_log_without_its_beginning(tmp_path: Path) -> None:
    """As `tail -c` leaves it: a torn first line, no executors, no application."""
    lines = PLAIN.splitlines(keepends=True)
    begin = place_of(lines, "JobStart", 1)
    path = write(tmp_path / "app", [lines[begin - 1][50:], *lines[begin:]])
    run = one(path)
    whole = one(DATA / "plain.zstd")
    assert run.stages[0].task_seconds == whole.stages[1].task_seconds
    assert not run.complete
    assert "the beginning of the application is missing, with its first 1 job" in run.lost
    assert run.cluster.slots == 2


def test_a_log_that_a_history_server_compacted(tmp_path: Path) -> None:
    """It drops what had ended: the start is there, of the first 3 jobs nothing is. The time in
    which they ran is not the driver's."""
    stage = log.info(4, 1)
    events = [
        *log.header(), log.job(3, [stage], 100.0), log.submitted(stage, 100.1),
        log.task(4, 9, 100.2, 104.0, index=0), log.completed(stage, 100.1, 104.0),
        log.job_end(3, 104.1), log.end(105.0),
    ]  # fmt: skip
    run = one(log.write(tmp_path / "app", events))
    assert run.lost == ("the beginning of the application is missing, with its first 3 jobs",)
    assert not run.complete
    assert (run.seconds, run.driver_seconds) == (5.0, pytest.approx(1.1))
    assert codes(run) == ["incomplete-log"]
    begun = [*log.header(), *first_jobs(3), *events[len(log.header()) :]]
    whole = log.write(tmp_path / "whole", begun)
    profile = read(tmp_path / "app", whole)
    assert [(run.source, run.complete) for run in profile.runs] == [("whole", True)]
    assert [notice.code for notice in profile.notices] == ["duplicate-runs"]


def first_jobs(number: int) -> list[log.Event]:
    """So many jobs of one stage and one task each, 10 s apart."""
    events: list[log.Event] = []
    for job in range(number):
        stage, at = log.info(job, 1), 10.0 + 10.0 * job
        events += [
            log.job(job, [stage], at), log.submitted(stage, at),
            log.task(job, job, at, at + 5.0, index=0), log.completed(stage, at, at + 5.0),
            log.job_end(job, at + 5.0),
        ]  # fmt: skip
    return events


def test_a_first_job_that_never_began_is_not_missing(tmp_path: Path) -> None:
    """Its number was taken, no stage of it was made."""
    stage = log.info(0, 1)
    events = [
        *log.header(), log.job(1, [stage], 2.0), log.submitted(stage, 2.1),
        log.task(0, 0, 2.2, 4.0, index=0), log.completed(stage, 2.1, 4.0),
        log.job_end(1, 4.1), log.end(5.0),
    ]  # fmt: skip
    run = one(log.write(tmp_path / "app", events))
    assert (run.complete, run.lost, run.seconds) == (True, (), 5.0)


def test_lines_that_are_missing_show_in_the_tasks(tmp_path: Path) -> None:
    """Spark drops events when its listeners cannot follow; the stage knows its tasks."""
    lines = PLAIN.splitlines(keepends=True)
    del lines[place_of(lines, "TaskEnd", 1)]
    run = one(write(tmp_path / "app", lines))
    assert run.lost == ("1 of 2 tasks of 1 stage is missing",)


def test_a_stage_whose_description_is_lost_keeps_what_its_job_planned() -> None:
    """Neither its submission nor its completion was logged: tasks and plan remain."""
    text = PLAIN.splitlines(keepends=True)
    kept = [line for line in text if not (b'"Stage ID":2,' in line[:90] and b"Stage Info" in line)]
    assert len(kept) == len(text) - 2
    log_ = EventLog()
    log_.read([b"".join(kept)], "app")
    (run,) = distil(log_, source="app", where="app").runs
    whole = stages_of(one(DATA / "plain.zstd"))
    assert stages_of(run)[2].parents == whole[2].parents == (1,)
    assert "old-log" not in codes(run)


def test_two_applications_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(PLAIN + RETRIES)
    run = one(path)
    assert replace(run, complete=True, lost=(), notices=()) == replace(
        one(DATA / "plain.zstd"), source="app"
    )
    events = PLAIN.count(b"\n")
    assert run.lost == (
        f"another application begins after {events} events: only the first was read",
    )


@pytest.mark.parametrize("packed", [False, True])
def test_one_log_twice_in_one_file_is_read_once_and_lacks_nothing(
    tmp_path: Path, *, packed: bool
) -> None:
    """As where packed files are joined; it was said to be cut off by another application."""
    path = tmp_path / "app"
    path.write_bytes(2 * (gzip.compress(PLAIN) if packed else PLAIN))
    profile = read(path)
    assert replace(profile.runs[0], source="") == replace(one(DATA / "plain.zstd"), source="")
    (notice,) = [n for n in profile.notices if n.code == "duplicate-runs"]
    events = PLAIN.count(b"\n")
    assert notice.text == f"app holds its log again after {events} events: it was read once"


def spaced(text: bytes) -> bytes:
    """A log as tools write it again."""
    return b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in text.splitlines())


def test_what_follows_a_log_with_other_spacing_is_told_as_well(tmp_path: Path) -> None:
    """How many events it had was not known, nor that the second log was the first once more."""
    events, path = PLAIN.count(b"\n"), tmp_path / "app"
    path.write_bytes(spaced(PLAIN) + spaced(RETRIES))
    assert one(path).lost == (
        f"another application begins after {events} events: only the first was read",
    )
    path.write_bytes(2 * spaced(PLAIN))
    profile = read(path)
    assert profile.runs[0].lost == ()
    said = f"app holds its log again after {events} events: it was read once"
    assert said in [notice.text for notice in profile.notices]


def test_another_application_of_which_one_line_is_there(tmp_path: Path) -> None:
    """Its first line is the last of the file, and has no line end yet."""
    path = tmp_path / "app"
    path.write_bytes(PLAIN + RETRIES.splitlines()[0])
    events = PLAIN.count(b"\n")
    assert one(path).lost == (
        f"another application begins after {events} events: only the first was read",
    )


@pytest.mark.parametrize("differs", ["App ID", "Timestamp"])
def test_another_application_after_one_that_was_killed(tmp_path: Path, differs: str) -> None:
    """The first has no end; the other is one of its own, or the next attempt of the first."""
    events = log.one_stage()
    other = {"App ID": "app-2", "Timestamp": log.ms(100.0)}[differs]
    again = [e | {differs: other} if "App ID" in e else e for e in log.one_stage(tasks=9)]
    (alone,) = read(log.write(tmp_path / "alone", events[:-1])).runs
    (run,) = read(log.write(tmp_path / "both", [*events[:-1], *again])).runs
    assert (run.stages, run.seconds, run.complete) == (alone.stages, alone.seconds, False)
    assert "another application begins after" in run.lost[0]


def attempts(folder: Path, *, apart_ms: int = 1) -> list[Path]:
    found = []
    for number, text in enumerate((PLAIN, PLAIN), start=1):
        start = json.loads(
            next(line for line in text.splitlines() if b"ApplicationStart" in line[:60])
        )
        started_ms = start["Timestamp"] + apart_ms * number
        again = start | {"App Attempt ID": str(number), "Timestamp": started_ms}
        lines = [
            json.dumps(again, separators=(",", ":")).encode() + b"\n"
            if b"ApplicationStart" in line[:60]
            else line
            for line in text.splitlines(keepends=True)
        ]
        found.append(write(folder / f"application_1_0001_{number}", lines))
    return found


def test_a_hole_in_a_log_shows_in_its_jobs(tmp_path: Path) -> None:
    """Jobs and all of their stages and tasks may be gone: their numbers are not."""
    first, last = one_job(0, 2.0), one_job(3, 20.0)
    gone = [*first, *last]
    without_start = [*first, *one_job(1, 7.0)[1:], *one_job(2, 13.0), *last]
    given_up = [*first, *one_job(2, 20.0, stage=1)]
    found = []
    for place, events in enumerate((gone, without_start, given_up)):
        run = one(log.write(tmp_path / f"app{place}", [*log.header(), *events, log.end(30.0)]))
        found.append((run.lost, run.complete))
    assert found == [
        (("2 of 4 jobs are missing",), False), (("1 of 4 jobs is missing",), False), ((), True)
    ]  # fmt: skip


def test_the_time_of_a_hole_is_not_the_drivers(tmp_path: Path) -> None:
    """Jobs 1 and 2 are gone: what was done from the end of job 0, at 6 s, to the submission of job
    3, at 20 s, nobody knows."""
    told = [*one_job(0, 2.0), log.job_end(0, 6.0), *one_job(3, 20.0), log.job_end(3, 24.0)]
    run = one(log.write(tmp_path / "app", [*log.header(), *told, log.end(30.0)]))
    assert (run.seconds, run.driver_seconds) == (16.0, 8.0)
    assert [(job.submitted_seconds, job.completed_seconds) for job in run.jobs] == [
        (2.0, 6.0), (6.0, 10.0)
    ]  # fmt: skip
    (said,) = (notice for notice in run.notices if notice.code == "incomplete-log")
    assert said.text == (
        "2 of 4 jobs are missing; the run counts to its last event, 16 s after the start, without "
        "the 14 s of which nothing is told"
    )


def test_a_job_that_a_hole_cuts_off_ends_with_its_last_task(tmp_path: Path) -> None:
    """The end of job 0 and of its stage is in the hole too: they did not run until the application
    ended."""
    begun = one_job(0, 2.0)[:-1]
    after = [*one_job(2, 20.0), log.job_end(2, 24.0)]
    run = one(log.write(tmp_path / "app", [*log.header(), *begun, *after, log.end(30.0)]))
    assert (run.seconds, run.driver_seconds) == (16.0, 8.0)


def test_jobs_that_were_given_up_before_they_began_leave_no_hole(tmp_path: Path) -> None:
    """The number of job 1 was given and no stage is missing: the driver worked."""
    told = [*one_job(0, 2.0), log.job_end(0, 6.0), *one_job(2, 20.0, stage=1), log.job_end(2, 24.0)]
    run = one(log.write(tmp_path / "app", [*log.header(), *told, log.end(30.0)]))
    assert (run.lost, run.seconds, run.driver_seconds) == ((), 30.0, 22.0)


def one_job(number: int, start: float, *, stage: int | None = None) -> list[log.Event]:
    """A job of one stage of one task; stages are numbered like jobs unless said otherwise."""
    place = number if stage is None else stage
    info = log.info(place, 1)
    return [
        log.job(number, [info], start),
        log.submitted(info, start),
        log.task(place, number, start, start + 4.0),
        log.completed(info, start, start + 4.0),
    ]


@pytest.mark.parametrize("apart_ms", [1, 0])
def test_attempts_of_one_application_are_named(apart_ms: int, tmp_path: Path) -> None:
    profile = read(*attempts(tmp_path, apart_ms=apart_ms))
    assert len(profile.runs) == 2
    (said,) = (n.text for n in profile.notices if n.code == "several-attempts")
    assert said.startswith("2 attempts of app-")


def test_a_log_in_a_folder_whose_beginning_is_damaged_is_one(tmp_path: Path) -> None:
    events = log.one_stage()
    log.write(tmp_path / "whole", events)
    begun = [{**event, "App ID": "app-2"} if "App ID" in event else event for event in events]
    (tmp_path / "torn").write_bytes(b"\x00" * 100 + b"\n" + log.text(begun)[40:])
    profile = read(tmp_path)
    assert [run.source for run in profile.runs] == ["torn", "whole"]
    assert "skipped-files" not in [notice.code for notice in profile.notices]
