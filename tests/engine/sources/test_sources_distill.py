"""What a log means: work once, waste apart, the stage DAG, cores over time, the cache, batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sparklog as log

from engine import fit
from engine.catalog import InstanceType
from engine.errors import BadInput
from engine.profile import Run, StageRun
from engine.sources import read, task_rows, tasks
from engine.sources.profile_file import write_profile

DATA = Path(__file__).parents[2] / "data"


def run_of(folder: Path, events: list[log.Event]) -> Run:
    (run,) = read(log.write(folder / "app", events)).runs
    return run


def stage_of(run: Run, stage_id: int) -> StageRun:
    return next(stage for stage in run.stages if stage.stage_id == stage_id)


def test_one_stage(tmp_path: Path) -> None:
    run = run_of(tmp_path, log.one_stage())
    assert (run.application, run.app_id, run.spark_version) == ("job", "app-1", "3.5.1")
    assert (run.seconds, run.driver_seconds, run.complete) == (11.0, 3.0, True)
    cluster = run.cluster
    assert (cluster.nodes, cluster.executors, cluster.executor_cores) == (2, 2, 2)
    assert run.cores == ((1.0, 4),)
    assert run.workload.input_bytes is None
    (stage,) = run.stages
    assert (stage.tasks, stage.submitted_seconds, stage.completed_seconds) == (4, 2.0, 10.0)
    assert stage.task_seconds.total == 8.0
    assert stage.run_seconds is not None
    assert stage.run_seconds.total == 7.6
    assert stage.overhead_seconds is not None
    assert stage.overhead_seconds.total == pytest.approx(0.4)
    assert stage.cpu_seconds is None
    assert stage.peak_execution_memory_bytes is None
    assert stage.memory_spilled_bytes is None


def test_measures_of_a_task(tmp_path: Path) -> None:
    metrics = {
        "Executor Run Time": 1500,
        "Executor CPU Time": 1_200_000_000,
        "Peak Execution Memory": 4096,
        "JVM GC Time": 50,
        "Memory Bytes Spilled": 10,
        "Disk Bytes Spilled": 5,
        "Shuffle Read Metrics": {
            "Fetch Wait Time": 30,
            "Remote Bytes Read": 600,
            "Local Bytes Read": 400,
        },
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 77},
        "Input Metrics": {"Bytes Read": 1_000_000},
        "Output Metrics": {"Bytes Written": 0},
    }
    stage = log.info(0, 1)
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 1.0), log.task(0, 0, 2.0, 4.0, metrics=metrics),
         log.completed(stage, 1.0, 4.0), log.end(5.0)],
    )  # fmt: skip
    (stage_run,) = run.stages
    totals = {
        name: getattr(stage_run, name).total
        for name in (
            "task_seconds", "run_seconds", "overhead_seconds", "cpu_seconds", "gc_seconds",
            "fetch_wait_seconds", "input_bytes", "shuffle_read_bytes",
            "shuffle_remote_read_bytes", "shuffle_write_bytes", "peak_execution_memory_bytes",
        )
    }  # fmt: skip
    assert list(totals.values()) == [2.0, 1.5, 0.5, 1.2, 0.05, 0.03, 1e6, 1000, 600, 77, 4096]
    assert stage_run.output_bytes is None
    assert (stage_run.memory_spilled_bytes, stage_run.disk_spilled_bytes) == (10, 5)
    assert run.workload.input_bytes == 1e6


def test_no_finished_task_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no finished task"):
        run_of(tmp_path, [*log.header(), log.end(5.0)])


def test_speculative_copies_and_failures_are_waste(tmp_path: Path) -> None:
    stage = log.info(0, 2)
    run = run_of(
        tmp_path,
        [
            *log.header(),
            log.submitted(stage, 1.0),
            log.task(0, 0, 2.0, 4.0, index=0),
            log.task(0, 1, 2.0, 5.0, index=1, reason="ExceptionFailure"),
            log.task(0, 3, 4.0, 9.0, index=1),
            log.task(0, 2, 3.0, 9.0, index=1, reason="TaskKilled"),
            log.completed(stage, 1.0, 9.0),
            log.task(0, 4, 5.0, 9.5, index=0),  # a copy that ended after the stage did
            log.end(10.0),
        ],
    )
    (found,) = run.stages
    assert found.task_seconds.total == 2.0 + 5.0
    assert (found.waste.failed_tasks, found.waste.killed_tasks) == (1, 2)
    assert found.waste.seconds == 3.0 + 6.0 + 4.5


def test_resubmitted_tasks_count_once(tmp_path: Path) -> None:
    stage = log.info(0, 2)
    resubmitted = log.task(0, 0, 2.0, 4.0, index=0, reason="Resubmitted")
    resubmitted["Task Info"]["Finish Time"] = 0
    run = run_of(
        tmp_path,
        [
            *log.header(),
            log.submitted(stage, 1.0),
            log.task(0, 0, 2.0, 4.0, index=0),
            resubmitted,
            log.task(0, 2, 5.0, 8.0, index=0),
            log.task(0, 1, 2.0, 9.0, index=1),
            log.completed(stage, 1.0, 9.0),
            log.end(10.0),
        ],
    )
    (found,) = run.stages
    assert found.task_seconds.total == 2.0 + 7.0
    assert (found.waste.failed_tasks, found.waste.killed_tasks) == (1, 0)
    assert found.waste.seconds == 3.0


@pytest.mark.parametrize("with_partition", [True, False])
def test_a_retried_stage_counts_each_partition_once(tmp_path: Path, with_partition: bool) -> None:
    """Attempt 1 has only the missing partitions; before Spark 3.3 it numbers them from 0."""
    first, retry = log.info(0, 4), log.info(0, 2, attempt=1)

    def task(number: int, start: float, index: int, attempt: int, partition: int) -> log.Event:
        place = partition if with_partition else None
        return log.task(
            0, number, start, start + 1.0, index=index, attempt=attempt, partition=place
        )

    run = run_of(
        tmp_path,
        [
            *log.header(),
            log.submitted(first, 1.0),
            task(0, 2.0, 0, 0, 0),
            task(1, 2.0, 1, 0, 1),
            log.task(0, 2, 2.0, 2.5, index=2, partition=2, reason="FetchFailed"),
            log.completed(first, 1.0, 3.0, failure="fetch failed"),
            log.task(0, 3, 2.0, 3.5, index=3, partition=3, reason="FetchFailed"),
            log.submitted(retry, 4.0),
            task(4, 5.0, 0, 1, 2),
            task(5, 5.0, 1, 1, 3),
            log.completed(retry, 4.0, 6.0),
            log.end(7.0),
        ],
    )
    (found,) = run.stages
    assert (found.tasks, found.task_seconds.count, found.task_seconds.total) == (4, 4, 4.0)
    assert (found.submitted_seconds, found.completed_seconds) == (1.0, 6.0)
    assert found.waste.retried_stages == 1
    assert (found.waste.failed_tasks, found.waste.seconds) == (2, 2.0)
    assert run.driver_seconds == 7.0 - 2.0 - 2.0


def with_output_lost(lost: int, *, written: int = 4, read_first: bool = False) -> list[log.Event]:
    """A map stage of four tasks, of which `written` end, and the stage that reads it; then a second
    job on the same output, of which stage 2 (planned to be skipped) writes `lost` partitions again,
    after its reader had begun or before."""
    wrote = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 100}}
    read = {"Input Metrics": {"Bytes Read": 1000}}
    mapped = [log.rdd(7, partitions=4)]
    zero, one = log.info(0, 4, rdds=mapped), log.info(1, 1, parents=[0], rdds=[log.rdd(8)])
    two, three = log.info(2, 4, rdds=mapped), log.info(3, 1, parents=[2], rdds=[log.rdd(9)])
    again = {**two, "Number of Tasks": lost}

    def task(stage: int, number: int, start: float, index: int, **more: object) -> log.Event:
        return log.task(stage, number, start, start + 1.0, index=index, **more)  # type: ignore[arg-type]

    return [
        *log.header(),
        log.job(0, [zero, one], 1.0),
        log.submitted(zero, 1.0),
        *(task(0, n, 2.0, n, metrics=wrote | read) for n in range(written)),
        log.completed(zero, 1.0, 3.0, failure=None if written == 4 else "cancelled"),
        log.submitted(one, 3.0),
        task(1, 9, 3.0, 0),
        log.completed(one, 3.0, 4.0),
        log.job_end(0, 4.0),
        log.job(1, [two, three], 4.0),
        *([log.submitted(three, 4.0)] if read_first else []),
        *([log.completed(three, 4.0, 5.0, failure="fetch failed")] if read_first else []),
        log.submitted(again, 5.0),
        *(task(2, 10 + n, 5.0, n, metrics=wrote | read) for n in range(lost)),
        log.completed(again, 5.0, 6.0),
        log.submitted({**three, "Stage Attempt ID": int(read_first)}, 6.0),
        task(3, 20, 6.0, 0, attempt=int(read_first)),
        log.completed({**three, "Stage Attempt ID": int(read_first)}, 6.0, 7.0),
        log.job_end(1, 7.0),
        log.end(8.0),
    ]


@pytest.mark.parametrize(("lost", "read_first"), [(3, False), (3, True), (4, True)])
def test_output_that_is_written_again_is_no_further_input(
    tmp_path: Path, lost: int, read_first: bool
) -> None:
    """A later job plans a stage of its own for a shuffle that is there; where lost executors took
    output with them, it runs for what is missing: work in vain, whose input was read before."""
    profile = read(log.write(tmp_path / "app", with_output_lost(lost, read_first=read_first)))
    (run,) = profile.runs
    assert {stage.stage_id for stage in run.stages if stage.recomputed} == {2}
    assert run.workload.input_bytes == 4000.0
    assert "retried-work" in {notice.code for notice in fit(profile).fit_notices}
    write_profile(profile, tmp_path / "app.yaml")
    assert read(tmp_path / "app.yaml").runs[0].stages == run.stages


@pytest.mark.parametrize(("written", "lost"), [(2, 2), (4, 4)])
def test_the_rest_of_a_broken_off_stage_or_another_shuffle_is_work(
    tmp_path: Path, written: int, lost: int
) -> None:
    """A job that was cancelled left output that the next one goes on from; one RDD may be written
    for two shuffles."""
    run = run_of(tmp_path, with_output_lost(lost, written=written))
    assert not [stage.stage_id for stage in run.stages if stage.recomputed]
    assert run.workload.input_bytes == 1000.0 * (written + lost)


def of_two_shuffles(*, given_up: bool) -> list[log.Event]:
    """Stage 0 writes an RDD for a shuffle; stage 2 writes what is missing of it for another, after
    stage 1 was given up there, or (1 left out) before stage 0 has ended."""
    wrote = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 100}}
    whole, part, rest = (log.info(n, 4, rdds=[log.rdd(7, partitions=4)]) for n in range(3))
    rest["Number of Tasks"] = 2
    begun = 5.0 if given_up else 3.5

    def tasks(stage: int, count: int, start: float) -> list[log.Event]:
        return [
            log.task(stage, 10 * stage + n, start, start + 1.0, index=n, metrics=wrote)
            for n in range(count)
        ]

    first = [
        log.submitted(part, 1.0),
        *tasks(1, 2, 1.0),
        log.completed(part, 1.0, 2.0, failure="cancelled"),
    ]
    return [
        *log.header(),
        log.job(0, [part], 1.0),
        *(first if given_up else []),
        log.job_end(0, 2.0),
        log.job(1, [whole], 3.0),
        log.job(2, [rest], 3.0),
        log.submitted(whole, 3.0),
        *tasks(0, 4, 3.0),
        log.completed(whole, 3.0, 4.0),
        log.submitted(rest, begun),
        *tasks(2, 2, begun),
        log.completed(rest, begun, begun + 1.0),
        log.job_end(1, 7.0),
        log.job_end(2, 7.0),
        log.end(8.0),
    ]


@pytest.mark.parametrize("given_up", [True, False])
def test_the_rest_of_another_shuffle_is_work(tmp_path: Path, given_up: bool) -> None:
    run = run_of(tmp_path, of_two_shuffles(given_up=given_up))
    assert not [stage.stage_id for stage in run.stages if stage.recomputed]


def test_skipped_stages_are_resolved_by_their_rdd(tmp_path: Path) -> None:
    """Stage 2 is the skipped twin of stage 0 (same RDD); stage 4's lost twin leads on to 0."""
    zero, one = log.info(0, 1, rdds=[log.rdd(7)]), log.info(1, 1, parents=[0], rdds=[log.rdd(8)])
    two = log.info(2, 1, rdds=[log.rdd(7)])
    three = log.info(3, 1, parents=[2], rdds=[log.rdd(9)])
    four, five = (
        log.info(4, 1, parents=[2], rdds=[log.rdd(10)]),
        log.info(5, 1, parents=[4], rdds=[log.rdd(11)]),
    )
    events = [*log.header(), log.job(0, [zero, one], 1.0)]
    for place, stage in enumerate((zero, one)):
        at = 2.0 + place
        events += [log.submitted(stage, at), log.task(place, place, at, at + 1.0, index=0),
                   log.completed(stage, at, at + 1.0)]  # fmt: skip
    properties = {"spark.sql.execution.id": "5"}
    events += [log.job_end(0, 4.0), log.job(1, [two, three], 4.0, **properties)]
    events += [log.job(2, [four, five], 4.0)]
    for number, stage in ((3, three), (5, five)):
        events += [log.submitted(stage, 5.0), log.task(number, number, 5.0, 6.0, index=0),
                   log.completed(stage, 5.0, 6.0)]  # fmt: skip
    run = run_of(tmp_path, [*events, log.end(7.0)])
    assert {stage.stage_id: stage.parents for stage in run.stages} == {
        0: (), 1: (0,), 3: (0,), 5: (0,),
    }  # fmt: skip
    assert stage_of(run, 3).sql_execution_id == 5
    assert stage_of(run, 3).job_ids == (1,)
    assert [job.stage_ids for job in run.jobs] == [(0, 1), (2, 3), (4, 5)]


