"""Tables between semicolons: what a point in a number means."""

from __future__ import annotations

import pytest

import engine
from engine.sources import run_table


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


@pytest.mark.parametrize(
    ("told", "line"),
    [(("1,312", "98.4"), 2), (("1,312.4", "2,005"), 3)],
)
def test_a_comma_beside_points_may_group_thousands(told: tuple[str, ...], line: int) -> None:
    """2,005 was 2.005 beside 1,312.4, a thousandth of what was meant."""
    cell = told[line - 2]
    with pytest.raises(engine.BadInput, match=f"seconds: '{cell}' may be ") as error:
        seconds(*told)
    assert error.value.where == f"runs.csv:{line}"
    assert f"write {cell.replace(',', '')}, or {cell.replace(',', '.')}0 " in str(error.value)
