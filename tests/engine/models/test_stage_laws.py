"""What several logs tell of each stage: matched across runs, and known laws found again."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed
from sparkplan_runs import fit
from test_partitions import plan

from engine.cluster import Cluster, Workload
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import SLOTS_GRID, WORK_GRID, pair_fit, with_laws
from engine.models.stages.stage_law import StageLaw
from engine.models.stages.stage_matching import stage_counterparts
from engine.profile import Run


def job(
    scale: float, *, fixed: float = 0.0, power: float = 1.0, slots: int = 4, gap: float = 2.0
) -> Run:
    """A stage per block, then 40 tasks of which `fixed` seconds do not grow and the rest grows with
    the given power; the driver takes `gap` seconds before each of two jobs."""
    random = np.random.default_rng(8)
    count = round(60 * scale)
    grown = 2.0 * scale**power
    stages = [
        Stage(random.gamma(25.0, 0.08, count), input_bytes=count * BLOCK, more={"name": "read"}),
        Stage(
            random.gamma(25.0, (fixed + grown) / 25.0, 40),
            (0,),
            1,
            shuffle_bytes=1e9 * scale,
            more={"name": "join"},
        ),
    ]
    return observed(stages, [Job((), 3.0), Job((0,), gap)], slots=slots)


def on(slots: int) -> Cluster:
    return Cluster.of_executors(executors=slots, executor_cores=1)


def learnt(one: Run, *others: Run) -> Replay:
    replay = Replay.of(one)
    return with_laws(replay, [(pair_fit(replay, Replay.of(other)), 1.0) for other in others])


def test_stages_are_matched_by_call_site_operations_and_order() -> None:
    run = job(1.0)
    names = ["scan", "scan", "iterate", "iterate", "iterate", "write"]
    base = run.stages[0]
    ours = replace(
        run,
        stages=tuple(
            replace(base, stage_id=i, name=name, parents=(), operations=("WholeStageCodegen (3)",))
            for i, name in enumerate(names)
        ),
    )
    other_names = ["scan", "iterate", "iterate", "scan", "write"]
    theirs = replace(
        run,
        stages=tuple(
            replace(base, stage_id=i, name=name, parents=(), operations=("WholeStageCodegen (9)",))
            for i, name in enumerate(other_names)
        ),
    )
    assert stage_counterparts(ours, theirs) == [0, 3, 1, 2, 2, 4]
    assert stage_counterparts(ours, ours) == list(range(6))
    gone = replace(theirs, stages=theirs.stages[-1:])
    assert stage_counterparts(ours, gone) == [None, None, None, None, None, 0]


def test_equal_call_sites_are_told_apart_by_what_they_read_and_by_their_parents() -> None:
    read, join = job(1.0).stages
    stages = (
        replace(read, name="parquet"),
        replace(join, name="parquet"),
        replace(join, stage_id=2, name="parquet", parents=(1,)),
    )
    ours = replace(job(1.0), stages=stages)
    theirs = replace(ours, stages=(stages[0], stages[2], stages[1]))
    assert stage_counterparts(ours, theirs) == [0, 2, 1]


@pytest.mark.parametrize(("work", "ratio"), [(0.0, 3.0), (-0.5, 3.0), (-1.0, 9.0), (0.5, 3.0)])
def test_a_law_is_monotone_and_starts_at_the_observed_work(work: float, ratio: float) -> None:
    for cut, tasks in ((None, None), (0.0, 1.0), (0.0, ratio), (1.0, ratio), (1.0, 0.5)):
        law = StageLaw(work, task_power=cut)
        fewer = None if tasks is None else 1.0 / tasks
        assert law.work_growth(1.0, 1.0, tasks=tasks) == pytest.approx(1.0)
        assert law.work_growth(ratio, ratio, tasks=tasks) >= 1.0
        assert law.work_growth(1.0 / ratio, 1.0 / ratio, tasks=fewer) <= 1.0


def test_more_tasks_of_the_same_size_slow_each_other_half_as_much() -> None:
    """Nine times the input after logs whose tasks grew: all of it in the same tasks, in nine times
    as many, in more still. After logs with more tasks of one size it is as these had it."""
    larger, more = StageLaw(0.5, task_power=0.0), StageLaw(0.5, task_power=1.0)
    cuts = (1.0, 9.0, 81.0, 1e6)
    found = [larger.work_growth(9.0, 9.0, tasks=tasks) / 9.0 for tasks in cuts]
    assert found == pytest.approx([3.0, math.sqrt(3.0), 1.0, 1.0])
    found = [more.work_growth(9.0, 9.0, tasks=tasks) / 9.0 for tasks in cuts]
    assert found == pytest.approx([9.0, 3.0, 1.0, 1.0])
    assert StageLaw(0.5).work_growth(9.0, 9.0, tasks=9.0) / 9.0 == pytest.approx(3.0)


def test_work_that_does_not_grow_is_recovered() -> None:
    """Half of the join's work is fixed: one log cannot tell, two can."""
    small, large = job(1.0, fixed=4.0), job(4.0, fixed=4.0)
    (law,) = [s.law for s in learnt(small, large).models if s.stage.name == "join"]
    assert law.work == pytest.approx(-4.0 / 6.0, abs=0.15)
    truth = job(16.0, fixed=4.0).seconds
    question = Workload(60 * 16.0 * BLOCK)
    two = fit(small, large).predict(cluster=on(4), workload=question)
    one = fit(small).predict(cluster=on(4), workload=question)
    assert two.seconds == pytest.approx(truth, rel=0.08)
    assert abs(one.seconds - truth) > 2.0 * abs(two.seconds - truth)
    assert two.low < truth < two.high
    assert two.high / two.low < (one.high or 0.0) / (one.low or 1.0)


