"""Time that is no work: attempts in vain, and pauses between jobs."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, measure, observed, without_growth

import engine
from engine.cluster import Cluster, Workload
from engine.models.replay.notices import fit_notices
from engine.models.replay.replayed_run import Replay
from engine.models.stages.pauses import long_pauses, pause_notice
from engine.notices import Notice
from engine.profile import JobRun, Profile, Run
from engine.stage_run import Waste


def wasted(seconds: float, *, longer: bool) -> Run:
    """40 tasks of 2 s on 4 slots, and attempts in vain of so many seconds that lengthened the stage
    or ran beside it (speculative copies)."""
    run = observed(
        [Stage(np.full(40, 2.0 + (seconds / 40 if longer else 0.0)), input_bytes=40 * BLOCK)],
        slots=4,
    )
    stage = replace(
        run.stages[0],
        task_seconds=measure(np.full(40, 2.0)),
        waste=Waste(failed_tasks=4, seconds=seconds),
    )
    return replace(run, stages=(stage,))


def test_work_in_vain_is_expected_again_in_proportion() -> None:
    replay = without_growth(wasted(8.0, longer=True))
    assert replay.waste[0] == pytest.approx(0.1)
    assert replay.dispatch_seconds[0] == pytest.approx(0.0, abs=1e-9)
    assert replay.replayed(4).seconds == pytest.approx(22.0)
    assert replay.replayed(20).seconds == pytest.approx(4.4)


def test_a_stage_that_was_longer_than_by_its_work_in_vain_idled_for_the_rest() -> None:
    """Two seconds longer: half of that on four slots is work in vain, half of it in ten waves."""
    run = wasted(8.0, longer=True)
    stage = replace(run.stages[0], waste=Waste(failed_tasks=4, seconds=4.0))
    replay = without_growth(replace(run, stages=(stage,)))
    assert replay.waste[0] == pytest.approx(0.05)
    assert replay.dispatch_seconds[0] == pytest.approx(0.1)


def test_a_first_task_that_failed_is_not_lost_twice() -> None:
    """Its slot was as new as the other: what that costs is no work to be lost again."""
    stage = Stage(np.ones(12), input_bytes=12 * BLOCK, cold_seconds=6.0)
    run = observed([stage], slots=2)
    # Slot 1 starts with 7 s; on slot 2 a task fails after 5 s, the others take 1 s: all end at 12.
    stages = replace(
        run.stages[0],
        completed_seconds=12.0,
        task_seconds=measure(np.asarray([7.0, *[1.0] * 11])),
        first_wave_seconds=measure(np.asarray([7.0])),
        waste=Waste(failed_tasks=1, seconds=5.0),
    )
    replay = without_growth(replace(run, seconds=12.0, stages=(stages,)))
    assert replay.waste[0] == pytest.approx(0.0, abs=0.02)
    assert replay.replayed(2).seconds == pytest.approx(12.0, rel=0.02)


def test_copies_on_idle_slots_cost_no_time() -> None:
    replay = without_growth(wasted(8.0, longer=False))
    assert replay.waste[0] == 0.0
    assert replay.replayed(4).seconds == 20.0


@pytest.mark.parametrize(
    ("waste", "text", "remedy"),
    [
        (Waste(failed_tasks=1, killed_tasks=3, seconds=40.0), "failed", "find out why tasks fail,"),
        (Waste(killed_tasks=4, seconds=40.0), "attempts that were killed", "why tasks are slow"),
    ],
)
def test_killed_attempts_are_slow_tasks_and_no_failures(
    waste: Waste, text: str, remedy: str
) -> None:
    run = wasted(40.0, longer=True)
    replay = Replay.of(replace(run, stages=(replace(run.stages[0], waste=waste),)))
    (said,) = (one for one in fit_notices([replay], np.zeros(1)) if one.code == "retried-work")
    assert said.text.startswith(text)
    assert remedy in (said.remedy or "")
    assert "a run without such attempts" in said.remedy, "killed ones did not fail"


def lost_output() -> Run:
    """Two stages of 40 tasks of 2 s on 4 slots. While the second ran, 20 tasks of the first wrote
    again what an executor took along: 40 s of four slots, for which the second waited 10 s."""
    run = observed(
        [
            Stage(np.full(40, 2.0), input_bytes=40 * BLOCK),
            Stage(np.full(40, 2.0), (0,), shuffle_bytes=1e9),
        ],
        slots=4,
    )
    first, second = run.stages
    again = Waste(killed_tasks=20, retried_stages=1, seconds=40.0)
    late = second.completed_seconds + 10.0
    stages = (
        replace(first, waste=again),
        replace(second, completed_seconds=late, waste=Waste(2, 0, 1, 1.0)),
    )
    jobs = (replace(run.jobs[0], completed_seconds=late),)
    return replace(run, seconds=run.seconds + 10.0, stages=stages, jobs=jobs)


def test_what_is_written_again_lengthens_the_stage_that_waits_for_it() -> None:
    """It had been taken for idle slots of the second, and for next to nothing in vain."""
    run = lost_output()
    replay = without_growth(run)
    assert replay.waste == pytest.approx([0.0, 0.5], abs=1e-9)
    assert replay.dispatch_seconds == pytest.approx(0.0, abs=1e-9)
    assert replay.replayed(4).seconds == pytest.approx(run.seconds)
    (said,) = (one for one in fit_notices([replay], np.zeros(1)) if one.code == "retried-work")
    assert said.text.startswith("failed and repeated attempts took 25 % of the task time")


def test_a_stage_that_was_not_tried_again_waited_for_none_of_that() -> None:
    """Output that was lost after it had been read, and written again for another stage."""
    run = lost_output()
    first, second = run.stages
    once = replace(second, waste=Waste(2, 0, 0, 1.0))
    replay = without_growth(replace(run, stages=(first, once)))
    assert replay.waste == pytest.approx([0.0, 1.0 / 80.0])


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
