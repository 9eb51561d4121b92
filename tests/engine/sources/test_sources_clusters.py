"""What a log tells of its cluster: cores over time, memory, where it ran, what is said."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.catalog import InstanceType
from engine.sources import read


def busy(start: float, end: float, *, executor: str = "1") -> list[log.Event]:
    stage = log.info(0, 1)
    return [
        log.submitted(stage, start),
        log.task(0, 0, start, end, executor=executor),
        log.completed(stage, start, end),
        log.end(end + 1.0),
    ]


def test_a_cluster_that_stays_is_counted_at_its_largest(tmp_path: Path) -> None:
    """Executors that register while the first stage runs are no churn."""
    late = log.added("3", 5.0, host="h9")
    run = run_of(tmp_path, [*log.header(), late, *busy(2.0, 12.0)])
    assert (run.cluster.executors, run.cluster.nodes) == (3, 3)
    assert run.cores == ((1.0, 4), (5.0, 6))
    assert run.notices == ()


def test_executors_that_leave_after_the_last_stage_were_there(tmp_path: Path) -> None:
    leaving = [log.removed("2", 12.5)]
    run = run_of(tmp_path, [*log.header(), *busy(2.0, 12.0)[:-1], *leaving, log.end(14.0)])
    assert (run.cluster.executors, run.cluster.nodes) == (2, 2)
    assert run.notices == ()


def test_a_cluster_that_changes_is_counted_by_its_mean_while_busy(tmp_path: Path) -> None:
    """1 executor for 2 s, then 9 for 6 s, then 1 for 2 s: mean (2 + 54 + 2) / 10 = 5.8."""
    extra = [str(n) for n in range(2, 10)]
    events = log.header(executors=1, spark_dynamicAllocation_enabled="true")
    events += [log.added(name, 4.0, host=f"h{name}") for name in extra]
    events += [log.removed(name, 10.0) for name in extra]
    run = run_of(tmp_path, [*events, *busy(2.0, 12.0)])
    assert (run.cluster.executors, run.cluster.nodes) == (6, 6)
    assert run.cores == ((1.0, 2), (4.0, 18), (10.0, 2))
    assert [notice.code for notice in run.notices] == ["dynamic-allocation"]


def test_waiting_for_a_first_executor_is_no_smaller_cluster(tmp_path: Path) -> None:
    """4 executors for 2 s, none for 6 s, 4 for 2 s: nothing ran on none."""
    names = ["3", "4", "5", "6"]
    events = log.header(executors=0, spark_dynamicAllocation_enabled="true")
    events += [log.added(name, 2.0, host=f"h{name}") for name in names]
    events += [log.removed(name, 4.0) for name in names]
    events += [log.added(f"1{name}", 10.0, host=f"h{name}") for name in names]
    run = run_of(tmp_path, [*events, *busy(2.0, 12.0, executor="13")])
    assert (run.cluster.executors, run.cluster.nodes) == (4, 4)


def test_executors_of_different_size(tmp_path: Path) -> None:
    events = [*log.header(), log.added("3", 1.0, cores=8, profile=1)]
    run = run_of(tmp_path, [*events, *busy(2.0, 12.0)])
    assert run.cluster.executor_cores == 8
    assert run.cluster.executors == 2  # 12 cores in executors of 8
    assert [notice.code for notice in run.notices] == ["mixed-executors"]


@pytest.mark.parametrize(("master", "cores"), [("local", 1), ("local[3]", 3), ("local[4, 2]", 4)])
def test_local_mode_without_executor_events(tmp_path: Path, master: str, cores: int) -> None:
    events = log.header(master=master, executors=0, spark_driver_memory="2g")
    manager = {
        "Event": "SparkListenerBlockManagerAdded",
        "Block Manager ID": {"Executor ID": "driver", "Host": "me"},
        "Maximum Memory": 1000,
        "Timestamp": log.ms(0.5),
    }
    run = run_of(tmp_path, [*events, manager, *busy(2.0, 4.0, executor="driver")])
    cluster = run.cluster
    assert (cluster.nodes, cluster.executors, cluster.executor_cores) == (1, 1, cores)
    assert cluster.executor_memory_gib == 2.0
    assert run.storage_memory_bytes == 1000.0


@pytest.mark.parametrize(("on_heap", "counted"), [(400, 400.0), (0, 1000.0), (None, 1000.0)])
def test_blocks_are_cached_on_the_heap(tmp_path: Path, on_heap: int | None, counted: float) -> None:
    """Off-heap memory belongs to tasks: counted in, a full cache looked as if all of it fitted."""
    manager = {
        "Event": "SparkListenerBlockManagerAdded",
        "Block Manager ID": {"Executor ID": "driver", "Host": "me"},
        "Maximum Memory": 1000,
        "Maximum Onheap Memory": on_heap,
        "Timestamp": log.ms(0.5),
    }
    events = log.header(master="local[2]", executors=0)
    assert (
        run_of(
            tmp_path, [*events, manager, *busy(2.0, 4.0, executor="driver")]
        ).storage_memory_bytes
        == counted
    )


@pytest.mark.parametrize("key", ["Maximum Memory", "Maximum Onheap Memory"])
def test_memory_that_no_spark_could_count_is_damage(tmp_path: Path, key: str) -> None:
    """A number of more than 64 bits once made a profile that could not be read back."""
    manager = {
        "Event": "SparkListenerBlockManagerAdded",
        "Block Manager ID": {"Executor ID": "driver", "Host": "me"},
        key: 10**30,
    }
    events = [*log.header(master="local[2]", executors=0), manager]
    run = run_of(tmp_path, [*events, *busy(2.0, 4.0)])
    assert run.storage_memory_bytes is None
    assert [notice.code for notice in run.notices] == ["incomplete-log"]


def test_memory_of_the_resource_profile_and_task_cpus(tmp_path: Path) -> None:
    profile = {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": 0,
        "Executor Resource Requests": {"memory": {"Amount": 6144}},
        "Task Resource Requests": {"cpus": {"Amount": 2.0}},
    }
    run = run_of(tmp_path, [profile, *log.one_stage()])
    assert run.cluster.executor_memory_gib == 6.0
    assert run.stages[0].task_cpus == 2


@pytest.mark.parametrize("told", ["999999999g", None])
def test_a_heap_that_no_machine_has_is_damage(tmp_path: Path, told: str | None) -> None:
    profile = {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": 0,
        "Executor Resource Requests": {"memory": {"Amount": 1e300}},
    }
    properties = {"spark_executor_memory": told} if told else {}
    events = [*log.header(**properties), *busy(2.0, 4.0)]
    assert run_of(tmp_path, [profile, *events]).cluster.executor_memory_gib is None


def test_where_it_ran(tmp_path: Path) -> None:
    named = InstanceType("m5.xlarge", vcpus=4, memory_gib=16)
    path = log.write(tmp_path / "app", log.one_stage())
    assert read(path, ran_on=named).runs[0].cluster.composition == {"m5.xlarge": 2}
    assert read(path).runs[0].cluster.composition == {}
    tag = {"spark_databricks_clusterUsageTags_clusterNodeType": "Standard_E8s_v3"}
    events = [*log.header(cores=8, **tag), *log.one_stage()[5:]]
    run = run_of(tmp_path, events)
    assert run.cluster.composition == {"Standard_E8s_v3": 2}
    assert run.cluster.instance.vcpus == 8


def test_only_settings_that_matter_are_kept(tmp_path: Path) -> None:
    events = log.header(
        master="spark://10.0.0.1:7077",
        spark_executor_memory="4g",
        spark_executor_extraJavaOptions="-Dpassword=x",
        spark_hadoop_fs_s3a_secret_key="secret",
        spark_sql_adaptive_enabled="true",
        spark_sql_adaptive_customCostEvaluatorClass="/home/me/x",
    )
    run = run_of(tmp_path, [*events, *log.one_stage()[5:]])
    assert dict(run.config) == {
        "spark.executor.memory": "4g",
        "spark.master": "spark",
        "spark.sql.adaptive.enabled": "true",
    }


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({"spark_databricks_clusterUsageTags_runtimeEngine": "PHOTON"}, "different-engine"),
        ({"spark_plugins": "com.nvidia.spark.SQLPlugin"}, "different-engine"),
        ({"master": "k8s://https://10.0.0.1"}, "nodes-from-pods"),
    ],
)
def test_notices_of_the_environment(tmp_path: Path, properties: dict[str, str], code: str) -> None:
    run = run_of(tmp_path, [*log.header(**properties), *log.one_stage()[5:]])
    assert [notice.code for notice in run.notices] == [code]


def test_first_tasks_of_each_executor_are_cold(tmp_path: Path) -> None:
    stage = log.info(0, 8)
    starts = [log.task_start(0, n, 2.0, executor=str(n % 2 + 1)) for n in range(8)]
    ends = [log.task(0, n, 2.0, 3.0 + n, executor=str(n % 2 + 1)) for n in range(8)]
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 2.0), *starts, *ends,
         log.completed(stage, 2.0, 10.0), log.end(11.0)],
    )  # fmt: skip
    cold = run.stages[0].first_wave_seconds
    assert cold.quantiles == (1.0, 2.0, 3.0, 4.0)  # two executors of two cores


def test_an_executor_that_ended_a_task_is_new_no_longer(tmp_path: Path) -> None:
    """Its second slot is met after the first task ended; the other executor's two at once."""
    first, stage = log.info(0, 1), log.info(1, 3)
    alone = [log.task_start(0, 0, 2.0, executor="1"), log.task(0, 0, 2.0, 4.0, executor="1")]
    on = ("1", "2", "2")
    starts = [log.task_start(1, 1 + n, 5.0, executor=at) for n, at in enumerate(on)]
    ends = [log.task(1, 1 + n, 5.0, 6.0 + n, index=n, executor=at) for n, at in enumerate(on)]
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(first, 2.0), *alone, log.completed(first, 2.0, 4.0),
         log.submitted(stage, 5.0), *starts, *ends, log.completed(stage, 5.0, 8.0),
         log.end(9.0)],
    )  # fmt: skip
    counts = [stage.first_wave_seconds and stage.first_wave_seconds.count for stage in run.stages]
    assert counts == [1, 2]


