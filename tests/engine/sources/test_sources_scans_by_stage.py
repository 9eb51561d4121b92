"""Which scans a stage ran and what their files tell, on plans and stages made for one rule each."""

from typing import Any

import pytest

from engine.sources.logs.entities import Attempt, Stage
from engine.sources.logs.file_scans import FileScans, InferredInput, reads_vectored
from engine.sources.logs.plan_events import (
    Accumulable,
    PlanMetadata,
    PlanMetric,
    PlanNode,
    SqlPlan,
)
from engine.stage_run import Measure, StageRun

SIZE, FILES, ROWS = "size of files read", "number of files read", "number of output rows"
PARQUET, CSV = "Scan parquet ", "Scan csv "
QUERY, OTHER = 5, 6
ENDED, RUNNING = Attempt(0, 1), Attempt(0)


def scan(
    rows: int, *, location: str | None = "[s3a://b/t]", kind: str | None = "Parquet",
    schema: str = "struct<a:int>", files: bool = True,
) -> PlanNode:  # fmt: skip
    """A scan whose accumulators are `rows`, `rows + 1` for the size and `rows + 2` for the number
    of its files."""
    metrics = [PlanMetric(ROWS, rows), PlanMetric(SIZE, rows + 1)]
    metrics += [PlanMetric(FILES, rows + 2)] if files else []
    told = PlanMetadata(location, kind, schema)
    return PlanNode("FileScan", (), told, tuple(metrics))


def updated(*accumulators: int) -> list[Accumulable]:
    """What a completed stage lists when its tasks updated these."""
    return [Accumulable(one) for one in accumulators]


def followed(*scans: PlanNode, query: int = QUERY, **told: int) -> FileScans:
    """After the plan of a query; `size10=7` tells that the files of scan 10 have 7 bytes."""
    found = FileScans()
    found.add_plan(SqlPlan(query, PlanNode("Union", scans)))
    for name, value in told.items():
        accumulator = int(name[4:]) + 1 if name.startswith("size") else int(name[5:]) + 2
        found.driver_metrics_updated([(accumulator, value)])
    return found


def stage_of(stage_id: int = 1, *, counted: float | None = 1.0, ended: int = 4) -> StageRun:
    """A stage of four tasks of `QUERY` that counted so many bytes."""
    read = None if counted is None else Measure(ended, counted, (0.0, counted))
    return StageRun(
        stage_id, "s", 4, 0.0, 1.0, Measure(ended, 4.0, (1.0,)),
        sql_execution_id=QUERY, input_bytes=read,
    )  # fmt: skip


def inferred(
    scans: FileScans, *names: str, stage: StageRun | None = None, **entry: Any
) -> InferredInput:
    """What is taken for the input of a completed stage whose tasks compute the named scans."""
    stage = stage or stage_of()
    attempts = entry.pop("attempts", {0: ENDED})
    entries = {1: Stage(1, file_scans=names, attempts=attempts, **entry)}
    return scans.inferred([stage], entries, vectored=True)


def input_of(found: InferredInput) -> float | None:
    (stage,) = found.stages
    return None if stage.input_bytes is None else stage.input_bytes.total


@pytest.mark.parametrize(
    ("version", "vectored"),
    [("4.1.0", True), ("5.0", True), ("4.0.9", False), ("3.9", False), ("dev", False),
     (None, False)],
)  # fmt: skip
def test_parquet_is_read_vectored_from_a_version_on(version: str | None, vectored: bool) -> None:
    assert reads_vectored(version, {}) is vectored


def test_a_scan_that_lost_its_bytes_has_those_of_its_files() -> None:
    scans = followed(scan(10), size10=800, files10=3)
    scans.stage_completed(1, updated(10))
    found = inferred(scans, PARQUET)
    (stage,) = found.stages
    assert (input_of(found), stage.files_bytes, stage.files_read) == (800.0, 800.0, 3.0)
    assert stage.input_bytes.quantiles == (0.0, 800.0), "spread as what the tasks counted is"
    assert found.known
    (said,) = found.notices
    assert said.code == "input-size-inferred"
    assert said.text.endswith("columns that were not read included"), "no part of it is missing"


