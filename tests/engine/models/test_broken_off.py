"""Logs that break off in a stage: what is left is predicted, and not held against the model."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, ask, measure, observed

import engine
from engine.cluster import Workload
from engine.models.replay.censored_tasks import (
    FROM_FIRST,
    censored_seconds,
    partial_stages_notice,
    with_all_tasks,
    with_censored_times,
)
from engine.models.stages.durations.warm_up import PARTS
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.stage_run import Measure

TASKS, SLOTS = 400, 4
SECONDS = np.full(TASKS, 2.0)


def run_of(seconds: np.ndarray) -> Run:
    """One stage, whose log tells the order of its tasks."""
    parts = [float(seconds[: max(1, round(part * len(seconds)))].mean()) for part in PARTS[:-1]]
    more = {"warm_up": tuple(part / float(seconds.mean()) for part in parts)}
    return observed([Stage(seconds, input_bytes=1e9, more=more)], slots=SLOTS)


def broken_off(seconds: np.ndarray, seen: int) -> Run:
    """The same up to the end of its first tasks."""
    part = run_of(seconds[:seen])
    stages = tuple(replace(stage, tasks=len(seconds)) for stage in part.stages)
    jobs = tuple(replace(job, completed_seconds=None) for job in part.jobs)
    return replace(part, stages=stages, jobs=jobs, complete=False)


@pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])
@pytest.mark.parametrize("seen", [40, 200, 360])
def test_the_whole_job_is_predicted_from_its_first_tasks(seen: int, model: str) -> None:
    """What is missing is no error of the replay: a stage seen to a tenth made it ten times too
    slow on its own cluster, which was taken off every answer and doubled every interval."""
    found = ask(broken_off(SECONDS, seen), model)
    assert found.seconds == pytest.approx(TASKS * 2.0 / SLOTS, rel=0.03)
    codes = {notice.code for notice in found.warnings}
    assert "stage-in-part" in codes
    assert "model-does-not-fit" not in codes


@pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])
def test_the_less_was_seen_the_less_sure(model: str) -> None:
    widths = []
    for run in (broken_off(SECONDS, 40), broken_off(SECONDS, 360), run_of(SECONDS)):
        found = ask(run, model)
        widths.append(math.log(found.high / found.low))
    assert widths[0] > 2.0 * widths[2]
    assert widths == sorted(widths, reverse=True)


def test_tasks_that_were_not_seen_meet_code_that_is_less_new() -> None:
    seconds = 2.0 + 4.0 * np.exp(-np.arange(TASKS) / 40.0)
    found = ask(broken_off(seconds, 100))
    like_the_seen = TASKS * float(seconds[:100].mean()) / SLOTS
    whole = float(seconds.sum()) / SLOTS
    assert whole < found.seconds < whole + 0.5 * (like_the_seen - whole)


def test_whole_runs_stay_as_they_are() -> None:
    run = run_of(SECONDS)
    assert with_all_tasks(run) is run
    assert with_censored_times(run) is run
    assert partial_stages_notice([run]) is None


def test_a_whole_stage_has_all_of_its_records_and_bytes() -> None:
    run = broken_off(SECONDS, 40)
    (stage,) = run.stages
    stage = replace(stage, input_records=1e4, shuffle_write_records=2e3)
    (whole,) = with_all_tasks(replace(run, stages=(stage,))).stages
    assert whole.input_bytes.total == pytest.approx(1e9 * TASKS / 40)
    assert whole.input_records == pytest.approx(1e4 * TASKS / 40)
    assert whole.shuffle_write_records == pytest.approx(2e3 * TASKS / 40)
    assert whole.output_records is None


def test_tasks_to_come_differ_as_those_seen_do() -> None:
    """Times of 1 to 3 s in a random order, of which the first quarter was seen."""
    seconds = np.random.default_rng(5).uniform(1.0, 3.0, TASKS)
    run = broken_off(seconds, 100)
    (stage,), seen = run.stages, seconds[:100]
    stage = replace(stage, cpu_seconds=measure(0.5 * seen), run_seconds=measure(seen))
    (whole,) = with_all_tasks(replace(run, stages=(stage,))).stages
    times, cpu = whole.task_seconds, whole.cpu_seconds
    assert times.count == TASKS
    assert times.total == pytest.approx(seen.sum() * 4, rel=0.05)
    shares = np.linspace(0.05, 0.95, 10)
    assert np.quantile(times.quantiles, shares) == pytest.approx(
        np.quantile(seen, shares), rel=0.05
    )
    assert cpu.count == TASKS
    assert cpu.total == pytest.approx(0.5 * times.total)
    assert np.quantile(cpu.quantiles, shares) == pytest.approx(
        0.5 * np.quantile(seen, shares), rel=0.05
    )


def test_what_tasks_compute_follows_their_time_and_what_they_read_does_not() -> None:
    """Tasks to come meet code that is less new: they compute for less time, on as many bytes."""
    seconds = 2.0 + 4.0 * np.exp(-np.arange(TASKS) / 40.0)
    run = broken_off(seconds, 100)
    (stage,), seen = run.stages, seconds[:100]
    stage = replace(stage, cpu_seconds=measure(0.5 * seen), input_bytes=measure(np.full(100, 1e7)))
    (whole,) = with_all_tasks(replace(run, stages=(stage,))).stages
    assert whole.task_seconds.total < 0.95 * seen.sum() * 4
    assert whole.cpu_seconds.total == pytest.approx(0.5 * whole.task_seconds.total)
    mean = whole.cpu_seconds.total / TASKS
    assert np.mean(whole.cpu_seconds.quantiles) == pytest.approx(mean, rel=0.01)
    assert (whole.input_bytes.count, whole.input_bytes.total) == (TASKS, pytest.approx(4e9))


def test_what_tasks_under_way_have_run_is_not_still_to_come() -> None:
    """On 4 slots 200 of 400 tasks of 2 s ended: 100 s to come, less what 4 have run of theirs."""
    run = broken_off(SECONDS, 200)
    (stage,) = run.stages
    for running, left in ((None, 99.0), (Measure(4, 2.0, (0.5,) * 4), 99.5)):
        known = replace(run, stages=(replace(stage, running_seconds=running),))
        longer = with_all_tasks(known).seconds - run.seconds
        assert longer == pytest.approx(left, abs=0.01)


def test_the_last_tasks_of_a_stage_leave_slots_idle() -> None:
    """Two of 400 tasks of 2 s are left: two of the four slots run them, half done or as far as is
    known; what runs twice (a speculative copy) does not make them two more."""
    run = broken_off(SECONDS, 398)
    (stage,) = run.stages
    known = Measure(2, 1.0, (0.5, 0.5)), Measure(4, 2.0, (0.5,) * 4)
    for running, left in zip((None, *known), (1.0, 1.5, 1.0), strict=True):
        told = replace(run, stages=(replace(stage, running_seconds=running),))
        assert with_all_tasks(told).seconds - run.seconds == pytest.approx(left, abs=0.02)


def said_of(run: Run, **stage: int) -> Notice:
    found = partial_stages_notice([replace(run, stages=(replace(run.stages[0], **stage),))])
    assert found is not None
    return found


def test_first_tasks_are_those_that_the_slots_hold_at_once() -> None:
    """Four slots hold two tasks of two cores: a third one is no first one."""
    assert FROM_FIRST in said_of(broken_off(SECONDS, 4)).text
    assert FROM_FIRST in said_of(broken_off(SECONDS, 2), task_cpus=2).text
    assert FROM_FIRST not in said_of(broken_off(SECONDS, 3), task_cpus=2).text


def test_what_to_do_about_a_stage_that_was_seen_in_part() -> None:
    """What ended in a failure does not go on; what failed so far, and goes on, may."""
    run = broken_off(SECONDS, 200)
    failed = replace(run, notices=(Notice("failed-stages", "gave up", "give another"),))
    assert said_of(failed).remedy.startswith("let the application end")
    assert said_of(replace(failed, complete=True)).remedy == "give the log of a run that succeeded"


def test_two_logs_that_broke_off_agree() -> None:
    """What one predicts for the other is held against the whole of it, not its first part."""
    for model in ("sparkplan", "simcost", "boe"):
        runs = (broken_off(SECONDS, 100), broken_off(SECONDS, 300))
        smaller = replace(runs[1], workload=Workload(input_bytes=5e8))
        fitted = engine.fit(Profile("job", (runs[0], smaller)), model=model)
        assert min(fitted.validation.actual_seconds) > 0.9 * TASKS * 2.0 / SLOTS


def censored(ended: tuple[float, ...], running: tuple[float, ...]) -> Measure:
    (stage,) = run_of(np.asarray(ended)).stages
    ages = Measure(len(running), sum(running), running)
    return censored_seconds(replace(stage, tasks=50, running_seconds=ages))


def test_times_of_running_tasks_are_those_of_kaplan_and_meier() -> None:
    """By hand: 2 and 6 ended, one had run 4 s: its third goes to the 6."""
    found = censored((2.0, 6.0), (4.0,))
    assert found.mean == pytest.approx((2.0 + 6.0 + 6.0) / 3.0)
    assert found.count == 2


def test_a_task_that_ran_longer_than_any_that_ended_counts_for_so_long() -> None:
    assert censored((2.0, 2.0), (8.0, 8.0)).mean == pytest.approx(5.0)


def test_tasks_that_have_just_begun_say_nothing() -> None:
    assert censored((2.0, 3.0, 7.0), (0.1, 0.2)).mean == pytest.approx(4.0)
