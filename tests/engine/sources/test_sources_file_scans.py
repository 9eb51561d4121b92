"""The size of scanned files; input that the tasks of Spark 4.1 do not count, on a real log."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from pitfall_logs import DATA, codes, notice, one, text_of

from engine.profile import Run
from engine.stage_run import StageRun

LOG = DATA / "vectored.zstd"
TABLE_BYTES = 2_434_758
"""Of the four files, as the plan tells their size."""

SWITCH = "spark.hadoop.parquet.hadoop.vectored.io.enabled"
OLDER = (r'"Spark Version":"4\.1\.0"', '"Spark Version":"4.0.1"')


ANOTHER_FORMAT = (r'(Scan |"Format":")[pP]arquet', r"\1csv")


def told(value: str) -> tuple[str, str]:
    return r'"Spark Properties":\{', f'"Spark Properties":{{"{SWITCH}":"{value}",'


def counting(each_bytes: int) -> tuple[str, str]:
    """Each task that counted footers counts this."""
    return r'"Bytes Read":[1-9]\d*', f'"Bytes Read":{each_bytes}'


def counted() -> list[float]:
    """Bytes that the tasks of each stage counted, of those that counted any."""
    found: Counter[int] = Counter()
    for line in text_of(LOG).splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            found[event["Stage ID"]] += event["Task Metrics"]["Input Metrics"]["Bytes Read"]
    return [float(total) for _, total in sorted(found.items()) if total]


def changed(folder: Path, *replacements: tuple[str, str]) -> Run:
    text = text_of(LOG).decode()
    for pattern, by in replacements:
        text, times = re.subn(pattern, by, text)
        assert times
    path = folder / "changed"
    path.write_text(text)
    return one(path)


def reading(run: Run) -> list[StageRun]:
    return [stage for stage in run.stages if stage.input_bytes is not None]


def totals(run: Run) -> list[float]:
    return [stage.input_bytes.total for stage in reading(run) if stage.input_bytes]


def test_what_was_not_counted_is_the_size_of_the_files():
    run = one(LOG)
    whole, count, first, second = totals(run)
    assert whole == pytest.approx(TABLE_BYTES)
    assert count == counted()[1], "a count of rows reads no column"
    assert first == second == TABLE_BYTES / 2, "two stages ran one of two partitions each"
    assert run.workload.input_bytes == pytest.approx(2 * TABLE_BYTES + count)
    for stage in reading(run):
        measure = stage.input_bytes
        assert measure.mean == pytest.approx(sum(measure.quantiles) / len(measure.quantiles))


def test_it_is_said():
    said = notice(one(LOG), "input-size-inferred")
    assert "stage 2 (collect at pitfalls.py:" in said
    assert "and 2 more" in said
    assert "47.7 kB of 4.87 MB" in said


@pytest.mark.parametrize(
    "change",
    [OLDER, told("false"), (r"\[file:", "[hdfs:"), ANOTHER_FORMAT],
    ids=["older Spark", "switched off", "counted by the file system", "another format"],
)
def test_what_is_counted_stays(tmp_path: Path, change: tuple[str, str]):
    run = changed(tmp_path, change)
    assert "input-size-inferred" not in codes(run)
    assert totals(run) == counted()


def test_the_size_of_the_files_is_told_where_bytes_are_counted_too(tmp_path: Path):
    """Of the whole table, also where a stage ran a part of its partitions or read no column."""
    run = changed(tmp_path, OLDER)
    assert [stage.files_bytes for stage in reading(run)] == [TABLE_BYTES] * 4
    assert [stage.files_read for stage in reading(run)] == [4.0] * 4
    assert [s.files_bytes for s in run.stages if s.input_bytes is None] == [None] * (
        len(run.stages) - 4
    )


@pytest.mark.parametrize(
    "change",
    [("size of files read", "size of something"), (rf",{TABLE_BYTES}\]", ",-1]")],
    ids=["no metric", "never set"],
)
def test_a_log_without_the_size_of_the_files_leaves_it_open(
    tmp_path: Path, change: tuple[str, str]
):
    run = changed(tmp_path, OLDER, change)
    assert {stage.files_bytes for stage in run.stages} == {None}


def test_a_log_without_the_number_of_the_files_tells_their_size(tmp_path: Path):
    run = changed(tmp_path, OLDER, ("number of files read", "number of something"))
    told = {(stage.files_bytes, stage.files_read) for stage in reading(run)}
    assert told == {(TABLE_BYTES, None)}


def test_an_older_spark_that_was_told_to_read_vectored(tmp_path: Path):
    assert totals(changed(tmp_path, OLDER, told("true"))) == totals(one(LOG))


def test_a_scan_that_counted_less_than_a_quarter_was_not_counted(tmp_path: Path):
    run = changed(tmp_path, counting(TABLE_BYTES // 10))
    assert "input-size-inferred" in codes(run)
    assert TABLE_BYTES / 2 in totals(run)


def test_a_scan_that_counted_a_good_part_left_out_columns(tmp_path: Path):
    each = 400_000
    whole, _, first, second = totals(changed(tmp_path, counting(each)))
    assert (whole, first, second) == (2 * each, each, each)


def test_where_no_byte_was_counted_the_files_are_spread_evenly(tmp_path: Path):
    whole, first, second = reading(changed(tmp_path, counting(0)))
    assert whole.input_bytes.quantiles == (TABLE_BYTES / 2,)
    assert [s.input_bytes.total for s in (first, second) if s.input_bytes] == [TABLE_BYTES / 2] * 2


SCANS = DATA / "scans.zstd"
"""A union of two tables in one stage, a scan by the new interface of sources, one without a query.
"""

LARGE_BYTES, SMALL_BYTES = 1_621_954, 812_821


def cut(folder: Path, log: Path, stage_id: int, *, ended: int, without: str = "") -> Run:
    """The log up to the end of so many tasks of a stage, without what matches a pattern."""
    kept, name = [], folder / "cut"
    for line in re.sub(without or r"\A(?!)", "", text_of(log).decode()).splitlines():
        kept.append(line)
        event = json.loads(line)
        ended -= event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == stage_id
        if not ended:
            break
    name.write_text("\n".join(kept) + "\n")
    return one(name)


PLANS = r"(?m)^.*(SQLExecutionStart|SQLAdaptiveExecutionUpdate)\".*\n"
SIZES = r"(?m)^.*SparkListenerDriverAccumUpdates\".*\n"
ROWS = r'\{"ID":\d+,"Name":"number of output rows","Update"[^}]*\},'
"""Of a task's metrics those that tell which scan it ran."""


