"""Skew: moments of the larger of two normals against sampling, Theorem 1, order statistics."""

import math

import numpy as np
import pytest
from order_statistics import expected_largest

from engine.models.boe.skew import (
    LAMBDA,
    XI,
    Normal,
    gain_bounds,
    larger_of_two,
    linear_time,
    reduce_time,
    reduce_time_printed,
    scores,
)
from engine.models.boe.task_draw import task_factors

DRAWS = np.random.default_rng(5).normal(size=(200_000, 2))


def test_eqs_9_to_13_are_linear_in_the_selectivity() -> None:
    found = linear_time(fixed=3.0, per_selectivity=2.0, selectivity=Normal(0.5, 0.04))
    assert found == pytest.approx((4.0, 0.16))


@pytest.mark.parametrize(
    ("first", "second"), [((5, 4), (5, 4)), ((5, 1), (6, 9)), ((2, 1), (20, 1))]
)
def test_the_larger_of_two_normals_agrees_with_sampling(
    first: tuple[float, float], second: tuple[float, float]
) -> None:
    found = larger_of_two(Normal(*first), Normal(*second))
    drawn = np.maximum(
        first[0] + math.sqrt(first[1]) * DRAWS[:, 0], second[0] + math.sqrt(second[1]) * DRAWS[:, 1]
    )
    assert found.mean == pytest.approx(float(drawn.mean()), rel=0.005)
    assert found.variance == pytest.approx(float(drawn.var()), rel=0.02)


def test_lambda_and_xi_are_those_of_equal_terms() -> None:
    found = larger_of_two(Normal(7.0, 2.0), Normal(7.0, 2.0))
    assert found.mean == pytest.approx(7.0 + LAMBDA * math.sqrt(4.0))
    assert found.variance == pytest.approx(XI * 4.0)


def test_eq_15_as_printed_doubles_equal_terms_and_the_used_form_does_not() -> None:
    sure = {"map_out": Normal(1.0, 0.0), "reduce_out": Normal(1.0, 0.0)}
    assert reduce_time(a=0.0, b=10.0, c=10.0, **sure).mean == pytest.approx(10.0)
    assert reduce_time_printed(a=0.0, b=10.0, c=10.0, **sure).mean == pytest.approx(20.0)


def test_eqs_15_and_16_as_printed_by_hand() -> None:
    """The deviations of the two terms of the maximum are 2 and 3."""
    found = reduce_time_printed(
        a=3.0, b=4.0, c=10.0, map_out=Normal(2.0, 0.25), reduce_out=Normal(0.5, 0.09)
    )
    assert found.mean == pytest.approx(19.0 + LAMBDA * math.sqrt(13.0))
    assert found.variance == pytest.approx(2.25 + XI * 13.0)


def test_the_larger_of_two_numbers_is_one_of_them() -> None:
    for first, second in ((3.0, 2.0), (2.0, 3.0), (3.0, 3.0)):
        assert larger_of_two(Normal(first, 0.0), Normal(second, 0.0)) == (3.0, 0.0)


def test_one_task_at_a_time_gains_nothing_by_skew() -> None:
    assert gain_bounds(tasks=9.0, parallelism=1.0, deviation=2.0) == (0.0, 0.0)


def test_eq_16_agrees_with_the_used_form_for_equal_terms() -> None:
    spread = {"map_out": Normal(1.0, 0.09), "reduce_out": Normal(1.0, 0.09)}
    used = reduce_time(a=0.0, b=10.0, c=10.0, **spread)
    printed = reduce_time_printed(a=0.0, b=10.0, c=10.0, **spread)
    assert used.variance == pytest.approx(printed.variance)


@pytest.mark.parametrize(
    ("a", "b", "c"), [(2.0, 10.0, 10.0), (10.0, 5.0, 7.0), (3.0, 2.0, 20.0), (4.0, 6.0, 0.0)]
)
def test_eq_14_agrees_with_sampling_where_both_summands_hold_one_selectivity(
    a: float, b: float, c: float
) -> None:
    """Eq. 16 adds their variances: with c = 0 that is a^2 + b^2 where (a + b)^2 is true."""
    map_out, reduce_out = Normal(1.0, 0.09), Normal(0.8, 0.04)
    found = reduce_time(a=a, b=b, c=c, map_out=map_out, reduce_out=reduce_out)
    alpha_m = map_out.mean + map_out.deviation * DRAWS[:, 0]
    alpha_r = reduce_out.mean + reduce_out.deviation * DRAWS[:, 1]
    drawn = a * alpha_m + np.maximum(b * alpha_m, c * alpha_r)
    assert found.mean == pytest.approx(float(drawn.mean()), rel=0.005)
    assert found.variance == pytest.approx(float(drawn.var()), rel=0.02)


@pytest.mark.parametrize(("n", "known"), [(1, 0.0), (2, 0.56419), (5, 1.16296), (100, 2.50759)])
def test_expected_largest_is_the_tabulated_order_statistic(n: int, known: float) -> None:
    assert expected_largest(n) == pytest.approx(known, abs=1e-4)


@pytest.mark.parametrize(("tasks", "parallelism"), [(32, 32), (64, 16), (400, 8)])
def test_theorem_1_holds_for_n_tasks(tasks: int, parallelism: int) -> None:
    """The expected slowest of Delta tracks of N / Delta tasks each lies within the bounds."""
    waves, deviation = tasks / parallelism, 2.5
    gain = math.sqrt(waves) * deviation * expected_largest(parallelism)
    low, high = gain_bounds(tasks=tasks, parallelism=parallelism, deviation=deviation)
    assert low <= gain <= high
    # Read as a number of waves, as the text has it, N would take the bounds off the mark.
    wrong, _ = gain_bounds(tasks=waves / 64, parallelism=parallelism, deviation=deviation)
    assert wrong < low


@pytest.mark.parametrize("n", [5, 7, 63, 200, 1000])
def test_scores_reach_the_expected_largest_and_stay_when_more_come(n: int) -> None:
    found = scores(n)
    assert float(found.max()) == pytest.approx(expected_largest(n), rel=0.2)
    assert np.array_equal(scores(2 * n)[:n], found)


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.9, 2.0])
def test_task_factors_keep_the_mean(spread: float) -> None:
    assert float(task_factors(spread, 4095).mean()) == pytest.approx(1.0, abs=0.08)
    assert float(task_factors(spread, 4095).min()) > 0.0
