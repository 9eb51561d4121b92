"""What candidates of a law say together."""

import math

import numpy as np
import pytest

from engine.models.laws.mixture import Variances, weights_of


def test_the_variance_of_a_mixture_is_that_of_all_it_mixes() -> None:
    """The mean square of what the candidates foretell, less the square of their mean; what the
    laws leave open is added. Candidates that agree leave the mean of their variances."""
    weights = np.asarray([0.25, 0.6, 0.15])
    means = np.asarray([[1.0, 2.0], [1.5, 2.0], [-0.5, 2.0]])
    about, among = np.asarray([[0.2, 0.1], [0.1, 0.3], [0.4, 0.2]]), np.asarray([0.05, 0.07])
    sides = np.asarray([[0.2, 1.0], [3.0, 1.0]])
    own, doubt = Variances(about, among, sides).mixed(weights, means)
    whole = weights @ (about + means**2) - (weights @ means) ** 2
    assert own + doubt == pytest.approx(whole + among)
    assert own == pytest.approx([0.17, 0.235])
    assert doubt[1] == pytest.approx(0.07)
    same, (below, above) = Variances(about, among, sides).on_sides(weights, means)
    assert same.tolist() == own.tolist()
    assert (below - doubt) == pytest.approx([-0.8 * 0.05, 0.0], abs=1e-12)
    assert (above - doubt) == pytest.approx([2.0 * 0.05, 0.0], abs=1e-12)


def test_weights_are_what_errors_of_runs_left_out_make_likely() -> None:
    """Eight runs, a tenth and 0.08 off, beside four that would be 0.02 off: mean squares of 0.0068
    and 0.0044. The second has a penalty of one; a run that counts for nothing says nothing."""
    second = math.exp(-1.0) * math.sqrt(0.0068 / 0.0044) ** 8
    errors = np.asarray([[0.1, -0.1] * 4, [0.08] * 8])
    found = weights_of(errors, np.ones(8))
    assert found == pytest.approx([1.0 / (1.0 + second), second / (1.0 + second)])
    more = np.concatenate((errors, [[9.0, 0.0], [0.0, 9.0]]), axis=1)
    assert weights_of(more, np.asarray([1.0] * 8 + [0.0] * 2)) == pytest.approx(found)
