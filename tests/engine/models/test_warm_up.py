"""Task times that fall while code is new: seen in the launch order, carried to other layouts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, measure, observed, order_of

from engine.cluster import Workload
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import (
    SLOTS_GRID,
    WORK_GRID,
    expected_task_seconds,
    pair_fit,
    with_laws,
)
from engine.models.stages.closed_forms import StageBatch
from engine.models.stages.durations.first_tasks import lost_to_new_code
from engine.models.stages.durations.warm_up import (
    PARTS,
    Slowdown,
    WarmUp,
    WarmUps,
    combined,
    warm_up_of,
)
from engine.models.stages.outlines import outlines
from engine.models.stages.partitioning.partitions import ScaledStage
from engine.models.stages.set_up import MOST_SET_UP, SET_UP_SECONDS, SET_UP_SHARE
from engine.models.stages.stage_models import stage_models
from engine.models.stages.stage_table import ScaledBatch
from engine.profile import Run
from engine.sources.logs.task_summary import WARM_UP_PARTS
from engine.stage_run import StageRun


def heated(tasks: int, slots: int, *, size: float = 1.0, fixed: float = 0.0) -> Run:
    """Each slot's first second with the code runs at a third of the speed of the rest: tasks that
    need 1 s of warm work take 2 s more on each slot, once. A part of each may be fixed."""
    waves, warm = np.arange(tasks) // slots, fixed + size * (1.0 - fixed)
    seconds = np.where(waves == 0, warm + 2.0, warm)
    run = observed([Stage(seconds, input_bytes=tasks * BLOCK * size)], slots=slots)
    return replace(run, stages=(replace(run.stages[0], warm_up=order_of(seconds)),))


def stage_of(run: Run) -> StageRun:
    return run.stages[0]


def test_the_curve_starts_high_and_ends_at_the_late_rate() -> None:
    curve = warm_up_of(stage_of(heated(256, 8)), 8)
    assert curve.mean(1.0) == pytest.approx(3.0 / (272.0 / 256.0), rel=0.02)
    assert curve.mean(32.0) == pytest.approx(1.0)
    assert curve.late == pytest.approx(256.0 / 272.0, rel=0.02)
    assert curve.mean(1e6) == pytest.approx(curve.late, rel=0.001)
    means = [curve.mean(waves) for waves in (0.5, 1, 2, 5, 20, 40, 200)]
    assert means == sorted(means, reverse=True)


def test_random_order_shows_no_warm_up() -> None:
    random = np.random.default_rng(2)
    seconds = random.gamma(4.0, 0.25, 64)
    run = observed([Stage(seconds, input_bytes=64 * BLOCK)], slots=4)
    curve = warm_up_of(replace(run.stages[0], warm_up=order_of(seconds)), 4)
    assert curve is None or curve.mean(1.0) < 1.25


def test_the_first_tasks_that_the_reader_counts_are_those_of_the_curve() -> None:
    assert tuple(1.0 / part for part in (*WARM_UP_PARTS, 1)) == PARTS


def test_what_chance_shows_as_often_counts_for_half() -> None:
    """Half of 64 tasks take 1 s, half 3 s: of any four the mean has a variance of 0.25 (1/4 - 1/64)
    relative to that of all. An excess whose square is as much is halved."""
    run = observed([Stage(np.repeat([1.0, 3.0], 32), input_bytes=64 * BLOCK)], slots=4)
    excess = math.sqrt(0.25 * (1.0 / 4.0 - 1.0 / 64.0))
    order = (1.3, 1.0 + excess, 1.0, 1.0, 1.0)  # the first is of two tasks, less than one each
    curve = warm_up_of(replace(run.stages[0], warm_up=order), 4)
    assert curve.mean(1.0) == pytest.approx(1.0 + excess / 2.0)


def test_two_tasks_for_each_slot_show_an_order() -> None:
    """The first took 3 s and the second 1 s; a little of that is what chance may show."""
    curve = warm_up_of(stage_of(heated(16, 8)), 8)
    assert curve is not None
    found = [curve.mean(waves) for waves in (1.0, 2.0, 4.0)]
    assert found == pytest.approx([1.5, 1.0, 0.75], abs=0.03)


def test_a_long_stage_without_its_order_is_charged_new_code_once_for_each_slot() -> None:
    """80 tasks of 1 s on 8 slots: each slot loses 1.5 of its 10 s, and no more than two and a half
    times that share of its time at the beginning; from five tasks on all of it is over."""
    run = observed([Stage(np.full(80, 1.0), input_bytes=80 * BLOCK)], slots=8)
    curve = warm_up_of(replace(stage_of(run), warm_up=()), 8)
    assert curve is not None
    found = [curve.mean(waves) for waves in (1.25, 5.0, 10.0, 20.0)]
    assert found == pytest.approx([0.85 + 0.15 * 2.5, (4.25 + 1.5) / 5.0, 1.0, (17.0 + 1.5) / 20.0])


def test_an_order_without_a_trend_says_there_is_none() -> None:
    assert warm_up_of(replace(stage_of(heated(64, 8)), warm_up=(1.0,) * 5), 8) is None


@pytest.mark.parametrize(("seconds", "late"), [(0.5, 0.2), (5.0, 0.7), (100.0, 0.985)])
def test_one_wave_or_no_order_leave_the_prior(seconds: float, late: float) -> None:
    """1.5 s for each slot, or four fifths of its time in the stage."""
    run = observed([Stage(np.full(8, seconds), input_bytes=8 * BLOCK)], slots=8)
    for stage in (stage_of(run), replace(stage_of(run), warm_up=())):
        curve = warm_up_of(stage, 8)
        assert curve.mean(1.0) == pytest.approx(1.0)
        assert curve.late == pytest.approx(late)
        assert 1.0 < curve.mean(0.5) <= 2.0
        assert curve.mean(10.0) == pytest.approx(late + (1.0 - late) / 10.0)


def test_workers_of_python_start_once_for_each_slot() -> None:
    """8 slots of 10 s: where the log tells that their workers took 4 s each, 1.5 s of the others
    are new code; where it does not, the first stage in Python loses twice 1.5 s."""
    run = observed([Stage(np.full(8, 10.0), input_bytes=8 * BLOCK)], slots=8)
    stage = stage_of(run)
    told = replace(stage, python_start_seconds=32.0)
    for starts_python in (True, False):
        curve = warm_up_of(told, 8, starts_python=starts_python)
        assert curve.late == pytest.approx((10.0 - 4.0 - 1.5) / 10.0)
    for starts_python, late in ((True, 0.7), (False, 0.85)):
        curve = warm_up_of(stage, 8, starts_python=starts_python)
        assert curve.late == pytest.approx(late)


def test_workers_that_start_beside_each_other_leave_some_time_for_work() -> None:
    """They counted 20 s in tasks of 10: a twentieth is left, four fifths of it for new code."""
    run = observed([Stage(np.full(8, 10.0), input_bytes=8 * BLOCK)], slots=8)
    curve = warm_up_of(replace(stage_of(run), python_start_seconds=160.0), 8)
    assert curve.late == pytest.approx(0.05 * 0.2)


def test_workers_that_serve_one_task_each_start_in_every_task() -> None:
    """16 tasks of 2 s, half of which their workers started: with ten times the data 1 s of each
    stays. A slot that ran one task loses no more than 1.5 s to new code."""
    run = observed([Stage(np.full(16, 2.0), (), shuffle_bytes=16 * BLOCK)], slots=16)
    run = replace(run, stages=(replace(stage_of(run), python_start_seconds=16.0),))
    each = replace(run, config={**run.config, "spark.python.worker.reuse": "false"})
    once, always = (stage_models(one, 16)[0] for one in (run, each))
    fixed = SET_UP_SECONDS
    for model, start in ((once, 0.0), (always, 1.0)):
        tasks = model.tasks(ScaledStage(16, 10.0), dispatch_seconds=0.0, rotation=0.0)
        grown = start + fixed + 10.0 * (2.0 - start - fixed)
        assert tasks.seconds == pytest.approx(np.full(16, grown))
    late = [model.warm_up.late for model in (once, always) if model.warm_up is not None]
    assert late == pytest.approx([(2.0 - 1.0 - 0.8) / 2.0, (2.0 - 1.5) / 2.0])


def test_the_first_stage_in_python_alone_starts_workers() -> None:
    run = observed([Stage(np.full(8, 10.0), (), input_bytes=8 * BLOCK) for _ in range(3)], slots=8)
    kinds = (("Exchange",), ("ArrowEvalPython",), ("MapInPandas",))
    stages = tuple(
        replace(stage, operations=kind, name=f"stage {kind[0]}")
        for stage, kind in zip(run.stages, kinds, strict=True)
    )
    models = stage_models(replace(run, stages=stages), 8)
    late = [model.warm_up.late for model in models if model.warm_up is not None]
    assert late == pytest.approx([0.85, 0.7, 0.85])


def late_beside(outside: float) -> float:
    """Relative time of later tasks where those of one wave took 10 s, part of it outside their run
    time."""
    run = observed([Stage(np.full(8, 10.0), input_bytes=8 * BLOCK)], slots=8)
    stage = replace(stage_of(run), overhead_seconds=measure(np.full(8, outside)))
    lost, curve = lost_to_new_code(stage, 8), warm_up_of(stage, 8)
    assert curve.late == pytest.approx(1.0 - math.sqrt(1.5 * lost) / 10.0)
    return curve.late


def test_how_long_a_machine_loads_code_is_told_by_its_tasks() -> None:
    """The longer tasks are outside their run time, the more of them was new code."""
    found = [late_beside(outside) for outside in (0.01, 0.1, 0.375, 1.5, 5.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.95
    assert found[-1] < 0.7


def test_code_that_ran_before_is_no_longer_new() -> None:
    """Of stages of the same code the first alone is charged 1.5 s."""
    code = {"name": "count at Job.scala:3"}
    stages = [Stage(np.full(8, 5.0), input_bytes=8 * BLOCK, more=code) for _ in range(5)]
    curves = [model.warm_up for model in Replay.of(observed(stages, slots=8)).models]
    late = [curve and curve.late for curve in curves]
    assert late == [pytest.approx(0.7), None, None, None, None]


def test_short_queries_that_ran_often_grow_with_their_data() -> None:
    """Twenty times the same query of 0.1 s: the last one's tasks are not taken to be mostly code
    that is new, so that eight times the tasks take nearly eight times as long."""
    code = {"name": "collect at Job.scala:3", "warm_up": ()}
    stages = [Stage(np.full(4, 0.1), input_bytes=4 * BLOCK, more=code) for _ in range(20)]
    replay = Replay.of(observed(stages, slots=2))
    found = replay.replayed(2, ratio=8.0)
    length = found.end - found.start
    assert length[-1] == pytest.approx(8 * 0.2, rel=0.1)
    assert length[0] < 0.5 * length[-1]


@pytest.mark.parametrize("tasks", [512, 2048])
def test_more_data_is_not_charged_the_start_again(tasks: int) -> None:
    """The cold excess is paid once per slot, not once per byte."""
    replay = Replay.of(heated(64, 8))
    found = replay.replayed(8, ratio=tasks / 64)
    assert found.seconds == pytest.approx(heated(tasks, 8).seconds, rel=0.08)


def shuffled(size: float) -> Run:
    """64 tasks of a fixed number on 8 slots, of which 0.2 s are fixed."""
    run = heated(64, 8, size=size, fixed=SET_UP_SECONDS)
    read = measure(np.full(64, 1e6 * size))
    stage = replace(stage_of(run), input_bytes=None, shuffle_read_bytes=read)
    return replace(run, stages=(stage,), workload=Workload(64e6 * size))


@pytest.mark.parametrize("size", [0.25, 2.0, 4.0, 8.0])
def test_neither_new_code_nor_the_fixed_part_grows(size: float) -> None:
    found = Replay.of(shuffled(1.0)).replayed(8, ratio=size)
    assert found.seconds == pytest.approx(shuffled(size).seconds, rel=0.06)


@pytest.mark.parametrize("size", [0.5, 0.7, 3.0])
@pytest.mark.parametrize("seconds", [0.1, 0.6, 2.0])
def test_new_code_and_the_fixed_part_are_each_counted_once(size: float, seconds: float) -> None:
    """Equation (3) of a task on each slot: X + f + r (late - f), whether r is less or more."""
    run = observed([Stage(np.full(4, seconds), shuffle_bytes=40e6)], slots=4)
    replay = Replay.of(replace(run, stages=(replace(run.stages[0], warm_up=()),)))
    model = replay.models[0]
    late, fixed = model.late_seconds, model.late_fixed_seconds
    assert late < seconds
    outcome = replay.replayed(4, ratio=size)
    expected = (seconds - late) + fixed + size * (late - fixed)
    assert outcome.tasks == (4,)
    assert outcome.end[0] - outcome.start[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("seconds", "most"),
    [(0.02, MOST_SET_UP), (0.1, MOST_SET_UP), (0.4, SET_UP_SHARE), (3.0, SET_UP_SHARE)],
)
def test_part_of_the_shortest_task_still_grows(seconds: float, most: float) -> None:
    """However much of a log's time was new code, a hundred times the data are not for free."""
    run = observed([Stage(np.full(64, seconds), shuffle_bytes=64e6)], slots=8)
    replay = Replay.of(replace(run, stages=(replace(run.stages[0], warm_up=()),)))
    late = replay.models[0].late_fixed_seconds
    curve = replay.models[0].warm_up
    assert 0.0 < late < (most + 0.01) * curve.late * seconds + 1e-9
    found = [replay.replayed(8, ratio=ratio).seconds for ratio in (100.0, 200.0)]
    assert found[1] > 1.7 * found[0]


