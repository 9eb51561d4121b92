"""Stages answered at once agree with the same stages one by one, and with every task placed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from depth import DEEP
from made_runs import BLOCK, Job, Stage, observed

from engine.models.replay.replayed_run import Replay
from engine.models.replay.stages_by_slots import CACHED_INPUTS
from engine.models.stages.durations.contention import GROWTH_UNKNOWN
from engine.models.stages.durations.deferred_tasks import DeferredTasks
from engine.models.stages.durations.launches import LONGEST_FIRST
from engine.models.stages.durations.quantile_times import quantiles_at
from engine.models.stages.durations.task_times import PLACED_TASKS
from engine.models.stages.durations.warm_up import EXCESS_SECONDS
from engine.models.stages.outlines import outlines
from engine.models.stages.partitioning.partitions import ScaledStage
from engine.models.stages.scaled_stages import ScaledStages
from engine.models.stages.stage_law import StageLaw
from engine.profile import Run
from engine.scheduling.makespans import outline_of
from engine.scheduling.waves import Tasks

SLOTS = 12


def many_stages(count: int = 40) -> Run:
    """A chain of stages of all sizes and spreads, some of them in step, some warming up."""
    random, stages = np.random.default_rng(5), []
    for place in range(count):
        tasks = int(random.integers(2, 400))
        seconds = random.lognormal(0.0, float(random.choice([0.0, 0.05, 0.4, 1.0])), tasks)
        warm_up = tuple(np.linspace(1.0 + random.random(), 1.02, 5)) if place % 3 else ()
        more = {"warm_up": warm_up, "task_cpus": 1 + place % 2}
        stages.append(
            Stage(
                seconds,
                (place - 1,) if place else (),
                job=place // 8,
                input_bytes=tasks * BLOCK,
                more=more,
            )
        )
    jobs = [Job((number - 1,) if number else (), 0.5) for number in range(-(-count // 8))]
    return observed(stages, jobs, slots=SLOTS)


def of_every_kind(count: int = 40) -> Replay:
    """Those stages with laws learnt from other logs, first tasks that take longer, idle time
    between tasks and every launch order; some have one task, or tasks of one length."""
    replay = Replay.of(many_stages(count))
    models = []
    for place, model in enumerate(replay.models):
        law = StageLaw(slots=0.05 * (-1) ** place, work=0.1 * (place % 5 - 2))
        cold = model.warm * 1.5 if place % 4 == 1 else model.cold
        warm = model.warm[:1] if place % 11 == 3 else model.warm
        mean = float(warm.mean()) if len(warm) == 1 else model.mean_seconds
        mean *= 1.3 if place % 7 == 2 else 1.0
        models.append(replace(model, law=law, cold=cold, warm=warm, mean_seconds=mean))
    places = np.arange(count)
    rotation = np.where(places % 9 == 8, LONGEST_FIRST, places % 9 / 8.0)
    changed = replace(
        replay, models=tuple(models), dispatch_seconds=0.01 * (places % 3), rotation=rotation
    )
    return changed.with_empty_cache()


def tasks_by_themselves(replay: Replay, place: int, scaled: ScaledStage) -> Tasks:
    """The tasks of one stage: all of them, and of many their outline at `probabilities`."""
    tasks, model, n = replay._table.tasks_of(place, scaled), replay.models[place], scaled.tasks
    if n <= PLACED_TASKS:
        return tasks
    at, counts = outline_of(n)
    times = quantiles_at(model.warm, at)
    factor = (model.mean_seconds * n - times[-1] * counts[-1]) / float(times[:-1] @ counts[:-1])
    times[:-1] *= factor if 0.5 < factor < 2.0 else 1.0
    seconds = model._scaled_seconds(times, scaled.work) + replay.dispatch_seconds[place]
    return DeferredTasks(
        n,
        (seconds, counts),
        float(seconds @ counts),
        warm=lambda: tasks.seconds,
        cold=lambda: tasks.cold_seconds,
        longest_first=tasks.longest_first,
        cold_excess_seconds=model.cold_excess,
    )


def test_a_stage_without_a_tail_raises_no_warning() -> None:
    """Two of five tasks have no tail, whose length would be the logarithm of 1; beside them stands
    a stage that has one."""
    stages = [Stage(np.linspace(1.0, 2.0, 5), input_bytes=5 * BLOCK) for _ in range(2)]
    table, places = Replay.of(observed(stages, slots=SLOTS))._table, np.arange(2)
    with np.errstate(all="raise"):
        cuts = table.in_partitions(places, 1.0, np.asarray([2.0, 30.0]))
        found = outlines(table, places, cuts)
    single = [table.tasks_of(place, one).total for place, one in enumerate(cuts.each())]
    assert found.total == pytest.approx(single)


@pytest.mark.parametrize("tasks", [200, 201, 202])
def test_tasks_about_as_many_as_quantiles_are_the_same_together(tasks: int) -> None:
    """Of four hundred tasks 201 quantiles are stored; of 201 all times."""
    random = np.random.default_rng(3)
    times = [random.lognormal(0.0, 1.0, seen) for seen in (400, 400, 201)]
    replay = Replay.of(observed([Stage(s, input_bytes=len(s) * BLOCK) for s in times], slots=SLOTS))
    cuts = replay._table.in_partitions(np.arange(3), 1.0, np.full(3, float(tasks)))
    found = outlines(replay._table, np.arange(3), cuts)
    single = [replay._table.tasks_of(place, one) for place, one in enumerate(cuts.each())]
    assert found.total == pytest.approx([one.total for one in single])
    assert found.ordered[:, -1] == pytest.approx([one.longest for one in single])


@pytest.mark.parametrize(
    ("ratio", "slots"),
    [
        (ratio, slots)
        for row, ratio in enumerate([0.02, 0.5, 1.0, 3.7, 9.31, 37.0, 433.3])
        for place, slots in enumerate([1, 5, SLOTS, 31, 300, 5000])
        if DEEP or (row - place) % 3 == 0  # each number twice
    ],
)
def test_closed_forms_agree_with_single_stages(ratio: float, slots: int) -> None:
    """Of outlines (37 times the input has more tasks than are drawn) as of every task drawn."""
    replay, speed = of_every_kind(), np.linspace(0.6, 1.4, 40)
    stages = replay.stages_by_slots.at(ratio).on_log_slots
    forms = stages.closed_forms(slots, speed)
    assert sorted(forms) == list(range(40))
    for place, model in enumerate(replay.models):
        scaled, (contention, form) = model.scaled(ratio, None), forms[place]
        tasks = tasks_by_themselves(replay, place, scaled)
        assert stages.scaled[place].tasks == scaled.tasks
        assert stages.scaled[place].work == pytest.approx(scaled.work, rel=1e-12)
        assert stages.scaled[place].last == pytest.approx(scaled.last, rel=1e-9)
        whole = replay.stages_by_slots.at(ratio).counts.own[[place]]
        alone = ScaledStages.of(replay._table, ratio, whole, np.asarray([place]))
        one, form_alone = alone.closed_forms(slots, speed)[place]
        assert contention == pytest.approx(one, rel=1e-12)
        assert form.makespan == pytest.approx(form_alone.makespan, rel=1e-9)
        typical = model.typical_seconds(scaled.work)
        pace = float(speed[place]) / one.warm
        slow = tasks.slowed(contention=one.contention, typical_seconds=typical, speed=pace)
        lanes = max(1, slots // model.stage.task_cpus)
        assert form.slots == lanes
        exact = pytest.approx((slow.total, slow.longest), rel=1e-12)
        assert (form.total, form.longest) == exact
        assert form.makespan == pytest.approx(slow.expected_makespan(lanes), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("ratio", [0.02, 0.5, 1.0, 3.7, 433.3])
def test_nothing_is_drawn_before_it_is_placed_and_then_the_same(ratio: float) -> None:
    """What is only asked for its number and closed form is not drawn; drawn, it is what a stage
    by itself gives."""
    replay = of_every_kind()
    stages = replay.stages_by_slots.at(ratio).on_log_slots
    for place, (scaled, tasks) in enumerate(zip(stages.scaled, stages.tasks, strict=True)):
        assert "seconds" not in tasks.__dict__
        alone = tasks_by_themselves(replay, place, scaled)
        assert len(tasks) == len(alone) == scaled.tasks
        assert tasks.longest_first == alone.longest_first
        assert tasks.cold_excess_seconds == pytest.approx(alone.cold_excess_seconds, abs=1e-12)
        if scaled.tasks <= PLACED_TASKS:
            assert tasks.seconds == pytest.approx(alone.seconds, rel=1e-12)


def test_a_stage_of_one_task_grows_to_thousands() -> None:
    """A single time is all quantiles at once. What was new code in it, later tasks save; and 64 at
    once are six doublings of the log's one."""
    run = observed([Stage(np.asarray([3.0]), input_bytes=200 * 1024**2)], [Job((), 0.5)], slots=4)
    found = Replay.of(run).replayed(64, ratio=6000.0)
    assert found.tasks == (6000,)
    each = (3.0 - EXCESS_SECONDS) * math.exp(6.0 * GROWTH_UNKNOWN)
    assert found.seconds == pytest.approx(0.5 + 6000 * each / 64, rel=0.02)


