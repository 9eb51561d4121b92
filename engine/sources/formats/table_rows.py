"""Splits a run table into rows of cells by column: header, separator, skipped lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from engine.errors import BadInput
from engine.sources.formats.column_names import renames
from engine.sources.formats.decimal_commas import Line, with_points
from engine.text.lists import listed
from engine.text.quantities import GROUPED

REQUIRED = ("nodes", "input_size", "seconds")
KNOWN = (
    *REQUIRED,
    "application",
    "instance_type",
    "vcpus",
    "memory_gib",
    "price_hourly_usd",
    "iterations",
    "executors",
    "executor_cores",
    "executor_memory_gib",
)

MOST_ROWS = 1_000_000
DELIMITERS = ",;\t|"
_WORDS = ("application", "instance_type")
"""Columns of names."""
NO_VALUE = frozenset({"", "na", "n/a", "null", "none", "-"})
_THOUSANDS = re.compile(rf"[-+]?{GROUPED}")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: file name, line number, cells by normalised column name, and the column
    names as written in the file."""

    source: str
    line: int
    cells: Mapping[str, str]
    written: Mapping[str, str]

    @property
    def where(self) -> str:
        """The line's name in errors: `file:line`."""
        return f"{self.source}:{self.line}"


def normal(name: str) -> str:
    """The normalised name of a column: "Input Size" becomes `input_size`."""
    return re.sub(r"[\s-]+", "_", _as_written(name).lower())


def _as_written(name: str) -> str:
    """A column's name as written in the file, without surrounding quotes and blanks."""
    return name.strip().strip("\"'\ufeff").strip()


def rows_of(text: str, source: str) -> tuple[list[str], list[Row]]:
    """The column names and the rows; blank lines, those of empty cells and lines that begin
    with # are skipped.

    Raises:
        BadInput: with `file:line`, for a header or a line that cannot be used.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(lines) > MOST_ROWS:
        raise BadInput(f"has more than {MOST_ROWS} rows", where=source, remedy="give fewer runs")
    first, header = lines[0]
    delimiter = max(DELIMITERS, key=header.count)
    names = [_as_written(cell) for cell in _split(header, delimiter, source, first)]
    columns = [normal(name) for name in names]
    _check_header(columns, names, f"{source}:{first}")
    written = dict(zip(columns, names, strict=True))
    cut = []
    for number, line in lines[1:]:
        cells = [cell.strip() for cell in _split(line, delimiter, source, number)]
        if not any(cells):  # as spreadsheets end a table
            continue
        if len(cells) != len(columns):
            raise BadInput(
                f"{len(cells)} values in a table of {len(columns)} columns",
                where=f"{source}:{number}", remedy=f"the columns are {listed(names)}",
            )  # fmt: skip
        cut.append(Line(number, cells))
    if not cut:
        raise BadInput("holds no runs", where=source, remedy="add one line per run")
    if delimiter == ";":
        words = [written[name] for name in _WORDS if name in written]
        cut = with_points(cut, names, source, words=words)
    rows = [Row(source, at, dict(zip(columns, cells, strict=True)), written) for at, cells in cut]
    return columns, rows


def columns_of(head: bytes) -> list[str]:
    """The columns of a text that looks like a table; empty for other text. A table's first two
    lines have equally many cells, at least three, and numbers only in the second."""
    text = head.decode("utf-8", "replace").splitlines()[:64]
    lines = [line for line in text if line.strip() and not line.lstrip().startswith("#")][:2]
    if len(lines) < 2 or lines[0].lstrip().startswith(("{", "<", "[")):
        return []
    delimiter = max(DELIMITERS, key=lines[0].count)
    try:
        header, row = (next(csv.reader([line], delimiter=delimiter)) for line in lines)
    except csv.Error:
        return []
    names = [_as_written(cell) for cell in header]
    numbers = sum(any(letter.isdigit() for letter in cell) for cell in row)
    if len(row) != len(names) or numbers < len(REQUIRED):
        return []
    return [] if any(as_number(name) is not None for name in names) else names


def _split(line: str, delimiter: str, source: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        if line.count('"') % 2:  # quotes inside of cells are doubled
            raise BadInput(
                "not a line of a table: a quoted cell does not end in it",
                where=f"{source}:{number}",
                remedy="close its quotes, and take line breaks out of it: each run has one line",
            ) from None
        raise BadInput(
            f"not a line of a table: {error}", where=f"{source}:{number}",
            remedy="quote cells that hold the separator",
        ) from None  # fmt: skip


def _check_header(columns: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuses an invalid header; `names` are its columns as written in the file."""
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        needs = "a run table needs nodes, input_size and seconds"
        raise BadInput(
            f"column {missing[0]} is missing", where=where,
            remedy="; ".join((*renames(columns, missing, names), needs)),
        )  # fmt: skip
    for name, written in zip(columns, names, strict=True):
        if columns.count(name) > 1:
            alike = [own for own, normal in zip(names, columns, strict=True) if normal == name]
            raise BadInput(
                f"column {written!r} twice"
                if len(set(alike)) == 1
                else f"columns {' and '.join(map(repr, alike))} are one name",
                where=where, remedy="rename one of them",
            )  # fmt: skip
        if not name:
            raise BadInput("a column has no name", where=where, remedy="name it or remove it")
        close = get_close_matches(name, KNOWN, n=1, cutoff=0.8)
        if name not in KNOWN and close and close[0] not in columns:
            raise BadInput(
                f"unknown column {written!r}", where=where,
                remedy=f"did you mean {close[0]}? A parameter needs a name less like it",
            )  # fmt: skip


def as_number(text: str) -> float | None:
    """A cell as a number, also with thousands separators ("1,234"), as for sizes and times; None
    where it is not a number."""
    try:
        return float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        return None
