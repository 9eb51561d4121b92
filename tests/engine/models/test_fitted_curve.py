"""A curve of known terms: what each phase takes on faster and slower cores, what it warns of."""

import math

import numpy as np
import pytest

from engine.cluster import Workload
from engine.fitting import UNKNOWN_SPREAD, Fit
from engine.models.curves.fitted_curve import SMALLEST_SECONDS, FittedCurve
from engine.models.curves.machines import MachineRuns
from engine.models.curves.terms import ERNEST_TERMS, SERIAL_DATA, columns

TERMS = (*ERNEST_TERMS, SERIAL_DATA)
NAMES = ("serial", "parallel", "aggregation", "per machine", "serial")
"""The last term is of the first one's phase."""

KNOWN = (10.0, 240.0, 5.0, 2.0, 3.0)


def curve(
    coefficients: tuple[float, ...] = KNOWN,
    *,
    iterations: tuple[float, ...] = (),
    in_terms: bool = False,
) -> FittedCurve:
    seen = np.asarray(iterations or (math.nan,))
    one = np.ones(len(seen))
    runs = MachineRuns(None, "nodes", math.nan, one, one, seen, one)
    fit = Fit(np.asarray(coefficients), one, one, np.arange(len(seen)))
    return FittedCurve(
        runs,
        lambda machines, size, _: columns(TERMS, machines, size),
        NAMES,
        fit,
        UNKNOWN_SPREAD,
        **({"iterations_in_terms": True} if in_terms else {}),
    )


def phases(speed: float, size: float | None = None) -> dict[str, float]:
    found = curve().phases_at_speed(
        np.asarray([4.0]), np.asarray([speed]), size=size, iterations=None
    )
    return {name: float(part[0]) for name, part in found.items()}


def test_phases_are_the_terms_times_their_coefficients() -> None:
    """On four machines and three times the size: 10 + 3 x 3, 240 x 3 / 4, 5 ln 4, 2 x 4."""
    assert phases(1.0, 3.0) == pytest.approx(
        {"serial": 19.0, "parallel": 180.0, "aggregation": 5.0 * math.log(4.0), "per machine": 8.0}
    )


def test_without_a_size_it_is_that_of_the_largest_run() -> None:
    assert phases(1.0) == phases(1.0, 1.0)


@pytest.mark.parametrize(("speed", "shared"), [(2.0, 30.0), (0.5, 120.0), (1.0, 60.0)])
def test_only_what_machines_share_goes_with_the_speed_of_their_cores(
    speed: float, shared: float
) -> None:
    """240 / (4 x speed) of shared work; neither the tree nor what every machine adds is another."""
    expected = {**phases(1.0), "parallel": shared}
    assert phases(speed) == pytest.approx(expected)


def test_clusters_of_unlike_speeds_are_told_apart() -> None:
    machines, speed = np.asarray([4.0, 4.0, 8.0]), np.asarray([2.0, 0.5, 1.0])
    found = curve().seconds(machines, speed, size=None, iterations=None)
    alone = [
        float(curve().seconds(one[None], at[None], size=None, iterations=None)[0])
        for one, at in zip(machines, speed, strict=True)
    ]
    assert found.tolist() == pytest.approx(alone)
    assert found[0] < found[1]


def test_without_a_speed_cores_are_as_fast_as_the_measured_ones() -> None:
    machines = np.asarray([1.0, 4.0, 9.0])
    plain = curve().seconds(machines, size=2.0, iterations=None)
    same = curve().seconds(machines, np.ones(3), size=2.0, iterations=None)
    assert plain.tolist() == same.tolist()
    parts = curve().phases(machines, size=2.0, iterations=None)
    assert plain == pytest.approx(sum(parts.values()))


def test_a_term_that_plays_no_part_is_no_phase_and_nothing_takes_no_time() -> None:
    none = curve((0.0,) * 5)
    assert none.phases(np.asarray([4.0]), size=1.0, iterations=None) == {}
    assert none.seconds(np.asarray([4.0]), size=1.0, iterations=None).tolist() == [SMALLEST_SECONDS]
    assert SMALLEST_SECONDS <= 1e-3
    some = curve((0.0, 240.0, 0.0, 0.0, 3.0))
    assert set(some.phases(np.asarray([4.0]), size=1.0, iterations=None)) == {"parallel", "serial"}


@pytest.mark.parametrize(
    ("wanted", "in_terms", "warned"),
    [
        (None, False, False),
        (5.0, False, False),
        (20.0, False, False),
        (10.0, False, True),
        (10.0, True, False),
        (5.0, True, False),
        (20.0, True, False),
        (4.0, True, True),
        (21.0, True, True),
    ],
)
def test_iterations_that_no_run_did_are_warned_of(
    wanted: float | None, in_terms: bool, warned: bool
) -> None:
    """Where the terms tell what every iteration does, those between measured ones are no guess."""
    found = curve(iterations=(20.0, 5.0, math.nan), in_terms=in_terms).notices(
        Workload(1.0, iterations=wanted)
    )
    assert [notice.code for notice in found] == ["extrapolating-iterations"] * warned
    if warned:
        assert f"no run has {wanted:g} iterations" in found[0].text
        assert "runs of 5, 20" in found[0].text
        assert found[0].remedy == f"add runs of {wanted:g} iterations"


def test_runs_that_count_no_iterations_warn_of_none() -> None:
    assert curve().iteration_log_scale(10.0) == 0.0
    assert curve().notices(Workload(1.0, iterations=10.0)) == ()
