"""Distinct values of the long columns of a grid of clusters, needed at every step of a slider.

Sorting half a million numbers takes longer than everything else done with them. On a grid,
neighbours are mostly equal (one layout for all nodes of a type), or the values are whole numbers
that repeat (slots): neither needs a full sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from engine.forecast import IntArray

Value = TypeVar("Value", bound=np.generic)

FEW_TURNS = 8
"""If at most one in this many values differs from its predecessor, finding runs of equal values is
faster than sorting."""

SPARSEST = 4
"""Whole numbers up to this many times their count are tabulated, not sorted."""


def distinct(values: npt.NDArray[Value]) -> tuple[npt.NDArray[Value], IntArray]:
    """(k,) distinct values in ascending order, and (n,) which of them each value is, as by
    `numpy.unique`: NaN once and last."""
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
    """(k,) first place of each distinct row of (n,) columns, in lexicographic order, and (n,) which
    of them each row is."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, which = distinct(column)
        code = code * len(values) + which
    found, which = distinct(code)
    first = np.empty(len(found), dtype=np.int64)
    first[which[::-1]] = np.arange(len(code))[::-1]  # of several that are alike the first is last
    return first, which


def _whole(values: npt.NDArray[Any]) -> IntArray | None:
    """The values as whole numbers, if they are from 0 up to `SPARSEST` times their count; else
    None."""
    if not (values.min() >= 0 and values.max() <= SPARSEST * len(values)):
        return None  # NaN is neither
    whole = values.astype(np.int64)
    return whole if (whole == values).all() else None
