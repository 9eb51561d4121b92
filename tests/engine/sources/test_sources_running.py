"""Tasks that were running where a log breaks off: since when, and which had ended after all."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

import engine
from engine.sources import read
from engine.sources.formats.profile_file import write_profile

STAGE = log.info(0, 6)


def broken_off() -> list[log.Event]:
    """Six tasks on four slots: one has ended, one failed and began again, three run on."""
    return [
        *log.header(),
        log.job(0, [STAGE], 1.9),
        log.submitted(STAGE, 2.0),
        *(log.task_start(0, n, 2.0, index=n) for n in range(4)),
        log.task(0, 1, 2.0, 3.0, index=1, reason="ExceptionFailure"),
        log.task_start(0, 4, 4.0, index=1),
        log.task(0, 0, 2.0, 5.0, index=0),
    ]


def test_running_tasks_are_told_by_their_age(tmp_path: Path) -> None:
    stage = stage_of(run_of(tmp_path, broken_off()), 0)
    assert (stage.tasks, stage.task_seconds.count) == (6, 1)
    assert stage.running_seconds.quantiles == (1.0, 3.0, 3.0)


def test_a_failed_task_that_has_not_begun_again_does_not_run(tmp_path: Path) -> None:
    events = [event for event in broken_off() if event.get("Task Info", {}).get("Task ID") != 4]
    stage = stage_of(run_of(tmp_path, events), 0)
    assert stage.running_seconds.quantiles == (3.0, 3.0)


@pytest.mark.parametrize("again", [True, False])
def test_tasks_of_a_stage_that_is_tried_again_run(tmp_path: Path, again: bool) -> None:
    """A failed attempt was taken for the stage's end, and what ran since as done."""
    events = [*broken_off(), log.completed(STAGE, 2.0, 5.0, failure="FetchFailed")]
    if again:
        events.append(log.submitted(log.info(0, 5, attempt=1), 5.5))
        events += [log.task_start(0, 9, 6.0, index=2), log.task_start(0, 10, 9.0, index=3)]
        events.append(log.task(0, 10, 9.0, 10.0, index=3, attempt=1, partition=3))
    stage = stage_of(run_of(tmp_path, events), 0)
    running = stage.running_seconds
    assert (running.quantiles[0] if running else None) == (4.0 if again else None)


def test_nothing_runs_after_the_end(tmp_path: Path) -> None:
    stage = stage_of(run_of(tmp_path, [*broken_off(), log.end(6.0)]), 0)
    assert stage.running_seconds is None


def test_a_start_that_is_damaged_is_no_start(tmp_path: Path) -> None:
    damaged = {"Event": "SparkListenerTaskStart", "Stage ID": 0, "Task Info": {}}
    stage = stage_of(run_of(tmp_path, [*broken_off(), damaged]), 0)
    assert stage.running_seconds.count == 3


def test_a_profile_keeps_them(tmp_path: Path) -> None:
    profile = read(log.write(tmp_path / "app", broken_off()))
    write_profile(profile, tmp_path / "job.yaml")
    (again,) = read(tmp_path / "job.yaml").runs
    assert again.stages[0].running_seconds == profile.runs[0].stages[0].running_seconds


@pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])
def test_running_tasks_make_the_answer_longer(tmp_path: Path, model: str) -> None:
    """The only task that ended was the shortest: the others have run three times as long."""
    stage = log.info(0, 40)
    events = [
        *log.header(),
        log.job(0, [stage], 1.9),
        log.submitted(stage, 2.0),
        *(log.task_start(0, n, 2.0, index=n) for n in range(4)),
        log.task(0, 0, 2.0, 12.0, index=0),
        log.task_start(0, 4, 12.0, index=4),
        log.task(0, 4, 12.0, 22.0, index=4),
        log.task_start(0, 5, 22.0, index=5),
        log.task(0, 5, 22.0, 32.0, index=5),
    ]
    starts = "SparkListenerTaskStart"
    without = [event for event in events if event["Event"] != starts]
    found = {}
    for name, told in (("with", events), ("without", without)):
        profile = read(log.write(tmp_path / name, told))
        fitted = engine.fit(profile, model=model)
        found[name] = fitted.predict(cluster=profile.runs[0].cluster).seconds
    assert found["with"] > 1.2 * found["without"]


def test_a_job_profile_measured_on_part_of_a_stage_says_so(tmp_path: Path) -> None:
    profile = read(log.write(tmp_path / "app", broken_off()))
    found = engine.fit(profile, model="optex").predict(cluster=profile.runs[0].cluster)
    assert {"incomplete-log", "stage-in-part"} <= {notice.code for notice in found.warnings}
