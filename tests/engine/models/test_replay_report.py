"""What a replay says of its stages: what bounds them, too few tasks, one long one."""

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, measure, observed
from sparkplan_runs import codes, executors, fit, nodes, run_of

from engine.cluster import Cluster, Workload
from engine.models import fit as fit_model


def test_too_few_tasks_names_the_stage_and_what_to_do() -> None:
    found = fit(run_of(8)).predict(cluster=executors(1000))
    notice = next(n for n in found.warnings if n.code == "too-few-tasks")
    assert "1000 slots" in notice.text
    assert "fewer executors" in notice.remedy
    assert "extrapolating-nodes" in codes(found.warnings)
    assert "too-few-tasks" not in codes(fit(run_of(8)).predict(cluster=executors(16)).warnings)


@pytest.mark.parametrize(
    ("cluster", "less"),
    [
        (executors(1000), "fewer executors"),
        (Cluster.of_executors(executors=1, executor_cores=1000), "an executor of fewer cores"),
        (nodes(250), "fewer nodes"),
        (
            Cluster.of_nodes(instance_type="l", nodes=1, vcpus=1000.0, memory_gib=4000.0),
            "a node of fewer vCPUs",
        ),
    ],
)
def test_too_few_tasks_speaks_of_what_was_asked_for(cluster: Cluster, less: str) -> None:
    found = fit(run_of(8)).predict(cluster=cluster)
    notice = next(n for n in found.warnings if n.code == "too-few-tasks")
    assert notice.remedy == f"use {less}, or smaller splits"


def test_a_stage_of_one_task_is_said_in_the_singular() -> None:
    found = fit(observed([Stage(np.full(1, 60.0), input_bytes=BLOCK)], slots=8)).predict(
        cluster=executors(64)
    )
    notice = next(n for n in found.warnings if n.code == "too-few-tasks")
    assert "has 1 task for 64 slots: beyond 1 slot the time hardly falls" in notice.text


def test_tasks_that_hold_several_slots_leave_fewer_idle() -> None:
    """`spark.task.cpus=2`: eight tasks fill sixteen slots, and one slot holds none."""
    wide = {"task_cpus": 2}
    fitted = fit(observed([Stage(np.full(8, 60.0), input_bytes=BLOCK, more=wide)], slots=8))
    assert "too-few-tasks" not in codes(fitted.predict(cluster=executors(16)).warnings)
    notice = next(
        n for n in fitted.predict(cluster=executors(64)).warnings if n.code == "too-few-tasks"
    )
    assert "has 8 tasks of 2 slots for 64 slots: beyond 16 slots" in notice.text
    one = fit(observed([Stage(np.full(1, 60.0), input_bytes=BLOCK, more=wide)], slots=8))
    found = next(
        n for n in one.predict(cluster=executors(64)).warnings if n.code == "too-few-tasks"
    )
    assert "has 1 task of 2 slots for 64 slots: beyond 2 slots" in found.text


def test_more_shuffle_partitions_help_where_tasks_are_too_few() -> None:
    stages = [
        Stage(np.full(64, 1.0), input_bytes=64 * BLOCK),
        Stage(np.full(8, 60.0), (0,), shuffle_bytes=1e9),
    ]
    model = fit(observed(stages, slots=8))
    plain = model.predict(cluster=executors(64))
    assert plain.bottleneck == "tasks"
    notice = next(n for n in plain.warnings if n.code == "too-few-tasks")
    assert "--shuffle-partitions" in notice.remedy
    size = model.profile.reference_workload.input_bytes
    more = model.predict(cluster=executors(64), workload=Workload(size, shuffle_partitions=64))
    assert more.seconds < 0.5 * plain.seconds
    assert "not-modelled" not in codes(more.warnings)


