"""Run tables: what is read, and what is refused with its line."""

from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest
import sparklog as log
from shared import SHARED, needs_shared

from engine import fit
from engine.cluster import NodeGroup
from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.run_table import looks_like, parse

TABLE = """application,instance_type,nodes,vcpus,memory_gib,price_hourly_usd,input_size,k,seconds
sort,m4.large,2,2,8,0.1,9530,3,352.5
sort,m4.large,4,2,8,0.1,9530,3,184
"""


def test_columns() -> None:
    table = parse(TABLE, "runs.csv")
    first = table.runs[0]
    assert (table.name, table.unit, table.notices) == ("sort", None, ())
    assert first.seconds == 352.5
    assert first.source == "runs.csv:2"
    assert first.application == "sort"
    assert first.cluster.composition == {"m4.large": 2}
    assert first.cluster.groups[0].price_usd_per_hour == 0.1
    assert (first.cluster.instance.vcpus, first.cluster.instance.memory_gib) == (2, 8)
    assert first.cluster.executors is None
    assert first.workload.input_bytes == 9530
    assert first.workload.parameters == {"k": 3}
    assert not first.stages
    assert first.driver_seconds is None


def test_units_make_bytes_and_durations_are_read() -> None:
    table = parse("nodes,input_size,seconds\n2,48GB,45m\n4,1TiB,2h\n", "r.csv")
    assert table.unit == "bytes"
    assert [run.workload.input_bytes for run in table.runs] == [48e9, 1024.0**4]
    assert [run.seconds for run in table.runs] == [2700.0, 7200.0]


def test_thousands_may_be_apart_in_any_number() -> None:
    text = 'nodes,input_size,k,seconds\n"1,200","1,048,576","2,500.5","3,600"\n2,1,1,7\n'
    run = parse(text, "runs.csv").runs[0]
    assert run.cluster.nodes == 1200
    assert run.workload.input_bytes == 1_048_576
    assert run.workload.parameters == {"k": 2500.5}
    assert run.seconds == 3600.0


