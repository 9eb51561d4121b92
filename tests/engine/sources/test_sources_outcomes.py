"""Run tables that say how each run ended."""

from pathlib import Path

import pytest

from engine import fit
from engine.cluster import Cluster
from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.run_table import parse
from engine.sources.source_contents import SourceContents

TIMES = {2: 600, 4: 320, 8: 180, 16: 110}
"""Nodes -> seconds of runs that succeeded."""


def _table(column: str, *more: str, good: str = "SUCCEEDED") -> SourceContents:
    lines = [f"{nodes},10GB,{seconds},{good}" for nodes, seconds in TIMES.items()]
    return parse("\n".join([f"nodes,input_size,seconds,{column}", *lines, *more, ""]), "r.csv")


def _seconds(table: SourceContents) -> list[float]:
    return [run.seconds for run in table.runs]


@pytest.mark.parametrize(
    "column",
    ["status", "State", "Final-State", "finalStatus", "Final Status", "result_state", "Job Status",
     "dag_run_state", "outcome", "run_result"],
)  # fmt: skip
def test_runs_that_failed_are_left_out_and_counted(column: str) -> None:
    table = _table(column, "8,10GB,12,FAILED", "16,10GB,9,KILLED", "16,10GB,9,killed")
    assert _seconds(table) == [*TIMES.values()]
    (notice,) = table.notices
    assert notice.code == "failed-runs"
    assert notice.text == (
        f"3 of 7 runs of r.csv are left out: 1 failed and 2 were killed ({column}; first: line 6)"
    )


@pytest.mark.parametrize(
    ("word", "why"),
    [
        *((word, "failed") for word in ("error", "Timed Out", "upstream_failed", "FAILED: OOM")),
        *((word, "was killed") for word in ("CANCELLED by 1000", "canceled", "STOPPED")),
        *((word, "did not end") for word in ("RUNNING", "skipped", "Undefined", "up-for-retry")),
    ],
)
def test_words_of_schedulers(word: str, why: str) -> None:
    table = _table("status", f"8,10GB,12,{word}")
    assert _seconds(table) == [*TIMES.values()]
    assert f"1 of 5 runs of r.csv is left out: 1 {why} " in table.notices[0].text


@pytest.mark.parametrize("word", ["SUCCESS", "ok", "Completed", "FINISHED", "pass", "warn", "DONE"])
def test_runs_that_succeeded_count_without_a_word(word: str) -> None:
    table = _table("status", good=word)
    assert (_seconds(table), table.notices) == ([*TIMES.values()], ())


def test_an_end_is_predicted_from_the_runs_that_succeeded(tmp_path: Path) -> None:
    """A run that failed after 12 s took no part: with it, 8 nodes were said to take 12 s."""
    head = "nodes,input_size,instance_type,vcpus,seconds,status"
    good = [f"{nodes},10GB,own,4,{seconds},SUCCESS" for nodes, seconds in TIMES.items()]
    failed = ["8,10GB,own,4,12,FAILED", "16,10GB,own,4,9,KILLED"]
    (tmp_path / "with.csv").write_text("\n".join([head, *good, *failed]))
    (tmp_path / "without.csv").write_text("\n".join([head, *good]))
    asked = Cluster.of_nodes(instance_type="own", nodes=8, vcpus=4, memory_gib=16.0)
    one, other = (
        fit(read(tmp_path / name)).predict(cluster=asked) for name in ("with.csv", "without.csv")
    )
    assert one.seconds == other.seconds
    assert one.seconds == pytest.approx(180.0, rel=0.1)


def test_cells_of_a_run_that_failed_do_not_matter() -> None:
    table = parse(
        "nodes,input_size,seconds,k,status\n2,1GB,30,5,success\n4,,,many,failed\n", "r.csv"
    )
    assert _seconds(table) == [30.0]
    assert table.runs[0].workload.parameters == {"k": 5.0}


def test_of_several_columns_the_worse_counts() -> None:
    """YARN says FINISHED of what it has ended, whether it succeeded or not."""
    table = parse(
        "nodes,input_size,seconds,State,FinalStatus\n"
        "2,1,30,FINISHED,SUCCEEDED\n4,1,5,FINISHED,FAILED\n4,1,20,FINISHED,ENDED\n",
        "r.csv",
    )
    assert _seconds(table) == [30.0, 20.0]
    assert [notice.code for notice in table.notices] == ["failed-runs"]
    assert "(State and FinalStatus; first: line 3)" in table.notices[0].text