def test_executors_that_come_late_and_stay_are_all_of_the_cluster(tmp_path: Path) -> None:
    """2 for 9 of 10 s, then 6: a cluster that was still being set up, counted at its largest."""
    late = [log.added(str(n), 11.0, host=f"h{n}") for n in range(3, 7)]
    run = run_of(tmp_path, [*log.header(), *late, *busy(2.0, 12.0)])
    assert (run.cluster.executors, run.cluster.nodes) == (6, 6)


def test_the_commonest_size_is_that_of_the_most_core_time(tmp_path: Path) -> None:
    """One executor of 8 cores for 1 s offers less than two of 2 cores for 12."""
    short = [log.added("3", 2.0, cores=8), log.removed("3", 3.0)]
    run = run_of(tmp_path, [*log.header(), *short, *busy(2.0, 13.0)])
    assert run.cluster.executor_cores == 2
    long = log.added("3", 2.0, cores=8)
    assert run_of(tmp_path, [*log.header(), long, *busy(2.0, 13.0)]).cluster.executor_cores == 8


def test_an_executor_after_the_end_is_left_out_and_said(tmp_path: Path) -> None:
    late = log.added("3", 3600.0 + 13.0, host="h9", cores=16)
    events = [*log.header(), *busy(2.0, 12.0), late]
    run = run_of(tmp_path, events)
    assert (run.cluster.executors, run.cluster.executor_cores) == (2, 2)
    (said,) = [notice for notice in run.notices if notice.code == "late-executors"]
    assert said.text.startswith("1 executor was added 1h 00m after the last event")