def test_real_log_with_a_lost_executor() -> None:
    (run,) = read(DATA / "retries.zstd").runs
    stages = {stage.stage_id: stage for stage in run.stages}
    assert run.complete
    assert all(s.task_seconds.count == s.tasks for s in run.stages)
    assert [stages[n].parents for n in range(5)] == [(), (), (1,), (), (3,)]
    assert [stages[n].waste.retried_stages for n in range(5)] == [0, 1, 1, 0, 0]
    assert stages[2].waste.failed_tasks == 2  # the executor's loss, and a fetch from it
    assert stages[1].waste.killed_tasks == 3  # partitions of lost map output, computed again
    assert stages[1].cached_input_bytes == stages[1].input_bytes.total  # type: ignore[union-attr]
    assert run.workload.input_bytes is None
    assert [cores for _, cores in run.cores] == [1, 2, 1, 2]
    assert (run.cluster.nodes, run.cluster.executors, run.cluster.executor_cores) == (1, 2, 1)
    assert [notice.code for notice in run.notices] == ["dynamic-allocation"]
    assert stages[0].first_wave_seconds is not None
    assert stages[0].first_wave_seconds.count == 2


# Clusters


def busy(start: float, end: float) -> list[log.Event]:
    stage = log.info(0, 1)
    return [
        log.submitted(stage, start),
        log.task(0, 0, start, end),
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
    run = run_of(tmp_path, [*events, *busy(2.0, 12.0)])
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
    run = run_of(tmp_path, [*events, manager, *busy(2.0, 4.0)])
    cluster = run.cluster
    assert (cluster.nodes, cluster.executors, cluster.executor_cores) == (1, 1, cores)
    assert cluster.executor_memory_gib == 2.0
    assert run.storage_memory_bytes == 1000.0


def test_cores_of_unannounced_executors_are_inferred(tmp_path: Path) -> None:
    stage = log.info(0, 3)
    run = run_of(
        tmp_path,
        [
            *log.header(executors=0),
            log.submitted(stage, 1.0),
            *(log.task_start(0, n, 2.0, executor="7") for n in range(3)),
            *(log.task(0, n, 2.0, 4.0, executor="7") for n in range(3)),
            log.completed(stage, 1.0, 4.0),
            log.end(5.0),
        ],
    )
    assert (run.cluster.executors, run.cluster.executor_cores) == (1, 3)
    assert [notice.code for notice in run.notices] == ["cores-inferred"]


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


def test_where_it_ran(tmp_path: Path) -> None:
    named = InstanceType("m5.xlarge", vcpus=4, memory_gib=16)
    path = log.write(tmp_path / "app", log.one_stage())
    assert read(path, ran_on=named).runs[0].cluster.composition == {"m5.xlarge": 2}
    assert read(path).runs[0].cluster.composition == {}
    tag = {"spark_databricks_clusterUsageTags_clusterNodeType": "Standard_E8s_v3"}
    events = [*log.header(cores=8, **tag), *log.one_stage()[5:]]
    run = run_of(tmp_path, events)
    assert run.cluster.composition == {"Standard_E8s_v3": 2}
    assert run.cluster.instance is not None
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
    run = run_of(tmp_path, [*log.header(**properties), *log.one_stage()[5:]])  # type: ignore[arg-type]
    assert [notice.code for notice in run.notices] == [code]


def test_first_task_of_each_slot_is_cold(tmp_path: Path) -> None:
    stage = log.info(0, 8)
    starts = [log.task_start(0, n, 2.0, executor=str(n % 2 + 1)) for n in range(8)]
    ends = [log.task(0, n, 2.0, 3.0 + n, executor=str(n % 2 + 1)) for n in range(8)]
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 2.0), *starts, *ends,
         log.completed(stage, 2.0, 10.0), log.end(11.0)],
    )  # fmt: skip
    cold = run.stages[0].first_wave_seconds
    assert cold is not None
    assert cold.quantiles == (1.0, 2.0, 3.0, 4.0)  # two executors of two cores


