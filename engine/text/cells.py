"""Converters from text cells to values, and tables converted column by column.

A converter takes the text of a cell and raises ValueError with what was expected; the caller adds
file, line and name to the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any

from engine.errors import BadInput, UnknownName
from engine.text.located_yaml import Convert, Section
from engine.text.quantities import with_point

LEAST_NUMBER, MOST_NUMBER = 1e-15, 1e15
"""Bounds on numbers: no price, size or speed of a machine is beyond them, and computations with
larger numbers could overflow."""


def number_above(
    minimum: float, *, or_equal: bool = False, at_most: float = MOST_NUMBER
) -> Convert[float]:
    """A converter to a number above (or from) `minimum` and up to `at_most`."""
    bound = f"{'at least' if or_equal else 'more than'} {minimum:g}"

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            pointed = with_point(text)
            hint = f": write it with a point, {pointed}" if pointed else ""
            raise ValueError(f"must be a number, not {text!r}{hint}") from None
        above = value >= minimum if or_equal else value > minimum
        if not above or value == float("inf"):
            raise ValueError(f"must be {bound}, not {text}")
        if value > at_most:
            raise ValueError(f"must be at most {at_most:,.0f}, not {text}")
        if 0.0 < value < LEAST_NUMBER:
            raise ValueError(f"must be at least {LEAST_NUMBER:g}, not {text}")
        return value

    return convert


def number_between(low: float, high: float) -> Convert[float]:
    """A converter to a number of at least `low` and below `high`."""
    at_least = number_above(low, or_equal=True)

    def convert(text: str) -> float:
        value = at_least(text)
        if value >= high:
            raise ValueError(f"must be less than {high:g}, not {text}")
        return value

    return convert


def yes_or_no(text: str) -> bool:
    """A converter to a boolean: true or false."""
    known = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() not in known:
        raise ValueError(f"must be true or false, not {text!r}")
    return known[text.lower()]


def one_of(*choices: str) -> Convert[str]:
    """A converter that accepts one of a few words."""

    def convert(text: str) -> str:
        if text not in choices:
            close = get_close_matches(text, choices, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ValueError(f"must be {' or '.join(choices)}, not {text!r}{hint}")
        return text

    return convert


def whole_number(text: str) -> int:
    """A converter to an integer from 0."""
    if not text.isdecimal():
        raise ValueError(f"must be a whole number, not {text!r}")
    return int(text)


def positive_whole_number(text: str) -> int:
    """A converter to an integer from 1."""
    number = whole_number(text)
    if number < 1:
        raise ValueError(f"must be 1 or more, not {text!r}")
    return number


def one_line(text: str) -> str:
    """A converter to a name without line breaks and control characters, which would break lines or
    control the terminal wherever the name is shown or pasted."""
    if not text.isprintable():
        raise ValueError(f"must be one line that can be printed, not {text!r}")
    return text


def currency_code(text: str) -> str:
    """A converter to a currency's code: three letters, as in ISO 4217."""
    if not (len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()):
        raise ValueError(f"must be a currency code like USD or EUR, not {text!r}")
    return text


def iso_date(text: str) -> date:
    """A converter to a date."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a date like 2026-07-20, not {text!r}") from None


@dataclass(frozen=True)
class TypedTable:
    """A table of converted cells by column; None means unknown.

    Args:
        names: (r,) the column `name`. lines: (r,) the line of each row.
    """

    names: Sequence[str]
    lines: Sequence[int]
    values: Mapping[str, Sequence[Any]]

    def rows(self, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """The rows with only these columns; a column missing in the file is all None."""
        unknown = [None] * len(self.lines)
        return zip(*(self.values.get(column, unknown) for column in columns), strict=True)


@contextmanager
def collecting_errors(section: Section, line: int, problems: list[BadInput]) -> Iterator[None]:
    """A context that catches an error, adds the line to it and appends it to `problems`."""
    try:
        yield
    except BadInput as error:
        problems.append(BadInput(error.what, where=section.where(line), remedy=error.remedy))


def typed_table(
    section: Section, key: str, columns: Mapping[str, Convert[Any]], problems: list[BadInput]
) -> TypedTable:
    """Reads a table; each distinct text of a column is converted once.

    Rows with an invalid value or without a name are left out, with an error in `problems`.
    """
    table = section.table(key)
    for column, line in zip(table.columns, table.column_lines, strict=True):
        if column not in columns:
            raise UnknownName("column", column, columns, where=section.where(line))
    wrong: dict[int, str] = {}
    values: dict[str, Sequence[Any]] = {}
    written = dict(zip(table.columns, zip(*table.rows, strict=True), strict=False))
    for column, cells in written.items():
        values[column] = _converted(column, cells, columns[column], wrong)
    names = values.get("name", [None] * len(table.lines))
    unnamed = written.get("name", [""] * len(table.lines))
    wrong.update({index: "name is missing" for index, name in enumerate(unnamed) if not name})
    for index in sorted(wrong):
        what = f"{names[index]}: {wrong[index]}".removeprefix("None: ")
        problems.append(BadInput(what, where=section.where(table.lines[index])))
    valid = [index for index in range(len(table.lines)) if index not in wrong]
    if wrong:
        values = {column: [cells[index] for index in valid] for column, cells in values.items()}
    return TypedTable(values.get("name", ()), [table.lines[index] for index in valid], values)


def _converted(
    column: str, cells: Sequence[str], convert: Convert[Any], wrong: dict[int, str]
) -> list[Any]:
    """The converted cells of a column; the indices of invalid ones are added to `wrong`."""
    known: dict[str, Any] = {"": None}
    bad: dict[str, str] = {}
    for text in set(cells) - {""}:
        try:
            known[text] = convert(text)
        except ValueError as error:
            bad[text] = f"{column} {error}"
    if bad:
        wrong_cells = [(index, bad[text]) for index, text in enumerate(cells) if text in bad]
        wrong.update({index: what for index, what in wrong_cells if index not in wrong})
    return [known.get(text) for text in cells]
