"""The quantile sketch against exact quantiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sources.logs import measures
from engine.sources.logs.measures import RELATIVE_ERROR, QuantileSketch


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2**53), min_size=1, max_size=300), st.integers(2, 50), st.integers(1, 7)
)
def test_quantiles_within_the_stated_error(values: list[int], points: int, parts: int) -> None:
    sketch = QuantileSketch()
    for part in np.array_split(np.asarray(values, dtype=np.int64), parts):
        sketch.add(part)
    ordered = np.sort(values)
    ranks = np.linspace(0.0, 1.0, points) * (len(values) - 1)
    below, above = ordered[np.floor(ranks).astype(int)], ordered[np.ceil(ranks).astype(int)]
    found = sketch.quantiles(points)
    slack = 1.0001 * RELATIVE_ERROR
    assert np.all(found >= below * (1.0 - slack))
    assert np.all(found <= above * (1.0 + slack))
    assert (found[0], found[-1]) == (ordered[0], ordered[-1])
    assert (sketch.count, sketch.total) == (len(values), pytest.approx(sum(values)))


@pytest.mark.parametrize("count", [1, 2, 11, 12, 201, 202, 5000, 20_000])
def test_exact_measures_agree_with_numpy(count: int) -> None:
    values = np.random.default_rng(count).integers(1, 10**6, count)
    (measure,) = measures.of_columns(values[None, :], units=(1e-3,), points=(201,))
    assert (measure.count, measure.total) == (count, values.sum() / 1000)
    points = min(count, 201)
    expected = np.quantile(values, np.linspace(0.0, 1.0, points)) / 1000
    assert measure.quantiles == pytest.approx(list(expected), rel=5.1e-5)


def test_what_was_not_reported_does_not_count() -> None:
    rows = np.asarray([[-1, -1, -1], [-1, 7, 7]])
    nothing, found = measures.of_columns(rows, units=(1.0, 1.0), points=(11, 11))
    assert nothing is None
    assert (found.count, found.total, found.quantiles) == (2, 14.0, (7.0,))
    assert measures.of_sketch(QuantileSketch(), unit=1.0) is None


@given(
    st.lists(st.integers(0, 2**63), min_size=1, max_size=40)
    | st.lists(st.integers(0, 10**6), min_size=1, max_size=40),
    st.sampled_from([1.0, 0.5, 0.1, 1e-3, 1e-9]),
)
def test_rounding_many_is_rounding_each(values: list[int], unit: float) -> None:
    found = measures.all_rounded(np.asarray(values, dtype=np.float64) * unit)
    assert found.tolist() == [measures.rounded(float(value) * unit) for value in values]


def test_a_last_digit_of_a_half_is_rounded_by_its_exact_value() -> None:
    halves = np.arange(100_005, 1_000_000, 10) / 1e3
    assert measures.all_rounded(halves).tolist() == [measures.rounded(v) for v in halves.tolist()]
