"""How much of a log is other programs' doing, and what that costs an interval."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from made_runs import Stage, measure, observed
from shared import SHARED, needs_shared
from sparkplan_runs import width

import engine
from engine.cluster import Cluster, Workload
from engine.models.base import Prediction
from engine.models.stages.disturbance import (
    CALM_LOADING_STRETCH,
    CALM_STRETCH,
    MAX_FETCH_WAIT_SHARE,
    MAX_STRETCH_OVER_LOADING,
    UNIFORM_SCALE,
    busy_machine_notice,
    disturbance_factor,
    disturbance_spread,
    fetch_wait_log,
    shuffle_wait_notice,
)
from engine.models.stages.job_phases import phases_of
from engine.profile import Profile, Run

TASKS, SECONDS = 20, 6.0
INPUT = 20 * 128e6


OF_LOGS = {"sparkplan": (1.0,), "simcost": (1.0,), "boe": (1.0,), "peridot": (0.5, 1.0)}
"""The models that learn from logs, and the inputs that each needs."""


def run_of(stretched: Sequence[float], *, scale: float = 1.0, **more: object) -> Run:
    """Stages of 20 tasks that take 6 s and compute for a part of that."""
    seconds = np.full(TASKS, SECONDS)
    stages = [
        Stage(
            seconds, (place - 1,) if place else (), input_bytes=0.0 if place else INPUT * scale,
            more={
                "run_seconds": measure(seconds), "cpu_seconds": measure(seconds / stretch), **more
            },
        )
        for place, stretch in enumerate(stretched)
    ]  # fmt: skip
    return observed(stages, slots=4, input_bytes=INPUT * scale)


def fetching_run(*, scale: float = 1.0) -> Run:
    """Of the second of two stages tasks wait two thirds of their time for blocks."""
    run = run_of([1.0, 3.0], scale=scale)
    waited = measure(np.full(TASKS, SECONDS * 2 / 3))
    fetched = replace(run.stages[1], fetch_wait_seconds=waited)
    return replace(run, stages=(run.stages[0], fetched))


def ask(*runs: Run, model: str = "sparkplan") -> Prediction:
    fitted = engine.fit(Profile("job", runs), model=model)
    cluster = Cluster.of_executors(executors=1, executor_cores=4)
    return fitted.predict(cluster=cluster, workload=Workload(INPUT))


def test_waiting_for_shuffles_is_as_unsure_as_the_network() -> None:
    """A third of the slot time waited for blocks: the next run may wait not at all or twice as
    much, with CPU times and without, as of Spark before 2.1; a run of nothing else stays finite."""
    calm, run = run_of([1.0, 3.0]), fetching_run()
    share = phases_of(run).communication / run.seconds
    assert share == pytest.approx(1 / 3, rel=0.1)
    assert fetch_wait_log(run) == pytest.approx(-math.log(1 - share))
    assert disturbance_spread([run]) == pytest.approx(UNIFORM_SCALE * fetch_wait_log(run))
    assert disturbance_factor(run) == pytest.approx(1.0)
    silent = replace(run, stages=tuple(replace(s, cpu_seconds=None) for s in run.stages))
    assert disturbance_spread([silent]) == disturbance_spread([run])
    assert width(ask(run)) > 2.0 * width(ask(calm))
    notice = shuffle_wait_notice([calm, run])
    assert notice.code == "waits-for-shuffles"
    assert "1.5 times as long" in notice.text
    assert shuffle_wait_notice([calm]) is None
    lost = replace(run.stages[1], fetch_wait_seconds=measure(np.full(TASKS, 1e6)))
    alone = replace(run, stages=(calm.stages[0], lost))
    assert fetch_wait_log(alone) == pytest.approx(-math.log(1 - MAX_FETCH_WAIT_SHARE))


def test_every_stage_held_up_is_a_busy_machine() -> None:
    run = run_of([3.0, 4.0])
    assert disturbance_factor(run) == pytest.approx(3.0)
    assert disturbance_spread([run]) == pytest.approx(UNIFORM_SCALE * math.log(3.0 / CALM_STRETCH))
    notice = busy_machine_notice([run])
    assert notice.code == "busy-machine"
    assert "3.0 times" in notice.text


def test_some_stages_may_wait_for_good_reasons() -> None:
    """One that reads from far waits; one that computes shows that nobody else is there."""
    run = run_of([5.0, 1.1])
    assert disturbance_factor(run) == pytest.approx(1.1)
    assert disturbance_spread([run]) == 0.0
    assert busy_machine_notice([run]) is None


def test_garbage_and_shuffles_are_not_others_doing() -> None:
    third = measure(np.full(TASKS, SECONDS / 3.0))
    run = run_of([3.0], gc_seconds=third, fetch_wait_seconds=third)
    assert disturbance_factor(run) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "more",
    [
        {"cpu_seconds": None},
        {"operations": ("BatchEvalPython", "Project")},
        {"operations": ("GpuProject",)},
        {"operations": ("coalesce", "PythonRDD", "parallelize")},
        {"name": "reduceByKey at /home/me/job.py:12"},
    ],
)
def test_what_computes_elsewhere_tells_nothing(more: dict[str, object]) -> None:
    run = run_of([3.0], **more)
    assert disturbance_factor(run) is None
    assert disturbance_spread([run]) == 0.0
    assert busy_machine_notice([run]) is None


def python_job(loading: float, *, cpu_seconds: float = 0.5) -> dict[str, object]:
    """Stages that compute in Python; loading their tasks' code takes so many times its CPU time."""
    return {
        "operations": ("PythonRDD",),
        "deserialize_seconds": loading * cpu_seconds,
        "deserialize_cpu_seconds": cpu_seconds,
    }


