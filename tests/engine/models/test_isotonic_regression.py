"""Isotonic regression."""

import numpy as np
import pytest

from engine.fitting import isotonic_regression


def test_neighbours_that_fall_share_their_weighted_mean() -> None:
    values = np.asarray([[1.0, 5.0], [4.0, 4.0], [2.0, 1.0], [6.0, 9.0]])
    weights = np.asarray([1.0, 1.0, 3.0, 1.0])
    expected = [[1.0, 2.4], [2.5, 2.4], [2.5, 2.4], [6.0, 9.0]]
    assert isotonic_regression(values, weights) == pytest.approx(np.asarray(expected))


def test_what_rises_stays_to_the_last_digit() -> None:
    values = np.cumsum(np.random.default_rng(1).random((5, 3)), axis=0)
    assert isotonic_regression(values, np.ones(5)).tolist() == values.tolist()


def test_it_never_falls_and_keeps_the_weighted_mean() -> None:
    generator = np.random.default_rng(2)
    values, weights = generator.random((7, 20)), generator.random(7)
    found = isotonic_regression(values, weights)
    assert (np.diff(found, axis=0) >= -1e-12).all()
    assert weights @ found == pytest.approx(weights @ values)
