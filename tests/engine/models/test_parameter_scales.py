"""How job parameters count that may be zero, within the values that were run and beyond them."""

import math

import numpy as np
import pytest
from sparkplan_runs import fit, nodes

from engine.cluster import Workload
from engine.models.base import Prediction
from engine.models.curves.parameter_scales import (
    DOUBLINGS_FROM_ZERO,
    SPREAD_PER_PARAMETER,
    ParameterScales,
)
from engine.profile import Run

SCALES = ParameterScales.of(np.asarray([[0.0, 1.0], [2.0, 2.0], [5.0, 5.0]]))
"""A parameter that may be zero, and one that may not."""


def told(value: float) -> float:
    return float(SCALES.coordinates(np.asarray([[value, 1.0]]))[0, 0])


def test_a_parameter_that_may_be_zero_is_linear_up_to_its_largest_value_and_a_log_beyond() -> None:
    assert told(0.0) == 0.0
    assert told(2.5) == pytest.approx(0.5)
    assert told(5.0) == 1.0
    assert told(20.0) == pytest.approx(1.0 + np.log(4.0))
    assert told(-20.0) == pytest.approx(-1.0 - np.log(4.0))
    before, after = told(5.0) - told(4.999), told(5.001) - told(5.0)
    assert after == pytest.approx(before, rel=1e-3), "no bend"


def test_a_doubling_beyond_the_largest_value_is_one_for_every_parameter() -> None:
    found = SCALES.doublings(np.asarray([[0.0, 2.5], [2.5, 5.0], [5.0, 10.0], [10.0, 20.0]]))
    assert np.diff(found, axis=0) == pytest.approx(np.ones((3, 2)))


def test_a_parameter_that_was_never_zero_is_a_log_down_to_its_smallest_value_and_linear_below() -> (
    None
):
    scales = ParameterScales.of(np.asarray([[2.0], [8.0]]))
    found = scales.coordinates(np.asarray([[16.0], [2.0], [1.0], [0.0], [-3.0]]))[:, 0]
    expected = np.log(2.0) + np.asarray([np.log(8.0), 0.0, -0.5, -1.0, -1.0])
    assert found == pytest.approx(expected)


def seconds(count: int, rounds: float) -> float:
    return 30.0 + 400.0 / count + 20.0 * rounds


def predicted(measured: tuple[float, ...], rounds: float) -> Prediction:
    """Of runs with these values on 2, 4 and 8 nodes, for another value on 4."""
    runs = [
        Run(seconds(count, own), nodes(count), Workload(1.0, parameters={"rounds": own}))
        for count in (2, 4, 8)
        for own in measured
    ]
    wanted = Workload(1.0, parameters={"rounds": rounds})
    return fit(*runs).predict(cluster=nodes(4), workload=wanted)


@pytest.mark.parametrize(("rounds", "within"), [(7.0, 0.1), (10.0, 0.1), (20.0, 0.2), (50.0, 0.35)])
def test_a_parameter_that_may_be_zero_is_not_extrapolated_as_a_power_of_e(
    rounds: float, within: float
) -> None:
    """For 50 where 5 was the most 12 hours were predicted, of a job that takes 19 minutes."""
    found = predicted((0.0, 1.0, 2.0, 5.0), rounds)
    assert found.seconds == pytest.approx(seconds(4, rounds), rel=within)
    assert found.low < seconds(4, rounds) < (found.high or 0.0)


@pytest.mark.parametrize("rounds", [0.0, 0.01, 0.5])
def test_time_does_not_vanish_with_a_parameter_that_was_never_zero(rounds: float) -> None:
    """For 0 where 1 was the least 2.5 s were predicted of a job that takes 130 s, within a factor
    of a million."""
    found = predicted((1.0, 2.0, 5.0, 10.0), rounds)
    assert found.seconds == pytest.approx(seconds(4, rounds), rel=0.1)
    assert (found.high or math.inf) / found.low < 50.0


@pytest.mark.parametrize("measured", [0.0, 3.0])
def test_between_zero_and_what_was_run_nobody_knows_how_far_it_is(measured: float) -> None:
    """A parameter that had one value: its time stays, and may be five doublings of it away."""
    same, other = predicted((measured,), measured), predicted((measured,), 3.0 - measured)
    assert other.seconds == pytest.approx(same.seconds)
    apart = other.forecast.log_scale[0] ** 2 - same.forecast.log_scale[0] ** 2
    assert math.sqrt(apart) == pytest.approx(DOUBLINGS_FROM_ZERO * SPREAD_PER_PARAMETER, rel=0.01)
