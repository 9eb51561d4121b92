"""Converts the cells of a run table to values; errors name the line."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

from engine.catalog import MOST_MEMORY_GIB, MOST_VCPUS
from engine.cluster import MOST_NODES, checked_heap_gib
from engine.errors import BadInput
from engine.sources.formats.decimal_commas import COMMA
from engine.sources.formats.table_rows import NO_VALUE, REQUIRED, Row, as_number
from engine.text.quantities import with_point

_MOST = {
    "nodes": MOST_NODES, "executors": MOST_NODES, "executor_cores": MOST_NODES,
    "vcpus": MOST_VCPUS, "memory_gib": MOST_MEMORY_GIB, "executor_memory_gib": MOST_MEMORY_GIB,
}  # fmt: skip
"""Column -> maximum value for any cluster."""

_CORRECT = "correct the cell"


def number_in(
    row: Row, name: str, *, convert: Callable[[str], float] | None = None, positive: bool = True
) -> float | None:
    """A cell as a number; None where the column is absent or the cell empty.

    Args:
        convert: parser for values that may have a unit; None for a plain number.

    Raises:
        BadInput: for an invalid number, or one out of the column's range.
    """
    text = row.cells.get(name, "")
    if text.lower() in NO_VALUE:
        return None
    if convert is None:
        return _plain_number(row, name, text, positive=positive)
    try:
        return convert(text)
    except BadInput as error:
        what = f"{row.written[name]}: {error.what}"
        raise BadInput(what, where=row.where, remedy=error.remedy or _correction(name)) from None


def count_in(row: Row, name: str) -> int | None:
    """A cell as a whole number; None where the column is absent or the cell empty."""
    value = number_in(row, name)
    if value is not None and not value.is_integer():
        what = f"{row.written[name]} must be a whole number, not {row.cells[name]}"
        raise BadInput(what, where=row.where, remedy=_CORRECT)
    return None if value is None else int(value)


def _plain_number(row: Row, name: str, text: str, *, positive: bool) -> float:
    value, column = as_number(text), row.written[name]
    if value is None or not isfinite(value):
        pointed = with_point(text) if COMMA.match(text) else None
        usual = _correction(name) if name in REQUIRED else _CORRECT
        raise BadInput(
            f"{column}: {text!r} is not a number", where=row.where,
            remedy=f"write it with a point: {pointed}" if pointed else usual,
        )  # fmt: skip
    if positive and value <= 0:
        what = f"{column} must be more than zero, not {text}"
        raise BadInput(what, where=row.where, remedy=_correction(name))
    if value > _MOST.get(name, inf):
        what = f"{column} must be at most {_MOST[name]:,.0f}, not {text}"
        raise BadInput(what, where=row.where, remedy=_CORRECT)
    return value


def _correction(name: str) -> str:
    """What to do about a cell whose value is out of range."""
    if name in REQUIRED:
        return "correct the cell or remove the line"
    return "correct the cell, or leave it empty where the value is not known"


def needed(row: Row, name: str, value: float | None) -> float:
    """The value of a cell that must not be empty."""
    if value is None:
        what, remedy = f"{row.written[name]} is empty", "fill it in, or leave out the line"
        raise BadInput(what, where=row.where, remedy=remedy)
    return value


def word_in(row: Row, name: str) -> str | None:
    """A cell as a name; None where the column is absent or the cell means unknown."""
    text = row.cells.get(name, "")
    return None if text.lower() in NO_VALUE else text


def heap_in(row: Row) -> float | None:
    """A cell as GiB of executor heap; less than Spark's minimum is a typing error (wrong unit)."""
    heap = number_in(row, "executor_memory_gib")
    if heap is None:
        return None
    return checked_heap_gib(
        heap, where=row.where,
        remedy=f"{row.written['executor_memory_gib']} counts GiB: correct the cell, or leave it "
        "empty",
    )  # fmt: skip
