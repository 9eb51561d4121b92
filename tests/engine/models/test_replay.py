"""Replays of applications whose every task is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from depth import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import BLOCK, Job, Stage, measure, observed, simulated, stage_run, without_growth
from watched import calls_of

from engine.cluster import Cluster, Workload
from engine.models.replay import replayed_run
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import ReplayTimes
from engine.models.stages.durations.contention import (
    GROWTH_CPU,
    GROWTH_UNKNOWN,
    GROWTH_WAITING,
)
from engine.models.stages.durations.quantile_times import times_from_quantiles
from engine.models.stages.stage_models import EXECUTOR_SHARE
from engine.notices import Notice
from engine.profile import JobRun, Run
from engine.scheduling.list_scheduling import makespan

RANDOM = np.random.default_rng(5)
BEGINNING = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Whatever ran before, a test draws the same."""
    RANDOM.bit_generator.state = BEGINNING


def etl(scale: int = 1) -> tuple[list[Stage], list[Job]]:
    """Two jobs in a row: read and aggregate; then join two inputs and write."""
    gamma = RANDOM.gamma
    stages = [
        Stage(gamma(9.0, 0.5, 120 * scale), input_bytes=120 * scale * BLOCK),
        Stage(gamma(9.0, 0.2, 40) * scale, (0,), shuffle_bytes=1e9 * scale),
        Stage(gamma(9.0, 0.3, 60 * scale), (), 1, input_bytes=60 * scale * BLOCK),
        Stage(gamma(9.0, 0.4, 30 * scale), (), 1, input_bytes=30 * scale * BLOCK),
        Stage(gamma(9.0, 0.3, 40) * scale, (2, 3), 1, shuffle_bytes=2e9 * scale),
    ]
    return stages, [Job((), 4.0), Job((0,), 2.5)]


def test_reproduces_its_own_run() -> None:
    stages, jobs = etl()
    run = observed(stages, jobs, slots=8, tail_seconds=1.5)
    found = Replay.of(run).replayed(8)
    assert found.seconds == pytest.approx(run.seconds, rel=0.01)
    assert found.driver_seconds == pytest.approx(4.0 + 2.5 + 1.5, rel=0.02)


@pytest.mark.parametrize("slots", [1, 3, 8, 20, 64, 500])
def test_other_slots(slots: int) -> None:
    stages, jobs = etl()
    replay = without_growth(observed(stages, jobs, slots=8, tail_seconds=1.5))
    truth = simulated(stages, jobs, slots=slots, tail_seconds=1.5)[0]
    assert replay.replayed(slots).seconds == pytest.approx(truth, rel=0.04)


@pytest.mark.parametrize("scale", [2, 5])
def test_other_inputs(scale: int) -> None:
    """Input partitions multiply, shuffle partitions grow."""
    small, jobs = etl()
    large, _ = etl(scale)
    replay = without_growth(observed(small, jobs, slots=8))
    truth = simulated(large, jobs, slots=16)[0]
    found = replay.replayed(16, ratio=float(scale))
    assert found.seconds == pytest.approx(truth, rel=0.06)
    assert found.tasks == (120 * scale, 40, 60 * scale, 30 * scale, 40)


def test_speed_shortens_tasks_and_leaves_the_driver() -> None:
    stages, jobs = etl()
    replay = Replay.of(observed(stages, jobs, slots=8))
    one, two = replay.replayed(8), replay.replayed(8, speed=2.0)
    assert two.driver_seconds == pytest.approx(one.driver_seconds)
    busy = one.seconds - one.driver_seconds
    assert two.seconds == pytest.approx(one.driver_seconds + busy / 2.0)


