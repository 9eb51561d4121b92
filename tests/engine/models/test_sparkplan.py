"""The default model: which evidence answers, and how sure it is."""

import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed, simulated
from sparkplan_runs import BY_NAME, codes, executors, fit, job, run_of

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType, Offer, Price
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.given_profiles import OptexProfile
from engine.models.replay.log_pairs import covariance_per_doubling
from engine.models.replay.model import ReplayModel
from engine.models.replay.priors import ERROR_PER_DOUBLING_INPUT, ERROR_PER_DOUBLING_SLOTS
from engine.models.replay.times import input_path
from engine.models.sparkplan import Sparkplan
from engine.profile import Profile, Run
from engine.stage_run import Waste


def test_one_log_answers_where_it_was_observed() -> None:
    run = run_of(8)
    found = fit(run).predict(cluster=executors(8))
    assert found.seconds == pytest.approx(run.seconds, rel=1e-6)
    assert found.high is not None
    assert found.low < found.seconds < found.high < 1.2 * found.seconds
    assert found.model == "sparkplan"
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert found.phases["driver"] == pytest.approx(6.0, rel=0.05)
    assert [stage.tasks for stage in found.stages] == [240, 80]
    assert found.stages[0].waves == 30.0
    assert codes(found.warnings) == {"single-run"}


def test_the_interval_of_one_log_grows_with_distance() -> None:
    model = fit(run_of(8))
    widths = []
    for slots in (8, 16, 64):
        found = model.predict(cluster=executors(slots))
        widths.append(math.log((found.high or 0.0) / (found.low or 0.0)))
    assert widths[0] < widths[1] < widths[2]
    larger = model.predict(cluster=executors(8), workload=model.profile.workload_at(4.0))
    assert math.log((larger.high or 0.0) / (larger.low or 0.0)) > widths[0]
    assert "extrapolating-size" in codes(larger.warnings)


def test_a_bare_replay_would_be_too_short_and_the_prior_covers_it() -> None:
    """Scaling out, task work grows: the expected time exceeds the bare replay's, and the interval
    holds both no growth at all and twice the work over four doublings."""
    stages, jobs = job()
    bare = simulated(stages, jobs, slots=64, tail_seconds=1.0)[0]
    found = fit(run_of(4)).predict(cluster=executors(64))
    assert found.seconds > 1.1 * bare
    assert found.low < bare < found.high
    assert found.high > 6.0 + 2.0 * (bare - 6.0)


def test_several_logs_learn_the_growth_of_work() -> None:
    """Runs whose tasks take 10 % longer with each doubling, beyond the prior's growth or not."""
    slots = (4, 8, 16, 32)
    runs = [run_of(m, slow=1.1 ** math.log2(m / 4)) for m in slots]
    truth = run_of(64, slow=1.1**4).seconds
    several, single = fit(*runs), fit(runs[0])
    found = several.predict(cluster=executors(64))
    assert found.seconds == pytest.approx(truth, rel=0.08)
    assert found.low < truth < found.high
    alone = single.predict(cluster=executors(64))
    assert found.high / found.low < (alone.high or 0.0) / (alone.low or 1.0)
    assert several.validation.mean_relative_error < 0.08


def test_two_small_logs_predict_a_large_run() -> None:
    model = fit(run_of(4, 0.25), run_of(4, 0.5))
    truth = run_of(4, 3.0)
    found = model.predict(cluster=executors(4), workload=truth.workload)
    assert found.seconds == pytest.approx(truth.seconds, rel=0.08)


@pytest.mark.parametrize("slow", [3.0, 6.0])
def test_more_input_is_never_faster_where_one_log_hands_over_to_another(slow: float) -> None:
    """The smaller log met a busy machine: it took longer than the larger one."""
    fitted = fit(run_of(2, slow=slow), run_of(2, 4.0, slow=0.5))
    size = run_of(2).workload.input_bytes
    assert size is not None
    wanted = [Workload(size * scale) for scale in np.geomspace(0.2, 25.0, 80).tolist()]
    for slots in (1, 7, 40):
        found = fitted.predict_many(clusters=[executors(slots)] * len(wanted), workloads=wanted)
        assert (np.diff(found.seconds) >= -1e-9 * found.seconds[1:]).all()


@pytest.mark.parametrize(
    ("wanted", "path", "share"),
    [
        (1.0, [1.0], 1.0),
        (3.0, [1.0, 3.0**0.5, 3.0], 1.0),
        (6.0, [1.0, 3.0**0.5, 3.0, 6.0], 1.0),
        (4.5, [1.0, 3.0**0.5, 3.0, 6.0], np.log2(1.5)),
        (0.25, [1.0, 0.5, 0.25], 1.0),
    ],
)
def test_inputs_on_the_way(wanted: float, path: list[float], share: float) -> None:
    found, part = input_path([3.0, 1.0, 3.0], wanted)
    assert found == pytest.approx(path)
    assert part == pytest.approx(share)


