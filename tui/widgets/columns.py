"""The columns of a table: definitions, and which of them fit into a width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from rich.cells import cell_len

from tui.widgets.text import cut_alike, plain

CellStyle = Literal["plain", "strong", "muted", "good", "bad", "warn"]
Cell = str | tuple[str, CellStyle]
Row = Sequence[Cell]

GAP = 2
"""Cells between two columns."""


class Column(NamedTuple):
    """One column.

    Attributes:
        title: header text.
        width: cells, or None for the width of its longest text.
        align: `left` or `right`.
        priority: 0 is never left out; of the others the highest number is left out first.
        shrink: may be narrowed to `least` cells before any column is left out.
        least: least width when it shrinks.
        usual: the width that it asks for where its texts are shorter, so that the columns beside it
            stay where they are when longer ones come.
        grows: gets cells that no column needs, up to this width.
        names: contains names: texts that would be cut to the same lose their middle, not their end.
        closer: another form of a text that does not fit into so many cells.
        filled: left out where no row has a text in it.
        spreads: a text of it begins at the first of the empty cells before it, and has the rest of
            its row, also where the column itself is left out.
    """

    title: str
    width: int | None = None
    align: Literal["left", "right"] = "left"
    priority: int = 0
    shrink: bool = False
    least: int = 8
    usual: int = 0
    grows: int = 0
    names: bool = False
    closer: Callable[[str, int], str] | None = None
    filled: bool = False
    spreads: bool = False

    def text_in(self, text: str, width: int) -> str:
        """The form of a text for `width` cells, which may still have to be cut."""
        return self.closer(text, width) if self.closer and cell_len(text) > width else text


FittedColumns = tuple[tuple[int, int], ...]
"""The visible columns: (index, width) from left to right."""


def fit_columns(
    columns: Sequence[Column], natural: Sequence[int], width: int, *, room: int = 0
) -> FittedColumns:
    """Which columns fit into `width` cells, and their widths.

    First columns that may shrink do (those that would be left out first before the others), then
    columns are left out by priority, then the rest is cut.

    Args:
        natural: the preferred width of each.
        width: cells, without the mark of the cursor.
        room: cells at the right of the header that the last title leaves free, where other columns
            can shrink for that. No column is left out for it.
    """
    fitted = _fit(columns, natural, width)
    if not room or not fitted or not columns[fitted[-1][0]].title:
        return fitted
    return _with_header_room(columns, natural, width, room, fitted) or fitted


def _with_header_room(
    columns: Sequence[Column], natural: Sequence[int], width: int, room: int, fitted: FittedColumns
) -> FittedColumns | None:
    """The same columns with free cells behind the last title; None where no column can shrink for
    them."""
    last, others, wished = fitted[-1][0], list(columns), list(natural)
    if columns[last].align == "right":
        width -= room
    else:
        wanted = cell_len(columns[last].title) + room
        wished[last] = max(natural[last], wanted)
        others[last] = columns[last]._replace(least=max(columns[last].least, wanted))
    refitted = _fit(others, wished, width)
    same_columns = [i for i, _ in refitted] == [i for i, _ in fitted]
    least = _least(others, wished)
    return refitted if same_columns and all(cells >= least[i] for i, cells in refitted) else None


def _least(columns: Sequence[Column], natural: Sequence[int]) -> list[int]:
    """The least width of each column."""
    return [
        min(natural[i], column.least) if column.shrink else natural[i]
        for i, column in enumerate(columns)
    ]


def _fit(columns: Sequence[Column], natural: Sequence[int], width: int) -> FittedColumns:
    """`fit_columns` without the free cells in the header."""
    kept = [i for i, column in enumerate(columns) if natural[i] or not column.filled]
    least = _least(columns, natural)

    def needed(widths: Sequence[int]) -> int:
        return sum(widths[i] for i in kept) + GAP * max(0, len(kept) - 1)

    while needed(least) > width and any(columns[i].priority for i in kept):
        kept.remove(max(kept, key=lambda i: (columns[i].priority, i)))
    widths = list(natural)
    for i in sorted(kept, key=lambda i: -columns[i].priority):
        if columns[i].shrink:
            widths[i] = max(least[i], widths[i] - max(0, needed(widths) - width))
    for i in reversed(kept):
        widths[i] = max(1, widths[i] - max(0, needed(widths) - width))
    for i in kept:
        free = width - needed(widths)
        widths[i] += max(0, min(free, columns[i].grows - widths[i]))
    return tuple((i, widths[i]) for i in kept)


def natural_widths(
    columns: tuple[Column, ...], rows: Sequence[Row], *, ascii_only: bool
) -> tuple[int, ...]:
    """The preferred width of each column, over all rows so that scrolling moves nothing; rows are
    looked at only where a column has no width of its own."""
    widths = tuple(column.width for column in columns if column.width is not None)
    if len(widths) == len(columns):
        return widths
    return _longest_texts(columns, tuple(rows), ascii_only=ascii_only)


@lru_cache(maxsize=64)
def _longest_texts(
    columns: tuple[Column, ...], rows: tuple[Row, ...], *, ascii_only: bool
) -> tuple[int, ...]:
    """`natural_widths`, cached: a slider step leaves most tables as they are, and a table may have
    a row for each of many runs."""
    widths = []
    for index, column in enumerate(columns):
        asked = _within_column(columns, rows) if column.spreads else rows
        texts = () if column.width else _texts(asked, index, ascii_only=ascii_only)
        longest = max(map(cell_len, texts), default=0)
        title = 0 if column.filled and not longest else cell_len(column.title)
        widths.append(column.width or max(title, longest, column.usual))
    return tuple(widths)


def _within_column(columns: Sequence[Column], rows: Iterable[Row]) -> list[Row]:
    """The rows whose last text keeps to its column."""
    return [row for row in rows if spread_start(columns, row) is None]


CutAlike = tuple[tuple[int, int, frozenset[str]], ...]


def cut_alike_in(
    columns: tuple[Column, ...], rows: Sequence[Row], fitted: FittedColumns, *, ascii_only: bool
) -> CutAlike:
    """(column, width, texts that would be cut to the same), over all rows; only columns with any.
    Rows are looked at only where a column has names."""
    if not any(columns[index].names for index, _ in fitted):
        return ()
    return _cut_alike(columns, tuple(rows), fitted, ascii_only=ascii_only)


@lru_cache(maxsize=64)
def _cut_alike(
    columns: tuple[Column, ...], rows: tuple[Row, ...], fitted: FittedColumns, *, ascii_only: bool
) -> CutAlike:
    """`cut_alike_in`, cached too."""
    named = [(index, width) for index, width in fitted if columns[index].names]
    entries = (
        (i, width, cut_alike(_texts(rows, i, ascii_only=ascii_only), width)) for i, width in named
    )
    return tuple(entry for entry in entries if entry[2])


def _texts(rows: Iterable[Row], index: int, *, ascii_only: bool) -> Iterator[str]:
    cells = (row[index] for row in rows if index < len(row))
    return (plain(text_of(cell), ascii_only=ascii_only) for cell in cells)


def spread_start(columns: Sequence[Column], row: Sequence[str | tuple[str, str]]) -> int | None:
    """The first of the empty cells of a row that the text of its last column spreads over; None for
    a row without."""
    start = last = len(row) - 1
    if last < 0 or not columns[last].spreads or not text_of(row[last]):
        return None
    while start and not text_of(row[start - 1]):
        start -= 1
    return start if start < last else None


def row_columns(
    columns: Sequence[Column],
    row: Sequence[str | tuple[str, str]],
    fitted: FittedColumns,
    width: int,
) -> FittedColumns:
    """The columns of one row: `fitted`, or those before a text that spreads over the rest of
    `width`."""
    start = spread_start(columns, row)
    if start is None:
        return fitted
    before = tuple(each for each in fitted if each[0] < start)
    rest = width - sum(cells + GAP for _, cells in before)
    return (*before, (len(row) - 1, max(0, rest)))


def column_at(fitted: FittedColumns, x: int) -> int | None:
    """The index of the column at a cell; None between columns."""
    start = 0
    for index, width in fitted:
        if start <= x < start + width:
            return index
        start += width + GAP
    return None


def title_start(columns: Sequence[Column], fitted: FittedColumns) -> int:
    """Cells before the first title: those of a first column without one. 0 where the last column
    has no title either."""
    if not fitted or columns[fitted[0][0]].title or not columns[fitted[-1][0]].title:
        return 0
    return fitted[0][1] + GAP


def title_end(columns: Sequence[Column], fitted: FittedColumns) -> int:
    """Cells up to the end of the last title."""
    last, width = fitted[-1]
    before = sum(cells + GAP for _, cells in fitted[:-1])
    return before + (width if columns[last].align == "right" else cell_len(columns[last].title))


def text_of(cell: str | tuple[str, str]) -> str:
    """The text of a cell, without its style."""
    return cell if isinstance(cell, str) else cell[0]