def test_jobs_in_parallel_stay_parallel() -> None:
    """A thread pool of two: the second thread's job starts when the first one's is in flight, and
    each next job when one of the two ends."""
    stages = [
        Stage(np.full(4, 10.0), (), 0, input_bytes=4 * BLOCK),
        Stage(np.full(4, 14.0), (), 1, input_bytes=4 * BLOCK),
        Stage(np.full(4, 10.0), (), 2, input_bytes=4 * BLOCK),
    ]
    jobs = [Job(), Job((), 0.2), Job((0,), 0.5)]
    replay = without_growth(observed(stages, jobs, slots=16))
    for slots in (4, 6, 8, 12, 40):
        truth = simulated(stages, jobs, slots=slots)[0]
        assert replay.replayed(slots).seconds == pytest.approx(truth, rel=1e-6)


def test_without_parents_stages_of_a_job_follow_each_other() -> None:
    """Logs of Spark 1.3 tell no parents."""
    stages = [
        Stage(np.full(8, 2.0), input_bytes=8 * BLOCK),
        Stage(np.full(8, 1.0), (0,), shuffle_bytes=1e6),
    ]
    run = observed(stages, slots=4)
    blind = replace(run, stages=tuple(replace(stage, parents=()) for stage in run.stages))
    assert without_growth(blind).replayed(8).seconds == pytest.approx(3.0, abs=0.01)


def test_stages_of_jobs_without_times_follow_each_other() -> None:
    """Logs of Spark 1.2 tell which job a stage is of, but not when that began or ended."""
    stages = [
        Stage(np.full(8, 3.0), (), 0, input_bytes=8 * BLOCK),
        Stage(np.full(8, 2.0), (0,), 0, shuffle_bytes=1e6),
        Stage(np.full(8, 4.0), (), 1, input_bytes=8 * BLOCK),
        Stage(np.full(8, 1.0), (2,), 1, shuffle_bytes=1e6),
    ]
    run = observed(stages, [Job(), Job((0,), 0.5)], slots=4)
    without = tuple(replace(stage, parents=()) for stage in run.stages)
    blind = without_growth(replace(run, jobs=(), stages=without))
    for slots in (2, 4, 8):
        expected = without_growth(run).replayed(slots).seconds
        assert blind.replayed(slots).seconds == pytest.approx(expected, abs=0.01)


def test_time_between_tasks_is_learnt() -> None:
    """A slot that idles 0.5 s before each task of 2 s: 20 waves on 2 slots, 5 on 8; 625 waves of
    so many tasks that they are only drawn to be placed one by one."""
    run = observed([Stage(np.full(40, 2.5), input_bytes=40 * BLOCK)], slots=2)
    stage = replace(run.stages[0], task_seconds=measure(np.full(40, 2.0)))
    replay = without_growth(replace(run, stages=(stage,)))
    assert replay.dispatch_seconds[0] == pytest.approx(0.5)
    assert replay.replayed(8).seconds == pytest.approx(12.5)
    for exact in (False, True):
        found = replay.replayed(8, ratio=125.0, exact=exact)
        assert found.tasks == (5000,)
        assert found.seconds == pytest.approx(625 * 2.5)


@pytest.mark.parametrize("code", ["dynamic-allocation", "lost-executors"])
def test_idle_slots_of_a_changing_cluster_are_not_time_between_tasks(code: str) -> None:
    run = observed([Stage(np.full(40, 2.5), input_bytes=40 * BLOCK)], slots=2)
    stage = replace(run.stages[0], task_seconds=measure(np.full(40, 1.0)))
    changing = (Notice(code, "executors came and went", "fix them"),)
    replay = Replay.of(replace(run, stages=(stage,), notices=changing))
    assert replay.dispatch_seconds[0] == pytest.approx(0.1)


def test_the_same_job_later_in_an_application_takes_as_long() -> None:
    """Its stages have later ids: their tasks are launched in the same order, as answers are those
    of a job and not of when it ran. On 11 slots that order decides when a stage ends."""
    stages, jobs = etl()
    run = observed(stages, jobs, slots=8)
    later = replace(
        run,
        stages=tuple(
            replace(one, stage_id=one.stage_id + 50, parents=tuple(p + 50 for p in one.parents))
            for one in run.stages
        ),
        jobs=tuple(
            replace(job, stage_ids=tuple(one + 50 for one in job.stage_ids)) for job in run.jobs
        ),
    )
    for slots in (11, 70):
        own, other = (Replay.of(one).replayed(slots).seconds for one in (run, later))
        assert own == other


