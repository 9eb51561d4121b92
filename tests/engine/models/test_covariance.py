"""The inverse of a covariance from its Cholesky factor."""

import numpy as np
import pytest

from engine.models.laws.covariance import LARGEST_WHOLE, covariance_inverse


@pytest.mark.parametrize("runs", [1, 2, LARGEST_WHOLE, LARGEST_WHOLE + 1, 150, 301])
def test_the_inverse_and_the_determinant(runs: int) -> None:
    """Of a smooth function and its noise."""
    x = np.sort(np.random.default_rng(runs).normal(size=runs))
    covariance = np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.01 * np.eye(runs)
    inverse, half_log_determinant = covariance_inverse(covariance)
    assert inverse @ covariance == pytest.approx(np.eye(runs), abs=1e-9)
    assert half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(covariance)[1])


def test_no_covariance_has_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        covariance_inverse(np.asarray([[1.0, 2.0], [2.0, 1.0]]))
