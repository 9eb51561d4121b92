"""How many rows tasks hand on after they grouped them, and how many groups there are, on a log."""

import re
from pathlib import Path

import pytest
from pitfall_logs import DATA, changed, one, text_of

from engine.profile import Run

LOG = DATA / "grouped.zstd"


def told(run: Run) -> list[tuple[float | None, float | None]]:
    """Of stages that group rows into more than one group."""
    return [(s.grouped_rows, s.groups) for s in run.stages if (s.groups or 0.0) > 1.0]


def test_a_stage_tells_its_rows_and_how_many_groups_they_are() -> None:
    run = one(LOG)
    assert told(run) == [(100.0, 50.0), (80_000.0, 80_000.0), (1416.0, 972.0), (1416.0, 972.0)]
    for stage in run.stages:
        if stage.grouped_rows is not None:
            assert stage.shuffle_write_records == stage.grouped_rows


def test_a_stage_tells_the_rows_that_it_groups() -> None:
    """Those of its scan, as the plan counts them."""
    stages = [s for s in one(LOG).stages if (s.groups or 0.0) > 1.0]
    assert [s.ungrouped_rows for s in stages] == [80_000.0] * 4


def test_rows_that_nothing_counts_are_not_told(tmp_path: Path) -> None:
    """Of scans without the metric the rest is told as ever."""
    counted = r'"number of output rows",("accumulatorId":\d+,"metricType":"sum"},'
    uncounted = r'"another",\1'
    run = changed(LOG, tmp_path, counted + r'{"name":"number of files read")', uncounted)
    assert told(run) == told(one(LOG))
    assert {s.ungrouped_rows for s in run.stages if (s.groups or 0.0) > 1.0} == {None}


def test_rows_below_what_may_make_others_of_them_are_not_told(tmp_path: Path) -> None:
    """As a function in Scala does, which counts none."""
    scanned = r'"InputAdapter"(,"simpleString":"InputAdapter","children":\[\{"nodeName":"Scan)'
    run = changed(LOG, tmp_path, scanned, r'"MapPartitions"\1')
    assert told(run) == told(one(LOG))
    assert {s.ungrouped_rows for s in run.stages if (s.groups or 0.0) > 1.0} == {None}


def test_fewer_rows_than_their_groups_are_damage(tmp_path: Path) -> None:
    run = changed(LOG, tmp_path, r'"Value":"?80000"?,', '"Value":"70",')
    (days, *_) = (s for s in run.stages if s.groups == 50.0)
    assert (days.ungrouped_rows, days.grouped_rows) == (None, 100.0)


def test_what_collects_rows_is_none() -> None:
    (stage,) = (s for s in one(LOG).stages if s.shuffle_write_records == 100.0 and not s.groups)
    assert "ObjectHashAggregate" in stage.operations


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r'"nodeName":"HashAggregate"', '"nodeName":"ObjectHashAggregate"'),
        (r'"nodeName":"Exchange"', '"nodeName":"Elsewhere"'),
        (r'("nodeName":")WholeStageCodegen \(1\)', r"\1Filter"),
    ],
    ids=["other groups", "no shuffle", "a filter between"],
)
def test_other_plans_tell_nothing(tmp_path: Path, pattern: str, by: str) -> None:
    assert told(changed(LOG, tmp_path, pattern, by)) == []


def test_more_groups_than_rows_are_damage(tmp_path: Path) -> None:
    run = changed(LOG, tmp_path, r'"Value":"?50"?,', '"Value":"5000",')
    assert 100.0 not in [rows for rows, _ in told(run)]


def test_groups_that_were_brought_together_are_rows_like_any_others(tmp_path: Path) -> None:
    """Shuffled anew, before other groups are made of them."""
    assert told(changed(LOG, tmp_path, "partial_", "")) == []


def test_of_aggregations_without_functions_the_keys_tell(tmp_path: Path) -> None:
    """Both halves of a `distinct` look alike, and so do two that follow each other."""
    assert told(changed(LOG, tmp_path, r"functions=\[[^\]]*\]", "functions=[]")) == told(one(LOG))
    other = r"keys=\[(\w+)#(\d+)\], functions=\[partial_count\(1\)\]"
    found = changed(LOG, tmp_path, other, r"keys=[another#\2], functions=[]")
    assert told(found) == []


def test_a_stage_whose_tasks_are_lost_brought_nothing_together(tmp_path: Path) -> None:
    (days, *_) = (stage for stage in one(LOG).stages if stage.groups == 50.0)
    (merging,) = (s.stage_id for s in one(LOG).stages if s.parents == (days.stage_id,))
    lost = changed(
        LOG, tmp_path, rf'\{{"Event":"SparkListenerTaskEnd","Stage ID":{merging},.*\n', ""
    )
    assert (100.0, 50.0) not in told(lost)
    assert told(lost) == told(one(LOG))[1:]


def test_groups_that_are_made_twice_count_once() -> None:
    """A sort takes samples of its rows before it shuffles them: the metrics of the plan go on."""
    run = one(DATA / "ordered.zstd")
    counted, *_ = told(run)
    (sort,) = (s for s in run.stages if s.shuffle_write_records == counted[1])
    assert [s.stage_id for s in run.stages if s.parents == sort.parents] == [2, sort.stage_id]
    _, words, _ = told(run)
    assert counted == words, "the words by themselves, which are made once"


def test_keys_of_floating_point_are_the_same_before_and_behind_a_shuffle() -> None:
    """Only the first of both halves of a `distinct` makes all zeros one."""
    *_, words, halves = told(one(DATA / "ordered.zstd"))
    assert halves == words


def test_rows_of_a_join_that_is_sorted_count_once() -> None:
    """Twice as many would be more than both its sides have, as of keys that repeat on both."""
    run = one(DATA / "ordered.zstd")
    joined = [s.joined_output_records for s in run.stages if s.joined_output_records]
    (sort,) = (s for s in run.stages if s.joined_output_records and s.shuffle_write_records)
    assert joined == [sort.shuffle_write_records] * 2
    assert sort.shuffle_read_records == 21_000.0


def test_sums_by_sorting_alone_are_told_as_those_by_hashing(tmp_path: Path) -> None:
    """Of a plan without any file, where no other sign has it decoded."""
    signs = "size of files read|number of written files"
    files = text_of(LOG).decode()
    assert re.search(signs, files)
    (tmp_path / "log").write_text(re.sub(signs, "another", files))
    sorted_ = changed(tmp_path / "log", tmp_path, '"HashAggregate"', '"SortAggregate"')
    assert told(sorted_) == told(one(LOG))