@pytest.mark.parametrize("work", [0.3, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("slots", [4, 8, 32])
def test_what_logs_are_held_against_is_what_is_replayed(work: float, slots: int) -> None:
    """But for the longest tasks, which contention on other slots spares."""
    replay = Replay.of(shuffled(1.0))
    model, scaled = replay.models[0], ScaledStage(64, work)
    table = replace(replay, dispatch_seconds=np.zeros(1), rotation=np.zeros(1))._table
    drawn = table.tasks_of(0, scaled)
    stage, cuts = np.zeros(1, dtype=int), ScaledBatch(*np.asarray([[64.0], [work], [1.0]]))
    batch = StageBatch.of(table, stage, cuts, outlines(table, stage, cuts))
    slowdown = Slowdown(*(float(part[0]) for part in batch.slowdowns(slots, batch.in_log)))
    tasks = drawn.slowed(
        contention=slowdown.contention,
        typical_seconds=model.typical_seconds(work),
        speed=1.0 / slowdown.warm,
    )
    typical = expected_task_seconds(
        replay, 0, np.asarray([work]), tasks=64, slots=slots, tasks_in_log=64
    )
    assert tasks.total / 64 == pytest.approx(float(typical[0]), rel=0.002 if slots == 8 else 0.08)


@pytest.mark.parametrize(("own", "other"), [(1.0, 4.0), (4.0, 1.0), (1.0, 2.0)])
def test_a_stage_that_is_as_the_prior_says_teaches_no_other_law(own: float, other: float) -> None:
    """Whichever of two logs is held against the other."""
    one, seen = Replay.of(shuffled(own)), Replay.of(shuffled(other))
    likelihood = pair_fit(one, seen).likelihood[0]
    best = WORK_GRID[likelihood[:, len(SLOTS_GRID) // 2].argmax()]
    assert abs(best) <= 0.125
    assert abs(with_laws(one, [(pair_fit(one, seen), 1.0)]).models[0].law.work) < 0.1


@pytest.mark.parametrize("slots", [3, 5, 16])
@pytest.mark.parametrize("many", [False, True], ids=["alone", "together"])
def test_stages_cut_for_the_slots_lose_to_new_code_what_the_busiest_slot_does(
    slots: int, many: bool
) -> None:
    """One task for each of two slots in the log, for each of more here, each with less to do: no
    slot of the log ran two of the smaller ones, one after the other."""
    code = {"operations": ("Scan parquet",), "warm_up": ()}
    stages = [
        Stage(
            np.full(2, 10.0),
            (place - 1,) if place else (),
            input_bytes=18.0 * 1024**2,
            more={**code, "sql_execution_id": place, "name": f"count at job.py:{place}"},
        )
        for place in range(14 if many else 2)
    ]
    replay = Replay.of(observed(stages, slots=2))
    replay = replace(replay, contention_growth=np.zeros(len(stages))).with_empty_cache()
    model = replay.models[0]
    found = replay.replayed(slots)
    assert model.depends_on_cluster
    assert found.tasks[0] == slots
    each = 2.0 / slots
    fixed = model.fixed_seconds
    # What it takes at the pace of the log, and what code that is newer costs on top.
    task = fixed + (10.0 - fixed) * each + 10.0 * each * (model.warm_up.mean(each) - 1.0)
    assert found.end[0] - found.start[0] == pytest.approx(task, abs=0.01)  # 0.4 ms for a launch
    assert task < 10.0


def test_more_slots_pay_it_each() -> None:
    replay = Replay.of(heated(256, 8))
    found = replay.replayed(64)
    assert 1.2 * 256 / 64 < found.seconds < 1.4 * heated(256, 64).seconds


def test_expected_changes_of_one_direction_are_not_added() -> None:
    """Contention and what code less new makes of every task."""
    pairs = [(0.2, 0.5), (-0.4, -0.1), (-0.1, -0.4), (0.2, -0.5), (-0.2, 0.5), (0.0, 0.3), (0, 0)]
    expected = [(0.5, 0.0), (-0.4, 0.0), (0.0, -0.4), (0.2, -0.5), (0.3, 0.0), (0.3, 0.0), (0, 0)]
    together = np.asarray(combined(*np.asarray(pairs, dtype=float).T)).T
    assert together == pytest.approx(np.asarray(expected))


def test_the_time_of_a_slot_is_a_line_through_known_points_and_the_late_rate_beyond() -> None:
    """One stage, many layouts and many stages agree, these at several numbers of waves too; before
    the first point all is as there."""
    curve = WarmUp(np.asarray([1.0, 2.0, 5.0]), np.asarray([2.0, 1.5, 1.0]), 0.6)
    other = WarmUp(np.asarray([0.5, 4.0]), np.asarray([3.0, 1.0]), 0.9)
    spent = {0.25: 0.5, 1.0: 2.0, 1.5: 2.5, 2.0: 3.0, 3.0: 11.0 / 3.0, 5.0: 5.0, 8.0: 6.8}
    for waves, seconds in spent.items():
        expected = seconds / waves if waves >= 1.0 else 2.0
        assert curve.mean(np.asarray([waves]))[0] == pytest.approx(expected)
        curves = WarmUps.of([other, curve, None])
        together = curves.mean(np.full(3, waves))
        assert together == pytest.approx([other.mean(waves), expected, 1.0])
        assert (curves.mean(np.asarray([[2.5] * 3, [waves] * 3]))[1] == together).all()
