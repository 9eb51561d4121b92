"""What a log means: work once, waste apart, the stage DAG, many tasks."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine import fit
from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.profile_file import write_profile
from engine.sources.logs import task_rows, tasks

DATA = Path(__file__).parents[2] / "data"


def place_of(events: list[log.Event], task: int) -> int:
    """Where the end of a task stands."""
    return [event.get("Task Info", {}).get("Task ID") for event in events].index(task)


def test_one_stage(tmp_path: Path) -> None:
    run = run_of(tmp_path, log.one_stage())
    assert (run.application, run.app_id, run.spark_version) == ("job", "app-1", "3.5.1")
    assert (run.seconds, run.driver_seconds, run.complete) == (11.0, 3.0, True)
    assert run.started_epoch_seconds == log.START_MS / 1000.0
    cluster = run.cluster
    assert (cluster.nodes, cluster.executors, cluster.executor_cores) == (2, 2, 2)
    assert run.cores == ((1.0, 4),)
    assert run.workload.input_bytes is None
    (stage,) = run.stages
    assert (stage.tasks, stage.submitted_seconds, stage.completed_seconds) == (4, 2.0, 10.0)
    assert stage.task_seconds.total == 8.0
    assert stage.run_seconds.total == 7.6
    assert stage.overhead_seconds.total == pytest.approx(0.4)
    assert stage.cpu_seconds is None
    assert stage.peak_execution_memory_bytes is None
    assert stage.memory_spilled_bytes is None
    assert stage.deserialize_seconds is None


@pytest.mark.parametrize("field", ["Finish Time", "Launch Time"])
def test_a_success_without_a_time_that_makes_sense_is_not_measured(
    tmp_path: Path, field: str
) -> None:
    """A damaged log, in which a task ended or began at 0: the run is not whole, which is said."""
    events = log.one_stage()
    place = place_of(events, 1)
    events[place]["Task Info"][field] = 0
    run = run_of(tmp_path, events)
    (stage,) = run.stages
    assert (stage.tasks, stage.task_seconds.count, stage.task_seconds.total) == (4, 3, 6.0)
    assert stage.task_seconds.quantiles == (2.0,) * 3
    assert not run.complete
    (said,) = (notice.text for notice in run.notices)
    assert said.startswith("1 task event made no sense, 1 of 4 tasks of 1 stage is missing")


@pytest.mark.parametrize(
    ("reason", "waste"), [("ExceptionFailure", (1, 0, 2.0)), ("TaskKilled", (0, 1, 2.0))]
)
def test_a_task_that_nothing_did_again_is_waste(
    tmp_path: Path, reason: str, waste: tuple[int, int, float]
) -> None:
    events = log.one_stage()
    events[place_of(events, 1)] = log.task(0, 1, 4.0, 6.0, reason=reason)
    (stage,) = run_of(tmp_path, events).stages
    assert (stage.task_seconds.count, stage.task_seconds.total) == (3, 6.0)
    found = stage.waste
    assert (found.failed_tasks, found.killed_tasks, found.seconds) == waste


def test_measures_of_a_task(tmp_path: Path) -> None:
    metrics = {
        "Executor Deserialize Time": 300,
        "Executor Deserialize CPU Time": 120_000_000,
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
    assert stage_run.deserialize_seconds == 0.3
    assert stage_run.deserialize_cpu_seconds == pytest.approx(0.12)
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


def with_output_lost(
    lost: int, *, written: int = 4, read_first: bool = False, scope: str | None = None, **of: str
) -> list[log.Event]:
    """A map stage of four tasks, of which `written` end, and the stage that reads it; then a second
    job on the same output, of which stage 2 (planned to be skipped) writes `lost` partitions again,
    after its reader had begun or before.

    Args:
        scope: of what the map stage writes; of: properties of the second job.
    """
    wrote = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 100}}
    read = {"Input Metrics": {"Bytes Read": 1000}}
    mapped = [log.rdd(7, partitions=4, scope=scope)]
    zero, one = log.info(0, 4, rdds=mapped), log.info(1, 1, parents=[0], rdds=[log.rdd(8)])
    two, three = log.info(2, 4, rdds=mapped), log.info(3, 1, parents=[2], rdds=[log.rdd(9)])
    again = {**two, "Number of Tasks": lost}

    def task(stage: int, number: int, start: float, index: int, **more: object) -> log.Event:
        return log.task(stage, number, start, start + 1.0, index=index, **more)

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
        log.job(1, [two, three], 4.0, **of),
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


@pytest.mark.parametrize(
    ("scope", "of", "again"),
    [
        ("Exchange", {"spark.sql.execution.id": "3"}, {2}),
        ("Exchange", {}, set()),
        ("map", {"spark.sql.execution.id": "3"}, set()),
    ],
)
def test_all_of_what_a_query_exchanges_is_written_again_where_all_was_lost(
    tmp_path: Path, scope: str, of: dict[str, str], again: set[int]
) -> None:
    """Idle executors that went with all that they wrote (3.5.9, dynamic allocation): an exchange
    makes an RDD of its own, which nothing else writes."""
    run = run_of(tmp_path, with_output_lost(4, scope=scope, **of))
    assert {stage.stage_id for stage in run.stages if stage.recomputed} == again
    assert run.workload.input_bytes == (4000.0 if again else 8000.0)


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


@pytest.mark.parametrize(
    ("before", "last", "told"),
    [
        (4, 2, True),  # coalesce(2) of four partitions
        (2, 2, False),  # coalesce(8) of two: they would be more of more input
        (4, 5, False),  # a union of the two with three others
    ],
)
def test_coalesce_to_fewer_partitions_is_told(
    tmp_path: Path, before: int, last: int, told: bool
) -> None:
    rdds = [
        log.rdd(9, [8], name="MapPartitionsRDD", scope="WriteFiles", partitions=last),
        log.rdd(7, name="FileScanRDD", scope="Scan csv", partitions=before),
        log.rdd(8, [7], name="CoalescedRDD", scope="Coalesce", partitions=2),
    ]
    stage = log.info(0, last, rdds=rdds)
    tasks = [log.task(0, n, 2.0, 3.0, index=n) for n in range(last)]
    events = [*log.header(), log.job(0, [stage], 1.0), log.submitted(stage, 2.0), *tasks]
    run = run_of(tmp_path, [*events, log.completed(stage, 2.0, 3.0), log.end(4.0)])
    assert stage_of(run, 0).coalesced is told


def test_real_log_with_a_lost_executor() -> None:
    (run,) = read(DATA / "retries.zstd").runs
    stages = {stage.stage_id: stage for stage in run.stages}
    assert run.complete
    assert all(s.task_seconds.count == s.tasks for s in run.stages)
    assert [stages[n].parents for n in range(5)] == [(), (), (1,), (), (3,)]
    assert [stages[n].waste.retried_stages for n in range(5)] == [0, 1, 1, 0, 0]
    assert stages[2].waste.failed_tasks == 2  # the executor's loss, and a fetch from it
    assert stages[1].waste.killed_tasks == 3  # partitions of lost map output, computed again
    assert stages[1].cached_input_bytes == stages[1].input_bytes.total
    assert run.workload.input_bytes is None
    assert [cores for _, cores in run.cores] == [1, 2, 1, 2]
    assert (run.cluster.nodes, run.cluster.executors, run.cluster.executor_cores) == (1, 2, 1)
    assert [notice.code for notice in run.notices] == ["lost-executors"]
    assert stages[0].first_wave_seconds.count == 2


# Many tasks


def test_a_stage_of_many_tasks_is_sketched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.sources.logs.eventlog.BUFFER_BYTES", 64 * task_rows.ROW_BYTES)
    count = 1500
    stage = log.info(0, count)
    ends = [
        log.task(0, n, 2.0, 2.0 + 0.2 + n / 1000, index=n, metrics={"JVM GC Time": n % 2})
        for n in range(count)
    ]
    events = [*log.header(), log.submitted(stage, 2.0), *ends, log.task(0, 9999, 2.0, 4.0, index=3),
              log.completed(stage, 2.0, 4.0), log.end(5.0)]  # fmt: skip
    exact = run_of(tmp_path, events).stages[0]
    monkeypatch.setattr(tasks, "EXACT_TASKS", 500)
    sketched = run_of(tmp_path, events).stages[0]
    assert sketched.waste == exact.waste
    assert sketched.task_seconds.count == exact.task_seconds.count == count
    assert sketched.task_seconds.total == exact.task_seconds.total
    assert sketched.gc_seconds.count == exact.gc_seconds.count == count, "none is a time too"
    assert sketched.task_seconds.quantiles != exact.task_seconds.quantiles
    for a, b in zip(sketched.task_seconds.quantiles, exact.task_seconds.quantiles, strict=True):
        assert a == pytest.approx(b, rel=0.011)