def test_loading_code_tells_of_jobs_in_python_that_the_machine_was_busy() -> None:
    run = run_of([20.0, 20.0], **python_job(4.0 * CALM_LOADING_STRETCH))
    assert disturbance_factor(run) == pytest.approx(4.0 * CALM_STRETCH)
    assert disturbance_spread([run]) == pytest.approx(UNIFORM_SCALE * math.log(4.0))
    notice = busy_machine_notice([run])
    assert (notice.code, "to load their code tasks took 10.0 times" in notice.text) == (
        "busy-machine",
        True,
    )


@pytest.mark.parametrize("more", [python_job(2.5), python_job(9.0, cpu_seconds=0.02)])
def test_loading_that_is_as_usual_or_too_little_widens_nothing(more: dict[str, object]) -> None:
    """An archive that is read and a task that is fetched are no other program's doing."""
    run = run_of([20.0, 20.0], **more)
    assert disturbance_spread([run]) == 0.0
    assert busy_machine_notice([run]) is None


def test_computing_tells_more_than_loading() -> None:
    """A Python job whose queries compute in Spark is judged by these."""
    loading = python_job(9.0)
    run = run_of([1.1, 20.0])
    stages = (replace(run.stages[0]), replace(run.stages[1], **loading))
    assert disturbance_factor(replace(run, stages=stages)) == pytest.approx(1.1)


def test_without_python_loading_code_is_not_asked() -> None:
    assert disturbance_factor(run_of([1000.0], **python_job(9.0) | {"operations": ()})) is None


def waiting_job(waited: float, loading: float) -> Run:
    """Both stages wait, in plain Spark; loading their code takes so many times its CPU time."""
    return run_of([waited, waited], **python_job(loading) | {"operations": ("Scan csv", "Filter")})


def test_tasks_that_wait_for_a_server_are_no_busy_machine() -> None:
    """They take 40 times as long as they compute, their code loads as on a calm machine: what they
    wait for is their own. It had made an interval whose bounds lie a factor of 1,000 apart."""
    run = waiting_job(40.0, 1.8)
    assert disturbance_factor(run) == pytest.approx(1.8)
    assert busy_machine_notice([run]) is None
    assert busy_machine_notice([waiting_job(40.0, CALM_LOADING_STRETCH)]) is None
    assert width(ask(run)) < math.log(3.0)


def test_on_a_busy_machine_code_loads_slowly_too() -> None:
    assert disturbance_factor(waiting_job(6.0, 4.0 * CALM_LOADING_STRETCH)) == pytest.approx(6.0)
    run = waiting_job(40.0, 4.0 * CALM_LOADING_STRETCH)
    assert disturbance_factor(run) == pytest.approx(MAX_STRETCH_OVER_LOADING * 4.0 * CALM_STRETCH)
    notice = busy_machine_notice([run])
    assert "to load their code tasks took 10.0 times" in notice.text


def test_queries_of_a_python_program_compute_where_spark_does() -> None:
    """Their stages are named after the line of the program, but nothing of them runs in Python."""
    more = {"name": "collect at /home/me/job.py:12", "sql_execution_id": 3}
    assert disturbance_factor(run_of([3.0], **more)) == pytest.approx(3.0)
    assert disturbance_factor(run_of([3.0], **more, operations=("MapInPandas",))) is None


