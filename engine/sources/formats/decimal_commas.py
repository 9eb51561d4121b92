"""Normalises numbers of semicolon-separated tables: decimal commas, grouping points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.errors import BadInput

_COMMA_NUMBER, _UNIT = r"[-+]?\d+(?:\.\d{3})*,\d+", r"(?:\s*[A-Za-z]+)?"
COMMA = re.compile(rf"{_COMMA_NUMBER}\Z")
"""A number with a decimal comma."""
_COMMA = re.compile(rf"{_COMMA_NUMBER}{_UNIT}\Z")
"""The same, with a unit too: "12,5 GB"."""
_GROUPED = re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:\.\d{{3}})+{_UNIT}\Z")
_GROUPS = re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}{_UNIT}\Z")
_COMMA_DIGITS = re.compile(r",(\d{3})")
_MORE_DIGITS = re.compile(r"\.\d{3}(?!\d)")
_COMMA_GROUP = re.compile(rf"[-+]?[1-9]\d{{0,2}},\d{{3}}{_UNIT}\Z")
_POINT = re.compile(
    r"[-+]?(?:\d*|[1-9]\d{0,2}(?:,\d{3})+)\.\d+(?:[eE][-+]?\d+)?(?:\s*[A-Za-z]+)?\Z"
)


class Line(NamedTuple):
    """A line of a table: its number in the file, and its cells."""

    number: int
    cells: list[str]


def with_points(
    lines: Sequence[Line], columns: Sequence[str], source: str, *, words: Iterable[str]
) -> list[Line]:
    """The lines with decimal points: "312,4" becomes 312.4, and "12,5 GB" 12.5 GB.

    "1.312" is 1312 where other cells have decimal commas or several groups, and 1.312 where others
    have decimal points ("98.4"); beside those "1,312" may be 1312 too.

    Args:
        columns: names of the columns as in the file. words: columns without numbers.

    Raises:
        BadInput: where "1.312" or "1,312" is ambiguous, with its line.
    """
    texts = frozenset(words)
    indices = [index for index, name in enumerate(columns) if name not in texts]
    numbers = {line.cells[index] for line in lines for index in indices}
    commas = any(_is_decimal(cell) or _GROUPS.match(cell) for cell in numbers)
    points = any(_POINT.match(cell) and not _GROUPED.match(cell) for cell in numbers)
    unsure = not commas and any(_COMMA_GROUP.match(cell) for cell in numbers)
    if commas == points or unsure:
        _refuse_either(lines, columns, indices, source)
    known = {cell: _with_point(cell, grouped=commas and not points) for cell in numbers}
    converted = []
    for line in lines:
        cells = list(line.cells)
        for index in indices:
            cells[index] = known[cells[index]]
        converted.append(Line(line.number, cells))
    return converted


def _refuse_either(
    lines: Sequence[Line], columns: Sequence[str], indices: Sequence[int], source: str
) -> None:
    for line in lines:
        for index in indices:
            cell = line.cells[index]
            if _GROUPED.match(cell) and not _GROUPS.match(cell):
                whole, decimal = cell.replace(".", ""), _MORE_DIGITS.sub(r"\g<0>0", cell)
                remedy = f"write {whole}, or {decimal} where the point is a decimal one"
            elif _COMMA_GROUP.match(cell):
                whole, decimal = cell.replace(",", ""), _COMMA_DIGITS.sub(r".\g<1>0", cell)
                remedy = f"write {whole}, or {decimal} where the comma is a decimal one"
            else:
                continue
            raise BadInput(
                f"{columns[index]}: {cell!r} may be {whole} or a number with three decimals",
                where=f"{source}:{line.number}",
                remedy=remedy,
            )


def _is_decimal(cell: str) -> bool:
    """Whether the comma of a cell can only be a decimal comma: "1,024 GB" may be a thousands
    separator as well, as programs write sizes."""
    return bool(COMMA.match(cell) or (_COMMA.match(cell) and not _COMMA_GROUP.match(cell)))


def _with_point(cell: str, *, grouped: bool) -> str:
    if _COMMA.match(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell.replace(".", "") if grouped and _GROUPED.match(cell) else cell
