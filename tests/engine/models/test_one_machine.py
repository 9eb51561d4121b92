"""Further slots of the machine that ran a log, and what its tasks waited for."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, measure, observed
from sparkplan_runs import width

import engine
from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.base import Prediction
from engine.models.stages.job_phases import driver_seconds
from engine.models.stages.one_machine import (
    SharedCores,
    crowding_of_batch,
    on_one_machine,
    shared_cores_scale,
    waiting_law,
)
from engine.profile import Profile, Run

TASKS, INPUT = 64, 64 * 128e6


def run_of(master: str | None, *, slots: int = 2, scale: float = 1.0, computed: float = 1.0) -> Run:
    """One stage of 64 tasks of 6 s, of which they compute a share."""
    seconds = np.full(round(TASKS * scale), 6.0)
    cpu = {"run_seconds": measure(seconds), "cpu_seconds": measure(seconds * computed)}
    run = observed(
        [Stage(seconds, (), input_bytes=INPUT * scale, more=cpu)],
        slots=slots,
        input_bytes=INPUT * scale,
    )
    return replace(run, config={"spark.master": master} if master else {})


def ask(
    *runs: Run, slots: int, scale: float = 1.0, nodes: bool = False, name: str = "sparkplan"
) -> Prediction:
    model = engine.fit(Profile("job", runs), model=name)
    cluster = Cluster.of_executors(executors=slots, executor_cores=1)
    if nodes:
        cluster = Cluster.of_nodes(
            instance_type="m5.large", nodes=slots // 2, vcpus=2, memory_gib=8.0
        )
    return model.predict(cluster=cluster, workload=Workload(INPUT * scale))


def codes(found: Prediction) -> set[str]:
    return {notice.code for notice in found.warnings}


@pytest.mark.parametrize(("master", "most"), [("local[2]", 2.0), ("local-cluster[2,1,1024]", 4.0)])
def test_twice_the_slots_of_one_machine_save_between_half_and_nothing(
    master: str, most: float
) -> None:
    """Further executors are further JVMs on the same cores, further threads of one are not: what
    more of either costs is between nothing and a doubling."""
    own, more = (ask(run_of(master), slots=slots) for slots in (2, 4))
    apart = ask(run_of("yarn"), slots=4)
    assert apart.seconds * 1.3 < more.seconds < apart.seconds * math.sqrt(most) * 1.01
    assert more.seconds == pytest.approx(apart.seconds * math.sqrt(most), rel=0.05)
    text = next(notice.text for notice in more.warnings if notice.code == "one-machine")
    assert "between 1 and 2 times as long" in text
    assert ("as much again where executors are twice as many" in text) == (most == 4.0)
    assert apart.low is not None
    assert more.high > own.seconds * 0.95
    assert width(more) > 1.5 * width(apart)
    assert "one-machine" in codes(more)
    assert "one-machine" not in codes(own) | codes(apart)


def in_executors(run: Run, executors: int) -> Run:
    """The same run on as many slots of so many executors."""
    cores = (run.cluster.slots or 1) // executors
    cluster = Cluster.of_executors(executors=executors, executor_cores=cores)
    return replace(run, cluster=cluster)


def of_jvms(executors: int, cores: int, *, scale: float = 1.0) -> Run:
    master = f"local-cluster[{executors},{cores},1024]"
    return in_executors(run_of(master, slots=executors * cores, scale=scale), executors)


@pytest.mark.parametrize(("own", "asked"), [(2, 1), (1, 2)])
def test_the_same_slots_in_other_jvms_load_the_same_code_more_or_less_often(
    own: int, asked: int
) -> None:
    """Between nothing and twice the time for twice the JVMs, whose slots are as many."""
    log = of_jvms(own, 2 // own)
    model = engine.fit(Profile("job", (log,)), model="sparkplan")
    same = model.predict(cluster=log.cluster, workload=log.workload)
    other = model.predict(cluster=of_jvms(asked, 2 // asked).cluster, workload=log.workload)
    assert other.seconds == pytest.approx(same.seconds * math.sqrt(asked / own), rel=0.02)
    assert other.low < same.seconds < other.high
    assert width(other) > 1.5 * width(same)
    assert "one-machine" in codes(other)
    assert "one-machine" not in codes(same)


@pytest.mark.parametrize("name", ["simcost", "boe", "peridot", "sparkplan"])
def test_each_layout_that_ran_is_known_whatever_the_order_of_the_logs(name: str) -> None:
    logs = [of_jvms(2, 1, scale=0.5), of_jvms(1, 2)]
    asked = [*(log.cluster for log in logs), of_jvms(4, 1).cluster]
    models = [
        engine.fit(Profile("job", tuple(ordered)), model=name) for ordered in (logs, logs[::-1])
    ]
    answers = [
        [model.predict(cluster=cluster, workload=Workload(INPUT)) for cluster in asked]
        for model in models
    ]
    for one, other in zip(*answers, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-6)
        assert ("one-machine" in codes(one)) is ("one-machine" in codes(other))
    assert ["one-machine" in codes(found) for found in answers[0]] == [False, False, True]
    (warning,) = [n for n in answers[0][2].warnings if n.code == "one-machine"]
    assert "add a log of another number of slots and of executors" in warning.remedy


@pytest.mark.parametrize(("own", "asked"), [(1, 2), (2, 1)])
def test_the_driver_is_unsure_where_other_numbers_of_jvms_start_beside_it(
    own: int, asked: int
) -> None:
    """What a driver does for half of the run may take as long again beside twice the executors;
    threads of one start nothing, and executors of a cluster have cores of their own."""
    cluster = Cluster.of_executors(executors=asked, executor_cores=1)
    added = []
    for gap_seconds in (0.0, 200.0):
        stages = [Stage(np.full(TASKS, 6.0 / own), input_bytes=INPUT)]
        run = observed(stages, [Job((), gap_seconds)], slots=own)
        scales = []
        for master in (f"local-cluster[{own},1,1024]", f"local[{own}]", "yarn"):
            model = engine.fit(Profile("job", (replace(run, config={"spark.master": master}),)))
            batch = ClusterBatch.of([cluster], model.profile)
            scales.append(float(model.forecast(batch, run.workload).log_scale[0]))
        added.append(math.sqrt(scales[0] ** 2 - scales[1] ** 2))
        if gap_seconds:
            found = model.predict(cluster=cluster, workload=run.workload)
            driver = found.phases["driver"] / found.seconds
    assert added[1] > added[0] * (1.0 - driver)
    most = math.log(2.0) / math.sqrt(3.0) * driver
    assert 0.8 * most < added[1] < 1.3 * most


def test_of_more_data_the_code_of_further_jvms_is_a_smaller_part() -> None:
    log, clusters = of_jvms(1, 2), [of_jvms(1, 2).cluster, of_jvms(2, 1).cluster]
    model = engine.fit(Profile("job", (log,)), model="sparkplan")
    costs = []
    for scale in (1.0, 4.0, 16.0, 0.25):
        workload = Workload(INPUT * scale)
        one, two = (model.predict(cluster=c, workload=workload).seconds for c in clusters)
        costs.append(math.log(two / one))
    assert costs[0] == pytest.approx(math.log(2.0) / 2.0, rel=0.05)
    assert costs[1:] == pytest.approx([costs[0] / 4.0, costs[0] / 16.0, costs[0]], rel=0.05)


def test_executors_without_a_task_load_nothing() -> None:
    """Two tasks keep two of four executors of two cores busy, asked for alone or together."""
    run = observed([Stage(np.full(2, 60.0), input_bytes=2 * 128e6)], slots=2)
    run = replace(in_executors(run, 1), config={"spark.master": "local-cluster[1,2,1024]"})
    model = engine.fit(Profile("job", (run,)), model="sparkplan")
    clusters = [Cluster.of_executors(executors=many, executor_cores=2) for many in (1, 2, 3, 4)]
    alone = [model.predict(cluster=one, workload=run.workload).seconds for one in clusters]
    batch = ClusterBatch.of(clusters, model.profile)
    assert alone[1] > 1.2 * alone[0]
    assert alone[2:] == pytest.approx([alone[1]] * 2, rel=1e-9)
    assert model.forecast(batch, run.workload).seconds == pytest.approx(alone, rel=1e-9)


def test_logs_of_other_slots_tell_of_jvms_only_where_these_differ_too() -> None:
    asked = of_jvms(2, 1)
    crowded = crowding_of_batch(
        of_jvms(1, 2), ClusterBatch.of([asked.cluster], Profile("job", (asked,))), np.zeros(1)
    )
    threads = SharedCores.of([of_jvms(1, 1), of_jvms(1, 2)])
    executors = SharedCores.of([of_jvms(1, 1), of_jvms(2, 1)])
    assert threads.expected(crowded) == pytest.approx([math.log(2.0) / 2.0])
    assert executors.expected(crowded) == pytest.approx([0.0])
    assert executors.log_scale(crowded) == threads.log_scale(crowded) > 0.0


def test_a_left_out_log_is_predicted_with_what_its_jvms_cost() -> None:
    """Twice the slots, as threads or as executors: these are the slower by what JVMs cost."""
    threads, executors = (
        engine.fit(Profile("job", (of_jvms(1, 1), more)), model="sparkplan").validation
        for more in (of_jvms(1, 2), of_jvms(2, 1))
    )
    assert threads is not None
    assert executors is not None
    ratio = executors.predicted_seconds[1] / threads.predicted_seconds[1]
    assert ratio == pytest.approx(math.sqrt(2.0), rel=0.02)


def test_many_times_the_slots_are_asked_of_other_machines() -> None:
    found = ask(run_of("local[2]"), slots=32).seconds / ask(run_of("yarn"), slots=32).seconds
    assert 1.3 < found < math.sqrt(2.0) * 1.01


def test_the_driver_keeps_its_time_whatever_the_slots() -> None:
    """Slots without a core of their own make tasks slower, not what waits for no slot."""
    job = engine.read("word-count-small")
    fitted = engine.fit(job, model="sparkplan")
    phases = []
    for slots in (1, 2, 4, 8):
        cluster = Cluster.of_executors(executors=slots, executor_cores=1)
        found = fitted.predict(cluster=cluster, workload=job.reference_workload)
        assert sum(found.phases.values()) == pytest.approx(found.seconds)
        phases.append(found.phases["driver"])
    assert phases == pytest.approx([phases[0]] * len(phases), rel=1e-3)


def test_fewer_slots_gain_what_more_would_lose() -> None:
    crowded, apart = (ask(run_of(master, slots=8), slots=4) for master in ("local[8]", "yarn"))
    assert crowded.seconds == pytest.approx(apart.seconds / math.sqrt(2.0), rel=0.05)
    assert "one-machine" in codes(crowded)
    assert "one-machine" not in codes(apart)


def test_nodes_are_machines_of_their_own() -> None:
    local, yarn = (ask(run_of(master), slots=8, nodes=True) for master in ("local[2]", "yarn"))
    assert local.seconds == pytest.approx(yarn.seconds, rel=1e-9)
    assert width(local) == pytest.approx(width(yarn), rel=1e-9)
    assert "one-machine" not in codes(local)


def test_logs_of_several_numbers_of_slots_tell_themselves() -> None:
    found = ask(run_of("local[2]"), run_of("local[4]", slots=4), slots=8)
    assert "one-machine" not in codes(found)


@pytest.mark.parametrize("name", ["simcost", "boe", "peridot"])
def test_published_laws_stay_and_are_less_sure_of_other_slots(name: str) -> None:
    """They give each slot a core: half the time, where it may be all of it."""
    local, yarn = (
        [run_of(master, scale=scale) for scale in (1.0, 2.0)] for master in ("local[2]", "yarn")
    )
    own, more, fewer = (ask(*local, slots=slots, name=name) for slots in (2, 4, 1))
    apart, nodes = ask(*yarn, slots=4, name=name), ask(*local, slots=4, nodes=True, name=name)
    assert more.seconds == pytest.approx(apart.seconds, rel=1e-9)
    assert width(ask(*yarn, slots=2, name=name)) == pytest.approx(width(own), rel=1e-9)
    assert more.high > own.seconds * 0.9
    assert width(more) > 1.5 * width(apart)
    assert width(fewer) > 1.5 * width(ask(*yarn, slots=1, name=name))
    assert {"one-machine"} <= codes(more) & codes(fewer)
    assert "one-machine" not in codes(own) | codes(apart) | codes(nodes)
    text = next(notice.text for notice in more.warnings if notice.code == "one-machine")
    assert f"{name} gives each slot a core of its own" in text


def test_half_of_what_tasks_waited_stays_whatever_the_input() -> None:
    waiting, busy = (
        ask(run_of("local[2]", computed=computed), slots=2, scale=8.0).seconds
        / ask(run_of("local[2]", computed=computed), slots=2).seconds
        for computed in (0.5, 1.0)
    )
    assert busy == pytest.approx(8.0, rel=0.05)
    assert waiting == pytest.approx(0.75 * 8.0 + 0.25, rel=0.05)
    assert waiting_law(run_of("local[2]", computed=0.5).stages[0]).work == pytest.approx(-0.25)


def test_what_a_cluster_waited_for_grows_with_the_data() -> None:
    run = run_of("yarn", computed=0.5)
    assert ask(run, slots=2, scale=8.0).seconds == pytest.approx(
        8.0 * ask(run, slots=2).seconds, rel=0.05
    )


def test_unknown_computing_says_nothing_of_waiting() -> None:
    stage = run_of("local[2]", computed=0.5).stages[0]
    assert waiting_law(replace(stage, cpu_seconds=None)).work == 0.0
    assert waiting_law(replace(stage, operations=("PythonRDD",))).work == 0.0


def test_two_inputs_overrule_the_prior_of_waiting() -> None:
    """Work in proportion to the input, as two logs show it, whatever their tasks waited."""
    logs = [run_of("local[2]", scale=scale, computed=0.5) for scale in (1.0, 4.0)]
    found = ask(*logs, slots=2, scale=16.0).seconds / ask(logs[0], slots=2).seconds
    alone = ask(logs[0], slots=2, scale=16.0).seconds / ask(logs[0], slots=2).seconds
    assert alone < 13.0
    assert found > 14.5


def test_collection_of_garbage_and_fetches_are_not_what_stays() -> None:
    """Of 6 s a task computes 3, collects for 1 and fetches for a half: 1.5 of 6 are waiting."""
    stage = run_of("local[2]", computed=0.5).stages[0]
    ones = np.ones(TASKS)
    told = replace(stage, gc_seconds=measure(ones), fetch_wait_seconds=measure(0.5 * ones))
    assert waiting_law(told).work == pytest.approx(-0.5 * 0.25)
    more = replace(stage, cpu_seconds=measure(7.0 * ones))
    assert waiting_law(more).work == 0.0


@pytest.mark.parametrize(("slots", "doublings"), [(2, 0.0), (4, 1.0), (1, 1.0), (64, 1.0)])
def test_doubt_of_a_law_is_of_its_share_that_slots_shorten(slots: int, doublings: float) -> None:
    """Evenly between nothing and ln 2: the root mean square is ln 2 / sqrt(3) per doubling."""
    one = run_of("local[2]")
    runs = [replace(one, seconds=one.seconds + after) for after in (10.0, 30.0)]
    driver = 20.0
    assert [driver_seconds(run) for run in runs] == pytest.approx([10.0, 30.0])
    cluster = Cluster.of_executors(executors=slots, executor_cores=1)
    batch = ClusterBatch.of([cluster] * 3, Profile("job", tuple(runs)))
    seconds = np.array([driver + 30.0, 2.0 * driver + 60.0, 0.5 * driver])
    share = np.array([30.0, 60.0 + driver, 0.0]) / np.array([driver + 30.0, seconds[1], 1.0])
    found = shared_cores_scale(runs, batch, seconds)
    assert found == pytest.approx(math.log(2.0) / math.sqrt(3.0) * share * doublings)


def test_slots_that_are_never_busy_raise_no_doubt() -> None:
    runs = [run_of("local[2]")]
    batch = ClusterBatch.of(
        [Cluster.of_executors(executors=4, executor_cores=1)], Profile("job", tuple(runs))
    )
    assert shared_cores_scale(runs, batch, np.array([1e9]), useful_slots=2.0) == pytest.approx(
        [0.0]
    )
    assert shared_cores_scale([run_of("yarn")], batch, np.array([1e9])) == pytest.approx([0.0])


def test_one_log_of_a_cluster_among_those_of_one_machine() -> None:
    assert on_one_machine([run_of("local[2]"), run_of("local[2]")])
    assert not on_one_machine([run_of("local[2]"), run_of("yarn")])


@pytest.mark.parametrize(
    ("slots", "tasks"), [(1, "its tasks, one at a time, had:"), (2, "its 2 tasks at once had:")]
)
def test_the_warning_counts_tasks_at_once(slots: int, tasks: str) -> None:
    found = ask(run_of(f"local[{slots}]", slots=slots), slots=8)
    text = next(notice.text for notice in found.warnings if notice.code == "one-machine")
    assert f"does not say how many cores {tasks} on twice the slots" in text
