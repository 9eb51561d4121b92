"""Mixtures of fits."""

import numpy as np
import pytest

from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import fit_run_times
from engine.models.laws.weighted_fits import WeightedFit, mixed_log_times, mixed_means


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