@pytest.mark.parametrize("place", [0, 13, 39])
def test_where_the_longest_task_stood_is_learnt(place: int) -> None:
    times = np.ones(40)
    times[place] = 12.0
    run = observed([Stage(times, input_bytes=40 * BLOCK)], slots=4)
    assert Replay.of(run).replayed(4).seconds == pytest.approx(run.seconds, rel=0.12)


def test_later_stages_on_new_slots_start_an_executor_and_not_the_first_stage_s_code() -> None:
    first = Stage(np.full(40, 1.0), input_bytes=40 * BLOCK, cold_seconds=3.0)
    later = Stage(np.full(40, 1.0), (0,))
    models = Replay.of(observed([first, later], slots=4)).models
    assert models[0].cold_excess == pytest.approx(3.0)
    assert models[1].cold_excess == pytest.approx(EXECUTOR_SHARE * 3.0)


def test_more_slots_meet_more_cold_first_tasks() -> None:
    stage = Stage(np.full(40, 1.0), input_bytes=40 * BLOCK, cold_seconds=3.0)
    replay = without_growth(observed([stage], slots=2))
    for slots in (2, 4, 10, 40):
        truth = simulated([stage], [Job()], slots=slots)[0]
        assert replay.replayed(slots).seconds == pytest.approx(truth, rel=1e-6)


def test_a_partial_wave_costs_a_whole_one() -> None:
    run = observed([Stage(np.full(8, 10.0), input_bytes=8 * BLOCK)], slots=2)
    replay = without_growth(run)
    seconds = [replay.replayed(slots).seconds for slots in (1, 2, 4, 6, 8, 100)]
    assert seconds == pytest.approx([80.0, 40.0, 20.0, 20.0, 10.0, 10.0], abs=0.01)


def test_prior_growth_follows_the_tasks_at_once() -> None:
    """Nothing computes: each doubling of tasks at once takes exp(GROWTH_WAITING) longer; there are
    no more than 8 at once whatever the slots."""
    run = observed([Stage(np.full(8, 10.0), input_bytes=8 * BLOCK)], slots=2)
    idle = replace(run.stages[0], cpu_seconds=measure(np.zeros(8) + 1e-9))
    busy = replace(run.stages[0], cpu_seconds=measure(np.full(8, 10.0)))
    half = replace(run.stages[0], fetch_wait_seconds=measure(np.full(8, 5.0)))
    half = replace(half, run_seconds=measure(np.full(8, 10.0)))
    for stage, rate in (
        (idle, GROWTH_WAITING),
        (busy, GROWTH_CPU),
        (run.stages[0], GROWTH_UNKNOWN),
        (half, (GROWTH_WAITING + GROWTH_UNKNOWN) / 2),
    ):
        replay = Replay.of(replace(run, stages=(stage,)))
        assert replay.replayed(2).seconds == pytest.approx(40.0)
        assert replay.replayed(4).seconds == pytest.approx(20.0 * math.exp(rate))
        assert replay.replayed(8).seconds == pytest.approx(10.0 * math.exp(2 * rate), abs=0.01)
        assert replay.replayed(64).seconds == replay.replayed(8).seconds


def test_tasks_of_several_cores_run_at_once_as_far_as_these_go() -> None:
    """8 tasks of two cores: 4 at once on 8 slots, all of them on 16, which is a doubling."""
    stage = Stage(np.full(8, 10.0), input_bytes=8 * BLOCK, more={"task_cpus": 2})
    replay = Replay.of(observed([stage], slots=8))
    unwarmed = replace(
        replay,
        models=tuple(replace(model, warm_up=None) for model in replay.models),
        contention_growth=np.asarray([0.3]),
    )
    stages = unwarmed.with_empty_cache().stages_by_slots.at(1.0)
    for slots, doublings in ((8, 0.0), (16, 1.0), (64, 1.0), (4, -1.0)):
        found = stages.on_slots(slots, np.ones(1))[1][0][0]
        assert found.contention == pytest.approx(math.exp(0.3 * doublings))


