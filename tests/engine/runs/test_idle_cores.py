"""Cores of executors that no task can hold: `spark.task.cpus` does not divide them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.batch import ClusterBatch
from engine.cluster import cores_held
from engine.optimiser import surface_of
from engine.profile import Profile, configured_task_cpus

DATA = Path(__file__).parents[2] / "data"
LOG = engine.read(DATA / "idle_cores.zstd")
"""Two executors of 3 cores, tasks of 2: Spark 3.5.9 had one task at a time on each."""


def executors(count: int, cores: int) -> engine.Cluster:
    return engine.Cluster.of_executors(executors=count, executor_cores=cores)


@pytest.mark.parametrize(
    ("cores", "task_cpus", "held"),
    [(3, 2, 2), (5, 2, 4), (4, 2, 4), (7, 3, 6), (4, 1, 4), (1, 2, 1), (2, 4, 2)],
)
def test_a_task_gets_all_of_its_cores_on_one_executor(
    cores: int, task_cpus: int, held: int
) -> None:
    assert cores_held(cores, task_cpus) == held
    config = {"spark.task.cpus": str(task_cpus)}
    (run,) = LOG.runs
    profile = Profile("held", (replace(run, config={**run.config, **config}),))
    batch = ClusterBatch.of([executors(6, cores)], profile)
    assert batch.slots.tolist() == [6 * held]
    assert batch.vcores.tolist() == [6 * cores]


@pytest.mark.parametrize(
    ("told", "held"),
    [
        ("2", 2),
        ("1024", 1024),
        ("1025", 1),
        ("0", 1),
        ("-2", 1),
        ("\u0662", 1),
        ("9" * 5000, 1),
        ("", 1),
    ],
)
def test_what_is_no_number_of_cores_is_one(told: str, held: int) -> None:
    assert configured_task_cpus({"spark.task.cpus": told}) == held


def test_an_executor_that_came_in_part_has_what_is_left_for_tasks() -> None:
    (run,) = LOG.runs
    steps = replace(run, cores=((0.0, 3), (1.0, 4), (2.0, 6))).slot_steps
    assert steps == ((0.0, 2), (1.0, 3), (2.0, 4))


def test_the_log_of_such_a_run_had_a_task_at_a_time_on_each_executor() -> None:
    """Six tasks, one for each of the six cores, in three rounds on two executors."""
    (run,) = LOG.runs
    assert (run.cluster.executors, run.cluster.executor_cores, run.cluster.slots) == (2, 3, 4)
    assert run.cluster.vcores == 6
    assert [at for at, _ in run.slot_steps] == [at for at, _ in run.cores]
    assert max(slots for _, slots in run.slot_steps) == 4
    _, stage = run.stages
    rounds = (stage.completed_seconds - stage.submitted_seconds) / (stage.task_seconds.total / 6)
    assert 3.0 <= rounds < 3.5


@pytest.mark.parametrize(("count", "apart"), [(1, False), (2, False), (4, True)])
def test_only_whole_tasks_run_at_once(count: int, apart: bool) -> None:
    """With the third cores there would be half as many again at once. The second stage has three
    tasks for each executor, one after the other on any number of them; more executors are asked for
    apart, since on one machine they are slower."""
    (run,) = LOG.runs
    if apart:
        run = replace(run, config={**run.config, "spark.master": "yarn"})
    stages = engine.fit(Profile("held", (run,))).predict(cluster=executors(count, 3)).stages
    assert stages is not None
    assert [stage.waves for stage in stages] == [8 / count, 3.0]
    task = run.stages[1].task_seconds.total / 6
    assert 2.4 * task <= stages[1].end_seconds - stages[1].start_seconds < 3.5 * task


@pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])
def test_the_third_core_of_two_makes_nothing_faster(model: str) -> None:
    (run,) = LOG.runs
    one_stage = replace(run, stages=run.stages[:1])  # whose number of tasks no core decides
    fitted = engine.fit(Profile("held", (one_stage,)), model=model)
    clusters = [executors(count, cores) for count in (1, 2, 3, 5) for cores in (2, 3)]
    found = fitted.predict_many(clusters=clusters).seconds
    assert np.isfinite(found).all()
    assert found[1::2].tolist() == pytest.approx(found[::2].tolist())


def test_a_partition_for_each_core_counts_those_that_idle() -> None:
    """Spark's default parallelism: the second stage had six tasks on two executors."""
    fitted = engine.fit(LOG)
    for count in (2, 4):
        stages = fitted.predict(cluster=executors(count, 3)).stages
        assert stages is not None
        assert stages[1].tasks == 3 * count


def test_idle_cores_are_said_and_counted_in_resource_time() -> None:
    found = engine.recommend_owned(
        engine.fit(LOG), executor_cores=3, max_executors=4, deadline_seconds=3600.0
    )
    best = found.recommended
    assert best is not None
    assert best.executors is not None
    assert best.vcore_seconds == pytest.approx(best.executors * 3 * best.seconds)
    fitted = engine.fit(LOG)
    codes = {
        cores: [n.code for n in fitted.predict(cluster=executors(2, cores)).warnings]
        for cores in (1, 2, 3, 4, 5)
    }
    assert [cores for cores, told in codes.items() if "idle-cores" in told] == [3, 5]
    (said,) = [
        n for n in fitted.predict(cluster=executors(2, 5)).warnings if n.code == "idle-cores"
    ]
    assert said.text.endswith("executors here have 5: each runs 2 at a time, and 1 of its cores "
                              "never has a task")  # fmt: skip


def test_on_nodes_of_a_measured_type_a_grid_says_what_single_answers_say() -> None:
    profile = engine.read(DATA / "idle_cores.zstd", ran_on="m5.2xlarge")
    catalog, fitted = engine.load_catalog("aws"), engine.fit(profile)
    found = engine.recommend(
        fitted, catalog=catalog, instances=["m5.2xlarge"], max_nodes=6, deadline_seconds=3600.0
    )
    assert found.frontier
    for choice in found.frontier:
        (nodes,) = choice.composition.values()
        cluster = engine.Cluster.of_nodes(instance_type="m5.2xlarge", nodes=nodes, catalog=catalog)
        assert choice.seconds == pytest.approx(fitted.predict(cluster=cluster).seconds)


def test_a_surface_of_nodes_tells_cores_with_tasks_from_all_of_them() -> None:
    """Two executors of 3 cores on a node of 8: four cores have tasks, six are paid for."""
    profile = engine.read(DATA / "idle_cores.zstd", ran_on="m5.2xlarge")
    surface = surface_of(
        engine.fit(profile), engine.load_catalog("aws"), instances=["m5.2xlarge"], max_nodes=2
    )
    assert (surface.slots.tolist(), surface.vcores.tolist()) == ([4.0], [6.0])
    assert surface.vcore_seconds.ravel().tolist() == pytest.approx(
        (6.0 * surface.nodes * surface.seconds).ravel().tolist()
    )


def test_a_stage_that_asks_for_cores_of_its_own_is_said_too() -> None:
    fitted = engine.fit(engine.read(DATA / "wide_tasks.zstd"))
    (said,) = [
        n for n in fitted.predict(cluster=executors(2, 3)).warnings if n.code == "idle-cores"
    ]
    assert said.text.startswith("stage 1 (")
    assert "which its time does not count" in said.text
    assert "idle-cores" not in [n.code for n in fitted.predict(cluster=executors(2, 4)).warnings]