def test_work_that_grows_faster_is_recovered() -> None:
    small, large = job(1.0, power=1.4), job(4.0, power=1.4)
    (law,) = [s.law for s in learnt(small, large).models if s.stage.name == "join"]
    assert law.work == pytest.approx(0.4, abs=0.12)


def test_partitions_are_learnt() -> None:
    """A stage that reads nothing known, in as many tasks as the input has blocks."""
    small, large = (
        replace(run, stages=(run.stages[0], replace(run.stages[1], tasks=tasks)))
        for run, tasks in ((job(1.0), 40), (job(4.0), 160))
    )
    replay = learnt(small, large)
    assert replay.models[1].law.partition_power == pytest.approx(1.0)
    assert replay.replayed(4, ratio=8.0).tasks == (480, 320)


def test_partitions_stay_with_the_rules_that_predicted_them() -> None:
    """A scan of two splits on two slots has two of three times the input as well, since a split may
    hold 128 MiB: the power would be none, and 36 times the input would be two splits still."""
    small, large = (Replay.of(plan(scan_tasks=2, scan_mib=mib, slots=2)) for mib in (65.0, 195.0))
    found = pair_fit(small, large)
    assert np.isnan(found.partition_power[0])
    taught = with_laws(small, [(found, 1.0)])
    assert taught.models[0].law.partition_power is None
    assert taught.replayed(2, ratio=36.0).tasks[0] == math.ceil(36.0 * 65.0 / 128.0)


def test_partitions_grow_no_faster_than_the_power_of_one_and_a_half() -> None:
    """Four times the input in 64 times the tasks is another way of cutting it, not growth."""
    small, large = (
        replace(run, stages=(run.stages[0], replace(run.stages[1], tasks=tasks)))
        for run, tasks in ((job(1.0), 40), (job(4.0), 64 * 40))
    )
    assert learnt(small, large).models[1].law.partition_power == 1.5


def test_stages_that_agree_bear_each_other_out_up_to_eight() -> None:
    """Work of 4 s each that grows with the root of the input: what disturbs a run disturbs all of
    its stages, so that sixteen say no more than eight."""

    def run(scale: float, stages: int) -> Run:
        seconds = np.full(8, 0.5 * math.sqrt(scale))
        read = Stage(seconds, input_bytes=8 * BLOCK * scale, more={"name": "0"})
        rest = [
            Stage(seconds, (i - 1,), shuffle_bytes=1e9 * scale, more={"name": str(i)})
            for i in range(1, stages)
        ]
        return observed([read, *rest], slots=4)

    laws = {n: learnt(run(1.0, n), run(4.0, n)).models[0].law.work for n in (1, 2, 4, 8, 16)}
    assert 0.0 > laws[1] > laws[2] + 0.01 > laws[4] + 0.02 > laws[8] + 0.03
    assert laws[16] == pytest.approx(laws[8])


def test_the_likelihood_of_a_law_is_a_normal_one_of_log_time() -> None:
    """160 s of work vary by 0.12 and half a second between two runs; a law off by so much more
    than another is so much less likely, up to four times that."""

    def run(scale: float) -> Replay:
        read = Stage(np.full(8, 20.0 * scale), input_bytes=8 * BLOCK * scale)
        return Replay.of(observed([read], slots=8))

    found = pair_fit(run(1.0), run(4.0)).likelihood[0][:, SLOTS_GRID == 0.0].ravel()
    steps = np.diff(found[WORK_GRID >= 0.0][:4], n=2)
    variance = 0.12**2 + (0.5 / 160.0) ** 2
    assert steps == pytest.approx([-((math.log(4.0) / 16.0) ** 2) / variance] * 2, rel=0.05)
    assert found.min() == pytest.approx(-0.5 * 4.0**2)


