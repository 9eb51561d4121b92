"""Runs on data of another shape are told by what their stages read and wrote; more data, fewer
tasks, aggregations and joins are no other shape."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.models.stages.data_shape import CODE, difference, shape_notices
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import Measure, StageRun

SAMPLES = Path(__file__).parents[3] / "sample_logs"
RECORDS = 1e6


def measure(total: float, *, tasks: int = 8, largest: float | None = None) -> Measure:
    """Of tasks of one size, or of which one has so large a share."""
    top = total / tasks if largest is None else total * largest
    rest = (total - top) / (tasks - 1)
    return Measure(tasks, total, (rest, top))


def scan(scale: float = 1.0, *, tasks: int = 8, **changed: Any) -> StageRun:
    """Reads 100 bytes per record and hands on half of them."""
    own: dict[str, Any] = {
        "input_bytes": measure(100.0 * RECORDS * scale, tasks=tasks),
        "input_records": RECORDS * scale,
        "shuffle_write_bytes": measure(40.0 * RECORDS * scale, tasks=tasks),
        "shuffle_write_records": RECORDS / 2.0 * scale,
    }
    return StageRun(
        0, "map at job.scala:3", tasks, 0.0, 9.0, measure(20.0, tasks=tasks), **own | changed
    )


def merge(scale: float = 1.0, *, tasks: int = 8, largest: float | None = None, **changed: Any):
    """Reads what `scan` wrote and writes one record in a hundred."""
    own: dict[str, Any] = {
        "shuffle_read_bytes": measure(40.0 * RECORDS * scale, tasks=tasks, largest=largest),
        "shuffle_read_records": RECORDS / 2.0 * scale,
        "output_bytes": measure(1e6 * scale, tasks=tasks),
        "output_records": RECORDS / 100.0 * scale,
        "parents": (0,),
    }
    return StageRun(
        1, "save at job.scala:5", tasks, 9.0, 15.0, measure(15.0, tasks=tasks), **own | changed
    )


def run_of(*stages: StageRun, day: int = 1, name: str = "job", **changed: Any) -> Run:
    return Run(
        15.0,
        engine.Cluster.of_executors(executors=2, executor_cores=1),
        engine.Workload(1e8),
        source=f"run{day}",
        application=name,
        started_epoch_seconds=86_400.0 * day,
        stages=stages,
        **changed,
    )


BEFORE = run_of(scan(), merge())


@pytest.mark.parametrize("scale", [0.25, 4.0])
@pytest.mark.parametrize("tasks", [8, 32])
def test_more_data_is_no_other_shape(scale: float, tasks: int) -> None:
    assert difference(run_of(scan(scale, tasks=tasks), merge(scale, tasks=tasks)), BEFORE) is None


def test_an_aggregation_may_write_as_many_records_of_more_data() -> None:
    same = merge(4.0, output_records=merge().output_records, output_bytes=merge().output_bytes)
    assert difference(run_of(scan(4.0, tasks=32), same), BEFORE) is None


def test_a_join_may_write_pairs() -> None:
    pairs = {"parents": (0, 7), "output_records": 16.0 * RECORDS / 100.0}
    before = run_of(scan(), merge(parents=(0, 7)))
    assert difference(run_of(scan(4.0, tasks=32), merge(4.0, **pairs)), before) is None


@pytest.mark.parametrize(
    ("stages", "text"),
    [
        (
            (scan(2.0, tasks=16, input_bytes=measure(600.0 * RECORDS)), merge(2.0)),
            "stage 0 (map at job.scala:3) reads 300 B per record, there 100 B",
        ),
        (
            (scan(2.0, tasks=16, shuffle_write_records=RECORDS / 5.0), merge(2.0)),
            "stage 0 (map at job.scala:3) writes 0.1 records for each that it reads, there 0.5",
        ),
        (
            (scan(2.0, tasks=16), merge(2.0, largest=0.5)),
            "stage 1 (save at job.scala:5) has 50 % of its data in one task of 8, there 12 %",
        ),
    ],
)
def test_another_shape_is_told_by_its_stage_and_both_ratios(
    stages: tuple[StageRun, ...], text: str
) -> None:
    (notice,) = shape_notices([run_of(*stages, day=2), BEFORE])
    assert notice.code == CODE
    assert notice.text.startswith("run2 worked on data of another shape than run1: ")
    assert text in notice.text


@pytest.mark.parametrize(("now", "then", "told"), [(0.9, 0.9, False), (0.9, 0.7, True)])
def test_a_heavy_key_weighs_the_same_in_any_number_of_tasks(
    now: float, then: float, told: bool
) -> None:
    """Its share of the data, and of the rest an even part: 0.925 of 4 tasks and 0.902 of 64."""

    def largest(key: float, tasks: int) -> float:
        return key + (1.0 - key) / tasks

    few = merge(tasks=4, largest=largest(now, 4))
    many = merge(tasks=64, largest=largest(then, 64))
    found = difference(run_of(scan(), few), run_of(scan(), many))
    assert (found is not None) == told
    unknown = merge(tasks=64, shuffle_read_bytes=None)
    assert difference(run_of(scan(), few), run_of(scan(), unknown)) is None


def test_what_goes_to_a_shuffle_and_what_to_files_add_up() -> None:
    """Half of the records each way, or all of them one way, are as many."""
    both = scan(shuffle_write_records=RECORDS / 4.0, output_records=RECORDS / 4.0)
    assert difference(run_of(both, merge()), BEFORE) is None
    more = scan(shuffle_write_records=RECORDS / 2.0, output_records=RECORDS / 2.0)
    found = difference(run_of(more, merge()), BEFORE)
    assert "writes 1 records for each that it reads, there 0.5" in found.text


def test_the_size_of_files_tells_nothing_of_what_was_read_of_a_record() -> None:
    wide = run_of(scan(2.0, tasks=16, input_bytes=measure(600.0 * RECORDS)), merge(2.0), day=2)
    inferred = replace(wide, notices=(Notice("input-size-inferred", "of files", "count it"),))
    assert difference(wide, BEFORE) is not None
    assert difference(inferred, BEFORE) is None
    assert difference(BEFORE, inferred) is None


def test_as_many_tasks_of_more_data_each_may_write_as_much_up_to_in_proportion() -> None:
    for records, told in ((RECORDS / 2.0, False), (RECORDS, False), (RECORDS / 5.0, True)):
        now = run_of(scan(2.0, shuffle_write_records=records), merge(2.0))
        assert (difference(now, BEFORE) is not None) is told


def test_bytes_tell_where_records_are_not_known() -> None:
    unknown = {"input_records": None, "shuffle_write_records": None}
    before = run_of(scan(**unknown))
    thin = {"shuffle_write_bytes": measure(8.0 * RECORDS), **unknown}
    found = difference(run_of(scan(tasks=8, **thin)), before)
    assert found.text == "writes 0.08 bytes for each that it reads, there 0.4"


def test_batches_of_python_objects_are_not_counted() -> None:
    python = {"operations": ("PythonRDD",)}
    before = run_of(replace(scan(), **python))
    now = run_of(replace(scan(shuffle_write_records=RECORDS / 50.0), **python))
    assert difference(now, before) is None


def test_blocks_of_a_cache_are_not_records() -> None:
    cached = scan(input_records=2_000.0, cached_input_bytes=1e8)
    assert difference(run_of(cached), run_of(scan())) is None


def test_a_stage_of_little_time_is_not_said() -> None:
    wide = scan(input_bytes=measure(300.0 * RECORDS))
    brief = [replace(stage, task_seconds=measure(0.2)) for stage in (wide, scan())]
    assert difference(run_of(wide, merge()), BEFORE) is not None
    assert difference(run_of(brief[0], merge()), run_of(brief[1], merge())) is None


def test_few_records_and_few_tasks_say_nothing() -> None:
    one = {"input_records": 1.0, "shuffle_write_records": None, "shuffle_write_bytes": None}
    assert difference(run_of(scan(**one)), BEFORE) is None
    split = run_of(merge(tasks=3, largest=0.9))
    assert difference(split, run_of(merge(tasks=3))) is None


@pytest.mark.parametrize(
    "changed",
    [{"name": "another"}, {"batch_id": 3}, {"workload": engine.Workload(1e8, parameters={"k": 2})}],
)
def test_other_applications_parameters_and_batches_are_not_compared(changed: Any) -> None:
    thin = run_of(scan(shuffle_write_records=RECORDS / 10.0), day=2)
    own = {"application": changed.pop("name")} if "name" in changed else changed
    assert shape_notices([BEFORE, thin])
    assert not shape_notices([BEFORE, replace(thin, **own)])


def test_the_last_run_is_held_against_all_others() -> None:
    thin = [scan(shuffle_write_records=RECORDS / 10.0), merge()]
    (notice,) = shape_notices([run_of(*thin, day=9), BEFORE, run_of(scan(), merge(), day=2)])
    assert notice.text.startswith("run9 ")
    assert "(and 1 more)" in notice.text


@pytest.mark.parametrize("name", ["word-count", "sort", "sales-report", "movie-als", "pagerank"])
def test_bundled_pairs_are_of_one_shape(name: str) -> None:
    pair = (str(SAMPLES / f"{name}-{size}.zstd") for size in ("small", "large"))
    assert CODE not in {notice.code for notice in engine.read(*pair).notices}


def test_every_prediction_from_such_logs_says_so(tmp_path: Path) -> None:
    """Through files: a profile keeps the records, and reading it beside the log tells again."""
    profile = engine.read(str(SAMPLES / "sort-small.zstd"))
    (run,) = profile.runs
    assert [stage.input_records for stage in run.stages] == [8e5, 8e5, None]
    assert [stage.shuffle_write_records for stage in run.stages] == [None, 8e5, None]
    assert [stage.output_records for stage in run.stages] == [None, None, 8e5]
    wide = tuple(
        stage if stage.input_records is None else replace(stage, input_records=2e5)
        for stage in run.stages
    )
    other = replace(run, stages=wide, app_id="other", started_epoch_seconds=1.0)
    path = tmp_path / "wide.yaml"
    engine.write_profile(replace(profile, runs=(other,)), path)
    both = engine.read(str(SAMPLES / "sort-small.zstd"), str(path))
    for model in ("sparkplan", "simcost"):
        prediction = engine.fit(both, model=model).predict(cluster=run.cluster, workload=None)
        assert CODE in {notice.code for notice in prediction.warnings}
