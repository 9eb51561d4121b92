"""Intervals (start, end) of time: their union, and the gaps between them.

Moments are seconds or whole milliseconds. Results are disjoint and in ascending order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from engine.forecast import FloatArray

Moment = TypeVar("Moment", int, float)
Moments = npt.NDArray[Any]


def interval_union(start: Moments, end: Moments) -> tuple[Moments, Moments]:
    """(k,) starts and (k,) ends of the union of (n,) intervals, k <= n. Those that touch become
    one; an end before its start counts as the start."""
    starts, _, reached = _by_start(start, end)
    apart = starts[1:] > reached[:-1]
    is_first = np.concatenate(([True], apart))[: len(starts)]
    is_last = np.concatenate((apart, [True]))[: len(starts)]
    return starts[is_first], reached[is_last]


def union_length(start: FloatArray, end: FloatArray) -> float:
    """Length of the union of (n,) intervals: what each adds to those that started before it."""
    starts, ends, reached = _by_start(start, end)
    before = np.concatenate(([-math.inf], reached[:-1]))
    return float(np.maximum(0.0, ends - np.maximum(starts, before)).sum())


def _by_start(start: Moments, end: Moments) -> tuple[Moments, Moments, Moments]:
    """Starts and ends of (n,) intervals in the order of their starts, and (n,) the last moment
    that each and those before it reach."""
    order = np.argsort(start, kind="stable")
    starts, ends = start[order], np.maximum(start, end)[order]
    return starts, ends, np.maximum.accumulate(ends)


def united(intervals: Iterable[tuple[Moment, Moment]]) -> list[tuple[Moment, Moment]]:
    """The union of intervals (`interval_union`), as pairs."""
    pairs: Moments = np.asarray(list(intervals)).reshape(-1, 2)
    starts, ends = interval_union(pairs[:, 0], pairs[:, 1])
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def clipped(
    intervals: Iterable[tuple[Moment, Moment]], start: Moment, end: Moment
) -> list[tuple[Moment, Moment]]:
    """The parts of intervals that lie in [start, end]."""
    return [(max(a, start), min(b, end)) for a, b in intervals if a < end and b > start]


def gaps(
    union: Sequence[tuple[Moment, Moment]], start: Moment, end: Moment
) -> list[tuple[Moment, Moment]]:
    """The complement in [start, end] of disjoint intervals in ascending order."""
    complement: list[tuple[Moment, Moment]] = []
    reached = start
    for first, last in clipped(union, start, end):
        if first > reached:
            complement.append((reached, first))
        reached = last
    if end > reached:
        complement.append((reached, end))
    return complement


def exclusive_seconds(start: FloatArray, end: FloatArray) -> FloatArray:
    """(n,) each interval's share of the time: where k intervals overlap, each gets 1/k of it."""
    moments = np.unique(np.concatenate((start, end)))
    first, last = np.searchsorted(moments, start), np.searchsorted(moments, end)
    running = np.zeros(len(moments))
    np.add.at(running, first, 1.0)
    np.add.at(running, last, -1.0)
    at_once = np.maximum(np.cumsum(running)[:-1], 1.0)
    gained = np.concatenate(([0.0], np.cumsum(np.diff(moments) / at_once)))
    return np.asarray(gained[last] - gained[first])