def test_doubt_starts_from_the_prior_and_narrows_where_logs_differ() -> None:
    prior = np.asarray([ERROR_PER_DOUBLING_SLOTS, ERROR_PER_DOUBLING_INPUT])
    none = np.sqrt(np.diag(covariance_per_doubling(np.zeros((0, 2)), 1)))
    np.testing.assert_allclose(none, prior)
    sizes = np.sqrt(np.diag(covariance_per_doubling(np.asarray([[0.0, 2.0]]), 2)))
    assert sizes[0] == pytest.approx(prior[0])
    assert sizes[1] < 0.6 * prior[1]
    doublings = np.asarray([[i, j] for i in range(-3, 4) for j in range(-3, 4)], dtype=float)
    assert (np.sqrt(np.diag(covariance_per_doubling(doublings, 40))) < 0.15 * prior).all()


def typed(run: Run, name: str, slots: int) -> Run:
    instance = InstanceType(name, vcpus=4.0, memory_gib=16.0)
    cluster = Cluster.of_nodes(instance_type=name, nodes=slots // 4, vcpus=4.0, memory_gib=16.0)
    cluster = replace(cluster, executors=slots // 4, executor_cores=4)
    assert cluster.instance == instance
    return replace(run, cluster=cluster)


def catalog() -> Catalog:
    day = date(2026, 7, 1)
    offers = {
        name: Offer(
            InstanceType(name, vcpus=4.0, memory_gib=16.0, cpu_score=score),
            Price(0.2, day, "made up"),
        )
        for name, score in (("old", 100.0), ("new", 200.0))
    }
    return Catalog("made", "none", "here", "USD", day, offers)


def test_a_faster_machine_shortens_tasks_and_not_the_driver() -> None:
    model = fit(typed(run_of(8), "old", 8))
    prices = catalog()
    old, new = (
        model.predict(cluster=Cluster.of_nodes(instance_type=name, nodes=2, catalog=prices))
        for name in ("old", "new")
    )
    assert new.seconds - 6.0 == pytest.approx((old.seconds - 6.0) / 2.0, rel=0.03)
    assert "transferred-speed" in codes(new.warnings)
    assert "transferred-speed" not in codes(old.warnings)
    assert (new.high or 0.0) / (new.low or 1.0) > (old.high or 0.0) / (old.low or 1.0)


def test_an_unknown_source_is_said_to_be_unknown() -> None:
    found = fit(run_of(8)).predict(
        cluster=Cluster.of_nodes(instance_type="new", nodes=2, catalog=catalog())
    )
    assert "unknown-source-type" in codes(found.warnings)


def test_a_large_grid_agrees_with_single_answers_and_keeps_unknown_slots() -> None:
    model = fit(typed(run_of(8), "old", 8))
    prices = catalog()
    n = np.arange(1.0, 601.0)
    batch = ClusterBatch(
        types=tuple(offer.instance for offer in prices.offers.values()),
        type_index=np.repeat([0, 1], 600),
        nodes=np.tile(n, 2),
        executors=np.concatenate((n, np.where(n == 600, np.nan, n))),
        executor_cores=np.full(1200, 4.0),
        executor_memory_gib=np.full(1200, 10.0),
        catalog=prices,
    )
    many = model.forecast(batch, model.profile.reference_workload)
    assert np.isnan(many.seconds[-1])
    assert np.isnan(many.log_scale[-1])
    for place in (0, 1, 4, 16, 63, 299, 600, 604, 700, 900):
        single = ClusterBatch(
            batch.types,
            batch.type_index[place : place + 1],
            batch.nodes[place : place + 1],
            batch.executors[place : place + 1],
            batch.executor_cores[place : place + 1],
            batch.executor_memory_gib[place : place + 1],
            prices,
        )
        one = model.forecast(single, model.profile.reference_workload)
        assert many.seconds[place] == pytest.approx(one.seconds[0], rel=0.015)
        assert many.log_scale[place] == pytest.approx(one.log_scale[0], rel=0.02)


def test_iterations_scale_what_is_repeated() -> None:
    step = Stage(np.full(16, 2.0), input_bytes=16 * BLOCK, more={"name": "step"})
    load = Stage(np.full(16, 5.0), input_bytes=16 * BLOCK, more={"name": "load"})
    stages = [load, *(replace(step, job=i + 1) for i in range(5))]
    jobs = [Job(), *(Job((i,), 0.5) for i in range(5))]
    run = observed(stages, jobs, slots=16)
    run = replace(run, workload=Workload(run.workload.input_bytes, iterations=5))
    found = fit(run).predict(
        cluster=executors(16), workload=Workload(run.workload.input_bytes, iterations=10)
    )
    assert found.seconds == pytest.approx(5.0 + 10 * 2.5, rel=0.05)
    assert "extrapolating-iterations" in codes(found.warnings)
    plain = fit(run_of(8))
    with pytest.raises(BadInput, match="iterations"):
        plain.predict(cluster=executors(8), workload=Workload(1e9, iterations=3))


def test_a_job_profile_alone_is_answered_by_its_closed_form() -> None:
    profile = Profile("als", optex=(OptexProfile("m2", 10.0, 5.0, s_baseline=1.0),))
    model = Sparkplan().fit(profile, models=BY_NAME)
    closed = BY_NAME["optex"].fit(profile, models=BY_NAME)
    cluster = Cluster.of_nodes(instance_type="m2", nodes=4)
    found = model.predict(cluster=cluster)
    assert found.model == "sparkplan"
    assert found.seconds == closed.predict(cluster=cluster).seconds
    assert found.low is None
    assert {"delegated", "no-interval"} <= codes(found.warnings)


def test_nothing_to_fit() -> None:
    with pytest.raises(ModelDoesNotFit, match="neither runs nor a job profile"):
        Sparkplan().fit(Profile("empty"), models=BY_NAME)


def test_terms_replace_replays_that_are_off() -> None:
    """Stages that say nothing of the time: the driver's time falls with the slots."""
    tasks = Stage(np.full(4, 0.1), input_bytes=4 * BLOCK)
    runs = [observed([tasks], [Job((), 20.0 + 400.0 / m)], slots=m) for m in (2, 4, 8, 16, 32, 64)]
    model = fit(*runs)
    assert not isinstance(model, ReplayModel)
    assert model.model == "sparkplan"
    found = model.predict(cluster=executors(24))
    assert found.seconds == pytest.approx(20.0 + 400.0 / 24, rel=0.1)


def test_terms_of_three_logs_have_an_interval_from_a_prior() -> None:
    """Three left-out errors cannot tell one; a log more must not take the replay's away."""
    tasks = Stage(np.full(4, 0.1), input_bytes=4 * BLOCK)
    runs = [observed([tasks], [Job((), 20.0 + 400.0 / m)], slots=m) for m in (2, 4, 8)]
    model = fit(*runs)
    assert not isinstance(model, ReplayModel)
    found = model.predict(cluster=executors(4))
    assert found.high is not None
    assert found.low < runs[1].seconds < found.high
    assert "prior-interval" in codes(found.warnings)
    assert "no-interval" not in codes(found.warnings)
    alone = BY_NAME["ernest-extended"].fit(model.profile, models=BY_NAME)
    assert alone.predict(cluster=executors(4)).low is None


def test_terms_of_two_numbers_of_slots_do_not_replace_replays() -> None:
    """More slots were slower once: terms of growth would make that go on without end."""
    runs = []
    for slots, slow in ((2, 1.0), (4, 1.3)):
        for scale in (1.0, 2.0, 4.0):
            tasks = Stage(np.full(4, 0.1), input_bytes=4 * scale * BLOCK)
            runs.append(observed([tasks], [Job((), 20.0 * scale * slow)], slots=slots))
    model = fit(*runs)
    assert isinstance(model, ReplayModel)
    few, many = (model.predict(cluster=executors(slots)) for slots in (4, 64))
    assert many.seconds < 1.1 * few.seconds


def test_work_in_vain_is_said_and_widens_the_interval() -> None:
    clean = run_of(8)
    stage = clean.stages[0]
    lost = 0.2 * stage.task_seconds.total
    later = lost / 8
    torn = replace(
        clean,
        seconds=clean.seconds + later,
        stages=(
            replace(
                stage,
                completed_seconds=stage.completed_seconds + later,
                waste=Waste(failed_tasks=9, seconds=lost),
            ),
            replace(
                clean.stages[1],
                submitted_seconds=clean.stages[1].submitted_seconds + later,
                completed_seconds=clean.stages[1].completed_seconds + later,
            ),
        ),
        jobs=(replace(clean.jobs[0], completed_seconds=clean.seconds + later),),
    )
    found, plain = (fit(run).predict(cluster=executors(8)) for run in (torn, clean))
    assert "retried-work" in codes(found.warnings)
    assert "retried-work" not in codes(plain.warnings)
    assert found.seconds == pytest.approx(torn.seconds, rel=0.01)
    assert (found.high or 0.0) / (found.low or 1.0) > 1.1 * (plain.high or 0.0) / (plain.low or 1.0)
