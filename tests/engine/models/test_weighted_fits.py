"""Mixtures of fits."""

import numpy as np
import pytest

from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import fit_run_times
from engine.models.laws.weighted_fits import (
    WeightedFit,
    mixed_log_times,
    mixed_means,
    scales_at_runs,
)


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