def test_python_functions_are_not_taken_to_wait() -> None:
    """What they compute is in no CPU time: how their time grows with slots is as unknown as in logs
    without CPU times, and their bottleneck has no name."""
    shown, hidden, unknown = (
        ask_more_slots(run_of([20.0, 20.0], **more))
        for more in ({}, {"operations": ("PythonRDD",)}, {"cpu_seconds": None})
    )
    assert hidden.seconds == pytest.approx(unknown.seconds)
    assert hidden.seconds < shown.seconds
    assert (shown.bottleneck, hidden.bottleneck) == ("io", "waves")


def ask_more_slots(run: Run) -> Prediction:
    fitted = engine.fit(Profile("job", (run,)), model="sparkplan")
    cluster = Cluster.of_executors(executors=2, executor_cores=4)
    return fitted.predict(cluster=cluster, workload=Workload(INPUT))


def test_little_computing_tells_nothing() -> None:
    assert disturbance_factor(run_of([1000.0])) is None


@pytest.mark.parametrize("model", OF_LOGS)
def test_a_calm_log_keeps_its_interval_and_a_busy_one_gets_a_wider_one(model: str) -> None:
    unknown, calm, busy = (
        ask(*(run_of([s, s], scale=scale) for scale in OF_LOGS[model]), model=model)
        for s in (1.0, 1.2, 3.0)
    )
    assert calm.seconds == pytest.approx(busy.seconds)
    assert width(calm) == pytest.approx(width(unknown))
    assert width(busy) > 1.5 * width(calm)
    codes = [{notice.code for notice in found.warnings} for found in (calm, busy)]
    assert "busy-machine" not in codes[0]
    assert "busy-machine" in codes[1]


def test_a_pause_lasts_as_long_however_busy_the_machine_is() -> None:
    """A run of 60 s that then waited for 540 s: others may stretch a tenth of it."""
    busy = run_of([3.0, 3.0])
    paused = replace(busy, seconds=10.0 * busy.seconds)
    machine = UNIFORM_SCALE * math.log(3.0 / CALM_STRETCH)
    scales = [ask(run).forecast.log_scale[0] for run in (busy, paused)]
    calm = [ask(replace(run_of([1.0, 1.0]), seconds=run.seconds)) for run in (busy, paused)]
    own = [found.forecast.log_scale[0] for found in calm]
    expected = [math.hypot(own[0], machine), math.hypot(own[1], machine / 10.0)]
    assert scales == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", OF_LOGS)
def test_every_model_of_logs_is_as_unsure_as_the_network_and_says_so(model: str) -> None:
    calm, waited = (
        ask(*(make(scale=scale) for scale in OF_LOGS[model]), model=model)
        for make in (partial(run_of, [1.0, 3.0]), fetching_run)
    )
    assert width(waited) > 1.2 * width(calm)
    codes = [{notice.code for notice in found.warnings} for found in (calm, waited)]
    assert "waits-for-shuffles" not in codes[0]
    assert "waits-for-shuffles" in codes[1]


@pytest.mark.parametrize("model", OF_LOGS)
def test_logs_that_agree_on_a_busy_machine_are_no_surer_than_it_is(model: str) -> None:
    busy = [run_of([3.0, 3.0], scale=scale) for scale in (1.0, 1.2, 1.4, 1.6)]
    assert ask(*busy, model=model).forecast.log_scale[0] >= disturbance_spread(busy) * (1 - 1e-9)


def test_from_four_configurations_on_the_disturbance_is_the_least() -> None:
    """From four configurations on the interval is what they missed each other by, but the next run
    may meet another disturbance than these did: as wide as for one log, and no wider."""
    scales = (1.0, 1.2, 1.4, 1.6)
    calm = [run_of([1.0, 1.0], scale=scale) for scale in scales]
    busy = [run_of([3.0, 3.0], scale=scale) for scale in scales]
    wide = ask(*busy)
    assert width(wide) == pytest.approx(width(ask(busy[0])), rel=0.05)
    assert width(wide) > 3.0 * width(ask(*calm))


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "spark-rapids-tools/aqeshuffle_eventlog.zstd",
        "spark-rapids-tools/dsAndDf_eventlog.zstd",
        "spark-rapids-tools/db_subExecution_id.zstd",
        "spark-rapids-tools/eventlog_v2_local-1623876083964",
    ],
)
def test_public_logs_of_clusters_are_calm(name: str) -> None:
    (run,) = engine.read(SHARED / "eventlogs" / name).runs
    assert 1.0 <= (disturbance_factor(run) or 0.0) < CALM_STRETCH + 0.02
    assert disturbance_spread([run]) < 0.02
