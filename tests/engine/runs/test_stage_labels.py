"""What a stage is called where people read it."""

import dataclasses

import pytest

import engine
from engine.runs.stage_labels import stage_label
from engine.stage_run import Measure, StageRun

SOME = Measure(count=2, total=8.0, quantiles=(4.0, 4.0))
PY4J = "parquet at NativeMethodAccessorImpl.java:0"
POOL = "$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264"


def stage(name: str, *operations: str, **more: object) -> StageRun:
    made = StageRun(0, name, 2, 0.0, 4.0, SOME, operations=operations)
    return dataclasses.replace(made, **more)


@pytest.mark.parametrize(
    ("name", "operations", "label"),
    [
        (PY4J, ("Exchange", "Scan json"), "parquet: Scan json, Exchange"),
        (
            PY4J,
            ("WriteFiles", "WholeStageCodegen (3)", "Window", "AQEShuffleRead"),
            "parquet: AQEShuffleRead, Window, WriteFiles",
        ),
        (PY4J, ("mapPartitions", "parallelize"), "parquet: parallelize, mapPartitions"),
        (PY4J, (), "parquet"),
        (PY4J, ("BatchScan orders", "Exchange"), "parquet: BatchScan orders, Exchange"),
        (
            "collect at DirectMethodHandleAccessor.java:103",
            ("Exchange", "Scan csv"),
            "collect: Scan csv, Exchange",
        ),
        (POOL, ("BroadcastExchange", "Scan parquet"), "Scan parquet, BroadcastExchange"),
        ("run at ThreadPoolExecutor.java:1149", ("WholeStageCodegen",), None),
        (POOL, ("WholeStageCodegen (1)",), "WholeStageCodegen (1)"),
        (POOL, (), None),
        ("collect at job.py:11", ("Exchange", "Scan json"), None),
        ("save at Nightly.scala:30", ("Exchange",), None),
        ("count at Nightly.java:30", ("Exchange",), None),
    ],
)
def test_a_call_site_of_javas_own_gives_way_to_what_the_stage_does(
    name: str, operations: tuple[str, ...], label: str | None
) -> None:
    """None: the name stays as Spark gave it, since it is a place in the program or all there is."""
    assert stage_label(stage(name, *operations)) == (label or name)


def test_an_exchange_stands_at_the_side_on_which_the_stage_meets_it() -> None:
    operations = ("Exchange", "HashAggregate")
    reads = stage(PY4J, *operations)
    writes = stage(PY4J, *operations, shuffle_write_bytes=SOME, shuffle_read_bytes=SOME)
    assert stage_label(reads) == "parquet: Exchange, HashAggregate"
    assert stage_label(writes) == "parquet: HashAggregate, Exchange"


def test_what_was_read_from_the_cache_was_not_done() -> None:
    cached = stage(PY4J, "InMemoryTableScan", "Scan parquet", operation_counts=(1, 0))
    assert stage_label(cached) == "parquet: InMemoryTableScan"


def test_of_many_steps_the_middle_is_left_out() -> None:
    long = stage(PY4J, "Exchange", "e", "d", "c", "b", "a", "Scan json")
    assert stage_label(long) == "parquet: Scan json, a, b, ..., Exchange"


def test_phases_tell_the_stages_of_a_pyspark_job_apart() -> None:
    """They were one phase, "parquet at NativeMethodAccessorImpl.java:0"."""
    first = stage(PY4J, "Exchange", "Scan json")
    second = dataclasses.replace(
        stage(PY4J, "WriteFiles", "Window"),
        stage_id=1, parents=(0,), submitted_seconds=4.0, completed_seconds=8.0,
    )  # fmt: skip
    run = engine.Run(
        seconds=9.0,
        cluster=engine.Cluster.of_executors(executors=1, executor_cores=2),
        workload=engine.Workload(input_bytes=1e6),
        stages=(first, second),
    )
    fitted = engine.fit(engine.Profile(name="job", runs=(run,)))
    found = fitted.predict(cluster=run.cluster)
    assert set(found.phases or {}) - {"driver"} == {
        "parquet: Scan json, Exchange",
        "parquet: Window, WriteFiles",
    }
    assert [entry.name for entry in found.stages or ()] == [
        "parquet: Scan json, Exchange",
        "parquet: Window, WriteFiles",
    ]