def test_a_log_that_breaks_off_in_a_scan_has_read_as_much_as_of_its_tasks(tmp_path: Path):
    run = cut(tmp_path, LOG, 2, ended=1)
    assert totals(run) == [TABLE_BYTES / 2]
    assert run.workload.input_bytes == TABLE_BYTES / 2
    said = notice(run, "input-size-inferred")
    assert "11 kB of 1.22 MB" in said
    assert "of stages whose end was not seen as large a part as of their tasks (1 of 2)" in said
    assert "1.22 MB read until then" in notice(run, "incomplete-log")


def test_a_stage_of_two_scans_of_which_tasks_of_one_have_ended(tmp_path: Path):
    run = cut(tmp_path, SCANS, 4, ended=1)
    assert totals(run) == [(LARGE_BYTES + SMALL_BYTES) / 4]
    assert "input-size-unknown" not in codes(run)


def test_a_union_counts_all_of_its_files():
    assert totals(one(SCANS)) == [LARGE_BYTES + SMALL_BYTES]


def test_the_input_is_not_known_where_the_log_does_not_size_the_files():
    run = one(SCANS)
    assert run.workload.input_bytes is None
    assert [stage.stage_id for stage in reading(run)] == [4]
    said = notice(run, "input-size-unknown")
    assert "stage 8 (collect at pitfalls.py:" in said
    assert "and 1 more" in said


def test_the_new_interface_of_sources_on_a_file_system_that_counts(tmp_path: Path):
    path = tmp_path / "changed"
    path.write_text(text_of(SCANS).decode().replace("parquet file:/", "parquet hdfs://h/"))
    by_id = {stage.stage_id: stage.input_bytes for stage in one(path).stages}
    assert by_id[8] is not None
    assert by_id[11] is None


@pytest.mark.parametrize("without", [PLANS, SIZES], ids=["plans", "sizes"])
@pytest.mark.parametrize("ended", [1, 2])
def test_without_plans_or_sizes_the_input_is_not_known(tmp_path: Path, without: str, ended: int):
    run = cut(tmp_path, LOG, 2, ended=ended, without=without)
    assert run.workload.input_bytes is None
    assert reading(run) == []
    assert "stage 2 (" in notice(run, "input-size-unknown")
    assert "read until then" not in notice(run, "incomplete-log")


def test_a_whole_log_without_its_plans(tmp_path: Path):
    run = changed(tmp_path, (PLANS, ""))
    assert run.workload.input_bytes is None
    assert "input-size-inferred" not in codes(run)


def test_the_scans_that_a_query_has_left_where_no_task_says_what_it_ran(tmp_path: Path):
    run = cut(tmp_path, LOG, 2, ended=1, without=ROWS)
    assert totals(run) == [TABLE_BYTES / 2]
