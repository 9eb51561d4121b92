"""Tables between semicolons: what a point in a number means."""

import pytest

import engine
from engine.sources.formats import run_table


def seconds(*told: str) -> list[float]:
    """What a table of runs of so many seconds holds."""
    lines = [f"{2 + at};{cell};v1.312" for at, cell in enumerate(told)]
    text = "\n".join(["nodes;seconds;application;input_size", *(f"{line};5" for line in lines)])
    return [run.seconds for run in run_table.parse(text, "runs.csv").runs]


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        (("1.312", "98,4"), [1312.0, 98.4]),
        (("1.312,5", "1.312"), [1312.5, 1312.0]),
        (("1.312.400", "1.312"), [1312400.0, 1312.0]),
        (("1.312 s", "98,4"), [1312.0, 98.4]),
        (("1.312", "98.4"), [1.312, 98.4]),
        (("1.312", "0.312"), [1.312, 0.312]),
        (("1.312", "1312.451"), [1.312, 1312.451]),
        (("1312", "98,4"), [1312.0, 98.4]),
        (("1,5 min", "98"), [90.0, 98.0]),
        (("1.312,5 s", "0,5 h"), [1312.5, 1800.0]),
    ],
)
def test_the_rest_of_the_file_tells_what_a_point_means(
    told: tuple[str, ...], meant: list[float]
) -> None:
    """1.312 was 1.312 beside 98,4."""
    assert seconds(*told) == meant


@pytest.mark.parametrize("told", [("1.312",), ("98", "1.312"), ("98,4", "98.4", "1.312")])
def test_what_nothing_tells_is_refused_with_its_line(told: tuple[str, ...]) -> None:
    with pytest.raises(engine.BadInput) as error:
        seconds(*told)
    assert str(error.value) == (
        f"runs.csv:{len(told) + 1}: seconds: '1.312' may be 1312 or a number with three decimals; "
        "write 1312, or 1.3120 where the point is a decimal one"
    )


def test_its_remedy_tells() -> None:
    assert seconds("1.3120", "2.624") == [1.312, 2.624]


@pytest.mark.parametrize(("told", "line"), [(("1,312", "98.4"), 2), (("1,312.4", "2,005"), 3)])
def test_a_comma_beside_points_may_group_thousands(told: tuple[str, ...], line: int) -> None:
    """2,005 was 2.005 beside 1,312.4, a thousandth of what was meant."""
    cell = told[line - 2]
    with pytest.raises(engine.BadInput, match=f"seconds: '{cell}' may be ") as error:
        seconds(*told)
    assert error.value.where == f"runs.csv:{line}"
    assert f"write {cell.replace(',', '')}, or {cell.replace(',', '.')}0 " in str(error.value)


def test_sizes_with_a_unit_have_decimal_commas_too() -> None:
    """ "12,5 GB" was said to be no number."""
    text = "nodes;input_size;seconds\n2;12,5 GB;98,4\n4;1.024 MB;60\n"
    runs = run_table.parse(text, "runs.csv").runs
    assert [run.workload.input_bytes for run in runs] == [12.5e9, 1.024e9]


def test_a_comma_before_a_unit_is_as_ambiguous_beside_points() -> None:
    with pytest.raises(engine.BadInput) as error:
        seconds("1,312 s", "98.4")
    assert str(error.value) == (
        "runs.csv:2: seconds: '1,312 s' may be 1312 s or a number with three decimals; "
        "write 1312 s, or 1.3120 s where the comma is a decimal one"
    )


def test_a_size_that_may_be_a_thousand_is_refused_where_nothing_tells() -> None:
    """1,024 GB was 1.024 GB."""
    text = "nodes;input_size;seconds\n2;1,024 GB;98\n4;2,048 GB;60\n"
    with pytest.raises(engine.BadInput, match=r"runs.csv:2: .*'1,024 GB' may be 1024 GB"):
        run_table.parse(text, "runs.csv")
    told = run_table.parse(text.replace("98", "98,4"), "runs.csv").runs
    assert [run.workload.input_bytes for run in told] == [1.024e9, 2.048e9]