# Cache and categories


def cached_stage(number: int, *, source: bool = True) -> log.Event:
    rdds = [log.rdd(9, [5]), log.rdd(5, [1] if source else [], cached=True), log.rdd(1)]
    return log.info(number, 1, rdds=rdds)


def reading(number: int, stage: log.Event, start: float, size: int) -> list[log.Event]:
    metrics = {"Input Metrics": {"Bytes Read": size}}
    return [
        log.submitted(stage, start),
        log.task(number, number, start, start + 1.0, index=0, metrics=metrics),
        log.completed(stage, start, start + 1.0),
    ]


def test_reads_of_a_cached_rdd_are_no_input(tmp_path: Path) -> None:
    first, second = cached_stage(0), cached_stage(1)
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, first, 2.0, 1000), *reading(1, second, 4.0, 700), log.end(6.0)],
    )
    assert stage_of(run, 0).cached_input_bytes == 0.0
    assert stage_of(run, 1).cached_input_bytes == 700.0
    assert stage_of(run, 1).cached_rdds == (5,)
    assert run.workload.input_bytes == 1000.0


def test_an_unpersisted_rdd_is_read_again(tmp_path: Path) -> None:
    unpersist = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 5}
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, cached_stage(0), 2.0, 1000), unpersist,
         *reading(1, cached_stage(1), 4.0, 700), log.end(6.0)],
    )  # fmt: skip
    assert run.workload.input_bytes == 1700.0


