"""The quantile sketch against exact quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sources import measures
from engine.sources.sketch import RELATIVE_ERROR, QuantileSketch


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2**53), min_size=1, max_size=300),
    st.integers(2, 50),
    st.integers(1, 7),
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
    measure = measures.of_values(values, unit=1e-3, points=201)
    assert measure is not None
    assert (measure.count, measure.total) == (count, values.sum() / 1000)
    points = min(count, 201)
    expected = np.quantile(values, np.linspace(0.0, 1.0, points)) / 1000
    assert measure.quantiles == pytest.approx(list(expected), rel=5.1e-5)


def test_what_was_not_reported_does_not_count() -> None:
    assert measures.of_values(np.asarray([-1, -1]), unit=1.0) is None
    found = measures.of_values(np.asarray([-1, 7, 7]), unit=1.0)
    assert found is not None
    assert (found.count, found.total, found.quantiles) == (2, 14.0, (7.0,))
    assert measures.of_sketch(QuantileSketch(), unit=1.0) is None
