"""Candidate models: their weights and variances, and mixtures of their fits."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t

from engine.models.laws.candidate_models import Variances, pseudo_bma_weights
from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import fit_run_times
from engine.models.laws.weighted_fits import (
    WeightedFit,
    mixed_log_times,
    mixed_means,
    scales_at_runs,
)


def test_the_variance_of_a_mixture_is_within_and_between_its_parts() -> None:
    """The mean square of what the candidates predict, less the square of their mean; what the
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
    both = np.asarray([0, 1, 0, 1])
    same, found = Variances(about, among, sides).on_sides(weights, means, both, sides.ravel())
    below, above = found.reshape(2, 2)
    assert same.tolist() == [*own, *own]
    assert (below - doubt) == pytest.approx([-0.8 * 0.05, 0.0], abs=1e-12)
    assert (above - doubt) == pytest.approx([2.0 * 0.05, 0.0], abs=1e-12)


def test_weights_are_the_likelihood_of_left_out_errors() -> None:
    """Eight runs, a tenth off by the first candidate and 0.08 by the second, beside four that would
    be 0.02 off: Student laws of four degrees of freedom, of any scale. The second has a penalty of
    one; a run that counts for nothing says nothing."""

    def likely(error: float) -> float:
        def of(log_scale: float) -> float:
            scale = math.exp(log_scale)
            return float(t.pdf(error, 4, scale=scale) ** 8 * t.pdf(0.02, 4, scale=scale) ** 4)

        return float(quad(of, math.log(0.003), math.log(3.0), epsabs=0.0)[0])

    second = math.exp(-1.0) * likely(0.08) / likely(0.1)
    errors = np.asarray([[0.1, -0.1] * 4, [0.08] * 8])
    found = pseudo_bma_weights(errors, np.ones(8))
    assert found == pytest.approx([1.0 / (1.0 + second), second / (1.0 + second)], rel=1e-3)
    more = np.concatenate((errors, [[9.0, 0.0], [0.0, 9.0]]), axis=1)
    assert pseudo_bma_weights(more, np.asarray([1.0] * 8 + [0.0] * 2)) == pytest.approx(found)


def test_one_error_among_many_does_not_decide_for_all() -> None:
    """Thirty runs, 0.03 off by either but for one, by which the first is 0.2 off: by mean squares
    it would have one of 100,000. Where ten runs say so, it has nothing."""
    first, second = np.full(30, 0.03), np.full(30, 0.03)
    first[7] = 0.2
    one = pseudo_bma_weights(np.stack((first, second)), np.ones(30))
    assert 0.1 < one[0] < 0.3
    assert one.sum() == pytest.approx(1.0)
    first[10:19] = 0.2
    assert pseudo_bma_weights(np.stack((first, second)), np.ones(30))[0] < 0.001


def test_weights_hardly_depend_on_the_order_of_runs() -> None:
    """Which run is drawn how often goes by its place; the weights are means over many draws."""
    errors = np.abs(np.random.default_rng(3).normal(0.0, 0.05, (2, 12)))
    found = [pseudo_bma_weights(np.roll(errors, by, axis=1), np.ones(12))[0] for by in range(12)]
    assert max(found) - min(found) < 0.05


def test_means_of_several_iterations_are_those_of_full_predictions() -> None:
    """A type told by all runs, one told by its own, and one by both, which ones depending on the
    iterations."""
    machines, kind = np.tile([2.0, 4.0, 8.0, 16.0], 9), np.repeat([0, 1, 2], 12)
    one, iterations = np.ones(36), np.tile(np.repeat([5.0, 20.0, 40.0], 4), 3)
    rows = Rows(machines, one, one, one, iterations, kind, kind, np.zeros((36, 0)), one)
    seconds = (20.0 + 30.0 * iterations / machines) * (1.0 + 0.1 * kind)
    joint = fit_run_times(rows, seconds)
    alone = [fit_run_times(rows.take(kind == k), seconds[kind == k]) for k in (1, 2)]
    first = (
        (WeightedFit(joint, 1.0),),
        (WeightedFit(joint, 0.0), WeightedFit(alone[0], 1.0)),
        (WeightedFit(joint, 0.4), WeightedFit(alone[1], 0.6)),
    )
    second = (
        (WeightedFit(joint, 1.0),),
        (WeightedFit(joint, 1.0),),
        (WeightedFit(joint, 0.005), first[2][1]),
    )
    asked, family = rows.take(np.arange(36) % 4 < 3), kind[np.arange(36) % 4 < 3]
    counts = np.asarray([5.0, 30.0])
    found = mixed_means((first, second), asked, family, counts)
    for mean, shares, count in zip(found, (first, second), counts.tolist(), strict=True):
        told = mixed_log_times(shares, asked.with_iterations(count), family)[0]
        assert mean == pytest.approx(told, rel=1e-9)


def test_scales_at_runs_are_those_of_the_mixture_that_knows_them() -> None:
    """Of two types, the second has a fit of its runs of one number of iterations."""
    machines, kind = np.tile([2.0, 4.0, 8.0, 16.0], 6), np.repeat([0, 1], 12)
    one, iterations = np.ones(24), np.tile(np.repeat([5.0, 20.0, 40.0], 4), 2)
    rows = Rows(machines, one, one, one, iterations, kind, kind, np.zeros((24, 0)), one)
    seconds = (20.0 + 30.0 * iterations / machines) * (1.0 + 0.1 * kind)
    seconds *= np.exp(0.05 * np.random.default_rng(2).normal(size=24))
    joint, known = fit_run_times(rows, seconds), (kind == 1) & (iterations == 20.0)
    alone = fit_run_times(rows.take(known), seconds[known])
    fits = ((WeightedFit(joint, 1.0),), (WeightedFit(joint, 0.4), WeightedFit(alone, 0.6)))
    scales = scales_at_runs(fits)
    mixed = mixed_log_times(fits, rows, kind).scale
    by_all = joint.moments(rows).scale
    for at, expected in ((known, mixed), (~known, by_all)):
        assert scales[at] == pytest.approx(np.sqrt(np.mean(expected[:, at] ** 2, axis=0)), rel=1e-3)
    assert not np.allclose(mixed[:, known], by_all[:, known], rtol=1e-2)