def test_another_source_beside_the_cache_is_input(tmp_path: Path) -> None:
    both = log.info(1, 1, rdds=[log.rdd(9, [5, 6]), log.rdd(5, cached=True), log.rdd(6)])
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, cached_stage(0), 2.0, 1000), *reading(1, both, 4.0, 700),
         log.end(6.0)],
    )  # fmt: skip
    assert run.workload.input_bytes == 1700.0


def test_most_cached_bytes(tmp_path: Path) -> None:
    def update(block: str, memory: int, disk: int = 0) -> log.Event:
        return {
            "Event": "SparkListenerBlockUpdated",
            "Block Updated Info": {"Block ID": block, "Memory Size": memory, "Disk Size": disk},
        }

    blocks = [update("rdd_5_0", 100), update("rdd_5_1", 100, 50), update("broadcast_0", 999)]
    blocks += [update("rdd_5_0", 0), update("rdd_5_1", 0)]
    run = run_of(tmp_path, [*log.one_stage()[:5], *blocks, *log.one_stage()[5:]])
    assert run.cached_bytes == 250.0
    assert run_of(tmp_path, log.one_stage()).cached_bytes is None


@pytest.mark.parametrize(
    ("details", "properties", "category"),
    [
        ("org.apache.spark.rdd.RDD.count(RDD.scala:1)", {}, "core"),
        ("org.apache.spark.sql.Dataset.count(D.scala:1)", {"spark.sql.execution.id": "0"}, "sql"),
        ("org.apache.spark.ml.recommendation.ALS$.train", {"spark.sql.execution.id": "0"}, "mllib"),
        ("org.apache.spark.graphx.Pregel$.apply(Pregel.scala:1)", {}, "graphx"),
    ],
)
def test_categories(
    tmp_path: Path, details: str, properties: dict[str, str], category: str
) -> None:
    stage = log.info(0, 1, details=details)
    events = [*log.header(), log.job(0, [stage], 1.0, **properties), log.submitted(stage, 2.0),
              log.task(0, 0, 2.0, 3.0), log.completed(stage, 2.0, 3.0), log.end(4.0)]  # fmt: skip
    assert read(log.write(tmp_path / "app", events)).category == category


