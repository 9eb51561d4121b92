"""Logs that break off after first tasks: start-up is told from work, and how surely is said."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, ask, measure, observed

from engine.cluster import Cluster
from engine.models.replay.censored_tasks import (
    FROM_FIRST,
    censored_log_scale,
    partial_stages_notice,
    with_all_tasks,
)
from engine.models.stages.durations.first_tasks import (
    MOST_WAVES_INFERRED,
    NEW_EXECUTOR,
    NEW_STAGE,
    WarmTaskTime,
    warm_given_first,
    warm_task,
)
from engine.models.stages.stage_models import stage_models
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import Measure, StageRun

SLOTS, TASKS = 4, 320
COLD, WARM = 15.6, 0.9
MODELS = ("sparkplan", "simcost", "boe", "optex")


def times_of(seen: int, cold: float = COLD, warm: float = WARM) -> np.ndarray:
    """The first tasks of each slot take longer."""
    return np.where(np.arange(seen) < SLOTS, cold, warm)


def broken_off(
    seen: int,
    *,
    cold: float = COLD,
    warm: float = WARM,
    outside: float = 5.0,
    new_executors: bool = True,
) -> Run:
    """A log up to the end of so many tasks of its only stage, of which the first ones of each slot
    were outside their run time for a while."""
    seconds = times_of(seen, cold, warm)
    overhead = np.where(np.arange(seen) < SLOTS, outside, min(0.05, outside))
    more: dict[str, object] = {"overhead_seconds": measure(overhead)}
    if new_executors:
        more["first_wave_seconds"] = measure(seconds[:SLOTS])
    run = observed([Stage(seconds, input_bytes=1e9, more=more)], slots=SLOTS)
    (stage,) = run.stages
    node = Cluster.of_nodes(instance_type="own", nodes=1, vcpus=SLOTS, memory_gib=16.0)
    cluster = replace(run.cluster, groups=node.groups)
    jobs = tuple(replace(job, completed_seconds=None) for job in run.jobs)
    stages = (replace(stage, tasks=TASKS),)
    return replace(run, cluster=cluster, stages=stages, jobs=jobs, complete=False)


def stage_of(run: Run) -> StageRun:
    (stage,) = run.stages
    return stage


def inferred(run: Run, *, before: int = 0, sister_seconds: float | None = None) -> WarmTaskTime:
    found = warm_task(stage_of(run), SLOTS, before=before, sister_seconds=sister_seconds)
    assert found is not None
    return found


WHOLE = float(times_of(TASKS).sum()) / SLOTS


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seen", [1, SLOTS])
def test_slow_first_tasks_are_not_what_the_others_take(model: str, seen: int) -> None:
    """A loss of 1.5 s per slot and the start of the executors left 9.6 of 15.6 s for each of the
    others: the stage was predicted nine times too long."""
    found = ask(broken_off(seen), model)
    assert WHOLE / 2.0 < found.seconds < 2.0 * WHOLE
    assert found.low is None or found.low < WHOLE
    assert found.high is None or found.high > WHOLE


@pytest.mark.parametrize("model", MODELS)
def test_long_first_tasks_that_work_stay_long(model: str) -> None:
    """The prior is no share of a first task: little of it was start-up here."""
    run = broken_off(SLOTS, cold=62.0, warm=60.0, outside=0.7)
    assert ask(run, model).seconds == pytest.approx(60.0 * TASKS / SLOTS, rel=0.1)


def test_the_interval_says_what_the_prior_leaves_open() -> None:
    """As much start-up as work can be predicted less surely than work alone."""
    surely = censored_log_scale(broken_off(SLOTS, cold=62.0, warm=60.0, outside=0.05))
    hardly = censored_log_scale(broken_off(SLOTS))
    assert hardly > surely
    assert hardly > 0.3 * inferred(broken_off(SLOTS)).log_scale


def test_no_stage_has_more_than_the_whole_time() -> None:
    """Of clocks that jump a stage may be longer than the run: a spread of thousands overflowed."""
    run = broken_off(SLOTS)
    running = Measure(1, 1000.0, (1000.0,))
    stage = replace(stage_of(run), tasks=SLOTS + 1, running_seconds=running)
    assert censored_log_scale(replace(run, seconds=0.001, stages=(stage,))) < 2.0


def test_the_notice_says_that_start_up_is_inferred() -> None:
    few, more = (
        partial_stages_notice([broken_off(SLOTS)]),
        partial_stages_notice([broken_off(SLOTS + 1)]),
    )
    assert few.text.endswith(FROM_FIRST)
    assert FROM_FIRST not in more.text


def test_an_application_that_failed_need_not_be_let_end() -> None:
    """It had ended: the remedy told to let it end, beside one that wants a run that succeeds."""
    running = broken_off(SLOTS + 1)
    failed = Notice("failed-stages", "1 stage failed", "give another log")
    ended = replace(running, complete=True, notices=(failed,))
    for runs, remedy in (
        ([ended], "give the log of a run that succeeded"),
        ([ended, running], "let the application end, or give the log of a run that did"),
    ):
        said = partial_stages_notice(runs)
        assert said.remedy == remedy


def test_tasks_on_used_slots_correct_the_prior() -> None:
    """With each of them the inferred time comes nearer to theirs, and is surer."""
    found = [inferred(broken_off(SLOTS + more, warm=3.0)) for more in (0, 1, 2, SLOTS)]
    away = [abs(math.log(one.seconds / 3.0)) for one in found]
    scales = [one.log_scale for one in found]
    assert away[-1] < away[0]
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] < 0.5 * scales[0]


def test_a_stage_of_the_same_code_tells_too() -> None:
    alone = inferred(broken_off(SLOTS, new_executors=False), before=1)
    combined_with = inferred(broken_off(SLOTS, new_executors=False), before=1, sister_seconds=0.9)
    assert abs(math.log(combined_with.seconds / 0.9)) < abs(math.log(alone.seconds / 0.9))
    assert combined_with.log_scale < alone.log_scale


def test_the_sister_is_found_in_the_run() -> None:
    """Two stages of one code: the first was seen whole, the second breaks off."""
    whole = Stage(np.full(40, 0.9), input_bytes=1e9, job=0)
    part = stage_of(broken_off(SLOTS, outside=1.0, new_executors=False))
    run = observed([whole], slots=SLOTS)
    sister = stage_of(run)
    later = replace(part, stage_id=7, parents=(), name=sister.name, submitted_seconds=9.0)
    both = replace(run, stages=(sister, replace(later, completed_seconds=25.0)), seconds=25.0)
    other = replace(both, stages=(replace(sister, name="of other code"), both.stages[1]))
    left = [with_all_tasks(one).stages[1].task_seconds.total for one in (both, other)]
    assert left[0] < 0.7 * left[1]


def test_what_spark_adds_to_later_tasks_keeps_its_share_of_their_time() -> None:
    (model,) = stage_models(broken_off(SLOTS), SLOTS)
    assert model.late_scale > 0.0
    assert model.mean_seconds < 0.5 * COLD
    assert model.overhead_seconds / model.mean_seconds == pytest.approx(5.0 / COLD)


def test_no_time_of_its_own_is_in_the_rule() -> None:
    """A machine that is ten times as slow makes all of it ten times as long."""
    own = warm_given_first(10.0, 3.0, NEW_EXECUTOR)
    slower = warm_given_first(100.0, 30.0, NEW_EXECUTOR)
    assert slower.seconds == pytest.approx(10.0 * own.seconds)
    assert slower.log_scale == pytest.approx(own.log_scale)


@pytest.mark.parametrize("new", [NEW_EXECUTOR, NEW_STAGE])
def test_the_longer_outside_the_run_time_the_less_is_work(new: object) -> None:
    assert isinstance(new, type(NEW_EXECUTOR))
    found = [warm_given_first(10.0, outside, new).seconds for outside in (0.01, 0.3, 1.0, 3.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(10.0, rel=0.1)
    assert found[-1] < 3.0


def test_the_inferred_time_is_the_median_by_both_priors() -> None:
    """Against plain numerical integration over log W, with the same density of T - W."""
    seconds, outside, new = 12.0, 1.5, NEW_STAGE
    log_w = np.linspace(math.log(new.least * seconds), math.log(0.999 * seconds), 20_001)
    excess = seconds - np.exp(log_w)
    away = np.log(excess / (new.per_overhead * outside)) / new.log_scale
    density = (1.0 + away**2 / 4.0) ** -2.5 / excess
    middle = float(density @ log_w / density.sum())
    found = warm_given_first(seconds, outside, new)
    assert found.seconds == pytest.approx(math.exp(middle), rel=0.01)


def test_a_first_task_that_still_runs_is_none_of_those_that_ended() -> None:
    """One slot's first task has run for 17 s when the other's second ends: of the two that ended
    one was a first one, and the short one tells what later tasks take."""
    run = broken_off(2, new_executors=False)
    stage = replace(
        stage_of(run),
        task_seconds=Measure(2, 17.04, (1.44, 15.6)),
        submitted_seconds=0.0,
        completed_seconds=17.1,
        running_seconds=Measure(2, 16.9, (0.03, 16.87)),
    )
    found = warm_task(stage, 2, before=0, sister_seconds=None)
    blind = warm_task(replace(stage, running_seconds=None), 2, before=0, sister_seconds=None)
    assert found.seconds < 2.0
    assert found.log_scale < blind.log_scale


def test_who_needs_no_inference_gets_none() -> None:
    """Whole stages, those that show by themselves how their times fall, and logs that do not tell
    what tasks spent outside their run time."""
    part = stage_of(broken_off(SLOTS))
    whole = replace(part, tasks=SLOTS)
    many = stage_of(broken_off(MOST_WAVES_INFERRED * SLOTS))
    silent = replace(part, overhead_seconds=None)
    for stage in (whole, many, silent):
        assert warm_task(stage, SLOTS, before=0, sister_seconds=None) is None


def test_tasks_of_no_time_are_no_error() -> None:
    run = broken_off(SLOTS + 1, cold=0.001, warm=0.0, outside=0.0)
    found = warm_task(stage_of(run), SLOTS, before=0, sister_seconds=None)
    assert 0.0 < found.seconds <= 0.001
