"""Laws at many numbers of cores, from their times at few: equal to those computed at each."""

from dataclasses import replace

import numpy as np
import pytest
from law_fits import fitted, prior_laws

from engine.forecast import FloatArray
from engine.models.laws import averaging
from engine.models.laws.averaging import LawPosterior
from engine.models.laws.core_interpolation import (
    CoreInterpolation,
    barycentric_weights,
    chebyshev_points,
)
from engine.models.laws.reference_frame import ReferenceFrame
from engine.models.laws.terms import Points

CORES = np.geomspace(1.0, 448.0, 400)


def grid(machines: FloatArray, memory: float | FloatArray = 1.0) -> Points:
    """All numbers of machines with machines of all `CORES`."""
    many, cores = np.repeat(machines, len(CORES)), np.tile(CORES, len(machines))
    one = np.ones_like(many)
    return Points(many, cores, one * memory, one, one)


def runs() -> Points:
    machines, one = np.asarray([2.0, 4.0, 8.0]), np.ones(3)
    return Points(machines, 4.0 * one, one, one, one)


def posterior() -> LawPosterior:
    """Given runs of two numbers of iterations whose memory leaves room for cliffs."""
    machines = np.tile([2.0, 4.0, 8.0, 16.0], 2)
    cores, one = np.tile([4.0, 8.0], 4), np.ones(8)
    iterations = np.repeat([10.0, 20.0], 4)
    seconds = 20.0 + 40.0 * iterations / (machines * cores)
    return fitted(Points(machines, cores, one, one, iterations), seconds)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every point is computed from here on."""
    monkeypatch.setattr(averaging.CoreInterpolation, "of", lambda at: None)


@pytest.mark.parametrize("memory", [1e3, 1.0], ids=["all data fits", "cliffs"])
def test_moments_are_those_of_every_point(monkeypatch: pytest.MonkeyPatch, memory: float) -> None:
    found, at = posterior(), grid(np.asarray([1.0, 2.0, 7.0, 64.0]), memory)
    effects = np.linspace(2.9, 3.1, len(at))[:, None]
    smooth = found._without_cliff(at, effects, at.size)[0]
    assert len(smooth) == len(at) if memory > 1.0 else 0 < len(smooth) < len(at)
    by_nodes = found.moments(at, effects)
    one_by_one(monkeypatch)
    for interpolated, computed in zip(by_nodes, found.moments(at, effects), strict=True):
        assert interpolated == pytest.approx(computed, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("memory", [1e3, 1.0], ids=["all data fits", "cliffs"])
def test_means_of_sizes_and_iterations_are_those_of_every_point(
    monkeypatch: pytest.MonkeyPatch, memory: float
) -> None:
    found, at = posterior(), grid(np.asarray([2.0, 7.0, 64.0]), memory)
    asked = np.zeros((len(at), 1)), np.asarray([0.5, 3.0, 1.0]), np.asarray([5.0, 10.0, 30.0])
    by_nodes = found.means(at, *asked)
    one_by_one(monkeypatch)
    assert by_nodes == pytest.approx(found.means(at, *asked), rel=1e-12, abs=1e-13)


def test_means_of_points_of_several_numbers_of_iterations_are_each_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The points that meet no cliff, of one number, had that of the others, which stand first."""
    found, machines = posterior(), np.asarray([2.0, 7.0, 64.0])
    iterations = np.repeat([10.0, 20.0], 3 * len(CORES))
    (first, then) = (grid(machines, memory) for memory in (1e-3, 1e3))
    pairs = zip(vars(first).values(), vars(then).values(), strict=True)
    *rest, _ = (np.concatenate(pair) for pair in pairs)
    at = Points(*rest, iterations)
    smooth, others, _ = found._without_cliff(at, np.zeros((len(at), 1)), at.size)
    assert at.iterations[smooth].tolist() == [20.0] * len(then)
    assert at.iterations[others].tolist() == [10.0] * len(first)
    asked = np.zeros((len(at), 1)), np.asarray([0.5, 1.0]), None
    by_nodes = found.means(at, *asked)
    one_by_one(monkeypatch)
    assert by_nodes == pytest.approx(found.means(at, *asked), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("unknown", ["machines", "cores", "size"])
def test_what_is_no_number_concerns_its_own_point_alone(unknown: str) -> None:
    """One number of cores that is not known was an error at all points."""
    found, at = posterior(), grid(np.asarray([2.0, 7.0]), 1e3)
    effects, other = np.full((len(at), 1), 3.0), np.arange(len(at)) != 5
    given = np.where(other, getattr(at, unknown), np.nan)
    mean, variance, _ = found.moments(replace(at, **{unknown: given}), effects)
    known = found.moments(at, effects)
    assert np.isnan([mean[5], variance[5]]).all()
    assert mean[other] == pytest.approx(known[0][other], rel=1e-12)
    assert variance[other] == pytest.approx(known[1][other], rel=1e-12, abs=1e-13)


def test_an_effect_that_is_no_number_concerns_its_own_point_alone() -> None:
    found, at = posterior(), grid(np.asarray([2.0, 7.0]), 1e3)
    effects, other = np.full((len(at), 1), 3.0), np.arange(len(at)) != 5
    known = found.moments(at, effects)
    effects[5] = np.nan
    mean, variance, _ = found.moments(at, effects)
    assert mean == pytest.approx(known[0], rel=1e-12)
    assert np.isnan(variance[5])
    assert variance[other] == pytest.approx(known[1][other], rel=1e-12, abs=1e-13)


def test_laws_that_are_all_alike_have_no_variance_below_zero() -> None:
    found, at = posterior(), grid(np.asarray([2.0, 7.0]), 1e3)
    alike = replace(
        found, laws=found.laws.take(np.zeros(9, dtype=int)), effects=np.full((1, 9), 1.0 / 3.0)
    )
    variance = alike.moments(at, np.linspace(2.9, 3.1, len(at))[:, None])[1]
    assert variance.min() >= 0.0
    assert variance.max() < 1e-25


def test_no_sizes_have_no_means() -> None:
    found, at = posterior(), grid(np.asarray([2.0, 7.0]), 1e3)
    effects = np.zeros((len(at), 1))
    assert found.means(at, effects, np.empty(0), None).shape == (1, 0, len(at))
    few = at.take(slice(0, 3))
    assert found.means(few, effects[:3], np.empty(0), None).shape == (1, 0, 3)


@pytest.mark.parametrize("machines", [1.0, 3.0, 50.0, 512.0])
def test_any_law_of_the_prior_is_interpolated_to_rounding(machines: float) -> None:
    """Each of 2,000 laws by itself, the sums of few terms and of many alike."""
    laws = prior_laws(ReferenceFrame.of(runs()), 2000, seed=5)
    at = grid(np.asarray([machines]), memory=1e9)
    cores = CoreInterpolation.of(at)
    assert cores is not None
    assert len(cores.nodes) < 0.2 * len(at)
    found = cores.at_points(laws.log_times(cores.nodes).T).T
    assert np.abs(found - laws.log_times(at)).max() < 1e-12


def test_points_of_one_number_of_cores_need_one_node_for_each_number_of_machines() -> None:
    at = grid(np.asarray([3.0, 5.0]))
    alike = Points(at.machines, np.full(len(at), 4.0), at.memory, at.size, at.iterations)
    cores = CoreInterpolation.of(alike)
    assert cores is not None
    assert cores.nodes.machines.tolist() == [3.0, 5.0]
    assert cores.nodes.cores == pytest.approx([4.0, 4.0], rel=1e-15)
    assert (cores.at_points(np.asarray([1.5, 2.5])) == np.repeat([1.5, 2.5], len(CORES))).all()


def test_a_point_on_a_node_takes_its_value() -> None:
    nodes = chebyshev_points(0.0, 5.0, 9)
    weights = barycentric_weights(nodes, np.asarray([0.0, nodes[6], 5.0]))
    assert weights[:, 1].tolist() == [0.0] * 6 + [1.0] + [0.0] * 2
    assert weights.sum(axis=0) == pytest.approx(1.0, abs=1e-14)


def test_what_would_not_be_quicker_is_not_interpolated() -> None:
    at = grid(np.asarray([2.0, 4.0]))
    assert CoreInterpolation.of(at.take(slice(0, 0))) is None
    assert CoreInterpolation.of(at.take(slice(0, 400, 6))) is None
    sizes = np.linspace(1.0, 2.0, len(at))
    assert CoreInterpolation.of(Points(at.machines, at.cores, at.memory, sizes, at.size)) is None
    assert CoreInterpolation.of(Points(at.machines, at.cores, at.memory, at.size, sizes)) is None
