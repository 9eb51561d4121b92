"""Distinct values and rows are those of numpy; unions of intervals, those of counting."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.distinct import distinct, distinct_few_rows, distinct_rows
from engine.forecast import FloatArray
from engine.intervals import clipped, exclusive_seconds, gaps, interval_union, union_length, united

NUMBERS = st.one_of(st.integers(-3, 40).map(float), st.sampled_from([0.5, 1e9, float("nan")]))
RUNS = st.lists(st.tuples(NUMBERS, st.integers(1, 30)), max_size=12)
"""Values, and how often each stands side by side."""


def column(runs: list[tuple[float, int]]) -> FloatArray:
    return np.asarray([value for value, count in runs for _ in range(count)], dtype=float)


@given(runs=RUNS)
def test_values_and_their_places_are_those_of_numpy(runs: list[tuple[float, int]]) -> None:
    values = column(runs)
    found, which = distinct(values)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(which, inverse)


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([3.5, 1.5, 3.5], 100),
        np.tile(np.arange(1.0, 65.0), 4) * 4,
        np.tile([0.25, 0.5, 7.0], 50),
        np.asarray([-1.0, 2.0, -1.0]),
        np.asarray([5]),
    ],
    ids=["runs", "whole numbers", "neither", "below 0", "one"],
)
def test_each_way_of_finding_them(values: FloatArray) -> None:
    found, which = distinct(values)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, np.unique(values))
    np.testing.assert_array_equal(found[which], values)


@given(one=RUNS, other=RUNS)
def test_rows_are_those_of_numpy(
    one: list[tuple[float, int]], other: list[tuple[float, int]]
) -> None:
    size = min(len(column(one)), len(column(other)))
    rows = np.nan_to_num(np.stack((column(one)[:size], column(other)[:size])), nan=7.25)
    first, which = distinct_rows(list(rows))
    expected = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(rows[:, first], expected[0])
    np.testing.assert_array_equal(first, expected[1])
    np.testing.assert_array_equal(which, expected[2].reshape(-1))


@given(one=RUNS, other=RUNS)
def test_few_rows_are_those_of_numpy_in_the_order_of_the_rows(
    one: list[tuple[float, int]], other: list[tuple[float, int]]
) -> None:
    size = min(len(column(one)), len(column(other)))
    rows = np.stack((column(one)[:size], column(other)[:size]), axis=1)
    rows[::2] *= np.where(rows[::2] == 0.0, -1.0, 1.0)  # zeros of either sign are one
    first, which = distinct_few_rows(rows)
    known = np.nan_to_num(rows, nan=7.25)
    _, places, inverse = np.unique(known, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, np.sort(places))
    np.testing.assert_array_equal(first[which], places[inverse.reshape(-1)])


SPANS = [(3, 5), (1, 2), (5, 9), (4, 4), (12, 15), (13, 14)]


def held(intervals, end):
    return [any(a <= one < b for a, b in intervals) for one in range(end)]


def test_union_is_disjoint_and_in_order_and_joins_intervals_that_touch():
    assert united(SPANS) == [(1, 2), (3, 9), (12, 15)]
    assert united([]) == []
    assert united([(7, 3), (5, 6)]) == [(5, 6), (7, 7)]


def test_whole_milliseconds_stay_whole():
    assert all(type(one) is int for span in united(SPANS) for one in span)


@pytest.mark.parametrize("seed", range(20))
def test_union_and_gaps_share_out_all_moments(seed):
    random = np.random.default_rng(seed)
    start = random.integers(0, 40, 8)
    spans = list(zip(start.tolist(), (start + random.integers(0, 9, 8)).tolist(), strict=True))
    union, between = united(spans), gaps(united(spans), 5, 45)
    assert held(union, 60) == held(spans, 60)
    assert held(between, 60) == [
        5 <= one < 45 and not busy for one, busy in enumerate(held(spans, 60))
    ]
    assert all(a[1] < b[0] for a, b in pairwise(union))
    starts, ends = (np.asarray(x, dtype=float) for x in zip(*spans, strict=True))
    assert union_length(starts, ends) == sum(held(spans, 60))
    assert exclusive_seconds(starts, ends).sum() == pytest.approx(sum(held(spans, 60)))
    assert np.subtract(*interval_union(starts, ends)[::-1]).sum() == sum(held(spans, 60))


def test_clipped_intervals_end_at_the_bounds():
    assert clipped([(0, 4), (6, 9), (11, 12)], 2, 11) == [(2, 4), (6, 9)]
