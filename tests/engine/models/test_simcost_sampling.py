"""Samples with replacement, the stopping rule and the training cost."""

import numpy as np
import pytest
from scipy import stats
from test_simcost import uneven

from engine.errors import BadInput
from engine.models.simcost.learning import RunCosts
from engine.models.simcost.sampling import (
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    Estimate,
    critical_value,
    draw,
    estimate,
    estimated_size,
    expected_sample_size,
    is_enough,
    rounds_needed,
    simulate,
    simulated,
    training_cost_ratio,
)


def test_eq_3() -> None:
    assert expected_sample_size(size=150, probability=1 / 30) == pytest.approx(5.0)
    assert estimated_size(sample_size=5, probability=1 / 30) == pytest.approx(150.0)


def test_samples_are_drawn_with_replacement_and_repeatable() -> None:
    first = draw(partitions=150, probability=1 / 30, seed=1, rounds=2000)
    assert first.shape == (2000, 5)
    assert (first == draw(partitions=150, probability=1 / 30, seed=1, rounds=2000)).all()
    assert (first != draw(partitions=150, probability=1 / 30, seed=2, rounds=2000)).any()
    counts = np.bincount(first.ravel(), minlength=150)
    assert stats.chisquare(counts).pvalue > 1e-3, "every partition equally likely"
    whole = draw(partitions=40, probability=1.0, seed=3)
    assert len(np.unique(whole)) < 40, "with replacement some come twice"


@pytest.mark.parametrize(("partitions", "p"), [(0, 0.1), (5, 0.0), (5, 1.1)])
def test_what_cannot_be_sampled(partitions: int, p: float) -> None:
    with pytest.raises(BadInput, match="cannot be sampled"):
        draw(partitions=partitions, probability=p, seed=0)


def test_the_critical_value_of_the_example() -> None:
    """4.1: 80 %, n = 20: 1.325 printed, at 20 degrees of freedom; at n - 1 it is 1.328."""
    assert critical_value(confidence=0.80, count=21) == pytest.approx(1.325, abs=5e-4)
    assert critical_value(confidence=0.80, count=20) == pytest.approx(1.328, abs=5e-4)


def test_the_stopping_rule_of_the_example() -> None:
    """Eq. 6 with n = 20 and epsilon = 0.1 holds up to sigma = 0.1 sqrt(20) / 1.328 = 0.3368."""
    values = np.tile([-1.0, 1.0], 10)
    unit = float(np.std(values, ddof=1))
    for deviation, enough in ((0.336, True), (0.3375, False)):
        found = estimate(10.0 + values * deviation / unit, confidence=0.80)
        assert found.deviation == pytest.approx(deviation)
        assert is_enough(found, epsilon=0.1) is enough


def test_the_interval_is_scipys() -> None:
    values = np.random.default_rng(4).normal(100.0, 12.0, 9)
    found = estimate(values, confidence=0.9)
    low, high = stats.t.interval(0.9, 8, loc=values.mean(), scale=stats.sem(values))
    assert found.interval == (pytest.approx(low), pytest.approx(high))


def test_an_interval_needs_two_values() -> None:
    with pytest.raises(BadInput, match="two simulations"):
        estimate([3.0], confidence=0.8)


def test_rounds_needed_satisfy_the_rule_and_fewer_do_not() -> None:
    found = Estimate(mean=10.0, deviation=2.0, half_width=9.9, count=3)
    needed = rounds_needed(found, epsilon=1.0, confidence=0.8)
    for count, enough in ((needed, True), (needed - 1, False)):
        half = critical_value(confidence=0.8, count=count) * 2.0 / np.sqrt(count)
        assert bool(half < 1.0) is enough


@pytest.mark.parametrize(("spread", "rounds"), [(0.01, FEWEST_ROUNDS), (50.0, MOST_ROUNDS)])
def test_simulation_stops_when_settled_or_at_the_limit(spread: float, rounds: int) -> None:
    def values(count: int, seed: int) -> np.ndarray:
        return 10.0 + spread * np.random.default_rng(seed).normal(size=count)

    found = simulate(values, epsilon=0.1, confidence=0.8)
    assert found.count == rounds


def test_eq_7() -> None:
    assert training_cost_ratio(
        sample_resource_times=[10.0, 12.0, 18.0], resource_time=1000.0
    ) == pytest.approx(0.04)


def test_the_stopping_rule_may_be_stricter() -> None:
    """Table 6 has 80 and 90 %. The paper prints no number of simulations for 90 %: Eq. 6 itself is
    the check, by SciPy's critical value."""
    run = RunCosts.of(uneven(3, 6))
    usual, sure, fine = (
        simulated(run, **asked) for asked in ({}, {"confidence": 0.9}, {"epsilon": 0.005})
    )
    for found, confidence, epsilon in ((sure, 0.9, 0.1), (fine, 0.8, 0.005)):
        t_star = stats.t.ppf((1.0 + confidence) / 2.0, found.count - 1)
        assert found.half_width == pytest.approx(t_star * found.deviation / found.count**0.5)
        assert found.half_width < epsilon * found.mean
    assert sure.count >= usual.count
    assert fine.count > usual.count, "fewer did not do"
    assert not usual.half_width < 0.005 * usual.mean
    for asked in ({"epsilon": 0.0}, {"confidence": 1.0}):
        with pytest.raises(BadInput, match="no stopping rule has"):
            simulated(run, **asked)
