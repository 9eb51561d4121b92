"""Logs of real runs in which something went wrong: retries, losses, kills, codecs, idle time.

The logs in tests/data were made by `make_logs.py`; others are public ones, read where they are.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sparklog as log

from engine.errors import BadInput
from engine.profile import Run, StageRun
from engine.sources import codecs, read
from engine.sources.distill import distil
from engine.sources.eventlog import EventLog

sys.path.insert(0, str(Path(__file__).parents[2]))
from shared import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"
PUBLIC = SHARED / "eventlogs"


def text_of(path: Path) -> bytes:
    return b"".join(codecs.open_path(path).chunks())


def one(*sources: Path) -> Run:
    (run,) = read(*sources).runs
    return run


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def notice(run: Run, code: str) -> str:
    (text,) = (notice.text for notice in run.notices if notice.code == code)
    return text


def stages_of(run: Run) -> dict[int, StageRun]:
    return {stage.stage_id: stage for stage in run.stages}


PLAIN = text_of(DATA / "plain.zstd")
RETRIES = text_of(DATA / "retries.zstd")


def write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def place_of(lines: list[bytes], event: str, number: int = 0) -> int:
    """The place of one of the events of a kind; a negative number counts from the last."""
    found = [n for n, line in enumerate(lines) if f'SparkListener{event}"'.encode() in line[:60]]
    return found[number]


# Codecs, as Spark's own writer leaves them


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy"])
def test_what_spark_compressed(codec: str) -> None:
    assert text_of(DATA / f"plain.{codec}") == PLAIN
    assert one(DATA / f"plain.{codec}").stages == one(DATA / "plain.zstd").stages


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_what_spark_leaves_of_a_killed_application(codec: str) -> None:
    """Flushed after most events: only what followed the last flush is gone."""
    text = text_of(DATA / f"plain.{codec}.inprogress")
    assert PLAIN.startswith(text)
    run = one(DATA / f"plain.{codec}.inprogress")
    assert not run.complete
    assert len(run.stages) == 3
    assert codes(run)[0] == "incomplete-log"
    if codec == "lz4":  # lz4-java does not flush its block: a torn line is the last thing there
        assert not text.endswith(b"\n")
        events = len(text.splitlines())
        assert run.lost == (f"the last of {events} events was torn",)


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy"])
def test_a_damaged_block_costs_no_more_than_its_own_events(tmp_path: Path, codec: str) -> None:
    data = bytearray((DATA / f"plain.{codec}").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = b"\xff" * 40
    path = tmp_path / "app"
    path.write_bytes(data)
    run = one(path)
    assert not run.complete
    assert "compressed blocks damaged" in run.lost[0] or "damaged: about" in run.lost[0]
    assert run.stages


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_a_stream_damaged_near_its_end_says_how_much_is_lost(tmp_path: Path, codec: str) -> None:
    """The last tenth of the file is noise."""
    sample = Path(__file__).parents[3] / "sample_logs/pagerank-small.zstd"
    text = text_of(sample)
    compress = {"lz4": log.lz4_blocks, "lzf": log.lzf_blocks, "snappy": log.snappy_blocks}
    packed = compress[codec](text) if codec in compress else sample.read_bytes()
    path = tmp_path / "app"
    path.write_bytes(packed[: len(packed) * 9 // 10] + b"\xfe\x81" * (len(packed) // 20))
    run = one(path)
    assert not run.complete
    said = next(text for text in run.lost if f"the {codec} stream is damaged" in text)
    found = re.search(r"about (\d+) of (\d+) events are lost, the last [\d.]+ m?s", said)
    assert found is not None
    assert int(found[2]) == pytest.approx(text.count(b"\n"), rel=0.3)


# Failures


def test_fetch_failures_retry_a_stage_for_what_is_missing() -> None:
    run = one(DATA / "retries.zstd")
    stages = stages_of(run)
    assert run.complete
    assert stages[1].waste.retried_stages == stages[2].waste.retried_stages == 1
    assert all(s.task_seconds.count == s.tasks for s in run.stages)
    events = [json.loads(line) for line in RETRIES.splitlines()]
    reasons = [e["Task End Reason"]["Reason"] for e in events if "Task End Reason" in e]
    assert {"FetchFailed", "ExecutorLostFailure"} <= set(reasons)
    ends = [e for e in events if "Task End Reason" in e]
    busy = sum(e["Task Info"]["Finish Time"] - e["Task Info"]["Launch Time"] for e in ends)
    work = sum(s.task_seconds.total for s in run.stages)
    wasted = sum(s.waste.seconds for s in run.stages)
    assert work + wasted == pytest.approx(busy / 1000.0)


def test_a_speculative_copy_replaces_the_task_that_hangs() -> None:
    """The hanging task ends as killed after its stage has completed: waste all the same."""
    lines = text_of(DATA / "speculative.zstd").splitlines()
    events = [json.loads(line) for line in lines]
    names = [event["Event"].removeprefix("SparkListener") for event in events]
    ends = [n for n, name in enumerate(names) if name == "TaskEnd"]
    (killed,) = (n for n in ends if events[n]["Task End Reason"]["Reason"] == "TaskKilled")
    (copy,) = (n for n in ends if events[n]["Task Info"]["Speculative"])
    assert copy < names.index("StageCompleted") < killed
    run = one(DATA / "speculative.zstd")
    first, second = run.stages
    hung, done = (events[n]["Task Info"] for n in (killed, copy))
    assert hung["Index"] == done["Index"] == 7
    assert (first.tasks, first.task_seconds.count) == (8, 8)
    assert (first.waste.failed_tasks, first.waste.killed_tasks) == (0, 1)
    assert first.waste.seconds == (hung["Finish Time"] - hung["Launch Time"]) / 1000
    assert (done["Finish Time"] - done["Launch Time"]) / 1000 in first.task_seconds.quantiles
    assert second.waste == type(second.waste)()
    assert (run.complete, run.notices) == (True, ())


def test_resubmitted_tasks_count_once() -> None:
    """Map outputs of a lost executor, computed again within the same attempt of the stage."""
    run = one(DATA / "resubmitted.zstd")
    events = [json.loads(line) for line in text_of(DATA / "resubmitted.zstd").splitlines()]
    reasons = [e["Task End Reason"]["Reason"] for e in events if "Task End Reason" in e]
    assert "Resubmitted" in reasons
    (stage,) = (s for s in run.stages if s.waste.failed_tasks)
    assert (stage.tasks, stage.task_seconds.count) == (8, 8)
    assert stage.waste.retried_stages == 0
    assert stage.waste.failed_tasks == len([r for r in reasons if r != "Success"])
    assert run.complete
    assert "dynamic-allocation" in codes(run)


def test_a_failed_job_is_said_and_the_run_is_whole() -> None:
    run = one(DATA / "failing.zstd")
    assert run.complete
    assert run.lost == ()
    assert notice(run, "failed-stages").startswith("1 stage failed with 3 of 4 tasks done")
    assert stages_of(run)[0].waste.failed_tasks == 4
    assert stages_of(run)[1].task_seconds.count == 4


def test_a_killed_driver_leaves_a_log_that_says_what_is_missing() -> None:
    run = one(DATA / "killed.zstd.inprogress")
    assert not run.complete
    assert stages_of(run)[0].task_seconds.count == 4
    (lost,) = run.lost
    assert lost.startswith("18 of 24 tasks of 1 stage are missing, begun in the last ")
    assert stages_of(run)[1].completed_seconds <= run.seconds


# Executors


def test_executors_that_come_and_go() -> None:
    run = one(DATA / "dynamic.zstd")
    assert "dynamic-allocation" in codes(run)
    cores = [cores for _, cores in run.cores]
    assert 0 in cores[1:-1]  # all of them went between the two jobs
    assert max(cores) == 2
    assert run.config["spark.dynamicAllocation.enabled"] == "true"


def test_executors_of_a_resource_profile() -> None:
    run = one(DATA / "profiles.zstd")
    assert {"mixed-executors", "dynamic-allocation"} <= set(codes(run))
    assert [(s.resource_profile_id, s.task_cpus) for s in run.stages] == [(0, 1), (1, 2)]


# Parts that are missing


def rolling(folder: Path, *, without: int = 0, parts: int = 5) -> Path:
    """The plain log in parts, one of them missing."""
    lines = PLAIN.splitlines(keepends=True)
    target = folder / "eventlog_v2_app-1"
    target.mkdir()
    for number in range(1, parts + 1):
        cut = lines[len(lines) * (number - 1) // parts : len(lines) * number // parts]
        if number != without:
            write(target / f"events_{number}_app-1", cut)
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
        assert found is not None
        assert int(found[2]) == pytest.approx(len(PLAIN.splitlines()), abs=2)
    if without == 1:
        assert any("beginning of the application is missing" in text for text in whole.lost)


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


def attempts(folder: Path) -> list[Path]:
    found = []
    for number, text in enumerate((PLAIN, PLAIN), start=1):
        start = json.loads(
            next(line for line in text.splitlines() if b"ApplicationStart" in line[:60])
        )
        again = start | {"App Attempt ID": str(number), "Timestamp": start["Timestamp"] + number}
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


def test_attempts_of_one_application_are_named(tmp_path: Path) -> None:
    profile = read(*attempts(tmp_path))
    assert len(profile.runs) == 2
    (said,) = (n.text for n in profile.notices if n.code == "several-attempts")
    assert said.startswith("2 attempts of app-")


# Databricks


def databricks(folder: Path, text: bytes, *, keep: tuple[int, ...] = (0, 1, 2)) -> Path:
    """A log as Databricks delivers it: each part begins with its number."""
    lines = [
        line for line in text.splitlines(keepends=True) if b"SparkListenerLogStart" not in line
    ]
    lines = [line for line in lines if b"ApplicationEnd" not in line[:60]]
    names = ("eventlog-2024-02-13--19-00.gz", "eventlog-2024-02-13--20-00.gz", "eventlog")
    for number, name in enumerate(names):
        mark = {
            "Event": "DBCEventLoggingListenerMetadata",
            "Spark Version": "3.5.0",
            "Rollover Number": number,
            "SparkContext Id": 77,
        }
        cut = lines[len(lines) * number // 3 : len(lines) * (number + 1) // 3]
        data = json.dumps(mark, separators=(",", ":")).encode() + b"\n" + b"".join(cut)
        if number in keep:
            (folder / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return folder


def test_databricks_parts_without_an_end(tmp_path: Path) -> None:
    run = one(databricks(tmp_path, PLAIN))
    assert run.stages == one(DATA / "plain.zstd").stages
    assert run.lost == ()
    assert not run.complete
    assert "the application's end is missing" in notice(run, "incomplete-log")


@pytest.mark.parametrize(
    ("keep", "said"),
    [((0, 2), "part 2 of 3 missing"), ((1, 2), "part 1 of 3 missing")],
)
def test_databricks_parts_know_their_number(
    tmp_path: Path, keep: tuple[int, ...], said: str
) -> None:
    run = one(databricks(tmp_path, PLAIN, keep=keep))
    assert any(said in text for text in run.lost)


TAGS = "spark.databricks.clusterUsageTags."


@pytest.mark.parametrize(
    ("properties", "photon"),
    [
        ({f"{TAGS}sparkVersion": "13.3.x-scala2.12"}, False),
        ({f"{TAGS}sparkVersion": "13.3.x-photon-scala2.12"}, True),
        ({f"{TAGS}effectiveSparkVersion": "9.1.x-photon-scala2.12"}, True),
        ({f"{TAGS}runtimeEngine": "PHOTON"}, True),
        ({f"{TAGS}runtimeEngine": "STANDARD"}, False),
        ({"spark.plugins": "org.apache.gluten.GlutenPlugin"}, True),
    ],
)
def test_other_engines_are_told(tmp_path: Path, properties: dict[str, str], photon: bool) -> None:
    events = log.one_stage()
    events[1]["Spark Properties"] |= properties
    run = one(log.write(tmp_path / "app", events))
    assert ("different-engine" in codes(run)) == photon


@pytest.mark.parametrize(
    ("key", "vcpus"),
    [
        (f"{TAGS}clusterNodeType", 2.0),
        ("spark.databricks.workerNodeTypeId", 2.0),
        ("spark.kubernetes.node.selector.node.kubernetes.io/instance-type", None),
    ],
)
def test_the_type_that_a_platform_names(tmp_path: Path, key: str, vcpus: float | None) -> None:
    events = log.one_stage()
    events[1]["Spark Properties"] |= {key: "i3.xlarge", f"{TAGS}driverNodeType": "i3.large"}
    run = one(log.write(tmp_path / "app", events))
    (group,) = run.cluster.groups
    assert group.instance is not None
    assert group.instance.name == "i3.xlarge"
    if vcpus:
        assert group.instance.vcpus == vcpus
    assert notice(run, "ran-on-from-log") == (
        "the log says that it ran on i3.xlarge, its driver on i3.large"
    )


@needs_shared
def test_a_databricks_log_of_the_public() -> None:
    run = one(PUBLIC / "spark-rapids-tools/db_subExecution_id.zstd")
    assert "ran-on-from-log" in codes(run)
    assert "Standard_E8s_v3" in notice(run, "ran-on-from-log")
    assert notice(run, "long-pauses").startswith("no job ran for 1m 09s of 5m 46s")


@needs_shared
def test_a_copy_that_lost_the_race_on_a_real_cluster() -> None:
    """Speculation on YARN: the task counts once, its slower copy is waste."""
    (stage,) = one(PUBLIC / "apache-spark/application_1628109047826_1317105").stages
    assert (stage.tasks, stage.task_seconds.count) == (4, 4)
    assert (stage.waste.failed_tasks, stage.waste.killed_tasks) == (0, 1)


# Idle time


def two_jobs(pause: float) -> list[log.Event]:
    """A stage of 4 s, a pause, and a stage of 4 s."""
    events = log.one_stage(2)[:-1]
    stage, begin = log.info(1, 1), 6.0 + pause
    return [
        *events,
        log.job(1, [stage], begin),
        log.submitted(stage, begin),
        log.task(1, 7, begin, begin + 4.0, index=0),
        log.completed(stage, begin, begin + 4.0),
        log.job_end(1, begin + 4.0),
        log.end(begin + 5.0),
    ]


def test_a_pause_of_days_is_no_work_of_the_driver(tmp_path: Path) -> None:
    short = one(log.write(tmp_path / "short", two_jobs(0.001)))
    run = one(log.write(tmp_path / "long", two_jobs(930 * 86_400.0)))
    assert run.seconds == pytest.approx(short.seconds, abs=0.01)
    assert run.driver_seconds == pytest.approx(short.driver_seconds, abs=0.01)
    assert run.stages[1].submitted_seconds == pytest.approx(6.0, abs=0.01)
    assert run.jobs[1].completed_seconds == pytest.approx(10.0, abs=0.01)
    assert notice(run, "idle-time").startswith("no job ran for 930d 00h (1 stretch from 6 s")
    assert run.complete


def test_a_pause_that_may_be_work_is_counted_and_said(tmp_path: Path) -> None:
    run = one(log.write(tmp_path / "app", two_jobs(600.0)))
    assert run.seconds == 611.0
    assert notice(run, "long-pauses").startswith("no job ran for 10m 00s of 10m 11s")


def test_a_pause_in_a_session_is_idle_sooner(tmp_path: Path) -> None:
    events = two_jobs(600.0)
    events[2]["App Name"] = "Spark shell"
    run = one(log.write(tmp_path / "app", events))
    assert run.seconds == pytest.approx(11.0)
    assert "idle-time" in codes(run)


def test_a_query_that_plans_is_not_idle(tmp_path: Path) -> None:
    events = two_jobs(600.0)
    events[2]["App Name"] = "Spark shell"
    name = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    events[4:4] = [
        {"Event": f"{name}Start", "executionId": 0, "time": log.ms(5.0)},
        {"Event": f"{name}End", "executionId": 0, "time": log.ms(606.0)},
    ]
    run = one(log.write(tmp_path / "app", events))
    assert run.seconds == 611.0
    assert "long-pauses" not in codes(run)


@needs_shared
def test_a_log_put_together_of_two() -> None:
    """Its executors were added two and a half years after its last task."""
    run = one(PUBLIC / "spark-rapids-tools/eventlog_3nodes_12cores_variable_cores")
    assert run.seconds == pytest.approx(6.11, abs=0.01)
    assert notice(run, "late-executors").startswith("3 executors were added 930d")


# Early versions


@needs_shared
def test_spark_1_2() -> None:
    run = one(PUBLIC / "apache-spark/local-1422981759269")
    stages = stages_of(run)
    assert run.spark_version is None
    assert {n: s.parents for n, s in stages.items()} == {0: (), 1: (), 2: (1,), 4: (1,), 5: ()}
    assert {"cores-inferred", "old-log"} <= set(codes(run))
    assert run.cached_bytes == 28_000_128.0  # `Updated Blocks`
    assert stages[1].cached_input_bytes == 28_000_128.0  # `Data Read Method`: Memory
    assert run.workload.input_bytes == 160.0  # Hadoop
    assert stages[2].shuffle_read_bytes is None  # remote bytes are told, local ones are not
    assert all(s.cpu_seconds is None for s in run.stages)
    assert all(s.peak_execution_memory_bytes is None for s in run.stages)


@needs_shared
def test_spark_1_4() -> None:
    run = one(PUBLIC / "apache-spark/local-1430917381534")
    assert [stage.parents for stage in run.stages] == [(), (0,)]
    assert run.workload.input_bytes == 6_944_448.0
    assert run.stages[1].shuffle_read_bytes is not None


def test_the_cache_of_spark_1_x_that_was_lost(tmp_path: Path) -> None:
    """An RDD that was persisted, but a task read it from disk again: its method says so."""
    source, cached = log.rdd(0, name="file"), log.rdd(1, [0], cached=True)
    first, second = log.info(0, 1, rdds=[cached, source]), log.info(1, 2, rdds=[cached, source])
    events = log.header()
    events[0]["Spark Version"] = "1.6.3"
    read_from = {m: {"Input Metrics": {"Data Read Method": m, "Bytes Read": 100}}
                 for m in ("Hadoop", "Memory")}  # fmt: skip
    events += [
        log.submitted(first, 1.0),
        log.task(0, 0, 1.0, 2.0, index=0, metrics=read_from["Hadoop"]),
        log.completed(first, 1.0, 2.0),
        log.submitted(second, 2.0),
        log.task(1, 1, 2.0, 3.0, index=0, metrics=read_from["Memory"]),
        log.task(1, 2, 2.0, 3.0, index=1, metrics=read_from["Hadoop"]),
        log.completed(second, 2.0, 3.0),
        log.end(4.0),
    ]
    run = one(log.write(tmp_path / "app", events))
    assert [stage.cached_input_bytes for stage in run.stages] == [0.0, 100.0]
    assert run.workload.input_bytes == 200.0


# Files


class Failing(io.BytesIO):
    """A disk that fails after some bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 40_000:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read(min(size or 0, 20_000) if size and size > 0 else size)