@pytest.mark.parametrize(
    "other",
    [{"kind": "ORC"}, {"kind": None}, {"schema": "struct<>"}, {"location": "[hdfs://h/t]"},
     {"location": "[ABFSS://h/t]"}],
    ids=str,
)  # fmt: skip
def test_what_is_no_parquet_or_reads_no_column_or_is_counted_stays(other: dict[str, Any]) -> None:
    scans = followed(scan(10, **other), size10=800)
    scans.stage_completed(1, updated(10))
    found = inferred(scans, PARQUET)
    assert (input_of(found), found.known, found.notices) == (1.0, True, ())


def test_a_plan_that_does_not_say_where_its_files_are_may_have_lost_them() -> None:
    scans = followed(scan(10, location=None), size10=800)
    scans.stage_completed(1, updated(10))
    assert input_of(inferred(scans, PARQUET)) == 800.0


def test_a_scan_beside_one_that_is_counted_leaves_what_was_counted() -> None:
    """Whose bytes these are is not told; nor does then matter what the log does not size."""
    for told in ({"size10": 800, "size20": 70}, {"size20": 70}):
        scans = followed(scan(10), scan(20, kind="CSV"), **told)
        scans.stage_completed(1, updated(10, 20))
        found = inferred(scans, PARQUET, CSV)
        assert (input_of(found), found.known) == (1.0, True)


def test_a_scan_without_a_size_is_not_known() -> None:
    scans = followed(scan(10), scan(20), size10=800)
    scans.stage_completed(1, updated(10, 20))
    found = inferred(scans, PARQUET, PARQUET)
    assert (input_of(found), found.known) == (None, False)
    assert [said.code for said in found.notices] == ["input-size-unknown"]


def test_a_stage_without_scans_has_no_files() -> None:
    found = inferred(followed(scan(10), size10=800), stage=stage_of(counted=None))
    assert (input_of(found), found.known, found.notices) == (None, True, ())
    assert found.stages[0].files_bytes is None


def test_a_plan_whose_scan_counts_no_rows_tells_nothing_of_a_stage() -> None:
    sized = PlanNode("FileScan", (), PlanMetadata(), (PlanMetric(SIZE, 11),))
    assert not followed(sized).any_planned


def test_the_first_plan_of_a_scan_counts() -> None:
    """A later query that reads it from the cache shows it with a size that is never set."""
    scans = followed(scan(10), size10=800)
    again = scan(10)
    moved = PlanNode(
        again.name, (), again.metadata, (PlanMetric(ROWS, 10), PlanMetric(SIZE, 30))
    )  # fmt: skip
    scans.add_plan(SqlPlan(OTHER, moved))
    scans.stage_completed(1, updated(10))
    assert input_of(inferred(scans, PARQUET)) == 800.0


def test_what_spark_does_not_know_yet_is_no_size() -> None:
    scans = followed(scan(10), size10=800)
    scans.driver_metrics_updated([(11, -1), (12, 0)])
    scans.stage_completed(1, updated(10))
    found = inferred(scans, PARQUET)
    assert (input_of(found), found.stages[0].files_read) == (800.0, 0.0)


def test_the_number_of_files_is_that_of_all_scans_or_not_known() -> None:
    scans = followed(scan(10), scan(20, files=False), size10=800, size20=100, files10=3)
    scans.stage_completed(1, updated(10, 20))
    (stage,) = inferred(scans, PARQUET, PARQUET).stages
    assert (stage.files_bytes, stage.files_read) == (900.0, None)


@pytest.mark.parametrize("names", [(PARQUET, CSV), (PARQUET, "BatchScan csv ")], ids=str)
def test_the_size_of_the_files_is_told_where_each_scan_tells_it(names: tuple[str, ...]) -> None:
    scans = followed(scan(10), size10=800)
    scans.stage_completed(1, updated(10))
    assert inferred(scans, *names).stages[0].files_bytes is None


