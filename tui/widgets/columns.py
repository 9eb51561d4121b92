"""The columns of a table: what they hold, and which of them so many cells have room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

CellStyle = Literal["plain", "strong", "muted", "good", "bad", "warn"]
Cell = str | tuple[str, CellStyle]
Row = Sequence[Cell]

GAP = 2
"""Cells between two columns."""


class Column(NamedTuple):
    """One column.

    Attributes:
        title: its header.
        width: cells, or None for as wide as its longest text.
        align: `left` or `right`.
        priority: 0 always stays; of the others the highest number is left out first.
        shrink: may be cut to `least` cells before any column is left out.
        least: the least width when it shrinks.
        grows: takes the cells of the columns that were left out.
        names: holds names: where a cut makes some alike, these lose their middle, not their end.
    """

    title: str
    width: int | None = None
    align: Literal["left", "right"] = "left"
    priority: int = 0
    shrink: bool = False
    least: int = 8
    grows: bool = False
    names: bool = False


def fit_columns(
    columns: Sequence[Column], natural: Sequence[int], width: int
) -> tuple[tuple[int, int], ...]:
    """Which columns `width` cells hold, and how wide: (index, cells) from left to right.

    First columns that may shrink do (the ones that would go first before the others), then columns
    go by priority, then what is left is cut.

    Args:
        columns: all columns.
        natural: the width that each would like.
        width: cells, without the mark of the cursor.
    """
    kept = list(range(len(columns)))
    least = [
        min(natural[i], column.least) if column.shrink else natural[i]
        for i, column in enumerate(columns)
    ]

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
    growing = next((i for i in kept if columns[i].grows), None)
    if growing is not None and len(kept) < len(columns):
        widths[growing] += max(0, width - needed(widths))
    return tuple((i, widths[i]) for i in kept)


def text_of(cell: Cell) -> str:
    """What a cell says, without its style."""
    return cell if isinstance(cell, str) else cell[0]
