"""Measures of task values against their definition: exact sums, quantiles of the sketch."""

from pathlib import Path

import numpy as np
import pytest
import sparklog as log
from distilled import run_of
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sources.logs import measures
from engine.sources.logs.measures import (
    RELATIVE_ERROR,
    SECONDARY_VALUES,
    QuantileSketch,
    all_rounded,
    of_columns,
    of_sketch,
    rounded,
)

reported = st.integers(0, 2**45)


@pytest.mark.parametrize(
    ("value", "digits"),
    [(0.0, 0.0), (1234.56, 1234.6), (99999.6, 1e5), (0.000123456, 0.00012346), (7e18, 7e18)],
)
def test_values_are_rounded_to_five_digits(value: float, digits: float) -> None:
    assert all_rounded(np.array([value])).tolist() == [digits]


@given(st.lists(reported | st.just(-1), min_size=1, max_size=40), st.integers(2, 15))
def test_a_measure_is_the_sum_and_the_linear_quantiles(values: list[int], points: int) -> None:
    (measure,) = of_columns(np.array([values]), units=[1.0], points=[points])
    known = sorted(value for value in values if value >= 0)
    if not known:
        assert measure is None
        return
    assert (measure.count, measure.total) == (len(known), pytest.approx(sum(known), rel=1e-15))
    if points == SECONDARY_VALUES and known[0] == known[-1]:
        assert measure.quantiles == (rounded(known[0]),)
        return
    kept = min(points, len(known))
    wanted = np.quantile(known, np.linspace(0.0, 1.0, kept)) if kept > 1 else known[:1]
    assert measure.quantiles == pytest.approx(wanted, rel=1.01e-4 / 2, abs=1e-9)


def test_rows_do_not_mix() -> None:
    """One that is all alike, one of which some were not reported, one of which none was."""
    values = np.array([[3, 3, 3], [5, -1, 1000], [-1, -1, -1], [1, 2, 3]])
    units, points = [1.0, 0.001, 1.0, 1.0], [SECONDARY_VALUES, 3, 3, SECONDARY_VALUES]
    alike, partly, nothing, whole = of_columns(values, units=units, points=points)
    assert (alike.count, alike.total, alike.quantiles) == (3, 9.0, (3.0,))
    assert (partly.count, partly.total, partly.quantiles) == (2, 1.005, (0.005, 1.0))
    assert (whole.count, whole.total, whole.quantiles) == (3, 6.0, (1.0, 2.0, 3.0))
    assert nothing is None


def test_equal_task_times_are_kept_one_by_one() -> None:
    """Only of measures that no replay draws from one value stands for all."""
    (times,) = of_columns(np.array([[7, 7, 7]]), units=[1.0], points=[101])
    assert times.quantiles == (7.0, 7.0, 7.0)


def test_sums_of_milliseconds_have_no_binary_noise() -> None:
    (three,) = of_columns(np.array([[1, 2]]), units=[0.001], points=[3])
    assert three.total == 0.003  # 3 * 0.001 is 0.0030000000000000001


@pytest.mark.parametrize(("value", "unit"), [(3, 0.001), (4, 1.0), (4, 1024.0)])
def test_a_sketch_of_equal_values_is_one_value(value: int, unit: float) -> None:
    sketch = QuantileSketch()
    assert of_sketch(sketch, unit=unit) is None
    sketch.add(np.full(50, value))
    measure = of_sketch(sketch, unit=unit)
    assert (measure.count, measure.total) == (50, pytest.approx(50 * value * unit))
    assert measure.quantiles == (pytest.approx(value * unit),)
    primary = of_sketch(sketch, unit=unit, points=5)
    assert primary.quantiles == (pytest.approx(value * unit),) * 5


def test_a_sketch_of_different_values_keeps_its_quantiles() -> None:
    sketch = QuantileSketch()
    sketch.add(np.arange(101))
    measure = of_sketch(sketch, unit=1.0)
    assert measure.quantiles == pytest.approx(tuple(np.arange(0, 101, 10)), abs=1.0)


@pytest.mark.parametrize(("remote", "local"), [(0, 400), (600, 0), (600, 400)])
def test_a_shuffle_that_is_read_from_one_side_alone_is_known(
    tmp_path: Path, remote: int, local: int
) -> None:
    """On one machine no byte of it comes from another."""
    read = {"Remote Bytes Read": remote, "Local Bytes Read": local}
    task = log.task(0, 0, 2.0, 4.0, metrics={"Shuffle Read Metrics": read})
    events = [*log.header(), log.submitted(log.info(0, 1), 1.0), task, log.end(5.0)]
    (stage,) = run_of(tmp_path, events).stages
    assert stage.shuffle_read_bytes.total == remote + local
    assert stage.shuffle_remote_read_bytes.total == remote


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