def test_operations_are_counted_up_to_what_the_cache_holds(tmp_path: Path) -> None:
    """Scopes of equal name count by their number; what a computed, persisted RDD stands for is
    not done again."""

    def scoped(number: int, parents: list[int], name: str, *, cached: bool = False) -> log.Event:
        scope = json.dumps({"id": str(number), "name": name})
        return log.rdd(number, parents, cached=cached) | {"Scope": scope}

    rdds = [scoped(3, [2], "map"), scoped(2, [1], "map", cached=True), scoped(1, [], "textFile")]
    first, second = log.info(0, 1, rdds=rdds), log.info(1, 1, rdds=rdds)
    events = [
        *log.header(),
        log.job(0, [first, second], 2.0),
        log.submitted(first, 2.0),
        log.task(0, 0, 2.0, 4.0),
        log.completed(first, 2.0, 4.0),
        log.submitted(second, 4.0),
        log.task(1, 1, 4.0, 6.0),
        log.completed(second, 4.0, 6.0),
        log.end(7.0),
    ]
    run = run_of(tmp_path, events)
    assert [stage.operations for stage in run.stages] == [("map", "textFile")] * 2
    assert [stage.operation_counts for stage in run.stages] == [(2, 1), (1, 0)]


def test_names_without_folders_and_operations(tmp_path: Path) -> None:
    rdds = [log.rdd(3, [2], scope="reduceByKey"), log.rdd(2, [1], scope="map"),
            log.rdd(1, scope="map")]  # fmt: skip
    stage = log.info(0, 1, rdds=rdds) | {"Stage Name": "count at /home/me/secret/job.py:3"}
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 2.0), log.task(0, 0, 2.0, 3.0),
         log.completed(stage, 2.0, 3.0), log.end(4.0)],
    )  # fmt: skip
    assert run.stages[0].name == "count at job.py:3"
    assert run.stages[0].operations == ("reduceByKey", "map")