def test_a_disk_that_fails_keeps_what_was_read() -> None:
    stream = codecs.Stream(Failing(PLAIN), "app")
    text = b"".join(stream.chunks())
    assert PLAIN.startswith(text)
    assert text
    assert stream.lost == "reading the file failed (Input/output error)"


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(PLAIN)
    stream = codecs.open_path(path)
    next(stream.chunks())
    os.truncate(path, 1000)
    assert stream.changed() == f"the file shrank from {len(PLAIN)} to 1000 bytes while read"


def test_a_file_that_is_written_over_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(PLAIN)
    os.utime(path, ns=(0, 0))
    stream = codecs.open_path(path)
    next(stream.chunks())
    with path.open("r+b") as file:
        file.write(RETRIES[:100])
    assert stream.changed() == "the file was written to while it was read"


def test_a_log_that_grows_while_it_is_read_is_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "app.inprogress"
    path.write_bytes(PLAIN)
    stream = codecs.open_path(path)
    chunks = stream.chunks()
    next(chunks)
    with path.open("ab") as file:
        file.write(PLAIN)
    assert stream.changed() is None


def test_a_file_that_goes_while_its_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        events = log.one_stage()
        events[2] = {**events[2], "App ID": name}
        log.write(tmp_path / name, events)
    opened = codecs.open_path

    def and_remove(path: Path, progress: codecs.Progress | None = None) -> codecs.Stream:
        stream = opened(path, progress)
        (tmp_path / "b").unlink(missing_ok=True)
        return stream

    monkeypatch.setattr(codecs, "open_path", and_remove)
    profile = read(tmp_path, progress=lambda done, total: None)
    assert len(profile.runs) == 1
    (said,) = profile.notices
    assert said.text.startswith("1 of 2 files")


def test_ten_thousand_files(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"part-{number}").touch()
    log.write(tmp_path / "app", log.one_stage())
    profile = read(tmp_path)
    assert len(profile.runs) == 1
    assert profile.notices[0].text.startswith("10000 of 10001 files")


def test_more_files_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.sources import folders

    monkeypatch.setattr(folders, "MOST_FILES", 10)
    for number in range(11):
        (tmp_path / f"part-{number}").touch()
    with pytest.raises(BadInput, match="more than 10 files"):
        read(tmp_path)
