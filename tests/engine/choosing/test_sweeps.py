import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from engine.choosing.sweeps import (
    StudentGrid,
    argsort_with_ties,
    row_blocks,
    running_minima,
    significant,
)


@given(st.lists(st.integers(0, 40), max_size=400))
def test_falling_finds_what_a_loop_finds(values: list[int]) -> None:
    lowest, expected = np.inf, []
    for place, value in enumerate(values):
        if value < lowest:
            lowest = value
            expected.append(place)
    assert running_minima(np.asarray(values, dtype=float)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1000)), unique=True, max_size=80))
def test_equal_values_are_sorted_by_their_ties(pairs: list[tuple[int, int]]) -> None:
    values = np.asarray([value for value, _ in pairs], dtype=float)
    ties = np.asarray([tie for _, tie in pairs], dtype=np.int64)
    assert [pairs[place] for place in argsort_with_ties(values, ties)] == sorted(pairs)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.99])
def test_tabulated_student_quantiles(p: float) -> None:
    dof = np.random.default_rng(1).uniform(1.5, 60.0, (7, 11))
    dof[0, 0], dof[0, 1] = np.inf, np.nan
    found = np.asarray(StudentGrid.of(dof).quantile(p)(slice(0, 7)))
    known = ~np.isnan(dof)
    exact = stdtrit(np.minimum(dof, 1e6), p)
    np.testing.assert_allclose(found[known], exact[known], rtol=2e-6, atol=1e-12)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(("low", "high"), [(2.0, 2.5), (8.0, 9.0), (3.0, 40.0)])
def test_the_table_spans_the_degrees_of_freedom_that_there_are(low: float, high: float) -> None:
    """Its cells end where they do: a point in the wrong cell is on the line of another one."""
    dof = np.linspace(low, high, 301)[None, :]
    found = np.asarray(StudentGrid.of(dof).quantile(0.9)(slice(0, 1)))
    np.testing.assert_allclose(found, stdtrit(dof, 0.9), rtol=2e-6)


def test_one_number_of_degrees_of_freedom_is_exact() -> None:
    quantile = StudentGrid.of(np.full((2, 3), 7.0)).quantile(0.9)
    assert quantile(slice(0, 2)) == pytest.approx(stdtrit(7.0, 0.9), rel=1e-12)


def test_blocks_cover_all_rows_once() -> None:
    rows = [row for block in row_blocks(1000, 512) for row in range(block.start, block.stop)]
    assert rows == list(range(1000))
    assert list(row_blocks(0, 5)) == []


def test_rounding_errors_do_not_separate() -> None:
    values = np.asarray([0.1 + 0.2, 0.3, 0.3000001, np.inf, 0.0])
    rounded = significant(values)
    assert rounded[0] == rounded[1] != rounded[2]
    assert (rounded[3], rounded[4]) == (np.inf, 0.0)