def test_python_functions_are_operations(tmp_path: Path) -> None:
    """Spark gives their RDDs no scope, only a name."""
    rdds = [log.rdd(4, [3], scope="coalesce"), log.rdd(3, [2], name="PythonRDD"),
            log.rdd(2, [1], name="PythonRDD"), log.rdd(1, scope="parallelize")]  # fmt: skip
    stage = log.info(0, 1, rdds=rdds)
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 2.0), log.task(0, 0, 2.0, 3.0),
         log.completed(stage, 2.0, 3.0), log.end(4.0)],
    )  # fmt: skip
    assert run.stages[0].operations == ("coalesce", "PythonRDD", "parallelize")
    assert run.stages[0].operation_counts == (1, 2, 1)


# Streaming


def batch(number: int, start: float, seconds: float, *, reported: bool = True) -> list[log.Event]:
    stage = log.info(number, 1)
    properties = {"streaming.sql.batchId": str(number), "sql.streaming.queryId": "q"}
    iso = f"2023-11-14T22:{13 + int(20 + start) // 60:02d}:{(20 + start) % 60:06.3f}Z"
    progress = {
        "Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
        "progress": {
            "id": "q",
            "batchId": number,
            "timestamp": iso,
            "durationMs": {"triggerExecution": round(seconds * 1000)},
        },
    }
    return [
        log.job(number, [stage], start + 0.2, **properties),
        log.submitted(stage, start + 0.3),
        log.task(number, number, start + 0.3, start + 0.8, index=0),
        log.completed(stage, start + 0.3, start + 0.8),
        log.job_end(number, start + 0.9),
        *([progress] if reported else []),
    ]