def test_a_setting_of_queries_is_no_help_for_shuffles_of_rdds() -> None:
    """Nor is it dropped without a word."""
    rdds = {"operations": ("saveAsTextFile", "reduceByKey")}
    stages = [
        Stage(np.full(64, 1.0), input_bytes=64 * BLOCK),
        Stage(np.full(8, 60.0), (0,), shuffle_bytes=1e9, more=rdds),
    ]
    model = fit(observed(stages, slots=8))
    plain = model.predict(cluster=executors(64))
    notice = next(n for n in plain.warnings if n.code == "too-few-tasks")
    assert notice.remedy == "use fewer executors, or name more partitions in the program"
    size = model.profile.reference_workload.input_bytes
    workload = Workload(size, shuffle_partitions=64)
    asked = model.predict(cluster=executors(64), workload=workload)
    assert asked.seconds == plain.seconds
    assert "not-modelled" in codes(asked.warnings)
    for name in ("boe", "simcost"):
        other = fit_model(model.profile, model=name)
        found = other.predict(cluster=executors(64), workload=workload)
        assert "not-modelled" in codes(found.warnings)


def test_a_skewed_stage_is_named() -> None:
    times = np.ones(200)
    times[77] = 90.0
    found = fit(observed([Stage(times, input_bytes=200 * BLOCK)], slots=4)).predict(
        cluster=executors(32)
    )
    assert found.bottleneck == "skew"
    assert "stage 0" in next(n for n in found.warnings if n.code == "skewed-stage").text


@pytest.mark.parametrize(("largest", "remedy"), [(20.0, "split"), (1.2, "no task is known")])
def test_a_long_task_is_split_where_its_data_says_why(largest: float, remedy: str) -> None:
    times, sizes = np.full(40, 2.0), np.full(40, float(BLOCK))
    times[7], sizes[7] = 60.0, largest * BLOCK
    run = observed([Stage(times, more={"input_bytes": measure(sizes)})], slots=2)
    found = fit(run).predict(cluster=executors(8))
    (said,) = (notice for notice in found.warnings if notice.code == "skewed-stage")
    assert (said.remedy or "").startswith(remedy)


def test_first_tasks_on_a_slot_are_no_skew() -> None:
    """They start Python and load classes: no partition of theirs is larger, and none to split."""
    cold = Stage(np.ones(12), input_bytes=12 * BLOCK, cold_seconds=18.0)
    skewed = np.ones(12)
    skewed[0] = 40.0
    both = Stage(skewed, input_bytes=12 * BLOCK, cold_seconds=5.0)
    uneven = Stage(np.asarray([12.0, *[1.0] * 11]), input_bytes=12 * BLOCK, cold_seconds=28.0)
    words = []
    for stage in (cold, both, uneven):
        found = fit(observed([stage], slots=2)).predict(cluster=executors(8))
        words.append("skewed-stage" in {notice.code for notice in found.warnings})
    assert words == [False, True, False]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"cpu_seconds": measure(np.full(40, 1.9))}, "cpu"),
        ({"cpu_seconds": measure(np.full(40, 0.4))}, "io"),
        ({"gc_seconds": measure(np.full(40, 0.6))}, "gc"),
        (
            {
                "gc_seconds": measure(np.full(40, 0.1)),
                "run_seconds": measure(np.full(40, 0.3)),
                "overhead_seconds": measure(np.full(40, 1.7)),
            },
            "launch",
        ),
        ({"fetch_wait_seconds": measure(np.full(40, 0.9))}, "shuffle"),
        ({}, "waves"),
    ],
)
def test_what_bounds_a_stage(more: dict[str, object], word: str) -> None:
    stage = Stage(np.full(40, 2.0), input_bytes=40 * BLOCK, more=more)
    assert fit(observed([stage], slots=4)).predict(cluster=executors(4)).bottleneck == word


def test_the_driver_can_be_the_bottleneck() -> None:
    run = observed([Stage(np.full(4, 2.0), input_bytes=4 * BLOCK)], [Job((), 60.0)], slots=4)
    found = fit(run).predict(cluster=executors(4))
    assert found.bottleneck == "driver"
