"""Measures of task values against their definition: exact sums, quantiles to five digits."""

from pathlib import Path

import numpy as np
import pytest
import sparklog as log
from distilled import run_of
from hypothesis import given
from hypothesis import strategies as st

from engine.sources.logs.measures import (
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