@pytest.mark.parametrize(("began", "wrong"), [(14.0, False), (3.0, True)])
def test_an_executor_that_came_for_tasks_whose_end_was_not_seen(
    tmp_path: Path, began: float, wrong: bool
) -> None:
    """The log breaks off in a stage that waited for executors: those that came for it did not run
    the stages before. One that began tasks earlier than it came has a wrong clock."""
    waiting = log.info(7, 4)
    events = [
        *log.header(), *busy(2.0, 12.0)[:-1], log.submitted(waiting, 12.5),
        log.added("3", 13.0), log.task_start(7, 70, began, executor="3"),
    ]  # fmt: skip
    run = run_of(tmp_path, events)
    assert not run.complete
    assert run.seconds == 12.5
    assert run.cluster.executors == (3 if wrong else 2)
    told = [notice.code for notice in run.notices]
    assert ("wrong-clock" in told) == wrong
    assert "late-executors" not in told


def three_at_once(executor: str, **header: str) -> list[log.Event]:
    """The events of three tasks that run at once on an executor which nothing announced."""
    stage = log.info(0, 3)
    return [
        *log.header(executors=0, **header),
        log.submitted(stage, 1.0),
        *(log.task_start(0, n, 2.0, executor=executor) for n in range(3)),
        *(log.task(0, n, 2.0, 4.0, executor=executor) for n in range(3)),
        log.completed(stage, 1.0, 4.0),
        log.end(5.0),
    ]