def test_growth_with_slots_is_learnt() -> None:
    """Tasks that take 15 % longer with each doubling of slots; the prior says 10 %."""
    runs = [job(1.0, slots=m) for m in (4, 8, 16)]
    slowed = []
    for run in runs:
        factor = 1.15 ** math.log2((run.cluster.slots or 1) / 4)
        stages = [
            Stage(np.asarray(s.task_seconds.quantiles) * factor, input_bytes=s.tasks * BLOCK)
            for s in run.stages
        ]
        slowed.append(observed(stages, slots=run.cluster.slots or 1))
    replay = learnt(slowed[0], *slowed[1:])
    for model, prior in zip(replay.models, replay.contention_growth, strict=True):
        assert prior + model.law.slots == pytest.approx(math.log(1.15), abs=0.03)


def test_driver_time_grows_only_where_logs_show_it_and_never_when_idle() -> None:
    """Four times the time at four times the input, each 0.2 off in log, beside a prior of 0 ± 0.3
    for the share that grows."""
    constant = learnt(job(1.0), job(4.0))
    assert constant.driver_growth == pytest.approx(0.0, abs=0.02)
    growing = learnt(job(1.0, gap=4.0), job(4.0, gap=16.0))
    known, prior = 3.0**2 / (0.2 * 4.0) ** 2, 1.0 / 0.3**2
    assert growing.driver_growth == pytest.approx(known / (known + prior), rel=0.02)
    gap = growing.replayed(4, ratio=4.0).driver_seconds - growing.replayed(4).driver_seconds
    assert gap == pytest.approx(12.0, rel=0.5)
    assert learnt(job(1.0, gap=16.0), job(4.0, gap=4.0)).driver_growth == 0.0
    idle = learnt(job(1.0, gap=400.0), job(4.0, gap=1600.0))
    assert idle.driver_growth == 0.0
    assert Replay.of(job(1.0, gap=400.0)).driver.growing_gaps == ()


def test_a_gap_is_a_pause_where_it_is_long_and_a_good_part_of_the_run() -> None:
    """35 s of 300 are a pause, and of 400 the driver's work; 25 s are that in any run."""
    for gap, seconds, known in ((35.0, 300.0, 0), (35.0, 400.0, 1), (25.0, 100.0, 1)):
        replay = Replay.of(job(1.0, gap=gap))
        lasting = replace(replay, run=replace(replay.run, seconds=seconds))
        assert len(lasting.driver.growing_gaps) == known


def test_other_machines_and_the_same_run_teach_nothing() -> None:
    one = job(1.0)
    typed = replace(
        job(4.0, fixed=8.0),
        cluster=replace(
            Cluster.of_nodes(instance_type="x", nodes=1, vcpus=4.0, memory_gib=16.0),
            executors=4,
            executor_cores=1,
        ),
    )
    for replay in (learnt(one, typed), learnt(one, one)):
        for model in replay.models:
            assert model.law.work == pytest.approx(0.0, abs=1e-6)
            assert model.law.slots == pytest.approx(0.0, abs=1e-6)
            assert model.law.partition_power is None


def reading(*sizes: float) -> Run:
    """Stages of one second that read so many bytes of a shuffle, after a scan of the first."""
    stages = [
        Stage(np.full(8, 1.0), input_bytes=size, more={"name": f"stage {i}"})
        if i == 0
        else Stage(np.full(8, 1.0), (0,), shuffle_bytes=size, more={"name": f"stage {i}"})
        for i, size in enumerate(sizes)
    ]
    return observed(stages, slots=4)


def test_how_bytes_grow_is_learnt_apart_from_seconds() -> None:
    """Four times the input: one stage reads four times as much, one twice, one the same, one
    nothing. No stage takes longer."""
    small, large = reading(1e9, 1e8, 1e8, 1e8, 0.0), reading(4e9, 4e8, 2e8, 1e8, 0.0)
    models = learnt(small, large).models
    assert all(model.law.work < -0.1 for model in models[:2])
    powers = [model.law.data_power for model in models]
    assert powers[:4] == pytest.approx([1.0, 1.0, 0.5, 0.0], abs=0.02)
    assert powers[4] is None
    grown = [model.data_growth(16.0) for model in models]
    assert grown == pytest.approx([16.0, 16.0, 4.0, 1.0, 1.0], rel=0.05)
    assert [model.data_growth(16.0) for model in Replay.of(small).models] == [16.0] * 4 + [1.0]