def test_executor_columns_and_unnamed_shapes() -> None:
    table = parse(
        "nodes,input_size,seconds,vcpus,executors,executor_cores,executor_memory_gib,iterations\n"
        "2,1,5,4,8,1,3.5,\n",
        "r.csv",
    )
    cluster = table.runs[0].cluster
    assert (cluster.executors, cluster.executor_cores, cluster.executor_memory_gib) == (8, 1, 3.5)
    assert cluster.instance.name == "4-vcpu"
    assert isnan(cluster.instance.memory_gib)
    assert table.runs[0].workload.iterations is None


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffnodes,input_size,seconds\r\n2,1.5,3\r\n",
        "nodes;input_size;seconds\n2;1,5;3\n",
        "nodes\tinput_size\tseconds\n2\t1.5\t3\n",
        "# measured in May\n\n Nodes , Input Size , SECONDS \n\n2, 1.5 ,3\n",
        'nodes,"input_size",seconds\n"2","1.5",3\n',
    ],
)
def test_dialects(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8", newline="")
    run = read(path).runs[0]
    assert (run.cluster.nodes, run.workload.input_bytes, run.seconds) == (2, 1.5, 3.0)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("nodes,seconds\n2,3\n", 1, "input_size is missing"),
        (
            "nodes,input_size,runtime (s)\n2,1,3\n",
            1,
            "rename column 'runtime (s)' to seconds; a run table needs",
        ),
        (
            "algorithm,dataset_size_bytes,scaleout,runtime\ngrep,1e9,8,1898\n",
            1,
            "rename column 'scaleout' to nodes; rename column 'dataset_size_bytes' to input_size; "
            "rename column 'runtime' to seconds; a run table",
        ),
        (
            "workers,data_size_gb,time_min\n2,1,3\n",
            1,
            "rename column 'workers' to nodes; rename column 'data_size_gb', which counts gb, to "
            "input_size and write it as bytes, or each with its unit; rename column 'time_min', "
            "which counts min, to seconds and write it as seconds, or each with its unit",
        ),
        ("nodes,input_size,seconds\n", None, "holds no runs"),
        ("nodes,input_size,seconds,seconds\n2,1,3,4\n", 1, "'seconds' twice"),
        ("nodes,input_size,seconds,\n2,1,3,4\n", 1, "no name"),
        ("nodes,input_size,seconds\n2,1\n", 2, "2 values in a table of 3"),
        ("nodes,input_size,seconds\n2,1,3\n\n0,1,3\n", 4, "nodes must be more than zero"),
        ("nodes,input_size,seconds\n1.5,1,3\n", 2, "whole number"),
        ("nodes,input_size,seconds\n2,nan,3\n", 2, "input_size"),
        ("nodes,input_size,seconds\n2,,3\n", 2, "input_size is empty"),
        ("nodes,input_size,seconds\n2,48GB,3\n4,,3\n", 3, "input_size is empty"),
        ("nodes,input_size,seconds\n2,1,soon\n", 2, "seconds"),
        ("nodes,input_size,seconds\n2,1,-4\n", 2, "seconds"),
        ("nodes,input_size,seconds\n2,1GB,3\n2,1,3\n", 3, "unit in some lines"),
        ("nodes,input_size,seconds,k\n2,1,3,4\n2,1,3,many\n", 3, "k: 'many' is not a number"),
        ("nodes,input_size,seconds,k\n2,1,3,4\n2,1,3,\n", 3, "k is empty"),
        ("nodes,input_size,seconds,instance_typ\n2,1,3,a\n", 1, "did you mean instance_type"),
        ('nodes,input_size,seconds\n2,1,"3"4\n', 2, "not a line of a table"),
        (
            'nodes,input_size,seconds,remark\n2,1,3,"cold\nstart"\n',
            2,
            "a quoted cell does not end in it; close its quotes, and take line breaks out of it",
        ),
        (
            "nodes,input_size,seconds,instance_type,vcpus\n2,1,3,a,4\n2,1,3,b,4\n2,1,3,a,8\n",
            4,
            "a has another shape here than in line 2",
        ),
        (
            "nodes,input_size,seconds,executor_memory_gib\n2,1,3,0.3\n",
            2,
            "307.2 MiB is refused by Spark, which needs at least 450 MiB; executor_memory_gib",
        ),
        (
            "Nodes,Dataset Size [GB],Gross Run-Time (s)\n2,1,3\n",
            1,
            "rename column 'Dataset Size [GB]', which counts gb, to input_size and write it as "
            "bytes, or each with its unit; rename column 'Gross Run-Time (s)' to seconds",
        ),
        (
            "nodes,size_gb,minutes\n2,10,3\n",
            1,
            "or each with its unit; rename column 'minutes', which counts minutes, to seconds and "
            "write it as seconds, or each with its unit",
        ),
        ("Nodes,Input Size,SECONDS,Exec-Cores\n2,1,3,4\n", 1, "unknown column 'Exec-Cores'"),
        ("Nodes,Input Size,SECONDS,My K,my-k\n2,1,3,4,5\n", 1, "'My K' and 'my-k' are one name"),
        ("Nodes,Input Size,SECONDS,My K\n2,1,3,4\n2,,3,4\n", 3, "Input Size is empty"),
        ("Nodes,Input Size,SECONDS,My K\n2,1,3,4\n2,1,0,4\n", 3, "SECONDS: a duration must"),
        (
            "nodes,input_size,seconds\n2,1,3\n2,1,-5\n",
            3,
            "seconds: a duration must be more than zero, not '-5'; correct the cell or remove the",
        ),
        (
            "nodes,input_size,seconds,price_hourly_usd\n2,1,3,-1\n",
            2,
            "an amount of money must be more than zero, not '-1'; correct the cell, or leave it",
        ),
        ("Nodes,Input Size,SECONDS,My K\n2,1,3,4\n2,1,3,x\n", 3, "My K: 'x' is not a number"),
        ("Nodes,Input Size,SECONDS\n2,1\n", 2, "the columns are Nodes, Input Size, SECONDS"),
        ("nodes,input_size,seconds\n2,1,3\n4,1,15:00\n", 3, "seconds: '15:00' is ambiguous"),
        ("nodes,input_size,seconds\n2,48GB,3\n4,NA,3\n", 3, "input_size is empty"),
        ("nodes,input_size,seconds,executors\n2,1,3,2.5\n", 2, "executors must be a whole number"),
        ("nodes,input_size,seconds,price_hourly_usd\n2,1,3,free\n", 2, "write it like $12.50"),
        (
            "nodes\tinput_size\tseconds\n2\t1\t30\n4\t1\t1234,567\n",
            3,
            "'1234,567' is not a duration; write it with a point: 1234.567",
        ),
        (
            "nodes,input_size,seconds\n2,10,30\nTotal,,30\n",
            3,
            "nodes: 'Total' is not a number; correct the cell or remove the line",
        ),
        (
            'nodes,input_size,seconds\n2,10 GB,30\n4,"10,5 GB",20\n',
            3,
            "input_size: '10,5 GB' is not a size; write it with a point: 10.5 GB",
        ),
        (
            "nodes\tinput_size\tk\tseconds\n2\t1\t0,123\t30\n",
            2,
            "k: '0,123' is not a number; write it with a point: 0.123",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int | None, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, "r.csv")
    message = str(caught.value)
    assert said in message
    assert message.startswith(f"r.csv:{line}: " if line else "r.csv: ")


def test_a_column_of_words_is_left_out_and_said() -> None:
    table = parse("nodes,input_size,seconds,remark\n2,1,3,cold\n", "r.csv")
    assert table.runs[0].workload.parameters == {}
    assert [notice.code for notice in table.notices] == ["ignored-column"]


def test_many_columns_of_words_are_one_short_line() -> None:
    names = [f"remark_{n}" for n in range(300)]
    head = ",".join(["nodes,input_size,seconds", *names])
    (notice,) = parse(f"{head}\n2,1,3{',cold' * 300}\n", "r.csv").notices
    assert notice.code == "ignored-column"
    assert notice.text == (
        "columns remark_0, remark_1, remark_2, remark_3, remark_4, remark_5, remark_6 and 293 more "
        "of r.csv hold no numbers and are not used"
    )
    with pytest.raises(BadInput, match=r"5 values in a table of 303 columns") as caught:
        parse(f"{head}\n2,1,3,4,5\n", "r.csv")
    assert str(caught.value).endswith("remark_3 and 296 more")


def test_a_warning_names_a_few_of_many_parameters(tmp_path: Path) -> None:
    """Twelve runs with 300 parameters of two values each made one line of 9,000 characters."""
    names = [f"parameter_{n}" for n in range(300)]
    rows = [
        [2 + run, 1, 100 + 1000 / (2 + run), *(1 + (run * n // 7) % 2 for n in range(300))]
        for run in range(12)
    ]
    head = ",".join(["nodes,input_size,seconds", *names])
    lines = [head, *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    profile = read(tmp_path / "runs.csv")
    asked = replace(profile.reference_workload, parameters=dict.fromkeys(names, 1.0))
    cluster = replace(profile.runs[0].cluster, groups=(NodeGroup(4),))
    said = fit(profile).predict(cluster=cluster, workload=asked).warnings
    (notice,) = (n for n in said if n.code == "transferred-parameters")
    assert len(notice.text) < 300
    assert " more: " in notice.text


def test_a_shape_that_one_line_leaves_open_is_that_of_the_others() -> None:
    """An empty cell means not known, and so contradicts nothing; nor does "n/a" name a type."""
    table = parse(
        "nodes,input_size,seconds,instance_type,vcpus,memory_gib\n"
        "2,1,3,a,,16\n4,1,2,a,4,\n8,1,1,a,NA,n/a\n2,1,3,n/a,,\n2,1,3,-,8,32\n",
        "r.csv",
    )
    kinds = [run.cluster.groups[0].instance for run in table.runs]
    assert [(kind.name, kind.vcpus, kind.memory_gib) for kind in kinds if kind] == [
        ("a", 4.0, 16.0),
        ("a", 4.0, 16.0),
        ("a", 4.0, 16.0),
        ("8-vcpu-32-gib", 8.0, 32.0),
    ]
    assert kinds[3] is None


def test_a_name_like_that_of_a_column_that_is_there_is_a_parameter() -> None:
    table = parse("nodes,input_size,seconds,node\n2,1,3,7\n", "r.csv")
    assert table.runs[0].workload.parameters == {"node": 7.0}


def test_a_parameter_may_be_none_or_less() -> None:
    table = parse("nodes,input_size,seconds,k,shift\n2,1,3,0,-2.5\n", "r.csv")
    assert table.runs[0].workload.parameters == {"k": 0.0, "shift": -2.5}


def test_prices_may_say_that_they_are_dollars() -> None:
    table = parse("nodes,input_size,seconds,price_hourly_usd\n2,1,3,$0.10\n", "r.csv")
    assert table.runs[0].cluster.groups[0].price_usd_per_hour == 0.1


def test_a_table_of_several_applications_is_called_by_its_file() -> None:
    text = "application,nodes,input_size,seconds\ngrep,2,1,3\nsort,4,1,2\n"
    assert parse(text, "logs/march.csv").name == "march"


def test_an_application_that_is_not_known_is_no_name() -> None:
    text = "application,nodes,input_size,seconds\nNA,2,1,3\nsort,4,1,2\n"
    table = parse(text, "r.csv")
    assert [run.application for run in table.runs] == [None, "sort"]
    assert table.name == "sort", "the one that is known"


def test_memory_of_a_node_that_nobody_describes_is_left_out_and_said() -> None:
    text = "nodes,memory_gib,vcpus,input_size,seconds\n2,16,8,1,3\n4,16,,1,2\n"
    table = parse(text, "r.csv")
    assert [notice.code for notice in table.notices] == ["ignored-column"]
    assert "memory_gib of r.csv" in table.notices[0].text
    assert "(first: 3)" in table.notices[0].text


def test_looks_like() -> None:
    assert looks_like(b"nodes,seconds,x\n")
    assert looks_like(b"# x\n\nnodes;input_size\n")
    assert looks_like(b"algorithm,dataset_size_bytes,cores,scaleout,runtime\n")
    assert looks_like(b"nodes,size_gb,hours\n")
    assert not looks_like(b"a,b,c\n")
    assert not looks_like(b"name,size,time\n")
    assert not looks_like(b"")


def test_a_log_and_a_table_together(tmp_path: Path) -> None:
    path = log.write(tmp_path / "app", log.one_stage())
    table = tmp_path / "runs.csv"
    table.write_text("nodes,input_size,seconds\n2,5,3\n")
    profile = read(path, table)
    assert len(profile.runs) == 2
    assert profile.input_unit == "units"  # the log read nothing
    stage = log.info(0, 1)
    metrics = {"Input Metrics": {"Bytes Read": 10}}
    log.write(path, [*log.header(), log.submitted(stage, 1.0),
                     log.task(0, 0, 2.0, 3.0, metrics=metrics), log.completed(stage, 1.0, 3.0),
                     log.end(4.0)])  # fmt: skip
    profile = read(path, table)
    assert profile.input_unit == "bytes"
    assert "assumed-unit" in [notice.code for notice in profile.notices]


def test_one_type_with_two_shapes_in_two_tables(tmp_path: Path) -> None:
    for name, vcpus in (("a", 4), ("b", 8)):
        text = f"nodes,input_size,seconds,instance_type,vcpus\n2,1,3,m,{vcpus}\n"
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(BadInput, match=r"b\.csv:2: m has 8 vCPUs here and 4 in a\.csv:2"):
        read(tmp_path / "a.csv", tmp_path / "b.csv")


@needs_shared
@pytest.mark.parametrize("path", sorted(SHARED.glob("calibration/*/*.csv")), ids=lambda p: p.stem)
def test_public_measurements(path: Path) -> None:
    profile = read(path)
    lines = path.read_text().splitlines()
    assert len(profile.runs) == len(lines) - 1
    assert len(profile.instance_types) >= 3
    assert profile.notices == ()


@pytest.mark.parametrize("seconds", ["1e300", "1e-300", "1e15"])
def test_times_that_no_run_takes_are_refused_with_their_line(seconds: str) -> None:
    """They lead beyond the range of numbers, not to an answer."""
    with pytest.raises(BadInput) as caught:
        parse(f"nodes,input_size,seconds\n2,1,30\n4,1,{seconds}\n", "runs/r.csv")
    assert caught.value.where == "runs/r.csv:3"
    assert "no run lasts" in str(caught.value)
    assert "1e-06 and 1e+10 s" in str(caught.value)


@pytest.mark.parametrize("row", ["4,1e200GB,,30", "4,5GB,1e-320,30"])
def test_amounts_beyond_the_range_of_numbers_are_refused_with_their_line(row: str) -> None:
    with pytest.raises(BadInput, match="no run has an input or iterations of") as caught:
        parse(f"nodes,input_size,iterations,seconds\n2,1GB,3,30\n{row}\n", "runs/r.csv")
    assert caught.value.where == "runs/r.csv:3"


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        ("nodes,input_size,seconds\n0,1,3\n", "correct the cell or remove the line"),
        (
            "nodes,input_size,seconds,vcpus\n2,1,3,0\n",
            "correct the cell, or leave it empty where the value is not known",
        ),
    ],
)
def test_only_what_may_be_unknown_may_be_left_empty(
    tmp_path: Path, table: str, remedy: str
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(table)
    with pytest.raises(BadInput) as caught:
        read(str(path))
    assert caught.value.remedy == remedy


@pytest.mark.parametrize("column", ["nodes", "vcpus", "memory_gib", "executors", "executor_cores"])
def test_more_than_a_cluster_has_is_refused(tmp_path: Path, column: str) -> None:
    (tmp_path / "runs.csv").write_text(f"nodes,input_size,seconds,{column}\n2,5,9,1e30\n")
    if column == "nodes":
        (tmp_path / "runs.csv").write_text("nodes,input_size,seconds\n1e30,5,9\n")
    with pytest.raises(BadInput, match=rf"runs.csv:2: {column} must be at most 1,000,000(,000)?, "):
        read(tmp_path / "runs.csv")


@pytest.mark.parametrize("end", [",,", ",,,,,", ',"", ', ","])
def test_lines_of_empty_cells_are_no_runs(end: str) -> None:
    """Spreadsheets end tables with them; "nodes is empty" was said of lines that nobody sees."""
    text = f"nodes,input_size,seconds\n{end}\n2,48GB,3\n{end}\n{end}\n"
    assert len(parse(text, "runs.csv").runs) == 1
    with pytest.raises(BadInput, match="holds no runs"):
        parse(f"nodes,input_size,seconds\n{end}\n", "runs.csv")
