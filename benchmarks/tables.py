"""Tables of text, as the benchmarks print them."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(
    rows: Sequence[Sequence[str]], *, to_the_right: bool = False, apart: bool = False
) -> None:
    """A line for each row, its cells as wide as their column.

    Args:
        to_the_right: cells end, and do not begin, in one column.
        apart: a blank line follows.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligned = str.rjust if to_the_right else str.ljust
    for row in rows:
        print("  ".join(aligned(cell, width) for cell, width in zip(row, widths, strict=True)))
    if apart:
        print()