@pytest.mark.parametrize(
    ("told", "cores"), [("4", 4), ("16", 16), ("many", 3), ("0", 3), (None, 3)]
)
def test_cores_of_unannounced_executors_are_as_configured_or_inferred(
    tmp_path: Path, told: str | None, cores: int
) -> None:
    configured = {} if told is None else {"spark_executor_cores": told}
    run = run_of(tmp_path, three_at_once("7", **configured))
    assert (run.cluster.executors, run.cluster.executor_cores) == (1, cores)
    assert run.cores == ((1.0, cores),)
    codes = [notice.code for notice in run.notices]
    assert codes == (["cores-inferred"] if cores == 3 else [])


def test_a_driver_of_all_cores_heeds_no_setting_of_executors(tmp_path: Path) -> None:
    """Nor does the remedy name one."""
    settings = {"master": "local[*]", "spark_executor_cores": "8"}
    run = run_of(tmp_path, three_at_once("driver", **settings))
    assert run.cores == ((1.0, 3),)
    (said,) = (notice for notice in run.notices if notice.code == "cores-inferred")
    assert "local[8]" in (said.remedy or "")


def test_an_executor_whose_name_comes_again_was_there_twice(tmp_path: Path) -> None:
    """It went at second 4, which is said once more at 5, and came back at 8 as a larger one."""
    gone = [log.removed("1", 4.0), log.removed("1", 5.0)]
    events = [*log.header(), *gone, log.added("1", 8.0, cores=6), *busy(2.0, 12.0)]
    assert run_of(tmp_path, events).cores == ((1.0, 4), (4.0, 2), (8.0, 8))


def test_unknown_cores_are_the_most_tasks_that_ran_at_once(tmp_path: Path) -> None:
    """Not the last that did, nor all that ever did; an end whose start is lost frees no core."""
    spans = [(0, 2.0, 5.0), (1, 3.0, 4.0), (2, 6.0, 7.0)]
    starts = [(start, log.task_start(0, n, start, index=n)) for n, start, _ in spans]
    ends = [(end, log.task(0, n, start, end)) for n, start, end in spans]
    ordered = [event for _, event in sorted([*starts, *ends], key=lambda pair: pair[0])]
    lost = log.task(0, 9, 1.0, 1.5)
    run = run_of(tmp_path, [*log.header(executors=0), lost, *ordered, log.end(12.0)])
    assert (run.cluster.executors, run.cluster.executor_cores) == (1, 2)
    assert "cores-inferred" in [notice.code for notice in run.notices]


