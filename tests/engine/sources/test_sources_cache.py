"""What a log tells of cached data, of its operations and of its category."""

import json
from pathlib import Path

import msgspec
import pytest
import sparklog as log
from distilled import run_of, stage_of
from pitfall_logs import text_of

from engine.sources import read
from engine.sources.formats.profile_file import parse
from engine.sources.formats.profile_text import format_profile
from engine.sources.logs.events import RddInfo
from engine.sources.logs.lineage import Lineage, without_paths

DATA = Path(__file__).parents[2] / "data"


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


@pytest.mark.parametrize("cached", [True, False])
def test_a_block_that_a_stage_cached_itself_and_read_again_is_no_input(
    tmp_path: Path, cached: bool
) -> None:
    """As GraphX does behind a shuffle (parent 1 is another stage's); without a cache nobody knows
    where the bytes are from."""
    stage = log.info(1, 1, rdds=[log.rdd(9, [7]), log.rdd(7, [1], cached=cached)])
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, cached_stage(0), 2.0, 1000), *reading(1, stage, 4.0, 700),
         log.end(6.0)],
    )  # fmt: skip
    assert run.workload.input_bytes == (1000.0 if cached else 1700.0)


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
    assert run.cached_bytes == 200.0, "a block in memory that lies on disk as well wants its memory"
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


@pytest.mark.parametrize(
    ("site", "shown"),
    [
        ("collect at jobs/etl.py:10", "collect at etl.py:10"),
        ("parquet at ../scala/Etl.scala:28", "parquet at Etl.scala:28"),
        ("count at ./etl.py:3", "count at etl.py:3"),
        ("count at C:\\jobs\\etl.py:3", "count at etl.py:3"),
        ("Scan csv hdfs://name:8020/data/orders.csv", "Scan csv orders.csv"),
        ("map at <console>:25", "map at <console>:25"),
        ("rows / 2", "rows / 2"),
    ],
)
def test_a_path_is_shortened_to_its_file(site: str, shown: str) -> None:
    """Relative ones too, as `spark-submit jobs/etl.py` and `spark-shell -i ../x.scala` log them."""
    assert without_paths(site) == shown


def test_python_functions_are_operations(tmp_path: Path) -> None:
    """Spark gives their RDDs no scope, only a name."""
    rdds = [log.rdd(4, [3], name="CoalescedRDD", scope="coalesce"),
            log.rdd(3, [2], name="PythonRDD"), log.rdd(2, [1], name="PythonRDD"),
            log.rdd(1, scope="parallelize")]  # fmt: skip
    stage = log.info(0, 1, rdds=rdds)
    run = run_of(
        tmp_path,
        [*log.header(), log.submitted(stage, 2.0), log.task(0, 0, 2.0, 3.0),
         log.completed(stage, 2.0, 3.0), log.end(4.0)],
    )  # fmt: skip
    assert run.stages[0].operations == ("coalesce", "PythonRDD", "parallelize")
    assert run.stages[0].operation_counts == (1, 2, 1)


@pytest.mark.parametrize(
    ("scope", "name"),
    [(None, "JDBCRDD"), ("Scan JDBCRelation(orders)", "Scan JDBCRelation(orders)")],
)
def test_tables_of_databases_are_operations(scope: str | None, name: str) -> None:
    """Spark 3.5.9 gives their RDD no scope either; one that has a scope goes by that."""
    rdds = [log.rdd(2, [1], scope="WholeStageCodegen (2)"), log.rdd(1, name="JDBCRDD", scope=scope)]
    found = Lineage.operations_of([msgspec.convert(rdd, RddInfo) for rdd in rdds])
    assert found == ("WholeStageCodegen (2)", name)


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


def test_an_rdd_that_is_persisted_again_has_two_lives(tmp_path: Path) -> None:
    """As in a log of Spark 3.5: between the two its storage level is that of none."""
    unpersist = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 5}
    plain = log.info(2, 1, rdds=[log.rdd(9, [5]), log.rdd(5, [1]), log.rdd(1)])
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, cached_stage(0), 2.0, 1000),
         *reading(1, cached_stage(1), 4.0, 700), unpersist, *reading(2, plain, 6.0, 1000),
         *reading(3, cached_stage(3), 8.0, 1000), *reading(4, cached_stage(4), 10.0, 700),
         unpersist, log.end(12.0)],
    )  # fmt: skip
    assert [(rdd.rdd_id, rdd.unpersisted_after) for rdd in run.persisted_rdds] == [(5, 1), (5, 4)]
    assert [stage.needed_rdds for stage in run.stages] == [(5,), (5,), (), (5,), (5,)]