def test_each_micro_batch_is_a_run_and_the_trigger_its_deadline(tmp_path: Path) -> None:
    """START_MS is 22:13:20: the trigger of 10 s fires at 10, 20, 30 s and so on from there."""
    starts = [(3.0, 4.0), (10.0, 2.0), (20.0, 15.0), (35.01, 3.0), (40.0, 2.0)]
    events = log.header()
    for number, (start, seconds) in enumerate(starts):
        events += batch(number, start, seconds)
    profile = read(log.write(tmp_path / "app", [*events, log.end(60.0)]))
    assert profile.category == "streaming"
    assert profile.deadline_seconds == 10.0
    assert [run.batch_id for run in profile.runs] == [0, 1, 2, 3, 4]
    assert [run.seconds for run in profile.runs] == [seconds for _, seconds in starts]
    assert all(len(run.stages) == 1 and len(run.jobs) == 1 for run in profile.runs)
    assert profile.runs[1].stages[0].submitted_seconds == pytest.approx(0.3)
    assert profile.runs[1].driver_seconds == 1.5


def test_times_of_micro_batches_are_said_to_be_those_of_one(tmp_path: Path) -> None:
    events = [*log.header(), *batch(0, 3.0, 4.0), *batch(1, 10.0, 2.0), log.end(60.0)]
    profile = read(log.write(tmp_path / "app", events))
    (said,) = (notice for notice in profile.notices if notice.code == "micro-batches")
    assert said.text.startswith("the runs are 2 micro-batches of a streaming query, 6 s together")
    stored = tmp_path / "stream.yaml"
    write_profile(profile, stored)
    assert said in read(stored).notices


def test_batches_without_a_pause_have_no_trigger_interval(tmp_path: Path) -> None:
    events = log.header()
    for number in range(6):
        events += batch(number, 3.0 + 1.7 * number, 1.69)
    assert read(log.write(tmp_path / "app", [*events, log.end(60.0)])).deadline_seconds is None


def test_a_stream_that_was_killed_breaks_off_its_last_batch_alone(tmp_path: Path) -> None:
    """The last line is torn; the last batch has two of three tasks and lasts to their end."""
    stage = log.info(7, 3)
    properties = {"streaming.sql.batchId": "1", "sql.streaming.queryId": "q"}
    cut = [log.job(7, [stage], 10.0, **properties), log.submitted(stage, 10.1)]
    cut += [log.task(7, n, 10.1, 12.0 + n, index=n) for n in range(2)]
    path = log.write(tmp_path / "app", [*log.header(), *batch(0, 3.0, 4.0), *cut])
    with path.open("a") as out:
        out.write('{"Event":"SparkListenerTaskEnd","Stage')
    first, last = read(path).runs
    assert (first.complete, last.complete) == (True, False)
    assert last.seconds == pytest.approx(3.0)
    assert first.notices[0].text.endswith("every task of this micro-batch is there")
    assert "1 of 3 tasks of 1 stage is missing" in last.notices[0].text


def test_batches_that_nobody_reported_last_as_long_as_their_jobs(tmp_path: Path) -> None:
    events = [*log.header(), *batch(0, 3.0, 9.0, reported=False), log.end(60.0)]
    assert run_of(tmp_path, events).seconds == pytest.approx(0.7)


# Many tasks


