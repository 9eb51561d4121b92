"""Logs of real runs in which something went wrong: retries, losses, kills, idle time."""

import json
from pathlib import Path

import pytest
import sparklog as log
from pitfall_logs import DATA, PUBLIC, RETRIES, codes, notice, one, stages_of, text_of
from shared import needs_shared

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
    assert "dynamic-allocation" not in codes(run)
    said = notice(run, "lost-executors")
    assert said.startswith("1 of 3 executors was lost 14.9 s after the start (")
    assert "exited with code 137" in said


def test_a_failed_job_is_said_and_the_run_is_whole() -> None:
    run = one(DATA / "failing.zstd")
    assert run.complete
    assert run.lost == ()
    assert notice(run, "failed-stages").endswith(": 1 stage failed with 3 of 4 tasks done")
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
    assert "lost-executors" not in codes(run)
    cores = [cores for _, cores in run.cores]
    assert 0 in cores[1:-1]  # all of them went between the two jobs
    assert max(cores) == 2
    assert run.config["spark.dynamicAllocation.enabled"] == "true"


def test_executors_of_a_resource_profile() -> None:
    run = one(DATA / "profiles.zstd")
    assert {"mixed-executors", "dynamic-allocation"} <= set(codes(run))
    assert [s.task_cpus for s in run.stages] == [1, 2]


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