@pytest.mark.parametrize("slots", [2, 24, 96])
def test_stages_that_the_cluster_cuts_are_answered_at_once(slots: int) -> None:
    """Scans that Spark cuts for the cores, as many as the cluster has: twenty as each of one."""
    replay, one = Replay.of(scans()), Replay.of(scans(1))
    assert sum(model.depends_on_cluster for model in replay.models) == 20
    at_once, alone = (some.replayed(slots, ratio=1.3) for some in (replay, one))
    assert at_once.tasks[:1] == alone.tasks
    assert at_once.tasks != replay.replayed(SLOTS, ratio=1.3).tasks
    assert at_once.end[0] - at_once.start[0] == pytest.approx(
        alone.end[0] - alone.start[0], rel=1e-9
    )


def scans(count: int = 20) -> Run:
    """Stages that read small files, a split for every core."""
    random = np.random.default_rng(7)
    stages = [
        Stage(
            random.lognormal(0.0, 0.3, SLOTS),
            (place - 1,) if place else (),
            input_bytes=SLOTS * 9.0 * 1024**2,
            more={"operations": ("Scan parquet",), "sql_execution_id": place},
        )
        for place in range(count)
    ]
    return observed(stages, [Job((), 0.5)], slots=SLOTS)


def test_what_is_kept_of_inputs_is_bounded() -> None:
    """Somebody who types one size after the other fills no memory."""
    replay = Replay.of(many_stages())
    for step in range(3 * CACHED_INPUTS):
        replay.replayed(40, ratio=1.0 + 0.01 * step)
    cache = replay._cache
    for store in (cache.stages, cache.counted):
        assert len(store._kept) <= CACHED_INPUTS
    assert len(cache.stages._kept) == CACHED_INPUTS


@pytest.mark.parametrize("slots", [2, 9, 50, 400])
def test_they_agree_with_every_task_placed(slots: int) -> None:
    replay = Replay.of(many_stages())
    replay.replayed(slots)
    exact = replay.replayed(slots, exact=True).seconds
    assert replay.replayed(slots).seconds == pytest.approx(exact, rel=0.03)
