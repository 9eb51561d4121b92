"""Distinct values of long columns: those of a grid of clusters, asked with every step of a slider.

Sorting half a million numbers takes longer than all else that is asked of them. On a grid
neighbours are mostly alike (one layout for all nodes of a type), or the values are whole numbers
that repeat (slots): neither has to be sorted whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from engine.forecast import IntArray

Value = TypeVar("Value", bound=np.generic)

FEW_TURNS = 8
"""Neighbours are mostly alike where no more than one in so many values differs from the one before:
finding runs and repeating what they hold then takes less than sorting."""

SPARSEST = 4
"""Whole numbers up to so many times their number are counted, not sorted."""


def distinct(values: npt.NDArray[Value]) -> tuple[npt.NDArray[Value], IntArray]:
    """(k,) the distinct ones of (n,) values, ascending, and (n,) which of them each is: those of
    `numpy.unique`, NaN once and last."""
    turns = np.flatnonzero(values[1:] != values[:-1]) + 1
    if FEW_TURNS * len(turns) <= len(values):
        starts = np.concatenate(([0], turns))[: len(values)]
        found, which = np.unique(values[starts], return_inverse=True)
        return found, np.repeat(which, np.diff(np.append(starts, len(values))))
    whole = _whole(values)
    if whole is None:
        found, which = np.unique(values, return_inverse=True)
        return found, which.reshape(-1)
    present = np.zeros(int(whole.max()) + 1, dtype=bool)
    present[whole] = True
    places = np.cumsum(present) - 1
    return np.flatnonzero(present).astype(values.dtype), places[whole]


def distinct_rows(columns: Sequence[npt.NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """(k,) where each distinct row of columns (n,) is first, rows in ascending order, by the first
    column before the second; and (n,) which of them each row is."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, which = distinct(column)
        code = code * len(values) + which
    found, which = distinct(code)
    first = np.empty(len(found), dtype=np.int64)
    first[which[::-1]] = np.arange(len(code))[::-1]  # of several that are alike the first is last
    return first, which


def _whole(values: npt.NDArray[Any]) -> IntArray | None:
    """The values as whole numbers from 0 up to not much more than there are; None where they are
    not."""
    if not (values.min() >= 0 and values.max() <= SPARSEST * len(values)):
        return None  # NaN is neither
    whole = values.astype(np.int64)
    return whole if (whole == values).all() else None
