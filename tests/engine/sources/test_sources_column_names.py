"""Run tables whose columns are called otherwise, or are no inputs of the job."""

from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.run_table import looks_like, parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Knoten;Datengröße;Laufzeit (s)\n2;10 GB;1200,5\n",
            ("it has 'Knoten', 'Datengröße', 'Laufzeit (s)'; it needs nodes (how many), input_",),
        ),
        (
            "Nodes;Menge;Runtime\n2;10 GB;1200,5\n",
            (
                "'Runtime'; rename column 'Runtime' to seconds; it needs input_size (how much",
                "of one unit): rename the columns that hold these",
            ),
        ),
        (
            "run,machines,elapsed,verdict\n1,2,60,ok 1\n",
            ("rename column 'machines' to nodes", "rename column 'elapsed' to seconds"),
        ),
    ],
)
def test_a_table_in_other_words_is_told_its_own_columns(
    tmp_path: Path, text: str, said: tuple[str, ...]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as error:
        read(path)
    assert "is a table without the columns of a run table" in str(error.value)
    assert all(words in str(error.value) for words in said)


@pytest.mark.parametrize("text", ["a,b,c\nx,y,z\n", "one,2,3\n4,5,6\n", "a,b,c\n", "a,b\n1,2\n"])
def test_what_has_no_numbers_below_a_header_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="is not an event log, a profile or a run table"):
        read(path)


def test_a_column_of_the_right_name_is_not_told_to_be_renamed(tmp_path: Path) -> None:
    """It was: "rename column 'Nodes', which counts None, to nodes"."""
    path = tmp_path / "runs.csv"
    path.write_text("Nodes;InputSize;Runtime\n2;10 GB;1200,5\n", encoding="utf-8")
    with pytest.raises(BadInput) as error:
        read(path)
    assert "rename column 'InputSize' to input_size; rename column 'Runtime'" in str(error.value)
    assert "'Nodes'" not in str(error.value)


def test_a_scenario_is_no_evidence_and_says_what_opens_it(tmp_path: Path) -> None:
    """It was told to be an event log, a profile or a run table."""
    path = tmp_path / "month-end.yaml"
    path.write_text("# kept by :save\nopen:\n  - nightly-features\ndeadline: 45m\n")
    with pytest.raises(BadInput, match=r"month-end\.yaml: is a scenario .* sparkplan --scenario"):
        read(path)


def test_a_column_of_types_in_other_words_is_said_to_be_one() -> None:
    text = "nodes,Node type,input_size,seconds\n2,r5.xlarge,1,3\n"
    [notice] = parse(text, "r.csv").notices
    assert notice.code == "ignored-column"
    assert "rename 'Node type' to instance_type" in notice.remedy
    assert notice.remedy.endswith("code it as numbers if the time depends on it")
    told = "nodes,instance_type,Node type,zone,input_size,seconds\n2,r5.xlarge,big,b,1,3\n"
    [notice] = parse(told, "r.csv").notices
    assert notice.remedy == "code them as numbers if the time depends on them"


def test_a_parameter_with_a_value_of_its_own_in_each_run_is_doubted() -> None:
    """What a run cost, and its number, are results: nothing can be predicted from them."""
    head, rows = "nodes,input_size,k,Total Cost,seconds\n", ["2,1,5,9.3,9", "4,1,5,10.1,6"]
    assert parse(head + "\n".join(rows), "r.csv").notices == ()
    table = parse(head + "\n".join([*rows, "8,1,5,12,4"]), "r.csv")
    [notice] = table.notices
    assert notice.code == "parameter-of-each-run"
    assert "has its own Total Cost, which is taken as a parameter" in notice.text
    assert table.runs[0].workload.parameters == {"k": 5, "total_cost": 9.3}
    head, rows = head.replace("k,", "try,"), ["2,1,1,9.3,9", "4,1,2,10.1,6", "8,1,3,12,4"]
    [notice] = parse(head + "\n".join(rows), "r.csv").notices
    assert "has its own try and Total Cost, which are taken as parameters" in notice.text


def test_blank_and_indented_lines_before_the_header_do_not_hide_it() -> None:
    """Editors indent comments, and leave blanks in lines that look empty."""
    assert looks_like(b"   \n  # runs of March\n\t\nnodes,input_size,seconds\n2,1,3\n")
    assert not looks_like(b"   \n  # runs of March\n\t\nfirst,second,third\n2,1,3\n")