@pytest.mark.parametrize(
    ("partitions", "ended", "share"), [(8, 4, 0.5), (4, 4, 1.0), (3, 4, 1.0), (0, 2, 1.0)]
)
def test_a_stage_read_as_much_of_the_files_as_of_its_partitions(
    partitions: int, ended: int, share: float
) -> None:
    scans = followed(scan(10), size10=800)
    scans.stage_completed(1, updated(10))
    found = inferred(scans, PARQUET, stage=stage_of(ended=ended), partitions=partitions)
    assert input_of(found) == 800.0 * share


UNION = (PARQUET, PARQUET)


@pytest.mark.parametrize(
    ("attempts", "complete"),
    [
        ({0: ENDED}, True),
        ({0: Attempt(0, 1, failed=True), 1: ENDED}, True),
        ({0: Attempt(0, 1, failed=True), 1: RUNNING}, False),
        ({0: RUNNING}, False),
    ],
    ids=["complete", "again", "failed", "under way"],
)
def test_a_complete_stage_ran_what_it_lists_and_another_what_its_query_has_left(
    attempts: dict[int, Attempt], complete: bool
) -> None:
    """Of a scan that gave no row only the footers were read; one that has not begun is to come."""
    scans = followed(scan(10), scan(20), size10=800, size20=100)
    scans.stage_completed(1, updated(10))
    found = inferred(scans, *UNION, attempts=attempts)
    assert input_of(found) == (800.0 if complete else 900.0)


def left_to(stage_id: int) -> FileScans:
    """A query of which a stage is known to have run scan 10, and another one, that is over, 30."""
    scans = followed(scan(10), scan(20), scan(30), size10=800, size20=100, size30=7)
    scans.stage_completed(stage_id, updated(10))
    scans.stage_completed(9, updated(30))
    return scans


def test_what_another_stage_ran_is_not_left() -> None:
    found = inferred(left_to(1), *UNION, attempts={0: RUNNING})
    assert input_of(found) == 900.0


def test_what_another_query_has_is_not_left() -> None:
    scans = left_to(1)
    scans.add_plan(SqlPlan(OTHER, scan(40)))
    scans.driver_metrics_updated([(41, 5)])
    assert input_of(inferred(scans, *UNION, attempts={0: RUNNING})) == 900.0


def test_what_has_no_size_has_not_begun() -> None:
    scans = left_to(1)
    scans.add_plan(SqlPlan(QUERY, scan(40)))
    assert input_of(inferred(scans, *UNION, attempts={0: RUNNING})) == 900.0


def test_where_more_is_left_than_is_missing_nothing_tells_which() -> None:
    scans = left_to(1)
    scans.add_plan(SqlPlan(QUERY, scan(40)))
    scans.driver_metrics_updated([(41, 5)])
    found = inferred(scans, *UNION, attempts={0: RUNNING})
    assert (input_of(found), found.known) == (None, False)


def test_a_stage_under_way_of_which_all_scans_are_known_has_those() -> None:
    """What else its query has left is for later stages."""
    found = inferred(left_to(1), PARQUET, attempts={0: RUNNING})
    assert (input_of(found), found.known) == (800.0, True)


def test_what_is_missing_matters_of_parquet_alone() -> None:
    for attempts in ({0: ENDED}, {0: RUNNING}):
        found = inferred(followed(), CSV, attempts=attempts)
        assert (input_of(found), found.known) == (1.0, True)


def test_the_new_interface_of_sources_is_told_by_no_plan() -> None:
    for name, known in (
        ("BatchScan parquet s3a://b/t", False),
        ("BatchScan parquet ", False),
        ("BatchScan parquet HDFS://h/t", True),
        ("BatchScan orc s3a://b/t", True),
    ):
        found = inferred(followed(), name)
        assert (found.known, input_of(found)) == (known, 1.0 if known else None), name