def test_the_next_task_of_a_slot_is_none_beside_the_last_one(tmp_path: Path) -> None:
    """Spark launches it once the executor has finished, while the driver fetches the result, and
    logs its start before that end. Executors of one core were taken to have two."""
    spans = [(0, 2.0, 5.0), (1, 4.9, 8.0), (2, 7.9, 9.0)]
    started = [log.task_start(0, n, start, index=n) for n, start, _ in spans]
    ended = [log.task(0, n, start, end) for n, start, end in spans]
    events = [started[0], started[1], ended[0], started[2], ended[1], ended[2]]
    for cpus in (1, 2):
        header = log.header(executors=0, spark_task_cpus=str(cpus))
        assert run_of(tmp_path, [*header, *events, log.end(12.0)]).cores == ((2.0, cpus),)


def test_an_executor_whose_arrival_is_lost_counts_beside_others(tmp_path: Path) -> None:
    """It was left out, with half of the slots, once each known executor had run its first tasks."""
    known = [log.task_start(0, n, 2.0, index=n) for n in range(2)]
    known += [log.task(0, n, 2.0, 4.0, index=n) for n in range(2)]
    lost = [log.task(0, n, 4.0, 6.0, index=n, executor="9") for n in range(2, 4)]
    header = log.header(executors=1, cores=2)
    run = run_of(tmp_path, [*header, *known, *lost, log.end(12.0)])
    assert (run.cluster.executors, run.cluster.executor_cores) == (2, 2)


@pytest.mark.parametrize("began", [False, True])
def test_executors_whose_arrival_is_lost_are_where_their_tasks_say(
    tmp_path: Path, began: bool
) -> None:
    """Four executors on two hosts, of a log without its beginning: they counted as one node. Of one
    a task had only begun."""
    events = [log.task(0, n, 2.0, 4.0, executor=str(n)) for n in range(4)]
    if began:
        events[-1] = log.task_start(0, 3, 2.0, executor="3")
    for place, event in enumerate(events):
        event["Task Info"]["Host"] = f"10.0.0.{place % 2}"
    run = run_of(tmp_path, events)
    assert (run.cluster.executors, run.cluster.nodes) == (4, 2)


@pytest.mark.parametrize(("told", "cores"), [((4, 4), 4), ((2, 2), 3), ((4, 8), 3)])
def test_an_executor_whose_arrival_is_lost_is_like_the_others(
    tmp_path: Path, told: tuple[int, int], cores: int
) -> None:
    """Three of its tasks ran at once, which is the least that it has: it was taken for smaller than
    executors of four cores. It is not like those of two, and like either of two that differ."""
    known = [log.added(str(n), 1.0, cores=number) for n, number in enumerate(told)]
    ran = [log.task(0, n, 2.0, 4.0, index=n, executor="9") for n in range(3)]
    run = run_of(tmp_path, [*log.header(executors=0), *known, *ran, log.end(5.0)])
    assert run.cores[-1][1] == sum(told) + cores
    (said,) = (notice.text for notice in run.notices if notice.code == "cores-inferred")
    assert said.endswith("as the others" if told == (4, 4) else "as tasks ran at once")


@pytest.mark.parametrize("tasks", [1, 3000])
def test_tasks_that_never_ended_tell_cores_only_where_none_did(tmp_path: Path, tasks: int) -> None:
    starts = [log.task_start(0, n, 2.0, index=n) for n in range(3)]
    ends = [log.task(0, 10 + n, 3.0 + n, 4.0 + n) for n in range(tasks)]
    run = run_of(tmp_path, [*log.header(executors=0), *starts, *ends])
    assert run.cluster.executor_cores == 1


def test_an_executor_that_came_and_went_after_the_end_had_no_wrong_clock(tmp_path: Path) -> None:
    """It ran nothing, but having gone counted as having run, from the first stage on."""
    ran = busy(2.0, 12.0)[:-1]
    idle = [log.added("9", 20.0), log.removed("9", 30.0)]
    run = run_of(tmp_path, [*log.header(executors=1), *ran, *idle])
    assert run.cores == ((1.0, 2),)
    told = [notice.code for notice in run.notices]
    assert "late-executors" in told
    assert "wrong-clock" not in told
