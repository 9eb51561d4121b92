"""Long times between jobs are kept as driver time, and said."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed

import engine
from engine.cluster import Cluster, Workload
from engine.models.stages.pauses import long_pauses, pause_notice
from engine.notices import Notice
from engine.profile import JobRun, Profile, Run


def waiting(*gaps: float, tail: float = 0.0, scale: float = 1.0) -> Run:
    """Jobs of 10 s on 2 slots, with so long before each but the first."""
    count = round(10 * scale)
    stages = [
        Stage(np.full(count, 2.0), job=place, input_bytes=count * BLOCK)
        for place in range(len(gaps) + 1)
    ]
    jobs = [Job((), 70.0), *(Job((place,), gap) for place, gap in enumerate(gaps))]
    return observed(stages, jobs, slots=2, tail_seconds=tail, input_bytes=count * BLOCK)


def test_minutes_without_a_job_after_the_first_are_pauses() -> None:
    """The start is none: executors are waited for there."""
    assert long_pauses(waiting(90.0, 20.0)) == pytest.approx((90.0,))
    assert long_pauses(waiting(90.0, 20.0, tail=600.0)) == pytest.approx((90.0, 600.0))
    assert long_pauses(waiting(59.0, tail=59.0)) == ()


def test_jobs_side_by_side_are_no_pause() -> None:
    """A job in flight is one, whatever its stages do."""
    long, short = Stage(np.full(2, 300.0), job=0), Stage(np.full(2, 1.0), job=1)
    run = observed([long, short], [Job(), Job((), 5.0)], slots=4)
    assert long_pauses(run) == ()


def test_a_job_whose_end_the_log_did_not_see_is_in_flight_to_its_end() -> None:
    """A log that breaks off in the long tasks of one job, after another was submitted beside it."""
    run = observed([Stage(np.full(2, 10.0))], slots=2)
    first, second = replace(run.jobs[0], completed_seconds=None), JobRun(1, 200.0, None, ())
    broken_off = replace(run, seconds=300.0, jobs=(first, second), complete=False)
    assert long_pauses(broken_off) == ()
    assert long_pauses(replace(broken_off, jobs=run.jobs)) == (290.0,)


def test_the_warning_says_how_long_and_what_to_do() -> None:
    assert pause_notice([waiting(30.0)]) is None
    notice = pause_notice([waiting(30.0), waiting(90.0, 120.0)])
    assert notice.code == "long-pauses"
    assert "2 times no job was in flight for a minute or more, 3m 30s of a run" in notice.text
    assert "--pauses 1m" in notice.remedy


def test_the_log_that_paused_most_of_its_time_is_the_one_told() -> None:
    """300 of 1,380 s in a long log are less than 90 of 180 s in a short one."""
    short, long = waiting(90.0), replace(waiting(300.0), seconds=4000.0, jobs=())
    long = replace(long, stages=tuple(replace(x, completed_seconds=3700.0) for x in long.stages))
    for runs in ([short, long], [long, short]):
        notice = pause_notice(runs)
        assert notice.text.startswith("once no job was in flight for a minute or more, 1m 30s")


def test_a_minute_is_a_pause_and_a_run_without_stages_or_jobs_has_none() -> None:
    run = observed([Stage(np.full(2, 10.0))], slots=2)
    ended = run.jobs[0].completed_seconds
    assert long_pauses(replace(run, seconds=ended + 60.0)) == (60.0,)
    assert long_pauses(replace(run, seconds=500.0, stages=(), jobs=())) == ()


def test_jobs_are_told_apart_from_pauses_in_whatever_order_they_stand() -> None:
    run = replace(observed([Stage(np.full(2, 10.0))], slots=2), seconds=400.0, stages=())
    jobs = (JobRun(1, 300.0, 400.0, ()), JobRun(0, 0.0, 120.0, ()))
    assert long_pauses(replace(run, jobs=jobs)) == (180.0,)


def test_what_the_reader_of_the_log_has_said_is_not_said_again() -> None:
    """A log of mostly pauses was warned of twice, in two sets of words."""
    read = Notice("long-pauses", "no job ran for 5m of 6m", "give the log of a run without")
    run = replace(waiting(300.0), notices=(read,))
    fitted = engine.fit(Profile("job", (run,)), model="sparkplan")
    cluster = Cluster.of_executors(executors=40, executor_cores=1)
    found = fitted.predict(cluster=cluster, workload=Workload(20 * BLOCK))
    assert [notice for notice in found.warnings if notice.code == "long-pauses"] == [read]


@pytest.mark.parametrize("name", ["sparkplan", "simcost", "boe", "peridot"])
def test_every_model_of_logs_says_so_and_keeps_the_time(name: str) -> None:
    runs = tuple(waiting(300.0, scale=scale) for scale in (1.0, 2.0))
    fitted = engine.fit(Profile("job", runs), model=name)
    cluster = Cluster.of_executors(executors=40, executor_cores=1)
    found = fitted.predict(cluster=cluster, workload=Workload(20 * BLOCK))
    assert "long-pauses" in {notice.code for notice in found.warnings}
    assert found.seconds > 370.0