def test_an_rdd_unpersisted_while_a_stage_reads_it_has_one_life(tmp_path: Path) -> None:
    unpersist = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 5}
    second = reading(1, cached_stage(1), 4.0, 700)
    run = run_of(
        tmp_path,
        [*log.header(), *reading(0, cached_stage(0), 2.0, 1000), second[0], unpersist, *second[1:],
         log.end(12.0)],
    )  # fmt: skip
    assert [(rdd.rdd_id, rdd.unpersisted_after) for rdd in run.persisted_rdds] == [(5, 1)]


def test_blocks_that_tasks_report_count_when_all_executors_are_known(tmp_path: Path) -> None:
    """As Spark 1.x tells them; a block that is on disk as well counts as it is in memory."""
    status = {"Memory Size": 300, "Disk Size": 40}
    block = {"Updated Blocks": [{"Block ID": "rdd_5_0", "Status": status}]}
    tasks = [
        log.task_start(0, 0, 2.0),
        log.task(0, 0, 2.0, 3.0),
        log.task(0, 1, 3.0, 4.0, metrics=block),
    ]
    run = run_of(tmp_path, [*log.header(executors=1, cores=1), *tasks, log.end(5.0)])
    assert run.cached_bytes == 300.0


def test_blocks_that_memory_lost_are_not_there_twice() -> None:
    """Spark 3.5: the memory size of a block that was dropped is what that set free, whether the
    block went to disk or nowhere."""
    run = read(DATA / "evicted.zstd").runs[0]
    each = 2 * 73_447_420.0
    assert [rdd.stored_bytes for rdd in run.persisted_rdds] == [each] * 4
    assert run.cached_bytes == 2 * each
    assert [stage.cached_disk_bytes for stage in run.stages] == [None, 0.0, 0.0, 0.0, 0.0, each]
    assert run.stages[5].cached_input_bytes == each
    assert run.stages[2].cached_input_bytes is None


ON_DISK = {"Use Disk": True, "Use Memory": False, "Deserialized": False, "Replication": 1}


def read_by(partitions: int, number: int, at: float, blocks: list[log.Event]) -> list[log.Event]:
    """A stage of a second that reads a cached RDD while these blocks are stored."""
    kept = log.rdd(5, cached=True) | {"Number of Partitions": partitions}
    stage = log.info(number, partitions, rdds=[log.rdd(9, [5]), kept])
    tasks = [
        log.task(number, partitions * number + n, at, at + 1.0, index=n) for n in range(partitions)
    ]
    return [log.submitted(stage, at), *blocks, *tasks, log.completed(stage, at, at + 1.0)]


def test_what_lies_on_disk_alone_is_told_of_each_stage(tmp_path: Path) -> None:
    def moved(name: str, memory: int, disk: int, *, to_memory: bool = False) -> log.Event:
        block = _block(name, memory, disk)
        info = {
            **block["Block Updated Info"],
            "Storage Level": {**ON_DISK, "Use Memory": to_memory},
        }
        return {**block, "Block Updated Info": info}

    stored = [moved(f"rdd_5_{n}", 100, 0, to_memory=True) for n in range(2)]
    events = [
        *read_by(3, 0, 2.0, [*stored, moved("rdd_5_2", 0, 30)]),
        *read_by(3, 1, 4.0, [moved("rdd_5_0", 100, 25)]),
        *read_by(3, 2, 6.0, [moved("rdd_5_0", 100, 25, to_memory=True)]),
        *read_by(3, 3, 8.0, []),
    ]
    run = run_of(tmp_path, [*log.header(), *events, log.end(10.0)])
    assert [stage.cached_disk_bytes for stage in run.stages] == [None, 30.0, 130.0, 30.0]
    assert run.cached_bytes == 230.0


