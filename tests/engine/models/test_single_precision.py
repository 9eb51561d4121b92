"""Laws are drawn and moved as 32-bit numbers: what these could not tell apart decides nothing."""

import warnings

import numpy as np
import pytest
from law_fits import few_runs
from sparkplan_runs import fit, nodes

from engine.cluster import Workload
from engine.models.laws.observations import log_likelihood as log_likelihood_of
from engine.models.laws.prior_laws import first_prior_laws
from engine.models.laws.reference_frame import ReferenceFrame
from engine.models.laws.sampling import Likelihood, posterior
from engine.profile import Run

SCALED = ((2, 300.0), (4, 310.0), (6, 318.0), (8, 325.0), (12, 333.0), (16, 341.0))
"""Nodes and seconds of a job whose input grew with the nodes."""


@pytest.mark.parametrize("rounded", [0.0, 1e-8, 1e-6])
def test_sizes_that_are_rounded_make_no_cliff_between_the_runs(rounded: float) -> None:
    """The sizes are as much as `rounded` off what would leave each node the same share."""
    parts = (0.0, 0.7, -0.3, 1.0, 0.1, -0.8)
    runs = [
        Run(seconds, nodes(count), Workload(count * 1.2e10 * (1.0 + rounded * part)))
        for (count, seconds), part in zip(SCALED, parts, strict=True)
    ]
    model = fit(*runs)
    assert model.validation.mean_relative_error < 0.03
    found = model.predict(cluster=nodes(10), workload=Workload(1.2e11))
    assert (found.high or 0.0) / found.low < 1.3


@pytest.mark.parametrize("most", [1e6, 1e12])
def test_loops_of_very_unlike_lengths_overflow_nothing(most: float) -> None:
    counts = [(count, loops) for count in (1, 4, 16) for loops in (1.0, 1000.0, most)]
    runs = [
        Run(20.0 + 0.007 * np.log(loops) / count, nodes(count), Workload(1.0, iterations=loops))
        for count, loops in counts
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(*runs).predict(cluster=nodes(4), workload=Workload(1.0, iterations=1000.0))
    assert np.isfinite(found.seconds)


def test_the_likelihood_is_that_of_64_bit_numbers() -> None:
    observations = few_runs(5)
    frame = ReferenceFrame.of(observations.points)
    single = first_prior_laws(frame, 2000, seed=3).take(np.arange(2000))
    double = single.in_double_precision
    features = frame.features(observations.points)
    found = Likelihood(observations, features.in_single_precision).log_likelihood(single)
    residuals = observations.log_seconds[:, None] - double.log_times(observations.points)
    expected = log_likelihood_of(observations.misfit(residuals), 5)
    assert found == pytest.approx(expected, abs=1e-3)
    assert posterior(observations).laws.parameters.dtype == np.float64