def test_what_was_written_again_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each number of slots that is replayed."""
    asked = calls_of(monkeypatch, replayed_run, "recomputed_stages")
    replay = Replay.of(observed([Stage(np.full(8, 10.0))], slots=8))
    for slots in (2, 4, 16):
        replay.replayed(slots)
    assert len(asked) == 1


def test_drawn_times_keep_their_sum_and_their_longest() -> None:
    values = RANDOM.lognormal(0.0, 1.5, 5000)
    known = measure(values)
    times = times_from_quantiles(np.asarray(known.quantiles), 5000, known.mean or 0.0)
    assert times.sum() == pytest.approx(values.sum(), rel=1e-6)
    assert times[-1] == values.max()
    assert times_from_quantiles(np.asarray([3.0]), 4, 3.0).tolist() == [3.0] * 4


@pytest.mark.parametrize("observed_on", [1, 2, 8])
@pytest.mark.parametrize("seconds", [[0.3, 3.0], [0.1, 0.2, 6.0], [2.0] * 9, [0.5] * 7 + [4.0]])
def test_new_code_makes_no_stage_slower_on_more_slots(
    observed_on: int, seconds: list[float]
) -> None:
    """What code that is warm saves is a share of all tasks on a slot, not of one that has a slot to
    itself: two tasks of 0.3 and 3 s were predicted faster one after the other than side by side."""
    stage = Stage(np.asarray(seconds), shuffle_bytes=1e8, more={"warm_up": ()})
    run = observed([stage], slots=observed_on)
    replay = Replay.of(run)
    assert replay.models[0].warm_up is not None
    calm = replace(replay, contention_growth=np.zeros(1)).with_empty_cache()
    found = [calm.replayed(slots).seconds for slots in (1, 2, 4, 8, 16)]
    assert found == pytest.approx(sorted(found, reverse=True), rel=0.02)
    assert calm.replayed(observed_on).seconds == pytest.approx(run.seconds, rel=0.01)


@st.composite
def applications(draw: st.DrawFn) -> Run:
    """One to five stages of up to 60 tasks in a chain or in parallel, on 1 to 12 slots."""
    stages = []
    for i in range(draw(st.integers(1, 5))):
        count = draw(st.integers(1, 60))
        random = np.random.default_rng(draw(st.integers(0, 10**6)))
        parents = (draw(st.integers(0, i - 1)),) if i and draw(st.booleans()) else ()
        kind = {"shuffle_bytes": 1e8} if parents else {"input_bytes": count * BLOCK}
        stages.append(Stage(random.gamma(4.0, 0.5, count), parents, **kind))
    return observed(stages, slots=draw(st.integers(1, 12)))


@given(run=applications(), slots=st.integers(1, 64), ratio=st.floats(1.0, 10.0))
@settings(max_examples=60, deadline=None)
def test_more_slots_help_and_more_input_never_does(run: Run, slots: int, ratio: float) -> None:
    """List scheduling has anomalies: more slots may cost a little (never as much as twice, by
    Graham's bound); here up to a tenth. More input costs at least as much."""
    replay = Replay.of(run)
    base = ReplayTimes(replay, 1.0, None)
    more = ReplayTimes(replay, ratio, None, base)
    at = np.asarray([float(slots), 2.0 * slots])
    small, large = base.at(at, np.ones(2)).seconds, more.at(at, np.ones(2)).seconds
    assert small[1] <= small[0] * 1.10
    assert (large >= small * (1 - 1e-9)).all()


@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_the_curve_agrees_with_single_replays(ratio: float) -> None:
    """Within 1 %; beside it lie single numbers of slots on which tasks happen to pack worse or
    better than on their neighbours."""
    stages, jobs = etl()
    replay = Replay.of(observed(stages, jobs, slots=8))
    slots = np.arange(1.0, 1001.0)
    times = ReplayTimes(replay, ratio, None)
    curve = times.at(np.tile(slots, 2), np.repeat([1.0, 1.4], 1000)).seconds
    most = replay.stages_by_slots.at(ratio).most_useful_slots
    picked = np.unique(np.geomspace(1, 1000, 60).astype(int))
    for place, speed in ((picked - 1, 1.0), (picked + 999, 1.4)):
        direct = [
            replay.replayed(min(int(m), most), ratio=ratio, speed=speed).seconds for m in picked
        ]
        off = np.abs(curve[place] / direct - 1.0)
        assert np.mean(off <= 0.01) >= 0.95
        assert off.max() <= 0.03


def test_no_more_slots_are_of_use_than_tasks_ran_side_by_side() -> None:
    """30 and 20 tasks at once, then 40 that waited for both; twice the input is 60 and 40 splits,
    and as many shuffle partitions as before."""
    stages = [
        Stage(np.full(30, 4.0), input_bytes=30 * BLOCK),
        Stage(np.full(20, 4.0), input_bytes=20 * BLOCK),
        Stage(np.full(40, 4.0), (0, 1), shuffle_bytes=1e9),
    ]
    replay = Replay.of(observed(stages, slots=8))
    assert [replay.stages_by_slots.at(ratio).most_useful_slots for ratio in (1.0, 2.0)] == [
        50,
        100,
    ]
    assert replay.stages_by_slots.at(1.0, 70).most_useful_slots == 70


def huge(stages: int = cases(6, deep=20), tasks: int = 50_000) -> Run:
    """Hundreds of thousands of tasks in a chain of stages, as a log on 1,000 slots would tell them;
    in the deep run a million."""
    random, slots, at, found = np.random.default_rng(1), 1000, 0.0, []
    for i in range(stages):
        seconds = random.lognormal(0.0, 0.6, tasks)
        length = makespan(seconds, slots)
        stage = Stage(seconds, input_bytes=tasks * BLOCK)
        found.append(
            replace(stage_run(i, stage, at, at + length, slots), parents=(i - 1,) if i else ())
        )
        at += length
    cluster = Cluster.of_executors(executors=slots, executor_cores=1)
    job = JobRun(0, 0.0, at, tuple(range(stages)))
    return Run(at, cluster, Workload(1e13), stages=tuple(found), jobs=(job,), cores=((0.0, slots),))


def test_very_many_tasks_are_answered_without_drawing_them() -> None:
    """Waves and order statistics agree with every task placed; no task is drawn for them."""
    replay = without_growth(huge())
    fast = {slots: replay.replayed(slots, ratio=2.0).seconds for slots in (300, 5000, 40_000)}
    for tasks in replay.stages_by_slots.at(2.0).on_log_slots.tasks:
        assert "_made" not in tasks.__dict__
        assert len(tasks) == 100_000
    for slots, seconds in fast.items():
        exact = replay.replayed(slots, ratio=2.0, exact=True).seconds
        assert seconds == pytest.approx(exact, rel=0.04)


def test_unknown_slots_have_no_time() -> None:
    stages, jobs = etl()
    times = ReplayTimes(Replay.of(observed(stages, jobs, slots=8)), 1.0, None)
    found = times.at(np.asarray([np.nan, 4.0]), np.ones(2)).seconds
    assert np.isnan(found[0])
    assert found[1] > 0.0


def test_a_run_of_unknown_stages_or_slots_cannot_be_replayed() -> None:
    stages, jobs = etl()
    with pytest.raises(ValueError, match="stages and slots"):
        Replay.of(replace(observed(stages, jobs, slots=8), stages=()))
    with pytest.raises(ValueError, match="stages and slots"):
        Replay.of(replace(observed(stages, jobs, slots=8), cluster=Cluster()))