def test_a_stage_of_many_tasks_is_sketched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.sources.eventlog.BUFFER_BYTES", 64 * task_rows.ROW_BYTES)
    count = 1500
    stage = log.info(0, count)
    ends = [log.task(0, n, 2.0, 2.0 + 0.2 + n / 1000, index=n) for n in range(count)]
    events = [*log.header(), log.submitted(stage, 2.0), *ends, log.task(0, 9999, 2.0, 4.0, index=3),
              log.completed(stage, 2.0, 4.0), log.end(5.0)]  # fmt: skip
    exact = run_of(tmp_path, events).stages[0]
    monkeypatch.setattr(tasks, "EXACT_TASKS", 500)
    sketched = run_of(tmp_path, events).stages[0]
    assert sketched.waste == exact.waste
    assert sketched.task_seconds.count == exact.task_seconds.count == count
    assert sketched.task_seconds.total == exact.task_seconds.total
    assert sketched.task_seconds.quantiles != exact.task_seconds.quantiles
    for a, b in zip(sketched.task_seconds.quantiles, exact.task_seconds.quantiles, strict=True):
        assert a == pytest.approx(b, rel=0.011)


def _block(name: str, memory: int, disk: int = 0) -> log.Event:
    return {
        "Event": "SparkListenerBlockUpdated",
        "Block Updated Info": {"Block ID": name, "Memory Size": memory, "Disk Size": disk},
    }


def test_blocks_that_found_no_room_are_wanted_all_the_same(tmp_path: Path) -> None:
    """Of four partitions two are stored; one finds no room and is announced with no bytes."""
    kept = log.rdd(5, cached=True) | {"Number of Partitions": 4}
    load, read = log.info(0, 4, rdds=[kept]), log.info(1, 4, rdds=[log.rdd(9, [5]), kept])
    stored = [_block("rdd_5_0", 100), _block("rdd_5_2", 140), _block("rdd_5_1", 0)]

    def events(stage: log.Event, blocks: list[log.Event], at: float) -> list[log.Event]:
        number = int(str(stage["Stage ID"]))
        tasks = [log.task(number, n, at, at + 1.0, index=n) for n in range(4)]
        return [log.submitted(stage, at), *blocks, *tasks, log.completed(stage, at, at + 1.0)]

    both = [*events(load, stored, 2.0), *events(read, [], 4.0)]
    run = run_of(tmp_path, [*log.header(), *both, log.end(6.0)])
    assert run.cached_bytes == 2 * 240.0
    first = log.info(0, 1, rdds=[kept])
    one = [
        log.submitted(first, 2.0),
        stored[0],
        log.task(0, 0, 2.0, 3.0),
        log.completed(first, 2.0, 3.0),
    ]
    assert run_of(tmp_path, [*log.header(), *one, log.end(4.0)]).cached_bytes == 100.0
    gone = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 5}
    again = [*events(load, stored[:2], 2.0), gone, *events(read, [], 4.0)]
    assert run_of(tmp_path, [*log.header(), *again, log.end(6.0)]).cached_bytes == 2 * 240.0


def test_an_rdd_that_no_stage_needs_any_more_is_not_wanted(tmp_path: Path) -> None:
    """A loop caches each generation, reads it once and forgets to unpersist it: at once it wants
    the base that all steps read and two generations, not all of them."""
    base = log.rdd(5, cached=True) | {"Number of Partitions": 1}
    events, before = [], base
    for step in range(6):
        own = log.rdd(10 + step, [before["RDD ID"]], cached=True) | {"Number of Partitions": 1}
        stage, at = log.info(step, 1, rdds=[own, before, base]), 2.0 * (step + 1)
        stored = [_block(f"rdd_{10 + step}_0", 100), *([] if step else [_block("rdd_5_0", 1000)])]
        events += [log.submitted(stage, at), *stored, log.task(step, step, at, at + 1.0)]
        events += [log.completed(stage, at, at + 1.0)]
        before = own
    last = log.info(6, 1, rdds=[log.rdd(99, [5]), base])
    events += [log.submitted(last, 20.0), log.task(6, 6, 20.0, 21.0)]
    events += [log.completed(last, 20.0, 21.0)]
    assert run_of(tmp_path, [*log.header(), *events, log.end(22.0)]).cached_bytes == 1200.0
