"""Distinct values and rows are those of numpy, however they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.distinct import distinct, distinct_few_rows, distinct_rows
from engine.forecast import FloatArray

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