def test_copies_on_several_executors_all_want_memory_and_blocks_on_disk_alone_none() -> None:
    """Spark 3.5 with MEMORY_ONLY_2: four blocks of 5 MB, twice each; then of 50 MB, of which two
    executors have room for two each; then DISK_ONLY, which is read from there on any cluster."""
    run = read(DATA / "copies.zstd").runs[0]
    small, large = 4 * 5_246_300.0, 4 * 52_462_460.0
    wanted = [(rdd.rdd_id, rdd.stored_bytes) for rdd in run.persisted_rdds]
    assert wanted == [(1, 2 * small), (5, 2 * large)]
    assert [rdd.copies for rdd in run.persisted_rdds] == [2, 2]
    assert run.cached_bytes == 2 * large
    on_disk = run.stages[5]
    assert on_disk.cached_input_bytes == on_disk.cached_disk_bytes == large
    assert on_disk.cached_rdds == on_disk.needed_rdds == on_disk.disk_backed_rdds == ()


def test_copies_on_more_executors_than_there_can_be_are_damage(tmp_path: Path) -> None:
    """A profile refuses them, and so could not be read again."""
    text = text_of(DATA / "copies.zstd").decode()
    path = tmp_path / "changed"
    path.write_text(text.replace('"Replication":2', f'"Replication":{10**30}'))
    profile = read(path)
    assert {rdd.copies for rdd in profile.runs[0].persisted_rdds} == {1}
    assert parse(format_profile(profile), "p.yaml") == profile


@pytest.mark.parametrize("off_heap", [True, False])
def test_blocks_off_the_heap_want_no_memory_of_it(tmp_path: Path, off_heap: bool) -> None:
    """As Spark 3.5 and 4.3 tell the level OFF_HEAP, of RDDs and of blocks."""
    level = {"Use Disk": True, "Use Memory": True, "Use Off Heap": off_heap,
             "Deserialized": False, "Replication": 1}  # fmt: skip
    first, second = cached_stage(0), cached_stage(1)
    for stage in (first, second):
        stage["RDD Info"][1]["Storage Level"] = level
    block = _block("rdd_5_0", 100)
    block["Block Updated Info"]["Storage Level"] = level
    events = [*reading(0, first, 2.0, 1000)[:1], block, *reading(0, first, 2.0, 1000)[1:]]
    run = run_of(tmp_path, [*log.header(), *events, *reading(1, second, 4.0, 100), log.end(6.0)])
    assert run.cached_bytes == (0.0 if off_heap else 100.0)
    assert run.stages[1].cached_input_bytes == 100.0
    assert run.stages[1].cached_rdds == (() if off_heap else (5,))
    assert run.workload.input_bytes == 1000.0


@pytest.mark.parametrize(
    "gone",
    [
        {"Event": "SparkListenerExecutorRemoved", "Executor ID": "1", "Removed Reason": "137"},
        {
            "Event": "SparkListenerBlockManagerRemoved",
            "Block Manager ID": {"Executor ID": "1", "Host": "h", "Port": 1},
        },
    ],
    ids=["executor", "block manager alone"],
)
def test_an_executor_takes_its_blocks_with_it(tmp_path: Path, gone: log.Event) -> None:
    """The other computes them again: they are there once, and no longer on the disk of the lost."""

    def stored(partition: int, executor: str) -> log.Event:
        block = _block(f"rdd_5_{partition}", 0, 100)
        manager = {"Executor ID": executor, "Host": "h", "Port": 1}
        own = {"Storage Level": ON_DISK, "Block Manager ID": manager}
        return {**block, "Block Updated Info": {**block["Block Updated Info"], **own}}

    events = [*read_by(2, 0, 2.0, [stored(0, "0"), stored(1, "1")]), gone | {"Timestamp": 3500},
              *read_by(2, 1, 4.0, [stored(1, "0")]), *read_by(2, 2, 6.0, [])]  # fmt: skip
    run = run_of(tmp_path, [*log.header(), *events, log.end(8.0)])
    assert [stage.cached_disk_bytes for stage in run.stages] == [None, 100.0, 200.0]
    assert run.cached_bytes == 200.0