def test_words_that_say_nothing_known_are_named() -> None:
    table = _table("status", "8,10GB,170,odd", "8,10GB,171,", "8,10GB,172,odd", "8,10GB,1,failed")
    assert _seconds(table) == [*TIMES.values(), 170, 171, 172]
    assert [notice.code for notice in table.notices] == ["failed-runs", "unknown-outcome"]
    assert table.notices[1].text == (
        "status of r.csv does not say whether 3 of 8 runs succeeded ('odd' and empty; first: line "
        "6): counted as if they did"
    )


def test_a_column_whose_words_are_all_unknown_is_said() -> None:
    table = parse(
        "nodes,input_size,seconds,state\n2,1,3,CA\n4,1,2,NY\n8,1,2,TX\n9,1,2,WA\n", "r.csv"
    )
    assert len(table.runs) == 4
    assert [notice.code for notice in table.notices] == ["unknown-outcome"]
    assert "4 of 4 runs succeeded ('CA', 'NY' and 2 more; first: line 2)" in table.notices[0].text


def test_a_column_of_numbers_is_a_parameter_whatever_it_is_called() -> None:
    table = parse("nodes,input_size,seconds,state\n2,1,3,64\n4,1,2,128\n", "r.csv")
    assert [run.workload.parameters for run in table.runs] == [{"state": 64.0}, {"state": 128.0}]
    assert table.notices == ()


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("exit_code", "0", "137"),
        ("Exit Code", "0.0", "-1"),
        ("return_code", "0", "1"),
        ("success", "true", "False"),
        ("succeeded", "1", "0"),
        ("is_success", "yes", "no"),
        ("failed", "FALSE", "TRUE"),
        ("failed", "0", "1"),
    ],
)
def test_exit_codes_and_yes_and_no(column: str, good: str, bad: str) -> None:
    """An exit code was a parameter of the job, as if its time depended on it."""
    table = _table(column, f"8,10GB,12,{bad}", good=good)
    assert _seconds(table) == [*TIMES.values()]
    assert table.runs[0].workload.parameters == {}
    assert f"1 of 5 runs of r.csv is left out: 1 failed ({column};" in table.notices[0].text
    assert _table(column, good=good).notices == ()


@pytest.mark.parametrize("cells", [("0.5", "0.7"), ("3", "1")])
def test_other_numbers_called_success_or_failed_are_a_parameter(cells: tuple[str, str]) -> None:
    for column in ("success", "failed"):
        one, other = cells
        table = parse(f"nodes,input_size,seconds,{column}\n2,1,3,{one}\n4,1,2,{other}\n", "r.csv")
        assert [run.workload.parameters[column] for run in table.runs] == [*map(float, cells)]


@pytest.mark.parametrize("cell", ["0 failed", "no errors", "success with errors"])
def test_words_that_only_begin_alike_are_not_taken_for_an_outcome(cell: str) -> None:
    assert [notice.code for notice in _table("status", f"8,10GB,170,{cell}").notices] == [
        "unknown-outcome"
    ]


def test_a_table_in_which_no_run_succeeded_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        parse("nodes,input_size,seconds,status\n2,1,3,FAILED\n4,1,2,RUNNING\n", "r.csv")
    assert str(caught.value) == (
        "r.csv: holds no run that succeeded: 1 failed and 1 did not end (status); add runs that "
        "came to their end"
    )


def codes_of(column: str, *cells: str) -> list[str]:
    """What is said of a table with such a column, whose runs all count."""
    rows = "".join(f"{2 * place},1,{9 - place},{cell}\n" for place, cell in enumerate(cells, 1))
    table = parse(f"nodes,input_size,seconds,{column}\n{rows}", "r.csv")
    assert len(table.runs) == len(cells)
    return [notice.code for notice in table.notices]


def test_words_of_a_column_called_otherwise_are_no_outcomes() -> None:
    """A mode may be "complete", and a partition may be "lost": neither tells how a run ended."""
    assert codes_of("output_mode", "complete", "running", "failed") == ["ignored-column"]


@pytest.mark.parametrize("column", ["exit_code", "status", "success"])
@pytest.mark.parametrize("cell", ["", "NA", "None"])
def test_a_column_that_says_nothing_tells_no_outcome(column: str, cell: str) -> None:
    """That it leaves open how each run ended would be said of every table with such a column."""
    assert codes_of(column, cell, cell) == ["ignored-column"]


def test_a_code_that_is_not_there_is_an_open_outcome() -> None:
    assert codes_of("exit_code", "0", "NA", "0.0") == ["unknown-outcome"]
