"""What a replay says of its stages, and replays of the bundled log."""

import re
from pathlib import Path

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, measure, observed
from sparkplan_runs import codes, executors, fit, nodes, run_of

import engine
from engine.cluster import Cluster, Workload
from engine.models import fit as fit_model
from engine.models.replay.replayed_run import Replay


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


SAMPLE = Path(__file__).parents[3] / "sample_logs" / "nightly-features.zstd"


def test_a_real_run_is_reproduced() -> None:
    run = engine.read(SAMPLE).runs[0]
    assert Replay.of(run).replayed(run.cluster.slots or 1).seconds == pytest.approx(
        run.seconds, rel=0.02
    )


def test_profile_and_log_predict_the_same(tmp_path: Path) -> None:
    profile = engine.read(SAMPLE)
    engine.write_profile(profile, tmp_path / "profile.yaml")
    again = engine.read(tmp_path / "profile.yaml")
    models = [engine.fit(source) for source in (profile, again)]
    for count in (2, 7, 40, 300):
        cluster = engine.Cluster.of_executors(executors=count, executor_cores=1)
        for scale in (1.0, 5.0):
            log, stored = (
                model.predict(cluster=cluster, workload=model.profile.workload_at(scale))
                for model in models
            )
            assert stored.seconds == pytest.approx(log.seconds, rel=0.02)
            assert stored.high == pytest.approx(log.high, rel=0.02)


@pytest.mark.parametrize("name", ["nightly-features", "sales-report-large"])
def test_four_slots_more_are_no_jump(name: str) -> None:
    """Where the random order of tasks decided which of them met a new executor or a second wave,
    they took up to 6 % longer."""
    replay = Replay.of(engine.read(name).runs[0])
    seconds = np.asarray([replay.replayed(slots).seconds for slots in range(24, 132, 4)])
    assert (seconds[1:] / seconds[:-1]).max() < 1.015


def test_fewer_slots_that_take_less_time_are_named() -> None:
    """Small stages of film ALS meet another executor on more than 16 slots, which starts cold."""
    fitted = engine.fit(engine.read("movie-als-large"))
    wanted = fitted.profile.workload_at(0.3)

    def answer(executors: int) -> engine.Prediction:
        cluster = engine.Cluster.of_executors(executors=executors, executor_cores=1)
        return fitted.predict(cluster=cluster, workload=wanted)

    many = answer(18)
    notice = next(n for n in many.warnings if n.code == "too-few-tasks")
    told = re.search(r"beyond (\d+) (?:slots the time|it) rises: new executors", notice.text)
    assert answer(int(told[1])).seconds < 0.99 * many.seconds
    assert not any("rises" in notice.text for notice in answer(12).warnings)
